//! Work of the engine on the section of a file, for `ci/count`, which counts its instructions.
//!
//!     counted WORK ROUNDS FILE
//!
//! WORK is one of those that [`WORKS`] lists; ROUNDS is how often it is done.

use std::hint::black_box;
use std::process::ExitCode;

use sframe_elf::sframe_section::Input;
use sframe_engine::{Cache, Index, InstructionPointer, Section};

type Work = fn(&Section<'_>, &[u64], usize);

/// What can be counted.
const WORKS: [(&str, Work); 5] = [
    ("look-up", look_up),
    ("indexed", indexed),
    ("cached", cached),
    ("make-index", make_index),
    ("read", read),
];

fn look_up(section: &Section<'_>, pcs: &[u64], rounds: usize) {
    for _ in 0..rounds {
        for pc in pcs {
            black_box(&section.lookup(InstructionPointer(*pc)));
        }
    }
}

fn indexed(section: &Section<'_>, pcs: &[u64], rounds: usize) {
    let index = Index::new(section);
    for _ in 0..rounds {
        for pc in pcs {
            black_box(&index.lookup(InstructionPointer(*pc)));
        }
    }
}

/// Looks up only what a cache holds.
fn cached(section: &Section<'_>, pcs: &[u64], rounds: usize) {
    const ENTRIES: usize = 509;
    let mut taken = [false; ENTRIES];
    let is_alone = |pc: &&u64| {
        let place = usize::try_from(**pc % ENTRIES as u64).unwrap_or_default();
        !std::mem::replace(&mut taken[place], true)
    };
    let pcs: Vec<u64> = pcs.iter().filter(is_alone).copied().collect();
    let mut cache = Cache::<_, ENTRIES>::new(section);
    for _ in 0..rounds {
        for pc in &pcs {
            black_box(&cache.lookup(InstructionPointer(*pc)));
        }
    }
}

fn make_index(section: &Section<'_>, _: &[u64], rounds: usize) {
    for _ in 0..rounds {
        black_box(&Index::new(section));
    }
}

fn read(section: &Section<'_>, _: &[u64], rounds: usize) {
    for _ in 0..rounds {
        for fde in section.fdes().flatten() {
            for row in section.rows(&fde).flatten() {
                black_box(&row);
            }
        }
    }
}

/// A PC in each row, and in the middle of each function.
fn pcs(section: &Section<'_>) -> Vec<u64> {
    let mut pcs = Vec::new();
    for fde in section.fdes().flatten() {
        pcs.extend(section.rows(&fde).flatten().map(|row| fde.start + u64::from(row.start)));
        pcs.push(fde.start + u64::from(fde.size / 2));
    }
    pcs
}

fn run(arguments: &[String]) -> Result<(), String> {
    let [work, rounds, file] = arguments else { return Err("usage: counted WORK ROUNDS FILE".into()) };
    let (_, work) = WORKS.iter().find(|(name, _)| name == work).ok_or("there is no such work")?;
    let rounds = rounds.parse().map_err(|_| "ROUNDS is a number")?;
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let input = Input::open(&bytes, None).map_err(|error| error.to_string())?;
    let section = Section::parse(&input.data, input.address).map_err(|error| error.to_string())?;
    work(&section, &pcs(&section), rounds);
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("counted: {error}");
            ExitCode::from(2)
        }
    }
}
