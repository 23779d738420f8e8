//! DWARF call frame information, of `.eh_frame` and `.debug_frame`: what
//! compilers and people say of the same frames, before an assembler makes
//! SFrame of it.
//!
//! It is a witness of its own beside the section under test, and judges
//! nothing. Addresses are without load bias.

mod evaluate;
mod expression;
mod read;
mod rules;

#[cfg(test)]
mod tests;

pub use evaluate::{Evaluated, EvaluationError, LAST_REGISTER, Registers};
pub(crate) use read::endian;
pub use read::{CallFrameInfo, CfiError, CfiFde, CfiInput, CfiRow, CfiSection, RowsOfFde, register_column};
pub use rules::{Inexpressible, Rules};
