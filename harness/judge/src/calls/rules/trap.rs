//! What a call has led to that skips a speculation trap is part of the code before it, or may be described as a callee, if
//! a function begins there: it is about to remove or replace its return address.

use sframe_machine::{CallStack, Moment};

use crate::calls::rule::Rule;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "trap",
    text: "what a call over a speculation trap leads to may be described as its callee, if a function begins there",
    case: "return-thunk",
};

/// The call stack with that callee. `begins` is whether a function begins there.
pub(in crate::calls) fn call_stack(moment: &Moment<'_>, begins: bool) -> Option<CallStack> {
    let return_address = moment.call_stack.skipped().filter(|_| begins)?;
    Some(moment.call_stack.entered(moment.as_entered(return_address)))
}
