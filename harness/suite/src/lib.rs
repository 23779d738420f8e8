//! The SFrame conformance suite: what running the specs of a corpus says.
//!
//! ```text
//! sframe_corpus: specs, builds -> suite -> case (isolated in a process) -> report
//!                                              `-> matrix, faults, clauses
//! ```
//!
//! What judges one program is in the crate `sframe_judge`. To run all specs with an
//! unwinder, see [`suite::Suite::run`].

pub mod case;
pub mod check;
pub mod clauses;
pub mod explore;
pub mod faults;
pub mod identity;
pub mod matrix;
pub mod meanings;
pub mod provenance;
pub mod report;
pub mod site;
pub mod suite;
