//! What findings of one cause have in common.

use std::fmt;

use serde::Serialize;
use sframe_corpus::signs::without_numbers;
use sframe_judge::finding::Finding;
use sframe_kit::Blame;

/// Which sections are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Section {
    /// `.sframe` alone.
    Sframe,
    /// `.eh_frame` alone: `.sframe` leaves the function out, or says something else.
    EhFrame,
    /// Both.
    Both,
}

impl Section {
    /// Its name alone.
    pub(super) const fn alone(self) -> &'static [&'static str] {
        match self {
            Self::Sframe => &[".sframe"],
            Self::EhFrame => &[".eh_frame"],
            Self::Both => &["both sections"],
        }
    }

    /// The name, as pages have it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Sframe => ".sframe",
            Self::EhFrame => ".eh_frame",
            Self::Both => "both sections",
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What seems to be one cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cause {
    /// What is wrong: a verdict, or a field in which the sections differ.
    pub wrong: String,
    /// Which sections are.
    pub section: Section,
    /// The component that needs the fix.
    pub blame: Blame,
    /// The rules of the row, without numbers.
    pub row: String,
    /// The operation before the first instruction that it is wrong for.
    pub after: String,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wrong, section, blame, row, after } = self;
        write!(f, "{wrong} in {section}, of {blame}, after {after}, in a row like {row}")
    }
}

/// The operation before the instruction that a finding is about.
pub(super) fn operation_before(finding: &Finding, is_entry: bool) -> String {
    if is_entry {
        return "the entry".to_owned();
    }
    let before = finding.pc.and_then(|pc| finding.listing.iter().rfind(|line| line.pc < pc));
    let operation = before.and_then(|line| line.text.split_whitespace().next());
    operation.unwrap_or("nothing").to_owned()
}

/// The first complaint of a compiler, assembler or linker, without the place.
pub(super) fn complaint(said: &str) -> String {
    // The surest words first; what follows from others comes last.
    const WORDS: [&str; 4] = ["undefined reference", "internal compiler error", "rror: ", "ld: "];
    let lines = || said.lines().filter(|line| !line.contains("returned 1 exit status"));
    let complaint = WORDS.iter().find_map(|words| lines().find(|line| line.contains(words)));
    let line = complaint.or_else(|| lines().next()).unwrap_or_default();
    let message = line.rsplit_once("rror: ").map_or(line, |(_, message)| message);
    without_numbers(message.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_reduced_to_what_they_say() {
        let said = "unit0.c: In function 'f':\nunit0.c:3:9: error: expected ';'\ncollect2: error: ld returned 1 exit status";
        assert_eq!(complaint(said), "expected ';'");
        let said =
            "/usr/bin/ld: unit0.o: relocation R_390_12 overflows\ncollect2: error: ld returned 1 exit status";
        assert_eq!(complaint(said), "/usr/bin/ld: unit0.o: relocation R_N_N overflows");
    }
}
