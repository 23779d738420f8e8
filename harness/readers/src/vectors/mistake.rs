//! Recognises usual mistakes: a reader whose wrong answers are those of the model with a mistake probably makes it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sframe_judge::external::SectionReply;
use sframe_vectors::model::{self, Way, Ways};
use sframe_vectors::{
    Abi, AnswerPart, Base, Catalogue, Change, Comparison, End, Equation, Fde, FdeType, FreType, Header,
    Query, Recovery, Row, SectionAnswer, SectionPart, SectionQuestion, Vector, is_answered, is_failure,
    is_refused, is_same_answer,
};

/// What a reader has answered, and the questions whose answer could not be read.
#[derive(Default)]
pub(super) struct Heard<'v>(Vec<(&'v Vector, SectionAnswer, BTreeSet<Query>)>);

impl<'v> Heard<'v> {
    pub(super) fn add(&mut self, vector: &'v Vector, reply: SectionReply) {
        match reply {
            SectionReply::Answer(answer) => self.0.push((vector, answer, BTreeSet::new())),
            SectionReply::Partly(answer, unreadable) => {
                self.0.push((vector, answer, unreadable.into_keys().collect()));
            }
            SectionReply::Unsupported(_) | SectionReply::Fault(_) => {}
        }
    }
}

/// A usual mistake that a reader seems to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// Its name in `mistakes.yaml`; several if the vectors do not distinguish them, and none if the answers are those of
    /// no usual mistake, but wrong where a reader is that breaks the clause.
    pub names: Vec<String>,
    /// Where alone the reader makes it, such as `in version 3`; none if everywhere.
    pub only: Option<String>,
    /// What the reader does.
    pub summary: String,
    /// The clause that it breaks.
    pub clause: String,
    /// What the clause says.
    pub sentence: String,
    /// Wrong answers that follow from it.
    pub answers: u64,
    /// The vectors that have some, the simplest first.
    pub vectors: Vec<String>,
    /// Which of the differences they are, by position.
    #[serde(skip)]
    pub(super) explains: BTreeSet<(String, Query)>,
}

/// What a vector is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct About {
    /// Its summary.
    pub summary: String,
    /// The first clause that it proves, and what that says.
    pub clause: String,
    /// What the clause says.
    pub sentence: String,
    /// How much there is to it: [`Vector::weight`].
    #[serde(skip)]
    pub(super) weight: usize,
}

impl About {
    fn of(vector: &Vector, catalogue: &Catalogue) -> Self {
        let clause = vector.clauses.first().cloned().unwrap_or_default();
        let sentence = catalogue.sentences.get(&clause).cloned().unwrap_or_default();
        Self { summary: vector.summary.trim().to_owned(), clause, sentence, weight: vector.weight() }
    }
}

/// Describes the vectors with these names.
pub(super) fn about<'v>(
    names: &BTreeSet<&str>,
    vectors: impl Iterator<Item = &'v Vector>,
    catalogue: &Catalogue,
) -> BTreeMap<String, About> {
    let wanted = vectors.filter(|vector| names.contains(&*vector.id));
    wanted.map(|vector| (vector.id.clone(), About::of(vector, catalogue))).collect()
}

/// The part of what a mistake predicts that must be so: of the answers to a vector, of the vectors, and of the vectors in
/// which the same fields are wrong. Other mistakes may be in the rest.
const ENOUGH: (usize, usize) = (4, 5);
/// The same where this says less: where only the fields that are wrong are those of a mistake, or where nothing is found,
/// as with many other mistakes.
const NEARLY_ALL: (usize, usize) = (9, 10);
/// Larger sections are asked about only to see how much a mistake explains that small ones show, or can't show.
const LARGE: usize = 20_000;

/// Whether a count is at least some part of another.
const fn is_part((part, whole): (usize, usize), count: usize, of: usize) -> bool {
    count * whole >= of * part
}

/// The part of what a mistake predicts that must be so.
const fn enough(is_telling: bool) -> (usize, usize) {
    if is_telling { ENOUGH } else { NEARLY_ALL }
}

/// A wrong answer: the vector by its index, and the question.
type Wrong = (usize, Query);

