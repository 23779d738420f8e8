//! `convert`: converts a section to another version, byte order or layout, or
//! generates one from call frame information.

use std::path::{Path, PathBuf};

use crate::convert::layout::{Layout, Origin};
use crate::convert::{self, Converted, Request};
use clap::{Args, ValueEnum};
use serde::Serialize;
use sframe_elf::file;
use sframe_elf::link::{Module, load_module};
use sframe_elf::object_file::ObjectFile;
use sframe_elf::symbols::Symbols;
use sframe_engine::{ByteOrder, Version};
use sframe_kit::Address;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::text::{Text, counted};

use super::exit::{Failure, Status};
use super::parse_version;
use super::{Volume, print, print_verdict, tell, volume, write_output};

/// The arguments of `convert`.
#[derive(Args, Debug)]
pub struct Convert {
    /// A 64-bit ELF file, or a file that contains only a section.
    file: PathBuf,
    /// Load an object file as a kernel loads a module, at its addresses, and sort its FDEs.
    #[arg(long)]
    as_module: bool,
    /// What to convert. Call frame information is read from executables and shared
    /// libraries; the section expresses as much of it as the version can.
    #[arg(long, value_name = "SOURCE", value_enum, default_value_t = Source::Sframe)]
    from: Source,
    /// The version to convert to.
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    to: Version,
    /// The byte order, for ABIs with both. Unchanged if not given.
    #[arg(long, value_name = "ORDER", value_enum)]
    byte_order: Option<Order>,
    /// Where to write the section; it is for the address of the file's existing
    /// section, or for the one that a new section gets with --elf.
    #[arg(long, short, value_name = "FILE", required_unless_present = "elf")]
    output: Option<PathBuf>,
    /// Where to write the whole ELF file, with the new section replacing the
    /// existing one, or added.
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
    /// Print the report as JSON instead of text.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    layout: Layout,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Order {
    Little,
    Big,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Source {
    /// The file's .sframe section.
    Sframe,
    /// The DWARF call frame information in its .eh_frame section and, of code that this says nothing of, in .debug_frame.
    EhFrame,
}

/// What could not be converted.
#[derive(Serialize)]
struct Report {
    functions: usize,
    carried_over: usize,
    left_out: Vec<Skipped>,
    /// The parts of call frame information that can't be read.
    errors: Vec<String>,
    /// What loading the file as a module has done.
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<Module>,
}

#[derive(Serialize)]
struct Skipped {
    start: Address,
    end: Address,
    function: Option<String>,
    row: Option<usize>,
    /// The first address of the row.
    pc: Option<Address>,
    rules: Option<String>,
    reason: String,
}

impl Convert {
    /// Executes the command.
    ///
    /// # Errors
    /// An argument or file can't be used.
    pub fn execute(&self) -> Result<Status, Failure> {
        let name = self.file.display().to_string();
        let unusable = |error: &dyn std::fmt::Display| Failure::unusable(format!("error: {name}: {error}"));
        self.demand_separate_files()?;
        if !self.to.has_pcrel_starts() && self.layout.starts == Some(Origin::Field) {
            let message =
                "error: --starts field: this version has starts that are relative to the section only";
            return Err(Failure::unusable(message));
        }
        let mut bytes = file::read(&self.file, file::MAX_BYTES).map_err(|error| unusable(&error))?;
        let mut module = None;
        if self.as_module {
            let loaded = load_module(&bytes[..]).map_err(|error| unusable(&error))?;
            (bytes, module) = (loaded.file, Some(loaded.module));
        }
        let request = Request {
            version: self.to,
            byte_order: self.byte_order.map(|order| match order {
                Order::Little => ByteOrder::Little,
                Order::Big => ByteOrder::Big,
            }),
            layout: self.layout.clone(),
        };
        let converted = match self.from {
            Source::Sframe => request.convert(&bytes),
            Source::EhFrame => request.synthesize(&bytes),
        };
        let converted = converted.map_err(|error| unusable(&error))?;
        if let Some(path) = &self.output {
            write_output(path, &converted.section().map_err(|error| unusable(&error))?)?;
        }
        if let Some(path) = &self.elf {
            write_output(path, &converted.file().map_err(|error| unusable(&error))?)?;
            self.keep_permissions(path)
                .map_err(|error| Failure::unusable(format!("error: {}: {error}", path.display())))?;
        }

        let symbols = ObjectFile::parse(&bytes).map(|subject| subject.symbols).unwrap_or_default();
        let mut report = Report::new(&converted, &symbols);
        report.module = module;
        tell(&report.refusals());
        let conclusion = report.conclusion();
        if self.json {
            print_verdict(conclusion.ending, &report)?;
        } else if volume() != Volume::Quiet {
            report.module.as_ref().map_or(Ok(()), |module| print(&module.text()))?;
            print(&conclusion.text())?;
        }
        Ok(conclusion.ending.into())
    }
}

impl Convert {
    /// A section does not replace the file that it is from, nor the whole file that has it.
    fn demand_separate_files(&self) -> Result<(), Failure> {
        let Some(output) = self.output.as_deref() else { return Ok(()) };
        for (path, what) in [(Some(&self.file), "the file itself"), (self.elf.as_ref(), "--elf")] {
            if path.is_some_and(|path| is_one_file(path, output)) {
                let path = output.display();
                return Err(Failure::unusable(format!(
                    "error: --output {path} is {what}, and would be replaced by a section without its file; --elf writes \
                     the whole file"
                )));
            }
        }
        Ok(())
    }

