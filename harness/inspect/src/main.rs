//! The command line of what needs no emulator.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
#[cfg(feature = "disassembly")]
use sframe_inspect::command::Diff;
use sframe_inspect::command::{Convert, Dump, Lint, help, run};

const PROGRAM: &str = "sframe-inspect";

/// Shows what is in SFrame sections, and what is wrong with them, without running
/// anything.
#[derive(Parser)]
#[command(name = PROGRAM, version = sframe_inspect::version())]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print a section in full, as objdump --sframe does or as JSON.
    #[command(after_help = help::dump(PROGRAM))]
    Dump(Dump),
    /// Check a section, and the file around it, against the rules of the format.
    #[command(after_help = help::lint(PROGRAM))]
    Lint(Lint),
    /// Compare a section with .eh_frame or .debug_frame, at every instruction, without running anything.
    #[cfg(feature = "disassembly")]
    #[command(after_help = help::diff(PROGRAM))]
    Diff(Diff),
    /// Write a section in another version, byte order or layout, or make one from
    /// .eh_frame.
    #[command(after_help = help::convert(PROGRAM))]
    Convert(Convert),
}

fn main() -> ExitCode {
    run("a defect", |arguments: Arguments| match &arguments.command {
        Command::Dump(command) => command.execute(),
        Command::Lint(command) => command.execute(PROGRAM),
        #[cfg(feature = "disassembly")]
        Command::Diff(command) => command.execute(),
        Command::Convert(command) => command.execute(),
    })
}
