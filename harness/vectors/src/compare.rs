//! Compares an answer about a section with a vector.

use crate::answer::{SectionAnswer, SectionPart, StepAnswer};
use crate::change::{Change, changes};
use crate::expect::{Answer, Fde, Lookup, Reject, Row};
use crate::names::RejectKind;
use crate::vector::Vector;
use serde::Serialize;

/// The subject of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerPart {
    /// Whether the section can be opened.
    Opening,
    /// The header.
    Header,
    /// A function, or a row of it.
    Fdes,
    /// A look-up.
    Lookups,
    /// A step.
    Steps,
}

impl AnswerPart {
    /// All parts.
    pub const ALL: [Self; 5] = [Self::Opening, Self::Header, Self::Fdes, Self::Lookups, Self::Steps];

    /// Returns the part of the protocol's answer. Every reader opens the section.
    const fn in_protocol(self) -> Option<SectionPart> {
        match self {
            Self::Opening => None,
            Self::Header => Some(SectionPart::Header),
            Self::Fdes => Some(SectionPart::Fdes),
            Self::Lookups => Some(SectionPart::Lookups),
            Self::Steps => Some(SectionPart::Steps),
        }
    }

    /// Returns the number of questions that a vector asks.
    pub fn questions(self, vector: &Vector) -> u64 {
        let count = match self {
            Self::Opening => 1,
            Self::Header => usize::from(vector.header.is_some()),
            Self::Fdes => vector.fdes.len(),
            Self::Lookups => vector.lookups.len(),
            Self::Steps => vector.steps.len(),
        };
        count as u64
    }

    /// Returns whether a reader with these parts answers this one.
    pub fn is_in(self, parts: &[SectionPart]) -> bool {
        self.in_protocol().is_none_or(|part| parts.contains(&part))
    }
}

/// An answer that differs.
#[derive(Debug)]
pub struct Difference {
    /// What it is about.
    pub part: AnswerPart,
    /// What was asked, expected and answered.
    pub message: String,
    /// What differs in it.
    pub changes: Vec<Change>,
}

/// A difference of a part that is known from where it was found.
struct Differs {
    message: String,
    changes: Vec<Change>,
}

impl Differs {
    fn in_part(self, part: AnswerPart) -> Difference {
        Difference { part, message: self.message, changes: self.changes }
    }

