//! `convert`: a section in another version or byte order.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use sframe_engine::write::{self, Target};
use sframe_engine::{ByteOrder, Section, Version};
use sframe_testbench::finding::Address;
use sframe_testbench::input::Input;

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
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Print what was left out as JSON.
    #[arg(long)]
    json: bool,
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
        let input = Input::open(&bytes, None).map_err(|error| unusable(&error))?;
        let section = Section::parse(&input.data, input.address).map_err(|error| unusable(&error))?;
        let byte_order = match self.byte_order {
            Some(Order::Little) => ByteOrder::Little,
            Some(Order::Big) => ByteOrder::Big,
            None => section.header().abi.byte_order(),
        };
        let owned = write::Section::from_read(&section).map_err(|error| unusable(&error))?;
        let target = Target { version: self.to, byte_order };
        let conversion = owned.convert(target).map_err(|error| unusable(&error))?;
        let converted = conversion.section.write(input.address).map_err(|error| unusable(&error))?;
        std::fs::write(&self.output, converted)
            .map_err(|error| Failure::unusable(format!("error: {}: {error}", self.output.display())))?;

        let report = Report {
            functions: owned.functions.len(),
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
        };
        if self.json {
            print_json(&report)?;
        } else {
            print(&report.text())?;
        }
        Ok(if report.left_out.is_empty() { Status::AsExpected } else { Status::Finding })
    }
}

impl Report {
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
