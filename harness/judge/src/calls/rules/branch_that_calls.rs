//! A branch may call a function, if it leaves a return address where the ABI has it, or where it says itself: then
//! control returns there, with SP as it was. What the last call has left behind, or one that has returned, is none.

use sframe_machine::{Moment, Record};

use crate::calls::rule::Rule;
use crate::target::{Loaded, Target};
use crate::truth::stores::LastStores;

pub(in crate::calls) const RULE: Rule = Rule {
    name: "branch-that-calls",
    text: "a branch that leaves a return address is a call if control returns there",
    case: "jump-that-calls",
};

/// Returns the call that a branch may have made to what begins at a moment: it has left this return address, which is not
/// of a call that has not returned, nor the one that control has last returned to.
pub(in crate::calls) fn branch(
    moment: &Moment<'_>,
    returned_to: u64,
    stores: &LastStores,
    target: &Target<'_>,
) -> Option<Record> {
    let linked = moment.call_stack.linked();
    let abi = moment.abi();
    let (return_address, since) = match (linked, abi.ra()) {
        (Some(linked), _) => (linked, None),
        (None, Some(link)) => (moment.register(link.0)?, None),
        (None, None) => {
            (moment.memory.read_u64(moment.sp)?, stores.last(moment.sp).map(|store| (store.time, store.pc)))
        }
    };
    let calls = moment.call_stack.records();
    // Nobody has called the first function of a context: what it returns to, the program has put there.
    let beginning = moment.call_stack.beginning().filter(|_| calls.is_empty());
    let is_known = calls.last().or(beginning).is_some_and(|own| own.is_return_address(return_address))
        || linked.is_none() && return_address == returned_to;
    let here = target.module_at(Loaded(return_address))?;
    if is_known || here.instruction(Loaded(return_address)).is_none() {
        return None;
    }
    let call = moment.as_entered(return_address);
    match (linked, since) {
        // What the last call has left behind is not what a branch has left.
        (None, Some((time, pc))) => {
            let is_own = calls.last().is_none_or(|own| time > own.since);
            let instruction = target.module_at(Loaded(pc))?.instruction(Loaded(pc))?;
            (is_own && !instruction.is_call()).then_some(Record { since: time, ..call })
        }
        (None, None) if abi.ra().is_none() => None,
        _ => Some(call),
    }
}
