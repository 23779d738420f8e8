//! Files that were explored together: what is wrong in all of them by cause, and a line for each file.

use std::collections::BTreeMap;

use serde::Serialize;
use sframe_judge::finding::Finding;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::json::SCHEMA;
use sframe_kit::text::{Text, counted, grouped};

use super::ExploreReport;
use super::diagnostic::Style;

/// What was said of a file that can't be explored.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedFile {
    /// The file.
    pub file: String,
    /// What is wrong with it.
    pub error: String,
}

/// Several files, in the order in which they were explored.
#[derive(Clone, Debug)]
pub struct ExploredFiles {
    /// How the command ends.
    pub ending: Ending,
    /// Those that were explored.
    pub reports: Vec<ExploreReport>,
    /// Those that could not be.
    pub refused: Vec<RefusedFile>,
}

/// The columns of the table of files.
pub(super) const COLUMNS: [&str; 7] = ["file", "ABI", "rows", "checked", "wrong", "possibly wrong", "result"];

/// The most files that are listed at a cause.
pub(super) const LISTED: usize = 3;

/// Findings that seem to have one cause: how many there are, and in which files.
pub(super) type Cause<'r> = (String, u64, Vec<&'r str>);

impl ExploredFiles {
    /// How it ends, of how many files.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let sum = |of: fn(&ExploreReport) -> u64| self.reports.iter().map(of).sum::<u64>();
        let wrong = self.reports.iter().filter(|report| report.proved().next().is_some()).count();
        let mut facts = vec![
            format!(
                "{} of {} with findings",
                grouped(wrong as u64),
                counted(self.reports.len() as u64, "explored file")
            ),
            format!(
                "{} of {} checked: {} wrong, {} possibly wrong",
                grouped(sum(|report| report.summary.rows_checked)),
                counted(sum(|report| report.summary.rows_total), "row"),
                grouped(sum(|report| report.summary.rows_wrong)),
                grouped(sum(|report| report.summary.rows_possible))
            ),
        ];
        let unchecked = self.reports.iter().filter(|report| report.without_result().is_some()).count() as u64;
        if unchecked > 0 {
            let is_why = self.ending == Ending::Inconclusive;
            facts.insert(
                if is_why { 0 } else { facts.len() },
                format!("{} inconclusive", counted(unchecked, "file")),
            );
        }
        if !self.refused.is_empty() {
            let refused = format!("{} could not be explored", counted(self.refused.len() as u64, "file"));
            // What made the verdict comes first.
            facts.insert(if self.ending == Ending::Error { 0 } else { facts.len() }, refused);
        }
        facts.splice(..0, self.left().map(str::to_owned));
        Conclusion { ending: self.ending, facts }
    }

    /// Why not all files are here, if some are left.
    pub(super) fn left(&self) -> Option<&'static str> {
        (self.ending == Ending::Interrupted).then_some("interrupted: not all files were explored")
    }

    /// What is wrong, by cause: what is in most files first.
    pub(super) fn causes(&self) -> Vec<Cause<'_>> {
        let mut causes: BTreeMap<String, (u64, Vec<&str>)> = BTreeMap::new();
        for report in &self.reports {
            for found in report.proved() {
                let (count, files) = causes.entry(cause_of(&found.finding)).or_default();
                *count += 1;
                if files.last() != Some(&&*report.file) {
                    files.push(&report.file);
                }
            }
        }
        let mut causes: Vec<Cause<'_>> =
            causes.into_iter().map(|(cause, (count, files))| (cause, count, files)).collect();
        causes.sort_by_key(|(_, count, files)| std::cmp::Reverse((files.len(), *count)));
        causes
    }

    /// The cells of a file's row in the table.
    pub(super) fn cells(report: &ExploreReport) -> [String; COLUMNS.len()] {
        let summary = &report.summary;
        let counts = [summary.rows_total, summary.rows_checked, summary.rows_wrong, summary.rows_possible];
        let [total, checked, wrong, possible] = counts.map(grouped);
        let ending = report.conclusion().ending.to_string();
        [report.file.clone(), report.abi.to_string(), total, checked, wrong, possible, ending]
    }

    /// The findings of a file.
    pub(super) fn findings(report: &ExploreReport) -> Text {
        let mut shown = Text::default();
        report.show_findings(&mut shown, Style::default());
        shown.demangled()
    }

    pub(super) fn with_findings(&self) -> impl Iterator<Item = &ExploreReport> {
        self.reports.iter().filter(|report| report.proved().next().is_some())
    }
}

/// The document, as `--json` prints it.
impl Serialize for ExploredFiles {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Files<'f> {
            schema: u32,
            files: Vec<File<'f>>,
        }
        #[derive(Serialize)]
        #[serde(untagged)]
        enum File<'f> {
            Explored(&'f ExploreReport),
            Refused(&'f RefusedFile),
        }
        let files = self.reports.iter().map(File::Explored);
        let files = files.chain(self.refused.iter().map(File::Refused)).collect();
        Files { schema: SCHEMA, files }.serialize(serializer)
    }
}

/// What a finding seems to come from.
fn cause_of(finding: &Finding) -> String {
    match &finding.fault {
        Some(fault) => fault.to_string(),
        None => format!("{}: likely cause: {}", finding.verdict, finding.blame),
    }
}
