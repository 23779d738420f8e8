//! What comparing has shown so far.

use crate::examine::counts::Counts;
use crate::target::Target;
use crate::triage::Findings;

/// The results of comparisons: as in [`Examination`](crate::examine::Examination).
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) findings: Findings,
    pub(super) counts: Counts,
}

impl Results {
    /// Adds others.
    pub(super) fn merge(&mut self, other: Self, target: &Target<'_>) {
        self.findings.merge(other.findings, target);
        self.counts.add(&other.counts);
    }
}
