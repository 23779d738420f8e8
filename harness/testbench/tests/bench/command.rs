//! The bench as its users call it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::repository;

/// Runs the bench at the top of the repository.
pub(crate) fn bench(arguments: &[&str]) -> Output {
    bench_in(&repository(), arguments)
}

/// Runs the bench in a folder.
pub(crate) fn bench_in(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sframe-testbench"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("the bench runs")
}

/// The exit status of a run that no signal ended.
pub(crate) fn status(output: &Output) -> i32 {
    output.status.code().expect("no signal")
}

/// The one JSON document on standard output.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Copies the committed specs and pages of faults into a new folder.
pub(crate) fn copy_specs(to: &Path) {
    for (from, to) in [("specs", to.to_owned()), ("specs/faults", to.join("faults"))] {
        std::fs::create_dir(&to).expect("a folder");
        for entry in std::fs::read_dir(repository().join(from)).expect("specs") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                std::fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
            }
        }
    }
}