    /// A list of another length than expected.
    fn in_length(what: &str, of: &str, expected: usize, got: usize) -> Self {
        Self {
            message: format!("{what}: {expected} {of} expected, got {got}"),
            changes: changes(
                &format!("the number of {of}, {expected},"),
                &format!("the number of {of}, {got},"),
            ),
        }
    }
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Compared {
    /// The differences.
    pub differences: Vec<Difference>,
    /// The number of questions of each part that were answered.
    pub answered: Vec<(AnswerPart, u64)>,
}

/// Compares an answer. Parts that are not in `parts` are not asked for.
pub fn compare(vector: &Vector, answer: &SectionAnswer, parts: &[SectionPart]) -> Compared {
    let mut differences = Vec::new();
    match (&answer.reject, &vector.reject) {
        (None, None) => {}
        (Some(got), Some(expected)) if is_same(got, expected) => {}
        (got, expected) => {
            let shown = |it: &Option<Reject>| it.as_ref().map_or_else(|| "a section".to_owned(), written);
            let message = format!("opening: expected {}, got {}", shown(expected), shown(got));
            let answer = |reject: &Option<Reject>| Opening { reject: reject.clone() };
            let changes = changes(&answer(expected), &answer(got));
            differences.push(Differs { message, changes }.in_part(AnswerPart::Opening));
        }
    }
    let mut answered = vec![(AnswerPart::Opening, 1)];
    if answer.reject.is_some() || vector.reject.is_some() {
        return Compared { differences, answered };
    }
    for part in AnswerPart::ALL.into_iter().filter(|part| *part != AnswerPart::Opening && part.is_in(parts)) {
        answered.push((part, part.questions(vector)));
        let found = match part {
            AnswerPart::Opening => Vec::new(),
            AnswerPart::Header => match (&answer.header, &vector.header) {
                (Some(got), Some(expected)) if got == expected => Vec::new(),
                (got, expected) => vec![differ("header", &expected, &got)],
            },
            AnswerPart::Fdes => each(part, answer.fdes.as_deref(), &vector.fdes, compare_fde),
            AnswerPart::Lookups => each(part, answer.lookups.as_deref(), &vector.lookups, compare_lookup),
            AnswerPart::Steps => {
                let expected: Vec<StepAnswer> = vector
                    .steps
                    .iter()
                    .map(|step| StepAnswer { caller: step.caller, end: step.end })
                    .collect();
                each(part, answer.steps.as_deref(), &expected, |index, got, expected| {
                    (got != expected).then(|| differ(&format!("step {index}"), expected, got))
                })
            }
        };
        differences.extend(found.into_iter().map(|differs| differs.in_part(part)));
    }
    Compared { differences, answered }
}

/// The answer whether a section can be opened, as the protocol writes it.
#[derive(Serialize)]
struct Opening {
    #[serde(skip_serializing_if = "Option::is_none")]
    reject: Option<Reject>,
}

/// An answer as the protocol writes it.
fn written<T: Serialize>(answer: &T) -> String {
    serde_json::to_string(answer).unwrap_or_else(|error| error.to_string())
}

fn differ<T: Serialize>(what: &str, expected: &T, got: &T) -> Differs {
    let message = format!("{what}: expected {}, got {}", written(expected), written(got));
    Differs { message, changes: changes(expected, got) }
}

/// Compares a list of answers, which must have the same length as the list of questions.
fn each<T>(
    part: AnswerPart,
    got: Option<&[T]>,
    expected: &[T],
    compare: impl Fn(usize, &T, &T) -> Option<Differs>,
) -> Vec<Differs> {
    let Some(got) = got else {
        let message = format!("{part:?}: no answer, though the unwinder promised one");
        return vec![Differs { changes: changes("an answer", "none"), message }];
    };
    if got.len() != expected.len() {
        return vec![Differs::in_length(&format!("{part:?}"), "answers", expected.len(), got.len())];
    }
    let pairs = got.iter().zip(expected).enumerate();
    pairs.filter_map(|(index, (got, expected))| compare(index, got, expected)).collect()
}

/// A reader that gives no kind is right if it rejects; offsets count if both have one.
fn is_same(got: &Reject, expected: &Reject) -> bool {
    let offset = got.offset.zip(expected.offset).is_none_or(|(got, expected)| got == expected);
    got.kind == RejectKind::Unspecified || (got.kind == expected.kind && offset)
}

fn compare_fde(index: usize, got: &Fde, expected: &Fde) -> Option<Differs> {
    let what = format!("FDE {index}");
    match (&got.reject, &expected.reject) {
        (Some(got), Some(expected)) if is_same(got, expected) => return None,
        (None, None) => {}
        _ => return Some(differ(&what, expected, got)),
    }
    let without_rows = |fde: &Fde| Fde { rows: Vec::new(), ..fde.clone() };
    let (got_fde, expected_fde) = (without_rows(got), without_rows(expected));
    if got_fde != expected_fde {
        return Some(differ(&what, &expected_fde, &got_fde));
    }
    if got.rows.len() != expected.rows.len() {
        return Some(Differs::in_length(&what, "rows", expected.rows.len(), got.rows.len()));
    }
    got.rows.iter().zip(&expected.rows).enumerate().find_map(|(row, (got, expected))| {
        let same = match (got, expected) {
            (Row::Reject(got), Row::Reject(expected)) => is_same(got, expected),
            (got, expected) => got == expected,
        };
        (!same).then(|| differ(&format!("{what}, row {row}"), expected, got))
    })
}

fn compare_lookup(index: usize, got: &Lookup, expected: &Lookup) -> Option<Differs> {
    // Answers come in the order of the questions: one need not repeat how its PC was to be looked up.
    let return_address = got.return_address || expected.return_address;
    let got = &Lookup { return_address, ..got.clone() };
    let kind = if expected.return_address { " as a return address" } else { "" };
    let what = format!("look-up {index}, of {}{kind}", expected.pc);
    let is_for = (got.pc, got.return_address) == (expected.pc, expected.return_address);
    let same = match (&got.answer, &expected.answer) {
        (Answer::Reject(got), Answer::Reject(expected)) => is_same(got, expected),
        (got, expected) => got == expected,
    };
    (!is_for || !same).then(|| differ(&what, expected, got))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Address;

    #[test]
    fn an_answer_need_not_repeat_how_its_pc_was_looked_up() {
        let lookup = |pc, return_address, answer| Lookup { pc: Address(pc), return_address, answer };
        let expected = lookup(8, true, Answer::Row(0, 1));
        let differs = |got: &Lookup| compare_lookup(0, got, &expected).is_some();
        assert!(!differs(&lookup(8, true, Answer::Row(0, 1))));
        assert!(!differs(&lookup(8, false, Answer::Row(0, 1))), "without its echo");
        assert!(differs(&lookup(8, false, Answer::Row(0, 2))), "another row");
        assert!(differs(&lookup(9, false, Answer::Row(0, 1))), "another question");
        let plain = lookup(8, false, Answer::Row(0, 1));
        assert!(compare_lookup(0, &expected, &plain).is_some(), "not what was asked");
    }
}
