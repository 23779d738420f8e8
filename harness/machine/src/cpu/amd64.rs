//! amd64.

use std::cmp::Ordering;

use goblin::elf::header::EM_X86_64;
use sframe_engine::Abi;
use unicorn_engine::{Arch, Mode, RegisterX86 as R, Unicorn, uc_error};

use super::CloneArgument::{ChildWord, Flags, ParentWord, Stack, ThreadPointer};
use super::{
    BranchTarget, Chain, Control, Convention, Cpu, LazyCall, Link, Linking, RelocationTypes, SI_KERNEL,
    SignalFrame, Source, StackPointer, Stat, SystemCalls, Unreported,
};

/// amd64, as the System V psABI uses it.
pub static AMD64: Cpu = Cpu {
    abi: Abi::Amd64,
    user_end: 0x7fff_ffff_f000,
    physical_bits: 52,
    address_bits: 64,
    returns_by_any_branch: false,
    elf_machine: EM_X86_64,
    arch: Arch::X86,
    mode: Mode::MODE_64,
    model: None,
    pc: R::RIP as i32,
    sp: R::RSP as i32,
    fp: R::RBP as i32,
    link: Link::Stack,
    registers: &[
        R::RAX as i32,
        R::RDX as i32,
        R::RCX as i32,
        R::RBX as i32,
        R::RSI as i32,
        R::RDI as i32,
        R::RBP as i32,
        R::RSP as i32,
        R::R8 as i32,
        R::R9 as i32,
        R::R10 as i32,
        R::R11 as i32,
        R::R12 as i32,
        R::R13 as i32,
        R::R14 as i32,
        R::R15 as i32,
        R::RIP as i32,
    ],
    poisoned: &[
        R::RBP as i32,
        R::RAX as i32,
        R::RBX as i32,
        R::RCX as i32,
        R::RSI as i32,
        R::RDI as i32,
        R::R8 as i32,
        R::R9 as i32,
        R::R10 as i32,
        R::R11 as i32,
        R::R12 as i32,
        R::R13 as i32,
        R::R14 as i32,
        R::R15 as i32,
    ],
    termination: Some(R::RDX as i32),
    cfa_above_sp: 0,
    longest: 15,
    instruction_alignment: 1,
    // System V psABI, 3.2.3.
    convention: Convention {
        arguments: &[5, 4, 1, 2, 8, 9],
        result: 0,
        clobbered: &[0, 1, 2, 4, 5, 8, 9, 10, 11],
        preserved: &[3, 12, 13, 14, 15],
        counter: Some(R::RCX as i32),
    },
    system_calls: SystemCalls {
        number: R::RAX as i32,
        arguments: [R::RDI as i32, R::RSI as i32, R::RDX as i32, R::R10 as i32, R::R8 as i32, R::R9 as i32],
        result: R::RAX as i32,
        len: 2,
        is_in_instruction: false,
        exceptions: &[
            (0, 8, 1),
            (1, 5, 2),
            (3, 5, SI_KERNEL),
            (4, 11, SI_KERNEL),
            (5, 11, SI_KERNEL),
            (11, 7, SI_KERNEL),
            (12, 7, SI_KERNEL),
            (13, 11, SI_KERNEL),
            (14, 11, 1),
            (16, 8, 1),
            (17, 7, 1),
            (19, 8, 1),
        ],
        hardware: 0,
        vector_len: None,
        traps: &[3], // int3
        breakpoint: None,
        clobbered: &[R::RCX as i32, R::R11 as i32],
        restorer: &[0xb8, 15, 0, 0, 0, 0x0f, 0x05],
        mmap_takes_pointer: false,
        name: |number| syscalls::x86_64::Sysno::new(number).map(|call| call.name()),
        machine: "x86_64",
        folder_flags: [0o200_000, 0o400_000],
        clone: [Flags, Stack, ParentWord, ChildWord, ThreadPointer],
        // The structure is packed.
        epoll_event: (4, 12),
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
            Stat::Word(4096),
            Stat::Blocks,
            Stat::Times,
            Stat::Word(0),
            Stat::Word(0),
            Stat::Word(0),
        ],
        has_short_statfs: false,
    },
    signal_frame: &SIGNAL_FRAME,
    linking: LINKING,
    control,
    is_conditional: |_| false,
    branch_target,
    skips_speculation_trap,
    retpoline_jump,
    direct_call,
    fetches_pc,
    stack_pointer,
    signs: |_| None,
    returns_signed: |_| false,
    source,
    unreported: |_| Unreported::Nothing,
    is_privileged,
    returns_from_exception,
    kept_for_tracer: None,
    is_mistaken,
    // With a prefix of VEX or EVEX (Intel SDM volume 2, 2.3 and 2.7).
    is_vector: |code| matches!(code, [0xc4 | 0xc5 | 0x62, ..]),
    prepare,
    memory_operands: None,
    set_thread_pointer,
    set_order,
};

