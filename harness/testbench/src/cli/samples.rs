//! `samples`: stacks that were recorded on real machines.

use std::path::{Path, PathBuf};

use clap::Args;
use sframe_inspect::command::{Failure, Status, print, print_verdict, status};
use sframe_judge::explore::Progress;
use sframe_samples::process::Files;
use sframe_samples::read;
use sframe_samples::report::SamplesReport;

use super::check::JudgedSection;
use super::interrupt::requests_here;
use super::isolation::{CacheOptions, explorer_of_files};

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
    /// Print the report as JSON instead of text.
    #[arg(long)]
    json: bool,
}

impl Samples {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        if !self.root.is_dir() {
            return Err(Failure::unusable(format!("error: --root: {} is not a folder", self.root.display())));
        }
        let stop = requests_here().map_err(|error| Failure::broken(format!("error: {error}")))?;
        let progress = Progress::new(stop);
        let mut all: Option<SamplesReport> = None;
        for path in &self.files {
            let unusable = |error: &dyn std::fmt::Display| {
                Failure::unusable(format!("error: {}: {error}", path.display()))
            };
            let report = self.report(path, &progress).map_err(|error| unusable(&*error))?;
            all = Some(match all {
                None => report,
                Some(mut all) => {
                    all.add(report).map_err(|error| unusable(&error))?;
                    all
                }
            });
            if progress.stop.reason().is_some() {
                break;
            }
        }
        let Some(report) = all else { return Err(Failure::unusable("error: no file".to_owned())) };
        if self.json {
            print_verdict(report.conclusion().ending, &report)?;
        } else {
            print(&report.text().demangled())?;
        }
        Ok(status(report.wrong() > 0, report.interrupted, report.is_enough()))
    }

    fn report(&self, path: &Path, progress: &Progress) -> Result<SamplesReport, Box<dyn std::error::Error>> {
        let recording = read::recording(path, &self.root)?;
        let files = Files::read(&recording, &self.root, path)?;
        let made = files.make(self.from.source());
        let explorer = explorer_of_files(&self.cache);
        let name = path.display().to_string();
        Ok(SamplesReport::of(&name, &recording, &files, &made, &explorer, progress))
    }
}
