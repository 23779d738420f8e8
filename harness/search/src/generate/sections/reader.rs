//! Readers that are asked.

use sframe_judge::external::{ExternalError, SectionReply, Sections};
use sframe_vectors::{SectionPart, SectionQuestion};

/// Something that answers questions about sections.
pub trait Reader {
    /// Answers.
    ///
    /// # Errors
    /// It can't be asked any more.
    fn ask(&mut self, question: &SectionQuestion) -> Result<SectionReply, ExternalError>;

    /// Returns how often it had to be restarted.
    fn restarts(&self) -> u32 {
        0
    }
}

/// All parts of an answer.
pub const ALL_PARTS: [SectionPart; 4] =
    [SectionPart::Header, SectionPart::Fdes, SectionPart::Lookups, SectionPart::Steps];

/// The engine of this project.
#[derive(Clone, Copy, Debug)]
pub struct EngineReader;

impl Reader for EngineReader {
    fn ask(&mut self, question: &SectionQuestion) -> Result<SectionReply, ExternalError> {
        Ok(SectionReply::Answer(sframe_vectors::engine::answer(question)))
    }
}

impl Reader for Sections<'_> {
    fn ask(&mut self, question: &SectionQuestion) -> Result<SectionReply, ExternalError> {
        Sections::ask(self, question.clone())
    }

    fn restarts(&self) -> u32 {
        Sections::restarts(self)
    }
}
