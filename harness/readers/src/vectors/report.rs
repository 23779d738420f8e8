//! A reader's answers to the vectors.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sframe_inspect::command::Volume;
use sframe_judge::external::SectionReply;
use sframe_judge::vocabulary::Verdict;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::json::SCHEMA;
use sframe_kit::text::{Text, counted, grouped};
use sframe_vectors::model::Way;
use sframe_vectors::{
    AnswerPart, Catalogue, Change, Compared, Comparison, Query, SectionPart, Unreadable, Vector,
    without_numbers,
};

use super::mistake::{About, Differences, Heard, Mistake, about, shape};

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
    /// Those with right answers to all questions.
    pub agree: u64,
    /// Those with right answers, but not to all questions.
    pub partly: u64,
    /// Sections that can be opened, of which a reader was heard, and those that it has opened.
    #[serde(skip)]
    sections: u64,
    #[serde(skip)]
    opened: u64,
    /// How often the reader had to be restarted.
    pub restarts: u32,
    /// Questions by part.
    pub parts: BTreeMap<AnswerPart, Counts>,
    /// Questions by group of vectors and part.
    pub groups: BTreeMap<String, BTreeMap<AnswerPart, Counts>>,
    /// How the reader reads the text where it is open, if not as the vectors do: answers by alternative.
    pub readings: BTreeMap<String, u64>,
    /// Alternatives that answers follow, also in vectors with wrong answers.
    #[serde(skip)]
    followed: BTreeMap<String, u64>,
    /// Answers that are the vectors' own, where one of these alternatives would have others.
    pub declined: BTreeMap<String, u64>,
    /// Usual mistakes that the reader seems to make.
    pub mistakes: Vec<Mistake>,
    /// Answers that are wrong.
    pub differences: Vec<Difference>,
    /// The vectors that they are answers to.
    pub about: BTreeMap<String, About>,
    /// Answers that are within the text, although there are better ones.
    pub quality: Vec<Difference>,
    /// Vectors that the reader says it can't read.
    pub skipped: Vec<Skipped>,
    /// Vectors with other questions of which only that was answered whether the section can be opened.
    #[serde(default)]
    pub opened_only: u64,
    /// Vectors that were not asked about, since it was interrupted.
    #[serde(skip_serializing_if = "sframe_kit::json::is_zero")]
    pub left_over: u64,
}

/// Questions about one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Those in the vectors.
    pub questions: u64,
    /// Those that were answered, rightly or not.
    pub answered: u64,
    /// Those whose answer is wrong.
    pub differ: u64,
    /// Those whose answer is within the text, although there is a better one.
    pub quality: u64,
}

impl Counts {
    /// Those whose answer is right.
    #[must_use]
    pub const fn right(&self) -> u64 {
        self.answered.saturating_sub(self.differ)
    }
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
    /// What was asked; `None` if there was no answer at all.
    #[serde(skip)]
    query: Option<Query>,
    /// What the reader says of it, or the place and kind of a crash; without numbers.
    #[serde(skip)]
    cause: Option<String>,
    /// The fields that differ, in whatever vector: differences of one mistake have the same.
    pub changes: Vec<Change>,
}

/// Differences that probably have one cause: in the same part, the same fields differ in the
/// same way, or the reader failed alike.
struct Kind<'r> {
    /// One in the simplest vector, and what that is about.
    first: &'r Difference,
    about: Option<&'r About>,
    /// The differences, and the vectors that have some.
    count: u64,
    vectors: BTreeSet<&'r str>,
    /// Whether numbers are too much by the same in all of them.
    is_even: bool,
    /// What probably follows from it: the number of answers to the same vectors, by part.
    also: BTreeMap<AnswerPart, u64>,
}

