//! `convert`: a section in another version, byte order or layout.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use sframe_engine::{ByteOrder, Version};
use sframe_testbench::convert::{Converted, Request};
use sframe_testbench::finding::Address;
use sframe_testbench::layout::Layout;

use super::exit::{Failure, Status};
use super::{print, print_json};

#[derive(Args)]
#[command(
    after_help = "Exit status: 0 everything was carried over; 1 some functions could not be expressed and \
                        were left out: each row that stands against it is listed; 2 nothing can be converted."
)]
pub(crate) struct Convert {
    /// A 64-bit ELF file, or a file that is a section itself.
    file: PathBuf,
    /// The version to convert to.
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    to: Version,
    /// The order of the bytes, where the ABI has both. As it is, if not given.
    #[arg(long, value_enum)]
    byte_order: Option<Order>,
    /// Where to write the section; it is for the address of the old one.
    #[arg(long, short, value_name = "FILE", required_unless_present = "elf")]
    output: Option<PathBuf>,
    /// Where to write the whole ELF file, with the new section in place of its own.
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
    /// Print what was left out as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    layout: Layout,
}

#[derive(Clone, Copy, ValueEnum)]
enum Order {
    Little,
    Big,
}

fn parse_version(text: &str) -> Result<Version, String> {
    match text {
        "1" => Ok(Version::V1),
        "2" => Ok(Version::V2),
        "3" => Ok(Version::V3),
        _ => Err("the versions are 1, 2 and 3".to_owned()),
    }
}

/// What could not be carried over.
#[derive(Serialize)]
struct Report {
    functions: usize,
    carried_over: usize,
    left_out: Vec<LeftOut>,
}

#[derive(Serialize)]
struct LeftOut {
    start: Address,
    row: Option<usize>,
    reason: String,
}

impl Convert {
    pub(crate) fn execute(&self) -> Result<Status, Failure> {
        let name = self.file.display().to_string();
        let unusable = |error: &dyn std::fmt::Display| Failure::unusable(format!("error: {name}: {error}"));
        let bytes = std::fs::read(&self.file).map_err(|error| unusable(&error))?;
        let request = Request {
            version: self.to,
            byte_order: self.byte_order.map(|order| match order {
                Order::Little => ByteOrder::Little,
                Order::Big => ByteOrder::Big,
            }),
            layout: self.layout.clone(),
        };
        let converted = request.convert(&bytes).map_err(|error| unusable(&error))?;
        if let Some(path) = &self.output {
            write(path, &converted.section().map_err(|error| unusable(&error))?)?;
        }
        if let Some(path) = &self.elf {
            write(path, &converted.file().map_err(|error| unusable(&error))?)?;
        }

        let report = Report::new(&converted);
        if self.json {
            print_json(&report)?;
        } else {
            print(&report.text())?;
        }
        Ok(if report.left_out.is_empty() { Status::AsExpected } else { Status::Finding })
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes)
        .map_err(|error| Failure::unusable(format!("error: {}: {error}", path.display())))
}

impl Report {
    fn new(converted: &Converted<'_>) -> Self {
        let conversion = &converted.conversion;
        Self {
            functions: converted.functions,
            carried_over: conversion.section.functions.len(),
            left_out: conversion
                .left_out
                .iter()
                .flat_map(|left_out| left_out.errors.iter().map(|error| (left_out.start, error)))
                .map(|(start, error)| LeftOut {
                    start: Address(start),
                    row: error.row,
                    reason: error.kind.to_string(),
                })
                .collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for LeftOut { start, row, reason } in &self.left_out {
            let _ = match row {
                Some(row) => writeln!(text, "left out: the function at {start}, row {row}: {reason}"),
                None => writeln!(text, "left out: the function at {start}: {reason}"),
            };
        }
        let _ = writeln!(text, "{} of {} functions carried over", self.carried_over, self.functions);
        text
    }
}