    /// Keeps executable files executable. Devices and pipes are left alone.
    fn keep_permissions(&self, path: &Path) -> std::io::Result<()> {
        if std::fs::metadata(path)?.is_file() {
            std::fs::set_permissions(path, std::fs::metadata(&self.file)?.permissions())?;
        }
        Ok(())
    }
}

/// Whether two paths are of one file, or will be.
fn is_one_file(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok();
    resolved(one).is_some_and(|one| resolved(other).is_some_and(|other| one == other))
}

impl Report {
    fn new(converted: &Converted<'_>, symbols: &Symbols) -> Self {
        let left_out = |left_out: &convert::Skipped| Skipped {
            start: Address(left_out.start),
            end: Address(left_out.end),
            function: symbols.at(left_out.start).map(|(name, _)| name.to_owned()),
            row: left_out.row.as_ref().map(|row| row.index),
            pc: left_out.row.as_ref().map(|row| Address(row.address)),
            rules: left_out.row.as_ref().map(|row| row.rules.clone()),
            reason: left_out.reason.clone(),
        };
        Self {
            functions: converted.functions,
            carried_over: converted.section.functions.len(),
            left_out: converted.left_out.iter().map(left_out).collect(),
            errors: converted.errors.iter().map(ToString::to_string).collect(),
            module: None,
        }
    }

    /// How it has ended.
    fn conclusion(&self) -> Conclusion {
        let carried = format!("{} of {} functions carried over", self.carried_over, self.functions);
        // A function that can't be read is in no number.
        let left_out = self.functions.saturating_sub(self.carried_over) as u64;
        let lost = (left_out > 0).then(|| format!("{} left out", counted(left_out, "function")));
        let errors = self.errors.len() as u64;
        let unread = (errors > 0)
            .then(|| format!("{} of the call frame information not read", counted(errors, "part")));
        let is_whole = self.left_out.is_empty() && self.errors.is_empty();
        let ending = match is_whole {
            false => Ending::Fail,
            true if self.functions == 0 => Ending::Inconclusive,
            true => Ending::Pass,
        };
        Conclusion { ending, facts: lost.into_iter().chain(unread).chain([carried]).collect() }
    }

    /// Returns what was left out, and why, line by line.
    fn refusals(&self) -> Text {
        let mut text = Text::default();
        for Skipped { start, end, function, row, pc, rules, reason } in &self.left_out {
            let function = function.as_deref().unwrap_or("the function");
            let row = match (row, pc, rules) {
                (Some(row), Some(pc), Some(rules)) => format!(", row {row} at {pc} ({rules})"),
                _ => String::new(),
            };
            let _ = writeln!(text, "left out: {function} at {start}..{end}{row}: {reason}");
        }
        for error in &self.errors {
            let _ = writeln!(text, "not read: {error}");
        }
        text
    }
}
