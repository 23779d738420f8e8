//! The names that vectors may use: clauses and readings.

use serde::Deserialize;

/// `clauses.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// The clauses of the format.
    pub clauses: Vec<ClauseEntry>,
    /// Places where the text leaves room and the vectors follow one reading.
    pub readings: Vec<ReadingEntry>,
}

/// A clause, in the versions that have it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClauseEntry {
    /// Its name without the version.
    pub name: String,
    /// The versions.
    pub versions: Vec<u8>,
    /// Section of the specification of version 3.
    pub section: String,
    /// What it says, in a few words.
    pub summary: String,
}

/// A reading.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingEntry {
    /// Its name.
    pub name: String,
    /// What the vectors take the text to say.
    pub summary: String,
}

impl Catalogue {
    /// The names of all clauses with their versions, such as `v3-header`.
    pub fn clause_names(&self) -> impl Iterator<Item = String> + '_ {
        self.clauses
            .iter()
            .flat_map(|clause| clause.versions.iter().map(|version| format!("v{version}-{}", clause.name)))
    }
}
