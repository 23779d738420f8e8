//! What an instruction computes, and what it compares.

use sframe_engine::DwarfRegister;

use super::registers::Registers;

/// A location in memory: a register plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The register.
    pub base: DwarfRegister,
    /// The offset from its value before the instruction, in bytes.
    pub offset: i64,
    /// The amount that the instruction adds to the register, in bytes: the size of
    /// what is pushed or popped, or an addressing mode's writeback.
    pub writeback: i64,
}

/// What is stored to a word, or the target of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A register with a DWARF number below 64.
    Register(DwarfRegister),
    /// A constant that is part of the instruction.
    Constant,
    /// Anything else.
    Other,
}

/// How the lowest bits of a value become 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// The number of bits that are read: 1 to 64.
    pub bits: u8,
    /// Whether the bits above are copies of the highest one, rather than 0.
    pub signed: bool,
}

impl Extension {
    /// All 64 bits are read.
    pub const NONE: Self = Self::zero(64);

    /// Clears the bits above.
    #[must_use]
    pub const fn zero(bits: u8) -> Self {
        Self { bits, signed: false }
    }

    /// Copies the sign to the bits above.
    #[must_use]
    pub const fn sign(bits: u8) -> Self {
        Self { bits, signed: true }
    }

    /// Returns the extended value.
    #[must_use]
    pub fn apply(self, value: u64) -> u64 {
        let above = 64_u32.saturating_sub(self.bits.into()).min(63);
        if self.signed {
            ((value << above).cast_signed() >> above).cast_unsigned()
        } else {
            value << above >> above
        }
    }
}

/// The part of a register that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// The number of bits that are computed, from the lowest up: 8, 16, 32 or 64.
    pub bits: u8,
    /// Whether the bits above become 0; else they keep their values.
    pub clears_rest: bool,
}

impl Width {
    /// The whole register.
    pub const WHOLE: Self = Self { bits: 64, clears_rest: true };

    /// Returns a register's value after some value was written to it.
    #[must_use]
    pub fn write(self, before: u64, value: u64) -> u64 {
        let written = Extension::zero(self.bits);
        let kept = if self.clears_rest { 0 } else { before ^ written.apply(before) };
        kept | written.apply(value)
    }
}

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparand {
    /// A register with a DWARF number below 64.
    Register(DwarfRegister),
    /// A constant, of which the bits that are compared count.
    Constant(i64),
    /// Memory.
    Memory(Place),
}

/// A relation of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// left = right
    Equal,
    /// left ≠ right
    NotEqual,
    /// left < right
    Less,
    /// left ≤ right
    LessOrEqual,
    /// left > right
    Greater,
    /// left ≥ right
    GreaterOrEqual,
}

impl Relation {
    /// Returns the relation that holds whenever this one does not.
    #[must_use]
    pub const fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }
}

/// The condition of a jump: a relation of the operands of the last comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The relation that must hold.
    pub relation: Relation,
    /// Whether the numbers are signed. `None` if the comparison says that, or if it
    /// does not matter.
    pub signed: Option<bool>,
}

