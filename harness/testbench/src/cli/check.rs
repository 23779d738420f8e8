//! `check`: tests one executable, without a spec.

use std::any::Any;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use sframe_inspect::command::{Failure, Status, Volume, print, print_verdict, tell_line, volume};
use sframe_judge::examine::ExamineOptions;
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::explore::Progress;
use sframe_judge::finding::count;
use sframe_judge::target::{SectionSource, Target};
use sframe_judge::truth::cross_check::Traces;
use sframe_kit::percent::Percent;
use sframe_kit::text::{counted, grouped};
use sframe_machine::{Native, Options, Pattern};
use sframe_suite::check::{Checked, Checker, Client, Demands, Program};
use sframe_suite::provenance::Began;
use sframe_suite::report::{Asked, CheckReport, Document, Style, check_summary};

use super::isolation::{CacheOptions, ChildOptions};
use super::known::KnownOptions;
use super::numbers;
use super::options::ADVANCED;
use super::program::ProgramOptions;
use super::progress::{FunctionsLine, ProgressLine};
use super::report;
use super::reproduce::Invocation;
use super::sampling::SamplingOptions;
use super::unwinder::UnwinderStops;

#[derive(Args)]
pub(crate) struct Check {
    /// An executable for amd64, aarch64, aarch64_be or s390x.
    file: PathBuf,
    /// Which section of each file to judge.
    #[arg(long, value_name = "SECTION", value_enum, default_value_t = JudgedSection::Sframe)]
    from: JudgedSection,
    /// Execute the program on this host's own processor, and not in the emulator, which is the sandbox: the program acts on the
    /// host, and runs at least twice if it is dynamic. Its environment is what --env says.
    #[arg(long, conflicts_with_all = ["root", "cwd", "library_path", "trust_runpath", "pattern", "unwinder"])]
    native: bool,
    #[command(flatten)]
    sampling: SamplingOptions,
    #[command(flatten)]
    unwinder: UnwinderStops,
    #[command(flatten)]
    known: KnownOptions,
    #[command(flatten)]
    pub(super) child: ChildOptions,
    #[command(flatten)]
    cache: CacheOptions,
    /// Size of the program's stack.
    #[arg(long, value_name = "BYTES", default_value_t = Options::default().stack_size,
          value_parser = numbers::bytes(Options::STACK_SIZES), help_heading = ADVANCED)]
    stack_size: u64,
    /// Don't explore the files with rows that the program does not use, or that are wrong.
    #[arg(long)]
    no_explore: bool,
    /// End with status 0 even if more than 1 % of what ran, or a whole function, was excluded.
    #[arg(long, help_heading = ADVANCED)]
    allow_excluded: bool,
    /// The share of the executed code that must have an FDE, of that whose call frame information SFrame can express, also in
    /// files without a section: `all`, or a percentage. Less ends with status 1, and with status 3 what can't be told, as
    /// there is no call frame information; without this option, less than 90% in files with a section ends with status 3, and
    /// so does a function without one if those around it have one.
    #[arg(long, value_name = "SHARE", value_parser = Percent::to_reach)]
    coverage: Option<Percent>,
    /// Every backtrace that does not have all frames is a finding, even if it says so.
    #[arg(long, help_heading = ADVANCED)]
    require_reliable: bool,
    /// Write report.html, report.json, report.sarif, junit.xml and summary.md into this folder.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Print the report as JSON instead of the summary.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    program: ProgramOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum JudgedSection {
    /// Its .sframe section.
    Sframe,
    /// One made from its .eh_frame section, in memory.
    EhFrame,
    /// Its .sframe section, or one synthesized from .eh_frame if it has none.
    Either,
}