/// Fields that differ, whatever the numbers are.
pub(super) type Shape = (AnswerPart, Vec<(String, String, String)>);

/// The fields that differ in an answer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Fields<'a> {
    part: AnswerPart,
    /// Whether it is a refusal: that differs in all fields, whatever the mistake.
    is_refusal: bool,
    /// Their names, or what the whole answer should be: rejections of different kinds have different causes.
    names: Vec<&'a str>,
}

/// Wrong answers to a vector, and what differs in them.
pub(super) type Differences = BTreeMap<Query, Shape>;

/// The shape of a difference.
pub(super) fn shape(query: Query, changes: &[Change]) -> Shape {
    // Why there is no caller is a matter of quality.
    let rough = |it: &Change, text: &String| match &*it.field {
        "end" if text != "none" => "an end".to_owned(),
        _ => text.clone(),
    };
    let field = |it: &Change| (it.field.clone(), rough(it, &it.expected), rough(it, &it.got));
    (query.part(), changes.iter().map(field).collect())
}

/// Where alone a mistake may be made: a reader has code of its own for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Everywhere,
    Version(u8),
    Of(Abi),
    FdeType(FdeType),
    FreType(FreType),
}

impl Place {
    fn all() -> impl Iterator<Item = Self> {
        let versions = [1, 2, 3].map(Self::Version);
        let abis = Abi::ALL.map(Self::Of);
        let kinds = [FdeType::Default, FdeType::Flex].map(Self::FdeType);
        let widths = [FreType::Addr1, FreType::Addr2, FreType::Addr4].map(Self::FreType);
        [Self::Everywhere].into_iter().chain(versions).chain(abis).chain(kinds).chain(widths)
    }

    /// Whether a mistake can be made here alone: one of reading something else than rows is made in rows of all types.
    fn is_of(self, predictions: &Predictions) -> bool {
        match self {
            Self::FdeType(_) | Self::FreType(_) => {
                predictions.by_vector.values().all(|predicted| predicted.is_of_rows)
            }
            Self::Everywhere | Self::Version(_) | Self::Of(_) => true,
        }
    }

    fn has(self, vector: &Vector) -> bool {
        let header = |is: &dyn Fn(&Header) -> bool| vector.header.as_ref().is_some_and(is);
        let rows = |is: &dyn Fn(&Fde) -> bool| !vector.fdes.is_empty() && vector.fdes.iter().all(is);
        match self {
            Self::Everywhere => true,
            Self::Version(version) => header(&|header| header.version == version),
            Self::Of(abi) => header(&|header| header.abi == abi),
            Self::FdeType(it) => rows(&|fde| fde.fde_type == it),
            Self::FreType(it) => rows(&|fde| fde.fre_type == it),
        }
    }

    /// After what a reader does.
    fn words(self) -> Option<String> {
        Some(match self {
            Self::Everywhere => return None,
            Self::Version(version) => format!("in version {version}"),
            Self::Of(abi) => format!("on {}", abi.name()),
            Self::FdeType(FdeType::Default) => "in rows of default type".to_owned(),
            Self::FdeType(FdeType::Flex) => "in flex rows".to_owned(),
            Self::FreType(FreType::Addr1) => "in rows of type ADDR1".to_owned(),
            Self::FreType(FreType::Addr2) => "in rows of type ADDR2".to_owned(),
            Self::FreType(FreType::Addr4) => "in rows of type ADDR4".to_owned(),
        })
    }
}

/// What a reader with a mistake answers wrongly in a vector, among the questions that are answered.
#[derive(Default)]
struct Predicted {
    wrong: BTreeSet<Query>,
    /// Those to which the reader gives the same wrong answer.
    same: BTreeSet<Query>,
    /// Whether some of these are more than failures, or fail with a number that the mistake gives.
    is_telling: bool,
    /// Whether it is one of searching, in a vector in which the reader finds nothing.
    is_mute: bool,
    /// Whether the mistake shows in rows, and in nothing that is read before.
    is_of_rows: bool,
}

