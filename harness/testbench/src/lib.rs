//! The SFrame test bench: programs run under emulation, and at every
//! instruction an unwinder's backtrace is compared with the call stack that
//! the CPU really has.
//!
//! Data flows one way:
//!
//! ```text
//! corpus ELF -> target -> examine -+-> call stack --------------+
//!                                  +-> unwind (unwinders), walk +-> compare -> finding -> case -> report
//! spec YAML  -> spec ------------------> stops, frames ---------+
//! case -> isolate (a process), journal -> report
//! any unwinder -> unwind::external (a process) -> compare, vectors
//! specs, vectors, lint -> clauses
//! ```
//!
//! Everything that needs no emulator is in the crate `sframe_inspect`.
//!
//! To test an unwinder, implement [`unwind::Unwinder`] and look at what
//! [`examine::examine`] finds in a program, or run all specs with it
//! ([`suite::Suite::run`]); `examples/third_party.rs` is a complete example.
//! One in another language runs in a separate process ([`external`]).
//!
//! ```
//! use sframe_machine::Options;
//! use sframe_testbench::examine::{ExamineOptions, examine};
//! use sframe_testbench::target::Target;
//! use sframe_testbench::unwind::{Backtrace, End, Frame, Unwinder, Viewpoint};
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
//! assert!(seen.agree < seen.comparisons);
//! ```

pub mod address_space;
pub mod case;
mod child;
pub mod clauses;
pub mod compare;
pub mod corpus;
pub mod examine;
pub mod explain;
pub mod explore;
pub mod external;
pub mod failure;
pub mod faults;
pub mod finding;
pub mod generate;
pub mod matrix;
pub mod meanings;
pub mod mutate;
pub mod provenance;
pub mod report;
pub mod schema;
pub mod spec;
pub mod study;
pub mod suite;
pub mod target;
pub mod triage;
pub mod truth;
pub mod unwind;
pub mod vectors;
pub mod yaml;

pub use examine::coverage::{Coverage, UnexercisedRow};
