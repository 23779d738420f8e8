//! A place at which a row is wrong.

use std::sync::Arc;

use sframe_engine::{Abi, RowRules};
use sframe_isa::Disassembly;
use sframe_judge::finding::Finding;
use sframe_judge::target::{Linked, Loaded, Module};
use sframe_judge::vocabulary::Verdict;

/// A place at which a row is wrong. Addresses are those of the process.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The instruction.
    pub(super) pc: u64,
    /// The row's first instruction.
    pub(super) row_pc: u64,
    /// Where the function starts.
    pub(super) function: u64,
    /// What the row says, and what of it is wrong.
    pub(super) row: (Abi, RowRules, Verdict),
    /// The code around it.
    pub(super) code: Arc<Disassembly>,
}

impl Spot {
    /// That of a finding about a row.
    pub(super) fn of(finding: &Finding, module: &Module<'_>) -> Option<Self> {
        let pc = module.loaded(Linked(finding.pc?.0)).0;
        let row_pc = module.loaded(Linked(finding.row_pc?.0)).0;
        let found = finding.row.as_ref()?;
        let row = (module.subject.abi()?, found.rules, finding.verdict);
        let function = row_pc.wrapping_sub(found.start.0);
        Some(Self { pc, row_pc, function, row, code: module.code_around(Loaded(pc)) })
    }
}

/// The code is that of the program.
impl PartialEq for Spot {
    fn eq(&self, other: &Self) -> bool {
        (self.pc, self.row_pc, self.row) == (other.pc, other.row_pc, other.row)
    }
}

impl Eq for Spot {}