/// How much of what a mistake predicts is so, in a place.
#[derive(Clone, Copy, Default)]
struct Tally {
    /// The vectors with predictions, and those that show the mistake.
    vectors: usize,
    shown: usize,
    /// The wrong answers that are predicted, and those that are wrong in any way.
    asked: usize,
    missed: usize,
    /// The vectors that show the mistake by more than failures.
    telling: usize,
}

impl Tally {
    fn add(&mut self, predicted: &Predicted, wrong: &Differences) {
        if predicted.is_mute {
            return;
        }
        self.vectors += 1;
        self.shown += usize::from(predicted.is_shown());
        self.asked += predicted.wrong.len();
        self.telling += usize::from(predicted.is_shown() && predicted.is_telling);
        self.missed += predicted.wrong.iter().filter(|query| wrong.contains_key(query)).count();
    }

    /// Whether more than failures shows the mistake in half of the vectors.
    const fn is_telling(&self) -> bool {
        2 * self.telling >= self.shown
    }

    /// Whether the mistake is made. Vectors without wrong answers can only make it less so.
    const fn is_made(&self) -> bool {
        let enough = enough(self.is_telling());
        self.shown > 0
            && is_part(enough, self.shown, self.vectors)
            && is_part(enough, self.missed, self.asked)
    }
}

impl Predicted {
    fn is_shown(&self) -> bool {
        !self.wrong.is_empty() && is_part(ENOUGH, self.same.len(), self.wrong.len())
    }
}

/// The vectors, and what is known about them: some of it is found when it is needed.
struct Search<'h> {
    heard: &'h Heard<'h>,
    parts: &'h [SectionPart],
    questions: Vec<SectionQuestion>,
    comparisons: Vec<Comparison<'h>>,
    wrong: Vec<Differences>,
    /// Vectors with small sections, first those with wrong answers; and those with large ones and wrong answers.
    small: Vec<usize>,
    large: Vec<usize>,
}

/// A way to read the text, and the answers of a reader without mistakes that reads so.
struct Reading {
    taken: Ways,
    right: BTreeMap<usize, SectionAnswer>,
}

impl Reading {
    const fn new(taken: Ways) -> Self {
        Self { taken, right: BTreeMap::new() }
    }
}

/// What a reader with a mistake answers wrongly, by vector.
#[derive(Default)]
struct Predictions {
    by_vector: BTreeMap<usize, Predicted>,
    /// Whether all vectors are there in which it does.
    is_complete: bool,
}

impl<'h> Search<'h> {
    fn new(heard: &'h Heard<'h>, parts: &'h [SectionPart], wrong: Vec<Differences>) -> Self {
        let (mut small, mut large): (Vec<_>, Vec<_>) =
            (0..heard.0.len()).partition(|index| heard.0[*index].0.bytes.len() <= LARGE);
        small.sort_by_key(|index| wrong[*index].is_empty());
        large.retain(|index| !wrong[*index].is_empty());
        let questions = heard.0.iter().map(|(vector, ..)| vector.question()).collect();
        let comparisons = heard.0.iter().map(|(vector, ..)| Comparison::with(vector)).collect();
        Self { heard, parts, questions, comparisons, wrong, small, large }
    }

