//! AMD64.

mod values;

use capstone::arch::x86::{ArchMode, X86Insn, X86OpMem, X86Operand, X86OperandType, X86Reg};
use capstone::arch::{ArchDetail, BuildsCapstone, DetailsArchInsn};
use capstone::{AccessType, Capstone, CsResult, Insn, InsnDetail, InsnGroupType, RegId};
use sframe_engine::{Abi, DwarfRegister};

use super::instruction::{Destination, FIRST_PAGE, Flow, Instruction};
use super::operation::{Condition, Operation, Place, Relation, Value};
use super::registers::Registers;

pub(super) fn decoder() -> CsResult<Capstone> {
    Capstone::new().x86().mode(ArchMode::Mode64).detail(true).build()
}

/// The size of words that are pushed and popped, in bytes.
const WORD: i64 = 8;

/// Returns the DWARF number of a general register, or of the register that it is a
/// part of (System V psABI for AMD64, 3.6.2).
fn register(id: RegId) -> Option<DwarfRegister> {
    use X86Reg::*;
    let number = match id.0.into() {
        X86_REG_RAX | X86_REG_EAX | X86_REG_AX | X86_REG_AL | X86_REG_AH => 0,
        X86_REG_RDX | X86_REG_EDX | X86_REG_DX | X86_REG_DL | X86_REG_DH => 1,
        X86_REG_RCX | X86_REG_ECX | X86_REG_CX | X86_REG_CL | X86_REG_CH => 2,
        X86_REG_RBX | X86_REG_EBX | X86_REG_BX | X86_REG_BL | X86_REG_BH => 3,
        X86_REG_RSI | X86_REG_ESI | X86_REG_SI | X86_REG_SIL => 4,
        X86_REG_RDI | X86_REG_EDI | X86_REG_DI | X86_REG_DIL => 5,
        X86_REG_RBP | X86_REG_EBP | X86_REG_BP | X86_REG_BPL => 6,
        X86_REG_RSP | X86_REG_ESP | X86_REG_SP | X86_REG_SPL => 7,
        id @ X86_REG_R8..=X86_REG_R15 => id - X86_REG_R8 + 8,
        id @ X86_REG_R8D..=X86_REG_R15D => id - X86_REG_R8D + 8,
        id @ X86_REG_R8W..=X86_REG_R15W => id - X86_REG_R8W + 8,
        id @ X86_REG_R8B..=X86_REG_R15B => id - X86_REG_R8B + 8,
        _ => return None,
    };
    Some(DwarfRegister(number))
}

fn place(memory: X86OpMem) -> Option<Place> {
    let is_plain = memory.index() == RegId::INVALID_REG && memory.segment() == RegId::INVALID_REG;
    let base = register(memory.base()).filter(|_| is_plain)?;
    Some(Place { base, offset: memory.disp(), writeback: 0 })
}

pub(super) fn classify(decoded: &Insn<'_>, detail: &InsnDetail<'_>, instruction: &mut Instruction) {
    let ArchDetail::X86Detail(x86) = detail.arch_detail() else { return };
    let id = X86Insn::from(decoded.id().0);
    let operands: Vec<X86Operand> = x86.operands().collect();
    instruction.flow = flow(id, detail, &operands);
    let next = decoded.address().wrapping_add(decoded.len() as u64);
    // A prefix may shorten addresses.
    let computed = if x86.addr_size() == 8 { values::operation(id, &operands, next) } else { None };
    instruction.operation = computed.unwrap_or_else(|| operation(id, &operands));
    instruction.condition = condition(id);
    let is_flags = |id: &RegId| u32::from(id.0) == X86Reg::X86_REG_EFLAGS;
    instruction.sets_flags = instruction.is_call() || detail.regs_write().iter().any(is_flags);
    instruction.repeats = is_string_operation(x86.opcode()) && matches!(x86.prefix(), [0xf2 | 0xf3, ..]);
    instruction.is_system_call = match id {
        X86Insn::X86_INS_SYSCALL | X86Insn::X86_INS_SYSENTER => true,
        X86Insn::X86_INS_INT => {
            matches!(operands[..], [X86Operand { op_type: X86OperandType::Imm(0x80), .. }])
        }
        _ => false,
    };
    instruction.removes = removes(instruction.flow, &operands);
    instruction.defs.extend(detail.regs_write().iter().filter_map(|id| register(*id)));
    for operand in &operands {
        let X86OperandType::Reg(named) = operand.op_type else { continue };
        // Without an access type, the operand may be accessed in either way.
        if operand.access.is_none_or(AccessType::is_writable) {
            instruction.defs.extend(register(named));
            if operand.size == 4 && !may_write_address(id, &operands) {
                instruction.narrow.extend(register(named));
            }
        }
        if operand.access.is_none_or(AccessType::is_readable) {
            instruction.uses.extend(register(named));
        }
    }
    if let X86Insn::X86_INS_ENTER = id {
        // The decoder does not know that it sets these.
        instruction.defs.extend([Abi::Amd64.fp(), Abi::Amd64.sp()]);
    }
    if let X86Insn::X86_INS_LEA = id {
        // It computes an address without accessing memory.
        let registers = |operand: &X86Operand| match operand.op_type {
            X86OperandType::Mem(memory) => [register(memory.base()), register(memory.index())],
            _ => [None; 2],
        };
        instruction.uses.extend(operands.iter().flat_map(registers).flatten());
    }
    // The decoder reports the first operand of `test` as written.
    if let X86Insn::X86_INS_CMP | X86Insn::X86_INS_TEST = id {
        instruction.uses.extend(instruction.defs.iter());
        instruction.defs = Registers::default();
        instruction.narrow = Registers::default();
    }
    if instruction.is_call() {
        instruction.defs.remove(Abi::Amd64.sp());
    }
    instruction.sources = instruction.operation.sources().or_else(|| values::sources(id, &operands));
    instruction.may_store = may_store(id, instruction, &operands);
    if instruction.may_store && x86.addr_size() == 8 && !is_string_operation(x86.opcode()) {
        instruction.stored = values::stored(id, &operands, next);
    }
}

