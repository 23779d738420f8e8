//! Unwinders in processes of their own, which speak the protocol of the crate
//! `sframe-protocol`.
//!
//! ```text
//! examine (the engine, at every instruction)
//!    -> probe -> sample: is it to be asked here? -> shadow: memory of then
//!         -> session -> process: request, answers -> judge -> report
//! ```

mod command;
mod judge;
mod probe;
pub(crate) mod process;
mod report;
mod sample;
mod session;
mod shadow;

use serde::{Deserialize, Serialize};
use sframe_machine::Options;
use sframe_protocol::{Hello, SectionQuestion};

use crate::examine::{Look, examine_with};
use crate::target::Target;
use crate::unwind::sframe_unwinder;

pub use command::RESTARTS;
pub use command::{CommandLine, ExternalError};
pub use process::Fault;
pub use report::{Shown, UnwinderReport};
pub use sample::{FRAMES_PER_STOP, StopsPerCase};
pub use session::Asked;

use probe::Questions;
use session::Session;

/// An unwinder under test in a process of its own.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct External {
    command: CommandLine,
    hello: Hello,
    /// At how many stops it is asked.
    pub stops_per_case: StopsPerCase,
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
