//! Instructions of CFI byte by byte (DWARF 5, 6.4.2), and the expressions in them (2.5).

use sframe_engine::{Abi, DwarfRegister};

use super::directive::{Directive, Operation};
use crate::generate::random::Random;

/// The data alignment factor of the CIEs of all four ABIs.
pub(super) const DATA_ALIGNMENT: i64 = -8;

const DEREF: u8 = 0x06;
const CONSTS: u8 = 0x11;
const MINUS: u8 = 0x1c;
const PLUS: u8 = 0x22;
const PLUS_UCONST: u8 = 0x23;
const LIT0: u8 = 0x30;
const BREG0: u8 = 0x70;
const BREGX: u8 = 0x92;
const NOP: u8 = 0x96;

/// The last of the registers and numbers for which an operation has no operand.
const LAST_SHORT: i64 = 31;

/// An instruction of CFI, byte by byte.
pub(super) fn escape(
    form: &'static str,
    opcode: u8,
    operands: &[Vec<u8>],
    operation: Operation,
) -> Directive {
    let bytes = std::iter::once(opcode).chain(operands.iter().flatten().copied());
    let bytes: Vec<String> = bytes.map(|byte| format!("{byte:#x}")).collect();
    Directive { form, text: format!(".cfi_escape {}", bytes.join(", ")), operation }
}

