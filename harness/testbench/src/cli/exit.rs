//! Exit statuses, and errors that end a command.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use sframe_testbench::runner::SuiteError;
use sframe_testbench::text::Text;
use sframe_testbench::yaml;

use super::tell;

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
    message: Text,
}

impl Failure {
    /// With a message of one line.
    pub(crate) fn unusable(message: impl Display) -> Self {
        Self { status: Status::Unusable, message: Text::of(message) }
    }

    /// With a message of several lines.
    pub(crate) const fn unusable_text(message: Text) -> Self {
        Self { status: Status::Unusable, message }
    }

    /// With a message of one line.
    pub(crate) fn broken(message: impl Display) -> Self {
        Self { status: Status::Broken, message: Text::of(message) }
    }

    /// Says why on standard error.
    pub(crate) fn report(&self) -> Status {
        tell(&self.message);
        self.status
    }
}

/// Errors that point into a file are shown with the line they point at.
fn render(errors: &[yaml::Error]) -> Text {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut text = Text::default();
    for (index, error) in errors.iter().enumerate() {
        if index > 0 {
            text.blank();
        }
        text.append(&error.render(colour));
    }
    text
}

impl From<SuiteError> for Failure {
    fn from(error: SuiteError) -> Self {
        match &error {
            SuiteError::Specs(errors) => Self::unusable_text(render(errors)),
            _ => Self::unusable(format!("error: {error}")),
        }
    }
}

impl From<Vec<yaml::Error>> for Failure {
    fn from(errors: Vec<yaml::Error>) -> Self {
        Self::unusable_text(render(&errors))
    }
}

impl From<yaml::Error> for Failure {
    fn from(error: yaml::Error) -> Self {
        Self::unusable_text(render(&[error]))
    }
}
