//! The pipelines that users copy, executed as their services would: each job in a clone of its own, with the artifacts
//! or volumes that the pipeline gives it. A report may say anything, and a shard may die: nothing else is lost by it.

mod github;
mod gitlab;
mod kubernetes;
mod own;

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rstest::rstest;
use serde_json::Value as Json;
use serde_yaml::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn documents(name: &str) -> Vec<Value> {
    use serde::Deserialize as _;
    let path = repository().join("ci/pipelines").join(name);
    let text = std::fs::read_to_string(&path).expect("a pipeline");
    serde_yaml::Deserializer::from_str(&text)
        .map(|document| Value::deserialize(document).expect("YAML"))
        .collect()
}

/// A string of a pipeline.
fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no string: {value:?}"))
}

/// A list of strings of a pipeline.
fn strings(value: &Value) -> Vec<&str> {
    value.as_sequence().unwrap_or_else(|| panic!("no list: {value:?}")).iter().map(string).collect()
}

/// The variables that a pipeline sets.
fn variables(value: &Value) -> BTreeMap<String, String> {
    let pairs = value.as_mapping().into_iter().flatten();
    pairs.map(|(name, value)| (string(name).to_owned(), string(value).to_owned())).collect()
}

fn write_script(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a script");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Small enough to run in a second, with something for each of four machines.
const SELECTION: &str = "--spec recursion --toolchain gnu-2.44 --abi amd64";

/// What happens to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Nothing,
    /// A spec is not fulfilled.
    Finding,
    /// The budget is too small for any program.
    Broken,
    /// The second shard is killed.
    Killed,
}

/// The status of the merge.
fn expected(event: Event) -> i32 {
    match event {
        Event::Nothing => 0,
        Event::Finding => 1,
        Event::Killed => 2,
        Event::Broken => 4,
    }
}

/// What a service has: an event, and the folders that outlive a job.
struct Service {
    event: Event,
    folder: tempfile::TempDir,
}

impl Service {
    fn new(event: Event) -> Self {
        let service = Self { event, folder: tempfile::tempdir().expect("a folder") };
        let specs = "program: recursion\nsummary: Wants frames that are not there.\ntargets: [amd64]\n\
                     toolchains: [gnu-2.44]\nstops: [{at: main, frames: [nobody]}]\n";
        std::fs::create_dir(service.path("specs")).expect("a folder");
        std::fs::write(service.path("specs/recursion.yaml"), specs).expect("a spec");
        write_script(&service.path("bin/sframe-testbench"), &service.bench());
        service
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A bench that runs few cases, notes that it was called, and lets happen what has to.
    fn bench(&self) -> String {
        let bench = env!("CARGO_BIN_EXE_sframe-testbench");
        let log = self.path("log").display().to_string();
        let specs = self.path("specs").display().to_string();
        let options = match self.event {
            Event::Nothing | Event::Killed => SELECTION.to_owned(),
            Event::Finding => format!("--specs {specs}"),
            Event::Broken => format!("{SELECTION} --budget 10"),
        };
        // It leaves what it had written by then.
        let killed =
            "*--shard\\ 2/4*) mkdir -p report/shards/2; echo {} >report/shards/2/cases.jsonl; kill -9 $$ ;;";
        let killed = if self.event == Event::Killed { killed } else { "" };
        format!(
            "#!/bin/sh\necho \"$*\" >>{log}\ncase $* in\n{killed}\nrun*) exec {bench} \"$@\" {options} ;;\n*) \
             exec {bench} \"$@\" ;;\nesac\n"
        )
    }

    /// How often the bench was called like this.
    fn calls(&self, start: &str) -> usize {
        let log = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        log.lines().filter(|line| line.starts_with(start)).count()
    }

    /// A folder that looks like the repository, and in which the release build takes no time.
    fn checkout(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let gate = std::fs::read_to_string(repository().join("ci/gate")).expect("the gate");
        write_script(&folder.path().join("ci/gate"), &gate);
        let bench = self.path("bin/sframe-testbench").display().to_string();
        let build = format!(
            "#!/bin/sh\nset -e\ncd \"$(dirname \"$0\")/..\"\n[ \"$*\" = release ]\nmkdir -p target/release\ncp {bench} target/release/\n"
        );
        write_script(&folder.path().join("ci/build"), &build);
        link_data(folder.path());
        folder
    }

    /// `PATH`, with the programs of the service first.
    fn programs(&self) -> String {
        format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap_or_default())
    }
}

/// Gives a folder the corpus and the specs.
fn link_data(folder: &Path) {
    for name in ["corpus", "specs"] {
        symlink(repository().join(name), folder.join(name)).expect("a link");
    }
}

