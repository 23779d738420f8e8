//! What readers, rewriters of files, and checks of one program may lose: `vectors`, `links` and `compare` notice it. The
//! guide has the tables. The damages of linkers are the mistakes of the model linker, in the tests of `links`.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::command::{bench, bench_in, json as document, program, status};
use crate::common::repository;

/// What becomes of the answers of a reader, in a sentence; what `sed` does to them, a line each, of which the first is
/// that to `hello`; and the status of `vectors`.
type OfReader = (&'static str, &'static str, i32);

const OF_READERS: &[OfReader] = &[
    ("an answer is gone", "9d", 1),
    ("an answer is there twice", "3p", 4),
    ("an answer is garbage", "9s/.*/what/", 1),
    ("an answer is for another question", r#"9s/"id":9/"id":8/"#, 1),
    ("the reader ends at a question", "9q", 1),
    ("a CFA is computed from another register", r#"9s/"cfa":"SP/"cfa":"FP/"#, 1),
    ("a saved register is elsewhere", r#"9s/\*(CFA-/*(CFA-1/"#, 1),
    ("a register is unchanged that was saved", r#"9s/"ra":"\*(CFA-[0-9]*)"/"ra":"unchanged"/"#, 1),
    ("a return address is signed that is not", r#"s/"mangled":false/"mangled":true/"#, 1),
    ("a function is longer", r#"9s/"size":/"size":1/"#, 1),
    ("a function starts elsewhere", r#"9s/"start":"0x/"start":"0x1/"#, 1),
    ("a row is gone", r#"9s/{"start":0,[^}]*},//"#, 1),
    ("a row is there twice", r#"9s/\({"start":0,[^}]*},\)/\1\1/"#, 1),
    ("a row starts elsewhere", r#"9s/{"start":0,/{"start":1,/"#, 1),
    ("all functions are gone", r#"9s/"fdes":\[.*\],"lookups"/"fdes":[],"lookups"/"#, 1),
    ("a look-up finds another row", r#"9s/"row":0}/"row":1}/"#, 1),
    ("a look-up finds nothing", r#"9s/"fde":0,"row":0}/"fde":"none"}/"#, 1),
    ("look-ups are gone", r#"9s/"lookups":.*"steps"/"lookups":[],"steps"/"#, 1),
    ("steps are gone", r#"9s/"steps":.*/"steps":[]}}/"#, 1),
    ("a header has another count", r#"9s/"num_fdes":/"num_fdes":1/"#, 1),
    ("a header is of another version", r#"9s/"version":3/"version":2/"#, 1),
    ("a good section is refused", r#"9s/"section":.*/"section":{"error":"no"}}/"#, 1),
    ("all sections are unsupported", r#"1!s/"section":.*/"unsupported":"no"}/"#, 3),
    (
        "nothing but headers is answered",
        r#"1s/"section":\[.*\],/"section":["header"],/;1!s/,"fdes":.*/}}/"#,
        3,
    ),
    ("nothing about sections is answered", r#"1s/"section":\[.*\],/"section":[],/"#, 3),
    ("steps are not answered any more, and the reader says so", r#"1s/,"steps"//;1!s/,"steps":.*/}}/"#, 0),
    ("one section is unsupported", r#"9s/"section":.*/"unsupported":"no"}/"#, 0),
    ("the reader has another name", "1s/sframe-engine/other/", 0),
    ("the reader has another version", r#"1s/"version":"[^"]*"/"version":"9"/"#, 0),
    ("answers have spaces", "s/,/, /g", 0),
    ("nothing has changed", "", 0),
];

#[test]
fn what_gets_worse_of_a_reader_is_stopped() {
    let engine = env!("CARGO_BIN_EXE_sframe-engine-unwinder");
    let ask = |edit: &str| {
        let piped = format!("{engine} | sed -u {}", shlex::try_quote(edit).expect("no zeroes"));
        let reader = shlex::try_join(["sh", "-c", &piped]).expect("no zeroes");
        bench(&["vectors", "--only", "step/v3-amd64*", "--unwinder", &reader, "--unwinder-timeout", "1"])
    };
    let mut wrong = Vec::new();
    for (what, edit, expected) in OF_READERS {
        let output = ask(edit);
        if status(&output) != *expected {
            wrong.push(format!("{what}: {output:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What becomes of the output of `objcopy`, in a sentence; the script that is `objcopy` then, where `$last` is its output;
/// and the status of `links`.
type OfRewriter = (&'static str, &'static str, i32);

const OF_REWRITERS: &[OfRewriter] = &[
    ("the section is gone", r#"objcopy "$@" && objcopy -R .sframe "$last""#, 1),
    ("the section is empty", r#"objcopy "$@" && objcopy --update-section .sframe=/dev/null "$last""#, 1),
    (
        "the section is not loaded any more",
        r#"objcopy "$@" && objcopy --set-section-flags .sframe=contents,readonly "$last""#,
        1,
    ),
    ("the section has lost its relocations", r#"objcopy "$@" && objcopy -R .rela.sframe "$last""#, 1),
    (
        "the section is another file's",
        r#"objcopy "$@" && objcopy --update-section .sframe=/bin/sh "$last""#,
        1,
    ),
    ("the output is empty", r#"objcopy "$@" && : > "$last""#, 1),
    ("the output is cut off", r#"objcopy "$@" && truncate -s 100 "$last""#, 1),
    ("there is no output", r#"objcopy "$@" && rm "$last""#, 1),
    ("it crashes, with or without .sframe", "kill -SEGV $$", 3),
    (
        "it crashes where there is .sframe",
        r#"if readelf -S "$last" "$1" | grep -q "\.sframe"; then exit 139; fi; objcopy "$@""#,
        1,
    ),
    ("everything is refused, with or without .sframe", "echo no >&2; exit 1", 3),
    ("it does nothing", "", 1),
    ("it takes longer", r#"sleep 0.1; objcopy "$@""#, 0),
    ("it says more", r#"objcopy "$@"; status=$?; echo "it is done"; exit $status"#, 0),
    ("nothing has changed", r#"exec objcopy "$@""#, 0),
];

#[test]
fn what_gets_worse_of_a_rewriter_is_stopped() {
    if program(&["objcopy"]).is_none() {
        return;
    }
    let mut wrong = Vec::new();
    for (what, script, expected) in OF_REWRITERS {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let [corpus, specs] = ["corpus", "specs"].map(|name| repository().join(name).display().to_string());
        let tool = folder.join("rewriter");
        std::fs::write(&tool, format!("#!/bin/sh\nfor last; do :; done\n{script}\n")).expect("a script");
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).expect("permissions");
        let report = folder.join("report");
        let abi = std::env::consts::ARCH.replace("x86_64", "amd64");
        let output = bench_in(
            folder,
            &[
                "links",
                "--objcopy",
                "./rewriter",
                "--abi",
                &abi,
                "--report",
                "report",
                "--corpus",
                &corpus,
                "--specs",
                &specs,
            ],
        );
        if status(&output) != *expected {
            wrong.push(format!("{what}: {output:?}"));
            continue;
        }
        fails_in_each_format(&report, *expected, what);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether each file of a report fails, is what the exit status says.
pub(crate) fn fails_in_each_format(report: &Path, status: i32, what: &str) {
    let read = |name: &str| std::fs::read_to_string(report.join(name)).expect(name);
    let junit = read("junit.xml");
    let head = junit.lines().find(|line| line.starts_with("<testsuites ")).expect("a head");
    let is_good = head.contains(" failures=\"0\"") && head.contains(" errors=\"0\"");
    assert_eq!(is_good, status == 0, "{what}: junit.xml: {head}");
    let sarif: Value = serde_json::from_str(&read("report.sarif")).expect("JSON");
    let run = &sarif["runs"][0];
    let results = run["results"].as_array().expect("results").iter();
    let is_open = results.filter(|result| result["suppressions"].is_null()).count() > 0;
    let is_good = run["invocations"][0]["executionSuccessful"] == true && !is_open;
    assert_eq!(is_good, status == 0, "{what}: report.sarif");
    if let Ok(summary) = std::fs::read_to_string(report.join("summary.md")) {
        let words: &[&str] = match status {
            0 => &["PASS"],
            1 => &["FAIL"],
            3 => &["INCONCLUSIVE"],
            _ => &["INTERRUPTED", "ERROR"],
        };
        let is_one = |word: &&str| summary.starts_with(&format!("# SFrame test bench: {word}\n"));
        assert!(words.iter().any(is_one), "{what}: summary.md, {status}: {}", &summary[..40]);
    }
}

/// What becomes of the report of a check, in a sentence; what does it; and the status of `compare`.
type OfCheck = (&'static str, fn(&mut Value), i32);

fn add(report: &mut Value, key: &str, more: i64) {
    let count = &mut report["summary"][key];
    *count = json!(count.as_i64().unwrap_or_else(|| panic!("{key} is no number")) + more);
}

fn first(report: &mut Value) -> &mut Value {
    &mut report["findings"][0]
}

fn findings(report: &mut Value) -> &mut Vec<Value> {
    report["findings"].as_array_mut().expect("findings")
}

const OF_CHECKS: &[OfCheck] = &[
    ("a finding is in a library", |report| first(report)["image"] = json!("libx.so"), 1),
    ("a finding is in another function", |report| first(report)["function"] = json!("g"), 1),
    (
        "a finding is in another function of the same name",
        |report| first(report)["code"] = json!({"digest": "0123456789abcdef", "is_only": false}),
        1,
    ),
    ("a finding is in another row", |report| first(report)["row"]["start"] = json!("0x4000"), 1),
    ("a row is wrong in another way", |report| first(report)["verdict"] = json!("wrong-ra"), 1),
    (
        "a row is wrong by other rules",
        |report| first(report)["row"]["rules"] = json!("CFA = SP+4096, RA = *(CFA-8), FP unchanged"),
        1,
    ),
    ("a row is wrong at more places", |report| first(report)["places"] = json!(1000), 1),
    (
        "a finding is new",
        |report| {
            let mut new = first(report).clone();
            new["function"] = json!("new");
            findings(report).push(new);
        },
        1,
    ),
    ("fewer instructions are checked", |report| add(report, "comparisons", -1), 1),
    ("fewer rows are exercised", |report| add(report, "rows_exercised", -1), 1),
    (
        "a table has lost rows that were exercised",
        |report| {
            add(report, "rows_exercised", -1);
            add(report, "rows_total", -1);
        },
        1,
    ),
    ("more rows are not exercised", |report| add(report, "rows_total", 1), 1),
    ("code has run that has no FDE any more", |report| report["summary"]["uncovered"] = json!({"f": 3}), 1),
    ("the program is broken", |report| report["broken"] = json!("it can't be loaded"), 1),
    ("the report has another format", |report| report["schema"] = json!(99), 2),
    (
        "rows that did not run are not explored any more",
        |report| report["asked"]["no_explore"] = json!(true),
        2,
    ),
    ("a finding is gone", |report| drop(findings(report).remove(0)), 0),
    ("findings are in another order", |report| findings(report).reverse(), 0),
    ("a finding is said otherwise", |report| first(report)["message"] = json!("x"), 0),
    ("a finding was seen more often", |report| first(report)["hits"] = json!(9999), 0),
    ("a function is at another address", |report| first(report)["pc"] = json!("0x500000"), 0),
    ("the file is in another folder", |report| report["file"] = json!("/elsewhere/realign.O2"), 0),
    ("it was made by another command", |report| report["provenance"]["command"] = json!("x"), 0),
    ("nothing has changed", |_| (), 0),
];

#[test]
fn what_gets_worse_of_a_check_is_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let build = repository().join("corpus/builds/gnu-2.47/amd64/realign.O2");
    let before = document(&bench(&["check", build.to_str().expect("a path"), "--json"]));
    assert!(before["findings"].as_array().is_some_and(|findings| findings.len() >= 2), "{before}");
    let write = |name: &str, report: &Value| {
        std::fs::write(folder.join(name), report.to_string()).expect("a file");
    };
    write("before.json", &before);
    let mut wrong = Vec::new();
    for (what, does, expected) in OF_CHECKS {
        let mut after = before.clone();
        does(&mut after);
        assert!(after != before || *what == "nothing has changed", "{what}: nothing has changed");
        write("after.json", &after);
        let output = bench_in(folder, &["compare", "before.json", "after.json"]);
        if status(&output) != *expected {
            wrong.push(format!("{what}: {output:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The tables of the guide.
pub(crate) fn promises() -> String {
    let tables = [
        (
            "of a check",
            "`compare` of two reports of `check`",
            OF_CHECKS.iter().map(|(what, _, ends)| (what, ends)).collect::<Vec<_>>(),
        ),
        (
            "of a reader's answers",
            "`vectors`",
            OF_READERS.iter().map(|(what, _, ends)| (what, ends)).collect(),
        ),
        (
            "of a rewriter's output",
            "`links`",
            OF_REWRITERS.iter().map(|(what, _, ends)| (what, ends)).collect(),
        ),
    ];
    let mut text = String::new();
    for (of, command, lines) in tables {
        let _ = writeln!(text, "\n| what has changed {of} | {command} |\n|---|---|");
        for (what, ends) in lines {
            let _ = writeln!(text, "| {what} | {ends} |");
        }
    }
    text
}
