//! Prints the functions and rows of a section.
//!
//! `cargo run -p sframe-engine --example dump_rows -- FILE [ADDRESS]`
//!
//! FILE is the section alone, as `objcopy -O binary --only-section=.sframe`
//! extracts it; ADDRESS is where it is loaded, since start addresses are
//! relative to it (default 0). A section with faults is read as far as
//! possible: each fault is printed with its offset and clause, and the next
//! function follows.

use std::process::ExitCode;
use std::{env, fs};

use sframe_engine::{Error, Section};

/// Prints everything, and returns the number of faults.
fn dump(data: &[u8], address: u64) -> Result<usize, Error> {
    let section = Section::parse(data, address)?;
    let header = section.header();
    println!("version {}, {}, {} functions", header.version, header.abi, header.num_fdes);
    let mut faults = 0;
    for fde in section.fdes() {
        let fde = match fde {
            Ok(fde) => fde,
            Err(error) => {
                println!("{error}");
                faults += 1;
                continue;
            }
        };
        println!("{:#x}, {} bytes{}", fde.start, fde.size, if fde.outermost { ", outermost" } else { "" });
        for row in section.rows(&fde) {
            match row {
                // The start counts from the start of the function, or of the repeated block.
                Ok(row) => println!("    +{:#x}  {row}", row.start),
                Err(error) => {
                    println!("    {error}");
                    faults += 1;
                }
            }
        }
    }
    Ok(faults)
}

/// Parses a hexadecimal number, with or without 0x.
fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (path, address) = match &*arguments {
        [path] => (path, Some(0)),
        [path, at] => (path, address(at)),
        _ => {
            eprintln!("usage: dump_rows FILE [ADDRESS]");
            return ExitCode::from(2);
        }
    };
    let Some(address) = address else {
        eprintln!("the address is not a hexadecimal number");
        return ExitCode::from(2);
    };
    let data = match fs::read(path) {
        Ok(data) => data,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    match dump(&data, address) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::FAILURE
        }
    }
}
