//! The command line: one file for each subcommand.

mod baseline;
mod bless;
mod check;
mod clauses;
mod compare;
mod debug_files;
mod definitions;
mod explain;
mod explore;
mod export;
mod faults;
mod generate;
mod help;
mod interrupt;
mod isolation;
mod known;
mod links;
mod man;
mod matrix;
mod merge;
mod mutate;
mod numbers;
mod options;
mod program;
mod progress;
mod rebuild;
mod report;
mod reproduce;
mod run;
mod samples;
mod sampling;
mod schema;
mod site;
mod study;
mod system;
mod trial;
mod unwinder;
mod vectors;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use sframe_inspect::command::help as inspect_help;
use sframe_inspect::command::{self, Convert, Dump, Failure, Status, VolumeOptions};

/// The program that users call.
const PROGRAM: &str = "sframe-testbench";

/// Tests stack unwinding with SFrame: proves it right, or shows where it is
/// wrong.
#[derive(Parser)]
#[command(name = PROGRAM, version = sframe_inspect::version(), after_help = help::MAIN)]
struct Arguments {
    #[command(flatten)]
    volume: VolumeOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run specs on the corpus.
    #[command(after_help = help::RUN)]
    Run(run::Run),
    /// Build a program of the corpus with the tools at hand, and run its specs.
    #[command(after_help = help::TRY)]
    Try(trial::Try),
    /// Run any executable and compare at every instruction; no spec needed.
    #[command(after_help = help::CHECK)]
    Check(check::Check),
    /// Judge every row of a file without running it.
    #[command(after_help = help::EXPLORE)]
    Explore(explore::Explore),
    /// Measure how often SFrame, CFI and frame pointers give the whole backtrace.
    #[command(after_help = help::STUDY)]
    Study(study::StudyCommand),
    /// Walk stacks that were recorded on real machines: samples of perf, and core dumps.
    #[command(after_help = help::SAMPLES)]
    Samples(samples::Samples),
    /// Print a section in full, as objdump --sframe does or as JSON.
    #[command(after_help = inspect_help::dump(PROGRAM))]
    Dump(Dump),
    /// Check a section, and the file around it, against the rules of the format.
    #[command(after_help = inspect_help::lint(PROGRAM))]
    Lint(known::Knowing<command::Lint>),
    /// Compare a section with .eh_frame or .debug_frame, at every instruction, without running anything.
    #[command(after_help = inspect_help::diff(PROGRAM))]
    Diff(known::Knowing<command::Diff>),
    /// Ask the engine, or any unwinder, about hand-made sections.
    #[command(after_help = help::VECTORS)]
    Vectors(vectors::Vectors),
    /// Write data for readers that are tested without the bench.
    #[command(after_help = help::EXPORT)]
    Export(export::Export),
    /// Print the clauses of the specifications, and what proves each of them.
    #[command(after_help = help::CLAUSES)]
    Clauses(clauses::Clauses),
    /// Show known bugs of compilers, assemblers, linkers and libraries, and which toolchains have them.
    #[command(after_help = help::FAULTS)]
    Faults(faults::Faults),
    /// Write a section in another version, byte order or layout, or make one from
    /// .eh_frame.
    #[command(after_help = inspect_help::convert(PROGRAM))]
    Convert(Convert),
    /// Break sections on purpose, and measure how many of the mutants the bench notices.
    #[command(after_help = help::MUTATE)]
    Mutate(mutate::Mutate),
    /// Join the reports of all shards of a run.
    #[command(after_help = help::MERGE)]
    Merge(merge::Merge),
    /// Show what is new, gone or changed between two reports.
    #[command(after_help = help::COMPARE)]
    Compare(compare::Compare),
    /// Make a scoreboard of static pages from stored reports.
    #[command(after_help = help::SITE)]
    Site(site::SiteCommand),
    /// Record the results that later runs must not fall below.
    #[command(after_help = help::BASELINE)]
    Baseline(baseline::BaselineCommand),
    /// Say for which parts of the corpus an unwinder may claim to be right, by the report of a run.
    #[command(after_help = help::VERIFY)]
    Verify(verify::Verify),
    /// Write the call stacks of a run, or the rules of known failures, into
    /// specs.
    #[command(after_help = help::BLESS)]
    Bless(bless::Bless),
    /// Compile the corpus again with the reference toolchains.
    #[command(after_help = help::REBUILD)]
    Rebuild(rebuild::Rebuild),
    /// Look for unknown bugs with generated programs and sections.
    #[command(after_help = help::GENERATE)]
    Generate(generate::Generate),
    /// Build the corpus with any toolchain, and compare it with a reference.
    #[command(after_help = help::MATRIX)]
    Matrix(matrix::Matrix),
    /// Try a linker, or what rewrites files, with small objects: does each function keep its rows?
    #[command(after_help = help::LINKS)]
    Links(links::Links),
    /// Explain a name in a report: a verdict, blame, end, hazard, outcome, lint rule and so on.
    #[command(after_help = help::EXPLAIN)]
    Explain(explain::Explain),
    /// Print the JSON Schema of a kind of document.
    #[command(after_help = help::SCHEMA)]
    Schema(schema::SchemaCommand),
    /// Print a manual page, or write all of them.
    #[command(after_help = help::MAN)]
    Man(man::Manual),
    /// Print the completions of this command for a shell.
    #[command(after_help = help::COMPLETIONS)]
    Completions(man::Completions),
    /// Run cases for a process that writes them to standard input.
    #[command(name = isolation::WORKER, hide = true)]
    Worker,
    /// Explore functions for a process that writes them to standard input.
    #[command(name = isolation::EXPLORER, hide = true)]
    Explorer,
}

