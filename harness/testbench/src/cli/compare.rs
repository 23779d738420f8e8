//! `compare`: two reports beside one another.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use sframe_elf::file;
use sframe_inspect::command::{Failure, Status, Volume, json_text, print, print_verdict, status, volume};
use sframe_kit::conclusion::{Concluded, Ending};
use sframe_samples::changes::SamplesChanges;
use sframe_suite::report::{
    Changes, Results, changes_html, changes_markdown, changes_text, html_of_tables, markdown_of_tables,
};

use super::report::{self, MAX_REPORT_BYTES};
use super::samples;

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
        match (samples::report_of(&self.before)?, samples::report_of(&self.after)?) {
            (None, None) => {}
            (Some(before), Some(after)) => {
                if let Some(why) = before.is_no_pair(&after) {
                    return Err(Failure::unusable(format!("error: {why}")));
                }
                return self.samples(&SamplesChanges::between(&before, &after));
            }
            _ => {
                let message = "error: the reports are of different kinds, and can't be compared: only one is of `samples`";
                return Err(Failure::unusable(message));
            }
        }
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
        let ending = changes.ending();
        self.write(ending, &changes, &changes_markdown(&changes), &changes_html(&changes))?;
        if self.json {
            print_verdict(ending, &changes)?;
        } else if volume() != Volume::Quiet || ending != Ending::Pass {
            print(&changes_text(&changes))?;
        }
        Ok(ending.into())
    }
}

impl Compare {
    fn write(
        &self,
        verdict: Ending,
        document: &impl Serialize,
        markdown: &str,
        html: &str,
    ) -> Result<(), Failure> {
        let Some(folder) = &self.report else { return Ok(()) };
        report::create_reports(folder)?;
        report::replace(&folder.join("changes.json"), &json_text(&Concluded { verdict, document })?)?;
        report::replace(&folder.join("changes.md"), markdown)?;
        report::replace(&folder.join("changes.html"), html)
    }

    fn samples(&self, changes: &SamplesChanges) -> Result<Status, Failure> {
        let (conclusion, tables) = (changes.conclusion(), changes.tables());
        let html = html_of_tables("samples compared", &conclusion, &tables);
        self.write(conclusion.ending, changes, &markdown_of_tables(&conclusion, &tables), &html)?;
        if self.json {
            print_verdict(conclusion.ending, changes)?;
        } else if volume() != Volume::Quiet || conclusion.ending != Ending::Pass {
            print(&changes.text().demangled())?;
        }
        Ok(status(conclusion.ending == Ending::Fail, false, changes.is_enough))
    }
}

fn read(path: &Path) -> Result<Results, Failure> {
    let path = report::file_of(path);
    let unusable =
        |error: &dyn std::fmt::Display| Failure::unusable(format!("error: {}: {error}", path.display()));
    let bytes = file::read(&path, MAX_REPORT_BYTES).map_err(|error| unusable(&error))?;
    Results::parse(&bytes).map_err(|error| unusable(&error))
}
