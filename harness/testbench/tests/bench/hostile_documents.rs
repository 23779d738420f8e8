//! Hostile YAML and JSON: every key with every wrong value, duplicate keys,
//! bombs, and files that are not text. Each file is read, or causes one error
//! with its position; in bounded time and memory.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};
use sframe_corpus::spec::Spec;
use sframe_corpus::yaml::{self, Source};
use sframe_inspect::command::Volume;
use sframe_kit::text::Text;
use sframe_suite::report::{Baseline, Report, Style, merge, run_summary};

use crate::common::repository;
use crate::doctor::stride;

/// The host may be slow, and busy.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Wrong values for any key, in YAML.
const WRONG: [&str; 34] = [
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "255",
    "256",
    "65536",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
    "1e400",
    ".nan",
    "-.inf",
    "\"\"",
    "x",
    "\" x \"",
    "\"\\0\"",
    "\"\\e[31m\"",
    "\"a\\nb\"",
    "[]",
    "[[]]",
    "[x]",
    "[0, 0]",
    "{}",
    "{x: y}",
    "{{}: y}",
    "[{}]",
    "!tag x",
    "!!binary x",
    "*x",
    "2001-01-01",
    "0x7fffffffffffffff",
];

/// A marker that no spec contains, to be replaced by the wrong value.
const PLACE: &str = "@place@";

/// A place in a document: keys and indices.
type Path_ = Vec<String>;

fn paths(value: &Value, path: &Path_, found: &mut Vec<Path_>) {
    found.push(path.clone());
    let mut within = |key: String, value: &Value| paths(value, &[&path[..], &[key]].concat(), found);
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| within(key.clone(), value)),
        // One element of a list is enough.
        Value::Array(list) => {
            (0..).zip(list).take(2).for_each(|(index, value): (u32, _)| within(index.to_string(), value))
        }
        _ => {}
    }
}

fn at<'v>(value: &'v mut Value, path: &[String]) -> &'v mut Value {
    path.iter().fold(value, |value, key| match value {
        Value::Array(list) => &mut list[key.parse::<usize>().expect("an index")],
        value => &mut value[key.as_str()],
    })
}

/// Returns the document with the value at a place replaced.
fn with(document: &Value, path: &[String], text: &str) -> String {
    let mut document = document.clone();
    *at(&mut document, path) = PLACE.into();
    document.to_string().replace(&format!("{PLACE:?}"), text)
}

/// A spec that has every key, and those of the repository.
fn specs() -> Vec<Value> {
    let full = json!({
        "program": "p", "summary": "s", "clauses": ["c"], "args": ["a"], "exit_status": 1, "stack_size": 65536,
        "targets": ["amd64"], "toolchains": ["gnu-2.47"],
        "skip": [{"where": {"abi": "amd64", "toolchain": "gnu-2.47", "variant": "O2", "sframe_version": 3,
                            "compiler": "gcc >= 14", "assembler": ["gas < 2.47", "llvm"], "linker": "ld", "can": ["flex"],
                            "cannot": "outermost", "derived": false}, "reason": "r"}],
        "sweep": [{"where": {"abi": "amd64"}, "covered": "90%", "rows": "50%", "min_depth": 1, "excluded": "2%", "min_instructions": 1,
                   "control_flow": ["signals"]}],
        "stops": [{"at": "main", "hit": 1, "frames": ["main"], "end": "outermost", "where": {"abi": "amd64"}},
                  {"hit": 2, "each": [{"at": "main"}, {"at": "f", "frames": ["f x 3"]}]}],
        "signals": [{"signal": 10, "at": "main", "during": ["main"], "hits": 1, "min_deliveries": 1, "complete": true, "at_entry": "80%",
                     "ends": ["outermost"], "where": {"abi": "amd64"}}],
        "ends": [{"ends": ["outermost"], "where": {"abi": "amd64"}}],
        "known": [{"verdict": "wrong-cfa", "function": "f", "row": "+0x1", "blame": "consumer", "reason": "r",
                   "where": {"abi": "amd64"}},
                  {"verdict": "wrong-ra", "blame": "consumer", "fault": "f", "where": {"abi": "amd64"}}],
        "uncovered": [{"functions": ["f"], "instructions": 1, "reason": "r", "where": {"abi": "amd64"}}],
        "unreached": [{"functions": ["f"], "instructions": 1, "reason": "r", "where": {"abi": "amd64"}}],
        "distrust": [{"trace": "backchain", "reason": "r"}],
    });
    let folder = repository().join("specs");
    let names =
        ["signals", "realign", "recursion", "coroutines"].map(|name| folder.join(format!("{name}.yaml")));
    let read = |path| yaml::read::<Value>(path).unwrap_or_else(|error| panic!("{error}"));
    std::iter::once(full).chain(names.iter().filter(|path| path.exists()).map(|path| read(path))).collect()
}

