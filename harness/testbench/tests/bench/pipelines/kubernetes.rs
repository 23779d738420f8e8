//! What Kubernetes makes of its jobs.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;

use serde_yaml::Value;

use super::{Ended, Service, documents, repository, shell, status, string, strings};

/// What the image is built with.
fn containerfile() -> String {
    std::fs::read_to_string(repository().join("ci/Containerfile")).expect("the file")
}

/// The resources of the list.
fn resources() -> Vec<Value> {
    let [list] = <[Value; 1]>::try_from(documents("kubernetes.yaml")).expect("one document");
    assert_eq!((string(&list["apiVersion"]), string(&list["kind"])), ("v1", "List"));
    list["items"].as_sequence().expect("resources").clone()
}

/// The last instruction of this name.
fn instruction<'a>(containerfile: &'a str, name: &str) -> &'a str {
    let found = containerfile.lines().rev().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no {name}"))
}

pub(super) fn execute(service: &Service) -> Ended {
    let documents = resources();
    let [_, run, merge, _] = &documents[..] else { panic!("four documents") };
    let volume = tempfile::tempdir().expect("a folder");
    let run_pod = |job: &Value, index: Option<u64>| {
        let pod = &job["spec"]["template"]["spec"];
        let [container] = &pod["containers"].as_sequence().expect("containers")[..] else { panic!("one") };
        let clone = service.checkout();
        symlink(volume.path(), clone.path().join("report")).expect("a link");
        let script = match strings(&container["command"])[..] {
            ["bash", "-c", script] => script.to_owned(),
            ref words => words.join(" "),
        };
        let mut variables = BTreeMap::from([("PATH".to_owned(), service.programs())]);
        let (name, value) =
            instruction(&containerfile(), "ENV").split_once('=').map(owned).expect("a variable");
        variables.insert(name, value);
        variables.extend(index.map(|index| ("JOB_COMPLETION_INDEX".to_owned(), index.to_string())));
        status(&shell(clone.path(), &script, &variables))
    };
    let completions = run["spec"]["completions"].as_u64().expect("a number");
    let tries = 1 + run["spec"]["backoffLimitPerIndex"].as_u64().expect("a number");
    let shard = |index| {
        let mut ended = 0;
        for _ in 0..tries {
            ended = run_pod(run, Some(index));
            if ended == 0 || is_final(run, ended) {
                break;
            }
        }
        ended
    };
    let shards = (0..completions).map(shard).collect();
    let ended = run_pod(merge, None);
    assert!(ended == 0 || is_final(merge, ended), "the verdict is asked for once");
    Ended { build: None, shards, merge: ended, reports: volume }
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Whether a status of the container is not tried again.
fn is_final(job: &Value, status: i32) -> bool {
    let rules = job["spec"]["podFailurePolicy"]["rules"].as_sequence().expect("rules");
    let codes = rules.iter().map(|rule| &rule["onExitCodes"]).find(|codes| !codes.is_null()).expect("a rule");
    let container = &job["spec"]["template"]["spec"]["containers"][0]["name"];
    assert_eq!((&codes["containerName"], string(&codes["operator"])), (container, "In"));
    codes["values"].as_sequence().expect("values").iter().any(|value| *value == status)
}

#[test]
fn pods_have_no_privileges_and_what_they_mount_is_there() {
    let documents = resources();
    let [claim, rest @ ..] = &documents[..] else { panic!("documents") };
    for job in &rest[..2] {
        assert!((1..=4).all(|status| is_final(job, status)) && !is_final(job, 128 + 9), "{job:?}");
    }
    assert_eq!(string(&claim["kind"]), "PersistentVolumeClaim");
    let containerfile = containerfile();
    for document in rest {
        let pod = match string(&document["kind"]) {
            "Pod" => &document["spec"],
            "Job" => &document["spec"]["template"]["spec"],
            kind => panic!("{kind}"),
        };
        assert_eq!(pod["restartPolicy"], "Never");
        assert_eq!(pod["automountServiceAccountToken"], false);
        let security = &pod["securityContext"];
        assert_eq!(security["runAsNonRoot"], true);
        let user = format!("{}:{}", number(&security["runAsUser"]), number(&security["runAsGroup"]));
        assert_eq!(user, instruction(&containerfile, "USER"));
        assert_eq!(security["fsGroup"], security["runAsGroup"]);
        let volumes = pod["volumes"].as_sequence().expect("volumes");
        assert_eq!(volumes[0]["persistentVolumeClaim"]["claimName"], claim["metadata"]["name"]);
        for container in pod["containers"].as_sequence().expect("containers") {
            let security = &container["securityContext"];
            assert_eq!(security["allowPrivilegeEscalation"], false);
            assert_eq!(security["readOnlyRootFilesystem"], true);
            assert_eq!(strings(&security["capabilities"]["drop"]), ["ALL"]);
            for kind in ["requests", "limits"] {
                for resource in ["cpu", "memory"] {
                    assert!(container["resources"][kind][resource].is_string(), "{kind} {resource}");
                }
            }
            assert_eq!(container["imagePullPolicy"], "IfNotPresent");
            // A tag that moves would be pulled each time.
            assert!(string(&container["image"]).ends_with(concat!(':', env!("CARGO_PKG_VERSION"))));
            let mounts = container["volumeMounts"].as_sequence().expect("mounts");
            let at = |path: &str| mounts.iter().find(|mount| mount["mountPath"] == path).expect("a mount");
            let report = format!("{}/report", instruction(&containerfile, "WORKDIR"));
            assert_eq!(
                (&at(&report)["name"], &at("/tmp")["name"]),
                (&volumes[0]["name"], &volumes[1]["name"])
            );
        }
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}
