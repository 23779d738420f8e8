//! Reports: what a run or a check has shown, for people and for machines.

mod document;
mod junit;
mod mutation;
mod summary;

pub use document::{CheckReport, CheckSummary, FeatureCount, Report, ReportSummary, SCHEMA};
pub use junit::junit;
pub use mutation::mutation_summary;
pub use summary::{check_summary, run_summary};
