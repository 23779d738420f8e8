//! All that judges walks judges them by the same calls: `check`, `study`, and an unwinder under test.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rayon::prelude::*;
use serde_json::Value;
use sframe_judge::calls::{RULES, Rule};
use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::target::Target;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;

use crate::command::{bench, status};
use crate::common::repository;

/// This project's engine, as an unwinder under test.
const ENGINE: &str = env!("CARGO_BIN_EXE_sframe-engine-unwinder");

/// All builds of `corpus/constructed`, by case and ABI.
fn builds() -> Vec<(String, PathBuf)> {
    let folder = repository().join("corpus/constructed");
    let mut builds = Vec::new();
    for case in std::fs::read_dir(&folder).expect("a folder") {
        let case = case.expect("an entry").path();
        for abi in ["amd64", "aarch64", "aarch64_be", "s390x"] {
            let file = case.join(abi);
            if file.is_file() {
                let name = file.strip_prefix(&folder).expect("within it").display().to_string();
                builds.push((name, file));
            }
        }
    }
    builds.sort();
    builds
}

/// What walks were worth: complete, incomplete (whether or not they say so), and wrong.
fn worth(of: &Value) -> [u64; 3] {
    let count = |key: &str| of[key].as_u64().expect("a number");
    [count("complete"), count("incomplete") + count("silent"), count("wrong")]
}

/// What the walks of SFrame were worth in a study.
fn studied(study: &Value) -> [u64; 3] {
    let images = study["images"].as_array().expect("images").iter().map(|image| &image["executed"]);
    let topmosts = images.chain([&study["elsewhere"]]).flat_map(|executed| {
        executed["sframe"]["by_topmost"].as_object().expect("an object").values().map(worth)
    });
    topmosts.fold([0; 3], |all, of| [0, 1, 2].map(|index| all[index] + of[index]))
}

/// What is different for a build. `None` if it does not run.
fn difference(name: &str, file: &str) -> Option<Result<(), String>> {
    let run = |arguments: &[&str]| {
        let output = bench(&[arguments, &["--json", file]].concat());
        (status(&output), serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default())
    };
    let (checked, check) = run(&["check", "--no-explore"]);
    if check["summary"]["comparisons"].as_u64().unwrap_or_default() == 0 {
        return None;
    }
    let (asked, unwinder) = run(&["check", "--no-explore", "--unwinder", ENGINE, "--stops-per-case", "all"]);
    let (_, study) = run(&["study"]);
    // It is only made once more, with an empty stack, where it is checked.
    let is_studied = study["broken"].is_null();
    let expected = worth(&check["summary"]["reliability"]);
    let of_unwinder = worth(&unwinder["summary"]["reliability"]);
    let of_study = if is_studied { studied(&study) } else { expected };
    let is_same = checked == asked && expected == of_unwinder && expected == of_study;
    Some(if is_same {
        Ok(())
    } else {
        Err(format!(
            "{name}: check has {expected:?} and ends with {checked}, the unwinder {of_unwinder:?} and {asked}, study \
             {of_study:?}"
        ))
    })
}

#[test]
fn check_study_and_an_unwinder_judge_by_one_truth() {
    let judged: Vec<Result<(), String>> = builds()
        .par_iter()
        .filter_map(|(name, file)| difference(name, file.to_str().expect("text")))
        .collect();
    let wrong: Vec<&String> = judged.iter().filter_map(|judged| judged.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(judged.len() > 200, "{}", judged.len());
}

/// What examining a build shows, without one of the rules of reading calls.
fn shown(bytes: &[u8], without_rule: Option<&'static str>) -> (BTreeSet<String>, BTreeSet<String>) {
    let Ok(target) = Target::open(bytes) else { return Default::default() };
    let look = ExamineOptions { without_rule, ..ExamineOptions::default() };
    let seen =
        examine(&target, &mut *sframe_unwinder(&target), &look, &Options::default()).expect("a machine");
    let findings = seen.findings.iter().map(|found| format!("{} {}", found.message, found.hits));
    (findings.collect(), seen.excluded.iter().map(|place| place.line()).collect())
}

#[test]
fn each_rule_of_reading_calls_changes_the_answer_about_its_program() {
    let changes = |rule: &Rule, file: &PathBuf| {
        let bytes = std::fs::read(file).expect("a build");
        shown(&bytes, None) != shown(&bytes, Some(rule.name))
    };
    let needs = |rule: &&&Rule| {
        let prefix = format!("{}/", rule.case);
        let constructed =
            builds().into_iter().filter(|(name, _)| name.starts_with(&prefix)).map(|(_, file)| file);
        let of_corpus = ["amd64", "s390x"]
            .map(|abi| repository().join(format!("corpus/builds/gnu-2.47/{abi}/{}.O2", rule.case)));
        let mut cases = constructed.chain(of_corpus.into_iter().filter(|file| file.is_file()));
        !cases.any(|file| changes(rule, &file))
    };
    // Which programs need the others is said, to name one of them.
    let elsewhere = |rule: &&Rule| {
        let of = builds().into_par_iter().filter(|(_, file)| changes(rule, file)).map(|(name, _)| name);
        format!(
            "{}: nothing changes without it in {}, but in {:?}",
            rule.name,
            rule.case,
            of.collect::<Vec<_>>()
        )
    };
    let wrong: Vec<String> = RULES.iter().filter(needs).map(elsewhere).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
