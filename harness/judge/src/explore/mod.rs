//! Judges every row of a file without running it: each function is executed from its entry, both ways
//! at each branch, with a caller that is known.
//!
//! [`Roots`] says where functions begin. The machine executes them, and the judge compares the row of
//! every instruction of every path with the caller, as a sweep does with the callers of a program that
//! runs. What was seen of a row on all paths then decides whether it agrees, is proved to be wrong, or
//! may be ([`Certainty`], [`Doubt`]).

mod batches;
mod cache;
mod certainty;
mod conclusion;
mod describe;
mod error;
mod exceptions;
mod exploration;
mod file;
mod forms;
mod judge;
mod known_returns;
mod options;
mod partial;
mod pc_set;
mod progress;
mod roots;
mod rows;
mod run;
mod unexercised;
mod variants;
mod workers;

pub use cache::Cache;
pub use certainty::{Certainty, Doubt};
pub use error::ExploreError;
pub use exceptions::Exceptions;
pub use exploration::{Exploration, ExploredFinding};
pub use file::{ExploredFile, SharedFile};
pub use forms::{ExploredForm, PatchedFile};
pub use options::ExploreOptions;
pub use progress::Progress;
pub use roots::{Root, Roots};
pub use rows::{FunctionRows, RowCounts, Undecided, UnknownInstruction};
pub use run::explore;
pub use unexercised::{Explorer, Judged, by_row};
pub use variants::{Baseline, Variant, Watch};
pub use workers::{Job, explore_isolated, serve};
