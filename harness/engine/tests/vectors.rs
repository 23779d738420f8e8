//! The engine against the conformance vectors in `corpus/vectors`, and the
//! proof that a wrong answer would be noticed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use rstest::rstest;
use sframe_vectors::engine::answer;
use sframe_vectors::{
    Answer, End, Fde, Recovery, Reject, RejectKind, Row, SectionPart, Suite, Vector, compare,
};

static SUITE: LazyLock<Suite> = LazyLock::new(|| {
    let clauses = Path::new("../../specs/clauses.yaml");
    Suite::load(Path::new("../../corpus/vectors"), clauses).unwrap_or_else(|errors| {
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        panic!("{}", errors.join("\n"))
    })
});

/// The folders of `corpus/vectors`.
const GROUPS: [&str; 14] = [
    "address",
    "default",
    "fde",
    "flex",
    "header",
    "hostile",
    "info",
    "lookup",
    "mask",
    "opening",
    "outermost",
    "row",
    "step",
    "width",
];

#[rstest]
#[case::address("address")]
#[case::default("default")]
#[case::fde("fde")]
#[case::flex("flex")]
#[case::header("header")]
#[case::hostile("hostile")]
#[case::info("info")]
#[case::lookup("lookup")]
#[case::mask("mask")]
#[case::opening("opening")]
#[case::outermost("outermost")]
#[case::row("row")]
#[case::step("step")]
#[case::width("width")]
fn the_engine_answers_as_the_vectors_say(#[case] group: &str) {
    let vectors: Vec<_> = SUITE.vectors.iter().filter(|vector| group_of(vector) == group).collect();
    assert!(!vectors.is_empty(), "no vectors in {group}");
    let failures: Vec<_> = vectors.iter().filter_map(|vector| check(vector).err()).collect();
    assert!(failures.is_empty(), "{} of {} vectors:\n{}", failures.len(), vectors.len(), failures.join("\n"));
}

fn group_of(vector: &Vector) -> &str {
    vector.id.split('/').next().unwrap_or_default()
}

/// Compares the engine's answers with a vector's. The first difference is the error.
fn check(vector: &Vector) -> Result<(), String> {
    let answer = answer(&vector.question());
    let unspecified = rejects_of(answer.reject.as_ref(), answer.fdes.iter().flatten())
        .any(|reject| reject.kind == RejectKind::Unspecified);
    assert!(!unspecified, "{}: the engine rejects it for a reason that no vector knows", vector.id);
    let all = [SectionPart::Header, SectionPart::Fdes, SectionPart::Lookups, SectionPart::Steps];
    // The engine has the best answer, not only one that is within the text.
    let compared = compare(vector, &answer, &all);
    assert!(compared.readings.is_empty(), "{}: {:?}", vector.id, compared.readings);
    match compared.differences.into_iter().chain(compared.quality).next() {
        None => Ok(()),
        Some(difference) => Err(format!("{}: {}", vector.id, difference.message)),
    }
}

/// The vectors are many, of every version and ABI, and ask for everything.
#[test]
fn the_suite_is_not_vacuous() {
    assert!(SUITE.vectors.len() >= 600, "{} vectors", SUITE.vectors.len());
    for vector in &SUITE.vectors {
        assert!(GROUPS.contains(&group_of(vector)), "{} is in no group that runs", vector.id);
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for header in SUITE.vectors.iter().filter_map(|vector| vector.header.as_ref()) {
        *counts.entry(format!("version {} on {:?}", header.version, header.abi)).or_default() += 1;
    }
    assert_eq!(counts.len(), 11, "3 ABIs in version 1, 4 in the others: {counts:?}");
    assert!(counts.values().all(|count| *count >= 20), "{counts:?}");
    let lookups: usize = SUITE.vectors.iter().map(|vector| vector.lookups.len()).sum();
    let steps: usize = SUITE.vectors.iter().map(|vector| vector.steps.len()).sum();
    assert!(lookups >= 5_000 && steps >= 500, "{lookups} look-ups, {steps} steps");
}

/// Every reading is one that a vector depends on.
#[test]
fn every_reading_has_a_vector() {
    for reading in &SUITE.catalogue.readings {
        assert!(
            SUITE.vectors.iter().any(|vector| vector.readings.contains(&reading.name)),
            "no vector depends on the reading {}",
            reading.name
        );
    }
}

/// Every rejection there is occurs, in each version that can have it.
#[test]
fn every_rejection_has_a_vector_in_each_version() {
    for version in 1..=3 {
        for kind in RejectKind::OF_VECTORS {
            let exists = match kind {
                RejectKind::UnknownVersion => false, // of no version
                RejectKind::ZeroRepSize => version > 1,
                RejectKind::UnknownFdeType
                | RejectKind::BadFlexWordCount
                | RejectKind::FlexCfaWithoutRegister => version == 3,
                _ => true,
            };
            let prefix = format!("v{version}-");
            let found =
                rejects(kind).any(|vector| vector.clauses.iter().any(|clause| clause.starts_with(&prefix)));
            assert!(!exists || found, "{kind:?} in version {version}");
        }
    }
    assert!(rejects(RejectKind::UnknownVersion).next().is_some());
}

fn rejects(kind: RejectKind) -> impl Iterator<Item = &'static Vector> {
    SUITE.vectors.iter().filter(move |vector| {
        rejects_of(vector.reject.as_ref(), vector.fdes.iter()).any(|reject| reject.kind == kind)
    })
}

