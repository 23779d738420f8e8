//! A reader's answers to the vectors.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sframe_inspect::command::Volume;
use sframe_inspect::json::SCHEMA;
use sframe_inspect::text::{Text, counted, grouped};
use sframe_judge::external::SectionReply;
use sframe_judge::vocabulary::Verdict;
use sframe_vectors::{AnswerPart, Change, Compared, SectionPart, Vector, compare};

/// The most kinds of differences shown to people; the document has all of them.
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
    /// The fields that differ, in whatever vector: differences of one mistake have the same.
    pub changes: Vec<Change>,
}

/// Differences that probably have one cause: in the same part, the same fields differ in the
/// same way, or the reader failed alike.
struct Kind<'r> {
    first: &'r Difference,
    /// The differences, and the vectors that have some.
    count: u64,
    vectors: BTreeSet<&'r str>,
    /// Whether numbers are too much by the same in all of them.
    is_even: bool,
}

impl<'r> Kind<'r> {
    /// Sorts differences into kinds, the most frequent first.
    fn of_all(differences: &'r [Difference]) -> Vec<Self> {
        let mut kinds: Vec<Self> = Vec::new();
        for difference in differences {
            let index = kinds.iter().position(|kind| kind.has(difference)).unwrap_or_else(|| {
                kinds.push(Kind { first: difference, count: 0, vectors: BTreeSet::new(), is_even: true });
                kinds.len() - 1
            });
            let kind = &mut kinds[index];
            kind.count += 1;
            kind.vectors.insert(&difference.vector);
            kind.is_even &= kind.first.changes == difference.changes;
        }
        kinds.sort_by_key(|kind| Reverse(kind.count));
        kinds
    }

    fn has(&self, difference: &Difference) -> bool {
        let Difference { part, fault, changes, .. } = self.first;
        let same_fields = || {
            changes.len() == difference.changes.len()
                && changes.iter().zip(&difference.changes).all(|(change, other)| change.is_like(other))
        };
        (part, fault) == (&difference.part, &difference.fault) && same_fields()
    }

    /// The kind in a line, and the first of its differences in another.
    fn write(&self, text: &mut Text) {
        let Self { first, count, vectors, is_even } = self;
        let Difference { vector, part, fault, readings, message, changes, .. } = first;
        let verdict = fault.map_or_else(|| "differs".to_owned(), |fault| fault.to_string());
        let part = part.map_or_else(String::new, |part| format!("{}: ", format!("{part:?}").to_lowercase()));
        let changes = changes.iter().map(|change| match is_even {
            true => change.to_string(),
            false => Change { excess: None, ..change.clone() }.to_string(),
        });
        let changes = changes.collect::<Vec<_>>().join("; ");
        let colon = if changes.is_empty() { "" } else { ": " };
        let [answers, of] = [counted(*count, "answer"), counted(vectors.len() as u64, "vector")];
        let _ = writeln!(text, "{verdict:<11} {part}{answers} to {of}{colon}{changes}");
        let readings = match &readings[..] {
            [] => String::new(),
            readings => format!(" (readings: {})", readings.join(", ")),
        };
        let _ = writeln!(text, "    first: {vector}: {message}{readings}");
    }
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
        let difference = |part, fault, message, changes| Difference {
            vector: vector.id.clone(),
            part,
            fault,
            clauses: vector.clauses.clone(),
            readings: vector.readings.clone(),
            message,
            changes,
        };
        match asked {
            SectionReply::Unsupported(reason) => {
                self.skipped.push(Skipped { vector: vector.id.clone(), reason: reason.clone() });
            }
            SectionReply::Fault(fault) => {
                self.differences.push(difference(
                    None,
                    Some(fault.verdict),
                    fault.message.clone(),
                    Vec::new(),
                ));
            }
            SectionReply::Answer(answer) => {
                let Compared { differences, answered } = compare(vector, answer, parts);
                for (part, count) in answered {
                    self.parts.entry(part).or_default().answered += count;
                }
                self.agree += u64::from(differences.is_empty());
                for sframe_vectors::Difference { part, message, changes } in differences {
                    self.parts.entry(part).or_default().differ += 1;
                    self.differences.push(difference(Some(part), None, message, changes));
                }
            }
        }
    }

    /// Whether anything was compared.
    #[must_use]
    pub fn has_compared(&self) -> bool {
        !self.differences.is_empty() || self.parts.values().any(|counts| counts.answered > 0)
    }

    /// Formats the report for people: differences first, and one sentence about all vectors last.
    #[must_use]
    pub fn text(&self, volume: Volume) -> Text {
        let is_full = volume == Volume::Verbose;
        let mut text = Text::default();
        let kinds = Kind::of_all(&self.differences);
        let shown = if is_full { usize::MAX } else { SHOWN };
        kinds.iter().take(shown).for_each(|kind| kind.write(&mut text));
        if let Some(more) = kinds.len().checked_sub(shown).filter(|more| *more > 0) {
            text.line(format!("and {} of differences (--verbose)", counted(more as u64, "more kind")));
        }
        if volume == Volume::Quiet {
            return text;
        }
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for skipped in &self.skipped {
            *reasons.entry(&skipped.reason).or_default() += 1;
        }
        if is_full {
            for (reason, count) in reasons {
                text.line(format!("skipped     {}: {reason}", counted(count, "vector")));
            }
            text.line(format!("{:<12}{:>10}{:>10}{:>10}", "part", "questions", "answered", "differ"));
            for (part, Counts { questions, answered, differ }) in &self.parts {
                let [questions, answered, differ] = [*questions, *answered, *differ].map(grouped);
                let part = format!("{part:?}").to_lowercase();
                text.line(format!("{part:<12}{questions:>10}{answered:>10}{differ:>10}"));
            }
        }
        text.line(self.conclusion());
        text
    }

    /// How many vectors the reader has answered as they say.
    fn conclusion(&self) -> String {
        let Self { name, version, vectors, agree, restarts, skipped, .. } = self;
        let skipped = skipped.len() as u64;
        let wrong = vectors.saturating_sub(*agree).saturating_sub(skipped);
        let parts = [(wrong, "otherwise"), (skipped, "not")].into_iter().filter(|(count, _)| *count > 0);
        let parts: String = parts.map(|(count, how)| format!(", {} {how}", grouped(count))).collect();
        let restarts = match restarts {
            0 => String::new(),
            some => format!("; {}", counted((*some).into(), "restart")),
        };
        let vectors = counted(*vectors, "vector");
        format!("{name} {version} has answered {} of {vectors} as they say{parts}{restarts}", grouped(*agree))
    }
}
