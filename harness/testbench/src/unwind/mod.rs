//! Unwinders under test, behind one trait.

mod backtrace;
mod engine;

pub use backtrace::{Backtrace, End, Frame, Unwinder, Viewpoint};
pub use engine::SframeUnwinder;
