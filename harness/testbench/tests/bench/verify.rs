//! `verify`: what is claimed was seen, of this corpus, in full.

use std::path::Path;
use std::sync::OnceLock;

use rstest::rstest;
use serde_json::{Value, json};
use sframe_corpus::yaml::from_str;
use sframe_kit::conclusion::Ending;
use sframe_suite::report::{Claim, Report, Waiver};
use sframe_suite::suite::{Filter, Suite};

use crate::command::{bench, status};
use crate::common::repository;

/// A report of our engine as an unwinder under test, of all cases of SFrame V2 on s390x.
fn report() -> Value {
    static REPORT: OnceLock<Value> = OnceLock::new();
    let run = || {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_str().expect("a name");
        let toolchains = ["derived-v2", "derived-v2-layout", "derived-v2-pcrel"];
        let selection = toolchains.iter().flat_map(|name| ["--toolchain", name]).collect::<Vec<_>>();
        let unwinder = env!("CARGO_BIN_EXE_sframe-engine-unwinder");
        let rest = ["--abi", "s390x", "--unwinder", unwinder, "--report", path];
        let output = bench(&[&["run"], &selection[..], &rest].concat());
        assert_eq!(status(&output), 0, "{output:?}");
        serde_json::from_slice(&std::fs::read(folder.path().join("report.json")).expect("a file"))
            .expect("JSON")
    };
    REPORT.get_or_init(run).clone()
}

/// What may be claimed by what a change makes of the report, with its lines joined; or why it is no proof.
fn verified(change: impl FnOnce(&mut Value), waivers: &str) -> Result<(Ending, String), String> {
    static SUITE: OnceLock<Suite> = OnceLock::new();
    let suite = SUITE.get_or_init(|| {
        let at = |name: &str| repository().join(name);
        Suite::open(&at("corpus"), &at("specs")).expect("a suite")
    });
    let mut report = report();
    change(&mut report);
    let report: Report = serde_json::from_value(report).expect("a report");
    let waivers: Vec<Waiver> =
        from_str(Path::new("waivers.yaml"), waivers).map_err(|error| error.to_string())?;
    let cases = suite.cases(&Filter::default()).expect("cases");
    let claim = Claim::of(&report, suite, &cases, &waivers).map_err(|error| error.to_string())?;
    let (mut text, conclusion) = (claim.text(), claim.conclusion());
    conclusion.show(&mut text);
    Ok((conclusion.ending, text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// Runs the command on a report.
fn run(report: &Value) -> (i32, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("report.json"), report.to_string()).expect("a file");
    let output = bench(&["verify", folder.path().to_str().expect("a name")]);
    let says = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    (status(&output), says.concat())
}

#[test]
fn a_part_that_has_run_in_full_may_be_claimed() {
    let (status, says) = run(&report());
    assert_eq!(status, 0, "{says}");
    assert!(says.contains("PASS: may be claimed: SFrame V2 on s390x\n"), "{says}");
    assert!(says.contains("SFrame V3 on amd64: not run\n"), "{says}");
    assert!(says.contains("unwinder: sframe-engine 0.1.0\nSHA-256 of its file: "), "{says}");
}

/// A report in which something is not as it is here proves nothing.
#[rstest]
#[case::corpus("/run/corpus", json!("0"), "it is of another corpus: 0; this is ")]
#[case::specs("/run/specs", json!("0"), "it is of another set of specs: 0; this is ")]
#[case::bench("/run/bench", json!("0.0.9"), "it is of another version of the bench: 0.0.9; this is ")]
#[case::no_run("/run", Value::Null, "only reports of `run` and `merge` are proof")]
#[case::shard("/shard", json!("1/2"), "shard 1/2")]
#[case::number("/selected", json!(48), "the report has 47 cases, and its run had 48")]
#[case::few_stops("/run/unwinder/stops_per_case", json!("10"), "the run had --stops-per-case 10")]
#[case::no_number("/run/unwinder/stops_per_case", json!("most"), "the run had --stops-per-case most")]
#[case::zeroes("/run/options/pattern", json!("zeroes"), "the run had --pattern zeroes")]
#[case::other_data("/cases/3/unwinder/data", json!("frame-pointers"), "the unwinder does not read SFrame there")]
#[case::own("/cases/3/unwinder", Value::Null, "the unwinder does not read SFrame there")]
#[case::unknown("/cases/3/id", json!("leaf/none/s390x/O2"), "leaf/none/s390x/O2: it is not in the corpus")]
#[case::version("/cases/3/sframe_version", json!(3), "it is said to be of SFrame V3 on s390x")]
#[case::abi("/cases/3/abi", json!("amd64"), "it is said to be of SFrame V2 on amd64")]
#[case::skipped("/cases/3/outcome", json!("skipped"), "its spec does not skip it")]
#[case::outcome("/cases/3/outcome", json!("unexpected"), "it is said to be unexpected, and has 0 findings")]
#[case::vacuous("/cases/3/comparisons", json!(0), "nothing was compared")]
#[case::agree("/cases/3/agree", json!(1), "it is said to agree, and some comparisons do not")]
fn a_report_that_is_not_of_this_or_contradicts_itself_is_refused(
    #[case] place: &str,
    #[case] value: Value,
    #[case] why: &str,
) {
    let change = |report: &mut Value| *report.pointer_mut(place).expect("it is there") = value;
    let refused = verified(change, "[]").expect_err("no proof");
    assert!(refused.contains(why), "{refused}");
}

#[test]
fn a_finding_can_t_be_called_agreement() {
    let change = |report: &mut Value| {
        report["cases"][3]["findings_omitted"] = json!({"wrong-cfa": 1});
    };
    let refused = verified(change, "[]").expect_err("no proof");
    assert!(refused.contains("it is said to be agree"), "{refused}");
}

#[test]
fn a_missing_case_is_named() {
    let change = |report: &mut Value| {
        report["cases"].as_array_mut().expect("cases").remove(3);
        report["selected"] = json!(46);
    };
    let id = report()["cases"][3]["id"].as_str().expect("an ID").to_owned();
    let (ending, says) = verified(change, "[]").expect("proof");
    assert_eq!(ending, Ending::Fail, "{says}");
    assert!(says.contains("SFrame V2 on s390x: 46 of 47 cases right; "), "{says}");
    assert!(says.contains(&format!("; 1 case missing: {id} ")), "{says}");
    assert!(says.contains("FAIL: can't be claimed: SFrame V2 on s390x"), "{says}");
}

/// A waiver is about what fails, until it expires.
#[rstest]
#[case::without(None, Ending::Fail, "1 case failing: ")]
#[case::until(
    Some("2999-12-31"),
    Ending::Pass,
    "PASS: may be claimed, with 1 case waived: SFrame V2 on s390x"
)]
#[case::expired(Some("2020-01-01"), Ending::Fail, "FAIL: the waiver of ")]
fn waivers_expire(#[case] expires: Option<&str>, #[case] expected: Ending, #[case] why: &str) {
    let id = report()["cases"][3]["id"].as_str().expect("an ID").to_owned();
    let waiver = |day: &str| format!("- {{case: {id}, reason: a reason, link: a link, expires: {day}}}");
    let change = |report: &mut Value| {
        report["cases"][3]["findings_omitted"] = json!({"wrong-cfa": 1});
        report["cases"][3]["outcome"] = json!("unexpected");
    };
    let waivers = expires.map_or_else(|| "[]".to_owned(), waiver);
    let (ending, says) = verified(change, &waivers).expect("proof");
    assert_eq!(ending, expected, "{says}");
    assert!(says.contains(why), "{says}");
}

