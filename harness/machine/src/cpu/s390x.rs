//! s390x.

use std::cmp::Ordering;

use goblin::elf::header::EM_S390;
use sframe_engine::Abi;
use unicorn_engine::{Arch, Mode, RegisterS390X as R, Unicorn, uc_error};

use super::CloneArgument::{ChildWord, Flags, ParentWord, Stack, ThreadPointer};
use super::{
    BranchTarget, Chain, Control, Convention, Cpu, LazyCall, Link, Linking, RelocationTypes, SignalFrame,
    Source, StackPointer, Stat, SystemCalls, Unreported,
};

/// s390x, as the ELF ABI supplement uses it.
pub static S390X: Cpu = Cpu {
    abi: Abi::S390x,
    user_end: 1 << 53,
    physical_bits: 63,
    address_bits: 64,
    returns_by_any_branch: true,
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
    termination: Some(R::R14 as i32),
    cfa_above_sp: 160,
    longest: 6,
    instruction_alignment: 2,
    // ELF ABI supplement, 1.2.2.
    convention: Convention {
        arguments: &[2, 3, 4, 5, 6],
        result: 2,
        clobbered: &[0, 1, 2, 3, 4, 5],
        preserved: &[7, 8, 9, 10, 12, 13],
        counter: None,
    },
    system_calls: SystemCalls {
        number: R::R1 as i32,
        arguments: [R::R2 as i32, R::R3 as i32, R::R4 as i32, R::R5 as i32, R::R6 as i32, R::R7 as i32],
        result: R::R2 as i32,
        len: 2,
        is_in_instruction: true,
        hardware: 0,
        vector_len: None,
        exceptions: &[],
        // Principles of Operation, chapter 6: a program interruption that suppresses or completes
        // its instruction leaves the address of the next one.
        traps: &[PROGRAM_INTERRUPTION],
        breakpoint: Some(&[0x00, 0x01]),
        clobbered: &[],
        restorer: &[0x0a, 173],
        mmap_takes_pointer: true,
        name: |number| syscalls::s390x::Sysno::new(number).map(|call| call.name()),
        machine: "s390x",
        folder_flags: [0o200_000, 0o400_000],
        clone: [Stack, Flags, ParentWord, ChildWord, ThreadPointer],
        epoll_event: (8, 16),
        stat: &[
            Stat::Word(1),
            Stat::Inode,
            Stat::Word(1),
            Stat::Mode,
            Stat::User,
            Stat::User,
            Stat::Half(0),
            Stat::Word(0),
            Stat::Len,
            Stat::Times,
            Stat::Word(4096),
            Stat::Blocks,
            Stat::Word(0),
            Stat::Word(0),
            Stat::Word(0),
        ],
        has_short_statfs: true,
    },
    signal_frame: &SIGNAL_FRAME,
    linking: LINKING,
    control,
    is_conditional,
    branch_target,
    skips_speculation_trap: |_, _| false,
    retpoline_jump: |_| None,
    direct_call: |_| None,
    fetches_pc,
    stack_pointer,
    signs: |_| None,
    returns_signed: |_| false,
    source,
    unreported,
    is_privileged: |_| false,
    // lpsw, lpswe, lpswey.
    returns_from_exception: |code| {
        matches!(code, [0x82, ..] | [0xb2, 0xb2, ..] | [0xeb, _, _, _, _, 0x71, ..])
    },
    // The return address of a traced function stays in its register: the tracer's is in another one.
    kept_for_tracer: None,
    is_mistaken,
    // The formats VRI to VSI (z/Architecture Principles of Operation, chapter 5).
    is_vector: |code| matches!(code, [0xe6 | 0xe7, ..]),
    prepare,
    memory_operands: Some(memory_operands),
    set_thread_pointer,
    set_order,
};

/// Unicorn's number of the exception.
const PROGRAM_INTERRUPTION: u32 = 3;

