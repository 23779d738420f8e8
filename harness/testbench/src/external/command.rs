//! How an unwinder is started, and why it may not be asked.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sframe_machine::MachineError;

use super::process::Fault;

/// After so many restarts in one case nothing more is asked.
pub const RESTARTS: u32 = 32;

/// A command that starts an unwinder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct CommandLine {
    pub(super) words: Vec<String>,
    pub(super) timeout: Duration,
}

impl CommandLine {
    /// How long an unwinder may take for an answer, where nobody says.
    pub const TIMEOUT: Duration = Duration::from_secs(10);

    /// Splits a command as a shell does, without expanding anything.
    ///
    /// # Errors
    /// A quote is not closed, or there is no word.
    pub fn parse(text: &str, timeout: Duration) -> Result<Self, ExternalError> {
        let words = shlex::split(text).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| ExternalError::Command(text.to_owned()))?;
        Ok(Self { words, timeout })
    }
}

/// Why an unwinder can't be asked, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The command is none.
    #[error("`{0}` is no command")]
    Command(String),
    /// Its program can't be started.
    #[error("{program} can't be started: {error}")]
    Start {
        /// The program.
        program: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// It speaks another version of the protocol.
    #[error("the unwinder speaks version {theirs} of the protocol, this bench {}", sframe_protocol::VERSION)]
    Version {
        /// The version.
        theirs: u32,
    },
    /// It can't do what is asked, and says so.
    #[error("the unwinder doesn't support this: {0}")]
    Unsupported(String),
    /// It does wrong before anything was asked.
    #[error("the unwinder doesn't come up: {0}")]
    Fault(#[from] Fault),
    /// It had to be started too often.
    #[error("the unwinder was started {RESTARTS} times again, and failed again: {0}")]
    GivenUp(Fault),
    /// The machine can't be set up.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A file for it can't be written.
    #[error("a copy of an image can't be written: {0}")]
    Copy(std::io::Error),
}
