//! What is found, by cause.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use sframe_judge::external::ExternalError;

use super::difference::{Difference, Part};
use crate::generate::Terms;

/// What seems to be one cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cause {
    /// What is different.
    pub part: Part,
    /// Its fields that differ, or how it differs as a whole.
    pub field: String,
    /// Where a process ended in its source, if it said so.
    pub site: Option<String>,
    /// What the smallest section with the difference has that plain sections do not have.
    pub features: BTreeSet<&'static str>,
}

impl Cause {
    /// Returns whether a difference is of this kind.
    #[must_use]
    pub fn is_of(&self, difference: &Difference) -> bool {
        (self.part, &self.field, &self.site) == (difference.part, &difference.field, &difference.site)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.part, self.field)?;
        if let Some(site) = &self.site {
            write!(f, " at {site}")?;
        }
        if self.features.is_empty() {
            return f.write_str(", in a plain section");
        }
        let features: Vec<&str> = self.features.iter().copied().collect();
        write!(f, ", with {}", features.join("; "))
    }
}

/// The first section of a cause, reduced, or one that the bench contradicts itself about.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Example {
    /// The number of the section.
    pub section: u64,
    /// What is wrong with it.
    pub message: String,
    /// Readings of the specification on which the expected answer depends.
    pub readings: Vec<String>,
    /// The clauses that it is about.
    pub clauses: Vec<String>,
    /// The smallest section, as a file of `corpus/vectors`; `None` if the difference did not appear again.
    pub vector: Option<String>,
    /// The length of that section in bytes.
    pub bytes: usize,
}

/// What one reader was asked.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
    /// The reader.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Sections that were asked about.
    pub sections: u64,
    /// Those that break a rule.
    pub broken: u64,
    /// Sections with right answers only.
    pub agree: u64,
    /// Answers that were compared.
    pub compared: u64,
    /// Sections that the reader says it can't read, by what it says.
    pub skipped: BTreeMap<String, u64>,
    /// Parts of the answers that the reader does not give.
    pub parts_not_answered: Vec<&'static str>,
    /// Broken rules that the reader did not notice, by rule: not judged.
    pub unnoticed: BTreeMap<&'static str, u64>,
    /// How often the reader had to be restarted.
    pub restarts: u32,
    /// Why the reader can't be asked any more, if it can't.
    pub gave_up: Option<String>,
}

/// Sections.
#[derive(Clone, Copy, Debug)]
pub struct Sections;

impl Terms for Sections {
    type Counts = Counts;
    type Cause = Cause;
    type Example = Example;
    type Error = ExternalError;

    /// What was not reduced is the greatest.
    fn size(example: &Example) -> usize {
        if example.vector.is_some() { example.bytes } else { usize::MAX - 1 }
    }
}