/// Reads a spec. An error has its position, on one readable line.
fn read(text: &str) -> Result<Spec, String> {
    let started = Instant::now();
    let source = Source::new(Path::new("p.yaml"), text);
    let read = catch_unwind(AssertUnwindSafe(|| Spec::from_source(&source)));
    let read = read.unwrap_or_else(|_| panic!("{:.2000}", text));
    assert!(started.elapsed() < TIME_LIMIT, "{:?}: {:.200}", started.elapsed(), text);
    read.map_err(|error| {
        let line = sframe_kit::text::neutral(&error.to_string()).into_owned();
        assert!(line.starts_with("p.yaml:") && error.position().is_some(), "{line}");
        assert!(line.lines().count() == 1 && line.len() < 4000, "{line:?}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
        assert!(error.render(false).len() < 10_000, "{line}");
        line
    })
}

#[test]
fn every_key_of_a_spec_with_a_wrong_value_is_an_error_or_means_something() {
    let specs = specs();
    let mut keys = BTreeSet::new();
    let mut tried = Vec::new();
    for spec in &specs {
        let mut places = Vec::new();
        paths(spec, &Vec::new(), &mut places);
        keys.extend(places.iter().flatten().filter(|key| key.parse::<u32>().is_err()).cloned());
        tried.extend(places.into_iter().flat_map(|place| WRONG.map(|wrong| with(spec, &place, wrong))));
    }
    // The generator knows all keys of the schema.
    let schema = std::fs::read_to_string(repository().join("specs/spec.schema.json")).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let objects = schema["$defs"].as_object().expect("kinds").values().chain([&schema]);
    let known: BTreeSet<String> = objects
        .flat_map(|object| object["properties"].as_object().into_iter().flatten())
        .map(|(key, _)| key.clone())
        .collect();
    let missing: Vec<_> = known.difference(&keys).collect();
    assert!(missing.is_empty(), "{missing:?}");

    let errors = tried.par_iter().filter(|text| read(text).is_err()).count();
    assert!(tried.len() > 3000 && errors * 10 > tried.len() * 8, "{errors} of {}", tried.len());
}

/// Returns the document as text, with the first key of the mapping at a place
/// duplicated.
fn with_a_key_twice(value: &Value, path: &[String]) -> Option<String> {
    let mut copy = value.clone();
    let map = at(&mut copy, path).as_object()?.clone();
    let (key, first) = map.iter().next()?;
    let mapping = Value::from(map.clone()).to_string();
    let twice = format!("{}, {}: {first}}}", &mapping[..mapping.len() - 1], Value::from(key.as_str()));
    Some(with(value, path, &twice))
}

#[test]
fn a_key_twice_is_an_error_at_every_depth() {
    let mut tried = 0;
    for spec in specs() {
        let mut places = Vec::new();
        paths(&spec, &Vec::new(), &mut places);
        for place in places {
            let Some(text) = with_a_key_twice(&spec, &place) else { continue };
            let error = read(&text).expect_err(&text);
            assert!(error.contains("duplicate key"), "{error}");
            tried += 1;
        }
    }
    assert!(tried > 30, "{tried}");
}

/// Files within the size limit that take parsers excessively long.
#[rstest]
#[case::lists_in_lists("- ".repeat(1 << 20))]
#[case::keys_in_keys("? ".repeat(1 << 20))]
#[case::mappings_in_mappings((0..2000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect())]
#[case::brackets("[".repeat(1 << 20))]
#[case::braces("{".repeat(900))]
#[case::pairs("{a: ".repeat(900))]
#[case::brackets_that_close(format!("a: {}{}", "[".repeat(900), "]".repeat(900)))]
#[case::laughs((0..30).map(|depth| format!("a{depth}: &a{depth} [*a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}]\n", depth - 1)).collect::<String>().replacen("*a-1", "x", 9))]
#[case::laughing_keys((0..30).map(|depth| format!("a{depth}: &a{depth} {{? *a{0} : *a{0}}}\n", depth - 1)).collect::<String>().replace("*a-1", "x"))]
#[case::merged_laughs((0..30).map(|depth| format!("a{depth}: &a{depth} {{<<: [*a{0}, *a{0}], x{depth}: *a{0}}}\n", depth - 1)).collect::<String>().replace("*a-1", "{y: z}"))]
#[case::long_laughs(format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(1 << 18)))]
#[case::anchors((0..200_000).map(|index| format!("&a{index} ")).collect::<String>() + "x")]
#[case::anchored((0..100_000).map(|index| format!("- &a{index} x\n- *a{index}\n")).collect())]
#[case::itself("program: &p [*p]".to_owned())]
#[case::a_long_key(format!("{}: x", "k".repeat(2 << 20)))]
#[case::long_keys((0..2000).map(|index| format!("k{index}{}: x\n", "k".repeat(1000))).collect())]
#[case::many_keys((0..200_000).map(|index| format!("k{index}: x\n")).collect())]
#[case::many_keys_of_a_known_one(format!("program: p\nsummary: s\nsweep: [{{where: {{{}}}}}]", (0..100_000).map(|index| format!("k{index}: x, ")).collect::<String>()))]
#[case::a_long_value(format!("program: {}", "v".repeat(3 << 20)))]
#[case::an_open_quote(format!("program: \"{}", "v\n".repeat(1 << 20)))]
#[case::quotes("'".repeat(3 << 20))]
#[case::escapes(format!("program: \"{}\"", "\\x41".repeat(1 << 19)))]
#[case::a_long_block(format!("program: |\n{}", "  v\n".repeat(1 << 19)))]
#[case::line_ends("\n".repeat(4 << 20))]
#[case::blanks(" ".repeat(4 << 20))]
#[case::comments("#\n".repeat(2 << 20))]
#[case::documents("--- x\n".repeat(1 << 19))]
#[case::empty_documents("---\n".repeat(1 << 20))]
#[case::ends("...\n".repeat(1 << 20))]
#[case::directives("%TAG ! !\n".repeat(1 << 18) + "--- x")]
#[case::another_version("%YAML 9.9\n---\nprogram: p\n".to_owned())]
#[case::tags("!t ".repeat(1 << 20))]
#[case::a_long_tag(format!("program: !{} x", "t".repeat(1 << 20)))]
#[case::colons(":".repeat(1 << 20))]
#[case::colons_apart(": ".repeat(1 << 20))]
#[case::commas(format!("[{}]", ",".repeat(1 << 20)))]
#[case::stars("*".repeat(1 << 20))]
#[case::tabs("\t".repeat(1 << 20))]
#[case::a_tab_between("program:\tp\n\tsummary: s".to_owned())]
#[case::marks("\u{feff}\u{feff}program: p".to_owned())]
#[case::a_zero("program: \0".to_owned())]
#[case::a_dense_list(format!("program: p\nsummary: s\nclauses: [{}]", "x,".repeat(1 << 20)))]
#[case::stops(format!("program: p\nsummary: s\nstops: [{}]", "{},".repeat(1 << 19)))]
#[case::sound_stops(format!("program: p\nsummary: s\nstops:\n{}", (0..4000).map(|hit| format!("- {{at: main, hit: {}, frames: [main]}}\n", hit + 1)).collect::<String>()))]
#[case::errors(format!("program: p\nsummary: s\nstops:\n{}", "- {at: main, frames: [main]}\n".repeat(4000)))]
fn bombs_are_one_error(#[case] text: String) {
    let read = read(&text);
    assert!(read.is_err() || text.contains("hit: 3999"), "{:.200}", text);
}

/// Runs the bench with limits: address space in KiB, CPU in seconds.
fn bench(arguments: &[&str]) -> Output {
    Command::new("sh")
        .args([
            "-c",
            "ulimit -v 4194304 && ulimit -t 60 && exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_sframe-testbench"),
        ])
        .args(arguments)
        .current_dir(repository())
        .env("RAYON_NUM_THREADS", "2")
        .output()
        .expect("the bench runs")
}

