//! aarch64 of either byte order.

use std::cmp::Ordering;

use goblin::elf::header::EM_AARCH64;
use sframe_engine::Abi;
use unicorn_engine::{Arch, Arm64CpuModel, Mode, RegisterARM64 as R, RegisterARM64CP, Unicorn, uc_error};

use super::CloneArgument::{ChildWord, Flags, ParentWord, Stack, ThreadPointer};
use super::{
    AuthenticationKey, BranchTarget, Chain, Control, Convention, Cpu, LazyCall, Link, Linking,
    RelocationTypes, SignalFrame, Signing, Source, StackPointer, Stat, SystemCalls, Unreported,
};

/// aarch64, little endian.
pub static AARCH64: Cpu = cpu(Abi::Aarch64, Mode::LITTLE_ENDIAN, "aarch64");

/// aarch64, big-endian data.
pub static AARCH64_BE: Cpu = cpu(Abi::Aarch64Be, Mode::BIG_ENDIAN, "aarch64_be");

/// Bits of a virtual address: `TCR_EL1.T0SZ` and `T1SZ` are 64 minus this.
const ADDRESS_BITS: u32 = 48;

const fn cpu(abi: Abi, mode: Mode, machine: &'static str) -> Cpu {
    Cpu {
        abi,
        user_end: 1 << ADDRESS_BITS,
        physical_bits: 44,
        address_bits: ADDRESS_BITS,
        returns_by_any_branch: false,
        elf_machine: EM_AARCH64,
        arch: Arch::ARM64,
        mode,
        model: Some(Arm64CpuModel::MAX as i32),
        pc: R::PC as i32,
        sp: R::SP as i32,
        fp: R::X29 as i32,
        link: Link::Register(R::X30 as i32),
        registers: &REGISTERS,
        // Not x0: start-up code registers it with atexit where it is not 0.
        poisoned: REGISTERS.split_at(1).1.split_at(30).0,
        termination: Some(R::X0 as i32),
        cfa_above_sp: 0,
        longest: 4,
        instruction_alignment: 4,
        // AAPCS64, 6.1.1.
        convention: Convention {
            arguments: &[0, 1, 2, 3, 4, 5, 6, 7],
            result: 0,
            clobbered: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18],
            preserved: &[19, 20, 21, 22, 23, 24, 25, 26, 27, 28],
            counter: None,
        },
        system_calls: SystemCalls {
            number: R::X8 as i32,
            arguments: [R::X0 as i32, R::X1 as i32, R::X2 as i32, R::X3 as i32, R::X4 as i32, R::X5 as i32],
            result: R::X0 as i32,
            len: 4,
            is_in_instruction: false,
            hardware: 1 << 22, // SVE
            vector_len: Some(16),
            exceptions: &[(7, 5, 1), (17, 7, 1)],
            traps: &[],
            breakpoint: None,
            clobbered: &[],
            restorer: &[0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4],
            mmap_takes_pointer: false,
            name: |number| syscalls::aarch64::Sysno::new(number).map(|call| call.name()),
            machine,
            folder_flags: [0o40_000, 0o100_000],
            clone: [Flags, Stack, ParentWord, ThreadPointer, ChildWord],
            epoll_event: (8, 16),
            stat: &[
                Stat::Word(1),
                Stat::Inode,
                Stat::Mode,
                Stat::Half(1),
                Stat::User,
                Stat::User,
                Stat::Word(0),
                Stat::Word(0),
                Stat::Len,
                Stat::Half(4096),
                Stat::Half(0),
                Stat::Blocks,
                Stat::Times,
                Stat::Word(0),
            ],
            has_short_statfs: false,
        },
        signal_frame: &SIGNAL_FRAME,
        linking: LINKING,
        control,
        is_conditional: |_| false,
        branch_target,
        skips_speculation_trap: |_, _| false,
        retpoline_jump: |_| None,
        direct_call: |_| None,
        fetches_pc,
        stack_pointer,
        signs,
        returns_signed,
        source,
        unreported,
        is_privileged: |_| false,
        // eret and those that authenticate its address; drps.
        returns_from_exception: |code| {
            matches!(code, [0xe0, 0x03, 0x9f | 0xbf, 0xd6, ..] | [0xff, 0x0b | 0x0f, 0x9f, 0xd6, ..])
        },
        kept_for_tracer: Some(R::X9 as i32),
        is_mistaken: |_| false,
        // Scalable and other vectors: op0 of the encoding (Arm ARM, C4.1).
        is_vector: |code| matches!(code, [_, _, _, top, ..] if matches!(top >> 1 & 0xf, 0b0010 | 0b0111 | 0b1111)),
        prepare,
        memory_operands: None,
        set_thread_pointer,
        set_order,
    }
}

