//! Random sections for readers: valid ones, and ones that break one rule. What is in them is known by
//! construction.

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
pub use cause::{Cause, Counts, Example, Sections};
pub use difference::{Demands, Difference, Part, Strictness, differences};
pub use fault::{FdeFault, RowFault, Rule, SectionFault};
pub use feature::{features, readings};
pub use plan::{FunctionPlan, RowPlan, RowRules, SectionPlan};
pub use reader::{ALL_PARTS, EngineReader, Reader};
pub use reduce::reduce;
pub use vector::vector_file;
