//! The linter: the format's rules for a section (by the engine), and those for the
//! ELF file around it.
//!
//! Rules that need linked addresses are disabled for relocatable files.

pub mod catalogue;
#[cfg(feature = "disassembly")]
mod coverage;
mod elf;
mod kept_relocations;
mod page;
mod report;
mod sarif;

pub use catalogue::ELF_RULES;
#[cfg(all(feature = "cli", feature = "disassembly"))]
pub(crate) use coverage::described;
pub use elf::{LintError, lint_file};
pub use page::page;
pub use report::{Finding, LintReport, Summary};
pub use sarif::Log;

use sframe_engine::lint::{RULES, Rule};

/// Returns all rules: those for sections, then those for ELF files.
pub fn all_rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().chain(ELF_RULES).copied()
}
