//! Recovery rules and rows, as data.

use core::fmt;

use crate::abi::DwarfRegister;

/// What a recovery rule adds its offset to (3.1, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// The CFA of the frame.
    Cfa,
    /// The stack pointer of the frame.
    Sp,
    /// The frame pointer of the frame.
    Fp,
    /// Another register, by its DWARF number.
    Register(DwarfRegister),
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cfa => f.write_str("CFA"),
            Self::Sp => f.write_str("SP"),
            Self::Fp => f.write_str("FP"),
            Self::Register(register) => register.fmt(f),
        }
    }
}

/// How to compute one value: `base + offset`, or the value stored at that address (3.1, 3.2).
///
/// Displays as its equation, such as `SP+16` or `*(CFA-8)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecoveryRule {
    /// What the offset is added to.
    pub base: Base,
    /// In bytes. Wider than a data word: s390x scales CFA offsets.
    pub offset: i64,
    /// Whether the value is loaded from the address, or is the address itself.
    pub dereference: bool,
}

impl fmt::Display for RecoveryRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base, offset, dereference } = self;
        match (dereference, *offset) {
            (false, 0) => write!(f, "{base}"),
            (false, offset) => write!(f, "{base}{offset:+}"),
            (true, 0) => write!(f, "*({base})"),
            (true, offset) => write!(f, "*({base}{offset:+})"),
        }
    }
}

/// How to find the caller's value of a register (3.1, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// There is no such value. For RA: this is an outermost frame (2.4.1).
    Undefined,
    /// The register still holds it.
    Unchanged,
    /// A rule gives it.
    Rule(RecoveryRule),
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undefined => f.write_str("undefined"),
            Self::Unchanged => f.write_str("unchanged"),
            Self::Rule(rule) => write!(f, "= {rule}"),
        }
    }
}

/// A frame row entry with the range of PCs that it covers (2.4).
///
/// Displays as its equations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// First covered offset, in bytes from the start of the function (inc),
    /// or of the repeated block (mask).
    pub start: u32,
    /// First offset that is no longer covered: the start of the next row, or
    /// the end of the function or block. Not above `start` in a row that
    /// covers nothing; real sections have such rows.
    pub end: u32,
    /// The CFA. Absent where RA is undefined.
    pub cfa: Option<RecoveryRule>,
    /// The return address.
    pub ra: Recovery,
    /// The caller's frame pointer.
    pub fp: Recovery,
    /// Whether the return address carries an authentication code (AArch64; 2.4.1).
    pub mangled_ra: bool,
}

impl Row {
    /// Whether the row marks an outermost frame: its return address is undefined (2.4.1).
    #[must_use]
    pub const fn is_outermost(&self) -> bool {
        matches!(self.ra, Recovery::Undefined)
    }

    /// Whether any PC is covered.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.end <= self.start
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(cfa) = self.cfa else {
            return f.write_str("RA undefined");
        };
        write!(f, "CFA = {cfa}, RA {}", self.ra)?;
        if self.mangled_ra {
            f.write_str(" (mangled)")?;
        }
        write!(f, ", FP {}", self.fp)
    }
}
