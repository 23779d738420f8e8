//! amd64 (Intel SDM volume 2).

use sframe_machine::AMD64;

use super::code::{Instruction, Isa, Label, Register};

pub(crate) static ISA: Isa = Isa {
    cpu: &AMD64,
    links_on_stack: true,
    cfa_above_sp: 0,
    loads_sp: true,
    saves_in_callers_frame: false,
    encode,
    // mov $60,%eax; xor %edi,%edi; syscall
    exit: &[&[0xb8, 60, 0, 0, 0], &[0x31, 0xff], &[0x0f, 0x05]],
    // No instruction. Not int3: a limit of the witness, which would take a call
    // at the end of a function to the next one for one over a speculation trap
    // if that began by dropping its return address.
    trap: &[0x06],
};

const fn number(register: Register) -> u8 {
    match register {
        Register::Sp => 4,
        Register::Fp => 5,
        Register::T0 => 0,
        Register::T1 => 1,
        Register::T2 => 11,
        Register::Script => 15,
        Register::Link => panic!("amd64 has no link register"),
    }
}

fn rex(reg: u8, rm: u8) -> u8 {
    0x48 | reg >> 3 << 2 | rm >> 3
}

/// ModRM and SIB of register and memory, with the shortest displacement.
fn memory(opcode: u8, reg: u8, base: Register, offset: i32) -> Vec<u8> {
    let base = number(base);
    let mut bytes = vec![rex(reg, base), opcode];
    let short = i8::try_from(offset);
    let mode = match short {
        _ if offset == 0 && base & 7 != 5 => 0,
        Ok(_) => 0x40,
        Err(_) => 0x80,
    };
    bytes.push(mode | (reg & 7) << 3 | base & 7);
    if base & 7 == 4 {
        bytes.push(0x24);
    }
    match (mode, short) {
        (0, _) => {}
        (_, Ok(short)) => bytes.push(short.cast_unsigned()),
        _ => bytes.extend(offset.to_le_bytes()),
    }
    bytes
}

fn relative(opcode: &[u8], pc: u64, target: u64) -> Vec<u8> {
    let mut bytes = opcode.to_vec();
    let next = pc + bytes.len() as u64 + 4;
    let distance = target.wrapping_sub(next).cast_signed();
    bytes.extend(i32::try_from(distance).expect("near").to_le_bytes());
    bytes
}

fn encode(instruction: Instruction, pc: u64, resolve: &dyn Fn(Label) -> u64) -> Vec<u8> {
    use Instruction as I;
    let short = |opcode: u8, register: Register| match number(register) {
        low @ 0..8 => vec![opcode + low],
        high => vec![0x41, opcode + (high & 7)],
    };
    let group = |extension: u8, register: Register| match number(register) {
        low @ 0..8 => vec![0xff, 0xc0 | extension << 3 | low],
        high => vec![0x41, 0xff, 0xc0 | extension << 3 | high & 7],
    };
    match instruction {
        I::Nop => vec![0x90],
        I::Move { to, from } => {
            let (to, from) = (number(to), number(from));
            vec![rex(from, to), 0x89, 0xc0 | (from & 7) << 3 | to & 7]
        }
        I::Add { register, value } => {
            let register = number(register);
            let mut bytes = vec![rex(0, register)];
            // sub for negative values; both have a short form.
            let (extension, value) = if value < 0 { (5, -value) } else { (0, value) };
            let modrm = 0xc0 | extension << 3 | register & 7;
            match i8::try_from(value) {
                Ok(short) => bytes.extend([0x83, modrm, short.cast_unsigned()]),
                Err(_) => {
                    bytes.extend([0x81, modrm]);
                    bytes.extend(value.to_le_bytes());
                }
            }
            bytes
        }
        I::AddTo { to, from, value } => memory(0x8d, number(to), from, value),
        I::Load { to, base, offset } => memory(0x8b, number(to), base, offset),
        I::Store { from, base, offset } => memory(0x89, number(from), base, offset),
        I::Address { to, label } => {
            let to = number(to);
            relative(&[rex(to, 0), 0x8d, (to & 7) << 3 | 5], pc, resolve(label))
        }
        I::LoadRelative { to, label } => {
            let to = number(to);
            relative(&[rex(to, 0), 0x8b, (to & 7) << 3 | 5], pc, resolve(label))
        }
        I::Zero(register) => {
            let register = number(register);
            vec![rex(register, register), 0x31, 0xc0 | (register & 7) << 3 | register & 7]
        }
        I::Jump(label) => relative(&[0xe9], pc, resolve(label)),
        I::JumpTo(register) => group(4, register),
        I::Call(label) => relative(&[0xe8], pc, resolve(label)),
        I::CallTo(register) => group(2, register),
        I::Return => vec![0xc3],
        I::ReturnAndPop(bytes) => vec![0xc2, bytes.to_le_bytes()[0], bytes.to_le_bytes()[1]],
        I::Push(register) => short(0x50, register),
        I::Pop(register) => short(0x58, register),
        I::Leave => vec![0xc9],
        I::Raw(bytes) => bytes.to_vec(),
        other => panic!("amd64 has no {other:?}"),
    }
}
