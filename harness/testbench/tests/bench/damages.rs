//! Nothing that gets worse passes a gate, and nothing that is fine is stopped by one: whatever a gate holds is damaged, in
//! each way and in each case, and so is what it need not hold. The table of the guide says what is promised.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{bench, bench_in, conclusion, json as document, status};
use crate::common::repository;
use crate::damaged_builds::remove_section;
use crate::damaged_readers::fails_in_each_format;
use crate::reports::{index, unpacked};
use crate::{damaged_builds, damaged_readers};

/// The cases that a damage is done to, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// All of them.
    Any,
    /// Those with a finding that nobody explains, as in the baseline.
    Failing,
    /// Those without one.
    Agreeing,
    /// The one that an unwinder in a process of its own has walked; none of the others has.
    Unwound,
    /// The whole report, once.
    Report,
}

/// What becomes of a report.
struct Damage {
    /// In a sentence, as in the guide.
    what: &'static str,
    of: Of,
    /// Changes a case, or the report.
    does: fn(&mut Value),
    /// The status of `compare`, of `run` and `merge` with a baseline, and of `baseline update`.
    ends: [i32; 3],
}

const WORSE: [i32; 3] = [1; 3];
const FINE: [i32; 3] = [0; 3];

const fn damage(what: &'static str, of: Of, does: fn(&mut Value), ends: [i32; 3]) -> Damage {
    Damage { what, of, does, ends }
}

fn add(value: &mut Value, more: i64) {
    *value = json!(value.as_i64().expect("a number") + more);
}

fn first_finding(case: &mut Value) -> &mut Value {
    &mut case["findings"][0]
}

fn walks(case: &mut Value) -> &mut Value {
    case["reliability_by_topmost"].as_object_mut().expect("an object").values_mut().next().expect("walks")
}

/// A finding that is not there.
fn a_finding(function: &str) -> Value {
    json!({
        "verdict": "wrong-cfa", "pc": "0x401000", "image": null, "function": function, "frame": 0, "hits": 1,
        "row": {"start": "0x0", "rules": "CFA = SP+8, RA = *(CFA-8), FP unchanged"}, "expected": "0x0", "got": "0x8",
        "instruction": null, "blame": "unknown", "confidence": "low", "evidence": [], "listing": [], "stack": null,
        "message": ""
    })
}

fn add_finding(case: &mut Value, finding: Value) {
    case["findings"].as_array_mut().expect("findings").push(finding);
    case["outcome"] = json!("unexpected");
}

/// Moves the first finding to another function, of the same name.
fn of_another(case: &mut Value) {
    first_finding(case)["code"] = json!({"digest": "0123456789abcdef", "is_only": false});
}

