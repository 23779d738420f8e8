//! The command line: exit statuses, documents, and errors that point at their cause.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use sframe_judge::target::Target;

use crate::command::{bench_in, json, status};
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
        assert_eq!((&report["schema"], &report["abi"]), (&1.into(), &abi.into()));
        assert_eq!(report["sframe_version"], 3);
        let summary = &report["summary"];
        assert_eq!(summary["instructions"], summary["comparisons"]);
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
fn unusable_input_ends_with_2_and_one_clear_message() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/bin/sh\n").expect("a file");
    let script = script.display().to_string();
    let version = changed(folder.path(), "gnu-2.44/amd64/leaf.O2", |bytes, section| bytes[section + 2] = 9);
    let missing = folder.path().join("missing").display().to_string();
    for (file, message) in [
        (script.as_str(), "does not start with the ELF magic number"),
        (version.as_str(), "version 9 is unknown (at offset 0x2; 2.1.2 SFrame Version)"),
        (missing.as_str(), "No such file"),
        ("/", "directory"),
    ] {
        let output = bench(&["check", file]);
        assert_eq!(status(&output), 2, "{file}");
        let error = text(&output.stderr);
        assert!(error.contains(message) && error.contains(file), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(output.stdout.is_empty());
    }
    for arguments in [
        &["check"][..],
        &["no-such-command"],
        &["run", "--abi", "arm64"],
        &["run", "--spec", "no-such-spec"],
        &["run", "--toolchain", "gnu-2.4"],
        &["run", "--corpus", "no-such-folder"],
        &["run", "--specs", "no-such-folder"],
        &["run", "--budget", "0"],
        &["check", "--stack-size", "0", "corpus/builds/gnu-2.44/amd64/leaf.O2"],
        &["check", "--stack-size", "1073741825", "corpus/builds/gnu-2.44/amd64/leaf.O2"],
    ] {
        let output = bench(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}: {}", text(&output.stderr));
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{arguments:?}");
    }
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
fn a_broken_run_ends_with_4_and_keeps_what_it_has_shown() {
    let output = bench(&["check", "--json", "--budget", "50", &build("gnu-2.44/amd64/leaf.O2")]);
    assert_eq!(status(&output), 4);
    let report = json(&output);
    assert_eq!(report["summary"]["comparisons"], 50);
    assert!(report["broken"].as_str().is_some_and(|reason| reason.contains("budget of 50")));
    // The program ends, but not with the given status.
    let output = bench(&["check", "--exit-status", "3", &build("gnu-2.44/amd64/leaf.O2")]);
    assert_eq!(status(&output), 4);
    assert!(text(&output.stdout).contains("exit status is 0, not 3"));
}

/// As shells do, a program that a signal ends has a status of 128 and the signal.
#[test]
fn a_program_that_a_signal_ends_is_broken_only_if_another_status_is_asked_for() {
    // mov %eax,%edi; mov $231,%eax; syscall; ud2
    const EXIT_GROUP: [u8; 11] = [0x89, 0xc7, 0xb8, 231, 0, 0, 0, 0x0f, 0x05, 0x0f, 0x0b];
    // mov %eax,%edi; mov $15,%esi; mov $62,%al; syscall: kill(0, SIGTERM)
    const KILL: [u8; 11] = [0x89, 0xc7, 0xbe, 15, 0, 0, 0, 0xb0, 62, 0x0f, 0x05];
    let folder = tempfile::tempdir().expect("a folder");
    let path = changed(folder.path(), "gnu-2.44/amd64/leaf.O2", |bytes, _| {
        let at = bytes.windows(EXIT_GROUP.len()).position(|code| code == EXIT_GROUP).expect("an exit");
        bytes[at..at + KILL.len()].copy_from_slice(&KILL);
    });
    for (asked, expected) in [(&[][..], 0), (&["--exit-status", "143"], 0), (&["--exit-status", "0"], 4)] {
        let output = bench(&[&["check", &path], asked].concat());
        let all = text(&output.stdout);
        assert_eq!(status(&output), expected, "{asked:?}: {all}");
        assert!(all.contains("program     ended by signal 15"), "{all}");
        assert_eq!(all.contains("broken"), expected == 4, "{all}");
    }
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
    assert!(text(&output.stdout).contains("0 unexpected, 0 broken"));
    assert!(output.stderr.is_empty(), "no progress bar in a pipe: {}", text(&output.stderr));

    let report = std::fs::read_to_string(reports.join("report.json")).expect("report.json");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let summary = &report["summary"];
    let cases = report["cases"].as_array().expect("cases");
    assert_eq!(summary["cases"], cases.len());
    assert_eq!(summary["instructions"], summary["comparisons"]);
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

/// Libraries beside the file are found through the file itself, others through the
/// option.
#[test]
fn check_finds_libraries_where_the_file_and_the_options_say() {
    let id = "gnu-2.44/aarch64/crossing.O2-dynamic";
    let output = bench(&["check", "--json", &build(id)]);
    assert_eq!(status(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
    let report = json(&output);
    let libraries = ["crossing.O2-dynamic.second.so", "crossing.O2-dynamic.first.so"];
    assert_eq!(report["libraries"], serde_json::json!(libraries));

    let folder = tempfile::tempdir().expect("a folder");
    let alone = folder.path().join("alone");
    std::fs::copy(build(id), &alone).expect("a copy");
    let alone = alone.display().to_string();
    let beside = Path::new(&build(id)).parent().expect("a folder").display().to_string();
    let output = bench(&["check", &alone]);
    assert_eq!(status(&output), 2);
    let error = text(&output.stderr);
    assert_eq!(error.lines().count(), 1, "{error}");
    let expected = format!(
        "error: {alone}: the executable needs the library {}, which is in none of the folders searched: {}",
        libraries[0],
        folder.path().display()
    );
    assert!(error.starts_with(&expected), "{error}");

    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).expect("a folder");
    let empty = empty.display().to_string();
    let output = bench(&["check", "--library-path", &empty, &alone]);
    assert_eq!(status(&output), 2);
    assert!(text(&output.stderr).contains(&format!("searched: {empty}, {}", folder.path().display())));
    for arguments in
        [&["--library-path", &beside][..], &["--library-path", &empty, "--library-path", &beside]]
    {
        let output = bench(&[&["check"], arguments, &[&alone]].concat());
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    }

    // The option's folders come first: a file found there is taken, whatever it is.
    std::fs::write(Path::new(&empty).join(libraries[1]), "#!/bin/sh\n").expect("a file");
    let output = bench(&["check", "--library-path", &empty, &build(id)]);
    assert_eq!(status(&output), 2);
    let error = text(&output.stderr);
    assert!(error.contains(libraries[1]) && error.contains("ELF magic number"), "{error}");
}

#[test]
fn check_of_a_file_without_folders_for_its_libraries_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut bytes = std::fs::read(build("gnu-2.44/amd64/crossing.O2-dynamic")).expect("a build");
    let at = bytes.windows(7).position(|window| window == b"$ORIGIN").expect("DT_RUNPATH");
    bytes[at] = 0;
    let file = folder.path().join("file");
    std::fs::write(&file, bytes).expect("a file");
    let output = bench(&["check", &file.display().to_string()]);
    assert_eq!(status(&output), 2);
    let error = text(&output.stderr);
    assert!(error.contains("no folder to look for it in; name one with --library-path"), "{error}");
}

/// A file from a stranger must not make the bench open what it likes.
#[test]
fn a_runpath_leads_out_of_the_executables_folder_only_if_the_user_says_so() {
    const NAME: &str = "crossing.O2-dynamic";
    let folder = tempfile::tempdir().expect("a folder");
    let [inside, outside] = ["inside", "outside"].map(|name| folder.path().join(name));
    std::fs::create_dir_all(inside.join("lib")).expect("a folder");
    std::fs::create_dir(&outside).expect("a folder");
    let at = |name: &str| build(&format!("gnu-2.40/amd64/{name}"));
    let libraries = ["first", "second"].map(|library| format!("{NAME}.{library}.so"));
    let copy_to = |folder: &Path| {
        for library in &libraries {
            std::fs::copy(at(library), folder.join(library)).expect("a copy");
        }
    };
    copy_to(&outside);
    // As long as `$ORIGIN`, from the folder that the command runs in.
    let mut bytes = std::fs::read(at(NAME)).expect("a build");
    let place = bytes.windows(7).position(|window| window == b"$ORIGIN").expect("DT_RUNPATH");
    bytes[place..place + 7].copy_from_slice(b"lib/sub");
    let file = inside.join("program");
    std::fs::write(&file, &bytes).expect("a file");
    let check = |arguments: &[&str]| {
        let file = file.display().to_string();
        let output = bench_in(&inside, &[&["check", &file], arguments].concat());
        (status(&output), text(&output.stderr))
    };
    let named = inside.join("lib/sub");
    std::os::unix::fs::symlink(&outside, &named).expect("a link");
    let (ended, error) = check(&[]);
    assert_eq!(ended, 2, "{error}");
    assert!(
        error.contains("outside of the executable's folder") && error.contains("--trust-runpath"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
    for arguments in [&["--trust-runpath"][..], &["--library-path", &outside.display().to_string()]] {
        let (ended, error) = check(arguments);
        assert_eq!(ended, 0, "{error}");
    }
    std::fs::remove_file(&named).expect("a link");
    std::fs::create_dir(&named).expect("a folder");
    copy_to(&named);
    let (ended, error) = check(&[]);
    assert_eq!(ended, 0, "{error}");
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

#[test]
fn findings_in_a_library_have_its_name() {
    let output = bench(&["check", "--json", &build("gnu-2.47/amd64/crossing.O2-dynamic")]);
    assert_eq!(status(&output), 1);
    let report = json(&output);
    let finding = &report["findings"][0];
    assert_eq!(finding["image"], "crossing.O2-dynamic.first.so");
    assert_eq!(finding["function"], "first_leaf@plt");
    let summary = text(&bench(&["check", &build("gnu-2.47/amd64/crossing.O2-dynamic")]).stdout);
    assert!(summary.contains("crossing.O2-dynamic.first.so: first_leaf@plt+0x0 (0x"), "{summary}");
    let output = bench(&["check", "--json", &build("gnu-2.47/amd64/realign.O2")]);
    assert!(json(&output)["findings"][0]["image"].is_null(), "the executable has no name");
}

fn write_spec(folder: &Path, text: &str) -> String {
    std::fs::write(folder.join("spec.yaml"), text).expect("a spec");
    folder.display().to_string()
}

#[test]
fn a_mistake_in_a_spec_is_shown_with_its_line_and_what_was_meant() {
    let folder = tempfile::tempdir().expect("a folder");
    for (text_of_spec, expected) in [
        (
            "program: leaf\nsummary: A test's.\nstps: []\n",
            ["spec.yaml:3:1", "did you mean `stops`?", "stps: []"],
        ),
        (
            "program: laef\nsummary: A test's.\nsweep: {min_instructions: 1}\n",
            ["spec.yaml:1:10", "did you mean `leaf`?", "program: laef"],
        ),
        (
            "program: leaf\nsummary: A test's.\ntargets: [amd46]\nsweep: {min_instructions: 1}\n",
            ["spec.yaml:3:", "amd64", "targets: [amd46]"],
        ),
    ] {
        let output = bench(&["run", "--specs", &write_spec(folder.path(), text_of_spec)]);
        assert_eq!(status(&output), 2);
        let error = text(&output.stderr);
        for part in expected {
            assert!(error.contains(part), "{part:?} is not in:\n{error}");
        }
    }
}

#[test]
fn run_of_a_wrong_spec_ends_with_1_and_of_an_unknown_symbol_with_4() {
    let folder = tempfile::tempdir().expect("a folder");
    let head = "program: leaf\nsummary: A test's.\ntargets: [amd64]\ntoolchains: [gnu-2.44]\n";
    let specs = write_spec(folder.path(), &format!("{head}stops: [{{at: leaf, frames: [main]}}]\n"));
    let output = bench(&["run", "--specs", &specs]);
    assert_eq!(status(&output), 1);
    assert!(text(&output.stdout).contains("unexpected-frames"), "{}", text(&output.stdout));
    let specs = write_spec(folder.path(), &format!("{head}stops: [{{at: laef}}]\n"));
    let output = bench(&["run", "--specs", &specs]);
    assert_eq!(status(&output), 4);
    assert!(text(&output.stdout).contains("did you mean `leaf`?"), "{}", text(&output.stdout));
}

#[test]
fn bless_writes_the_call_stack_but_not_under_ci() {
    let folder = tempfile::tempdir().expect("a folder");
    let text_of_spec = "# A comment.\nprogram: recursion\nsummary: A test's.\ntargets: [amd64]\ntoolchains: [gnu-2.40, gnu-2.44, gnu-2.47]\nstops:\n  - at: leaf # here\n    hit: 1\n";
    let specs = write_spec(folder.path(), text_of_spec);
    let file = folder.path().join("spec.yaml");
    let refused = Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .current_dir(repository())
        .env("CI", "true")
        .args(["bless", "--specs", &specs, "spec"])
        .output()
        .expect("the bench runs");
    assert_eq!(status(&refused), 2);
    assert_eq!(std::fs::read_to_string(&file).expect("the spec"), text_of_spec);

    let output = bench(&["bless", "--specs", &specs, "spec"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("+    frames:"), "the difference is shown");
    let blessed = std::fs::read_to_string(&file).expect("the spec");
    assert!(
        blessed.contains("leaf, descend x ")
            && blessed.contains("# A comment.")
            && blessed.contains("# here")
    );
    assert_eq!(status(&bench(&["run", "--specs", &specs])), 0);
    assert!(bench(&["bless", "--specs", &specs, "spec"]).stdout.is_empty(), "nothing is left to change");
}

/// If builds differ, one list can't be right.
#[test]
fn bless_refuses_a_stop_whose_call_stack_differs_between_builds() {
    let folder = tempfile::tempdir().expect("a folder");
    let text_of_spec = "program: recursion\nsummary: A test's.\nstops: [{at: _start+0x8}]\n";
    let specs = write_spec(folder.path(), text_of_spec);
    let output = bench(&["bless", "--specs", &specs, "spec"]);
    assert_ne!(status(&output), 0);
    assert_eq!(std::fs::read_to_string(folder.path().join("spec.yaml")).expect("the spec"), text_of_spec);
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

#[test]
fn names_in_reports_are_explained() {
    let output = bench(&["explain", "no-fde"]);
    let shown = text(&output.stdout);
    assert_eq!(status(&output), 0, "{output:?}");
    for said in ["no-fde (verdict)", "no-fde (end of a walk)", "harness/guide/verdicts.md"] {
        assert!(shown.contains(said), "{shown}");
    }
    let output = bench(&["explain", "abi-mismatch", "--json"]);
    let rule = &json(&output)["explanations"][0];
    assert_eq!((&rule["name"], &rule["rule"]["severity"]), (&"SF402".into(), &"error".into()), "{rule}");
    // All verdicts of a report can be looked up in the list.
    let report = json(&bench(&["check", "--json", &build("gnu-2.44/amd64/crossing.O2-dynamic")]));
    let list = text(&bench(&["explain"]).stdout);
    for verdict in report["summary"]["verdicts"].as_object().expect("verdicts").keys() {
        assert!(list.contains(&format!("\n    {verdict} ")), "{verdict}: {list}");
    }
    let output = bench(&["explain", "wrong-cfo"]);
    assert_eq!(status(&output), 2);
    let error = text(&output.stderr);
    assert!(output.stdout.is_empty() && error.contains("did you mean `wrong-cfa`?"), "{error}");
}

/// Quiet commands print what is wrong and how it ended, and nothing else; verbose ones say what they do, on
/// standard error. Neither changes what is found, nor the commands that reproduce it.
#[test]
fn commands_say_as_much_as_is_wanted() {
    let wrong = build("gnu-2.44/amd64/crossing.O2-dynamic");
    let right = build("gnu-2.47/amd64/recursion.O2");
    let lines = |output: &Output| text(&output.stdout).lines().count();

    let output = bench(&["check", "-q", &right]);
    assert_eq!((status(&output), lines(&output)), (0, 2), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let (quiet, normal) = (bench(&["-q", "check", &wrong]), bench(&["check", &wrong]));
    assert_eq!((status(&quiet), status(&normal)), (1, 1));
    assert!(text(&quiet.stdout).contains("wrong-cfa in first_leaf@plt"), "{quiet:?}");
    assert!(!text(&quiet.stdout).contains("hazard") && text(&normal.stdout).contains("hazard"));
    assert!(text(&quiet.stdout).contains(&format!("help: sframe-testbench check {wrong} --report DIR")));

    let run = ["run", "--spec", "recursion", "--toolchain", "gnu-2.44", "--abi", "amd64"];
    let output = bench(&[&run[..], &["--quiet"]].concat());
    assert_eq!((status(&output), lines(&output)), (0, 3), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let output = bench(&[&["--verbose"], &run[..]].concat());
    assert_eq!(status(&output), 0);
    let told = text(&output.stderr);
    assert!(told.contains("\n- recursion/gnu-2.44/amd64/O2: agree, "), "{told}");
    assert!(told.lines().all(|line| line.starts_with("- ")), "{told}");

    let library = build("gnu-2.44/amd64/crossing.O2-dynamic.first.so");
    for (command, wrong, besides) in
        [("lint", "warning SF217", "\nnote SF"), ("diff", "difference: cfa of", "\nhazard: ")]
    {
        let (quiet, normal) = (bench(&[command, "-q", &library]), bench(&[command, &library]));
        assert_eq!(status(&quiet), status(&normal), "{command}");
        assert!([&quiet, &normal].iter().all(|output| text(&output.stdout).contains(wrong)), "{quiet:?}");
        assert!(
            !text(&quiet.stdout).contains(besides) && text(&normal.stdout).contains(besides),
            "{quiet:?}"
        );
    }

    for (command, said) in [
        (&["check", "-v", &right][..], "- executed: "),
        (&["explore", "-v", &right], "- explored, "),
        (&["lint", "-v", &right, &wrong], &format!("- {wrong}\n")),
        (&["vectors", "-v", "--only", "step/*"], "- asked about "),
    ] {
        let output = bench(command);
        assert!(text(&output.stderr).contains(said), "{command:?}: {output:?}");
        let plain: Vec<&str> = command.iter().copied().filter(|word| *word != "-v").collect();
        let plain = bench(&plain);
        assert_eq!(status(&output), status(&plain), "{command:?}");
        assert!(plain.stderr.is_empty(), "{plain:?}");
    }
    let output = bench(&["check", "-q", "-v", &right]);
    assert_eq!(status(&output), 2);
    assert!(text(&output.stderr).contains("cannot be used with"), "{output:?}");
}

/// What a user reads first is what is wrong, and what helps.
#[test]
fn the_first_line_says_what_is_wrong_and_what_helps() {
    let folder = tempfile::tempdir().expect("a folder");
    let object = folder.path().join("object");
    let mut bytes = std::fs::read(build("gnu-2.47/amd64/recursion.O2")).expect("a build");
    // A relocatable object.
    bytes[16] = 1;
    std::fs::write(&object, bytes).expect("a file");
    let output = bench(&["check", object.to_str().expect("a name")]);
    let error = text(&output.stderr);
    assert_eq!((status(&output), error.lines().count()), (2, 1), "{error}");
    assert!(error.contains("explore, lint and diff judge it without running it"), "{error}");

    let without = folder.path().join("without");
    let mut bytes = std::fs::read(build("gnu-2.40/amd64/recursion.O2")).expect("a build");
    // The section has another name, and PT_GNU_SFRAME is no segment any more.
    for (from, to) in [(&b".sframe\0"[..], &b".xframe\0"[..]), (b"\x54\xe5\x74\x64", b"\0\0\0\0")] {
        while let Some(place) = bytes.windows(from.len()).position(|window| window == from) {
            bytes[place..place + to.len()].copy_from_slice(to);
        }
    }
    std::fs::write(&without, bytes).expect("a file");
    for command in ["check", "explore"] {
        let output = bench(&[command, without.to_str().expect("a name")]);
        let error = text(&output.stderr);
        assert_eq!((status(&output), error.lines().count()), (2, 1), "{error}");
        for said in ["there is no .sframe section", "-Wa,--gsframe", "--from eh-frame"] {
            assert!(error.contains(said), "{error}");
        }
    }
}

/// The reason why the bench could not do its work stands first and last.
#[test]
fn a_broken_program_is_the_first_and_the_last_line() {
    let reason = "the budget of 100 instructions is spent";
    let file = build("gnu-2.44/amd64/crossing.O2-dynamic");
    let output = bench(&["check", "--budget", "100", &file]);
    let shown = text(&output.stdout);
    let (first, last) = (format!("broken      {file}: {reason}"), format!("broken      {reason}"));
    assert_eq!(
        (status(&output), shown.lines().next(), shown.lines().last()),
        (4, Some(&*first), Some(&*last))
    );

    let run = ["run", "--spec", "recursion", "--toolchain", "gnu-2.44", "--abi", "amd64", "--budget", "100"];
    let output = bench(&run);
    let shown = text(&output.stdout);
    assert_eq!(status(&output), 4, "{output:?}");
    assert!(shown.starts_with("broken      recursion/gnu-2.44/amd64/"), "{shown}");
    let last = format!("broken      4 cases: {reason}");
    assert_eq!(shown.lines().last(), Some(&*last), "{shown}");
}
