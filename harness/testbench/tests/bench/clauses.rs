//! The clauses of the specifications: each is proved or says why not, none that
//! a program can find is missing, and mistakes are noticed.

use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::sync::LazyLock;

use sframe_engine::Clause as Place;
use sframe_engine::lint::Severity;
use sframe_inspect::lint::all_rules;
use sframe_suite::clauses::{Catalogue, ClausesReport, Proved, prove};
use sframe_vectors::Vector;

use crate::command::{copy_specs, json, status};
use crate::common;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let path = common::repository().join("specs/clauses.yaml");
    Catalogue::load(&path).unwrap_or_else(|errors| {
        let errors: Vec<String> = errors.iter().map(|error| error.render(false).to_string()).collect();
        panic!("{}", errors.join("\n"))
    })
});

static VECTORS: LazyLock<Vec<Vector>> = LazyLock::new(|| {
    let repository = common::repository();
    let clauses = repository.join("specs/clauses.yaml");
    sframe_vectors::Suite::load(&repository.join("corpus/vectors"), &clauses).expect("vectors").vectors
});

#[test]
fn every_clause_is_proved_or_says_why_not() {
    let proved = prove(&CATALOGUE, &VECTORS, common::suite()).expect("known clauses");
    let findings: Vec<&Proved<'_>> = proved.iter().filter(|proved| proved.verdict.is_finding()).collect();
    assert!(findings.is_empty(), "{}", ClausesReport::new(&findings).text());
    let all: Vec<&Proved<'_>> = proved.iter().collect();
    let summary = ClausesReport::new(&all).summary;
    assert!(summary.proved >= 380 && summary.excused <= 8, "{summary:?}");
}

/// The names in the engine's list are those of the catalogue.
#[test]
fn every_constant_belongs_to_a_clause() {
    let source = include_str!("../../../engine/src/constants.rs");
    let names = source.lines().filter_map(|line| line.strip_prefix("pub const ")?.split(':').next());
    let names: BTreeSet<&str> = names.collect();
    assert!(names.len() > 30);
    let listed: BTreeSet<&str> =
        CATALOGUE.clauses.iter().flat_map(|clause| &clause.constants).map(String::as_str).collect();
    assert_eq!(names, listed);
}

/// Each place that an error or a rule can name has clauses.
#[test]
fn every_place_that_the_engine_names_has_a_clause() {
    for place in Place::ALL {
        let of_it = CATALOGUE.clauses.iter().any(|clause| match place {
            // A list in which only the errata are not covered elsewhere.
            Place::ChangesV2 => clause.erratum.is_some(),
            _ => clause.version == 3 && format!("{} {}", clause.section, clause.title) == place.title(),
        });
        assert!(of_it, "{}", place.title());
    }
}

/// Whatever the linter calls an error is forbidden by a clause, in each
/// version.
#[test]
fn every_error_of_the_linter_breaks_a_clause() {
    for rule in all_rules().filter(|rule| rule.severity == Severity::Error) {
        for version in rule.versions.first.number()..=rule.versions.last.number() {
            let proves = |id: &String| id == rule.id;
            let breaks = CATALOGUE
                .clauses
                .iter()
                .any(|clause| clause.version == version && clause.lints.iter().any(proves));
            assert!(breaks, "{} {} in version {version}", rule.id, rule.name);
        }
    }
}

#[test]
fn a_vector_proves_only_what_consumers_must_do() {
    let mut vectors = vec![VECTORS[0].clone()];
    vectors[0].clauses = vec!["v3-magic-written".into(), "v3-magicc".into()];
    let errors = prove(&CATALOGUE, &vectors, common::suite()).expect_err("two mistakes");
    let id = &VECTORS[0].id;
    let expected = [
        format!("vector {id}: no vector can prove what producers do: v3-magic-written"),
        format!("vector {id}: unknown clause `v3-magicc`; did you mean `v3-magic`?"),
    ];
    assert_eq!(errors, expected);
}

fn clauses(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .current_dir(common::repository())
        .arg("clauses")
        .args(arguments)
        .output()
        .expect("the bench runs")
}

/// Runs the command on a copy of the specs with one change.
fn with_change(file: &str, from: &str, to: &str) -> (i32, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let specs = folder.path().join("specs");
    copy_specs(&specs);
    let path = specs.join(file);
    let text = std::fs::read_to_string(&path).expect("a file");
    assert!(text.contains(from), "{file} has no `{from}`");
    std::fs::write(&path, text.replacen(from, to, 1)).expect("a file");
    let output = clauses(&["--specs", &specs.display().to_string()]);
    let all = [output.stdout.as_slice(), &output.stderr].concat();
    (status(&output), String::from_utf8_lossy(&all).into_owned())
}

