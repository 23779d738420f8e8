//! `generate`: looks for unknown bugs, with generated programs and sections: one file for each kind.

mod assembly;
mod c;
mod programs;
mod report;
mod sections;

use clap::{Args, Subcommand};
use sframe_inspect::command::{Failure, Status};

use super::help;

#[derive(Args)]
pub(crate) struct Generate {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    /// Functions in assembly, whose state is known by construction.
    #[command(after_help = help::GENERATE_ASSEMBLY)]
    Assembly(assembly::Assembly),
    /// Sections, and what readers must answer about them.
    #[command(after_help = help::GENERATE_SECTIONS)]
    Sections(sections::Sections),
    /// Programs in C whose frames are hard to unwind.
    #[command(after_help = help::GENERATE_C)]
    C(c::C),
}

impl Generate {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        match &self.kind {
            Kind::Assembly(assembly) => assembly.execute(),
            Kind::Sections(sections) => sections.execute(),
            Kind::C(c) => c.execute(),
        }
    }
}