/// System V psABI, chapters 4.4 (relocations) and 5.2 (PLT).
const LINKING: Linking = Linking {
    relocations: RelocationTypes {
        absolute: 1,
        copy: 5,
        glob_dat: 6,
        jump_slot: 7,
        relative: 8,
        irelative: 37,
        thread_offset: 18,
        others: &[(16, "R_X86_64_DTPMOD64"), (17, "R_X86_64_DTPOFF64"), (36, "R_X86_64_TLSDESC")],
    },
    arguments: [R::RDI as i32, R::RSI as i32, R::RDX as i32],
    result: R::RAX as i32,
    resolver: &[
        0x48, 0x83, 0xc4, 16, // add $16,%rsp: link map and number
        0x41, 0xff, 0xe3, // jmp *%r11
    ],
    target: R::R11 as i32,
    lazy_call: |sp, read| Some(LazyCall::Relocation { image: read(sp)?, number: read(sp.wrapping_add(8))? }),
    signing: None,
    hash_word: 4,
    thread_storage_above: false,
};

/// `struct rt_sigframe` of Linux, and 512 bytes of floating-point state above it.
static SIGNAL_FRAME: SignalFrame = SignalFrame {
    len: 440,
    red_zone: 128,
    above: 512,
    alignment: 16,
    misalignment: 8,
    info: 312,
    context: 8,
    mask: 304,
    fault: Some(224),
    registers: &[
        (48, R::R8 as i32),
        (56, R::R9 as i32),
        (64, R::R10 as i32),
        (72, R::R11 as i32),
        (80, R::R12 as i32),
        (88, R::R13 as i32),
        (96, R::R14 as i32),
        (104, R::R15 as i32),
        (112, R::RDI as i32),
        (120, R::RSI as i32),
        (128, R::RBP as i32),
        (136, R::RBX as i32),
        (144, R::RDX as i32),
        (152, R::RAX as i32),
        (160, R::RCX as i32),
        (168, R::RSP as i32),
        (176, R::RIP as i32),
        (184, R::RFLAGS as i32),
    ],
    // The handler's return has popped the restorer's address.
    restorer_sp: 8,
    chain: Chain::ReturnAddress,
};

/// Returns an instruction's REX prefix, and the bytes after all prefixes (Intel SDM volume 2,
/// 2.1 and 2.2).
fn without_prefixes(code: &[u8]) -> (u8, &[u8]) {
    let is_legacy = |byte: &&u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
    let rest = code.get(code.iter().take_while(is_legacy).count()..).unwrap_or_default();
    match rest {
        [rex @ 0x40..=0x4f, rest @ ..] => (*rex, rest),
        _ => (0, rest),
    }
}

