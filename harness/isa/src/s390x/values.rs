//! What s390x's instructions compute in registers, load from tables, and compare.

use capstone::RegId;
use capstone::arch::sysz::{SysZOpMem, SysZOperand};
use sframe_engine::DwarfRegister;

use super::super::operation::{Comparand, Condition, Extension, Operation, Relation, Width};
use super::super::registers::Registers;
use super::super::stored::Stored;
use super::{place, register, register_of};

/// The lower half of a register, when the upper one stays as it is.
const LOW: Width = Width { bits: 32, clears_rest: false };

/// Returns an operation on values; `None` for other instructions.
pub(super) fn operation(code: u16, bytes: &[u8], operands: &[SysZOperand]) -> Option<Operation> {
    sum(code, operands)
        .or_else(|| bit_field(code, operands))
        .or_else(|| mask(code, operands))
        .or_else(|| load(code, operands))
        .or_else(|| compare(code, bytes, operands))
}

/// Returns the registers from which all follows that an instruction writes or stores, if these
/// and constants are all that takes part.
pub(super) fn sources(code: u16, operands: &[SysZOperand]) -> Option<Registers> {
    let registers = || operands.iter().filter_map(register_of);
    match code {
        // LGHI, LGFI, LLILF, LLIHF, LLIHH to LLILL, LARL; MVGHI, MVHI, MVHHI, MVI, MVIY.
        0xa709 | 0xc001 | 0xc00f | 0xc00e | 0xa50c..=0xa50f | 0xc000 | 0xe548 | 0xe54c | 0xe544 | 0x9200
        | 0xeb52 => Some(Registers::default()),
        // XGR and SGR of a register and itself.
        0xb982 | 0xb909 if operands.first() == operands.last() => Some(Registers::default()),
        // NGR, OGR, XGR, SGR, SLGR, LCGR; NR, OR, XR, SR, AR; LHI, which leaves the upper half.
        0xb980..=0xb982 | 0xb909 | 0xb90b | 0xb903 | 0x1400 | 0x1600 | 0x1700 | 0x1b00 | 0x1a00 | 0xa708
        // IIHF, IILF, OIHF, OILF, XIHF, XILF; IIHH to IILL, OIHH to OILL.
        | 0xc006..=0xc009 | 0xc00c | 0xc00d | 0xa500..=0xa503 | 0xa508..=0xa50b
        // NGRK, OGRK, XGRK, SGRK, SLGRK.
        | 0xb9e4 | 0xb9e6 | 0xb9e7 | 0xb9e9 | 0xb9eb => Some(registers().collect()),
        _ => None,
    }
}

/// Returns where an instruction stores; `None` for those that need not, or store elsewhere than at a single operand.
pub(super) fn stored(code: u16, operands: &[SysZOperand]) -> Option<Stored> {
    use SysZOperand::{Mem, Reg};
    let size = match code {
        // STC, STCY; MVI, MVIY; NI, OI, XI.
        0x4200 | 0xe372 | 0x9200 | 0xeb52 | 0x9400 | 0x9600 | 0x9700 => 1,
        // STH, STHY, STRVH; MVHHI.
        0x4000 | 0xe370 | 0xe33f | 0xe544 => 2,
        // ST, STY, STRV, STE, STEY; MVHI; ASI. STM, STMY.
        0x5000 | 0xe350 | 0xe33e | 0x7000 | 0xed66 | 0xe54c | 0xeb6a | 0x9000 | 0xeb90 => 4,
        // STG, STRVG, STD, STDY; MVGHI; AGSI. STMG.
        0xe324 | 0xe32f | 0x6000 | 0xed67 | 0xe548 | 0xeb7a | 0xeb24 => 8,
        // VST.
        0xe70e => 16,
        _ => return None,
    };
    let mut memory =
        operands.iter().filter_map(|operand| if let Mem(memory) = operand { Some(memory) } else { None });
    let (memory, None) = (memory.next()?, memory.next()) else { return None };
    let Address { base, index, offset } = Address::of(memory);
    let one = Stored { index, ..Stored::at(base, offset, size) };
    Some(match (code, operands) {
        (0x9000 | 0xeb90 | 0xeb24, [Reg(first), Reg(last), _]) => {
            let count = super::values(*first, *last).len();
            Stored { words: u16::try_from(count).ok().filter(|count| *count > 0)?, ..one }
        }
        _ => one,
    })
}

