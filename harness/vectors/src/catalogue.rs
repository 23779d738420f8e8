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
    /// What each clause says, by its ID.
    pub sentences: BTreeMap<String, String>,
    /// Places where the text is open and the vectors follow one reading.
    pub readings: Vec<ReadingEntry>,
    /// The usual mistakes of readers.
    pub mistakes: Vec<MistakeEntry>,
}

/// A place where the text is open.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReadingEntry {
    /// Its name.
    pub name: String,
    /// How the vectors read the text.
    pub summary: String,
    /// The clauses that leave it open, without their versions.
    pub clauses: Vec<String>,
    /// How else the text can be read.
    pub alternatives: Vec<AlternativeEntry>,
}

/// Another reading.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AlternativeEntry {
    /// Its name, which follows that of the place: `fixed-fp-beside-word/fixed`.
    pub name: String,
    /// How it reads the text.
    pub summary: String,
}

/// A usual mistake.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MistakeEntry {
    /// Its name.
    pub name: String,
    /// What the reader does.
    pub summary: String,
    /// The clause that it breaks, without its version.
    pub clause: String,
}

/// `readings.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// The places where the text is open.
    pub readings: Vec<ReadingEntry>,
}

/// `mistakes.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mistakes {
    /// The mistakes.
    pub mistakes: Vec<MistakeEntry>,
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
    summary: String,
}

/// The list of readings, in the folder of the vectors.
pub(crate) const READINGS: &str = "readings.yaml";
/// The list of usual mistakes, beside it.
const MISTAKES: &str = "mistakes.yaml";

impl Catalogue {
    /// Reads the lists in the folder of the vectors, and the catalogue of the clauses.
    ///
    /// # Errors
    /// A file that can't be read, or a clause that does not exist.
    pub fn read(folder: &Path, clauses: &Path) -> Result<Self, Error> {
        Self::load(&folder.join(READINGS), &folder.join(MISTAKES), clauses)
    }

    fn load(readings: &Path, mistakes: &Path, clauses: &Path) -> Result<Self, Error> {
        let path = readings;
        let Readings { readings } = read_yaml(readings)?;
        let Mistakes { mistakes: known } = read_yaml(mistakes)?;
        let Clauses { clauses } = read_yaml(clauses)?;
        let names: BTreeSet<&str> = clauses.iter().map(|clause| &*clause.name).collect();
        let of_readings = readings.iter().flat_map(|reading| &reading.clauses).map(|clause| (path, clause));
        let named = of_readings.chain(known.iter().map(|mistake| (mistakes, &mistake.clause)));
        for (path, clause) in named {
            if !names.contains(&**clause) {
                return Err(Error::new(path, format!("there is no clause `{clause}`")));
            }
        }
        let ids = |Clause { name, versions, summary }: Clause| {
            versions.into_keys().map(move |version| (format!("v{version}-{name}"), summary.clone()))
        };
        let sentences: BTreeMap<String, String> = clauses.into_iter().flat_map(ids).collect();
        let clauses = sentences.keys().cloned().collect();
        Ok(Self { clauses, sentences, readings, mistakes: known })
    }

    /// Returns whether `readings.yaml` has an alternative: `reading/alternative`.
    #[must_use]
    pub fn has_alternative(&self, name: &str) -> bool {
        let is_it = |reading: &ReadingEntry, alternative: &AlternativeEntry| {
            name.strip_prefix(&*reading.name).and_then(|rest| rest.strip_prefix('/'))
                == Some(&*alternative.name)
        };
        self.readings.iter().any(|reading| reading.alternatives.iter().any(|it| is_it(reading, it)))
    }
}
