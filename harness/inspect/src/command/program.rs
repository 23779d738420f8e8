//! The program that offers these commands, and needs no emulator.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

#[cfg(feature = "disassembly")]
use super::Diff;
use super::{Convert, Dump, Lint, VolumeOptions, help, interrupt, run};

/// What it is called.
pub const NAME: &str = "sframe-inspect";

/// Shows what is in SFrame sections, and what is wrong with them, without running
/// anything.
#[derive(Parser)]
#[command(name = NAME, version = crate::version())]
struct Arguments {
    #[command(flatten)]
    volume: VolumeOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print a section in full, as objdump --sframe does or as JSON.
    #[command(after_help = help::dump(NAME))]
    Dump(Dump),
    /// Check a section, and the file around it, against the rules of the format.
    #[command(after_help = help::lint(NAME))]
    Lint(Lint),
    /// Compare a section with .eh_frame or .debug_frame, at every instruction, without running anything.
    #[cfg(feature = "disassembly")]
    #[command(after_help = help::diff(NAME))]
    Diff(Diff),
    /// Write a section in another version, byte order or layout, or make one from
    /// .eh_frame.
    #[command(after_help = help::convert(NAME))]
    Convert(Convert),
}

/// Its command line, for manual pages and completions.
#[must_use]
pub fn definition() -> clap::Command {
    Arguments::command()
}

/// Runs it with the arguments of this process.
pub fn main() -> ExitCode {
    run("a defect", |arguments: Arguments| {
        interrupt::begin()?;
        arguments.volume.set();
        match &arguments.command {
            Command::Dump(command) => command.execute(),
            Command::Lint(command) => command.execute(NAME),
            #[cfg(feature = "disassembly")]
            Command::Diff(command) => command.execute(),
            Command::Convert(command) => command.execute(),
        }
    })
}