    fn vector(&self, index: usize) -> &'h Vector {
        self.heard.0[index].0
    }

    fn is_small(&self, index: usize) -> bool {
        self.vector(index).bytes.len() <= LARGE
    }

    /// What a reader with a mistake answers wrongly in a vector.
    fn predicted(&self, way: Way, index: usize, reading: &mut Reading) -> Predicted {
        let (vector, answer, unreadable) = &self.heard.0[index];
        let question = &self.questions[index];
        let ways: Ways = reading.taken.iter().copied().chain([way]).collect();
        let with = model::answer(question, &ways);
        let without = reading.right.entry(index).or_insert_with(|| model::answer(question, &reading.taken));
        if with == *without {
            return Predicted::default();
        }
        let answer = &answer.located_as(&with);
        let mut wrong = self.comparisons[index].wrong_queries(&with, self.parts);
        // Its answers may be accepted one by one, and not as a whole.
        if wrong.is_empty() && !self.wrong[index].is_empty() {
            let differences = self.comparisons[index].compare(&with, self.parts).differences;
            wrong = differences.into_iter().map(|difference| difference.query).collect();
        }
        // Where the reader says nothing, or refuses something, it may make the mistake or not.
        let is_left_out = |query: &Query| {
            self.wrong[index].contains_key(query)
                && is_refused(*query, answer)
                && !is_refused(*query, &with)
                && !unreadable.contains(query)
        };
        wrong.retain(|query| is_answered(*query, vector, answer) && !is_left_out(query));
        // What can't be read for the mistake is not found by some, and to refuse it may be accepted.
        let is_lost = |query: &Query| {
            is_refused(*query, &with)
                && !is_refused(*query, without)
                && !is_refused(*query, answer)
                && is_failure(*query, answer)
        };
        let lost: BTreeSet<Query> = self.wrong[index].keys().copied().filter(is_lost).collect();
        wrong.extend(&lost);
        // What it says of the header need not be what it reads by.
        if wrong.iter().any(|query| *query != Query::Header) {
            wrong.remove(&Query::Header);
        }
        // A number that is out of range is one with a sign, where the mistake gives one.
        let is_same = |query: &&Query| match unreadable.contains(query) {
            true => may_have_sign(**query, &with),
            false => {
                lost.contains(query)
                    || self.wrong[index].contains_key(query) && is_same_answer(**query, answer, &with)
            }
        };
        let same: BTreeSet<Query> = wrong.iter().filter(is_same).copied().collect();
        // Where the frame is found, and nothing else is wrong, it says something that it is not the outermost one.
        let is_step = |query: &Query| query.part() == AnswerPart::Steps;
        let is_found = self.wrong[index].keys().chain(&wrong).all(is_step);
        let is_no_end = |query: Query| {
            let Query::Step(step) = query else { return false };
            is_found && vector.steps.get(step).is_some_and(|step| step.end == Some(End::Outermost {}))
        };
        let is_telling = same.iter().any(|query| {
            !is_failure(*query, &with) || has_same_number(*query, answer, &with) || is_no_end(*query)
        });
        // Where nothing is found at all, any function may be missed.
        let is_mute = with.fdes == without.fdes && finds_nothing(answer);
        Predicted { is_telling, is_mute, is_of_rows: is_of_rows(&with, without), wrong, same }
    }

    /// What a reader with a mistake answers wrongly: in the vectors with wrong answers, and in the others as long as it
    /// is possible that this reader makes it.
    fn predictions(&self, way: Way, reading: &mut Reading) -> Predictions {
        let mut tallies: Vec<(Place, Tally)> = Place::all().map(|place| (place, Tally::default())).collect();
        let mut all = Predictions { is_complete: true, ..Predictions::default() };
        for index in self.small.iter().chain(&self.large).copied() {
            let is_possible = |(place, tally): &(Place, Tally)| {
                tally.is_made() || *place == Place::Everywhere && tally.vectors == 0
            };
            let is_needed = !self.wrong[index].is_empty() && self.is_small(index);
            if !is_needed && !tallies.iter().any(is_possible) {
                all.is_complete = false;
                break;
            }
            let predicted = self.predicted(way, index, reading);
            if predicted.wrong.is_empty() {
                continue;
            }
            for (_, tally) in tallies.iter_mut().filter(|(place, _)| place.has(self.vector(index))) {
                tally.add(&predicted, &self.wrong[index]);
            }
            all.by_vector.insert(index, predicted);
        }
        all
    }

    /// The mistake, if the reader makes it in this place.
    fn candidate(&self, way: Way, place: Place, predictions: &Predictions) -> Option<Candidate> {
        let mut tally = Tally::default();
        let mut explains = BTreeSet::new();
        for (index, predicted) in &predictions.by_vector {
            if place.has(self.vector(*index)) {
                tally.add(predicted, &self.wrong[*index]);
                let same = predicted.same.iter().filter(|_| predicted.is_shown());
                explains.extend(same.map(|query| (*index, *query)));
            }
        }
        // A few failures fit something by chance, and so does one place of many.
        let is_likely = match place {
            Place::Everywhere => explains.len() >= 10 || tally.is_telling(),
            _ => tally.shown >= 3 && tally.is_telling(),
        };
        let is_made = predictions.is_complete && is_likely && tally.is_made();
        is_made.then_some(Candidate { way, place, explains, is_telling: tally.is_telling() })
    }

    /// The mistakes that the reader may make, each where it explains most.
    fn candidates(&self, readings: &mut [Reading]) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for way in Way::ALL.iter().copied().filter(|way| !way.is_reading()) {
            let mut predictions: Vec<Predictions> = Vec::new();
            for reading in readings.iter_mut() {
                predictions.push(self.predictions(way, reading));
                let last = predictions.last().and_then(|it| self.candidate(way, Place::Everywhere, it));
                if last.is_some() {
                    break;
                }
            }
            let in_place = |place: Place| {
                let possible = predictions.iter().filter(|it| place.is_of(it));
                let all = possible.filter_map(|it| self.candidate(way, place, it));
                all.max_by_key(|candidate| candidate.explains.len())
            };
            let elsewhere = || Place::all().filter_map(in_place).max_by_key(|it| it.explains.len());
            candidates.extend(in_place(Place::Everywhere).or_else(elsewhere));
        }
        candidates
    }

    /// All wrong answers.
    fn all_wrong(&self) -> impl Iterator<Item = (Wrong, &Shape)> {
        let all = self.wrong.iter().enumerate();
        all.flat_map(|(index, wrong)| wrong.iter().map(move |(query, shape)| ((index, *query), shape)))
    }

    fn fields(&self, (index, query): &Wrong) -> Option<Fields<'_>> {
        let (part, changes) = self.wrong[*index].get(query)?;
        let names =
            changes.iter().map(|(field, expected, _)| &**if field.is_empty() { expected } else { field });
        let is_refusal = is_refused(*query, &self.heard.0[*index].1);
        Some(Fields { part: *part, is_refusal, names: names.collect() })
    }

    /// Whether, wherever else the same fields are wrong, that is explained as well; and most of what is wrong in the same
    /// part of the vectors that show the mistake. Where nothing is found, several mistakes together explain anything: each
    /// stands for itself.
    fn is_specific(&self, candidate: &Candidate, explained: &BTreeSet<Wrong>) -> bool {
        let explained = if candidate.is_telling { explained } else { &candidate.explains };
        let enough = enough(candidate.is_telling);
        let first = candidate.first_parts();
        let is_first = |(index, query): &&Wrong| first.get(index) == Some(&query.part());
        // By fields, the vectors that show the mistake, and others.
        let mut of_fields: BTreeMap<Fields<'_>, [BTreeSet<usize>; 2]> = BTreeMap::new();
        for at in candidate.explains.iter().filter(is_first) {
            let Some(fields) = self.fields(at) else { continue };
            of_fields.entry(fields).or_default()[0].insert(at.0);
        }
        let parts: BTreeSet<_> = of_fields.keys().map(|fields| (fields.part, fields.is_refusal)).collect();
        let mut beside = 0;
        for (at, _) in self.all_wrong().filter(|(at, _)| !explained.contains(at)) {
            let Some(fields) = self.fields(&at) else { continue };
            if first.contains_key(&at.0) {
                beside += usize::from(parts.contains(&(fields.part, fields.is_refusal)));
            } else if let Some([_, others]) = of_fields.get_mut(&fields) {
                others.insert(at.0);
            }
        }
        let specific =
            of_fields.values().filter(|[own, others]| is_part(enough, own.len(), own.len() + others.len()));
        let specific: BTreeSet<usize> = specific.flat_map(|[own, _]| own).copied().collect();
        is_part(enough, specific.len(), first.len())
            && is_part(ENOUGH, candidate.explains.len(), candidate.explains.len() + beside)
    }

    /// Whether what a candidate explains does not follow from something else that is wrong, and is not explained: what
    /// is read first is the cause of what is wrong later.
    fn is_cause(&self, candidate: &Candidate, explained: &BTreeSet<Wrong>) -> bool {
        let first = candidate.first_parts();
        let follows = |(index, part): &(&usize, &AnswerPart)| {
            let mut wrong = self.wrong[**index].keys();
            wrong.any(|it| is_inside(it) && it.part() < **part && !explained.contains(&(**index, *it)))
        };
        2 * first.iter().filter(follows).count() <= first.len()
    }

    /// The mistakes that explain something that the others do not explain, those that explain most first: those with
    /// the same answers together.
    fn chosen(&self, mut candidates: Vec<Candidate>) -> Vec<(Vec<Way>, Candidate)> {
        loop {
            let explained: BTreeSet<Wrong> = candidates.iter().flat_map(|it| &it.explains).copied().collect();
            let before = candidates.len();
            candidates.retain(|it| self.is_specific(it, &explained) && self.is_cause(it, &explained));
            if candidates.len() == before {
                break;
            }
        }
        // What is refused for no reason that has a name may be the cause of the rest.
        let explained: BTreeSet<Wrong> = candidates.iter().flat_map(|it| &it.explains).copied().collect();
        let is_unexplained = |(at, _): &(Wrong, &Shape)| {
            at.1 == Query::Opening && self.heard.0[at.0].1.reject.is_some() && !explained.contains(at)
        };
        let refused = self.all_wrong().filter(is_unexplained).count();
        candidates.retain(|candidate| candidate.first_parts().len() >= refused);
        candidates.sort_by_key(|candidate| Reverse(candidate.explains.len()));
        let mut chosen: Vec<(Vec<Way>, Candidate)> = Vec::new();
        for candidate in candidates {
            if let Some((ways, _)) = chosen.iter_mut().find(|(_, it)| it.explains == candidate.explains) {
                ways.push(candidate.way);
                continue;
            }
            let is_told = |at: &&Wrong| chosen.iter().any(|(_, it)| it.explains.contains(at));
            let told = candidate.explains.iter().filter(is_told).count();
            if 2 * told <= candidate.explains.len() {
                chosen.push((vec![candidate.way], candidate));
            }
        }
        chosen
    }

    /// The mistakes that break the clause that the reader breaks, if its answers are those of no usual mistake: it is
    /// wrong where a reader is that makes one of them, in the same fields, and nowhere else.
    fn alike(&self, reading: &mut Reading) -> Option<(Vec<Way>, AnswerPart)> {
        let is_wrong = |index: &&usize| !self.wrong[**index].is_empty();
        let wrong: Vec<usize> = self.small.iter().take_while(is_wrong).copied().collect();
        let right: Vec<usize> = self.small.iter().skip_while(is_wrong).copied().collect();
        // What is read first is the cause of what is wrong later.
        let queries = wrong.iter().flat_map(|index| self.wrong[*index].keys());
        let part = queries.filter(|query| is_inside(query)).map(|query| query.part()).min()?;
        let of_part = |index: usize| self.wrong[index].iter().filter(move |(query, _)| query.part() == part);
        let all: usize = wrong.iter().map(|index| of_part(*index).count()).sum();
        let mut is_alike = |way: Way| {
            let (mut asked, mut vectors, mut same, mut places) = (0, 0, 0, Vec::new());
            for index in wrong.iter().copied() {
                let predicted = self.predicted(way, index, reading).wrong;
                let predicted: BTreeSet<Query> =
                    predicted.into_iter().filter(|it| it.part() == part).collect();
                asked += predicted.len();
                vectors += usize::from(!predicted.is_empty());
                same += predicted.iter().filter(|query| self.wrong[index].contains_key(query)).count();
                places.push((index, predicted));
            }
            let fits = |same: usize, asked: usize| {
                vectors >= 3 && is_part(NEARLY_ALL, same, asked) && is_part(NEARLY_ALL, same, all)
            };
            if !fits(same, asked) {
                return false;
            }
            for index in right.iter().copied() {
                let predicted = self.predicted(way, index, reading).wrong;
                asked += predicted.into_iter().filter(|query| query.part() == part).count();
                if !fits(same, asked) {
                    return false;
                }
            }
            let ways: Ways = reading.taken.iter().copied().chain([way]).collect();
            let same = places.iter().map(|(index, predicted)| {
                let answer = model::answer(&self.questions[*index], &ways);
                let compared = self.comparisons[*index].compare(&answer, self.parts);
                let is_same = |it: &&sframe_vectors::Difference| {
                    predicted.contains(&it.query)
                        && self.wrong[*index].get(&it.query) == Some(&shape(it.query, &it.changes))
                };
                compared.differences.iter().filter(is_same).count()
            });
            fits(same.sum(), asked)
        };
        let ways: Vec<Way> =
            Way::ALL.iter().copied().filter(|way| !way.is_reading() && is_alike(*way)).collect();
        Some((ways, part))
    }
}