/// AAELF64, dynamic relocations; SYSVABI64, PLT.
const LINKING: Linking = Linking {
    relocations: RelocationTypes {
        absolute: 257,
        copy: 1024,
        glob_dat: 1025,
        jump_slot: 1026,
        relative: 1027,
        irelative: 1032,
        thread_offset: 1030,
        others: &[
            (1028, "R_AARCH64_TLS_DTPMOD"),
            (1029, "R_AARCH64_TLS_DTPREL"),
            (1031, "R_AARCH64_TLSDESC"),
        ],
    },
    arguments: [R::X0 as i32, R::X1 as i32, R::X2 as i32],
    result: R::X0 as i32,
    resolver: &[
        0xf0, 0x7b, 0xc1, 0xa8, // ldp x16,x30,[sp],#16: the slot, and the return address
        0x20, 0x02, 0x1f, 0xd6, // br x17
    ],
    target: R::X17 as i32,
    lazy_call: |sp, read| read(sp).map(LazyCall::Slot),
    signing: Some(Signing {
        tag: 0x7000_0003, // DT_AARCH64_PAC_PLT
        resolver: &[
            0xf0, 0x7b, 0xc1, 0xa8, // ldp x16,x30,[sp],#16
            0x1f, 0x21, 0x03, 0xd5, // pacia1716
            0x11, 0x02, 0x00, 0xf9, // str x17,[x16]
            0x9f, 0x21, 0x03, 0xd5, // autia1716
            0x20, 0x02, 0x1f, 0xd6, // br x17
        ],
        sign: [0x1f, 0x21, 0x03, 0xd5], // pacia1716
        value: R::X17 as i32,
        slot: R::X16 as i32,
    }),
    hash_word: 4,
    thread_storage_above: true,
};

/// x0 to x30, and sp.
const REGISTERS: [i32; 32] = [
    R::X0 as i32,
    R::X1 as i32,
    R::X2 as i32,
    R::X3 as i32,
    R::X4 as i32,
    R::X5 as i32,
    R::X6 as i32,
    R::X7 as i32,
    R::X8 as i32,
    R::X9 as i32,
    R::X10 as i32,
    R::X11 as i32,
    R::X12 as i32,
    R::X13 as i32,
    R::X14 as i32,
    R::X15 as i32,
    R::X16 as i32,
    R::X17 as i32,
    R::X18 as i32,
    R::X19 as i32,
    R::X20 as i32,
    R::X21 as i32,
    R::X22 as i32,
    R::X23 as i32,
    R::X24 as i32,
    R::X25 as i32,
    R::X26 as i32,
    R::X27 as i32,
    R::X28 as i32,
    R::X29 as i32,
    R::X30 as i32,
    R::SP as i32,
];

