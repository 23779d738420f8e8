//! What comparing has shown so far.

use crate::compare::WalkEnd;
use crate::examine::ends::WalkEnds;
use crate::target::Target;
use crate::triage::Findings;

/// The results of comparisons: as in [`Examination`](crate::examine::Examination).
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) findings: Findings,
    pub(super) comparisons: u64,
    pub(super) nothing_compared: u64,
    pub(super) frames: u64,
    pub(super) frames_derived: u64,
    pub(super) walk_ends: WalkEnds,
}

impl Results {
    /// Counts a comparison with a call stack of `depth` frames: how many of them were compared, and how many of these
    /// derived anew.
    pub(super) fn count(&mut self, end: WalkEnd, frames: usize, derived: u64, depth: usize) {
        self.walk_ends.count(end);
        if end.has_compared(depth) {
            let frames = frames as u64;
            self.comparisons += 1;
            self.frames += frames;
            self.frames_derived += derived.min(frames);
        } else {
            self.nothing_compared += 1;
        }
    }

    /// Adds others.
    pub(super) fn merge(&mut self, other: Self, target: &Target<'_>) {
        self.findings.merge(other.findings, target);
        self.comparisons += other.comparisons;
        self.nothing_compared += other.nothing_compared;
        self.frames += other.frames;
        self.frames_derived += other.frames_derived;
        self.walk_ends.add(&other.walk_ends);
    }
}