/// A mistake that a reader may make.
struct Candidate {
    way: Way,
    place: Place,
    /// The wrong answers that follow from it.
    explains: BTreeSet<Wrong>,
    /// [`Tally::is_telling`].
    is_telling: bool,
}

impl Candidate {
    /// The vectors that show the mistake, and the part of the answers in which it shows first.
    fn first_parts(&self) -> BTreeMap<usize, AnswerPart> {
        let mut first: BTreeMap<usize, AnswerPart> = BTreeMap::new();
        for (index, query) in &self.explains {
            let part = first.entry(*index).or_insert(query.part());
            *part = query.part().min(*part);
        }
        first
    }
}

/// Whether a question is about what is in the section.
fn is_inside(query: &Query) -> bool {
    query.part() > AnswerPart::Header
}

/// Whether a step ends for the same reason, with the same CFA or address.
fn has_same_number(query: Query, one: &SectionAnswer, other: &SectionAnswer) -> bool {
    let Query::Step(index) = query else { return false };
    let [one, other] = [one, other].map(|answer| answer.steps.as_ref()?.get(index)?.end);
    let has_number =
        matches!(one, Some(End::Unreadable { .. } | End::Misaligned { .. } | End::NoProgress { .. }));
    has_number && one == other
}

/// Whether an answer has a number of 32 bits that is negative as a signed one: a reader may write it so.
fn may_have_sign(query: Query, answer: &SectionAnswer) -> bool {
    let is_great = |number: u32| number.cast_signed() < 0;
    let is_of = |equation: &Equation| matches!(equation.base, Base::Register(number) if is_great(number));
    match query {
        Query::Fde(index) => {
            let fde = answer.fdes.as_ref().and_then(|fdes| fdes.get(index));
            fde.and_then(|fde| fde.size).is_some_and(is_great)
        }
        Query::Row(index, row) => {
            let fde = answer.fdes.as_ref().and_then(|fdes| fdes.get(index));
            let Some(Row::Rules(rules)) = fde.and_then(|fde| fde.rows.get(row)) else { return false };
            let recoveries = [Some(rules.ra), rules.fp].into_iter().flatten();
            let rules_of = recoveries.filter_map(|recovery| match recovery {
                Recovery::Rule(rule) => Some(rule),
                Recovery::Undefined | Recovery::Unchanged => None,
            });
            is_great(rules.start) || rules_of.chain(rules.cfa).any(|rule| is_of(&rule))
        }
        Query::Step(index) => {
            let end = answer.steps.as_ref().and_then(|steps| steps.get(index)?.end);
            matches!(end, Some(End::UnknownRegister { register, .. } | End::UnsafeRegister { register, .. })
                if is_great(register))
        }
        Query::Opening | Query::Header | Query::Lookup(_) => false,
    }
}

