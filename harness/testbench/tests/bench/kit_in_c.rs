//! The kit in C, `harness/adapters/c`, with its example, and with mistakes in that.

use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use serde_json::Value;

use crate::command::{bench, json, program, status};
use crate::common::repository;

/// Compiles the kit with its example, of which `change` makes another text; `None` without a compiler.
fn reader(folder: &Path, change: impl Fn(String) -> String, flags: &[&str]) -> Option<String> {
    let compiler = program(&["cc", "gcc", "clang"])?;
    let kit = repository().join("harness/adapters/c");
    let text = std::fs::read_to_string(kit.join("example.c")).expect("the example");
    let (source, made): (PathBuf, PathBuf) = (folder.join("reader.c"), folder.join("reader"));
    std::fs::write(&source, change(text)).expect("a file");
    let output = Command::new(compiler)
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
        .args(flags)
        .arg("-I")
        .arg(&kit)
        .args([&source, &kit.join("sframe-kit.c")])
        .arg("-o")
        .arg(&made)
        .output()
        .expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(made.display().to_string())
}

fn replaced(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "the example has no `{old}`");
    text.replace(old, new)
}

fn vectors(reader: &str, only: &[&str]) -> (i32, Value) {
    let only = only.iter().flat_map(|only| ["--only", only]);
    let arguments: Vec<&str> = ["vectors", "--json", "--unwinder", reader].into_iter().chain(only).collect();
    let output = bench(&arguments);
    (status(&output), json(&output))
}

/// With its own steps, and with those of the kit.
#[rstest]
#[case::steps(&[])]
#[case::rules(&["-DWITHOUT_STEP"])]
fn the_example_walks_as_the_engine_does(#[case] flags: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(reader) = reader(folder.path(), |text| text, flags) else { return };
    for build in ["recursion.O0", "signals.O2", "plt.O0-shared", "deep_recursion.O2"] {
        let file = format!("corpus/builds/gnu-2.47/amd64/{build}");
        let output = bench(&["check", "--json", "--unwinder", &reader, &file]);
        let unwinder = &json(&output)["unwinder"];
        assert_eq!((status(&output), &unwinder["agree"]), (0, &unwinder["stops"]), "{build}");
        assert_eq!((&unwinder["restarts"], unwinder["stops"].as_u64() > Some(100)), (&0.into(), true));
    }
}

#[test]
fn the_example_answers_vectors() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(reader) = reader(folder.path(), |text| text, &[]) else { return };
    let only =
        ["step/v3-amd64", "default/v3-amd64", "outermost/v3-amd64-no-*", "mask/v3-amd64*", "opening/v3-cut*"];
    let (status, report) = vectors(&reader, &only);
    assert_eq!((status, report["differences"].as_array().map(Vec::len)), (0, Some(0)), "{report}");
    for part in ["lookups", "steps"] {
        assert!(report["parts"][part]["answered"].as_u64() > Some(5), "{report}");
    }
}

#[test]
fn what_a_reader_does_not_support_is_skipped_and_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(reader) = reader(folder.path(), |text| text, &[]) else { return };
    let (status, report) = vectors(&reader, &["step/v2-amd64"]);
    assert_eq!((status, &report["skipped"][0]["reason"]), (3, &"an older version than 3".into()));
}

#[test]
fn a_reader_that_looks_return_addresses_up_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = |text: String| replaced(&text, "pc - is_return", "pc");
    let Some(reader) = reader(folder.path(), wrong, &["-Wno-unused-parameter"]) else { return };
    let (status, _) = vectors(&reader, &["lookup/v3-amd64*"]);
    assert_eq!(status, 1);
}

/// The names of a reader's mistakes, but for that of the example: it reads rows as long as they are in the section.
fn names(report: &Value) -> Vec<String> {
    let mistakes = report["mistakes"].as_array().expect("mistakes").iter();
    let names = mistakes.flat_map(|it| it["names"].as_array().expect("names"));
    let names = names.map(|name| name.as_str().expect("a name").to_owned());
    names.filter(|name| name != "rows-beyond-sub-section").collect()
}

