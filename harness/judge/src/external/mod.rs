//! Unwinders in separate processes, which use the protocol of the crate
//! `sframe-protocol`.
//!
//! ```text
//! examine (the engine, at every instruction)
//!    -> probe -> sample: is it asked here? -> shadow: memory at that time
//!         -> session -> process: request, answers -> judge -> report
//! ```

mod answers;
mod command;
mod following;
pub mod isolation;
mod judge;
mod pending;
mod probe;
pub mod process;
mod report;
mod sample;
mod session;
mod shadow;
mod stacks;

use std::sync::{Arc, Mutex, PoisonError};

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
use session::{Session, is_same_way};

/// An unwinder under test in a separate process.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct External {
    command: CommandLine,
    hello: Hello,
    /// The number of stops at which it is asked.
    pub stops_per_case: StopsPerCase,
    /// In how many cases it was asked no more because its answers were malformed, and how they were.
    #[serde(skip)]
    malformed: Arc<Mutex<(String, u32)>>,
    /// Ends questions about sections and moments.
    #[serde(skip)]
    stop: StopRequest,
}

/// After how many cases that ended with the same malformed answers it is not asked about others.
const SAME_CASES: u32 = 3;

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
        let hello = Session::start(&command, None, stop.clone())?.hello.clone();
        Ok(Self { command, hello, stops_per_case, malformed: Arc::default(), stop })
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
        self.is_worth_asking()?;
        let mut engine = sframe_unwinder(target);
        // Dropped last, when no process reads it any more.
        let folder = tempfile::tempdir().map_err(ExternalError::Copy)?;
        let mut open = judge::open(target, name, folder.path()).map_err(ExternalError::Copy)?;
        // An unwinder that can't follow knows all images from the beginning: their addresses are those of no other.
        let at_start = target.images.present_at_start().min(open.images.len());
        let images = if self.hello.follows { open.images.clone() } else { Vec::new() };
        if self.hello.follows {
            open.images.truncate(at_start);
        }
        let session = Session::start(&self.command, Some(open), look.stop.clone())?;
        let mut questions = Questions::new(target, session, self.stops_per_case, look.requires_reliable)
            .following(images, at_start, folder.path());
        let examination = examine_with(target, &mut *engine, look, options, Some(&mut questions))?;
        let shown = questions.finish(examination);
        if let Some(ExternalError::Malformed(why)) = &shown.error {
            self.note_malformed(why);
        }
        Ok(shown)
    }

    /// Notes that it is asked nothing more about a program, since its answers are malformed.
    fn note_malformed(&self, why: &str) {
        let mut malformed = self.malformed.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_same_way(&malformed.0, why) {
            *malformed = (why.to_owned(), 0);
        }
        malformed.1 += 1;
    }

    /// # Errors
    /// Its answers about several programs were malformed in the same way.
    fn is_worth_asking(&self) -> Result<(), ExternalError> {
        let malformed = self.malformed.lock().unwrap_or_else(PoisonError::into_inner);
        if malformed.1 >= SAME_CASES { Err(ExternalError::Malformed(malformed.0.clone())) } else { Ok(()) }
    }

    /// Starts a process of the unwinder that answers questions about sections.
    ///
    /// # Errors
    /// It can't be started.
    pub fn sections(&self) -> Result<Sections<'_>, ExternalError> {
        Ok(Sections(Session::start(&self.command, None, self.stop.clone())?))
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
