//! `report.sarif` conforms to SARIF 2.1.0, as far as the bench uses it: the
//! required and allowed keys of each object are from its chapters.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};

fn run(arguments: &[&str], folder: &Path, status: i32) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(arguments)
        .arg("--report")
        .arg(folder)
        .output()
        .expect("the bench runs");
    assert_eq!(output.status.code(), Some(status), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read(folder.join("report.sarif")).expect("report.sarif");
    serde_json::from_slice(&text).expect("JSON")
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("no object: {value}"))
}

fn list(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| format!("no array: {value}"))
}

/// Checks the required and allowed keys of an object.
fn keys(value: &Value, must: &[&str], may: &[&str]) -> Result<(), String> {
    let object = object(value)?;
    if let Some(missing) = must.iter().find(|key| !object.contains_key(**key)) {
        return Err(format!("no {missing}: {value}"));
    }
    match object.keys().find(|key| !must.contains(&key.as_str()) && !may.contains(&key.as_str())) {
        Some(other) => Err(format!("{other} is not of the form: {value}")),
        None => Ok(()),
    }
}

fn message(value: &Value) -> Result<(), String> {
    keys(value, &["text"], &[])?;
    value["text"].as_str().filter(|text| !text.is_empty()).map(drop).ok_or("no text".to_owned())
}

fn one_of(value: &Value, names: &[&str]) -> Result<(), String> {
    if names.iter().any(|name| value == name) { Ok(()) } else { Err(format!("{value} is none of {names:?}")) }
}

fn location(value: &Value) -> Result<(), String> {
    keys(value, &["physicalLocation"], &["logicalLocations", "message"])?;
    let physical = &value["physicalLocation"];
    keys(physical, &["artifactLocation"], &["address", "region"])?;
    keys(&physical["artifactLocation"], &["uri"], &["uriBaseId"])?;
    if physical["artifactLocation"].get("uriBaseId").is_some_and(|base| base != "%SRCROOT%") {
        return Err(format!("no known base: {physical}"));
    }
    let uri = physical["artifactLocation"]["uri"].as_str().unwrap_or_default();
    if uri.is_empty() || !uri.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("no URI: {uri}"));
    }
    if let Some(address) = physical.get("address") {
        keys(address, &["fullyQualifiedName", "kind"], &["absoluteAddress"])?;
        if address.get("absoluteAddress").is_some_and(|address| !address.is_i64()) {
            return Err(format!("no integer: {address}"));
        }
    }
    if let Some(region) = physical.get("region") {
        keys(region, &["startLine"], &[])?;
        region["startLine"].as_u64().filter(|line| *line > 0).ok_or(format!("no line: {region}"))?;
    }
    for logical in value.get("logicalLocations").map_or(Ok(&Vec::new()), list)? {
        keys(logical, &["name", "fullyQualifiedName", "kind"], &[])?;
    }
    Ok(())
}

fn result(value: &Value, rules: &BTreeSet<&str>) -> Result<(), String> {
    let must = ["ruleId", "level", "message", "locations", "properties"];
    keys(value, &must, &["partialFingerprints", "occurrenceCount", "relatedLocations", "suppressions"])?;
    if !value["ruleId"].as_str().is_some_and(|rule| rules.contains(rule)) {
        return Err(format!("no rule: {}", value["ruleId"]));
    }
    one_of(&value["level"], &["none", "note", "warning", "error"])?;
    message(&value["message"])?;
    list(&value["locations"])?.iter().try_for_each(location)?;
    // Required by GitHub, not by the format.
    let lines = list(&value["locations"])?.iter();
    if lines.clone().any(|location| location["physicalLocation"].get("region").is_none()) {
        return Err(format!("a result without a line: {value}"));
    }
    // sarif-tools takes this for the author of a line.
    if value["properties"].get("blame").is_some() {
        return Err("`properties.blame` is none of ours".to_owned());
    }
    value.get("relatedLocations").map_or(Ok(&Vec::new()), list)?.iter().try_for_each(location)?;
    for fingerprint in value.get("partialFingerprints").map_or(Ok(&Map::new()), object)?.values() {
        fingerprint.as_str().filter(|text| text.len() == 16).ok_or(format!("{fingerprint}"))?;
    }
    if value.get("occurrenceCount").is_some_and(|count| count.as_u64() < Some(1)) {
        return Err("it occurs never".to_owned());
    }
    for suppression in value.get("suppressions").map_or(Ok(&Vec::new()), list)? {
        keys(suppression, &["kind"], &["status", "justification"])?;
        one_of(&suppression["kind"], &["inSource", "external"])?;
        one_of(&suppression["status"], &["accepted", "underReview", "rejected"])?;
    }
    Ok(())
}

