//! A program without a spec, from its files to a report: run, compared, explored, and known bugs named.

use std::any::Any;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Instant;

use sframe_corpus::signs::point_out;
use sframe_corpus::spec::Faults;
use sframe_elf::object_file::MissingSection;
use sframe_inspect::command::{Failure, detail, detail_since};
use sframe_judge::examine::listings::{Listing, Listings};
use sframe_judge::examine::stop::StopReason;
use sframe_judge::examine::{
    BrokenRun, Examination, ExamineOptions, OutputDifference, broken_reason, examine,
};
use sframe_judge::explore::{Explorer, Progress};
use sframe_judge::external::{External, ExternalError, UnwinderExamination, UnwinderReport};
use sframe_judge::target::files::Files;
use sframe_judge::target::{MadeSections, SectionSource, Target, TargetError};
use sframe_judge::unwind::sframe_unwinder;
use sframe_kit::percent::Percent;
use sframe_kit::text::{counted, grouped};
use sframe_machine::{LoadError, Options, Pattern};

use crate::case::BrokenReason;
use crate::report::{Asked, CheckReport};

/// What to do with what can't be run.
pub const WITHOUT_RUNNING: &str = "explore, lint and diff judge it without running it";

/// A program with its files.
pub struct Program {
    /// The file, as somebody named it.
    pub name: String,
    /// The executable and its libraries.
    pub files: Files,
    /// How it runs.
    pub options: Options,
    /// How many instructions it executes, if that is known.
    pub instructions: Option<u64>,
    /// The exit status that it should end with; `None` if any will do.
    pub exit_status: Option<u8>,
    /// What it should print, if that is known.
    pub expected_output: Option<Vec<u8>>,
}

impl Program {
    /// A program whose files are known, which should end with status 0.
    #[must_use]
    pub const fn of_files(name: String, files: Files, options: Options) -> Self {
        let (instructions, expected_output) = (None, None);
        Self { name, files, options, instructions, exit_status: Some(0), expected_output }
    }

    /// The failure of a program that can't be used.
    pub fn unusable(&self, error: &dyn Display) -> Failure {
        Failure::unusable(format!("error: {}: {error}", self.name))
    }

    /// The failure of a program that can't be examined.
    pub fn not_examined(&self, error: &dyn Display) -> Failure {
        Failure::broken(format!("error: {}: {error}", self.name))
    }

    /// Returns why a run is invalid, if it is.
    #[must_use]
    pub fn broken(&self, examination: &Examination, target: &Target<'_>) -> Option<BrokenRun> {
        let expected = self.expected_output.as_deref();
        let differs = || OutputDifference::between(&examination.standard_output, expected?);
        broken_reason(examination, target, self.exit_status).or_else(|| differs().map(BrokenRun::Output))
    }

    /// Compares this project's engine with a run.
    ///
    /// # Errors
    /// The program can't be examined.
    pub fn examine(
        &self,
        target: &Target<'_>,
        look: &ExamineOptions,
    ) -> Result<(CheckReport, Listings), Failure> {
        let mut unwinder = sframe_unwinder(target);
        let examination = examine(target, &mut *unwinder, look, &self.options)
            .map_err(|error| self.not_examined(&error))?;
        drop(unwinder);
        let reason = self.broken(&examination, target);
        let mut listings = Listings::default();
        if look.observes {
            let listing = Listing::of(target, &examination).map_err(|error| self.not_examined(&error))?;
            listings.add(&self.name, &listing).map_err(|error| self.not_examined(&error))?;
        }
        let reason = reason.map(BrokenReason::from);
        Ok((CheckReport::new(self.name.clone(), target, examination, reason), listings))
    }