/// Returns the condition of a jump after a comparison, or of one that compares.
pub(super) fn condition(code: u16, bytes: &[u8]) -> Option<Condition> {
    use Relation::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let byte = |index: usize| bytes.get(index).copied().unwrap_or(0);
    let mask = match code {
        // BCR, BC, BRC, BRCL, BIC.
        0x0700 | 0x4700 | 0xa704 | 0xc004 | 0xe347 => byte(1) >> 4,
        // CGRJ, CLGRJ, CRJ, CLRJ; CGRB, CLGRB, CRB, CLRB.
        0xec64 | 0xec65 | 0xec76 | 0xec77 | 0xece4 | 0xece5 | 0xecf6 | 0xecf7 => byte(4) >> 4,
        // CGIJ, CLGIJ, CIJ, CLIJ; CGIB, CLGIB, CIB, CLIB.
        0xec7c..=0xec7f | 0xecfc..=0xecff => byte(1) & 0xf,
        _ => return None,
    };
    // The lowest bit is for a result that comparisons do not have.
    let relation = match mask >> 1 {
        0b100 => Equal,
        0b011 => NotEqual,
        0b010 => Less,
        0b110 => LessOrEqual,
        0b001 => Greater,
        0b101 => GreaterOrEqual,
        _ => return None,
    };
    Some(Condition { relation, signed: None })
}

/// Additions.
fn sum(code: u16, operands: &[SysZOperand]) -> Option<Operation> {
    use SysZOperand::{Imm, Mem, Reg};
    let (to, left, right, extension) = match (code, operands) {
        // AGHI, AGFI, ALGFI.
        (0xa70b | 0xc208 | 0xc20a, [Reg(to), Imm(offset)]) => return added(to, to, *offset, Width::WHOLE),
        // SLGFI.
        (0xc204, [Reg(to), Imm(by)]) => return added(to, to, by.wrapping_neg(), Width::WHOLE),
        // AHI, AFI, ALFI.
        (0xa70a | 0xc209 | 0xc20b, [Reg(to), Imm(offset)]) => return added(to, to, *offset, LOW),
        // SLFI.
        (0xc205, [Reg(to), Imm(by)]) => return added(to, to, by.wrapping_neg(), LOW),
        // BC.
        (0x4700, [.., Mem(memory)]) => {
            return match Address::of(memory) {
                Address { base: Some(left), index: Some(right), offset } => {
                    Some(Operation::JumpToSum { left, right, offset })
                }
                _ => None,
            };
        }
        // AGHIK, AHIK.
        (0xecd9, [Reg(to), Reg(from), Imm(offset)]) => return added(to, from, *offset, Width::WHOLE),
        (0xecd8, [Reg(to), Reg(from), Imm(offset)]) => return added(to, from, *offset, LOW),
        // LGR.
        (0xb904, [Reg(to), Reg(from)]) => return added(to, from, 0, Width::WHOLE),
        // LA, LAY.
        (0x4100 | 0xe371, [Reg(to), Mem(memory)]) => {
            let to = register(*to)?;
            return match Address::of(memory) {
                Address { base: Some(from), index: None, offset } => {
                    Some(Operation::Add { to, from, offset })
                }
                Address { base: Some(left), index: Some(right), offset } => {
                    Some(Operation::Sum { to, left, right, extension: Extension::NONE, shift: 0, offset })
                }
                Address { base: None, .. } => None,
            };
        }
        // AGR, ALGR; AGFR; ALGFR; AGRK, ALGRK.
        (0xb908 | 0xb90a, [Reg(to), Reg(right)]) => (to, to, right, Extension::NONE),
        (0xb918, [Reg(to), Reg(right)]) => (to, to, right, Extension::sign(32)),
        (0xb91a, [Reg(to), Reg(right)]) => (to, to, right, Extension::zero(32)),
        (0xb9e8 | 0xb9ea, [Reg(to), Reg(left), Reg(right)]) => (to, left, right, Extension::NONE),
        _ => return None,
    };
    let [to, left, right] = [register(*to)?, register(*left)?, register(*right)?];
    Some(Operation::Sum { to, left, right, extension, shift: 0, offset: 0 })
}

