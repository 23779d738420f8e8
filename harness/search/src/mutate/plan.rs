//! Which mutants are tried.

use sframe_judge::examine::stop::StopRequest;
use sframe_machine::MachineError;
use sframe_suite::case::{Case, spec_name};

use super::operator::Operator;

/// Which mutants are tried.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Only those of these operators; all if empty.
    pub operators: Vec<Operator>,
    /// How many of them to try, chosen by the seed; `None` for all.
    pub sample: Option<usize>,
    /// The same seed chooses the same mutants.
    pub seed: u64,
    /// Whether mutants are judged by exploring the functions of the executable instead of running
    /// cases. Then only its rows are changed.
    pub explores: bool,
    /// Asks for an end.
    pub stop: StopRequest,
    /// A fault of the comparison, to test that the score shows it: every FP
    /// counts as right.
    #[doc(hidden)]
    pub ignores_fp: bool,
}

/// Why there is no score.
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
    /// A build can't be explored.
    #[error("{build}: {error}")]
    Machine {
        /// The build.
        build: String,
        /// What the machine says.
        error: MachineError,
    },
    /// A case does not pass even with the true section.
    #[error("{case} has to pass before its mutants say anything: {reason}")]
    Case {
        /// The case.
        case: String,
        /// Its result.
        reason: String,
    },
}

/// The position of a mutant in the order of a seed.
pub(super) fn rank(seed: u64, build: &str, module: usize, index: usize) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    (seed, build, module as u64, index as u64).hash(&mut hasher);
    // Neighbours must not be chosen together.
    let mut value = hasher.finish();
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The specs of cases, for messages.
pub(super) fn specs(cases: &[Case<'_>]) -> String {
    cases.iter().map(|case| spec_name(case.source)).collect::<Vec<_>>().join(", ")
}
