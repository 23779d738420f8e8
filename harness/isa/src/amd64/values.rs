//! What amd64's instructions compute in registers, load from tables, and compare.

use capstone::arch::x86::{X86Insn, X86OpMem, X86Operand, X86OperandType, X86Reg};
use sframe_engine::{Abi, DwarfRegister};

use super::super::operation::{Comparand, Extension, Operation, Width};
use super::super::registers::Registers;
use super::super::stored::Stored;
use super::{WORD, place, register};

/// Returns an operation on values; `None` for other instructions. `end` is the address of the
/// next instruction.
pub(super) fn operation(id: X86Insn, operands: &[X86Operand], end: u64) -> Option<Operation> {
    use X86Insn::*;
    use X86OperandType::{Imm, Mem};
    match (id, operands) {
        (X86_INS_CALL | X86_INS_JMP, [X86Operand { op_type: Mem(memory), size: 8, .. }]) => {
            Some(Address::of(*memory, end)?.load(None, 8, false, Width::WHOLE))
        }
        (X86_INS_ADD, [to, X86Operand { op_type: Imm(by), .. }]) => add(to, *by),
        (X86_INS_SUB, [to, X86Operand { op_type: Imm(by), .. }]) => add(to, by.wrapping_neg()),
        (X86_INS_INC, [to]) => add(to, 1),
        (X86_INS_DEC, [to]) => add(to, -1),
        (X86_INS_ADD, [to, from]) => {
            let [left, right] = [Part::of(to)?, Part::of(from)?];
            let sum = Address { base: Some(left.register), index: Some(right.register), shift: 0, offset: 0 };
            sum.compute(&left)
        }
        (X86_INS_AND, [to, X86Operand { op_type: Imm(mask), .. }]) => {
            let to = Part::of(to)?;
            // The bits above a part stay, or are cleared.
            let mask = to.width(true).write(u64::MAX, mask.cast_unsigned());
            Some(Operation::Mask { to: to.register, from: to.register, mask })
        }
        (X86_INS_SHL | X86_INS_SAL, [to, X86Operand { op_type: Imm(by), .. }]) => {
            let to = Part::of(to)?;
            to.shifted_left(to.register, to.shift_amount(*by)?)
        }
        (X86_INS_SHR | X86_INS_SAR, [to, X86Operand { op_type: Imm(by), .. }]) => {
            let to = Part::of(to)?;
            Some(to.extend(&to, to.shift_amount(*by)?, id == X86_INS_SAR))
        }
        (X86_INS_LEA, [to, X86Operand { op_type: Mem(memory), .. }]) => {
            Address::of(*memory, end)?.compute(&Part::of(to)?)
        }
        (X86_INS_MOV, [to, from]) => {
            let to = Part::of(to)?;
            match from.op_type {
                // Functions save and restore whole words at plain places.
                Mem(memory) if to.bits >= 32 && place(memory).is_some() => None,
                Mem(memory) => {
                    let width = to.width(false);
                    Some(Address::of(memory, end)?.load(Some(to.register), from.size, false, width))
                }
                _ if to.bits == 64 => Some(to.sum(Part::of(from)?.register, 0)),
                _ => Some(to.extend(&Part::of(from)?, 0, false)),
            }
        }
        (X86_INS_MOVZX | X86_INS_MOVSX | X86_INS_MOVSXD, [to, from]) => {
            let (to, signed) = (Part::of(to)?, id != X86_INS_MOVZX);
            match from.op_type {
                Mem(memory) => {
                    let width = to.width(signed);
                    Some(Address::of(memory, end)?.load(Some(to.register), from.size, signed, width))
                }
                _ => Some(to.extend(&Part::of(from)?, 0, signed)),
            }
        }
        (X86_INS_CDQE, _) => Some(Part::accumulator(64).extend(&Part::accumulator(32), 0, true)),
        (X86_INS_CWDE, _) => Some(Part::accumulator(32).extend(&Part::accumulator(16), 0, true)),
        (X86_INS_CMP, [left, right]) => {
            let bits = left.size * 8;
            Some(Operation::Compare { left: comparand(left)?, right: comparand(right)?, bits, signed: None })
        }
        // It sets the flags as a comparison with 0 does.
        (X86_INS_TEST, [left, right]) if left.op_type == right.op_type => {
            let Part { register, bits } = Part::of(left)?;
            let (left, right) = (Comparand::Register(register), Comparand::Constant(0));
            Some(Operation::Compare { left, right, bits, signed: None })
        }
        _ => None,
    }
}