const DAMAGES: &[Damage] = &[
    damage("a case is broken", Of::Any, |case| case["outcome"] = json!("broken"), WORSE),
    damage("a case is skipped", Of::Any, |case| case["outcome"] = json!("skipped"), WORSE),
    damage("a case is gone that the selection has", Of::Any, |case| *case = Value::Null, WORSE),
    damage(
        "a case has another name",
        Of::Any,
        |case| case["id"] = json!("realign/gnu-2.47/amd64/other"),
        WORSE,
    ),
    damage("a case is there twice", Of::Any, |case| *case = json!([case.clone(), case.clone()]), [2; 3]),
    damage("a finding is new", Of::Any, |case| add_finding(case, a_finding("f")), WORSE),
    damage(
        "a finding is in a library now",
        Of::Failing,
        |case| first_finding(case)["image"] = json!("libx.so"),
        WORSE,
    ),
    damage(
        "a finding is in another function",
        Of::Failing,
        |case| first_finding(case)["function"] = json!("g"),
        WORSE,
    ),
    damage("a finding is in another function of the same name", Of::Failing, of_another, WORSE),
    damage(
        "a finding is in a second function of the same name as well",
        Of::Failing,
        |case| {
            let finding = case["findings"][0].clone();
            add_finding(case, finding);
            of_another(case);
        },
        WORSE,
    ),
    damage(
        "a finding is in another row",
        Of::Failing,
        |case| first_finding(case)["row"]["start"] = json!("0x4000"),
        WORSE,
    ),
    damage(
        "a row is wrong by other rules",
        Of::Failing,
        |case| first_finding(case)["row"]["rules"] = json!("CFA = SP+4096, RA = *(CFA-8), FP unchanged"),
        WORSE,
    ),
    damage(
        "a CFA is wrong by another amount",
        Of::Failing,
        |case| {
            let finding = first_finding(case);
            for (key, value) in [("verdict", "wrong-cfa"), ("expected", "0x1000"), ("got", "0xfe0")] {
                finding[key] = json!(value);
            }
        },
        WORSE,
    ),
    damage(
        "a row is wrong in another way",
        Of::Failing,
        |case| first_finding(case)["verdict"] = json!("wrong-ra"),
        WORSE,
    ),
    damage(
        "a row is wrong at more places",
        Of::Failing,
        |case| add(&mut first_finding(case)["places"], 1),
        WORSE,
    ),
    damage(
        "findings are only counted",
        Of::Any,
        |case| {
            case["findings_omitted"] = json!({"wrong-ra": 3});
            case["outcome"] = json!("unexpected");
        },
        WORSE,
    ),
    damage("fewer rows are exercised", Of::Any, |case| add(&mut case["rows_exercised"], -1), WORSE),
    damage(
        "a table has lost rows that were exercised",
        Of::Any,
        |case| {
            add(&mut case["rows_exercised"], -2);
            add(&mut case["rows_total"], -2);
        },
        WORSE,
    ),
    damage("more rows are not exercised", Of::Any, |case| add(&mut case["rows_total"], 1), WORSE),
    damage(
        "code has run that has no FDE any more",
        Of::Any,
        |case| case["uncovered"] = json!({"f": 3}),
        WORSE,
    ),
    damage(
        "more of a function has run that has no FDE",
        Of::Agreeing,
        |case| add(&mut case["uncovered"]["bare"], 1),
        WORSE,
    ),
    damage("a stop of the spec is not reached any more", Of::Any, |case| add(&mut case["stops"], -1), WORSE),
    damage("no signal is delivered any more", Of::Any, |case| case["signals"]["delivered"] = json!(0), WORSE),
    damage(
        "no row is used as a caller's any more",
        Of::Agreeing,
        |case| case["rows_exercised_as_caller"] = json!(0),
        WORSE,
    ),
    damage(
        "an unwinder gives no CFA any more",
        Of::Unwound,
        |case| add(&mut case["unwinder"]["cfa_untold"], 1),
        WORSE,
    ),
    damage(
        "an unwinder does not say any more which frames were interrupted",
        Of::Unwound,
        |case| case["unwinder"]["interrupted_told"] = json!(0),
        WORSE,
    ),
    damage(
        "fewer frames of an unwinder are compared",
        Of::Unwound,
        |case| add(&mut case["unwinder"]["frames"], -1),
        WORSE,
    ),
    damage(
        "a walk is not complete any more",
        Of::Any,
        |case| {
            add(&mut walks(case)["complete"], -1);
            add(&mut walks(case)["incomplete"], 1);
        },
        WORSE,
    ),
    damage("a walk ends silently", Of::Any, |case| add(&mut walks(case)["silent"], 1), WORSE),
    damage("a walk is wrong", Of::Any, |case| add(&mut walks(case)["wrong"], 1), WORSE),
    damage("fewer instructions are judged", Of::Any, |case| add(&mut case["comparisons"], -1), WORSE),
    damage(
        "backtraces need not be complete any more",
        Of::Report,
        |report| report["run"]["options"]["require_reliable"] = json!(true),
        [2; 3],
    ),
    damage(
        "the unwinder is asked at other stops",
        Of::Report,
        |report| report["run"]["unwinder"]["stops_per_case"] = json!("0"),
        [2; 3],
    ),
    damage(
        "rows that did not run are not explored any more",
        Of::Report,
        |report| report["run"]["options"]["no_explore"] = json!(true),
        [2; 3],
    ),
    damage("the report has another format", Of::Report, |report| report["schema"] = json!(99), [2; 3]),
    damage(
        "all cases are gone",
        Of::Report,
        |report| {
            report["cases"] = json!([]);
            report["selected"] = json!(0);
        },
        WORSE,
    ),
];

