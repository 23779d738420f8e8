//! What GitHub Actions makes of its pipeline.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value as Json, json};
use serde_yaml::Value;

use super::{Ended, Event, Service, copy, documents, shell, status, string, variables};

/// A job of the matrix, or one without.
struct Job<'a> {
    service: &'a Service,
    definition: &'a Value,
    shard: Option<u64>,
    clone: tempfile::TempDir,
}

fn pipeline() -> Value {
    let [pipeline] = <[Value; 1]>::try_from(documents("github-actions.yaml")).expect("one document");
    pipeline
}

pub(super) fn execute(service: &Service) -> Ended {
    let pipeline = pipeline();
    assert_eq!(
        pipeline["permissions"].as_mapping().map(serde_yaml::Mapping::len),
        Some(1),
        "read, and no more"
    );
    assert_eq!(string(&pipeline["permissions"]["contents"]), "read");
    let mut results: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (name, definition) in pipeline["jobs"].as_mapping().expect("jobs") {
        let needs = match &definition["needs"] {
            Value::Null => Vec::new(),
            Value::String(name) => vec![name.as_str()],
            names => super::strings(names),
        };
        let succeeded =
            |name: &str| results[name].iter().all(|status| *status == 0) && !results[name].is_empty();
        let all = needs.iter().all(|name| succeeded(name));
        let runs = holds(definition["if"].as_str(), all, &|condition| match condition {
            "needs.build.result == 'success'" => succeeded("build"),
            _ => panic!("{condition}"),
        });
        let shards = definition["strategy"]["matrix"]["shard"].as_sequence();
        assert!(shards.is_none() || definition["strategy"]["fail-fast"] == false, "the others go on");
        let shards = shards.map_or(vec![None], |shards| shards.iter().map(Value::as_u64).collect());
        let job = |shard| Job { service, definition, shard, clone: service.checkout() };
        let ended =
            if runs { shards.into_iter().map(|shard| job(shard).execute()).collect() } else { Vec::new() };
        results.insert(string(name), ended);
    }
    // What a user can download: an artifact for each shard, and the report.
    let reports = tempfile::tempdir().expect("a folder");
    for shard in 1..=4 {
        let shard = service.path(&format!("artifacts/shard-{shard}"));
        if shard.exists() {
            copy(&shard, &reports.path().join("shards"));
        }
    }
    if service.path("artifacts/report").exists() {
        copy(&service.path("artifacts/report"), &reports.path().join("merged"));
    }
    let scanned = service.path("code-scanning.sarif");
    assert_eq!(scanned.exists(), reports.path().join("merged/report.sarif").exists());
    if service.event == Event::Finding {
        let scanned: Json = serde_json::from_slice(&std::fs::read(scanned).expect("a file")).expect("JSON");
        assert!(scanned["runs"][0]["results"].as_array().is_some_and(|results| !results.is_empty()));
    }
    let merge = results["merge"].first().copied();
    Ended {
        build: results["build"].first().copied(),
        shards: results["shard"].clone(),
        // A job that is left out has no status, and the workflow has failed before.
        merge: merge.unwrap_or(-1),
        reports,
    }
}

/// Whether a condition is fulfilled: a conjunction, which without a function of the status is about what came before.
fn holds(condition: Option<&str>, before: bool, term: &dyn Fn(&str) -> bool) -> bool {
    let Some(condition) = condition else { return before };
    let condition = condition.trim().strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}"));
    let terms = condition.expect("an expression").split("&&").map(str::trim);
    let (functions, terms): (Vec<&str>, Vec<&str>) = terms.partition(|term| *term == "!cancelled()");
    (before || !functions.is_empty()) && terms.into_iter().all(term)
}

