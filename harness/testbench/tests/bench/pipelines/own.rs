//! The pipelines for what is the user's own, executed in a project that has what they say it needs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use rstest::rstest;
use serde_yaml::Value;

use super::{
    Event, Service, documents, link_data, repository, shell, status, string, strings, variables, write_script,
};
use crate::command::has_gcc_with_sframe;
use crate::damaged_builds::remove_section;
use crate::doctor;

const RIGHT: &str = "corpus/builds/gnu-2.47/amd64/leaf.O2";
const WRONG: &str = "corpus/builds/gnu-2.44/amd64/crossing.O2-dynamic.first.so";

/// A project whose build is the copy of a file, and a release of the test bench.
struct Project {
    service: Service,
    folder: tempfile::TempDir,
    /// The SHA-256 of the release.
    sum: String,
    is_github: bool,
}

impl Project {
    fn new(of: &str, built: &str) -> Self {
        let service = Service::new(Event::Nothing);
        let bench = env!("CARGO_BIN_EXE_sframe-testbench");
        // A toolchain builds as little as shows what happens.
        let script = format!(
            "#!/bin/sh\ncase $* in\nmatrix*) exec {bench} \"$@\" --spec leaf --variant O2 ;;\n*) exec {bench} \"$@\" ;;\nesac\n"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let sum = release(&service, &script);
        let built = repository().join(built);
        let makefile = format!("all:\n\tmkdir -p build && cp {} build/\n", built.display());
        std::fs::write(folder.path().join("Makefile"), makefile).expect("a file");
        let definition =
            std::fs::read_to_string(repository().join("corpus/matrix/host.yaml")).expect("a file");
        let definition = definition.replace("name: host", "name: toolchain");
        std::fs::write(folder.path().join("toolchain.yaml"), definition).expect("a file");
        Self { service, folder, sum, is_github: of == "github" }
    }

    /// Executes a script with the variables that the pipeline says to set.
    fn run(&self, script: &str, set: &BTreeMap<String, String>) -> i32 {
        let of_project = BTreeMap::from([
            ("SFRAME_RELEASE".to_owned(), self.service.path("release.tar.gz").display().to_string()),
            ("SFRAME_RELEASE_SHA256".to_owned(), self.sum.clone()),
        ]);
        let named = |(name, text): (&String, &String)| {
            let variable = text.strip_prefix("${{ vars.").and_then(|rest| rest.strip_suffix(" }}"));
            (name.clone(), variable.map_or_else(|| text.clone(), |variable| of_project[variable].clone()))
        };
        let mut variables: BTreeMap<String, String> = set.iter().map(named).collect();
        if !self.is_github {
            variables.extend(of_project);
        }
        variables.insert("PATH".to_owned(), self.service.programs());
        if self.is_github {
            let summary = self.service.path("step-summary.md").display().to_string();
            variables.insert("GITHUB_STEP_SUMMARY".to_owned(), summary);
        }
        status(&shell(self.folder.path(), script, &variables))
    }
}

/// Makes what `ci/release` makes, of a program; and a `curl` that copies. Returns its SHA-256.
fn release(service: &Service, program: &str) -> String {
    let folder = service.path("sframe-testbench-release");
    write_script(&folder.join("bin/sframe-testbench"), program);
    write_script(&folder.join("bin/sframe-gate"), &read(&repository(), "ci/gate"));
    let data = folder.join("share/sframe-testbench");
    std::fs::create_dir_all(&data).expect("a folder");
    link_data(&data);
    let curl = "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" != --output ] || to=$2; shift; done\nexec cp \"$1\" \"$to\"\n";
    write_script(&service.path("bin/curl"), curl);
    let script =
        "tar --create --gzip --file release.tar.gz sframe-testbench-release\nsha256sum <release.tar.gz\n";
    let output = shell(&service.path(""), script, &BTreeMap::new());
    assert_eq!(status(&output), 0, "{output:?}");
    String::from_utf8_lossy(&output.stdout).split_whitespace().next().expect("a sum").to_owned()
}

fn github(project: &Project, pipeline: &Value) -> i32 {
    let (_, job) = pipeline["jobs"].as_mapping().and_then(|jobs| jobs.iter().next()).expect("a job");
    let mut ended = 0;
    for step in job["steps"].as_sequence().expect("steps") {
        match (step["run"].as_str(), step["uses"].as_str()) {
            (Some(script), None) if ended == 0 => ended = project.run(script, &variables(&job["env"])),
            (Some(_), None) => {}
            (None, Some(action)) if action.starts_with("actions/upload-artifact@") => {
                assert_eq!(step["if"], "${{ !cancelled() }}", "also of a failure");
                let left = project.folder.path().join(string(&step["with"]["path"]));
                assert!(left.is_dir(), "{}", left.display());
            }
            (None, Some(action)) => {
                assert!(action.starts_with("actions/checkout@"), "{action}");
            }
            _ => panic!("{step:?}"),
        }
    }
    ended
}

