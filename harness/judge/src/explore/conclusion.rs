//! What follows from all parts of a result.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::{InstructionPointer, PcType};

use super::certainty::{Certainty, Doubt};
use super::exploration::{Exploration, ExploredFinding, FoundPlace, Subject};
use super::partial::{Candidate, Partial, Removed, Ways};
use super::pc_set::PcSet;
use super::roots::Roots;
use super::rows::{self, Judgement, Reach, RowId, Undecided};
use crate::finding::Blame;
use crate::target::Target;
use crate::vocabulary::Verdict;

/// The parts that have come so far.
#[derive(Debug, Default)]
pub(super) struct Parts {
    functions: u64,
    instructions: u64,
    judged: FxHashMap<RowId, Judgement>,
    agreed: Vec<PcSet>,
    candidates: Vec<Candidate>,
    ways: FxHashMap<u64, Ways>,
    entered_with_frame: FxHashSet<u64>,
    outermost: FxHashSet<RowId>,
    returned_labels: FxHashSet<u64>,
    left_labels: FxHashSet<u64>,
    reach: FxHashMap<u32, Reach>,
}

impl Parts {
    /// Adds a part.
    pub(super) fn add(&mut self, part: Partial) {
        self.functions += part.functions;
        self.instructions += part.instructions;
        self.judged.extend(part.agree.into_iter().map(|row| (row, Judgement::Agrees)));
        self.agreed.push(part.agreed);
        self.candidates.extend(part.candidates);
        for (entry, ways) in part.ways {
            self.ways.entry(entry).or_default().add(ways);
        }
        self.entered_with_frame.extend(part.entered_with_frame);
        self.outermost.extend(part.outermost);
        self.returned_labels.extend(part.returned_labels);
        self.left_labels.extend(part.left_labels);
        for (fde, reach) in part.reach {
            self.reach.entry(fde).or_default().add(reach);
        }
    }

    /// Returns the FDEs that paths have been in.
    pub(super) fn reached(&self) -> FxHashSet<u32> {
        let disputed = self.candidates.iter().filter_map(|candidate| candidate.row.as_ref());
        let rows = self.judged.keys().chain(&self.outermost).chain(disputed);
        rows.map(|(fde, _)| *fde).chain(self.reach.keys().copied()).collect()
    }

    /// Notes that a function could not be explored.
    pub(super) fn fail(&mut self, fde: u32, reach: Reach) {
        self.reach.entry(fde).or_default().add(reach);
    }

    /// Draws the conclusions.
    pub(super) fn conclude(mut self, target: &Target<'_>, roots: &Roots) -> Exploration {
        let disputed: FxHashSet<u64> = self.candidates.iter().map(|candidate| candidate.pc).collect();
        let mut all_agreed: Vec<u64> = self.agreed.iter().flat_map(PcSet::iter).collect();
        all_agreed.sort_unstable();
        all_agreed.dedup();
        let agreed: FxHashSet<u64> = all_agreed.iter().copied().filter(|pc| disputed.contains(pc)).collect();
        // The same place may have been seen from several functions.
        let mut places: BTreeMap<(Verdict, u64), Candidate> = BTreeMap::new();
        let mut left_caller: FxHashSet<RowId> = FxHashSet::default();
        for candidate in std::mem::take(&mut self.candidates) {
            let removed = self.ways.get(&candidate.function).map_or(Removed::Unseen, |ways| ways.removed);
            if !removed.includes(candidate.above_caller) {
                // The function has left its caller's frame for good.
                left_caller.extend(candidate.row);
                continue;
            }
            match places.entry((candidate.finding.verdict, candidate.pc)) {
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(candidate);
                }
                std::collections::btree_map::Entry::Occupied(mut entry) => entry.get_mut().merge(candidate),
            }
        }
        let mut found_places = Vec::new();
        for ((_, pc), candidate) in places {
            let ways = self.ways.get(&candidate.function).copied().unwrap_or_default();
            if candidate.denies_caller && !ways.to_caller {
                // It may be right.
                continue;
            }
            let doubts = self.doubts(&candidate, agreed.contains(&pc), target, roots);
            let certainty = if doubts.is_empty() { Certainty::Proved } else { Certainty::Possible };
            // Where no row could do better, the row is not wrong.
            if let Some(row) = candidate.row.filter(|_| candidate.finding.blame != Blame::Format) {
                let judgement = match certainty {
                    Certainty::Proved => Judgement::Proved,
                    Certainty::Possible => Judgement::Possible,
                };
                let known = self.judged.entry(row).or_default();
                *known = (*known).max(judgement);
            }
            let Candidate { row, finding, assumptions, function, .. } = candidate;
            let found = ExploredFinding {
                certainty,
                doubts,
                assumptions,
                form: None,
                codes: BTreeMap::new(),
                finding,
            };
            let of = row.map_or(Subject::Function(function), Subject::Row);
            found_places.push(FoundPlace { of, found });
        }
        let (rows, functions, states) =
            rows::count(target, &self.judged, &all_agreed, &self.not_judged(left_caller), &self.reach);
        Exploration {
            functions: self.functions,
            instructions: self.instructions,
            rows,
            of_functions: functions,
            agreed: self.agreed,
            states,
            places: found_places,
            was_interrupted: false,
        }
    }

    /// Why rows were reached and not compared.
    fn not_judged(&self, left_caller: FxHashSet<RowId>) -> FxHashMap<RowId, Undecided> {
        let left = left_caller.into_iter().map(|row| (row, Undecided::LeftCaller));
        left.chain(self.outermost.iter().map(|row| (*row, Undecided::Outermost))).collect()
    }

    fn doubts(&self, candidate: &Candidate, agreed: bool, target: &Target<'_>, roots: &Roots) -> Vec<Doubt> {
        let mut doubts = candidate.doubts.clone();
        if self.never_returns_from_labels(candidate, target) {
            doubts.retain(|doubt| *doubt != Doubt::InternalCall);
        }
        if agreed {
            doubts.push(Doubt::RightElsewhere);
        }
        let ways = self.ways.get(&candidate.function).copied().unwrap_or_default();
        let root = roots.root(candidate.function);
        // A function that returns to the caller that it was given has been entered as callers do.
        // One that has a name has been, too, if it leaves all as it was for another function.
        let is_entry = root.is_certain
            || ways.to_caller && !(removes_stack(&ways) && is_within_fde(target, root.entry))
            || ways.by_jump && roots.is_named(root.entry);
        let is_part = self.entered_with_frame.contains(&root.entry) && !roots.is_called(root.entry);
        if !is_entry || is_part {
            doubts.push(Doubt::UncertainEntry);
        }
        let fde = target.sections.lookup_fde(InstructionPointer(candidate.function)).ok().flatten();
        let reach = fde.and_then(|fde| self.reach.get(&fde.index)).copied().unwrap_or_default();
        if reach.returns_from_exception && !ways.to_caller {
            doubts.push(Doubt::EntryCode);
        }
        if self.may_leave_another_sp(candidate) {
            doubts.push(Doubt::IrregularCallee);
        }
        if doubts.is_empty() && candidate.seeds != [true; 2] {
            doubts.push(Doubt::OneSeed);
        }
        // Code that goes on in another context has loaded that one's return address.
        if candidate.finding.verdict == Verdict::WrongRa && candidate.loads_ra && !ways.to_caller {
            doubts.push(Doubt::OverwrittenRa);
        }
        if candidate.finding.verdict == Verdict::WrongFp && !ways.restores_fp && !candidate.has_fp {
            doubts.push(Doubt::FpNotKept);
        }
        doubts.sort_unstable();
        doubts.dedup();
        doubts
    }
}

