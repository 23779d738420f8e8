//! What AArch64's instructions compute in registers, load from tables, and compare:
//! from the encoding (Arm Architecture Reference Manual, C4.1).

use sframe_engine::DwarfRegister;

use super::super::operation::{Comparand, Condition, Extension, Operation, Relation, Width};
use super::super::registers::Registers;
use super::super::stored::Stored;

/// Returns an operation on values; `None` for other instructions. `pc` is the address of the
/// instruction.
pub(super) fn operation(code: &[u8], pc: u64) -> Option<Operation> {
    let word = Word(u32::from_le_bytes(*code.first_chunk()?));
    word.add_immediate()
        .or_else(|| word.copy())
        .or_else(|| word.add_register())
        .or_else(|| word.bit_field())
        .or_else(|| word.compare())
        .or_else(|| word.load(pc))
}

/// Returns the registers from which the register follows that an instruction computes from others
/// and from constants alone; `None` if it does not.
pub(super) fn sources(code: &[u8]) -> Option<Registers> {
    let word = Word(u32::from_le_bytes(*code.first_chunk()?));
    let (to, left, right) = (word.register(0), word.register(5), word.register(16));
    let sources = match word {
        // MOVN and MOVZ; ADR and ADRP.
        _ if word.is(0x1f80_0000, 0x1280_0000) && word.field(29, 2) != 3 => [None; 3],
        _ if word.is(0x1f00_0000, 0x1000_0000) => [None; 3],
        // MOVK leaves the rest.
        _ if word.is(0x7f80_0000, 0x7280_0000) => [to, None, None],
        // AND, BIC, ORR, ORN, EOR, EON; ADD and SUB; with a shifted register.
        _ if word.is(0x1f00_0000, 0x0a00_0000) || word.is(0x1f20_0000, 0x0b00_0000) => [left, right, None],
        // CSEL, CSINC, CSINV, CSNEG.
        _ if word.is(0x3fe0_0800, 0x1a80_0000) => [left, right, None],
        // AND, ORR, EOR with a constant.
        _ if word.is(0x1f80_0000, 0x1200_0000) => [left, None, None],
        // MADD and MSUB.
        _ if word.is(0x7fe0_0000, 0x1b00_0000) => [left, right, word.register(10)],
        _ => return None,
    };
    Some(sources.into_iter().flatten().collect())
}

/// Whether an instruction is one of those that load from memory and store nothing.
pub(super) fn only_loads(code: &[u8]) -> bool {
    let Some(code) = code.first_chunk() else { return false };
    let word = Word(u32::from_le_bytes(*code));
    let is_load = word.field(22, 2) != 0
        && !(word.field(22, 2) == 2 && word.field(26, 1) == 1 && word.field(30, 2) == 0);
    // At a plain place, at one that is moved, or with an index: the others store, too.
    let is_known = word.is(0x3b00_0000, 0x3900_0000)
        || word.is(0x3b20_0000, 0x3800_0000) && word.field(10, 2) != 2
        || word.is(0x3b20_0c00, 0x3820_0800);
    // Pairs; a place near the instruction; LDXR, LDAXR and LDAR.
    is_known && is_load
        || word.is(0x3a40_0000, 0x2840_0000)
        || word.is(0x3b00_0000, 0x1800_0000)
        || word.is(0x3f60_0000, 0x0840_0000)
}

/// Returns where an instruction stores one register or two; `None` for other instructions.
pub(super) fn stored(code: &[u8]) -> Option<Stored> {
    let word = Word(u32::from_le_bytes(*code.first_chunk()?));
    word.store_pair().or_else(|| word.store())
}

/// Returns the condition of a jump after a comparison, or of one that compares.
pub(super) fn condition(code: &[u8]) -> Option<Condition> {
    use Relation::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let word = Word(u32::from_le_bytes(*code.first_chunk()?));
    let number = match word {
        // B.cond, BC.cond.
        Word(bits) if bits >> 24 == 0x54 => word.field(0, 4),
        _ if word.is_compare_and_branch() => word.field(24, 1),
        _ => return None,
    };
    let (relation, signed) = match number {
        0 => (Equal, None),
        1 => (NotEqual, None),
        2 => (GreaterOrEqual, Some(false)),
        3 => (Less, Some(false)),
        8 => (Greater, Some(false)),
        9 => (LessOrEqual, Some(false)),
        10 => (GreaterOrEqual, Some(true)),
        11 => (Less, Some(true)),
        12 => (Greater, Some(true)),
        13 => (LessOrEqual, Some(true)),
        _ => return None,
    };
    Some(Condition { relation, signed })
}

