//! Where the answers of a reader differ from those that follow from the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

use serde::Serialize;
use sframe_judge::external::{ExternalError, SectionReply};
use sframe_judge::vocabulary::Verdict;
use sframe_vectors::{
    Answer, Change, Comparison, PcKind, Query, Question, Row, SectionPart, Unreadable, is_refused,
};

use super::case::{Case, CaseError};
use super::plan::SectionPlan;
use super::reader::Reader;

/// What is different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// There is no answer.
    Process,
    /// Whether the section can be opened.
    Opening,
    /// The header.
    Header,
    /// A function, or a row of it.
    Fde,
    /// A look-up.
    Lookup,
    /// A step.
    Step,
}

impl Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "process",
            Self::Opening => "opening",
            Self::Header => "header",
            Self::Fde => "FDE",
            Self::Lookup => "look-up",
            Self::Step => "step",
        })
    }
}

impl From<Query> for Part {
    fn from(query: Query) -> Self {
        match query {
            Query::Opening => Self::Opening,
            Query::Header => Self::Header,
            Query::Fde(_) | Query::Row(..) => Self::Fde,
            Query::Lookup(_) => Self::Lookup,
            Query::Step(_) => Self::Step,
        }
    }
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What is different.
    pub part: Part,
    /// Its fields that differ, or how it differs as a whole.
    pub field: String,
    /// Where a process ended in its source, if it said so.
    pub site: Option<String>,
    /// The function, by its index.
    pub function: Option<usize>,
    /// The row of the function.
    pub row: Option<usize>,
    /// What is expected, and what the reader says.
    pub message: String,
}

/// The field of a reader that gives no answer in time.
pub(super) const TIMED_OUT: &str = "timed out";

/// What is demanded of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// There is no better answer than its own, and it rejects what is broken, for the right reason.
    Exact,
    /// Its answers are ones that the vectors accept. Whether it notices what is broken is counted, and not
    /// judged.
    Answers,
}

/// What a reader is asked, and what is demanded of its answers.
#[derive(Clone, Debug)]
pub struct Demands {
    /// Whether it is asked for what the specification leaves to the reader.
    pub open: bool,
    /// The parts that it answers.
    pub parts: Vec<SectionPart>,
    /// What is demanded of it.
    pub strictness: Strictness,
}

/// The differences of a section.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    /// The differences, without those that follow from others.
    pub found: Vec<Difference>,
    /// Answers that were compared.
    pub compared: u64,
    /// Why the reader can't read the section.
    pub unsupported: Option<String>,
    /// Whether a broken rule was not noticed.
    pub unnoticed: bool,
}

/// Makes a section of a plan, and asks a reader about it.
pub(super) fn ask(
    reader: &mut dyn Reader,
    plan: SectionPlan,
    demands: &Demands,
) -> Result<Result<(Case, Differences), CaseError>, ExternalError> {
    let case = match Case::new(plan, "generated/section", demands.open) {
        Ok(case) => case,
        Err(error) => return Ok(Err(error)),
    };
    let reply = reader.ask(&case.vector.question())?;
    let differences = differences(&case, &reply, demands);
    Ok(Ok((case, differences)))
}

/// Compares a reply with the answers that follow from the plan, as the vectors are compared.
#[must_use]
pub fn differences(case: &Case, reply: &SectionReply, demands: &Demands) -> Differences {
    let (mut result, all_is_read) = (Differences::default(), Unreadable::new());
    let (answer, unreadable) = match reply {
        SectionReply::Unsupported(reason) => {
            return Differences { unsupported: Some(reason.clone()), ..result };
        }
        SectionReply::Fault(fault) => {
            let field = match fault.verdict {
                Verdict::Crashed => "crashed",
                Verdict::TimedOut => TIMED_OUT,
                _ => "no answer of the protocol",
            };
            let (field, site, message) = (field.to_owned(), site(&fault.message), fault.message.clone());
            let part = Part::Process;
            result.found.push(Difference { part, field, site, function: None, row: None, message });
            return result;
        }
        SectionReply::Answer(answer) => (answer, &all_is_read),
        SectionReply::Partly(answer, unreadable) => (answer, unreadable),
    };
    let compared = Comparison::with(&case.vector).compare_partly(answer, unreadable, &demands.parts);
    result.compared = compared.answered.values().sum();
    let is_exact = demands.strictness == Strictness::Exact;
    let wrong = compared.differences.into_iter().map(|difference| (difference, true));
    let worse = compared.quality.into_iter().map(|difference| (difference, is_exact));
    let mut all: Vec<_> = wrong.chain(worse).collect();
    all.sort_by_key(|(difference, _)| difference.query);
    // Functions of which a part is wrong: what follows from that is not told again.
    let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
    for (difference, is_wrong) in all {
        let query = difference.query;
        if !is_exact && case.must_reject(query) {
            result.unnoticed |= !is_refused(query, answer);
            continue;
        }
        let (part, (function, row)) = (Part::from(query), case.place(query));
        let follows = function.is_some_and(|function| *parts.entry(function).or_insert(part) < part);
        let field = field_of(&difference.changes);
        let same =
            |known: &Difference| (known.part, &known.field, known.function) == (part, &field, function);
        if is_wrong && !follows && !result.found.iter().any(same) {
            let message = difference.message;
            result.found.push(Difference { part, field, site: None, function, row, message });
        }
    }
    result
}

