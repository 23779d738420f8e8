//! Unwinders in processes of their own, which speak the protocol of the crate
//! `sframe-protocol`.
//!
//! ```text
//! examine (the engine, at every instruction)
//!    -> probe -> sample: is it to be asked here? -> shadow: memory of then
//!         -> session -> process: request, answers -> judge -> report
//! ```

mod judge;
mod probe;
pub(crate) mod process;
mod report;
mod sample;
mod session;
mod shadow;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sframe_machine::{MachineError, Options};
use sframe_protocol::{Hello, SectionAnswer, SectionQuestion};

use crate::examine::{Examination, Look, examine_with};
use crate::finding::Finding;
use crate::target::Target;
use crate::unwind::sframe_unwinder;

pub use process::Fault;
pub use report::UnwinderReport;
pub use sample::{FRAMES_PER_STOP, StopsPerCase};
pub use session::RESTARTS;

use probe::Questions;
use session::Session;

/// A command that starts an unwinder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct CommandLine {
    words: Vec<String>,
    timeout: Duration,
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

/// An unwinder under test in a process of its own.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct External {
    command: CommandLine,
    hello: Hello,
    /// At how many stops it is asked.
    pub stops_per_case: StopsPerCase,
}

/// What a program has shown of an unwinder.
#[derive(Debug)]
pub struct Shown {
    /// The program's run, as the engine of this project sees it.
    pub examination: Examination,
    /// The unwinder in numbers.
    pub report: UnwinderReport,
    /// Findings that the engine has at the same stops: those of the section.
    pub shared: Vec<Finding>,
    /// The other ones.
    pub findings: Vec<Finding>,
    /// Why it was not asked about everything.
    pub error: Option<ExternalError>,
}

impl External {
    /// Starts the unwinder for the first time, to see who it is.
    ///
    /// # Errors
    /// It can't be started, or doesn't speak the protocol.
    pub fn new(command: CommandLine, stops_per_case: StopsPerCase) -> Result<Self, ExternalError> {
        let hello = Session::start(&command, None)?.hello.clone();
        Ok(Self { command, hello, stops_per_case })
    }

    /// The words of its command.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.command.words
    }

    /// Who it is.
    #[must_use]
    pub const fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Runs a program, compares the engine of this project with the call stack
    /// at every instruction, and the unwinder at some of them.
    ///
    /// # Errors
    /// The machine can't be set up, or the unwinder can't be asked at all.
    pub fn examine(
        &self,
        target: &Target<'_>,
        name: &str,
        look: &Look,
        options: &Options,
    ) -> Result<Shown, ExternalError> {
        let mut engine = sframe_unwinder(target);
        // Dropped last, when no process reads it any more.
        let folder = tempfile::tempdir().map_err(ExternalError::Copy)?;
        let open = judge::open(target, name, folder.path()).map_err(ExternalError::Copy)?;
        let session = Session::start(&self.command, Some(open))?;
        let mut questions = Questions::new(target, session, self.stops_per_case);
        let examination = examine_with(target, &mut *engine, look, options, Some(&mut questions))?;
        Ok(questions.finish(examination))
    }

    /// A process of the unwinder that answers questions about sections.
    ///
    /// # Errors
    /// It can't be started.
    pub fn sections(&self) -> Result<Sections<'_>, ExternalError> {
        Ok(Sections(Session::start(&self.command, None)?))
    }
}

/// A process that answers questions about sections.
pub struct Sections<'s>(Session<'s>);

impl Sections<'_> {
    /// Asks about a section. An unwinder that fails is started again.
    ///
    /// # Errors
    /// It comes up no more, or was silent too often.
    pub fn ask(&mut self, question: SectionQuestion) -> Result<Asked, ExternalError> {
        self.0.section(question)
    }

    /// How often it had to be started again.
    #[must_use]
    pub const fn restarts(&self) -> u32 {
        self.0.restarts
    }
}

/// What came of a question about a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The answer.
    Answer(SectionAnswer),
    /// Why the unwinder can't read such a section.
    Unsupported(String),
    /// What it has done wrong.
    Fault(Fault),
}

/// A file for the unwinder: the very bytes that the machine has loaded.
fn copy(folder: &std::path::Path, index: usize, bytes: &[u8]) -> std::io::Result<PathBuf> {
    let path = folder.join(format!("image{index}"));
    std::fs::write(&path, bytes)?;
    Ok(path)
}