#[track_caller]
fn refused(arguments: &[&str], part: &str) {
    let output = bench(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error:.1000}");
    assert!(error.contains(part) && output.stdout.is_empty(), "{part}: {error:.1000}");
    assert!(error.len() < 3000 && !error.contains("panicked"), "{error:.1000}");
}

/// For every kind of YAML file.
#[test]
fn content_that_is_not_text_is_one_error_in_every_kind_of_file() {
    let utf16 = |text: &str, mark: [u8; 2]| {
        mark.into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect::<Vec<u8>>()
    };
    let contents: [(&str, Vec<u8>, &str); 9] = [
        ("empty", Vec::new(), "the file is empty"),
        ("utf16", utf16("program: p\n", [0xff, 0xfe]), "is not UTF-8 text"),
        ("latin1", b"program: caf\xe9\n".to_vec(), "is not UTF-8 text"),
        ("zero", b"program: \0\n".to_vec(), "U+0000 is not allowed"),
        ("list", b"- a\n".to_vec(), "invalid type"),
        ("laughs", b"a: &a [x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c]\n".to_vec(), "aliases repeat too much"),
        ("deep", vec![b'['; 2000], "brackets are open"),
        ("twice", b"program: p\nprogram: p\n".to_vec(), "duplicate key"),
        ("large", vec![b'x'; 100 << 20], "too large to be read"),
    ];
    for (name, content, message) in contents {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        std::fs::create_dir(path("specs")).expect("a folder");
        std::fs::create_dir(path("corpus")).expect("a folder");
        std::fs::write(path("specs/p.yaml"), &content).expect("a file");
        refused(&["run", "--specs", &path("specs")], message);
        std::fs::rename(path("specs/p.yaml"), path("specs/clauses.yaml")).expect("a file");
        refused(&["clauses", "--specs", &path("specs")], message);
        std::fs::write(path("corpus/manifest.yaml"), &content).expect("a file");
        refused(&["run", "--corpus", &path("corpus")], message);
        std::fs::rename(path("corpus/manifest.yaml"), path("fake.yaml")).expect("a file");
        refused(&["matrix", &path("fake.yaml"), "--work", &path("work")], message);
        for folder in ["corpus/programs", "corpus/toolchains", "toolchains"] {
            std::fs::create_dir(path(folder)).expect("a folder");
        }
        let rebuild = ["rebuild", "--corpus", &path("corpus"), "--toolchains", &path("toolchains")];
        std::fs::rename(path("fake.yaml"), path("corpus/programs/fake.yaml")).expect("a file");
        refused(&rebuild, message);
        std::fs::rename(path("corpus/programs/fake.yaml"), path("corpus/toolchains/fake.yaml"))
            .expect("a file");
        refused(&rebuild, message);
        let _ = name;
    }
}

