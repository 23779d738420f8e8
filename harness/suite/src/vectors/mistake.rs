//! Recognises usual mistakes: a reader whose wrong answers are those of the model with a mistake probably makes it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sframe_judge::external::SectionReply;
use sframe_vectors::model::{self, Way, Ways};
use sframe_vectors::{
    Abi, AnswerPart, Catalogue, Fde, FdeType, FreType, Header, PcType, Query, SectionAnswer, SectionPart,
    Vector, compare, is_answered, is_same_answer,
};

/// What a reader has answered.
#[derive(Default)]
pub(super) struct Heard<'v>(Vec<(&'v Vector, SectionAnswer)>);

impl<'v> Heard<'v> {
    pub(super) fn add(&mut self, vector: &'v Vector, reply: SectionReply) {
        if let SectionReply::Answer(answer) = reply {
            self.0.push((vector, answer));
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

/// The part of the vectors with a mistake's answers that must show it, and of the differences like those that it
/// explains that any usual mistake must explain: other mistakes may be in the rest.
const ENOUGH: (usize, usize) = (4, 5);
/// The part of a mistake's questions that must be answered wrongly.
const NEARLY_ALL: (usize, usize) = (9, 10);
/// Larger sections are asked about only to see how much a mistake explains that small ones show, or can't show.
const LARGE: usize = 20_000;
/// So many vectors show whether a mistake is not made at all.
const MANY: usize = 40;

/// Whether a count is at least some part of another.
const fn is_part((part, whole): (usize, usize), count: usize, of: usize) -> bool {
    count * whole >= of * part
}

/// A wrong answer: the vector by its index, and the question.
type Wrong = (usize, Query);

/// Fields that differ, whatever the numbers are.
type Shape = (AnswerPart, Vec<(String, String, String)>);

/// Wrong answers, and what differs in them.
type Differences = BTreeMap<Query, Shape>;

fn differences(vector: &Vector, answer: &SectionAnswer, parts: &[SectionPart]) -> Differences {
    let compared = compare(vector, answer, parts).differences.into_iter();
    let shape = |difference: sframe_vectors::Difference| {
        let fields = difference.changes.into_iter().map(|it| (it.field, it.expected, it.got)).collect();
        (difference.query, (difference.query.part(), fields))
    };
    compared.map(shape).collect()
}

/// Where alone a mistake may be made: a reader has code of its own for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Everywhere,
    Version(u8),
    Of(Abi),
    FdeType(FdeType),
    FreType(FreType),
    PcType(PcType),
}

impl Place {
    fn all() -> impl Iterator<Item = Self> {
        let rows = [
            Self::FdeType(FdeType::Default),
            Self::FdeType(FdeType::Flex),
            Self::FreType(FreType::Addr1),
            Self::FreType(FreType::Addr2),
            Self::FreType(FreType::Addr4),
            Self::PcType(PcType::Inc),
            Self::PcType(PcType::Mask),
        ];
        let versions = [1, 2, 3].map(Self::Version);
        let abis = Abi::ALL.map(Self::Of);
        [Self::Everywhere].into_iter().chain(versions).chain(abis).chain(rows)
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
            Self::PcType(it) => rows(&|fde| fde.pc_type == it),
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
            Self::PcType(PcType::Inc) => "in rows that do not repeat".to_owned(),
            Self::PcType(PcType::Mask) => "in rows that repeat".to_owned(),
        })
    }
}

/// What a reader with a mistake answers wrongly in a vector, among the questions that are answered.
struct Predicted {
    vector: usize,
    wrong: Differences,
    /// Those to which the reader gives the same answer.
    same: BTreeSet<Query>,
}

/// What a mistake explains.
struct Candidate {
    way: Way,
    place: Place,
    explains: BTreeSet<Wrong>,
}

impl Candidate {
    /// The candidate, if the reader makes this mistake in this place.
    fn of(
        way: Way,
        place: Place,
        predicted: &[Predicted],
        heard: &Heard<'_>,
        wrong: &[Differences],
    ) -> Option<Self> {
        let (mut explains, mut vectors, mut shown, mut asked, mut missed) = (BTreeSet::new(), 0, 0, 0, 0);
        for Predicted { vector, wrong: predicted, same } in predicted {
            if !place.has(heard.0[*vector].0) {
                continue;
            }
            vectors += 1;
            asked += predicted.len();
            missed += predicted.keys().filter(|query| wrong[*vector].contains_key(query)).count();
            if is_part(NEARLY_ALL, same.len(), predicted.len()) {
                shown += 1;
                explains.extend(same.iter().map(|query| (*vector, *query)));
            }
        }
        // One place of many fits something by chance.
        let least = if place == Place::Everywhere { 1 } else { 3 };
        let is_made = shown >= least && is_part(ENOUGH, shown, vectors) && is_part(NEARLY_ALL, missed, asked);
        is_made.then_some(Self { way, place, explains })
    }

