//! Where the run ends, or goes on elsewhere, before it shows what a call was, a row that is right only for the opposite of
//! what is assumed is excluded.

use crate::calls::rule::Rule;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "unresolved",
    text: "a row that is right only if a call was none, or a branch one, is excluded if the run does not show which",
    case: "unsettled-at-the-end",
};
