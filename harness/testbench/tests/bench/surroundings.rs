//! What a program needs around it, and what is said if that is missing.

use std::fs;

use crate::command::{bench, json, status};
use crate::common::repository;

#[test]
fn a_program_that_needs_a_root_is_refused_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program").display().to_string();
    let root = folder.path().display().to_string();
    let build = repository().join("corpus/builds/gnu-2.47/amd64/crossing.O2-dynamic");
    fs::copy(build, &program).expect("a writable folder");
    let needs = "or name with --root what it sees as /, where /lib/ld.so finds its libraries";
    let lacks = "its interpreter /lib/ld.so is not below the root (--root DIR is what it sees as /)";
    for (arguments, expected) in [(&[][..], needs), (&["--root", &root], lacks)] {
        let output = bench(&[&["check", &program], arguments].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(status(&output), 2, "{error}");
        assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn a_root_that_is_no_folder_and_variables_without_a_name_are_refused() {
    let build = "corpus/builds/gnu-2.47/amd64/leaf.O2";
    for arguments in [["--root", build], ["--env", "=1"], ["--env", "NAME"], ["--stdin", "corpus/nobody"]] {
        let output = bench(&[&["check", build], &arguments[..]].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(status(&output), 2, "{arguments:?}: {error}");
        assert!(error.contains("error: "), "{error}");
    }
}

/// Any exit status is right unless one is asked for, and each is reported.
#[test]
fn the_exit_status_is_reported_and_judged_on_request() {
    let check = |arguments: &[&str]| {
        let output =
            bench(&[&["check", "--json", "corpus/builds/gnu-2.47/amd64/leaf.O2"], arguments].concat());
        (status(&output), json(&output))
    };
    let (status, report) = check(&[]);
    let ended = report["exit_status"].as_u64().expect("a status");
    assert!(
        status == 0 && report["broken"].is_null() && report["system_calls"]["exit_group"] == 1,
        "{report}"
    );
    assert_eq!(check(&["--exit-status", &ended.to_string()]).0, 0);
    let (status, report) = check(&["--exit-status", &(ended + 1).to_string()]);
    let broken = format!("the program's exit status is {ended}, not {}", ended + 1);
    assert_eq!((status, report["broken"].as_str()), (4, Some(broken.as_str())));
}

/// A difference is the run's end as it should not be, and its findings are kept.
#[test]
fn what_the_program_writes_is_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let expected = folder.path().join("expected");
    for (text, ends) in [(&b""[..], 0), (b"something\n", 4)] {
        fs::write(&expected, text).expect("a writable folder");
        let expected = expected.display().to_string();
        let build = "corpus/builds/gnu-2.47/amd64/leaf.O2";
        let output = bench(&["check", build, "--json", "--expect-stdout", &expected]);
        assert_eq!(status(&output), ends);
        let report = json(&output);
        assert!(report["summary"]["comparisons"].as_u64() > Some(100));
        let broken = report["broken"].as_str().unwrap_or_default();
        assert_eq!(broken.contains("the program's standard output is not the expected one"), ends == 4);
    }
}
