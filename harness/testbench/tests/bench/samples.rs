//! `samples`: recordings of moments whose call stacks are known, from files with right and with wrong rows.

use std::path::Path;
use std::process::Output;

use object::{Object as _, ObjectSection as _};
use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{bench_in, json, status};
use crate::common::repository;

/// What was written to standard error.
fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with the moments of some programs of the corpus, as perf.data of each ABI.
pub(crate) fn moments(options: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().display().to_string();
    let export = ["export", "stacks", "--format", "perf", "--output", &output];
    let exported = bench_in(&repository(), &[&export, options].concat());
    assert_eq!(status(&exported), 0, "{}", stderr(&exported));
    folder
}

pub(crate) fn samples(folder: &Path, abi: &str, root: &Path) -> (i32, Value) {
    let file = folder.join(format!("{abi}.data")).display().to_string();
    let root = root.display().to_string();
    let output = bench_in(&repository(), &["samples", &file, "--root", &root, "--no-cache", "--json"]);
    (status(&output), json(&output))
}

/// What is exported is read, on each ABI: SFrame leads where CFI does, and most walks are complete.
#[test]
fn moments_of_the_corpus_are_samples() {
    let folder = moments(&["--toolchain", "gnu-2.47", "--moments", "60", "--spec", "[a-d]*"]);
    for abi in ["amd64", "aarch64", "aarch64_be", "s390x"] {
        let (status, report) = samples(folder.path(), abi, &repository().join("corpus/builds"));
        assert_eq!(status, 0, "{abi}: {report:#}");
        assert_eq!((&report["verdict"], &report["abi"]), (&"PASS".into(), &abi.into()));
        let number = |value: &Value| value.as_u64().expect("a number");
        let (samples, complete) = (number(&report["samples"]), number(&report["methods"][0]["complete"]));
        assert!(samples > 3 && complete * 2 > samples, "{abi}: {complete} of {samples}");
        assert_eq!(report["unusable"], serde_json::json!({}), "{abi}");
        let by_compiler = report["popped_by_compiler"].as_object().expect("by compiler");
        let counted = by_compiler.values().map(|of| number(&of["walks"])).sum::<u64>();
        assert_eq!(counted, samples, "{abi}: {by_compiler:?}");
        assert!(by_compiler.keys().any(|name| name.starts_with("GNU C")), "{abi}: {by_compiler:?}");
    }
}

/// The walks that are written are the call stacks that the moments really have, which stand beside them.
#[rstest]
#[case("amd64")]
#[case("aarch64_be")]
fn walks_are_the_call_stacks_of_the_moments(#[case] abi: &str) {
    let folder = moments(&["--toolchain", "gnu-2.47", "--abi", abi, "--moments", "40", "--spec", "[a-d]*"]);
    let root = repository().join("corpus/builds").display().to_string();
    let asked = ["samples", &format!("{abi}.data"), "--root", &root, "--no-cache", "--walks", "walks"];
    assert_eq!(status(&bench_in(folder.path(), &asked)), 0);
    let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).expect("a file");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let document: Value = serde_json::from_str(&read("stacks.json")).expect("JSON");
    let stacks: Vec<Vec<Value>> = list(&document["programs"])
        .iter()
        .flat_map(|program| list(&program["moments"]))
        .map(|moment| list(&moment["frames"]).iter().map(|frame| frame["pc"].clone()).collect())
        .collect();
    let walks = read("walks");
    let mut complete = 0;
    for line in walks.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let walk = &line["walks"]["SFrame"];
        if walk["stop"] == "outermost" {
            assert!(stacks.contains(&list(&walk["pcs"])), "{line:#}");
            complete += 1;
        }
    }
    assert!(complete * 2 > walks.lines().count() && complete > 3, "{complete} of {}", walks.lines().count());
}

