//! What linkers, and what rewrites files, make of `.sframe`: the cases in `corpus/links`, and how a file that came out of
//! one is judged.
//!
//! A case names objects, which are committed, and the commands in a neutral form. What any output must satisfy follows
//! from the objects: each function that is there has the rows that its object has for it, and no row describes anything
//! else. Where a tool refuses a case, the same commands on objects without `.sframe` show whether that is about SFrame.

mod case;
mod code;
mod functions;
mod generated;
mod judge;
mod known;
mod options;
mod page;
mod report;
mod result;
mod run;
#[cfg(test)]
mod tests;
mod toolchain;
mod tools;
mod unable;
mod wanted;

pub use case::{CaseError, Expected, Generated, LinkCase, LinkCases, Patch, Step, Tool};
pub use judge::{LinkFault, LinkFinding};
pub use known::KnownLink;
pub use page::{LinkPage, LinkPages};
pub use report::{LinksReport, LinksTable, Row};
pub use result::{LinkOutcome, LinkResult, Tried};
pub use run::{Selection, run};
pub use toolchain::ToolchainLinker;
pub use tools::{Command, Commands, Ran, Subject, Tools};
pub use unable::Unable;