const HARMLESS: &[Damage] = &[
    damage("nothing has changed", Of::Report, |_| (), FINE),
    damage(
        "cases are in another order",
        Of::Report,
        |report| report["cases"].as_array_mut().expect("cases").reverse(),
        FINE,
    ),
    damage("it took another time", Of::Any, |case| case["seconds"] = json!(100), FINE),
    damage(
        "it was made elsewhere",
        Of::Report,
        |report| report["provenance"]["host"] = json!("another"),
        FINE,
    ),
    damage(
        "it was made by another command",
        Of::Report,
        |report| report["provenance"]["command"] = json!("x"),
        FINE,
    ),
    damage(
        "it was made on another day",
        Of::Report,
        |report| report["run"]["date"] = json!("2030-01-01"),
        FINE,
    ),
    damage(
        "files are in another folder",
        Of::Any,
        |case| case["reproduce"] = json!("run --corpus /elsewhere"),
        FINE,
    ),
    damage(
        "a finding was seen more often",
        Of::Failing,
        |case| add(&mut first_finding(case)["hits"], 5),
        FINE,
    ),
    damage(
        "a finding is said otherwise",
        Of::Failing,
        |case| first_finding(case)["message"] = json!("x"),
        FINE,
    ),
    damage(
        "a function is at another address",
        Of::Failing,
        |case| first_finding(case)["pc"] = json!("0x500000"),
        FINE,
    ),
    damage(
        "a finding is in another frame first",
        Of::Failing,
        |case| first_finding(case)["frame"] = json!(3),
        FINE,
    ),
    damage(
        "less is said of a finding",
        Of::Failing,
        |case| first_finding(case)["evidence"] = json!([]),
        FINE,
    ),
    damage("less code is listed", Of::Failing, |case| first_finding(case)["listing"] = json!([]), FINE),
    damage("the stack is not shown", Of::Failing, |case| first_finding(case)["stack"] = Value::Null, FINE),
    damage(
        "the one function of a name was compiled again",
        Of::Failing,
        |case| first_finding(case)["code"] = json!({"digest": "0123456789abcdef", "is_only": true}),
        FINE,
    ),
    damage(
        "another function has the name of one with a finding",
        Of::Failing,
        |case| first_finding(case)["code"]["is_only"] = json!(false),
        FINE,
    ),
    damage(
        "a finding has the name of a known bug now",
        Of::Failing,
        |case| {
            first_finding(case)["fault"] =
                json!({"name": "a-fault", "title": "t", "component": "c", "upstream": "unreported"});
        },
        FINE,
    ),
    damage(
        "findings are in another order",
        Of::Failing,
        |case| case["findings"].as_array_mut().expect("findings").reverse(),
        FINE,
    ),
    damage(
        "a row is wrong at fewer places",
        Of::Failing,
        |case| first_finding(case)["places"] = json!(1),
        FINE,
    ),
    damage(
        "a finding is gone",
        Of::Failing,
        |case| drop(case["findings"].as_array_mut().expect("findings").remove(0)),
        FINE,
    ),
    damage(
        "nothing is found any more",
        Of::Failing,
        |case| {
            case["findings"] = json!([]);
            case["outcome"] = json!("agree");
        },
        FINE,
    ),
    damage("more frames were compared", Of::Any, |case| add(&mut case["frames"], 10), FINE),
    damage("stacks were deeper", Of::Any, |case| add(&mut case["max_depth"], 1), FINE),
    damage("other calls were seen", Of::Any, |case| case["control_flow"] = json!({"calls": 1}), FINE),
    damage("walks were traced otherwise", Of::Any, |case| case["traces"] = json!({}), FINE),
    damage("more stops were made", Of::Any, |case| add(&mut case["stops"], 1), FINE),
    damage(
        "a case is new, and agrees",
        Of::Agreeing,
        |case| {
            let mut new = case.clone();
            new["id"] = json!(format!("{}-new", new["id"].as_str().expect("an ID")));
            *case = json!([case.clone(), new]);
        },
        FINE,
    ),
];