/// Returns the registers from which all follows that an instruction writes to its operands,
/// which are registers and constants; `None` for other instructions and operands.
///
/// No instruction is among them that reads a register which is no operand.
pub(super) fn sources(id: X86Insn, operands: &[X86Operand]) -> Option<Registers> {
    use X86Insn::*;
    use X86OperandType::{Imm, Reg};
    let registers = operands.iter().map(|operand| match operand.op_type {
        Reg(id) => register(id).map(Some),
        Imm(_) => Some(None),
        _ => None,
    });
    let all = || registers.collect::<Option<Vec<_>>>().map(|all| all.into_iter().flatten().collect());
    match (id, operands) {
        // A part of 32 bits clears the rest.
        (X86_INS_MOV | X86_INS_MOVABS, [to, X86Operand { op_type: Imm(_), .. }]) if to.size >= 4 => {
            Some(Registers::default()).filter(|_| matches!(to.op_type, Reg(_)))
        }
        (X86_INS_XOR | X86_INS_SUB, [to, from]) if to.op_type == from.op_type && to.size >= 4 => {
            Some(Registers::default()).filter(|_| matches!(to.op_type, Reg(_)))
        }
        (
            X86_INS_MOV | X86_INS_ADD | X86_INS_SUB | X86_INS_AND | X86_INS_OR | X86_INS_XOR | X86_INS_INC
            | X86_INS_DEC | X86_INS_NEG | X86_INS_NOT | X86_INS_BSWAP | X86_INS_SHL | X86_INS_SAL
            | X86_INS_SHR | X86_INS_SAR | X86_INS_ROL | X86_INS_ROR | X86_INS_XCHG,
            _,
        ) => all(),
        // Relative to the PC, the address is part of the instruction.
        (X86_INS_LEA, [to, X86Operand { op_type: X86OperandType::Mem(memory), .. }]) if to.size >= 4 => {
            Some([memory.base(), memory.index()].into_iter().filter_map(register).collect())
        }
        // With one operand, it multiplies RAX, into RDX and RAX.
        (X86_INS_IMUL, [_, _, ..]) => all(),
        _ => None,
    }
}

/// Returns where an instruction stores that does so at an operand, or pushes a word; `None` for other instructions.
pub(super) fn stored(id: X86Insn, operands: &[X86Operand], end: u64) -> Option<Stored> {
    use X86Insn::*;
    let is_memory = |operand: &&X86Operand| matches!(operand.op_type, X86OperandType::Mem(_));
    let size = match id {
        X86_INS_CALL => return Some(Stored::at(Some(Abi::Amd64.sp()), -WORD, 8)),
        X86_INS_PUSH if operands.iter().all(|what| what.size != 2) => {
            return Some(Stored::at(Some(Abi::Amd64.sp()), -WORD, 8));
        }
        X86_INS_MOV | X86_INS_ADD | X86_INS_SUB | X86_INS_AND | X86_INS_OR | X86_INS_XOR | X86_INS_ADC
        | X86_INS_SBB | X86_INS_INC | X86_INS_DEC | X86_INS_NEG | X86_INS_NOT | X86_INS_SHL | X86_INS_SAL
        | X86_INS_SHR | X86_INS_SAR | X86_INS_ROL | X86_INS_ROR | X86_INS_XCHG | X86_INS_MOVNTI
        | X86_INS_SETAE | X86_INS_SETA | X86_INS_SETBE | X86_INS_SETB | X86_INS_SETE | X86_INS_SETGE
        | X86_INS_SETG | X86_INS_SETLE | X86_INS_SETL | X86_INS_SETNE | X86_INS_SETNO | X86_INS_SETNP
        | X86_INS_SETNS | X86_INS_SETO | X86_INS_SETP | X86_INS_SETS => None,
        X86_INS_MOVSS | X86_INS_MOVD => Some(4),
        X86_INS_MOVSD | X86_INS_MOVQ | X86_INS_MOVLPS | X86_INS_MOVLPD | X86_INS_MOVHPS | X86_INS_MOVHPD => {
            Some(8)
        }
        X86_INS_MOVAPS | X86_INS_MOVUPS | X86_INS_MOVAPD | X86_INS_MOVUPD | X86_INS_MOVDQA
        | X86_INS_MOVDQU => Some(16),
        _ => return None,
    };
    let operand = match id {
        X86_INS_XCHG => operands.iter().find(is_memory),
        _ => operands.first().filter(is_memory),
    };
    let X86Operand { op_type: X86OperandType::Mem(memory), size: of_operand, .. } = operand? else {
        return None;
    };
    let Address { base, index, shift, offset } = Address::of(*memory, end)?;
    Some(Stored { index, shift, ..Stored::at(base, offset, size.unwrap_or(*of_operand)) })
}

fn add(to: &X86Operand, offset: i64) -> Option<Operation> {
    let to = Part::of(to)?;
    Some(to.sum(to.register, offset))
}

