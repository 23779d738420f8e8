//! The command line: what it prints, and how it ends.

use rstest::rstest;
use serde_json::Value;

use crate::common::{inspect, repository, status};

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

const SOUND: &str = "corpus/builds/gnu-2.47/amd64/leaf.O2";

#[rstest]
#[case::dump(&["dump", SOUND], 0, "Contents of the SFrame section")]
#[case::lint(&["lint", "corpus/builds/gnu-2.44/aarch64/leaf.O2"], 0, "0 errors")]
#[case::no_difference(&["diff", "corpus/builds/gnu-2.44/aarch64/leaf.O2"], 0, "0 differences")]
#[case::differences(&["diff", "corpus/builds/gnu-2.40/amd64/eh_return.O2"], 1, "difference: ")]
#[case::convert(&["convert", SOUND, "--to", "3", "--output", "/dev/null"], 0, "carried over")]
fn each_command_says_what_it_finds(#[case] arguments: &[&str], #[case] expected: i32, #[case] says: &str) {
    let output = inspect(arguments);
    assert!(text(&output.stdout).contains(says), "{}", text(&output.stdout));
    assert_eq!(status(&output), expected, "{}", text(&output.stderr));
}

#[rstest]
#[case::dump(&["dump", "Cargo.toml"])]
#[case::lint(&["lint", "Cargo.toml"])]
#[case::diff(&["diff", "Cargo.toml"])]
#[case::convert(&["convert", "Cargo.toml", "--to", "2", "--output", "/dev/null"])]
#[case::no_file(&["lint", "no/such/file"])]
#[case::arguments(&["dump"])]
fn unusable_input_is_one_error(#[case] arguments: &[&str]) {
    let output = inspect(arguments);
    assert_eq!((status(&output), text(&output.stdout)), (2, ""));
    assert!(text(&output.stderr).starts_with("error: "), "{}", text(&output.stderr));
}

#[test]
fn a_log_names_the_program_that_was_called() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lint.sarif");
    let output = inspect(&["lint", SOUND, "--sarif", path.to_str().expect("a name")]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let log: Value = serde_json::from_slice(&std::fs::read(path).expect("a log")).expect("JSON");
    assert_eq!(log["runs"][0]["tool"]["driver"]["name"], "sframe-inspect");
}

#[test]
fn help_has_examples_of_this_program() {
    for command in ["dump", "lint", "diff", "convert"] {
        let help = inspect(&[command, "--help"]);
        let help = text(&help.stdout);
        assert!(help.contains(&format!("\n  sframe-inspect {command} ")), "{help}");
        assert!(!help.contains("testbench"), "{help}");
    }
}

/// Neither Unicorn, nor what its bindings are made with, nor what is under the GPL.
#[test]
fn nothing_of_the_emulator_is_needed() {
    let lock = std::fs::read_to_string(repository().join("Cargo.lock")).expect("a lock file");
    let mut packages: Vec<(&str, Vec<&str>)> = Vec::new();
    for package in lock.split("[[package]]").skip(1) {
        let quoted = |line: &'static str| package.lines().find_map(|found| found.strip_prefix(line));
        let name = quoted("name = ").expect("a name").trim_matches('"');
        let needed = package.split_once("dependencies = [").map_or("", |(_, needed)| needed);
        let needed = needed.lines().filter_map(|line| line.trim().strip_prefix('"'));
        packages.push((name, needed.map(|line| line.split(['"', ' ']).next().unwrap_or_default()).collect()));
    }
    let mut needed = vec!["sframe-inspect"];
    let mut next = 0;
    while let Some(name) = needed.get(next).copied() {
        next += 1;
        let of = packages.iter().filter(|(package, _)| *package == name).flat_map(|(_, needed)| needed);
        for name in of {
            if !needed.contains(name) {
                needed.push(name);
            }
        }
    }
    assert!(needed.contains(&"gimli") && needed.contains(&"capstone"));
    for other in ["unicorn-engine", "bindgen", "clang-sys", "cmake", "sframe-machine", "sframe-testbench"] {
        assert!(packages.iter().any(|(package, _)| *package == other) || other == "clang-sys", "{other}");
        assert!(!needed.contains(&other), "{other}");
    }
}