/// Calls, returns and jumps.
fn control(code: &[u8]) -> Control {
    let (_, opcode) = without_prefixes(code);
    let plain = opcode.len() == code.len();
    match opcode {
        [0xe8, ..] => Control::Call,
        // ret, ret imm16, and the far forms.
        [0xc2 | 0xc3 | 0xca | 0xcb, ..] => Control::Return,
        [0xff, modrm, ..] => match (modrm >> 3) & 7 {
            2 | 3 => Control::Call,
            4 | 5 => Control::Indirect,
            _ => Control::Other,
        },
        [0xeb, 0xfe, ..] if plain => Control::SelfJump,
        [0xe9, 0xfb, 0xff, 0xff, 0xff, ..] if plain => Control::SelfJump,
        _ => Control::Other,
    }
}

const SP: u8 = 4;
const FP: u8 = 5;

/// The operands after an opcode: its ModRM and SIB bytes.
struct Operands {
    /// The register operand.
    reg: u8,
    /// The other operand.
    rm: Operand,
}

enum Operand {
    Register(u8),
    /// Memory at an address with this base register, if it has one.
    Memory(Option<u8>),
}

/// Intel SDM volume 2, 2.1.3 and 2.2.1.
fn operands(rex: u8, bytes: &[u8]) -> Option<Operands> {
    let [modrm, rest @ ..] = bytes else { return None };
    let (r, b) = ((rex & 4) << 1, (rex & 1) << 3);
    let (mode, low) = (modrm >> 6, modrm & 7);
    let rm = match (mode, low, rest) {
        (3, ..) => Operand::Register(low | b),
        (0, 5, _) => Operand::Memory(None),
        (_, 4, [sib, ..]) if mode == 0 && sib & 7 == 5 => Operand::Memory(None),
        (_, 4, [sib, ..]) => Operand::Memory(Some(sib & 7 | b)),
        _ => Operand::Memory(Some(low | b)),
    };
    Some(Operands { reg: (modrm >> 3) & 7 | r, rm })
}

/// Functions begin at a landing pad, or by making their frame; code that
/// fetches the PC does not.
fn fetches_pc(code: &[u8]) -> bool {
    let (_, opcode) = without_prefixes(code);
    // push, sub from %rsp, endbr64.
    !matches!(opcode, [0x50..=0x57, ..] | [0x81 | 0x83, 0xec, ..] | [0x0f, 0x1e, 0xfa, ..])
}

/// Intel SDM volume 3, 6.9: the privileged instructions, and those that depend
/// on the I/O privilege level, which is 0. The emulator is in the state that a
/// kernel has, and would execute them.
fn is_privileged(code: &[u8]) -> bool {
    let (_, opcode) = without_prefixes(code);
    match opcode {
        // ins, outs; in, out; hlt; cli, sti.
        [0x6c..=0x6f | 0xe4..=0xe7 | 0xec..=0xef | 0xf4 | 0xfa | 0xfb, ..] => true,
        // clts, sysret, invd, wbinvd; mov of control and debug registers;
        // wrmsr, rdmsr, rdpmc, sysexit; rsm.
        [0x0f, 0x06..=0x09 | 0x20..=0x23 | 0x30 | 0x32 | 0x33 | 0x35 | 0xaa, ..] => true,
        // lldt, ltr.
        [0x0f, 0x00, modrm, ..] => matches!((modrm >> 3) & 7, 2 | 3),
        // swapgs, xsetbv, clac, stac, and those of virtual machines.
        [0x0f, 0x01, 0xf8 | 0xd1 | 0xca | 0xcb | 0xc2..=0xc4 | 0xd8..=0xdf, ..] => true,
        // lgdt, lidt and invlpg of memory; lmsw.
        [0x0f, 0x01, modrm, ..] => match ((modrm >> 3) & 7, modrm >> 6) {
            (6, _) => true,
            (2 | 3 | 7, mode) => mode != 3,
            _ => false,
        },
        _ => false,
    }
}