/// Where a report and its baseline are, before and after.
struct Files {
    folder: TempDir,
    report: Value,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("run");
        let place = place.to_str().expect("a path");
        // One part of one is a whole run, which `merge` takes.
        let selection =
            ["run", "--spec", "re[ac][lu]*", "--toolchain", "gnu-2.47", "--abi", "amd64", "--shard", "1/1"];
        let output = bench(&[&selection[..], &["--report", place]].concat());
        assert_eq!(status(&output), 0, "{output:?}");
        let text = std::fs::read(folder.path().join("run/report.json")).expect("a report");
        let mut report: Value = serde_json::from_slice(&text).expect("JSON");
        // What is known is not, so that some cases fail as they do in the baseline.
        for case in report["cases"].as_array_mut().expect("cases") {
            let known = case["known"].take();
            case["known"] = json!([]);
            let findings = known.as_array().expect("known").iter().map(|seen| seen["finding"].clone());
            let mut findings: Vec<Value> = findings.collect();
            for finding in &mut findings {
                finding["places"] = json!(7);
                finding["code"] = json!({"digest": "fedcba9876543210", "is_only": true});
            }
            if !findings.is_empty() {
                case["outcome"] = json!("unexpected");
            }
            case["findings"] = json!(findings);
            case["uncovered"] = json!({"bare": 2});
            case["signals"]["delivered"] = json!(5);
            case["rows_exercised_as_caller"] = json!(2);
        }
        let engine = env!("CARGO_BIN_EXE_sframe-engine-unwinder");
        let walked = document(&bench(&[
            "run",
            "--spec",
            "leaf",
            "--toolchain",
            "gnu-2.47",
            "--abi",
            "amd64",
            "--variant",
            "O2",
            "--json",
            "--unwinder",
            engine,
        ]));
        let cases = report["cases"].as_array_mut().expect("cases");
        cases.push(walked["cases"][0].clone());
        let count = cases.len();
        report["selected"] = json!(count);
        let files = Self { folder, report };
        files.start_from(files.report.clone());
        files
    }

    /// Makes a report the one before, and the baseline that of it.
    fn start_from(&self, mut before: Value) {
        self.write("before.json", &before);
        before["shard"] = Value::Null;
        self.write("whole.json", &before);
        let [baseline, whole] = ["baseline.json", "whole.json"].map(|name| self.path(name));
        let _ = std::fs::remove_file(&baseline);
        let output = bench(&["baseline", "create", &baseline, &whole]);
        assert_eq!(status(&output), 0, "{output:?}");
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, document: &Value) {
        std::fs::write(self.folder.path().join(name), document.to_string()).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The positions of the cases that a damage is done to; one for a report.
    fn cases(&self, of: Of) -> Vec<usize> {
        let cases = self.report["cases"].as_array().expect("cases");
        let is_failing = |case: &Value| !case["findings"].as_array().expect("findings").is_empty();
        let all = cases.iter().enumerate();
        let all = all.filter(|(_, case)| of == Of::Unwound || case["unwinder"].is_null());
        match of {
            Of::Any => all.map(|(index, _)| index).collect(),
            Of::Unwound => {
                all.filter(|(_, case)| !case["unwinder"].is_null()).map(|(index, _)| index).collect()
            }
            Of::Failing => all.filter(|(_, case)| is_failing(case)).map(|(index, _)| index).collect(),
            Of::Agreeing => all.filter(|(_, case)| !is_failing(case)).map(|(index, _)| index).collect(),
            Of::Report => vec![0],
        }
    }

    /// Does a damage to a case, of which a finding may be gone, and writes what comes out.
    fn damaged(&self, damage: &Damage, index: usize, is_better: bool) {
        let mut report = self.report.clone();
        if is_better {
            report["cases"][index]["findings"].as_array_mut().expect("findings").pop().expect("a finding");
        }
        if damage.of == Of::Report {
            (damage.does)(&mut report);
        } else {
            let cases = report["cases"].as_array_mut().expect("cases");
            (damage.does)(&mut cases[index]);
            match cases.remove(index) {
                Value::Null => {}
                Value::Array(several) => cases.extend(several),
                case => cases.insert(index, case),
            }
            let count = cases.len();
            report["selected"] = json!(count);
        }
        self.write("after.json", &report);
    }

    /// What `compare`, `merge --baseline` and `baseline update` say, and which formats do not say the same as the status.
    fn judged(&self) -> ([i32; 3], Vec<String>) {
        let path = |name: &str| self.path(name);
        let compared = status(&bench(&["compare", &path("before.json"), &path("after.json")]));
        let _ = std::fs::remove_dir_all(self.folder.path().join("merged"));
        let arguments =
            ["merge", &path("after.json"), "--baseline", &path("baseline.json"), "--report", &path("merged")];
        let merged = bench(&arguments);
        std::fs::copy(self.folder.path().join("baseline.json"), self.folder.path().join("tight.json"))
            .expect("a copy");
        let updated = status(&bench(&["baseline", "update", &path("tight.json"), &path("after.json")]));
        let statuses = [compared, status(&merged), updated];
        let wrong =
            if statuses[1] == 2 { Vec::new() } else { self.contradicting(&merged.stdout, statuses[1] != 0) };
        (statuses, wrong)
    }

    /// The formats that do not fail where the status does, or the other way round.
    fn contradicting(&self, text: &[u8], fails: bool) -> Vec<String> {
        let sarif: Value = serde_json::from_str(&self.read("merged/report.sarif")).expect("JSON");
        let run = &sarif["runs"][0];
        let results = run["results"].as_array().expect("results").iter();
        let is_open = |result: &&Value| result["suppressions"].is_null();
        let succeeded = run["invocations"][0]["executionSuccessful"] == true;
        let junit = self.read("merged/junit.xml");
        let head = junit.lines().find(|line| line.starts_with("<testsuites ")).expect("a head");
        let is_good_in_junit = head.contains(" failures=\"0\"") && head.contains(" errors=\"0\"");
        let summary = self.read("merged/summary.md");
        let first = summary.lines().next().unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        let last = conclusion(&text);
        let page = unpacked(index(&self.read("merged/report.html")));
        let says = [
            ("report.sarif", results.filter(is_open).count() > 0 || !succeeded),
            ("junit.xml", !is_good_in_junit),
            ("summary.md", !first.ends_with(": PASS")),
            ("report.html", page["worse"].as_object().is_some_and(|worse| !worse.is_empty())),
            ("the last lines", !last.starts_with("PASS: ")),
        ];
        let wrong = says.iter().filter(|(_, says)| *says != fails);
        wrong.map(|(name, _)| format!("{name} says otherwise ({first}; {last})")).collect()
    }
}