#[test]
fn proofs_that_are_missing_or_reasons_that_are_stale_end_with_1() {
    let new =
        "clauses:\n  - name: new\n    versions: {3: Top}\n    side: consumer\n    summary: It is new.\n";
    let stale = "    lints: [SF101]\n    unproved: {2: Nothing at all can prove it.}\n";
    for (from, to, expected) in [
        ("clauses:\n", new, "v3-new (consumer): It is new.\n      NOT PROVED for the consumer"),
        ("    lints: [SF101]\n", "", "NOT PROVED for the producer"),
        ("side: consumer", "side: both", "NOT PROVED for the producer"),
        ("    lints: [SF101]\n", stale, "v2-magic-written (producer): The first two bytes hold 0xdee2."),
        ("    lints: [SF101]\n", stale, "STALE: it is proved, but said not to be: Nothing at all"),
        ("      2: *fp-flag\n", "", "v2-flag-frame-pointer-written (producer)"),
    ] {
        let (status, text) = with_change("clauses.yaml", from, to);
        assert_eq!(status, 1, "{to}: {text}");
        assert!(text.contains(expected), "{to}: {text}");
        assert!(!text.ends_with("0 without proof or reason, 0 with a stale reason\n"), "{to}");
    }
}

#[test]
fn names_that_are_unknown_end_with_2_and_point_at_their_place() {
    for (file, from, to, expected) in [
        ("leaf.yaml", "v1-cfa-sp", "v1-cfasp", &["leaf.yaml:6:11", "did you mean `v1-cfa-sp`?"][..]),
        ("backchain.yaml", "v3-cfa-sp", "v2-cfa-sp", &["backchain.yaml:6:11", "no build of `backchain`"]),
        ("clauses.yaml", "[SF101]", "[SF0101]", &["clauses.yaml:", "unknown rule `SF0101`"]),
        ("clauses.yaml", "3: Top}", "3: Topp}", &["clauses.yaml:", "did you mean `Top`?"]),
        ("clauses.yaml", "- name: preamble\n", "- name: preambles\n", &["there is no clause `v1-preamble`"]),
        ("clauses.yaml", "- name: tracked\n", "- name: traced\n", &["unknown clause `v1-tracked`"]),
        ("clauses.yaml", "side: both", "side: reader", &["clauses.yaml:", "`reader`"]),
    ] {
        let (status, text) = with_change(file, from, to);
        assert_eq!(status, 2, "{to}: {text}");
        for part in expected {
            assert!(text.contains(part), "{to}: {text}");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(status(&clauses(&["--specs", &folder.path().display().to_string()])), 2);
    assert_eq!(status(&clauses(&["--corpus", "no/such/folder"])), 2);
    for arguments in [["--version", "4"], ["--side", "reader"]] {
        assert_eq!(status(&clauses(&arguments)), 2);
    }
}

#[test]
fn the_document_has_every_clause_with_its_proofs() {
    let output = clauses(&["--json"]);
    assert_eq!(status(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    let document = json(&output);
    let all = document["clauses"].as_array().expect("clauses");
    assert_eq!(all.len(), CATALOGUE.clauses.len());
    assert_eq!(document["summary"]["clauses"], all.len());
    let get = |id: &str| all.iter().find(|clause| clause["id"] == id).expect("a clause");
    let clause = get("v2-ra-undefined");
    assert_eq!(
        (&clause["version"], &clause["erratum"], &clause["side"]),
        (&2.into(), &2.into(), &"consumer".into())
    );
    assert_eq!((&clause["section"], &clause["verdict"]), (&"2.4.1".into(), &"proved".into()));
    let proofs = clause["proofs"].as_array().expect("proofs");
    let proof = serde_json::json!({"kind": "vector", "name": "outermost/v2-amd64-no-words"});
    assert!(proofs.contains(&proof), "{proofs:?}");
    let clause = get("v3-fde-start-aligned");
    assert_eq!((&clause["verdict"], &clause["missing"][0]), (&"excused".into(), &"producer".into()));
    assert!(clause["unproved"].is_string() && clause["summary"].is_string());
}

#[test]
fn clauses_can_be_chosen() {
    let chosen = |arguments: &[&str]| {
        let document = json(&clauses(&[arguments, &["--json"]].concat()));
        document["clauses"].as_array().expect("clauses").clone()
    };
    let first = chosen(&["--version", "1"]);
    assert!(first.len() > 80 && first.iter().all(|clause| clause["version"] == 1));
    let producers = chosen(&["--version", "1", "--side", "producer"]);
    assert!(producers.iter().all(|clause| clause["side"] != "consumer"));
    let both = chosen(&["--version", "1", "--side", "both"]);
    assert!(both.len() < producers.len() && both.iter().all(|clause| clause["side"] == "both"));
    let unproved = chosen(&["--unproved"]);
    assert!(!unproved.is_empty() && unproved.iter().all(|clause| clause["verdict"] == "excused"));
    let text =
        String::from_utf8_lossy(&clauses(&["--version", "3", "--side", "consumer"]).stdout).into_owned();
    assert!(text.starts_with("version 3, Top The SFrame format\n  v3-tracked (both): "), "{text}");
    assert!(text.contains("\n      specs recursion; vectors step/v3-aarch64, "), "{text}");
}
