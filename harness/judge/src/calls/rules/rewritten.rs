//! A signal handler may change where what it has interrupted will continue: rows may describe either.

use sframe_machine::{CallStack, Moment};

use crate::calls::rule::Rule;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "rewritten",
    text: "what a handler has written into the interrupted context is where that continues",
    case: "rewritten-context",
};

/// The call stack as it will continue, if a handler has changed that.
pub(in crate::calls) fn call_stack(moment: &Moment<'_>) -> Option<CallStack> {
    moment.rewritten()
}
