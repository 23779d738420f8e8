//! `export stacks`, and `vectors --stacks`: moments as data, for the bench and for readers in C.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use rstest::rstest;
use serde_json::Value;

use crate::command::{bench, json, program, status};
use crate::common::repository;

const ENGINE: &str = env!("CARGO_BIN_EXE_sframe-engine-unwinder");

/// Exports moments of some specs, with more arguments.
fn export(folder: &Path, more: &[&str]) -> PathBuf {
    let file = folder.join("stacks");
    let output = bench(&[&["export", "stacks", "--output", &file.display().to_string()], more].concat());
    assert_eq!(status(&output), 0, "{output:?}");
    file
}

/// The moments of [`SPECS`], exported once.
static EXPORTED: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stacks");
    std::fs::create_dir_all(&folder).expect("a folder");
    export(&folder, &SPECS)
});

const SPECS: [&str; 12] = [
    "--spec",
    "recursion",
    "--spec",
    "signals",
    "--spec",
    "plt",
    "--spec",
    "pauth",
    "--spec",
    "rows_at_returns",
    "--spec",
    "saved_fprs",
];

fn ask(file: &Path, unwinder: Option<&str>) -> (i32, Value) {
    let file = file.display().to_string();
    let unwinder = unwinder.map_or(vec![], |unwinder| vec!["--unwinder", unwinder]);
    let output = bench(&[&["vectors", "--json", "--stacks", &file], &unwinder[..]].concat());
    (status(&output), json(&output))
}

#[test]
fn the_engine_agrees_with_all_moments_in_process_and_outside() {
    for unwinder in [None, Some(ENGINE)] {
        let (status, report) = ask(&EXPORTED, unwinder);
        assert_eq!((status, &report["agree"]), (0, &report["moments"]), "{report}");
        assert!(report["moments"].as_u64() > Some(60), "{report}");
    }
}

/// A walk through a signal frame, on each ABI: what was interrupted is looked up by its PC, also at the first byte of a
/// function.
#[test]
fn walks_go_through_signal_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    let specs = ["--spec", "signals", "--spec", "signals_cfi", "--toolchain", "gnu-2.47"];
    let file = export(folder.path(), &specs);
    let document: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let moments = |program: Value| list(&program["moments"]);
    let covers = list(&document["programs"]).into_iter().flat_map(moments).flat_map(|it| list(&it["covers"]));
    let covers: Vec<String> = covers.map(|it| it.as_str().unwrap_or_default().to_owned()).collect();
    for abi in ["amd64", "aarch64", "aarch64_be", "s390x"] {
        for kind in [
            "caller of a signal frame",
            "caller of a signal frame, at its function's first byte",
            "interrupted default inc CFA=SP RA=*(CFA) FP=*(CFA)",
        ] {
            assert!(covers.contains(&format!("{abi} v3 {kind}")), "{abi} {kind}: {covers:#?}");
        }
    }
    // One that looks it up as the caller of a call is wrong.
    let (status_of, report) = ask(&file, Some(&format!("{ENGINE} --mistake signal-caller-as-return")));
    assert_eq!((status_of, report["differences"][0]["verdict"].is_string()), (1, true), "{report}");
    // What has no signals says so.
    let plain = folder.path().join("plain");
    let output = plain.display().to_string();
    let asked = ["export", "stacks", "--spec", "recursion", "--toolchain", "gnu-2.47", "--abi", "amd64"];
    let output = bench(&[&asked[..], &["--output", &output]].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("not shown: amd64 v3 caller of a signal frame\n"), "{said}");
}

/// Walks go through the ends of a search: the first function of a section, the last one, and one without rows.
#[test]
fn walks_go_through_the_ends_of_a_search() {
    let document: Value = serde_json::from_slice(&std::fs::read(&*EXPORTED).expect("a file")).expect("JSON");
    let text = document["programs"].to_string();
    for abi in ["amd64", "aarch64", "aarch64_be", "s390x"] {
        for kind in ["first function of a section", "last function of a section", "function without rows"] {
            assert!(text.contains(&format!("{abi} v3 {kind}")), "{abi} {kind}");
        }
    }
}

/// Each mistake is seen in some moment.
#[rstest]
#[case("look-up-at-return-address")]
#[case("look-up-before-pc")]
#[case("rows-of-the-next")]
#[case("cfa-offset-as-stored")]
#[case("not-loaded")]
#[case("other-cfa-base")]
#[case("swapped-places")]
#[case("own-fp")]
#[case("code-not-removed")]
#[case("row-before")]
#[case("row-after")]
#[case("cfa-too-low")]
#[case("cfa-too-high")]
#[case("place-too-low")]
#[case("place-too-high")]
fn mistakes_are_seen(#[case] mistake: &str) {
    let (status, report) = ask(&EXPORTED, Some(&format!("{ENGINE} --mistake {mistake}")));
    assert_eq!((status, report["differences"][0]["verdict"].is_string()), (1, true), "{report}");
}

#[test]
fn the_same_seed_gives_the_same_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let read = |seed: &str| {
        let arguments = ["--spec", "recursion", "--spec", "leaf", "--moments", "20", "--seed", seed];
        std::fs::read(export(folder.path(), &arguments)).expect("a file")
    };
    let first = read("1");
    assert!(first == read("1"), "the same");
    assert!((2..6).any(|seed| read(&seed.to_string()) != first), "another");
}

/// What the file says of frames is what answers are compared with.
#[test]
fn frames_of_the_file_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = export(folder.path(), &["--spec", "recursion", "--toolchain", "gnu-2.47", "--moments", "9"]);
    let mut document: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    document["programs"][0]["moments"][0]["frames"][0]["cfa"] = "0x123458".into();
    std::fs::write(&file, document.to_string()).expect("a file");
    let (status, report) = ask(&file, None);
    let found = report["differences"].as_array().expect("differences");
    assert_eq!((status, found.len(), &found[0]["verdict"]), (1, 1, &"wrong-cfa".into()), "{report}");
}

