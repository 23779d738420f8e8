//! Options shared by several commands.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sframe_inspect::command::Failure;
use sframe_machine::{Options, Pattern};

/// Where corpus and specs are.
#[derive(Args)]
pub(super) struct Folders {
    /// The folder of the corpus.
    #[arg(long, value_name = "DIR", default_value = "corpus")]
    pub(super) corpus: PathBuf,
    /// The folder of the specs.
    #[arg(long, value_name = "DIR", default_value = "specs")]
    pub(super) specs: PathBuf,
}

/// How programs are started.
#[derive(Args)]
pub(super) struct MachineOptions {
    /// Instruction limit: a program that executes more is broken.
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = Options::default().budget,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) budget: u64,
    /// What uninitialised registers and stack hold. Verdicts must not depend on it.
    #[arg(long, value_enum, default_value_t = PatternName::First)]
    pattern: PatternName,
}

#[derive(Clone, Copy, ValueEnum)]
enum PatternName {
    First,
    Second,
}

impl MachineOptions {
    pub(super) fn options(&self) -> Options {
        let pattern = match self.pattern {
            PatternName::First => Pattern::First,
            PatternName::Second => Pattern::Second,
        };
        Options { budget: self.budget, pattern, ..Options::default() }
    }
}

/// Parses a reasonable number of threads.
pub(super) fn parse_jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs) if jobs <= 1024 => Ok(jobs),
        _ => Err("a number from 0 to 1024 is expected".to_owned()),
    }
}

/// Sets the number of threads; 0 for one per processor.
pub(super) fn set_jobs(jobs: usize) -> Result<(), Failure> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .build_global()
        .map_err(|error| Failure::broken(format!("no threads: {error}")))
}
