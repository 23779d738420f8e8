//! Comparisons while SP has left the frames of the callers, and control has not: what the rows say there is held
//! against the call stack that control is about to leave and, once it has landed, against the one where it is. It may
//! be either. If it is neither, the rows are wrong.

use sframe_machine::{Bottom, CallStack, Exit, Moment, Record};

use crate::compare::{self, Disagreement, Rules, Truth};
use crate::examine::set_aside::SetAsideReason;
use crate::triage::Triage;
use crate::unwind::Backtrace;

/// No more comparisons are held at a time; any others are set aside.
pub(super) const MOST_HELD: usize = 1 << 12;

/// A comparison that disagrees with the call stack that control is about to leave.
#[derive(Debug)]
pub(super) struct Held {
    thread: u32,
    time: u64,
    pub(super) pc: u64,
    sp: u64,
    fp: u64,
    red_zone: u64,
    ignores_fp: bool,
    backtrace: Backtrace,
    /// The call of the frame that control is about to leave.
    call: Option<Record>,
    /// What it is if control lands elsewhere.
    pub(super) found: Vec<(Disagreement, Triage)>,
}

impl Held {
    pub(super) fn new(moment: &Moment<'_>, truth: &Truth<'_>, backtrace: Backtrace) -> Self {
        Self {
            thread: moment.thread,
            time: moment.time,
            pc: moment.pc,
            sp: moment.sp,
            fp: moment.fp,
            red_zone: truth.red_zone,
            ignores_fp: truth.ignores_fp,
            backtrace,
            call: truth.call_of(0).copied(),
            found: Vec::new(),
        }
    }

    /// Whether control of its thread has landed at a moment.
    pub(super) fn has_landed(&self, moment: &Moment<'_>) -> bool {
        self.thread == moment.thread && moment.call_stack.is_settled()
    }

    /// Whether a signal has come in between: then what is settled is the handler.
    pub(super) fn is_interrupted(&self, moment: &Moment<'_>) -> bool {
        let since = |call: &Record| call.interrupted && call.since + 1 >= self.time;
        moment.call_stack.records().iter().any(since)
    }

    /// Why the walk says nothing of the rows although it is of neither call stack. If it has the CFA with which the frame
    /// was then left, its other values may still be those of the caller.
    pub(super) fn why_set_aside(&self, landing: &Landing) -> Option<SetAsideReason> {
        let cfa = self.backtrace.frames.first().and_then(|frame| frame.cfa);
        if landing.is_new() {
            Some(SetAsideReason::NewContext)
        } else if landing.cfa.is_some() && cfa == landing.cfa {
            Some(SetAsideReason::LeavesElsewhere)
        } else {
            None
        }
    }

    /// Whether the function has not left otherwise in the end, but has returned to its caller: then nothing excuses what
    /// disagrees with its own frame.
    pub(super) fn returns_at(&self, landing: &Landing) -> bool {
        let call = self.call.zip(landing.returned_to);
        call.is_some_and(|(call, place)| (call.return_address, call.caller_sp) == place)
    }

    /// Whether the walk is that of the call stack where control has landed: the code was already part of the frame
    /// there, or was about to return to it.
    pub(super) fn agrees(&self, landing: &Landing, rules: &impl Rules) -> bool {
        let agrees = |call_stack: &CallStack| {
            let truth = Truth {
                pc: self.pc,
                sp: self.sp,
                fp: self.fp,
                red_zone: self.red_zone,
                call_stack,
                stores: None,
                ignores_fp: self.ignores_fp,
            };
            let mut agrees = true;
            let end = compare::compare(&truth, &self.backtrace, rules, |_| agrees = false);
            // Without a caller, nothing would disagree.
            agrees && call_stack.depth() > 1 && end.has_compared(call_stack.depth())
        };
        std::iter::once(&landing.frames).chain(&landing.with_callee).any(agrees)
    }
}

/// The call stack where control has landed.
pub(super) struct Landing {
    frames: CallStack,
    /// The place, if a function has returned there: PC and SP.
    returned_to: Option<(u64, u64)>,
    /// The CFA of what has left for there, if it has left frames.
    cfa: Option<u64>,
    /// The frames with a callee on top that was about to return there, if control has come by a branch: to the place itself, or
    /// in place of the frame's last call, as libgcc's unwinder does before it leaves for a landing pad.
    with_callee: Vec<CallStack>,
}

impl Landing {
    /// Whether it is a context that the program has just made, in which nothing is known of callers, and not one that
    /// a call has returned to.
    fn is_new(&self) -> bool {
        self.cfa.is_none() && self.frames.bottom() == Bottom::Context && self.frames.records().is_empty()
    }

    /// Describes the landing at a moment.
    pub(super) fn at(moment: &Moment<'_>) -> Self {
        let calls = moment.call_stack.records();
        if moment.call().is_some() {
            // The frame that SP was loaded for has made a call.
            return Self {
                frames: moment.call_stack.without(calls.len() - 1..calls.len()),
                returned_to: None,
                cfa: None,
                with_callee: Vec::new(),
            };
        }
        let cfa = moment.sp.wrapping_sub(moment.abi().sp_from_cfa(0));
        let last = match moment.call_stack.exit() {
            Some(Exit::Landing { call, .. }) => call,
            _ => None,
        };
        let with_callee = std::iter::once(moment.pc)
            .chain(last)
            .map(|return_address| {
                moment.call_stack.with(calls.len(), moment.as_called(return_address, moment.sp))
            })
            .collect();
        Self {
            returned_to: (moment.call_stack.exit() == Some(Exit::Return)).then_some((moment.pc, moment.sp)),
            frames: moment.call_stack.clone(),
            cfa: moment.call_stack.exit().map(|_| cfa),
            with_callee,
        }
    }
}
