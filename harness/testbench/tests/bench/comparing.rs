//! `compare`: what has changed between two reports is told, and nothing else.

use std::path::Path;

use rstest::rstest;
use serde_json::{Value, json};

use crate::command::{bench, status};

/// A report of a few cases with a known bug and without.
fn report(folder: &Path) -> Value {
    let path = folder.to_str().expect("a path");
    let output = bench(&[
        "run",
        "--spec",
        "leaf",
        "--spec",
        "realign",
        "--toolchain",
        "gnu-2.47",
        "--abi",
        "amd64",
        "--report",
        path,
    ]);
    assert_eq!(status(&output), 0, "{output:?}");
    read(&folder.join("report.json"))
}

/// The build that reports of one file are about.
fn leaf() -> String {
    crate::common::repository().join("corpus/builds/gnu-2.47/amd64/leaf.O2").display().to_string()
}

/// Writes the report of a command about it into `before`.
fn report_of_leaf(folder: &Path, command: &str) -> Value {
    let before = folder.join("before");
    let output = bench(&[command, &leaf(), "--report", before.to_str().expect("a path")]);
    assert_eq!(status(&output), 0, "{output:?}");
    read(&before.join("report.json"))
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

/// Compares a report with what a change makes of it.
fn compared(change: impl Fn(&mut Value)) -> (i32, String, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let before = folder.path().join("before");
    let mut after = report(&before);
    change(&mut after);
    let path = folder.path().join("after.json");
    std::fs::write(&path, after.to_string()).expect("a file");
    let changes = folder.path().join("changes");
    let name = |path: &Path| path.to_str().expect("a path").to_owned();
    let output = bench(&["compare", &name(&before), &name(&path), "--report", &name(&changes)]);
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    // All forms say the same of each case and cause.
    let json = read(&changes.join("changes.json"));
    for file in ["changes.md", "changes.html"] {
        let shown = std::fs::read_to_string(changes.join(file)).expect("a file");
        let names = ["causes", "cases"].into_iter().flat_map(|list| json[list].as_array().expect("a list"));
        for name in names.map(|entry| entry.get("case").or_else(|| entry.get("cause")).expect("a name")) {
            let name = name.as_str().expect("a name");
            let is_told = text.contains(name) || text.contains("--report DIR lists all");
            assert!(shown.contains(name) && is_told, "{file} does not say {name}");
        }
    }
    what_is_worse_is_shown(
        &text,
        &json,
        &std::fs::read_to_string(changes.join("changes.md")).expect("a file"),
    );
    (status(&output), text, json)
}

/// Whatever is worse has a line that shows it, in all forms.
fn what_is_worse_is_shown(text: &str, json: &Value, markdown: &str) {
    let cases = json["cases"].as_array().expect("cases").iter().filter(|case| case["change"] == "worse");
    for name in cases.map(|case| case["case"].as_str().expect("a name")) {
        let mut after =
            text.lines().skip_while(|line| !line.starts_with(&format!("worse    {name}: "))).skip(1);
        assert!(after.next().is_some_and(|line| line.starts_with("         + ")), "{text}");
        let row = markdown.lines().find(|line| line.starts_with(&format!("| worse | `{name}` |")));
        assert!(
            row.is_some_and(|row| !row.split('|').nth(4).unwrap_or_default().trim().is_empty()),
            "{markdown}"
        );
    }
}

fn case<'r>(report: &'r mut Value, id: &str) -> &'r mut Value {
    let cases = report["cases"].as_array_mut().expect("cases");
    cases.iter_mut().find(|case| case["id"] == id).expect("a case")
}

const LEAF: &str = "leaf/gnu-2.47/amd64/O2";
const REALIGN: &str = "realign/gnu-2.47/amd64/O2";

/// Moves what is known of a case to what is not.
fn unexplained(report: &mut Value) {
    let case = case(report, REALIGN);
    let known = case["known"].take();
    let findings: Vec<Value> =
        known.as_array().expect("known").iter().map(|seen| seen["finding"].clone()).collect();
    assert!(!findings.is_empty());
    case["known"] = json!([]);
    case["findings"] = json!(findings);
    case["outcome"] = json!("unexpected");
}

