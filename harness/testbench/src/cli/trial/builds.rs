//! The builds that `try` has made.

use std::path::Path;

use sframe_corpus::corpus::{Attempt, AttemptResult, Attempts, Build, WorkFolder};
use sframe_corpus::spec::Spec;
use sframe_corpus::yaml::Source;
use sframe_inspect::command::Failure;
use sframe_judge::examine::ExamineOptions;
use sframe_judge::target::Target;
use sframe_judge::truth::cross_check::Traces;
use sframe_kit::text::Text;
use sframe_machine::Options;
use sframe_suite::check::Program;
use sframe_suite::matrix::{OwnCases, References};
use sframe_suite::report::CheckReport;
use sframe_suite::suite::Suite;

use super::super::definitions::failure;

/// A toolchain with what it has made.
pub(super) struct TriedToolchain<'a, 'w> {
    pub(super) attempts: &'a Attempts<'w>,
    /// Its definition.
    pub(super) file: String,
    pub(super) made: Vec<Attempt>,
}

impl TriedToolchain<'_, '_> {
    pub(super) fn builds(&self) -> impl Iterator<Item = &Build> {
        self.made.iter().filter_map(Attempt::build)
    }

    /// The specs on its builds.
    pub(super) fn cases<'s>(
        &'s self,
        suite: &'s Suite,
        specs: &[&'s (Spec, Source)],
        references: &References,
        work: &WorkFolder,
    ) -> OwnCases<'s> {
        let toolchain = self.attempts.toolchain();
        OwnCases::new(suite, specs, toolchain, references, &self.made, work.path())
    }

    /// The tools, and the builds that they have not made.
    pub(super) fn text(&self) -> Text {
        let mut text = Text::default();
        for (abi, tools) in self.attempts.tools() {
            let name = &self.attempts.toolchain().name;
            text.line(format!("{name} ({abi}): {}; {}", tools.compiler, tools.binutils));
        }
        let mut said: Vec<&str> = Vec::new();
        for attempt in &self.made {
            match &attempt.result {
                AttemptResult::Refused(refusal) => {
                    text.line(format!("refused     {}: {}: {}", attempt.id, refusal.step, refusal.ended));
                    // The same mistake is refused in each variant.
                    if !said.contains(&refusal.said.as_str()) {
                        said.push(&refusal.said);
                        text.quote("    ", &refusal.said);
                    }
                }
                AttemptResult::NoSection => text.line(format!("no section  {}", attempt.id)),
                AttemptResult::Excluded(reason) => text.line(format!("excluded    {}: {reason}", attempt.id)),
                _ => {}
            }
        }
        // What names a source says what is wrong with it.
        let of_sources = [".c:", ".cc:", ".S:", ".rs:"];
        let is_of_source = said.iter().any(|said| of_sources.iter().any(|source| said.contains(source)));
        // A command that has not ended in time has refused nothing.
        let is_silent =
            |attempt: &Attempt| matches!(&attempt.result, AttemptResult::Refused(it) if it.said.is_empty());
        if self.builds().next().is_none() && !is_of_source && !self.made.iter().any(is_silent) {
            text.line("    help: an assembler that writes SFrame is needed, such as GNU as 2.40 or later; --toolchain");
            text.line("    names another toolchain (corpus/matrix/template.yaml)");
        }
        text
    }
}

/// Compares a build at every instruction.
pub(super) fn check_build<'b>(
    build: &'b Build,
    folder: &Path,
    options: &Options,
) -> Result<(&'b Build, CheckReport), Failure> {
    let files = build.files(folder).map_err(failure)?;
    let program = Program::of_files(build.id.clone(), files, options.clone());
    let target = Target::open_files(&program.files).map_err(|error| program.unusable(&error))?;
    let look = ExamineOptions {
        traces: Traces::of_build(build.abi, &build.sources, build.frames),
        hazards: true,
        ..ExamineOptions::default()
    };
    let (report, _) = program.examine(&target, &look)?;
    Ok((build, report))
}
