//! What can be learned about an SFrame section without running anything.
//!
//! Data flows one way:
//!
//! ```text
//! any file -> elf -+-> dump
//!                  +-> lint
//!                  +-> convert, from a section or from cfi
//!                  +-> cfi, instructions -> diff, hazard
//! ```
//!
//! ```
//! let bytes = std::fs::read("../../corpus/builds/gnu-2.44/amd64/leaf.O2").expect("a build");
//! let report = sframe_inspect::lint::lint_file(&bytes, "leaf.O2").expect("a file with a section");
//! assert_eq!(report.summary.errors, 0);
//! ```

#[cfg(feature = "cli")]
pub mod command;
pub mod convert;
#[cfg(feature = "disassembly")]
pub mod diff;
pub mod dump;
pub mod hazard;
pub mod known;
pub mod lint;
mod version;

pub use version::{COMMIT, VERSION, version};
