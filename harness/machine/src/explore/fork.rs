//! States that wait to be followed.

use unicorn_engine::{Context, Unicorn, uc_error};

use super::assumption::Assumption;
use super::point::Class;
use crate::call_stack::Signature;

/// What led to a state, besides registers. The stores, assumptions and instructions of a state that
/// waits are the first ones that the current path has: states are taken up in the reverse order. So
/// only their numbers are kept.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub(super) stores: usize,
    pub(super) assumptions: usize,
    pub(super) instructions: usize,
    pub(super) class: Class,
    pub(super) signature: Option<Signature>,
    pub(super) is_after_call: bool,
    pub(super) labels: Vec<LabelCall>,
}

/// A call within the function that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LabelCall {
    /// Where it leads: no function's first instruction.
    pub(super) label: u64,
    /// Where it returns to, if it does.
    pub(super) next: u64,
    /// Whether the path has made it again before it has returned: how often is not counted.
    pub(super) is_repeated: bool,
}

struct Waiting {
    pc: u64,
    registers: Context,
    progress: Progress,
    /// What it assumes, and the path that it was left from does not.
    assumption: Option<Assumption>,
}

/// The states that wait, and contexts that are no longer used.
#[derive(Default)]
pub(super) struct Fork {
    waiting: Vec<Waiting>,
    unused: Vec<Context>,
}

impl Fork {
    /// Adds a state with the present registers, at another PC.
    pub(super) fn push(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        pc: u64,
        progress: Progress,
        assumption: Option<Assumption>,
    ) -> Result<(), uc_error> {
        let mut registers = match self.unused.pop() {
            Some(context) => context,
            None => unicorn.context_alloc()?,
        };
        unicorn.context_save(&mut registers)?;
        self.waiting.push(Waiting { pc, registers, progress, assumption });
        Ok(())
    }

    /// Takes the last state, and restores its registers. Returns its PC, what led to it, and what it
    /// assumes in addition.
    pub(super) fn pop(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
    ) -> Result<Option<(u64, Progress, Option<Assumption>)>, uc_error> {
        let Some(waiting) = self.waiting.pop() else { return Ok(None) };
        let Waiting { pc, registers, progress, assumption } = waiting;
        unicorn.context_restore(&registers)?;
        self.unused.push(registers);
        Ok(Some((pc, progress, assumption)))
    }

    pub(super) fn clear(&mut self) {
        self.unused.extend(self.waiting.drain(..).map(|waiting| waiting.registers));
    }
}