impl Job<'_> {
    /// A text with its expressions replaced.
    fn text(&self, text: &str) -> String {
        let text = self
            .shard
            .map_or(text.to_owned(), |shard| text.replace("${{ matrix.shard }}", &shard.to_string()));
        assert!(!text.contains("${{"), "{text}");
        text
    }

    /// Executes the steps; the status is that of the first that failed.
    fn execute(&self) -> i32 {
        let mut failed = 0;
        for step in self.definition["steps"].as_sequence().expect("steps") {
            let exists = |condition: &str| {
                let file =
                    condition.strip_prefix("hashFiles('").and_then(|rest| rest.strip_suffix("') != ''"));
                match file {
                    Some(file) => self.clone.path().join(file).exists(),
                    // This is no pull request of a fork.
                    None if condition.starts_with("(github.event_name") => true,
                    None => panic!("{condition}"),
                }
            };
            if !holds(step["if"].as_str(), failed == 0, &exists) {
                continue;
            }
            let ended = match (step["run"].as_str(), step["uses"].as_str()) {
                (Some(script), None) => self.run(&self.text(script)),
                (None, Some(action)) => self.action(action, &step["with"]),
                _ => panic!("{step:?}"),
            };
            failed = if failed == 0 { ended } else { failed };
        }
        failed
    }

    fn run(&self, script: &str) -> i32 {
        let mut variables = variables(&self.definition["env"]);
        let summary = self.service.path("step-summary.md");
        variables.insert("GITHUB_STEP_SUMMARY".to_owned(), summary.display().to_string());
        status(&shell(self.clone.path(), script, &variables))
    }

    fn action(&self, action: &str, with: &Value) -> i32 {
        let (name, version) = action.split_once('@').expect("a version");
        assert!(version.starts_with('v'), "{action}");
        let here = |path: &Value| self.clone.path().join(string(path));
        let artifacts = self.service.path("artifacts");
        match name {
            "actions/checkout" | "actions/cache" => {}
            "actions/upload-artifact" => {
                let (path, artifact) =
                    (here(&with["path"]), artifacts.join(self.text(string(&with["name"]))));
                if path.is_file() {
                    copy(&path, &artifact.join(path.file_name().expect("a name")));
                } else if path.exists() {
                    copy(&path, &artifact);
                } else {
                    return i32::from(with["if-no-files-found"] == "error");
                }
            }
            "actions/download-artifact" => {
                let to = here(&with["path"]);
                match (with["name"].as_str(), with["pattern"].as_str()) {
                    (Some(name), None) => copy(&artifacts.join(name), &to),
                    (None, Some("shard-*")) => {
                        assert_eq!(with["merge-multiple"], true);
                        for shard in (1..=4).map(|shard| artifacts.join(format!("shard-{shard}"))) {
                            if shard.exists() {
                                copy(&shard, &to);
                            }
                        }
                    }
                    _ => panic!("{with:?}"),
                }
                forget_modes(&to);
            }
            "github/codeql-action/upload-sarif" => {
                assert_eq!(string(&self.definition["permissions"]["security-events"]), "write");
                copy(&here(&with["sarif_file"]), &self.service.path("code-scanning.sarif"));
            }
            _ => panic!("{action}"),
        }
        0
    }
}

/// Artifacts are archives without modes.
fn forget_modes(path: &Path) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder") {
            forget_modes(&entry.expect("an entry").path());
        }
    } else if path.exists() {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    }
}

#[test]
fn code_scanning_gets_as_many_results_as_it_takes_and_none_that_is_known() {
    if crate::command::program(&["jq"]).is_none() {
        return;
    }
    let pipeline = pipeline();
    let steps = pipeline["jobs"]["merge"]["steps"].as_sequence().expect("steps");
    let step = steps.iter().find(|step| step["run"].as_str().is_some_and(|run| run.contains("jq")));
    let script = string(&step.expect("a step")["run"]);
    let folder = tempfile::tempdir().expect("a folder");
    let scan = |results: Vec<Json>| -> Vec<Json> {
        let log = json!({ "version": "2.1.0", "runs": [{ "tool": {}, "results": results }] });
        std::fs::create_dir_all(folder.path().join("report/merged")).expect("a folder");
        std::fs::write(folder.path().join("report/merged/report.sarif"), log.to_string()).expect("a file");
        let output = shell(folder.path(), script, &BTreeMap::new());
        assert!(output.status.success(), "{output:?} (ci/setup test installs jq)");
        let written = std::fs::read(folder.path().join("code-scanning.sarif")).expect("a file");
        let mut written: Json = serde_json::from_slice(&written).expect("JSON");
        assert_eq!((&written["version"], &written["runs"][0]["tool"]), (&json!("2.1.0"), &json!({})));
        serde_json::from_value(written["runs"][0]["results"].take()).expect("results")
    };
    let known = json!({ "ruleId": "wrong-fp", "suppressions": [{ "kind": "external" }] });
    let new = |number: u32| json!({ "ruleId": "wrong-cfa", "occurrenceCount": number });
    assert_eq!(scan(vec![known.clone(), new(1), known.clone(), new(2)]), [new(1), new(2)]);
    assert_eq!(scan(vec![known]), [] as [Json; 0]);
    let many: Vec<Json> = (0..5_001).map(new).collect();
    assert_eq!(scan(many.clone()), many[..5_000]);
}