/// Of a section, its functions and their rows.
fn rejects_of<'a>(
    section: Option<&'a Reject>,
    fdes: impl Iterator<Item = &'a Fde> + Clone,
) -> impl Iterator<Item = &'a Reject> {
    let rows = fdes.clone().flat_map(|fde| &fde.rows).filter_map(|row| match row {
        Row::Reject(reject) => Some(reject),
        Row::Rules(_) => None,
    });
    section.into_iter().chain(fdes.filter_map(|fde| fde.reject.as_ref())).chain(rows)
}

/// A vector that passes, to be broken.
fn sound(id: &str) -> Vector {
    let vector = SUITE.vectors.iter().find(|vector| vector.id == id).cloned();
    let vector = vector.unwrap_or_else(|| panic!("no vector {id}"));
    assert_eq!(check(&vector), Ok(()));
    vector
}

/// The difference that is reported, which names the vector.
fn difference(vector: &Vector) -> String {
    let difference = check(vector).expect_err("a wrong expectation must fail");
    assert!(difference.starts_with(&format!("{}: ", vector.id)), "{difference}");
    difference
}

#[test]
fn a_wrong_header_is_noticed() {
    let mut vector = sound("header/v3-amd64");
    vector.header.as_mut().expect("a header").fixed_fp += 1;
    assert!(difference(&vector).contains("header: "));
}

#[test]
fn a_wrong_row_is_noticed() {
    for change in 0..4 {
        let mut vector = sound("default/v3-aarch64");
        let Row::Rules(rules) = &mut vector.fdes[0].rows[1] else { panic!("a sound row") };
        match change {
            0 => rules.cfa.as_mut().expect("a CFA").offset += 8,
            1 => rules.ra = Recovery::Unchanged,
            2 => rules.fp = Some(Recovery::Unchanged),
            _ => rules.mangled = true,
        }
        assert!(difference(&vector).contains("FDE 0, row 1: "));
    }
    let mut vector = sound("default/v3-aarch64");
    vector.fdes[0].rows.pop();
    assert!(difference(&vector).contains("rows expected"));
}

#[test]
fn a_wrong_function_is_noticed() {
    let mut vector = sound("info/v3-amd64-signal");
    vector.fdes[0].signal = false;
    assert!(difference(&vector).contains("FDE 0: "));
}

#[test]
fn a_wrong_lookup_is_noticed() {
    let mut vector = sound("lookup/v2-amd64-sorted");
    let first = vector.lookups.iter_mut().find(|lookup| lookup.pc.0 == 0x1000);
    first.expect("a look-up").answer = Answer::NoFde;
    assert!(difference(&vector).contains("look-up "));
    let mut vector = sound("lookup/v3-s390x-call-at-the-end");
    let call = vector.lookups.iter_mut().find(|lookup| lookup.return_address && lookup.pc.0 == 0x1010);
    call.expect("a return address").return_address = false;
    assert!(difference(&vector).contains("of 0x1010"));
}

#[test]
fn a_wrong_step_is_noticed() {
    let mut vector = sound("step/v1-aarch64");
    vector.steps[0].caller.as_mut().expect("a caller").fp.0 += 1;
    assert!(difference(&vector).contains("step 0: "));
    let mut vector = sound("outermost/v3-amd64-no-rows");
    vector.steps[0].end = Some(End::NoFde {});
    assert!(difference(&vector).contains("step 0: "));
}

#[test]
fn a_wrong_rejection_is_noticed() {
    let mut vector = sound("opening/v2-bad-magic");
    vector.reject.as_mut().expect("a rejection").kind = RejectKind::UnknownVersion;
    assert!(difference(&vector).contains("opening: "));
    let mut vector = sound("opening/v2-bad-magic");
    vector.reject.as_mut().expect("a rejection").offset = Some(2);
    assert!(difference(&vector).contains("opening: "));
    let mut vector = sound("opening/v2-bad-magic");
    vector.reject = None;
    assert!(difference(&vector).contains("opening: "));
    let mut vector = sound("header/v2-amd64");
    vector.reject = Some(Reject { kind: RejectKind::BadMagic, offset: None });
    assert!(difference(&vector).contains("opening: "));
    let mut vector = sound("fde/v3-amd64-fre-type-3");
    vector.fdes[1].reject.as_mut().expect("a rejection").kind = RejectKind::ZeroRepSize;
    assert!(difference(&vector).contains("FDE 1: "));
    let mut vector = sound("row/v1-amd64-word-size-3");
    let Row::Reject(reject) = &mut vector.fdes[0].rows[1] else { panic!("a faulty row") };
    reject.kind = RejectKind::Truncated;
    assert!(difference(&vector).contains("FDE 0, row 1: "));
}
