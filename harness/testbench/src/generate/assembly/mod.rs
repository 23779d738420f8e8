//! Random functions in assembly, with the CFI directives that match them.

mod dialect;
mod directive;
mod plan;
mod writer;

pub use directive::Directive;
pub use plan::{Action, FunctionPlan, Part, Plan, Setup};
pub use writer::{Program, SITES, Site, write};