/// Returns of interrupts, far returns, returns of system calls, and of FRED and system management.
fn returns_from_exception(code: &[u8]) -> bool {
    let (_, opcode) = without_prefixes(code);
    match opcode {
        [0xca | 0xcb | 0xcf, ..] | [0x0f, 0x07 | 0x35 | 0xaa, ..] => true,
        // erets, eretu; without their prefixes, it is clac.
        [0x0f, 0x01, 0xca, ..] => matches!(code, [0xf2 | 0xf3, ..]),
        _ => false,
    }
}

/// Instructions of AVX-512 with mask registers, which are executed as `cmov` and `set` are.
fn is_mistaken(code: &[u8]) -> bool {
    let opcode = match code {
        [0xc5, _, opcode, ..] => opcode,
        [0xc4, map, _, opcode, ..] if map & 0x1f == 1 => opcode,
        _ => return false,
    };
    matches!(opcode, 0x40..=0x4f | 0x90..=0x9f)
}

/// `mov %reg,(%rsp)`, `ret`, and the `int3` that stops straight-line speculation.
fn retpoline_jump(code: &[u8]) -> Option<u64> {
    match code {
        [rex, 0x89, modrm, 0x24, 0xc3, next, ..] if rex & 0xf8 == 0x48 && modrm & 0xc7 == 0x04 => {
            Some(if *next == 0xcc { 6 } else { 5 })
        }
        _ => None,
    }
}

/// `call rel32`.
fn direct_call(code: &[u8]) -> Option<(u64, i64)> {
    match code {
        [0xe8, a, b, c, d, ..] => Some((5, i32::from_le_bytes([*a, *b, *c, *d]).into())),
        _ => None,
    }
}

/// `ret`, and `jmp` to the address in a register.
fn branch_target(code: &[u8]) -> Option<BranchTarget> {
    let (rex, opcode) = without_prefixes(code);
    match opcode {
        [0xc2 | 0xc3, ..] => Some(BranchTarget::Stack),
        [0xff, modrm, ..] if modrm >> 3 == 0b11_100 => {
            let number = modrm & 7 | (rex & 1) << 3;
            ENCODED.get(usize::from(number)).copied().map(BranchTarget::Register)
        }
        _ => None,
    }
}

/// Registers by their numbers in instructions (Intel SDM volume 2, 2.2.1.2).
const ENCODED: [i32; 16] = [
    R::RAX as i32,
    R::RCX as i32,
    R::RDX as i32,
    R::RBX as i32,
    R::RSP as i32,
    R::RBP as i32,
    R::RSI as i32,
    R::RDI as i32,
    R::R8 as i32,
    R::R9 as i32,
    R::R10 as i32,
    R::R11 as i32,
    R::R12 as i32,
    R::R13 as i32,
    R::R14 as i32,
    R::R15 as i32,
];

/// Returns the length of a speculation trap: instructions that wait or do nothing, a jump back
/// to one of them or an instruction that traps, and padding.
fn speculation_trap(code: &[u8]) -> Option<usize> {
    let mut closed = false;
    let mut at = 0;
    while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
        let backwards = |displacement: i64, len: usize| {
            let target = i64::try_from(at + len).ok()?.checked_add(displacement)?;
            (0..=i64::try_from(at).ok()?).contains(&target).then_some(len)
        };
        at += match rest {
            [0xf3, 0x90, ..] => 2,       // pause
            [0x0f, 0xae, 0xe8, ..] => 3, // lfence
            // jmp, to one of the instructions before or to itself.
            [0xeb, to, ..] => {
                closed = true;
                backwards(to.cast_signed().into(), 2)?
            }
            [0xe9, a, b, c, d, ..] => {
                closed = true;
                backwards(i32::from_le_bytes([*a, *b, *c, *d]).into(), 5)?
            }
            // int3, ud2, hlt.
            [0xcc | 0xf4, ..] => {
                closed = true;
                1
            }
            [0x0f, 0x0b, ..] => {
                closed = true;
                2
            }
            _ => nop(rest)?,
        };
    }
    (closed && at == code.len()).then_some(at)
}

