//! aarch64, of either byte order (Arm ARM C6.2).

use sframe_machine::{AARCH64, AARCH64_BE, Cpu};

use super::code::{Instruction, Isa, Label, Register};

pub(crate) static ISA: Isa = isa(&AARCH64);
pub(crate) static ISA_BE: Isa = isa(&AARCH64_BE);

const fn isa(cpu: &'static Cpu) -> Isa {
    Isa {
        cpu,
        links_on_stack: false,
        cfa_above_sp: 0,
        loads_sp: false,
        saves_in_callers_frame: false,
        encode,
        // mov x8,#93; mov x0,#0; svc #0
        exit: &[&[0xa8, 0x0b, 0x80, 0xd2], &[0, 0, 0x80, 0xd2], &[1, 0, 0, 0xd4]],
        trap: &[0, 0, 0x20, 0xd4], // brk
    }
}

const fn number(register: Register) -> u32 {
    match register {
        Register::Sp => 31,
        Register::Fp => 29,
        Register::Link => 30,
        Register::Script => 28,
        Register::T0 => 9,
        Register::T1 => 16,
        Register::T2 => 17,
    }
}

fn add(to: Register, from: Register, value: i32) -> u32 {
    let immediate = value.unsigned_abs();
    assert!(immediate < 4096, "{value}");
    let opcode = if value < 0 { 0xd100_0000 } else { 0x9100_0000 };
    opcode | immediate << 10 | number(from) << 5 | number(to)
}

fn memory(opcode: u32, register: Register, base: Register, offset: i32) -> u32 {
    assert!(register != Register::Sp && offset % 8 == 0, "{register:?} {offset}");
    let scaled = u32::try_from(offset / 8).expect("at or above the base");
    assert!(scaled < 4096, "{offset}");
    opcode | scaled << 10 | number(base) << 5 | number(register)
}

fn branch(opcode: u32, pc: u64, target: u64) -> u32 {
    let distance = target.wrapping_sub(pc).cast_signed() / 4;
    opcode | u32::try_from(distance & 0x3ff_ffff).expect("26 bits")
}

fn encode(instruction: Instruction, pc: u64, resolve: &dyn Fn(Label) -> u64) -> Vec<u8> {
    use Instruction as I;
    let word = match instruction {
        I::Nop => 0xd503_201f,
        I::Move { to, from } if to == Register::Sp || from == Register::Sp => add(to, from, 0),
        I::Move { to, from } => 0xaa00_03e0 | number(from) << 16 | number(to),
        I::Add { register, value } => add(register, register, value),
        I::AddTo { to, from, value } => add(to, from, value),
        I::Load { to, base, offset } => memory(0xf940_0000, to, base, offset),
        I::Store { from, base, offset } => memory(0xf900_0000, from, base, offset),
        I::Address { to, label } => {
            let distance = resolve(label).wrapping_sub(pc);
            let bits = u32::try_from(distance & 0x1f_ffff).expect("21 bits");
            0x1000_0000 | (bits & 3) << 29 | bits >> 2 << 5 | number(to)
        }
        I::Zero(register) => 0xd280_0000 | number(register),
        I::Jump(label) => branch(0x1400_0000, pc, resolve(label)),
        I::JumpTo(register) => 0xd61f_0000 | number(register) << 5,
        I::Call(label) => branch(0x9400_0000, pc, resolve(label)),
        I::CallTo(register) => 0xd63f_0000 | number(register) << 5,
        I::Return => 0xd65f_03c0,
        I::ReturnBy(register) => 0xd65f_0000 | number(register) << 5,
        I::PushPair => 0xa9bf_7bfd,
        I::PopPair => 0xa8c1_7bfd,
        I::Raw(bytes) => return bytes.to_vec(),
        other => panic!("aarch64 has no {other:?}"),
    };
    word.to_le_bytes().to_vec()
}
