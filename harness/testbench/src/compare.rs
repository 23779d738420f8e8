//! One backtrace against one call stack.

use std::iter;

use sframe_engine::{StepError, Tracked};
use sframe_machine::CallStack;

use crate::spec::Verdict;
use crate::unwind::{Backtrace, End};

/// How a walk that agrees with the call stack ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// At the entry function, marked as outermost.
    Outermost,
    /// At the entry function, whose section does not mark it: behind it the
    /// unwinder found an address that belongs to nothing, or could not go on.
    Unmarked,
    /// At a frame without an FDE. The frames above it agree.
    NoFde {
        /// The frame, 0 for the topmost.
        frame: usize,
    },
    /// At a disagreement.
    Disagreed,
}

/// A difference between backtrace and call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// What kind.
    pub verdict: Verdict,
    /// The frame whose rules gave the wrong value, 0 for the topmost.
    pub frame: usize,
    /// That frame's PC.
    pub pc: u64,
    /// What the call stack says.
    pub expected: Value,
    /// What the unwinder says.
    pub got: Value,
    /// The frame whose FP was wrong before, where that may be the cause.
    pub after_wrong_fp: Option<usize>,
}

/// What a disagreement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// An address or register value.
    Word(u64),
    /// Memory that can't be read.
    Unreadable(u64),
    /// So many frames.
    Frames(usize),
    /// An end of the walk.
    End(End),
}

/// The call stack as frames: PC and FP of each, and its CFA but for the entry
/// function, which nobody called.
fn true_frames(pc: u64, fp: u64, call_stack: &CallStack) -> impl Iterator<Item = (u64, u64, Option<u64>)> {
    let pcs = iter::once(pc).chain(call_stack.innermost_first().map(|record| record.return_address));
    let fps = iter::once(fp).chain(call_stack.innermost_first().map(|record| record.caller_fp));
    let cfas = call_stack.innermost_first().map(|record| Some(record.cfa)).chain(iter::once(None));
    pcs.zip(fps).zip(cfas).map(|((pc, fp), cfa)| (pc, fp, cfa))
}

/// The PCs of the call stack's frames, from the topmost one on.
pub fn true_pcs(pc: u64, call_stack: &CallStack) -> impl Iterator<Item = u64> {
    iter::once(pc).chain(call_stack.innermost_first().map(|record| record.return_address))
}

