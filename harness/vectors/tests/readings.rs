//! Where the text is open: what is accepted, and what is not. The model reads the text otherwise, one alternative after
//! the other: exactly the vectors that name the reading may change, and the answers that it gives then are exactly those
//! that they accept.
//!
//! `UPDATE_ALTERNATIVES=1` writes the readings and the alternatives of each vector, as the model has them. Review them:
//! an alternative that is wrong excuses a reader that is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;
use sframe_vectors::model::{Way, Ways, answer};
use sframe_vectors::{
    Address, Alternative, Answer, Asked, Caller, Catalogue, Compared, Comparison, End, Lookup, Pattern,
    PcKind, Query, Recovery, Reject, RejectKind, Row, Rules, SectionAnswer, SectionPart, StepAnswer, Suite,
    Vector, compare, documents, is_same_answer,
};

const FOLDER: &str = "../../corpus/vectors";
const CLAUSES: &str = "../../specs/clauses.yaml";
const ALL: [SectionPart; 4] =
    [SectionPart::Header, SectionPart::Fdes, SectionPart::Lookups, SectionPart::Steps];

static SUITE: LazyLock<Suite> = LazyLock::new(|| {
    Suite::load(Path::new(FOLDER), Path::new(CLAUSES)).unwrap_or_else(|errors| panic!("{errors:#?}"))
});

/// The vectors, each with the alternatives that change an answer, alone.
static VECTORS: LazyLock<Vec<(&Vector, Vec<Way>)>> =
    LazyLock::new(|| SUITE.vectors.iter().map(|vector| (vector, changing(vector))).collect());

/// Those whose answers depend on an alternative, with all of these, and the sets of them that can be taken.
static DEPENDING: LazyLock<Vec<(&Vector, Vec<Ways>)>> = LazyLock::new(|| {
    let depending = VECTORS.iter().filter(|(_, ways)| !ways.is_empty());
    depending.map(|(vector, ways)| (*vector, sets(&depends_on(vector, ways)))).collect()
});

/// The vectors, by name, each prepared for many comparisons.
static COMPARISONS: LazyLock<BTreeMap<&str, Comparison<'_>>> =
    LazyLock::new(|| SUITE.vectors.iter().map(|it| (&*it.id, Comparison::with(it))).collect());

/// Compares an answer with a vector of the suite.
fn compared(vector: &Vector, answer: &SectionAnswer) -> Compared {
    COMPARISONS[&*vector.id].compare(answer, &ALL)
}

fn ask(vector: &Vector, ways: &Ways) -> Compared {
    compared(vector, &answer(&vector.question(), ways))
}

fn without_alternatives(vector: &Vector) -> Vector {
    Vector { alternatives: Vec::new(), ..vector.clone() }
}

fn readings() -> impl Iterator<Item = Way> {
    Way::ALL.iter().copied().filter(|way| way.is_reading())
}

fn reading_of(way: Way) -> &'static str {
    sframe_vectors::reading_of(way.name())
}

/// The model reads as the vectors do.
#[test]
fn the_model_agrees() {
    for vector in &SUITE.vectors {
        let compared = ask(vector, &Ways::new());
        let differences: Vec<_> =
            compared.differences.iter().chain(&compared.quality).map(|it| &it.message).collect();
        assert!(differences.is_empty(), "{}: {differences:#?}", vector.id);
        assert_eq!(compared.readings, BTreeMap::new(), "{}", vector.id);
    }
}

/// Each alternative and each mistake has a name in the catalogue, and each name there is one.
#[test]
fn every_way_is_in_the_catalogue() {
    let catalogue = &SUITE.catalogue;
    let alternatives = catalogue.readings.iter().flat_map(|reading| {
        reading.alternatives.iter().map(|alternative| format!("{}/{}", reading.name, alternative.name))
    });
    let mistakes = catalogue.mistakes.iter().map(|mistake| mistake.name.clone());
    let named: BTreeSet<String> = alternatives.chain(mistakes).collect();
    let ways: BTreeSet<String> = Way::ALL.iter().map(|way| way.name().to_owned()).collect();
    assert_eq!(named, ways);
}

