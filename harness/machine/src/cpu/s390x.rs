//! s390x.

use goblin::elf::header::EM_S390;
use unicorn_engine::{Arch, Mode, RegisterS390X as R, Unicorn, uc_error};

use super::{Control, Cpu, Link, SystemCalls};

/// s390x, as the ELF ABI supplement uses it.
pub static S390X: Cpu = Cpu {
    name: "s390x",
    big_endian: true,
    address_bits: 64,
    elf_machine: EM_S390,
    arch: Arch::S390X,
    mode: Mode::BIG_ENDIAN,
    model: None,
    pc: R::PC as i32,
    sp: R::R15 as i32,
    fp: R::R11 as i32,
    link: Link::Register(R::R14 as i32),
    registers: &REGISTERS,
    poisoned: &POISONED,
    cfa_above_sp: 160,
    alignment: 2,
    longest: 6,
    system_calls: SystemCalls {
        number: R::R1 as i32,
        arguments: [R::R2 as i32, R::R3 as i32, R::R4 as i32],
        result: R::R2 as i32,
        write: 4,
        exit: 1,
        exit_group: 248,
        pc_behind: 2,
    },
    control,
    prepare,
    set_thread_pointer,
};

/// r0 to r15, then the floating-point registers in the order of their DWARF
/// numbers: even ones before odd ones, within each half.
const REGISTERS: [i32; 32] = [
    R::R0 as i32,
    R::R1 as i32,
    R::R2 as i32,
    R::R3 as i32,
    R::R4 as i32,
    R::R5 as i32,
    R::R6 as i32,
    R::R7 as i32,
    R::R8 as i32,
    R::R9 as i32,
    R::R10 as i32,
    R::R11 as i32,
    R::R12 as i32,
    R::R13 as i32,
    R::R14 as i32,
    R::R15 as i32,
    R::F0 as i32,
    R::F2 as i32,
    R::F4 as i32,
    R::F6 as i32,
    R::F1 as i32,
    R::F3 as i32,
    R::F5 as i32,
    R::F7 as i32,
    R::F8 as i32,
    R::F10 as i32,
    R::F12 as i32,
    R::F14 as i32,
    R::F9 as i32,
    R::F11 as i32,
    R::F13 as i32,
    R::F15 as i32,
];

/// All but the stack pointer. The floating-point registers too: functions
/// save RA and FP in them.
static POISONED: [i32; 31] = {
    let mut poisoned = [0; 31];
    let mut next = 0;
    let mut register = 0;
    while register < REGISTERS.len() {
        if register != 15 {
            poisoned[next] = REGISTERS[register];
            next += 1;
        }
        register += 1;
    }
    poisoned
};

/// z/Architecture Principles of Operation, chapters 5 and 7.
fn control(code: &[u8]) -> Control {
    let [first, second, rest @ ..] = code else {
        return Control::Other;
    };
    let (high, low) = (second >> 4, second & 0xf);
    // Calls are the branches that leave their return address in r14; with
    // another register they fetch the PC or enter a helper with its own rules.
    let call = |taken: bool| if high == 14 && taken { Control::Call } else { Control::Other };
    match (first, low) {
        (0x0d | 0x05, _) => call(low != 0),      // basr, balr; r0 does not branch
        (0x0c, _) => call(low != 0),             // bassm
        (0x4d | 0x45, _) => call(true),          // bas, bal
        (0xa7, 0x5) | (0xc0, 0x5) => call(true), // bras, brasl
        (0x07, _) if high != 0 && low != 0 => Control::Indirect, // bcr
        (0x06, _) if low != 0 => Control::Indirect, // bctr
        (0x0b, _) if low != 0 => Control::Indirect, // bsm
        // bc, bct, bxh, bxle; ex and exrl run a branch that lies elsewhere.
        (0x47, _) if high != 0 => Control::Indirect,
        (0x46 | 0x86 | 0x87 | 0x44, _) => Control::Indirect,
        (0xc6, 0x0) => Control::Indirect,
        // j . and jg .
        (0xa7, 0x4) if high == 15 && matches!(rest, [0, 0, ..]) => Control::SelfJump,
        (0xc0, 0x4) if high == 15 && matches!(rest, [0, 0, 0, 0, ..]) => Control::SelfJump,
        // Compare and branch to base and displacement: cgrb, clgrb, crb,
        // clrb, cgib, clgib, cib, clib.
        (0xec, _) if matches!(rest.get(3), Some(0xe4 | 0xe5 | 0xf6 | 0xf7 | 0xfc..=0xff)) => {
            Control::Indirect
        }
        // bic, bctg, bxhg, bxleg.
        (0xe3, _) if matches!(rest.get(3), Some(0x46 | 0x47)) => Control::Indirect,
        (0xeb, _) if matches!(rest.get(3), Some(0x44 | 0x45)) => Control::Indirect,
        _ => Control::Other,
    }
}

