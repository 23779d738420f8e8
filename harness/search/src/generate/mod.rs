//! Generates programs and sections, and judges what toolchains, unwinders and the bench itself say of them.
//!
//! There are three subjects: functions in [`assembly`], programs in [`c`], and [`sections`]. Each has its plans, its
//! writer and its judge. How a search goes (`search.rs`), how what it finds is reduced (`reduction.rs`), what
//! becomes of a program (`outcome.rs`), what other toolchains make of it (`other_toolchains.rs`), and how it is
//! written as the page of a fault (`draft.rs`), is the same for all.

pub mod assembly;
pub mod c;
mod draft;
mod other_toolchains;
mod outcome;
mod random;
mod reduction;
mod search;
pub mod sections;

pub use other_toolchains::{Elsewhere, ask_others};
pub use random::Random;
pub use search::Search;
