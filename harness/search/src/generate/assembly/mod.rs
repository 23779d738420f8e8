//! Random functions in assembly, with the CFI directives that match them: their true unwind state is known
//! by construction.
//!
//! | file | what |
//! |---|---|
//! | `plan.rs` | what a function does |
//! | `sections.rs` | which sections a program asks for |
//! | `writer` | writes a plan, and follows the state |
//! | `state.rs` | what registers and the frame hold at an instruction, in symbols |
//! | `directive.rs` | the directives that declare a state, in all their forms |
//! | `expression.rs` | those that are written byte by byte, and DWARF expressions |
//! | `model.rs` | what directives mean, also to assemblers with known mistakes |
//! | `quirk.rs`, `crash.rs` | the known mistakes and crashes |
//! | `explanation.rs` | which mistakes explain what a section says |
//! | `known.rs` | those that a toolchain can have |
//! | `refusal.rs` | what assemblers may leave out |
//! | `dialect.rs` | how each ABI writes what a function does |
//! | `judge.rs` | compares a program's sections, a run and an exploration with the constructed state |
//! | `reduce.rs` | the smallest program with a fault |
//! | `other_toolchain.rs` | what another toolchain makes of that |
//! | `page.rs` | writes it as the page of a fault |
//! | `difference.rs` | holds what `diff` says to what is true |
//! | `campaign.rs` | many programs |
//! | `found.rs` | what is found in them, by cause |

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
mod other_toolchain;
mod page;
mod plan;
mod quirk;
mod reduce;
mod refusal;
mod sections;
mod state;
mod writer;

pub use campaign::{CampaignOptions, campaign};
pub use directive::{Directive, Operation};
pub use explanation::explanation;
pub use found::{Cause, Example, Found, Group};
pub use judge::{Fault, Judged, judge, judge_by};
pub use known::Known;
pub use model::Model;
pub use other_toolchain::try_with;
pub use page::{Page, name_of};
pub use plan::{Action, Column, FunctionPlan, Misdeclared, Part, Plan, Setup};
pub use quirk::Quirk;
pub use reduce::{Reduced, Symptom, reduce};
pub use sections::Sections;
pub use state::{Claim, Kind, Source, State, Value, Wrong};
pub use writer::{Program, SITES, Site, write};