/// The names of the fields that differ; of an answer that differs as a whole, how.
fn field_of(changes: &[Change]) -> String {
    let name = |change: &Change| match &*change.field {
        "" => Change { excess: None, ..change.clone() }.to_string(),
        field => field.to_owned(),
    };
    changes.iter().map(name).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

impl Case {
    /// Whether the answer to a question is a rejection.
    fn must_reject(&self, query: Query) -> bool {
        let vector = &self.vector;
        let fde = |index: usize| vector.fdes.get(index);
        match query {
            Query::Opening => vector.reject.is_some(),
            Query::Fde(index) => fde(index).is_some_and(|fde| fde.reject.is_some()),
            Query::Row(index, row) => {
                fde(index).and_then(|fde| fde.rows.get(row)).is_some_and(Row::is_rejected)
            }
            Query::Lookup(index) => {
                vector.lookups.get(index).is_some_and(|lookup| matches!(lookup.answer, Answer::Reject(_)))
            }
            Query::Header | Query::Step(_) => false,
        }
    }

    /// The function and the row that a question is about.
    fn place(&self, query: Query) -> (Option<usize>, Option<usize>) {
        let answer = match query {
            Query::Opening | Query::Header => None,
            Query::Fde(function) => return (Some(function), None),
            Query::Row(function, row) => return (Some(function), Some(row)),
            Query::Lookup(index) => self.vector.lookups.get(index).map(|lookup| lookup.answer.clone()),
            Query::Step(index) => self.vector.steps.get(index).and_then(|step| {
                let return_address = step.frame.kind == PcKind::Return;
                self.plan.look_up(Question { pc: step.frame.pc, return_address })
            }),
        };
        match answer {
            None | Some(Answer::NoFde | Answer::Rules(_) | Answer::Reject(_)) => (None, None),
            Some(Answer::NoRow(function) | Answer::Outermost(function)) => (Some(function), None),
            Some(Answer::Row(function, row)) => (Some(function), Some(row)),
        }
    }
}

impl Difference {
    /// Returns whether it is the same thing that is wrong.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (self.part, &self.field, &self.site) == (other.part, &other.field, &other.site)
    }
}

/// The first place in a source file that a message names: `name.c:123`.
fn site(message: &str) -> Option<String> {
    let of = |word: &str| {
        let mut parts = word.trim_matches(['(', ')', ',']).split(':');
        let file = parts.next().filter(|file| {
            file.rsplit_once('.').is_some_and(|(name, kind)| {
                !name.is_empty() && !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphabetic())
            })
        })?;
        let line =
            parts.next().filter(|line| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()))?;
        let file = file.rsplit('/').next().unwrap_or(file);
        Some(format!("{file}:{line}"))
    };
    message.split_whitespace().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_sources_are_found_in_messages() {
        let said = "exit status: 101; standard error: panicked at simple-0.3.0/src/v3.rs:271:23: | range";
        assert_eq!(site(said).as_deref(), Some("v3.rs:271"));
        assert_eq!(site("it: lib/sframe.c:443: f: Assertion `0' failed.").as_deref(), Some("sframe.c:443"));
        assert_eq!(site("exit status: 1 at 12:30, 0x12:3 and a.b:c"), None);
    }
}
