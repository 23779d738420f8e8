//! Options for findings that are known.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use sframe_corpus::failure::of_documents;
use sframe_corpus::signs::point_out_differences;
use sframe_corpus::spec::{Faults, KnownFile, KnownPlaces};
use sframe_corpus::yaml;
use sframe_engine::Abi;
use sframe_inspect::command::{Diff, Failure, Lint, PointOut, Status, has_place, tell_line};
use sframe_judge::finding::Finding;
use sframe_kit::text::grouped;
use sframe_suite::case::{KnownText, known_findings};
use sframe_suite::report::{CheckReport, ExploreReport};

use super::options::{demand, pages};
use super::report;

/// A list of what is known.
#[derive(Args)]
pub(super) struct KnownList {
    /// A YAML file of findings that are known, each with its fault or reason. Any other is
    /// a finding, and so is one of `check` and `explore` that is listed but gone or changed; what a sample or
    /// `--functions` leaves out is neither.
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    /// The folder of the specs, which has the pages of known bugs [default: specs, here or in the bench's home, or the
    /// pages that are built in].
    #[arg(long, value_name = "DIR")]
    specs: Option<PathBuf>,
}

impl KnownList {
    /// The pages of known bugs.
    pub(super) fn faults(&self) -> Result<Faults, Failure> {
        pages(self.specs.as_deref())
    }

    /// Reads the file, if one is given.
    fn read(&self) -> Result<Option<KnownFile>, Failure> {
        let Some(path) = &self.known else { return Ok(None) };
        let mistakes = |errors: Vec<yaml::Error>| of_documents(&errors);
        let mut file = KnownFile::load(path).map_err(mistakes)?;
        if file.names_faults() {
            file.explain(self.faults()?).map_err(mistakes)?;
        }
        Ok(Some(file))
    }
}

/// What is known of the findings of a command of the inspector.
#[derive(Args)]
pub(super) struct Knowing<C: Args> {
    #[command(flatten)]
    command: C,
    #[command(flatten)]
    list: KnownList,
    /// Accept differences and missing FDEs whose cause seems to be a known bug of a toolchain or library: they are counted,
    /// and don't fail.
    #[arg(long)]
    known_faults: bool,
}

impl Knowing<Lint> {
    pub(super) fn execute(&self, program: &str) -> Result<Status, Failure> {
        self.with(true, |point_out, known| self.command.execute_with(program, point_out, known))
    }
}

impl Knowing<Diff> {
    pub(super) fn execute(&self) -> Result<Status, Failure> {
        self.with(false, |point_out, known| self.command.execute_with(point_out, known))
    }
}

impl<C: Args> Knowing<C> {
    fn with(
        &self,
        of_lint: bool,
        execute: impl FnOnce(&PointOut, &KnownPlaces<'_>) -> Result<Status, Failure>,
    ) -> Result<Status, Failure> {
        let (file, faults) = (self.list.read()?, self.list.faults()?);
        let known = KnownPlaces { file: file.as_ref(), of_lint, accepts_faults: self.known_faults };
        execute(&move |source, report| point_out_differences(source, report, &faults), &known)
    }
}

#[derive(Args)]
pub(super) struct KnownOptions {
    #[command(flatten)]
    list: KnownList,
    /// Accept findings whose cause is a known bug of a toolchain or library: they are counted, and don't fail.
    #[arg(long)]
    known_faults: bool,
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
    /// Whether a list is to be written.
    pub(super) const fn writes(&self) -> bool {
        self.write_known.is_some()
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
        let file = self.list.read()?;
        if let Some(path) =
            self.write_known.as_ref().filter(|path| path.exists() && self.list.known.as_ref() != Some(path))
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
        if let Some(specs) = &self.list.specs {
            demand("specs", specs)?;
            demand("specs", &Faults::folder(specs))?;
        }
        let faults = self.list.faults()?;
        if let Some(specs) = self.list.specs.as_deref().filter(|_| faults.iter().next().is_none()) {
            let folder = Faults::folder(specs);
            return Err(Failure::unusable(format!("error: {}: it has no page of a fault", folder.display())));
        }
        Ok(KnownSoFar { options: self, file, faults })
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
        let file = self.file.as_ref().map(|file| file.of_file(&report.file, false));
        Ok(self.settled(report, file.as_ref()))
    }

    /// Separates the findings that are known in one of several files.
    pub(super) fn apply_to_one_of_several(&self, report: ExploreReport) -> ExploreReport {
        let file = self.file.as_ref().map(|file| file.of_file(&report.file, true));
        self.settled(report, file.as_ref())
    }

    /// The files that entries name, and that are not there.
    pub(super) fn without_file(&self, names: &BTreeSet<String>) -> Option<String> {
        let missing = self.file.as_ref()?.without_file(names.iter().map(String::as_str));
        let missing: Vec<String> = missing.into_iter().collect();
        (!missing.is_empty())
            .then(|| format!("known findings are of files that are not there: {}", missing.join(", ")))
    }

    fn settled(&self, report: ExploreReport, file: Option<&KnownFile>) -> ExploreReport {
        report.with_known(file).with_known_faults(&self.faults, self.options.known_faults)
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
        let places = self.file.as_ref().map_or(Ok(String::new()), KnownFile::lists_of_places);
        let places =
            places.map_err(|error| Failure::broken(format!("error: {}: {error}", path.display())))?;
        report::replace(path, &(text + &places))?;
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
