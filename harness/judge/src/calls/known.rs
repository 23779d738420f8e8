//! What earlier runs have shown.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_machine::{Answers, Bottom, CallStack, Event, Exit, Moment, Record};

/// What is known of a run from those before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The number of those runs.
    pub(super) runs: u32,
    /// What the calls were.
    pub(crate) answers: Arc<Answers>,
    /// How frames ended that did not return to their callers, by their calls.
    pub(super) departures: FxHashMap<Event, Vec<Departure>>,
    /// Where control landed after SP had left the frames of the callers, by when it did; `None` if nothing shows it.
    pub(super) landings: FxHashMap<Event, Option<Landing>>,
    /// If runs differ, nothing is known of one from another by when it was; only which functions were left otherwise than by
    /// a return, by their addresses.
    pub(super) left: Option<FxHashSet<u64>>,
}

impl Known {
    /// What is known of the next run of a program whose runs differ.
    pub(crate) fn of_differing_runs() -> Self {
        Self { left: Some(FxHashSet::default()), ..Self::default() }
    }
}

/// How control has left a frame other than by returning to its caller, or has gone elsewhere from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    pub(super) exit: Exit,
    pub(super) pc: u64,
    pub(super) sp: u64,
    pub(super) fp: u64,
    /// Whether no other call was left with it.
    pub(super) is_innermost: bool,
    /// Whether the frame may not have ended: it was left as by a return, and its caller is reached later.
    pub(super) is_detour: bool,
}

impl Departure {
    /// How control has left frames with the last instruction, if it has.
    pub(super) fn of(moment: &Moment<'_>, is_innermost: bool, is_detour: bool) -> Option<Self> {
        let Moment { pc, sp, fp, .. } = *moment;
        Some(Self { exit: moment.call_stack.exit()?, pc, sp, fp, is_innermost, is_detour })
    }

    /// Whether it is a return to the caller, however it was made.
    pub(super) fn is_return(&self, call: &Record) -> bool {
        self.pc == call.return_address && (self.exit == Exit::Return || self.sp == call.caller_sp)
    }
}

/// Where control has landed: how its call stack differs from the one that it has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Landing {
    /// How many of the oldest calls are the same.
    kept: usize,
    /// Those after them.
    calls: Vec<Record>,
    bottom: Bottom,
    /// The place, if a function has returned there: PC and SP.
    pub(super) returned_to: Option<(u64, u64)>,
    /// The CFA of what has left for there, if it has left frames.
    pub(super) cfa: Option<u64>,
    /// Calls that were about to return there, if control has come by a branch: to the place itself, or in place of the
    /// frame's last call, as libgcc's unwinder does before it leaves for a landing pad.
    callees: Vec<Record>,
}

impl Landing {
    /// Describes the landing at a moment, from frames that have been left.
    pub(super) fn at(moment: &Moment<'_>, left: &[Record]) -> Self {
        let call_stack = moment.call_stack;
        // The frame that SP was loaded for has made a call.
        let calls = &call_stack.records()[..call_stack.depth() - 1 - usize::from(moment.call().is_some())];
        let kept = calls.iter().zip(left).take_while(|(now, before)| now.event == before.event).count();
        let exit = call_stack.exit().filter(|_| moment.call().is_none());
        let last = match exit {
            Some(Exit::Landing { call, .. }) => call,
            _ => None,
        };
        let callees = std::iter::once(moment.pc).chain(last).filter(|_| moment.call().is_none());
        Self {
            kept,
            calls: calls[kept..].to_vec(),
            bottom: call_stack.bottom(),
            returned_to: (exit == Some(Exit::Return)).then_some((moment.pc, moment.sp)),
            cfa: exit.map(|_| moment.sp.wrapping_sub(moment.abi().sp_from_cfa(0))),
            callees: callees.map(|return_address| moment.as_called(return_address, moment.sp)).collect(),
        }
    }

    /// Whether it is a context that the program has just made, in which nothing is known of callers, and not one that
    /// a call has returned to.
    pub(super) fn is_new(&self) -> bool {
        self.cfa.is_none() && self.bottom == Bottom::Context && self.kept + self.calls.len() == 0
    }

    /// Returns the call stacks that it leads to: that of the frame there, and those with a callee that returns there.
    pub(super) fn call_stacks(&self, left: &[Record]) -> Vec<CallStack> {
        let calls = left[..self.kept.min(left.len())].iter().chain(&self.calls).copied().collect();
        let there = CallStack::new(self.bottom, calls);
        let with_callee = self.callees.iter().map(|callee| there.entered(*callee));
        std::iter::once(there.clone()).chain(with_callee).collect()
    }
}
