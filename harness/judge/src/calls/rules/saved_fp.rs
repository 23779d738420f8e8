//! Where a callee has put another FP in the place where a function had saved its caller's, the row reads that one. It is
//! right if the function then leaves with it, and its caller's is nowhere else in the frame: libgcc's unwinder does so
//! before `__builtin_eh_return`.

use sframe_machine::{Memory, Record};

use crate::calls::known::Departure;
use crate::calls::rule::Rule;
use crate::compare::{Disagreement, Rules, Truth, Value};
use crate::vocabulary::Verdict;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "saved-fp",
    text: "a row may read the FP that a callee has put where the function had saved its caller's, if it leaves with that",
    case: "saved-fp-replaced",
};

/// Whether a frame's row reads FP where a callee of it has put another one than the function had saved, and the caller's FP
/// is not in the frame any more.
pub(in crate::calls) fn is_replaced(
    frame: usize,
    truth: &Truth<'_>,
    memory: &dyn Memory,
    rules: &impl Rules,
) -> bool {
    let (Some(stores), Some(call)) = (truth.stores, truth.call_of(frame)) else { return false };
    let rule = rules.at(truth.address(frame)).fp_rule();
    let word = rule.and_then(|rule| truth.word(frame, &rule));
    let is_intact = |word: u64| {
        memory.read_u64(word) == Some(call.caller_fp)
            && stores.last(word).is_some_and(|last| last.is_from_fp(call.since))
    };
    word.is_some_and(|word| stores.is_overwritten_by_callee(word, call.since))
        && truth.own_words(frame).is_some_and(|mut own| !own.any(is_intact))
}

/// Whether a wrong FP is the one that the function itself then leaves with. A return to its caller makes none right.
pub(in crate::calls) fn describes(found: &Disagreement, call: &Record, departure: &Departure) -> bool {
    let is_exit = !departure.is_detour && !departure.is_return(call);
    is_exit
        && departure.is_innermost
        && found.verdict == Verdict::WrongFp
        && found.got == Value::Word(departure.fp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::rules::example::{CALL, LANDS, RETURNS, found};

    #[test]
    fn a_row_may_read_the_fp_with_which_its_function_leaves_and_no_other() {
        let fp = found(Verdict::WrongFp, LANDS.fp);
        assert!(describes(&fp, &CALL, &LANDS));
        assert!(!describes(&found(Verdict::WrongFp, 0x223), &CALL, &LANDS));
        assert!(!describes(&found(Verdict::WrongCfa, LANDS.fp), &CALL, &LANDS));
        // Its callee has left with another one; it has returned to its caller; it has come back.
        for other in
            [Departure { is_innermost: false, ..LANDS }, RETURNS, Departure { is_detour: true, ..LANDS }]
        {
            assert!(!describes(&fp, &CALL, &other), "{other:?}");
        }
    }
}