/// Returns the length of an instruction that does nothing (Intel SDM volume 2, NOP).
fn nop(code: &[u8]) -> Option<usize> {
    let prefixes = code.iter().take_while(|byte| matches!(byte, 0x66 | 0x2e)).count();
    match code.get(prefixes..)? {
        [0x90, ..] => Some(prefixes + 1),
        [0x0f, 0x1f, modrm, ..] => {
            let (mode, low) = (modrm >> 6, modrm & 7);
            let sib = usize::from(mode != 3 && low == 4);
            let displacement = match mode {
                1 => 1,
                2 => 4,
                _ => 0,
            };
            Some(prefixes + 3 + sib + displacement)
        }
        _ => None,
    }
}

/// Retpolines (`mov %reg,(%rsp)`) and return thunks (`lea 8(%rsp),%rsp`,
/// `add $8,%rsp`), as compilers and the kernel write them.
fn skips_speculation_trap(between: &[u8], callee: &[u8]) -> bool {
    let (rex, opcode) = without_prefixes(callee);
    let replaces = match opcode {
        [0x89, modrm, 0x24, ..] => rex & 8 != 0 && modrm & 0xc7 == 0x04,
        [0x8d, 0x64, 0x24, 8, ..] | [0x83, 0xc4, 8, ..] => rex & 8 != 0,
        _ => false,
    };
    replaces && !between.is_empty() && speculation_trap(between).is_some()
}

fn stack_pointer(code: &[u8]) -> StackPointer {
    let copied = |register| match register {
        SP => StackPointer::Relative,
        FP => StackPointer::Frame,
        _ => StackPointer::Copied(register),
    };
    let loaded =
        |base| if matches!(base, Some(SP | FP)) { StackPointer::Frame } else { StackPointer::Loaded };
    let (rex, opcode) = without_prefixes(code);
    let (number, rest) = match opcode {
        [0xc9, ..] => return StackPointer::Frame,                     // leave
        [0x5c, ..] if rex & 1 == 0 => return StackPointer::Frame,     // pop %rsp
        [0x94, ..] if rex & 1 == 0 => return StackPointer::Copied(0), // xchg %rax,%rsp
        [0xbc, ..] if rex & 1 == 0 => return StackPointer::Loaded,    // movabs $imm,%rsp
        [0xc7, 0xc4, ..] if rex & 1 == 0 => return StackPointer::Loaded, // mov $imm,%rsp
        [0x0f, 0x40..=0x4f, rest @ ..] => (0x8b, rest),               // cmov
        [number, rest @ ..] => (*number, rest),
        [] => return StackPointer::Relative,
    };
    match (number, operands(rex, rest)) {
        (0x8b, Some(Operands { reg: SP, rm: Operand::Register(from) })) => copied(from),
        (0x8b, Some(Operands { reg: SP, rm: Operand::Memory(base) })) => loaded(base),
        (0x8d, Some(Operands { reg: SP, rm: Operand::Memory(Some(base)) })) => copied(base), // lea
        (0x8d, Some(Operands { reg: SP, .. })) => StackPointer::Loaded,
        (0x89, Some(Operands { reg, rm: Operand::Register(SP) })) => copied(reg),
        (0x87, Some(Operands { reg: SP, rm: Operand::Register(from) })) => copied(from), // xchg
        (0x87, Some(Operands { reg, rm: Operand::Register(SP) })) => copied(reg),
        (0x87, Some(Operands { reg: SP, rm: Operand::Memory(base) })) => loaded(base),
        _ => StackPointer::Relative,
    }
}

