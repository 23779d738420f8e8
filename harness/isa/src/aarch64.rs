//! AArch64, in either byte order of data.

mod values;

use capstone::arch::arm64::{
    ArchMode, Arm64CC, Arm64Insn, Arm64InsnDetail, Arm64Operand, Arm64OperandType, Arm64Reg,
};
use capstone::arch::{ArchDetail, BuildsCapstone, DetailsArchInsn};
use capstone::{AccessType, Capstone, CsResult, Insn, InsnDetail, RegId};
use sframe_engine::{Abi, DwarfRegister};

use super::instruction::{Destination, FIRST_PAGE, Flow, Instruction};
use super::operation::{Extension, Operation, Place, Value};
use super::registers::Registers;

pub(super) fn decoder() -> CsResult<Capstone> {
    Capstone::new().arm64().mode(ArchMode::Arm).detail(true).build()
}

pub(super) const fn len(_first: u8) -> usize {
    4
}

/// Returns the DWARF number of a general register, of SP, or of the register whose
/// lower half this is (DWARF for the Arm 64-bit Architecture, 4.1).
fn register(id: RegId) -> Option<DwarfRegister> {
    use Arm64Reg::*;
    let number = match id.0.into() {
        id @ ARM64_REG_X0..=ARM64_REG_X28 => id - ARM64_REG_X0,
        id @ ARM64_REG_W0..=ARM64_REG_W30 => id - ARM64_REG_W0,
        ARM64_REG_X29 => 29,
        ARM64_REG_X30 => 30,
        ARM64_REG_SP | ARM64_REG_WSP => 31,
        _ => return None,
    };
    Some(DwarfRegister(number))
}

/// Returns the size of a register in bytes.
fn size(id: RegId) -> u8 {
    use Arm64Reg::*;
    match id.0.into() {
        ARM64_REG_W0..=ARM64_REG_W30 | ARM64_REG_WSP | ARM64_REG_WZR | ARM64_REG_S0..=ARM64_REG_S31 => 4,
        ARM64_REG_Q0..=ARM64_REG_Q31 => 16,
        ARM64_REG_H0..=ARM64_REG_H31 => 2,
        ARM64_REG_B0..=ARM64_REG_B31 => 1,
        _ => 8,
    }
}

/// A system instruction: a hint, a barrier, or one that accesses a system register.
///
/// It is decoded from the encoding, because the binding ends the process if it has
/// no name for a system register.
struct System {
    /// The general register, if any: not 31.
    register: Option<DwarfRegister>,
    /// Whether the general register is written.
    is_read: bool,
    /// Whether it maintains caches or translations, which may zero memory.
    is_maintenance: bool,
}

impl System {
    /// Decodes the system instructions' encoding: op0 in bits 19 and 20, L in bit
    /// 21, Rt in bits 0 to 4.
    fn of(code: &[u8]) -> Option<Self> {
        let word = u32::from_le_bytes(*code.first_chunk()?);
        (word & 0xffc0_0000 == 0xd500_0000).then_some(Self {
            register: Some(DwarfRegister(word & 0x1f)).filter(|register| register.0 < 31),
            is_read: word >> 21 & 1 == 1,
            is_maintenance: word >> 19 & 3 == 1,
        })
    }
}

pub(super) fn classify(decoded: &Insn<'_>, detail: &InsnDetail<'_>, instruction: &mut Instruction) {
    let ArchDetail::Arm64Detail(arm64) = detail.arch_detail() else { return };
    let id = Arm64Insn::from(decoded.id().0);
    instruction.defs.extend(detail.regs_write().iter().filter_map(|id| register(*id)));
    match System::of(decoded.bytes()) {
        Some(system) => {
            instruction.operation = fixed_operation(id);
            instruction.may_store = system.is_maintenance;
            if system.is_read {
                instruction.defs.extend(system.register);
            } else {
                instruction.uses.extend(system.register);
            }
        }
        None => {
            instruction.condition = values::condition(decoded.bytes());
            instruction.is_system_call = id == Arm64Insn::ARM64_INS_SVC;
            let computed = values::operation(decoded.bytes(), decoded.address());
            classify_by_operands(id, &arm64, computed, instruction);
            instruction.may_store &= !values::only_loads(decoded.bytes());
            instruction.stored = values::stored(decoded.bytes()).filter(|_| instruction.may_store);
            let sources = instruction.operation.sources();
            instruction.sources = sources.or_else(|| values::sources(decoded.bytes()));
        }
    }
    instruction.sets_flags = instruction.is_call() || arm64.update_flags() || id == Arm64Insn::ARM64_INS_MSR;
    // The return address stays the same.
    if let (Operation::Authenticate, Some(ra)) = (&instruction.operation, Abi::Aarch64.ra()) {
        instruction.defs.remove(ra);
    }
}

