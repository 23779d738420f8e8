//! Compares an answer about a section with a vector.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;
use std::sync::OnceLock;

use serde::Serialize;

use crate::accept::{Accepted, Asked, Class, Pattern};
use crate::alternative::reading_of;
use crate::answer::{SectionAnswer, SectionPart, StepAnswer};
use crate::change::{Change, changes};
use crate::expect::{Answer, Fde, Header, Lookup, Reject, Row};
use crate::names::RejectKind;
use crate::query::{AnswerPart, Query};
use crate::read::Unreadable;
use crate::step::End;
use crate::vector::Vector;

/// An answer that differs.
#[derive(Clone, Debug)]
pub struct Difference {
    /// What was asked.
    pub query: Query,
    /// What was asked, expected and answered.
    pub message: String,
    /// What differs in it.
    pub changes: Vec<Change>,
    /// What the reader says about its answer.
    pub said: Option<String>,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Answers that are not accepted.
    pub differences: Vec<Difference>,
    /// Answers that are within the text, although there are better ones.
    pub quality: Vec<Difference>,
    /// The alternatives that answers follow, with the number of these answers.
    pub readings: BTreeMap<Vec<String>, u64>,
    /// The alternatives by which answers would be others than the vector's, with the number of these answers.
    pub declined: BTreeMap<String, u64>,
    /// The number of questions of each part.
    pub questions: BTreeMap<AnswerPart, u64>,
    /// How many of them were answered.
    pub answered: BTreeMap<AnswerPart, u64>,
}

