//! Runs that are killed and resumed: finished cases are kept, and the reports
//! are those of a run that was not interrupted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::{Value, json};
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;
use sframe_suite::case::{CaseResult, Demands, UnderTest};
use sframe_suite::suite::journal::{Header, Journal};
use sframe_suite::suite::{Filter, Plan};

use crate::command::status;
use crate::common;
use crate::reports;

const REPORTS: [&str; 4] = ["report.json", "junit.xml", "report.sarif", "report.html"];
/// Some cases with findings, signals and libraries, and some without.
const SOME: [&str; 6] = ["--spec", "re*", "--spec", "crossing", "--toolchain", "gnu-2.47"];

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"));
    command.current_dir(common::repository()).arg("run").args(arguments).arg("--report").arg(folder);
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the bench")
}

fn journal(folder: &Path) -> PathBuf {
    folder.join("cases.jsonl")
}

/// The journal's complete lines.
fn lines(folder: &Path) -> Vec<Value> {
    let text = std::fs::read(journal(folder)).unwrap_or_default();
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let line = |line: &[u8]| serde_json::from_slice(line).expect("JSON");
    text[..end].split_inclusive(|byte| *byte == b'\n').map(line).collect()
}

/// How often each case occurs in the journal.
fn counts(folder: &Path) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in lines(folder).iter().skip(1) {
        *counts.entry(line["report"]["id"].as_str().expect("an id").to_owned()).or_default() += 1;
    }
    counts
}

fn same_reports(one: &Path, other: &Path) {
    for name in REPORTS {
        assert!(
            reports::timeless(&one.join(name)) == reports::timeless(&other.join(name)),
            "{name} is not the same"
        );
    }
}

