//! Faults of compilers, assemblers, linkers and libraries: what their pages say, and what shows it.
//!
//! ```text
//! page YAML -> spec::Faults -+------------------------------> report -> text, Markdown, JSON
//!                            +-> committed build -> observe -+-> compare
//!                            +-> toolchains -> reproduce ----+
//! specs that name it -> reach
//! ```
//!
//! `observe` checks the build of a page's example and explores it, and `compare` finds what
//! the page says differently; [`filled_in`] writes what it can say. [`reproduce`] makes the example with a toolchain first. How far a
//! fault reaches is derived from the specs (`reach`).

mod builds;
mod compare;
mod draft;
mod explored;
mod markdown;
mod observe;
mod reach;
mod report;
mod reproduce;
mod text;

pub use crate::signs::{
    KnownCauses, SeenCause, SeenPlace, WrongRow, point_out, point_out_differences, without_addresses,
    without_numbers,
};
pub use builds::{build_of, digest_of, is_current, keep, record, recorded};
pub use compare::differences;
pub use draft::filled_in;
pub use markdown::{link_markdown, markdown};
pub use observe::{ObserveError, Observed};
pub use reach::{Reach, reaches};
pub use report::{FaultReport, FaultsReport};
pub use reproduce::{Reproduced, Reproduction, reproduce};
pub use text::{link_page, list, page, reproductions};
