//! `check` of a part of the instructions.

use serde_json::Value;

use crate::command::{bench, conclusion, json, status};

const BUSY: &str = "corpus/builds/gnu-2.47/amd64/busy.O2";
const REALIGN: &str = "corpus/builds/gnu-2.47/amd64/realign.O2";

fn check(arguments: &[&str]) -> Value {
    json(&bench(&[&["check", "--json"], arguments].concat()))
}

#[test]
fn the_report_says_that_a_sample_was_compared() {
    let all = check(&[BUSY]);
    assert_eq!((&all["sampling"], &all["summary"]["left_out"]), (&Value::Null, &0.into()));
    let some = check(&[BUSY, "--from-function", "main", "--every", "10", "--per-place", "2"]);
    let sampling = serde_json::json!({"from_function": "main", "every": 10, "per_place": 2});
    assert_eq!(some["sampling"], sampling);
    let summary = &some["summary"];
    let of = |key: &str| summary[key].as_u64().expect("a number");
    assert!(of("comparisons") > 0 && of("left_out") > of("comparisons"), "{summary}");
    assert_eq!(of("comparisons") + of("left_out"), of("instructions"));
    assert_eq!(summary["instructions"], all["summary"]["instructions"]);

    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().display().to_string();
    let output = bench(&["check", REALIGN, "--per-place", "3", "--report", &report]);
    assert_eq!(status(&output), 1);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let sample = "a sample was compared: each place at most 3 times; ";
    assert!(text.lines().nth(1).is_some_and(|line| line.starts_with(sample)), "{text}");
    for file in ["summary.md", "report.sarif"] {
        let text = std::fs::read_to_string(folder.path().join(file)).expect("a report");
        assert!(text.contains(sample), "{file}: {text}");
    }
}

#[test]
fn comparing_begins_at_a_function() {
    let of = |report: &Value, key: &str| report["summary"][key].as_u64().expect("a number");
    let library = "corpus/builds/gnu-2.44/amd64/crossing.O2-dynamic";
    for (file, function) in [(BUSY, "main"), (BUSY, "!main"), (library, "first.so!first_leaf")] {
        let (all, some) = (check(&[file]), check(&[file, "--from-function", function]));
        assert!(of(&some, "left_out") > 0 && of(&some, "comparisons") > 0, "{function}");
        assert_eq!(of(&some, "instructions"), of(&all, "instructions"));
    }
    let output = bench(&["check", BUSY, "--from-function", "mian"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected =
        format!("error: {BUSY}: --from-function: there is no symbol `mian`; did you mean `main`?\n");
    assert_eq!((status(&output), error), (2, expected));
}

/// What leaves nothing out is no sample, and its report can be compared with that of any whole run.
#[test]
fn all_instructions_are_no_sample() {
    let file = "corpus/builds/gnu-2.47/amd64/leaf.O2";
    for option in ["--every=1", "--per-place=10000000"] {
        let output = bench(&["check", file, option]);
        assert_eq!(status(&output), 0, "{output:?}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("sample"), "{option}: {output:?}");
        let report = json(&bench(&["check", "--json", file, option]));
        assert_eq!(report.get("sampling").filter(|sampling| !sampling.is_null()), None, "{option}");
    }
    let output = bench(&["check", file, "--every=1000000"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("one in 1,000,000 instructions"), "{said}");
}

/// The numbers of the last line are those of the sample, and sum to all instructions.
#[test]
fn the_last_line_counts_what_is_in_the_sample() {
    let file = crate::common::repository().join("corpus/builds/gnu-2.47/amd64/mixed_objects.O2");
    let file = file.display().to_string();
    for sample in ["--every=3", "--per-place=1", "--from-function=main"] {
        let output = bench(&["check", &file, "--no-explore", "--allow-excluded", sample]);
        let text = String::from_utf8(output.stdout).expect("text");
        let last = conclusion(&text);
        let (_, last) = last.split_once(": ").expect("a verdict");
        let number = |word: Option<&str>| -> u64 {
            let digits: String = word.unwrap_or("0").chars().filter(char::is_ascii_digit).collect();
            digits.parse().expect("a number")
        };
        let before = |phrase: &str| {
            number(
                last.split(phrase).next().filter(|all| **all != *last).and_then(|all| all.rsplit(' ').next()),
            )
        };
        let executed = before(" executed instructions");
        let judged = number(last.split(' ').next());
        let left = [" with no caller to compare", " not in the sample", " excluded"].map(before);
        assert!(left[1] > 0 && executed == judged + left.iter().sum::<u64>(), "{sample}: {last}");
        assert!(!last.contains("without .sframe"), "{sample}: {last}");
    }
}
