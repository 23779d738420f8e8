//! `lint`: applies the format's rules to one file.

use std::path::PathBuf;

use crate::lint::{lint_file, sarif};
use clap::Args;

use super::exit::{Failure, Status};
use super::{Subject, json_text, print, print_json, write_file};

/// The arguments of `lint`.
#[derive(Args, Debug)]
pub struct Lint {
    /// An ELF file, linked or relocatable, or a file with the bytes of a section.
    file: PathBuf,
    /// Write a report in SARIF 2.1.0 to this file.
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
        let file = Subject::open(&self.file)?;
        let report = file.checked(lint_file(file.source(), &file.name))?;
        if let Some(path) = &self.sarif {
            write_file(path, &json_text(&sarif(&report, program))?)?;
        }
        if self.json {
            print_json(&report)?;
        } else {
            print(&report.text())?;
        }
        Ok(if report.summary.errors > 0 { Status::Finding } else { Status::AsExpected })
    }
}
