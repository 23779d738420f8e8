//! `explore`: judges every row of a file without running it.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Instant;

use clap::Args;
use sframe_inspect::command::{Failure, Status, detail, detail_since, print, print_json};
use sframe_inspect::text::counted;
use sframe_judge::explore::{
    ExploreError, ExploreOptions, ExploredFile, Job, Progress, Roots, explore_isolated,
};
use sframe_judge::target::Loaded;
use sframe_suite::faults::point_out;
use sframe_suite::provenance::Began;
use sframe_suite::report::{Document, ExploreReport, Style};
use sframe_suite::spec::NamePattern;

use super::check::{JudgedSection, with_advice};
use super::interrupt::requests_here;
use super::isolation::{EXPLORER, Limits, SECONDS_OF_A_BATCH};
use super::known::KnownOptions;
use super::options::parse_jobs;
use super::progress::FunctionsLine;
use super::report;
use super::reproduce::Invocation;

#[derive(Args)]
pub(crate) struct Explore {
    /// An executable, shared library or object file for amd64, aarch64, aarch64_be or s390x.
    file: PathBuf,
    /// Which section of the file to judge.
    #[arg(long, value_name = "SECTION", value_enum, default_value_t = JudgedSection::Sframe)]
    from: JudgedSection,
    /// Explore only functions with names that match, or at this address. Repeatable.
    #[arg(long, value_name = "GLOB")]
    functions: Vec<NamePattern>,
    /// Instruction limit of a function, with each of two sets of arguments.
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = ExploreOptions::default().budget,
          value_parser = clap::value_parser!(u64).range(1..))]
    budget: u64,
    /// Number of processes; 0 for one per processor.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_jobs)]
    jobs: usize,
    /// Address space of a process.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::MEMORY,
          value_parser = clap::value_parser!(u64).range(1..))]
    memory: u64,
    /// How long a few functions may take.
    #[arg(long, value_name = "SECONDS", default_value_t = SECONDS_OF_A_BATCH,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    #[command(flatten)]
    known: KnownOptions,
    /// Also show findings that are not proved.
    #[arg(long)]
    possible: bool,
    /// Write report.html, report.json, report.sarif and summary.md into this folder.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Print the report as JSON instead of the summary.
    #[arg(long)]
    json: bool,
}

impl Explore {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        let name = self.file.display().to_string();
        let unusable = |error: &ExploreError| match error {
            ExploreError::Target(error) => {
                Failure::unusable(format!("error: {name}: {}", with_advice(error)))
            }
            _ => Failure::unusable(format!("error: {name}: {error}")),
        };
        let began = Began::now();
        let known = self.known.open()?;
        let source = self.from.source();
        let file = ExploredFile::read(&self.file, source).map_err(|error| unusable(&error))?;
        let target = file.open().map_err(|error| unusable(&error))?;
        self.report.as_deref().map_or(Ok(()), report::begin)?;
        let mut roots = Roots::of(&target);
        if !self.functions.is_empty() {
            roots.retain(|entry| {
                let place = target.place(Loaded(entry));
                let address = format!("{:#x}", place.address);
                let names = [place.function.unwrap_or_default(), &address];
                self.functions.iter().any(|pattern| names.iter().any(|name| pattern.matches(name)))
            });
        }
        let jobs = match self.jobs {
            0 => available_parallelism().map_or(1, usize::from),
            jobs => jobs,
        };
        let broken = |error: &dyn std::fmt::Display| Failure::broken(format!("error: {name}: {error}"));
        let progress = Arc::new(Progress::new(requests_here().map_err(|error| broken(&error))?));
        let isolation = Limits::new(self.memory, self.timeout).workers(EXPLORER);
        let options = ExploreOptions { budget: self.budget };
        let job = Job { file: &self.file, source, target: &target, roots: &roots, options };
        detail(|| {
            format!(
                "{} of {name}, by {}",
                counted(roots.entries.len() as u64, "function"),
                counted(jobs as u64, "worker")
            )
        });
        let start = Instant::now();
        let line = FunctionsLine::begin(&progress);
        let explored = explore_isolated(&job, &isolation, jobs, &progress);
        drop(line);
        detail_since(start, || "explored");
        let explored = explored.map_err(|error| match error {
            ExploreError::Unloadable(_) => unusable(&error),
            error => broken(&error),
        })?;
        let report = ExploreReport::new(name.clone(), &target, explored).of_relocatable(file.unapplied());
        let mut report = report.reproduced_by(Invocation::of_this_process().again());
        report.provenance = Some(began.ended([(name.clone(), file.digest().to_owned())]));
        point_out(report.findings.iter_mut().map(|found| &mut found.finding), &target, known.faults());
        let report = known.apply_to_exploration(report)?;
        if let Some(folder) = &self.report {
            report::write(folder, &Document::Explore { report: &report })?;
        }
        if self.json {
            print_json(&report)?;
        } else {
            print(&report.text(self.possible, Style::for_stdout()))?;
        }
        Ok(if report.proved().next().is_some() {
            Status::Finding
        } else if report.summary.rows_judged == 0 {
            Status::NothingCompared
        } else {
            Status::AsExpected
        })
    }
}
