//! Runs that are ended early: by an interrupt, or because their time is over.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::command::{conclusion, json, status};
use crate::common::repository;
use crate::isolate::{Endless, children, is_there};

/// An unwinder in a shell: its first answer.
const HELLO: &str = r#"read line; echo "{\"id\":1,\"hello\":{\"protocol\":1,\"name\":\"silent\",\"version\":\"1\",\"data\":\"sframe\"}}"; "#;

/// What is said if nothing is known yet.
const NOTHING_KNOWN: &str = "INTERRUPTED: stopped before there was a result";

/// Waits until something is there.
pub(crate) fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a process"), signal).expect("it is there");
}

pub(crate) fn interrupt(child: &Child, signal: Signal) {
    send(id(child), signal);
}

/// The signals that a process handles, as a mask.
fn handled(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// Whether a process handles interrupts already.
fn handles_interrupts(pid: i32) -> bool {
    const TERM: u64 = 1 << (15 - 1);
    handled(pid).is_some_and(|mask| mask & TERM != 0)
}

fn id(child: &Child) -> i32 {
    child.id().try_into().expect("a process")
}

/// Starts a check of an endless program. Returns it with its child, which handles interrupts.
fn started(endless: &Endless, more: &[&str]) -> (Child, i32) {
    let child = endless.check(more).spawn().expect("the bench");
    let ready = |pid: &i32| handles_interrupts(*pid);
    let process = wait("no child runs", || children(child.id()).into_iter().find(ready));
    // It loads the program, and runs it.
    std::thread::sleep(Duration::from_millis(300));
    (child, process)
}

fn assert_reported(report: &Value, reason: &str) {
    assert_eq!(report["broken"], reason);
    let summary = &report["summary"];
    assert!(summary["comparisons"].as_u64() > Some(100), "{summary}");
    assert_eq!(summary["comparisons"], summary["instructions"]);
    // Its loop has replaced the prologue, and the rows have not changed.
    assert_eq!(report["findings"][0]["verdict"], "wrong-cfa", "{report}");
}

fn written(folder: &Path) -> Value {
    let text = std::fs::read(folder.join("report.json")).expect("report.json");
    serde_json::from_slice(&text).expect("JSON")
}

fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn an_interrupted_check_reports_what_it_has_seen() {
    let endless = Endless::new();
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report");
    for signal in [Signal::INT, Signal::TERM] {
        let (child, process) = started(&endless, &["--json", "--report", report.to_str().expect("a name")]);
        interrupt(&child, signal);
        let output = child.wait_with_output().expect("the bench");
        assert_eq!(status(&output), 4, "{output:?}");
        assert!(!is_there(process));
        assert_reported(&json(&output), "interrupted");
        assert_reported(&written(&report), "interrupted");
        std::fs::remove_dir_all(&report).expect("a folder");
    }
}

/// A terminal interrupts the parent and the child; so does `timeout`, and its parent twice.
#[test]
fn an_interrupt_of_all_processes_is_one_interrupt() {
    let endless = Endless::new();
    let (child, process) = started(&endless, &["--json"]);
    send(process, Signal::INT);
    // However busy the machine is, the parent receives them together.
    for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
        interrupt(&child, signal);
    }
    let output = child.wait_with_output().expect("the bench");
    assert_eq!(status(&output), 4, "{output:?}");
    assert_reported(&json(&output), "interrupted");
}

#[test]
fn a_second_interrupt_kills_a_child_that_hangs() {
    let endless = Endless::new();
    let (mut child, process) = started(&endless, &[]);
    send(process, Signal::STOP);
    interrupt(&child, Signal::INT);
    std::thread::sleep(Duration::from_millis(1300));
    assert!(is_there(process) && child.try_wait().expect("the bench").is_none());
    interrupt(&child, Signal::INT);
    let output = child.wait_with_output().expect("the bench");
    let expected = format!("error: {}: interrupted, without a report", endless.file.display());
    assert_eq!((status(&output), last_line(&output)), (4, expected));
    assert!(!is_there(process) && output.stdout.is_empty());
}

