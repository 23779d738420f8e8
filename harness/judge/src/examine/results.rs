//! What comparing has shown so far.

use crate::compare::{ByPc, Disagreement, WalkEnd, reliability};
use crate::examine::counts::Counts;
use crate::target::Target;
use crate::triage::Findings;

/// The results of comparisons: as in [`Examination`](crate::examine::Examination).
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) findings: Findings,
    pub(super) counts: Counts,
    pub(super) reliability: ByPc,
}

impl Results {
    /// Counts a comparison at a PC: see [`Counts::count`].
    #[inline]
    pub(super) fn count(
        &mut self,
        pc: u64,
        (end, found): (WalkEnd, &[Disagreement]),
        (frames, derived): (usize, u64),
        depth: usize,
    ) {
        if let Some(reliability) = self.counts.count(end, found, frames, derived, depth) {
            self.reliability.count(pc, found, reliability);
        }
    }

    /// Takes back comparisons that say nothing after all.
    pub(super) fn set_aside(&mut self) {
        for (found, _, aside) in self.findings.borne_out() {
            let reliability = reliability(WalkEnd::Disagreed, &[*found], usize::MAX, None);
            self.counts.comparisons -= aside;
            self.counts.walk_ends.disagreed -= aside;
            self.counts.walk_ends.unsettled += aside;
            self.reliability.forget(found, reliability, aside);
        }
    }

    /// Adds others.
    pub(super) fn merge(&mut self, other: Self, target: &Target<'_>) {
        self.findings.merge(other.findings, target);
        self.counts.add(&other.counts);
        self.reliability.merge(&other.reliability);
    }
}