pub(crate) fn valid(log: &Value) -> Result<(), String> {
    keys(log, &["version", "runs"], &["$schema"])?;
    one_of(&log["version"], &["2.1.0"])?;
    for run in list(&log["runs"])? {
        keys(run, &["tool", "results"], &["invocations", "columnKind", "originalUriBaseIds", "properties"])?;
        keys(&run["tool"], &["driver"], &[])?;
        let driver = &run["tool"]["driver"];
        keys(driver, &["name"], &["semanticVersion", "version", "rules"])?;
        let mut rules = BTreeSet::new();
        for rule in list(&driver["rules"])? {
            keys(rule, &["id"], &["name", "shortDescription", "help", "defaultConfiguration"])?;
            message(&rule["shortDescription"])?;
            message(&rule["help"])?;
            rules.insert(rule["id"].as_str().ok_or("no id")?);
        }
        for invocation in list(&run["invocations"])? {
            let may = ["toolExecutionNotifications", "commandLine", "startTimeUtc", "endTimeUtc"];
            keys(invocation, &["executionSuccessful"], &may)?;
            for notification in list(&invocation["toolExecutionNotifications"])? {
                keys(notification, &["message"], &["level"])?;
                message(&notification["message"])?;
            }
        }
        list(&run["results"])?.iter().try_for_each(|value| result(value, &rules))?;
    }
    Ok(())
}

#[test]
fn known_findings_of_a_run_are_suppressed_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let log =
        run(&["run", "--spec", "realign", "--toolchain", "gnu-2.47", "--abi", "amd64"], folder.path(), 0);
    assert_eq!(valid(&log), Ok(()));
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert!(!results.is_empty());
    for result in results {
        let reason = result["suppressions"][0]["justification"].as_str();
        assert!(reason.is_some_and(|reason| reason.len() > 20), "{result}");
        assert!(
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
                .as_str()
                .is_some_and(|uri| uri.starts_with("corpus/builds/gnu-2.47/amd64/realign"))
        );
    }
}

#[test]
fn results_of_a_check_say_where_and_keep_their_fingerprints() {
    let build = "corpus/builds/gnu-2.47/amd64/realign.O2";
    let folder = tempfile::tempdir().expect("a folder");
    let log = run(&["check", build], folder.path(), 1);
    assert_eq!(valid(&log), Ok(()));
    let prints = |log: &Value| -> BTreeSet<String> {
        let results = log["runs"][0]["results"].as_array().expect("results");
        results.iter().map(|result| result["partialFingerprints"].to_string()).collect()
    };
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert_eq!((results.len(), prints(&log).len()), (4, 4));
    let first = &results[0];
    assert_eq!(first["locations"][0]["logicalLocations"][0]["name"], "aligned_and_variable");
    assert_eq!(first["locations"][0]["physicalLocation"]["address"]["absoluteAddress"], 0x40_01d0);
    assert_eq!(first["properties"]["responsible"], "compiler-or-cfi");
    let source = &first["relatedLocations"][0]["physicalLocation"];
    assert_eq!(source["artifactLocation"]["uri"], "realign.c");

    // The same build elsewhere, under a name that is not valid in a URI.
    let other = folder.path().join("a b%");
    std::fs::create_dir(&other).expect("a folder");
    let copy = other.join("realign.O2");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(build), &copy).expect("a copy");
    let again = run(&["check", &copy.display().to_string()], folder.path(), 1);
    assert_eq!(valid(&again), Ok(()));
    assert_eq!(prints(&again), prints(&log));
}

/// A wrong row is one result, however many of its instructions ran.
#[test]
fn a_result_counts_the_places_of_its_cause() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = run(&["check", "corpus/constructed/clobbered-frame-pointer/amd64"], folder.path(), 1);
    let [result] = &log["runs"][0]["results"].as_array().expect("results")[..] else { panic!("{log:#}") };
    assert_eq!((&result["properties"]["places"], &result["occurrenceCount"]), (&json!(4), &json!(202)));
    let text = result["message"]["text"].as_str().expect("a message");
    assert!(text.ends_with(" (and at 3 more places of this row; 202 times)"), "{text}");
}

#[test]
fn a_broken_check_did_not_succeed() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = run(&["check", "--budget", "50", "corpus/builds/gnu-2.47/amd64/leaf.O2"], folder.path(), 4);
    assert_eq!(valid(&log), Ok(()));
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert!(
        invocation["toolExecutionNotifications"][0]["message"]["text"]
            .as_str()
            .is_some_and(|text| text.contains("budget of 50"))
    );
}

