//! What findings of one cause have in common.

use std::fmt;

use serde::Serialize;
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
