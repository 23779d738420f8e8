//! The clauses of the specifications, and what proves each of them.
//!
//! `specs/clauses.yaml` is the only list of them. A vector proves what a
//! consumer must do, a linter rule what a producer must do, and a spec, on
//! builds of real producers, both.
//!
//! | file | what |
//! |---|---|
//! | `catalogue.rs` | the list: its format, and what must hold for it |
//! | `proof.rs` | which vectors, rules and specs prove which clause |
//! | `report.rs` | the answer for people and for programs |

mod proof;
mod report;
#[cfg(test)]
mod tests;

pub use proof::{Proof, Proofs, Proved, Verdict, prove};
pub use report::{ClauseReport, ClausesReport, ClausesSummary};
pub use sframe_corpus::spec::catalogue::{Catalogue, Clause, Side};
