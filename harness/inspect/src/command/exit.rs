//! Exit statuses, and errors that end a command.

use std::fmt::Display;
use std::process::ExitCode;

use sframe_kit::conclusion::Ending;
use sframe_kit::text::Text;

use super::tell;

/// The documented exit statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Everything is as expected.
    AsExpected = 0,
    /// There are findings.
    Finding = 1,
    /// The arguments, or a file, can't be used.
    Unusable = 2,
    /// Nothing was compared.
    NothingCompared = 3,
    /// The command failed.
    Broken = 4,
}

impl Status {
    /// Returns the status with this number.
    #[must_use]
    pub fn of(number: i32) -> Option<Self> {
        let all = [Self::AsExpected, Self::Finding, Self::Unusable, Self::NothingCompared, Self::Broken];
        all.into_iter().find(|status| *status as i32 == number)
    }

    /// How bad it is, compared with others: that of several files is the worst one.
    pub(super) const fn weight(self) -> u8 {
        match self {
            Self::AsExpected => 0,
            Self::NothingCompared => 1,
            Self::Finding => 2,
            Self::Unusable => 3,
            Self::Broken => 4,
        }
    }
}

impl From<Status> for Ending {
    fn from(status: Status) -> Self {
        match status {
            Status::AsExpected => Self::Pass,
            Status::Finding => Self::Fail,
            Status::NothingCompared => Self::Inconclusive,
            Status::Unusable | Status::Broken => Self::Error,
        }
    }
}

impl From<Ending> for Status {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Pass => Self::AsExpected,
            Ending::Fail => Self::Finding,
            Ending::Inconclusive => Self::NothingCompared,
            Ending::Interrupted | Ending::Error => Self::Broken,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    status: Status,
    message: Text,
}

impl Failure {
    /// Creates one with a message of one line.
    #[must_use]
    pub fn unusable(message: impl Display) -> Self {
        Self { status: Status::Unusable, message: Text::of(message) }
    }

    /// Creates one with a message of several lines.
    #[must_use]
    pub const fn unusable_text(message: Text) -> Self {
        Self { status: Status::Unusable, message }
    }

    /// Creates one with a message of one line.
    #[must_use]
    pub fn broken(message: impl Display) -> Self {
        Self { status: Status::Broken, message: Text::of(message) }
    }

    /// Says which option a message of one line is about.
    #[must_use]
    pub fn of_option(self, option: &str) -> Self {
        const ERROR: &str = "error: ";
        let message = self.message.trim_end();
        let message = message.strip_prefix(ERROR).unwrap_or(message);
        Self { status: self.status, message: Text::of(format_args!("{ERROR}{option} {message}")) }
    }

    /// Reports the failure on standard error.
    pub fn report(&self) -> Status {
        tell(&self.message);
        self.status
    }
}
