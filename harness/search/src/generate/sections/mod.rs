//! Random sections for readers: valid ones, and ones that break one rule. What is in them is known by
//! construction.
//!
//! | file | what |
//! |---|---|
//! | `plan.rs` | what is in a section |
//! | `choose.rs`, `rules.rs` | random plans |
//! | `words.rs` | a plan field by field |
//! | `written.rs` | a plan as the engine's writer writes it |
//! | `answer.rs` | header, functions and look-ups that follow from a plan |
//! | `steps.rs` | steps that follow from a plan |
//! | `fault.rs` | what breaks one rule, and what a reader says of it |
//! | `case.rs` | a section with all questions and answers |
//! | `difference.rs` | where a reader's answers differ |
//! | `reader.rs` | the readers that are asked |
//! | `feature.rs` | what is special about a plan, and which readings it depends on |
//! | `reduce.rs` | the smallest section with a difference |
//! | `vector.rs` | a section in the format of `corpus/vectors` |
//! | `campaign.rs`, `cause.rs` | many sections, and what is found, by cause |

mod answer;
mod campaign;
mod case;
mod cause;
mod choose;
mod dialect;
mod difference;
mod fault;
mod feature;
mod plan;
mod reader;
mod reduce;
mod rules;
mod steps;
mod vector;
mod words;
mod written;

pub use campaign::{CampaignOptions, campaign};
pub use case::Case;
pub use cause::{Cause, Causes, Count, Counts, Example, Found};
pub use difference::{Demands, Difference, Part, Strictness, differences};
pub use fault::{FdeFault, RowFault, Rule, SectionFault};
pub use feature::{features, readings};
pub use plan::{FunctionPlan, RowPlan, RowRules, SectionPlan};
pub use reader::{ALL_PARTS, EngineReader, Reader};
pub use reduce::reduce;
pub use vector::vector_file;
