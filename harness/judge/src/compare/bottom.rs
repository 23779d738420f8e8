//! The end of a walk that has come to the outermost frame.

use sframe_engine::{InstructionPointer, ReturnAddress, StepError};
use sframe_machine::{Bottom, Record};

use super::{Disagreement, Rules, Truth, Value, WalkEnd, Walked, truncated};
use crate::unwind::{End, Frame};
use crate::vocabulary::Verdict;

/// Handles a walk that has correctly reached the outermost frame and should end.
pub(super) fn end_at_bottom(
    truth: &Truth<'_>,
    walk: &impl Walked,
    rules: &impl Rules,
    mut report: impl FnMut(Disagreement),
) -> WalkEnd {
    let index = truth.call_stack.depth() - 1;
    let end = walk.end();
    let Some(extra) = walk.count().checked_sub(index + 1) else {
        report(truncated(truth, index, end));
        return WalkEnd::Disagreed;
    };
    let disagree = |verdict, expected, got| Disagreement::new(truth, index, verdict, expected, got);
    let address = truth.address(index);
    let covered =
        || walk.frame(index + 1).is_some_and(|caller| rules.at(ReturnAddress(caller.pc).into()).has_fde);
    // A return address of 0 ends a walk, by convention.
    let goes_beyond = walk.frame(index + 1).is_some_and(|caller| caller.pc != 0);
    match (extra, end) {
        (0, End::Outermost) => return WalkEnd::Outermost,
        (0, End::Failed(StepError::NoFde)) if !rules.at(address).has_fde => {
            return WalkEnd::NoFde { frame: index };
        }
        (0, End::Failed(StepError::Malformed(_))) => {
            report(disagree(Verdict::DecodeError, Value::End(End::Outermost), Value::End(end)));
        }
        (0, End::Failed(StepError::NoFde) | End::TooDeep) => {
            report(disagree(Verdict::WrongEnd, Value::End(End::Outermost), Value::End(end)));
        }
        _ if truth.call_stack.bottom() != Bottom::Entry => match beyond_context(truth, index, walk, rules) {
            None => return WalkEnd::Context { goes_beyond },
            Some(found) => report(found),
        },
        (0, End::Failed(_) | End::Unspecified) => return WalkEnd::Unmarked { goes_beyond },
        (1, End::Failed(StepError::NoFde)) if !covered() => return WalkEnd::Unmarked { goes_beyond },
        _ => report(disagree(Verdict::ExtraFrames, Value::Frames(index + 1), Value::Frames(walk.count()))),
    }
    WalkEnd::Disagreed
}

/// Returns what is wrong with the frames beyond the first function of a context, at `index`. Nobody has called it. It may
/// have an address to return to, which the program has put there: a walk may find that, and the function there, which may
/// not be marked either; what that one would return to leads nowhere, and whatever has an FDE is no caller of it.
fn beyond_context(
    truth: &Truth<'_>,
    index: usize,
    walk: &impl Walked,
    rules: &impl Rules,
) -> Option<Disagreement> {
    let disagree = |verdict, expected, got| Some(Disagreement::new(truth, index, verdict, expected, got));
    if let Some(beginning) = beginning(truth, index, rules) {
        let Record { cfa, return_address, .. } = *beginning;
        if let Some(got) = walk.frame(index).and_then(|frame| frame.cfa).filter(|got| *got != cfa) {
            return disagree(Verdict::WrongCfa, Value::Word(cfa), Value::Word(got));
        }
        if let Some(first) = walk.frame(index + 1).filter(|first| first.pc != return_address) {
            return disagree(Verdict::WrongRa, Value::Word(return_address), Value::Word(first.pc));
        }
    }
    let first = walk.frame(index + 1)?;
    let has_fde = |frame: &Frame| rules.at(ReturnAddress(frame.pc).into()).has_fde;
    let is_marked = rules.at(ReturnAddress(first.pc).into()).mark_outermost();
    let most = index + 2 + usize::from(has_fde(&first) && !is_marked);
    let is_too_far = walk.count() > most || walk.frame(index + 2).is_some_and(|second| has_fde(&second));
    let beyond = (index + 1..walk.count()).map_while(|extra| walk.frame(extra));
    if is_too_far || beyond.into_iter().any(|frame| is_found_in_function_before(&frame, rules)) {
        return disagree(Verdict::ExtraFrames, Value::Frames(index + 1), Value::Frames(walk.count()));
    }
    None
}

/// Returns how the context began whose outermost frame is at `index`, if that is still in the function that began it.
fn beginning<'m>(truth: &Truth<'m>, index: usize, rules: &impl Rules) -> Option<&'m Record> {
    let beginning = truth.call_stack.beginning()?;
    let function = rules.at(truth.address(index)).function()?;
    (function.start == beginning.callee && truth.sp_of(index) <= beginning.caller_sp).then_some(beginning)
}

/// Whether a frame beyond a context's first function is none: it is where a function begins, as the address of one that a
/// program has put on a stack is, so that the byte before it belongs to another. What calls return to has its own function
/// before it, and so have trampolines that are made to be found: their FDE starts early.
fn is_found_in_function_before(frame: &Frame, rules: &impl Rules) -> bool {
    frame.interrupted != Some(true)
        && rules.at(ReturnAddress(frame.pc).into()).are_not_for_signal_frame_at(frame.pc)
        && rules.at(InstructionPointer(frame.pc).into()).has_fde
}

#[cfg(test)]
mod tests {
    use sframe_machine::CallStack;

