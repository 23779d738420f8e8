//! Compares a program's backtraces with its call stack at every instruction, without a spec.
//!
//! ```sh
//! cargo run -p sframe-judge --example examine corpus/builds/gnu-2.47/amd64/leaf.O2
//! ```

use std::error::Error;

use sframe_judge::examine::{ExamineOptions, examine};
use sframe_judge::target::Target;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::{End, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: examine FILE")?;
    let bytes = std::fs::read(file)?;
    let target = Target::open(&bytes)?;
    let mut unwinder = sframe_unwinder(&target);
    let options = Options { stack_size: 64 << 20, ..Options::default() };
    let examination = examine(&target, &mut *unwinder, &ExamineOptions::default(), &options)?;
    println!("{:?} after {} instructions", examination.end, examination.counts.instructions);
    for finding in &examination.findings {
        println!("{}", finding.message);
    }
    match (examination.end, examination.findings.len()) {
        (End::Exit(0), 0) => Ok(()),
        (end, findings) => Err(format!("{end:?}, {findings} findings").into()),
    }
}
