//! `dump`: prints a complete section.

use std::path::PathBuf;

use crate::dump::{self, Document};
use clap::Args;
use sframe_elf::sframe_section::{Input, InputError};

use super::each::{Inspect, Show, Stop, execute};
use super::exit::{Failure, Status};
use super::subject::{Subject, SubjectError};
use super::tell_line;

/// The maximum number of errors of one section that are shown.
const SHOWN_ERRORS: usize = 20;

/// The arguments of `dump`.
#[derive(Args, Debug)]
pub struct Dump {
    /// 64-bit ELF files (executables, shared objects, object files), archives of them, files that contain
    /// only a section, folders with ELF files and archives, or - for standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Load object files as a kernel loads modules, at its addresses, and sort their FDEs.
    #[arg(long)]
    as_module: bool,
    /// Print the section as JSON instead of the text of objdump --sframe.
    #[arg(long)]
    json: bool,
    /// The load address of a file that contains only a section; 0 if not given.
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    address: Option<u64>,
}

impl SubjectError for InputError {
    fn lacks_section(&self) -> bool {
        matches!(self, Self::NoSection(_))
    }
}

impl SubjectError for sframe_engine::Error {
    fn lacks_section(&self) -> bool {
        false
    }
}

/// Parses an address, decimal or with 0x.
fn parse_address(text: &str) -> Result<u64, String> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
    .map_err(|error| error.to_string())
}

impl Dump {
    /// Executes the command.
    ///
    /// # Errors
    /// An argument or file can't be used.
    pub fn execute(&self) -> Result<Status, Failure> {
        if self.address.is_some() && self.files.len() > 1 {
            return Err(Failure::unusable("error: --address is for one file that contains only a section"));
        }
        if self.address.is_some() && self.as_module {
            return Err(Failure::unusable(
                "error: --address is for a file that contains only a section, and no module",
            ));
        }
        execute(&mut &*self, &self.files, self.json)
    }
}

impl Inspect for &Dump {
    fn judges(&self) -> bool {
        false
    }

    fn loads_modules(&self) -> bool {
        self.as_module
    }

    fn inspect(&mut self, file: &Subject, show: &mut impl Show) -> Result<Status, Stop> {
        let name = &file.name;
        let input = file.checked(Input::open(file.source(), self.address))?;
        let content = file.checked(dump::Dump::decode(&input.data, input.address))?;
        show.show(&Document::new(name, &input, &content), || dump::text(name, input.format, &content))?;
        let faults = content.faults();
        for error in faults.errors.iter().take(SHOWN_ERRORS) {
            tell_line(format_args!("error: {name}: .sframe: {error}"));
        }
        if let Some(more) = faults.errors.len().checked_sub(SHOWN_ERRORS).filter(|more| *more > 0) {
            tell_line(format_args!("error: {name}: .sframe: {more} more errors"));
        }
        if faults.too_many_rows {
            tell_line(format_args!(
                "error: {name}: .sframe: functions share their rows so often that the rest is left out"
            ));
        }
        let whole = faults.errors.is_empty() && !faults.too_many_rows;
        Ok(if whole { Status::AsExpected } else { Status::Finding })
    }
}
