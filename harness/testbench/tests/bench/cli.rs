//! The command line: exit statuses, documents, and errors that point at their cause.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use sframe_judge::target::Target;

use crate::command::{json, status};
use crate::common::repository;

/// Runs the bench in the repository, with the variable CI unset.
fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .current_dir(repository())
        .env_remove("CI")
        .args(arguments)
        .output()
        .expect("the bench runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn build(id: &str) -> String {
    repository().join("corpus/builds").join(id).display().to_string()
}

/// Writes a modified build into a folder.
fn changed(folder: &Path, id: &str, change: impl FnOnce(&mut Vec<u8>, usize)) -> String {
    let mut bytes = std::fs::read(build(id)).expect("a build");
    let section = {
        let target = Target::open(&bytes).expect("a target");
        target.executable().subject.sframe.expect("a section").data.as_ptr() as usize
            - bytes.as_ptr() as usize
    };
    change(&mut bytes, section);
    let path = folder.join("changed");
    std::fs::write(&path, bytes).expect("a file");
    path.display().to_string()
}

#[test]
fn check_of_a_sound_file_ends_with_0_and_numbers() {
    for abi in ["amd64", "aarch64", "aarch64_be", "s390x"] {
        let output = bench(&["check", "--json", &build(&format!("gnu-2.47/{abi}/recursion.O2-pie"))]);
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        let report = json(&output);
        assert_eq!((&report["schema"], &report["abi"]), (&2.into(), &abi.into()));
        assert_eq!(report["sframe_version"], 3);
        let summary = &report["summary"];
        let [all, compared, nothing] =
            ["instructions", "comparisons", "nothing_compared"].map(|key| summary[key].as_u64());
        assert_eq!(all, compared.zip(nothing).map(|(compared, nothing)| compared + nothing));
        assert_eq!(summary["agree"], summary["comparisons"]);
        assert!(summary["rows_exercised"].as_u64() > Some(5));
        assert!(summary["rows_total"].as_u64() >= summary["rows_exercised"].as_u64());
        assert!(report["findings"].as_array().is_some_and(Vec::is_empty));
    }
}

#[test]
fn check_of_a_wrong_row_ends_with_1_and_says_all_about_it() {
    let folder = tempfile::tempdir().expect("a folder");
    // The first function's first row: its CFA offset follows start and info.
    let file = changed(folder.path(), "gnu-2.44/amd64/recursion.O2", |bytes, section| {
        let table = section + 28;
        let count = u32::from_le_bytes(bytes[section + 8..section + 12].try_into().expect("4 bytes"));
        bytes[table + usize::try_from(count).expect("few") * 20 + 2] += 16;
    });
    let output = bench(&["check", "--json", &file]);
    assert_eq!(status(&output), 1, "{}", text(&output.stderr));
    let report = json(&output);
    let finding = &report["findings"][0];
    assert_eq!(finding["verdict"], "wrong-cfa");
    for key in ["pc", "function", "frame", "hits", "row", "expected", "got", "blame", "message"] {
        assert!(!finding[key].is_null(), "{key}: {finding}");
    }
    assert!(finding["pc"].as_str().is_some_and(|pc| pc.starts_with("0x")));
    assert_eq!(report["summary"]["verdicts"]["wrong-cfa"], report["findings"].as_array().map_or(0, Vec::len));
    let summary = text(&bench(&["check", &file]).stdout);
    assert!(summary.contains("wrong-cfa") && summary.contains("row +0x0: CFA = SP+24"), "{summary}");
}

#[test]
fn a_section_of_an_unknown_version_ends_with_2_and_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = changed(folder.path(), "gnu-2.44/amd64/leaf.O2", |bytes, section| bytes[section + 2] = 9);
    let output = bench(&["check", &file]);
    let error = text(&output.stderr);
    let said = format!("error: {file}...version 9 is unknown (at offset 0x2; 2.1.2 SFrame Version)");
    assert_eq!((status(&output), error.lines().count()), (2, 1), "{error}");
    assert!(output.stdout.is_empty() && said.split("...").all(|part| error.contains(part)), "{error}");
}

