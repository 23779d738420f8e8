//! Generates programs and sections, and judges what toolchains, unwinders and the bench itself say of them.
//!
//! There are three subjects: functions in [`assembly`], programs in [`c`], and [`sections`]. Each has its
//! plans, its writer and its judge. How a search goes (`campaign.rs`), how its cases are reduced
//! (`reduction.rs`), what becomes of a program (`outcome.rs`), what was found and how the search ends
//! (`found.rs`), and how a cause is written as the page of a fault (`draft.rs`), is the same for all.

pub mod assembly;
pub mod c;
mod campaign;
mod draft;
mod found;
mod outcome;
mod random;
mod reduction;
pub mod sections;

pub use campaign::Search;
pub use found::{Elsewhere, Found, Group, Kind, Programs, Terms, Tried, end_of};
pub use random::Random;