#[rstest]
#[case::unneeded("{case: 'leaf/*', reason: r, link: l, expires: 2999-12-31}", "is about no case that fails")]
#[case::no_reason("{case: 'leaf/*', reason: ' ', link: l, expires: 2999-12-31}", "has a reason and a link")]
#[case::no_pattern("{case: '[', reason: r, link: l, expires: 2999-12-31}", "waivers: [: ")]
#[case::no_day("{case: 'leaf/*', reason: r, link: l, expires: soon}", "waivers.yaml:1")]
#[case::misspelt("{cse: 'leaf/*', reason: r, link: l, expires: 2999-12-31}", "did you mean `case`?")]
fn a_waiver_that_waives_nothing_is_none(#[case] waiver: &str, #[case] why: &str) {
    let says = match verified(|_| {}, &format!("[{waiver}]")) {
        Ok((Ending::Fail, says)) => says,
        Ok((_, says)) => panic!("it holds: {says}"),
        Err(refused) => refused,
    };
    assert!(says.contains(why), "{says}");
}

#[test]
fn nothing_is_claimed_of_nothing_or_of_less() {
    let mut report = report();
    (report["cases"], report["selected"]) = (json!([]), json!(0));
    let (status, says) = run(&report);
    assert_eq!((status, says.contains("INCONCLUSIVE: ")), (3, true), "{says}");
    report["interrupted"] = json!(true);
    let (status, says) = run(&report);
    assert_eq!((status, says.contains("interrupted")), (2, true), "{says}");
}
