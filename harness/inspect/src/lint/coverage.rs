//! Whether code that can have an FDE has one: by call frame information, and only if it is asked for.

use super::catalogue::MISSING_FDE;
use super::elf::LintError;
use super::report::{Finding, LintReport, Summary};
use crate::diff::{DiffReport, Missing};
use sframe_elf::find_sframe::MissingSection;
use sframe_elf::object_file::ObjectFile;
use sframe_elf::relocatable::lay_out;
use sframe_elf::source::Source;
use sframe_kit::percent::Percent;
use sframe_kit::text::counted;

/// How much call frame information describes of a file, if it describes something: that can have a section.
pub(crate) fn described(source: Source<'_>) -> Option<String> {
    // Objects have .debug_frame only once relocations are applied.
    let laid_out = lay_out(source).ok()?;
    let source = laid_out.as_ref().map_or(source, Source::from);
    let functions = ObjectFile::parse(source).ok()?.call_frame_info()?.fdes().len() as u64;
    (functions > 0).then(|| format!("call frame information describes {}", counted(functions, "function")))
}

impl LintReport {
    /// That of a file without a section, of whose functions some have call frame information: none of them has an FDE.
    /// `None` if the file can't be used for another reason, or has no such function.
    #[must_use]
    pub fn of_missing_section(error: &LintError, source: Source<'_>, name: &str) -> Option<Self> {
        if !matches!(error, LintError::NoSection(MissingSection::Absent)) {
            return None;
        }
        let message = MISSING_FDE.sentence(&[error, &described(source)?]).to_string();
        let file = ObjectFile::parse(source).ok()?;
        Some(Self {
            schema: 1,
            file: name.to_owned(),
            abi: file.abi().map(|abi| abi.name()),
            sframe_version: None,
            summary: Summary { warnings: 1, ..Summary::default() },
            coverage_unknown: None,
            findings: vec![Finding::new(&MISSING_FDE, 0, message)],
            known: Vec::new(),
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
            let places = missing.functions.len() as u64;
            Finding { places, fault: missing.fault.clone(), ..Finding::new(&MISSING_FDE, 0, message) }
        };
        self.findings.extend(diff.missing.iter().map(finding));
        self.summary.warnings += diff.missing.len();
        false
    }
}
