//! What exploring has shown is remembered as long as nothing has changed that it depends on.

use std::fs::{File, read_dir};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rstest::rstest;
use serde_json::Value;

use crate::command::{bench_in, json, status};
use crate::explore::path;

/// What a command says, but for when it was said, and its status.
fn said(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = bench_in(folder, &[arguments, &["--json"]].concat());
    let mut report = json(&output);
    let keys = report.as_object_mut().expect("a report");
    keys.retain(|key, _| !["provenance", "reproduce"].contains(&&**key));
    (status(&output), report)
}

/// The entries of a cache.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = read_dir(folder.join("cache")).into_iter().flatten();
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// When an entry was used, after it is made to look old.
fn is_used(entry: &Path, work: impl FnOnce()) -> bool {
    File::options()
        .write(true)
        .open(entry)
        .and_then(|file| file.set_modified(SystemTime::UNIX_EPOCH))
        .expect("a time");
    work();
    entry.metadata().and_then(|entry| entry.modified()).expect("a time") > SystemTime::UNIX_EPOCH
}

#[rstest]
#[case::of_a_library(&["explore"], "gnu-2.47/amd64/crossing.O2-dynamic.first.so")]
#[case::of_a_program(&["explore"], "gnu-2.47/s390x/realign.O2")]
#[case::of_what_did_not_run(&["check"], "gnu-2.47/amd64/realign.O2")]
fn a_second_time_says_what_the_first_has_said(#[case] command: &[&str], #[case] build: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let build = path(build);
    let without = [command, &[&build]].concat();
    let with = [&without[..], &["--cache", "cache"]].concat();
    let expected = said(folder, &without);
    assert_eq!(entries(folder), [] as [PathBuf; 0], "nothing is remembered unasked");
    assert_eq!(said(folder, &with), expected);
    let [entry] = &entries(folder)[..] else { panic!("one entry") };
    assert!(is_used(entry, || assert_eq!(said(folder, &with), expected)), "it is remembered");
    // Less of each function is another question.
    if command == ["explore"] {
        let other = [&with[..], &["--budget", "3"]].concat();
        assert!(!is_used(entry, || assert_ne!(said(folder, &other).1, expected.1)));
        assert_eq!(entries(folder).len(), 2);
    }
    // An entry that is not as it was written is none, and is written again.
    let whole = std::fs::read(entry).expect("an entry");
    for damage in [&whole[..whole.len() - 1], &[&whole[..40], &[!whole[40]], &whole[41..]].concat(), &[]] {
        std::fs::write(entry, damage).expect("an entry");
        assert_eq!(said(folder, &with), expected);
        assert_eq!(std::fs::read(entry).expect("an entry").len(), whole.len());
    }
    // A folder that can't be written to costs nothing else.
    std::fs::write(folder.join("file"), "").expect("a file");
    assert_eq!(said(folder, &[&without[..], &["--cache", "file"]].concat()), expected);
}