    /// Whether differences like those that it explains are explained throughout.
    fn is_specific(&self, wrong: &[Differences], explained: &BTreeSet<Wrong>) -> bool {
        let shapes: BTreeSet<&Shape> =
            self.explains.iter().filter_map(|(vector, query)| wrong[*vector].get(query)).collect();
        let all = wrong
            .iter()
            .enumerate()
            .flat_map(|(vector, wrong)| wrong.iter().map(move |(query, shape)| ((vector, *query), shape)));
        let others = all.filter(|(at, shape)| shapes.contains(shape) && !explained.contains(at)).count();
        is_part(ENOUGH, self.explains.len(), self.explains.len() + others)
    }
}

impl<'v> Heard<'v> {
    pub(super) fn vectors(&self) -> impl Iterator<Item = &'v Vector> + '_ {
        self.0.iter().map(|(vector, _)| *vector)
    }

    /// Returns the mistakes that the reader seems to make, those that explain most first.
    pub(super) fn mistakes(
        &self,
        parts: &[SectionPart],
        taken: &Ways,
        catalogue: &Catalogue,
    ) -> Vec<Mistake> {
        let wrong: Vec<Differences> =
            self.0.iter().map(|(vector, answer)| differences(vector, answer, parts)).collect();
        if wrong.iter().all(BTreeMap::is_empty) {
            return Vec::new();
        }
        // A wrong answer may be one that an alternative has by chance, which the reader does not take. How functions
        // are searched shows only where something is wrong.
        let nearest: Ways = taken.iter().copied().chain([Way::LastHides]).collect();
        let none = Ways::new();
        let mut readings = vec![taken];
        readings.extend([&none, &nearest].into_iter().filter(|it| *it != taken));
        let mut candidates = Vec::new();
        let mut all = Vec::new();
        for way in Way::ALL.iter().copied().filter(|way| !way.is_reading()) {
            let mut predicted: Vec<Vec<Predicted>> = Vec::new();
            for taken in readings.iter().copied() {
                let Some(mut of_small) = self.predicted(way, parts, taken, &wrong, false) else { continue };
                let is_made = |place, it: &[Predicted]| Candidate::of(way, place, it, self, &wrong).is_some();
                if of_small.is_empty() || Place::all().any(|place| is_made(place, &of_small)) {
                    of_small.extend(self.predicted(way, parts, taken, &wrong, true).unwrap_or_default());
                }
                let is_enough = is_made(Place::Everywhere, &of_small);
                predicted.push(of_small);
                if is_enough {
                    break;
                }
            }
            let in_place = |place| {
                let candidates =
                    predicted.iter().filter_map(|it| Candidate::of(way, place, it, self, &wrong));
                candidates.max_by_key(|candidate| candidate.explains.len())
            };
            candidates.extend(in_place(Place::Everywhere).or_else(|| {
                let candidates = Place::all().filter_map(in_place);
                candidates.max_by_key(|candidate| candidate.explains.len())
            }));
            all.extend(predicted.into_iter().next().map(|predicted| (way, predicted)));
        }
        let explained: BTreeSet<Wrong> =
            candidates.iter().flat_map(|candidate| &candidate.explains).copied().collect();
        candidates.retain(|candidate| candidate.is_specific(&wrong, &explained));
        let mut found = Vec::new();
        while let Some(most) =
            candidates.iter().map(|candidate| candidate.explains.len()).max().filter(|it| *it > 0)
        {
            let best = |candidate: &&Candidate| candidate.explains.len() == most;
            let Some((explains, place)) =
                candidates.iter().find(best).map(|candidate| (candidate.explains.clone(), candidate.place))
            else {
                break;
            };
            let same = candidates.iter().filter(|candidate| candidate.explains == explains);
            let ways: Vec<Way> = same.map(|candidate| candidate.way).collect();
            found.push(self.mistake(&ways, &explains, place.words(), catalogue));
            for candidate in &mut candidates {
                candidate.explains.retain(|it| !explains.contains(it));
            }
        }
        if found.is_empty() {
            found.extend(self.kind(&all, &wrong, catalogue));
        }
        found
    }