    /// Compares an unwinder in a separate process. One that can't be asked at all leaves a report that says why.
    fn ask(
        &self,
        external: &External,
        target: &Target<'_>,
        look: &ExamineOptions,
    ) -> Result<CheckReport, Failure> {
        use ExternalError::{Copy, Machine, Unsupported};
        let name = self.name.clone();
        let shown = match external.examine(target, &name, look, &self.options) {
            Ok(shown) => shown,
            Err(error @ (Machine(_) | Copy(_))) => return Err(self.not_examined(&error)),
            Err(error) => {
                let (unsupported, error) = match error {
                    Unsupported(_) => (vec![error.to_string()], None),
                    error => (Vec::new(), Some(error)),
                };
                let hello = external.hello().clone();
                let unwinder = UnwinderReport {
                    name: hello.name,
                    version: hello.version,
                    data: hello.data,
                    ..UnwinderReport::default()
                };
                let shown = UnwinderExamination {
                    examination: Examination::of_no_run(),
                    report: unwinder,
                    shared: Vec::new(),
                    findings: Vec::new(),
                    error,
                };
                let report = CheckReport::of_unwinder(name, target, shown, None);
                return Ok(CheckReport { too_little: unsupported, ..report });
            }
        };
        let reason = self.broken(&shown.examination, target);
        Ok(CheckReport::of_unwinder(name, target, shown, reason))
    }
}

/// What is wrong with a file, and what to do if it lacks a section.
#[must_use]
pub fn with_advice(error: &TargetError) -> String {
    match error {
        TargetError::NoSection(MissingSection::Absent) => format!(
            "{error}: compile with -Wa,--gsframe, or check one synthesized from .eh_frame with --from eh-frame"
        ),
        TargetError::Load(LoadError::NoEntry) => format!("{error}; {WITHOUT_RUNNING}"),
        _ => error.to_string(),
    }
}

/// Who wants a program checked: opens it, says what is looked at, and is shown how far it is. What the last two methods
/// return is kept until that part is over.
pub trait Client {
    /// Finds the program and its files.
    ///
    /// # Errors
    /// They can't be used.
    fn open(&self, options: Options) -> Result<Program, Failure>;
    /// Says what is looked at in a run.
    ///
    /// # Errors
    /// The program does not have what is to be looked at.
    fn look(&self, program: &Program, target: &Target<'_>) -> Result<ExamineOptions, Failure>;
    /// A run begins.
    fn runs(&self, look: &ExamineOptions, instructions: Option<u64>) -> Box<dyn Any>;
    /// The run is over, and what did not run is explored.
    fn explores(&self, report: &CheckReport, progress: &Arc<Progress>) -> Box<dyn Any>;
}

/// How programs are checked.
pub struct Checker<'c> {
    /// Which section of each file is judged.
    pub source: SectionSource,
    /// The unwinder under test, if it is not this project's engine.
    pub external: Option<&'c External>,
    /// What explores rows that did not run, if anything.
    pub explorer: Option<Explorer>,
    /// The pages of known bugs.
    pub faults: &'c Faults,
    /// What is asked of the program, for the report.
    pub asked: Asked,
}

/// What a check has to show, to prove anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demands {
    /// The share of the executed code that must have an FDE, of that whose call frame information SFrame can express;
    /// without it, less than 90 % proves nothing.
    pub coverage: Option<Percent>,
    /// Whether more than 1 % of what ran may be excluded, or a whole function.
    pub allows_excluded: bool,
}

/// A run that was compared.
pub struct Checked {
    /// What came of it.
    pub report: CheckReport,
    /// The code, if it was asked for.
    pub listings: Listings,
    /// The digests of the files, by name.
    pub digests: Vec<(String, String)>,
}

/// The least share of code with an FDE, unless another is asked for.
const FLOOR: Percent = Percent::NINE_TENTHS;

