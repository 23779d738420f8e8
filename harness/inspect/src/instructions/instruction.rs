//! What one instruction does.

use sframe_engine::DwarfRegister;

/// A set of registers, by their DWARF numbers below 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers(u64);

impl Registers {
    /// Every register.
    pub const ALL: Self = Self(u64::MAX);

    const fn bit(register: DwarfRegister) -> u64 {
        if register.0 < 64 { 1 << register.0 } else { 0 }
    }

    /// Adds a register. One with a larger number is left out.
    pub const fn insert(&mut self, register: DwarfRegister) {
        self.0 |= Self::bit(register);
    }

    /// Removes a register.
    pub const fn remove(&mut self, register: DwarfRegister) {
        self.0 &= !Self::bit(register);
    }

    /// Whether a register is in the set.
    #[must_use]
    pub const fn contains(self, register: DwarfRegister) -> bool {
        self.0 & Self::bit(register) != 0
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The registers, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = DwarfRegister> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let lowest = DwarfRegister(rest.trailing_zeros());
            (rest != 0).then(|| rest &= rest - 1).map(|()| lowest)
        })
    }
}

impl Extend<DwarfRegister> for Registers {
    fn extend<T: IntoIterator<Item = DwarfRegister>>(&mut self, registers: T) {
        registers.into_iter().for_each(|register| self.insert(register));
    }
}

impl FromIterator<DwarfRegister> for Registers {
    fn from_iter<T: IntoIterator<Item = DwarfRegister>>(registers: T) -> Self {
        let mut set = Self::default();
        set.extend(registers);
        set
    }
}

/// Where control goes after an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    #[default]
    Next,
    /// To another function, which comes back to the next instruction. The
    /// address is `None` if a register or memory holds it.
    Call(Option<u64>),
    /// Elsewhere.
    Jump {
        /// Where to.
        to: Destination,
        /// Whether control may go to the next instruction instead.
        is_conditional: bool,
    },
    /// Nowhere: it raises an exception, or stops the processor.
    Trap,
    /// Unknown: the bytes are no instruction that the decoder knows.
    Unknown,
}

/// Where a jump goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To an address that is part of the instruction.
    Address(u64),
    /// To an address that a register or memory holds.
    Indirect,
    /// Back to the caller.
    Caller,
}

/// A place in memory: a register plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The register.
    pub base: DwarfRegister,
    /// What is added to its value before the instruction, in bytes.
    pub offset: i64,
    /// What the instruction adds to the register, in bytes: the size of what is
    /// pushed or popped, or what an addressing mode writes back.
    pub writeback: i64,
}

/// What is stored to a word, or what a word is loaded into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A register with a DWARF number below 64.
    Register(DwarfRegister),
    /// A constant that is part of the instruction.
    Constant,
    /// Anything else.
    Other,
}

/// What an instruction does, if it is one of those by which functions set up
/// their frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Operation {
    /// `to = from + offset`, in 64 bits.
    Add {
        /// The register that is written.
        to: DwarfRegister,
        /// The register that is read.
        from: DwarfRegister,
        /// What is added, in bytes.
        offset: i64,
    },
    /// Stores values to consecutive words.
    Store {
        /// The values, from the lowest address up.
        values: Vec<Value>,
        /// Where the first one is stored; `None` if its address is not a register
        /// plus a constant.
        place: Option<Place>,
        /// The size of each word in bytes.
        size: u8,
    },
    /// Loads consecutive words.
    Load {
        /// What they are loaded into, from the lowest address up.
        values: Vec<Value>,
        /// Where the first one is loaded from; `None` if its address is not a
        /// register plus a constant.
        place: Option<Place>,
        /// The size of each word in bytes.
        size: u8,
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
    /// Adds, checks or removes the pointer authentication code of an address;
    /// which address it is does not change.
    Authenticate,
    /// Marks a place that indirect jumps may go to, and does nothing else.
    LandingPad,
    /// Anything else.
    #[default]
    Other,
}

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Its length in bytes.
    pub len: u64,
    /// As an assembler writes it, for people.
    pub text: String,
    /// Where control goes.
    pub flow: Flow,
    /// What it does.
    pub operation: Operation,
    /// The registers that are operands and are read. Those that only form the
    /// address of memory are not among them.
    pub uses: Registers,
    /// The registers that it writes. SP is not among those of a call, which puts
    /// it back.
    pub defs: Registers,
    /// Whether it may store to memory. Also if that is not known.
    pub may_store: bool,
}

impl Instruction {
    /// Whether it is a call.
    #[must_use]
    pub const fn is_call(&self) -> bool {
        matches!(self.flow, Flow::Call(_))
    }

    /// Whether control may go elsewhere than to the next instruction, and not
    /// come back. Also if that is not known.
    #[must_use]
    pub const fn is_terminator(&self) -> bool {
        !matches!(self.flow, Flow::Next | Flow::Call(_))
    }

    /// Whether the next instruction may execute after it. A call comes back.
    #[must_use]
    pub const fn falls_through(&self) -> bool {
        match self.flow {
            Flow::Next | Flow::Call(_) | Flow::Unknown => true,
            Flow::Jump { is_conditional, .. } => is_conditional,
            Flow::Trap => false,
        }
    }

    /// Whether it jumps to an address that a register or memory holds. A return
    /// is no such jump.
    #[must_use]
    pub const fn is_indirect_branch(&self) -> bool {
        matches!(self.flow, Flow::Jump { to: Destination::Indirect, .. })
    }

    /// Whether all that it does is to let indirect jumps come here.
    #[must_use]
    pub const fn is_landing_pad(&self) -> bool {
        matches!(self.operation, Operation::LandingPad)
    }

    /// Where a jump goes whose destination is part of it. `None` for calls.
    #[must_use]
    pub const fn target(&self) -> Option<u64> {
        match self.flow {
            Flow::Jump { to: Destination::Address(address), .. } => Some(address),
            _ => None,
        }
    }

    /// Whether it loads what may have been saved: from memory, or on s390x from a
    /// floating-point register.
    #[must_use]
    pub const fn reloads(&self) -> bool {
        matches!(self.operation, Operation::Load { .. } | Operation::Leave | Operation::Transfer { .. })
    }

    /// Whether all that it stores are constants.
    #[must_use]
    pub fn stores_constants(&self) -> bool {
        matches!(&self.operation, Operation::Store { values, .. }
            if values.iter().all(|value| *value == Value::Constant))
    }
}