#[test]
fn a_check_whose_time_is_over_reports_what_it_has_seen() {
    let endless = Endless::new();
    let output = endless.check(&["--json", "--timeout", "1"]).output().expect("the bench");
    assert_eq!(status(&output), 4, "{output:?}");
    assert_reported(&json(&output), "the time limit (--timeout) is over");
}

#[test]
fn a_child_that_hangs_when_its_time_is_over_is_killed() {
    let endless = Endless::new();
    let (child, process) = started(&endless, &["--timeout", "1"]);
    send(process, Signal::STOP);
    let output = child.wait_with_output().expect("the bench");
    let expected = format!("error: {}: check took more than 1 s, and was killed", endless.file.display());
    assert_eq!((status(&output), last_line(&output)), (4, expected));
    assert!(!is_there(process));
}

/// `script` runs a command on a terminal of its own.
#[test]
fn a_terminal_shows_how_far_a_long_run_is() {
    let endless = Endless::new();
    let check = endless.check(&["--timeout", "3"]);
    let words = std::iter::once(check.get_program()).chain(check.get_args());
    let words: Vec<&str> = words.map(|word| word.to_str().expect("a word")).collect();
    let command = shlex::try_join(words).expect("a command");
    let mut script = Command::new("script");
    script.args(["-qefc", &command, "/dev/null"]).stdin(Stdio::null()).env("TERM", "xterm");
    let output = script.output().expect("script, of bsdutils");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(status(&output), 4, "{text}");
    assert!(text.contains(" per second, 1 finding, 2 deep; 0:0"), "{text:?}");
    // The report follows on lines of its own.
    let report = text.rsplit_once(" per second, 1 finding").map_or("", |(_, rest)| rest);
    assert!(report.contains("executed instructions checked"), "{text:?}");
}

/// How many programs a search has made below a folder.
fn programs_below(folder: &Path) -> usize {
    let below = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    let numbers =
        below(folder).flat_map(|scratch| below(&scratch.path().join("programs")).collect::<Vec<_>>());
    // They are removed soon.
    numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).max().unwrap_or(0)
}

