//! The rules of reading calls: each is needed by its program.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rayon::prelude::*;
use sframe_judge::calls::{RULES, Rule};
use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::target::Target;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;

use crate::common::repository;
use crate::doctor::constructed;

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
            constructed().into_iter().filter(|(name, _)| name.starts_with(&prefix)).map(|(_, file)| file);
        let of_corpus = ["amd64", "s390x"]
            .map(|abi| repository().join(format!("corpus/builds/gnu-2.47/{abi}/{}.O2", rule.case)));
        let mut cases = constructed.chain(of_corpus.into_iter().filter(|file| file.is_file()));
        !cases.any(|file| changes(rule, &file))
    };
    // Which programs need the others is said, to name one of them.
    let elsewhere = |rule: &&Rule| {
        let of = constructed().into_par_iter().filter(|(_, file)| changes(rule, file)).map(|(name, _)| name);
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
