//! Measures what the bench catches: sections are broken on purpose, and the
//! bench has to notice.
//!
//! | file | what |
//! |---|---|
//! | `operator.rs` | the ways in which a section is broken |
//! | `mutation.rs` | one change, and the section that it makes |
//! | `trial.rs` | all mutants of a build in one run |
//! | `returns.rs` | the functions that return in that run |
//! | `explored.rs` | the mutants of a build, judged by exploring |
//! | `equivalence.rs` | reasons why a mutant is right after all |
//! | `build.rs` | the mutants of a build, from generation to result |
//! | `report.rs` | the score |

mod build;
mod equivalence;
mod explored;
#[cfg(test)]
mod known;
mod mutation;
mod operator;
mod plan;
mod report;
mod returns;
mod summary;
mod trial;

use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;
use sframe_machine::Options;

pub use equivalence::Reason;
pub use operator::Operator;
pub use plan::{MutateError, Plan};
pub use report::{Counts, Killer, MutationReport, Score, Survivor};
pub use summary::mutation_summary;

use self::build::Mutants;
use sframe_suite::case::Case;

/// Breaks the sections of the cases' builds and runs the cases on them, or explores the functions of
/// the builds. `done` is called for each build. If an end is asked for, the report has the mutants so far.
///
/// # Errors
/// A build that can't be read or explored, or a case that fails without mutation.
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
            if plan.stop.reason().is_some() {
                return Ok(MutationReport { left_builds: 1, ..MutationReport::new(plan) });
            }
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
