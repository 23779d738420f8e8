//! A reader's answers to the vectors.

use std::collections::BTreeMap;

use serde::Serialize;
use sframe_vectors::{AnswerPart, Compared, SectionPart, Vector, compare};

use crate::external::SectionReply;
use crate::spec::Verdict;
use sframe_inspect::json::SCHEMA;
use sframe_inspect::text::Text;

/// The most differences shown to people; the document has all of them.
const SHOWN: usize = 40;

/// `vectors --json`: a reader's answers to the vectors.
#[derive(Clone, Debug, Serialize)]
pub struct VectorsReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The reader.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Number of vectors.
    pub vectors: u64,
    /// Those with correct answers to all questions.
    pub agree: u64,
    /// How often the reader had to be restarted.
    pub restarts: u32,
    /// Questions by part.
    pub parts: BTreeMap<AnswerPart, Counts>,
    /// Answers that differ from the vectors.
    pub differences: Vec<Difference>,
    /// Vectors that the reader says it can't read.
    pub skipped: Vec<Skipped>,
}

/// Questions about one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Those in the vectors.
    pub questions: u64,
    /// Those that were answered, correctly or not.
    pub answered: u64,
    /// Those answered differently from the vectors.
    pub differ: u64,
}

/// An answer that differs from the vector's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The vector.
    pub vector: String,
    /// The part in question; `None` if there was no answer at all.
    pub part: Option<AnswerPart>,
    /// `crashed`, `timed-out` or `bad-answer`, if there was none.
    pub fault: Option<Verdict>,
    /// The clauses that the vector proves.
    pub clauses: Vec<String>,
    /// The readings of the specification that its answers depend on.
    pub readings: Vec<String>,
    /// The difference in a sentence.
    pub message: String,
}

/// A vector that the reader can't read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The vector.
    pub vector: String,
    /// Why.
    pub reason: String,
}

impl VectorsReport {
    pub(super) fn new(name: &str, version: &str) -> Self {
        Self {
            schema: SCHEMA,
            name: name.to_owned(),
            version: version.to_owned(),
            vectors: 0,
            agree: 0,
            restarts: 0,
            parts: AnswerPart::ALL.map(|part| (part, Counts::default())).into(),
            differences: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// Records an answer of a reader with some parts.
    pub(super) fn add(&mut self, vector: &Vector, asked: &SectionReply, parts: &[SectionPart]) {
        self.vectors += 1;
        for (part, counts) in &mut self.parts {
            counts.questions += part.questions(vector);
        }
        let difference = |part, fault, message| Difference {
            vector: vector.id.clone(),
            part,
            fault,
            clauses: vector.clauses.clone(),
            readings: vector.readings.clone(),
            message,
        };
        match asked {
            SectionReply::Unsupported(reason) => {
                self.skipped.push(Skipped { vector: vector.id.clone(), reason: reason.clone() });
            }
            SectionReply::Fault(fault) => {
                self.differences.push(difference(None, Some(fault.verdict), fault.message.clone()));
            }
            SectionReply::Answer(answer) => {
                let Compared { differences, answered } = compare(vector, answer, parts);
                for (part, count) in answered {
                    self.parts.entry(part).or_default().answered += count;
                }
                self.agree += u64::from(differences.is_empty());
                for (part, message) in differences {
                    self.parts.entry(part).or_default().differ += 1;
                    self.differences.push(difference(Some(part), None, message));
                }
            }
        }
    }

    /// Whether anything was compared.
    #[must_use]
    pub fn has_compared(&self) -> bool {
        !self.differences.is_empty() || self.parts.values().any(|counts| counts.answered > 0)
    }

    /// Formats the report for people.
    #[must_use]
    pub fn text(&self) -> Text {
        let grouped = sframe_inspect::text::grouped;
        let mut text = Text::default();
        for Difference { vector, fault, readings, message, .. } in self.differences.iter().take(SHOWN) {
            let verdict = fault.map_or_else(|| "differs".to_owned(), |fault| fault.to_string());
            let readings = match &readings[..] {
                [] => String::new(),
                readings => format!(" (readings: {})", readings.join(", ")),
            };
            let _ = writeln!(text, "{verdict:<11} {vector}: {message}{readings}");
        }
        if let Some(more) = self.differences.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            let _ = writeln!(text, "and {} more; --json has all of them", grouped(more as u64));
        }
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for skipped in &self.skipped {
            *reasons.entry(&skipped.reason).or_default() += 1;
        }
        for (reason, count) in reasons {
            let _ = writeln!(text, "skipped     {} vectors: {reason}", grouped(count));
        }
        let _ = writeln!(text, "{:<12}{:>10}{:>10}{:>10}", "part", "questions", "answered", "differ");
        for (part, Counts { questions, answered, differ }) in &self.parts {
            let [questions, answered, differ] = [*questions, *answered, *differ].map(grouped);
            let part = format!("{part:?}").to_lowercase();
            let _ = writeln!(text, "{part:<12}{questions:>10}{answered:>10}{differ:>10}");
        }
        let Self { name, version, vectors, agree, restarts, skipped, .. } = self;
        let _ = writeln!(
            text,
            "{name} {version}: {vectors} vectors, {agree} as they say, {} skipped; restarted {restarts} times",
            skipped.len()
        );
        text
    }
}
