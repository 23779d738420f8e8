//! The corpus: programs, the toolchains that compile them, and the resulting builds.
//!
//! A *program* is a few sources under `corpus/programs`. A *toolchain* is one
//! release of compiler, assembler and linker, described under
//! `corpus/toolchains`. A *build* is one program compiled by one toolchain for
//! one ABI with the flags of one *variant*: an ELF file under `corpus/builds`,
//! named `<toolchain>/<abi>/<program>.<variant>`.
//!
//! A toolchain may also be *derived*: its builds are those of another one with
//! rewritten sections ([`Derive`]).
//!
//! Builds are committed, so that running the bench needs no compiler. [`Manifest`]
//! records the origin of each; [`rebuild()`] reproduces all of them byte for byte.
//! [`Attempts`] makes the builds of any toolchain, some of which may fail.

mod asked;
mod attempt;
mod build;
mod command;
mod conversion;
mod derive;
mod error;
mod example;
mod made;
mod maker;
mod manifest;
mod order;
mod origins;
mod producers;
mod program;
mod properties;
mod rebuild;
mod records;
mod scratch;
mod steps;
#[cfg(test)]
mod tests;
mod toolchain;
mod variant;
mod workshop;

pub use attempt::{Attempt, AttemptOptions, AttemptResult, Attempts, Refusal, ToolVersions, WorkFolder};
pub use build::{Build, LibraryBuild};
pub use command::{Ended, Ran, run_until as run_command_until};
pub use conversion::Derive;
pub use error::{Error, is_crash};
pub use example::{MadeExample, example_folder};
pub use made::Warning;
pub use maker::{Joint, MadeProgram, Maker, Recipe, RecipeObject};
pub use manifest::Manifest;
pub use program::{Program, ProgramLibrary, ProgramObject};
pub use properties::Properties;
pub use rebuild::{Change, Difference, Rebuild, RebuildReport, rebuild};
pub use scratch::{SEARCH_PATH, in_root, scratch_inside, scratch_parent};
pub use toolchain::{AbiTools, Excluded, Root, Toolchain};
pub use variant::{VARIANTS, Variant};