/// Whether a reader has found nothing for any PC.
fn finds_nothing(answer: &SectionAnswer) -> bool {
    let mut lookups = (0..answer.lookups.as_ref().map_or(0, Vec::len)).map(Query::Lookup);
    let mut steps = (0..answer.steps.as_ref().map_or(0, Vec::len)).map(Query::Step);
    lookups.all(|query| is_failure(query, answer)) && steps.all(|query| is_failure(query, answer))
}

/// Whether two answers differ in rows, and in nothing that is read before them.
fn is_of_rows(one: &SectionAnswer, other: &SectionAnswer) -> bool {
    let (Some(one), Some(other)) = (&one.fdes, &other.fdes) else { return false };
    let head = |fde: &Fde| Fde { rows: Vec::new(), ..fde.clone() };
    one != other && one.iter().map(head).eq(other.iter().map(head))
}

impl<'v> Heard<'v> {
    pub(super) fn vectors(&self) -> impl Iterator<Item = &'v Vector> + '_ {
        self.0.iter().map(|(vector, ..)| *vector)
    }

    /// Returns the mistakes that the reader seems to make, those that explain most first. `wrong` are its wrong answers
    /// by vector, `taken` the alternatives that it takes.
    pub(super) fn mistakes(
        &self,
        parts: &[SectionPart],
        wrong: &BTreeMap<&str, Differences>,
        taken: &Ways,
        catalogue: &Catalogue,
    ) -> Vec<Mistake> {
        if wrong.is_empty() {
            return Vec::new();
        }
        let wrong = self.vectors().map(|vector| wrong.get(&*vector.id).cloned().unwrap_or_default());
        let search = Search::new(self, parts, wrong.collect());
        // A wrong answer may be one that an alternative has by chance, which the reader does not take. How functions
        // are searched shows only where something is wrong.
        let nearest: Ways = taken.iter().copied().chain([Way::LastHides]).collect();
        let mut readings = vec![Reading::new(taken.clone())];
        for other in [Ways::new(), nearest] {
            if readings.iter().all(|reading| reading.taken != other) {
                readings.push(Reading::new(other));
            }
        }
        let chosen = search.chosen(search.candidates(&mut readings));
        let mut found: Vec<Mistake> = chosen
            .iter()
            .map(|(ways, it)| self.mistake(ways, &it.explains, it.place.words(), catalogue))
            .collect();
        if found.is_empty() {
            found.extend(self.alike(&search, &mut readings[0], catalogue));
        }
        found
    }

