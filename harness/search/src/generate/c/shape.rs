//! What findings of one cause have in common.

use std::fmt;

use serde::Serialize;
use sframe_inspect::Blame;
use sframe_judge::finding::Finding;

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

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sframe => ".sframe",
            Self::EhFrame => ".eh_frame",
            Self::Both => "both sections",
        })
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

/// Returns text without its numbers, except those of registers.
pub(super) fn without_numbers(text: &str) -> String {
    let mut shape = String::new();
    let mut is_number = false;
    for character in without_addresses(text).chars() {
        let is_of_name = shape.ends_with(|before: char| before.is_ascii_alphanumeric()) && !is_number;
        if character.is_ascii_digit() && !is_of_name {
            if !is_number {
                shape.push('N');
            }
            is_number = true;
        } else {
            shape.push(character);
            is_number = false;
        }
    }
    shape
}

/// Returns text without addresses.
pub(super) fn without_addresses(text: &str) -> String {
    let mut words = text.split("0x");
    let mut shape = words.next().unwrap_or_default().to_owned();
    for word in words {
        shape.push('N');
        shape.push_str(word.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()));
    }
    shape
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
    fn registers_matter_and_numbers_do_not() {
        assert_eq!(
            without_numbers("CFA = SP+160, RA = *(CFA-48), FP = x29"),
            "CFA = SP+N, RA = *(CFA-N), FP = x29"
        );
        assert_eq!(without_numbers("CFA = r10, 1 of 22 at 0x28a"), "CFA = r10, N of N at N");
        assert_eq!(without_addresses("at 0x4010ab: 12"), "at N: 12");
    }

    #[test]
    fn complaints_are_reduced_to_what_they_say() {
        let said = "unit0.c: In function 'f':\nunit0.c:3:9: error: expected ';'\ncollect2: error: ld returned 1 exit status";
        assert_eq!(complaint(said), "expected ';'");
        let said =
            "/usr/bin/ld: unit0.o: relocation R_390_12 overflows\ncollect2: error: ld returned 1 exit status";
        assert_eq!(complaint(said), "/usr/bin/ld: unit0.o: relocation R_N_N overflows");
    }
}