#[rstest]
#[case::nothing(0, "0 worse, 0 new, 0 changed, 0 better, 0 gone", "", |_: &mut Value| {})]
#[case::a_finding_that_nobody_explains(1, "1 worse", REALIGN, unexplained)]
#[case::a_case_that_is_broken(1, "1 worse", "+ broken: the program was killed", |report: &mut Value| {
    case(report, LEAF)["outcome"] = json!("broken");
    case(report, LEAF)["reason"] = json!("the program was killed");
})]
#[case::more_findings_than_are_kept(1, "1 worse", "wrong-cfa: 7 findings that are only counted, not 0", |report: &mut Value| {
    case(report, REALIGN)["findings_omitted"] = json!({"wrong-cfa": 7});
})]
#[case::a_row_that_is_not_exercised(1, "1 worse", "+ rows that were not exercised: 1, not 0", |report: &mut Value| {
    let rows = case(report, LEAF)["rows_exercised"].as_u64().expect("rows");
    case(report, LEAF)["rows_exercised"] = json!(rows - 1);
})]
#[case::a_walk_that_ends_silently(1, "1 worse", "+ walks that are silent or wrong: 1, not 0", |report: &mut Value| {
    let case = case(report, LEAF);
    let by = case["reliability_by_topmost"].as_object_mut().expect("an object").values_mut().next();
    let of = by.expect("a count");
    of["complete"] = json!(of["complete"].as_u64().expect("a number") - 1);
    of["silent"] = json!(of["silent"].as_u64().expect("a number") + 1);
})]
#[case::instructions_that_are_not_judged(1, "1 worse", "+ instructions that were not checked: ", |report: &mut Value| {
    let comparisons = case(report, LEAF)["comparisons"].as_u64().expect("a number");
    case(report, LEAF)["comparisons"] = json!(comparisons - 3);
})]
#[case::code_that_lost_its_fde(1, "1 worse", "+ executed without an FDE: leaf", |report: &mut Value| {
    case(report, LEAF)["uncovered"] = json!({"leaf": 3});
})]
#[case::fewer_rows_which_are_all_judged(1, "1 worse", "+ rows exercised: ", |report: &mut Value| {
    for rows in ["rows_total", "rows_exercised"] {
        let count = case(report, LEAF)[rows].as_u64().expect("rows");
        case(report, LEAF)[rows] = json!(count - 2);
    }
})]
#[case::a_case_that_the_same_selection_has_no_more(1, "1 worse", "not in the second report, was agree", |report: &mut Value| {
    report["cases"].as_array_mut().expect("cases").retain(|case| case["id"] != LEAF);
})]
#[case::more_places_of_a_known_cause(0, "1 changed", "places, not", |report: &mut Value| {
    let places = case(report, REALIGN)["known"][0]["places"].as_u64().expect("a number");
    case(report, REALIGN)["known"][0]["places"] = json!(places + 1);
})]
#[case::a_row_that_is_wrong_otherwise(0, "1 changed", ": wrong otherwise: CFA = SP+4096, ", |report: &mut Value| {
    case(report, REALIGN)["known"][0]["finding"]["row"]["rules"] = json!("CFA = SP+4096, RA = *(CFA-8), FP unchanged");
})]
#[case::a_case_that_is_gone(0, "1 gone", "not in the second report, was agree", |report: &mut Value| {
    report["cases"].as_array_mut().expect("cases").retain(|case| case["id"] != LEAF);
    report["run"]["selection"]["spec"] = json!(["realign"]);
})]
#[case::a_fault_that_is_fixed(0, "1 changed", REALIGN, |report: &mut Value| {
    case(report, REALIGN)["known"] = json!([]);
    case(report, REALIGN)["outcome"] = json!("agree");
})]
#[case::nothing_in_common(3, "gone", LEAF, |report: &mut Value| {
    report["run"]["selection"]["spec"] = json!(["other-*"]);
    for case in report["cases"].as_array_mut().expect("cases") {
        case["id"] = json!(format!("other-{}", case["id"].as_str().expect("an ID")));
    }
})]
fn a_change_is_told(
    #[case] expected: i32,
    #[case] count: &str,
    #[case] said: &str,
    #[case] change: fn(&mut Value),
) {
    let (status, text, json) = compared(change);
    assert_eq!(status, expected, "{text}");
    assert!(text.contains(count) && text.contains(said), "{text}");
    let unchanged = json["unchanged"].as_u64().expect("a number");
    let cases = json["cases"].as_array().expect("cases").len() as u64;
    if expected != 3 {
        assert_eq!(unchanged + cases, json["cases_of"][0].as_u64().expect("a number"), "{text}");
    }
}