#[test]
fn a_section_without_fdes_ends_with_3() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = changed(folder.path(), "gnu-2.44/amd64/leaf.O2", |bytes, section| {
        bytes[section + 8..section + 12].fill(0)
    });
    let output = bench(&["check", "--json", &file]);
    assert_eq!(status(&output), 3, "{}", text(&output.stdout));
    let summary = &json(&output)["summary"];
    assert!(summary["uncovered"]["main"].as_u64() > Some(0), "{summary}");
}

#[test]
fn run_writes_its_reports_and_their_numbers_add_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let reports = folder.path().join("new/report");
    let path = reports.display().to_string();
    let arguments =
        ["run", "--spec", "recurs*", "--spec", "leaf", "--abi", "amd64", "--report", &path, "--jobs", "2"];
    let output = bench(&arguments);
    assert_eq!(status(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("PASS: "));
    assert!(output.stderr.is_empty(), "no progress bar in a pipe: {}", text(&output.stderr));

    let report = std::fs::read_to_string(reports.join("report.json")).expect("report.json");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let summary = &report["summary"];
    let cases = report["cases"].as_array().expect("cases");
    assert_eq!(summary["cases"], cases.len());
    let counts = ["instructions", "comparisons", "nothing_compared"].map(|key| summary[key].as_u64());
    let [Some(all), Some(compared), Some(nothing)] = counts else { panic!("{summary}") };
    assert_eq!(all, compared + nothing);
    for key in ["agree", "known", "unexpected", "broken", "skipped", "stops", "rows_total", "rows_exercised"]
    {
        assert!(summary[key].is_u64(), "{key}");
    }
    let comparisons: u64 = cases.iter().filter_map(|case| case["comparisons"].as_u64()).sum();
    assert_eq!(summary["comparisons"], comparisons);
    for case in cases {
        assert_eq!(case["abi"], "amd64");
        for key in ["id", "program", "toolchain", "sframe_version", "build", "outcome", "findings"] {
            assert!(!case[key].is_null(), "{key}");
        }
    }
    let junit = std::fs::read_to_string(reports.join("junit.xml")).expect("junit.xml");
    assert!(
        junit.contains(&format!("tests=\"{}\"", cases.len())) && junit.contains("failures=\"0\""),
        "{junit}"
    );
    // Jenkins's schema: times everywhere, and this count in suites only.
    let elements = |name: &str| -> Vec<&str> {
        junit.split(name).skip(1).filter_map(|rest| rest.split('>').next()).collect()
    };
    assert_eq!(elements("<testcase ").len(), cases.len());
    for name in ["<testsuites ", "<testsuite ", "<testcase "] {
        for element in elements(name) {
            assert!(element.contains(" time=\""), "{element}");
            assert_eq!(element.contains(" skipped="), name == "<testsuite ", "{element}");
        }
    }

    // The output does not depend on the number of threads.
    let mut again = arguments.to_vec();
    again.truncate(7);
    again.extend(["--json", "--jobs", "1"]);
    let without_times = |mut report: Value| {
        assert!(report["provenance"].take().is_object());
        let cases = report["cases"].as_array_mut().expect("cases");
        assert!(cases.iter_mut().all(|case| case["seconds"].take().is_number()));
        report
    };
    assert_eq!(without_times(json(&bench(&again))), without_times(report));
}

#[test]
fn convert_writes_a_section_and_lists_what_the_version_cannot_express() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (v2, v1, back) = (file("v2"), file("v1"), file("back"));
    let original = build("gnu-2.44/aarch64/recursion.O2");
    let convert = |from: &str, arguments: &[&str], to: &str| {
        bench(&[&["convert", from, "--output", to, "--json"], arguments].concat())
    };
    let output = convert(&original, &["--to", "2", "--byte-order", "big"], &v2);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let report = json(&output);
    assert_eq!(report["functions"], report["carried_over"]);
    assert_eq!(std::fs::read(&v2).expect("a section")[..3], [0xde, 0xe2, 2]);
    assert_eq!(status(&convert(&v2, &["--to", "1", "--byte-order", "little"], &v1)), 0);
    assert_eq!(status(&convert(&v1, &["--to", "2"], &back)), 0);

    let output = convert(&build("gnu-2.47/amd64/realign.O2"), &["--to", "2"], &v2);
    assert_eq!(status(&output), 1);
    let left_out = &json(&output)["left_out"];
    assert!(left_out[0]["start"].as_str().is_some_and(|start| start.starts_with("0x")), "{left_out}");
    assert!(left_out[0]["reason"].as_str().is_some_and(|reason| reason.contains("CFA rule")), "{left_out}");
    for arguments in [&["--to", "4"][..], &["--to", "2", "--byte-order", "big"]] {
        let output = convert(&build("gnu-2.44/amd64/leaf.O2"), arguments, &v2);
        assert_eq!(status(&output), 2, "{arguments:?}");
    }
}

