//! `run`: specs on the corpus.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sframe_testbench::case::{CaseReport, Outcome, sframe_unwinder};
use sframe_testbench::report::{Listings, Report, Style, html, junit, markdown, run_summary, sarif};
use sframe_testbench::runner::{Filter, Suite};
use sframe_testbench::shard::Shard;
use sframe_testbench::spec::Abi;
use sframe_testbench::unwind::external;

use super::baseline::{self, gate};
use super::exit::{Failure, Status};
use super::unwinder::UnwinderStops;
use super::{Folders, MachineOptions, print, print_json, report, set_jobs, status, write_file};

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
    /// How many cases to run at once; 0 for one per processor.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = super::parse_jobs)]
    jobs: usize,
    /// Write report.html, report.json, report.sarif, junit.xml and summary.md into this folder.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Run only a part of the cases: the K-th of N.
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// Fail on what is worse than in this file, and on nothing else.
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
    #[arg(long, value_name = "ABI")]
    abi: Vec<Abi>,
    /// Only this toolchain (repeatable).
    #[arg(long, value_name = "NAME")]
    toolchain: Vec<String>,
}

impl Selection {
    pub(crate) fn filter(&self) -> Filter {
        Filter { specs: self.spec.clone(), abis: self.abi.clone(), toolchains: self.toolchain.clone() }
    }
}

impl Run {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        set_jobs(self.jobs)?;
        let external = self.unwinder.start()?;
        let suite = Suite::open(&self.folders.corpus, &self.folders.specs)?;
        let baseline = self.baseline.as_deref().map(baseline::load).transpose()?;
        let mut cases = suite.cases(&self.selection.filter())?;
        let selected = cases.len() as u64;
        if let Some(shard) = self.shard {
            cases = shard.take(cases);
        }
        self.report.as_deref().map_or(Ok(()), report::create)?;
        let listings = self.report.is_some().then(Listings::default);
        let bar = progress_bar(cases.len() as u64, "cases");
        let start = Instant::now();
        let done = |report: &CaseReport| {
            if matches!(report.outcome, Outcome::Unexpected | Outcome::Broken) {
                bar.println(format!("{:?}: {}", report.outcome, report.id).to_lowercase());
            }
            bar.inc(1);
        };
        let options = self.machine.options();
        let reports = match &external {
            Some(external) => suite.run_external(&cases, &options, external, &done),
            None => suite.run_listed(&cases, &options, &sframe_unwinder, listings.as_ref(), &done),
        };
        bar.finish_and_clear();
        let report = Report::of_shard(reports, self.shard, selected);

        if self.json {
            print_json(&report)?;
        } else {
            print(&run_summary(&report, start.elapsed(), Style::for_stdout()))?;
            if external.is_some() {
                print(&external::summary(&report.cases))?;
            }
        }
        if let (Some(folder), Some(listings)) = (&self.report, &listings) {
            write(&report, listings, folder, &self.folders.corpus, self.json)?;
        }
        let summary = &report.summary;
        if let Some(baseline) = baseline {
            let is_whole = self.shard.is_none() && self.selection.filter().is_empty();
            return gate(&baseline, &report, is_whole, self.json);
        }
        Ok(status(summary.unexpected > 0, summary.broken > 0, summary.comparisons > 0))
    }
}

/// Writes the reports of a run. `quietly` leaves out where they are.
pub(super) fn write(
    report: &Report,
    listings: &Listings,
    folder: &Path,
    corpus: &Path,
    quietly: bool,
) -> Result<(), Failure> {
    report::write_json(folder, "report.json", report)?;
    report::write_json(folder, "report.sarif", &sarif(report, listings, corpus))?;
    report::write_html(folder, html(report, listings))?;
    let xml = junit(report).map_err(|error| Failure::broken(format!("junit.xml: {error}")))?;
    write_file(&folder.join("junit.xml"), &xml)?;
    write_file(&folder.join("summary.md"), &markdown(report))?;
    if !quietly {
        print(&format!("report: {}\n", folder.join("report.html").display()))?;
    }
    Ok(())
}

/// A progress bar on standard error where that is a terminal, else none.
pub(super) fn progress_bar(len: u64, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {what}, {{eta}} left"))
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr()).with_style(style)
}