fn classify_by_operands(
    id: Arm64Insn,
    arm64: &Arm64InsnDetail<'_>,
    computed: Option<Operation>,
    instruction: &mut Instruction,
) {
    let operands: Vec<Arm64Operand> = arm64.operands().collect();
    instruction.flow = flow(id, arm64, &operands);
    instruction.operation = computed.unwrap_or_else(|| operation(id, arm64, &operands));
    let mut has_memory = false;
    for operand in &operands {
        match operand.op_type {
            Arm64OperandType::Reg(named) => {
                // Without an access type, the operand may be accessed in either way.
                if operand.access.is_none_or(AccessType::is_writable) {
                    instruction.defs.extend(register(named));
                    if size(named) == 4 && !may_write_address(id, &operands) {
                        instruction.narrow.extend(register(named));
                    }
                }
                if operand.access.is_none_or(AccessType::is_readable) {
                    instruction.uses.extend(register(named));
                }
            }
            Arm64OperandType::Mem(memory) => {
                has_memory = true;
                if arm64.writeback() {
                    instruction.defs.extend(register(memory.base()));
                }
            }
            _ => {}
        }
    }
    // The decoder reports the first operand of a comparison as written.
    if let Arm64Insn::ARM64_INS_CMP | Arm64Insn::ARM64_INS_CMN | Arm64Insn::ARM64_INS_TST = id {
        instruction.uses.extend(instruction.defs.iter());
        instruction.defs = Registers::default();
        instruction.narrow = Registers::default();
    }
    // And the target of `adds` with a constant, in 32 bits, as read.
    if let (Arm64Insn::ARM64_INS_ADDS, Operation::AddNarrow { to, from, .. }) = (id, &instruction.operation) {
        instruction.uses = [*from].into_iter().collect();
        instruction.defs.insert(*to);
        instruction.narrow.insert(*to);
    }
    let loads = matches!(instruction.operation, Operation::Load { .. } | Operation::LoadEntry { .. });
    instruction.may_store = has_memory && !loads;
    if instruction.is_call() {
        instruction.may_store = true;
        instruction.defs.remove(Abi::Aarch64.sp());
        instruction.defs.extend(Abi::Aarch64.ra());
    }
}

/// Whether what an instruction writes to the lower half of a register may be an address that is part
/// of it, or half of one.
fn may_write_address(id: Arm64Insn, operands: &[Arm64Operand]) -> bool {
    use Arm64Insn::{ARM64_INS_MOV, ARM64_INS_MOVK, ARM64_INS_MOVN, ARM64_INS_MOVZ};
    match operands {
        [_, Arm64Operand { op_type: Arm64OperandType::Imm(value), .. }] => match id {
            ARM64_INS_MOV => !FIRST_PAGE.contains(value),
            ARM64_INS_MOVK | ARM64_INS_MOVN | ARM64_INS_MOVZ => true,
            _ => false,
        },
        _ => false,
    }
}

fn flow(id: Arm64Insn, detail: &Arm64InsnDetail<'_>, operands: &[Arm64Operand]) -> Flow {
    use Arm64Insn::*;
    let address = operands.iter().rev().find_map(|operand| match operand.op_type {
        Arm64OperandType::Imm(address) => Some(address.cast_unsigned()),
        _ => None,
    });
    let to = address.map_or(Destination::Indirect, Destination::Address);
    match id {
        ARM64_INS_BL => Flow::Call(address),
        ARM64_INS_BLR | ARM64_INS_BLRAA | ARM64_INS_BLRAAZ | ARM64_INS_BLRAB | ARM64_INS_BLRABZ => {
            Flow::Call(None)
        }
        ARM64_INS_B | ARM64_INS_BC => {
            let is_conditional = !matches!(
                detail.cc(),
                Arm64CC::ARM64_CC_INVALID | Arm64CC::ARM64_CC_AL | Arm64CC::ARM64_CC_NV
            );
            Flow::Jump { to, is_conditional }
        }
        ARM64_INS_CBZ | ARM64_INS_CBNZ | ARM64_INS_TBZ | ARM64_INS_TBNZ => {
            Flow::Jump { to, is_conditional: true }
        }
        ARM64_INS_BR | ARM64_INS_BRAA | ARM64_INS_BRAAZ | ARM64_INS_BRAB | ARM64_INS_BRABZ => {
            Flow::Jump { to: Destination::Indirect, is_conditional: false }
        }
        ARM64_INS_RET | ARM64_INS_RETAA | ARM64_INS_RETAB | ARM64_INS_ERET | ARM64_INS_ERETAA
        | ARM64_INS_ERETAB | ARM64_INS_DRPS => Flow::Jump { to: Destination::Caller, is_conditional: false },
        ARM64_INS_UDF | ARM64_INS_BRK | ARM64_INS_HLT => Flow::Trap,
        _ => Flow::Next,
    }
}

