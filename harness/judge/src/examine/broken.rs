//! Why a run is invalid.

use sframe_isa::Disassembly;
use sframe_machine::{Broken, End};

use super::stop::StopReason;
use super::{BrokenDelivery, Examination, FailedCheck};
use crate::target::{Loaded, Target};
use crate::truth::cross_check::TraceConflict;

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
    #[must_use]
    pub const fn is_other_status(&self) -> bool {
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
            | Broken::Executed { pc }
            | Broken::Halted { pc } => {
                BrokenRun::At { broken: broken.clone(), place: target.place(Loaded(*pc)).to_string() }
            }
            _ => BrokenRun::Machine(broken.clone()),
        }),
    }
}