/// Rows that are wrong where they were sampled are found, and no others: each word of rows is changed, one after the other.
#[rstest]
#[case("amd64", "recursion.O2")]
#[case("s390x", "recursion.O2")]
#[case("aarch64", "recursion.O2")]
fn wrong_rows_are_found_where_they_were_sampled(#[case] abi: &str, #[case] program: &str) {
    let spec = program.split('.').next().expect("a name");
    let variant = program.split('.').next_back().expect("a variant");
    let options = ["--toolchain", "gnu-2.47", "--abi", abi, "--variant", variant, "--spec", spec];
    let folder = moments(&options);
    let build = format!("gnu-2.47/{abi}/{program}");
    let bytes = std::fs::read(repository().join("corpus/builds").join(&build)).expect("a build");
    let file = object::File::parse(&bytes[..]).expect("a build");
    let section = file.section_by_name(".sframe").expect("a section");
    let (start, len) = section.file_range().expect("bytes");
    let root = folder.path().join("root").join(&build);
    std::fs::create_dir_all(root.parent().expect("a folder")).expect("folders");
    let (mut planted, mut convicted) = (0, 0);
    // The second half has the rows.
    for at in start + len / 2..start + len {
        let mut wrong = bytes.clone();
        wrong[usize::try_from(at).expect("an offset")] ^= 0x10;
        std::fs::write(&root, &wrong).expect("a file");
        let (status, report) = samples(folder.path(), abi, &folder.path().join("root"));
        let differences = report["differences"].as_array().expect("a list");
        if differences.is_empty() {
            assert_ne!(status, 1, "{at:#x}: {report:#}");
            continue;
        }
        planted += 1;
        let is_wrong = differences.iter().any(|it| it["explored"] == "wrong");
        assert_eq!(is_wrong, status == 1, "{at:#x}: {report:#}");
        // The start function of s390x has no caller that a path could begin in.
        assert!(is_wrong || differences.iter().all(|it| it["reason"].is_string()), "{at:#x}: {report:#}");
        convicted += usize::from(is_wrong);
    }
    assert!(planted >= 10 && convicted + 1 >= planted, "{abi}: {convicted} of {planted}");
}