fn gitlab(project: &Project, pipeline: &Value) -> i32 {
    let job = &pipeline["sframe"];
    let ended = project.run(&strings(&job["script"]).join("\n"), &variables(&job["variables"]));
    assert_eq!(job["artifacts"]["when"], "always");
    for path in strings(&job["artifacts"]["paths"]) {
        assert!(project.folder.path().join(path).is_dir(), "{path}");
    }
    ended
}

fn execute(service: &str, kind: &str, project: &Project) -> i32 {
    let [pipeline] =
        <[Value; 1]>::try_from(documents(&format!("{service}-{kind}.yaml"))).expect("one document");
    if service == "github" { github(project, &pipeline) } else { gitlab(project, &pipeline) }
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_default()
}

/// Which files have to have a section, the call says.
#[test]
fn a_file_that_has_lost_its_section_is_a_finding_where_all_must_have_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = folder.path().join("files");
    std::fs::create_dir(&files).expect("a folder");
    std::fs::copy(repository().join(RIGHT), files.join("right")).expect("a file");
    let mut bare = doctor::build("gnu-2.47/amd64/recursion.O2");
    remove_section(&mut bare);
    std::fs::write(files.join("bare"), bare).expect("a file");
    let gate = |options: &[&str]| {
        let output = Command::new(repository().join("ci/gate"))
            .current_dir(folder.path())
            .env("SFRAME_TESTBENCH", env!("CARGO_BIN_EXE_sframe-testbench"))
            .env_remove("GITHUB_STEP_SUMMARY")
            .arg("files")
            .args(options)
            .arg("files")
            .output()
            .expect("the gate runs");
        (crate::command::status(&output), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (status, said) = gate(&[]);
    assert_eq!(status, 0, "{said}");
    let (status, said) = gate(&["--coverage", "all"]);
    assert!(status == 1 && said.contains("bare") && said.contains("should have it"), "{said}");
    assert!(read(folder.path(), "report/files/lint.sarif").contains("bare"));
}

#[rstest]
fn own_files_are_judged(
    #[values("github", "gitlab")] service: &str,
    #[values((RIGHT, 0), (WRONG, 1))] (built, expected): (&str, i32),
) {
    let project = Project::new(service, built);
    assert_eq!(execute(service, "binaries", &project), expected);
    let folder = project.folder.path();
    assert!(read(folder, "report/files/lint.sarif").contains("\"2.1.0\""));
    assert_eq!(
        read(folder, "report/files/diff.txt").contains("difference: cfa of first_leaf@plt"),
        expected == 1
    );
    assert_eq!(
        read(folder, "report/files/explore.txt").contains("wrong-cfa in first_leaf@plt"),
        expected == 1
    );
    let summary = read(&project.service.path(""), "step-summary.md");
    assert_eq!(summary.contains("### diff"), expected == 1 && project.is_github, "{summary}");
}

/// A text in which an expression has each of its values: of known names, and of inputs that are given or have a default.
fn filled(
    text: &str,
    marks: [&str; 2],
    known: &[(&str, &str)],
    inputs: &Value,
    given: &[(&str, &str)],
) -> String {
    let [begins, ends] = marks;
    let mut text = text.to_owned();
    for (name, value) in known {
        text = text.replace(&format!("{begins} {name} {ends}"), value);
    }
    for (input, about) in inputs.as_mapping().expect("inputs") {
        let value = given.iter().find(|(name, _)| *name == string(input)).map(|(_, value)| *value);
        let value = value.unwrap_or_else(|| string(&about["default"]));
        text = text.replace(&format!("{begins} inputs.{} {ends}", string(input)), value);
    }
    assert!(!text.contains(begins), "{text}");
    text
}

/// Executes GitHub's action, in a job that has checked out nothing of the bench.
fn action(project: &Project, given: &[(&str, &str)]) -> i32 {
    let action: Value = serde_yaml::from_str(&read(&repository(), "ci/action/action.yml")).expect("YAML");
    let [step] = &action["runs"]["steps"].as_sequence().expect("steps")[..] else { panic!("one step") };
    assert_eq!((&action["runs"]["using"], &step["shell"]), (&"composite".into(), &"bash".into()));
    let released = project.service.path("").display().to_string();
    let known = [
        ("github.server_url", &*released),
        ("github.action_repository", "o/r"),
        ("github.action_ref", "v1.2"),
    ];
    let value = |(name, text): (String, String)| {
        (name, filled(&text, ["${{", "}}"], &known, &action["inputs"], given))
    };
    let set = variables(&step["env"]).into_iter().map(value).collect();
    project.run(string(&step["run"]), &set)
}

/// The archive of the tag, with the sum beside it; and one that is named.
#[test]
fn the_action_checks_what_a_job_has_built() {
    for (built, expected) in [(RIGHT, 0), (WRONG, 1)] {
        let project = Project::new("github", built);
        assert_eq!(project.run("make", &BTreeMap::new()), 0);
        let name = &format!("sframe-testbench-1.2-{}-linux.tar.gz", std::env::consts::ARCH);
        let at = project.service.path("o/r/releases/download/v1.2");
        std::fs::create_dir_all(&at).expect("a folder");
        std::fs::copy(project.service.path("release.tar.gz"), at.join(name)).expect("a file");
        std::fs::write(at.join("SHA256SUMS"), format!("{}  {name}\n", project.sum)).expect("a file");
        assert_eq!(action(&project, &[("files", "build Makefile-is-none")]), 2, "a file that is not there");
        assert_eq!(action(&project, &[("files", "build"), ("options", "--coverage all")]), expected);
        assert!(read(project.folder.path(), "report/files/lint.sarif").contains("\"2.1.0\""));
        let named = project.service.path("release.tar.gz").display().to_string();
        let of_sum =
            |sum: &str| action(&project, &[("files", "build"), ("release", &named), ("sha256", sum)]);
        assert_eq!((of_sum(&project.sum), of_sum(&"0".repeat(64))), (expected, 1));
        std::fs::write(at.join("SHA256SUMS"), "").expect("a file");
        assert_eq!(action(&project, &[("files", "build")]), 1, "a release without a sum");
    }
}

/// What GitLab includes has the same step.
#[test]
fn the_included_job_checks_what_another_has_built() {
    let [about, job] = <[Value; 2]>::try_from(documents("gitlab-files.yaml")).expect("inputs and a job");
    for (built, expected) in [(RIGHT, 0), (WRONG, 1)] {
        let project = Project::new("gitlab", built);
        assert_eq!(project.run("make", &BTreeMap::new()), 0);
        let archive = project.service.path("release.tar.gz").display().to_string();
        let given = [("files", "build"), ("release", &*archive), ("sha256", &*project.sum)];
        let script = strings(&job["sframe"]["script"]).join("\n");
        let script = filled(&script, ["$[[", "]]"], &[], &about["spec"]["inputs"], &given);
        assert_eq!(project.run(&script, &BTreeMap::new()), expected);
        assert!(read(project.folder.path(), "report/files/lint.sarif").contains("\"2.1.0\""));
    }
}

/// A release may belong to the system: reports go where it is called.
#[test]
fn the_gate_of_a_release_writes_where_it_is_called() {
    let project = Project::new("gitlab", RIGHT);
    let release = project.service.path("sframe-testbench-release");
    let gate = release.join("bin/sframe-gate").display().to_string();
    let script = format!("{gate} shard 1/1 --spec leaf --toolchain gnu-2.47 --abi amd64\n{gate} merge");
    assert_eq!(project.run(&script, &BTreeMap::new()), 0);
    assert!(read(project.folder.path(), "report/merged/summary.md").contains("PASS"));
    assert!(!release.join("report").exists());
    // What is in the way is named.
    std::fs::remove_dir_all(project.folder.path().join("report")).expect("a folder");
    std::fs::write(project.folder.path().join("report"), "").expect("a file");
    assert_eq!(project.run(&format!("{gate} files build"), &BTreeMap::new()), 2);
}

/// What was downloaded is the release that was asked for, or is not used.
#[rstest]
fn a_release_with_another_sum_is_not_used(#[values("github", "gitlab")] service: &str) {
    let mut project = Project::new(service, RIGHT);
    project.sum.replace_range(..4, "0000");
    std::fs::create_dir_all(project.folder.path().join("report/files")).expect("a folder");
    assert_eq!(execute(service, "binaries", &project), 1);
    assert!(!project.folder.path().join("sframe-testbench").exists());
}

#[rstest]
fn an_own_toolchain_is_compared_with_the_reference(#[values("github", "gitlab")] service: &str) {
    if !has_gcc_with_sframe() {
        return;
    }
    let project = Project::new(service, RIGHT);
    let ended = execute(service, "toolchain", &project);
    assert!(matches!(ended, 0 | 1), "{ended}");
    let page = read(project.folder.path(), "report/toolchain/matrix.md");
    assert!(page.contains("leaf"), "{page}");
    let summary = read(&project.service.path(""), "step-summary.md");
    assert_eq!(summary.contains(page.lines().next().expect("a title")), project.is_github, "{summary}");
}