#[rstest]
#[case("\n", "the file is empty: it is not a document of `export stacks`")]
#[case("[]", "it is not a document of `export stacks`: ")]
#[case(
    r#"{"schema":9,"licence":"","bench":"","seed":1,"programs":[]}"#,
    "its schema is 9, and this bench reads 1"
)]
#[case(
    r#"{"schema":1,"licence":"","bench":"","seed":1,"programs":[{"name":"p","abi":"amd64","endian":"little",
        "address_bits":48,"moments":[],"images":[{"name":"i","start":"0x2","end":"0x1","bias":"0x0"}]}]}"#,
    "p: images overlap, or end before they start"
)]
#[case(
    r#"{"schema":1,"licence":"","bench":"","seed":1,"programs":[{"name":"p","abi":"amd64","endian":"little",
        "address_bits":48,"moments":[],"images":[{"name":"i","start":"0x1","end":"0x2","bias":"0x0",
        "sframe":{"address":"0x1","bytes":"00"}}]}]}"#,
    "p: the section of i can't be opened"
)]
#[case(
    r#"{"schema":1,"licence":"","bench":"","seed":1,"programs":[{"name":"p","abi":"amd64","endian":"little",
        "address_bits":48,"images":[],"moments":[{"covers":[],"registers":{},"memory":[],"frames":[],
        "end":{"kind":"outermost"},"bottom":"entry"}]}]}"#,
    "p: moment 0: it has no frame"
)]
#[case(
    r#"{"schema":1,"licence":"","bench":"","seed":1,"programs":[{"name":"p","abi":"aarch64","endian":"little",
        "address_bits":255,"images":[],"moments":[]}]}"#,
    "p: `address_bits` is 255, and an address has 1 to 64 bits"
)]
#[case(
    r#"{"schema":1,"licence":"#,
    "the file is cut off: it ends in the middle of the document, after line 1 column 22"
)]
fn mistakes_in_a_document_are_one_sentence(#[case] document: &str, #[case] says: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("stacks");
    std::fs::write(&file, document).expect("a file");
    let output = bench(&["vectors", "--stacks", &file.display().to_string()]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((status(&output), text.lines().count()), (2, 1), "{text}");
    assert!(text.contains(says), "{text}");
}

/// What has nothing to ask about says so.
#[test]
fn a_document_without_moments_compares_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("stacks");
    std::fs::write(&file, r#"{"schema":1,"licence":"","bench":"","seed":1,"programs":[]}"#).expect("a file");
    let output = bench(&["vectors", "--stacks", &file.display().to_string()]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(status(&output) == 3 && text.contains("has no moments to ask about"), "{text}");
}

/// Compiles the header with the example of the kit, and runs it.
fn run_in_c(folder: &Path, header: &Path, change: impl Fn(String) -> String) -> Option<Output> {
    let compiler = program(&["cc", "gcc", "clang"])?;
    let kit = repository().join("harness/adapters/c");
    let text = std::fs::read_to_string(kit.join("example.c")).expect("the example");
    std::fs::write(folder.join("reader.c"), change(text)).expect("a file");
    let (source, made) = (folder.join("test.c"), folder.join("test"));
    let main = "int main (void) { return run_exported_stacks (&example_reader) != 0; }";
    let text = format!("#include \"{}\"\n#include \"reader.c\"\n{main}\n", header.display());
    std::fs::write(&source, text).expect("a file");
    let output = Command::new(compiler)
        .args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DWITHOUT_MAIN", "-I"])
        .arg(kit)
        .arg(&source)
        .arg("-o")
        .arg(&made)
        .output()
        .expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(Command::new(made).output().expect("the test runs"))
}

#[test]
fn a_reader_in_c_walks_from_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    let of_amd64 = ["--toolchain", "gnu-2.47", "--abi", "amd64", "--format", "c"];
    let header = export(folder.path(), &[&SPECS[..], &of_amd64].concat());
    let Some(output) = run_in_c(folder.path(), &header, |text| text) else { return };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains(" 0 wrong; 0 not read"), "{said}");
    // An FP that is not known is not compared, as in runs; a wrong one is.
    let fp = "      caller->fp_address = step->address;";
    for (change, is_told) in [("caller->fp_is_lost = true;", false), ("caller->fp ^= 8;", true)] {
        let changed = |text: String| {
            assert!(text.contains(fp), "{text}");
            text.replace(fp, &format!("{fp}\n      {change}"))
        };
        let Some(output) = run_in_c(folder.path(), &header, changed) else { return };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(said.contains("another FP of the caller"), is_told, "{said}");
    }
    let wrong = |text: String| text.replace("pc - is_return, &f", "pc, &f");
    let Some(output) = run_in_c(folder.path(), &header, wrong) else { return };
    assert!(!output.status.success(), "{output:?}");
    // To take for outermost what has no FDE is not to say that the walk stops there.
    let header = export(folder.path(), &[&["--spec", "mixed_objects"], &of_amd64[..]].concat());
    let marked =
        |text: String| text.replace("= { KIT_END_NO_FDE, KIT_END_NO_ROW", "= { KIT_OUTERMOST, KIT_OUTERMOST");
    for (is_wrong, change) in [(false, &(|text: String| text) as &dyn Fn(String) -> String), (true, &marked)]
    {
        let Some(output) = run_in_c(folder.path(), &header, change) else { return };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(said.contains("it ends as outermost"), is_wrong, "{said}");
    }
}
