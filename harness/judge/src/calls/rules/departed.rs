//! Where SP is past frames, and control has not left them yet, rows may still describe these.

use sframe_machine::{CallStack, Moment};

use crate::calls::rule::Rule;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "departed",
    text: "while SP is past frames that control has not left, rows may be of these frames",
    case: "jump-to-label-of-callers-caller",
};

/// The call stack that control has not left yet.
pub(in crate::calls) fn call_stack(moment: &Moment<'_>) -> Option<CallStack> {
    moment.call_stack.departed().filter(|_| moment.call_stack.is_settled()).cloned()
}
