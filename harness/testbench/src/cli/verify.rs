//! `verify`: what an unwinder may claim.

use std::path::PathBuf;

use clap::Args;
use sframe_corpus::yaml;
use sframe_inspect::command::{Failure, Status, Volume, print, volume};
use sframe_kit::conclusion::Ending;
use sframe_suite::report::{Claim, Waiver};
use sframe_suite::suite::Filter;

use super::options::Folders;
use super::report::{file_of, read_report};

#[derive(Args)]
pub(crate) struct Verify {
    /// The report of `run`, or of merged shards: report.json, or the folder that has it.
    report: PathBuf,
    #[command(flatten)]
    folders: Folders,
    /// Failing cases that may be there until a day: a list in YAML, each with `case` (a pattern), `reason`, `link` and
    /// `expires`.
    #[arg(long, value_name = "FILE")]
    waivers: Option<PathBuf>,
}

impl Verify {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        let path = file_of(&self.report);
        let report = read_report(&path)?;
        let waivers = self.waivers.as_deref().map(yaml::read::<Vec<Waiver>>).transpose();
        let waivers = waivers.map_err(|error| Failure::unusable(format!("error: {error}")))?;
        let filter = Filter::default();
        let suite = self.folders.open(&filter)?;
        let cases = suite.cases(&filter)?;
        let claim = Claim::of(&report, &suite, &cases, &waivers.unwrap_or_default());
        let claim =
            claim.map_err(|error| Failure::unusable(format!("error: {}: {error}", path.display())))?;
        let (mut text, conclusion) = (claim.text(), claim.conclusion());
        conclusion.show(&mut text);
        if conclusion.ending != Ending::Pass || volume() != Volume::Quiet {
            print(&text)?;
        }
        Ok(conclusion.ending.into())
    }
}