/// Executes a script of a pipeline.
fn shell(folder: &Path, script: &str, variables: &BTreeMap<String, String>) -> Output {
    Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(folder)
        .env_remove("SFRAME_TESTBENCH")
        .env_remove("GITHUB_STEP_SUMMARY")
        .envs(variables)
        .output()
        .expect("bash")
}

/// The status of a script, as a shell tells it of one that was killed.
fn status(output: &Output) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    output.status.code().or_else(|| output.status.signal().map(|signal| 128 + signal)).expect("an end")
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).expect("a folder");
        for entry in std::fs::read_dir(from).expect("a folder") {
            let entry = entry.expect("an entry");
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        std::fs::copy(from, to).expect("a copy");
    }
}

/// How the jobs of a pipeline ended, and what it leaves: the folders `shards` and `merged`, as the user gets them.
struct Ended {
    build: Option<i32>,
    shards: Vec<i32>,
    merge: i32,
    reports: tempfile::TempDir,
}

#[rstest]
fn nothing_is_lost_when(
    #[values("github", "gitlab", "kubernetes")] pipeline: &str,
    #[values(Event::Nothing, Event::Finding, Event::Broken, Event::Killed)] event: Event,
) {
    let service = Service::new(event);
    let ended = match pipeline {
        "github" => github::execute(&service),
        "gitlab" => gitlab::execute(&service),
        _ => kubernetes::execute(&service),
    };
    assert!(ended.build.is_none_or(|status| status == 0));
    let killed = event == Event::Killed;
    let shards = if killed { vec![0, 128 + 9, 0, 0] } else { vec![0; 4] };
    assert_eq!((ended.shards, ended.merge), (shards, expected(event)));
    // Only the machine's fault is tried again, where the service does that.
    for shard in 1..=4 {
        let again = pipeline == "kubernetes" && killed && shard == 2;
        assert_eq!(service.calls(&format!("run --shard {shard}/4 ")), 1 + usize::from(again), "{shard}");
    }
    assert_eq!(service.calls("merge "), 1);

    let reports = ended.reports.path();
    for shard in 1..=4 {
        let report = reports.join(format!("shards/{shard}/report.html"));
        assert_eq!(report.is_file(), !(killed && shard == 2), "{}", report.display());
        assert!(report.with_file_name("cases.jsonl").is_file(), "{}", report.display());
    }
    let merged = reports.join("merged/report.json");
    if killed {
        assert!(!merged.exists(), "of a part");
        return;
    }
    let merged: Json = serde_json::from_slice(&std::fs::read(merged).expect("a report")).expect("JSON");
    let count = |key: &str| merged["summary"][key].as_u64().expect("a number");
    assert_eq!(count("unexpected") > 0, event == Event::Finding, "{merged}");
    assert_eq!(count("broken") > 0, event == Event::Broken, "{merged}");
    for name in ["report.html", "report.sarif", "summary.md"] {
        assert!(reports.join("merged").join(name).is_file(), "{name}");
    }
    let junit = std::fs::read_to_string(reports.join("merged/junit.xml")).expect("a file");
    assert!(junit.starts_with("<?xml"));
}

/// The gate in a clone, called by hand.
struct Gate {
    service: Service,
    clone: tempfile::TempDir,
    variables: BTreeMap<String, String>,
}

impl Gate {
    fn new() -> Self {
        let service = Service::new(Event::Nothing);
        let clone = service.checkout();
        let variables = [
            ("SFRAME_TESTBENCH", service.path("bin/sframe-testbench")),
            ("GITHUB_STEP_SUMMARY", clone.path().join("step-summary.md")),
        ];
        let variables = variables.map(|(name, path)| (name.to_owned(), path.display().to_string())).into();
        Self { service, clone, variables }
    }

