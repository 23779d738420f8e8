//! `run`: runs specs on the corpus.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sframe_corpus::shard::Shard;
use sframe_corpus::spec::parse_abi;
use sframe_engine::Abi;
use sframe_inspect::command::{
    Failure, Status, Volume, detail, note, print, print_verdict, tell_line, volume,
};
use sframe_judge::examine::listings::{Listing, Listings};
use sframe_judge::unwind::sframe_unwinder;
use sframe_kit::text::{Text, counted, neutral};
use sframe_suite::case::{CaseReport, CaseResult, Demands, Outcome, UnderTest};
use sframe_suite::provenance::Began;
use sframe_suite::report::{Document, Report, RunIdentity, Style, run_summary};
use sframe_suite::suite::journal::{Header, Journal, JournalError};
use sframe_suite::suite::{Filter, Plan, check_places};

use super::baseline::{self, gate};
use super::interrupt::requests_here;
use super::isolation::IsolationOptions;
use super::options::{ADVANCED, Folders, MachineOptions, parse_jobs, set_jobs};
use super::report;
use super::reproduce::Invocation;
use super::unwinder::UnwinderStops;

#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    folders: Folders,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    machine: MachineOptions,
    #[command(flatten)]
    unwinder: UnwinderStops,
    #[command(flatten)]
    isolation: IsolationOptions,
    /// Don't explore the programs with rows that a case does not use, or finds to be wrong.
    #[arg(long)]
    no_explore: bool,
    /// Every backtrace that does not have all frames is a finding, even if it says so, or a spec expects it.
    #[arg(long, help_heading = ADVANCED)]
    require_reliable: bool,
    /// How many cases to run at once; 0 for one per processor.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_jobs)]
    jobs: usize,
    /// Write report.html, report.json, report.sarif, junit.xml and summary.md into this folder,
    /// and cases.jsonl during the run.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Resume a killed run with the same options: run only the cases that it
    /// has not written into its report folder.
    #[arg(long, requires = "report")]
    resume: bool,
    /// Run only a part of the cases: the K-th of N.
    #[arg(long, value_name = "K/N", allow_hyphen_values = true)]
    shard: Option<Shard>,
    /// Fail only on what is worse than in this file.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Print the report as JSON instead of the summary.
    #[arg(long)]
    json: bool,
}

/// Which cases to run.
#[derive(Args)]
pub(crate) struct Selection {
    /// Only specs whose name matches this pattern (repeatable).
    #[arg(long, value_name = "GLOB")]
    spec: Vec<glob::Pattern>,
    /// Only this ABI (repeatable).
    #[arg(long, value_name = "ABI", value_parser = parse_abi)]
    abi: Vec<Abi>,
    /// Only this toolchain (repeatable).
    #[arg(long, value_name = "NAME")]
    toolchain: Vec<String>,
    /// Only this variant, such as O2-pie (repeatable).
    #[arg(long, value_name = "NAME")]
    variant: Vec<String>,
    /// Only this case, as reports name it: SPEC/TOOLCHAIN/ABI/VARIANT (repeatable).
    #[arg(long, value_name = "ID")]
    case: Vec<String>,
}

impl Selection {
    /// What a case has to have, as options.
    fn words(&self) -> String {
        let abis: Vec<String> = self.abi.iter().map(ToString::to_string).collect();
        let specs: Vec<String> = self.spec.iter().map(ToString::to_string).collect();
        let all = [
            ("--spec", &specs),
            ("--toolchain", &self.toolchain),
            ("--abi", &abis),
            ("--variant", &self.variant),
            ("--case", &self.case),
        ];
        let given = all.into_iter().filter(|(_, values)| !values.is_empty());
        let words: Vec<String> =
            given.map(|(option, values)| format!("{option} {}", values.join(" or "))).collect();
        words.join(" and ")
    }

    pub(crate) fn filter(&self) -> Filter {
        Filter {
            specs: self.spec.clone(),
            abis: self.abi.clone(),
            toolchains: self.toolchain.clone(),
            variants: self.variant.clone(),
            cases: self.case.clone(),
        }
    }
}

