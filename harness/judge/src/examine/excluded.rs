//! Comparisons that say nothing of a row: where they are, and why.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::{InstructionPointer, LookupAddress, ReturnAddress};
use sframe_kit::text::{counted, grouped};

use crate::calls::{ExclusionReason, Kind};
use crate::examine::coverage::Executed;
use crate::finding::Address;
use crate::target::{Loaded, Target};

/// The comparisons in a function that were excluded for a reason.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Exclusion {
    /// The library; `None` for the executable.
    pub image: Option<String>,
    /// The function, or its address if no symbol names it.
    pub function: String,
    /// The first of the instructions, in the file.
    pub pc: Address,
    /// Why.
    pub reason: ExclusionReason,
    /// How many comparisons.
    pub instructions: u64,
    /// The rows: the addresses of their first instructions, in the file.
    #[serde(default)]
    pub rows: Vec<Address>,
    /// Whether the function had made a call: otherwise its frame was the topmost.
    pub as_caller: bool,
    /// How often instructions of the function have executed.
    pub executed: u64,
    /// Whether the function is a stub: it has three instructions at most, and the last one leaves it.
    #[serde(default)]
    pub is_stub: bool,
}

impl Exclusion {
    /// Whether it is a stub that was seen to leave, each time that it ran, for where its rows say: it has nothing else to
    /// show.
    fn is_left_stub(&self) -> bool {
        self.is_stub && self.reason == ExclusionReason::LeavesElsewhere
    }

    /// What was excluded, and why, in a line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { image, function, pc, reason, instructions, as_caller, executed, rows: _, is_stub: _ } =
            self;
        let image = image.as_ref().map_or_else(String::new, |image| format!("{image}: "));
        let what = match as_caller {
            false => {
                format!("{} of {} executed in", grouped(*instructions), counted(*executed, "instruction"))
            }
            true => format!("{} in callees of", counted(*instructions, "instruction")),
        };
        format!("excluded: {what} {image}{function}, from {:#x} on: {}", pc.0, reason.text())
    }
}

/// Returns how many comparisons were excluded.
#[must_use]
pub fn total(excluded: &[Exclusion]) -> u64 {
    excluded.iter().map(|excluded| excluded.instructions).sum()
}

/// No more than this share of what was compared may be excluded, as a divisor: 1 %.
const MOST: u64 = 100;

/// Whether so much was excluded that the rest proves too little: more than 1 % of what was to be compared, or all of
/// a function that is no stub, for one reason or for several.
#[must_use]
pub fn is_too_much(excluded: &[Exclusion], comparisons: u64) -> bool {
    let all = total(excluded);
    let of_functions = excluded.iter().filter(|place| !place.as_caller && !place.is_left_stub());
    let mut left: BTreeMap<(&Option<String>, &str), u64> = BTreeMap::new();
    for place in of_functions {
        let left = left.entry((&place.image, &place.function)).or_insert(place.executed);
        *left = left.saturating_sub(place.instructions);
    }
    all.saturating_mul(MOST) > all.saturating_add(comparisons) || left.values().any(|left| *left == 0)
}

/// What is excluded in a function for a reason.
struct Listed {
    first: u64,
    instructions: u64,
    rows: BTreeSet<u64>,
}

/// Collects what is excluded, by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected(FxHashMap<u64, FxHashMap<Kind, u64>>);

impl Collected {
    pub(crate) fn add(&mut self, pc: u64, kind: Kind, count: u64) {
        *self.0.entry(pc).or_default().entry(kind).or_default() += count;
    }