impl Parts {
    /// Whether the code at the labels that a path has called shows that it does not return to those calls: all of it
    /// was followed, and it leaves the function in their place.
    fn never_returns_from_labels(&self, candidate: &Candidate, target: &Target<'_>) -> bool {
        let fde = target.sections.lookup_fde(InstructionPointer(candidate.function)).ok().flatten();
        let reach = fde.and_then(|fde| self.reach.get(&fde.index)).copied().unwrap_or_default();
        reach.is_whole()
            && candidate
                .labels
                .iter()
                .all(|label| self.left_labels.contains(label) && !self.returned_labels.contains(label))
    }

    /// Whether a function that a path has called may return with other registers, or another SP, than was assumed.
    fn may_leave_another_sp(&self, candidate: &Candidate) -> bool {
        let is_other = |(callee, removes): &(u64, Option<u64>)| {
            let ways = self.ways.get(callee).filter(|ways| ways.returns);
            ways.is_some_and(|ways| !ways.regularly || !ways.removed.may_be(removes.unwrap_or(0)))
        };
        let is_unknown = |(callee, removes): &(u64, Option<u64>)| {
            removes.is_none() && !self.ways.get(callee).is_some_and(|ways| ways.to_caller)
        };
        // Where nothing is known of a callee, the caller shows it: its own return finds SP where it has to be.
        let is_balanced = self.ways.get(&candidate.function).is_some_and(Ways::is_balanced);
        candidate.callees.iter().any(is_other)
            || !is_balanced && (candidate.calls_others || candidate.callees.iter().any(is_unknown))
    }
}

/// Whether a function that returns has removed something from its caller's stack.
fn removes_stack(ways: &Ways) -> bool {
    ways.removed != Removed::Bytes(0)
}

/// Whether code is in the middle of an FDE. If it also removes a frame that it has not made, then it is the end of
/// that FDE's function, and what seems to call it is data.
fn is_within_fde(target: &Target<'_>, entry: u64) -> bool {
    let fde = target.sections.lookup_fde(InstructionPointer(entry)).ok().flatten();
    fde.is_some_and(|fde| fde.start != entry && fde.pc_type == PcType::Inc)
}

impl Candidate {
    fn merge(&mut self, other: Self) {
        let hits = self.finding.hits + other.finding.hits;
        let seeds = [0, 1].map(|seed| self.seeds[seed] || other.seeds[seed]);
        let order = |of: &Self| (of.from_nowhere, of.doubts.len(), of.assumptions.len());
        if order(&other) < order(self) {
            *self = other;
        }
        (self.finding.hits, self.seeds) = (hits, seeds);
    }
}