impl<'r> Kind<'r> {
    /// Sorts differences into kinds, the most frequent first.
    fn of_all(differences: &[&'r Difference], about: &'r BTreeMap<String, About>) -> Vec<Self> {
        let mut kinds: Vec<Self> = Vec::new();
        for difference in differences.iter().copied() {
            let index = kinds.iter().position(|kind| kind.has(difference)).unwrap_or_else(|| {
                let (vectors, about) = (BTreeSet::new(), about.get(&difference.vector));
                kinds.push(Kind {
                    first: difference,
                    about,
                    count: 0,
                    vectors,
                    is_even: true,
                    also: BTreeMap::new(),
                });
                kinds.len() - 1
            });
            let kind = &mut kinds[index];
            kind.count += 1;
            kind.vectors.insert(&difference.vector);
            kind.is_even &= kind.first.changes == difference.changes;
            let about = about.get(&difference.vector);
            if about.map(|about| about.weight) < kind.about.map(|about| about.weight) {
                (kind.first, kind.about) = (difference, about);
            }
        }
        kinds.sort_by_key(|kind| Reverse(kind.count));
        kinds
    }

    /// Takes kinds for one that have one cause. The same fields differ, though otherwise, or some of them in the same
    /// vectors; or they are about the same vectors, and about what is found by means of the part that the first of them
    /// is about: a row that is read wrongly is a step that goes wrong.
    fn joined(kinds: Vec<Self>) -> Vec<Self> {
        let kinds = Self::of_same_fields(kinds);
        let is_from = |kind: &Self, other: &Self| {
            let parts = kind.first.part.zip(other.first.part);
            let shared = kind.vectors.intersection(&other.vectors).count();
            parts.is_some_and(|(part, cause)| cause < part) && 2 * shared > kind.vectors.len()
        };
        let follows: Vec<bool> =
            kinds.iter().map(|kind| kinds.iter().any(|other| is_from(kind, other))).collect();
        let (mut causes, mut others) = (Vec::new(), Vec::new());
        for (kind, follows) in kinds.into_iter().zip(follows) {
            if follows { others.push(kind) } else { causes.push(kind) }
        }
        for kind in others {
            // One of those that follow from nothing is its cause, or the cause of its cause.
            let shared = |cause: &&mut Self| kind.vectors.intersection(&cause.vectors).count();
            let cause =
                causes.iter_mut().filter(|cause| cause.first.part < kind.first.part).max_by_key(shared);
            if let (Some(cause), Some(part)) = (cause, kind.first.part) {
                *cause.also.entry(part).or_default() += kind.count;
            }
        }
        causes
    }

    /// Joins kinds of one part whose fields are those of a greater one, or some of them in one of its vectors.
    fn of_same_fields(kinds: Vec<Self>) -> Vec<Self> {
        let fields = |kind: &Self| -> BTreeSet<&'r str> {
            kind.first.changes.iter().map(|change| &*change.field).collect()
        };
        let mut joined: Vec<Self> = Vec::new();
        for kind in kinds {
            let own = fields(&kind);
            let has = |other: &&mut Self| {
                let others = fields(other);
                let shares = own.is_subset(&others) || others.is_subset(&own);
                let of = |kind: &Self| (kind.first.part, kind.first.fault, kind.first.cause.clone());
                let end = |kind: &Self| {
                    let mut ends = kind.first.changes.iter().filter(|change| change.field == "end");
                    ends.next().map(|change| change.got.clone())
                };
                of(other) == of(&kind)
                    && end(other) == end(&kind)
                    && !own.contains("")
                    && (own == others || shares && !kind.vectors.is_disjoint(&other.vectors))
            };
            match joined.iter_mut().find(has) {
                Some(other) => {
                    other.count += kind.count;
                    other.vectors.extend(kind.vectors);
                    other.is_even = false;
                }
                None => joined.push(kind),
            }
        }
        joined
    }

    fn has(&self, difference: &Difference) -> bool {
        let Difference { part, fault, cause, changes, .. } = self.first;
        let same_fields = || {
            changes.len() == difference.changes.len()
                && changes.iter().zip(&difference.changes).all(|(change, other)| change.is_like(other))
        };
        (part, fault, cause) == (&difference.part, &difference.fault, &difference.cause) && same_fields()
    }