fn added(to: &RegId, from: &RegId, offset: i64, width: Width) -> Option<Operation> {
    let (to, from) = (register(*to)?, register(*from)?);
    Some(match width {
        Width::WHOLE => Operation::Add { to, from, offset },
        width => Operation::AddNarrow { to, from, offset, width },
    })
}

/// Extensions, shifts by a constant, and bit fields.
fn bit_field(code: u16, operands: &[SysZOperand]) -> Option<Operation> {
    use SysZOperand::{Imm, Reg};
    let (zero, sign) = (Extension::zero, Extension::sign);
    let (to, from, low, extension, shift, width) = match *operands {
        [Reg(to), Reg(from)] => {
            let (extension, width) = match code {
                0x1800 => (zero(32), LOW),                   // LR
                0xb994 => (zero(8), LOW),                    // LLCR
                0xb995 => (zero(16), LOW),                   // LLHR
                0xb926 => (sign(8), LOW),                    // LBR
                0xb927 => (sign(16), LOW),                   // LHR
                0xb984 => (zero(8), Width::WHOLE),           // LLGCR
                0xb985 => (zero(16), Width::WHOLE),          // LLGHR
                0xb916 => (zero(32), Width::WHOLE),          // LLGFR
                0xb917 => (zero(31), Width::WHOLE),          // LLGTR
                0xb906 => (sign(8), Width::WHOLE),           // LGBR
                0xb907 => (sign(16), Width::WHOLE),          // LGHR
                0xb914 | 0xb912 => (sign(32), Width::WHOLE), // LGFR, LTGFR
                _ => return None,
            };
            (to, from, 0, extension, 0, width)
        }
        [Reg(to), Imm(by)] => {
            let by = u8::try_from(by & 63).ok().filter(|by| *by < 32)?;
            match code {
                0x8900 => (to, to, 0, zero(32 - by), by, LOW), // SLL
                0x8800 => (to, to, by, zero(32 - by), 0, LOW), // SRL
                0x8a00 => (to, to, by, sign(32 - by), 0, LOW), // SRA
                _ => return None,
            }
        }
        [Reg(to), Reg(from), Imm(by)] => {
            let by = u8::try_from(by & 63).ok()?;
            match code {
                0xeb0d => (to, from, 0, zero(64 - by), by, Width::WHOLE), // SLLG
                0xeb0c => (to, from, by, zero(64 - by), 0, Width::WHOLE), // SRLG
                0xeb0a => (to, from, by, sign(64 - by), 0, Width::WHOLE), // SRAG
                0xebdf if by < 32 => (to, from, 0, zero(32 - by), by, LOW), // SLLK
                0xebde if by < 32 => (to, from, by, zero(32 - by), 0, LOW), // SRLK
                0xebdc if by < 32 => (to, from, by, sign(32 - by), 0, LOW), // SRAK
                _ => return None,
            }
        }
        // RISBG and RISBGN, which rotate to the left and then keep the bits from the first
        // to the last, where 0 is the highest bit, and clear the others.
        [Reg(to), Reg(from), Imm(first), Imm(last), Imm(rotation)]
            if matches!(code, 0xec55 | 0xec59) && last & 0x80 != 0 =>
        {
            let [first, last, rotation] =
                [first, last, rotation].map(|bit| u8::try_from(bit & 63).unwrap_or(0));
            let bits = (last + 1).checked_sub(first).filter(|bits| *bits > 0)?;
            let shift = 63 - last;
            let low = (64 + shift - rotation) % 64;
            // It would wrap from the highest bit to the lowest.
            if low + bits > 64 {
                return None;
            }
            (to, from, low, zero(bits), shift, Width::WHOLE)
        }
        _ => return None,
    };
    Some(Operation::Extend { to: register(to)?, from: register(from)?, low, extension, shift, width })
}

