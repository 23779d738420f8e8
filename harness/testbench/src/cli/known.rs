//! Options of `check` for findings that are known.

use std::path::{Path, PathBuf};

use clap::Args;
use sframe_corpus::failure::of_documents;
use sframe_corpus::spec::{Faults, KnownFile};
use sframe_corpus::yaml;
use sframe_engine::Abi;
use sframe_inspect::command::{Failure, has_place, tell_line};
use sframe_judge::finding::Finding;
use sframe_kit::text::grouped;
use sframe_suite::case::{KnownText, known_findings};
use sframe_suite::report::{CheckReport, ExploreReport};

use super::options::{at_home, demand};
use super::report;

#[derive(Args)]
pub(super) struct KnownOptions {
    /// A YAML file of findings that are known, each with its fault or reason. Any other is
    /// a finding, and so is one that is listed but gone or changed; what a sample or
    /// `--functions` leaves out is neither.
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    /// Accept findings whose cause is a known bug of a toolchain or library: they are counted, and don't fail.
    #[arg(long)]
    known_faults: bool,
    /// The folder of the specs, which has the pages of known bugs.
    #[arg(long, value_name = "DIR")]
    specs: Option<PathBuf>,
    /// Write all findings into a new file for --known, or into the file of --known
    /// again. Not with what leaves findings out: a sample, or `--functions`. Faults and reasons are kept from there; where one is missing, a person must write it.
    #[arg(long, value_name = "FILE")]
    write_known: Option<PathBuf>,
}

/// What is known.
pub(super) struct KnownSoFar<'o> {
    options: &'o KnownOptions,
    file: Option<KnownFile>,
    faults: Faults,
}

impl KnownOptions {
    /// Whether anything is known or to be written.
    pub(super) const fn is_given(&self) -> bool {
        self.known.is_some() || self.write_known.is_some()
    }

    /// Refuses to write a list where `options` may leave findings out.
    pub(super) fn needs_all_findings(&self, options: &str) -> Result<(), Failure> {
        match &self.write_known {
            None => Ok(()),
            Some(_) => Err(Failure::unusable(format!(
                "error: --write-known lists all findings, and {options} leave some out"
            ))),
        }
    }

    /// Reads the file, and looks at the one to be written.
    pub(super) fn open(&self) -> Result<KnownSoFar<'_>, Failure> {
        let file = self.known.as_deref().map(|path| self.read(path)).transpose()?;
        if let Some(path) =
            self.write_known.as_ref().filter(|path| path.exists() && self.known.as_ref() != Some(path))
        {
            let message = if path.is_dir() {
                format!("error: --write-known: {} is a folder", path.display())
            } else {
                let path = path.display();
                format!("error: {path} exists already; add --known {path} to keep its reasons")
            };
            return Err(Failure::unusable(message));
        }
        let place = self.write_known.as_deref().map_or(Ok(()), has_place);
        place.map_err(|failure| failure.of_option("--write-known"))?;
        // Where it is not asked for, a bench without a clone names no fault.
        let is_asked_for = self.known_faults || self.specs.is_some();
        let specs = self.specs();
        if is_asked_for {
            demand("specs", &specs)?;
            demand("specs", &Faults::folder(&specs))?;
        }
        let faults = Faults::load(&specs).map_err(|errors| of_documents(&errors))?;
        if is_asked_for && faults.iter().next().is_none() {
            let folder = Faults::folder(&specs);
            return Err(Failure::unusable(format!("error: {}: it has no page of a fault", folder.display())));
        }
        Ok(KnownSoFar { options: self, file, faults })
    }

    fn specs(&self) -> PathBuf {
        self.specs.clone().unwrap_or_else(|| at_home("specs"))
    }

    fn read(&self, path: &Path) -> Result<KnownFile, Failure> {
        let mistakes = |errors: Vec<yaml::Error>| of_documents(&errors);
        let mut file = KnownFile::load(path).map_err(mistakes)?;
        if file.names_faults() {
            let specs = self.specs();
            demand("specs", &specs)?;
            let faults = Faults::load(&specs).map_err(mistakes)?;
            file.explain(faults).map_err(mistakes)?;
        }
        Ok(file)
    }
}

impl KnownSoFar<'_> {
    /// The pages of known bugs.
    pub(super) const fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Writes the findings if that is wanted, and separates those that are known.
    pub(super) fn apply(&self, report: CheckReport) -> Result<CheckReport, Failure> {
        let are_all = report.broken.is_none() && report.findings_omitted.is_empty();
        self.write(&report.findings, are_all, report.abi)?;
        Ok(report.with_known(self.file.as_ref()).with_known_faults(&self.faults, self.options.known_faults))
    }

    /// Writes the proved findings of an exploration if that is wanted, and separates those that are known.
    pub(super) fn apply_to_exploration(&self, report: ExploreReport) -> Result<ExploreReport, Failure> {
        let proved: Vec<Finding> = report.proved().map(|found| found.finding.clone()).collect();
        self.write(&proved, !report.interrupted, report.abi)?;
        Ok(report.with_known(self.file.as_ref()).with_known_faults(&self.faults, self.options.known_faults))
    }

    fn write(&self, findings: &[Finding], are_all: bool, abi: Abi) -> Result<(), Failure> {
        let Some(path) = &self.options.write_known else { return Ok(()) };
        if !are_all {
            tell_line(format_args!("{}: not written: the report does not have all findings", path.display()));
            return Ok(());
        }
        let known = self.file.as_ref().map_or(&[][..], KnownFile::known);
        let KnownText { text, without_reason } = known_findings(findings, known, abi)
            .map_err(|error| Failure::broken(format!("error: {}: {error}", path.display())))?;
        report::replace(path, &text)?;
        if without_reason > 0 {
            let entries = match without_reason {
                1 => "1 entry needs".to_owned(),
                count => format!("{} entries need", grouped(count)),
            };
            let says = "a reason: what is wrong, whose fault it is, and where it is reported";
            tell_line(format_args!("{}: {entries} {says}", path.display()));
        }
        Ok(())
    }
}
