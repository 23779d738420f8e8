//! Where control is about to begin a context that the program has made, nothing is known of callers.

use crate::calls::rule::Rule;
use crate::compare::{Rules, Truth};

pub(in crate::calls) const RULE: Rule = Rule {
    name: "new-context",
    text: "while control is about to begin a context that the program has made, rows are excluded",
    case: "contexts",
};

/// Frames of more bytes are not known by their FP.
const LARGEST: u64 = 1 << 16;

/// Whether the topmost frame's row is by FP, and that is still in the frame that control is about to leave: then the row is
/// of that frame.
pub(in crate::calls) fn is_of_frame_left(left: &Truth<'_>, rules: &impl Rules) -> bool {
    let Some(call) = left.call_of(0) else { return false };
    let is_own = call.cfa.checked_sub(left.fp).is_some_and(|above| above > 0 && above <= LARGEST);
    is_own && rules.at(left.address(0)).fp_as_base().is_some()
}
