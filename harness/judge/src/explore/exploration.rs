//! What exploring a file has shown.

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::certainty::{Certainty, Doubt};
use super::pc_set::PcSet;
use super::rows::{FunctionRows, RowCounts, RowId, RowState};
use crate::finding::Finding;
use crate::target::Target;
use sframe_inspect::elf::kernel::FormKind;

/// A wrong row, or one that may be.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ExploredFinding {
    /// Whether the row is wrong.
    pub certainty: Certainty,
    /// Why that is not proved. Empty if it is.
    pub doubts: Vec<Doubt>,
    /// What the path assumes on which it was seen.
    pub assumptions: Vec<String>,
    /// The form of a kernel's code in which it was seen, if it is not the one of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<FormKind>,
    /// The finding. Its places are the instructions at which the row was seen to be wrong.
    #[serde(flatten)]
    pub finding: Finding,
}

impl ExploredFinding {
    /// Says in words why it is not proved. Empty if it is.
    #[must_use]
    pub fn doubts_text(&self) -> String {
        let doubts: Vec<&str> = self.doubts.iter().map(|doubt| doubt.says()).collect();
        doubts.join("; ")
    }

    /// A finding about a list of known ones, or about the section as a whole, and not about a row.
    #[must_use]
    pub const fn of_no_row(finding: Finding) -> Self {
        Self {
            certainty: Certainty::Proved,
            doubts: Vec::new(),
            assumptions: Vec::new(),
            form: None,
            finding,
        }
    }
}

/// What exploring a file has shown.
#[derive(Debug, Default)]
pub struct Exploration {
    /// Functions that were explored.
    pub functions: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// The rows.
    pub rows: RowCounts,
    /// Those of each function.
    pub of_functions: Vec<FunctionRows>,
    /// Where rows have agreed on some path, by loaded addresses.
    pub(super) agreed: Vec<PcSet>,
    /// What is known of each row.
    pub(super) states: FxHashMap<RowId, RowState>,
    /// What is wrong, the proved ones first.
    pub findings: Vec<ExploredFinding>,
    /// Whether it was ended early.
    pub was_interrupted: bool,
}

impl Exploration {
    /// Puts the faults of the sections as a whole first, and takes away what merely follows from them.
    #[must_use]
    pub fn with_section_faults(mut self, target: &Target<'_>) -> Self {
        let faults = target.section_faults().into_iter().map(ExploredFinding::of_no_row);
        let is_consequence = target.consequences();
        self.findings.retain(|found| !is_consequence(&found.finding));
        self.findings.splice(0..0, faults);
        self
    }

    /// Returns the instructions whose rows have agreed on some path, by loaded addresses.
    pub fn agreed(&self) -> impl Iterator<Item = u64> {
        self.agreed.iter().flat_map(PcSet::iter)
    }
}
