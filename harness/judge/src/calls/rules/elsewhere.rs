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
    use super::*;
    use crate::calls::rules::example::{CALL, LANDS, RETURNS, found};

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
        let lands = Departure { pc: CALL.return_address, sp: CALL.caller_sp, ..LANDS };
        let detour = Departure { is_detour: true, ..LANDS };
        for departure in [RETURNS, lands, detour] {
            for found in [found(Verdict::WrongRa, departure.pc), found(Verdict::WrongCfa, departure.sp)] {
                assert!(!describes(&found, &CALL, &departure, Some(Abi::Aarch64)), "{departure:?}");
            }
        }
    }
}
