//! A jump for which SP was loaded from memory may stay in its frame, or land in one further out: compiled code that leaves
//! for its interpreter stays. So may one to the caller's code, past the data after a call for instance, and a frame that
//! SP has been above. Where control has stayed, the frame returns.

use crate::calls::rule::Rule;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "landing",
    text: "control that lands in its frame, or in one further out, has stayed in its frame if that returns",
    case: "callee-skips-data",
};
