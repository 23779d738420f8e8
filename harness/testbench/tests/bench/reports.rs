//! Comparing the reports of two runs, and what reports say of themselves.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::command::{bench, status};
use crate::common::repository;

/// Returns a report without what differs between two runs of the same cases: where it comes from, durations,
/// and the date.
pub(crate) fn timeless(report: &Path) -> String {
    let text = std::fs::read_to_string(report).unwrap_or_else(|error| panic!("{report:?}: {error}"));
    let document = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    match report.extension().and_then(|extension| extension.to_str()) {
        Some("json") => {
            let mut document = document(&text);
            document["run"]["date"].take();
            assert!(document["provenance"].take().is_object());
            for case in document["cases"].as_array_mut().expect("cases") {
                assert!(case["seconds"].take().is_number());
            }
            document.to_string()
        }
        Some("sarif") => {
            let mut document = document(&text);
            let invocation = &mut document["runs"][0]["invocations"][0];
            for key in ["commandLine", "startTimeUtc", "endTimeUtc"] {
                assert!(invocation[key].take().is_string(), "{key}");
            }
            document["runs"][0]["properties"]["parts"].take();
            document.to_string()
        }
        Some("html") => {
            let packed = index(&text);
            let mut index = unpacked(packed);
            assert!(index["provenance"].take().is_object());
            text.replace(packed, &index.to_string())
        }
        Some("xml") => {
            let is_timeless = |line: &&str| !line.contains("<property name=");
            let text: String = text.lines().filter(is_timeless).map(|line| format!("{line}\n")).collect();
            let plain = without(&without(&text, " time="), " timestamp=");
            assert_ne!(plain, text, "the cases have times");
            plain
        }
        _ => text,
    }
}

/// Removes an attribute.
fn without(text: &str, attribute: &str) -> String {
    let mark = format!("{attribute}\"");
    let mut parts = text.split(&mark);
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('"').expect("a value").1);
    first + &rest.collect::<String>()
}

/// The data of a page's overview, packed.
pub(crate) fn index(page: &str) -> &str {
    let (_, rest) = page.split_once("id=\"index\">").expect("data");
    rest.split('<').next().unwrap_or_default()
}

pub(crate) fn unpacked(packed: &str) -> Value {
    let bytes = STANDARD.decode(packed).expect("base64");
    let json = miniz_oxide::inflate::decompress_to_vec_zlib(&bytes).expect("deflated data");
    serde_json::from_slice(&json).expect("JSON")
}

/// Whoever gets one of the files knows which bench made it, of what, and how to make it again.
#[test]
fn each_format_says_where_it_comes_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a path");
    let build = "corpus/builds/gnu-2.47/amd64/leaf.O2";
    let run: &[&str] = &["run", "--spec", "leaf", "--toolchain", "gnu-2.47", "--report", path];
    let digests: &[&str] = &["corpus", "specs"];
    let all = [
        (run, digests, &["report.json", "report.html", "report.sarif", "junit.xml", "summary.md"][..]),
        (
            &["check", build, "--report", path],
            &[build],
            &["report.json", "report.html", "report.sarif", "summary.md"],
        ),
        (
            &["explore", build, "--report", path],
            &[build],
            &["report.json", "report.html", "report.sarif", "summary.md"],
        ),
    ];
    for (command, digests, files) in all {
        assert_eq!(status(&bench(command)), 0, "{command:?}");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
        let report: Value = serde_json::from_str(&read("report.json")).expect("JSON");
        let provenance = &report["provenance"];
        assert_eq!(provenance["version"], env!("CARGO_PKG_VERSION"), "{command:?}");
        assert_eq!(provenance["command"], format!("sframe-testbench {}", command.join(" ")), "{command:?}");
        assert!(provenance["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{command:?}");
        for digest in digests {
            let digest = provenance["digests"][digest].as_str().expect("a digest");
            assert_eq!(digest.len(), 64);
            for file in files {
                let text = read(file);
                let text = if *file == "report.html" { unpacked(index(&text)).to_string() } else { text };
                for said in [digest, &format!("sframe-testbench {}", command.join(" ")), "processor"] {
                    assert!(text.contains(said), "{command:?}: {file} does not say {said}");
                }
            }
        }
    }
}

/// A check is one test: it fails for a finding, passes if all is known, and is an error if the run is broken.
#[test]
fn a_check_is_a_test_of_junit() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().display().to_string();
    let junit = |arguments: &[&str]| {
        bench(&[&["check", "--no-explore", "--report", &report], arguments].concat());
        std::fs::read_to_string(folder.path().join("junit.xml")).expect("junit.xml")
    };
    let at = |name: &str| repository().join("corpus").join(name).display().to_string();
    let wrong = at("constructed/pointer-removes-arguments/amd64");
    let failed = junit(&[&wrong]);
    for part in [
        "<testsuite name=\"check/amd64\" tests=\"1\" skipped=\"0\" errors=\"0\" failures=\"1\"",
        "<failure message=\"wrong-cfa",
        "reproduce with: sframe-testbench check",
    ] {
        assert!(failed.contains(part), "{part}: {failed}");
    }
    let known = junit(&[&at("faults/gcc-popped-frame-pointer/align"), "--known-faults"]);
    assert!(known.contains("tests=\"1\" failures=\"0\" errors=\"0\""), "{known}");
    let broken = junit(&[&at("builds/gnu-2.47/amd64/leaf.O2"), "--budget", "10"]);
    assert!(broken.contains("errors=\"1\"") && broken.contains("<error message="), "{broken}");
}

/// What the terminal says of functions that could have an FDE is in each report, also if that fails nothing.
#[test]
fn missing_fdes_are_in_each_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().display().to_string();
    let program = repository().join("corpus/builds/gnu-2.40/amd64/crossing.O0-dynamic");
    let output = bench(&["check", "--no-explore", "--report", &report, &program.display().to_string()]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nmissing-fde: "), "{output:?}");
    for file in ["report.json", "report.html", "report.sarif", "junit.xml", "summary.md"] {
        let text = std::fs::read_to_string(folder.path().join(file)).expect("a report");
        let text = if file == "report.html" { unpacked(index(&text)).to_string() } else { text };
        assert!(text.contains("missing-fde: ") && text.contains("first_leaf@plt"), "{file}: {text}");
    }
}

/// A row that is wrong and did not run is in each report, although the check does not fail for it.
#[test]
fn wrong_rows_that_did_not_run_are_in_each_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().display().to_string();
    let program = repository().join("corpus/builds/gnu-2.47/amd64/thunks_inline.O2-pie");
    bench(&["check", "--report", &report, &program.display().to_string()]);
    for file in ["junit.xml", "report.sarif"] {
        let text = std::fs::read_to_string(folder.path().join(file)).expect("a report");
        assert!(text.contains("(did not run)"), "{file}: {text}");
    }
    let summary = std::fs::read_to_string(folder.path().join("summary.md")).expect("a report");
    assert!(summary.contains("## Wrong rows that did not run"), "{summary}");
}
