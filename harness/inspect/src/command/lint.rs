//! `lint`: applies the format's rules to files.

use std::path::PathBuf;

use crate::diff::{DiffError, DiffReport, diff_file};
use crate::known::Known;
use crate::lint::{LintError, LintReport, Log, lint_file};
use clap::Args;
use sframe_kit::conclusion::{Concluded, Ending};
use sframe_kit::percent::Percent;

use super::diff::PointOut;
use super::each::{Inspect, Show, Stop, execute};
use super::exit::{Failure, Status};
use super::subject::{Subject, SubjectError};
use super::volume::{Volume, volume};
use super::{json_text, write_file};

/// The arguments of `lint`.
#[derive(Args, Debug)]
pub struct Lint {
    /// ELF files, linked or relocatable, archives of them, files with the bytes of a section, folders with ELF
    /// files and archives, or - for standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Load object files as a kernel loads modules, at its addresses, and sort their FDEs.
    #[arg(long)]
    as_module: bool,
    /// Which share of the instructions whose call frame information can be expressed must have an FDE: `all`, or a
    /// percentage. Below that, functions without one are findings. Of files without call frame information nothing is
    /// known: the status is 3.
    #[arg(long, value_name = "SHARE", value_parser = Percent::to_reach)]
    coverage: Option<Percent>,
    /// Write a report about all of them in SARIF 2.1.0 to this file.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Print the report as JSON instead of text.
    #[arg(long)]
    json: bool,
}

impl Lint {
    /// Executes the command; `program` is the name under which the user called it.
    ///
    /// # Errors
    /// An argument or file can't be used.
    pub fn execute(&self, program: &str) -> Result<Status, Failure> {
        self.execute_with(program, &|_, _| {}, &())
    }

    /// Executes the command. `point_out` says of functions without an FDE which known bugs they seem to come from. What
    /// is `known` fails nothing.
    ///
    /// # Errors
    /// As for [`Self::execute`].
    pub fn execute_with(
        &self,
        program: &str,
        point_out: &PointOut,
        known: &dyn Known,
    ) -> Result<Status, Failure> {
        self.sarif.as_deref().map_or(Ok(()), super::has_place)?;
        let log = self.sarif.is_some().then(Log::default);
        let (coverage, as_module) = (self.coverage, self.as_module);
        let mut linter = Linter { log, coverage, as_module, lacked_section: false, point_out, known };
        let status = execute(&mut linter, &self.files, self.json);
        if let (Ok(Status::Broken), Some(log)) = (&status, &mut linter.log) {
            log.interrupt();
        }
        // Though standard output may be full. There is none of a single file that can't be used.
        if let (Some(path), Some(log)) =
            (&self.sarif, linter.log.filter(|log| status.is_ok() || !log.is_empty()))
        {
            let ending = match &status {
                Ok(Status::Broken) => Ending::Interrupted,
                status => status.as_ref().map_or(Ending::Error, |status| (*status).into()),
            };
            write_file(path, &json_text(&log.document(program, ending))?)?;
        }
        status
    }
}

struct Linter<'k> {
    /// What is written at the end, if it is asked for.
    log: Option<Log>,
    coverage: Option<Percent>,
    as_module: bool,
    lacked_section: bool,
    point_out: &'k PointOut,
    known: &'k dyn Known,
}

impl Inspect for Linter<'_> {
    fn lacked_section(&self) -> bool {
        self.lacked_section
    }

    fn loads_modules(&self) -> bool {
        self.as_module
    }

    fn inspect(&mut self, file: &Subject, show: &mut impl Show) -> Result<Status, Stop> {
        let share = self.coverage.filter(|share| *share > Percent::NONE);
        let linted = lint_file(file.source(), &file.name);
        let missing = share
            .and(linted.as_ref().err())
            .and_then(|error| LintReport::of_missing_section(error, file.source(), &file.name));
        self.lacked_section = missing.is_some();
        let mut is_covered = !self.lacked_section;
        let mut report = missing.map_or_else(|| file.checked(linted), Ok)?;
        if let Some(share) = share.filter(|_| is_covered) {
            let mut diff = match diff_file(file.source(), &file.name) {
                Err(error @ (DiffError::NoCfi | DiffError::NotElf)) => {
                    report.coverage_unknown = Some(format!("--coverage has nothing to go by: {error}"));
                    None
                }
                // The linter says what is wrong with the section.
                Err(DiffError::Section(_)) => None,
                made => Some(file.checked(made)?),
            };
            if diff.as_ref().is_some_and(DiffReport::has_no_cfi) {
                let why = "--coverage has nothing to go by: no function has call frame information";
                report.coverage_unknown = Some(why.to_owned());
            }
            diff.iter_mut().for_each(|diff| (self.point_out)(file.source(), diff));
            is_covered = diff.is_none_or(|diff| report.require_coverage(&diff, share));
        }
        report.settle(self.known);
        is_covered |= !report.lacks_fdes();
        if let Some(log) = &mut self.log {
            log.add(&report);
        }
        let status = match report.summary.errors > 0 || !is_covered {
            true => Status::Finding,
            false if report.coverage_unknown.is_some() => Status::NothingCompared,
            false => Status::AsExpected,
        };
        let concluded = Concluded { verdict: status.into(), document: &report };
        show.show(&concluded, || match volume() {
            Volume::Quiet => vec![report.brief()],
            _ => vec![report.text().demangled(), report.conclusion(status.into()).text()],
        })?;
        Ok(status)
    }
}

impl SubjectError for LintError {
    fn lacks_section(&self) -> bool {
        matches!(self, Self::NoSection(_))
    }
}