/// Reports are written in each format, joined, and compared: of a build with right rows, and with a wrong one.
#[test]
fn reports_are_written_joined_and_compared() {
    let folder =
        moments(&["--toolchain", "gnu-2.47", "--abi", "amd64", "--variant", "O2", "--spec", "recursion"]);
    let build = "gnu-2.47/amd64/recursion.O2";
    let mut bytes = std::fs::read(repository().join("corpus/builds").join(build)).expect("a build");
    let file = object::File::parse(&bytes[..]).expect("a build");
    let (start, len) =
        file.section_by_name(".sframe").and_then(|section| section.file_range()).expect("bytes");
    let root = folder.path().join("root").join(build);
    std::fs::create_dir_all(root.parent().expect("a folder")).expect("folders");
    let report = |name: &str, bytes: &[u8]| {
        std::fs::write(&root, bytes).expect("a file");
        let asked = ["samples", "amd64.data", "--root", "root", "--no-cache", "--report", name];
        status(&bench_in(folder.path(), &asked))
    };
    assert_eq!(report("right", &bytes), 0);
    std::fs::copy(folder.path().join("amd64.data"), folder.path().join("second.data")).expect("a file");
    let asked = ["samples", "second.data", "--root", "root", "--no-cache", "--report", "second"];
    assert_eq!(status(&bench_in(folder.path(), &asked)), 0);
    let wrong = (start + len / 2..start + len).map(|at| usize::try_from(at).expect("an offset")).find(|at| {
        bytes[*at] ^= 0x10;
        let is_found = report("wrong", &bytes) == 1;
        bytes[*at] ^= 0x10;
        is_found
    });
    assert!(wrong.is_some(), "no row of the build is sampled");
    let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).expect("a file");
    let place =
        json(&bench_in(folder.path(), &["merge", "wrong", "--json"]))["differences"][0]["place"].clone();
    let place = place.as_str().expect("a place");
    for file in ["wrong/report.html", "wrong/summary.md", "wrong/report.sarif", "wrong/report.json"] {
        assert!(read(file).contains(place), "{file}");
    }
    let log: Value = serde_json::from_str(&read("wrong/report.sarif")).expect("JSON");
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(1), "{log:#}");
    for (asked, expected, said) in [
        (
            &["compare", "right", "wrong"][..],
            1,
            "FAIL: 1 row proved to be wrong, which the first report does not have",
        ),
        (&["compare", "wrong", "right"], 0, "1 row no longer wrong, or not sampled"),
        (&["compare", "right", "right/report.json"], 0, "PASS: samples: "),
        (&["merge", "right", "wrong"], 1, "FAIL: 1 row of SFrame wrong"),
        (&["merge", "right", "second", "--report", "new/joined"], 0, "PASS: "),
    ] {
        let output = bench_in(folder.path(), asked);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(status(&output) == expected && stdout.contains(said), "{asked:?}: {output:?}");
    }
    let of = |asked: &[&str]| json(&bench_in(folder.path(), asked))["samples"].as_u64().expect("a number");
    assert_eq!(of(&["merge", "right", "second", "--json"]), 2 * of(&["merge", "right", "--json"]));
    // What contradicts itself, or is of another machine or the same recording, is no pair.
    let spoilt = |name: &str, key: &str, value: Value| {
        let mut report: Value = serde_json::from_str(&read("right/report.json")).expect("JSON");
        *report.pointer_mut(key).expect("a key") = value;
        std::fs::write(folder.path().join(name), report.to_string()).expect("a file");
    };
    spoilt("many", "/methods/0/complete", 1_000_000.into());
    let popped = serde_json::json!({"GNU C": {"walks": 1_000_000, "below_sp": 0}});
    spoilt("popped", "/popped_by_compiler", popped);
    spoilt("abi", "/abi", "s390x".into());
    spoilt("huge", "/samples", u64::MAX.into());
    spoilt("name", "/methods/0/name", "another".into());
    // Another compiler moves rows, and another recording finds them at other places.
    let mut moved: Value = serde_json::from_str(&read("wrong/report.json")).expect("JSON");
    moved["differences"][0]["place"] = "recursion.O2: main+0x7777".into();
    std::fs::write(folder.path().join("moved"), moved.to_string()).expect("a file");
    let output = bench_in(folder.path(), &["compare", "wrong", "moved"]);
    assert_eq!(status(&output), 0, "{output:?}");
    for (asked, said) in [
        (["merge", "right", "right"], "right: it is there twice"),
        (["merge", "right", "many"], "contradicts itself"),
        (["merge", "right", "popped"], "contradicts itself"),
        (["compare", "right", "name"], "contradicts itself"),
        (["merge", "right", "abi"], "was recorded on s390x, and"),
        (["compare", "abi", "right"], "on s390x"),
    ] {
        let output = bench_in(folder.path(), &asked);
        assert!(status(&output) == 2 && stderr(&output).contains(said), "{asked:?}: {output:?}");
    }
    for command in ["merge", "compare"] {
        assert_eq!(status(&bench_in(folder.path(), &[command, "huge", "right"])), 3, "{command}");
    }
    // Only reports of samples are compared with them.
    std::fs::write(folder.path().join("other.json"), r#"{"schema": 2, "cases": []}"#).expect("a file");
    for command in ["compare", "merge"] {
        let output = bench_in(folder.path(), &[command, "right", "other.json"]);
        assert!(status(&output) == 2 && stderr(&output).contains("of `samples`"), "{output:?}");
    }
}

/// What is no recording is one error.
#[rstest]
#[case::of_nothing(b"", "neither perf.data nor a core dump")]
#[case::of_text(b"not a recording at all", "neither perf.data nor a core dump")]
#[case::cut_off(b"PERFILE2\x68\0\0\0\0\0\0\0", "perf.data: ")]
fn what_is_no_recording_is_refused(#[case] bytes: &[u8], #[case] message: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), bytes).expect("a file");
    let output = bench_in(folder.path(), &["samples", "file"]);
    assert_eq!(status(&output), 2, "{output:?}");
    let said = stderr(&output);
    assert!(
        said.starts_with("error: file: ") && said.contains(message) && said.lines().count() == 1,
        "{said}"
    );
}

/// An executable is no core dump.
#[test]
fn an_executable_is_refused() {
    let output = bench_in(&repository(), &["samples", "corpus/builds/gnu-2.47/amd64/leaf.O2"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("neither perf.data nor a core dump"), "{}", stderr(&output));
}
