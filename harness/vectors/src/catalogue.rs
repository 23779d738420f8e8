//! The names that vectors may use: clauses and readings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::yaml::{Error, read_yaml};

/// The names that vectors may use.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// The IDs of all clauses, such as `v3-header`.
    pub clauses: BTreeSet<String>,
    /// Places where the text is ambiguous and the vectors follow one reading.
    pub readings: Vec<ReadingEntry>,
}

/// A reading.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingEntry {
    /// Its name.
    pub name: String,
    /// How the vectors read the text.
    pub summary: String,
}

/// `readings.yaml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Readings {
    readings: Vec<ReadingEntry>,
}

/// The part of `specs/clauses.yaml` that IDs are made of.
#[derive(Deserialize)]
struct Clauses {
    clauses: Vec<Clause>,
}

#[derive(Deserialize)]
struct Clause {
    name: String,
    versions: BTreeMap<u8, IgnoredAny>,
}

impl Catalogue {
    pub(crate) fn load(readings: &Path, clauses: &Path) -> Result<Self, Error> {
        let Readings { readings } = read_yaml(readings)?;
        let Clauses { clauses } = read_yaml(clauses)?;
        let ids =
            |Clause { name, versions }| versions.into_keys().map(move |version| format!("v{version}-{name}"));
        Ok(Self { clauses: clauses.into_iter().flat_map(ids).collect(), readings })
    }
}