/// 64-bit addressing, without which nothing runs; the floating-point and
/// vector instructions, without which programs die early and look clean.
fn prepare(unicorn: &mut Unicorn<'_, ()>) -> Result<(), uc_error> {
    const EXTENDED_AND_BASIC_ADDRESSING: u64 = 0x1_8000_0000;
    const AFP_AND_VECTOR: u64 = 0x6_0000;
    unicorn.reg_write(R::PSWM, EXTENDED_AND_BASIC_ADDRESSING)?;
    let control = unicorn.reg_read(R::CR0)?;
    unicorn.reg_write(R::CR0, control | AFP_AND_VECTOR)
}

/// The thread pointer is split over access registers 0 and 1.
fn set_thread_pointer(unicorn: &mut Unicorn<'_, ()>, address: u64) -> Result<(), uc_error> {
    unicorn.reg_write(R::A0, address >> 32)?;
    unicorn.reg_write(R::A1, address & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_returns_are_told_from_other_instructions() {
        for (code, expected) in [
            (&[0x0d, 0xe1][..], Control::Call),                      // basr %r14,%r1
            (&[0xc0, 0xe5, 0, 0, 0, 8], Control::Call),              // brasl %r14
            (&[0xa7, 0xe5, 0, 8], Control::Call),                    // bras %r14
            (&[0x4d, 0xe0, 0x10, 0], Control::Call),                 // bas %r14
            (&[0x0d, 0xe0], Control::Other),                         // basr %r14,0 fetches the PC
            (&[0xa7, 0xd5, 0, 8], Control::Other),                   // bras %r13 over literals
            (&[0xc0, 0x05, 0, 0, 0, 8], Control::Other),             // brasl %r0,__fentry__
            (&[0x07, 0xfe], Control::Indirect),                      // br %r14
            (&[0x07, 0xf1], Control::Indirect),                      // br %r1
            (&[0x07, 0x8e], Control::Indirect),                      // ber %r14
            (&[0x07, 0x07], Control::Other),                         // nopr %r7
            (&[0x07, 0xf0], Control::Other),                         // bcr 15,0 is a fence
            (&[0x47, 0xf0, 0xe0, 0], Control::Indirect),             // b 0(%r14)
            (&[0x47, 0, 0, 0], Control::Other),                      // nop
            (&[0xc6, 0, 0, 0, 0, 4], Control::Indirect),             // exrl
            (&[0xec, 0x12, 0xe0, 0, 0x80, 0xe4], Control::Indirect), // cgrbe %r1,%r2,0(%r14)
            (&[0xec, 0x12, 0, 0, 0x80, 0x64], Control::Other),       // cgrje
            (&[0xa7, 0xf4, 0, 0], Control::SelfJump),                // j .
            (&[0xc0, 0xf4, 0, 0, 0, 0], Control::SelfJump),          // jg .
            (&[0xa7, 0xf4, 0, 4], Control::Other),                   // j .+8
            (&[0xa7, 0x84, 0, 0], Control::Other),                   // je .
            (&[0x0a, 0x01], Control::Other),                         // svc
            (&[], Control::Other),
        ] {
            assert_eq!(control(code), expected, "{code:02x?}");
        }
    }
}
