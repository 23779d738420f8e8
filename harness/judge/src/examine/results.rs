//! What comparing has shown so far.

use std::collections::BTreeMap;

use crate::compare::{ByPc, Disagreement, Start, Truth, WalkEnd, reliability};
use crate::examine::counts::Counts;
use crate::triage::Findings;
use crate::vocabulary::End;

/// The results of comparisons: as in [`Examination`](crate::examine::Examination).
#[derive(Clone, Debug, Default)]
pub(super) struct Results {
    pub(super) findings: Findings,
    pub(super) counts: Counts,
    pub(super) reliability: ByPc,
    /// The walks that have ended before the call stack, or gone on beyond it, by how and by the address at which the last
    /// frame that is one was looked up.
    pub(super) early: BTreeMap<(End, u64), u64>,
}

impl Results {
    /// Counts a comparison: see [`Counts::count`].
    #[inline]
    pub(super) fn count(
        &mut self,
        start: Start,
        (end, found): (WalkEnd, &[Disagreement]),
        (frames, derived): (usize, u64),
        depth: usize,
    ) {
        self.count_but(start, (end, found), (frames, derived), depth, &[]);
    }

    /// Counts a comparison of a walk that also has what is wrong and nobody's fault.
    pub(super) fn count_but(
        &mut self,
        start: Start,
        (end, found): (WalkEnd, &[Disagreement]),
        (frames, derived): (usize, u64),
        depth: usize,
        excused: &[Disagreement],
    ) {
        let Some(worth) = self.counts.count(end, found, frames, derived, depth, 1) else { return };
        if found.is_empty() && !excused.is_empty() {
            let worth = reliability(WalkEnd::Disagreed, excused, depth, None);
            self.reliability.count(start, excused, worth, 1);
        } else {
            self.reliability.count(start, found, worth, 1);
        }
    }

    /// Notes a walk that agrees with the call stack, if it has ended before it, or gone on beyond it.
    pub(super) fn note_early(&mut self, end: WalkEnd, truth: &Truth<'_>) {
        let outermost = truth.call_stack.depth() - 1;
        let lacks_frames = |frame: &usize| *frame < outermost;
        let last = end.frame().filter(lacks_frames).or(end.goes_beyond().then_some(outermost));
        if let (Some(frame), Some(kind)) = (last, end.in_specs()) {
            *self.early.entry((kind, truth.address(frame).get())).or_default() += 1;
        }
    }
}
