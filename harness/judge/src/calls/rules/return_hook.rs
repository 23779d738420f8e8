//! A hook may have put its own address in the place of a return address: the function returns there, and its caller is
//! reached later. Until then, rows read what the hook has put there. The return address itself is nowhere in the frame:
//! otherwise the function has gone there as by a tail call.

use sframe_machine::{Memory, Record};

use crate::calls::known::Departure;
use crate::calls::rule::Rule;
use crate::compare::{Disagreement, Truth, Value};
use crate::vocabulary::Verdict;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "return-hook",
    text: "a row may read the address of a hook that the function then returns to before its caller",
    case: "return-hook",
};

/// Whether a frame has its return address nowhere in memory. A register may still have it, from before the hook came.
pub(in crate::calls) fn has_lost_return_address(
    frame: usize,
    truth: &Truth<'_>,
    memory: &dyn Memory,
) -> bool {
    let Some(call) = truth.call_of(frame) else { return false };
    let signed = call.signature.map(|signature| signature.signed);
    let is_ra = |word: u64| word == call.return_address || Some(word) == signed;
    truth.own_words(frame).is_some_and(|mut own| !own.any(|word| memory.read_u64(word).is_some_and(is_ra)))
}

/// Whether a wrong RA is what the function then goes to, as by a return.
pub(in crate::calls) fn describes(found: &Disagreement, call: &Record, departure: &Departure) -> bool {
    departure.is_detour
        && departure.sp == call.caller_sp
        && found.verdict == Verdict::WrongRa
        && found.got == Value::Word(departure.pc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::rules::example::{CALL, LANDS, found};

    #[test]
    fn a_row_may_read_the_hook_that_its_function_goes_to_with_its_callers_sp() {
        let hook = Departure { sp: CALL.caller_sp, is_detour: true, ..LANDS };
        let reads = |got| found(Verdict::WrongRa, got);
        assert!(describes(&reads(0x2000), &CALL, &hook));
        assert!(!describes(&reads(0x2004), &CALL, &hook));
        assert!(!describes(&reads(0x2000), &CALL, &Departure { sp: 0x7008, ..hook }));
        assert!(!describes(&reads(0x2000), &CALL, &Departure { is_detour: false, ..hook }));
    }
}
