//! The JSON Schemas that `schema` prints, and real documents of each kind.

use std::path::Path;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};

use crate::command::{bench, json, status};
use crate::common::repository;
use crate::samples;

const ENGINE: &str = env!("CARGO_BIN_EXE_sframe-engine-unwinder");

/// What a kind of document must be.
struct Kind {
    schemas: Schemas,
    index: SchemaIndex,
    schema: Value,
}

impl Kind {
    fn of(name: &str) -> Self {
        let output = bench(&["schema", name]);
        assert_eq!(status(&output), 0, "{output:?}");
        Self::new(json(&output))
    }

    /// Allows only keys that the schema explains: the documents that the bench writes may get more in later
    /// versions, but those of this version have no others.
    fn with_explained_keys(name: &str) -> Self {
        let mut schema = json(&bench(&["schema", name]));
        close(&mut schema);
        Self::new(schema)
    }

    fn new(schema: Value) -> Self {
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource("memory:schema", schema.clone()).expect("a schema");
        let index = compiler.compile("memory:schema", &mut schemas).expect("a schema");
        Self { schemas, index, schema }
    }

    fn complaint(&self, document: &Value) -> Option<String> {
        self.schemas.validate(document, self.index).err().map(|error| format!("{error:#}"))
    }

    fn accepts(&self, document: &Value) {
        if let Some(complaint) = self.complaint(document) {
            panic!("{complaint}");
        }
    }
}

/// Forbids unexplained keys wherever a schema lists keys.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            keywords.values_mut().for_each(close);
            if keywords.contains_key("properties") && !keywords.contains_key("additionalProperties") {
                keywords.insert("unevaluatedProperties".to_owned(), json!(false));
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(close),
        _ => {}
    }
}

fn document(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// Reports with agreeing, known, unexpected, broken and skipped cases, of all and of shards, of this
/// project's unwinder and another, with and without code; and what is made of them.
#[test]
fn reports_of_runs_are_as_their_schema_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a name").to_owned();
    let runs: [(&str, i32, &[&str]); 5] = [
        ("several", 0, &["--spec", "crossing*", "--spec", "signals*", "--toolchain", "gnu-2.47"]),
        ("llvm", 0, &["--spec", "coroutines", "--spec", "realign", "--toolchain", "llvm-22"]),
        ("broken", 4, &["--spec", "recursion", "--toolchain", "gnu-2.44", "--budget", "10"]),
        ("shard", 0, &["--spec", "recursion", "--toolchain", "gnu-2.44", "--shard", "1/2"]),
        ("unwinder", 0, &["--spec", "leaf", "--toolchain", "gnu-2.47", "--unwinder", ENGINE]),
    ];
    let (report, explained, finding) =
        (Kind::of("report"), Kind::with_explained_keys("report"), Kind::with_explained_keys("finding"));
    let mut outcomes = std::collections::BTreeSet::new();
    for (name, expected, arguments) in runs {
        let path = at(name);
        let output = bench(&[&["run", "--report", &path], arguments].concat());
        assert_eq!(status(&output), expected, "{name}: {output:?}");
        let document = document(&Path::new(&path).join("report.json"));
        report.accepts(&document);
        explained.accepts(&document);
        for case in document["cases"].as_array().expect("cases") {
            outcomes.insert(case["outcome"].as_str().expect("an outcome").to_owned());
            case["findings"].as_array().expect("findings").iter().for_each(|of| finding.accepts(of));
        }
    }
    assert!(["agree", "known", "broken"].iter().all(|outcome| outcomes.contains(*outcome)), "{outcomes:?}");

    let baseline = at("baseline.json");
    let output = bench(&["baseline", "create", &baseline, &format!("{}/report.json", at("several"))]);
    assert_eq!(status(&output), 0, "{output:?}");
    Kind::of("baseline").accepts(&document(Path::new(&baseline)));
}

#[test]
fn samples_are_as_their_schema_says() {
    let folder = samples::moments(&["--toolchain", "gnu-2.47", "--abi", "amd64", "--spec", "signal*"]);
    let (status, document) = samples::samples(folder.path(), "amd64", &repository().join("corpus/builds"));
    assert_eq!(status, 0, "{document:#}");
    Kind::of("samples").accepts(&document);
    Kind::with_explained_keys("samples").accepts(&document);
}

