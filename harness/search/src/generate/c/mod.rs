//! Random programs in C whose frames are hard to unwind, made with random flags and linked in random ways.
//!
//! They have no undefined behaviour, and compute a number that depends on neither the compiler nor its flags.
//!
//! | file | what |
//! |---|---|
//! | `plan.rs` | what a program does, in parts that can be dropped |
//! | `draw.rs` | draws a plan |
//! | `writer.rs` | writes a plan in C |
//! | `declare.rs` | how functions are declared and called |
//! | `generated.h`, `runtime.c` | what each program has: its entry, and the functions that compilers call |
//! | `flags.rs` | the flags of each compiler |
//! | `links.rs` | how a program is linked |
//! | `build.rs` | makes a program at a level of optimisation |
//! | `oracle.rs` | what a run and an exploration say of a program with one section |
//! | `contradictions.rs` | where they contradict each other |
//! | `judge.rs` | what is wrong with a program |
//! | `known.rs` | faults that have a page |
//! | `shape.rs` | what findings of one cause have in common |
//! | `reduce.rs` | the smallest program with a finding |
//! | `other_toolchain.rs` | what another toolchain makes of that |
//! | `example.rs` | the same program in one piece, as pages have it, with fewer lines |
//! | `expected_rules.rs` | what the rules of its row should be |
//! | `page.rs` | writes it as the page of a fault |
//! | `campaign.rs` | makes and judges many programs |
//! | `found.rs` | what is found, by cause |

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
mod other_toolchain;
mod page;
mod plan;
mod reduce;
mod shape;
mod spot;
mod writer;

pub use build::{Build, Level, build};
pub use campaign::{CampaignOptions, campaign};
pub use contradictions::Contradiction;
pub use draw::draw;
pub use flags::{Compiler, known_flags};
pub use found::{Contradicts, Differs, Example, Found, Group, Refused, Unjudged};
pub use judge::{Fault, Judged, judge};
pub use known::{KnownCauses, Place};
pub use links::{Form, Link, ObjectForm};
pub use oracle::NotJudged;
pub use oracle::Witness;
pub use other_toolchain::{Tried, try_with};
pub use page::{Page, Written};
pub use plan::{Attribute, Convention, Ending, FunctionPlan, Hint, Plan, Statement};
pub use reduce::{Reduced, Symptom, reduce};
pub use shape::{Cause, Section};
pub use writer::{Source, write};
