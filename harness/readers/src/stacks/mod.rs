//! Moments of runs as data: chosen from the corpus, written for readers in any language, and put to an unwinder.

mod c;
mod choose;
mod clauses;
mod coverage;
mod export;
mod report;

pub use c::header;
pub(crate) use c::{abi_name, bytes, joined, quoted};
pub use choose::Choice;
pub use coverage::Coverage;
pub use export::{Exported, OwnProgram, export, text};
pub use report::{Difference, StacksReport, ask_engine, ask_external};

/// The licence of what is exported, in each file.
pub const LICENCE: &str = "MIT OR Apache-2.0 OR GPL-2.0-only";
