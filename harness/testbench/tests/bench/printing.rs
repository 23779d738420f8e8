//! Foreign text is printed visibly and without effect: names of functions,
//! sections and files, answers of an unwinder, and lines of specs.

use std::ffi::OsStr;
use std::process::{Command, Output};
use std::time::Duration;

use object::{Object as _, ObjectSection as _};
use rstest::rstest;
use serde::Deserialize as _;
use serde_json::Value;
use sframe_inspect::command::Volume;
use sframe_kit::text::Text;
use sframe_suite::report::{Report, Style, junit, markdown, run_summary};

use crate::common::repository;

fn bench<S: AsRef<OsStr>>(arguments: &[S]) -> Output {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"));
    bench.args(arguments).current_dir(repository()).output().expect("the bench")
}

/// Checks for what a terminal obeys, what hides or reorders text, and what
/// starts a command or a verdict at the beginning of a line.
fn is_harmless(text: &str) -> Result<(), String> {
    let is_harmful = |c: char| {
        c != '\n' && c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    if let Some(line) = text.lines().find(|line| line.contains(is_harmful)) {
        return Err(format!("{line:?}"));
    }
    let is_forged = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("::")
            || line.starts_with("forged")
            || line.contains("##[")
            || line.contains("##vso[")
    };
    text.lines().find(is_forged).map_or(Ok(()), |line| Err(format!("forged: {line:?}\n{text}")))
}

/// Components of names, which may be cut anywhere.
const HOSTILE: [&str; 3] = [
    "\n::error::\u{1b}[2J\u{202e}\u{9b}1m\nforged: 0 findings",
    "::error::\r\u{7}\u{2028}",
    "\nforged \u{2066}##[error]##vso[task.complete]",
];

/// Replaces the names of a file's functions, and of sections unknown to the
/// format, by others of the same lengths.
fn with_hostile_names(name: &str) -> Vec<u8> {
    let mut bytes = std::fs::read(repository().join("corpus").join(name)).expect("a file");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let tables = [".strtab", ".shstrtab"].map(|name| {
        file.section_by_name(name).and_then(|section| section.file_range()).expect("a table of names")
    });
    let mut count = 0;
    for (start, size) in tables {
        let [start, size] = [start, size].map(|number| usize::try_from(number).expect("small"));
        let table = start..start + size;
        let names: Vec<(usize, usize)> = bytes[table.clone()]
            .split(|byte| *byte == 0)
            .scan(table.start, |at, name| {
                let start = *at;
                *at += name.len() + 1;
                Some((start, name.len()))
            })
            .collect();
        for (at, len) in names {
            let name = &bytes[at..at + len];
            let is_needed = name.starts_with(b".") && !name.starts_with(b".text.");
            if len < 4 || is_needed {
                continue;
            }
            let hostile = HOSTILE[count % HOSTILE.len()].bytes().chain(std::iter::repeat(b'x'));
            bytes[at..at + len].iter_mut().zip(hostile).for_each(|(byte, hostile)| *byte = hostile);
            count += 1;
        }
    }
    assert!(count > 0);
    bytes
}

#[rstest]
#[case::check("builds/gnu-2.47/amd64/realign.O2", &["check"], true)]
#[case::study("builds/gnu-2.47/amd64/realign.O2", &["study"], true)]
#[case::diff("builds/gnu-2.47/amd64/realign.O2", &["diff"], true)]
#[case::diff_of_an_object("dumps/odd/gnu-2.47/amd64.o", &["diff"], true)]
#[case::lint("builds/gnu-2.40/amd64/leaf.O2", &["lint"], true)]
#[case::dump("builds/gnu-2.47/amd64/realign.O2", &["dump"], false)]
#[case::convert("builds/gnu-2.47/amd64/realign.O2", &["convert", "--to", "1", "--output", "/dev/null"], true)]
#[case::document("builds/gnu-2.47/amd64/realign.O2", &["check", "--json"], true)]
fn names_in_a_file_have_no_effect(#[case] build: &str, #[case] command: &[&str], #[case] shows_names: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a\n::error::file\u{1b}[2J");
    std::fs::write(&file, with_hostile_names(build)).expect("a file");
    let mut arguments: Vec<&OsStr> = command.iter().map(OsStr::new).collect();
    arguments.push(file.as_os_str());
    let output = bench(&arguments);
    for stream in [&output.stdout, &output.stderr] {
        assert_eq!(is_harmless(&String::from_utf8_lossy(stream)), Ok(()));
    }
    let all = [output.stdout, output.stderr].concat();
    let all = String::from_utf8_lossy(&all);
    assert!(all.contains(r"a\n::error::file\u") || command[0] == "convert", "{all}");
    let names = [r"\n::err", r"\u{3a}:error:", r"\nforged", r"::error::\r"];
    let others = all.replace(r"a\n::error::file", "");
    let is_shown = names.iter().any(|name| others.contains(name));
    assert_eq!(is_shown, shows_names, "{all}");
}

