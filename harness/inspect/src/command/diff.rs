//! `diff`: compares the section with call frame information.

use std::path::PathBuf;

use crate::diff::diff_file;
use clap::Args;

use super::exit::{Failure, Status};
use super::{Subject, print, print_json, status};

/// The arguments of `diff`.
#[derive(Args, Debug)]
pub struct Diff {
    /// A 64-bit ELF file, linked or relocatable.
    file: PathBuf,
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
        let report = file.checked(diff_file(file.source(), &file.name))?;
        if self.json {
            print_json(&report)?;
        } else {
            print(&report.text())?;
        }
        let differs = !report.findings.is_empty() || !report.errors.is_empty();
        Ok(status(differs, false, report.compared > 0))
    }
}
