//! What the bench would catch: sections are broken on purpose, and the bench
//! has to notice.
//!
//! | file | what |
//! |---|---|
//! | `operator.rs` | the ways in which a section is broken |
//! | `mutation.rs` | one change, and the section that it makes |
//! | `trial.rs` | all mutants of a build in one run of it |
//! | `equivalence.rs` | reasons why a mutant is right after all |
//! | `build.rs` | the mutants of a build, from one to the other |
//! | `report.rs` | the score |

mod build;
mod equivalence;
#[cfg(test)]
mod known;
mod mutation;
mod operator;
mod report;
mod trial;

use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;
use sframe_machine::Options;

pub use equivalence::Reason;
pub use operator::Operator;
pub use report::{Killer, MutationReport, Score, Survivor};

use self::build::Mutants;
use crate::case::{Case, spec_name};

/// Which mutants are tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Only those of these operators; all where there are none.
    pub operators: Vec<Operator>,
    /// So many of them, chosen by the seed; all without it.
    pub sample: Option<usize>,
    /// The same seed chooses the same mutants.
    pub seed: u64,
    /// A fault of the comparison, to see that the score tells: it takes every
    /// FP for right.
    #[doc(hidden)]
    pub ignores_fp: bool,
}

/// Why no score can be given.
#[derive(Debug, thiserror::Error)]
pub enum MutateError {
    /// A build can't be read.
    #[error("{build}: {reason}")]
    Build {
        /// The build.
        build: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A case does not even pass with the true section.
    #[error("{case} has to pass before its mutants say anything: {reason}")]
    Case {
        /// The case.
        case: String,
        /// What comes of it.
        reason: String,
    },
}

/// Breaks the sections of the cases' builds and runs the cases on them.
/// `done` is called for each build.
///
/// # Errors
/// A build that can't be read, or a case that does not pass as it is.
pub fn mutate(
    cases: &[Case<'_>],
    corpus: &Path,
    options: &Options,
    plan: &Plan,
    done: &(dyn Fn() + Sync),
) -> Result<MutationReport, MutateError> {
    let mut builds: BTreeMap<&str, Vec<Case<'_>>> = BTreeMap::new();
    for case in cases {
        builds.entry(&case.build.id).or_default().push(*case);
    }
    let builds: Vec<(&str, Vec<Case<'_>>)> = builds.into_iter().collect();
    let highest = match plan.sample {
        None => u64::MAX,
        Some(sample) => {
            let ranks: Result<Vec<Vec<u64>>, _> =
                builds.par_iter().map(|(_, cases)| Mutants::ranks(cases, corpus, plan)).collect();
            let mut ranks = ranks?.concat();
            ranks.sort_unstable();
            match sample.checked_sub(1) {
                None => return Ok(MutationReport::new(plan)),
                Some(last) => ranks.get(last).copied().unwrap_or(u64::MAX),
            }
        }
    };
    let reports: Result<Vec<MutationReport>, MutateError> = builds
        .par_iter()
        .map(|(_, cases)| {
            let result = Mutants::try_all(cases, corpus, options, plan, highest);
            done();
            result
        })
        .collect();
    let mut all = MutationReport::new(plan);
    for report in reports? {
        all.add(report);
    }
    Ok(all)
}

/// The position of a mutant in the order in which a seed takes them.
fn rank(seed: u64, build: &str, module: usize, index: usize) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    (seed, build, module as u64, index as u64).hash(&mut hasher);
    // Neighbours are not to be chosen together.
    let mut value = hasher.finish();
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The specs of cases, for messages.
fn specs(cases: &[Case<'_>]) -> String {
    cases.iter().map(|case| spec_name(case.source)).collect::<Vec<_>>().join(", ")
}
