//! What is worse in a run than in its baseline, as its reports show it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identity::Identity;

/// What a baseline has of a run's cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InBaseline {
    /// What is worse, by case. A case may be there no more.
    pub(super) worse: BTreeMap<String, Vec<String>>,
    /// What is worse of findings, by case; of each that the baseline has.
    #[serde(skip)]
    pub(super) findings: BTreeMap<String, BTreeSet<Identity>>,
}
