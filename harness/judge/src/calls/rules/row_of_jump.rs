//! A jump that calls has pushed the return address itself, so that SP is lower at the jump than when the callee has
//! returned. The row that is looked up for the caller is that of the jump: nobody's fault, and the walk goes wrong there.

use sframe_engine::{Base, LookupAddress, RowRules};

use crate::calls::rule::Rule;
use crate::compare::{Disagreement, Value};
use crate::target::Target;
use crate::target::sections::Sections;
use crate::vocabulary::Verdict;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "row-of-jump",
    text: "the row of a jump that calls has the CFA from before the return address was taken off the stack",
    case: "jump-that-calls",
};

/// Whether a disagreement follows from that. `pushed` is what calls push.
pub(in crate::calls) fn explains(
    found: &Disagreement,
    pushed: u64,
    sections: &Sections<'_>,
    target: &Target<'_>,
) -> bool {
    let (Value::Word(expected), Value::Word(got)) = (found.expected, found.got) else { return false };
    found.frame > 0
        && found.verdict == Verdict::WrongCfa
        && pushed > 0
        && got == expected.wrapping_add(pushed)
        && is_row_of_jump(found.address, sections, target)
}

/// Whether what is looked up is a jump, and the CFA is computed from SP there.
fn is_row_of_jump(address: LookupAddress, sections: &Sections<'_>, target: &Target<'_>) -> bool {
    let is_by_sp = |rules: RowRules| rules.cfa.is_some_and(|cfa| cfa.base == Base::Sp);
    let row = sections.lookup(address).ok().flatten();
    let Some(module) = target.module_at(address).filter(|_| row.is_some_and(|it| is_by_sp(it.row.rules())))
    else {
        return false;
    };
    let (code, next) = (module.code_around(address), address.get().wrapping_add(1));
    let last = code.before(next).and_then(|start| Some((start, code.at(start)?)));
    last.is_some_and(|(start, jump)| start.wrapping_add(jump.len) == next && !jump.falls_through())
}
