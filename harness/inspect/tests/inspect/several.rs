//! Several files, folders, archives and standard input.

use std::path::Path;
use std::process::{Command, Stdio};

use rstest::rstest;
use serde_json::Value;

use crate::common::{build, inspect, repository, status};

const SOUND: &str = "corpus/builds/gnu-2.47/amd64/leaf.O2";
const OTHER: &str = "corpus/builds/gnu-2.44/aarch64/leaf.O2";

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// An archive as `ar` makes it.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, data) in members {
        bytes.extend(
            format!("{:<16}0           0     0     644     {:<10}`\n", format!("{name}/"), data.len())
                .bytes(),
        );
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

/// The header of an ELF file for amd64 that has neither sections nor segments.
fn without_section() -> Vec<u8> {
    let mut bytes = build("gnu-2.47/amd64/leaf.O2");
    bytes.truncate(64);
    // Where the tables are, and how many entries they have.
    bytes[32..48].fill(0);
    bytes[56..58].fill(0);
    bytes[60..64].fill(0);
    bytes
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, bytes).expect("a file");
    path.to_str().expect("a name").to_owned()
}

#[rstest]
#[case::dump("dump")]
#[case::lint("lint")]
#[case::diff("diff")]
fn one_bad_file_loses_no_results_of_others(#[case] command: &str) {
    let output = inspect(&[command, "--json", SOUND, "Cargo.toml", OTHER]);
    assert_eq!(status(&output), 2, "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let files = document["files"].as_array().expect("files");
    let names: Vec<_> = files.iter().map(|file| file["file"].as_str().expect("a name")).collect();
    assert_eq!(names, [SOUND, "Cargo.toml", OTHER]);
    assert_eq!(document["verdict"], "ERROR");
    assert!(files[1]["error"].is_string() && files[0]["error"].is_null() && files[2]["schema"] == 1);
    // Each is the document about that file alone.
    let alone: Value = serde_json::from_slice(&inspect(&[command, "--json", SOUND]).stdout).expect("JSON");
    assert_eq!(files[0], alone);
    let output = inspect(&[command, SOUND, "Cargo.toml", OTHER]);
    let shown = text(&output.stdout);
    assert!(shown.contains(SOUND) && shown.contains(OTHER), "{shown}");
    let result = if command == "dump" { "" } else { ": all passed" };
    let last = format!("ERROR: 2 files with .sframe{result}\n    1 error\n");
    assert!(shown.ends_with(&last), "{shown}");
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

#[test]
fn a_folder_and_its_archives_are_read_in_the_order_of_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let build = build("gnu-2.47/amd64/leaf.O2");
    let bare = without_section();
    write(folder.path(), "notes", b"no ELF file");
    write(folder.path(), "z", &build);
    write(folder.path(), "a/one", &build);
    write(folder.path(), "a/bare", &bare);
    write(folder.path(), "b.a", &archive(&[("x.o", &build), ("y.o", &bare), ("t", b"text")]));
    let path = folder.path().to_str().expect("a name");
    let output = inspect(&["lint", "--json", path]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let files = document["files"].as_array().expect("files");
    let names: Vec<_> = files.iter().map(|file| file["file"].as_str().expect("a name").to_owned()).collect();
    let expected = ["a/one", "b.a(x.o)", "z"].map(|name| format!("{path}/{name}"));
    assert_eq!((names.as_slice(), &document["without_section"]), (&expected[..], &Value::from(2)));
    assert_eq!(document["verdict"], "PASS");
}

/// A build whose call frame information is all that describes it.
fn without_sframe() -> Vec<u8> {
    let mut bytes = build("gnu-2.47/amd64/leaf.O2");
    // Its name, the type of the section, and that of the segment.
    let marks = [
        (*b".sfr", *b".bfr"),
        (0x6fff_fff4_u32.to_le_bytes(), [1, 0, 0, 0]),
        (0x6474_e554_u32.to_le_bytes(), [0; 4]),
    ];
    for (mark, other) in marks {
        let places: Vec<usize> =
            bytes.windows(4).enumerate().filter(|(_, four)| *four == mark).map(|(at, _)| at).collect();
        assert!(!places.is_empty(), "{mark:x?}");
        places.into_iter().for_each(|at| bytes[at..at + 4].copy_from_slice(&other));
    }
    bytes
}

/// What has no section at all has no FDE either, if that is asked for.
#[test]
fn a_member_without_a_section_is_not_covered() {
    let folder = tempfile::tempdir().expect("a folder");
    let (build, bare, stripped) = (build("gnu-2.47/amd64/leaf.O2"), without_section(), without_sframe());
    let covered = write(folder.path(), "covered.a", &archive(&[("x.o", &build), ("y.o", &bare)]));
    let partly = write(folder.path(), "partly.a", &archive(&[("x.o", &build), ("y.o", &stripped)]));
    for (path, more, expected) in [
        (&covered, &["--coverage", "50%"][..], 0),
        (&partly, &["--coverage", "50%"], 1),
        (&partly, &["--coverage", "0%"], 0),
        (&partly, &[], 0),
    ] {
        let output = inspect(&[&["lint", path], more].concat());
        let said = text(&output.stdout);
        assert_eq!(status(&output), expected, "{path}: {said}");
        let says = "there is no .sframe section: call frame information describes ";
        assert_eq!(said.contains(says), expected == 1, "{said}");
        let last = if expected == 1 {
            "\n    1 without it, of which 1 should have it"
        } else {
            "\n    1 without it"
        };
        assert!(said.trim_end().ends_with(last), "{said}");
    }
}

#[test]
fn nothing_to_inspect_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let bare = write(folder.path(), "bare/one", &without_section());
    let bare = Path::new(&bare).parent().expect("a folder").to_str().expect("a name").to_owned();
    let none = write(folder.path(), "none/notes", b"text");
    let none = Path::new(&none).parent().expect("a folder").to_str().expect("a name").to_owned();
    let cut = write(folder.path(), "cut.a", &archive(&[("x.o", &build("gnu-2.47/amd64/leaf.O2"))])[..900]);
    let thin = write(folder.path(), "thin.a", b"!<thin>\n");
    for (path, says) in [
        (bare, "the only ELF file in it has no .sframe section"),
        (none, "there is no ELF file in this folder"),
        (cut, "ends within this member"),
        (thin, "this is a thin archive"),
    ] {
        let output = inspect(&["dump", &path]);
        assert_eq!(status(&output), 2, "{path}: {}", text(&output.stdout));
        assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
    }
}

#[test]
fn standard_input_is_a_file_like_others() {
    for name in [SOUND, "Cargo.toml"] {
        let bytes = std::fs::read(repository().join(name)).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_sframe-inspect"));
        command.args(["lint", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), &bytes).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        if name == SOUND {
            assert_eq!((status(&output), text(&output.stdout).starts_with("- (")), (0, true));
        } else {
            assert_eq!((status(&output), text(&output.stdout)), (2, ""));
        }
    }
}

#[test]
fn a_log_has_the_findings_of_all_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lint.sarif");
    let faulty = "corpus/builds/gnu-2.40/amd64/leaf.O2";
    inspect(&["lint", faulty, OTHER, "Cargo.toml", "--sarif", path.to_str().expect("a name")]);
    let log: Value = serde_json::from_slice(&std::fs::read(path).expect("a log")).expect("JSON");
    let results = log["runs"][0]["results"].as_array().expect("results");
    let of = |name: &str| {
        let uri =
            |result: &&Value| result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == name;
        results.iter().filter(uri).count()
    };
    assert!(of(faulty) > 0 && of(OTHER) > 0, "{results:?}");
    assert_eq!(log["runs"].as_array().map(Vec::len), Some(1));
}
