//! How a cause becomes the page of a fault, with what the corpus and the specs need of it.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::path::Path;

use sframe_corpus::corpus::{MadeExample, Maker};
use sframe_corpus::faults::{Observed, keep};
use sframe_corpus::spec::{
    self, Component, Example, Fault, FaultySection, NO_ROW, Producer, Tool, ToolName, ToolRange, ToolVersion,
    Upstream, UpstreamState,
};
use sframe_corpus::yaml;
use sframe_engine::Abi;
use sframe_judge::vocabulary::Verdict;
use sframe_kit::text::with_causes;

/// The page of a fault of a function, before anything else is known of it.
pub(super) fn blank(
    (maker, abi): (&Maker, Abi),
    name: &str,
    function: String,
    component: Component,
) -> Fault {
    Fault {
        title: String::new(),
        component,
        found: None,
        summary: String::new(),
        section: FaultySection::Sframe,
        sites: Vec::new(),
        signs: Vec::new(),
        example: Example {
            abi,
            toolchain: maker.toolchain().name.clone(),
            sources: BTreeMap::new(),
            commands: Vec::new(),
            program: name.to_owned(),
            function,
            row: None,
            verdict: Verdict::WrongCfa,
            wrong: NO_ROW.to_owned(),
            right: NO_ROW.to_owned(),
        },
        witnesses: BTreeMap::new(),
        upstream: Upstream { state: UpstreamState::Unreported, link: None, version: None },
    }
}

/// Gives an example its sources, and the command that makes it of them.
pub(super) fn set_sources(
    example: &mut Example,
    maker: &Maker,
    sources: BTreeMap<String, String>,
    flags: &[String],
) -> Result<(), String> {
    let mut words = maker.command(example.abi, flags).map_err(|error| with_causes(&error))?;
    // Each machine has its own.
    words.retain(|word| !word.starts_with("-B"));
    words.extend(["-o".to_owned(), example.program.clone()]);
    words.extend(sources.keys().cloned());
    let command = shlex::try_join(words.iter().map(String::as_str)).map_err(|error| error.to_string())?;
    (example.sources, example.commands) = (sources, vec![command]);
    Ok(())
}

/// What is known of a program, and what other toolchains make of it.
pub(super) fn summary(mut known: String, elsewhere: &BTreeMap<String, impl Display>) -> String {
    for (toolchain, result) in elsewhere {
        let _ = write!(known, " {toolchain}: {result}.");
    }
    known
}

/// Makes an example as its page says.
pub(super) fn make(example: &Example, maker: &Maker, toolchains_dir: &Path) -> Result<MadeExample, String> {
    let toolchain = maker.toolchain();
    MadeExample::make_instead(&example.program, example, toolchain, (toolchain, toolchains_dir), maker.stop())
        .map_err(|error| with_causes(&error))
}

/// Says that a program is too long for a page, if it is.
pub(super) fn fits(lines: usize) -> Result<(), String> {
    let most = spec::MAX_LINES;
    if lines > most {
        return Err(format!("the smallest program has {lines} lines, and pages at most {most}"));
    }
    Ok(())
}

/// Writes a page and its build below a folder that is laid out as the repository is.
pub(super) fn write_page(folder: &Path, fault: &Fault, program: &Path) -> Result<(), String> {
    let name = &fault.example.program;
    let page = format!("# yaml-language-server: $schema=../fault.schema.json\n{}", yaml::to_string(fault)?);
    write_files(folder, &[(format!("specs/faults/{name}.yaml"), page)])?;
    keep(&folder.join("corpus"), name, &fault.example, program).map_err(|error| with_causes(&error))
}

/// The spec of a fault's program, with what it excepts.
pub(super) fn spec(title: &str, fault: &Fault, exceptions: &[String]) -> String {
    let Example { abi, program, .. } = &fault.example;
    format!(
        "# yaml-language-server: $schema=spec.schema.json\nprogram: {}\nsummary: >-\n  {title}.\n\
         targets: [{abi}]\nsweep:\n  min_instructions: 10\n{}",
        program_name(program),
        exceptions.concat()
    )
}

/// What a spec excepts where a component has a fault: an entry of one of its lists.
pub(super) fn exception(list: &str, fault: &Fault, fields: &[(&str, String)]) -> String {
    let component = &fault.component;
    let kind = match component {
        Component::Compiler(_) => "compiler",
        Component::Assembler(_) => "assembler",
        Component::Linker(_) => "linker",
        Component::Library(_) => "toolchain",
    };
    let fields: String = fields.iter().map(|(key, value)| format!("    {key}: {value}\n")).collect();
    format!("{list}:\n  - where: {{{kind}: {component}}}\n{fields}")
}

/// The exception for what a spec knows to be wrong.
pub(super) fn known(fault: &Fault, verdict: &dyn Display, why: (&str, String)) -> String {
    let function = fault.example.function.clone();
    let what =
        [("verdict", verdict.to_string()), ("blame", fault.blame().to_string()), ("function", function)];
    exception("known", fault, &[&what[..], &[why]].concat())
}

/// The exception for functions with rows that nothing reaches, if there are any.
pub(super) fn unreached(fault: &Fault, functions: &[&str], reason: &str) -> String {
    if functions.is_empty() {
        return String::new();
    }
    let functions = format!("[{}]", functions.join(", "));
    exception("unreached", fault, &[("functions", functions), ("reason", reason.to_owned())])
}

/// The versions of a tool that were seen to have a fault, as far as others were seen not to have it. `has` says
/// whether a toolchain has it, going by what was seen of it, if anything was.
pub(super) fn versions<N: ToolName>(
    name: N,
    abi: Abi,
    makers: &[&Maker],
    tool: &dyn Fn(Producer) -> Option<Tool<N>>,
    has: &dyn Fn(&str) -> Option<bool>,
) -> ToolRange<N> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for maker in makers {
        let tool = maker.producer(abi).ok().and_then(tool).filter(|tool| tool.name == name);
        let Some(Tool { version, .. }) = tool else { continue };
        match has(&maker.toolchain().name) {
            Some(true) => with.push(version),
            Some(false) => without.push(version),
            None => {}
        }
    }
    range(name, &with, &without)
}

/// The versions of a tool between the first and the last that was seen to have a fault, as far as others were
/// seen not to have it.
fn range<N: ToolName>(name: N, with: &[ToolVersion], without: &[ToolVersion]) -> ToolRange<N> {
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
    use sframe_corpus::spec::Compiler;

    #[test]
    fn a_range_of_versions_covers_what_was_seen() {
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
    fn names_of_drafts_can_be_names_of_pages() {
        assert_eq!(name("gcc-amd64-wrong-fp-CFA = *(FP-N)"), "gcc-amd64-wrong-fp-cfa-fp-n");
        assert_eq!(program_name("gcc-a.b"), "gcc_a_b");
    }
}
