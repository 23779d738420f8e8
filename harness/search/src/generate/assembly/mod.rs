//! Random functions in assembly, with the CFI directives that match them: their true unwind state is known
//! by construction.

mod campaign;
mod crash;
mod dialect;
mod difference;
mod directive;
mod explanation;
mod expression;
mod found;
mod judge;
mod known;
mod model;
mod page;
mod plan;
mod quirk;
mod reduce;
mod refusal;
mod state;
mod writer;

pub use campaign::{CampaignOptions, campaign};
pub use directive::{Directive, Operation};
pub use explanation::explanation;
pub use found::{Assembly, Cause, Counts, Example};
pub use judge::{Fault, Judged, judge, judge_by};
pub use known::Known;
pub use model::Model;
pub use page::{Page, name_of};
pub use plan::{Action, Column, FunctionPlan, Misdeclared, Part, Plan, Sections, Setup};
pub use quirk::Quirk;
pub use reduce::{Reduced, Symptom, reduce};
pub use state::{Claim, Kind, Source, State, Value, Wrong};
pub use writer::{Program, SITES, Site, write};