/// Starts a search that would take hours, interrupts it as `timeout` does, and returns what it says.
fn interrupted_search(words: &[&str]) -> Value {
    let scratch = tempfile::tempdir().expect("a folder");
    let child = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .current_dir(repository())
        .arg("generate")
        .args(words)
        .args(["--json", "--jobs", "1"])
        .env("TMPDIR", scratch.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the bench");
    let is_ready =
        || handles_interrupts(id(&child)) && (words[0] == "sections" || programs_below(scratch.path()) > 100);
    wait("it does not search", || is_ready().then_some(()));
    for signal in [Signal::STOP, Signal::TERM, Signal::INT, Signal::CONT] {
        interrupt(&child, signal);
    }
    let output = child.wait_with_output().expect("the bench");
    assert_eq!(status(&output), 4, "{output:?}");
    let report = json(&output);
    assert_eq!(report["verdict"], "INTERRUPTED", "{report}");
    report
}

#[test]
fn an_interrupted_search_reports_what_it_has_found() {
    let report = interrupted_search(&["sections", "--sections", "1000000000"]);
    assert_eq!(report["interrupted"], true, "{report}");
    if crate::generate::host().is_none() {
        return;
    }
    let host = ["--toolchain", crate::generate::HOST, "--programs", "1000000"];
    let report = interrupted_search(&[&["assembly"], &host[..]].concat());
    assert_eq!(report["toolchains"]["host"]["amd64"]["interrupted"], true, "{report}");
    let report = interrupted_search(&[&["c"], &host[..]].concat());
    assert_eq!(report["toolchains"]["host"]["amd64"]["interrupted"], true, "{report}");
}

/// In its first answer, and after it.
#[test]
fn an_interrupt_is_heeded_while_an_unwinder_is_silent() {
    let build = repository().join("corpus/builds/gnu-2.47/amd64/leaf.O2");
    for first in ["", HELLO] {
        let folder = tempfile::tempdir().expect("a folder");
        let mark = folder.path().join("silent");
        let script = format!("{first}touch {}; exec sleep 1000", mark.display());
        let bench = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
            .args(["check", "--no-explore", "--unwinder-timeout", "900", "--unwinder"])
            .arg(format!("sh -c {}", shlex::try_quote(&script).expect("a word")))
            .arg(&build)
            .env("TMPDIR", folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the bench");
        // With an answer to the first question, it is started a second time, for the program.
        wait("it is not silent", || mark.exists().then_some(()));
        std::thread::sleep(Duration::from_millis(300));
        let child = wait("no child runs", || children(bench.id()).into_iter().next());
        let unwinders =
            wait("no unwinder", || Some(children(child.unsigned_abs())).filter(|all| !all.is_empty()));
        let start = Instant::now();
        interrupt(&bench, Signal::TERM);
        let output = bench.wait_with_output().expect("the bench");
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        assert_eq!(status(&output), 4, "{output:?}");
        if first.is_empty() {
            assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), NOTHING_KNOWN);
        }
        assert!(unwinders.iter().all(|unwinder| !is_there(*unwinder)), "the unwinder has ended");
        std::fs::remove_file(&mark).expect("a file");
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// A run that is stopped says how far it has come, and goes on where it was.
#[test]
fn a_stopped_run_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report");
    let run = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"));
        command.args([
            "run",
            "--jobs",
            "1",
            "--no-explore",
            "--abi",
            "s390x",
            "--toolchain",
            "gnu-2.47",
            "--report",
        ]);
        command
            .arg(&report)
            .args(more)
            .current_dir(repository())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    let child = run(&[]).spawn().expect("the bench");
    wait("no case is finished", || {
        let journal = std::fs::read_dir(&report).ok()?.filter_map(Result::ok);
        journal.filter_map(|entry| entry.metadata().ok()).any(|entry| entry.len() > 4096).then_some(())
    });
    interrupt(&child, Signal::INT);
    let asked = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    assert!(asked.elapsed() < Duration::from_secs(10), "a second or two, on a machine that is not busy");
    assert_eq!(status(&output), 4);
    let said = conclusion(&String::from_utf8_lossy(&output.stdout));
    assert!(said.starts_with("INTERRUPTED: ") && said.contains(" were run; "), "{said}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("`--resume` runs the other cases"),
        "{output:?}"
    );
    let output = run(&["--resume"]).output().expect("the bench");
    assert_eq!(status(&output), 0, "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("finished already: "), "{output:?}");
}

/// A program that is still looking for what it loads has not been checked.
#[test]
fn nothing_is_checked_before_it_is_known_what_is_loaded() {
    let endless = Endless::new();
    let child = endless.check(&["--root", "/"]).spawn().expect("the bench");
    wait("no child runs", || children(child.id()).into_iter().next());
    std::thread::sleep(Duration::from_millis(1500));
    interrupt(&child, Signal::TERM);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(status(&output), 4);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.trim(), NOTHING_KNOWN);
}

/// It reads what nobody writes, or waits for the first answer of a program that gives none.
#[test]
fn whoever_is_stopped_before_there_is_a_result_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mark, output) = (folder.path().join("silent"), folder.path().join("output"));
    let silent = format!("touch {}; exec sleep 1000", mark.display());
    let silent = shlex::try_join(["sh", "-c", &silent]).expect("a command");
    let output = output.to_str().expect("text");
    for words in [
        &["lint", "-"][..],
        &["diff", "-"],
        &["dump", "-"],
        &["lint", "-", "--json"],
        &["export", "stacks", "--output", output],
        &["vectors", "--unwinder", &silent],
        &["generate", "sections", "--unwinder", &silent],
        &["run", "--spec", "leaf", "--unwinder", &silent],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"));
        command.args(words).current_dir(repository());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program");
        let _input = child.stdin.take();
        let asks = words.contains(&"--unwinder");
        let is_ready = || if asks { mark.exists() } else { handles_interrupts(id(&child)) };
        wait("it is not ready", || is_ready().then_some(()));
        interrupt(&child, Signal::TERM);
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((status(&output), said.trim()), (4, NOTHING_KNOWN), "{words:?}");
        if words.contains(&"--json") {
            assert_eq!(json(&output), serde_json::json!({ "verdict": "INTERRUPTED" }), "{words:?}");
        } else {
            assert!(output.stdout.is_empty(), "{words:?}: {output:?}");
        }
        _ = std::fs::remove_file(&mark);
    }
}