/// A reader with a usual mistake is wrong somewhere, whatever is open in the text: none of a list of 60 or more is missed.
#[test]
fn every_mistake_is_noticed() {
    // The small ones first.
    let mut vectors: Vec<&Vector> = SUITE.vectors.iter().collect();
    vectors.sort_by_key(|vector| vector.bytes.len());
    let mistakes: Vec<Way> = Way::ALL.iter().copied().filter(|way| !way.is_reading()).collect();
    let missed: Vec<&str> = mistakes
        .iter()
        .filter(|way| vectors.iter().all(|vector| ask(vector, &Ways::from([**way])).differences.is_empty()))
        .map(|way| way.name())
        .collect();
    assert!(missed.is_empty() && mistakes.len() >= 60, "{} mistakes, missed: {missed:?}", mistakes.len());
    // Each version has code of its own for this.
    for version in 1..=3 {
        let of_version = |vector: &&&Vector| vector.header.as_ref().is_some_and(|it| it.version == version);
        let ways = Ways::from([Way::DifferenceOf32Bits]);
        let is_noticed =
            vectors.iter().filter(of_version).any(|vector| !ask(vector, &ways).differences.is_empty());
        assert!(is_noticed, "distances of 32 bits in version {version}");
    }
}

/// The alternatives that change an answer of a vector, alone.
fn changing(vector: &Vector) -> Vec<Way> {
    let plain = without_alternatives(vector);
    let (question, comparison) = (vector.question(), Comparison::with(&plain));
    let changes = |way: &Way| {
        let answer = answer(&question, &Ways::from([*way]));
        !comparison.compare(&answer, &ALL).differences.is_empty()
    };
    let mut ways: Vec<Way> = readings().filter(changes).collect();
    // Those that refuse the section come first: what else refuses part of it may refuse all of it, too.
    ways.sort_by_key(|way| answer(&question, &Ways::from([*way])).reject.is_none());
    ways
}

/// The alternatives that change an answer, alone (these come first) or of a reader that takes another.
fn depends_on(vector: &Vector, changing: &[Way]) -> Vec<Way> {
    let mut all = changing.to_vec();
    if vector.bytes.len() > LARGE {
        return all;
    }
    let question = vector.question();
    let mut taken: Vec<Ways> = changing.iter().map(|way| Ways::from([*way])).collect();
    let mut next = 0;
    while let Some(ways) = taken.get(next).cloned() {
        let without = answer(&question, &ways);
        let own = with_answers(vector, &ways, &without);
        let own = Comparison::with(&own);
        for way in readings() {
            if all.contains(&way) || ways.iter().any(|it| reading_of(*it) == reading_of(way)) {
                continue;
            }
            let with: Ways = ways.iter().copied().chain([way]).collect();
            let got = answer(&question, &with);
            if got != without && !own.compare(&got, &ALL).differences.is_empty() {
                all.push(way);
                taken.push(with);
            }
        }
        next += 1;
    }
    all
}

/// The vector with the answers of a reader that takes some alternatives.
fn with_answers(vector: &Vector, ways: &Ways, got: &SectionAnswer) -> Vector {
    let mut vector = without_alternatives(vector);
    let compared = compare(&vector, got, &ALL);
    if !compared.differences.is_empty() {
        vector.alternatives.push(alternative(names(ways), &compared, got));
    }
    vector.chosen(&names(ways))
}

fn names(ways: &Ways) -> Vec<String> {
    ways.iter().map(|way| way.name().to_owned()).collect()
}

/// The sets of alternatives that can be taken together, of each reading one; the smallest come first.
fn sets(ways: &[Way]) -> Vec<Ways> {
    let mut all = vec![Ways::new()];
    for way in ways {
        let fits = |set: &&Ways| set.iter().all(|it| reading_of(*it) != reading_of(*way));
        let with: Vec<Ways> =
            all.iter().filter(fits).map(|set| set.iter().copied().chain([*way]).collect()).collect();
        all.extend(with);
    }
    all.sort_by_key(BTreeSet::len);
    all.remove(0);
    all
}

