//! What is found, by cause.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use sframe_engine::{Abi, Version};

use super::difference::{Difference, Part};

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

/// In how many sections a cause was seen, of one version and ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Sections.
    pub sections: u64,
    /// The number of the first one.
    pub first: u64,
    /// The number of the last one.
    pub last: u64,
}

/// The first section of a cause, reduced.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// The number of the section.
    pub section: u64,
    /// What is different in it.
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

/// What a campaign has found of one reader.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Found {
    /// The reader.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether the search was interrupted, and sections are missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
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
    /// What is wrong, by cause.
    #[serde(serialize_with = "causes")]
    pub causes: Causes,
    /// Where the bench contradicts itself, by section.
    pub contradictions: Vec<(u64, String)>,
    /// How many contradictions there were.
    pub contradicting: u64,
    /// Why the reader can't be asked any more, if it can't.
    pub gave_up: Option<String>,
}

/// Causes, each with how often it was seen, by version and ABI, and its first section.
pub type Causes = BTreeMap<Cause, (Counts, Example)>;

/// How often a cause was seen, by version and ABI.
pub type Counts = BTreeMap<(Version, Abi), Count>;

fn causes<S: serde::Serializer>(causes: &Causes, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Of {
        version: u8,
        abi: Abi,
        #[serde(flatten)]
        count: Count,
    }
    #[derive(Serialize)]
    struct Entry<'e> {
        #[serde(flatten)]
        cause: &'e Cause,
        sections: u64,
        of: Vec<Of>,
        first: &'e Example,
    }
    serializer.collect_seq(causes.iter().map(|(cause, (counts, first))| {
        let of = |((version, abi), count): (&(Version, Abi), &Count)| Of {
            version: version.number(),
            abi: *abi,
            count: *count,
        };
        let sections = counts.values().map(|count| count.sections).sum();
        Entry { cause, sections, of: counts.iter().map(of).collect(), first }
    }))
}
