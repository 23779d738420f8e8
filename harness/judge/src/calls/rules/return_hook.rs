//! A hook may have put its own address in the place of a return address: the function returns there, and its caller is
//! reached later. Until then, rows read what the hook has put there.

use sframe_machine::Record;

use crate::calls::known::Departure;
use crate::calls::rule::Rule;
use crate::compare::{Disagreement, Value};
use crate::vocabulary::Verdict;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "return-hook",
    text: "a row may read the address of a hook that the function then returns to before its caller",
    case: "return-hook",
};

/// Whether a wrong RA is what the function then goes to, as by a return.
pub(in crate::calls) fn describes(found: &Disagreement, call: &Record, departure: &Departure) -> bool {
    departure.is_detour
        && departure.sp == call.caller_sp
        && found.verdict == Verdict::WrongRa
        && found.got == Value::Word(departure.pc)
}

#[cfg(test)]
mod tests {
    use sframe_engine::InstructionPointer;
    use sframe_machine::Exit;

    use super::*;

    #[test]
    fn a_row_may_read_the_hook_that_its_function_goes_to_with_its_callers_sp() {
        let call = Record {
            return_address: 0x1018,
            cfa: 0x7000,
            caller_sp: 0x7000,
            caller_fp: 0,
            callee: 0x1000,
            since: 0,
            event: 1,
            interrupted: false,
            signature: None,
        };
        let hook = Departure {
            exit: Exit::Landing { call: None, or: Some(0) },
            pc: 0x2000,
            sp: 0x7000,
            fp: 0,
            is_innermost: true,
            is_detour: true,
        };
        let found = |got| Disagreement {
            verdict: Verdict::WrongRa,
            frame: 0,
            pc: 0x1004,
            address: InstructionPointer(0x1004).into(),
            expected: Value::Word(0x1018),
            got: Value::Word(got),
            after_wrong_fp: None,
        };
        assert!(describes(&found(0x2000), &call, &hook));
        assert!(!describes(&found(0x2004), &call, &hook));
        assert!(!describes(&found(0x2000), &call, &Departure { sp: 0x7008, ..hook }));
        assert!(!describes(&found(0x2000), &call, &Departure { is_detour: false, ..hook }));
    }
}