    /// The clause that a reader breaks whose answers are those of no usual mistake.
    fn alike(&self, search: &Search<'_>, reading: &mut Reading, catalogue: &Catalogue) -> Option<Mistake> {
        let (ways, part) = search.alike(reading)?;
        let clause_of = |way: &Way| {
            let entry = catalogue.mistakes.iter().find(|entry| entry.name == way.name());
            entry.map(|entry| &*entry.clause)
        };
        let clauses: BTreeSet<&str> = ways.iter().filter_map(clause_of).collect();
        if clauses.len() != 1 {
            return None;
        }
        let has_part = |index: usize| search.wrong[index].keys().any(|query| query.part() == part);
        let explains = search.all_wrong().map(|(at, _)| at);
        let explains = explains.filter(|(index, query)| has_part(*index) && is_inside(query)).collect();
        let mut mistake = self.mistake(&ways, &explains, None, catalogue);
        mistake.names.clear();
        mistake.summary = format!(
            "Its answers are those of no usual mistake, but wrong in the same places and fields as of a reader that \
             makes this one: {}",
            mistake.summary
        );
        Some(mistake)
    }

    fn mistake(
        &self,
        ways: &[Way],
        explains: &BTreeSet<Wrong>,
        only: Option<String>,
        catalogue: &Catalogue,
    ) -> Mistake {
        let entries =
            catalogue.mistakes.iter().filter(|entry| ways.iter().any(|way| way.name() == entry.name));
        let entries: Vec<_> = entries.collect();
        let indexes: BTreeSet<usize> = explains.iter().map(|(index, _)| *index).collect();
        let mut vectors: Vec<&Vector> = indexes.into_iter().map(|index| self.0[index].0).collect();
        vectors.sort_by_key(|vector| vector.weight());
        let version = vectors.first().and_then(|vector| vector.clauses.first()?.split('-').next());
        let clause = entries.first().map(|entry| format!("{}-{}", version.unwrap_or_default(), entry.clause));
        let clause = clause.unwrap_or_default();
        Mistake {
            sentence: catalogue.sentences.get(&clause).cloned().unwrap_or_default(),
            names: entries.iter().map(|entry| entry.name.clone()).collect(),
            summary: entries.iter().map(|entry| entry.summary.clone()).collect::<Vec<_>>().join(" Or: "),
            clause,
            only,
            answers: explains.len() as u64,
            vectors: vectors.iter().map(|vector| vector.id.clone()).collect(),
            explains: explains.iter().map(|(index, query)| (self.0[*index].0.id.clone(), *query)).collect(),
        }
    }
}
