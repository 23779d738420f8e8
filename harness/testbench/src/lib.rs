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
//! any file   -> input -> dump, convert -> embed
//!            -> cfi -> from_cfi -> convert
//! any file   -> relocatable -> subject, cfi -> diff, hazard
//! specs, vectors, lint -> clauses
//! ```

pub mod case;
pub mod cfi;
pub mod clauses;
pub mod compare;
pub mod control_flow;
pub mod convert;
pub mod corpus;
mod coverage;
pub mod cross_check;
pub mod diff;
pub mod disassembly;
pub mod dump;
pub mod embed;
pub mod examine;
pub mod files;
pub mod finding;
pub mod from_cfi;
pub mod hazard;
pub mod input;
mod judge;
pub mod layout;
pub mod lines;
pub mod lint;
pub mod mutate;
pub mod observed;
mod plt;
pub mod relocatable;
pub mod report;
mod rules;
pub mod runner;
pub mod sections;
pub mod shard;
pub mod spec;
mod stores;
pub mod subject;
pub mod target;
mod triage;
pub mod unwind;
mod walk;
pub mod yaml;

pub use coverage::{Coverage, UnexercisedRow};