/// Returns the operation of an instruction whose operands do not matter.
fn fixed_operation(id: Arm64Insn) -> Operation {
    use Arm64Insn::*;
    match id {
        ARM64_INS_PACIA | ARM64_INS_PACIA1716 | ARM64_INS_PACIASP | ARM64_INS_PACIAZ | ARM64_INS_PACIZA
        | ARM64_INS_PACIB | ARM64_INS_PACIB1716 | ARM64_INS_PACIBSP | ARM64_INS_PACIBZ | ARM64_INS_PACIZB
        | ARM64_INS_AUTIA | ARM64_INS_AUTIA1716 | ARM64_INS_AUTIASP | ARM64_INS_AUTIAZ | ARM64_INS_AUTIZA
        | ARM64_INS_AUTIB | ARM64_INS_AUTIB1716 | ARM64_INS_AUTIBSP | ARM64_INS_AUTIBZ | ARM64_INS_AUTIZB
        | ARM64_INS_XPACLRI | ARM64_INS_XPACI => Operation::Authenticate,
        ARM64_INS_BTI | ARM64_INS_HINT => Operation::LandingPad,
        ARM64_INS_NOP => Operation::Nop,
        _ => Operation::Other,
    }
}

fn operation(id: Arm64Insn, detail: &Arm64InsnDetail<'_>, operands: &[Arm64Operand]) -> Operation {
    use Arm64Insn::*;
    use Arm64OperandType::{Imm, Mem, Reg};
    let types: Vec<&Arm64OperandType> = operands.iter().map(|operand| &operand.op_type).collect();
    match (id, &types[..]) {
        (ARM64_INS_AND, [Reg(to), Reg(from), Imm(mask)]) => match (register(*to), register(*from)) {
            (Some(to_register), Some(from)) => {
                let mask = Extension::zero(size(*to) * 8).apply(mask.cast_unsigned());
                Operation::Mask { to: to_register, from, mask }
            }
            _ => Operation::Other,
        },
        (
            ARM64_INS_STP | ARM64_INS_STR | ARM64_INS_STUR | ARM64_INS_LDP | ARM64_INS_LDR | ARM64_INS_LDUR,
            [Reg(first), rest @ ..],
        ) => {
            let registers = [
                Some(first),
                rest.first().and_then(|second| if let Reg(second) = second { Some(second) } else { None }),
            ];
            let values = registers
                .into_iter()
                .flatten()
                .map(|id| register(*id).map_or(Value::Other, Value::Register))
                .collect();
            let place = rest.iter().find_map(|operand| match operand {
                Mem(memory) => Some(memory),
                _ => None,
            });
            // After the address, the only operand is a post-index offset.
            let after = match types.last() {
                Some(Imm(by)) => Some(*by),
                _ => None,
            };
            let place = place.filter(|memory| memory.index() == RegId::INVALID_REG).and_then(|memory| {
                let displacement = i64::from(memory.disp());
                let (offset, writeback) = match after {
                    Some(by) => (0, by),
                    None if detail.writeback() => (displacement, displacement),
                    None => (displacement, 0),
                };
                Some(Place { base: register(memory.base())?, offset, writeback })
            });
            let size = size(*first);
            match id {
                ARM64_INS_STP | ARM64_INS_STR | ARM64_INS_STUR => Operation::Store { values, place, size },
                _ => Operation::Load { values, place, size },
            }
        }
        _ => fixed_operation(id),
    }
}
