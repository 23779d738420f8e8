//! The SFrame conformance suite: specs, the corpus that they speak of, and what running
//! them says.
//!
//! ```text
//! spec YAML -> yaml -> spec --+
//! manifest --> corpus --------+-> suite -> case (isolated in a process) -> report
//!                                               `-> matrix, faults, clauses
//! ```
//!
//! What judges one program is in the crate `sframe_judge`. To run all specs with an
//! unwinder, see [`suite::Suite::run`].

pub mod case;
pub mod clauses;
pub mod export;
pub mod failure;
pub mod faults;
pub mod identity;
pub mod matrix;
pub mod meanings;
pub mod provenance;
pub mod report;
pub mod schema;
pub mod stacks;
pub mod suite;
pub mod vectors;