/// Collects the places of all texts of a document, except for enumerations.
fn spoil(value: &mut Value, path: &mut Vec<String>, texts: &mut Vec<Vec<String>>) {
    match value {
        Value::String(_) => texts.push(path.clone()),
        Value::Array(values) => {
            for (index, value) in values.iter_mut().enumerate() {
                path.push(index.to_string());
                spoil(value, path, texts);
                path.pop();
            }
        }
        Value::Object(values) => {
            for (key, value) in values {
                path.push(key.replace('~', "~0").replace('/', "~1"));
                spoil(value, path, texts);
                path.pop();
            }
        }
        _ => {}
    }
}

/// A report in which each text is hostile, as far as a report can have that.
fn hostile_report() -> Report {
    let build = ["--spec", "realign", "--toolchain", "gnu-2.47", "--abi", "amd64", "--json"];
    let output = bench(&[&["run"], &build[..]].concat());
    let mut document: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let cases = document["cases"].as_array_mut().expect("cases");
    cases.truncate(2);
    for (case, outcome) in cases.iter_mut().zip(["unexpected", "broken"]) {
        case["outcome"] = outcome.into();
        case["reason"] = "a reason".into();
        let findings: Vec<Value> =
            case["known"].as_array().expect("known").iter().map(|known| known["finding"].clone()).collect();
        case["findings"] = findings.into();
    }
    let mut skipped = cases[0].clone();
    skipped["outcome"] = "skipped".into();
    cases.push(skipped);
    let mut texts = Vec::new();
    spoil(&mut document, &mut Vec::new(), &mut texts);
    let mut changed = 0;
    for (index, path) in texts.iter().enumerate() {
        let pointer = format!("/{}", path.join("/"));
        let text = document.pointer_mut(&pointer).expect("a text");
        let hostile = format!("{}\u{fffe}\u{ffff}]]><x", HOSTILE[index % HOSTILE.len()]);
        let original = std::mem::replace(text, hostile.into());
        if Report::deserialize(&document).is_ok() {
            changed += 1;
        } else {
            *document.pointer_mut(&pointer).expect("a text") = original;
        }
    }
    assert!(changed > 50, "{changed} of {}", texts.len());
    serde_json::from_value(document).expect("a report")
}

#[test]
fn whatever_a_report_says_its_outputs_are_harmless() {
    let report = hostile_report();
    let notes = Text::default();
    let style = Style { volume: Volume::Verbose, ..Style::default() };
    let text = run_summary(&report, Duration::from_secs(1), &notes, style);
    assert!(text.len() > 1000);
    assert_eq!(is_harmless(&text), Ok(()));
    let colour = run_summary(&report, Duration::ZERO, &notes, Style { colour: true, ..style });
    // Only our own colours are left.
    let mut rest = &*colour;
    let mut plain = String::new();
    while let Some(at) = rest.find('\u{1b}') {
        plain += &rest[..at];
        let end = rest[at..].find('m').expect("an end") + at;
        assert!(rest[at + 1..end].chars().all(|c| c == '[' || c == ';' || c.is_ascii_digit()), "{rest}");
        rest = &rest[end + 1..];
    }
    assert_eq!(is_harmless(&(plain + rest)), Ok(()));

    assert_eq!(is_harmless(&markdown(&report)), Ok(()));
    let xml = junit(&report).expect("XML");
    // The definition of a character in XML 1.0, 2.2.
    let is_character = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert_eq!(xml.chars().find(|c| !is_character(*c)), None);
    assert_eq!(is_harmless(&xml.replace("::", "")), Ok(()));
    let escaped = r"\u{fffe}\u{ffff}]]&gt;&lt;x";
    assert!(xml.matches(escaped).count() > 5, "{xml}");
}

#[test]
fn the_answers_of_an_unwinder_have_no_effect() {
    let script = r#"read hello; printf '%s\n' '{"id":1,"hello":{"protocol":1,"name":"a\n::error::b\u001b[2J","version":"\u202e\r1","data":"sframe"}}'
        read open; printf '\n::error::forged\n\033[2J::error::\n' >&2; exit 3"#;
    let unwinder = shlex::try_join(["sh", "-c", script]).expect("words");
    let folder = tempfile::tempdir().expect("a folder");
    let output = bench(&[
        "check",
        "corpus/builds/gnu-2.47/amd64/leaf.O2",
        "--unwinder",
        &unwinder,
        "--report",
        &folder.path().display().to_string(),
    ]);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains(r"::error::forged | \u{1b}[2J::error::"), "{text}");
    assert_eq!(is_harmless(&text), Ok(()));
    let summary = std::fs::read_to_string(folder.path().join("summary.md")).unwrap_or_default();
    assert_eq!(is_harmless(&summary), Ok(()));
}

#[test]
fn a_quoted_line_of_a_spec_has_no_effect() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "program: leaf\nsummary: x\n# \u{9b}2J \u{202e}\nstopps: \"\\e\" # ::error::\u{2028}\u{85}x\n";
    std::fs::write(folder.path().join("le\naf.yaml"), text).expect("a file");
    let output = bench(&[OsStr::new("run"), OsStr::new("--specs"), folder.path().as_os_str()]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(is_harmless(&text), Ok(()));
    assert!(text.contains(r"\u{9b}2J \u{202e}") && text.contains(r"le\naf.yaml"), "{text}");
}
