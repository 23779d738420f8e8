//! s390x (z/Architecture Principles of Operation, chapter 7).

use sframe_machine::S390X;

use super::code::{Instruction, Isa, Label, Register};

pub(crate) static ISA: Isa = Isa {
    cpu: &S390X,
    links_on_stack: false,
    cfa_above_sp: 160,
    loads_sp: true,
    saves_in_callers_frame: true,
    encode,
    // lghi %r2,0; svc 1
    exit: &[&[0xa7, 0x29, 0, 0], &[0x0a, 1]],
    trap: &[0, 0],
};

const fn number(register: Register) -> u8 {
    match register {
        Register::Sp => 15,
        Register::Fp => 11,
        Register::Link => 14,
        Register::Script => 7,
        Register::T0 => 1,
        Register::T1 => 2,
        Register::T2 => 3,
    }
}

/// RSY and RXY formats: two fields, base and a displacement of 20 bits.
fn long(opcode: [u8; 2], first: u8, second: u8, base: Register, offset: i32) -> Vec<u8> {
    assert!((-0x8_0000..0x8_0000).contains(&offset), "{offset}");
    let [low, high, ..] = (offset & 0xfff).to_le_bytes();
    let top = (offset >> 12 & 0xff) as u8;
    vec![opcode[0], first << 4 | second, number(base) << 4 | high, low, top, opcode[1]]
}

fn relative(first: u8, second: u8, pc: u64, target: u64) -> Vec<u8> {
    let distance = target.wrapping_sub(pc).cast_signed() / 2;
    let mut bytes = vec![first, second];
    bytes.extend(i32::try_from(distance).expect("near").to_be_bytes());
    bytes
}

fn encode(instruction: Instruction, pc: u64, resolve: &dyn Fn(Label) -> u64) -> Vec<u8> {
    use Instruction as I;
    let one = |register| number(register) << 4;
    match instruction {
        I::Nop => vec![0x07, 0x07],
        I::Move { to, from } => vec![0xb9, 0x04, 0, one(to) | number(from)],
        I::Add { register, value } => {
            let value = i16::try_from(value).expect("16 bits").to_be_bytes();
            vec![0xa7, one(register) | 0xb, value[0], value[1]]
        }
        I::AddTo { to, from, value } => long([0xe3, 0x71], number(to), 0, from, value),
        I::Load { to, base, offset } => long([0xe3, 0x04], number(to), 0, base, offset),
        I::Store { from, base, offset } => long([0xe3, 0x24], number(from), 0, base, offset),
        I::StoreMultiple { base, offset } => long([0xeb, 0x24], 11, 15, base, offset),
        I::LoadMultiple { base, offset } => long([0xeb, 0x04], 11, 15, base, offset),
        I::Address { to, label } => relative(0xc0, one(to), pc, resolve(label)),
        I::LoadRelative { to, label } => relative(0xc4, one(to) | 8, pc, resolve(label)),
        I::Zero(register) => vec![0xa7, one(register) | 9, 0, 0],
        I::Jump(label) => relative(0xc0, 0xf4, pc, resolve(label)),
        I::JumpTo(register) => vec![0x07, 0xf0 | number(register)],
        I::Call(label) => relative(0xc0, 0xe5, pc, resolve(label)),
        I::CallTo(register) => vec![0x0d, 0xe0 | number(register)],
        I::Return => vec![0x07, 0xfe],
        I::ReturnByDisplacement => vec![0x47, 0xf0, 0xe0, 0],
        // Of %r2, which is zero: cgib, clgib, cgrb with itself.
        I::ConditionalReturn { form, met } => {
            let mask = if met { 8 } else { 6 };
            match form % 3 {
                0 => vec![0xec, 0x20 | mask, 0xe0, 0, 0, 0xfc],
                1 => vec![0xec, 0x20 | mask, 0xe0, 0, 0, 0xfd],
                _ => vec![0xec, 0x22, 0xe0, 0, mask << 4, 0xe4],
            }
        }
        I::Raw(bytes) => bytes.to_vec(),
        other => panic!("s390x has no {other:?}"),
    }
}
