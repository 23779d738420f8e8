//! Unwinders under test, behind one trait.

mod backtrace;
mod engine;
pub mod external;

pub use backtrace::{Backtrace, BlackBox, End, Frame, State, Stepped, Stepper, Unwinder, Viewpoint};
pub(crate) use engine::DEPTH_LIMIT;
pub use engine::SframeUnwinder;