impl Checker<'_> {
    /// Runs a program, compares, and explores what that leaves.
    ///
    /// A run that may be broken because the program has read what it has not written is repeated with zeroes there, as
    /// Linux has them; if the second one ends well, it counts.
    ///
    /// # Errors
    /// The program can't be opened or run.
    pub fn check(&self, client: &impl Client, options: Options) -> Result<Checked, Failure> {
        let (first, look) = self.check_once(client, options.clone())?;
        let is_over = options.pattern == Pattern::Zeroes || look.stop.reason().is_some();
        if is_over || !first.report.may_come_of_garbage {
            return Ok(first);
        }
        detail(|| "the run is broken, and is repeated with zeroes on the stack".to_owned());
        let (again, _) = self.check_once(client, Options { pattern: Pattern::Zeroes, ..options })?;
        if again.report.broken.is_some() {
            return Ok(first);
        }
        let report = CheckReport { zeroed_stack: first.report.broken, ..again.report };
        Ok(Checked { report, ..again })
    }

    fn check_once(
        &self,
        client: &impl Client,
        options: Options,
    ) -> Result<(Checked, ExamineOptions), Failure> {
        let program = client.open(options)?;
        let made = MadeSections::of(&program.files, self.source);
        let target = Target::open_made(&program.files, &made)
            .map_err(|error| program.unusable(&with_advice(&error)))?;
        let look = client.look(&program, &target)?;
        let start = Instant::now();
        let shown = client.runs(&look, program.instructions);
        let (mut report, listings) = match self.external {
            Some(external) => (program.ask(external, &target, &look)?, Listings::default()),
            None => program.examine(&target, &look)?,
        };
        drop(shown);
        detail_since(start, || {
            format!("executed: {}", counted(report.summary.counts.instructions, "instruction"))
        });
        // What exploring adds did not run, or not where it is wrong.
        let of_run = report.findings.len();
        if let Some(explorer) = &self.explorer {
            let start = Instant::now();
            let progress = Arc::new(Progress::new(look.stop.clone()));
            let _shown = client.explores(&report, &progress);
            report.explore(explorer, &target, &progress);
            detail_since(start, || {
                format!("explored rows that did not run: {}", grouped(report.summary.rows_explored.total()))
            });
            // Rows that were not explored for that are no more than not executed.
            if look.stop.reason() == Some(StopReason::Interrupted) {
                report.broken.get_or_insert_with(|| BrokenRun::Interrupted.to_string());
            }
        }
        let (seen, explored) = report.findings.split_at_mut(of_run);
        point_out(seen.iter_mut(), &target, self.faults, None, Some(&report.ran));
        let proofs = report.unexercised.iter_mut().flat_map(|row| &mut row.proof);
        point_out(explored.iter_mut().chain(proofs), &target, self.faults, None, None);
        let report = CheckReport { asked: self.asked.clone(), ..report.sampled(look.sampling.clone()) };
        Ok((Checked { report, listings, digests: program.files.digests(&program.name) }, look))
    }
}

impl Demands {
    /// Says in a report, whose known findings have been settled, what it has too little of.
    #[must_use]
    pub fn judge(self, report: CheckReport) -> CheckReport {
        let too_little = self.too_little(&report);
        let is_too_little_covered =
            self.coverage.is_some() && report.broken.is_none() && self.lacks_fdes(&report);
        let unmet = is_too_little_covered.then(|| report.why_share_is_not_reached());
        report.limited(too_little, unmet)
    }

    /// Why what was judged proves too little.
    fn too_little(self, report: &CheckReport) -> Vec<String> {
        let mut reasons = report.too_little.clone();
        if report.broken.is_some() || !reasons.is_empty() {
            return reasons;
        }
        if !report.has_used_rows() {
            reasons.push(report.why_nothing_compared());
        } else if !self.allows_excluded && report.excludes_too_much() {
            reasons.push(
                "more than 1 % of what ran, or a whole function, was excluded (--allow-excluded)".to_owned(),
            );
        }
        match self.coverage {
            None if self.lacks_fdes(report) => reasons.push(report.why_fdes_are_too_few_to_judge()),
            None => reasons.extend(report.why_fde_is_missing()),
            Some(share) => reasons.extend(report.why_coverage_is_unknown(share)),
        }
        reasons.extend(report.why_cfi_is_unread(self.coverage));
        reasons
    }

    fn lacks_fdes(self, report: &CheckReport) -> bool {
        match self.coverage {
            Some(share) => !report.reaches_everywhere(share),
            None => !report.reaches(FLOOR),
        }
    }
}
