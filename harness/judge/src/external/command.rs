//! How an unwinder is started, and why it can't be asked.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sframe_machine::MachineError;

use super::process::Fault;

/// After this many restarts in one case, nothing more is asked.
pub const RESTARTS: u32 = 32;

/// A command that starts an unwinder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct CommandLine {
    pub(super) words: Vec<String>,
    pub(super) timeout: Duration,
}

impl CommandLine {
    /// How long an unwinder may take for an answer, by default.
    pub const TIMEOUT: Duration = Duration::from_secs(10);

    /// Splits a command like a shell, without expanding anything.
    ///
    /// # Errors
    /// A quote is not closed, or there is no word.
    pub fn parse(text: &str, timeout: Duration) -> Result<Self, ExternalError> {
        let words = shlex::split(text).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| ExternalError::Command(text.to_owned()))?;
        Ok(Self { words, timeout })
    }
}

/// Why an unwinder can't be asked, or can't be asked any more.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The command is not valid.
    #[error("`{0}` is not a command")]
    Command(String),
    /// Its program can't be started.
    #[error("{program} can't be started: {error}")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// It uses another version of the protocol.
    #[error("the unwinder speaks version {theirs} of the protocol, this bench {}", sframe_protocol::VERSION)]
    Version {
        /// The version.
        theirs: u64,
    },
    /// It reports that it does not support the request.
    #[error("the unwinder doesn't support this: {0}")]
    Unsupported(String),
    /// It fails before anything was asked.
    #[error("the unwinder did not start: {0}")]
    Fault(#[from] Fault),
    /// It fails where it is given the images.
    #[error("the unwinder has answered `hello`, and then failed where `open` was to be answered: {0}")]
    NotOpened(Fault),
    /// It had to be restarted too often.
    #[error("the unwinder was restarted {RESTARTS} times, and failed again: {0}")]
    GivenUp(Fault),
    /// It gives the same malformed answer again and again.
    #[error("several answers in a row are malformed in the same way: {0}")]
    Malformed(String),
    /// The run was ended while it was silent.
    #[error("the run was ended while the unwinder was silent")]
    Stopped,
    /// The machine can't be set up.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A file for it can't be written.
    #[error("a copy of an image can't be written: {0}")]
    Copy(std::io::Error),
}
