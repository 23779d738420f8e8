//! Programs in separate processes: the results are the same, and the end of
//! such a process breaks only one case.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use sframe_corpus::corpus::Manifest;
use sframe_judge::target::Target;
use sha2::{Digest as _, Sha256};

use crate::command::{json, link_origins, status};
use crate::common::repository;
use crate::reports;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"));
    command.current_dir(repository()).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn bench(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the bench")
}

fn name(path: &Path) -> &str {
    path.to_str().expect("a name")
}

#[test]
fn the_reports_are_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    let some = ["run", "--spec", "re*", "--spec", "crossing", "--toolchain", "gnu-2.47"];
    let first = bench(&[&some[..], &["--report", name(&one), "--in-process"]].concat());
    let second = bench(&[&some[..], &["--report", name(&other)]].concat());
    assert_eq!((status(&first), status(&second)), (0, 0), "{second:?}");
    for file in ["report.json", "junit.xml", "report.sarif", "report.html"] {
        assert!(
            reports::timeless(&one.join(file)) == reports::timeless(&other.join(file)),
            "{file} is not the same"
        );
    }
}

/// Times differ between runs.
fn without_times(mut report: Value) -> Value {
    assert!(report["provenance"].take().is_object());
    for case in report["cases"].as_array_mut().expect("cases") {
        assert!(case["seconds"].take().is_number());
        assert!(case["unwinder"]["seconds"].take().is_number());
    }
    report
}

#[test]
fn an_unwinder_in_a_process_of_its_own_may_be_asked_from_another() {
    let engine = env!("CARGO_BIN_EXE_sframe-engine-unwinder");
    let some = ["run", "--spec", "realign", "--toolchain", "gnu-2.47", "--json", "--unwinder", engine];
    let inside = without_times(json(&bench(&[&some[..], &["--in-process"]].concat())));
    let outside = without_times(json(&bench(&some)));
    assert_eq!(inside, outside);
    assert!(inside["cases"].as_array().is_some_and(|cases| cases.len() > 3));
}

/// A corpus with one program that never ends, and one that does.
pub(crate) struct Endless {
    folder: tempfile::TempDir,
    pub(crate) file: PathBuf,
}

const ENDLESS: &str = "leaf/gnu-2.47/amd64/O2";

impl Endless {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let corpus = repository().join("corpus");
        let mut manifest = Manifest::load(&corpus).expect("the manifest");
        let mut builds = Vec::new();
        let mut file = PathBuf::new();
        for id in ["gnu-2.47/amd64/leaf.O2", "gnu-2.47/amd64/recursion.O2"] {
            let mut build = manifest.get(id).expect("the build").clone();
            let mut bytes = build.read(&corpus).expect("a build");
            let path = build.path(folder.path());
            if build.program == "leaf" {
                let main = file_offset(&bytes, "main");
                bytes[main..main + 3].copy_from_slice(&[0x90, 0xeb, 0xfd]); // nop; jmp to it
                build.sha256 = format!("{:x}", Sha256::digest(&bytes));
                file.clone_from(&path);
            }
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, bytes).expect("a file");
            builds.push(build);
        }
        manifest.builds = builds;
        manifest.write(folder.path()).expect("a manifest");
        link_origins(folder.path());
        for program in ["leaf", "recursion"] {
            let spec = format!(
                "program: {program}\nsummary: A spec that a test has written.\ntargets: [amd64]\n\
                 toolchains: [gnu-2.47]\nstops: [{{at: main}}]\n"
            );
            let specs = folder.path().join("specs");
            std::fs::create_dir_all(&specs).expect("a folder");
            std::fs::write(specs.join(format!("{program}.yaml")), spec).expect("a spec");
        }
        Self { folder, file }
    }

    /// Runs both, in workers.
    fn run(&self, more: &[&str]) -> Command {
        let specs = self.folder.path().join("specs");
        let run = ["run", "--corpus", name(self.folder.path()), "--specs", name(&specs), "--json"];
        command(&[&run[..], &["--budget", "1000000000"], more].concat())
    }

    pub(crate) fn check(&self, more: &[&str]) -> Command {
        command(&[&["check", name(&self.file), "--budget", "1000000000"], more].concat())
    }
}

fn file_offset(bytes: &[u8], function: &str) -> usize {
    let target = Target::open(bytes).expect("a target");
    let image = &target.executable().image;
    let address = target.executable().subject.symbols.addresses_of(function)[0] + image.bias;
    let segment = image
        .segments
        .iter()
        .find(|segment| (segment.address..segment.address + segment.file.len() as u64).contains(&address));
    let segment = segment.expect("a segment");
    segment.file.start + usize::try_from(address - segment.address).expect("an offset")
}

/// The reason why the endless program is broken, provided that nothing else is.
fn only_broken(output: &Output) -> String {
    assert_eq!(status(output), 4, "{output:?}");
    let report = json(output);
    let mut reason = None;
    for case in report["cases"].as_array().expect("cases") {
        if case["id"] == ENDLESS {
            assert_eq!(case["outcome"], "broken");
            reason = case["reason"].as_str().map(str::to_owned);
        } else {
            assert_eq!(case["reason"], Value::Null, "{case}");
            assert!(case["comparisons"].as_u64() > Some(0), "{case}");
        }
    }
    assert_eq!(report["summary"]["broken"], 1);
    reason.expect("a reason")
}