#[test]
fn reports_of_one_file_are_as_their_schema_says() {
    let check = (Kind::of("check"), Kind::with_explained_keys("check"));
    let explore = (Kind::of("explore"), Kind::with_explained_keys("explore"));
    let finding = Kind::with_explained_keys("finding");
    let wrong = "corpus/builds/gnu-2.44/amd64/crossing.O2-dynamic";
    let runs: [(&[&str], i32, &(Kind, Kind)); 8] = [
        (&["check", wrong], 1, &check),
        (&["check", "corpus/builds/gnu-2.47/s390x/recursion.O2"], 0, &check),
        (&["check", "corpus/builds/gnu-2.47/aarch64/pauth.O2", "--unwinder", ENGINE], 0, &check),
        (&["check", wrong, "--from", "eh-frame"], 0, &check),
        (&["check", wrong, "--budget", "100"], 4, &check),
        (&["explore", "corpus/builds/gnu-2.44/amd64/crossing.O2-dynamic.first.so"], 1, &explore),
        (&["explore", "--possible", "corpus/builds/gnu-2.47/aarch64_be/realign.O2"], 0, &explore),
        (&["explore", wrong, "--from", "eh-frame"], 0, &explore),
    ];
    for (arguments, expected, (schema, explained)) in runs {
        let output = bench(&[arguments, &["--json"]].concat());
        assert_eq!(status(&output), expected, "{arguments:?}: {output:?}");
        let document = json(&output);
        schema.accepts(&document);
        explained.accepts(&document);
        for of in document["findings"].as_array().expect("findings") {
            let mut of = of.clone();
            // What exploring adds.
            for key in ["certainty", "assumptions", "doubts"] {
                of.as_object_mut().expect("a finding").remove(key);
            }
            finding.accepts(&of);
        }
    }
}

/// Each line that bench and unwinder exchange, for programs and for the vectors.
#[test]
fn lines_of_the_protocol_are_as_their_schema_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = ["requests", "answers"].map(|name| folder.path().join(name));
    let [requests, answers] = logs.each_ref().map(|path| path.to_str().expect("a name"));
    // Without the stack that comes with each stop, so that memory has to be read.
    let change =
        r#"s/"stack":{"address":"[0-9a-fx]*","bytes":"[0-9a-f]*"}/"stack":{"address":"0x0","bytes":""}/g"#;
    let script = format!("tee -a {requests} | sed -u '{change}' | {ENGINE} | tee -a {answers}");
    let unwinder = shlex::try_join(["sh", "-c", &script]).expect("no zeroes");
    let commands: [&[&str]; 3] = [
        &["check", "corpus/builds/gnu-2.47/amd64/recursion.O2", "--unwinder", &unwinder],
        &["check", "corpus/builds/gnu-2.44/aarch64/pauth.O2", "--unwinder", &unwinder],
        &["vectors", "--unwinder", &unwinder],
    ];
    for command in commands {
        let output = bench(command);
        assert_eq!(status(&output), 0, "{output:?}");
    }
    let protocol = Kind::of("protocol");
    let mut seen = std::collections::BTreeSet::new();
    for path in &logs {
        let text = std::fs::read_to_string(path).expect("a log");
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            protocol.accepts(&line);
            seen.extend(line.as_object().expect("an object").keys().cloned());
        }
    }
    for key in ["hello", "open", "unwind", "section", "frames", "end", "memory", "read"] {
        assert!(seen.contains(key), "{key} was not seen: {seen:?}");
    }
}

#[test]
fn committed_specs_and_pages_are_as_their_schema_says() {
    for (folder, kind, at_least) in [("specs", "spec", 90), ("specs/faults", "fault", 40)] {
        let kind = Kind::of(kind);
        let mut seen = 0;
        for entry in std::fs::read_dir(repository().join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            // The catalogue of clauses is in this folder, too.
            let is_yaml = path.extension().is_some_and(|extension| extension == "yaml");
            if !is_yaml || path.ends_with("clauses.yaml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a file");
            let document: Value =
                serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            if let Some(complaint) = kind.complaint(&document) {
                panic!("{}: {complaint}", path.display());
            }
            seen += 1;
        }
        assert!(seen >= at_least, "only {seen} in {folder}");
    }
}

