//! `study`: how much of a program's execution each way of walking stacks gets right.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use sframe_inspect::command::{Failure, Status, print, print_verdict, tell_line, volume};
use sframe_judge::examine::ExamineOptions;
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::study::{Study, StudyOptions, Unwinders};
use sframe_judge::target::{MadeSections, SectionSource, Target};
use sframe_kit::text::Text;
use sframe_suite::case::BrokenReason;
use sframe_suite::report::{StudyReport, study_page};

use super::isolation::ChildOptions;
use super::numbers;
use super::program::ProgramOptions;
use super::progress::ProgressLine;

#[derive(Args)]
pub(crate) struct StudyCommand {
    /// An executable for amd64, aarch64, aarch64_be or s390x.
    #[arg(required_unless_present = "page")]
    file: Option<PathBuf>,
    /// Walk stacks at one in N instructions, at distances that vary around N.
    #[arg(long, value_name = "N", default_value = "1", value_parser = numbers::count::<NonZeroU64>(numbers::POSITIVE, "instructions"))]
    every: NonZeroU64,
    #[command(flatten)]
    pub(super) child: ChildOptions,
    /// Print the report as JSON instead of text.
    #[arg(long)]
    json: bool,
    /// Run nothing: print tables, in Markdown, of the reports DIR/GROUP/PROGRAM.json that were
    /// printed with --json.
    #[arg(long, value_name = "DIR", exclusive = true)]
    page: Option<PathBuf>,
    #[command(flatten)]
    program: ProgramOptions,
}

impl StudyCommand {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        if let Some(folder) = &self.page {
            let page = study_page(folder).map_err(|error| Failure::unusable(format!("error: {error}")))?;
            print(&Text::made_neutral(page))?;
            return Ok(Status::AsExpected);
        }
        let Some(file) = &self.file else { return Err(Failure::unusable("error: no file".to_owned())) };
        self.child.run(&file.display().to_string(), "study", |stop| self.study(file, stop))
    }

    fn study(&self, file: &Path, stop: StopRequest) -> Result<Status, Failure> {
        let program = self.program.open(file, self.program.machine.options(), &stop)?;
        let made = MadeSections::of(&program.files, SectionSource::Either);
        let target = Target::open_made(&program.files, &made).map_err(|error| program.unusable(&error))?;
        let options = StudyOptions { every: self.every, stop, progress: Some(Arc::default()) };
        let look = ExamineOptions { progress: options.progress.clone(), ..ExamineOptions::default() };
        let shown = ProgressLine::begin(&look, program.instructions);
        let study = Study::of(&target, Unwinders::of(&target), &options, &program.options)
            .map_err(|error| program.not_examined(&error))?;
        drop(shown);
        let broken = program.broken(&study.examination, &target);
        let broken = broken.map(|broken| BrokenReason::from(broken).text());
        let report = StudyReport::new(&program.name, &target, &study, &options, broken);
        if self.json {
            print_verdict(report.conclusion().ending, &report)?;
        } else {
            print(&report.text(volume()).demangled())?;
        }
        if report.walked() == 0 && report.broken.is_none() {
            tell_line(format_args!("{}: no stack was walked", program.name));
        }
        Ok(report.conclusion().ending.into())
    }
}