/// Exactly the vectors that name a reading change with it.
#[test]
fn vectors_name_the_readings_that_they_depend_on() {
    if std::env::var_os("UPDATE_ALTERNATIVES").is_some() {
        return;
    }
    let (mut depends, mut wrong) = (BTreeSet::new(), Vec::new());
    let sets: BTreeMap<&str, &Vec<Ways>> =
        DEPENDING.iter().map(|(vector, sets)| (&*vector.id, sets)).collect();
    for vector in &SUITE.vectors {
        let ways = sets.get(&*vector.id).into_iter().flat_map(|sets| sets.iter().flatten());
        let changed: BTreeSet<&str> = ways.clone().map(|way| reading_of(*way)).collect();
        let named: BTreeSet<&str> = vector.readings.iter().map(|name| &**name).collect();
        if named != changed {
            wrong.push(format!("{} depends on {changed:?}", vector.id));
        }
        depends.extend(ways.map(|way| way.name()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let all: BTreeSet<&str> = readings().map(Way::name).collect();
    assert_eq!(depends, all, "every alternative changes a vector");
}

/// A reader that takes an alternative is right, and what it takes is counted.
#[test]
fn alternatives_are_right_and_counted() {
    if std::env::var_os("UPDATE_ALTERNATIVES").is_some() {
        return;
    }
    for (vector, ways) in &*VECTORS {
        for way in ways.iter().copied() {
            let compared = ask(vector, &Ways::from([way]));
            let differences: Vec<_> = compared.differences.iter().map(|it| &it.message).collect();
            assert!(differences.is_empty(), "{} with {}: {differences:#?}", vector.id, way.name());
            assert!(!compared.readings.is_empty(), "{} with {}", vector.id, way.name());
        }
    }
    // So is one that takes several, whichever the vector depends on.
    for (vector, sets) in &*DEPENDING {
        assert_eq!(alternatives_of(vector, sets), vector.alternatives, "{}", vector.id);
        for ways in sets {
            let compared = ask(vector, ways);
            let differences: Vec<_> = compared.differences.iter().map(|it| &it.message).collect();
            assert!(differences.is_empty(), "{} with {:?}: {differences:#?}", vector.id, names(ways));
        }
    }
}

/// Sections with more bytes are asked about less.
const LARGE: usize = 20_000;

/// A reader that takes several alternatives is right, whichever they are.
#[test]
fn pairs_of_alternatives_are_right() {
    if std::env::var_os("UPDATE_ALTERNATIVES").is_some() {
        return;
    }
    let (mut pairs, mut wrong) = (0, BTreeMap::<String, Vec<&str>>::new());
    for (vector, changing) in &*VECTORS {
        let question = vector.question();
        let all = if vector.bytes.len() > LARGE { changing.clone() } else { readings().collect() };
        let own = answer(&question, &Ways::new());
        for (first, one) in all.iter().enumerate() {
            let chosen = vector.chosen(&[one.name().to_owned()]);
            let chosen = Comparison::with(&chosen);
            for other in &all[first + 1..] {
                if reading_of(*one) == reading_of(*other) {
                    continue;
                }
                let both = answer(&question, &Ways::from([*one, *other]));
                if both == own {
                    continue;
                }
                pairs += 1;
                let names = [one.name(), other.name()].map(str::to_owned);
                let is_right = |compared: Compared| compared.differences.is_empty();
                let is_accepted = is_right(compared(vector, &both))
                    && is_right(compare(&vector.chosen(&names), &both, &ALL))
                    && is_right(chosen.compare(&both, &ALL));
                if !is_accepted {
                    let names = names.join(" with ");
                    wrong.entry(names).or_default().push(&vector.id);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(pairs > 300, "{pairs} pairs");
}

/// The lines of a Markdown file between two comments.
const STRICTNESS: [&str; 2] =
    ["<!-- strictness: UPDATE_STRICTNESS=1 makes it -->\n", "\n<!-- end of strictness -->"];

/// How many vectors the readers would get wrong that are within the text if only the vectors' own answers counted, and
/// how many they do.
#[test]
fn the_table_of_strictness_is_true() {
    if std::env::var_os("UPDATE_ALTERNATIVES").is_some() {
        return;
    }
    let of_way = |way: Way| {
        let vectors = VECTORS.iter().filter(move |(_, ways)| ways.contains(&way)).map(|(vector, _)| *vector);
        let asked = vectors.map(move |vector| (vector, answer(&vector.question(), &Ways::from([way]))));
        (format!("takes `{}`", way.name()), asked.collect::<Vec<_>>())
    };
    let refused = || SectionAnswer {
        reject: Some(Reject { kind: RejectKind::Unspecified, offset: None }),
        ..SectionAnswer::default()
    };
    let faulty = SUITE.vectors.iter().filter(|vector| vector.is_faulty()).map(|vector| (vector, refused()));
    let rejected = SUITE.vectors.iter().filter(|vector| vector.reject.is_some());
    let is_empty = |vector: &&Vector| vector.header.as_ref().is_some_and(|header| header.num_fdes == 0);
    let empty = SUITE.vectors.iter().filter(is_empty).map(|vector| (vector, refused()));
    let without_functions = |vector: &'static Vector| {
        let own = answer(&vector.question(), &Ways::new());
        let mut changed = own.clone();
        for lookup in changed.lookups.iter_mut().flatten() {
            if matches!(lookup.answer, Answer::NoRow(_)) {
                lookup.answer = Answer::NoFde;
            }
        }
        (changed != own).then_some((vector, changed))
    };
    let readers = readings().map(of_way).chain([
        ("refuses a section of which a part is faulty".to_owned(), faulty.collect()),
        (
            "does not say why it refuses a section".to_owned(),
            rejected.map(|vector| (vector, refused())).collect(),
        ),
        (
            "finds no function where one has no row for the PC".to_owned(),
            SUITE.vectors.iter().filter_map(without_functions).collect(),
        ),
        ("refuses a section without functions".to_owned(), empty.collect()),
    ]);
    let mut made =
        "\n| a reader that | with other answers than the vectors' own | wrong |\n|---|---:|---:|\n"
            .to_owned();
    for (does, answers) in readers {
        let wrong =
            |(vector, answer): &&(&Vector, SectionAnswer)| !compared(vector, answer).differences.is_empty();
        let wrong = answers.iter().filter(wrong).count();
        made += &format!("| {does} | {} | {wrong} |\n", answers.len());
        assert_eq!(wrong, 0, "a reader that {does}");
    }
    let path = Path::new(FOLDER).join("README.md");
    let text = std::fs::read_to_string(&path).expect("a manual");
    let (before, rest) = text.split_once(STRICTNESS[0]).expect("its first comment");
    let (shown, after) = rest.split_once(STRICTNESS[1]).expect("its last comment");
    if std::env::var_os("UPDATE_STRICTNESS").is_some() {
        let [first, last] = STRICTNESS;
        std::fs::write(&path, [before, first, &made, last, after].concat()).expect("a writable manual");
    } else {
        assert_eq!(shown, made, "UPDATE_STRICTNESS=1 makes it again");
    }
}

/// A reader that has chosen has to answer as it has chosen, and is right then.
#[test]
fn choices_are_binding() {
    for (vector, ways) in &*VECTORS {
        let ask = |vector: &Vector, ways: &Ways| compare(vector, &answer(&vector.question(), ways), &ALL);
        let own = vector.chosen(&vector.readings);
        assert!(ask(&own, &Ways::new()).differences.is_empty(), "{}", vector.id);
        for way in ways.iter().copied() {
            let ways = Ways::from([way]);
            let name = way.name().to_owned();
            let compared = ask(&vector.chosen(std::slice::from_ref(&name)), &ways);
            let differences: Vec<_> = compared.differences.iter().map(|it| &it.message).collect();
            assert!(differences.is_empty(), "{} with {name}: {differences:#?}", vector.id);
            // Where other readings are open, the answers may be those of another alternative.
            let others = vector.readings.iter().filter(|reading| **reading != *reading_of(way)).cloned();
            let decided: Vec<String> = [name.clone()].into_iter().chain(others).collect();
            let compared = ask(&vector.chosen(&decided), &Ways::new());
            assert!(!compared.differences.is_empty(), "{} without {name}", vector.id);
            assert!(!ask(&own, &ways).differences.is_empty(), "{} with {name} against its own", vector.id);
        }
    }
}

/// A section is read in one way. A reader whose rows follow an alternative, and whose steps and look-ups of rows do not,
/// is wrong wherever the alternative changes both.
#[test]
fn half_of_a_reading_is_wrong() {
    let (mut made, mut together) = (0, 0);
    for (vector, sets) in &*DEPENDING {
        let own = answer(&vector.question(), &Ways::new());
        let all: Vec<SectionAnswer> = sets.iter().map(|ways| answer(&vector.question(), ways)).collect();
        for (ways, other) in sets.iter().zip(&all) {
            let changes = |query: &Query| !is_same_answer(*query, &own, other);
            let queries = vector.asked();
            let mut queries = queries.iter().map(|asked| asked.query);
            let changes_rows = queries.any(|query| matches!(query, Query::Row(..)) && changes(&query));
            let refuses = |query: &Query| {
                let Query::Lookup(index) = query else { return false };
                let lookup = other.lookups.as_ref().and_then(|lookups| lookups.get(*index));
                lookup.is_some_and(|lookup| matches!(lookup.answer, Answer::Reject(_)))
            };
            let changes_walk = vector.asked().iter().map(|asked| asked.query).any(|query| {
                let is_of_walk = matches!(query, Query::Lookup(_) | Query::Step(_)) && !refuses(&query);
                is_of_walk && changes(&query)
            });
            if other.reject.is_some() || own.reject.is_some() || !changes_rows || !changes_walk {
                continue;
            }
            let half = SectionAnswer { fdes: other.fdes.clone(), ..own.clone() };
            // Of several, it may be all that one of them changes.
            let is_whole = |it: &SectionAnswer| {
                let mut pairs = it.lookups.iter().flatten().zip(own.lookups.iter().flatten());
                let is_found_before = |it: &Lookup| matches!(it.answer, Answer::Reject(_));
                let is_found = pairs.all(|(one, other)| one == other || is_found_before(one));
                is_found && (&it.fdes, &it.steps) == (&half.fdes, &half.steps)
            };
            if all.iter().any(is_whole) {
                continue;
            }
            made += 1;
            together += usize::from(ways.len() > 1);
            let compared = compared(vector, &half);
            assert!(!compared.differences.is_empty(), "{} with half of {ways:?}", vector.id);
        }
    }
    assert!(together > 20, "{together} halves of several");
    assert!(made > 40, "{made} halves");
    // One that always finds the first row is right everywhere by one reading or another.
    let vector = SUITE.vectors.iter().find(|vector| vector.id == "mask/v3-unaligned").expect("a vector");
    let mut first = answer(&vector.question(), &Ways::new());
    for lookup in first.lookups.iter_mut().flatten() {
        if let Answer::Row(fde, _) = lookup.answer {
            lookup.answer = Answer::Row(fde, 0);
        }
    }
    let differences = compared(vector, &first).differences;
    let message = &differences.first().expect("a difference").message;
    assert!(message.ends_with(", as by mask-fdes/pc, but not everywhere in the section"), "{message}");
}

/// An alternative excuses its answers, and no others: each answer of each reader is made wrong, one after the other.
#[test]
fn alternatives_excuse_nothing_else() {
    let mut made = 0;
    let sets: BTreeMap<&str, &Vec<Ways>> =
        DEPENDING.iter().map(|(vector, sets)| (&*vector.id, sets)).collect();
    for vector in SUITE.vectors.iter().filter(|vector| !vector.only_answered) {
        let mut readers = vec![Ways::new()];
        readers.extend(sets.get(&*vector.id).into_iter().flat_map(|sets| sets.iter().cloned()));
        for ways in readers {
            let right = answer(&vector.question(), &ways);
            let all = vector.asked();
            // Of a large section, some.
            for asked in all.iter().step_by(1 + all.len() / 5000 * 1000) {
                let mut wrong = right.clone();
                if !spoil(&mut wrong, vector, asked.query) {
                    continue;
                }
                made += 1;
                let differs = compared(vector, &wrong).differences;
                let found = differs.iter().any(|difference| difference.query.part() == asked.query.part());
                assert!(found, "{} with {ways:?}: {:?} is made wrong: {differs:#?}", vector.id, asked.query);
            }
        }
    }
    assert!(made > 15_000, "{made} wrong answers");
}

/// Makes one answer wrong; false if there is none, or if nothing would be wrong there.
fn spoil(answer: &mut SectionAnswer, vector: &Vector, query: Query) -> bool {
    match query {
        Query::Opening => {
            // A reader that opens what it must not; and one that refuses what it need not.
            let patterns = vector.asked().swap_remove(0).accepted;
            if answer.reject.is_some() {
                let opened = patterns.iter().any(|accepted| accepted.pattern == Pattern::Opens);
                *answer = SectionAnswer::default();
                return !opened;
            }
            let refused = patterns.iter().any(|accepted| accepted.pattern == Pattern::Refused);
            let reject = Some(Reject { kind: RejectKind::Unspecified, offset: None });
            *answer = SectionAnswer { reject, ..SectionAnswer::default() };
            !refused
        }
        Query::Header => answer.header.as_mut().map(|header| header.fixed_fp ^= 1).is_some(),
        Query::Fde(index) => {
            let fde = answer.fdes.iter_mut().flatten().nth(index);
            fde.and_then(|fde| fde.size.as_mut()).map(|size| *size ^= 1).is_some()
        }
        Query::Row(index, row) => {
            let fde = answer.fdes.iter_mut().flatten().nth(index);
            let row = fde.and_then(|fde| fde.rows.get_mut(row));
            match row {
                Some(Row::Rules(rules)) => {
                    match &mut rules.cfa {
                        Some(cfa) => cfa.offset ^= 1 << 40,
                        None => rules.start ^= 1,
                    }
                    true
                }
                Some(reject) => {
                    // Rules for a row that has none.
                    let ra = Recovery::Undefined;
                    *reject = Row::Rules(Rules { start: 0, cfa: None, ra, fp: None, mangled: true });
                    true
                }
                None => false,
            }
        }
        Query::Lookup(index) => {
            let lookup = answer.lookups.iter_mut().flatten().nth(index);
            lookup.map(|lookup| lookup.answer = Answer::Row(0, 777)).is_some()
        }
        Query::Step(index) => {
            let step = answer.steps.iter_mut().flatten().nth(index);
            let wrong = Address(0x5a5a_5a5a);
            let caller = Caller { pc: wrong, kind: PcKind::Return, cfa: wrong, sp: wrong, fp: wrong };
            step.map(|step| *step = StepAnswer { caller: Some(caller), end: None }).is_some()
        }
    }
}

/// What only looks like a refusal is none: an outermost frame is a statement.
#[test]
fn an_outermost_frame_is_no_refusal() {
    let mut made = 0;
    for vector in &SUITE.vectors {
        let right = answer(&vector.question(), &Ways::new());
        let lenient = |asked: &Asked| {
            let loose = [Pattern::NoRow, Pattern::NoCaller];
            asked.accepted.iter().any(|accepted| loose.contains(&accepted.pattern))
        };
        for asked in vector.asked().into_iter().filter(lenient) {
            let mut wrong = right.clone();
            match asked.query {
                Query::Lookup(index) => {
                    let lookup = &mut wrong.lookups.as_mut().expect("look-ups")[index];
                    let lenient = asked.accepted.iter().any(|accepted| accepted.pattern == Pattern::NoRow);
                    let outermost = asked.accepted.iter().any(|accepted| {
                        matches!(&accepted.pattern, Pattern::Lookup(lookup) if matches!(lookup.answer, Answer::Outermost(_)))
                    });
                    if !lenient || outermost {
                        continue;
                    }
                    lookup.answer = Answer::Outermost(0);
                }
                Query::Step(index) => {
                    let step = &mut wrong.steps.as_mut().expect("steps")[index];
                    let lenient = asked.accepted.iter().any(|accepted| accepted.pattern == Pattern::NoCaller);
                    let outermost = asked.accepted.iter().any(|accepted| {
                        matches!(&accepted.pattern, Pattern::Step(answer) if answer.end == Some(End::Outermost {}))
                    });
                    if !lenient || outermost {
                        continue;
                    }
                    *step = StepAnswer { caller: None, end: Some(End::Outermost {}) };
                }
                _ => continue,
            }
            made += 1;
            assert!(!compared(vector, &wrong).differences.is_empty(), "{}: {:?}", vector.id, asked.query);
        }
    }
    assert!(made > 200, "{made} wrong answers");
}

/// The alternatives of a vector, as the model has them: for each set of them, what does not follow from smaller ones.
fn alternatives_of(vector: &Vector, sets: &[Ways]) -> Vec<Alternative> {
    let mut vector = without_alternatives(vector);
    for ways in sets {
        let got = answer(&vector.question(), ways);
        let follows = without_alternatives(&vector.chosen(&names(ways)));
        let compared = compare(&follows, &got, &ALL);
        if !compared.differences.is_empty() {
            vector.alternatives.push(alternative(names(ways), &compared, &got));
        }
    }
    vector.alternatives
}

/// What a reader answers that takes some alternatives, where that is not accepted yet.
fn alternative(take: Vec<String>, compared: &Compared, got: &SectionAnswer) -> Alternative {
    let mut alternative = Alternative { take, ..Alternative::default() };
    for difference in &compared.differences {
        match difference.query {
            Query::Opening => {
                alternative.refused = got.reject.is_some();
                alternative.opened = got.reject.is_none();
            }
            Query::Header => panic!("{}: no alternative reads another header", difference.message),
            Query::Fde(index) | Query::Row(index, _) => {
                let fde = got.fdes.iter().flatten().nth(index).expect("a function");
                alternative.fdes.insert(index, fde.clone());
            }
            Query::Lookup(index) => {
                alternative.lookups.push(got.lookups.iter().flatten().nth(index).expect("a look-up").clone());
            }
            Query::Step(index) => {
                alternative.steps.insert(index, *got.steps.iter().flatten().nth(index).expect("a step"));
            }
        }
    }
    alternative
}

#[test]
fn update_alternatives() {
    if std::env::var_os("UPDATE_ALTERNATIVES").is_none() {
        return;
    }
    // As they stand, they may name what is no longer there.
    let catalogue = Catalogue::read(Path::new(FOLDER), Path::new(CLAUSES)).expect("a catalogue");
    for path in glob_vectors() {
        let text = std::fs::read_to_string(&path).expect("vectors");
        let written: Vec<String> =
            documents(&text).map(|(_, text)| with_alternatives(&path, text, &catalogue)).collect();
        let written = written.join("---\n");
        if written != text {
            std::fs::write(&path, written).expect("writable vectors");
        }
    }
}

/// A vector with the readings and alternatives that the model gives.
fn with_alternatives(path: &str, text: &str, catalogue: &Catalogue) -> String {
    let bare = without_keys(text, &["readings", "alternatives"]);
    let vector =
        Vector::parse(Path::new(path), &bare, catalogue).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let ways = depends_on(&vector, &changing(&vector));
    let readings: BTreeSet<&str> = ways.iter().copied().map(reading_of).collect();
    let mut written = bare;
    if !readings.is_empty() {
        let list = readings.into_iter().collect::<Vec<_>>().join(", ");
        written = written.replacen("\naddress:", &format!("\nreadings: [{list}]\naddress:"), 1);
    }
    let alternatives = alternatives_of(&vector, &sets(&ways));
    if !alternatives.is_empty() {
        written.push_str("alternatives:\n");
        alternatives.iter().for_each(|alternative| write_alternative(alternative, &mut written));
    }
    written
}

fn glob_vectors() -> Vec<String> {
    let groups = std::fs::read_dir(FOLDER).expect("a folder").map(|group| group.expect("an entry").path());
    let mut files: Vec<String> = groups
        .filter(|group| group.is_dir())
        .flat_map(|group| std::fs::read_dir(group).expect("a group"))
        .map(|file| file.expect("an entry").path().to_string_lossy().into_owned())
        .collect();
    files.sort();
    files
}

/// A document without some of its top-level keys.
fn without_keys(text: &str, keys: &[&str]) -> String {
    let mut out = String::new();
    let mut dropped = false;
    for line in text.lines() {
        let is_top = line.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_top {
            dropped = keys.iter().any(|key| line.starts_with(&format!("{key}:")));
        }
        if !dropped {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

fn write_alternative(alternative: &Alternative, out: &mut String) {
    use std::fmt::Write as _;
    let _ = writeln!(out, "  - take: [{}]", alternative.take.join(", "));
    if alternative.refused {
        out.push_str("    refused: true\n");
    }
    if alternative.opened {
        out.push_str("    opened: true\n");
    }
    if !alternative.fdes.is_empty() {
        out.push_str("    fdes:\n");
        for (index, fde) in &alternative.fdes {
            let mut fields = match json(fde) {
                Value::Object(fields) => fields,
                other => panic!("{other}"),
            };
            let rows = fields.remove("rows");
            let usual = ["addr1", "inc", "default", "a", "false", "0"];
            fields.retain(|name, value| {
                name == "size" || name == "start" || !usual.contains(&value.to_string().trim_matches('"'))
            });
            let _ = writeln!(out, "      {index}:");
            for (name, field) in &fields {
                let _ = writeln!(out, "        {name}: {}", flow(field));
            }
            if let Some(Value::Array(rows)) = rows.filter(|rows| *rows != Value::Array(Vec::new())) {
                out.push_str("        rows:\n");
                rows.iter().for_each(|row| {
                    let _ = writeln!(out, "          - {}", flow(row));
                });
            }
        }
    }
    if !alternative.lookups.is_empty() {
        out.push_str("    lookups:\n");
        alternative.lookups.iter().for_each(|lookup| {
            let _ = writeln!(out, "      - {}", flow(&json(lookup)));
        });
    }
    if !alternative.steps.is_empty() {
        out.push_str("    steps:\n");
        alternative.steps.iter().for_each(|(index, step)| {
            let _ = writeln!(out, "      {index}: {}", flow(&json(step)));
        });
    }
}

fn json(it: &impl serde::Serialize) -> Value {
    serde_json::to_value(it).expect("a value")
}

/// A value on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let is_word =
                !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || "-_".contains(c));
            if is_word || text.starts_with("addr") { text.clone() } else { format!("\"{text}\"") }
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| **value != Value::Bool(false));
            let fields: Vec<String> = fields.map(|(key, value)| format!("{key}: {}", flow(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

/// A reader that has not said how it reads is asked as the vectors are written.
#[test]
fn without_a_choice_the_accepted_answers_are_those_of_the_vectors() {
    let different: Vec<&str> =
        SUITE.vectors.iter().filter(|it| it.chosen(&[]).asked() != it.asked()).map(|it| &*it.id).collect();
    assert_eq!(different, Vec::<&str>::new());
}

/// A row that can't be read may be refused, with all that contains it; it may not be overlooked.
#[test]
fn a_row_that_is_overlooked_is_wrong() {
    let mut made = 0;
    for vector in SUITE.vectors.iter().filter(|vector| vector.is_faulty() && !vector.only_answered) {
        let right = answer(&vector.question(), &Ways::new());
        for index in 0..vector.fdes.len() {
            let mut wrong = right.clone();
            let rows = &mut wrong.fdes.as_mut().expect("functions")[index].rows;
            if rows.last().is_none_or(|row| !row.is_rejected()) {
                continue;
            }
            rows.pop();
            made += 1;
            let only = [SectionPart::Fdes];
            assert!(!compare(vector, &wrong, &only).differences.is_empty(), "{}, FDE {index}", vector.id);
        }
    }
    assert!(made > 30, "{made} rows");
}

/// A reader that finds nothing any more after a fault is wrong, although each of its answers is within the text. One that
/// refuses the whole section is right.
#[test]
fn a_fault_does_no_damage() {
    let mut made = 0;
    for vector in SUITE.vectors.iter().filter(|vector| vector.id.ends_with("-then-sound")) {
        let right = answer(&vector.question(), &Ways::new());
        let refused = Answer::Reject(Reject { kind: RejectKind::Unspecified, offset: None });
        let with = |damage: &dyn Fn(&Answer) -> bool| {
            let mut all = right.clone();
            let mut is_damaged = false;
            for lookup in all.lookups.iter_mut().flatten() {
                is_damaged |= damage(&lookup.answer);
                if is_damaged {
                    lookup.answer = refused.clone();
                }
            }
            compare(vector, &all, &[SectionPart::Lookups]).differences.len()
        };
        let is_reject = |answer: &Answer| matches!(answer, Answer::Reject(_));
        assert!(with(&is_reject) > 0, "{}: nothing is found after a fault", vector.id);
        assert_eq!(with(&|_| true), 0, "{}: all is refused", vector.id);
        made += 1;
    }
    assert!(made > 10, "{made} vectors");
}