    /// Returns them by function.
    pub(crate) fn into_list(self, target: &Target<'_>, executed: &Executed) -> Vec<Exclusion> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let function = |pc: u64| match target.sections.lookup_fde(InstructionPointer(pc)).ok().flatten() {
            Some(fde) => fde.start,
            None => pc.wrapping_sub(target.place(Loaded(pc)).offset),
        };
        let mut hits: FxHashMap<u64, u64> = FxHashMap::default();
        for (pc, count) in executed.hits() {
            *hits.entry(function(pc)).or_default() += count;
        }
        let row = |pc: u64, as_caller: bool| {
            let place: LookupAddress =
                if as_caller { ReturnAddress(pc).into() } else { InstructionPointer(pc).into() };
            let found = target.sections.lookup(place).ok().flatten()?;
            Some(found.fde.start.wrapping_add(found.row.start.into()))
        };
        let mut list: BTreeMap<(u64, ExclusionReason, bool), Listed> = BTreeMap::new();
        for (pc, kinds) in self.0 {
            for (Kind { reason, as_caller }, count) in kinds {
                let new = || Listed { first: pc, instructions: 0, rows: BTreeSet::new() };
                let listed = list.entry((function(pc), reason, as_caller)).or_insert_with(new);
                listed.first = pc.min(listed.first);
                listed.instructions += count;
                listed.rows.extend(row(pc, as_caller));
            }
        }
        let linked = |pc| Address(target.linked(Loaded(pc)).0);
        let describe = |((function, reason, as_caller), listed): (_, Listed)| Exclusion {
            image: target.place(Loaded(listed.first)).image.map(str::to_owned),
            function: target.frame_name(Loaded(listed.first)),
            pc: linked(listed.first),
            reason,
            instructions: listed.instructions,
            rows: listed.rows.into_iter().map(linked).collect(),
            as_caller,
            executed: hits.get(&function).copied().unwrap_or_default(),
            is_stub: is_stub(target, function),
        };
        list.into_iter().map(describe).collect()
    }
}

/// A stub has no more instructions than this.
const STUB: usize = 3;

/// Whether the function that an FDE begins is a stub.
fn is_stub(target: &Target<'_>, start: u64) -> bool {
    let fde = target.sections.lookup_fde(InstructionPointer(start)).ok().flatten();
    let Some((fde, module)) = fde.zip(target.module_at(Loaded(start))) else {
        return false;
    };
    let end = fde.start.wrapping_add(fde.size.into());
    let mut at = fde.start;
    for _ in 0..STUB {
        let Some(instruction) = module.instruction(Loaded(at)).filter(|found| found.len > 0) else {
            return false;
        };
        at = at.wrapping_add(instruction.len);
        if at >= end {
            return at == end && !instruction.falls_through();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(reason: ExclusionReason, is_stub: bool) -> Exclusion {
        Exclusion {
            image: None,
            function: "f".to_owned(),
            pc: Address(0x100),
            reason,
            instructions: 3,
            rows: Vec::new(),
            as_caller: false,
            executed: 3,
            is_stub,
        }
    }

    #[test]
    fn setting_a_whole_function_aside_is_too_much_unless_it_only_leaves() {
        let stub = whole(ExclusionReason::LeavesElsewhere, true);
        assert!(!is_too_much(std::slice::from_ref(&stub), 1_000));
        // Not seen to leave for there, or with more to show.
        assert!(is_too_much(&[whole(ExclusionReason::NoLanding, true)], 1_000));
        assert!(is_too_much(&[whole(ExclusionReason::NewContext, true)], 1_000));
        assert!(is_too_much(&[whole(ExclusionReason::LeavesElsewhere, false)], 1_000));
        // Many of them are too much together.
        assert!(is_too_much(&vec![stub; 4], 1_000));
        // So is what callees have shown of a caller.
        let in_callees = Exclusion { as_caller: true, ..whole(ExclusionReason::LeavesWithFp, false) };
        assert!(!is_too_much(std::slice::from_ref(&in_callees), 1_000));
        assert!(is_too_much(&vec![in_callees; 4], 1_000));
        // A function may be excluded for several reasons, none of which has all of it.
        let part = |reason, instructions| Exclusion { instructions, ..whole(reason, false) };
        let most = part(ExclusionReason::LeavesElsewhere, 2);
        assert!(!is_too_much(std::slice::from_ref(&most), 1_000));
        assert!(is_too_much(&[most, part(ExclusionReason::LeavesWithFp, 1)], 1_000));
    }
}