    fn run(&self, command: &str) -> (i32, String) {
        let output = shell(self.clone.path(), command, &self.variables);
        (status(&output), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn the_gate_fails_when_a_part_is_missing_or_worse_than_the_baseline() {
    let gate = Gate::new();
    let run = |command: &str| gate.run(command).0;
    let at = |name: &str| gate.clone.path().join(name);
    let (status, message) = gate.run("ci/gate merge");
    assert_eq!((status, &*message), (2, "ci/gate: no shard has left a report in report/shards\n"));
    for number in 1..=2 {
        assert_eq!(run(&format!("ci/gate shard {number}/3")), 0);
    }
    let (status, message) = gate.run("ci/gate merge");
    assert_eq!((status, &*message), (2, "error: of 3 shards, one is missing: 3\n"));
    assert!(!at("step-summary.md").exists(), "nothing was merged");
    assert_eq!(run("ci/gate shard 3/3"), 0);
    assert_eq!(run("ci/gate merge"), 0);
    let summary = std::fs::read_to_string(at("step-summary.md")).expect("a summary");
    assert!(summary.starts_with("# SFrame test bench: PASS\n"));
    assert_eq!(summary, std::fs::read_to_string(at("report/merged/summary.md")).expect("a summary"));
    let create = "\"$SFRAME_TESTBENCH\" baseline create ci/baseline.json report/merged/report.json";
    assert_eq!(run(create), 0);
    assert_eq!(run("ci/gate merge"), 0);
    let worse = "sed -i 's/\"rows_exercised\": \\([0-9]*\\)/\"rows_exercised\": 9\\1/' ci/baseline.json";
    assert_eq!(run(worse), 0);
    assert_eq!(run("ci/gate merge"), 1);
    let summaries = std::fs::read_to_string(at("step-summary.md")).expect("a summary");
    assert_eq!(summaries.matches("# SFrame test bench").count(), 3, "a failure has one too");
}

#[test]
fn reports_of_an_earlier_run_are_not_taken_for_those_of_this_one() {
    let gate = Gate::new();
    let at = |name: &str| gate.clone.path().join(name);
    for number in 1..=2 {
        assert_eq!(gate.run(&format!("ci/gate shard {number}/2")).0, 0);
    }
    assert_eq!(gate.run("ci/gate merge").0, 0);
    // A shard that dies, and one that can't begin.
    write_script(&gate.service.path("bin/sframe-testbench"), "#!/bin/sh\nkill -9 $$\n");
    assert_eq!(gate.run("ci/gate shard 2/2").0, 128 + 9);
    assert!(!at("report/shards/2/report.json").exists());
    write_script(&gate.service.path("bin/sframe-testbench"), &gate.service.bench());
    assert_eq!(gate.run("ci/gate merge").0, 2);
    assert!(!at("report/merged").exists());
    assert_eq!(gate.run("ci/gate shard 1/2 --spec nothing-like-this").0, 2);
    let (status, message) = gate.run("ci/gate merge");
    assert_eq!((status, &*message), (2, "ci/gate: no shard has left a report in report/shards\n"));
}

#[test]
fn a_shard_without_cases_is_not_the_failure_of_the_run() {
    let gate = Gate::new();
    // One case, and three machines.
    for number in 1..=3 {
        assert_eq!(gate.run(&format!("ci/gate shard {number}/3 --variant O2")).0, 0);
    }
    assert_eq!(gate.run("ci/gate merge").0, 0);
}

#[rstest]
#[case("ci/gate", "ci/gate: an action is missing: shard, merge, files or toolchain (ci/gate --help)\n")]
#[case("ci/gate shard", "ci/gate: shard needs a part, such as 1/3 (")]
#[case("ci/gate shard 1", "ci/gate: shard needs a part, such as 1/3, and not 1 (")]
#[case("ci/gate shard ../1/2", "ci/gate: shard needs a part, such as 1/3, and not ../1/2 (")]
#[case("ci/gate both", "ci/gate: unknown action both; there are shard, merge, files and toolchain (")]
#[case("ci/gate files", "ci/gate: files needs a file (")]
#[case(
    "ci/gate files --coverage most build",
    "ci/gate: --coverage needs all or a percentage, and not most ("
)]
#[case("ci/gate files --coverage all --coverage 5% build", "ci/gate: --coverage is given twice (")]
#[case("ci/gate files build --known-faults", "ci/gate: options come before the files, and --known-faults is")]
#[case("ci/gate toolchain", "ci/gate: toolchain needs a definition (")]
#[case("ci/gate shard 5/3", "error: ")]
#[case(
    "SFRAME_TESTBENCH=./nowhere ci/gate merge",
    "ci/gate: ./nowhere is not a program ($SFRAME_TESTBENCH)\n"
)]
fn unusable_arguments_of_the_gate_are_said_to_be(#[case] command: &str, #[case] expected: &str) {
    let (status, message) = Gate::new().run(command);
    assert_eq!(status, 2, "{message}");
    assert!(message.starts_with(expected), "{message}");
}

/// The release build fails, and nothing is run: neither with another build nor without one.
#[rstest]
#[case("github")]
#[case("gitlab")]
fn without_a_build_nothing_runs(#[case] pipeline: &str) {
    let service = Service::new(Event::Nothing);
    std::fs::remove_file(service.path("bin/sframe-testbench")).expect("a file");
    let ended = match pipeline {
        "github" => github::execute(&service),
        _ => gitlab::execute(&service),
    };
    assert_eq!((ended.build, ended.shards), (Some(1), Vec::new()));
    assert!(ended.merge != 0, "no verdict is none");
}