fn wait_for_lines(child: &mut Child, folder: &Path, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while lines(folder).len() < count && child.try_wait().expect("a status").is_none() {
        assert!(Instant::now() < deadline, "the run makes no progress");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[rstest]
#[case(&[])]
#[case(&["--in-process"])]
fn a_run_that_is_killed_again_and_again_is_the_same_run_in_the_end(#[case] more: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    let output = run(&whole, &SOME);
    assert_eq!(status(&output), 0, "{output:?}");
    let all = counts(&whole);
    assert!(all.len() > 40, "{all:?}");

    // Kill the run as soon as the journal has this many more lines.
    for (attempt, count) in [0, 1, 2, 5, 11].into_iter().enumerate() {
        let before = lines(&killed).len();
        let resume: &[&str] = if attempt == 0 { &[] } else { &["--resume"] };
        let mut child = command(&killed, &[&SOME[..], more, resume].concat());
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the bench");
        wait_for_lines(&mut child, &killed, before + count);
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
        assert!(lines(&killed).len() >= before, "nothing that was finished is lost");
        assert!(!killed.join("report.json").exists(), "it was killed too late");
    }
    let finished = lines(&killed).len() - 1;
    assert!((17..all.len()).contains(&finished), "{finished}");
    let output = run(&killed, &[&SOME[..], more, &["--resume"]].concat());
    assert_eq!(status(&output), 0, "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains(&format!("finished already: {finished} case")), "{message}");
    assert_eq!(counts(&killed), all, "each case was run once");
    same_reports(&whole, &killed);

    // Everything is finished: the reports are written again.
    std::fs::remove_file(killed.join("report.html")).expect("a file");
    assert_eq!(status(&run(&killed, &[&SOME[..], more, &["--resume"]].concat())), 0);
    assert_eq!(counts(&killed), all);
    same_reports(&whole, &killed);
    // Without --resume, a run starts over.
    assert_eq!(status(&run(&killed, &["--spec", "leaf", "--toolchain", "gnu-2.47"])), 0);
    assert!(counts(&killed).keys().all(|id| id.starts_with("leaf/")));
}

/// Serialises results without their durations.
fn text(mut results: Vec<CaseResult>) -> String {
    let written = |result: &mut CaseResult| {
        result.report.seconds = 0.0;
        serde_json::to_string(result).expect("JSON")
    };
    results.iter_mut().map(written).collect()
}

/// Wherever the last two lines are cut, complete cases are kept, and the rest is
/// run.
#[test]
fn a_journal_may_be_cut_anywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let suite = common::suite();
    let specs = ["realign", "leaf"].map(|name| name.parse().expect("a pattern"));
    let filter = Filter {
        specs: specs.into(),
        toolchains: vec!["gnu-2.47".to_owned()],
        abis: vec!["amd64".parse().expect("an ABI")],
        ..Filter::default()
    };
    let cases = suite.cases(&filter).expect("cases");
    let cases = &cases[..3];
    let plan = Plan {
        demands: Demands { is_listed: true, ..Demands::default() },
        ..Plan::new(Options::default(), UnderTest::Rust(&sframe_unwinder))
    };
    let header = Header::new(&plan, &filter, None).expect("the bench");
    let execute = |journal: &Journal| {
        let plan = Plan { journal: Some(journal), ..plan.clone() };
        suite.execute(cases, &plan, &|_| ()).expect("a journal")
    };
    let whole = text(execute(&Journal::create(folder, &header).expect("a journal")));
    let bytes = std::fs::read(journal(folder)).expect("a journal");
    let ends: Vec<usize> = (1..=bytes.len()).filter(|end| bytes[end - 1] == b'\n').collect();
    assert_eq!(ends.len(), 1 + cases.len());

    for cut in ends[1]..=bytes.len() {
        std::fs::write(journal(folder), &bytes[..cut]).expect("a file");
        let resumed = Journal::resume(folder, &header).expect("a journal");
        let whole_lines = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(resumed.finished(), whole_lines - 1, "cut at {cut}");
        let len = journal(folder).metadata().expect("a file").len();
        assert_eq!(len, ends[whole_lines - 1] as u64, "cut at {cut}");
        if ends.iter().any(|end| end.abs_diff(cut) <= 1) || cut % 997 == 0 {
            assert!(text(execute(&resumed)) == whole, "cut at {cut}");
            assert_eq!(lines(folder).len(), ends.len());
        }
    }
    // Killed before the first line was complete.
    for cut in 0..ends[0] {
        std::fs::write(journal(folder), &bytes[..cut]).expect("a file");
        let resumed = Journal::resume(folder, &header).expect("a journal");
        assert_eq!(resumed.finished(), 0, "cut at {cut}");
        assert_eq!(std::fs::read(journal(folder)).expect("a file"), &bytes[..ends[0]], "cut at {cut}");
    }
}

#[test]
fn a_journal_of_something_else_is_refused_and_nothing_is_touched() {
    const LEAF: [&str; 4] = ["--spec", "leaf", "--toolchain", "gnu-2.47"];
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    assert_eq!(status(&run(folder, &LEAF)), 0);
    let report = std::fs::read(folder.join("report.json")).expect("a report");
    let refused = |more: &[&str], expected: &str| {
        let before = std::fs::read(journal(folder)).expect("a journal");
        let output = run(folder, &[&LEAF[..], more, &["--resume"]].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(status(&output), 2, "{message}");
        assert!(message.contains(expected) && message.lines().count() == 1, "{expected}: {message}");
        assert!(std::fs::read(journal(folder)).expect("a journal") == before);
        assert!(std::fs::read(folder.join("report.json")).expect("a report") == report);
    };
    refused(&["--budget", "1000000"], " / 1000000): it can't be resumed");
    refused(&["--pattern", "second"], "another pattern (\"first\" / \"second\")");
    refused(&["--abi", "amd64"], "another abi ([] / [\"amd64\"])");
    refused(&["--spec", "recursion"], "another spec");
    refused(&["--toolchain", "gnu-2.44"], "another toolchain");
    refused(&["--shard", "1/2"], "another shard");
    refused(&["--require-reliable"], "another require_reliable (false / true)");
    let engine = env!("CARGO_BIN_EXE_sframe-engine-unwinder");
    refused(&["--unwinder", engine], "another listings (true / false), unwinder (null / ");

    let whole = std::fs::read_to_string(journal(folder)).expect("a journal");
    let (header, cases) = whole.split_once('\n').expect("lines");
    let mut other: Value = serde_json::from_str(header).expect("JSON");
    other["bench"] = json!("0");
    for (text, expected) in [
        (format!("{other}\n{cases}"), "another bench"),
        ("a text\n".to_owned(), "not a journal of a run"),
        ("{}\n".to_owned(), "names no format"),
        ("{\"journal\":7}\n".to_owned(), "it has format 7"),
        ("{\"journal\":1}\n".to_owned(), "missing field"),
        ("no end".to_owned(), "no end"),
        (format!("{header}\n{{}}\n{cases}"), "cases.jsonl:2: this is not a case"),
        (format!("{header}\n\0\n{cases}"), "cases.jsonl:2: this is not a case"),
    ] {
        std::fs::write(journal(folder), text).expect("a file");
        refused(&[], expected);
    }
    std::fs::write(journal(folder), &whole).expect("a file");
    let file = std::fs::File::open(journal(folder)).expect("a file");
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    refused(&[], "another run is writing");
    drop(file);
    assert_eq!(status(&run(folder, &[&LEAF[..], &["--resume"]].concat())), 0);

    let bench = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"));
        command.current_dir(common::repository()).args(arguments).output().expect("the bench")
    };
    assert_eq!(status(&bench(&["run", "--resume"])), 2, "there is no folder");
}

#[test]
fn what_has_changed_or_was_broken_is_run_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (specs, report) = (folder.path().join("specs"), folder.path().join("report"));
    std::fs::create_dir_all(specs.join("faults")).expect("a folder");
    let faults = ["faults/gcc-popped-frame-pointer.yaml", "faults/gcc-stack-pointer-in-fpr.yaml"];
    for name in ["clauses.yaml", "leaf.yaml", "recursion.yaml", "realign.yaml"].into_iter().chain(faults) {
        std::fs::copy(common::repository().join("specs").join(name), specs.join(name)).expect("a spec");
    }
    let name = specs.to_str().expect("a name").to_owned();
    let arguments = ["--specs", &name, "--toolchain", "gnu-2.47", "--abi", "amd64"];
    assert_eq!(status(&run(&report, &arguments)), 0);
    let first = reports::timeless(&report.join("report.json"));
    let all = counts(&report);

    let spec = specs.join("recursion.yaml");
    let text = std::fs::read_to_string(&spec).expect("a spec");
    std::fs::write(&spec, text + "# Changed.\n").expect("a file");
    let journal_text = std::fs::read_to_string(journal(&report)).expect("a journal");
    let broken = |line: &str| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        if line["report"]["id"] == "leaf/gnu-2.47/amd64/O2" {
            line["report"]["outcome"] = json!("broken");
        }
        format!("{line}\n")
    };
    let text: String = journal_text.lines().map(broken).collect();
    std::fs::write(journal(&report), text).expect("a file");
    assert_eq!(status(&run(&report, &[&arguments[..], &["--resume"]].concat())), 0);
    for (id, count) in counts(&report) {
        let again = id.starts_with("recursion/") || id == "leaf/gnu-2.47/amd64/O2";
        assert_eq!(count, if again { 2 } else { 1 }, "{id}");
        assert_eq!(all[&id], 1);
    }
    let [mut first, mut second] = [first, reports::timeless(&report.join("report.json"))]
        .map(|text| serde_json::from_str::<Value>(&text).expect("JSON"));
    // The specs of the run have changed, and nothing else.
    assert_ne!(first["run"]["specs"].take(), second["run"]["specs"].take());
    assert!(first == second);
}