/// Does each damage to each case that it can be done to. Returns how many there were, and what went wrong.
fn all(damages: &[Damage], files: &Files) -> (usize, Vec<String>) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for damage in damages {
        let cases = files.cases(damage.of);
        assert!(!cases.is_empty(), "{}: it is done to nothing", damage.what);
        // Nothing that is better makes up for what is worse.
        let better = files.cases(Of::Failing).into_iter().take(1).filter(|_| damage.of == Of::Any);
        let all = cases.into_iter().map(|index| (index, false)).chain(better.map(|index| (index, true)));
        for (index, is_better) in all {
            count += 1;
            files.damaged(damage, index, is_better);
            let (ends, formats) = files.judged();
            let also = if is_better { ", and a finding is gone" } else { "" };
            let what = format!("{}{also} ({index})", damage.what);
            if ends != damage.ends {
                wrong.push(format!("{what}: {ends:?}, not {:?}", damage.ends));
            }
            wrong.extend(formats.into_iter().map(|format| format!("{what}: {format}")));
        }
    }
    (count, wrong)
}

#[test]
fn whatever_gets_worse_is_stopped_by_each_gate_and_shown_in_each_format() {
    let (count, wrong) = all(DAMAGES, &Files::new());
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 300, "{count} damages");
}

#[test]
fn nothing_that_is_fine_is_stopped_by_a_gate() {
    let (count, wrong) = all(HARMLESS, &Files::new());
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 200, "{count} changes");
}