/// AND with a constant: of 16 or 32 bits, while the others stay.
fn mask(code: u16, operands: &[SysZOperand]) -> Option<Operation> {
    let [SysZOperand::Reg(to), SysZOperand::Imm(kept)] = operands else { return None };
    let (bits, low) = match code {
        0xc00b => (32, 0),  // NILF
        0xc00a => (32, 32), // NIHF
        0xa507 => (16, 0),  // NILL
        0xa506 => (16, 16), // NILH
        0xa505 => (16, 32), // NIHL
        0xa504 => (16, 48), // NIHH
        _ => return None,
    };
    let cleared = Extension::zero(bits).apply(!kept.cast_unsigned()) << low;
    let to = register(*to)?;
    Some(Operation::Mask { to, from: to, mask: !cleared })
}

/// Loads of one general register, other than those that functions restore registers
/// with: whole words at plain places. Also the jump to an address that is loaded.
fn load(code: u16, operands: &[SysZOperand]) -> Option<Operation> {
    use SysZOperand::{Imm, Mem, Reg};
    let (size, signed, width) = match code {
        0xe304 | 0xc408 | 0xe347 => (8, false, Width::WHOLE), // LG, LGRL, BIC
        0xe314 | 0xc40c => (4, true, Width::WHOLE),           // LGF, LGFRL
        0xe316 | 0xc40e => (4, false, Width::WHOLE),          // LLGF, LLGFRL
        0x5800 | 0xe358 | 0xc40d => (4, false, LOW),          // L, LY, LRL
        0xe315 | 0xc404 => (2, true, Width::WHOLE),           // LGH, LGHRL
        0xe391 | 0xc406 => (2, false, Width::WHOLE),          // LLGH, LLGHRL
        0x4800 | 0xe378 | 0xc405 => (2, true, LOW),           // LH, LHY, LHRL
        0xe395 | 0xc402 => (2, false, LOW),                   // LLH, LLHRL
        0xe377 => (1, true, Width::WHOLE),                    // LGB
        0xe390 => (1, false, Width::WHOLE),                   // LLGC
        0xe376 => (1, true, LOW),                             // LB
        0xe394 => (1, false, LOW),                            // LLC
        // IC, ICY.
        0x4300 | 0xe373 => (1, false, Width { bits: 8, clears_rest: false }),
        _ => return None,
    };
    let (to, Address { base, index, offset: displacement }) = match operands {
        [Reg(to), Mem(memory)] => {
            let address = Address::of(memory);
            let is_word = size == 8 || width == LOW && size == 4;
            if is_word && address.base.is_some() && address.index.is_none() {
                return None;
            }
            (Some(register(*to)?), address)
        }
        [Reg(to), Imm(offset)] => {
            (Some(register(*to)?), Address { base: None, index: None, offset: *offset })
        }
        [.., Mem(memory)] if code == 0xe347 => (None, Address::of(memory)),
        _ => return None,
    };
    let extension = Extension::NONE;
    Some(Operation::LoadEntry { to, base, index, extension, shift: 0, displacement, size, signed, width })
}

