//! `check`: tests one executable, without a spec.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, ValueEnum};
use sframe_corpus::signs::point_out;
use sframe_corpus::spec::Faults;
use sframe_elf::object_file::MissingSection;
use sframe_inspect::command::{
    Failure, Status, Volume, detail, detail_since, print, print_json, tell_line, volume,
};
use sframe_judge::examine::listings::{Listing, Listings};
use sframe_judge::examine::stop::{StopReason, StopRequest};
use sframe_judge::examine::{Examination, ExamineOptions, examine};
use sframe_judge::explore;
use sframe_judge::external::{External, ExternalError, UnwinderExamination, UnwinderReport};
use sframe_judge::target::{MadeSections, SectionSource, Target, TargetError};
use sframe_judge::truth::cross_check::Traces;
use sframe_judge::unwind::sframe_unwinder;
use sframe_kit::percent::Percent;
use sframe_kit::text::{counted, grouped};
use sframe_machine::{LoadError, Options, Pattern};
use sframe_suite::case::BrokenReason;
use sframe_suite::provenance::Began;
use sframe_suite::report::{Asked, CheckReport, Document, Style, check_summary};

use super::isolation::{CacheOptions, ChildOptions};
use super::known::KnownOptions;
use super::numbers;
use super::options::ADVANCED;
use super::program::{Program, ProgramOptions, WITHOUT_RUNNING};
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
    #[command(flatten)]
    sampling: SamplingOptions,
    #[command(flatten)]
    unwinder: UnwinderStops,
    #[command(flatten)]
    known: KnownOptions,
    #[command(flatten)]
    child: ChildOptions,
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

/// The least share of code with an FDE, unless another is asked for.
const FLOOR: Percent = Percent::NINE_TENTHS;

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
        let checked = self.check_with(options.clone(), external.as_ref(), known.faults(), &stop)?;
        let Checked { mut report, listings, digests } =
            self.without_garbage(checked, options, external.as_ref(), known.faults(), &stop)?;
        report.provenance = Some(began.ended(digests));
        let report = known.apply(report.reproduced_by(Invocation::of_this_process().again()))?.by_cause();
        let too_little = self.too_little(&report);
        let unmet = self.is_too_little_covered(&report).then(|| report.why_share_is_not_reached());
        let report = report.limited(too_little, unmet);
        // The last line has the reason, if there is one.
        if self.json || volume() == Volume::Quiet {
            let told = report.too_little.iter().chain(&report.unmet);
            told.for_each(|reason| tell_line(format_args!("{}: {reason}", report.file)));
        }
        if let Some(folder) = &self.report {
            report::write(folder, &Document::Check { report: &report, listings: &listings })?;
        }
        if self.json {
            print_json(&report)?;
        } else {
            print(&check_summary(&report, Style::for_stdout()).demangled())?;
        }
        Ok(report.ending().into())
    }

    /// Repeats a run that may be broken because the program has read what it has not written, with
    /// zeroes there, as Linux has them. Returns the second one if it has ended well.
    fn without_garbage(
        &self,
        first: Checked,
        options: Options,
        external: Option<&External>,
        faults: &Faults,
        stop: &StopRequest,
    ) -> Result<Checked, Failure> {
        let is_over = options.pattern == Pattern::Zeroes || stop.reason().is_some();
        if is_over || !first.report.may_come_of_garbage {
            return Ok(first);
        }
        detail(|| "the run is broken, and is repeated with zeroes on the stack".to_owned());
        let options = Options { pattern: Pattern::Zeroes, ..options };
        let again = self.check_with(options, external, faults, stop)?;
        if again.report.broken.is_some() {
            return Ok(first);
        }
        let report = CheckReport { zeroed_stack: first.report.broken, ..again.report };
        Ok(Checked { report, ..again })
    }

    /// Runs the program, and explores what that leaves.
    fn check_with(
        &self,
        options: Options,
        external: Option<&External>,
        faults: &Faults,
        stop: &StopRequest,
    ) -> Result<Checked, Failure> {
        let program = self.program.open(&self.file, options, stop)?;
        let made = MadeSections::of(&program.files, self.from.source());
        let target = Target::open_made(&program.files, &made)
            .map_err(|error| program.unusable(&with_advice(&error)))?;
        let look = ExamineOptions {
            // Only the traces that every program for an ABI leaves, whatever compiled it.
            traces: Traces::of_abi(target.executable().image.cpu.abi),
            exit_status: program.exit_status.unwrap_or_default(),
            hazards: true,
            observes: self.report.is_some(),
            only_counts_rows: self.report.is_none() && !self.json,
            requires_reliable: self.require_reliable,
            sampling: self.sampling.sampling(&target, &program.name)?,
            stop: stop.clone(),
            progress: Some(Arc::default()),
            ..ExamineOptions::default()
        };
        self.report.as_deref().map_or(Ok(()), report::begin)?;
        let start = Instant::now();
        let line = ProgressLine::begin(&look, program.instructions);
        let (mut report, listings) = match external {
            Some(external) => (ask(&program, external, &target, &look)?, Listings::default()),
            None => examine_with_engine(&program, &target, &look)?,
        };
        drop(line);
        detail_since(start, || {
            format!("executed: {}", counted(report.summary.counts.instructions, "instruction"))
        });
        // What exploring adds did not run, or not where it is wrong.
        let of_run = report.findings.len();
        if !self.no_explore {
            tell_what_ran(&report);
            let start = Instant::now();
            let progress = Arc::new(explore::Progress::new(stop.clone()));
            let _line = FunctionsLine::begin(&progress);
            report.explore(&self.child.explorer(&self.cache), &target, &progress);
            detail_since(start, || {
                format!("explored rows that did not run: {}", grouped(report.summary.rows_explored.total()))
            });
            // Rows that were not explored for that are no more than not executed.
            if stop.reason() == Some(StopReason::Interrupted) {
                report
                    .broken
                    .get_or_insert_with(|| sframe_judge::examine::BrokenRun::Interrupted.to_string());
            }
        }
        let (seen, explored) = report.findings.split_at_mut(of_run);
        point_out(seen.iter_mut(), &target, faults, None, Some(&report.ran));
        let proofs = report.unexercised.iter_mut().flat_map(|row| &mut row.proof);
        point_out(explored.iter_mut().chain(proofs), &target, faults, None, None);
        let report = CheckReport { asked: self.asked(), ..report.sampled(look.sampling.clone()) };
        Ok(Checked { report, listings, digests: program.files.digests(&program.name) })
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

    /// Why what was judged proves too little.
    fn too_little(&self, report: &CheckReport) -> Vec<String> {
        let mut reasons = report.too_little.clone();
        if report.broken.is_some() || !reasons.is_empty() {
            return reasons;
        }
        if !report.has_used_rows() {
            reasons.push(report.why_nothing_compared());
        } else if !self.allow_excluded && report.excludes_too_much() {
            reasons.push(
                "more than 1 % of what ran, or a whole function, was excluded (--allow-excluded)".to_owned(),
            );
        }
        match self.coverage {
            None if self.lacks_fdes(report) => reasons.push(report.why_fdes_are_too_few_to_judge()),
            None => reasons.extend(report.why_fde_is_missing()),
            Some(share) => reasons.extend(report.why_coverage_is_unknown(share)),
        }
        reasons
    }

    fn lacks_fdes(&self, report: &CheckReport) -> bool {
        match self.coverage {
            Some(share) => !report.reaches_everywhere(share),
            None => !report.reaches(FLOOR),
        }
    }

    /// Whether less is covered than was demanded.
    fn is_too_little_covered(&self, report: &CheckReport) -> bool {
        self.coverage.is_some() && report.broken.is_none() && self.lacks_fdes(report)
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
            counted(report.findings.len() as u64, "finding"),
            counted(rows, "row")
        ));
    }
}