// JSON.

/// A report of a few cases, as shard 1 of 1.
fn report() -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let run = [
        "run",
        "--json",
        "--spec",
        "realign",
        "--toolchain",
        "gnu-2.47",
        "--abi",
        "amd64",
        "--shard",
        "1/1",
        "--report",
        path,
    ];
    let output = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .args(run)
        .current_dir(repository())
        .output()
        .expect("the bench runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn every_key_of_a_report_with_a_wrong_value_is_an_error_or_means_something() {
    const WRONG: [&str; 14] = [
        "null",
        "true",
        "0",
        "-1",
        "1",
        "1.5",
        "9007199254740993",
        "18446744073709551615",
        "1e300",
        "\"\"",
        "\"x\"",
        "[]",
        "{}",
        "[[]]",
    ];
    let report = report();
    let sound: Report = serde_json::from_value(report.clone()).expect("a report");
    let baseline = Baseline::of(&sound).expect("a sound report");
    let mut places = Vec::new();
    paths(&report, &Vec::new(), &mut places);
    let texts = places.iter().flat_map(|place| WRONG.map(|wrong| with(&report, place, wrong)));
    let texts: Vec<String> = texts.step_by(stride(5)).collect();
    let (mut errors, mut reports) = (0, 0);
    for text in &texts {
        let Ok(read) = serde_json::from_str::<Report>(text) else {
            errors += 1;
            continue;
        };
        let done = catch_unwind(AssertUnwindSafe(|| {
            let comparison = baseline.compare(&read);
            let mut tightened = baseline.clone();
            tightened.tighten(&read);
            assert!(tightened.text().is_ok());
            drop((comparison, Baseline::of(&read)));
            // Adding the same number twice causes an overflow.
            let mut two = read.clone();
            two.cases.extend(read.cases.iter().cloned().map(|mut case| {
                case.id += "'";
                case
            }));
            two.selected = two.cases.len() as u64;
            let style = Style { volume: Volume::Verbose, ..Style::default() };
            merge(vec![("a".into(), read)]).is_ok()
                | merge(vec![("b".into(), two)]).is_ok_and(|merged| {
                    !run_summary(&merged, Duration::ZERO, &Text::default(), style).is_empty()
                })
        }));
        reports += usize::from(done.unwrap_or_else(|_| panic!("{text:.3000}")));
    }
    let enough = |all| all / stride(5);
    assert!(
        texts.len() > enough(1000) && errors > enough(500) && reports > enough(100),
        "{errors} {reports} of {}",
        texts.len()
    );

    let text = baseline.text().expect("text");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let mut places = Vec::new();
    paths(&document, &Vec::new(), &mut places);
    let mut errors = 0;
    for text in places.iter().flat_map(|place| WRONG.map(|wrong| with(&document, place, wrong))) {
        match Baseline::parse(&text) {
            Ok(read) => drop(read.compare(&sound)),
            Err(error) => {
                errors += 1;
                assert!(error.to_string().lines().count() == 1, "{error}");
            }
        }
    }
    assert!(errors > 50, "{errors}");
}

