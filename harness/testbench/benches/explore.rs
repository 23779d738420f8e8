//! What exploring a function costs: in time, in memory, and as a ratio to running the same builds. All
//! figures of a line are from one run.

#[path = "../../inspect/benches/cost/mod.rs"]
mod cost;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use cost::{measure, spread};
use sframe_engine::Abi;
use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::explore::{ExploreOptions, Roots, explore};
use sframe_judge::target::Target;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::Options;

const BENCH: &str = env!("CARGO_BIN_EXE_sframe-testbench");
const ROUNDS: usize = 5;
/// Builds of one toolchain that end by themselves, and have no further files.
const VARIANT: &str = "O2";

fn main() {
    // `cargo test --all-targets` calls it without.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    builds();
    library();
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64(), result)
}

/// The committed builds of an ABI by the newest GNU toolchain.
fn files(abi: Abi) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47").join(abi.name());
    let entries = std::fs::read_dir(folder).expect("builds");
    let files = entries.map(|entry| entry.expect("a build").path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|it| it == VARIANT)).collect();
    files.sort();
    files
}

/// What the functions of the corpus cost, in this process.
fn builds() {
    println!("builds by gnu-2.47 with {VARIANT}: median (lowest to highest) of {ROUNDS} rounds");
    println!(
        "{:<12}{:>8}{:>11}{:>26}{:>8}{:>24}",
        "ABI", "builds", "functions", "ms for a function", "aim", "times running them"
    );
    for abi in Abi::ALL {
        let files: Vec<Vec<u8>> =
            files(abi).iter().map(|file| std::fs::read(file).expect("a build")).collect();
        let (mut each, mut ratios, mut functions, mut count) = (Vec::new(), Vec::new(), 0, 0);
        for _ in 0..ROUNDS {
            let (mut exploring, mut running) = (0.0, 0.0);
            (functions, count) = (0, 0);
            for bytes in &files {
                let Ok(target) = Target::open(bytes) else { continue };
                let mut unwinder = sframe_unwinder(&target);
                let look = ExamineOptions::default();
                let (time, seen) = timed(|| examine(&target, &mut *unwinder, &look, &Options::default()));
                if seen.is_err() {
                    continue;
                }
                running += time;
                let (time, explored) =
                    timed(|| explore(&target, &Roots::of(&target), &ExploreOptions::default()));
                exploring += time;
                functions += explored.expect("a machine").functions;
                count += 1;
            }
            each.push(1000.0 * exploring / functions as f64);
            ratios.push(exploring / running);
        }
        let aim = if abi == Abi::Amd64 { "<= 2" } else { "<= 4" };
        println!(
            "{:<12}{count:>8}{functions:>11}{:>26}{aim:>8}{:>24}",
            abi.name(),
            spread(each),
            spread(ratios)
        );
    }
}

/// What a library of this system costs, with the start of the process.
fn library() {
    println!();
    println!(
        "{:<44}{:>11}{:>20}{:>8}{:>12}{:>12}",
        "explore --from eh-frame", "functions", "ms for a function", "aim", "peak, MB", "wall, s"
    );
    for library in ["libc.so.6", "libstdc++.so.6"] {
        let folders = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"];
        let Some(file) =
            folders.map(|folder| Path::new(folder).join(library)).into_iter().find(|file| file.exists())
        else {
            println!("{library:<44}{:>11}", "not here");
            continue;
        };
        let arguments = ["explore", "--from", "eh-frame", "--jobs", "1", "--json"];
        let output = Command::new(BENCH).args(arguments).arg(&file).output().expect("the bench");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
        let functions = report["summary"]["functions"].as_u64().expect("a number");
        let cost = measure(BENCH, &arguments, &file).expect("the bench");
        println!(
            "{:<44}{functions:>11}{:>20.2}{:>8}{:>12.1}{:>12.1}",
            file.display(),
            1000.0 * cost.cpu / functions as f64,
            "<= 2",
            cost.peak,
            cost.wall
        );
    }
}
