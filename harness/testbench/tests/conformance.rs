//! The conformance suite: each spec on each ABI is a test.
//!
//! A new spec or build becomes a new test without a change here.

mod common;

use std::path::PathBuf;

use rstest::rstest;
use sframe_engine::Abi;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;
use sframe_suite::case::Outcome;
use sframe_suite::report::{Report, Style, run_summary};
use sframe_suite::suite::Filter;

#[rstest]
fn backtraces_are_the_call_stack(
    #[files("../../specs/*.yaml")]
    #[exclude("clauses")]
    spec: PathBuf,
    #[values(Abi::Amd64, Abi::Aarch64, Abi::Aarch64Be, Abi::S390x)] abi: Abi,
) {
    let suite = common::suite();
    let name = spec.file_stem().and_then(|stem| stem.to_str()).expect("a spec's name");
    let pattern = glob::Pattern::new(&glob::Pattern::escape(name)).expect("an escaped pattern");
    let filter = Filter { specs: vec![pattern], abis: vec![abi], ..Filter::default() };
    let cases = suite.cases(&filter).expect("the spec is there");
    if cases.is_empty() {
        let (spec, _) = suite
            .specs()
            .iter()
            .find(|(_, source)| source.path().file_stem() == spec.file_stem())
            .expect("the spec is there");
        assert!(!spec.targets.contains(abi), "{name} is for {abi}, but the corpus has no such build");
        return;
    }
    let reports = suite.run(&cases, &Options::default(), &sframe_unwinder, &|_| ());
    let good = |outcome| matches!(outcome, Outcome::Agree | Outcome::Known | Outcome::Skipped);
    if !reports.iter().all(|report| good(report.outcome)) {
        panic!("{}", run_summary(&Report::new(reports), std::time::Duration::ZERO, Style::default()));
    }
    let compared: u64 = reports.iter().map(|report| report.counts.comparisons).sum();
    let skipped = reports.iter().all(|report| report.outcome == Outcome::Skipped);
    assert!(compared > 0 || skipped, "nothing was compared");
}

/// A program without a spec would be compiled, committed and never run.
#[test]
fn every_build_is_run_by_a_spec() {
    let suite = common::suite();
    let cases = suite.cases(&Filter::default()).expect("cases");
    for build in &suite.manifest().builds {
        assert!(cases.iter().any(|case| case.build.id == build.id), "no spec runs {}", build.id);
    }
    assert!(cases.len() >= 300, "{} cases", cases.len());
}