#[rstest]
#[case::brackets("[".repeat(1 << 20))]
#[case::pairs("{\"schema\":".repeat(1 << 20))]
#[case::a_long_number("1".repeat(1 << 20))]
#[case::a_long_string(format!("\"{}", "x".repeat(1 << 20)))]
#[case::nothing(String::new())]
#[case::a_key_twice("{\"schema\": 1, \"schema\": 1}".to_owned())]
#[case::another_schema("{\"schema\": 4294967295, \"cases\": {}}".to_owned())]
#[case::what_follows("{} {}".to_owned())]
fn json_bombs_are_one_error(#[case] text: String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    std::fs::write(path("report.json"), text).expect("a file");
    refused(&["merge", &path("")], "report.json");
    refused(&["baseline", "create", &path("new"), &path("report.json")], "report.json");
    refused(&["baseline", "update", &path("report.json"), &path("report.json")], "report.json");
    refused(&["run", "--spec", "leaf", "--baseline", &path("report.json")], "report.json");
}

// Mistakes that people make, ten or more in each kind of document: each is one message that says what is wrong, where, and
// what is allowed.

/// Replaces something in a document of the repository, which must have it.
fn changed(document: &str, from: &str, to: &str) -> String {
    let text = std::fs::read_to_string(repository().join(document)).expect("a document");
    assert!(text.contains(from), "{document} has no {from}");
    text.replacen(from, to, 1)
}

/// Asks about a document with a mistake in a folder of its own. The message names the line.
#[track_caller]
fn mistaken(name: &str, text: &str, arguments: impl Fn(&str) -> Vec<String>, message: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, text).expect("a file");
    let arguments = arguments(folder.path().to_str().expect("UTF-8"));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = bench(&arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}: {error:.1000}");
    assert!(
        output.stdout.is_empty() && error.starts_with("error: ") && error.contains(message),
        "{error:.1000}"
    );
    let stem = path.file_name().and_then(|name| name.to_str()).expect("a name");
    let place = error.split(&format!("{stem}:")).nth(1);
    assert!(
        place.is_some_and(|place| place.starts_with(|digit: char| digit.is_ascii_digit())),
        "{error:.1000}"
    );
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[rstest]
#[case("at: leaf\n", "at: laef\n", "there is no symbol `laef`")]
#[case("at: leaf.c:18", "at: leaf.c:9999", "no instruction belongs to `leaf.c:9999`")]
#[case("hit: 60", "hit: sixty", "expected a whole number, 1 or more")]
#[case("hit: 60", "hits: 60", "unknown key `hits`; did you mean `hit`?")]
#[case("program: leaf", "program: laef", "did you mean `leaf`?")]
#[case("targets: all", "targets: [amd46]", "unknown name `amd46`; did you mean `amd64`?")]
#[case("min_depth: 4", "min_depth: 0", "expected a whole number, 1 or more")]
#[case("rows: 100%", "rows: 101%", "`101%` is no share; write `0%` to `100%`")]
#[case("[leaf, caller, main, _start]", "leaf, caller", "expected a list")]
#[case("variant: O0", "variant: O9", "of the variants O0, ")]
#[case("compiler: gcc >= 16", "compiler: gcc => 16", "write `gcc`, `gcc >= 14`")]
#[case("verdict: wrong-cfa", "verdict: wrong-cfo", "did you mean `wrong-cfa`?")]
fn mistakes_in_a_spec(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
    let run = |folder: &str| words(&format!("run --spec leaf --toolchain gnu-2.47 --specs {folder}"));
    let linked = |folder: &str| {
        for name in ["faults", "clauses.yaml"] {
            let to = Path::new(folder).join(name);
            std::os::unix::fs::symlink(
                repository().canonicalize().expect("a folder").join("specs").join(name),
                to,
            )
            .expect("a link");
        }
        run(folder)
    };
    mistaken("leaf.yaml", &changed("specs/leaf.yaml", from, to), linked, message);
}

