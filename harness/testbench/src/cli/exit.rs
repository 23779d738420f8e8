//! Exit statuses, and errors that end a command.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use sframe_testbench::runner::SuiteError;
use sframe_testbench::yaml;

/// The documented exit statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    AsExpected = 0,
    Finding = 1,
    Unusable = 2,
    NothingCompared = 3,
    Broken = 4,
}

impl Status {
    /// The one of this number.
    pub(crate) fn of(number: i32) -> Option<Self> {
        let all = [Self::AsExpected, Self::Finding, Self::Unusable, Self::NothingCompared, Self::Broken];
        all.into_iter().find(|status| *status as i32 == number)
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// Why a command can't do what it was asked for.
pub(crate) struct Failure {
    status: Status,
    message: String,
}

impl Failure {
    pub(crate) fn unusable(message: impl Into<String>) -> Self {
        Self { status: Status::Unusable, message: message.into() }
    }

    pub(crate) fn broken(message: impl Into<String>) -> Self {
        Self { status: Status::Broken, message: message.into() }
    }

    /// Says why on standard error.
    pub(crate) fn report(&self) -> Status {
        eprintln!("{}", self.message.trim_end());
        self.status
    }
}

/// Errors that point into a file are shown with the line they point at.
fn render(errors: &[yaml::Error]) -> String {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    errors.iter().map(|error| error.render(colour)).collect::<Vec<_>>().join("\n")
}

impl From<SuiteError> for Failure {
    fn from(error: SuiteError) -> Self {
        match &error {
            SuiteError::Specs(errors) => Self::unusable(render(errors)),
            _ => Self::unusable(format!("error: {error}")),
        }
    }
}

impl From<Vec<yaml::Error>> for Failure {
    fn from(errors: Vec<yaml::Error>) -> Self {
        Self::unusable(render(&errors))
    }
}

impl From<yaml::Error> for Failure {
    fn from(error: yaml::Error) -> Self {
        Self::unusable(render(&[error]))
    }
}
