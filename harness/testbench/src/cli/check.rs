//! `check`: tests one executable, without a spec.

use super::options::MachineOptions;
use super::system::SystemOptions;
use sframe_inspect::command::{Failure, Status, print, print_json, status, tell_line};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use sframe_inspect::elf::object_file::MissingSection;
use sframe_machine::Options;
use sframe_testbench::case::{BrokenReason, BrokenRun, OutputDifference, broken_reason};
use sframe_testbench::examine::listings::{Listing, Listings};
use sframe_testbench::examine::stop::StopRequest;
use sframe_testbench::examine::{Examination, ExamineOptions, examine};
use sframe_testbench::external::{External, ExternalError, UnwinderReport};
use sframe_testbench::report::{CheckReport, Document, Style, check_summary};
use sframe_testbench::target::files::{Files, FilesError};
use sframe_testbench::target::{MadeSections, SectionSource, Target, TargetError};
use sframe_testbench::truth::cross_check::Traces;
use sframe_testbench::unwind::sframe_unwinder;

use super::isolation::ChildOptions;
use super::known::KnownOptions;
use super::progress::ProgressLine;
use super::report;
use super::sampling::SamplingOptions;
use super::unwinder::UnwinderStops;

/// The default budget. Specs are for small programs; what is checked may be large.
const BUDGET: &str = "1000000000";

#[derive(Args)]
#[command(mut_arg("budget", |budget| budget.default_value(BUDGET)))]
pub(crate) struct Check {
    /// An executable for amd64, aarch64, aarch64_be or s390x.
    file: PathBuf,
    /// Arguments for the program.
    #[arg(last = true)]
    arguments: Vec<String>,
    /// A folder to search for the executable's libraries, before those that the
    /// files name themselves. The host's libraries are never used.
    #[arg(long, value_name = "DIR")]
    library_path: Vec<PathBuf>,
    /// Which section of each file to judge.
    #[arg(long, value_name = "SECTION", value_enum, default_value_t = JudgedSection::Sframe)]
    from: JudgedSection,
    #[command(flatten)]
    machine: MachineOptions,
    #[command(flatten)]
    sampling: SamplingOptions,
    #[command(flatten)]
    unwinder: UnwinderStops,
    #[command(flatten)]
    known: KnownOptions,
    #[command(flatten)]
    child: ChildOptions,
    /// The exit status that the program should end with [default: any].
    #[arg(long, value_name = "STATUS")]
    exit_status: Option<u8>,
    /// Size of the program's stack.
    #[arg(long, value_name = "BYTES", default_value_t = Options::default().stack_size,
          value_parser = clap::value_parser!(u64).range(Options::STACK_SIZES))]
    stack_size: u64,
    /// Write report.html, report.json, report.sarif and summary.md into this folder.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Print the report as JSON instead of the summary.
    #[arg(long)]
    json: bool,
    // The last one: its heading is that of all options after it.
    #[command(flatten)]
    system: SystemOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum JudgedSection {
    /// Its .sframe section.
    Sframe,
    /// One made from its .eh_frame section, in memory.
    EhFrame,
    /// Its .sframe section, or one made from .eh_frame if it has none.
    Either,
}

impl JudgedSection {
    const fn source(self) -> SectionSource {
        match self {
            Self::Sframe => SectionSource::Sframe,
            Self::EhFrame => SectionSource::EhFrame,
            Self::Either => SectionSource::Either,
        }
    }
}

