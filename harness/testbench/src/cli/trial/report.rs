//! `try --json`.

use serde::Serialize;
use sframe_suite::matrix::{BuildResult, MadeAs};
use sframe_suite::report::{CheckReport, Report, SCHEMA};

use super::builds::TriedToolchain;

/// The results of `try`. Keys are only ever added.
#[derive(Serialize)]
pub(super) struct TryReport {
    /// The version of the format.
    schema: u32,
    /// Each build.
    builds: Vec<BuildResult>,
    /// The specs on the builds.
    pub(super) run: Report,
    /// The builds of programs without a spec.
    pub(super) checks: Vec<CheckReport>,
}

impl TryReport {
    pub(super) fn new(tried: &[TriedToolchain<'_, '_>], run: Report, checks: Vec<CheckReport>) -> Self {
        let builds = tried.iter().flat_map(|of| of.made.iter().map(BuildResult::of)).collect();
        Self { schema: SCHEMA, builds, run, checks }
    }

    /// The programs that were checked without a spec. A check is named after its build.
    pub(super) fn programs_without_spec(&self) -> Vec<&str> {
        let files = self.checks.iter().filter_map(|check| check.file.rsplit('/').next());
        let mut programs: Vec<&str> =
            files.filter_map(|file| file.rsplit_once('.')).map(|(program, _)| program).collect();
        programs.dedup();
        programs
    }

    /// Whether any build could be made.
    pub(super) fn has_builds(&self) -> bool {
        self.builds.iter().any(|build| build.result == MadeAs::Built)
    }
}
