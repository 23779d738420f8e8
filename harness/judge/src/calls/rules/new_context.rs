//! Where control is about to begin a context that the program has made, nothing is known of callers.

use crate::calls::rule::Rule;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "new-context",
    text: "while control is about to begin a context that the program has made, rows are set aside",
    case: "contexts",
};
