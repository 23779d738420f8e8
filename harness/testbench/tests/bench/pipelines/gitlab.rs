//! What GitLab makes of its pipeline.

use std::collections::BTreeMap;

use serde_yaml::Value;

use super::{Ended, Service, copy, documents, shell, status, string, strings, variables};

pub(super) fn execute(service: &Service) -> Ended {
    let [pipeline] = <[Value; 1]>::try_from(documents("gitlab-ci.yaml")).expect("one document");
    let artifacts = service.path("artifacts");
    let mut results: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    // No stage has more than one job.
    let jobs: Vec<(&str, &Value)> = ["build", "shard", "merge"].map(|name| (name, &pipeline[name])).into();
    let stages: Vec<&str> = jobs.iter().map(|(_, job)| string(&job["stage"])).collect();
    assert_eq!(stages, strings(&pipeline["stages"]));
    assert_eq!(pipeline.as_mapping().expect("jobs").len(), 1 + jobs.len());
    for (name, job) in jobs {
        let succeeded = results.values().all(|all| !all.is_empty() && all.iter().all(|status| *status == 0));
        let runs = match job["when"].as_str() {
            None => succeeded,
            Some("always") => true,
            Some(other) => panic!("{other}"),
        };
        let count = if runs { job["parallel"].as_u64().unwrap_or(1) } else { 0 };
        let mut left = Vec::new();
        let execute = |index: u64| {
            let clone = service.checkout();
            if artifacts.exists() {
                copy(&artifacts, clone.path());
            }
            let mut variables = variables(&job["variables"]);
            variables.insert("CI_NODE_INDEX".to_owned(), index.to_string());
            variables.insert("CI_NODE_TOTAL".to_owned(), count.to_string());
            let output = shell(clone.path(), &strings(&job["script"]).join("\n"), &variables);
            if output.status.success() || job["artifacts"]["when"] == "always" {
                for path in strings(&job["artifacts"]["paths"]) {
                    if clone.path().join(path).exists() {
                        let kept = tempfile::tempdir().expect("a folder");
                        copy(&clone.path().join(path), &kept.path().join(path));
                        left.push(kept);
                    }
                }
            }
            status(&output)
        };
        results.insert(name, (1..=count).map(execute).collect());
        // Jobs of one stage don't see each other's artifacts.
        for kept in left {
            copy(kept.path(), &artifacts);
        }
    }
    let junit = string(&pipeline["merge"]["artifacts"]["reports"]["junit"]);
    assert!(strings(&pipeline["merge"]["artifacts"]["paths"]).iter().any(|path| junit.starts_with(path)));
    let reports = tempfile::tempdir().expect("a folder");
    if artifacts.join("report").exists() {
        copy(&artifacts.join("report"), reports.path());
    }
    Ended {
        build: results["build"].first().copied(),
        shards: results["shard"].clone(),
        merge: results["merge"][0],
        reports,
    }
}
