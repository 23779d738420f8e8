//! Why a case has no verdict.

use std::time::Duration;

use sframe_corpus::corpus;
use sframe_corpus::spec::Location;
use sframe_corpus::yaml;
use sframe_elf::line_table::LinesError;
use sframe_judge::examine::BrokenRun;
use sframe_judge::external::{ExternalError, Fault};
use sframe_judge::target::TargetError;
use sframe_kit::text::{counted, with_causes};
use sframe_machine::{Broken, MachineError};

/// Why a case is broken: the bench could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum BrokenReason {
    /// The build's files can't be read.
    #[error(transparent)]
    Files(#[from] corpus::Error),
    /// They can't be run and compared.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The section has another version than the toolchain writes.
    #[error(
        "the section has version {section}, but `sframe_version` of the toolchain's definition is {said}"
    )]
    OtherVersion {
        /// The section's version.
        section: u8,
        /// That of the toolchain.
        said: u8,
    },
    /// The spec names a place that the build does not have.
    #[error(transparent)]
    Place(#[from] yaml::Error),
    /// The machine can't be set up.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The code, with what was seen there, can't be written.
    #[error(transparent)]
    Listing(#[from] serde_json::Error),
    /// The unwinder's process failed.
    #[error(transparent)]
    External(#[from] ExternalError),
    /// The run is invalid.
    #[error(transparent)]
    Run(#[from] BrokenRun),
    /// The program has ended in another way than the spec asks for.
    #[error("{run} ({place})")]
    OtherThanAsked {
        /// How it has ended.
        run: BrokenRun,
        /// Where the spec says how it is to end.
        place: String,
    },
    /// No walk got past the topmost frame.
    #[error("{NOTHING_COMPARED}")]
    NothingCompared,
    /// A stop to bless is not reached.
    #[error("{at} was reached {}, not {wanted}", counted((*.hits).into(), "time"))]
    NotReached {
        /// The stop's place.
        at: Location,
        /// How often it was reached.
        hits: u32,
        /// The arrival that the spec names.
        wanted: u32,
    },
    /// The case, or an unwinder in Rust, panicked.
    #[error("panicked: {0}")]
    Panicked(String),
    /// No worker can be started.
    #[error("no worker can be started: {0}")]
    NoWorker(NoWorker),
    /// The worker exceeded its time limit.
    #[error("the case took more than {} s, and its worker was killed", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The worker exceeded its memory limit.
    #[error("out of memory (the limit is {memory} bytes): {fault}")]
    OutOfMemory {
        /// The limit, in bytes.
        memory: u64,
        /// How it ended.
        fault: Fault,
    },
    /// The worker ended in another way.
    #[error(transparent)]
    Worker(Fault),
}

impl BrokenReason {
    /// Returns whether a program that reads what it has not written could come to this.
    #[must_use]
    pub(crate) const fn may_come_of_garbage(&self) -> bool {
        match self {
            Self::Run(BrokenRun::At { broken, .. } | BrokenRun::Machine(broken)) => {
                !matches!(broken, Broken::Budget(_) | Broken::SystemCall { .. } | Broken::Harness(_))
            }
            Self::Run(run) | Self::OtherThanAsked { run, .. } => {
                run.is_other_status() || matches!(run, BrokenRun::Output(_))
            }
            _ => false,
        }
    }

    /// Returns the reason with its causes, as in reports.
    #[must_use]
    pub fn text(&self) -> String {
        with_causes(self)
    }
}

/// Why a run without comparisons is invalid.
pub const NOTHING_COMPARED: &str = "nothing was compared: no walk went past the topmost frame";

/// Why no worker can be started.
#[derive(Debug, thiserror::Error)]
pub enum NoWorker {
    /// The system can't start the process.
    #[error(transparent)]
    Start(#[from] std::io::Error),
    /// The task can't be sent to it.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Why a case is not run.
#[derive(Debug, thiserror::Error)]
pub enum SkipReason<'s> {
    /// The spec says so.
    #[error("{0}")]
    Spec(&'s str),
    /// The unwinder says that it does not support this.
    #[error("the unwinder doesn't support it: {0}")]
    Unsupported(String),
}

/// Why a build does not have a place.
#[derive(Debug, thiserror::Error)]
pub enum NoSuchPlace {
    /// No symbol has this name.
    #[error("there is no symbol `{name}`")]
    NoSymbol {
        /// The name.
        name: String,
        /// The most similar name that there is.
        close: Option<String>,
    },
    /// Several functions have this name.
    #[error("there are {count} functions `{name}`")]
    Ambiguous {
        /// The name.
        name: String,
        /// The number of functions.
        count: usize,
    },
    /// The symbol has no size.
    #[error("`{0}` has no size")]
    NoSize(String),
    /// The line has no code.
    #[error("no instruction belongs to `{file}:{line}`")]
    NoCode {
        /// The source file.
        file: String,
        /// The line, counted from 1.
        line: u32,
    },
    /// The file has no line table that can be read.
    #[error(transparent)]
    NoLines(#[from] LinesError),
}

impl NoSuchPlace {
    /// Returns a suggestion of what was meant.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::NoSymbol { close, .. } => close.as_ref().map(|close| format!("did you mean `{close}`?")),
            Self::Ambiguous { .. } | Self::NoSize(_) | Self::NoCode { .. } | Self::NoLines(_) => None,
        }
    }
}