/// Whether what an instruction writes to the lower half of a register may be an address that is part
/// of it, as the address of a variable.
fn may_write_address(id: X86Insn, operands: &[X86Operand]) -> bool {
    match operands {
        [_, X86Operand { op_type: X86OperandType::Imm(value), .. }] if id == X86Insn::X86_INS_MOV => {
            !FIRST_PAGE.contains(value)
        }
        [_, X86Operand { op_type: X86OperandType::Mem(memory), .. }] if id == X86Insn::X86_INS_LEA => {
            register(memory.base()).is_none() && register(memory.index()).is_none()
        }
        _ => false,
    }
}

/// `ret imm16`, and its far form.
fn removes(flow: Flow, operands: &[X86Operand]) -> u16 {
    match (flow, operands) {
        (
            Flow::Jump { to: Destination::Caller, .. },
            [X86Operand { op_type: X86OperandType::Imm(bytes), .. }],
        ) => u16::try_from(*bytes).unwrap_or(0),
        _ => 0,
    }
}

fn flow(id: X86Insn, detail: &InsnDetail<'_>, operands: &[X86Operand]) -> Flow {
    use X86Insn::*;
    let address = match operands {
        [X86Operand { op_type: X86OperandType::Imm(address), .. }] => Some(address.cast_unsigned()),
        _ => None,
    };
    let is_in = |group: u32| detail.groups().iter().any(|id| u32::from(id.0) == group);
    let to = address.map_or(Destination::Indirect, Destination::Address);
    match id {
        X86_INS_CALL | X86_INS_LCALL => Flow::Call(address),
        X86_INS_JMP | X86_INS_LJMP => Flow::Jump { to, is_conditional: false },
        X86_INS_UD0 | X86_INS_UD1 | X86_INS_UD2 | X86_INS_HLT => Flow::Trap,
        _ if is_in(InsnGroupType::CS_GRP_RET) || is_in(InsnGroupType::CS_GRP_IRET) => {
            Flow::Jump { to: Destination::Caller, is_conditional: false }
        }
        X86_INS_LOOP | X86_INS_LOOPE | X86_INS_LOOPNE | X86_INS_XBEGIN => {
            Flow::Jump { to, is_conditional: true }
        }
        _ if is_in(InsnGroupType::CS_GRP_JUMP) => Flow::Jump { to, is_conditional: true },
        _ => Flow::Next,
    }
}

/// Returns the condition of a jump after a comparison.
fn condition(id: X86Insn) -> Option<Condition> {
    use Relation::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    use X86Insn::*;
    let (relation, signed) = match id {
        X86_INS_JE => (Equal, None),
        X86_INS_JNE => (NotEqual, None),
        X86_INS_JB => (Less, Some(false)),
        X86_INS_JBE => (LessOrEqual, Some(false)),
        X86_INS_JA => (Greater, Some(false)),
        X86_INS_JAE => (GreaterOrEqual, Some(false)),
        X86_INS_JL => (Less, Some(true)),
        X86_INS_JLE => (LessOrEqual, Some(true)),
        X86_INS_JG => (Greater, Some(true)),
        X86_INS_JGE => (GreaterOrEqual, Some(true)),
        _ => return None,
    };
    Some(Condition { relation, signed })
}

/// Whether an opcode is that of INS, OUTS, MOVS, CMPS, STOS, LODS or SCAS.
const fn is_string_operation(opcode: &[u8; 4]) -> bool {
    matches!(opcode[0], 0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf)
}