/// The compiler answers when it is asked for its version, and then no more.
#[test]
fn an_interrupt_ends_a_search_whose_compiler_hangs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (compiler, mark) = (folder.path().join("compiler"), folder.path().join("hangs"));
    let script = format!("#!/bin/sh\necho $$ >> {}\nexec sleep 1000\n", mark.display());
    std::fs::write(&compiler, script).expect("a file");
    std::fs::set_permissions(&compiler, Permissions::from_mode(0o755)).expect("a program");
    let toolchain = folder.path().join("hangs.yaml");
    let abis = format!("abis:\n  amd64: {{compiler: {}}}\n", compiler.display());
    let definition = format!("name: hangs\nsummary: It hangs.\nsframe_flags: [\"-Wa,--gsframe\"]\n{abis}");
    std::fs::write(&toolchain, definition).expect("a file");
    let toolchain = toolchain.to_str().expect("text");
    for kind in ["assembly", "c"] {
        let words = ["generate", kind, "--toolchain", toolchain];
        let report =
            interrupted(&words, |_| std::fs::read_to_string(&mark).is_ok_and(|it| it.ends_with('\n')));
        assert_eq!(report["verdict"], "INTERRUPTED", "{kind}: {report}");
        let pids = std::fs::read_to_string(&mark).expect("a file");
        assert!(pids.lines().all(|pid| !is_there(pid.parse().expect("a process"))), "{kind}: {pids}");
        std::fs::remove_file(&mark).expect("a file");
    }
}

/// The run that shows what its calls were takes no walks: what it has come to is walked in the time that is left.
#[test]
fn an_interrupted_study_keeps_its_walks() {
    let endless = Endless::new();
    let file = endless.file.to_str().expect("text");
    let report = interrupted(&["study", file], |child| {
        let is_ready = children(child.id()).into_iter().any(handles_interrupts);
        is_ready.then(|| std::thread::sleep(Duration::from_millis(500))).is_some()
    });
    let executed = &report["images"][0]["executed"];
    assert_eq!((&report["verdict"], &report["broken"]), (&"INTERRUPTED".into(), &"interrupted".into()));
    assert!(executed["instructions"].as_u64() > Some(1000), "{report}");
    let walks = executed["cfi"]["by_topmost"].as_object().expect("walks");
    assert!(!walks.is_empty(), "{report}");
}

/// Starts a command in the repository, interrupts it when it is ready, and returns its document.
fn interrupted(words: &[&str], is_ready: impl Fn(&Child) -> bool) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"));
    command.args(words).arg("--json").current_dir(repository());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the bench");
    wait("it is not ready", || is_ready(&child).then_some(()));
    interrupt(&child, Signal::INT);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(status(&output), 4, "{output:?}");
    json(&output)
}

/// The first linkers fail at once, the others never end.
#[test]
fn interrupted_links_tell_of_the_cases_that_were_tried() {
    let folder = tempfile::tempdir().expect("a folder");
    let (counter, hangs) = (folder.path().join("counter"), folder.path().join("hangs"));
    let (counted, mark) = (counter.display(), hangs.display());
    let script = format!(
        "echo >> {counted}; [ $(wc -l < {counted}) -gt 40 ] || exit 1; touch {mark}; exec sleep 1000"
    );
    let linker = shlex::try_join(["sh", "-c", &script]).expect("a command");
    let words = ["links", "--linker", &linker, "--abi", "amd64"];
    let reports = interrupted(&words, |_| hangs.exists());
    let (tried, left) = (reports[0]["results"].as_array().map_or(0, Vec::len), &reports[0]["left"]);
    assert_eq!(reports[0]["verdict"], "INTERRUPTED");
    assert!(tried > 5 && left.as_u64() > Some(20), "{tried} {left}");
    // None was tried by a linker that was ended.
    let text = reports.to_string();
    assert!(!text.contains("signal") && !text.contains("\"crash\""), "{text}");
}