#[rstest]
#[case("name: gnu-2.47", "name: other", "is not the name of the file")]
#[case("name: gnu-2.47", "nam: mine", "did you mean `name`?")]
#[case("sframe_version: 3", "sframe_version: 9", "SFrame has no version 9; it has 1, 2 and 3")]
#[case("sframe_version: 3", "sframe_version: three", "expected a whole number")]
#[case("abis:", "reference: gnu-2.99\nabis:", "no build by the reference `gnu-2.99`; did you mean")]
#[case("abis:", "abi:", "did you mean `abis`?")]
#[case("amd64: {compiler", "amd46: {compiler", "did you mean `amd64`?")]
#[case("{compiler: gcc, rust: rustc}", "{compiler: ./gcc}", "./gcc is neither a name nor an absolute path")]
#[case("  suite: forky", "  folder: /nowhere", "/nowhere is not there")]
#[case("can: [flex", "can: [flexx", "did you mean `flex`?")]
#[case("compiler: gcc 16.2", "compiler: gcc16", "allowed: `gcc`, `clang`")]
#[case("sframe_flags: [\"-Wa,--gsframe\"]", "sframe_flags: -Wa,--gsframe", "expected a list")]
#[case("excluded:\n  - {", "excluded:\n  - {variant: O9, ", "unknown variant `O9`")]
fn mistakes_in_the_definition_of_a_toolchain(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
    let text = changed("corpus/toolchains/gnu-2.47.yaml", from, to).replace("name: gnu-2.47", "name: mine");
    let matrix = |folder: &str| words(&format!("matrix {folder}/mine.yaml --spec leaf --work {folder}/work"));
    mistaken("mine.yaml", &text, matrix, message);
}

#[rstest]
#[case("section:", "sections:", "unknown key `sections`; did you mean `section`?\n")]
#[case("abi: amd64", "abi: amd46", "help: allowed here: `amd64`, ")]
#[case("size: 32", "size: -1", "expected a whole number")]
#[case("words: [8]", "word: [8]", "unknown key `word`; did you mean `words`?\n")]
#[case("cfa: \"SP+8\"", "cfa: \"rsp+8\"", "is not an equation such as SP+16")]
#[case("kind: unreadable", "kind: unreadible", "unknown name `unreadible`; did you mean `unreadable`?\n")]
#[case("header:\n", "header: 5\nheadr:\n", "invalid type: integer `5`, expected a mapping")]
#[case("fde: none", "fde: nowhere", "needs `fde: none`")]
#[case("clauses:\n", "clauses: 5\nx:\n", "expected a list")]
#[case("    size: 32", "   size: 32", "missing key `size`")]
#[case("summary:", "sumary:", "unknown key `sumary`; did you mean `summary`?")]
#[case("address: \"0x8000\"", "address: zz", "v3-amd64.yaml:17:1\n   |\n17 | address: zz\n")]
fn mistakes_in_a_vector(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
    let name = "default/v3-amd64.yaml";
    let vectors = |folder: &str| {
        for entry in std::fs::read_dir(repository().join("corpus/vectors")).expect("a folder") {
            let path = entry.expect("an entry").path().canonicalize().expect("a path");
            let name = path.file_name().expect("a name");
            if name != "default" {
                let to = Path::new(folder).join("vectors").join(name);
                std::os::unix::fs::symlink(&path, to).expect("a link");
            }
        }
        words(&format!("vectors --corpus {folder} --only default/*"))
    };
    let all = std::fs::read_to_string(repository().join("corpus/vectors/default/v3.yaml")).expect("vectors");
    let text = all.split("---\n").find(|text| text.starts_with("name: v3-amd64\n")).expect("a vector");
    assert!(text.contains(from), "{from}");
    mistaken(&format!("vectors/{name}"), &text.replacen(from, to, 1), vectors, message);
}

const KNOWN: &str = "known:
  - verdict: wrong-cfa
    function: crossing.O2-dynamic.first.so!first_leaf@plt
    rules:
      CFA = SP+16, RA = *(CFA-8), FP unchanged: 1
    blame: producer-linker
    reason: GNU ld gives an entry of .plt.got the row of a .plt entry.
";

#[rstest]
#[case("verdict: wrong-cfa", "verdict: wrong-cfo", "did you mean `wrong-cfa`?")]
#[case("known:", "knwon:", "did you mean `known`?")]
#[case("blame: producer-linker", "blame: linker", "did you mean `producer-linker`?")]
#[case("reason: GNU ld gives an entry of .plt.got the row of a .plt entry.", "reason: TODO", "reason")]
#[case(
    "reason: GNU ld gives an entry of .plt.got the row of a .plt entry.",
    "reason: ''",
    "the reason is missing"
)]
#[case("unchanged: 1", "unchanged: -1", "expected a whole number that is not negative")]
#[case("reason: GNU", "fault: ld-plt-gto\n    reason: GNU", "")]
#[case("unchanged: 1", "unchanged: x", "expected a whole number")]
#[case("unchanged: 1", "unchanged: 0", "")]
#[case("CFA = SP+16", "CFA is SP+16", "can't be read as the rules of a row")]
#[case("first.so!", "first.so:", "named with `!`: `crossing.O2-dynamic.first.so!first_leaf@plt`")]
#[case("    function", "   function", "missing key `rules`")]
#[case("    rules:", "    rule:", "did you mean `rules`?")]
fn mistakes_in_a_list_of_known_findings(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
    let text = KNOWN.replacen(from, to, 1);
    assert_ne!(text, KNOWN);
    let file = "corpus/builds/gnu-2.47/amd64/crossing.O2-dynamic";
    let check = |folder: &str| words(&format!("check --no-explore {file} --known {folder}/known.yaml"));
    mistaken("known.yaml", &text, check, message);
}

