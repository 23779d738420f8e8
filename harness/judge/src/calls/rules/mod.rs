//! The rules by which calls are read, each in a file with the program that needs it.
//!
//! The first four ask what only control can show; the others say what rows may describe while control is under way. A
//! test switches each off, and sees the answer about its program change.

pub(super) mod branch_that_calls;
pub(super) mod call_within_function;
pub(super) mod departed;
pub(super) mod elsewhere;
pub(super) mod landed;
pub(super) mod landing;
pub(super) mod new_context;
pub(super) mod return_hook;
pub(super) mod return_past_frames;
pub(super) mod rewritten;
pub(super) mod row_of_jump;
pub(super) mod saved_fp;
pub(super) mod trap;
pub(super) mod unresolved;

use super::rule::Rule;

/// All of them.
pub const RULES: [&Rule; 14] = [
    &branch_that_calls::RULE,
    &call_within_function::RULE,
    &departed::RULE,
    &elsewhere::RULE,
    &landed::RULE,
    &landing::RULE,
    &new_context::RULE,
    &return_hook::RULE,
    &return_past_frames::RULE,
    &rewritten::RULE,
    &row_of_jump::RULE,
    &saved_fp::RULE,
    &trap::RULE,
    &unresolved::RULE,
];

/// What the tests of rules are about: a call of a function at 0x1000, and how that is left.
#[cfg(test)]
mod example {
    use sframe_engine::InstructionPointer;
    use sframe_machine::{Exit, Record};

    use crate::calls::known::Departure;
    use crate::compare::{Disagreement, Value};
    use crate::vocabulary::Verdict;

    pub(super) const CALL: Record = Record {
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

    /// To 0x2000 with SP at 0x8000, in a frame whose last call would have returned to 0x2004.
    pub(super) const LANDS: Departure = Departure {
        exit: Exit::Landing { call: Some(0x2004), or: None },
        pc: 0x2000,
        sp: 0x8000,
        fp: 0x222,
        is_innermost: true,
        is_detour: false,
    };

    /// To the caller.
    pub(super) const RETURNS: Departure =
        Departure { exit: Exit::Return, pc: CALL.return_address, sp: CALL.caller_sp, ..LANDS };

    pub(super) fn found(verdict: Verdict, got: u64) -> Disagreement {
        let address = InstructionPointer(0x1004).into();
        let (expected, got) = (Value::Word(0), Value::Word(got));
        Disagreement { verdict, frame: 0, pc: 0x1004, address, expected, got, after_wrong_fp: None }
    }
}