/// Returns a side of a comparison.
fn comparand(operand: &X86Operand) -> Option<Comparand> {
    match operand.op_type {
        X86OperandType::Imm(constant) => Some(Comparand::Constant(constant)),
        X86OperandType::Mem(memory) => place(memory).map(Comparand::Memory),
        _ => Part::of(operand).map(|part| Comparand::Register(part.register)),
    }
}

/// The sum of a base, an index that is shifted, and an offset.
struct Address {
    base: Option<DwarfRegister>,
    index: Option<DwarfRegister>,
    shift: u8,
    offset: i64,
}

impl Address {
    /// The address of an operand, if it follows from registers and constants alone.
    fn of(memory: X86OpMem, end: u64) -> Option<Self> {
        use X86Reg::{X86_REG_FS, X86_REG_GS, X86_REG_INVALID, X86_REG_RIP, X86_REG_RIZ};
        // The other segments begin at 0.
        if let X86_REG_FS | X86_REG_GS = memory.segment().0.into() {
            return None;
        }
        let (base, origin) = match memory.base().0.into() {
            X86_REG_INVALID => (None, 0),
            X86_REG_RIP => (None, end.cast_signed()),
            _ => (Some(register(memory.base())?), 0),
        };
        let index = match memory.index().0.into() {
            X86_REG_INVALID | X86_REG_RIZ => None,
            _ => Some(register(memory.index())?),
        };
        let shift = memory.scale().checked_ilog2().and_then(|shift| u8::try_from(shift).ok())?;
        Some(Self { base, index, shift, offset: origin.wrapping_add(memory.disp()) })
    }

    /// The load of this many bytes from it.
    fn load(self, to: Option<DwarfRegister>, size: u8, signed: bool, width: Width) -> Operation {
        let Self { base, index, shift, offset: displacement } = self;
        let extension = Extension::NONE;
        Operation::LoadEntry { to, base, index, extension, shift, displacement, size, signed, width }
    }

    /// The computation of the address itself.
    fn compute(self, to: &Part) -> Option<Operation> {
        let Self { base, index, shift, offset } = self;
        match (base, index) {
            (Some(from), None) => Some(to.sum(from, offset)),
            (Some(left), Some(right)) if to.bits == 64 => Some(Operation::Sum {
                to: to.register,
                left,
                right,
                extension: Extension::NONE,
                shift,
                offset,
            }),
            (None, Some(from)) if offset == 0 => to.shifted_left(from, shift),
            _ => None,
        }
    }
}

/// The lowest bits of a register.
struct Part {
    register: DwarfRegister,
    bits: u8,
}

impl Part {
    /// The part that an operand is.
    fn of(operand: &X86Operand) -> Option<Self> {
        use X86Reg::{X86_REG_AH, X86_REG_BH, X86_REG_CH, X86_REG_DH};
        let X86OperandType::Reg(id) = operand.op_type else { return None };
        let is_high = matches!(id.0.into(), X86_REG_AH | X86_REG_BH | X86_REG_CH | X86_REG_DH);
        let register = register(id).filter(|_| !is_high)?;
        Some(Self { register, bits: operand.size * 8 })
    }

    /// A part of RAX.
    const fn accumulator(bits: u8) -> Self {
        Self { register: DwarfRegister(0), bits }
    }

    /// What is written with the part: above an unsigned value of 32 bits, all are 0.
    const fn width(&self, signed: bool) -> Width {
        match self.bits {
            32 if !signed => Width::WHOLE,
            bits => Width { bits, clears_rest: bits >= 32 },
        }
    }

    /// `self = from + offset`
    fn sum(&self, from: DwarfRegister, offset: i64) -> Operation {
        let to = self.register;
        match self.bits {
            64 => Operation::Add { to, from, offset },
            _ => Operation::AddNarrow { to, from, offset, width: self.width(true) },
        }
    }

    /// `self = extend(from >> low)`
    fn extend(&self, from: &Self, low: u8, signed: bool) -> Operation {
        Operation::Extend {
            to: self.register,
            from: from.register,
            low,
            extension: Extension { bits: from.bits - low, signed },
            shift: 0,
            width: self.width(signed),
        }
    }

    /// `self = from << amount`, where only as many bits of `from` count.
    fn shifted_left(&self, from: DwarfRegister, amount: u8) -> Option<Operation> {
        Some(Operation::Extend {
            to: self.register,
            from,
            low: 0,
            extension: Extension::zero(self.bits.checked_sub(amount).filter(|bits| *bits > 0)?),
            shift: amount,
            width: self.width(false),
        })
    }

    /// Returns by how many bits the part is shifted; `None` if that leaves none.
    fn shift_amount(&self, amount: i64) -> Option<u8> {
        let modulus = i64::from(self.bits.max(32));
        u8::try_from(amount.rem_euclid(modulus)).ok().filter(|amount| *amount < self.bits)
    }
}