impl Run {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        set_jobs(self.jobs)?;
        let began = Began::now();
        let stop = requests_here();
        let external = self.unwinder.start(stop.clone())?;
        let suite = self.folders.open(&self.selection.filter())?;
        suite.check_files()?;
        let baseline = self.baseline.as_deref().map(baseline::load).transpose();
        let baseline = baseline.map_err(|failure| failure.of_option("--baseline"))?;
        let mut cases = suite.cases(&self.selection.filter())?;
        let selected = cases.len() as u64;
        if let Some(shard) = self.shard {
            cases = shard.take(cases);
        }
        check_places(&self.folders.corpus, &cases)?;
        let plan = Plan {
            demands: Demands {
                is_listed: self.report.is_some() && external.is_none(),
                requires_reliable: self.require_reliable,
                settles_late: false,
            },
            isolation: self.isolation.workers(),
            explorer: (!self.no_explore).then(|| self.isolation.explorer()),
            faults: Some(suite.faults()),
            stop,
            ..Plan::new(
                self.machine.options(),
                external.as_ref().map_or(UnderTest::Rust(&sframe_unwinder), UnderTest::External),
            )
        };
        let journal = self.report.as_deref().map(|folder| self.journal(folder, &plan)).transpose()?;
        let plan = Plan { journal: journal.as_ref(), ..plan };
        let run = RunIdentity::of(&suite, &self.selection.filter(), &plan);
        let run = run.map_err(|error| Failure::broken(format!("error: {error}")))?;
        let bar = progress_bar(cases.len() as u64, "cases");
        detail(|| format!("{} from {}", counted(cases.len() as u64, "case"), self.folders.corpus.display()));
        let done = |report: &CaseReport| {
            detail(|| format!("{}: {}, {:.1} s", report.id, report.outcome.name(), report.seconds));
            if matches!(report.outcome, Outcome::Unexpected | Outcome::Broken) {
                bar.println(neutral(&format!("{:?}: {}", report.outcome, report.id).to_lowercase()));
            }
            bar.inc(1);
        };
        let (results, interrupted) = match suite.execute(&cases, &plan, &done) {
            Ok(results) => (results, None),
            Err(interrupted) => (interrupted.results, Some(interrupted.error)),
        };
        bar.finish_and_clear();
        let (reports, listings) = split(results);
        let report = Report::of_shard(reports, self.shard, selected)
            .of_run(run)
            .with_faults(suite.faults())
            .made(began.ended(suite.digests()));
        let invocation = Invocation::of_this_process();
        let mut report = report.reproduced_by(|case| invocation.with(&[("case", &case.id)]));
        report.interrupted = interrupted.is_some();
        let baseline = baseline.filter(|_| interrupted.is_none());
        let comparison = baseline.map(|baseline| baseline::compare(&baseline, &mut report)).transpose()?;

        // Files come first: standard output may be full.
        let is_kept = interrupted.is_none();
        if let Some(folder) = self.report.as_deref().filter(|_| is_kept) {
            let listings = Listings::of(report.cases.iter().map(|case| case.id.as_str()), listings);
            let listings = listings.map_err(|error| Failure::broken(format!("error: {error}")))?;
            let corpus = &self.folders.corpus;
            report::write(folder, &Document::Run { report: &report, listings: &listings, corpus })?;
        }
        if self.json {
            print_verdict(report.ending(), &report)?;
        } else {
            let notes = place(self.report.as_deref().filter(|_| is_kept));
            let notes = baseline::changes(notes, comparison.as_ref());
            print(&run_summary(&report, began.elapsed(), &notes, Style::for_stdout()).demangled())?;
        }
        match (interrupted, comparison) {
            (Some(error), _) => self.interrupted(error, report.cases.len(), cases.len()),
            (None, Some(comparison)) => gate(&comparison, &report, self.json),
            (None, None) => Ok(self.status(&report, selected)),
        }
    }

    /// How a run ends that has not run all cases.
    fn interrupted(&self, error: Option<JournalError>, run: usize, all: usize) -> Result<Status, Failure> {
        if let Some(error) = error {
            let message =
                format!("error: {error}; {run} of {all} cases were run, and no reports are written");
            return Err(Failure::broken(message));
        }
        if self.report.is_some() {
            note("no report is written: `--resume` runs the other cases, and writes it");
        } else {
            note("nothing is kept: with `--report DIR`, `--resume` goes on where a run was stopped");
        }
        Ok(Status::Broken)
    }

    /// How it ends without a baseline.
    fn status(&self, report: &Report, selected: u64) -> Status {
        let summary = &report.summary;
        let compared = summary.counts.comparisons > 0;
        if !compared && summary.unexpected + summary.broken == 0 {
            let why = match report.why_skipped() {
                _ if selected == 0 => format!("no case is selected: none has {}", self.selection.words()),
                _ if report.cases.is_empty() => "this part has no case".to_owned(),
                Some(why) => format!("no case has run: {why}"),
                None => "no case has run".to_owned(),
            };
            tell_line(format_args!("nothing was compared: {why}"));
        }
        report.ending().into()
    }

    /// Begins the run's journal, or continues it.
    fn journal(&self, folder: &Path, plan: &Plan<'_>) -> Result<Journal, Failure> {
        report::create_reports(folder)?;
        let unusable = |error: &dyn std::fmt::Display| Failure::unusable(format!("error: {error}"));
        let header = Header::new(plan, &self.selection.filter(), self.shard);
        let header = header.map_err(|error| unusable(&error))?;
        let journal =
            if self.resume { Journal::resume(folder, &header) } else { Journal::create(folder, &header) };
        let journal = journal.map_err(|error: JournalError| unusable(&error))?;
        // Reports of another run must not be mistaken for those of this one.
        report::clear(folder)?;
        if journal.finished() > 0 {
            note(format_args!("finished already: {}", counted(journal.finished() as u64, "case")));
        }
        Ok(journal)
    }
}

/// Splits results into reports, and listings by case.
pub(super) fn split(results: Vec<CaseResult>) -> (Vec<CaseReport>, HashMap<String, Listing>) {
    let mut listings = HashMap::new();
    let reports = results.into_iter().map(|CaseResult { report, listing }| {
        listings.extend(listing.map(|listing| (report.id.clone(), listing)));
        report
    });
    (reports.collect(), listings)
}

/// Says where the reports are.
pub(super) fn place(folder: Option<&Path>) -> Text {
    folder.map_or_else(Text::default, |folder| {
        Text::of(format_args!("report: {}", folder.join("report.html").display()))
    })
}

/// Returns a progress bar on standard error if that is a terminal, or else a
/// hidden one.
pub(super) fn progress_bar(len: u64, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {what}, {{eta}} left"))
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let target =
        if volume() == Volume::Quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    ProgressBar::with_draw_target(Some(len), target).with_style(style)
}
