//! `diff`: compares the section with call frame information.

use std::path::{Path, PathBuf};

use crate::diff::{DiffError, DiffReport, Explored, ExploredError, Objects, diff_file};
use crate::known::Known;
use crate::lint::described;
use clap::Args;
use sframe_elf::source::Source;
use sframe_kit::conclusion::Concluded;
use sframe_kit::percent::Percent;

use super::each::{Inspect, Show, Stop, execute, visit};
use super::exit::{Failure, Status};
use super::status;
use super::subject::{Subject, SubjectError};
use super::volume::{Volume, volume};

/// The arguments of `diff`.
#[derive(Args, Debug)]
pub struct Diff {
    /// 64-bit ELF files, linked or relocatable, archives of them, folders with ELF files and archives, or - for
    /// standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Load object files as a kernel loads modules, at its addresses, and sort their FDEs.
    #[arg(long)]
    as_module: bool,
    /// A report of `explore --json` about the same file, whose word on rows that differ is evidence.
    #[arg(long, value_name = "FILE")]
    explored: Option<PathBuf>,
    /// An object that the file was linked from, or an archive or folder of them: whether it has an FDE says who has
    /// lost that of a function.
    #[arg(long = "object", value_name = "FILE")]
    objects: Vec<PathBuf>,
    /// Which share of the instructions whose call frame information can be expressed must have an FDE: `all`, or a
    /// percentage. Below that, functions without one are findings. If it is given, files of folders and archives that have
    /// such instructions and no section are findings, too [default: all].
    #[arg(long, value_name = "SHARE", value_parser = Percent::to_reach)]
    coverage: Option<Percent>,
    /// Print the report as JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Says of differences which known bugs they seem to come from.
pub type PointOut = dyn Fn(Source<'_>, &mut DiffReport);

impl Diff {
    /// Executes the command.
    ///
    /// # Errors
    /// An argument or file can't be used.
    pub fn execute(&self) -> Result<Status, Failure> {
        self.execute_with(&|_, _| {}, &())
    }

    /// Executes the command. `point_out` says of differences in a file which known bugs they seem to come from.
    /// Those that are `known` fail nothing.
    ///
    /// # Errors
    /// An argument or file can't be used.
    pub fn execute_with(&self, point_out: &PointOut, known: &dyn Known) -> Result<Status, Failure> {
        let explored = match (&self.explored, self.files.as_slice()) {
            (None, _) => None,
            (Some(path), [_]) => {
                Some((path.as_path(), Explored::read(path).map_err(|error| of(path, &error))?))
            }
            (Some(_), _) => return Err(Failure::unusable("error: --explored is for one file")),
        };
        let (coverage, as_module) = (self.coverage, self.as_module);
        let mut objects = Objects::default();
        for path in &self.objects {
            visit(&mut Inputs { objects: &mut objects, is_folder: path.is_dir() }, path)?;
        }
        if let (Some(first), true) = (self.objects.first(), objects.is_empty()) {
            let message = format!("error: --object {}: there is no function in it", first.display());
            return Err(Failure::unusable(message));
        }
        let mut comparison = Comparison { explored, objects, coverage, as_module, point_out, known };
        execute(&mut comparison, &self.files, self.json)
    }
}

fn of(path: &Path, error: &ExploredError) -> Failure {
    Failure::unusable(format!("error: {}: {error}", path.display()))
}

struct Comparison<'e> {
    /// What exploring says of the file.
    explored: Option<(&'e Path, Explored)>,
    objects: Objects,
    coverage: Option<Percent>,
    as_module: bool,
    point_out: &'e PointOut,
    known: &'e dyn Known,
}

impl Inspect for Comparison<'_> {
    fn loads_modules(&self) -> bool {
        self.as_module
    }

    fn should_have_section(&self, file: &Subject) -> Option<String> {
        self.coverage.filter(|share| *share > Percent::NONE)?;
        described(file.source())
    }

    fn inspect(&mut self, file: &Subject, show: &mut impl Show) -> Result<Status, Stop> {
        let mut report = file.checked(diff_file(file.source(), &file.name))?;
        if let Some((path, explored)) = self.explored.take() {
            let digest = file.digest()?;
            report.add_exploration(explored, &digest).map_err(|error| of(path, &error))?;
        }
        if let Err(error) = report.add_objects(&self.objects, file.source()) {
            return Err(Failure::unusable(format!("error: --object: {error}")).into());
        }
        (self.point_out)(file.source(), &mut report);
        report.settle(self.known);
        let lacks = !report.reaches(self.coverage.unwrap_or(Percent::ALL));
        let differs = !report.findings.is_empty() || !report.errors.is_empty() || lacks;
        let is_enough = report.compared > 0 && report.too_many_unread().is_none();
        let status = status(differs, false, is_enough);
        let concluded = Concluded { verdict: status.into(), document: &report };
        show.show(&concluded, || match volume() {
            Volume::Quiet => vec![report.brief()],
            _ => vec![report.text().demangled(), report.conclusion(status.into()).text()],
        })?;
        Ok(status)
    }
}

/// Reads the objects that a file was linked from.
struct Inputs<'o> {
    objects: &'o mut Objects,
    /// Linked files may lie beside them.
    is_folder: bool,
}

impl Inspect for Inputs<'_> {
    fn inspect(&mut self, file: &Subject, _: &mut impl Show) -> Result<Status, Stop> {
        match self.objects.add(file.source(), &file.name) {
            Err(DiffError::Linked) if self.is_folder => {}
            added => file.checked(added)?,
        }
        Ok(Status::AsExpected)
    }
}

impl SubjectError for DiffError {
    fn lacks_section(&self) -> bool {
        matches!(self, Self::NoSection(_))
    }
}
