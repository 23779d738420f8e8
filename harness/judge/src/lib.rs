#![doc = include_str!("../README.md")]
//!
//! # An unwinder of your own
//!
//! ```
//! use sframe_machine::Options;
//! use sframe_judge::examine::{ExamineOptions, examine};
//! use sframe_judge::target::Target;
//! use sframe_judge::unwind::{Backtrace, End, Frame, Unwinder, Viewpoint};
//!
//! /// Sees the topmost frame, and gives up.
//! struct Mine;
//!
//! impl Unwinder for Mine {
//!     fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace) {
//!         let (pc, fp) = (viewpoint.pc, Ok(viewpoint.fp));
//!         backtrace.frames.push(Frame { pc, cfa: None, fp, mangled: None, interrupted: None });
//!         backtrace.end = End::Unspecified;
//!     }
//! }
//!
//! let bytes = std::fs::read("../../corpus/builds/gnu-2.47/amd64/leaf.O2").expect("a build");
//! let target = Target::open(&bytes).expect("an executable with .sframe");
//! let seen = examine(&target, &mut Mine, &ExamineOptions::default(), &Options::default()).expect("a machine");
//! assert!(seen.findings.iter().all(|finding| finding.verdict.as_str() == "truncated"));
//! assert!(seen.agree < seen.counts.comparisons);
//! ```

pub mod calls;
pub mod compare;
pub mod examine;
pub mod explore;
pub mod external;
pub mod finding;
pub mod moments;
pub mod process;
pub mod study;
pub mod target;
pub mod triage;
pub mod truth;
pub mod unwind;
pub mod vocabulary;

pub use examine::coverage::{Coverage, UnexercisedRow};