pub(crate) fn main() -> ExitCode {
    reproduce::begin(Arguments::command);
    command::run("a defect of the bench", |arguments: Arguments| {
        arguments.volume.set();
        arguments.command.execute()
    })
}

impl Command {
    /// Whether programs run, in this process or in others.
    const fn runs_programs(&self) -> bool {
        matches!(
            self,
            Self::Run(_)
                | Self::Try(_)
                | Self::Check(_)
                | Self::Explore(_)
                | Self::Study(_)
                | Self::Samples(_)
                | Self::Mutate(_)
                | Self::Bless(_)
                | Self::Matrix(_)
        )
    }

    /// Whether another process of the bench has started this one, and ends it.
    const fn is_child(&self) -> bool {
        match self {
            Self::Check(check) => check.child.is_child(),
            Self::Study(study) => study.child.is_child(),
            Self::Worker | Self::Explorer => true,
            _ => false,
        }
    }

    fn execute(&self) -> Result<Status, Failure> {
        if !self.is_child() {
            command::interrupt::begin()?;
        }
        if self.runs_programs() {
            isolation::has_addresses()?;
        }
        match self {
            Self::Run(command) => command.execute(),
            Self::Try(command) => command.execute(),
            Self::Check(command) => command.execute(),
            Self::Explore(command) => command.execute(),
            Self::Generate(command) => command.execute(),
            Self::Study(command) => command.execute(),
            Self::Samples(command) => command.execute(),
            Self::Dump(command) => command.execute(),
            Self::Lint(command) => command.execute(PROGRAM),
            Self::Diff(command) => command.execute(),
            Self::Vectors(command) => command.execute(),
            Self::Export(command) => command.execute(),
            Self::Clauses(command) => command.execute(),
            Self::Faults(command) => command.execute(),
            Self::Convert(command) => command.execute(),
            Self::Mutate(command) => command.execute(),
            Self::Merge(command) => command.execute(),
            Self::Compare(command) => command.execute(),
            Self::Site(command) => command.execute(),
            Self::Baseline(command) => command.execute(),
            Self::Verify(command) => command.execute(),
            Self::Bless(command) => command.execute(),
            Self::Rebuild(command) => command.execute(),
            Self::Matrix(command) => command.execute(),
            Self::Links(command) => command.execute(),
            Self::Explain(command) => command.execute(),
            Self::Schema(command) => command.execute(),
            Self::Man(command) => command.execute(),
            Self::Completions(command) => command.execute(),
            Self::Worker => isolation::worker(),
            Self::Explorer => isolation::explorer(),
        }
    }
}