/// Compares PC, CFA and FP of every frame, from the topmost one on.
///
/// `has_fde` tells of a frame's PC and position whether an FDE covers it. An
/// unwinder's word is not enough: one that gives up early would look clean.
///
/// A wrong CFA or RA ends the comparison, since all behind it follows from
/// it. A wrong FP does not: where nothing reads it, the walk goes on rightly.
/// Only the first frame of a run of wrong FPs is reported.
pub fn compare(
    pc: u64,
    fp: u64,
    call_stack: &CallStack,
    backtrace: &Backtrace,
    has_fde: impl Fn(u64, usize) -> bool,
    mut report: impl FnMut(Disagreement),
) -> WalkEnd {
    let mut frames = true_frames(pc, fp, call_stack).enumerate().peekable();
    let mut wrong_fp = None;
    while let Some((index, (pc, _, true_cfa))) = frames.next() {
        let Some(frame) = backtrace.frames.get(index) else {
            // An unwinder that answers without even the topmost frame.
            report(truncated(index, pc, call_stack, backtrace.end));
            return WalkEnd::Disagreed;
        };
        let disagree = |verdict, expected, got| Disagreement {
            verdict,
            frame: index,
            pc,
            expected,
            got,
            after_wrong_fp: wrong_fp,
        };
        let is_last = index + 1 == backtrace.frames.len();
        let Some(true_cfa) = true_cfa else {
            return end_at_entry(index, pc, backtrace, has_fde, report);
        };
        if let Some(cfa) = frame.cfa
            && cfa != true_cfa
        {
            report(disagree(Verdict::WrongCfa, Value::Word(true_cfa), Value::Word(cfa)));
            return WalkEnd::Disagreed;
        }
        let Some((_, (true_ra, true_fp, _))) = frames.peek().copied() else {
            return WalkEnd::Disagreed;
        };
        if is_last {
            let end = backtrace.end;
            report(match end {
                End::Failed(StepError::NoFde) if !has_fde(pc, index) => {
                    return WalkEnd::NoFde { frame: index };
                }
                End::Failed(StepError::Unreadable { tracked: Tracked::Ra, address }) => {
                    disagree(Verdict::WrongRa, Value::Word(true_ra), Value::Unreadable(address))
                }
                End::Failed(StepError::Unreadable { address, .. }) => {
                    disagree(Verdict::BadMemory, Value::Word(true_cfa), Value::Unreadable(address))
                }
                End::Failed(StepError::NoProgress { .. }) => {
                    disagree(Verdict::NoProgress, Value::Word(true_cfa), Value::End(end))
                }
                End::Failed(StepError::Malformed(_)) => {
                    disagree(Verdict::DecodeError, Value::Word(true_ra), Value::End(end))
                }
                _ => Disagreement { after_wrong_fp: wrong_fp, ..truncated(index, pc, call_stack, end) },
            });
            return WalkEnd::Disagreed;
        }
        let caller = &backtrace.frames[index + 1];
        if caller.pc != true_ra {
            report(disagree(Verdict::WrongRa, Value::Word(true_ra), Value::Word(caller.pc)));
            return WalkEnd::Disagreed;
        }
        if caller.fp == Ok(true_fp) {
            wrong_fp = None;
        } else if wrong_fp.is_none() {
            let got = caller.fp.map_or_else(Value::Unreadable, Value::Word);
            report(disagree(Verdict::WrongFp, Value::Word(true_fp), got));
            wrong_fp = Some(index);
        }
    }
    WalkEnd::Disagreed
}

/// The walk has come to the entry function rightly; now it should end.
fn end_at_entry(
    index: usize,
    pc: u64,
    backtrace: &Backtrace,
    has_fde: impl Fn(u64, usize) -> bool,
    mut report: impl FnMut(Disagreement),
) -> WalkEnd {
    let extra = backtrace.frames.len() - index - 1;
    let disagree = |verdict, expected, got| Disagreement {
        verdict,
        frame: index,
        pc,
        expected,
        got,
        after_wrong_fp: None,
    };
    let end = backtrace.end;
    match (extra, end) {
        (0, End::Outermost) => return WalkEnd::Outermost,
        (0, End::Failed(StepError::NoFde)) if !has_fde(pc, index) => {
            return WalkEnd::NoFde { frame: index };
        }
        (0, End::Failed(StepError::Malformed(_))) => {
            report(disagree(Verdict::DecodeError, Value::End(End::Outermost), Value::End(end)));
        }
        (0, End::Failed(StepError::NoFde) | End::TooDeep) => {
            report(disagree(Verdict::WrongEnd, Value::End(End::Outermost), Value::End(end)));
        }
        (0, End::Failed(_)) => return WalkEnd::Unmarked,
        (1, End::Failed(StepError::NoFde)) if !has_fde(backtrace.frames[index + 1].pc, index + 1) => {
            return WalkEnd::Unmarked;
        }
        _ => report(disagree(
            Verdict::ExtraFrames,
            Value::Frames(index + 1),
            Value::Frames(backtrace.frames.len()),
        )),
    }
    WalkEnd::Disagreed
}

fn truncated(frame: usize, pc: u64, call_stack: &CallStack, end: End) -> Disagreement {
    Disagreement {
        verdict: Verdict::Truncated,
        frame,
        pc,
        expected: Value::Frames(call_stack.depth()),
        got: Value::End(end),
        after_wrong_fp: None,
    }
}
