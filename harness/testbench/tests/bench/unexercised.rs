//! What `check` and `run` say of rows that did not run: what exploring them shows.

use std::time::Duration;

use rstest::rstest;
use serde_json::Value;
use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::explore::{Explorer, Progress};
use sframe_judge::external::isolation::Isolation;
use sframe_judge::target::Target;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;
use sframe_suite::report::CheckReport;

use crate::command::{bench, conclusion, json, status};
use crate::explore::path;

/// A retpoline in it is inlined twice, and one of the two runs. The rows are wrong in both.
const RETPOLINES: &str = "gnu-2.44/amd64/thunks_inline.O2-pie";

/// Those that did not run.
fn rows(report: &Value) -> Vec<&Value> {
    let rows = report["unexercised"].as_array().expect("a list");
    rows.iter().filter(|row| row.get("used").is_none()).collect()
}

/// The number of rows of which exploring says something.
fn count(rows: &[&Value], says: &str) -> u64 {
    rows.iter().filter(|row| row["explored"] == says).count() as u64
}

#[test]
fn a_row_that_did_not_run_is_explored() {
    let report = json(&bench(&["check", "--json", &path(RETPOLINES)]));
    let rows = &rows(&report);
    let explored = &report["summary"]["rows_explored"];
    let counts = ["agrees", "wrong", "undecided"].map(|says| count(rows, says));
    assert_eq!(["agree", "wrong", "undecided"].map(|key| explored[key].as_u64()), counts.map(Some));
    assert_eq!(counts.iter().sum::<u64>(), rows.len() as u64);
    assert_eq!(counts, [0, 1, 0]);
    let wrong = rows.iter().find(|row| row["explored"] == "wrong").expect("one");
    assert_eq!([&wrong["function"], &wrong["start"]], ["dynamic", "0x61"]);
    let reason = wrong["explored_reason"].as_str().expect("a reason");
    assert!(reason.starts_with("dynamic+0x66 ") && reason.contains("CFA is "), "{reason}");
    // The other one ran, and both agree.
    let findings = report["findings"].as_array().expect("a list");
    let ran = findings.iter().find(|found| found["row"]["start"] == "0x45").expect("a finding");
    let evidence = ran["evidence"].as_array().expect("a list");
    let said = evidence.iter().find(|said| said["witness"] == "exploration").expect("its evidence");
    assert_eq!(said["agrees_with"], "call-stack");
    let text = bench(&["check", "-v", &path(RETPOLINES)]);
    let text = String::from_utf8_lossy(&text.stdout);
    assert!(text.contains("\n    explored    dynamic+0x66 "), "{text}");
    assert!(text.contains("; 1 row did not run: 1 wrong\n"), "{text}");
    assert!(conclusion(&text).ends_with("; 1 row not executed: 1 wrong"), "{text}");
}

#[test]
fn only_rows_that_did_not_run_are_explored() {
    let output = bench(&["check", "--json", "--no-explore", &path(RETPOLINES)]);
    let report = json(&output);
    let is_bare = |row: &&Value| row.get("explored").is_none() && row.get("explored_reason").is_none();
    assert!(!rows(&report).is_empty() && rows(&report).iter().all(is_bare));
    let evidence = report["findings"].to_string();
    assert!(status(&output) == 1 && !evidence.contains("exploration"), "{evidence}");
}

#[test]
fn a_run_counts_rows_that_ran_and_rows_that_were_explored() {
    let arguments = ["run", "--json", "--spec=eh_return", "--toolchain=gnu-2.47", "--abi=amd64"];
    let report = json(&bench(&arguments));
    let summary = &report["summary"];
    let explored =
        ["agree", "wrong", "undecided"].map(|key| summary["rows_explored"][key].as_u64().expect("a number"));
    let left =
        summary["rows_total"].as_u64().zip(summary["rows_exercised"].as_u64()).map(|(all, ran)| all - ran);
    assert_eq!(left, Some(explored.iter().sum()));
    assert!(explored[0] > 10 && explored[1] == 0, "{explored:?}");
}

/// What a report says of rows if the workers do as these do.
fn explored_by(worker: &[&str]) -> CheckReport {
    let bytes = std::fs::read(path(RETPOLINES)).expect("a build");
    let target = Target::open(&bytes).expect("a target");
    let mut unwinder = sframe_unwinder(&target);
    let examined = examine(&target, &mut *unwinder, &ExamineOptions::default(), &Options::default());
    let mut report = CheckReport::new("it".to_owned(), &target, examined.expect("a run"), None);
    let worker = worker.iter().map(|word| (*word).to_owned()).collect();
    let isolation = Isolation { worker, memory: 8 << 30, timeout: Duration::from_secs(60) };
    report.explore(&Explorer { isolation, jobs: 1, cache: None }, &target, &Progress::default());
    report
}

#[rstest]
#[case(&["/bin/false"], "the emulator failed in the function")]
#[case(&["/nonexistent"], "No such file or directory")]
fn rows_that_cannot_be_explored_are_undecided(#[case] worker: &[&str], #[case] reason: &str) {
    let report = explored_by(worker);
    assert!(!report.findings.is_empty() && !report.unexercised.is_empty());
    let explored = report.summary.rows_explored;
    assert_eq!((explored.agree, explored.wrong), (0, 0));
    let did_not_run = report.unexercised.iter().filter(|row| row.used.is_never()).count();
    assert_eq!(explored.undecided, did_not_run as u64);
    let has_reason = |said: &Option<String>| said.as_ref().is_some_and(|said| said.contains(reason));
    assert!(report.unexercised.iter().any(|row| has_reason(&row.explored_reason)));
}
