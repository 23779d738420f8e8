//! Random functions in assembly, with the CFI directives that match them: their true unwind state is known
//! by construction.
//!
//! | file | what |
//! |---|---|
//! | `plan.rs` | what a function does |
//! | `writer.rs` | writes a plan, and follows the state |
//! | `state.rs` | what registers and the frame hold at an instruction, in symbols |
//! | `directive.rs` | the directives that declare a state, in all their forms |
//! | `dialect.rs` | how each ABI writes what a function does |
//! | `judge.rs` | compares a program's sections, a run and an exploration with the constructed state |
//! | `reduce.rs` | the smallest program with a fault |
//! | `campaign.rs` | many programs, and what is found, by cause |

mod campaign;
mod dialect;
mod directive;
mod judge;
mod plan;
mod reduce;
mod state;
mod writer;

pub use campaign::{CampaignOptions, Cause, Example, Found, campaign};
pub use directive::Directive;
pub use judge::{Fault, Judged, Source, judge};
pub use plan::{Action, FunctionPlan, Part, Plan, Setup};
pub use reduce::{Reduced, reduce};
pub use state::{Claim, State, Value, Wrong};
pub use writer::{Program, SITES, Site, write};

/// The name of the generated source.
pub const SOURCE: &str = "generated.s";
