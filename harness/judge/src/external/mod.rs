//! Unwinders in separate processes, which use the protocol of the crate
//! `sframe-protocol`.
//!
//! ```text
//! examine (the engine, at every instruction)
//!    -> probe -> sample: is it asked here? -> shadow: memory at that time
//!         -> session -> process: request, answers -> judge -> report
//! ```

mod command;
pub mod isolation;
mod judge;
mod probe;
pub mod process;
mod report;
mod sample;
mod session;
mod shadow;
mod stacks;

use serde::{Deserialize, Serialize};
use sframe_machine::Options;
use sframe_protocol::{Hello, SectionQuestion};

use crate::examine::stop::StopRequest;
use crate::examine::{ExamineOptions, examine_with};
use crate::target::Target;
use crate::unwind::sframe_unwinder;

pub use command::RESTARTS;
pub use command::{CommandLine, ExternalError};
pub use process::Fault;
pub use report::{UnwinderExamination, UnwinderReport};
pub use sample::{FRAMES_PER_STOP, StopsPerCase};
pub use session::SectionReply;
pub use stacks::{Walk, WalkDifference};

use probe::Questions;
use session::Session;

/// An unwinder under test in a separate process.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct External {
    command: CommandLine,
    hello: Hello,
    /// The number of stops at which it is asked.
    pub stops_per_case: StopsPerCase,
}

impl External {
    /// Starts the unwinder for the first time, to identify it.
    ///
    /// # Errors
    /// It can't be started, or doesn't use the protocol, or was silent until the end was asked for.
    pub fn new(
        command: CommandLine,
        stops_per_case: StopsPerCase,
        stop: StopRequest,
    ) -> Result<Self, ExternalError> {
        let hello = Session::start(&command, None, stop)?.hello.clone();
        Ok(Self { command, hello, stops_per_case })
    }

    /// Returns the words of its command.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.command.words
    }

    /// Returns its identification.
    #[must_use]
    pub const fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Runs a program, compares this project's engine with the call stack at every
    /// instruction, and the unwinder at some of them.
    ///
    /// # Errors
    /// The machine can't be set up, or the unwinder can't be asked at all.
    pub fn examine(
        &self,
        target: &Target<'_>,
        name: &str,
        look: &ExamineOptions,
        options: &Options,
    ) -> Result<UnwinderExamination, ExternalError> {
        let mut engine = sframe_unwinder(target);
        // Dropped last, when no process reads it any more.
        let folder = tempfile::tempdir().map_err(ExternalError::Copy)?;
        let open = judge::open(target, name, folder.path()).map_err(ExternalError::Copy)?;
        let session = Session::start(&self.command, Some(open), look.stop.clone())?;
        let mut questions = Questions::new(target, session, self.stops_per_case);
        let examination = examine_with(target, &mut *engine, look, options, Some(&mut questions))?;
        Ok(questions.finish(examination))
    }

    /// Starts a process of the unwinder that answers questions about sections.
    ///
    /// # Errors
    /// It can't be started.
    pub fn sections(&self) -> Result<Sections<'_>, ExternalError> {
        Ok(Sections(Session::start(&self.command, None, StopRequest::default())?))
    }
}

/// A process that answers questions about sections.
pub struct Sections<'s>(Session<'s>);

impl Sections<'_> {
    /// Asks about a section. An unwinder that fails is restarted.
    ///
    /// # Errors
    /// It can't be restarted, or failed to answer too often.
    pub fn ask(&mut self, question: SectionQuestion) -> Result<SectionReply, ExternalError> {
        self.0.section(question)
    }

    /// Returns how often it had to be restarted.
    #[must_use]
    pub const fn restarts(&self) -> u32 {
        self.0.restarts
    }
}
