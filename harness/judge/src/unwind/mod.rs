//! Unwinders under test, behind one trait.

mod backtrace;
mod bases;
mod cfi;
mod engine;
mod frame_pointers;
mod mistake;

pub use backtrace::{
    Backtrace, BlackBox, End, FpUse, Frame, PlainRow, Saved, State, Stepped, Stepper, Unreadable, Unwinder,
    Viewpoint,
};
pub(crate) use bases::Bases;
pub use cfi::CfiUnwinder;
pub use engine::DEPTH_LIMIT;
pub use engine::{SframeUnwinder, sframe_unwinder};
pub use frame_pointers::{CodeReadingUnwinder, FramePointerUnwinder};
pub use mistake::Mistake;

use crate::target::Target;

/// Makes the unwinder under test for a file.
pub type MakeUnwinder = dyn for<'a> Fn(&Target<'a>) -> Box<dyn Unwinder + 'a> + Sync;
