//! `diff`: compares the section with call frame information.

use std::path::{Path, PathBuf};

use crate::diff::{DiffError, Explored, ExploredError, diff_file};
use clap::Args;

use super::each::{Inspect, Show, Stop, execute};
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
    /// A report of `explore --json` about the same file, whose word on rows that differ is evidence.
    #[arg(long, value_name = "FILE")]
    explored: Option<PathBuf>,
    /// Print the report as JSON instead of text.
    #[arg(long)]
    json: bool,
}

impl Diff {
    /// Executes the command.
    ///
    /// # Errors
    /// An argument or file can't be used.
    pub fn execute(&self) -> Result<Status, Failure> {
        let explored = match (&self.explored, self.files.as_slice()) {
            (None, _) => None,
            (Some(path), [_]) => {
                Some((path.as_path(), Explored::read(path).map_err(|error| of(path, &error))?))
            }
            (Some(_), _) => return Err(Failure::unusable("error: --explored is for one file")),
        };
        execute(&mut Comparison { explored }, &self.files, self.json)
    }
}

fn of(path: &Path, error: &ExploredError) -> Failure {
    Failure::unusable(format!("error: {}: {error}", path.display()))
}

struct Comparison<'e> {
    /// What exploring says of the file.
    explored: Option<(&'e Path, Explored)>,
}

impl Inspect for Comparison<'_> {
    fn inspect(&mut self, file: &Subject, show: &mut impl Show) -> Result<Status, Stop> {
        let mut report = file.checked(diff_file(file.source(), &file.name))?;
        if let Some((path, explored)) = self.explored.take() {
            report.add_exploration(explored).map_err(|error| of(path, &error))?;
        }
        show.show(&report, || [if volume() == Volume::Quiet { report.brief() } else { report.text() }])?;
        let differs = !report.findings.is_empty() || !report.errors.is_empty();
        Ok(status(differs, false, report.compared > 0))
    }
}

impl SubjectError for DiffError {
    fn lacks_section(&self) -> bool {
        matches!(self, Self::NoSection(_))
    }
}
