//! `check`: tests one executable, without a spec.

use super::options::MachineOptions;
use super::system::SystemOptions;
use sframe_inspect::command::{Failure, Status, print, print_json, status, tell_line};
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
use super::known::{KnownOptions, KnownSoFar};
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
    #[command(flatten)]
    system: SystemOptions,
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
        let unusable = |error: &dyn std::fmt::Display| Failure::unusable(format!("error: {name}: {error}"));
        let mut options = self.machine.options();
        options.system = self.system.system(&self.file, &self.arguments)?;
        options.stack_size = self.stack_size;
        let expected_output = self.system.expected_output()?;
        let files = if options.system.root.is_some() {
            Files::survey(&self.file, &options).map(|(files, _)| files)
        } else {
            Files::find(&self.file, &self.library_path)
        };
        let files = files.map_err(|error| match error {
            FilesError::Missing { .. } | FilesError::Interpreter { .. } => unusable(&error),
            // These errors name the file that they are about.
            _ => Failure::unusable(format!("error: {error}")),
        })?;
        let made = MadeSections::of(&files, self.from.source());
        let target = Target::open_made(&files, &made).map_err(|error| match error {
            TargetError::NoSection(MissingSection::Absent) => {
                unusable(&format!("{error}; --from eh-frame judges one that is made from .eh_frame"))
            }
            _ => unusable(&error),
        })?;
        let sampling = self.sampling.sampling(&target, &name)?;
        self.report.as_deref().map_or(Ok(()), report::begin)?;
        // Only the traces that every program for an ABI leaves, whatever compiled it.
        let traces = Traces::of_build(target.executable().image.cpu.abi, &[], "");
        let observes = self.report.is_some();
        let look = ExamineOptions {
            traces,
            exit_status: self.exit_status.unwrap_or_default(),
            hazards: true,
            observes,
            sampling,
            stop,
            progress: Some(Arc::default()),
            ..ExamineOptions::default()
        };
        if let Some(external) = external {
            return self.ask(&external, &known, name, &target, &look, &options, expected_output.as_deref());
        }
        let mut unwinder = sframe_unwinder(&target);
        let shown = ProgressLine::begin(&look, None);
        let examination = examine(&target, &mut *unwinder, &look, &options)
            .map_err(|error| Failure::broken(format!("error: {name}: {error}")))?;
        drop(unwinder);
        drop(shown);
        let broken = self.broken(&examination, &target, expected_output.as_deref());
        let mut listings = Listings::default();
        if observes {
            let unlisted = |error: &dyn std::fmt::Display| Failure::broken(format!("error: {name}: {error}"));
            let listing = Listing::of(&target, &examination).map_err(|error| unlisted(&error))?;
            listings.add(&name, &listing).map_err(|error| unlisted(&error))?;
        }
        let report = CheckReport::new(name, &target, examination, broken.map(BrokenReason::from));
        let report = known.apply(report.sampled(look.sampling))?;
        self.write(&report, &listings)?;
        if self.json {
            print_json(&report)?;
        } else {
            print(&check_summary(&report, Style::for_stdout()))?;
        }
        Ok(Self::status(&report))
    }

    /// Returns why the run is invalid, if it is.
    fn broken(
        &self,
        examination: &Examination,
        target: &Target<'_>,
        expected_output: Option<&[u8]>,
    ) -> Option<BrokenRun> {
        let differs = || OutputDifference::between(&examination.standard_output, expected_output?);
        broken_reason(examination, target, self.exit_status).or_else(|| differs().map(BrokenRun::Output))
    }

    fn status(report: &CheckReport) -> Status {
        let compared = report.summary.comparisons > 0;
        if !compared && report.broken.is_none() {
            tell_line(format_args!("{}: {}", report.file, report.why_nothing_compared()));
        }
        let is_known = report.findings.is_empty() && report.findings_omitted.is_empty();
        status(!is_known, report.broken.is_some(), compared)
    }

    fn write(&self, report: &CheckReport, listings: &Listings) -> Result<(), Failure> {
        let Some(folder) = &self.report else { return Ok(()) };
        report::write(folder, &Document::Check { report, listings })
    }

    /// Tests an unwinder in a separate process.
    fn ask(
        &self,
        external: &External,
        known: &KnownSoFar<'_>,
        name: String,
        target: &Target<'_>,
        look: &ExamineOptions,
        options: &Options,
        expected_output: Option<&[u8]>,
    ) -> Result<Status, Failure> {
        let line = ProgressLine::begin(look, None);
        let shown = external.examine(target, &name, look, options);
        drop(line);
        let shown = match shown {
            Ok(shown) => shown,
            Err(error @ ExternalError::Unsupported(_)) => {
                tell_line(format_args!("{name}: nothing was compared: {error}"));
                return Ok(Status::NothingCompared);
            }
            Err(error) => return Err(Failure::broken(format!("error: {name}: {error}"))),
        };
        let broken = self.broken(&shown.examination, target, expected_output);
        let report = CheckReport::of_unwinder(name, target, shown, broken);
        let report = known.apply(report.sampled(look.sampling.clone()))?;
        self.write(&report, &Listings::default())?;
        if self.json {
            print_json(&report)?;
        } else {
            print(&check_summary(&report, Style::for_stdout()))?;
            print(&report.unwinder.as_ref().map(UnwinderReport::text).unwrap_or_default())?;
        }
        Ok(Self::status(&report))
    }
}
