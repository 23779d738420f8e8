//! What the pages of generated causes have in common.

use std::path::Path;

use sframe_inspect::text::with_causes;
use sframe_suite::faults::Observed;
use sframe_suite::spec::{Fault, ToolName, ToolRange, ToolVersion};

/// The versions of a tool between the first and the last that was seen to have a fault, as far as others were
/// seen not to have it.
pub(super) fn range<N: ToolName>(name: N, with: &[ToolVersion], without: &[ToolVersion]) -> ToolRange<N> {
    let (first, last) = (with.iter().min(), with.iter().max());
    let is_before = |version: &&ToolVersion| first.is_some_and(|first| *version < first);
    let is_after = |version: &&ToolVersion| last.is_some_and(|last| *version > last);
    ToolRange {
        name,
        since: without.iter().any(|version| is_before(&version)).then(|| first.cloned()).flatten(),
        before: without.iter().filter(is_after).min().cloned(),
    }
}

/// A fault's name, of words.
pub(super) fn name(text: &str) -> String {
    let mut name = String::new();
    for letter in text.chars() {
        match letter {
            'a'..='z' | '0'..='9' => name.push(letter),
            'A'..='Z' => name.push(letter.to_ascii_lowercase()),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.trim_matches('-').to_owned()
}

/// The name of a fault's program in the corpus.
pub(super) fn program_name(fault: &str) -> String {
    fault.replace(['-', '.'], "_")
}

/// What a check of a program shows of a fault.
pub(super) fn observed(program: &[u8], fault: &Fault) -> Result<Observed, String> {
    let file = tempfile::NamedTempFile::new().map_err(|error| with_causes(&error))?;
    std::fs::write(file.path(), program).map_err(|error| with_causes(&error))?;
    Observed::of(file.path(), &fault.example, fault.section).map_err(|error| with_causes(&error))
}

/// Writes files below a folder, by their paths in it.
pub(super) fn write_files(folder: &Path, files: &[(String, String)]) -> Result<(), String> {
    for (name, text) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| format!("{} can't be written: {error}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sframe_suite::spec::Compiler;

    #[test]
    fn a_range_is_what_was_seen() {
        let versions = |all: &[&str]| -> Vec<ToolVersion> {
            all.iter().map(|version| version.parse().expect("a version")).collect()
        };
        let says = |with: &[&str], without: &[&str]| {
            range(Compiler::Gcc, &versions(with), &versions(without)).to_string()
        };
        assert_eq!(says(&["14"], &[]), "gcc");
        assert_eq!(says(&["14", "15"], &["12", "16"]), "gcc >= 14 < 16");
        assert_eq!(says(&[], &["12"]), "gcc");
    }

    #[test]
    fn names_are_those_of_pages() {
        assert_eq!(name("gcc-amd64-wrong-fp-CFA = *(FP-N)"), "gcc-amd64-wrong-fp-cfa-fp-n");
        assert_eq!(program_name("gcc-a.b"), "gcc_a_b");
    }
}