/// A case that was skipped or broken has looked for nothing: what it finds later is new.
#[test]
fn what_is_found_where_nobody_has_looked_is_new() {
    let files = Files::new();
    let index = files.cases(Of::Failing)[0];
    for outcome in ["skipped", "broken"] {
        let mut before = files.report.clone();
        before["cases"][index]["outcome"] = json!(outcome);
        before["cases"][index]["findings"] = json!([]);
        files.start_from(before);
        files.write("after.json", &files.report);
        assert_eq!(files.judged(), (WORSE, Vec::new()), "{outcome}");
    }
}

/// What could not be judged has not had less.
#[test]
fn what_agrees_again_is_better() {
    let files = Files::new();
    let mut before = files.report.clone();
    let case = &mut before["cases"][files.cases(Of::Agreeing)[0]];
    case["outcome"] = json!("broken");
    for count in ["rows_total", "rows_exercised", "comparisons", "instructions", "stops"] {
        case[count] = json!(0);
    }
    files.start_from(before);
    files.write("after.json", &files.report);
    assert_eq!(files.judged(), (FINE, Vec::new()));
}

/// What is done to an entry, in a sentence; and the status of `check`.
type OfEntry = (&'static str, fn(&mut Value), i32);

/// What is done to each entry of a list of known findings.
const OF_LISTS: &[OfEntry] = &[
    ("an entry is gone", |entry| *entry = Value::Null, 1),
    ("an entry is there twice", |entry| *entry = json!([entry.clone(), entry.clone()]), 2),
    ("an entry has another verdict", |entry| entry["verdict"] = json!("wrong-ra"), 1),
    ("an entry is of another function", |entry| entry["function"] = json!("another"), 1),
    ("an entry is of a library", |entry| entry["function"] = json!("libx.so!f"), 1),
    (
        "the only function of its name was compiled again",
        |entry| entry["code"] = json!("0123456789abcdef"),
        0,
    ),
    ("an entry is of another row", |entry| entry["row"] = json!("0x4000"), 1),
    (
        "an entry has other rules",
        |entry| entry["rules"] = json!({"CFA = SP+8, RA = *(CFA-8), FP unchanged": 1}),
        1,
    ),
    (
        "an entry lacks one of its rules, or has another one",
        |entry| {
            let rules = entry["rules"].as_object_mut().expect("rules");
            let first = rules.keys().next().expect("a rule").clone();
            match rules.len() {
                1 => drop(rules.insert("no row".to_owned(), json!(1))),
                _ => drop(rules.remove(&first)),
            }
        },
        1,
    ),
    (
        "an entry has more places",
        |entry| {
            let places = entry["rules"].as_object_mut().expect("rules").values_mut().next().expect("places");
            add(places, 1);
        },
        1,
    ),
    ("an entry blames another component than its bug is of", |entry| entry["blame"] = json!("consumer"), 2),
    (
        "an entry blames another component",
        |entry| {
            entry["blame"] = json!("consumer");
            entry["reason"] = json!("It is a reason of some length.");
            entry.as_object_mut().expect("an entry").remove("fault");
        },
        1,
    ),
    ("an entry has no reason", |entry| entry["reason"] = json!(""), 2),
];

#[test]
fn whatever_a_list_of_known_findings_says_has_to_be_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let build = repository().join("corpus/builds/gnu-2.47/amd64/realign.O2");
    let build = build.to_str().expect("a path");
    let check = |more: &[&str]| bench_in(folder, &[&["check", build, "--no-explore"], more].concat());
    let report = document(&check(&["--write-known=known.yaml", "--json"]));
    for finding in report["findings"].as_array().expect("findings") {
        let code = &finding["code"];
        assert!(
            code["digest"].as_str().is_some_and(|digest| digest.len() == 16) && code["is_only"] == true,
            "{code}"
        );
    }
    let text = std::fs::read_to_string(folder.join("known.yaml")).expect("a list");
    let text = text.replace("reason: ''", "reason: It is a reason of some length.");
    let list: Value = serde_yaml::from_str(&text).expect("YAML");
    let write = |list: &Value| {
        std::fs::write(folder.join("known.yaml"), serde_yaml::to_string(list).expect("YAML"))
            .expect("a file");
    };
    write(&list);
    assert_eq!(status(&check(&["--known=known.yaml"])), 0);
    let count = list["known"].as_array().expect("entries").len();
    assert!(count >= 2);
    for (what, does, expected) in OF_LISTS {
        for index in 0..count {
            let mut damaged = list.clone();
            let entries = damaged["known"].as_array_mut().expect("entries");
            does(&mut entries[index]);
            match entries.remove(index) {
                Value::Null => {}
                Value::Array(several) => entries.extend(several),
                entry => entries.insert(index, entry),
            }
            write(&damaged);
            let output = check(&["--known=known.yaml", "--report=report"]);
            assert_eq!(status(&output), *expected, "{what} ({index}): {output:?}");
            if *expected == 1 {
                fails_in_each_format(&folder.join("report"), 1, what);
                let sarif = std::fs::read_to_string(folder.join("report/report.sarif")).expect("a log");
                let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
                let mut results = sarif["runs"][0]["results"].as_array().expect("results").iter();
                assert!(results.any(|result| result["suppressions"].is_null()), "{what}: report.sarif");
            }
        }
    }
}

