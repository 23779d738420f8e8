//! Findings of cases are blamed on the component that needs the fix: faults are put into the witness, and specs blame
//! others than triage does.

use std::collections::BTreeSet;

use sframe_judge::finding::{Blame, Confidence, Finding};
use sframe_judge::unwind::sframe_unwinder;
use sframe_judge::vocabulary::Verdict;
use sframe_machine::{Options, WitnessFaults};
use sframe_suite::case::{CaseReport, Outcome};
use sframe_suite::suite::{Filter, Suite};

use crate::common;

/// The unexpected reports of a spec whose call stacks a faulty witness has followed.
fn with_a_faulty_witness(spec: &str, faults: WitnessFaults) -> Vec<CaseReport> {
    let suite = common::suite();
    let specs = vec![glob::Pattern::new(spec).expect("a pattern")];
    let filter = Filter { specs, toolchains: vec!["gnu-2.47".to_owned()], ..Filter::default() };
    let cases = suite.cases(&filter).expect("cases");
    let options = Options { witness_faults: faults, ..Options::default() };
    let mut reports = suite.run(&cases, &options, &sframe_unwinder, &|_| ());
    reports.retain(|report| report.outcome == Outcome::Unexpected);
    assert!(!reports.is_empty());
    reports
}

fn of_rows(reports: &[CaseReport]) -> Vec<&Finding> {
    let findings = reports.iter().flat_map(|report| &report.findings);
    findings.filter(|finding| finding.stack.is_some()).collect()
}

/// A wrong call stack: rows, CFI and instructions agree with one another. If
/// the instructions are inconclusive, the compiler is suspected too.
#[test]
fn a_wrong_call_stack_is_blamed_on_the_bench() {
    let faults = WitnessFaults { misses_nonlocal_exits: true, ..WitnessFaults::default() };
    let reports = with_a_faulty_witness("nonlocal_goto", faults);
    let findings = of_rows(&reports);
    assert!(findings.iter().any(|finding| finding.blame == Blame::Bench));
    // Where CFI and the section agree, nothing is certain.
    assert!(findings.iter().all(|finding| finding.confidence != Confidence::High), "{findings:#?}");
    let suspects = [Blame::Bench, Blame::CompilerOrCfi];
    assert!(findings.iter().all(|finding| suspects.contains(&finding.blame)));
}

/// Known bugs of the corpus: their specs name the culprit, which each run
/// compares. This test checks that each kind of producer is among them.
#[test]
fn each_kind_of_producer_has_a_fault_in_the_corpus() {
    let suite = common::suite();
    let specs = ["cold_paths", "crossing_ibt", "leaf"];
    let specs = specs.iter().map(|name| glob::Pattern::new(name).expect("a pattern")).collect();
    let cases = suite.cases(&Filter { specs, ..Filter::default() }).expect("cases");
    let reports = suite.run(&cases, &Options::default(), &sframe_unwinder, &|_| ());
    let known = reports.iter().flat_map(|report| &report.known);
    let blames: BTreeSet<Blame> = known.map(|known| known.finding.blame).collect();
    let producers = [Blame::ProducerAssembler, Blame::ProducerLinker, Blame::CompilerOrCfi];
    assert_eq!(blames, BTreeSet::from(producers));
}

/// The only case of a spec that has one known failure.
fn run_known(blame: &str, rules: &str) -> CaseReport {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!(
        "program: leaf\nsummary: A spec that a test has written.\ntoolchains: [gnu-2.47]\ntargets: [s390x]\n\
         stops: [{{at: main, where: {{variant: O2}}}}]\nskip:\n  - where: {{variant: [O0, O2-fp, O2-pie]}}\n    \
         reason: One build is enough.\nknown:\n  - where: {{variant: O2}}\n    verdict: wrong-cfa\n    \
         blame: {blame}\n    function: leaf_with_locals\n    {rules}reason: The compiler resets the CFA too early.\n"
    );
    std::fs::write(folder.path().join("leaf.yaml"), text).expect("a file");
    let suite = Suite::open(&common::repository().join("corpus"), folder.path()).expect("a suite");
    let cases = suite.cases(&Filter::default()).expect("cases");
    let reports = suite.run(&cases, &Options::default(), &sframe_unwinder, &|_| ());
    let mut ran = reports.into_iter().filter(|report| report.outcome != Outcome::Skipped);
    let report = ran.next().expect("a case");
    assert!(ran.next().is_none() && report.known.len() == 1, "{:?}", report.findings);
    report
}

/// The rules and places of that failure, as in a spec.
fn known_rules() -> (String, u64) {
    let report = run_known("compiler-or-cfi", "");
    let rules = report.known[0].rules.iter();
    let [(rules, count)] = rules.collect::<Vec<_>>()[..] else { panic!("{:?}", report.known[0].rules) };
    (rules.clone(), *count)
}

fn changed(report: &CaseReport) -> Vec<&Finding> {
    report.findings.iter().filter(|finding| finding.verdict == Verdict::ChangedFailure).collect()
}

/// A spec that blames something other than triage does.
#[test]
fn a_known_fault_that_is_blamed_on_somebody_else_has_changed() {
    let (rules, count) = known_rules();
    let rules = format!("rules: {{'{rules}': {count}}}\n    ");
    let as_said = run_known("compiler-or-cfi", &rules);
    assert!(changed(&as_said).is_empty() && !as_said.known[0].changed);
    let report = run_known("producer-linker", &rules);
    let [changed] = changed(&report)[..] else { panic!("{:?}", report.findings) };
    assert!(report.known[0].changed, "it is counted twice");
    assert!(changed.message.to_string().contains("the entry blames producer-linker"), "{}", changed.message);
    assert!(changed.got.to_string().starts_with("compiler-or-cfi"), "{}", changed.got);
}

#[test]
fn a_known_fault_with_other_rules_or_places_has_changed() {
    let (rules, count) = known_rules();
    let mapping = |rules: &str, count: u64| format!("{{'{rules}': {count}}}");
    let (right, more) = (mapping(&rules, count), mapping(&rules, count + 1));
    let other = mapping(&rules.replace("SP", "FP"), count);
    let both = format!("{{'{rules}': {count}, no row: 1}}");
    for (rules, is_known) in [
        (right.clone(), true),
        (format!("[{other}, {right}]"), true),
        (other, false),
        (more, false),
        (both, false),
    ] {
        let report = run_known("compiler-or-cfi", &format!("rules: {rules}\n    "));
        assert_eq!(report.outcome == Outcome::Known, is_known, "{rules}");
        assert_eq!(changed(&report).is_empty(), is_known, "{rules}");
    }
    let report = run_known("compiler-or-cfi", "");
    let [changed] = changed(&report)[..] else { panic!("{:?}", report.findings) };
    assert!(changed.expected.to_string().contains("bless --known"), "{}", changed.expected);
}
