//! Whether code that can have an FDE has one: by call frame information, and only if it is asked for.

use super::catalogue::MISSING_FDE;
use super::report::{Finding, LintReport};
use crate::diff::{DiffReport, Missing};
use crate::percent::Percent;

impl LintReport {
    /// Adds the functions that have no FDE, unless this share of what the version can express has some. Returns whether
    /// it has.
    pub fn require_coverage(&mut self, diff: &DiffReport, share: Percent) -> bool {
        if diff.reaches(share) {
            return true;
        }
        let finding = |missing: &Missing| {
            let message = MISSING_FDE.sentence(&[&missing.message, &missing.names()]).to_string();
            Finding::new(&MISSING_FDE, 0, message)
        };
        self.findings.extend(diff.missing.iter().map(finding));
        self.summary.warnings += diff.missing.len();
        false
    }
}