/// The number of the zero register, and in other places that of SP.
const ZERO: u8 = 31;

/// An instruction.
#[derive(Clone, Copy)]
struct Word(u32);

impl Word {
    /// Returns up to 8 bits, from one on.
    fn field(self, low: u32, len: u32) -> u8 {
        u8::try_from(self.0 >> low & ((1 << len) - 1)).unwrap_or(u8::MAX)
    }

    /// Returns a number with a sign, from a bit on.
    fn signed(self, low: u32, len: u32) -> i64 {
        i64::from((self.0 << (32 - low - len)).cast_signed() >> (32 - len))
    }

    /// Whether it has these bits where a mask has ones.
    const fn is(self, mask: u32, bits: u32) -> bool {
        self.0 & mask == bits
    }

    /// Returns the register at a bit, where 31 is SP.
    fn register_or_sp(self, low: u32) -> DwarfRegister {
        DwarfRegister(self.field(low, 5).into())
    }

    /// Returns the register at a bit, where 31 is no register: zero is read, and what is written
    /// is lost.
    fn register(self, low: u32) -> Option<DwarfRegister> {
        Some(self.register_or_sp(low)).filter(|_| self.field(low, 5) != ZERO)
    }

    /// The number of bits that it computes.
    fn bits(self) -> u8 {
        if self.field(31, 1) == 1 { 64 } else { 32 }
    }

    /// The part of a register that it writes.
    fn width(self) -> Width {
        Width { bits: self.bits(), clears_rest: true }
    }

    /// ADD and SUB with a constant; also those that set the flags, of which those without
    /// a target compare.
    fn add_immediate(self) -> Option<Operation> {
        if !self.is(0x1f80_0000, 0x1100_0000) {
            return None;
        }
        let amount = i64::from(self.0 >> 10 & 0xfff) << (12 * self.field(22, 1));
        let (subtracts, sets_flags) = (self.field(30, 1) == 1, self.field(29, 1) == 1);
        let (to, from) = (self.register_or_sp(0), self.register_or_sp(5));
        if sets_flags && self.register(0).is_none() {
            let right = Comparand::Constant(if subtracts { amount } else { -amount });
            let left = Comparand::Register(from);
            return Some(Operation::Compare { left, right, bits: self.bits(), signed: None });
        }
        let offset = if subtracts { -amount } else { amount };
        Some(match self.bits() {
            64 => Operation::Add { to, from, offset },
            _ => Operation::AddNarrow { to, from, offset, width: self.width() },
        })
    }

    /// MOV between registers.
    fn copy(self) -> Option<Operation> {
        if !self.is(0x7fe0_ffe0, 0x2a00_03e0) {
            return None;
        }
        let (to, from) = (self.register(0)?, self.register(16)?);
        Some(match self.bits() {
            64 => Operation::Add { to, from, offset: 0 },
            bits => {
                let extension = Extension::zero(bits);
                Operation::Extend { to, from, low: 0, extension, shift: 0, width: Width::WHOLE }
            }
        })
    }

    /// ADD of two registers, of which the right one is shifted or extended.
    fn add_register(self) -> Option<Operation> {
        let (to, left, extension, shift) = if self.is(0xffe0_0000, 0x8b00_0000) {
            (self.register(0)?, self.register(5)?, Extension::NONE, self.field(10, 6))
        } else if self.is(0xffe0_0000, 0x8b20_0000) {
            (self.register_or_sp(0), self.register_or_sp(5), self.extension(), self.field(10, 3))
        } else {
            return None;
        };
        Some(Operation::Sum { to, left, right: self.register(16)?, extension, shift, offset: 0 })
    }

    /// The extension of a register that is added to another one.
    fn extension(self) -> Extension {
        match self.field(13, 2) {
            3 => Extension::NONE,
            size_bits => Extension { bits: 8 << size_bits, signed: self.field(15, 1) == 1 },
        }
    }

    /// UBFM and SBFM: shifts by a constant, extensions, and bit fields.
    fn bit_field(self) -> Option<Operation> {
        let signed = match self.0 & 0x7f80_0000 {
            0x5300_0000 => false,
            0x1300_0000 => true,
            _ => return None,
        };
        let (first, last) = (self.field(16, 6), self.field(10, 6));
        if self.field(22, 1) != self.field(31, 1) || first.max(last) >= self.bits() {
            return None;
        }
        let (low, bits, shift) =
            if last >= first { (first, last - first + 1, 0) } else { (0, last + 1, self.bits() - first) };
        let width = if signed { self.width() } else { Width::WHOLE };
        let extension = Extension { bits, signed };
        let (to, from) = (self.register(0)?, self.register(5)?);
        Some(Operation::Extend { to, from, low, extension, shift, width })
    }