/// What nobody has explained is worse at more places, better at fewer, and neither where it is only recognised now.
#[rstest]
#[case::more(1, None, 1, "1 worse", "+ wrong-")]
#[case::fewer(0, None, -1, "1 better", "- wrong-")]
#[case::recognised(0, Some("a-fault"), 0, "0 worse", "matches known bug a-fault (unexplained)")]
#[case::recognised_and_more(1, Some("a-fault"), 1, "1 worse", "matches known bug a-fault: 8 places, not 7")]
fn places_of_a_cause_are_compared(
    #[case] expected: i32,
    #[case] fault: Option<&str>,
    #[case] more: i64,
    #[case] count: &str,
    #[case] said: &str,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut report = report(&folder.path().join("known"));
    unexplained(&mut report);
    case(&mut report, REALIGN)["findings"][0]["places"] = json!(7);
    case(&mut report, REALIGN)["findings"].as_array_mut().expect("findings").truncate(1);
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("before.json"), report.to_string()).expect("a file");
    let finding = &mut case(&mut report, REALIGN)["findings"][0];
    finding["places"] = json!(7 + more);
    if let Some(fault) = fault {
        finding["fault"] = json!({"name": fault, "title": "t", "component": "c", "upstream": "unreported"});
    }
    std::fs::write(path("after.json"), report.to_string()).expect("a file");
    let output = bench(&["compare", &path("before.json"), &path("after.json"), "--report", &path("changes")]);
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert!(status(&output) == expected && text.contains(count) && text.contains(said), "{text}");
    assert_eq!(more != 0, text.contains(&format!(": {} places, not 7", 7 + more)), "{text}");
    let read_text =
        |name: &str| std::fs::read_to_string(folder.path().join("changes").join(name)).expect("a file");
    what_is_worse_is_shown(
        &text,
        &read(&folder.path().join("changes/changes.json")),
        &read_text("changes.md"),
    );
}

#[test]
fn causes_are_counted_by_case() {
    let (_, text, json) = compared(unexplained);
    let causes = json["causes"].as_array().expect("causes");
    let new: Vec<&Value> = causes.iter().filter(|cause| cause["change"] == "new").collect();
    assert!(!new.is_empty() && new.iter().all(|cause| cause["known"] == false), "{text}");
    // What nobody has explained comes first.
    assert_eq!(causes[0]["known"], false, "{text}");
}

#[rstest]
#[case::it_is_broken(1, |report: &mut Value| {
    case(report, REALIGN)["known"] = json!([]);
    case(report, REALIGN)["outcome"] = json!("broken");
    case(report, REALIGN)["reason"] = json!("the budget is spent");
})]
#[case::it_was_not_run(0, |report: &mut Value| {
    report["run"]["selection"]["spec"] = json!(["leaf"]);
    report["cases"].as_array_mut().expect("cases").retain(|case| case["id"] != REALIGN);
})]
fn what_was_not_judged_is_not_gone(#[case] expected: i32, #[case] change: fn(&mut Value)) {
    let (status, text, json) = compared(change);
    assert_eq!(status, expected, "{text}");
    assert_eq!(json["causes"], json!([]), "{text}");
    assert!(json["cases"][0].get("gone").is_none() && !text.contains("- wrong-fp"), "{text}");
    if expected == 1 {
        assert!(text.contains("broken (the budget is spent), was known"), "{text}");
    }
}