pub(super) fn uleb(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

pub(super) fn sleb(mut value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == -i64::from(byte >> 6 & 1) {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// The operand that is an expression: its length before it.
fn block(expression: &[u8]) -> Vec<u8> {
    [uleb(expression.len() as u64), expression.to_vec()].concat()
}

/// What one of the first 32 registers holds, plus a number.
fn breg(register: DwarfRegister, offset: i64) -> Vec<u8> {
    let opcode = BREG0 + u8::try_from(register.0).unwrap_or_default();
    [vec![opcode], sleb(offset)].concat()
}

/// What a register holds, plus a number.
fn bregx(register: DwarfRegister, offset: i64) -> Vec<u8> {
    [vec![BREGX], uleb(register.0.into()), sleb(offset)].concat()
}

/// What is on the stack, plus a number.
fn plus(offset: i64) -> Vec<u8> {
    [vec![CONSTS], sleb(offset), vec![PLUS]].concat()
}

/// The CFA is what one of the first 32 registers holds, plus a number.
pub(super) fn cfa_of_sum(register: DwarfRegister, offset: i64, random: &mut Random) -> Directive {
    let (form, expression) = match random.below(4) {
        0 => (".cfi_escape DW_CFA_def_cfa_expression DW_OP_bregx", bregx(register, offset)),
        1 if offset >= 0 => (
            ".cfi_escape DW_CFA_def_cfa_expression DW_OP_plus_uconst",
            [breg(register, 0), vec![PLUS_UCONST], uleb(offset.unsigned_abs())].concat(),
        ),
        1 | 2 => {
            (".cfi_escape DW_CFA_def_cfa_expression DW_OP_plus", [breg(register, 0), plus(offset)].concat())
        }
        _ => (".cfi_escape DW_CFA_def_cfa_expression DW_OP_breg", breg(register, offset)),
    };
    escape(form, 0x0f, &[block(&expression)], Operation::DefineCfa(register, offset))
}

/// The CFA is in the word at an offset from what one of the first 32 registers holds.
pub(super) fn cfa_in_word(register: DwarfRegister, offset: i64, random: &mut Random) -> Directive {
    let (form, address) = match random.below(8) {
        0 => (".cfi_escape DW_CFA_def_cfa_expression DW_OP_bregx DW_OP_deref", bregx(register, offset)),
        1 => (
            ".cfi_escape DW_CFA_def_cfa_expression DW_OP_plus DW_OP_deref",
            [breg(register, 0), plus(offset)].concat(),
        ),
        _ => (".cfi_escape DW_CFA_def_cfa_expression DW_OP_breg DW_OP_deref", breg(register, offset)),
    };
    let expression = [address, vec![DEREF]].concat();
    escape(form, 0x0f, &[block(&expression)], Operation::LoadedCfa(register, offset))
}

/// A register is in the word at an offset from the CFA, which is on the stack of the expression.
pub(super) fn in_word(register: DwarfRegister, offset: i64, random: &mut Random) -> Directive {
    let saved = Operation::Offset(register, offset);
    let number = uleb(register.0.into());
    match random.below(3) {
        0 if (-LAST_SHORT..0).contains(&offset) => {
            let literal = LIT0 + u8::try_from(offset.unsigned_abs()).unwrap_or_default();
            let operands = [number, block(&[literal, MINUS])];
            escape(".cfi_escape DW_CFA_expression DW_OP_lit DW_OP_minus", 0x10, &operands, saved)
        }
        0 | 1 => {
            let operands = [number, block(&plus(offset))];
            escape(".cfi_escape DW_CFA_expression DW_OP_plus", 0x10, &operands, saved)
        }
        _ => {
            let operands = [number, block(&[plus(offset), vec![DEREF]].concat())];
            escape(".cfi_escape DW_CFA_val_expression DW_OP_plus DW_OP_deref", 0x16, &operands, saved)
        }
    }
}

/// A register is in the word at an offset from what one of the first 32 registers holds.
pub(super) fn indirect(
    register: DwarfRegister,
    base: DwarfRegister,
    offset: i64,
    random: &mut Random,
) -> Directive {
    let operation = Operation::Indirect(register, base, offset);
    let number = uleb(register.0.into());
    if random.percent(80) {
        let operands = [number, block(&breg(base, offset))];
        escape(".cfi_escape DW_CFA_expression DW_OP_breg", 0x10, &operands, operation)
    } else {
        let operands = [number, block(&[breg(base, offset), vec![DEREF]].concat())];
        escape(".cfi_escape DW_CFA_val_expression DW_OP_breg DW_OP_deref", 0x16, &operands, operation)
    }
}

/// A register is in one of the first 32 registers.
pub(super) fn in_register(register: DwarfRegister, other: DwarfRegister) -> Directive {
    let operands = [uleb(register.0.into()), block(&breg(other, 0))];
    let moved = Operation::Register(register, other);
    escape(".cfi_escape DW_CFA_val_expression DW_OP_breg", 0x16, &operands, moved)
}

/// SP is what it is by convention, or a register that is nobody's is somewhere.
pub(super) fn noise(abi: Abi, volatile: DwarfRegister, random: &mut Random) -> Directive {
    let (sp, vacant) = (uleb(abi.sp().0.into()), uleb(volatile.0.into()));
    // SP is the CFA, or below it by what s390x has there.
    let from_cfa = abi.sp_offset_from_cfa();
    match random.below(5) {
        0 => escape(".cfi_escape DW_CFA_nop", 0, &[], Operation::Nothing),
        1 => {
            let operands = [uleb(random.below(300))];
            escape(".cfi_escape DW_CFA_GNU_args_size", 0x2e, &operands, Operation::Nothing)
        }
        2 => {
            let factored = from_cfa / DATA_ALIGNMENT;
            let operands = [sp, uleb(factored.unsigned_abs())];
            escape(".cfi_escape DW_CFA_val_offset", 0x14, &operands, Operation::Nothing)
        }
        3 => {
            let expression = if from_cfa == 0 { vec![NOP] } else { plus(from_cfa) };
            let operands = [sp, block(&expression)];
            escape(".cfi_escape DW_CFA_val_expression DW_OP_nop", 0x16, &operands, Operation::Nothing)
        }
        _ => {
            let operands = [vacant, block(&breg(abi.sp(), 0))];
            escape(".cfi_escape DW_CFA_expression of another", 0x10, &operands, Operation::Nothing)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_encoded_as_in_dwarf() {
        assert_eq!(uleb(2), [2]);
        assert_eq!(uleb(128), [0x80, 1]);
        assert_eq!(sleb(-2), [0x7e]);
        assert_eq!(sleb(127), [0xff, 0]);
        assert_eq!(sleb(-129), [0xff, 0x7e]);
        let escaped = escape("x", 0x12, &[uleb(7), sleb(-2)], Operation::Nothing);
        assert_eq!(escaped.text, ".cfi_escape 0x12, 0x7, 0x7e");
    }

    #[test]
    fn expressions_begin_with_their_length() {
        assert_eq!(block(&breg(DwarfRegister(6), -8)), [2, 0x76, 0x78]);
        assert_eq!(block(&[breg(DwarfRegister(7), 784), vec![DEREF]].concat()), [4, 0x77, 0x90, 6, 6]);
        assert_eq!(block(&bregx(DwarfRegister(17), 0)), [3, 0x92, 17, 0]);
        assert_eq!(block(&plus(-16)), [3, 0x11, 0x70, 0x22]);
    }
}
