//! The two kinds of code address, and the address that look-ups use.

use core::fmt;

/// The address of the instruction that executes next: the PC of the topmost
/// frame, or of a frame that a signal interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstructionPointer(pub u64);

/// The address at which a caller continues after a call.
///
/// It may be outside the calling function: a call that never returns can be the last
/// instruction of its function. Look-ups therefore use the byte before it, which always belongs
/// to the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReturnAddress(pub u64);

/// The address by which functions and rows are looked up. Made only from an
/// [`InstructionPointer`] (the same address) or a [`ReturnAddress`] (minus 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LookupAddress(u64);

impl LookupAddress {
    /// The address in bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl From<InstructionPointer> for LookupAddress {
    fn from(pc: InstructionPointer) -> Self {
        Self(pc.0)
    }
}

impl From<ReturnAddress> for LookupAddress {
    fn from(ra: ReturnAddress) -> Self {
        Self(ra.0.wrapping_sub(1))
    }
}

/// The PC of a frame, of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pc {
    /// The topmost frame, or the caller of a signal frame.
    Instruction(InstructionPointer),
    /// Any other frame.
    Return(ReturnAddress),
}

impl Pc {
    /// The address itself, without adjustment.
    #[must_use]
    pub const fn get(self) -> u64 {
        match self {
            Self::Instruction(pc) => pc.0,
            Self::Return(ra) => ra.0,
        }
    }
}

impl From<Pc> for LookupAddress {
    fn from(pc: Pc) -> Self {
        match pc {
            Pc::Instruction(pc) => pc.into(),
            Pc::Return(ra) => ra.into(),
        }
    }
}

impl fmt::Display for Pc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.get())
    }
}