    /// CMP of two registers, CBZ and CBNZ.
    fn compare(self) -> Option<Operation> {
        let (left, right) = if self.is(0x7fe0_fc1f, 0x6b00_001f) {
            (self.register(5)?, Comparand::Register(self.register(16)?))
        } else if self.is_compare_and_branch() {
            (self.register(0)?, Comparand::Constant(0))
        } else {
            return None;
        };
        let left = Comparand::Register(left);
        Some(Operation::Compare { left, right, bits: self.bits(), signed: None })
    }

    const fn is_compare_and_branch(self) -> bool {
        self.is(0x7e00_0000, 0x3400_0000)
    }

    /// Loads of one general register, other than those that functions restore registers
    /// with: whole words at plain places.
    fn load(self, pc: u64) -> Option<Operation> {
        let size_bits = self.field(30, 2);
        let base = Some(self.register_or_sp(5));
        if self.is(0x3f00_0000, 0x1800_0000) {
            return self.load_literal(pc);
        }
        let (index, shift, displacement) = self.addressed(size_bits).filter(|_| self.field(26, 1) == 0)?;
        let (signed, width) = match self.field(22, 2) {
            1 if index.is_some() || size_bits < 2 => (false, Width::WHOLE),
            2 if size_bits < 3 => (true, Width::WHOLE),
            3 if size_bits < 2 => (true, Width { bits: 32, clears_rest: true }),
            _ => return None,
        };
        let to = Some(self.register(0)?);
        let extension = if index.is_some() { self.extension() } else { Extension::NONE };
        let size = 1 << size_bits;
        Some(Operation::LoadEntry { to, base, index, extension, shift, displacement, size, signed, width })
    }

    /// Returns what a load or store of one register of `1 << size_bits` bytes adds to its base, if it leaves that
    /// as it is: an index and its shift, and a constant.
    fn addressed(self, size_bits: u8) -> Option<(Option<DwarfRegister>, u8, i64)> {
        match self.0 & 0x3b20_0c00 {
            0x3820_0800 => Some((Some(self.register(16)?), self.field(12, 1) * size_bits, 0)),
            // Unscaled, or scaled by the size.
            0x3800_0000 => Some((None, 0, self.signed(12, 9))),
            _ if self.is(0x3b00_0000, 0x3900_0000) => {
                Some((None, 0, i64::from(self.0 >> 10 & 0xfff) << size_bits))
            }
            _ => None,
        }
    }

    /// Stores of one register.
    fn store(self) -> Option<Stored> {
        let is_vector = self.field(26, 1) == 1;
        // The wide vectors have a number of their own.
        let size_bits = match (self.field(30, 2), self.field(22, 2)) {
            (size_bits, 0) => size_bits,
            (0, 2) if is_vector => 4,
            _ => return None,
        };
        let base = Some(self.register_or_sp(5));
        let (index, shift, displacement) = match self.0 & 0x3b20_0c00 {
            // Before the address is changed by it; after that.
            0x3800_0c00 => (None, 0, self.signed(12, 9)),
            0x3800_0400 => (None, 0, 0),
            _ => self.addressed(size_bits)?,
        };
        let extension = if index.is_some() { self.extension() } else { Extension::NONE };
        Some(Stored { index, shift, extension, ..Stored::at(base, displacement, 1 << size_bits) })
    }

    /// Stores of two registers.
    fn store_pair(self) -> Option<Stored> {
        if !self.is(0x3a40_0000, 0x2800_0000) {
            return None;
        }
        let size = match (self.field(26, 1), self.field(30, 2)) {
            (0, 0) => 4,
            (0, 2) => 8,
            (1, size_bits @ 0..=2) => 4 << size_bits,
            _ => return None,
        };
        // After the address is changed by it, or not.
        let displacement = if self.field(23, 2) == 1 { 0 } else { self.signed(15, 7) * i64::from(size) };
        let one = Stored::at(Some(self.register_or_sp(5)), displacement, size);
        Some(Stored { words: 2 * one.words, ..one })
    }

    /// Loads from a place near the instruction.
    fn load_literal(self, pc: u64) -> Option<Operation> {
        let (size, signed) = match self.field(30, 2) {
            0 => (4, false),
            1 => (8, false),
            2 => (4, true),
            _ => return None,
        };
        Some(Operation::LoadEntry {
            to: Some(self.register(0)?),
            base: None,
            index: None,
            extension: Extension::NONE,
            shift: 0,
            displacement: pc.cast_signed().wrapping_add(self.signed(5, 19) << 2),
            size,
            signed,
            width: Width::WHOLE,
        })
    }
}
