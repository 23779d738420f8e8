//! `samples`: stacks that were recorded on real machines.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args;
use sframe_elf::file;
use sframe_inspect::command::{Failure, Status, print, print_verdict, status};
use sframe_judge::explore::Progress;
use sframe_samples::process::Files;
use sframe_samples::read;
use sframe_samples::report::{SamplesReport, WalkedSample};
use sframe_suite::report::Document;

use super::check::JudgedSection;
use super::interrupt::requests_here;
use super::isolation::{CacheOptions, explorer_of_files};
use super::report::{self, MAX_REPORT_BYTES};

#[derive(Args)]
pub(crate) struct Samples {
    /// Recordings of `perf record --call-graph dwarf`, or core dumps, of one ABI, from any machine.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The folder below which the files of that machine are, by the paths that were recorded.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Which section of each file to walk with.
    #[arg(long, value_name = "SECTION", value_enum, default_value_t = JudgedSection::Sframe)]
    from: JudgedSection,
    #[command(flatten)]
    cache: CacheOptions,
    /// Write the frames of each sample by each method into this file, a JSON line for each: to compare another unwinder
    /// with.
    #[arg(long, value_name = "FILE")]
    walks: Option<PathBuf>,
    /// Write report.html, report.json, report.sarif and summary.md into this folder.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Print the report as JSON instead of text.
    #[arg(long)]
    json: bool,
}

impl Samples {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        if !self.root.is_dir() {
            return Err(Failure::unusable(format!("error: --root: {} is not a folder", self.root.display())));
        }
        self.report.as_deref().map_or(Ok(()), report::begin)?;
        let stop = requests_here();
        let progress = Progress::new(stop);
        let mut reports = Vec::new();
        let mut lines = String::new();
        for path in &self.files {
            let name = path.display().to_string();
            let report = self.walked(path, &progress, &mut lines);
            reports.push((
                name.clone(),
                report.map_err(|error| Failure::unusable(format!("error: {name}: {error}")))?,
            ));
            if progress.stop.reason().is_some() {
                break;
            }
        }
        if let Some(path) = &self.walks {
            report::replace(path, &lines)?;
        }
        let Some(report) = joined(&reports)? else {
            return Err(Failure::unusable("error: no file".to_owned()));
        };
        show(&report, self.report.as_deref(), self.json)
    }

    fn walked(
        &self,
        path: &Path,
        progress: &Progress,
        lines: &mut String,
    ) -> Result<SamplesReport, Box<dyn std::error::Error>> {
        let recording = read::recording(path, &self.root)?;
        let files = Files::read(&recording, &self.root, path)?;
        let made = files.make(self.from.source());
        let explorer = explorer_of_files(&self.cache);
        let name = path.display().to_string();
        let mut each = |walked: WalkedSample| {
            if self.walks.is_some() {
                // Numbers and names can always be written.
                lines.push_str(&serde_json::to_string(&walked).unwrap_or_default());
                lines.push('\n');
            }
        };
        Ok(SamplesReport::of(&name, &recording, &files, &made, &explorer, progress, &mut each))
    }
}

/// Prints a report, and writes it into a folder.
pub(super) fn show(report: &SamplesReport, folder: Option<&Path>, as_json: bool) -> Result<Status, Failure> {
    if let Some(folder) = folder {
        report::create_reports(folder)?;
        report::write(folder, &Document::Samples { report })?;
    }
    if as_json {
        print_verdict(report.conclusion().ending, report)?;
    } else {
        print(&report.text().demangled())?;
    }
    Ok(status(report.wrong() > 0, report.interrupted, report.is_enough()))
}

/// Reads a report of samples. `None` if it is of something else.
pub(super) fn report_of(path: &Path) -> Result<Option<SamplesReport>, Failure> {
    let path = report::file_of(path);
    let unusable = |error: &dyn Display| Failure::unusable(format!("error: {}: {error}", path.display()));
    let bytes = file::read(&path, MAX_REPORT_BYTES).map_err(|error| unusable(&error))?;
    // What is no report at all gets its error where other reports are read.
    if !report::has_key(&bytes, "recordings") {
        return Ok(None);
    }
    SamplesReport::parse(&bytes).map(Some).map_err(|error| unusable(&error))
}

/// Joins reports of samples of one ABI.
pub(super) fn joined(reports: &[(String, SamplesReport)]) -> Result<Option<SamplesReport>, Failure> {
    let mut all: Option<SamplesReport> = None;
    for (index, (name, report)) in reports.iter().enumerate() {
        if reports[..index].iter().any(|(_, earlier)| earlier == report) {
            return Err(Failure::unusable(format!("error: {name}: it is there twice")));
        }
        let report = report.clone();
        match &mut all {
            None => all = Some(report),
            Some(all) => {
                all.add(report).map_err(|error| Failure::unusable(format!("error: {name}: {error}")))?;
            }
        }
    }
    Ok(all)
}