/// A limit on the size of files simulates a full disk.
#[test]
fn results_are_printed_where_the_journal_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report");
    let bench = env!("CARGO_BIN_EXE_sframe-testbench");
    let script = format!("trap '' XFSZ; ulimit -f 20; exec {bench} \"$@\"");
    let output = Command::new("sh")
        .current_dir(common::repository())
        .args(["-c", &script, "sh", "run", "--jobs", "1"])
        .args(SOME)
        .arg("--report")
        .arg(&report)
        .output()
        .expect("a shell");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(status(&output), 4, "{message}");
    assert!(message.contains("cases.jsonl: File too large"), "{message}");
    assert!(message.contains("cases were run, and no reports are written"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("INTERRUPTED: "), "{told}");
    assert!(!report.join("report.json").exists());
    let finished = counts(&report).len();
    assert!(finished > 0);

    // When there is space again, the run resumes.
    let whole = folder.path().join("whole");
    assert_eq!(status(&run(&report, &[&SOME[..], &["--resume"]].concat())), 0);
    assert_eq!(status(&run(&whole, &SOME)), 0);
    assert_eq!(counts(&report), counts(&whole));
    same_reports(&report, &whole);
}

#[test]
fn a_journal_that_cannot_be_started_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink("/dev/full", journal(folder.path())).expect("a link");
    for resume in [&[][..], &["--resume"]] {
        let output = run(folder.path(), &[&["--spec", "leaf"], resume].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(status(&output), 2, "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
