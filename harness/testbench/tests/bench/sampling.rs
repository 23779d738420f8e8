//! `check` of a part of the instructions.

use std::num::{NonZeroU32, NonZeroU64};

use rayon::prelude::*;
use serde_json::Value;
use sframe_judge::examine::sampling::{Sampling, Start};
use sframe_judge::examine::{Examination, ExamineOptions, examine};
use sframe_judge::finding::Finding;
use sframe_judge::target::Target;
use sframe_judge::unwind::{BlackBox, SframeUnwinder, Unwinder, sframe_unwinder};
use sframe_machine::Options;

use crate::command::{bench, conclusion, json, status};
use crate::doctor::{self, patch_first_row};

fn per_place(most: u32) -> Sampling {
    Sampling { per_place: NonZeroU32::new(most), ..Sampling::default() }
}

fn every(every: u64) -> Sampling {
    Sampling { every: NonZeroU64::new(every), ..Sampling::default() }
}

fn from(target: &Target<'_>, function: &str) -> Option<Start> {
    let address = target.addresses_of(function).first()?.0;
    Some(Start { function: function.to_owned(), address })
}

/// Runs a program, and checks that no instruction is lost.
fn sampled(name: &str, target: &Target<'_>, sampling: Sampling, unwinder: &mut dyn Unwinder) -> Examination {
    let look = ExamineOptions { sampling, observes: true, ..ExamineOptions::default() };
    let options = Options { budget: 6000, ..Options::default() };
    let seen = examine(target, unwinder, &look, &options).expect("a machine");
    let counted = seen.counts.comparisons
        + seen.counts.nothing_compared
        + seen.counts.walk_ends.unsettled
        + seen.left_out;
    assert_eq!(counted, seen.counts.instructions, "{name}, {}", look.sampling);
    seen
}

/// Builds with many kinds of control flow.
fn builds() -> Vec<String> {
    let programs = [
        "call_on_stack",
        "contexts",
        "coroutines",
        "cplusplus",
        "eh_return",
        "landing_pads",
        "long_jump",
        "mutual_recursion",
        "realign",
        "recursion",
        "signals",
        "signal_stack",
        "tail_calls",
    ];
    let mut builds = Vec::new();
    for (abi, variant) in [("amd64", "O2"), ("aarch64", "O0"), ("aarch64_be", "O2"), ("s390x", "O2")] {
        builds.extend(programs.map(|program| format!("gnu-2.44/{abi}/{program}.{variant}")));
    }
    builds.retain(|id| crate::common::repository().join("corpus/builds").join(id).exists());
    builds
}

#[test]
fn a_kept_walk_finds_the_same_as_a_whole_one_across_gaps() {
    let builds = builds();
    assert!(builds.len() > 20, "{builds:?}");
    let left_out: u64 = builds
        .par_iter()
        .map(|id| {
            let bytes = doctor::build(id);
            let target = Target::open(&bytes).expect("a target");
            let main = Sampling { from: from(&target, "main"), ..Sampling::default() };
            let mixed = Sampling { every: NonZeroU64::new(3), ..per_place(4) };
            let samplings = [every(2), every(7), every(50), per_place(1), per_place(3), main, mixed];
            let both_ways = |sampling: Sampling| {
                let kept = sampled(id, &target, sampling.clone(), &mut *sframe_unwinder(&target));
                let bits = target.executable().image.cpu.address_bits;
                let mut unwinder = BlackBox(SframeUnwinder::new(target.sections.clone(), bits));
                let mut whole = sampled(id, &target, sampling.clone(), &mut unwinder);
                whole.counts.frames_derived = kept.counts.frames_derived;
                assert!(kept == whole, "{id}, {sampling}: kept walks\n{kept:#?}\nwhole walks\n{whole:#?}");
                kept.left_out
            };
            samplings.into_iter().map(both_ways).sum::<u64>()
        })
        .sum();
    assert!(left_out > 10_000, "{left_out}");
}

/// What findings say, except for how often.
fn without_hits(findings: &[Finding]) -> Vec<Finding> {
    let mut findings = findings.to_vec();
    findings.iter_mut().for_each(|finding| finding.hits = 0);
    findings
}

/// At most three comparisons at each place show every wrong row, and all rows that run.
#[test]
fn each_place_is_compared_and_no_fault_is_missed() {
    let mut found = 0;
    for id in builds() {
        let sound = doctor::build(&id);
        let mut wrong = sound.clone();
        patch_first_row(&mut wrong, "main");
        for bytes in [sound, wrong] {
            let target = Target::open(&bytes).expect("a target");
            let all = sampled(&id, &target, Sampling::default(), &mut *sframe_unwinder(&target));
            for most in [1, 3] {
                let some = sampled(&id, &target, per_place(most), &mut *sframe_unwinder(&target));
                assert_eq!(without_hits(&some.findings), without_hits(&all.findings), "{id}, {most}");
                assert_eq!(some.coverage, all.coverage, "{id}, {most}");
                assert_eq!(
                    (some.end, some.counts.instructions),
                    (all.end.clone(), all.counts.instructions),
                    "{id}, {most}"
                );
                assert_eq!(some.counts.traces, all.counts.traces, "{id}, {most}");
                assert_eq!(some.features, all.features, "{id}, {most}");
                assert_eq!(some.end_places, all.end_places, "{id}, {most}");
                assert!(some.counts.comparisons < all.counts.comparisons, "{id}, {most}");
                found += some.findings.len();
            }
        }
    }
    assert!(found > 20, "{found}");
}

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
