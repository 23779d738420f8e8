//! What exploring says of the rows that differ, from a report of `explore --json`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::blame::Evidence;
use super::{DiffReport, Field};
use sframe_elf::file::{MAX_BYTES, read};
use sframe_kit::{Address, FindingRow, Witness};

/// A report of `explore --json`, as far as it is needed here.
#[derive(Clone, Debug, Deserialize)]
pub struct Explored {
    provenance: Provenance,
    abi: String,
    /// For relocatable files, whose addresses are made up.
    unapplied: Option<serde_json::Value>,
    findings: Vec<Found>,
    functions: Vec<Function>,
}

#[derive(Clone, Debug, Deserialize)]
struct Provenance {
    /// SHA-256 of the file, by its name.
    digests: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Found {
    certainty: Certainty,
    pc: Option<Address>,
    row: Option<FindingRow>,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Certainty {
    Proved,
    Possible,
}

#[derive(Clone, Debug, Deserialize)]
struct Function {
    pc: Address,
    /// How many rows were compared at a part of their instructions.
    #[serde(default)]
    partly: u64,
    #[serde(default)]
    undecided: BTreeMap<String, u64>,
}

impl Function {
    /// Whether all rows were compared at all their instructions.
    fn is_judged(&self) -> bool {
        self.partly == 0 && self.undecided.is_empty()
    }
}

/// Why a report can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ExploredError {
    /// It can't be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// It is not a report of `explore --json`.
    #[error("this is no report of explore --json: {0}")]
    Json(#[from] serde_json::Error),
    /// It is a report of a run.
    #[error("this is a report of `check` or `run`, and not of `explore`")]
    Run,
    /// It is about another file.
    #[error("this is a report about another file: {}", of(.0))]
    OtherFile(BTreeMap<String, String>),
    /// It says that it is about this file, which is for another ABI.
    #[error("this is a report about a file for {0}")]
    Abi(String),
    /// Its addresses are made up.
    #[error("this is a report about a relocatable file, whose addresses are made up")]
    Relocatable,
}

/// The names and digests of files.
fn of(digests: &BTreeMap<String, String>) -> String {
    let all = digests.iter().map(|(name, digest)| format!("{name} (SHA-256 {digest})"));
    all.collect::<Vec<_>>().join(", ")
}

impl Explored {
    /// Reads a report.
    ///
    /// # Errors
    /// The file can't be read, or is not such a report.
    pub fn read(path: &Path) -> Result<Self, ExploredError> {
        let bytes = read(path, MAX_BYTES)?;
        serde_json::from_slice(&bytes).map_err(|error| {
            let other: Option<serde_json::Value> = serde_json::from_slice(&bytes).ok();
            let is_of_a_run = other.is_some_and(|other| other.pointer("/summary/comparisons").is_some());
            if is_of_a_run { ExploredError::Run } else { error.into() }
        })
    }

    /// Says what is known of a row, given by its function and its start there.
    fn says(&self, function: Address, row: Address) -> Option<String> {
        let position = self.functions.binary_search_by_key(&function, |function| function.pc).ok()?;
        let end = self.functions.get(position + 1).map(|next| next.pc);
        let is_its = |found: &&Found| {
            let is_in = |pc: Address| pc >= function && end.is_none_or(|end| pc < end);
            found.pc.is_some_and(is_in) && found.row.as_ref().is_some_and(|of| of.start == row)
        };
        // The surest ones come first.
        Some(match self.findings.iter().find(is_its) {
            Some(Found { certainty: Certainty::Proved, message, .. }) => {
                format!("the row of .sframe is proved to be wrong: {message}")
            }
            Some(found) => format!("the row of .sframe may be wrong: {}", found.message),
            None if self.functions[position].is_judged() => {
                "the row of .sframe agrees on every path".to_owned()
            }
            None => {
                "nothing is found in the row of .sframe, but not all of its function's are checked".to_owned()
            }
        })
    }
}

impl DiffReport {
    /// Adds what exploring says of the rows that differ to the evidence. `digest` is the SHA-256 of the file, in
    /// hexadecimal.
    ///
    /// # Errors
    /// The report is about another file.
    pub fn add_exploration(&mut self, mut explored: Explored, digest: &str) -> Result<(), ExploredError> {
        if !explored.provenance.digests.values().any(|of| of == digest) {
            return Err(ExploredError::OtherFile(explored.provenance.digests));
        }
        if explored.abi != self.abi {
            return Err(ExploredError::Abi(explored.abi));
        }
        if explored.unapplied.is_some() {
            return Err(ExploredError::Relocatable);
        }
        explored.functions.sort_by_key(|function| function.pc);
        for difference in &mut self.findings {
            // Whether a function has a caller is not explored: it is given one.
            let Some(row) = difference.row.as_ref().filter(|_| difference.field != Field::Outermost) else {
                continue;
            };
            let function = Address(difference.pc.0.wrapping_sub(difference.offset.0));
            let says = explored.says(function, row.start);
            let evidence = says.map(|says| Evidence { witness: Witness::Exploration, says });
            difference.evidence.extend(evidence);
        }
        Ok(())
    }
}
