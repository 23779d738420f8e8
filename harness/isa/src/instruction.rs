//! What one instruction does.

use std::ops::Range;

use sframe_engine::{Abi, DwarfRegister};

use super::operation::{Condition, Operation};
use super::registers::Registers;
use super::stored::Stored;

/// Where control flows after an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    #[default]
    Next,
    /// To another function, which returns to the next instruction. The address is
    /// `None` if it is in a register or memory.
    Call(Option<u64>),
    /// Elsewhere.
    Jump {
        /// The destination.
        to: Destination,
        /// Whether control may go to the next instruction instead.
        is_conditional: bool,
    },
    /// Nowhere: it raises an exception, or stops the processor.
    Trap,
    /// Unknown: the decoder does not know the instruction.
    Unknown,
}

/// The destination of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To an address that is part of the instruction.
    Address(u64),
    /// To an address in a register or memory.
    Indirect,
    /// Back to the caller.
    Caller,
}

/// The addresses of the first page, which no program has: a number among them is no address.
pub(super) const FIRST_PAGE: Range<i64> = 0..0x1000;

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Its length in bytes.
    pub len: u64,
    /// In assembly syntax, for people.
    pub text: String,
    /// Where control flows.
    pub flow: Flow,
    /// The operation.
    pub operation: Operation,
    /// The registers that are read as operands. Those that only form a memory
    /// address are not included.
    pub uses: Registers,
    /// The registers that it writes. A call does not include SP, because it is
    /// restored.
    pub defs: Registers,
    /// Those to which it writes a 32-bit number that it computes, loads or copies, and
    /// clears the bits above; not those that become a constant, unless no address is so
    /// small. On s390x, no such instruction clears the bits above.
    pub narrow: Registers,
    /// The registers from which all follows that it stores and that it writes to
    /// [`defs`](Self::defs); `None` if something else takes part, as what is loaded, or if
    /// that is unknown. A register to whose value it only adds a constant to form an
    /// address, and SP where it pushes, follow from themselves.
    pub sources: Option<Registers>,
    /// Whether it may store to memory; also if that is unknown.
    pub may_store: bool,
    /// Where it stores, if that is known, it always does, and it stores nothing else.
    pub stored: Option<Stored>,
    /// When a conditional jump is taken; `None` if that isn't a relation of the two
    /// operands of a comparison.
    ///
    /// The comparison is this instruction's own, or else the last one that
    /// [sets the flags](Self::sets_flags).
    pub condition: Option<Condition>,
    /// Whether it writes the condition flags or the condition code. A call may.
    pub sets_flags: bool,
    /// Whether it may repeat, as AMD64's string instructions with a prefix do.
    pub repeats: bool,
    /// The bytes of arguments that it removes from the stack if it is a return.
    pub removes: u16,
    /// Whether it calls the kernel, which returns to the next instruction.
    pub is_system_call: bool,
}

impl Instruction {
    /// Whether it is a call.
    #[must_use]
    pub const fn is_call(&self) -> bool {
        matches!(self.flow, Flow::Call(_))
    }

    /// Returns the register in which a call leaves its return address, if that is not the ABI's.
    #[must_use]
    pub fn other_link(&self, abi: Abi) -> Option<DwarfRegister> {
        let ra = abi.ra().filter(|_| self.is_call())?;
        self.defs.iter().next().filter(|_| !self.defs.contains(ra))
    }

    /// Whether control may leave for somewhere other than the next instruction
    /// without returning; also if that is unknown.
    #[must_use]
    pub const fn is_terminator(&self) -> bool {
        !matches!(self.flow, Flow::Next | Flow::Call(_))
    }

    /// Whether the next instruction may execute after it. A call returns.
    #[must_use]
    pub const fn falls_through(&self) -> bool {
        match self.flow {
            Flow::Next | Flow::Call(_) | Flow::Unknown => true,
            Flow::Jump { is_conditional, .. } => is_conditional,
            Flow::Trap => false,
        }
    }

    /// Whether it jumps to an address in a register or memory. Returns do not count.
    #[must_use]
    pub const fn is_indirect_branch(&self) -> bool {
        matches!(self.flow, Flow::Jump { to: Destination::Indirect, .. })
    }

    /// Whether it only marks a target of indirect jumps.
    #[must_use]
    pub const fn is_landing_pad(&self) -> bool {
        matches!(self.operation, Operation::LandingPad)
    }

    /// Returns the destination of a jump if it is part of the instruction; `None`
    /// for calls.
    #[must_use]
    pub const fn target(&self) -> Option<u64> {
        match self.flow {
            Flow::Jump { to: Destination::Address(address), .. } => Some(address),
            _ => None,
        }
    }

    /// Whether it may load saved values: from memory, or on s390x from a
    /// floating-point register.
    #[must_use]
    pub const fn reloads(&self) -> bool {
        match self.operation {
            Operation::Load { .. } | Operation::Leave | Operation::Transfer { .. } => true,
            // Saved values are whole.
            Operation::LoadEntry { size, .. } => size == 8,
            _ => false,
        }
    }

    /// Returns the address of the word from which a call or a jump takes its
    /// destination, if it is part of the instruction.
    #[must_use]
    pub const fn slot(&self) -> Option<u64> {
        match self.operation {
            Operation::LoadEntry { to: None, base: None, index: None, displacement, .. } => {
                Some(displacement.cast_unsigned())
            }
            _ => None,
        }
    }
}
