//! Stops that wait for their answers.

use sframe_machine::CallStack;

use super::judge::EngineWalk;
use crate::calls::Readings;
use crate::compare::{Disagreement, Truth};
use crate::triage::Triage;

/// A stop that waits for its answer, and the true state there.
pub(super) struct Pending {
    pub(super) pc: u64,
    pub(super) sp: u64,
    pub(super) fp: u64,
    pub(super) red_zone: u64,
    pub(super) call_stack: CallStack,
    /// The engine's result.
    pub(super) engine: EngineWalk,
    /// What other witnesses say about these.
    pub(super) triages: Vec<Triage>,
    /// What walks are held against besides the call stack.
    pub(super) readings: Readings,
}

impl Pending {
    pub(super) fn truth(&self) -> Truth<'_> {
        Truth {
            pc: self.pc,
            sp: self.sp,
            fp: self.fp,
            red_zone: self.red_zone,
            call_stack: &self.call_stack,
            stores: None,
            viewpoint: None,
            ignores_fp: false,
        }
    }

    /// Returns what other witnesses say about a disagreement that the engine also has.
    pub(super) fn triage_of(&self, found: &Disagreement) -> Triage {
        let same = self.engine.found.iter().zip(&self.triages).find(|(engines, _)| *engines == found);
        same.map_or(Triage::UNKNOWN, |(_, triage)| triage.clone())
    }
}