impl JudgedSection {
    pub(super) const fn source(self) -> SectionSource {
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
        let began = Began::now();
        self.child.has_room_for("--stack-size", self.stack_size)?;
        if self.sampling.is_given() {
            self.known.needs_all_findings("--from-function, --every and --per-place")?;
        }
        let known = self.known.open()?;
        let external = self.unwinder.start(stop.clone())?;
        let options = Options { stack_size: self.stack_size, ..self.program.machine.options() };
        let options = if self.native { on_this_host(&self.file, options) } else { options };
        let checker = Checker {
            source: self.from.source(),
            external: external.as_ref(),
            explorer: (!self.no_explore).then(|| self.child.explorer(&self.cache)),
            faults: known.faults(),
            asked: self.asked(),
        };
        let Checked { mut report, listings, digests } =
            checker.check(&Command { options: self, stop }, options)?;
        report.provenance = Some(began.ended(digests));
        let report = known.apply(report.reproduced_by(Invocation::of_this_process().again()))?.by_cause();
        let demands = Demands { coverage: self.coverage, allows_excluded: self.allow_excluded };
        let report = demands.judge(report);
        // The last line has the reason, if there is one.
        if self.json || volume() == Volume::Quiet {
            let told = report.too_little.iter().chain(&report.unmet);
            told.for_each(|reason| tell_line(format_args!("{}: {reason}", report.file)));
        }
        if let Some(folder) = &self.report {
            report::write(folder, &Document::Check { report: &report, listings: &listings })?;
        }
        if self.json {
            print_verdict(report.ending(), &report)?;
        } else {
            print(&check_summary(&report, Style::for_stdout()).demangled())?;
        }
        Ok(report.ending().into())
    }

    /// What is asked of the program.
    fn asked(&self) -> Asked {
        Asked {
            stops_per_case: self.unwinder.stops_per_case(),
            require_reliable: self.require_reliable,
            no_explore: self.no_explore,
            coverage: self.coverage.map(|share| share.to_string()),
        }
    }
}

/// Options for the host's own processor, where a stack has zeroes.
fn on_this_host(file: &Path, options: Options) -> Options {
    let native = Native { executable: file.to_owned(), code: Vec::new() };
    Options { native: Some(Arc::new(native)), pattern: Pattern::Zeroes, ..options }
}

/// The command, while the program is checked.
struct Command<'c> {
    options: &'c Check,
    stop: StopRequest,
}

impl Client for Command<'_> {
    fn open(&self, options: Options) -> Result<Program, Failure> {
        self.options.program.open(&self.options.file, options, &self.stop)
    }

    fn look(&self, program: &Program, target: &Target<'_>) -> Result<ExamineOptions, Failure> {
        let Check { report, json, require_reliable, sampling, .. } = self.options;
        let look = ExamineOptions {
            // Only the traces that every program for an ABI leaves, whatever compiled it.
            traces: Traces::of_abi(target.executable().image.cpu.abi),
            exit_status: program.exit_status.unwrap_or_default(),
            hazards: true,
            observes: report.is_some(),
            only_counts_rows: report.is_none() && !json,
            requires_reliable: *require_reliable,
            sampling: sampling.sampling(target, &program.name)?,
            stop: self.stop.clone(),
            progress: Some(Arc::default()),
            ..ExamineOptions::default()
        };
        report.as_deref().map_or(Ok(()), report::begin)?;
        Ok(look)
    }

    fn runs(&self, look: &ExamineOptions, instructions: Option<u64>) -> Box<dyn Any> {
        Box::new(ProgressLine::begin(look, instructions))
    }

    fn explores(&self, report: &CheckReport, progress: &Arc<Progress>) -> Box<dyn Any> {
        tell_what_ran(report);
        Box::new(FunctionsLine::begin(progress))
    }
}

/// Tells somebody who waits what the run has shown, while it is explored what did not run.
fn tell_what_ran(report: &CheckReport) {
    let counts = &report.summary.counts;
    let rows = report.unexercised.len() as u64;
    if rows > 0 && std::io::stderr().is_terminal() && volume() != Volume::Quiet {
        tell_line(format_args!(
            "{} of {} compared, {}; exploring {} that did not run (--no-explore: leave that)",
            grouped(counts.comparisons),
            counted(counts.instructions, "instruction"),
            counted(count(&report.findings), "finding"),
            counted(rows, "row")
        ));
    }
}
