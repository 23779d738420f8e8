//! Which rows a run has exercised: agreement says nothing of the others.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use sframe_engine::{InstructionPointer, LookupAddress, PcType, ReturnAddress};

use crate::finding::FindingRow;
use crate::target::Target;

/// What a run executed.
#[derive(Debug, Default)]
pub(crate) struct Executed {
    /// How often each instruction ran.
    instructions: FxHashMap<u64, u64>,
    /// Return addresses of calls.
    calls: FxHashSet<u64>,
}

/// What a run exercised of the section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Rows that cover at least one byte of their function.
    pub rows_total: u64,
    /// Rows that the topmost frame has used.
    pub rows_exercised: u64,
    /// Rows that a caller's frame has used.
    pub rows_exercised_as_caller: u64,
    /// Executed instructions whose PC has an FDE.
    pub instructions_covered: u64,
    /// Executed instructions without an FDE, by function or address.
    pub uncovered: BTreeMap<String, u64>,
    /// Rows that no topmost frame has used: what agreement says nothing of.
    pub unexercised: Vec<UnexercisedRow>,
}

/// A row that the topmost frame has never used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnexercisedRow {
    /// The function, or its address where no symbol names it.
    pub function: String,
    /// The row.
    #[serde(flatten)]
    pub row: FindingRow,
}

impl Executed {
    #[inline]
    pub(crate) fn instruction(&mut self, pc: u64) {
        *self.instructions.entry(pc).or_default() += 1;
    }

    pub(crate) fn call(&mut self, return_address: u64) {
        self.calls.insert(return_address);
    }

    /// Rows by function and position.
    fn row(target: &Target<'_>, address: LookupAddress) -> Option<(u32, u32)> {
        let found = target.section.lookup(address).ok().flatten()?;
        Some((found.fde.index, found.row_index?))
    }

    pub(crate) fn coverage(&self, target: &Target<'_>) -> Coverage {
        let mut coverage = Coverage::default();
        let mut rows = FxHashSet::default();
        for (&pc, &count) in &self.instructions {
            let pc = InstructionPointer(pc);
            rows.extend(Self::row(target, pc.into()));
            if target.section.lookup_fde(pc).ok().flatten().is_some() {
                coverage.instructions_covered += count;
            } else {
                *coverage.uncovered.entry(target.frame_name(pc.0, true)).or_default() += count;
            }
        }
        coverage.count_rows(target, &rows);
        let calls = self.calls.iter().filter_map(|&ra| Self::row(target, ReturnAddress(ra).into()));
        coverage.rows_exercised_as_caller = calls.collect::<FxHashSet<_>>().len() as u64;
        coverage
    }
}

impl Coverage {
    /// Counts the rows that cover something, and those of them that were used.
    fn count_rows(&mut self, target: &Target<'_>, used: &FxHashSet<(u32, u32)>) {
        for fde in target.section.fdes().flatten() {
            for (index, row) in (0..).zip(target.section.rows(&fde).flatten()) {
                let is_behind_the_end = fde.pc_type == PcType::Inc && row.start >= fde.size;
                if row.is_empty() || is_behind_the_end {
                    continue;
                }
                self.rows_total += 1;
                if used.contains(&(fde.index, index)) {
                    self.rows_exercised += 1;
                } else {
                    let function = target.frame_name(fde.start, true);
                    self.unexercised.push(UnexercisedRow { function, row: FindingRow::new(&row) });
                }
            }
        }
    }
}
