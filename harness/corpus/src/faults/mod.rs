//! What shows a fault of a compiler, an assembler, a linker or a library: the builds of examples on pages.
//!
//! ```text
//! page YAML -> spec::Faults -+-> committed build -> observe -+-> compare
//!                            +-> toolchains -> reproduce ----+
//! ```
//!
//! `observe` checks the build of a page's example and explores it, and `compare` finds what
//! the page says differently; [`filled_in`] writes what it can say. [`reproduce`] makes the example with a toolchain first.

mod builds;
mod compare;
mod draft;
mod explored;
mod observe;
mod reproduce;

pub use builds::{KeepError, build_of, digest_of, is_current, keep, record, recorded};
pub use compare::differences;
pub use draft::filled_in;
pub use observe::{ObserveError, Observed};
pub use reproduce::{Reproduced, Reproduction, reproduce};