/// The operation of an instruction, if functions use it to set up their frames, or
/// to choose from a table where to go on.
///
/// Each describes all that the instruction writes to registers, except for flags and
/// the return address of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Operation {
    /// `to = from + offset`, in 64 bits.
    Add {
        /// The register that is written.
        to: DwarfRegister,
        /// The register that is read.
        from: DwarfRegister,
        /// The amount added, in bytes.
        offset: i64,
    },
    /// `to = from + offset`, in fewer than 64 bits.
    AddNarrow {
        /// The register that is written.
        to: DwarfRegister,
        /// The register that is read.
        from: DwarfRegister,
        /// The amount added.
        offset: i64,
        /// The part of `to` that is written.
        width: Width,
    },
    /// `to = left + (extend(right) << shift) + offset`, in 64 bits.
    Sum {
        /// The register that is written.
        to: DwarfRegister,
        /// The register that is read as it is.
        left: DwarfRegister,
        /// The register that is extended and shifted. If neither has an effect, it is
        /// interchangeable with `left`.
        right: DwarfRegister,
        /// How `right` is extended.
        extension: Extension,
        /// The number of bits that it is then shifted by.
        shift: u8,
        /// The constant that is added, in bytes.
        offset: i64,
    },
    /// A jump to `left + right + offset`.
    JumpToSum {
        /// One register.
        left: DwarfRegister,
        /// The other one.
        right: DwarfRegister,
        /// The constant that is added, in bytes.
        offset: i64,
    },
    /// `to = extend(from >> low) << shift`: an extension, a shift by a constant, or the
    /// move of a bit field.
    Extend {
        /// The register that is written.
        to: DwarfRegister,
        /// The register that is read.
        from: DwarfRegister,
        /// The lowest bit that is read.
        low: u8,
        /// How the bits are extended.
        extension: Extension,
        /// The number of bits that they are then shifted by.
        shift: u8,
        /// The part of `to` that is written.
        width: Width,
    },
    /// `to = from & mask`, in 64 bits.
    Mask {
        /// The register that is written.
        to: DwarfRegister,
        /// The register that is read.
        from: DwarfRegister,
        /// The bits that are kept.
        mask: u64,
    },
    /// Compares two numbers, for a [`Condition`].
    Compare {
        /// The left number.
        left: Comparand,
        /// The right number.
        right: Comparand,
        /// The number of bits that are compared, from the lowest up.
        bits: u8,
        /// Whether the numbers are signed. `None` if the condition says that.
        signed: Option<bool>,
    },
    /// Stores values to consecutive words.
    Store {
        /// The values, from the lowest address up.
        values: Vec<Value>,
        /// The place of the first one; `None` if its address is not a register plus
        /// a constant.
        place: Option<Place>,
        /// The size of each word in bytes.
        size: u8,
    },
    /// Loads consecutive words.
    ///
    /// A word of 4 bytes clears the upper half of its register on AMD64 and AArch64,
    /// and leaves it on s390x.
    Load {
        /// The targets, from the lowest address up.
        values: Vec<Value>,
        /// The place of the first one; `None` if its address is not a register plus
        /// a constant.
        place: Option<Place>,
        /// The size of each word in bytes.
        size: u8,
    },
    /// `to = *(base + (extend(index) << shift) + displacement)`: an element of a table,
    /// or a value that is extended.
    LoadEntry {
        /// The register that is written; `None` for a call or a jump to the address that
        /// is loaded.
        to: Option<DwarfRegister>,
        /// The register that is added as it is.
        base: Option<DwarfRegister>,
        /// The register that is extended and shifted. If neither has an effect, it is
        /// interchangeable with `base`.
        index: Option<DwarfRegister>,
        /// How `index` is extended.
        extension: Extension,
        /// The number of bits that it is then shifted by.
        shift: u8,
        /// The constant that is added, in bytes. Without registers, it is the address.
        displacement: i64,
        /// The number of bytes that are loaded: 1, 2, 4 or 8.
        size: u8,
        /// Whether they are extended with their sign, rather than with 0.
        signed: bool,
        /// The part of `to` that is written.
        width: Width,
    },
    /// `to = from`, between a general register and a floating-point one (s390x).
    Transfer {
        /// The register that is written.
        to: DwarfRegister,
        /// The register that is read.
        from: DwarfRegister,
    },
    /// AMD64's `leave`: SP becomes FP + 8, and FP is loaded from *(FP).
    Leave,
    /// Adds, checks or removes the pointer authentication code of an address; which
    /// address it is does not change.
    Authenticate,
    /// Executes another instruction, which a register may alter (s390x: EX, EXRL).
    Execute,
    /// Marks a valid target of indirect jumps, and does nothing else.
    LandingPad,
    /// Does nothing: what padding consists of.
    Nop,
    /// Anything else.
    #[default]
    Other,
}

impl Operation {
    /// Returns the registers from which all follows that it writes to registers and stores;
    /// `None` if something else takes part, or may.
    pub(super) fn sources(&self) -> Option<Registers> {
        let kept = |to: &DwarfRegister, width: &Width| Some(*to).filter(|_| !width.clears_rest);
        let registers = match self {
            Self::Add { from, .. } | Self::Mask { from, .. } | Self::Transfer { from, .. } => {
                [Some(*from), None]
            }
            Self::AddNarrow { to, from, width, .. } | Self::Extend { to, from, width, .. } => {
                [Some(*from), kept(to, width)]
            }
            Self::Sum { left, right, .. } => [Some(*left), Some(*right)],
            Self::Store { values, .. } => {
                let register = |value: &Value| match value {
                    Value::Register(register) => Some(Some(*register)),
                    Value::Constant => Some(None),
                    Value::Other => None,
                };
                let values: Option<Vec<_>> = values.iter().map(register).collect();
                return Some(values?.into_iter().flatten().collect());
            }
            Self::JumpToSum { .. } | Self::Compare { .. } | Self::LandingPad | Self::Nop => [None; 2],
            Self::Load { .. }
            | Self::LoadEntry { .. }
            | Self::Leave
            | Self::Authenticate
            | Self::Execute
            | Self::Other => return None,
        };
        Some(registers.into_iter().flatten().collect())
    }
}