/// `DT_RPATH` of the executable applies to its libraries' needs as well, `DT_RUNPATH` only to its
/// own.
#[test]
fn an_rpath_is_inherited_and_a_runpath_is_not() {
    const DT_RPATH: u8 = 15;
    const DT_DEBUG: u8 = 21;
    const DT_RUNPATH: u8 = 29;
    let folder = tempfile::tempdir().expect("a folder");
    let name = "crossing.O2-dynamic";
    let read = |name: &str| std::fs::read(build(&format!("gnu-2.40/amd64/{name}"))).expect("a build");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).expect("a file");
    write(&format!("{name}.second.so"), &read(&format!("{name}.second.so")));
    // The first library names no folder, and it alone needs the second.
    let mut first = read(&format!("{name}.first.so"));
    let at = first.windows(7).position(|window| window == b"$ORIGIN").expect("DT_RUNPATH");
    first[at] = 0;
    write(&format!("{name}.first.so"), &first);
    for (tag, expected) in [(DT_RPATH, 0), (DT_RUNPATH, 2)] {
        let mut bytes = read(name);
        // It begins with the two libraries that are needed, the second one first.
        let tag_at = |at: usize, tag: u8| bytes[at..at + 8] == [tag, 0, 0, 0, 0, 0, 0, 0];
        let is_dynamic = |at: &usize| tag_at(*at, 1) && tag_at(at + 16, 1) && tag_at(at + 32, DT_RUNPATH);
        let dynamic = (0..bytes.len() - 40).step_by(8).find(is_dynamic).expect("the dynamic section");
        bytes[dynamic] = DT_DEBUG;
        bytes[dynamic + 32] = tag;
        write(name, &bytes);
        let output = bench(&["check", &folder.path().join(name).display().to_string()]);
        assert_eq!(status(&output), expected, "{}{}", text(&output.stdout), text(&output.stderr));
        assert!(expected == 0 || text(&output.stderr).contains("crossing.O2-dynamic.first.so needs"));
    }
}

/// No byte of the section makes the bench panic.
#[test]
fn any_byte_of_a_section_may_be_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = "gnu-2.47/amd64/leaf.O2";
    let original = std::fs::read(build(id)).expect("a build");
    let target = Target::open(&original).expect("a target");
    let len = target.executable().subject.sframe.expect("a section").data.len();
    let mut statuses = std::collections::BTreeMap::new();
    for offset in (0..len).step_by(7) {
        let file = changed(folder.path(), id, |bytes, section| bytes[section + offset] ^= 0xff);
        let output = bench(&["check", "--json", "--budget", "20000", &file]);
        *statuses.entry(status(&output)).or_insert(0) += 1;
        assert!(!text(&output.stderr).contains("panicked"), "{offset:#x}");
    }
    assert!(statuses.keys().all(|status| (0..=4).contains(status)), "{statuses:?}");
    assert!(statuses.get(&1) > Some(&3), "{statuses:?}");
}

/// Without call frame information, nothing says how much should have an FDE: that is told, and only then.
#[test]
fn code_that_nothing_describes_is_told() {
    let file = repository().join("corpus/builds/gnu-2.47/amd64/mixed_objects.O2");
    let bytes = std::fs::read(file).expect("a build");
    let mut without = bytes.clone();
    let name = b".eh_frame";
    for at in (0..bytes.len() - name.len()).filter(|at| bytes[*at..].starts_with(name)) {
        without[at + 1..at + 3].copy_from_slice(b"xx");
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (bytes, is_told) in [(bytes, false), (without, true)] {
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).expect("a file");
        let output = bench(&["check", "--no-explore", &path.display().to_string()]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let word = "there is no CFI to say how much of it could have an FDE";
        assert_eq!(said.contains(word), is_told, "{said}");
    }
}
