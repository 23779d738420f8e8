//! Why a case has no verdict.

use std::time::Duration;

use sframe_elf::line_table::LinesError;
use sframe_isa::Disassembly;
use sframe_judge::examine::stop::StopReason;
use sframe_judge::examine::{BrokenDelivery, Examination, FailedCheck};
use sframe_judge::external::{ExternalError, Fault};
use sframe_judge::target::{Loaded, Target, TargetError};
use sframe_judge::truth::cross_check::TraceConflict;
use sframe_kit::text::{counted, with_causes};
use sframe_machine::{Broken, End, MachineError};

use crate::corpus;
use crate::spec::Location;
use crate::yaml;

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

/// How a program's standard output differs from the expected one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputDifference {
    /// From a line on.
    #[error("line {line} is {found:?}, not {expected:?}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What was written.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// One has more.
    #[error("it has {found} bytes, not {expected}")]
    Length {
        /// What was written, in bytes.
        found: usize,
        /// What was expected, in bytes.
        expected: usize,
    },
}

impl OutputDifference {
    /// Compares what was written with what was expected.
    #[must_use]
    pub fn between(found: &[u8], expected: &[u8]) -> Option<Self> {
        if found == expected {
            return None;
        }
        let text = |line: &[u8]| String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
        let lines = found.split(|byte| *byte == b'\n').zip(expected.split(|byte| *byte == b'\n'));
        let different = lines.enumerate().find(|(_, (found, expected))| found != expected);
        Some(match different {
            Some((index, (found, expected))) => {
                Self::Line { line: index + 1, found: text(found), expected: text(expected) }
            }
            None => Self::Length { found: found.len(), expected: expected.len() },
        })
    }
}

/// Why a run is invalid. Addresses are without load bias.
#[derive(Debug, thiserror::Error)]
pub enum BrokenRun {
    /// The call stack itself is uncertain.
    #[error(transparent)]
    Doubt(TraceConflict),
    /// A signal was not delivered, or the program did not survive it.
    #[error(transparent)]
    Delivery(BrokenDelivery),
    /// The program's exit status is not the expected one.
    #[error(
        "the program's exit status is {status}, not {expected}{}",
        check.map_or_else(String::new, |check| format!(": {check}"))
    )]
    ExitStatus {
        /// The program's status.
        status: u8,
        /// The expected status.
        expected: u8,
        /// What the program's own check compared, if it has failed.
        check: Option<FailedCheck>,
    },
    /// A signal has ended the program, instead of the expected exit.
    #[error(
        "the program was ended by signal {signal}, which it does not handle; status {expected} was expected"
    )]
    Killed {
        /// The signal.
        signal: u8,
        /// The expected status.
        expected: u8,
    },
    /// The program jumps to itself forever, instead of the expected exit.
    #[error("the program does not exit: {place} jumps to itself; status {expected} was expected")]
    NeverExits {
        /// The instruction.
        place: String,
        /// The expected status.
        expected: u8,
    },
    /// The program has written something else than was expected.
    #[error("the program's standard output is not the expected one: {0}")]
    Output(OutputDifference),
    /// An observer stopped the run.
    #[error("the run was stopped")]
    Stopped,
    /// Somebody has interrupted the run.
    #[error("interrupted")]
    Interrupted,
    /// The time limit is over.
    #[error("the time limit (--timeout) is over")]
    TimeIsOver,
    /// The machine gave up at an instruction.
    #[error("{broken}, in {place}")]
    At {
        /// Why.
        broken: Broken,
        /// The instruction.
        place: String,
    },
    /// The machine gave up.
    #[error("{0}")]
    Machine(Broken),
}

impl BrokenRun {
    /// Whether the program has not ended with the expected exit status.
    pub(super) const fn is_other_status(&self) -> bool {
        matches!(self, Self::ExitStatus { .. } | Self::Killed { .. } | Self::NeverExits { .. })
    }
}

/// Returns why a run is invalid, if it is. Without an expected exit status, any will do.
#[must_use]
pub fn broken_reason(
    examination: &Examination,
    target: &Target<'_>,
    exit_status: impl Into<Option<u8>>,
) -> Option<BrokenRun> {
    let expected = exit_status.into();
    if let Some(doubt) = &examination.doubt {
        return Some(BrokenRun::Doubt(doubt.clone()));
    }
    if let Some(broken) = examination.deliveries.iter().find_map(|deliveries| deliveries.broken.clone()) {
        return Some(BrokenRun::Delivery(broken));
    }
    match &examination.end {
        End::Exit(_) | End::Killed(_) => {
            let status = examination.exit_status()?;
            let expected = expected.filter(|expected| *expected != status)?;
            Some(match examination.end {
                End::Killed(signal) => BrokenRun::Killed { signal, expected },
                _ => BrokenRun::ExitStatus { status, expected, check: examination.failed_check },
            })
        }
        End::SelfJump(pc) => expected
            .map(|expected| BrokenRun::NeverExits { place: target.place(Loaded(*pc)).to_string(), expected }),
        End::Stopped => Some(match examination.stopped {
            None => BrokenRun::Stopped,
            Some(StopReason::Interrupted) => BrokenRun::Interrupted,
            Some(StopReason::TimeIsOver) => BrokenRun::TimeIsOver,
        }),
        End::Broken(broken) => Some(match broken {
            Broken::Exception { pc, code, .. } => {
                let place = target.place(Loaded(*pc));
                let abi = target.executable().image.cpu.abi;
                let place = match Disassembly::one(abi, *pc, code) {
                    Some(instruction) => format!("{place}: {}", instruction.text),
                    None => place.to_string(),
                };
                BrokenRun::At { broken: broken.clone(), place }
            }
            Broken::Fault { pc, .. }
            | Broken::Stack { pc, .. }
            | Broken::SystemCall { pc, .. }
            | Broken::Deadlock { pc }
            | Broken::Halted { pc } => {
                BrokenRun::At { broken: broken.clone(), place: target.place(Loaded(*pc)).to_string() }
            }
            _ => BrokenRun::Machine(broken.clone()),
        }),
    }
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