#[test]
fn interrupted_vectors_tell_of_the_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("silent");
    let engine = env!("CARGO_BIN_EXE_sframe-engine-unwinder");
    let script =
        format!("sed -u 5q | {engine}; read line || exit; touch {}; exec sleep 1000", mark.display());
    let unwinder = shlex::try_join(["sh", "-c", &script]).expect("a command");
    // It is started twice. The first time, only its name is asked for.
    let report =
        interrupted(&["vectors", "--unwinder", &unwinder, "--unwinder-timeout", "900"], |_| mark.exists());
    assert_eq!((&report["verdict"], &report["vectors"]), (&"INTERRUPTED".into(), &4.into()), "{report}");
    assert!(report["left_over"].as_u64() > Some(100), "{report}");
    assert_eq!(report["differences"], serde_json::json!([]));
}

#[test]
fn interrupted_mutants_are_counted() {
    let report = interrupted(&["mutate", "--jobs", "1", "--toolchain", "gnu-2.47"], |child| {
        handles_interrupts(id(child))
    });
    assert_eq!(report["verdict"], "INTERRUPTED", "{report}");
    assert!(report["left_builds"].as_u64() > Some(1), "{report}");
}

/// The file that is being explored ends with what is known of it, and those that are left are a number.
#[test]
fn an_interrupt_ends_a_folder_and_not_only_a_file_of_it() {
    let child = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .current_dir(repository())
        .args(["explore", "--jobs", "1", "corpus/builds/gnu-2.44/amd64"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the bench");
    wait("it handles nothing", || handles_interrupts(id(&child)).then_some(()));
    interrupt(&child, Signal::TERM);
    let output = child.wait_with_output().expect("an end");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(status(&output), 4, "{text}");
    assert!(text.matches("INTERRUPTED").count() <= 2, "{text}");
    let left =
        text.lines().last().and_then(|line| line.trim().strip_suffix(" files left")).expect("the others");
    assert!(left.parse::<u64>().is_ok_and(|left| left > 100), "{text}");
}

/// What needs no run, too. Nobody reads what it writes before, so that it can't have ended.
#[test]
fn an_interrupt_ends_what_inspects_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let sarif = folder.path().join("lint.sarif");
    let sarif = sarif.to_str().expect("text");
    for words in [
        &["lint", "corpus/builds", "--sarif", sarif][..],
        &["diff", "corpus/builds"],
        &["dump", "corpus/builds"],
    ] {
        let report = interrupted(words, |child| handles_interrupts(id(child)));
        assert_eq!(report["verdict"], "INTERRUPTED", "{words:?}");
        assert!(report["left"].as_u64() > Some(100), "{words:?}: {}", report["left"]);
    }
    let log: Value = serde_json::from_slice(&std::fs::read(sarif).expect("a log")).expect("JSON");
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
}

/// In a worker, which waits for its unwinder.
#[test]
fn an_interrupt_ends_a_run_whose_unwinder_is_silent() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("silent");
    let script = format!("{HELLO}read line || exit; touch {}; exec sleep 1000", mark.display());
    let unwinder = shlex::try_join(["sh", "-c", &script]).expect("a command");
    let words = [
        "run",
        "--spec",
        "leaf",
        "--toolchain",
        "gnu-2.47",
        "--unwinder-timeout",
        "900",
        "--unwinder",
        &unwinder,
    ];
    let start = Instant::now();
    let report = interrupted(&words, |_| mark.exists());
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert_eq!((&report["verdict"], &report["interrupted"]), (&"INTERRUPTED".into(), &true.into()));
}
