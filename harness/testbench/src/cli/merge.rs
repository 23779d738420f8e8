//! `merge`: joins the reports of all shards of a run.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sframe_inspect::command::{Failure, Status, print, print_verdict};
use sframe_judge::examine::listings::{Listing, Listings};
use sframe_suite::provenance::{Began, Provenance};
use sframe_suite::report::{Document, Report, Style, merge, run_summary};
use sframe_suite::suite::journal;

use super::baseline::{self, gate};
use super::options::Folders;
use super::report::read_report;
use super::{report, run, samples};

#[derive(Args)]
pub(crate) struct Merge {
    /// The folders written by `run --shard K/N --report`, one for every shard:
    /// report.json (or this file alone), and cases.jsonl for the code on the page. Or reports of `samples`.
    #[arg(required = true)]
    parts: Vec<PathBuf>,
    #[command(flatten)]
    folders: Folders,
    /// Write the reports of the whole run into this folder.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Fail only on what is worse than in this file.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Print the report as JSON instead of the summary.
    #[arg(long)]
    json: bool,
}

impl Merge {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        if let Some(status) = self.samples()? {
            return Ok(status);
        }
        let began = Began::now();
        let baseline = self.baseline.as_deref().map(baseline::load).transpose()?;
        let read = |folder: &PathBuf| {
            let path = report::file_of(folder);
            Ok((path.display().to_string(), read_report(&path)?))
        };
        let reports = self.parts.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
        let parts = reports.iter().filter_map(|(_, report)| report.provenance.clone()).collect::<Vec<_>>();
        let joined = merge(reports).map_err(|error| Failure::unusable(format!("error: {error}")))?;
        let provenance = began.ended(parts.first().map(|part| part.digests.clone()).unwrap_or_default());
        let mut joined = joined.made(Provenance { parts, ..provenance });
        let comparison = baseline.map(|baseline| baseline::compare(&baseline, &mut joined)).transpose()?;
        let listings = if self.report.is_some() { self.listings(&joined)? } else { Listings::default() };
        if let Some(folder) = &self.report {
            report::create_reports(folder)?;
            let corpus = &self.folders.corpus;
            report::write(folder, &Document::Run { report: &joined, listings: &listings, corpus })?;
        }
        if self.json {
            print_verdict(joined.ending(), &joined)?;
        } else {
            // The shards may or may not have run at the same time.
            let notes = baseline::changes(run::place(self.report.as_deref()), comparison.as_ref());
            print(&run_summary(&joined, Duration::ZERO, &notes, Style::for_stdout()).demangled())?;
        }
        if let Some(comparison) = comparison {
            return gate(&comparison, &joined, self.json);
        }
        Ok(joined.ending().into())
    }

    /// Joins reports of `samples`, if the first one is.
    fn samples(&self) -> Result<Option<Status>, Failure> {
        let mut reports = Vec::new();
        for part in &self.parts {
            match samples::report_of(part)? {
                Some(report) => reports.push((part.display().to_string(), report)),
                None if reports.is_empty() => return Ok(None),
                None => {
                    let message = "this is no report of `samples`, and the first one is";
                    return Err(Failure::unusable(format!("error: {}: {message}", part.display())));
                }
            }
        }
        let report = samples::joined(&reports)?;
        report.map(|report| samples::show(&report, self.report.as_deref(), self.json)).transpose()
    }

    /// The code that the shards have listed in their journals. A shard may come
    /// with its report alone.
    fn listings(&self, joined: &Report) -> Result<Listings, Failure> {
        let unusable = |error: &dyn std::fmt::Display| Failure::unusable(format!("error: {error}"));
        let mut listings: HashMap<String, Listing> = HashMap::new();
        for part in &self.parts {
            let path = part.join(journal::FILE_NAME);
            if path.exists() {
                listings.extend(journal::listings(&path).map_err(|error| unusable(&error))?);
            }
        }
        Listings::of(joined.cases.iter().map(|case| case.id.as_str()), listings)
            .map_err(|error| unusable(&error))
    }
}
