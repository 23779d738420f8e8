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
//! any file   -> input -> dump, convert
//! ```

pub mod case;
pub mod compare;
pub mod corpus;
mod coverage;
pub mod dump;
pub mod examine;
pub mod finding;
pub mod input;
mod judge;
pub mod lines;
pub mod lint;
pub mod report;
mod rules;
pub mod runner;
pub mod spec;
pub mod subject;
pub mod target;
pub mod unwind;
mod walk;
pub mod yaml;

pub use coverage::{Coverage, UnexercisedRow};
