//! What the calls of a run were, known before anything is judged by them.
//!
//! Runs are deterministic. Where a call stack may be read in two ways, the witness goes on with what it assumes, and
//! `Calls` asks; what control does later is the answer. A run in which something was otherwise than assumed is followed
//! to its end, and then made once more with all answers (`Known`). So there is one call stack at each moment, and two
//! only while control is under way from one frame to another: see `readings`.
//!
//! Where control shows the same for both, the extents of functions decide: FDEs and symbols. Rows are never asked, nor is
//! it asked whether they agree. What never resolves is excluded, by a named reason.

mod excluded;
mod follow;
mod known;
mod questions;
mod readings;
mod rule;
mod rules;

pub use excluded::ExclusionReason;
pub(crate) use excluded::Kind;
pub(crate) use follow::Calls;
pub(crate) use known::Known;
pub(crate) use readings::Scene;
pub use readings::{Judged, Readings};
pub use rule::Rule;
pub use rules::RULES;
