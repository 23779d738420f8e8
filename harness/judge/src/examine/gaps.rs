//! Code that has executed and that no FDE covers, in functions that have one.

use std::collections::BTreeMap;

use sframe_engine::{InstructionPointer, LookupAddress, ReturnAddress};
use sframe_inspect::diff::Gap;

use crate::examine::coverage::Executed;
use crate::finding::{Address, Finding, Message};
use crate::target::{Linked, Loaded, Module, Target};
use crate::triage::Triage;
use crate::vocabulary::Verdict;

/// What has executed in a gap.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The first instruction, or the last byte of a call that was waiting, in the file.
    first: u64,
    /// The number of instructions.
    places: u64,
    /// How often they have executed.
    hits: u64,
}

/// Returns a finding for each gap of a section in which code has executed, or has waited for a callee.
pub(super) fn gaps(target: &Target<'_>, executed: &Executed) -> Vec<Finding> {
    let modules = target.modules.iter().filter(|module| module.section.is_some() && !module.is_made());
    modules.flat_map(|module| module.executed_gaps(target, executed)).collect()
}

impl Module<'_> {
    fn executed_gaps(&self, target: &Target<'_>, executed: &Executed) -> Vec<Finding> {
        let range = self.image.range();
        let is_uncovered = |address: LookupAddress| {
            range.contains(&address.get()) && target.sections.lookup_fde(address).ok().flatten().is_none()
        };
        let run = executed.hits().map(|(pc, hits)| (LookupAddress::from(InstructionPointer(pc)), hits));
        let waited = executed.return_addresses().map(|address| (ReturnAddress(address).into(), 0));
        let mut uncovered: Vec<(u64, u64)> = run
            .chain(waited)
            .filter(|(address, _)| is_uncovered(*address))
            .map(|(address, hits)| (self.linked(Loaded(address.get())).0, hits))
            .collect();
        if uncovered.is_empty() {
            return Vec::new();
        }
        uncovered.sort_unstable();
        let gaps = self.gaps();
        let mut seen: BTreeMap<u64, (&Gap, Seen)> = BTreeMap::new();
        for (address, hits) in uncovered {
            let Some(gap) = gaps.at(address) else { continue };
            let new = Seen { first: address, places: 0, hits: 0 };
            let (_, seen) = seen.entry(gap.range.start).or_insert((gap, new));
            seen.places += 1;
            seen.hits += hits;
        }
        let is_code = |(gap, seen): &(&Gap, Seen)| self.has_run(gap, seen, executed);
        seen.into_values().filter(is_code).map(|(gap, seen)| self.finding_of_gap(gap, seen, target)).collect()
    }

    /// Whether what has executed in a gap is code of its function: that may be known without running it, or a call just
    /// before it was seen to return.
    fn has_run(&self, gap: &Gap, seen: &Seen, executed: &Executed) -> bool {
        let is_after_call =
            || seen.hits > 0 && executed.is_return_address(self.loaded(Linked(gap.range.start)).0);
        let code = if seen.hits > 0 { self.executed_code_of(gap) } else { self.code_of(gap) };
        code.is_some_and(|code| code.is_entered || seen.first == gap.range.start && is_after_call())
    }

    fn finding_of_gap(&self, gap: &Gap, seen: Seen, target: &Target<'_>) -> Finding {
        let Seen { first, places, hits } = seen;
        let loaded = self.loaded(Linked(first));
        let place = target.place(loaded);
        let Triage { blame, confidence, evidence, .. } = Triage::of_gap(gap);
        let message = Message::at(place, format!("there is no FDE: {gap}"));
        let (instruction, listing) = crate::triage::listing(InstructionPointer(loaded.0).into(), target);
        Finding {
            pc: Some(Address(first)),
            image: place.image.map(str::to_owned),
            function: place.function.map(str::to_owned),
            frame: Some(usize::from(hits == 0)),
            hits: hits.max(1),
            places,
            instruction,
            blame,
            confidence,
            evidence,
            listing,
            ..Finding::of_spec(Verdict::NoFde, "an FDE", "none", message)
        }
    }
}
