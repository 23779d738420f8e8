//! A function that leaves for elsewhere than its caller, as `__builtin_eh_return` does, has rows that describe where it
//! will go before it has gone. A return to the caller makes none of them right.

use sframe_engine::Abi;
use sframe_machine::{Exit, Record};

use crate::calls::known::Departure;
use crate::calls::rule::Rule;
use crate::compare::{Disagreement, Value};
use crate::vocabulary::Verdict;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "elsewhere",
    text: "a row may describe the frame that its function then leaves for, if that is not its caller",
    case: "left-elsewhere-once",
};

/// Whether a wrong RA or CFA is where the function then left for.
///
/// Code that installs a context, as libgcc's unwinder does, first makes its own frame one that was called by the frame
/// where it lands, in place of that frame's last call.
pub(in crate::calls) fn describes(
    found: &Disagreement,
    call: &Record,
    departure: &Departure,
    abi: Option<Abi>,
) -> bool {
    if departure.is_detour || departure.is_return(call) {
        return false;
    }
    let last = match departure.exit {
        Exit::Landing { call, .. } => call,
        // A landing pad may be right behind the call of a frame further out, which then returns there.
        Exit::Return => None,
    };
    match (found.verdict, found.got) {
        (Verdict::WrongRa, Value::Word(to)) => departure.pc == to || last == Some(to),
        (Verdict::WrongCfa, Value::Word(cfa)) => abi.is_some_and(|abi| abi.sp_from_cfa(cfa) == departure.sp),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use sframe_engine::InstructionPointer;

    use super::*;

    const CALL: Record = Record {
        return_address: 0x1018,
        cfa: 0x7000,
        caller_sp: 0x7000,
        caller_fp: 0x111,
        callee: 0x1000,
        since: 0,
        event: 1,
        interrupted: false,
        signature: None,
    };

    fn found(verdict: Verdict, got: u64) -> Disagreement {
        let address = InstructionPointer(0x1004).into();
        let (expected, got) = (Value::Word(0), Value::Word(got));
        Disagreement { verdict, frame: 0, pc: 0x1004, address, expected, got, after_wrong_fp: None }
    }

    /// A departure to 0x2000 with SP at 0x8000, in a frame whose last call would have returned to 0x2004.
    const LANDS: Departure = Departure {
        exit: Exit::Landing { call: Some(0x2004), or: None },
        pc: 0x2000,
        sp: 0x8000,
        fp: 0x222,
        is_innermost: true,
        is_detour: false,
    };

    #[test]
    fn a_row_describes_where_its_function_lands_and_nothing_else() {
        let describes = |found: &Disagreement, departure: &Departure| {
            describes(found, &CALL, departure, Some(Abi::Aarch64))
        };
        for (found, expected) in [
            (found(Verdict::WrongRa, 0x2000), true),
            (found(Verdict::WrongRa, 0x2004), true),
            (found(Verdict::WrongRa, 0x2008), false),
            (found(Verdict::WrongCfa, 0x8000), true),
            (found(Verdict::WrongCfa, 0x8008), false),
            (found(Verdict::WrongFp, 0x222), false),
        ] {
            assert_eq!(describes(&found, &LANDS), expected, "{found:?}");
        }
    }

    #[test]
    fn a_return_to_the_caller_makes_no_row_right() {
        let returns = Departure { exit: Exit::Return, pc: CALL.return_address, sp: CALL.caller_sp, ..LANDS };
        let lands = Departure { pc: CALL.return_address, sp: CALL.caller_sp, ..LANDS };
        let detour = Departure { is_detour: true, ..LANDS };
        for departure in [returns, lands, detour] {
            for found in [found(Verdict::WrongRa, departure.pc), found(Verdict::WrongCfa, departure.sp)] {
                assert!(!describes(&found, &CALL, &departure, Some(Abi::Aarch64)), "{departure:?}");
            }
        }
    }
}
