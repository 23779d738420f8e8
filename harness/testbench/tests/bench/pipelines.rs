//! The pipelines that users copy: their commands run, and match the gate's.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

/// The commands of all pipelines that call the bench, as CI systems would run them on the first machine.
fn commands() -> Vec<(&'static str, String)> {
    let mut commands = Vec::new();
    let [github] = &documents("github-actions.yaml")[..] else { panic!("one document") };
    for (_, job) in github["jobs"].as_mapping().expect("jobs") {
        for step in job["steps"].as_sequence().expect("steps") {
            if let Some(command) = step["run"].as_str() {
                commands.push(("github-actions.yaml", command.replace("${{ matrix.shard }}", "1")));
            } else {
                assert!(step["uses"].as_str().is_some_and(|action| action.contains('@')), "{step:?}");
            }
        }
    }
    let [gitlab] = &documents("gitlab-ci.yaml")[..] else { panic!("one document") };
    let stages = gitlab["stages"].as_sequence().expect("stages");
    for job in ["shard", "merge"] {
        assert!(stages.contains(&gitlab[job]["stage"]), "{job}");
        for command in gitlab[job]["script"].as_sequence().expect("a script") {
            commands.push(("gitlab-ci.yaml", command.as_str().expect("a command").to_owned()));
        }
    }
    let jobs = documents("kubernetes.yaml");
    assert_eq!(jobs[0]["spec"]["completionMode"], "Indexed");
    for job in &jobs {
        let pod = &job["spec"]["template"]["spec"];
        let volumes = pod["volumes"].as_sequence().expect("volumes");
        for container in pod["containers"].as_sequence().expect("containers") {
            for mount in container["volumeMounts"].as_sequence().expect("mounts") {
                assert!(volumes.iter().any(|volume| volume["name"] == mount["name"]));
            }
            let words = container["command"].as_sequence().expect("a command");
            let words: Vec<&str> = words.iter().map(|word| word.as_str().expect("a word")).collect();
            let command = match words[..] {
                ["bash", "-c", command] => command.to_owned(),
                _ => words.join(" "),
            };
            commands.push(("kubernetes.yaml", command));
        }
    }
    commands
}

/// Makes a folder that looks like the repository, and where reports may be
/// written.
fn clone_of_links() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let ci = folder.path().join("ci");
    std::fs::create_dir(&ci).expect("a folder");
    std::fs::copy(repository().join("ci/gate"), ci.join("gate")).expect("the gate");
    std::fs::set_permissions(ci.join("gate"), std::fs::Permissions::from_mode(0o755)).expect("a mode");
    for name in ["corpus", "specs"] {
        symlink(repository().join(name), folder.path().join(name)).expect("a link");
    }
    folder
}

fn shell(folder: &Path, command: &str) -> Output {
    Command::new("bash")
        .args(["-euc", command])
        .current_dir(folder)
        .env("SFRAME_TESTBENCH", env!("CARGO_BIN_EXE_sframe-testbench"))
        .env("CI_NODE_INDEX", "1")
        .env("CI_NODE_TOTAL", "4")
        .env("JOB_COMPLETION_INDEX", "0")
        .env("GITHUB_STEP_SUMMARY", folder.join("step-summary.md"))
        .output()
        .expect("bash")
}

/// Small enough to run in a second, with something for each of four machines.
const SELECTION: &str = "--spec recursion --toolchain gnu-2.44 --abi amd64";

#[test]
fn the_commands_of_the_pipelines_run() {
    let commands = commands();
    let mut by_pipeline = std::collections::BTreeMap::<_, Vec<_>>::new();
    for (pipeline, command) in commands {
        by_pipeline.entry(pipeline).or_default().push(command);
    }
    assert_eq!(by_pipeline.len(), 3);
    for (pipeline, commands) in by_pipeline {
        let folder = clone_of_links();
        let [shard, merge] = &commands[..] else { panic!("{pipeline}: {commands:?}") };
        let output = shell(folder.path(), &format!("{shard} {SELECTION}"));
        assert_eq!(output.status.code(), Some(0), "{pipeline}: {output:?}");
        // The other machines.
        for number in 2..=4 {
            let output = shell(folder.path(), &format!("ci/gate shard {number}/4 {SELECTION}"));
            assert_eq!(output.status.code(), Some(0), "{pipeline}: {output:?}");
        }
        let output = shell(folder.path(), merge);
        assert_eq!(output.status.code(), Some(0), "{pipeline}: {output:?}");
        let file = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
        assert!(file("report/merged/junit.xml").starts_with("<?xml"));
        assert!(file("step-summary.md").starts_with("# SFrame test bench: as expected\n"));
        assert_eq!(file("step-summary.md"), file("report/merged/summary.md"));
    }
}

#[test]
fn the_gate_fails_when_a_part_is_missing_or_worse_than_the_baseline() {
    let folder = clone_of_links();
    let run = |command: &str| shell(folder.path(), command).status.code();
    for number in 1..=2 {
        assert_eq!(run(&format!("ci/gate shard {number}/3 {SELECTION}")), Some(0));
    }
    assert_eq!(run("ci/gate merge"), Some(2));
    assert!(!folder.path().join("step-summary.md").exists(), "nothing was merged");
    assert_eq!(run(&format!("ci/gate shard 3/3 {SELECTION}")), Some(0));
    assert_eq!(run("ci/gate merge"), Some(0));
    let create = "\"$SFRAME_TESTBENCH\" baseline create ci/baseline.json report/merged/report.json";
    assert_eq!(run(create), Some(0));
    assert_eq!(run("ci/gate merge"), Some(0));
    let worse = "sed -i 's/\"rows_exercised\": \\([0-9]*\\)/\"rows_exercised\": 9\\1/' ci/baseline.json";
    assert_eq!(run(worse), Some(0));
    assert_eq!(run("ci/gate merge"), Some(1));
    let summaries = std::fs::read_to_string(folder.path().join("step-summary.md")).expect("a summary");
    assert_eq!(summaries.matches("# SFrame test bench").count(), 3, "a failure has one too");
    assert_eq!(run("ci/gate"), Some(2));
    assert_eq!(run("ci/gate shard 5/3"), Some(2));
}