/// `struct rt_sigframe` of Linux, and the frame record above it.
static SIGNAL_FRAME: SignalFrame = SignalFrame {
    len: 4688,
    red_zone: 0,
    above: 16,
    alignment: 16,
    misalignment: 0,
    info: 0,
    context: 128,
    mask: 168,
    fault: Some(304),
    registers: &[
        (312, R::X0 as i32),
        (320, R::X1 as i32),
        (328, R::X2 as i32),
        (336, R::X3 as i32),
        (344, R::X4 as i32),
        (352, R::X5 as i32),
        (360, R::X6 as i32),
        (368, R::X7 as i32),
        (376, R::X8 as i32),
        (384, R::X9 as i32),
        (392, R::X10 as i32),
        (400, R::X11 as i32),
        (408, R::X12 as i32),
        (416, R::X13 as i32),
        (424, R::X14 as i32),
        (432, R::X15 as i32),
        (440, R::X16 as i32),
        (448, R::X17 as i32),
        (456, R::X18 as i32),
        (464, R::X19 as i32),
        (472, R::X20 as i32),
        (480, R::X21 as i32),
        (488, R::X22 as i32),
        (496, R::X23 as i32),
        (504, R::X24 as i32),
        (512, R::X25 as i32),
        (520, R::X26 as i32),
        (528, R::X27 as i32),
        (536, R::X28 as i32),
        (544, R::X29 as i32),
        (552, R::X30 as i32),
        (560, R::SP as i32),
        (568, R::PC as i32),
        (576, R::PSTATE as i32),
    ],
    restorer_sp: 0,
    chain: Chain::FrameRecord,
};

/// Arm ARM C6.2.94: `dc zva` zeroes a block, whose size the CPU chooses: the emulated one's is 64 bytes.
fn unreported(code: &[u8]) -> Unreported {
    const BLOCK: u64 = 64;
    match code {
        [operand, 0x74, 0x0b, 0xd5, ..] if *operand & 0xe0 == 0x20 => {
            // x31 is the zero register here.
            let base = REGISTERS[..31].get(usize::from(operand & 0x1f)).copied();
            Unreported::Bytes { base, alignment: BLOCK, displacement: 0, len: BLOCK }
        }
        // C4.1.41, SVE: stores of elements that a predicate chooses. Those of whole registers, str,
        // are reported.
        [_, middle, high, 0xe5, ..] if high & 0xc0 == 0x80 && middle & 0xa0 == 0 => Unreported::Nothing,
        [_, _, _, 0xe4 | 0xe5, ..] => Unreported::Anything,
        _ => Unreported::Nothing,
    }
}

/// Arm ARM C4.1.65, branches: `bl`, and the register branches with their
/// authenticated forms. Instructions are little endian in either mode.
fn control(code: &[u8]) -> Control {
    let Some(bytes) = code.first_chunk() else {
        return Control::Other;
    };
    let word = u32::from_le_bytes(*bytes);
    if word >> 26 == 0b10_0101 {
        return Control::Call;
    }
    if word == 0x1400_0000 {
        return Control::SelfJump;
    }
    if word >> 25 != 0b110_1011 {
        return Control::Other;
    }
    match (word >> 21) & 0xf {
        0b0001 | 0b1001 => Control::Call,     // blr, blraa, blrab
        0b0000 | 0b1000 => Control::Indirect, // br, braa, brab
        0b0010 => Control::Return,            // ret, retaa, retab
        _ => Control::Other,
    }
}

/// Arm ARM C6.2: `br`, `ret` and their kin name their register; `retaa` and
/// `retab` have x30.
fn branch_target(code: &[u8]) -> Option<BranchTarget> {
    let word = u32::from_le_bytes(*code.first_chunk()?);
    let register = match control(code) {
        Control::Return if word & 0x0800 != 0 => 30,
        Control::Return | Control::Indirect => (word >> 5 & 0x1f) as usize,
        _ => return None,
    };
    REGISTERS[..31].get(register).copied().map(BranchTarget::Register)
}

const SP: u8 = 31;
const FP: u8 = 29;

