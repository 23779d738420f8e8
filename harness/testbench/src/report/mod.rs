//! Reports: what a run or a check has shown, for people and for machines.

mod baseline;
mod document;
mod junit;
mod merge;
mod mutation;
mod summary;

pub use baseline::{Baseline, BaselineError, Change, Comparison};
pub use document::{CheckReport, CheckSummary, FeatureCount, Report, ReportSummary, SCHEMA};
pub use junit::junit;
pub use merge::{MergeError, merge};
pub use mutation::mutation_summary;
pub(crate) use summary::grouped;
pub use summary::{check_summary, run_summary};
