//! `check`: tests one executable, without a spec.

use super::options::MachineOptions;
use sframe_inspect::command::{Failure, Status, print, print_json, status, tell_line};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sframe_inspect::elf::object_file::MissingSection;
use sframe_machine::Options;
use sframe_testbench::case::{BrokenReason, NOTHING_COMPARED, broken_reason};
use sframe_testbench::examine::listings::{Listing, Listings};
use sframe_testbench::examine::{ExamineOptions, examine};
use sframe_testbench::external::{External, ExternalError, UnwinderReport};
use sframe_testbench::report::{CheckReport, Document, Style, check_summary};
use sframe_testbench::target::files::{Files, FilesError};
use sframe_testbench::target::{MadeSections, SectionSource, Target, TargetError};
use sframe_testbench::truth::cross_check::Traces;
use sframe_testbench::unwind::sframe_unwinder;

use super::isolation::ChildOptions;
use super::known::{KnownOptions, KnownSoFar};
use super::report;
use super::unwinder::UnwinderStops;

#[derive(Args)]
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
    unwinder: UnwinderStops,
    #[command(flatten)]
    known: KnownOptions,
    #[command(flatten)]
    child: ChildOptions,
    /// The exit status that the program should end with.
    #[arg(long, value_name = "STATUS", default_value_t = 0)]
    exit_status: u8,
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
        self.child.run(&self.file.display().to_string(), "check", || self.check())
    }

    fn check(&self) -> Result<Status, Failure> {
        let known = self.known.open()?;
        let external = self.unwinder.start()?;
        let name = self.file.display().to_string();
        let unusable = |error: &dyn std::fmt::Display| Failure::unusable(format!("error: {name}: {error}"));
        let files = Files::find(&self.file, &self.library_path).map_err(|error| match error {
            FilesError::Missing { .. } => unusable(&error),
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
        self.report.as_deref().map_or(Ok(()), report::begin)?;
        let mut options = self.machine.options();
        options.arguments.clone_from(&self.arguments);
        options.stack_size = self.stack_size;
        // Only the traces that every program for an ABI leaves, whatever compiled it.
        let traces = Traces::of_build(target.executable().image.cpu.abi, &[], "");
        let observes = self.report.is_some();
        let look = ExamineOptions {
            traces,
            exit_status: self.exit_status,
            hazards: true,
            observes,
            ..ExamineOptions::default()
        };
        if let Some(external) = external {
            return self.ask(&external, &known, name, &target, &look, &options);
        }
        let mut unwinder = sframe_unwinder(&target);
        let examination = examine(&target, &mut *unwinder, &look, &options)
            .map_err(|error| Failure::broken(format!("error: {name}: {error}")))?;
        drop(unwinder);
        let broken = broken_reason(&examination, &target, self.exit_status);
        let mut listings = Listings::default();
        if observes {
            let unlisted = |error: &dyn std::fmt::Display| Failure::broken(format!("error: {name}: {error}"));
            let listing = Listing::of(&target, &examination).map_err(|error| unlisted(&error))?;
            listings.add(&name, &listing).map_err(|error| unlisted(&error))?;
        }
        let report = CheckReport::new(name, &target, examination, broken.map(BrokenReason::from));
        let report = known.apply(report)?;
        self.write(&report, &listings)?;
        if self.json {
            print_json(&report)?;
        } else {
            print(&check_summary(&report, Style::for_stdout()))?;
        }
        Ok(Self::status(&report))
    }

    fn status(report: &CheckReport) -> Status {
        let compared = report.summary.comparisons > 0;
        if !compared && report.broken.is_none() {
            tell_line(format_args!("{}: {NOTHING_COMPARED}", report.file));
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
    ) -> Result<Status, Failure> {
        let shown = match external.examine(target, &name, look, options) {
            Ok(shown) => shown,
            Err(error @ ExternalError::Unsupported(_)) => {
                tell_line(format_args!("{name}: nothing was compared: {error}"));
                return Ok(Status::NothingCompared);
            }
            Err(error) => return Err(Failure::broken(format!("error: {name}: {error}"))),
        };
        let broken = broken_reason(&shown.examination, target, self.exit_status);
        let report = known.apply(CheckReport::of_unwinder(name, target, shown, broken))?;
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