/// The default limits of a command that runs untrusted programs.
#[test]
fn there_is_a_limit_where_none_is_given() {
    for name in ["run", "check"] {
        let help = bench(&[name, "--help"]);
        let help = String::from_utf8_lossy(&help.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("[default: 8589934592]"), "{name}: {help}");
        assert!(help.contains("[default: 3600]"), "{name}: {help}");
    }
}

#[test]
fn only_a_case_that_takes_too_long_is_broken() {
    let endless = Endless::new();
    let output = endless.run(&["--timeout", "5"]).output().expect("the bench");
    assert_eq!(only_broken(&output), "the case took more than 5 s, and its worker was killed");
}

/// The memory counts without what the emulator reserves: little is enough for small programs.
#[test]
fn a_program_runs_with_the_least_memory() {
    let check = ["check", "corpus/builds/gnu-2.47/amd64/leaf.O2", "--memory", "256M"];
    assert_eq!(status(&bench(&check)), 0);
    assert_eq!(status(&bench(&["explore", check[1], "--memory", "256M"])), 0);
    let output = bench(&[&check[..], &["--stack-size", "255M"]].concat());
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(status(&output), 4, "{message}");
    assert!(message.lines().count() == 1 && message.contains("memory"), "{message}");
}

/// Where the system allows less than anything needs, nothing begins.
#[test]
fn a_limit_of_the_system_is_one_error() {
    let file = "corpus/builds/gnu-2.47/amd64/leaf.O2";
    for arguments in [&["run", "--spec", "leaf"][..], &["check", file], &["explore", file], &["study", file]]
    {
        let bench = env!("CARGO_BIN_EXE_sframe-testbench");
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -v 1200000 && exec \"$0\" \"$@\"", bench]).args(arguments);
        let output = limited.current_dir(repository()).output().expect("the bench");
        assert_eq!(
            (status(&output), String::from_utf8_lossy(&output.stderr).as_ref()),
            (
                4,
                "error: the system allows 1228800000 bytes of addresses (`ulimit -v`); the emulator reserves 1073741824, and \
             programs need 268435456\n"
            ),
            "{arguments:?}"
        );
        assert!(output.stdout.is_empty());
    }
}

/// The child processes of a process.
pub(crate) fn children(parent: u32) -> Vec<i32> {
    let parent_of = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, which comes first, may contain any character.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let processes = std::fs::read_dir("/proc").expect("/proc");
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

/// Waits until the endless program runs in a process.
fn running(child: &Child) -> i32 {
    let ticks = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().nth(11)?.parse().ok());
        fields.flatten().unwrap_or(0_u64)
    };
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        // No other case takes this long: in ticks of 10 ms.
        if let Some(pid) = children(child.id()).into_iter().find(|pid| ticks(*pid) > 300) {
            return pid;
        }
        assert!(Instant::now() < deadline, "no process runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Crashes a process. At the first such signal, Rust only checks whether it comes
/// from a stack overflow; the second one kills.
fn crash(pid: i32) {
    let process = rustix::process::Pid::from_raw(pid).expect("a process");
    let deadline = Instant::now() + Duration::from_secs(20);
    while is_there(pid) {
        assert!(Instant::now() < deadline, "{pid} is still there");
        // It may have just ended.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::SEGV);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn only_a_case_whose_process_crashes_is_broken() {
    let endless = Endless::new();
    let child = endless.run(&["--jobs", "1"]).spawn().expect("the bench");
    crash(running(&child));
    let reason = only_broken(&child.wait_with_output().expect("the bench"));
    assert!(reason.starts_with("the worker has ended: signal: 11 (SIGSEGV)"), "{reason}");
}

/// Whether a process exists, and is not a zombie.
pub(crate) fn is_there(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[test]
fn no_process_outlives_the_bench() {
    let endless = Endless::new();
    for mut command in [endless.run(&["--jobs", "1"]), endless.check(&["--timeout", "300"])] {
        let mut child = command.spawn().expect("the bench");
        let process = running(&child);
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
        let deadline = Instant::now() + Duration::from_secs(20);
        while is_there(process) {
            assert!(Instant::now() < deadline, "{process} is still there");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_check_that_crashes_is_one_clear_error_and_leaves_no_report() {
    let endless = Endless::new();
    let report = endless.folder.path().join("report");
    std::fs::create_dir_all(&report).expect("a folder");
    let says = |output: &Output, expected: &str| {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(status(output), 4, "{message}");
        let last = message.lines().last().unwrap_or_default();
        assert_eq!(last, format!("error: {}: {expected}", endless.file.display()), "{message}");
        assert!(!report.join("report.json").exists());
    };
    std::fs::write(report.join("report.json"), "of yesterday").expect("a file");
    let child = endless.check(&["--timeout", "300", "--report", name(&report)]).spawn().expect("the bench");
    crash(running(&child));
    let output = child.wait_with_output().expect("the bench");
    says(&output, "check ended without a result: signal: 11 (SIGSEGV); its memory limit is 8589934592 bytes");
}

/// `check` passes on the output of its child.
#[test]
fn the_status_of_a_check_is_that_of_its_child() {
    for (arguments, expected) in [
        (["corpus/builds/gnu-2.47/amd64/leaf.O2", "--json"], 0),
        (["corpus/builds/gnu-2.47/amd64/realign.O2", "--json"], 1),
        (["Cargo.toml", "--json"], 2),
        (["corpus/builds/gnu-2.47/amd64/leaf.O2", "--budget=10"], 4),
    ] {
        assert_eq!(status(&bench(&[&["check"], &arguments[..]].concat())), expected, "{arguments:?}");
    }
}
