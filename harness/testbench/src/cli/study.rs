//! `study`: how much of a program's execution each way of walking stacks gets right.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use sframe_inspect::command::{Failure, Status, print, print_json, status, tell_line};
use sframe_inspect::text::Text;
use sframe_testbench::case::{BrokenReason, BrokenRun, OutputDifference, broken_reason};
use sframe_testbench::examine::ExamineOptions;
use sframe_testbench::examine::stop::StopRequest;
use sframe_testbench::study::{Study, StudyOptions, StudyReport, Unwinders, page};
use sframe_testbench::target::files::{Files, FilesError};
use sframe_testbench::target::{MadeSections, SectionSource, Target};

use super::isolation::ChildOptions;
use super::options::MachineOptions;
use super::progress::ProgressLine;
use super::system::SystemOptions;

/// As for `check`.
const BUDGET: &str = "1000000000";

#[derive(Args)]
#[command(mut_arg("budget", |budget| budget.default_value(BUDGET)))]
pub(crate) struct StudyCommand {
    /// An executable for amd64, aarch64, aarch64_be or s390x.
    #[arg(required_unless_present = "page")]
    file: Option<PathBuf>,
    /// Arguments for the program.
    #[arg(last = true)]
    arguments: Vec<String>,
    /// A folder to search for the executable's libraries, before those that the
    /// files name themselves. The host's libraries are never used.
    #[arg(long, value_name = "DIR")]
    library_path: Vec<PathBuf>,
    /// Walk stacks at one in N instructions, at distances that vary around N.
    #[arg(long, value_name = "N", default_value = "1")]
    every: NonZeroU64,
    #[command(flatten)]
    machine: MachineOptions,
    #[command(flatten)]
    child: ChildOptions,
    /// The exit status that the program should end with [default: any].
    #[arg(long, value_name = "STATUS")]
    exit_status: Option<u8>,
    /// Print the report as JSON instead of text.
    #[arg(long)]
    json: bool,
    /// Run nothing: print tables, in Markdown, of the reports DIR/GROUP/PROGRAM.json that were
    /// printed with --json.
    #[arg(long, value_name = "DIR", exclusive = true)]
    page: Option<PathBuf>,
    // The last one: its heading is that of all options after it.
    #[command(flatten)]
    system: SystemOptions,
}

impl StudyCommand {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        if let Some(folder) = &self.page {
            let page = page(folder).map_err(|error| Failure::unusable(format!("error: {error}")))?;
            let mut text = Text::default();
            page.lines().for_each(|line| text.line(line));
            print(&text)?;
            return Ok(Status::AsExpected);
        }
        let Some(file) = &self.file else { return Err(Failure::unusable("error: no file".to_owned())) };
        self.child.run(&file.display().to_string(), "study", |stop| self.study(file, stop))
    }

    fn study(&self, file: &Path, stop: StopRequest) -> Result<Status, Failure> {
        let name = file.display().to_string();
        let unusable = |error: &dyn std::fmt::Display| Failure::unusable(format!("error: {name}: {error}"));
        let mut machine = self.machine.options();
        machine.system = self.system.system(file, &self.arguments)?;
        let expected_output = self.system.expected_output()?;
        let files = if machine.system.root.is_some() {
            Files::survey(file, &machine).map(|(files, _)| files)
        } else {
            Files::find(file, &self.library_path)
        };
        let files = files.map_err(|error| match error {
            FilesError::Missing { .. } | FilesError::Interpreter { .. } => unusable(&error),
            // These errors name the file that they are about.
            _ => Failure::unusable(format!("error: {error}")),
        })?;
        let made = MadeSections::of(&files, SectionSource::Either);
        let target = Target::open_made(&files, &made).map_err(|error| unusable(&error))?;
        let options = StudyOptions { every: self.every, stop, progress: Some(Arc::default()) };
        let look = ExamineOptions { progress: options.progress.clone(), ..ExamineOptions::default() };
        let shown = ProgressLine::begin(&look, None);
        let study = Study::of(&target, Unwinders::of(&target), &options, &machine)
            .map_err(|error| Failure::broken(format!("error: {name}: {error}")))?;
        drop(shown);
        let differs =
            || OutputDifference::between(&study.examination.standard_output, expected_output.as_deref()?);
        let broken = broken_reason(&study.examination, &target, self.exit_status)
            .or_else(|| differs().map(BrokenRun::Output))
            .map(|broken| BrokenReason::from(broken).text());
        let report = StudyReport::new(&name, &target, &study, &options, broken);
        if self.json {
            print_json(&report)?;
        } else {
            print(&report.text())?;
        }
        let walked = report.walked() > 0;
        if !walked && report.broken.is_none() {
            tell_line(format_args!("{name}: no stack was walked"));
        }
        Ok(status(false, report.broken.is_some(), walked))
    }
}