fn source(code: &[u8], register: u8) -> Source {
    let from = |other| if matches!(other, SP | FP) { Source::Stack } else { Source::Register(other) };
    let (rex, opcode) = without_prefixes(code);
    let [number, rest @ ..] = opcode else { return Source::Itself };
    match (number, operands(rex, rest)) {
        // pop, and mov from the instruction.
        (0x58..=0x5f | 0xb8..=0xbf, _) if number & 7 | (rex & 1) << 3 == register => Source::Elsewhere,
        (0x89, Some(Operands { reg, rm: Operand::Register(to) })) if to == register => from(reg),
        (0x8b | 0x8d, Some(Operands { reg, rm })) if reg == register => match (number, rm) {
            (0x8b, Operand::Register(other)) | (0x8d, Operand::Memory(Some(other))) => from(other),
            _ => Source::Elsewhere,
        },
        (0xc7, Some(Operands { rm: Operand::Register(to), .. })) if to == register => Source::Elsewhere,
        _ => Source::Itself,
    }
}

/// Unicorn starts in long mode with SSE. It has no 256-bit AVX to be enabled.
/// The floating-point environment of a new process (System V psABI, 3.4.1): x87 with extended
/// precision, and no exceptions.
fn prepare(unicorn: &mut Unicorn<'_, ()>) -> Result<(), uc_error> {
    unicorn.reg_write(R::FPCW, 0x37f)?;
    unicorn.reg_write(R::MXCSR, 0x1f80)
}

fn set_thread_pointer(unicorn: &mut Unicorn<'_, ()>, address: u64) -> Result<(), uc_error> {
    unicorn.reg_write(R::FS_BASE, address)
}