/// Returns the operation of an instruction that sets up a frame.
fn operation(id: X86Insn, operands: &[X86Operand]) -> Operation {
    use X86Insn::*;
    use X86OperandType::{Imm, Mem};
    let sp = Abi::Amd64.sp();
    let value = |operand: &X86Operand| match operand.op_type {
        Imm(_) => Value::Constant,
        X86OperandType::Reg(id) => register(id).map_or(Value::Other, Value::Register),
        _ => Value::Other,
    };
    match (id, operands) {
        (X86_INS_PUSH, [what]) if what.size != 2 => Operation::Store {
            values: vec![value(what)],
            place: Some(Place { base: sp, offset: -WORD, writeback: -WORD }),
            size: 8,
        },
        (X86_INS_POP, [what]) if what.size != 2 => Operation::Load {
            values: vec![value(what)],
            place: Some(Place { base: sp, offset: 0, writeback: WORD }),
            size: 8,
        },
        (X86_INS_LEAVE, _) => Operation::Leave,
        (X86_INS_MOV, [X86Operand { op_type: Mem(memory), size, .. }, what]) => {
            Operation::Store { values: vec![value(what)], place: place(*memory), size: *size }
        }
        (
            X86_INS_ADD | X86_INS_SUB | X86_INS_INC | X86_INS_DEC,
            [X86Operand { op_type: Mem(memory), size, .. }, ..],
        ) => Operation::Store { values: vec![Value::Other], place: place(*memory), size: *size },
        (
            X86_INS_MOV | X86_INS_MOVABS | X86_INS_MOVZX | X86_INS_MOVSX | X86_INS_MOVSXD,
            [to, X86Operand { op_type: Mem(memory), size, .. }],
        ) => Operation::Load { values: vec![value(to)], place: place(*memory), size: *size },
        // Vectors.
        (
            X86_INS_MOVAPS | X86_INS_MOVUPS | X86_INS_MOVAPD | X86_INS_MOVUPD | X86_INS_MOVDQA
            | X86_INS_MOVDQU | X86_INS_VMOVAPS | X86_INS_VMOVUPS | X86_INS_VMOVAPD | X86_INS_VMOVUPD
            | X86_INS_VMOVDQA | X86_INS_VMOVDQU | X86_INS_VMOVDQA32 | X86_INS_VMOVDQA64 | X86_INS_VMOVDQU8
            | X86_INS_VMOVDQU16 | X86_INS_VMOVDQU32 | X86_INS_VMOVDQU64,
            [
                X86Operand { op_type: Mem(memory), size, .. },
                X86Operand { op_type: X86OperandType::Reg(_), .. },
            ],
        ) => Operation::Store { values: vec![Value::Other], place: place(*memory), size: *size },
        (X86_INS_ENDBR64 | X86_INS_ENDBR32, _) => Operation::LandingPad,
        (X86_INS_NOP, _) => Operation::Nop,
        _ => Operation::Other,
    }
}

fn may_store(id: X86Insn, instruction: &Instruction, operands: &[X86Operand]) -> bool {
    use X86Insn::*;
    let is_memory = |operand: &X86Operand| matches!(operand.op_type, X86OperandType::Mem(_));
    match (id, &instruction.operation) {
        (_, Operation::Store { .. }) => true,
        (_, Operation::LoadEntry { to: Some(_), .. }) => false,
        (_, Operation::Load { values, .. }) if values.iter().all(|value| *value != Value::Other) => false,
        (X86_INS_LEA | X86_INS_NOP | X86_INS_CMP | X86_INS_TEST | X86_INS_BT | X86_INS_JMP, _)
        | (X86_INS_MUL | X86_INS_IMUL | X86_INS_DIV | X86_INS_IDIV, _)
        | (X86_INS_FLD | X86_INS_FILD | X86_INS_FLDCW | X86_INS_LDMXCSR, _)
        | (X86_INS_FADD | X86_INS_FSUB | X86_INS_FSUBR | X86_INS_FMUL | X86_INS_FDIV | X86_INS_FDIVR, _)
        | (X86_INS_PREFETCHNTA | X86_INS_PREFETCHT0 | X86_INS_PREFETCHT1 | X86_INS_PREFETCHT2, _) => false,
        // Their addresses are not operands.
        (X86_INS_ENTER | X86_INS_MASKMOVQ | X86_INS_MASKMOVDQU | X86_INS_VMASKMOVDQU | X86_INS_CLZERO, _)
        | (X86_INS_PUSHF | X86_INS_PUSHFD | X86_INS_PUSHFQ, _) => true,
        // What is written comes first.
        (X86_INS_XCHG, _) => operands.iter().any(is_memory),
        _ => instruction.is_call() || operands.first().is_some_and(is_memory),
    }
}