#[test]
fn cases_of_one_report_alone_are_not_all_listed() {
    let (_, text, json) = compared(|report| {
        let one = case(report, LEAF).clone();
        report["cases"].as_array_mut().expect("cases").extend((0..50).map(|number| {
            let mut one = one.clone();
            one["id"] = json!(format!("{LEAF}-{number}"));
            one
        }));
    });
    assert_eq!(json["cases"].as_array().map(Vec::len), Some(50));
    assert_eq!(text.matches("not in the first report").count(), 20, "{text}");
    assert!(text.contains("and 30 more cases"), "{text}");
}

/// A report of a file that proves nothing, or less than was demanded, does not agree.
#[rstest]
#[case::nothing_compared("check", "too_little", json!(["nothing was compared"]), "too little checked (nothing was compared)")]
#[case::less_than_demanded("check", "unmet", json!("too few functions"), "less covered than demanded (too few functions)")]
#[case::nothing_judged("explore", "summary/rows_checked", json!(0), "nothing checked")]
fn a_report_that_proves_nothing_is_worse(
    #[case] command: &str,
    #[case] key: &str,
    #[case] value: Value,
    #[case] said: &str,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut report = report_of_leaf(folder.path(), command);
    let (parent, key) = key.rsplit_once('/').unwrap_or(("", key));
    let parent = if parent.is_empty() { String::new() } else { format!("/{parent}") };
    report.pointer_mut(&parent).expect("an object")[key] = value;
    std::fs::write(path("after.json"), report.to_string()).expect("a file");
    let compare = |before: &str, after: &str| {
        let output = bench(&["compare", &path(before), &path(after)]);
        (status(&output), String::from_utf8(output.stdout).expect("text"))
    };
    let (status, text) = compare("before", "after.json");
    assert!(status == 1 && text.contains(&format!("{said}, was agree")), "{text}");
    assert!(text.contains("\n         + ") && !text.contains("exercised"), "{text}");
    let (status, text) = compare("after.json", "before");
    assert!(status == 0 && text.contains("1 better"), "{text}");
    // What is covered less is judged all the same.
    let expected = if key == "unmet" { 0 } else { 3 };
    let (status, text) = compare("after.json", "after.json");
    assert!(status == expected && text.contains("1 unchanged"), "{text}");
    // What is broken is worse than that.
    report["broken"] = json!("the program was killed");
    std::fs::write(path("broken.json"), report.to_string()).expect("a file");
    let (status, text) = compare("after.json", "broken.json");
    assert!(status == 1 && text.contains("broken (the program was killed), was "), "{text}");
    let (status, text) = compare("broken.json", "after.json");
    assert!(status == expected && text.contains("1 better"), "{text}");
}

/// What `check` has counted beside findings gets worse, too.
#[rstest]
#[case::fdes("missing", json!({"f": 3}), "instructions that could have an FDE, and have none: 3, not 0")]
#[case::unused_rows(
    "rows_explored", json!({"agree": 0, "wrong": 1, "undecided": 0}), "rows that did not run, and are wrong: 1, not 0"
)]
#[case::comparisons("comparisons", json!(1), "instructions that were not checked: ")]
fn what_a_check_counts_may_be_worse(#[case] key: &str, #[case] value: Value, #[case] said: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut report = report_of_leaf(folder.path(), "check");
    report["summary"][key] = value;
    std::fs::write(path("after.json"), report.to_string()).expect("a file");
    for (reports, sign, expected) in [(["before", "after.json"], '+', 1), (["after.json", "before"], '-', 0)]
    {
        let output = bench(&["compare", &path(reports[0]), &path(reports[1])]);
        let text = String::from_utf8(output.stdout.clone()).expect("text");
        assert_eq!(status(&output), expected, "{text}");
        let said = if expected == 1 { said } else { said.split(':').next().unwrap_or_default() };
        assert!(text.contains(&format!("\n         {sign} {said}")), "{text}");
    }
}