/// Intel SDM, volume 1, 3.4.3.1: the status flags. CF is bit 0, ZF bit 6, SF bit 7, and OF bit 11.
fn set_order(unicorn: &mut Unicorn<'_, ()>, order: Ordering) -> Result<(), uc_error> {
    let (carry, zero, sign, overflow) = (1 << 0, 1 << 6, 1 << 7, 1 << 11);
    let flags = match order {
        Ordering::Less => carry | sign,
        Ordering::Equal => zero,
        Ordering::Greater => 0,
    };
    let others = unicorn.reg_read(R::EFLAGS)? & !(carry | zero | sign | overflow);
    unicorn.reg_write(R::EFLAGS, others | flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_returns_are_recognised() {
        for (code, expected) in [
            (&[0xe8, 0, 0, 0, 0][..], Control::Call),             // call rel32
            (&[0xff, 0xd0], Control::Call),                       // call *%rax
            (&[0x41, 0xff, 0xd3], Control::Call),                 // call *%r11
            (&[0xff, 0x15, 0, 0, 0, 0], Control::Call),           // call *GOT(%rip)
            (&[0x3e, 0xff, 0xd0], Control::Call),                 // notrack call *%rax
            (&[0x67, 0xe8, 0, 0, 0, 0], Control::Call),           // addr32 call, a relaxed GOT call
            (&[0xc3], Control::Return),                           // ret
            (&[0xf3, 0xc3], Control::Return),                     // rep ret
            (&[0xf2, 0xc3], Control::Return),                     // bnd ret
            (&[0xc2, 8, 0], Control::Return),                     // ret $8
            (&[0xff, 0xe1], Control::Indirect),                   // jmp *%rcx
            (&[0xf2, 0xff, 0x25, 0, 0, 0, 0], Control::Indirect), // bnd jmp *GOT(%rip)
            (&[0xeb, 0xfe], Control::SelfJump),                   // jmp .
            (&[0xe9, 0xfb, 0xff, 0xff, 0xff], Control::SelfJump),
            (&[0xeb, 0x05], Control::Other), // jmp .+7
            (&[0x0f, 0x05], Control::Other), // syscall
            (&[0xff, 0xf0], Control::Other), // push %rax
            (&[0xff, 0xc0], Control::Other), // inc %eax
            (&[0x75, 0xfe], Control::Other), // jne .
            (&[], Control::Other),
        ] {
            assert_eq!(control(code), expected, "{code:02x?}");
        }
    }

    #[test]
    fn instructions_on_mask_registers_are_mistaken_by_the_emulator() {
        for (code, expected) in [
            (&[0xc5, 0xe5, 0x4b, 0xe2][..], true),       // kunpckbw %k2,%k3,%k4
            (&[0xc4, 0xe1, 0xf9, 0x98, 0xd1], true),     // kortestd %k1,%k2
            (&[0xc5, 0xfb, 0x93, 0xc3], true),           // kmovd %k3,%eax
            (&[0xc5, 0xf8, 0x77], false),                // vzeroupper
            (&[0xc4, 0xe2, 0x78, 0xf2, 0x4b, 4], false), // andn 4(%rbx),%eax,%ecx
            (&[0x0f, 0x4b, 0xe2], false),                // cmovnp %edx,%esp
        ] {
            assert_eq!(is_mistaken(code), expected, "{code:02x?}");
        }
    }

    #[test]
    fn the_target_of_an_indirect_branch_is_in_a_register_or_on_the_stack() {
        let register = |register: R| Some(BranchTarget::Register(register as i32));
        for (code, expected) in [
            (&[0xc3][..], Some(BranchTarget::Stack)),   // ret
            (&[0xf3, 0xc3], Some(BranchTarget::Stack)), // rep ret
            (&[0xc2, 8, 0], Some(BranchTarget::Stack)), // ret $8
            (&[0xff, 0xe1], register(R::RCX)),          // jmp *%rcx
            (&[0x41, 0xff, 0xe3], register(R::R11)),    // jmp *%r11
            (&[0x3e, 0xff, 0xe0], register(R::RAX)),    // notrack jmp *%rax
            (&[0xff, 0x20], None),                      // jmp *(%rax)
            (&[0xff, 0x25, 0, 0, 0, 0], None),          // jmp *GOT(%rip)
            (&[0xff, 0xd0], None),                      // call *%rax
            (&[0xeb, 0x05], None),                      // jmp .+7
        ] {
            assert_eq!(branch_target(code), expected, "{code:02x?}");
        }
    }

    #[test]
    fn new_values_of_the_stack_pointer_are_classified_by_their_source() {
        use StackPointer::{Copied, Frame, Loaded, Relative};
        for (code, expected) in [
            (&[0x48, 0x89, 0xf4][..], Copied(6)),      // mov %rsi,%rsp
            (&[0x4c, 0x89, 0xcc], Copied(9)),          // mov %r9,%rsp
            (&[0x49, 0x89, 0xe4], Relative),           // mov %rsp,%r12
            (&[0x48, 0x89, 0xec], Frame),              // mov %rbp,%rsp
            (&[0x48, 0x8b, 0x26], Loaded),             // mov (%rsi),%rsp
            (&[0x48, 0x8b, 0x67, 0x30], Loaded),       // mov 48(%rdi),%rsp
            (&[0x48, 0x8b, 0x24, 0x24], Frame),        // mov (%rsp),%rsp
            (&[0x48, 0x8b, 0x65, 0xf8], Frame),        // mov -8(%rbp),%rsp
            (&[0x48, 0x8d, 0x65, 0xf8], Frame),        // lea -8(%rbp),%rsp
            (&[0x48, 0x8d, 0x64, 0x24, 8], Relative),  // lea 8(%rsp),%rsp
            (&[0x49, 0x8d, 0x62, 0xf8], Copied(10)),   // lea -8(%r10),%rsp
            (&[0x48, 0x8d, 0x25, 0, 0, 0, 0], Loaded), // lea stack(%rip),%rsp
            (&[0x48, 0xc7, 0xc4, 0, 0, 1, 0], Loaded), // mov $0x10000,%rsp
            (&[0x48, 0x87, 0xe6], Copied(6)),          // xchg %rsp,%rsi
            (&[0x48, 0x94], Copied(0)),                // xchg %rax,%rsp
            (&[0x5c], Frame),                          // pop %rsp
            (&[0x41, 0x5c], Relative),                 // pop %r12
            (&[0xc9], Frame),                          // leave
            (&[0x48, 0x83, 0xe4, 0xe0], Relative),     // and $-32,%rsp
            (&[0x48, 0x29, 0xc4], Relative),           // sub %rax,%rsp
            (&[0x48, 0x83, 0xec, 0x18], Relative),     // sub $24,%rsp
            (&[0xc3], Relative),
            (&[], Relative),
        ] {
            assert_eq!(stack_pointer(code), expected, "{code:02x?}");
        }
    }

    #[test]
    fn a_call_that_fetches_the_pc_is_recognised() {
        for (code, expected) in [
            (&[0x58][..], true),                      // pop %rax
            (&[0x48, 0x8b, 0x04, 0x24], true),        // mov (%rsp),%rax
            (&[0x89, 0xf8], true),                    // mov %edi,%eax
            (&[0x55], false),                         // push %rbp
            (&[0x41, 0x57], false),                   // push %r15
            (&[0xf3, 0x0f, 0x1e, 0xfa], false),       // endbr64
            (&[0x48, 0x83, 0xec, 0x08], false),       // sub $8,%rsp
            (&[0x48, 0x81, 0xec, 0, 1, 0, 0], false), // sub $256,%rsp
        ] {
            assert_eq!(fetches_pc(code), expected, "{code:02x?}");
        }
    }

    #[test]
    fn retpolines_are_recognised() {
        const TRAP: &[u8] = &[0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9]; // 1: pause; lfence; jmp 1b
        const STORE: &[u8] = &[0x4c, 0x89, 0x1c, 0x24, 0xc3]; // mov %r11,(%rsp); ret
        const SKIP: &[u8] = &[0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3]; // lea 8(%rsp),%rsp; ret
        let padded = [TRAP, &[0xcc; 9]].concat();
        let nops = [TRAP, &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]].concat();
        for between in [TRAP, &padded, &nops, &[0xcc], &[0x0f, 0x0b], &[0xeb, 0xfe]] {
            assert!(skips_speculation_trap(between, STORE), "{between:02x?}");
            assert!(skips_speculation_trap(between, SKIP), "{between:02x?}");
            // push %rbx: a function.
            assert!(!skips_speculation_trap(between, &[0x53]), "{between:02x?}");
            // mov %r11d,(%rsp) and mov %rbx,-8(%rsp) keep the return address.
            assert!(!skips_speculation_trap(between, &[0x44, 0x89, 0x1c, 0x24]), "{between:02x?}");
            assert!(!skips_speculation_trap(between, &[0x48, 0x89, 0x5c, 0x24, 0xf8]), "{between:02x?}");
        }
        for between in [
            &[][..],                         // the PC is fetched
            &[0x90],                         // falls through
            &[0xf3, 0x90, 0xeb, 0xf0],       // leads elsewhere
            &[0xf3, 0x90, 0xeb, 0x01],       // leads past the end
            &[0xf3, 0x90, 0x0f, 0xae],       // is cut
            &[0xe8, 0, 0, 0, 0, 0xeb, 0xfe], // calls
        ] {
            assert!(!skips_speculation_trap(between, STORE), "{between:02x?}");
        }
    }

    #[test]
    fn values_are_traced_to_where_they_come_from() {
        for (code, register, expected) in [
            (&[0x48, 0x89, 0xe0][..], 0, Source::Stack),      // mov %rsp,%rax
            (&[0x48, 0x8d, 0x44, 0x24, 8], 0, Source::Stack), // lea 8(%rsp),%rax
            (&[0x48, 0x89, 0xf8], 0, Source::Register(7)),    // mov %rdi,%rax
            (&[0x48, 0x89, 0xf8], 7, Source::Itself),
            (&[0x48, 0x29, 0xc8], 0, Source::Itself), // sub %rcx,%rax
            (&[0x48, 0x8b, 0x07], 0, Source::Elsewhere), // mov (%rdi),%rax
            (&[0x41, 0x5a], 10, Source::Elsewhere),   // pop %r10
            (&[], 0, Source::Itself),
        ] {
            assert_eq!(source(code, register), expected, "{code:02x?}");
        }
    }
}