/// ELF ABI supplement, chapters 1.3.5 (relocations) and 2.2.5 (PLT).
const LINKING: Linking = Linking {
    relocations: RelocationTypes {
        absolute: 22,
        copy: 9,
        glob_dat: 10,
        jump_slot: 11,
        relative: 12,
        irelative: 61,
        thread_offset: 56,
        others: &[(54, "R_390_TLS_DTPMOD"), (55, "R_390_TLS_DTPOFF")],
    },
    arguments: [R::R2 as i32, R::R3 as i32, R::R4 as i32],
    result: R::R2 as i32,
    resolver: &[0x07, 0xf1], // br %r1
    target: R::R1 as i32,
    // The number is that of the relocation's first byte in its table.
    lazy_call: |sp, read| {
        const RELA: u64 = 24;
        let (image, offset) = (read(sp.wrapping_add(48))?, read(sp.wrapping_add(56))?);
        offset.is_multiple_of(RELA).then_some(LazyCall::Relocation { image, number: offset / RELA })
    },
    signing: None,
    hash_word: 8,
    thread_storage_above: false,
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

/// `struct rt_sigframe` of Linux, with the vector registers.
static SIGNAL_FRAME: SignalFrame = SignalFrame {
    len: 1320,
    red_zone: 0,
    above: 0,
    alignment: 8,
    misalignment: 0,
    info: 168,
    context: 296,
    mask: 680,
    fault: None,
    registers: &[
        (336, R::PSWM as i32),
        (344, R::PC as i32),
        (352, R::R0 as i32),
        (360, R::R1 as i32),
        (368, R::R2 as i32),
        (376, R::R3 as i32),
        (384, R::R4 as i32),
        (392, R::R5 as i32),
        (400, R::R6 as i32),
        (408, R::R7 as i32),
        (416, R::R8 as i32),
        (424, R::R9 as i32),
        (432, R::R10 as i32),
        (440, R::R11 as i32),
        (448, R::R12 as i32),
        (456, R::R13 as i32),
        (464, R::R14 as i32),
        (472, R::R15 as i32),
    ],
    restorer_sp: 0,
    chain: Chain::Backchain,
};

/// z/Architecture Principles of Operation, chapters 7 and 8: the instructions
/// that work on bytes in memory.
fn unreported(code: &[u8]) -> Unreported {
    match code {
        // The SS formats: mvn, mvc, mvz, nc, oc, xc, tr, mvcin, mvo and the
        // packed-decimal ones. The first operand has at most 256 bytes.
        [
            0xd1..=0xd4 | 0xd6 | 0xd7 | 0xdc | 0xe1 | 0xe2 | 0xe8 | 0xe9 | 0xea | 0xf0..=0xfd,
            length,
            high,
            low,
            ..,
        ] => {
            // The others have two lengths, or none.
            let len = if matches!(code, [0xd1..=0xd7 | 0xdc, ..]) { u64::from(*length) + 1 } else { 256 };
            let base = match high >> 4 {
                0 => None,
                number => Some(REGISTERS[usize::from(number)]),
            };
            let displacement = u64::from(high & 0xf) << 8 | u64::from(*low);
            Unreported::Bytes { base, alignment: 1, displacement, len }
        }
        // exrl.
        [0xc6, second, a, b, c, d, ..] if second & 0xf == 0 => {
            let altering = Some(usize::from(second >> 4)).filter(|number| *number > 0);
            let distance = i64::from(i32::from_be_bytes([*a, *b, *c, *d])) * 2;
            Unreported::Target(distance, altering.map(|number| REGISTERS[number]))
        }
        // ex, mvcl, mvcle, mvcp, mvcs, mvpg, mvst, what ciphers, sorts and
        // compresses, translates, mvcos, mvclu.
        [0x44 | 0x0e | 0xa8 | 0xda | 0xdb, ..]
        | [0xb2, 0x54 | 0x55, ..]
        | [0xb9, 0x28..=0x2f | 0x38..=0x3f | 0x90..=0x93, ..]
        | [0xeb, _, _, _, _, 0x8e, ..] => Unreported::Anything,
        [0xc8, second, ..] if second & 0xf == 0 => Unreported::Anything,
        _ => Unreported::Nothing,
    }
}

/// z/Architecture Principles of Operation, chapters 5 and 7.
fn control(code: &[u8]) -> Control {
    let [first, second, rest @ ..] = code else {
        return Control::Other;
    };
    let (high, low) = (second >> 4, second & 0xf);
    // Calls are the branches that leave their return address in r14; with
    // another register they fetch the PC or enter a helper with its own rules.
    let call = |taken: bool| match (taken, high) {
        (false, _) => Control::Other,
        (true, 14) => Control::Call,
        (true, _) => Control::Link,
    };
    match (first, low) {
        (0x0d | 0x05, _) => call(low != 0),      // basr, balr; r0 does not branch
        (0x0c, _) => call(low != 0),             // bassm
        (0x4d | 0x45, _) => call(true),          // bas, bal
        (0xa7, 0x5) | (0xc0, 0x5) => call(true), // bras, brasl
        (0x07, 14) if high != 0 => Control::Return, // bcr to the link register
        (0x07, _) if high != 0 && low != 0 => Control::Indirect, // bcr
        (0x06, _) if low != 0 => Control::Indirect, // bctr
        (0x0b, _) if low != 0 => Control::Indirect, // bsm
        // bc, bct, bxh, bxle; ex and exrl execute a branch at another place.
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

/// All except branches with the mask "always"; what an `ex` or `exrl` executes may not be a
/// branch at all.
fn is_conditional(code: &[u8]) -> bool {
    let mask = code.get(1).map_or(15, |second| second >> 4);
    match code.first() {
        Some(0x07 | 0x47) => mask != 15,                        // bcr, bc
        Some(0xe3) if code.get(5) == Some(&0x47) => mask != 15, // bic
        Some(0x0b) => false,                                    // bsm
        _ => matches!(control(code), Control::Indirect | Control::Return),
    }
}

/// `bcr` names its register; `exrl` names the instruction that it executes, unmodified with r0.
fn branch_target(code: &[u8]) -> Option<BranchTarget> {
    match code {
        [0xc6, 0x00, a, b, c, d, ..] => {
            Some(BranchTarget::Instruction(i64::from(i32::from_be_bytes([*a, *b, *c, *d])) * 2))
        }
        [0x07, register, ..] if control(code).is_indirect() => {
            Some(BranchTarget::Register(REGISTERS[usize::from(register & 0xf)]))
        }
        _ => None,
    }
}

const SP: u8 = 15;
const FP: u8 = 11;

/// The source of a new register value, for the instructions that move and compute addresses
/// (Principles of Operation, chapters 7 and 20).
fn source(code: &[u8], register: u8) -> Source {
    let from = |base: u8| match base {
        _ if base == register => Source::Itself,
        SP | FP => Source::Stack,
        0 => Source::Elsewhere,
        _ => Source::Register(base),
    };
    let nibbles = |index: usize| code.get(index).map_or((0, 0), |byte| (byte >> 4, byte & 0xf));
    let (first, second) = nibbles(1);
    let base = nibbles(2).0;
    let last = code.get(5).copied().unwrap_or_default();
    match (code, last) {
        // lgr, ltgr, locgr: the operands are in the last byte.
        ([0xb9, 0x04 | 0x02 | 0xe2, ..], _) if nibbles(3).0 == register => from(nibbles(3).1),
        // agrk and sgrk.
        ([0xb9, 0xe8 | 0xe9, ..], _) if nibbles(3).0 == register => {
            if [nibbles(3).1, base].contains(&SP) {
                from(SP)
            } else {
                from(nibbles(3).1)
            }
        }
        // aghik.
        ([0xec, ..], 0xd9) if first == register => from(second),
        // la and lay; the index may be the address as well as the base.
        ([0x41, ..], _) | ([0xe3, ..], 0x71) if first == register => {
            if [second, base].contains(&register) {
                Source::Itself
            } else {
                from(base.max(second))
            }
        }
        // lg, ltg; lgrl; larl, lgfi, llihf, llilf; lghi; llihh to llill; lgdr.
        ([0xe3, ..], 0x02 | 0x04) if first == register => Source::Elsewhere,
        ([0xc4, ..], _) if first == register && second == 8 => Source::Elsewhere,
        ([0xc0, ..], _) if first == register && matches!(second, 0 | 1 | 0xe | 0xf) => Source::Elsewhere,
        ([0xa7, ..], _) if first == register && second == 9 => Source::Elsewhere,
        ([0xa5, ..], _) if first == register && second >= 0xc => Source::Elsewhere,
        ([0xb3, 0xcd, ..], _) if nibbles(3).0 == register => Source::Elsewhere,
        // locg.
        ([0xeb, ..], 0xe2) if first == register => Source::Elsewhere,
        // lmg, whose registers wrap.
        ([0xeb, ..], 0x04) if register.wrapping_sub(first) & 0xf <= second.wrapping_sub(first) & 0xf => {
            Source::Elsewhere
        }
        _ => Source::Itself,
    }
}

/// `risbhg` and `risblg` that keep the bits which they don't select: these become 0. `stmh`: it stores the
/// other halves of registers.
const fn is_mistaken(code: &[u8]) -> bool {
    matches!(code, [0xec, _, _, 0..=0x7f, _, 0x51 | 0x5d, ..] | [0xeb, _, _, _, _, 0x26, ..])
}

/// Functions begin by saving registers into their caller's frame, or by making
/// their own; code that fetches the PC does not.
fn fetches_pc(code: &[u8]) -> bool {
    let saves = match code {
        // stmg and stg, to the register's place in the caller's frame.
        [0xeb | 0xe3, registers, high, low, 0, 0x24, ..] => {
            *high == SP << 4 && u32::from(*low) == 8 * u32::from(registers >> 4)
        }
        [0xb3, 0xc1, ..] => true, // ldgr
        _ => false,
    };
    let makes_frame = match code {
        [0xa7, second, ..] => *second == 0xfb, // aghi %r15
        [0xe3, second, ..] => second >> 4 == SP && code.get(5) == Some(&0x71), // lay %r15
        _ => false,
    };
    !saves && !makes_frame
}

fn stack_pointer(code: &[u8]) -> StackPointer {
    let base = code.get(2).map_or(0, |byte| byte >> 4);
    match (source(code, SP), code) {
        (Source::Itself, _) => StackPointer::Relative,
        (Source::Stack, _) => StackPointer::Frame,
        (Source::Register(register), _) => StackPointer::Copied(register),
        // From memory of the frame, or from a floating-point register: the caller's value that
        // the function has saved there.
        (Source::Elsewhere, [0xe3 | 0xeb, ..]) if matches!(base, SP | FP) => StackPointer::Frame,
        (Source::Elsewhere, [0xb3, ..]) => StackPointer::Frame,
        (Source::Elsewhere, _) => StackPointer::Loaded,
    }
}

/// 64-bit addressing, without which nothing runs; the floating-point and vector instructions,
/// without which programs die early and seem to be clean.
fn prepare(unicorn: &mut Unicorn<'_, ()>) -> Result<(), uc_error> {
    const EXTENDED_AND_BASIC_ADDRESSING: u64 = 0x1_8000_0000;
    const PROBLEM_STATE: u64 = 1 << (63 - 15);
    const AFP_AND_VECTOR: u64 = 0x6_0000;
    unicorn.reg_write(R::PSWM, EXTENDED_AND_BASIC_ADDRESSING | PROBLEM_STATE)?;
    let control = unicorn.reg_read(R::CR0)?;
    unicorn.reg_write(R::CR0, control | AFP_AND_VECTOR)
}

/// The thread pointer is split over access registers 0 and 1.
fn set_thread_pointer(unicorn: &mut Unicorn<'_, ()>, address: u64) -> Result<(), uc_error> {
    unicorn.reg_write(R::A0, address >> 32)?;
    unicorn.reg_write(R::A1, address & 0xffff_ffff)
}

/// z/Architecture Principles of Operation, chapter 4: the condition code, bits 18 and 19 of the PSW.
fn set_order(unicorn: &mut Unicorn<'_, ()>, order: Ordering) -> Result<(), uc_error> {
    let code: u64 = match order {
        Ordering::Equal => 0,
        Ordering::Less => 1,
        Ordering::Greater => 2,
    };
    let others = unicorn.reg_read(R::PSWM)? & !(3 << 44);
    unicorn.reg_write(R::PSWM, others | code << 44)
}

/// z/Architecture Principles of Operation, chapter 5: the addresses of the operands in memory,
/// by the instruction's format.
fn memory_operands(code: &[u8], register: &dyn Fn(usize) -> u64) -> Vec<u64> {
    let value = |number: u8| if number == 0 { 0 } else { register(usize::from(number)) };
    let based =
        |high: u8, low: u8| value(high >> 4).wrapping_add(u64::from(high & 0xf) << 8 | u64::from(low));
    // With 20 bits of displacement, signed.
    let long = |high: u8, low: u8, sign: u8| {
        let displacement = i64::from(sign.cast_signed()) << 12 | i64::from(high & 0xf) << 8 | i64::from(low);
        value(high >> 4).wrapping_add_signed(displacement)
    };
    match *code {
        // RX: base, index and displacement.
        [0x40..=0x7f, registers, high, low, ..] => {
            vec![based(high, low).wrapping_add(value(registers & 0xf))]
        }
        // RS and SI. Before them are shifts, branches, and what only a kernel may execute.
        [0x90..=0x9f | 0xba..=0xbf, _, high, low, ..] => vec![based(high, low)],
        // SS: two operands.
        [0xd0..=0xdf | 0xe8 | 0xf0..=0xff, _, high, low, second, last, ..] => {
            vec![based(high, low), based(second, last)]
        }
        // RXY, RXE and the vector formats.
        [0xe3, registers, high, low, sign, ..] => {
            vec![long(high, low, sign).wrapping_add(value(registers & 0xf))]
        }
        [0xe7 | 0xed, registers, high, low, ..] => {
            vec![based(high, low).wrapping_add(value(registers & 0xf))]
        }
        // RSY and SIY, without shifts (and `stctg` and `lctlg`, which are a kernel's).
        [0xeb, .., 0x0a..=0x0d | 0x1c..=0x1d | 0x25 | 0x2f | 0xdc..=0xdf] => Vec::new(),
        [0xeb, _, high, low, sign, ..] => vec![long(high, low, sign)],
        // SIL.
        [0xe5, _, high, low, ..] => vec![based(high, low)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_keeps_bits_of_the_other_half_is_computed_wrongly() {
        for (code, expected) in [
            ([0xec, 0x23, 16, 31, 32, 0x5d], true),     // risbhg %r2,%r3,16,31,32
            ([0xec, 0x23, 0, 31, 0, 0x51], true),       // risblg %r2,%r3,0,31
            ([0xec, 0x23, 16, 0x9f, 0, 0x51], false),   // risblgz %r2,%r3,16,31
            ([0xec, 0x23, 32, 63, 0, 0x55], false),     // risbg %r2,%r3,32,63
            ([0xeb, 0x23, 0xf0, 0xa0, 0, 0x26], true),  // stmh %r2,%r3,160(%r15)
            ([0xeb, 0x23, 0xf0, 0xa0, 0, 0x24], false), // stmg %r2,%r3,160(%r15)
        ] {
            assert_eq!(is_mistaken(&code), expected, "{code:02x?}");
        }
    }

    /// `mvc` and the like have as many bytes as they say, unless `exrl` gives another number.
    #[test]
    fn moves_store_as_many_bytes_as_they_say() {
        const MVC: [u8; 6] = [0xd2, 0x07, 0x20, 0x10, 0x30, 0];
        let of = |exrl: u8, value| {
            let execute = [0xc6, exrl, 0, 0, 0, 3];
            let decode = |pc| unreported(if pc == 0 { &execute } else { &MVC });
            Unreported::at(0, decode, |number| (number == REGISTERS[4]).then_some(value))
        };
        let bytes =
            |len| Unreported::Bytes { base: Some(REGISTERS[2]), alignment: 1, displacement: 0x10, len };
        assert_eq!(unreported(&MVC), bytes(8));
        assert_eq!(of(0x00, 0), bytes(8));
        assert_eq!(of(0x40, 0x1_0118), bytes(0x20));
        assert_eq!(of(0x40, 0xff), bytes(256));
        // mvo has two lengths of 16 at most.
        let mvo = unreported(&[0xf1, 0x82, 0x20, 0x10, 0x30, 0]);
        assert_eq!(mvo, bytes(256));
    }

    #[test]
    fn comparisons_store_nothing_and_ciphers_may_store_anywhere() {
        for (code, expected) in [
            ([0xb9, 0x20, 0, 0x23], Unreported::Nothing),  // cgr %r2,%r3
            ([0xb9, 0x21, 0, 0x23], Unreported::Nothing),  // clgr %r2,%r3
            ([0xb9, 0x30, 0, 0x23], Unreported::Nothing),  // cgfr %r2,%r3
            ([0xb9, 0x2e, 0, 0x24], Unreported::Anything), // km %r2,%r4
            ([0xb9, 0x3e, 0, 0x24], Unreported::Anything), // kimd %r2,%r4
        ] {
            assert_eq!(unreported(&code), expected, "{code:02x?}");
        }
    }

    #[test]
    fn calls_and_returns_are_recognised() {
        for (code, expected) in [
            (&[0x0d, 0xe1][..], Control::Call),                      // basr %r14,%r1
            (&[0xc0, 0xe5, 0, 0, 0, 8], Control::Call),              // brasl %r14
            (&[0xa7, 0xe5, 0, 8], Control::Call),                    // bras %r14
            (&[0x4d, 0xe0, 0x10, 0], Control::Call),                 // bas %r14
            (&[0x0d, 0xe0], Control::Other),                         // basr %r14,0 fetches the PC
            (&[0xa7, 0xd5, 0, 8], Control::Link),                    // bras %r13 over literals
            (&[0xc0, 0x05, 0, 0, 0, 8], Control::Link),              // brasl %r0,__fentry__
            (&[0x07, 0xfe], Control::Return),                        // br %r14
            (&[0x07, 0xf1], Control::Indirect),                      // br %r1
            (&[0x07, 0x8e], Control::Return),                        // ber %r14
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

    #[test]
    fn conditional_branches_are_recognised() {
        for (code, expected) in [
            (&[0x07, 0xfe][..], false),                 // br %r14
            (&[0x07, 0x8e], true),                      // ber %r14
            (&[0x47, 0xf0, 0xe0, 0], false),            // b 0(%r14)
            (&[0x47, 0x80, 0xe0, 0], true),             // be 0(%r14)
            (&[0xec, 0x28, 0xe0, 0, 0, 0xfc], true),    // cgibe %r2,0,0(%r14)
            (&[0xec, 0x12, 0xe0, 0, 0x80, 0xe4], true), // cgrbe %r1,%r2,0(%r14)
            (&[0xe3, 0xf0, 0xe0, 0, 0, 0x47], false),   // bi 0(%r14)
            (&[0xe3, 0x80, 0xe0, 0, 0, 0x47], true),    // bie 0(%r14)
            (&[0xe3, 0x10, 0xe0, 0, 0, 0x46], true),    // bctg %r1,0(%r14)
            (&[0xc6, 0, 0, 0, 0, 4], true),             // exrl
            (&[0x0b, 0x0e], false),                     // bsm %r0,%r14
            (&[0xa7, 0x84, 0, 4], false),               // je, which names its place itself
        ] {
            assert_eq!(is_conditional(code), expected, "{code:02x?}");
        }
    }

    #[test]
    fn the_target_of_an_indirect_branch_is_in_a_register_if_its_code_says_so() {
        let register = |register: R| Some(BranchTarget::Register(register as i32));
        for (code, expected) in [
            (&[0x07, 0xfe][..], register(R::R14)),         // br %r14
            (&[0x07, 0xf4], register(R::R4)),              // br %r4
            (&[0x07, 0x81], register(R::R1)),              // ber %r1
            (&[0x07, 0x07], None),                         // nopr %r7
            (&[0xe3, 0xf0, 0x10, 0x00, 0x00, 0x47], None), // bi 0(%r1)
            (&[0xc0, 0xe5, 0, 0, 0, 8], None),             // brasl
        ] {
            assert_eq!(branch_target(code), expected, "{code:02x?}");
        }
    }

    #[test]
    fn new_values_of_the_stack_pointer_are_classified_by_their_source() {
        use StackPointer::{Copied, Frame, Loaded, Relative};
        for (code, expected) in [
            (&[0xb9, 0x04, 0x00, 0xf3][..], Copied(3)),        // lgr %r15,%r3
            (&[0xb9, 0x04, 0x00, 0xfb], Frame),                // lgr %r15,%r11
            (&[0xb9, 0x04, 0x00, 0x1f], Relative),             // lgr %r1,%r15
            (&[0xe3, 0xf0, 0x30, 0x00, 0x00, 0x04], Loaded),   // lg %r15,0(%r3)
            (&[0xe3, 0xf0, 0xb1, 0x18, 0x00, 0x04], Frame),    // lg %r15,280(%r11)
            (&[0xeb, 0x6f, 0xf0, 0xd0, 0x00, 0x04], Frame),    // lmg %r6,%r15,208(%r15)
            (&[0xeb, 0x6f, 0x20, 0x00, 0x00, 0x04], Loaded),   // lmg %r6,%r15,0(%r2)
            (&[0xeb, 0x6e, 0x20, 0x00, 0x00, 0x04], Relative), // lmg %r6,%r14,0(%r2)
            (&[0xeb, 0x6f, 0xf0, 0x30, 0x00, 0x24], Relative), // stmg %r6,%r15,48(%r15)
            (&[0xe3, 0xf0, 0xff, 0x58, 0xff, 0x71], Relative), // lay %r15,-168(%r15)
            (&[0x41, 0xf0, 0xb0, 0xa0], Frame),                // la %r15,160(%r11)
            (&[0x41, 0xf0, 0x10, 0x00], Copied(1)),            // la %r15,0(%r1)
            (&[0xa7, 0xfb, 0xff, 0x60], Relative),             // aghi %r15,-160
            (&[0xb9, 0xe9, 0x10, 0xff], Relative),             // sgrk %r15,%r15,%r1
            (&[0xb3, 0xcd, 0x00, 0xf0], Frame),                // lgdr %r15,%f0
            (&[0xc0, 0xf0, 0, 0, 0, 8], Loaded),               // larl %r15,stack
            (&[0xc4, 0xf8, 0, 0, 0, 8], Loaded),               // lgrl %r15,stack
            (&[0xeb, 0xf8, 0x30, 0x00, 0x00, 0xe2], Loaded),   // locge %r15,0(%r3)
            (&[0xe3, 0xf0, 0xb0, 0x00, 0x00, 0x02], Frame),    // ltg %r15,0(%r11)
            (&[0xb9, 0x02, 0x00, 0xf3], Copied(3)),            // ltgr %r15,%r3
            (&[0xc4, 0x18, 0, 0, 0, 8], Relative),             // lgrl %r1,stack
            (&[0x07, 0xfe], Relative),
            (&[], Relative),
        ] {
            assert_eq!(stack_pointer(code), expected, "{code:02x?}");
        }
    }

    #[test]
    fn a_call_that_fetches_the_pc_is_recognised() {
        for (code, expected) in [
            (&[0xb9, 0x04, 0x00, 0x2e][..], true),          // lgr %r2,%r14
            (&[0xe3, 0x20, 0xe0, 0x00, 0x00, 0x04], true),  // lg %r2,0(%r14)
            (&[0xeb, 0x6f, 0xf0, 0x30, 0x00, 0x24], false), // stmg %r6,%r15,48(%r15)
            (&[0xe3, 0xe0, 0xf0, 0x70, 0x00, 0x24], false), // stg %r14,112(%r15)
            (&[0xb3, 0xc1, 0x00, 0x2e], false),             // ldgr %f2,%r14
            (&[0xa7, 0xfb, 0xff, 0x60], false),             // aghi %r15,-160
            (&[0xe3, 0xf0, 0xff, 0x58, 0xff, 0x71], false), // lay %r15,-168(%r15)
        ] {
            assert_eq!(fetches_pc(code), expected, "{code:02x?}");
        }
    }

    #[test]
    fn values_are_traced_to_where_they_come_from() {
        for (code, register, expected) in [
            (&[0xb9, 0x04, 0x00, 0x1f][..], 1, Source::Stack), // lgr %r1,%r15
            (&[0x41, 0x10, 0xf0, 0xa0], 1, Source::Stack),     // la %r1,160(%r15)
            (&[0x41, 0x11, 0x00, 0x08], 1, Source::Itself),    // la %r1,8(%r1)
            (&[0xb9, 0xe9, 0x20, 0x1f], 1, Source::Stack),     // sgrk %r1,%r15,%r2
            (&[0xec, 0x1f, 0xff, 0x60, 0x00, 0xd9], 1, Source::Stack), // aghik %r1,%r15,-160
            (&[0xb9, 0x04, 0x00, 0x12], 1, Source::Register(2)), // lgr %r1,%r2
            (&[0xe3, 0x10, 0x20, 0x00, 0x00, 0x04], 1, Source::Elsewhere), // lg %r1,0(%r2)
            (&[0xe3, 0x10, 0x20, 0x00, 0x00, 0x24], 1, Source::Itself), // stg %r1,0(%r2)
        ] {
            assert_eq!(source(code, register), expected, "{code:02x?}");
        }
    }
}