/// What is exported for readers that are tested without the bench.
#[test]
fn exports_are_as_their_schema_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let export = |arguments: &[&str]| {
        let output = bench(&[&["export"], arguments].concat());
        assert_eq!(status(&output), 0, "{output:?}");
    };
    let accept = |kind: &str, path: &str| {
        let document = document(Path::new(path));
        Kind::of(kind).accepts(&document);
        Kind::with_explained_keys(kind).accepts(&document);
    };
    // All kinds of answers.
    export(&["vectors", "--output", &at("vectors.json")]);
    accept("vectors", &at("vectors.json"));
    export(&["vectors", "--format", "bin", "--only", "step/*", "--output", &at("bin")]);
    accept("vector", &at("bin/step/v3-aarch64-strip.json"));
    export(&["stacks", "--spec", "signals", "--toolchain", "gnu-2.47", "--output", &at("stacks.json")]);
    accept("stacks", &at("stacks.json"));
    for (kind, part) in [("profiles", "name"), ("readings", "alternatives"), ("mistakes", "clause")] {
        let path = repository().join(format!("corpus/vectors/{kind}.yaml"));
        let text = std::fs::read_to_string(&path).expect("a file");
        let mut document: Value = serde_yaml::from_str(&text).expect("YAML");
        let kind_of = Kind::of(kind);
        kind_of.accepts(&document);
        document[kind][0].as_object_mut().expect("an entry").remove(part);
        assert!(kind_of.complaint(&document).is_some(), "{part} may be absent");
    }
}

/// A schema that accepts anything would be of no use: each required key, and the type of each key, is
/// demanded.
#[test]
fn schemas_refuse_what_is_wrong() {
    let output = bench(&["check", "--json", "corpus/builds/gnu-2.44/amd64/crossing.O2-dynamic"]);
    let (schema, document) = (Kind::of("check"), json(&output));
    let required = schema.schema["required"].as_array().expect("required keys").clone();
    for key in ["file", "abi", "summary", "findings"] {
        assert!(required.contains(&json!(key)), "{key} is not required");
    }
    for key in required {
        let key = key.as_str().expect("a name");
        let mut without = document.clone();
        without.as_object_mut().expect("an object").remove(key);
        assert!(schema.complaint(&without).is_some(), "{key} may be absent");
        let mut wrong = document.clone();
        wrong[key] = json!([[true]]);
        assert!(schema.complaint(&wrong).is_some(), "{key} may be anything");
    }
    for (pointer, wrong) in [
        ("/findings/0/pc", json!(1296)),
        ("/findings/0/pc", json!("510")),
        ("/findings/0/verdict", json!("wrong-everything")),
        ("/findings/0/blame", json!("somebody")),
        ("/findings/0/hits", json!(-1)),
        ("/abi", json!("x86_64")),
    ] {
        let mut document = document.clone();
        *document.pointer_mut(pointer).expect("a key") = wrong.clone();
        assert!(schema.complaint(&document).is_some(), "{pointer} may be {wrong}");
    }
    let mut more = document;
    more["a_key_of_later_versions"] = json!(1);
    schema.accepts(&more);
    assert!(Kind::with_explained_keys("check").complaint(&more).is_some());

    let baseline = json!({"schema": 1, "cases": {}, "more": 1});
    assert!(Kind::of("baseline").complaint(&baseline).is_some(), "a baseline has no other keys");
    let protocol = Kind::of("protocol");
    for line in [
        json!({"id": 1, "frames": 7}),
        json!({"frames": []}),
        json!({"id": 1, "hello": {"protocol": 1}}),
        json!({"id": 1, "frame": []}),
        json!({"memory": "xyz"}),
        json!([]),
    ] {
        assert!(protocol.complaint(&line).is_some(), "{line} is accepted");
    }
}