/// An instruction that adds to, subtracts from or masks a register (Arm ARM
/// C4.1.92 and C4.1.93): where the result goes, and where it comes from.
/// Register 31 is SP in both places.
fn arithmetic(word: u32) -> Option<(u8, u8)> {
    let [to, from] = [word, word >> 5].map(|field| (field & 0x1f) as u8);
    match word >> 23 {
        // add and sub, 64 bits, immediate.
        0b1_0010_0010 | 0b1_1010_0010 => Some((to, from)),
        // add and sub, 64 bits, extended register.
        0b1_0001_0110 | 0b1_1001_0110 if word >> 21 & 0b11 == 0b01 => Some((to, from)),
        // and, orr and eor, 64 bits, immediate; there register 31 is zero as a source.
        0b1_0010_0100 | 0b1_0110_0100 | 0b1_1010_0100 if from != 31 => Some((to, from)),
        _ => None,
    }
}

fn word_of(code: &[u8]) -> u32 {
    code.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Functions begin by signing their return address, at a landing pad, or by
/// making their frame; code that fetches the PC does not.
fn fetches_pc(code: &[u8]) -> bool {
    let word = word_of(code);
    let is_hint = word & 0xffff_ff3f == 0xd503_241f || signs(code).is_some(); // bti
    // Stores before SP, with the new address in SP: stp and str.
    let makes_frame = matches!(word & 0xffc0_03e0, 0xa980_03e0 | 0x6d80_03e0)
        || word & 0xffe0_0fe0 == 0xf800_0fe0
        || matches!(arithmetic(word), Some((SP, SP)));
    !is_hint && !makes_frame
}

/// SP is never loaded from memory.
fn stack_pointer(code: &[u8]) -> StackPointer {
    match arithmetic(word_of(code)) {
        Some((SP, FP)) => StackPointer::Frame,
        Some((SP, from)) if from != SP => StackPointer::Copied(from),
        _ => StackPointer::Relative,
    }
}

fn source(code: &[u8], register: u8) -> Source {
    let word = word_of(code);
    let [to, second, from] = [word, word >> 10, word >> 16].map(|field| (field & 0x1f) as u8);
    if let Some((to, from)) = arithmetic(word) {
        return match from {
            _ if to != register || from == register => Source::Itself,
            SP | FP => Source::Stack,
            _ => Source::Register(from),
        };
    }
    // mov: orr with the zero register, shifted register.
    if word & 0xffe0_ffe0 == 0xaa00_03e0 && to == register {
        return if from == FP { Source::Stack } else { Source::Register(from) };
    }
    // add and sub, 64 bits, shifted register.
    if matches!(word >> 24, 0x8b | 0xcb) && to == register {
        let first = (word >> 5 & 0x1f) as u8;
        return if first == register { Source::Itself } else { Source::Register(first) };
    }
    // adr and adrp; movz and movn; ldr of a literal.
    let is_new = word & 0x1f00_0000 == 0x1000_0000
        || matches!(word >> 23, 0b1_0010_0101 | 0b1_1010_0101)
        || word & 0xbf00_0000 == 0x1800_0000;
    if is_new && to == register {
        return Source::Elsewhere;
    }
    // Loads; those of pairs have a second target.
    let is_load = word & 0x0e00_0000 == 0x0800_0000 && word & 1 << 22 != 0;
    let is_pair = word & 0x3a00_0000 == 0x2800_0000;
    if is_load && (to == register || (is_pair && second == register)) {
        return Source::Elsewhere;
    }
    Source::Itself
}

/// Arm ARM C6.2: `retaa` and `retab`.
fn returns_signed(code: &[u8]) -> bool {
    code.first_chunk().is_some_and(|word| matches!(u32::from_le_bytes(*word), 0xd65f_0bff | 0xd65f_0fff))
}

/// Arm ARM C6.2: pacia and pacib on x30, and their forms among the hints.
fn signs(code: &[u8]) -> Option<AuthenticationKey> {
    match word_of(code) {
        0xd503_233f | 0xd503_231f | 0xdac1_23fe => Some(AuthenticationKey::A), // paciasp, paciaz, paciza
        0xd503_237f | 0xd503_235f | 0xdac1_27fe => Some(AuthenticationKey::B), // pacibsp, pacibz, pacizb
        word if word & 0xffff_fc1f == 0xdac1_001e => Some(AuthenticationKey::A), // pacia x30, xn
        word if word & 0xffff_fc1f == 0xdac1_041e => Some(AuthenticationKey::B), // pacib x30, xn
        _ => None,
    }
}

/// Lets user code sign return addresses: keys A and B, with real keys, and
/// authentication codes in the bits above the virtual address.
fn prepare(unicorn: &mut Unicorn<'_, ()>) -> Result<(), uc_error> {
    const HCR_EL2: [u32; 5] = [3, 4, 1, 1, 0];
    const SCR_EL3: [u32; 5] = [3, 6, 1, 1, 0];
    const TCR_EL1: [u32; 5] = [3, 0, 2, 0, 2];
    const SCTLR_EL1: [u32; 5] = [3, 0, 1, 0, 0];
    const CPACR_EL1: [u32; 5] = [3, 0, 1, 0, 2];
    const CPTR_EL3: [u32; 5] = [3, 6, 1, 1, 2];
    const KEYS: [([u32; 5], u64); 4] = [
        ([3, 0, 2, 1, 0], 0x8badf00d_5eed1001), // APIAKeyLo_EL1
        ([3, 0, 2, 1, 1], 0x1337c0de_5eed1002), // APIAKeyHi_EL1
        ([3, 0, 2, 1, 2], 0xfeedface_5eed2001), // APIBKeyLo_EL1
        ([3, 0, 2, 1, 3], 0x0ddba11d_5eed2002), // APIBKeyHi_EL1
    ];
    // Op0, Op1, CRn, CRm, Op2.
    let register =
        |[op0, op1, crn, crm, op2]: [u32; 5], val| RegisterARM64CP { crn, crm, op0, op1, op2, val };
    let mut set = |name: [u32; 5], bits: u64| {
        let mut value = register(name, 0);
        unicorn.reg_read_arm64_coproc(&mut value)?;
        value.val |= bits;
        unicorn.reg_write_arm64_coproc(&value)
    };
    set(HCR_EL2, 1 << 41 | 1 << 40 | 1 << 31)?; // API, APK, RW: no traps
    set(SCR_EL3, 1 << 17 | 1 << 16 | 1 << 10 | 1)?; // API, APK, RW, NS: no traps
    set(CPACR_EL1, 3 << 20 | 3 << 16)?; // FPEN, ZEN: no traps
    set(CPTR_EL3, 1 << 8)?; // EZ: no traps of SVE, whose vectors have 128 bits
    let size = u64::from(64 - ADDRESS_BITS);
    set(TCR_EL1, size | size << 16)?;
    // EnIA, EnIB, UCI, nTWE, nTWI, UCT, DZE: what Linux lets user code do.
    set(SCTLR_EL1, 1 << 31 | 1 << 30 | 1 << 26 | 1 << 18 | 1 << 16 | 1 << 15 | 1 << 14)?;
    // EL0, in which privileged instructions are undefined. The emulator notices it when the
    // next system register is written.
    unicorn.reg_write(R::PSTATE, 0)?;
    for (name, key) in KEYS {
        unicorn.reg_write_arm64_coproc(&register(name, key))?;
    }
    Ok(())
}

fn set_thread_pointer(unicorn: &mut Unicorn<'_, ()>, address: u64) -> Result<(), uc_error> {
    unicorn.reg_write(R::TPIDR_EL0, address)
}

/// Arm ARM, the shared pseudocode function AddWithCarry: N, Z, C and V, from bit 31 down.
fn set_order(unicorn: &mut Unicorn<'_, ()>, order: Ordering) -> Result<(), uc_error> {
    let flags: u64 = match order {
        Ordering::Less => 0b1000,
        Ordering::Equal => 0b0110,
        Ordering::Greater => 0b0010,
    };
    unicorn.reg_write(R::NZCV, flags << 28)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_returns_are_recognised() {
        for (word, expected) in [
            (0x9400_0001_u32, Control::Call), // bl .+4
            (0x97ff_ffff, Control::Call),     // bl .-4
            (0xd63f_0060, Control::Call),     // blr x3
            (0xd63f_0860, Control::Call),     // blraaz x3
            (0xd73f_0862, Control::Call),     // blraa x3, x2
            (0xd65f_03c0, Control::Return),   // ret
            (0xd65f_0120, Control::Return),   // ret x9
            (0xd65f_0bff, Control::Return),   // retaa
            (0xd65f_0fff, Control::Return),   // retab
            (0xd61f_0200, Control::Indirect), // br x16
            (0xd71f_0a11, Control::Indirect), // braa x16, x17
            (0x1400_0000, Control::SelfJump), // b .
            (0x1400_0001, Control::Other),    // b .+4
            (0xd503_233f, Control::Other),    // paciasp
            (0xd400_0001, Control::Other),    // svc #0
        ] {
            assert_eq!(control(&word.to_le_bytes()), expected, "{word:#010x}");
        }
        assert_eq!(control(&[]), Control::Other);
    }

    #[test]
    fn stores_that_a_predicate_chooses_may_be_anywhere() {
        for (word, expected) in [
            (0xe5e4_4000_u32, Unreported::Anything), // st1d {z0.d}, p0, [x0, x4, lsl #3]
            (0xe5e0_e000, Unreported::Anything),     // st1d {z0.d}, p0, [x0]
            (0xe4a4_4000, Unreported::Anything),     // st1h {z0.h}, p0, [x0, x4, lsl #1]
            (0xe580_43e0, Unreported::Nothing),      // str z0, [sp]
            (0xe581_03e0, Unreported::Nothing),      // str p0, [sp, #8, mul vl]
            (0xa5e4_4020, Unreported::Nothing),      // ld1d {z0.d}, p0/z, [x1, x4, lsl #3]
            (0xf900_0029, Unreported::Nothing),      // str x9, [x1]
        ] {
            assert_eq!(unreported(&word.to_le_bytes()), expected, "{word:#010x}");
        }
    }

    #[test]
    fn the_target_of_an_indirect_branch_is_in_the_register_that_its_code_names() {
        for (word, register) in [
            (0xd65f_03c0_u32, Some(30)), // ret
            (0xd65f_0120, Some(9)),      // ret x9
            (0xd65f_0bff, Some(30)),     // retaa
            (0xd61f_0200, Some(16)),     // br x16
            (0xd71f_0a11, Some(16)),     // braa x16, x17
            (0xd63f_0060, None),         // blr x3
            (0x1400_0001, None),         // b .+4
        ] {
            let expected = register.map(|number: usize| BranchTarget::Register(REGISTERS[number]));
            assert_eq!(branch_target(&word.to_le_bytes()), expected, "{word:#010x}");
        }
    }

    #[test]
    fn new_values_of_the_stack_pointer_are_classified_by_their_source() {
        use StackPointer::{Copied, Frame, Relative};
        for (word, expected) in [
            (0x9100_013f_u32, Copied(9)), // mov sp, x9
            (0x9100_83bf, Frame),         // add sp, x29, #32
            (0x9100_03bf, Frame),         // mov sp, x29
            (0xd100_83ff, Relative),      // sub sp, sp, #32
            (0x9100_83ff, Relative),      // add sp, sp, #32
            (0xcb20_63ff, Relative),      // sub sp, sp, x0
            (0x927a_e53f, Copied(9)),     // and sp, x9, #-64
            (0x9100_03fd, Relative),      // mov x29, sp
            (0xa9bf_7bfd, Relative),      // stp x29, x30, [sp, #-16]!
            (0xf100_003f, Relative),      // cmp x1, #0
            (0, Relative),
        ] {
            assert_eq!(stack_pointer(&word.to_le_bytes()), expected, "{word:#010x}");
        }
        assert_eq!(stack_pointer(&[]), Relative);
    }

    #[test]
    fn returns_of_signed_addresses_are_known() {
        for (word, expected) in [
            (0xd65f_0bff_u32, true), // retaa
            (0xd65f_0fff, true),     // retab
            (0xd65f_03c0, false),    // ret
            (0xd61f_0be0, false),    // a branch
        ] {
            assert_eq!(returns_signed(&word.to_le_bytes()), expected, "{word:#010x}");
        }
        assert!(!returns_signed(&[0xff, 0x0b]));
    }

    #[test]
    fn instructions_that_sign_the_return_address_are_known_with_their_keys() {
        use AuthenticationKey::{A, B};
        for (word, expected) in [
            (0xd503_233f_u32, Some(A)), // paciasp
            (0xd503_237f, Some(B)),     // pacibsp
            (0xdac1_03fe, Some(A)),     // pacia x30, sp
            (0xdac1_07fe, Some(B)),     // pacib x30, sp
            (0xdac1_03e0, None),        // pacia x0, sp
            (0xd503_23bf, None),        // autiasp
            (0xd503_201f, None),        // nop
        ] {
            assert_eq!(signs(&word.to_le_bytes()), expected, "{word:#010x}");
        }
    }

    #[test]
    fn a_call_that_fetches_the_pc_is_recognised() {
        for (word, expected) in [
            (0xaa1e_03e0_u32, true), // mov x0, x30
            (0xf940_03c0, true),     // ldr x0, [x30]
            (0xa9be_7bfd, false),    // stp x29, x30, [sp, #-32]!
            (0xf81f_0ffe, false),    // str x30, [sp, #-16]!
            (0xd100_43ff, false),    // sub sp, sp, #16
            (0xd503_233f, false),    // paciasp
            (0xd503_245f, false),    // bti c
        ] {
            assert_eq!(fetches_pc(&word.to_le_bytes()), expected, "{word:#010x}");
        }
    }

    #[test]
    fn values_are_traced_to_where_they_come_from() {
        for (word, register, expected) in [
            (0xd101_c3e9_u32, 9, Source::Stack), // sub x9, sp, #112
            (0x9100_03e1, 1, Source::Stack),     // mov x1, sp
            (0x9100_03e1, 2, Source::Itself),
            (0xaa01_03e2, 2, Source::Register(1)), // mov x2, x1
            (0xcb00_0029, 9, Source::Register(1)), // sub x9, x1, x0
            (0xf940_0029, 9, Source::Elsewhere),   // ldr x9, [x1]
            (0xa940_2c2a, 11, Source::Elsewhere),  // ldp x10, x11, [x1]
            (0xf900_0029, 9, Source::Itself),      // str x9, [x1]
        ] {
            assert_eq!(source(&word.to_le_bytes(), register), expected, "{word:#010x}");
        }
    }

    #[test]
    fn addresses_that_instructions_make_come_from_elsewhere() {
        for (word, register, expected) in [
            (0x1000_0011_u32, 17, Source::Elsewhere), // adr x17, .
            (0xb000_0009, 9, Source::Elsewhere),      // adrp x9, .+4096
            (0xd280_0009, 9, Source::Elsewhere),      // mov x9, #0
            (0x9280_0009, 9, Source::Elsewhere),      // mov x9, #-1
            (0x5800_0049, 9, Source::Elsewhere),      // ldr x9, .+8
            (0xf940_0049, 9, Source::Elsewhere),      // ldr x9, [x2]
            (0xf2a0_0009, 9, Source::Itself),         // movk x9, #0, lsl #16
            (0xfd40_0049, 9, Source::Itself),         // ldr d9, [x2]
            (0x1000_0011, 9, Source::Itself),         // adr x17, .
            (0x9100_03e9, 9, Source::Stack),          // mov x9, sp
        ] {
            assert_eq!(source(&word.to_le_bytes(), register), expected, "{word:#010x}");
        }
    }
}
