//! `baseline`: the results that later runs must not fall below.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use sframe_elf::file;
use sframe_inspect::command::{
    Failure, Status, Volume, has_place, note, print, status, tell, volume, write_file,
};
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::text::{Text, counted};
use sframe_suite::report::{Baseline, Change, Comparison, Report, UnfitReport};

use super::report::{MAX_REPORT_BYTES, file_of, read_report};

#[derive(Args)]
pub(crate) struct BaselineCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Accept all results of a run, good or bad.
    Create(Files),
    /// Adopt the improvements of a run. What is worse stays as it was.
    Update(Files),
}

#[derive(Args)]
struct Files {
    /// The file of the baseline.
    baseline: PathBuf,
    /// The report.json of a run, or of merged shards.
    report: PathBuf,
}

impl BaselineCommand {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        match &self.action {
            Action::Create(files) => {
                if files.baseline.exists() {
                    let path = files.baseline.display();
                    let message = format!("error: {path} exists already; `baseline update` tightens it");
                    return Err(Failure::unusable(message));
                }
                let baseline = Baseline::of(&read_report(&file_of(&files.report))?);
                has_place(&files.baseline)?;
                save(&baseline.map_err(|error| unfit(&files.report, &error))?, &files.baseline)?;
                Ok(Status::AsExpected)
            }
            Action::Update(files) => {
                let mut baseline = load(&files.baseline)?;
                let report = read_report(&file_of(&files.report))?;
                baseline.fits(&report).map_err(|error| unfit(&files.report, &error))?;
                let comparison = baseline.compare(&report);
                let before = baseline.clone();
                baseline.tighten(&report);
                if baseline != before {
                    save(&baseline, &files.baseline)?;
                }
                tell_left_out(&comparison, &report);
                let mut text = describe(&comparison);
                let conclusion = of_update(&comparison);
                conclusion.show(&mut text);
                print(&text)?;
                Ok(conclusion.ending.into())
            }
        }
    }
}

/// Compares a run with a baseline, and says in its report what fails as it did.
pub(super) fn compare(baseline: &Baseline, report: &mut Report) -> Result<Comparison, Failure> {
    baseline.fits(report).map_err(|error| Failure::unusable(format!("error: --baseline: {error}")))?;
    let comparison = baseline.compare(report);
    report.set_against(baseline, &comparison);
    Ok(comparison)
}

/// How an update has ended: what is worse stays as it was.
fn of_update(comparison: &Comparison) -> Conclusion {
    let Comparison { worse, better, new, .. } = comparison;
    let worse = match worse.len() as u64 {
        0 => "nothing is worse".to_owned(),
        count => {
            format!("{} worse than in the baseline, which stays as it was there", counted(count, "result"))
        }
    };
    let better = format!(
        "{} better, {}",
        counted(better.len() as u64, "result"),
        counted(new.len() as u64, "new case")
    );
    let ending = if comparison.worse.is_empty() { Ending::Pass } else { Ending::Fail };
    Conclusion { ending, facts: vec![worse, better] }
}

/// Adds to what stands above a run's last line what has changed.
pub(super) fn changes(mut notes: Text, comparison: Option<&Comparison>) -> Text {
    comparison.into_iter().for_each(|comparison| notes.append(&describe(comparison)));
    notes
}

/// Says what has changed where [`changes`] are not shown, and returns the run's final status.
pub(super) fn gate(comparison: &Comparison, report: &Report, is_json: bool) -> Result<Status, Failure> {
    if is_json {
        tell(&describe(comparison));
    } else if volume() == Volume::Quiet {
        print(&describe(comparison))?;
    }
    tell_left_out(comparison, report);
    if !comparison.better.is_empty() {
        note("better than the baseline: tighten it with `baseline update`");
    } else if !comparison.new.is_empty() {
        note("not all of it is in the baseline: add it with `baseline update`");
    }
    Ok(status(!comparison.worse.is_empty(), false, report.summary.counts.comparisons > 0))
}

fn unfit(path: &Path, error: &UnfitReport) -> Failure {
    Failure::unusable(format!("error: {}: {error}", path.display()))
}

/// Prints how much of the baseline the run does not cover.
fn tell_left_out(comparison: &Comparison, report: &Report) {
    if comparison.left_out == 0 {
        return;
    }
    let selection = report.run.as_ref().map(|run| format!("selection: {}", run.selection));
    let shard = report.shard.map(|shard| format!("shard {shard}"));
    let why: Vec<String> = shard.into_iter().chain(selection).collect();
    let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join(", ")) };
    let cases = counted(comparison.left_out, "case");
    note(format_args!("not run: {cases} of the baseline{why}"));
}

pub(super) fn load(path: &Path) -> Result<Baseline, Failure> {
    let unusable =
        |error: &dyn std::fmt::Display| Failure::unusable(format!("error: {}: {error}", path.display()));
    let bytes = file::read(path, MAX_REPORT_BYTES).map_err(|error| unusable(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| unusable(&error))?;
    Baseline::parse(&text).map_err(|error| unusable(&error))
}

fn save(baseline: &Baseline, path: &Path) -> Result<(), Failure> {
    let text = baseline.text().map_err(|error| Failure::broken(format!("error: {error}")))?;
    write_file(path, &text)
}

/// Describes what has changed, one line each.
fn describe(comparison: &Comparison) -> Text {
    let mut text = Text::default();
    let mut lines = |word: &str, changes: &[Change]| {
        for change in changes {
            text.line(format_args!("{word:<7} {change}"));
        }
    };
    lines("worse", &comparison.worse);
    lines("better", &comparison.better);
    for case in &comparison.new {
        text.line(format_args!("new     {case}"));
    }
    text
}