#[rstest]
#[case("title:", "titel:", "did you mean `title`?")]
#[case("{linker: ld >= 2.44}", "{linkr: ld >= 2.44}", "did you mean `linker`?")]
#[case("abi: amd64", "abi: amd46", "did you mean `amd64`?")]
#[case("row: 0x0", "row: zero", "write the offset of its start in the function")]
#[case("verdict: wrong-cfa", "verdict: wrong-cfo", "did you mean `wrong-cfa`?")]
#[case("section: .sframe", "section: .sfram", "a section is `.sframe`, ")]
#[case("{state: unreported}", "{state: unknown}", "allowed here: ")]
#[case("toolchain: gnu-2.47", "toolchain: gnu-2.74", "did you mean `gnu-2.47`?")]
#[case("program: plt", "program: ptl", "no command makes this file")]
#[case("  layout:", "  layuot:", "unknown witness `layuot`; did you mean `layout`?")]
#[case("wrong: wrong-cfa", "wrong: cfa", "this is no verdict")]
#[case("right: CFA = SP+8", "right: CFA = SP++8", "can't be read as the rules of a row")]
#[case("    row: CFA = SP+16", "    row: CFA = SP+99999999999999999999", "these are no rules of a row")]
#[case("row: 0x0", "row: 0x99999999999999999", ", which has more than 64 bits, expected the offset of a row")]
fn mistakes_in_the_page_of_a_fault(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
    let faults = |folder: &str| {
        let specs = repository().canonicalize().expect("a folder").join("specs");
        for (from, to) in
            [(specs.clone(), folder.to_owned()), (specs.join("faults"), format!("{folder}/faults"))]
        {
            for entry in std::fs::read_dir(from).expect("a folder") {
                let path = entry.expect("an entry").path();
                let to = Path::new(&to).join(path.file_name().expect("a name"));
                if !to.exists() {
                    std::os::unix::fs::symlink(&path, to).expect("a link");
                }
            }
        }
        words(&format!("faults ld-plt-got --specs {folder}"))
    };
    let text = changed("specs/faults/ld-plt-got.yaml", from, to);
    mistaken("faults/ld-plt-got.yaml", &text, faults, message);
}

/// A corpus in which only the document with the mistake is not the committed one.
fn run_in(folder: &str) -> Vec<String> {
    let corpus = repository().canonicalize().expect("a folder").join("corpus");
    for place in ["", "programs"] {
        let to = Path::new(folder).join(place);
        std::fs::create_dir_all(&to).expect("a folder");
        for entry in std::fs::read_dir(corpus.join(place)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let to = to.join(path.file_name().expect("a name"));
            if !to.exists() && !path.ends_with("corpus/programs") {
                std::os::unix::fs::symlink(&path, to).expect("a link");
            }
        }
    }
    words(&format!("run --corpus {folder} --spec leaf --toolchain gnu-2.47 --abi amd64"))
}

#[rstest]
#[case("schema: 2", "schema: 9", "schema 9 is unknown; this bench reads 2")]
#[case("schema: 2", "schema: two", "this bench reads 2")]
#[case("schema: 2", "shcema: 2", "did you mean `schema`?")]
#[case("runtime:", "runtim:", "did you mean `runtime`?")]
#[case("made:", "mad:", "did you mean `made`?")]
#[case("- toolchain: ", "- toolchian: ", "did you mean `toolchain`?")]
#[case("abi: amd64", "abi: amd46", "did you mean `amd64`?")]
#[case("  files:", "  fiels:", "did you mean `files`?")]
#[case("  abi: aarch64\n", "", "missing key `abi`")]
#[case("\n- toolchain", "\n-- toolchain", "unknown key `-- toolchain`")]
fn mistakes_in_the_manifest(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
    mistaken("manifest.yaml", &changed("corpus/manifest.yaml", from, to), run_in, message);
}