    /// What a reader with a mistake answers wrongly, vector by vector: in small sections, or in large ones in which
    /// something is wrong. `None` if the reader is right in the first of them: it makes no such mistake, nor one like it.
    fn predicted(
        &self,
        way: Way,
        parts: &[SectionPart],
        taken: &Ways,
        wrong: &[Differences],
        is_large: bool,
    ) -> Option<Vec<Predicted>> {
        let ways: Ways = taken.iter().copied().chain([way]).collect();
        let (mut all, mut shared): (Vec<Predicted>, usize) = (Vec::new(), 0);
        for (index, (vector, answer)) in self.0.iter().enumerate() {
            if (vector.bytes.len() > LARGE) != is_large || is_large && wrong[index].is_empty() {
                continue;
            }
            let predicted = model::answer(&vector.question(), &ways);
            let mut wrong_then = differences(vector, &predicted, parts);
            // Where the reader says nothing, it may make the mistake or not.
            wrong_then.retain(|query, _| is_answered(*query, vector, answer));
            // What it says of the header need not be what it reads by.
            if wrong_then.keys().any(|query| *query != Query::Header) {
                wrong_then.remove(&Query::Header);
            }
            if wrong_then.is_empty() {
                continue;
            }
            let is_same = |query: &&Query| {
                wrong[index].contains_key(query) && is_same_answer(**query, answer, &predicted)
            };
            let same = wrong_then.keys().filter(is_same).copied().collect();
            shared += usize::from(wrong_then.keys().any(|query| wrong[index].contains_key(query)));
            all.push(Predicted { vector: index, wrong: wrong_then, same });
            if all.len() > MANY && shared == 0 {
                return None;
            }
        }
        Some(all)
    }

    /// Returns the clause that a reader breaks whose answers are those of no usual mistake: it is wrong where one that
    /// breaks it is wrong, in the same fields, and nowhere else.
    fn kind(
        &self,
        all: &[(Way, Vec<Predicted>)],
        wrong: &[Differences],
        catalogue: &Catalogue,
    ) -> Option<Mistake> {
        let is_inside = |query: &Query| query.part() > AnswerPart::Header;
        // What is read first is the cause of what is wrong later.
        let part = wrong
            .iter()
            .flat_map(BTreeMap::keys)
            .filter(|query| is_inside(query))
            .map(|it| it.part())
            .min()?;
        let is_of_part = |query: &Query| query.part() == part;
        let of_part: BTreeMap<Wrong, &Shape> = wrong
            .iter()
            .enumerate()
            .flat_map(|(vector, wrong)| wrong.iter().map(move |(query, shape)| ((vector, *query), shape)))
            .filter(|((vector, query), _)| is_of_part(query) && self.0[*vector].0.bytes.len() <= LARGE)
            .collect();
        let fits = |predicted: &[Predicted]| {
            let asked = predicted.iter().flat_map(|Predicted { vector, wrong, .. }| {
                wrong.iter().map(move |(query, shape)| ((*vector, *query), shape))
            });
            let asked: BTreeMap<Wrong, &Shape> = asked.filter(|((_, query), _)| is_of_part(query)).collect();
            let same = of_part.iter().filter(|(at, shape)| asked.get(at) == Some(shape)).count();
            let vectors: BTreeSet<usize> = asked.keys().map(|(vector, _)| *vector).collect();
            vectors.len() >= 3
                && is_part(NEARLY_ALL, same, asked.len())
                && is_part(NEARLY_ALL, same, of_part.len())
        };
        let ways: Vec<Way> =
            all.iter().filter(|(_, predicted)| fits(predicted)).map(|(way, _)| *way).collect();
        let clause_of = |way: &Way| {
            let entry = catalogue.mistakes.iter().find(|entry| entry.name == way.name());
            entry.map(|entry| &*entry.clause)
        };
        let clauses: BTreeSet<&str> = ways.iter().filter_map(clause_of).collect();
        if clauses.len() != 1 {
            return None;
        }
        let has_part = |wrong: &Differences| wrong.keys().any(is_of_part);
        let vectors = wrong.iter().enumerate().filter(|(_, wrong)| has_part(wrong)).map(|(vector, _)| vector);
        let inside =
            |vector: usize| wrong[vector].keys().filter(|it| is_inside(it)).map(move |it| (vector, *it));
        let explains = vectors.flat_map(inside).collect();
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
