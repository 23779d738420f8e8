//! SP may move past frames and come back to them, or the innermost one may return all the same: its callee has removed
//! arguments from the stack. Then they have not ended where SP moved.

use crate::calls::rule::Rule;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "return-past-frames",
    text: "frames that SP has moved past have not ended if it comes back, or if the innermost one returns",
    case: "stack-pointer-above-callers",
};
