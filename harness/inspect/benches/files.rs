//! What `dump` and `diff` cost on a large library, beside the binutils that print as
//! much: `objdump --sframe` and `readelf -wF`. All figures are from one run, in
//! which the programs take turns.
//!
//! ```sh
//! cargo bench -p sframe-inspect                   # the largest library of the system
//! cargo bench -p sframe-inspect -- FILE           # an executable or library with .eh_frame
//! ```

mod cost;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cost::{Cost, measure, spread};
use sframe_kit::text::grouped;

const OURS: &str = env!("CARGO_BIN_EXE_sframe-inspect");
const ROUNDS: usize = 7;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` calls it without.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let given = arguments.iter().find(|argument| !argument.starts_with('-')).map(PathBuf::from);
    let candidates = given.map_or_else(largest_libraries, |file| vec![file]);
    let made = candidates.iter().find_map(|file| Some((file, with_sframe(file, 2, folder.path())?)));
    let Some((file, library)) = made else {
        println!("no file has .eh_frame to make .sframe from");
        return;
    };
    println!("{}: {} bytes", file.display(), len(file));
    println!("with .sframe of version 2: {} bytes\n", len(&library));
    println!("CPU and wall-clock time in seconds: median (lowest to highest) of {ROUNDS} rounds;");
    println!("the ratio is that of CPU times\n");
    println!("{:<30}{:>20}{:>22}{:>12}{:>8}{:>8}", "program", "CPU", "wall", "peak MB", "ratio", "aim");
    let versions = [2, 1].into_iter().filter_map(|v| Some((v, with_sframe(file, v, folder.path())?)));
    let objdump = ("objdump", &["--sframe=.sframe"][..]);
    let mut readable = versions.filter(|(_, library)| runs(objdump.0, objdump.1, library));
    if let Some((version, library)) = readable.next() {
        compare(&["dump"], objdump, &library, 1);
        println!("    (both on version {version}, the newest that objdump reads)");
    } else {
        compare_alone(&["dump"], &library);
        println!("objdump: not here, or it reads neither version 2 nor version 1");
    }
    if runs("readelf", &["-wF"], &library) {
        compare(&["diff"], ("readelf", &["-wF"]), &library, 4);
    } else {
        compare_alone(&["diff"], &library);
        println!("readelf: not here, or it can't read the file");
    }
    compare_alone(&["lint"], &library);
    compare_alone(&["dump", "--json"], &library);
    println!();
    for program in [OURS, "objdump", "readelf"] {
        if let Ok(version) = Command::new(program).arg("--version").output() {
            println!("{}", String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or_default());
        }
    }
}

/// Returns the largest shared libraries, the largest first.
fn largest_libraries() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("/usr/lib"), PathBuf::from("/usr/lib64")];
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            // Of links, which can be circular, only the targets count.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && entry.file_name().to_string_lossy().contains(".so") {
                found.push((len_of(&entry.path()), entry.path()));
            }
        }
    }
    found.sort();
    found.into_iter().rev().take(10).map(|(_, path)| path).collect()
}

fn len_of(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |metadata| metadata.len())
}

fn len(file: &Path) -> String {
    grouped(len_of(file))
}

/// Returns a copy of a file with a section that describes what its `.eh_frame` does;
/// `None` if it has none.
fn with_sframe(file: &Path, version: u8, folder: &Path) -> Option<PathBuf> {
    let copy = folder.join(format!("version-{version}"));
    if !copy.exists() {
        let mut convert = Command::new(OURS);
        convert.args(["convert", "--from", "eh-frame", "--to", &version.to_string()]);
        convert.arg("--elf").arg(&copy).arg(file);
        // What a version can't express is left out, and reported.
        convert.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    }
    copy.exists().then_some(copy)
}

/// Whether a program is there, and accepts a file.
fn runs(program: &str, arguments: &[&str], file: &Path) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).arg(file).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Prints a row for a command of ours, and one for the program that it is compared with.
/// `aim` is the ratio that it is to have at most.
fn compare(arguments: &[&str], (peer, peer_arguments): (&str, &[&str]), file: &Path, aim: u32) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(measure(OURS, arguments, file).expect("our own program"));
        theirs.push(measure(peer, peer_arguments, file).expect("a program that has run before"));
    }
    let unit = median(&theirs, |cost| cost.cpu);
    print_row(&format!("sframe-inspect {}", arguments.join(" ")), &ours, Some(unit), &format!("<= {aim}"));
    print_row(&format!("{peer} {}", peer_arguments.join(" ")), &theirs, Some(unit), "");
}

fn compare_alone(arguments: &[&str], file: &Path) {
    let rounds = (0..ROUNDS).map(|_| measure(OURS, arguments, file).expect("our own program"));
    print_row(&format!("sframe-inspect {}", arguments.join(" ")), &rounds.collect::<Vec<_>>(), None, "");
}

fn print_row(name: &str, rounds: &[Cost], unit: Option<f64>, aim: &str) {
    let of = |value: fn(&Cost) -> f64| spread(rounds.iter().map(value).collect());
    let (cpu, wall) = (of(|cost| cost.cpu), of(|cost| cost.wall));
    let peak = median(rounds, |cost| cost.peak);
    let ratio =
        unit.map_or_else(String::new, |unit| format!("{:.2}", median(rounds, |cost| cost.cpu) / unit));
    println!("{name:<30}{cpu:>20}{wall:>22}{peak:>12.1}{ratio:>8}{aim:>8}");
}

fn median(rounds: &[Cost], value: fn(&Cost) -> f64) -> f64 {
    let mut values: Vec<f64> = rounds.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
