//! Where SP has left the frames of the callers, and control has not, rows may already describe the frame where control
//! lands, or one that is about to return there.

use sframe_machine::CallStack;

use crate::calls::known::Landing;
use crate::calls::rule::Rule;
use crate::compare::{Rules, Truth, Walked, disagreements};

pub(in crate::calls) const RULE: Rule = Rule {
    name: "landed",
    text: "while SP has left the callers' frames and control has not, rows may be of the frame where it lands",
    case: "throw-by-named-jump",
};

/// Returns the call stack where control lands, if a walk is that one.
pub(in crate::calls) fn call_stack(
    landing: &Landing,
    truth: &Truth<'_>,
    walk: &impl Walked,
    rules: &impl Rules,
) -> Option<CallStack> {
    landing.call_stacks(truth.call_stack.records()).into_iter().find(|call_stack| {
        let (end, found) = disagreements(&Truth { call_stack, ..*truth }, walk, rules);
        // Without a caller, nothing would disagree.
        found.is_empty() && call_stack.depth() > 1 && end.has_compared(call_stack.depth())
    })
}