/// The example has look-ups and steps alone, of one version and ABI. The naming of mistakes was written beside the model
/// of another reader: what it says of this one is nothing that it was made for.
#[test]
fn mistakes_of_a_reader_in_c_are_named() {
    let mistakes = [
        ("pc - is_return", "pc", "return-address-as-pc"),
        ("pc - f->start >= f->size", "pc - f->start > f->size", "end-included"),
        ("HEADER + at (opened, 7, 1)", "HEADER", "aux-header-ignored"),
        ("first + at (opened, 20, 4)", "first", "fdeoff-ignored"),
        (
            "(uint64_t) signed_at (opened, fde, 8)",
            "(uint64_t) signed_at (opened, fde, 4)",
            "start-of-32-bits",
        ),
        ("at (opened, 3, 1) & 4 ? fde : 0", "0", "pcrel-ignored"),
        ("at (opened, 3, 1) & 4 ? fde : 0", "fde", "pcrel-always"),
        (
            "at (opened, 3, 1) & 4 ? fde : 0",
            "at (opened, 3, 1) & 4 ? opened->fdes : 0",
            "pcrel-of-first-entry",
        ),
        ("f->is_mask = info >> 4 & 1", "f->is_mask = false", "pc-type-ignored"),
        ("f->is_signal = info >> 7 & 1", "f->is_signal = false", "signal-ignored"),
        ("f->is_signal = info >> 7 & 1", "f->is_signal = info >> 6 & 1", "signal-is-bit-6"),
        ("at (opened, attributes + 4, 1)", "16", "block-of-16"),
        ("count = info >> 1 & 15, size", "count = info >> 1 & 7, size", "word-count-of-3-bits"),
        ("= info & 1 ? KIT_SP : KIT_FP", "= info & 1 ? KIT_FP : KIT_SP", "base-bit-inverted"),
        ("= info & 1 ? KIT_SP : KIT_FP", "= KIT_SP", "base-bit-ignored"),
        (
            ".offset = signed_at (opened, words, size)",
            ".offset = (int64_t) at (opened, words, size)",
            "words-unsigned",
        ),
        ("else if (opened->fixed_fp)", "else if (false)", "fixed-fp-ignored"),
        ("if (place.rules.fp.is_there)", "if (false)", "fp-lost"),
        ("if (at (opened, row, f.start_size) > offset)", "if (i > 0)", "first-row-always"),
        (
            "f->count = at (opened, attributes, 2)",
            "f->count = at (opened, attributes, 1)",
            "num-rows-of-8-bits",
        ),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let only = ["[!fhlw]*/*", "flex/*", "header/*", "lookup/v3-amd64-[!36]*"];
    let (mut named, mut unnamed, mut all) = (0, Vec::new(), 0);
    for (right, wrong, name) in mistakes {
        let Some(reader) = reader(folder.path(), |text| replaced(&text, right, wrong), &["-w"]) else {
            return;
        };
        let (status, report) = vectors(&reader, &only);
        assert_eq!(status, 1, "{name} is not noticed");
        all += 1;
        match &names(&report)[..] {
            [] => unnamed.push(name),
            names if names.contains(&name.to_owned()) => named += 1,
            names => panic!("{name} is named {names:?}"),
        }
    }
    // The example refuses flex rows, as a reader with many mistakes might.
    assert!(named * 5 >= all * 3, "{named} of {all}: not {unnamed:?}");
}

/// Where a reader finds nothing, so would readers with many mistakes.
#[test]
fn a_mistake_of_no_usual_kind_gets_no_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let change =
        |text: String| replaced(&text, "(uint64_t) signed_at (opened, fde, 8)", "at (opened, fde, 4)");
    let Some(reader) = reader(folder.path(), change, &["-w"]) else { return };
    let (status, report) = vectors(&reader, &["[!fhlw]*/*", "flex/*", "header/*", "lookup/v3-amd64-[!36]*"]);
    assert_eq!(status, 1);
    assert_eq!(names(&report), [""; 0]);
}

/// The byte after a section can't be read, also without a sanitizer.
#[test]
fn a_reader_that_leaves_the_section_is_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let careless = |text: String| {
        let text = replaced(&text, "opened->section.size - offset < size", "offset + size == 0");
        replaced(&text, "offset > opened->section.size || ", "")
    };
    let Some(reader) = reader(folder.path(), careless, &[]) else { return };
    let (status, report) = vectors(&reader, &["opening/v3-cut-at-4"]);
    assert_eq!((status, &report["differences"][0]["fault"]), (1, &"crashed".into()), "{report}");
}
