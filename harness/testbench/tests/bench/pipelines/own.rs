//! The pipelines for what is the user's own, executed in a project that has what they say it needs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use rstest::rstest;
use serde_yaml::Value;

use super::{Event, Service, documents, repository, shell, status, string, strings, variables, write_script};
use crate::command::has_gcc_with_sframe;
use crate::damaged_builds::remove_section;
use crate::doctor;

const RIGHT: &str = "corpus/builds/gnu-2.47/amd64/leaf.O2";
const WRONG: &str = "corpus/builds/gnu-2.44/amd64/crossing.O2-dynamic.first.so";

/// A project whose build is the copy of a file, and the test bench in a repository of its own.
struct Project {
    service: Service,
    folder: tempfile::TempDir,
    bench: tempfile::TempDir,
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
        write_script(&service.path("bin/sframe-testbench"), &script);
        let (folder, bench) = (tempfile::tempdir().expect("a folder"), service.checkout());
        let built = repository().join(built);
        let makefile = format!("all:\n\tmkdir -p build && cp {} build/\n", built.display());
        std::fs::write(folder.path().join("Makefile"), makefile).expect("a file");
        let definition =
            std::fs::read_to_string(repository().join("corpus/matrix/host.yaml")).expect("a file");
        let definition = definition.replace("name: host", "name: toolchain");
        std::fs::write(folder.path().join("toolchain.yaml"), definition).expect("a file");
        Self { service, folder, bench, is_github: of == "github" }
    }

    fn clone_bench(&self) {
        let to = self.folder.path().join("sframe-testbench");
        std::os::unix::fs::symlink(self.bench.path(), to).expect("a link");
    }

    fn commit_bench(&self) {
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
            let output =
                Command::new("git").arg("-C").arg(self.bench.path()).args(identity).args(arguments).output();
            assert!(output.as_ref().is_ok_and(|output| output.status.success()), "{output:?}");
        };
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "The bench"]);
    }

    /// Executes a script; the folder of the project is `$CI_PROJECT_DIR`, and the workspace.
    fn run(&self, script: &str, set: &BTreeMap<String, String>) -> i32 {
        let folder = self.folder.path().display().to_string();
        let here = |text: &String| {
            text.replace("$CI_PROJECT_DIR", &folder).replace("${{ github.workspace }}", &folder)
        };
        let mut variables: BTreeMap<_, _> =
            set.iter().map(|(name, text)| (name.clone(), here(text))).collect();
        variables.insert("SFRAME_TESTBENCH_URL".to_owned(), self.bench.path().display().to_string());
        if self.is_github {
            let summary = self.service.path("step-summary.md").display().to_string();
            variables.insert("GITHUB_STEP_SUMMARY".to_owned(), summary);
        }
        status(&shell(self.folder.path(), script, &variables))
    }
}

fn github(project: &Project, pipeline: &Value) -> i32 {
    project.clone_bench();
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
                assert!(
                    ["actions/checkout@", "actions/cache@"].iter().any(|it| action.starts_with(it)),
                    "{action}"
                );
            }
            _ => panic!("{step:?}"),
        }
    }
    ended
}

fn gitlab(project: &Project, pipeline: &Value) -> i32 {
    project.commit_bench();
    let job = &pipeline["sframe"];
    // The cache is there first.
    std::fs::create_dir_all(project.folder.path().join(strings(&job["cache"]["paths"])[0]))
        .expect("a folder");
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