/// An answer to one question.
#[derive(Clone, Debug, PartialEq)]
enum Given<'a> {
    Opens,
    Header(&'a Header),
    Fde(&'a Fde),
    Row(&'a Row),
    Lookup(&'a Lookup),
    Step(&'a StepAnswer),
    /// A rejection: here, with its reason, or of something that contains it.
    Refused(Option<&'a Reject>),
    /// A row of a function that has fewer, as the reader says.
    NoSuchRow,
}

/// Compares an answer. Parts that are not in `parts` are not asked for.
#[must_use]
pub fn compare(vector: &Vector, answer: &SectionAnswer, parts: &[SectionPart]) -> Compared {
    Comparison::with(vector).compare(answer, parts)
}

/// A vector with its questions, to compare many answers with.
#[derive(Debug)]
pub struct Comparison<'v> {
    vector: Cow<'v, Vector>,
    asked: Vec<Asked>,
    /// Those with the vector as each way to read the text has it, where it depends on that.
    chosen: OnceLock<Vec<Comparison<'v>>>,
}

impl<'v> Comparison<'v> {
    /// Prepares comparisons with a vector.
    #[must_use]
    pub fn with(vector: &'v Vector) -> Self {
        Self::of(Cow::Borrowed(vector))
    }

    fn of(vector: Cow<'v, Vector>) -> Self {
        let asked = vector.asked();
        Self { vector, asked, chosen: OnceLock::new() }
    }

    /// [`compare`].
    #[must_use]
    pub fn compare(&self, answer: &SectionAnswer, parts: &[SectionPart]) -> Compared {
        self.compare_partly(answer, &Unreadable::new(), parts)
    }

    /// Compares an answer of which some pieces could not be read: these are wrong. So is an answer each piece of which is
    /// accepted, but that no way to read the text gives as a whole.
    #[must_use]
    pub fn compare_partly(
        &self,
        answer: &SectionAnswer,
        unreadable: &Unreadable,
        parts: &[SectionPart],
    ) -> Compared {
        let vector = &*self.vector;
        let is_flat = answer.lookups.iter().flatten().any(|it| matches!(it.answer, Answer::Rules(_)));
        let with_positions = is_flat.then(|| located(self, answer));
        let answer = with_positions.as_ref().unwrap_or(answer);
        let mut compared = compare_pieces(self, answer, unreadable, parts, &difference);
        if compared.differences.is_empty() && !compared.readings.is_empty() {
            let is_whole = |chosen: &Comparison<'_>| {
                // A row that is refused when its rules are read may be found before.
                let is_found_before = |difference: &Difference| {
                    let Query::Lookup(index) = difference.query else { return false };
                    chosen.vector.lookups.get(index).is_some_and(|it| matches!(it.answer, Answer::Reject(_)))
                };
                let differences = compare_pieces(chosen, answer, unreadable, parts, &bare).differences;
                differences.iter().all(is_found_before)
            };
            let chosen = self.chosen.get_or_init(|| {
                let ways = ways_to_read(vector).into_iter();
                ways.map(|choices| Self::of(Cow::Owned(vector.chosen(&choices)))).collect()
            });
            if !chosen.iter().any(is_whole) {
                compared.differences.extend(half_of_a_reading(self, answer, &compared));
            }
        }
        compared
    }

    /// Returns the questions with answers that are not accepted, each by itself. It takes less time than a comparison.
    #[must_use]
    pub fn wrong_queries(&self, answer: &SectionAnswer, parts: &[SectionPart]) -> BTreeSet<Query> {
        let compared = compare_pieces(self, answer, &Unreadable::new(), parts, &bare);
        compared.differences.into_iter().map(|difference| difference.query).collect()
    }
}

/// The answer with positions in place of rules: of the row that is expected, or is by another reading, if it has them.
fn located(comparison: &Comparison<'_>, answer: &SectionAnswer) -> SectionAnswer {
    let vector = &*comparison.vector;
    let mut located = answer.clone();
    let functions = |at: usize| {
        let alternative = at.checked_sub(1).and_then(|at| vector.alternatives.get(at));
        let mut fdes = vector.fdes.clone();
        for (index, fde) in alternative.iter().flat_map(|it| &it.fdes) {
            if let Some(own) = fdes.get_mut(*index) {
                own.clone_from(fde);
            }
        }
        fdes
    };
    let functions: Vec<Vec<Fde>> = (0..=vector.alternatives.len()).map(functions).collect();
    let mut accepted: BTreeMap<usize, Vec<Answer>> = BTreeMap::new();
    for asked in &comparison.asked {
        let Query::Lookup(index) = asked.query else { continue };
        let answers = asked.accepted.iter().filter_map(|it| match &it.pattern {
            Pattern::Lookup(lookup) => Some(lookup.answer.clone()),
            _ => None,
        });
        accepted.insert(index, answers.collect());
    }
    for (index, lookup) in located.lookups.iter_mut().flatten().enumerate() {
        let is_it = |it: &&Answer| functions.iter().any(|fdes| it.has_rules_of(&lookup.answer, fdes));
        let found = accepted.get(&index).and_then(|all| all.iter().find(is_it).cloned());
        lookup.answer = found.unwrap_or_else(|| lookup.answer.clone());
    }
    located
}

/// A difference without what differs.
const fn bare(_: &Vector, asked: &Asked, _: &Given<'_>) -> Difference {
    Difference { query: asked.query, message: String::new(), changes: Vec::new(), said: None }
}

/// The readings by which a reader may answer each question in another way: what a search meets first decides.
const OF_EACH_QUESTION: [&str; 1] = ["size-0"];

/// The ways to read the text where a vector depends on it: for each reading an alternative, or the vector's own.
fn ways_to_read(vector: &Vector) -> Vec<Vec<String>> {
    let mut readings: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for taken in vector.alternatives.iter().flat_map(|alternative| &alternative.take) {
        let reading = reading_of(taken);
        if OF_EACH_QUESTION.contains(&reading) {
            continue;
        }
        readings.entry(reading).or_insert_with(|| [reading].into()).insert(taken);
    }
    let mut ways = vec![Vec::new()];
    for choices in readings.values() {
        let with = |way: &[String], choice: &str| [way, &[choice.to_owned()]].concat();
        ways = ways.iter().flat_map(|way| choices.iter().map(|choice| with(way, choice))).collect();
    }
    ways
}

/// The difference of an answer that takes an alternative here, and not there.
fn half_of_a_reading(
    comparison: &Comparison<'_>,
    answer: &SectionAnswer,
    compared: &Compared,
) -> Option<Difference> {
    let vector = &*comparison.vector;
    let takes_one =
        |asked: &Asked, given: &Given<'_>| matches!(class_of(asked, given, vector), Some(Class::Reading(_)));
    let mut answers =
        comparison.asked.iter().filter_map(|asked| Some((asked, given(answer, vector, asked)?)));
    let (asked, given) = answers.find(|(asked, given)| takes_one(asked, given))?;
    let names: Vec<String> = compared.readings.keys().map(|take| take.join(" and ")).collect();
    let mut found = difference(vector, asked, &given);
    found.message =
        format!("{}, as by {}, but not everywhere in the section", found.message, names.join(" or "));
    Some(found)
}

/// Compares each piece of an answer by itself, and describes what differs.
fn compare_pieces(
    comparison: &Comparison<'_>,
    answer: &SectionAnswer,
    unreadable: &Unreadable,
    parts: &[SectionPart],
    describe: &dyn Fn(&Vector, &Asked, &Given<'_>) -> Difference,
) -> Compared {
    let vector = &*comparison.vector;
    let mut compared = Compared::default();
    let mut opened = true;
    let mut wrong_fdes = BTreeSet::new();
    for asked in &comparison.asked {
        let part = asked.query.part();
        *compared.questions.entry(part).or_default() += 1;
        if !part.is_in(parts) || !opened {
            continue;
        }
        if let Some(why) = unreadable.get(&asked.query) {
            *compared.answered.entry(part).or_default() += 1;
            let message = format!("{}: {why}", named(asked.query));
            let changes = changes("an answer", why);
            compared.differences.push(Difference { query: asked.query, message, changes, said: None });
            continue;
        }
        if let Query::Row(index, row) = asked.query
            && !unreadable.is_empty()
            && (unreadable.contains_key(&Query::Fde(index))
                || (0..row).any(|row| unreadable.contains_key(&Query::Row(index, row))))
        {
            continue;
        }
        let Some(given) = given(answer, vector, asked) else { continue };
        *compared.answered.entry(part).or_default() += 1;
        // Of what is refused with something that contains it, or is not of a function, nothing more can be said.
        let is_new = match (asked.query, &given) {
            (_, Given::Refused(None)) => false,
            (Query::Row(index, _), Given::NoSuchRow) => !wrong_fdes.contains(&index),
            _ => true,
        };
        match class_of(asked, &given, vector) {
            Some(Class::Must) => {
                for accepted in &asked.accepted {
                    if let Class::Reading(take) = &accepted.class
                        && let [name] = &take[..]
                        && !accepted.pattern.has(&given)
                    {
                        *compared.declined.entry(name.clone()).or_default() += 1;
                    }
                }
            }
            Some(Class::Reading(take)) => *compared.readings.entry(take).or_default() += 1,
            Some(Class::Quality) if is_new => compared.quality.push(describe(vector, asked, &given)),
            Some(Class::Quality) => {}
            None if is_new => {
                let mut difference = describe(vector, asked, &given);
                if let Query::Step(index) = asked.query
                    && let Some(said) = answer.said.get(&index)
                {
                    difference.message += &format!("; it says: {said}");
                    difference.said = Some(said.clone());
                }
                compared.differences.push(difference);
                opened = asked.query != Query::Opening;
                if let Query::Fde(index) = asked.query {
                    wrong_fdes.insert(index);
                }
            }
            None => {}
        }
    }
    compared.differences.extend(changed_their_mind(vector, answer, parts));
    if answer.reject.is_none() && vector.header.is_some() {
        let missing = lengths(vector, answer, parts).into_iter();
        compared.differences.extend(missing.filter(|difference| !unreadable.contains_key(&difference.query)));
    }
    compared
}

/// Look-ups that have another answer than the same question had before: what was asked between them has done damage.
fn changed_their_mind(vector: &Vector, answer: &SectionAnswer, parts: &[SectionPart]) -> Vec<Difference> {
    let given: Vec<&Lookup> = answer.lookups.iter().flatten().collect();
    if !parts.contains(&SectionPart::Lookups) || given.len() != vector.lookups.len() {
        return Vec::new();
    }
    let (mut changed, mut asked) = (Vec::new(), BTreeMap::new());
    for (index, lookup) in vector.lookups.iter().enumerate() {
        let first = *asked.entry(lookup.question()).or_insert(index);
        let rejects = |at: usize| matches!(given[at].answer, Answer::Reject(_));
        if given[first].answer != given[index].answer && !(rejects(first) && rejects(index)) {
            let what = format!("look-up {index}, of {}, which was look-up {first} as well", lookup.pc);
            changed.push(differ(Query::Lookup(index), &what, given[first], given[index]));
        }
    }
    changed
}

/// Whether a reader says anything about a question itself, and not only about what contains its subject.
#[must_use]
pub fn is_answered(query: Query, vector: &Vector, answer: &SectionAnswer) -> bool {
    let asked = Asked { query, accepted: Vec::new() };
    !matches!(given(answer, vector, &asked), None | Some(Given::Refused(None)))
}

/// Whether two readers give the same answer to a question, whatever reasons they give.
#[must_use]
pub fn is_same_answer(query: Query, one: &SectionAnswer, other: &SectionAnswer) -> bool {
    let rejects = |answer: &SectionAnswer| answer.reject.is_some();
    if rejects(one) || rejects(other) {
        return rejects(one) && rejects(other);
    }
    match query {
        Query::Opening => true,
        Query::Header => one.header == other.header,
        Query::Fde(index) => match [one, other].map(|answer| answer.fdes.as_ref()?.get(index)) {
            [Some(one), Some(other)] if one.reject.is_none() && other.reject.is_none() => {
                without_rows(one) == without_rows(other) && one.rows.len() == other.rows.len()
            }
            pair => pair.iter().all(|fde| fde.is_some_and(|fde| fde.reject.is_some())),
        },
        Query::Row(index, row) => {
            let [one, other] = [one, other].map(|answer| {
                let row = answer.fdes.as_ref()?.get(index)?.rows.get(row)?;
                reject_of_row(row).is_none().then_some(row)
            });
            one == other
        }
        Query::Lookup(index) => {
            let [one, other] =
                [one, other].map(|answer| answer.lookups.as_ref()?.get(index).map(|it| &it.answer));
            // A row that can't be read may be met, or not, before it is clear that there is none.
            let failed =
                |answer: Option<&Answer>| matches!(answer, Some(Answer::Reject(_) | Answer::NoRow(_)));
            one == other || failed(one) && failed(other)
        }
        Query::Step(index) => {
            let [one, other] = [one, other].map(|answer| answer.steps.as_ref()?.get(index));
            let failed = |step: Option<&StepAnswer>| {
                step.is_some_and(|step| step.caller.is_none() && step.end != Some(End::Outermost {}))
            };
            // Of the same end, the same must be said.
            let ends = [one, other].map(|step| step.and_then(|step| step.end).map(|end| discriminant(&end)));
            let is_same_end = ends[0].is_some() && ends[0] == ends[1];
            one == other || failed(one) && failed(other) && !is_same_end
        }
    }
}

/// Whether an answer is that what was asked about can't be read.
#[must_use]
pub fn is_refused(query: Query, answer: &SectionAnswer) -> bool {
    let fde = |index: usize| answer.fdes.as_ref().and_then(|fdes| fdes.get(index));
    answer.reject.is_some()
        || match query {
            Query::Opening | Query::Header => false,
            Query::Fde(index) => fde(index).is_some_and(|fde| fde.reject.is_some()),
            Query::Row(index, row) => {
                fde(index).and_then(|fde| fde.rows.get(row)).is_some_and(|row| reject_of_row(row).is_some())
            }
            Query::Lookup(index) => {
                let lookup = answer.lookups.as_ref().and_then(|lookups| lookups.get(index));
                lookup.is_some_and(|it| matches!(it.answer, Answer::Reject(_)))
            }
            Query::Step(index) => {
                let step = answer.steps.as_ref().and_then(|steps| steps.get(index));
                step.is_some_and(|it| it.caller.is_none() && matches!(it.end, None | Some(End::Malformed {})))
            }
        }
}

/// Whether an answer is only that there is none: a refusal, nothing found, or no caller for whatever reason.
#[must_use]
pub fn is_failure(query: Query, answer: &SectionAnswer) -> bool {
    let found = match query {
        Query::Lookup(index) => {
            let lookup = answer.lookups.as_ref().and_then(|lookups| lookups.get(index));
            lookup.is_some_and(|it| !matches!(it.answer, Answer::NoRow(_) | Answer::NoFde))
        }
        Query::Step(index) => {
            let step = answer.steps.as_ref().and_then(|steps| steps.get(index));
            step.is_some_and(|it| it.caller.is_some() || it.end == Some(End::Outermost {}))
        }
        Query::Row(index, row) => {
            let fde = answer.fdes.as_ref().and_then(|fdes| fdes.get(index));
            fde.is_some_and(|fde| row < fde.rows.len())
        }
        Query::Opening | Query::Header | Query::Fde(_) => true,
    };
    !found || is_refused(query, answer)
}

/// A question in words.
fn named(query: Query) -> String {
    match query {
        Query::Opening => "opening".to_owned(),
        Query::Header => "header".to_owned(),
        Query::Fde(index) => format!("FDE {index}"),
        Query::Row(index, row) => format!("FDE {index}, row {row}"),
        Query::Lookup(index) => format!("look-up {index}"),
        Query::Step(index) => format!("step {index}"),
    }
}

/// The answer to a question; `None` if there is none.
fn given<'a>(answer: &'a SectionAnswer, vector: &Vector, asked: &Asked) -> Option<Given<'a>> {
    if let Some(reject) = &answer.reject {
        let is_opening = asked.query == Query::Opening;
        return Some(Given::Refused(is_opening.then_some(reject)));
    }
    let rejected = |fde: &'a Fde| fde.reject.as_ref();
    match asked.query {
        Query::Opening => {
            // A fault of the section may show later.
            let late = vector.reject.as_ref().is_some_and(|reject| may_show_later(reject.kind));
            let rows = answer.fdes.iter().flatten().flat_map(|fde| &fde.rows);
            let mut rejects =
                rows.filter_map(reject_of_row).chain(answer.fdes.iter().flatten().filter_map(rejected));
            match rejects.next().filter(|_| late) {
                Some(reject) => Some(Given::Refused(Some(reject))),
                None => Some(Given::Opens),
            }
        }
        Query::Header => answer.header.as_ref().map(Given::Header),
        Query::Fde(index) => answer.fdes.as_ref()?.get(index).map(|fde| match rejected(fde) {
            Some(reject) => Given::Refused(Some(reject)),
            None => Given::Fde(fde),
        }),
        Query::Row(index, row) => {
            let fde = answer.fdes.as_ref()?.get(index)?;
            // A row that is rejected is the last one.
            let ends =
                row >= fde.rows.len() && fde.rows.last().is_some_and(|row| reject_of_row(row).is_some());
            if rejected(fde).is_some() || ends {
                return Some(Given::Refused(None));
            }
            let Some(row) = fde.rows.get(row) else { return Some(Given::NoSuchRow) };
            Some(reject_of_row(row).map_or(Given::Row(row), |reject| Given::Refused(Some(reject))))
        }
        Query::Lookup(index) => answer.lookups.as_ref()?.get(index).map(|lookup| match &lookup.answer {
            Answer::Reject(reject) => Given::Refused(Some(reject)),
            _ => Given::Lookup(lookup),
        }),
        Query::Step(index) => answer.steps.as_ref()?.get(index).map(Given::Step),
    }
}

const fn reject_of_row(row: &Row) -> Option<&Reject> {
    match row {
        Row::Reject(reject) => Some(reject),
        Row::Rules(_) => None,
    }
}

/// Whether a reader can find a fault of the header when it reads what the header describes.
const fn may_show_later(kind: RejectKind) -> bool {
    matches!(kind, RejectKind::Truncated | RejectKind::SubSectionOutOfBounds)
}

/// Why an answer is accepted; `None` if it is not.
fn class_of(asked: &Asked, given: &Given<'_>, vector: &Vector) -> Option<Class> {
    // An answer need not repeat how its PC was to be looked up, but it must be the answer to the question.
    if let (Query::Lookup(index), Given::Lookup(lookup)) = (asked.query, given) {
        let question = vector.lookups.get(index)?;
        let is_for = lookup.pc == question.pc && (!lookup.return_address || question.return_address);
        if !is_for {
            return None;
        }
    }
    // That something faulty may be refused does not mean that it may be overlooked.
    let is_overlooked = |class: &Class| {
        matches!(given, Given::NoSuchRow) && *class == Class::Quality && !vector.only_answered
    };
    let is_accepted = |accepted: &&Accepted| accepted.pattern.has(given) && !is_overlooked(&accepted.class);
    asked.accepted.iter().find(is_accepted).map(|accepted| accepted.class.clone())
}

impl Pattern {
    fn has(&self, given: &Given<'_>) -> bool {
        match (self, given) {
            (Self::Anything, _)
            | (Self::Opens, Given::Opens)
            | (Self::Refused | Self::NoRow | Self::NoCaller, Given::Refused(_))
            | (Self::Refused, Given::NoSuchRow) => true,
            (Self::Reject(expected), Given::Refused(Some(got))) => is_same(got, expected),
            (Self::Header(expected), Given::Header(got)) => expected == *got,
            (Self::Fde(expected, count), Given::Fde(got)) => {
                let ends = got.rows.iter().any(|row| reject_of_row(row).is_some());
                let same = count.is_none_or(|count| ends || count == got.rows.len());
                same && *expected == without_rows(got)
            }
            (Self::Row(expected), Given::Row(got)) => expected == *got,
            (Self::Lookup(expected), Given::Lookup(got)) => expected.answer == got.answer,
            (Self::NoRow, Given::Lookup(got)) => matches!(got.answer, Answer::NoFde | Answer::NoRow(_)),
            (Self::Step(expected), Given::Step(got)) => expected == *got,
            (Self::NoCaller, Given::Step(got)) => got.caller.is_none() && got.end != Some(End::Outermost {}),
            // A reader that has refused what contains a row or a step says nothing of it.
            (Self::Refused, Given::Step(StepAnswer { caller: None, end })) => *end != Some(End::Outermost {}),
            _ => false,
        }
    }
}

/// A reader that gives no kind is right if it rejects; offsets count if both have one.
fn is_same(got: &Reject, expected: &Reject) -> bool {
    let offset = got.offset.zip(expected.offset).is_none_or(|(got, expected)| got == expected);
    got.kind == RejectKind::Unspecified || (got.kind == expected.kind && offset)
}

fn without_rows(fde: &Fde) -> Fde {
    Fde { rows: Vec::new(), ..fde.clone() }
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

fn differ<T: Serialize, U: Serialize>(query: Query, what: &str, expected: &T, got: &U) -> Difference {
    let message = format!("{what}: expected {}, got {}", written(expected), written(got));
    Difference { query, message, changes: changes(expected, got), said: None }
}

/// A list of another length than expected.
fn in_length(query: Query, what: &str, of: &str, expected: usize, got: usize) -> Difference {
    let number = |count| format!("the number of {of}, {count},");
    let message = format!("{what}: {expected} {of} expected, got {got}");
    Difference { query, message, changes: changes(&number(expected), &number(got)), said: None }
}

/// Says in which way an answer differs from the vector's own.
fn difference(vector: &Vector, asked: &Asked, given: &Given<'_>) -> Difference {
    let query = asked.query;
    let refused = |given: &Given<'_>| match given {
        Given::Refused(reject) => Opening { reject: (*reject).cloned() },
        _ => Opening { reject: None },
    };
    match (query, given) {
        (Query::Opening, _) => {
            let shown = |it: &Option<Reject>| it.as_ref().map_or_else(|| "a section".to_owned(), written);
            let got = refused(given);
            let (expected, got_shown) = (shown(&vector.reject), shown(&got.reject));
            let message = format!("opening: expected {expected}, got {got_shown}");
            let changes = changes(&Opening { reject: vector.reject.clone() }, &got);
            Difference { query, message, changes, said: None }
        }
        (Query::Header, Given::Header(got)) => differ(query, "header", &vector.header, &Some(*got)),
        (Query::Fde(index), _) => {
            let expected = without_rows(&vector.fdes[index]);
            let what = format!("FDE {index}");
            match given {
                Given::Fde(got) if without_rows(got) == expected => {
                    let rows = vector.fdes[index].rows.len();
                    in_length(query, &what, "rows", rows, got.rows.len())
                }
                Given::Fde(got) => differ(query, &what, &expected, &without_rows(got)),
                _ => differ(query, &what, &expected, &refused(given)),
            }
        }
        (Query::Row(index, row), _) => {
            let what = format!("FDE {index}, row {row}");
            let none = Row::Reject(Reject { kind: RejectKind::Unspecified, offset: None });
            let expected = vector.fdes[index].rows.get(row).unwrap_or(&none);
            match given {
                Given::Row(got) => differ(query, &what, expected, got),
                Given::NoSuchRow => differ(query, &what, expected, &"no such row"),
                _ => differ(query, &what, expected, &refused(given)),
            }
        }
        (Query::Lookup(index), _) => {
            let expected = &vector.lookups[index];
            let kind = if expected.return_address { " as a return address" } else { "" };
            let what = format!("look-up {index}, of {}{kind}", expected.pc);
            let answer = match given {
                Given::Lookup(got) => (*got).clone(),
                _ => {
                    let reject = refused(given)
                        .reject
                        .unwrap_or(Reject { kind: RejectKind::Unspecified, offset: None });
                    Lookup { answer: Answer::Reject(reject), ..expected.clone() }
                }
            };
            // One need not repeat how its PC was to be looked up.
            let return_address = answer.return_address || expected.return_address;
            let expected = by_rules(vector, expected, &answer);
            differ(query, &what, &expected, &Lookup { return_address, ..answer })
        }
        (Query::Step(index), _) => {
            let step = &vector.steps[index];
            let expected = StepAnswer { caller: step.caller, end: step.end };
            let what = format!("step {index}");
            match given {
                Given::Step(got) => differ(query, &what, &expected, *got),
                _ => differ(query, &what, &expected, &refused(given)),
            }
        }
        (Query::Header, _) => differ(query, "header", &vector.header, &refused(given)),
    }
}

/// What is expected of a look-up, by rules if that is how it is answered.
fn by_rules(vector: &Vector, expected: &Lookup, got: &Lookup) -> Lookup {
    let mut expected = expected.clone();
    if let (Answer::Rules(_), Answer::Row(fde, row)) = (&got.answer, &expected.answer)
        && let Some(Row::Rules(rules)) = vector.fdes.get(*fde).and_then(|fde| fde.rows.get(*row))
    {
        expected.answer = Answer::Rules(*rules);
    }
    expected
}

/// Lists that are missing, or have another length than the list of questions.
fn lengths(vector: &Vector, answer: &SectionAnswer, parts: &[SectionPart]) -> Vec<Difference> {
    let len = |is_there: bool, len: usize| is_there.then_some(len);
    let of = [
        (Query::Header, len(answer.header.is_some(), 1), usize::from(vector.header.is_some())),
        (Query::Fde(0), answer.fdes.as_ref().map(Vec::len), vector.fdes.len()),
        (Query::Lookup(0), answer.lookups.as_ref().map(Vec::len), vector.lookups.len()),
        (Query::Step(0), answer.steps.as_ref().map(Vec::len), vector.steps.len()),
    ];
    let is_asked =
        |query: &Query| query.part().is_in(parts) && !(vector.only_answered && *query == Query::Fde(0));
    let asked = of.into_iter().filter(|(query, ..)| is_asked(query));
    asked
        .filter_map(|(query, got, expected)| {
            let part = query.part();
            match got {
                Some(got) if got == expected => None,
                Some(got) => Some(in_length(query, &format!("{part:?}"), "answers", expected, got)),
                None => {
                    let message = format!("{part:?}: no answer, though the unwinder promised one");
                    Some(Difference { query, message, changes: changes("an answer", "none"), said: None })
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Address;

    #[test]
    fn an_answer_need_not_repeat_how_its_pc_was_looked_up() {
        let lookup = |pc, return_address, answer| Lookup { pc: Address(pc), return_address, answer };
        let expected = lookup(8, true, Answer::Row(0, 1));
        let differs = |got: &Lookup, expected: &Lookup| {
            let asked = Asked {
                query: Query::Lookup(0),
                accepted: vec![crate::accept::Accepted {
                    pattern: Pattern::Lookup(expected.clone()),
                    class: Class::Must,
                }],
            };
            let vector = Vector { lookups: vec![expected.clone()], ..Vector::default() };
            class_of(&asked, &Given::Lookup(got), &vector).is_none()
        };
        assert!(!differs(&lookup(8, true, Answer::Row(0, 1)), &expected));
        assert!(!differs(&lookup(8, false, Answer::Row(0, 1)), &expected), "without its echo");
        assert!(differs(&lookup(8, false, Answer::Row(0, 2)), &expected), "another row");
        assert!(differs(&lookup(9, false, Answer::Row(0, 1)), &expected), "another question");
        let plain = lookup(8, false, Answer::Row(0, 1));
        assert!(differs(&expected, &plain), "not what was asked");
    }
}