/// A check that is less covered than was demanded fails, and is not broken.
#[test]
fn less_than_was_demanded_is_a_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = "corpus/builds/gnu-2.47/amd64/mixed_objects.O2";
    let log = run(&["check", "--no-explore", "--coverage", "100%", file], folder.path(), 1);
    assert_eq!(valid(&log), Ok(()));
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 1, "{results:?}");
    assert_eq!((&results[0]["ruleId"], &results[0]["level"]), (&json!("missing-fde"), &json!("error")));
    let message = results[0]["message"]["text"].as_str().expect("text");
    assert!(message.contains("bare_leaf") && message.matches("missing-fde").count() <= 1, "{message}");
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], true);
    let met = run(&["check", "--no-explore", "--coverage", "50%", file], folder.path(), 0);
    assert_eq!(met["runs"][0]["results"], json!([]));
}

/// Where nothing says what could have an FDE, a demand can't be called met.
#[test]
fn what_can_not_be_known_is_not_met() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("program");
    let mut bytes = std::fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47/amd64/mixed_objects.O2"),
    )
    .expect("a file");
    let whole = bytes.clone();
    let names: Vec<usize> = (0..bytes.len() - 9).filter(|at| &bytes[*at..at + 9] == b".eh_frame").collect();
    assert!(!names.is_empty());
    names.into_iter().for_each(|at| bytes[at..at + 9].copy_from_slice(b".xx_frame"));
    std::fs::write(&file, bytes).expect("a file");
    let file = file.display().to_string();
    let check = |share: &str, status| {
        run(&["check", "--no-explore", "--coverage", share, &file], folder.path(), status)
    };
    let log = check("all", 3);
    let notification = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert!(notification.as_str().is_some_and(|text| text.contains("no call frame information")), "{log:#}");
    check("50%", 0);
    // A table that is empty, or that can't be read, says no more than none.
    let section = object::File::parse(&*whole).expect("an ELF file");
    let section = object::Object::section_by_name(&section, ".eh_frame").expect("a section");
    let (start, size) = object::ObjectSection::file_range(&section).expect("bytes");
    let [start, end] = [start, start + size].map(|at| usize::try_from(at).expect("an offset"));
    for byte in [0, 0x5a] {
        let mut bytes = whole.clone();
        bytes[start..end].fill(byte);
        std::fs::write(&file, bytes).expect("a file");
        check("all", 3);
    }
}

#[test]
fn the_linter_writes_it_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lint.sarif");
    let output = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(["lint", "corpus/builds/gnu-2.40/amd64/leaf.O2", "--json", "--sarif"])
        .arg(&path)
        .output()
        .expect("the bench runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let log: Value = serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON");
    assert_eq!(valid(&log), Ok(()));
    let count = report["findings"].as_array().map(Vec::len);
    assert!(count > Some(0));
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), count);
}

/// A way to invalidate a document.
type Spoil = fn(&mut Value);

#[test]
fn other_json_is_not_taken_for_sarif() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = run(&["check", "corpus/builds/gnu-2.47/amd64/realign.O2"], folder.path(), 1);
    let spoils: BTreeMap<&str, Spoil> = BTreeMap::from([
        ("version", (|log| log["version"] = json!("2.0.0")) as Spoil),
        ("rule", |log| log["runs"][0]["results"][0]["ruleId"] = json!("no-such-rule")),
        ("level", |log| log["runs"][0]["results"][0]["level"] = json!("fatal")),
        ("message", |log| log["runs"][0]["results"][0]["message"] = json!("text")),
        ("no line of the result", |log| {
            let location = &mut log["runs"][0]["results"][0]["locations"][0];
            location["physicalLocation"].as_object_mut().expect("an object").remove("region");
        }),
        ("blame", |log| log["runs"][0]["results"][0]["properties"]["blame"] = json!("x")),
        ("base", |log| {
            let location = &mut log["runs"][0]["results"][0]["locations"][0];
            location["physicalLocation"]["artifactLocation"]["uriBaseId"] = json!("HERE");
        }),
        ("other key", |log| log["runs"][0]["results"][0]["hits"] = json!(1)),
        ("line", |log| {
            log["runs"][0]["results"][0]["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] =
                json!(0);
        }),
        ("URI", |log| {
            log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] =
                json!("a b");
        }),
    ]);
    for (what, spoil) in spoils {
        let mut spoiled = log.clone();
        spoil(&mut spoiled);
        assert!(valid(&spoiled).is_err(), "{what}");
    }
}