    /// The kind in a line, and the first of its differences in another.
    fn write(&self, text: &mut Text, word: Option<&str>) {
        let Self { first, about, count, vectors, is_even, also } = self;
        let Difference { vector, part, fault, cause, readings, message, changes, .. } = first;
        let verdict = fault.map_or_else(|| word.unwrap_or("differs").to_owned(), |fault| fault.to_string());
        let part = part.map_or_else(String::new, |part| format!("{}: ", format!("{part:?}").to_lowercase()));
        let changes = changes.iter().map(|change| match is_even {
            true => change.to_string(),
            false => Change { excess: None, ..change.clone() }.to_string(),
        });
        let changes = changes.chain(cause.clone()).collect::<Vec<_>>().join("; ");
        let colon = if changes.is_empty() { "" } else { ": " };
        let [answers, of] = [counted(*count, "answer"), counted(vectors.len() as u64, "vector")];
        let _ = writeln!(text, "{verdict:<11} {part}{answers} to {of}{colon}{changes}");
        let readings = match &readings[..] {
            [] => String::new(),
            readings => format!(" (readings: {})", readings.join(", ")),
        };
        let _ = writeln!(text, "    simplest: {vector}: {message}{readings}");
        if !also.is_empty() {
            let also = also
                .iter()
                .map(|(part, count)| format!("{} about {}", counted(*count, "answer"), part.heading()));
            let also = also.collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "    with it, about the same vectors: {also} (--verbose)");
        }
        if let Some(About { summary, clause, sentence, .. }) = about {
            let _ = writeln!(text, "    about: {summary}");
            let _ = writeln!(text, "    {clause}: {sentence}");
        }
    }
}

