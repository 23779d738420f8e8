//! `mutate`: measures how many broken sections the bench catches.

use std::time::Instant;

use clap::Args;
use sframe_inspect::command::{Failure, Status, Volume, print, print_verdict, status, volume};
use sframe_kit::conclusion::Ending;
use sframe_search::mutate::mutation_summary;
use sframe_search::mutate::{Operator, Plan, mutate};

use super::interrupt::requests_here;
use super::numbers;
use super::options::{Folders, MachineOptions, parse_jobs, set_jobs};
use super::run::{Selection, progress_bar};

#[derive(Args)]
pub(crate) struct Mutate {
    #[command(flatten)]
    folders: Folders,
    #[command(flatten)]
    selection: Selection,
    /// Only mutants that this operator makes (repeatable).
    #[arg(long, value_name = "OPERATOR")]
    operator: Vec<Operator>,
    /// Judge mutants of the executables' rows as `explore` does, instead of running the cases.
    #[arg(long)]
    explore: bool,
    #[command(flatten)]
    machine: MachineOptions,
    /// Try only this many mutants, chosen by the seed.
    #[arg(long, value_name = "N", value_parser = numbers::count::<usize>(numbers::FROM_ZERO, "mutants"))]
    sample: Option<usize>,
    /// Seed for the choice of mutants: the same seed chooses the same ones.
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = numbers::seed)]
    seed: u64,
    /// How many builds to work on at once; 0 for one per processor.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_jobs)]
    jobs: usize,
    /// Print the report as JSON instead of the summary.
    #[arg(long)]
    json: bool,
}

impl Mutate {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        let stop = requests_here();
        set_jobs(self.jobs)?;
        let suite = self.folders.open(&self.selection.filter())?;
        let cases = suite.cases(&self.selection.filter())?;
        let plan = Plan {
            operators: self.operator.clone(),
            sample: self.sample,
            seed: self.seed,
            explores: self.explore,
            stop,
            ..Plan::default()
        };
        let builds: std::collections::BTreeSet<_> = cases.iter().map(|case| &case.build.id).collect();
        let bar = progress_bar(builds.len() as u64, "builds");
        let start = Instant::now();
        let report = mutate(&cases, suite.corpus(), &self.machine.options(), &plan, &|| bar.inc(1))
            .map_err(|error| Failure::broken(format!("error: {error}")))?;
        bar.finish_and_clear();
        let status = status(!report.survived.is_empty(), false, report.total.killed > 0);
        let is_left = report.left_builds > 0;
        let (status, ending) =
            if is_left { (Status::Broken, Ending::Interrupted) } else { (status, status.into()) };
        if self.json {
            print_verdict(ending, &report)?;
        } else if volume() != Volume::Quiet || status != Status::AsExpected {
            print(&mutation_summary(&report, ending, start.elapsed()))?;
        }
        Ok(status)
    }
}