/// A library whose table is gone has no rows that could be wrong.
#[test]
fn a_library_that_has_lost_its_table_is_worse() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let builds = repository().join("corpus/builds/gnu-2.47/amd64");
    let files = ["crossing.O2-dynamic", "crossing.O2-dynamic.first.so", "crossing.O2-dynamic.second.so"];
    for name in files {
        std::fs::copy(builds.join(name), folder.join(name)).expect("a copy");
    }
    let check =
        |more: &[&str]| status(&bench_in(folder, &[&["check", files[0], "--no-explore"], more].concat()));
    assert_eq!(check(&["--known-faults", "--coverage", "all"]), 0);
    assert_eq!(check(&["--known-faults", "--report", "before"]), 0);
    let mut library = std::fs::read(folder.join(files[1])).expect("a library");
    remove_section(&mut library);
    std::fs::write(folder.join(files[1]), library).expect("a library");
    assert_eq!(check(&["--report", "after"]), 0, "nobody has asked for it");
    assert_eq!(check(&["--coverage", "all", "--report", "demanded"]), 1);
    let read = |name: &str| std::fs::read_to_string(folder.join("demanded").join(name)).expect(name);
    for name in ["summary.md", "junit.xml", "report.sarif", "report.json"] {
        assert!(
            read(name).contains("executed in files without .sframe (crossing.O2-dynamic.first.so)"),
            "{name}"
        );
    }
    assert!(read("junit.xml").contains(" failures=\"1\""));
    let output = bench_in(folder, &["compare", "before", "after"]);
    assert_eq!(status(&output), 1, "{output:?}");
    let output = bench_in(folder, &["compare", "before", "demanded"]);
    assert_eq!(status(&output), 2, "other things were asked: {output:?}");
}

/// The tables of the page are those of this file.
#[test]
fn what_is_promised_is_what_is_tried() {
    let mut table = String::from(
        "| what has changed | `compare` | `run` and `merge` with `--baseline` | `baseline update` |\n|---|---|---|---|\n",
    );
    let names: BTreeSet<&str> = DAMAGES.iter().chain(HARMLESS).map(|damage| damage.what).collect();
    assert_eq!(names.len(), DAMAGES.len() + HARMLESS.len(), "each is there once");
    for Damage { what, ends: [compare, gate, update], .. } in DAMAGES.iter().chain(HARMLESS) {
        let _ = writeln!(table, "| {what} | {compare} | {gate} | {update} |");
    }
    table += "\n| what has changed in a list | `check --known` |\n|---|---|\n";
    for (what, _, status) in OF_LISTS {
        let _ = writeln!(table, "| {what} | {status} |");
    }
    table += &damaged_builds::promises();
    table += &damaged_readers::promises();
    let path = repository().join("harness/results/promises.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (text, old) = page.split_at(page.find("| what").expect("the first table"));
    if std::env::var_os("UPDATE_PROMISES").is_some() {
        std::fs::write(&path, [text, &table].concat()).expect("the page");
    } else {
        assert_eq!(old, table, "UPDATE_PROMISES=1 writes it");
    }
}