/// A run that was compared.
struct Checked {
    report: CheckReport,
    listings: Listings,
    /// Those of the files, by name.
    digests: Vec<(String, String)>,
}

/// What is wrong with a file, and what to do if it lacks a section.
pub(super) fn with_advice(error: &TargetError) -> String {
    match error {
        TargetError::NoSection(MissingSection::Absent) => format!(
            "{error}: compile with -Wa,--gsframe, or check one synthesized from .eh_frame with --from eh-frame"
        ),
        TargetError::Load(LoadError::NoEntry) => format!("{error}; {WITHOUT_RUNNING}"),
        _ => error.to_string(),
    }
}

/// Tests the bench's own engine.
pub(super) fn examine_with_engine(
    program: &Program,
    target: &Target<'_>,
    look: &ExamineOptions,
) -> Result<(CheckReport, Listings), Failure> {
    let name = program.name.clone();
    let mut unwinder = sframe_unwinder(target);
    let examination = examine(target, &mut *unwinder, look, &program.options)
        .map_err(|error| program.not_examined(&error))?;
    drop(unwinder);
    let reason = program.broken(&examination, target);
    let mut listings = Listings::default();
    if look.observes {
        let listing = Listing::of(target, &examination).map_err(|error| program.not_examined(&error))?;
        listings.add(&name, &listing).map_err(|error| program.not_examined(&error))?;
    }
    Ok((CheckReport::new(name, target, examination, reason.map(BrokenReason::from)), listings))
}

/// Tests an unwinder in a separate process. One that can't be asked at all leaves a report that says why.
fn ask(
    program: &Program,
    external: &External,
    target: &Target<'_>,
    look: &ExamineOptions,
) -> Result<CheckReport, Failure> {
    use ExternalError::{Copy, Machine, Unsupported};
    let name = program.name.clone();
    let shown = match external.examine(target, &name, look, &program.options) {
        Ok(shown) => shown,
        Err(error @ (Machine(_) | Copy(_))) => return Err(program.not_examined(&error)),
        Err(error) => {
            let (unsupported, error) = match error {
                Unsupported(_) => (vec![error.to_string()], None),
                error => (Vec::new(), Some(error)),
            };
            let sframe_protocol::Hello { name: of, version, data, .. } = external.hello().clone();
            let shown = UnwinderExamination {
                examination: Examination::of_no_run(),
                report: UnwinderReport { name: of, version, data, ..UnwinderReport::default() },
                shared: Vec::new(),
                findings: Vec::new(),
                error,
            };
            let report = CheckReport::of_unwinder(name, target, shown, None);
            return Ok(CheckReport { too_little: unsupported, ..report });
        }
    };
    let reason = program.broken(&shown.examination, target);
    Ok(CheckReport::of_unwinder(name, target, shown, reason))
}
