//! Walks a call stack: section, registers and memory in, frames out.
//!
//! `cargo run -p sframe-engine --example backtrace`
//!
//! This is all that a profiler has to do. Where it gets the three inputs is up
//! to it: the section from the ELF file's `PT_GNU_SFRAME` segment, registers
//! and memory from a signal context, ptrace, or a core file. Here they are made
//! up, so that the example needs no file. The walk itself does not allocate.

use std::process::ExitCode;

use sframe_engine::{DwarfRegister, Frame, InstructionPointer, PauthMask, Section, Step};

/// Where the section is loaded.
const SECTION: u64 = 0x3000;

/// Version 2 with both errata for AMD64, of three functions of 16 bytes each: a leaf
/// that leaves SP alone, one with a frame pointer, and the entry point.
#[rustfmt::skip]
const BYTES: [u8; 104] = [
    0xe2, 0xde, 2, 1, 3, 0, 0xf8, 0, // magic, version, sorted, AMD64, fixed FP and RA offsets
    3, 0, 0, 0, 4, 0, 0, 0, 16, 0, 0, 0, // FDEs, FREs, bytes of FREs
    0, 0, 0, 0, 60, 0, 0, 0, // offsets of FDEs and FREs

    // Start (from the section), size, offset of rows, number of rows, info, block size, padding.
    0x00, 0xe0, 0xff, 0xff, 16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, // leaf at 0x1000
    0x10, 0xe0, 0xff, 0xff, 16, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, // main at 0x1010
    0x20, 0xe0, 0xff, 0xff, 16, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, // _start at 0x1020

    0, 0x03, 8, // leaf+0: CFA = SP+8
    0, 0x03, 8, // main+0: CFA = SP+8
    4, 0x04, 16, 0xf0, // main+4: CFA = FP+16, FP = *(CFA-16)
    0, 0x00, // _start+0: no caller
    0, 0, 0, 0, // padding, which is not a row
];

/// The stack: address and the 8 bytes there.
const STACK: [(u64, u64); 3] = [
    (0x7fe0, 0x1018), // leaf returns into main
    (0x7fe8, 0xdead), // main's saved FP, which _start has never set
    (0x7ff0, 0x1025), // main returns into _start
];

/// The walk, from the topmost frame to the outermost.
fn walk(section: &Section<'_>, mut frame: Frame) -> Result<(), Box<dyn std::error::Error>> {
    // Rules of the topmost frame may name any register; these are not known here.
    let registers = |_: DwarfRegister| None;
    let memory = |address: u64| STACK.iter().find(|(at, _)| *at == address).map(|(_, value)| *value);
    // AArch64 only; Linux gives programs at most 48 bits.
    let pauth = PauthMask::for_address_bits(48);

    for depth in 0.. {
        // The rules of the frame, for people. `step` does this look-up itself.
        let rules = section.lookup(frame.pc)?.map(|found| found.row.to_string());
        println!("{depth}: pc {} sp {:#x}   {}", frame.pc, frame.sp, rules.unwrap_or_default());
        // Further out than the topmost frame, only SP and FP are known: registers are given
        // only once.
        match section.step(&frame, (depth == 0).then_some(&registers), &memory, pauth)? {
            Step::Caller(caller) => frame = caller.frame()?,
            Step::Outermost => break,
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let run = || {
        let section = Section::parse(&BYTES, SECTION)?;
        // Stopped in leaf; main has set up its frame pointer.
        walk(&section, Frame::topmost(InstructionPointer(0x1002), 0x7fe0, 0x7fe8))
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the walk ends early: {error}");
            ExitCode::FAILURE
        }
    }
}
