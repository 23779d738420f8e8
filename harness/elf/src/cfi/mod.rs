//! DWARF call frame information, from `.eh_frame` and `.debug_frame`: how compilers
//! and people describe the frames, before an assembler makes SFrame from it.
//!
//! It is a separate witness besides the section under test, and judges nothing.
//! Addresses are without load bias.

mod evaluate;
mod expression;
mod landing_pads;
mod read;
mod rules;
mod sign_with_pc;
mod table;

#[cfg(test)]
mod tests;

pub use evaluate::{Evaluated, EvaluationError, LAST_REGISTER, Registers};
pub use landing_pads::{CallSite, LandingPads, LsdaError};
pub(crate) use read::endian;
pub use read::{CallFrameInfo, CfiError, CfiFde, CfiInput, CfiRow, RowsOfFde, register_column};
pub use rules::{Inexpressible, Rules};
pub use table::CfiSection;
