//! What is worse in a run than in its baseline, as its reports show it.

use std::collections::{BTreeMap, BTreeSet};

use crate::identity::Identity;

/// What a baseline has of a run's cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InBaseline {
    /// What is worse, by case. A case may be there no more.
    pub(super) worse: BTreeMap<String, Vec<String>>,
    /// What is worse of findings, by case; of each that the baseline has.
    pub(super) findings: BTreeMap<String, BTreeSet<Identity>>,
}
