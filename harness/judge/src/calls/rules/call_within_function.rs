//! A call within a function may fetch an address: of data that is skipped, for instance. Then its return address is taken
//! from where it was put, and control never returns there. A callee that drops its caller's frame is the same to
//! control: only where functions begin distinguishes them.

use sframe_engine::{InstructionPointer, LookupAddress, ReturnAddress};
use sframe_machine::Record;

use crate::calls::rule::Rule;
use crate::target::{Loaded, Target};

pub(in crate::calls) const RULE: Rule = Rule {
    name: "call-within-function",
    text: "a call to code of its own function is none if control never returns to its return address",
    case: "call-over-data",
};

/// Whether a call leads to code within the function that makes it, and neither section nor CFI has a function there.
pub(in crate::calls) fn is_within_function(call: &Record, target: &Target<'_>) -> bool {
    let fde = |address: LookupAddress| target.sections.lookup_fde(address).ok().flatten();
    let (callee, caller) = (InstructionPointer(call.callee), ReturnAddress(call.return_address));
    let (Some(own), Some(callers)) = (fde(callee.into()), fde(caller.into())) else { return false };
    let begins = || {
        let module = target.module_at(callee)?;
        let linked = module.linked(Loaded(call.callee)).0;
        Some(module.cfi()?.fde_at(linked)?.range.start == linked)
    };
    own.start == callers.start && own.start != call.callee && begins() != Some(true)
}
