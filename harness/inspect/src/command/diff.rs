//! `diff`: compares the section with call frame information.

use std::path::PathBuf;

use crate::diff::{Explored, diff_file};
use clap::Args;

use super::exit::{Failure, Status};
use super::{Subject, print, print_json, status};

/// The arguments of `diff`.
#[derive(Args, Debug)]
pub struct Diff {
    /// A 64-bit ELF file, linked or relocatable.
    file: PathBuf,
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
        let file = Subject::open(&self.file)?;
        let mut report = file.checked(diff_file(file.source(), &file.name))?;
        if let Some(path) = &self.explored {
            let added = Explored::read(path).and_then(|explored| report.add_exploration(explored));
            added.map_err(|error| Failure::unusable(format!("error: {}: {error}", path.display())))?;
        }
        if self.json {
            print_json(&report)?;
        } else {
            print(&report.text())?;
        }
        let differs = !report.findings.is_empty() || !report.errors.is_empty();
        Ok(status(differs, false, report.compared > 0))
    }
}
