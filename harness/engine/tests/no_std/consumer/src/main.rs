//! Reads a section, looks a PC up and steps to the caller: without std,
//! allocator and C library. Exits with 0 if all answers are right, and
//! otherwise with the number of the first wrong one.

#![no_std]
#![no_main]

use core::arch::{asm, global_asm};
use core::hint::black_box;

use sframe_engine::{Frame, InstructionPointer, PauthMask, Section, Step};

/// A version 2 section for AMD64 with one function of 4 bytes at 0x1000, whose
/// CFA is SP + 8. The section itself lies at 0x2000.
static BYTES: [u8; 51] = [
    0xe2, 0xde, 2, 1, 3, 0, 0xf8, 0, // preamble, ABI, fixed FP 0, fixed RA -8
    1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, // counts, offsets
    0x00, 0xf0, 0xff, 0xff, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, // FDE
    0, 0x03, 8, // FRE at +0: one 1-byte offset, SP based
];

// The kernel jumps here with the stack aligned to 16 bytes, as a call needs it.
global_asm!(".globl _start", "_start:", "xor ebp, ebp", "call {run}", "ud2", run = sym run);

extern "C" fn run() -> ! {
    exit(match check(black_box(&BYTES)) {
        Ok(()) => 0,
        Err(status) => status,
    })
}

/// Asks in the three ways that an unwinder needs.
fn check(bytes: &[u8]) -> Result<(), i32> {
    let section = Section::parse(bytes, 0x2000).map_err(|_| 1)?;
    let pc = InstructionPointer(0x1002);
    let found = section.lookup(pc).map_err(|_| 2)?.ok_or(3)?;
    if found.fde.start != 0x1000 || section.fdes().count() != 1 {
        return Err(4);
    }
    let registers = |_| None;
    let memory = |address: u64| (address == 0x7000).then_some(0x1234);
    let frame = Frame::topmost(pc, 0x7000, 0x7100);
    match section.step(&frame, Some(&registers), &memory, PauthMask::NONE) {
        Ok(Step::Caller(caller)) if caller.cfa == 0x7008 && caller.ra == Ok(0x1234) => Ok(()),
        Ok(_) => Err(5),
        Err(_) => Err(6),
    }
}

fn exit(status: i32) -> ! {
    // SAFETY: system call 60 of Linux on x86-64 is exit; it does not return.
    unsafe { asm!("syscall", in("rax") 60, in("edi") status, options(noreturn, nostack)) }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(101)
}
