//! Whether code that can have an FDE has one: by call frame information, and only if it is asked for.

use super::catalogue::MISSING_FDE;
use super::elf::LintError;
use super::report::{Finding, LintReport, Summary};
use crate::diff::{DiffReport, Missing};
use crate::elf::find_sframe::MissingSection;
use crate::elf::object_file::ObjectFile;
use crate::percent::Percent;
use crate::source::Source;
use crate::text::counted;

impl LintReport {
    /// That of a file without a section, of whose functions some have call frame information: none of them has an FDE.
    /// `None` if the file can't be used for another reason, or has no such function.
    #[must_use]
    pub fn of_missing_section(error: &LintError, source: Source<'_>, name: &str) -> Option<Self> {
        if !matches!(error, LintError::NoSection(MissingSection::Absent)) {
            return None;
        }
        let file = ObjectFile::parse(source).ok()?;
        let functions = file.call_frame_info()?.fdes().len() as u64;
        let described = format!("call frame information describes {}", counted(functions, "function"));
        let message = MISSING_FDE.sentence(&[error, &described]).to_string();
        (functions > 0).then(|| Self {
            schema: 1,
            file: name.to_owned(),
            abi: file.abi().map(|abi| abi.name()),
            sframe_version: None,
            summary: Summary { warnings: 1, ..Summary::default() },
            coverage_unknown: None,
            findings: vec![Finding::new(&MISSING_FDE, 0, message)],
        })
    }

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