impl Check {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        self.child.run(&self.file.display().to_string(), "check", |stop| self.check(stop))
    }

    fn check(&self, stop: StopRequest) -> Result<Status, Failure> {
        let known = self.known.open()?;
        let external = self.unwinder.start()?;
        let name = self.file.display().to_string();
        let mut options = self.machine.options();
        options.system = self.system.system(&self.file, &self.arguments)?;
        options.stack_size = self.stack_size;
        let expected_output = self.system.expected_output()?;
        let (files, instructions) = self.files(&name, &options)?;
        let made = MadeSections::of(&files, self.from.source());
        let target = Target::open_made(&files, &made).map_err(|error| match error {
            TargetError::NoSection(MissingSection::Absent) => {
                let hint = "--from eh-frame judges one that is made from .eh_frame";
                unusable(&name, &format!("{error}; {hint}"))
            }
            _ => unusable(&name, &error),
        })?;
        let look = ExamineOptions {
            // Only the traces that every program for an ABI leaves, whatever compiled it.
            traces: Traces::of_build(target.executable().image.cpu.abi, &[], ""),
            exit_status: self.exit_status.unwrap_or_default(),
            hazards: true,
            observes: self.report.is_some(),
            sampling: self.sampling.sampling(&target, &name)?,
            stop,
            progress: Some(Arc::default()),
            ..ExamineOptions::default()
        };
        self.report.as_deref().map_or(Ok(()), report::begin)?;
        let line = ProgressLine::begin(&look, instructions);
        let run = Run { name, target: &target, look: &look, options: &options, expected_output };
        let examined = match &external {
            Some(external) => self.ask(run, external)?,
            None => Some(self.examine(run)?),
        };
        drop(line);
        let Some((report, listings)) = examined else { return Ok(Status::NothingCompared) };
        let report = known.apply(report.sampled(look.sampling.clone()))?;
        if let Some(folder) = &self.report {
            report::write(folder, &Document::Check { report: &report, listings: &listings })?;
        }
        if self.json {
            print_json(&report)?;
        } else {
            print(&check_summary(&report, Style::for_stdout()))?;
            print(&report.unwinder.as_ref().map(UnwinderReport::text).unwrap_or_default())?;
        }
        Ok(Self::status(&report))
    }

    /// Returns the program's files, and how many instructions it executes, if that is known.
    fn files(&self, name: &str, options: &Options) -> Result<(Files, Option<u64>), Failure> {
        let files = if options.system.root.is_some() {
            let survey = Files::survey(&self.file, options);
            survey.map(|(files, outcome)| (files, Some(outcome.instructions)))
        } else {
            Files::find(&self.file, &self.library_path).map(|files| (files, None))
        };
        files.map_err(|error| match error {
            FilesError::Missing { .. } | FilesError::Interpreter { .. } => unusable(name, &error),
            // These errors name the file that they are about.
            _ => Failure::unusable(format!("error: {error}")),
        })
    }

    /// Tests the bench's own engine.
    fn examine(&self, run: Run<'_, '_>) -> Result<(CheckReport, Listings), Failure> {
        let broken = |error: &dyn Display| Failure::broken(format!("error: {}: {error}", run.name));
        let mut unwinder = sframe_unwinder(run.target);
        let examination = examine(run.target, &mut *unwinder, run.look, run.options);
        let examination = examination.map_err(|error| broken(&error))?;
        drop(unwinder);
        let reason = self.broken(&examination, &run);
        let mut listings = Listings::default();
        if run.look.observes {
            let listing = Listing::of(run.target, &examination).map_err(|error| broken(&error))?;
            listings.add(&run.name, &listing).map_err(|error| broken(&error))?;
        }
        Ok((CheckReport::new(run.name, run.target, examination, reason.map(BrokenReason::from)), listings))
    }

    /// Tests an unwinder in a separate process. Returns `None` if it can't do what is asked.
    fn ask(&self, run: Run<'_, '_>, external: &External) -> Result<Option<(CheckReport, Listings)>, Failure> {
        let shown = match external.examine(run.target, &run.name, run.look, run.options) {
            Ok(shown) => shown,
            Err(error @ ExternalError::Unsupported(_)) => {
                tell_line(format_args!("{}: nothing was compared: {error}", run.name));
                return Ok(None);
            }
            Err(error) => return Err(Failure::broken(format!("error: {}: {error}", run.name))),
        };
        let reason = self.broken(&shown.examination, &run);
        let report = CheckReport::of_unwinder(run.name, run.target, shown, reason);
        Ok(Some((report, Listings::default())))
    }

    /// Returns why the run is invalid, if it is.
    fn broken(&self, examination: &Examination, run: &Run<'_, '_>) -> Option<BrokenRun> {
        let expected = run.expected_output.as_deref();
        let differs = || OutputDifference::between(&examination.standard_output, expected?);
        broken_reason(examination, run.target, self.exit_status).or_else(|| differs().map(BrokenRun::Output))
    }

    fn status(report: &CheckReport) -> Status {
        let compared = report.summary.comparisons > 0;
        if !compared && report.broken.is_none() {
            tell_line(format_args!("{}: {}", report.file, report.why_nothing_compared()));
        }
        let is_known = report.findings.is_empty() && report.findings_omitted.is_empty();
        status(!is_known, report.broken.is_some(), compared)
    }
}

/// What is examined.
struct Run<'r, 't> {
    /// The file, as named on the command line.
    name: String,
    target: &'r Target<'t>,
    look: &'r ExamineOptions,
    options: &'r Options,
    expected_output: Option<Vec<u8>>,
}

fn unusable(name: &str, error: &dyn Display) -> Failure {
    Failure::unusable(format!("error: {name}: {error}"))
}
