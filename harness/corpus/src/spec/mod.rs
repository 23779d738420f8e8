//! Specs: what must be true of a program, written by people in YAML.
//!
//! `specs/README.md` is the manual of the format. The types here are the
//! format: every key is a field, documented at the field, and the JSON Schema
//! that editors use is generated from them.
//!
//! | file | what |
//! |---|---|
//! | `format.rs` | the keys of a spec file |
//! | `abi.rs`, `blame.rs`, `end.rs`, `feature.rs`, `trace.rs`, `verdict.rs` | the names that may be used in it |
//! | `known.rs`, `known_place.rs` | the known findings of programs and files that have no spec |
//! | `fault.rs`, `faults.rs` | the pages of faults that known failures may name |
//! | `location.rs`, `qualified_name.rs`, `pattern.rs`, `row.rs` | values with a syntax of their own |
//! | `stop.rs`, `frames.rs` | stops, of which several can share keys |
//! | `producer.rs`, `tool.rs` | who made a build |
//! | `selector.rs` | which builds an entry is about |
//! | `check.rs` | what the types cannot express: errors that point at the line |
//! | `load.rs` | from files to checked specs |
//! | `bless.rs` | new frames into the text of a spec |

mod abi;
pub mod bless;
pub mod catalogue;
mod cfa_error;
mod check;
mod de;
mod fault;
mod faults;
mod format;
mod frames;
mod known;
mod known_place;
mod load;
mod location;
mod one_or_many;
mod pattern;
mod producer;
mod row;
mod selector;
mod stop;
#[cfg(test)]
mod tests;
mod tool;

pub use abi::parse_abi;
pub use cfa_error::{CfaError, InvalidCfaError};
pub use de::text;
pub use fault::{Component, Example, Fault, FaultySection, RowBegins, Sign, Site, Upstream, UpstreamState};
pub use faults::Faults;
pub use faults::MAX_LINES;
pub use format::{Distrust, Ends, Exception, Known, Signal, Skip, Spec, Sweep, Targets};
pub use frames::Frames;
pub use known::{KnownFile, KnownFinding, KnownFindings, KnownPlaces};
pub use known_place::KnownPlace;
pub use load::{SpecFolder, built_in_files, load_dir, load_what_can_be, yaml_files};
pub use location::{InvalidLocation, Location};
pub use one_or_many::OneOrMany;
pub use pattern::{InvalidPattern, NamePattern};
pub use producer::{Ability, Producer};
pub use row::{InvalidRow, NO_ROW, RowOffset};
pub use selector::{BuildFacts, Selector};
pub use sframe_kit::Blame;
pub use sframe_kit::percent::{InvalidPercent, Percent};
pub use stop::Stop;
pub use tool::{Assembler, Compiler, InvalidTool, Library, Linker, Tool, ToolName, ToolRange, ToolVersion};
