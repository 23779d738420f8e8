//! What a program of the corpus compared in its own check of its result.
//!
//! The check is the runtime's `bench_check(got, wanted)`. Its arguments are two 32-bit integers,
//! which every ABI passes in registers, so they can be read at its first instruction.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_machine::Moment;

/// The function that checks.
pub(super) const FUNCTION: &str = "bench_check";

/// A check that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct FailedCheck {
    /// What the program computed.
    pub got: u32,
    /// What it should have computed.
    pub wanted: u32,
}

impl FailedCheck {
    /// Reads the arguments at the function's first instruction. `None` if they are equal.
    pub(super) fn at(moment: &Moment<'_>) -> Option<Self> {
        // The upper half of a register has no meaning.
        let argument = |index| u32::try_from(moment.argument(index)? & u64::from(u32::MAX)).ok();
        let (got, wanted) = (argument(0)?, argument(1)?);
        (got != wanted).then_some(Self { got, wanted })
    }
}

impl fmt::Display for FailedCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{FUNCTION} got {:#010x} and wanted {:#010x}", self.got, self.wanted)
    }
}