/// Comparisons: also those that jump.
fn compare(code: u16, bytes: &[u8], operands: &[SysZOperand]) -> Option<Operation> {
    let byte = |index: usize| bytes.get(index).copied().unwrap_or(0);
    let half = |index: usize| u16::from_be_bytes([byte(index), byte(index + 1)]);
    let word = |index: usize| u32::from(half(index)) << 16 | u32::from(half(index + 2));
    let constant = |value: i64| Some(Comparand::Constant(value));
    let signed_half = |index: usize| constant(half(index).cast_signed().into());
    let memory = || match operands {
        [SysZOperand::Mem(memory), ..] | [_, SysZOperand::Mem(memory)] => {
            place(memory).map(Comparand::Memory)
        }
        _ => None,
    };
    let first = || operands.first().and_then(register_of).map(Comparand::Register);
    let second = || operands.get(1).and_then(register_of).map(Comparand::Register);
    let (left, right, bits, signed) = match code {
        // CR, CGR, CLR, CLGR; CRJ, CGRJ, CLRJ, CLGRJ; CRB, CGRB, CLRB, CLGRB.
        0x1900 | 0xec76 | 0xecf6 => (first(), second(), 32, true),
        0xb920 | 0xec64 | 0xece4 => (first(), second(), 64, true),
        0x1500 | 0xec77 | 0xecf7 => (first(), second(), 32, false),
        0xb921 | 0xec65 | 0xece5 => (first(), second(), 64, false),
        // CHI, CGHI, CFI, CGFI, CLFI, CLGFI.
        0xa70e => (first(), signed_half(2), 32, true),
        0xa70f => (first(), signed_half(2), 64, true),
        0xc20d => (first(), constant(word(2).cast_signed().into()), 32, true),
        0xc20c => (first(), constant(word(2).cast_signed().into()), 64, true),
        0xc20f => (first(), constant(word(2).into()), 32, false),
        0xc20e => (first(), constant(word(2).into()), 64, false),
        // CIJ, CGIJ, CLIJ, CLGIJ; CIB, CGIB, CLIB, CLGIB.
        0xec7e | 0xecfe => (first(), constant(byte(4).cast_signed().into()), 32, true),
        0xec7c | 0xecfc => (first(), constant(byte(4).cast_signed().into()), 64, true),
        0xec7f | 0xecff => (first(), constant(byte(4).into()), 32, false),
        0xec7d | 0xecfd => (first(), constant(byte(4).into()), 64, false),
        // C, CY; CG; CL, CLY; CLG.
        0x5900 | 0xe359 => (first(), memory(), 32, true),
        0xe320 => (first(), memory(), 64, true),
        0x5500 | 0xe355 => (first(), memory(), 32, false),
        0xe321 => (first(), memory(), 64, false),
        // CLI, CLIY; CHHSI, CHSI, CGHSI; CLHHSI, CLFHSI, CLGHSI.
        0x9500 | 0xeb55 => (memory(), constant(byte(1).into()), 8, false),
        0xe554 => (memory(), signed_half(4), 16, true),
        0xe55c => (memory(), signed_half(4), 32, true),
        0xe558 => (memory(), signed_half(4), 64, true),
        0xe555 => (memory(), constant(half(4).into()), 16, false),
        0xe55d => (memory(), constant(half(4).into()), 32, false),
        0xe559 => (memory(), constant(half(4).into()), 64, false),
        // LTR and LTGR of a register to itself compare it with 0.
        0x1200 if first() == second() => (first(), constant(0), 32, true),
        0xb902 if first() == second() => (first(), constant(0), 64, true),
        _ => return None,
    };
    Some(Operation::Compare { left: left?, right: right?, bits, signed: Some(signed) })
}

/// The sum of a base, an index and an offset. A single register is the base.
struct Address {
    base: Option<DwarfRegister>,
    index: Option<DwarfRegister>,
    offset: i64,
}

impl Address {
    fn of(memory: &SysZOpMem) -> Self {
        let [base, index] = [memory.base(), memory.index()].map(|id| register(RegId(id.into())));
        let index_of_base = index.filter(|_| base.is_some());
        Self { base: base.or(index), index: index_of_base, offset: memory.disp() }
    }
}