    use super::*;
    use crate::compare::disagreements;
    use crate::compare::tests::Functions;
    use crate::unwind::Backtrace;

    /// Only what is looked up in another function than the one that it is in is no frame: all else that a context's first
    /// function leads to is excused.
    #[test]
    fn beyond_a_context_only_what_begins_a_function_is_no_frame() {
        let functions = Functions { signal: false, second_has_fde: true };
        let frame = |pc, interrupted| Frame { pc, cfa: None, fp: Ok(0), mangled: None, interrupted };
        for (pc, interrupted, rules, is_none) in [
            (0x1010, None, &functions, true),
            (0x1010, Some(false), &functions, true),
            // It is looked up at its own PC, and so rightly.
            (0x1010, Some(true), &functions, false),
            // A return address within a function.
            (0x1008, None, &functions, false),
            (0x1018, None, &functions, false),
            // Nothing is before it, as before a trampoline.
            (0x1000, None, &functions, false),
            // What a restorer's FDE covers a byte of is meant to be found.
            (0x1010, None, &Functions { signal: true, second_has_fde: true }, false),
            // What is there may be part of the function before it.
            (0x1010, None, &Functions { signal: false, second_has_fde: false }, false),
        ] {
            assert_eq!(is_found_in_function_before(&frame(pc, interrupted), rules), is_none, "{pc:#x}");
        }
    }

    /// A context whose first function is at 0x1000, and will return to `return_address`.
    fn context(return_address: u64) -> CallStack {
        CallStack::new(Bottom::Context, Vec::new()).begun_by(Record {
            return_address,
            cfa: 0x7010,
            caller_sp: 0x7010,
            caller_fp: 0,
            callee: 0x1000,
            since: 0,
            event: 0,
            interrupted: false,
            signature: None,
        })
    }

    /// Nobody has called a context's first function: it may have an address to return to, and that is all.
    #[test]
    fn beyond_a_context_is_what_its_first_function_returns_to_and_nothing_else() {
        let functions = Functions { signal: false, second_has_fde: true };
        let begun = context(0x1018);
        let within = CallStack::new(Bottom::Context, Vec::new());
        let nowhere = context(0);
        let extra = Some(Verdict::ExtraFrames);
        for (call_stack, cfa, beyond, expected) in [
            (&begun, 0x7010, &[][..], None),
            (&begun, 0x7010, &[0x1018][..], None),
            // What the function returns to has no mark either.
            (&begun, 0x7010, &[0x1018, 0][..], None),
            (&begun, 0x7010, &[0x1018, 0x1008][..], extra),
            (&begun, 0x7010, &[0x1018, 0, 0][..], extra),
            (&begun, 0x7010, &[0x1018, 0, 0x1008][..], extra),
            (&begun, 0x7010, &[0x1008][..], Some(Verdict::WrongRa)),
            (&begun, 0x7010, &[0][..], Some(Verdict::WrongRa)),
            (&begun, 0x7018, &[0x1018][..], Some(Verdict::WrongCfa)),
            // Where the walk ends, nothing has come of it.
            (&begun, 0x7018, &[][..], None),
            (&nowhere, 0x7010, &[0][..], None),
            (&nowhere, 0x7010, &[0, 0][..], extra),
            (&nowhere, 0x7010, &[0x1018][..], Some(Verdict::WrongRa)),
            // It has begun within a function: what that returns to is not known.
            (&within, 0x7018, &[0x1018][..], None),
            (&within, 0x7018, &[0x1018, 0][..], None),
            (&within, 0x7018, &[0x1018, 0x1008][..], extra),
            (&within, 0x7018, &[0, 0][..], extra),
            (&within, 0x7018, &[0x1010][..], extra),
        ] {
            let truth = Truth {
                pc: 0x1004,
                sp: 0x7000,
                fp: 0,
                red_zone: 0,
                call_stack,
                stores: None,
                viewpoint: None,
                ignores_fp: false,
            };
            let frame = |pc, cfa| Frame { pc, cfa, fp: Ok(0), mangled: None, interrupted: None };
            let mut frames = vec![frame(0x1004, Some(cfa))];
            frames.extend(beyond.iter().map(|pc| frame(*pc, None)));
            let walk =
                Backtrace { frames, end: End::Failed(StepError::NoFde), words: Vec::new(), limit: None };
            let (end, found) = disagreements(&truth, &walk, &functions);
            let verdict = found.first().map(|found| found.verdict);
            // A walk that ends at a function with an FDE should not say that there is none.
            let expected = if beyond.is_empty() { Some(Verdict::WrongEnd) } else { expected };
            assert_eq!(verdict, expected, "{cfa:#x} {beyond:x?}");
            let goes_beyond = beyond.first().is_some_and(|pc| *pc != 0);
            assert_eq!(end == WalkEnd::Context { goes_beyond }, expected.is_none(), "{cfa:#x} {beyond:x?}");
        }
        // Further in, another function may have taken its place.
        let truth = Truth {
            pc: 0x1014,
            sp: 0x7000,
            fp: 0,
            red_zone: 0,
            call_stack: &begun,
            stores: None,
            viewpoint: None,
            ignores_fp: false,
        };
        assert!(beginning(&truth, 0, &functions).is_none());
        assert!(beginning(&Truth { pc: 0x1004, sp: 0x7018, ..truth }, 0, &functions).is_none());
        assert!(beginning(&Truth { pc: 0x1004, ..truth }, 0, &functions).is_some());
    }
}