#[rstest]
#[case("summary:", "sumary:", "did you mean `summary`?")]
#[case("summary: ", "summary: [", "")]
#[case("objects:", "object:", "did you mean `objects`?")]
#[case("sframe: false", "sframe: no way", "expected `true` or `false`")]
#[case("sframe: false", "sfrmae: false", "did you mean `sframe`?")]
#[case("sources: [mixed", "source: [mixed", "did you mean `sources`?")]
#[case("{sources: [mixed_objects/covered.c]}", "{}", "missing key `sources`")]
#[case("[mixed_objects/covered.c]", "mixed_objects/covered.c", "expected a list")]
#[case("objects:", "variants: O2\nobjects:", "expected a list")]
#[case("objects:", "cflag: [-Os]\nobjects:", "did you mean `cflags`?")]
#[case("objects:", "variants: [O2, O2-pei]\nobjects:", "unknown variant `O2-pei`")]
#[case("objects:", "targets: [vax]\nobjects:", "unknown target `vax`")]
#[case(
    "mixed_objects/covered.c",
    "mixed_objects/uncovered.c",
    "there is no source `mixed_objects/uncovered.c`"
)]
fn mistakes_in_a_program(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
    let text = changed("corpus/programs/mixed_objects.yaml", from, to);
    mistaken("programs/mixed_objects.yaml", &text, run_in, message);
}

/// Arguments: what is wrong, and what is allowed or probably meant.
#[rstest]
#[case("check /nowhere/program", "/nowhere/program: No such file")]
#[case("check {leaf} --library-path /nowhere", "--library-path /nowhere: there is no such folder")]
#[case("check {leaf} --budget lots", "such as 1000000, 1e6 or 1M")]
#[case("check {leaf} --from ehframe", "a similar value exists: 'eh-frame'")]
#[case("check {leaf} --known /nowhere.yaml", "error: /nowhere.yaml: cannot be read")]
#[case("check {leaf} --write-known /nowhere/known.yaml", "there is no folder /nowhere")]
#[case("run --spec laef", "did you mean `leaf`?")]
#[case("run --abi x86", "did you mean `amd64`?")]
#[case("run --toolchain gnu-2.74", "did you mean `gnu-2.47`?")]
#[case(
    "run --case leaf/gnu-2.47/amd64/O9",
    "SPEC/TOOLCHAIN/ABI/VARIANT; did you mean `leaf/gnu-2.47/amd64/O2`?"
)]
#[case("run --shard 5/4", "with K from 1 to N")]
#[case("matrix /nowhere.yaml", "error: /nowhere.yaml: cannot be read")]
#[case("matrix gnu-2.74", "did you mean `gnu-2.47`?")]
#[case("check {leaf} --known-faults --specs ci", "ci/faults: there is no such folder")]
#[case(
    "export vectors --profile v3-kernel-arm64 --only default/v3-amd64 --output /nowhere/x",
    "no vector is selected"
)]
#[case("lint --sarif /nowhere/x {leaf}", "there is no folder /nowhere")]
#[case("faults gccc", "unknown fault `gccc`")]
#[case("faults silver-*", "unknown fault `silver-*`")]
#[case("faults ld-plt", "did you mean `ld-plt-got`?")]
#[case("faults pushes", "its name is part of `glibc-addmul-pushes`")]
#[case("explain wrong-cfo", "did you mean `wrong-cfa`?")]
#[case("try laef", "did you mean `leaf`?")]
#[case(
    "check {leaf} --memory 256M --stack-size 1G",
    "error: --stack-size 1G does not fit into --memory 256M"
)]
#[case("check {leaf} --known-faults --specs corpus", "corpus/faults: it has no page of a fault")]
#[case(
    "check {leaf} --library-path specs --root specs",
    "'--library-path <DIR>' cannot be used with '--root <DIR>'"
)]
#[case(
    "check {leaf} --unwinder x --stops-per-case 1.5",
    "it must be a number of stops from 0 to 1e18, such as 1000000, 1e6 or 1M, or `all`"
)]
#[case("check {leaf} --root corpus --cwd /nowhere", "error: --cwd /nowhere: there is no such folder below ")]
#[case("explore {leaf} --functions lefa", "it has no function `lefa`; did you mean `leaf`?")]
fn mistakes_in_arguments(#[case] arguments: &str, #[case] message: &str) {
    let arguments = arguments.replace("{leaf}", "corpus/builds/gnu-2.47/amd64/leaf.O2");
    refused(&words(&arguments).iter().map(String::as_str).collect::<Vec<_>>(), message);
}
