//! `compare`: two reports beside one another.

use std::path::{Path, PathBuf};

use clap::Args;
use sframe_elf::file;
use sframe_inspect::command::{Failure, Status, Volume, print, print_verdict, volume};
use sframe_suite::report::{Changes, Results, changes_html, changes_markdown, changes_text};

use super::report::{self, MAX_REPORT_BYTES};

#[derive(Args)]
pub(crate) struct Compare {
    /// The earlier report: report.json, or the folder that has it.
    before: PathBuf,
    /// The later one.
    after: PathBuf,
    /// Write changes.html, changes.json and changes.md into this folder.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Print the changes as JSON instead of text.
    #[arg(long)]
    json: bool,
}

impl Compare {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        let (before, after) = (read(&self.before)?, read(&self.after)?);
        if before.kind() != after.kind() {
            let kinds = [before.kind().says(), after.kind().says()];
            let message = format!(
                "error: the reports are of different kinds, and can't be compared: the first is {}, the second {}",
                kinds[0], kinds[1]
            );
            return Err(Failure::unusable(message));
        }
        if !before.has_same_sample(&after) {
            let message = "error: the reports have compared different samples of the instructions, or other things were asked \
                           (--require-reliable, --no-explore, --stops-per-case, --coverage), so that what one of them lacks \
                           may be left out: compare reports of the same sample and options";
            return Err(Failure::unusable(message));
        }
        if !before.has_same_sections(&after) {
            let message = "error: the reports have judged other sections of the same files, those of .sframe or those \
                           that .eh_frame implies: compare reports with the same --from";
            return Err(Failure::unusable(message));
        }
        let changes = Changes::between(&before, &after);
        if let Some(folder) = &self.report {
            report::create_reports(folder)?;
            let json = sframe_inspect::command::json_text(&changes)?;
            report::replace(&folder.join("changes.json"), &json)?;
            report::replace(&folder.join("changes.md"), &changes_markdown(&changes))?;
            report::replace(&folder.join("changes.html"), &changes_html(&changes))?;
        }
        let status = match () {
            () if changes.is_worse() => Status::Finding,
            () if changes.has_nothing_in_common() => Status::NothingCompared,
            () => Status::AsExpected,
        };
        if self.json {
            print_verdict(status.into(), &changes)?;
        } else if volume() != Volume::Quiet || status != Status::AsExpected {
            print(&changes_text(&changes, status.into()))?;
        }
        Ok(status)
    }
}

fn read(path: &Path) -> Result<Results, Failure> {
    let path = report::file_of(path);
    let unusable =
        |error: &dyn std::fmt::Display| Failure::unusable(format!("error: {}: {error}", path.display()));
    let bytes = file::read(&path, MAX_REPORT_BYTES).map_err(|error| unusable(&error))?;
    Results::parse(&bytes).map_err(|error| unusable(&error))
}
