//! Recognises usual mistakes: a reader whose wrong answers are those of the model with a mistake probably makes it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sframe_judge::external::SectionReply;
use sframe_vectors::model::{self, Way, Ways};
use sframe_vectors::{
    Catalogue, Compared, Query, SectionAnswer, SectionPart, Vector, compare, is_same_answer,
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
    /// Its name in `mistakes.yaml`; several if the vectors do not distinguish them.
    pub names: Vec<String>,
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

/// The part of the vectors with a mistake's answers that must show it: other mistakes may be in the rest.
const ENOUGH: (usize, usize) = (4, 5);
/// A mistake explains at least one in this number of the vectors that are wrong and not explained by another.
const PART: usize = 5;
/// Larger sections are not asked about to see whether a mistake is not made.
const LARGE: usize = 20_000;

/// What a mistake explains.
struct Candidate {
    way: Way,
    explains: BTreeSet<(usize, Query)>,
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
        let wrong: Vec<BTreeSet<Query>> =
            self.0.iter().map(|(vector, answer)| queries(&compare(vector, answer, parts))).collect();
        if wrong.iter().all(BTreeSet::is_empty) {
            return Vec::new();
        }
        let ways = Way::ALL.iter().copied().filter(|way| !way.is_reading());
        // A wrong answer may be one that an alternative has by chance, which the reader does not take.
        let (none, mut readings) = (Ways::new(), vec![taken]);
        if !taken.is_empty() {
            readings.push(&none);
        }
        let best = |way| {
            let candidates = readings.iter().filter_map(|taken| self.candidate(way, parts, taken, &wrong));
            candidates.max_by_key(|candidate| candidate.explains.len())
        };
        let mut candidates: Vec<Candidate> = ways.filter_map(best).collect();
        let mut found = Vec::new();
        let mut wrong_vectors = wrong.iter().filter(|queries| !queries.is_empty()).count();
        while let Some(most) =
            candidates.iter().map(|candidate| candidate.explains.len()).max().filter(|it| *it > 0)
        {
            let best = |candidate: &&Candidate| candidate.explains.len() == most;
            let Some(explains) = candidates.iter().find(best).map(|candidate| candidate.explains.clone())
            else {
                break;
            };
            // What explains little of what is wrong is there by chance.
            let vectors: BTreeSet<usize> = explains.iter().map(|(index, _)| *index).collect();
            if vectors.len() * PART < wrong_vectors {
                break;
            }
            wrong_vectors -= vectors.len();
            let same = candidates.iter().filter(|candidate| candidate.explains == explains);
            let ways: Vec<Way> = same.map(|candidate| candidate.way).collect();
            found.push(self.mistake(&ways, &explains, catalogue));
            for candidate in &mut candidates {
                candidate.explains.retain(|it| !explains.contains(it));
            }
        }
        found
    }

    /// What a mistake explains, if the reader makes it.
    fn candidate(
        &self,
        way: Way,
        parts: &[SectionPart],
        taken: &Ways,
        wrong: &[BTreeSet<Query>],
    ) -> Option<Candidate> {
        let ways: Ways = taken.iter().copied().chain([way]).collect();
        let mut explains = BTreeSet::new();
        let (mut shown, mut vectors) = (0, 0);
        for (index, (vector, answer)) in self.0.iter().enumerate() {
            let wrong = &wrong[index];
            if vector.bytes.len() > LARGE && wrong.is_empty() {
                continue;
            }
            let predicted = model::answer(&vector.question(), &ways);
            let queries = queries(&compare(vector, &predicted, parts));
            if queries.is_empty() {
                continue;
            }
            vectors += 1;
            // What it says of the header need not be what it reads by.
            let but_header = |queries: &BTreeSet<Query>| -> BTreeSet<Query> {
                queries.iter().copied().filter(|query| *query != Query::Header).collect()
            };
            let (mut queries, mut wrong) = (queries, wrong.clone());
            if queries.iter().any(|query| *query != Query::Header) {
                (queries, wrong) = (but_header(&queries), but_header(&wrong));
            }
            if queries == wrong && queries.iter().all(|query| is_same_answer(*query, answer, &predicted)) {
                shown += 1;
                explains.extend(queries.into_iter().map(|query| (index, query)));
            } else if vectors > 10 && shown * 2 < vectors {
                return None;
            }
        }
        let (enough, of) = ENOUGH;
        (shown > 0 && shown * of >= vectors * enough).then_some(Candidate { way, explains })
    }

    fn mistake(&self, ways: &[Way], explains: &BTreeSet<(usize, Query)>, catalogue: &Catalogue) -> Mistake {
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
            answers: explains.len() as u64,
            vectors: vectors.iter().map(|vector| vector.id.clone()).collect(),
            explains: explains.iter().map(|(index, query)| (self.0[*index].0.id.clone(), *query)).collect(),
        }
    }
}

fn queries(compared: &Compared) -> BTreeSet<Query> {
    compared.differences.iter().map(|difference| difference.query).collect()
}