/// An exploration that agrees in part only, or leaves rows undecided, is worse; and so is the same code with fewer rows.
#[rstest]
#[case::in_part("rows_partly", 1, 1, "rows that agree in part only: 1, not 0")]
#[case::undecided("rows_total", 1, 1, "rows that were not checked: ")]
#[case::fewer("both", -2, 1, "rows checked: ")]
fn what_exploring_counts_may_be_worse(
    #[case] key: &str,
    #[case] more: i64,
    #[case] expected: i32,
    #[case] said: &str,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut report = report_of_leaf(folder.path(), "explore");
    let keys = if key == "both" { &["rows_total", "rows_checked"][..] } else { &[key] };
    for key in keys {
        let count = report["summary"][key].as_i64().expect("a number");
        report["summary"][key] = json!(count + more);
    }
    std::fs::write(path("after.json"), report.to_string()).expect("a file");
    let output = bench(&["compare", &path("before"), &path("after.json")]);
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    assert!(status(&output) == expected && text.contains(said), "{text}");
}

/// What was not run for that is not gone, in any gate.
#[test]
fn a_run_that_was_interrupted_is_compared_with_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = folder.path().join("before");
    let mut after = report(&before);
    after["interrupted"] = true.into();
    let path = folder.path().join("after.json");
    std::fs::write(&path, after.to_string()).expect("a file");
    let name = |path: &Path| path.to_str().expect("a path").to_owned();
    let (before, after, new) = (name(&before), name(&path), name(&folder.path().join("new")));
    for command in
        [&["compare", &before, &after][..], &["merge", &after], &["baseline", "create", &new, &after]]
    {
        let output = bench(command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(status(&output), 2, "{command:?}: {said}");
        assert!(said.contains("the run was interrupted"), "{command:?}: {said}");
    }
}

/// Both are as they were, and neither shows anything.
#[test]
fn what_could_not_be_judged_is_no_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("broken").display().to_string();
    let run = ["run", "--spec", "leaf", "--toolchain", "gnu-2.47", "--abi", "amd64", "--budget", "10"];
    assert_eq!(status(&bench(&[&run[..], &["--report", &path]].concat())), 4);
    let output = bench(&["compare", &path, &path]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(status(&output), 3, "{text}");
    assert!(text.contains("INCONCLUSIVE: the second report has judged no case that both have\n"), "{text}");
}

/// Nor is what a folder or a program has shown when somebody stops it.
#[test]
fn what_was_not_judged_to_its_end_is_compared_with_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(path("files")).expect("a folder");
    std::fs::copy(leaf(), path("files/leaf")).expect("a file");
    for words in [&["explore", &path("files")][..], &["explore", &leaf()], &["check", &leaf()]] {
        let output = bench(&[words, &["--json"]].concat());
        let mut report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        std::fs::write(path("before.json"), report.to_string()).expect("a file");
        assert_eq!(status(&bench(&["compare", &path("before.json"), &path("before.json")])), 0, "{words:?}");
        report["verdict"] = "INTERRUPTED".into();
        std::fs::write(path("after.json"), report.to_string()).expect("a file");
        for [before, after] in [["before.json", "after.json"], ["after.json", "after.json"]] {
            let output = bench(&["compare", &path(before), &path(after)]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(status(&output) == 2 && said.contains("was interrupted"), "{words:?}: {said}");
        }
    }
}

/// What one `--from` has judged another one has not.
#[test]
fn reports_about_other_sections_are_not_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    for from in ["sframe", "eh-frame"] {
        assert_eq!(status(&bench(&["check", &leaf(), "--from", from, "--report", &path(from)])), 0);
    }
    let output = bench(&["compare", &path("sframe"), &path("eh-frame")]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(status(&output) == 2 && said.contains("with the same --from"), "{said}");
}

/// `--quiet` says only what is wrong.
#[test]
fn a_quiet_comparison_says_what_is_worse() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = folder.path().join("before");
    let mut after = report(&before);
    unexplained(&mut after);
    std::fs::write(folder.path().join("after.json"), after.to_string()).expect("a file");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let same = bench(&["compare", "-q", &path("before"), &path("before")]);
    assert_eq!((status(&same), &*same.stdout), (0, &b""[..]));
    let worse = bench(&["compare", "-q", &path("before"), &path("after.json")]);
    assert!(status(&worse) == 1 && String::from_utf8_lossy(&worse.stdout).contains("1 worse"), "{worse:?}");
}