/// The line of a crash that says where and of which kind it was, without addresses and other numbers: sanitizers and
/// panics have one.
fn place_of_crash(message: &str) -> Option<String> {
    let marks = ["SUMMARY: ", "runtime error: ", "panicked at "];
    let has_mark = |line: &&str| marks.iter().any(|mark| line.contains(mark));
    let (_, said) = message.split_once("standard error: ")?;
    let line = said.split(" | ").filter(has_mark).last()?.trim();
    // Numbers in the place are kept, and so is everything up to it.
    let place = line.find(".c:").or_else(|| line.find(".h:")).or_else(|| line.find(".rs:"));
    let place = place.unwrap_or_default();
    let end = line[place..].find(' ').map_or(line.len(), |at| place + at);
    let start = line[..place].rfind(' ').map_or(0, |at| at + 1);
    Some([&*without_numbers(&line[..start]), &line[start..end], &without_numbers(&line[end..])].concat())
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
            partly: 0,
            sections: 0,
            opened: 0,
            restarts: 0,
            parts: AnswerPart::ALL.map(|part| (part, Counts::default())).into(),
            groups: BTreeMap::new(),
            readings: BTreeMap::new(),
            followed: BTreeMap::new(),
            declined: BTreeMap::new(),
            mistakes: Vec::new(),
            differences: Vec::new(),
            about: BTreeMap::new(),
            quality: Vec::new(),
            skipped: Vec::new(),
            opened_only: 0,
            left_over: 0,
        }
    }

    /// Counts something of a part, in all and in the group of the vector.
    fn count(&mut self, vector: &Vector, part: AnswerPart, add: impl Fn(&mut Counts)) {
        add(self.parts.entry(part).or_default());
        add(self.groups.entry(vector.group().to_owned()).or_default().entry(part).or_default());
    }

    /// Records an answer of a reader with some parts.
    pub(super) fn add(&mut self, vector: &Vector, asked: &SectionReply, parts: &[SectionPart]) {
        self.vectors += 1;
        let difference = |query: Option<Query>, fault, message: String, changes| Difference {
            vector: vector.id.clone(),
            part: query.map(Query::part),
            query,
            fault,
            cause: fault.and_then(|_| place_of_crash(&message)),
            clauses: vector.clauses.clone(),
            readings: vector.readings.clone(),
            message,
            changes,
        };
        if matches!(asked, SectionReply::Unsupported(_) | SectionReply::Fault(_)) {
            for question in vector.asked() {
                self.count(vector, question.query.part(), |counts| counts.questions += 1);
            }
        }
        let (answer, unreadable) = match asked {
            SectionReply::Unsupported(reason) => {
                self.skipped.push(Skipped { vector: vector.id.clone(), reason: reason.clone() });
                return;
            }
            SectionReply::Fault(fault) => {
                let message = fault.message.clone();
                self.differences.push(difference(None, Some(fault.verdict), message, Vec::new()));
                return;
            }
            SectionReply::Answer(answer) => (answer, &Unreadable::new()),
            SectionReply::Partly(answer, unreadable) => (answer, unreadable),
        };
        if vector.reject.is_none() {
            self.sections += 1;
            self.opened += u64::from(answer.reject.is_none());
        }
        let Compared { differences, quality, readings, declined, questions, answered } =
            Comparison::with(vector).compare_partly(answer, unreadable, parts);
        // What is wrong otherwise is no reading of the text.
        let is_right = differences.is_empty();
        match (is_right, questions == answered) {
            (true, true) => self.agree += 1,
            (true, false) => self.partly += 1,
            (false, _) => {}
        }
        let has_more = |counts: &BTreeMap<AnswerPart, u64>| {
            counts.iter().any(|(part, count)| *part != AnswerPart::Opening && *count > 0)
        };
        self.opened_only += u64::from(has_more(&questions) && !has_more(&answered));
        for (part, count) in questions {
            self.count(vector, part, |counts| counts.questions += count);
        }
        for (part, count) in answered {
            self.count(vector, part, |counts| counts.answered += count);
        }
        for (take, count) in readings {
            let take = take.join(" and ");
            *self.followed.entry(take.clone()).or_default() += count;
            if is_right {
                *self.readings.entry(take).or_default() += count;
            }
        }
        for (name, count) in declined {
            *self.declined.entry(name).or_default() += count;
        }
        for sframe_vectors::Difference { query, message, changes, said } in differences {
            self.count(vector, query.part(), |counts| counts.differ += 1);
            let cause = said.map(|said| without_numbers(&said));
            self.differences.push(Difference { cause, ..difference(Some(query), None, message, changes) });
        }
        for sframe_vectors::Difference { query, message, changes, .. } in quality {
            self.count(vector, query.part(), |counts| counts.quality += 1);
            self.quality.push(difference(Some(query), None, message, changes));
        }
    }

    /// Names the mistakes that the reader seems to make, and says what the vectors are about that it gets wrong.
    pub(super) fn explain(&mut self, heard: &Heard<'_>, parts: &[SectionPart], catalogue: &Catalogue) {
        if self.differences.is_empty() {
            return;
        }
        let names = self.differences.iter().map(|difference| &*difference.vector).collect();
        self.about = about(&names, heard.vectors(), catalogue);
        // Who does so reads in no way at all.
        if self.refuses_all() {
            self.readings.clear();
            return;
        }
        // A section can be refused for any reason: that says nothing of how the reader reads others. And an answer
        // may be that of an alternative by chance.
        let is_taken = |(name, count): &(&String, &u64)| {
            !name.ends_with("/refused") && **count > self.declined.get(*name).copied().unwrap_or_default()
        };
        let taken = self.followed.iter().filter(is_taken);
        let taken = taken.filter_map(|(name, _)| Way::of_name(name)).collect();
        let mut wrong: BTreeMap<&str, Differences> = BTreeMap::new();
        for Difference { vector, query, changes, .. } in &self.differences {
            if let Some(query) = query {
                wrong.entry(vector).or_default().insert(*query, shape(*query, changes));
            }
        }
        self.mistakes = heard.mistakes(parts, &wrong, &taken, catalogue);
    }

    /// Whether the reader has refused each section that can be opened.
    const fn refuses_all(&self) -> bool {
        self.sections > 0 && self.opened == 0
    }

    /// Whether a mistake explains a difference; or, `with_consequences`, whether the mistake shows in the same vector, in
    /// what is read no later.
    fn is_explained(mistake: &Mistake, difference: &Difference, with_consequences: bool) -> bool {
        let Some(query) = difference.query else { return false };
        let of_vector = (difference.vector.clone(), Query::Opening)..;
        let first = mistake.explains.range(of_vector).next().filter(|(name, _)| *name == difference.vector);
        let follows = first.is_some_and(|(_, first)| first.part() <= query.part());
        with_consequences && follows || mistake.explains.contains(&(difference.vector.clone(), query))
    }

    /// The differences that no mistake explains.
    fn unexplained(&self, with_consequences: bool) -> Vec<&Difference> {
        let is_explained = |difference: &&Difference| {
            self.mistakes.iter().any(|it| Self::is_explained(it, difference, with_consequences))
        };
        self.differences.iter().filter(|difference| !is_explained(difference)).collect()
    }

    /// Whether anything was answered. That a section can be opened, and what its header has, says nothing alone, unless
    /// nothing else is asked; nor do the answers of a reader that has refused each section of which something else is
    /// asked.
    #[must_use]
    pub fn has_compared(&self) -> bool {
        let is_beyond = |part: &AnswerPart| *part > AnswerPart::Header;
        let counts = || self.parts.iter().filter(|(part, _)| is_beyond(part)).map(|(_, counts)| counts);
        if counts().all(|counts| counts.questions == 0) {
            return self.parts.values().any(|counts| counts.answered > 0);
        }
        !self.differences.is_empty() || !self.refuses_all() && counts().any(|counts| counts.answered > 0)
    }

    /// Formats the report for people: differences first, and one sentence about all vectors last.
    #[must_use]
    pub fn text(&self, volume: Volume) -> Text {
        let is_full = volume == Volume::Verbose;
        let mut text = Text::default();
        for mistake in &self.mistakes {
            self.write_mistake(mistake, &mut text);
        }
        // What follows from a mistake is told with it.
        let kinds = Kind::of_all(&self.unexplained(!is_full), &self.about);
        let kinds = if is_full { kinds } else { Kind::joined(kinds) };
        let shown = if is_full { usize::MAX } else { SHOWN };
        kinds.iter().take(shown).for_each(|kind| kind.write(&mut text, None));
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
            Kind::of_all(&self.quality.iter().collect::<Vec<_>>(), &self.about)
                .iter()
                .for_each(|kind| kind.write(&mut text, Some("quality")));
        }
        for (take, count) in &self.readings {
            let not = self
                .declined
                .get(take)
                .map_or_else(String::new, |not| format!(", and {} as the vectors read it", grouped(*not)));
            text.line(format!("reading     {take}: {}{not}", counted(*count, "answer")));
        }
        self.table(&mut text);
        self.conclusion().show(&mut text);
        text
    }

    /// A usual mistake in a line, and where it shows.
    fn write_mistake(&self, mistake: &Mistake, text: &mut Text) {
        let Mistake { names, only, summary, clause, sentence, answers, vectors, .. } = mistake;
        let [answers, of] = [counted(*answers, "answer"), counted(vectors.len() as u64, "vector")];
        let name = if names.is_empty() { format!("about {clause}") } else { names.join(" or ") };
        let only = only.as_ref().map_or_else(String::new, |only| format!(", {only} alone"));
        text.line(format!("mistake     {name}{only}: {answers} to {of}: {summary}"));
        let Some(vector) = vectors.first() else { return };
        if let Some(difference) = self.differences.iter().find(|difference| difference.vector == *vector) {
            text.line(format!("    simplest: {vector}: {}", difference.message));
        }
        if let Some(About { summary, .. }) = self.about.get(vector) {
            text.line(format!("    about: {summary}"));
        }
        let is_more = |it: &&Difference| {
            Self::is_explained(mistake, it, true) && !Self::is_explained(mistake, it, false)
        };
        let more = self.differences.iter().filter(is_more).count();
        if more > 0 {
            let more = counted(more as u64, "answer");
            text.line(format!("    with it, about the same vectors: {more} (--verbose)"));
        }
        text.line(format!("    {clause}: {sentence}"));
    }

    /// Right answers of all questions, by group and part.
    fn table(&self, text: &mut Text) {
        let parts = || AnswerPart::ALL.into_iter();
        let heads: String = parts().map(|part| format!(" {:>14}", part.heading())).collect();
        text.line(format!("{:<10}{heads}", "right"));
        let cells = |counts: &BTreeMap<AnswerPart, Counts>| {
            let cell = |part| match counts.get(&part).copied().unwrap_or_default() {
                Counts { questions: 0, .. } => String::new(),
                Counts { questions, answered: 0, .. } => format!("-/{}", grouped(questions)),
                Counts { questions, answered, differ: 0, .. } if answered == questions => grouped(questions),
                counts => format!("{}/{}", grouped(counts.right()), grouped(counts.questions)),
            };
            parts().map(|part| format!(" {:>14}", cell(part))).collect::<String>()
        };
        for (group, counts) in &self.groups {
            text.line(format!("{group:<10}{}", cells(counts)).trim_end());
        }
        text.line(format!("{:<10}{}", "all", cells(&self.parts)).trim_end());
    }

    /// How many vectors have no answer, or none but whether the section can be opened.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.skipped.len() as u64 + self.opened_only
    }

    /// Whether enough was answered to say something of the reader: at least half of the vectors.
    #[must_use]
    pub fn proves_enough(&self) -> bool {
        self.has_compared() && self.left() <= self.vectors / 2
    }

    /// Why what was answered proves too little.
    #[must_use]
    pub fn too_little(&self) -> String {
        let (left, all) = (grouped(self.left()), counted(self.vectors, "vector"));
        format!(
            "too little was compared: {left} of {all} were not answered; --profile or --only says which the reader supports"
        )
    }

    /// How it ends.
    #[must_use]
    pub fn ending(&self) -> Ending {
        match () {
            () if self.left_over > 0 => Ending::Interrupted,
            () if !self.differences.is_empty() => Ending::Fail,
            () if self.proves_enough() => Ending::Pass,
            () => Ending::Inconclusive,
        }
    }

    /// How many vectors the reader has answered correctly.
    fn conclusion(&self) -> Conclusion {
        let Self { name, version, vectors, agree, partly, restarts, skipped, .. } = self;
        let skipped = skipped.len() as u64;
        let wrong = vectors.saturating_sub(agree + partly + skipped);
        let missing: u64 = self.parts.values().map(|counts| counts.questions - counts.answered).sum();
        let of_vectors = counted(*vectors, "vector");
        let ending = self.ending();
        let first = match ending {
            Ending::Interrupted => format!(
                "{name} {version} was asked about {} of {}: {} wrong",
                grouped(*vectors),
                counted(vectors + self.left_over, "vector"),
                grouped(wrong)
            ),
            Ending::Fail => format!("{name} {version}: {} of {of_vectors} wrong", grouped(wrong)),
            _ => format!("{name} {version}: {} of {of_vectors} correct", grouped(*agree)),
        };
        let right = if matches!(ending, Ending::Fail | Ending::Interrupted) { *agree } else { 0 };
        let others = [(right, "correct"), (*partly, "correct in part"), (skipped, "not answered")];
        let others = others.into_iter().filter(|(count, _)| *count > 0);
        let others = others.map(|(count, how)| format!("{} {how}", grouped(count)));
        let ends = [
            (missing, "question without an answer", "questions without an answer"),
            (
                self.parts.values().map(|counts| counts.quality).sum(),
                "answer could be better",
                "answers could be better",
            ),
            (u64::from(*restarts), "restart", "restarts"),
            (
                if self.refuses_all() { self.sections } else { 0 },
                "section with functions, which was refused",
                "sections with functions, all of which were refused",
            ),
        ];
        let ends = ends.into_iter().filter(|(count, ..)| *count > 0);
        let ends = ends
            .map(|(count, one, many)| format!("{} {}", grouped(count), if count == 1 { one } else { many }));
        let too_little = (!self.proves_enough()).then(|| self.too_little());
        Conclusion {
            ending,
            facts: std::iter::once(first).chain(others).chain(ends).chain(too_little).collect(),
        }
    }
}
