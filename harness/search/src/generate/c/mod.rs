//! Random programs in C whose frames are hard to unwind, made with random flags and linked in random ways.
//!
//! They have no undefined behaviour, and compute a number that depends on neither the compiler nor its flags.

mod build;
mod campaign;
mod contradictions;
mod declare;
mod draw;
mod example;
mod expected_rules;
mod flags;
mod found;
mod judge;
mod known;
mod links;
mod oracle;
mod page;
mod plan;
mod reduce;
mod shape;
mod writer;

pub use build::{Build, Level, build};
pub use campaign::{CampaignOptions, campaign};
pub use contradictions::Contradiction;
pub use draw::draw;
pub use flags::{Compiler, known_flags};
pub use found::{C, Counts, Example, Shows};
pub use judge::{Fault, Judged, judge};
pub use known::{KnownCauses, Place};
pub use links::{Form, Link, ObjectForm};
pub use oracle::{NotJudged, Witness};
pub use page::{Page, Written};
pub use plan::{Attribute, Convention, Ending, FunctionPlan, Hint, Plan, Statement};
pub use reduce::{Reduced, Symptom, reduce};
pub use shape::{Cause, Section};
pub use writer::{Source, write};
