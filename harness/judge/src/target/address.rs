//! Addresses of a process, and of the files that it consists of.

use std::fmt;

use sframe_engine::{InstructionPointer, LookupAddress};

/// An address of the process: with the load bias of its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loaded(pub u64);

/// An address in the file: without the load bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Linked(pub u64);

impl From<InstructionPointer> for Loaded {
    fn from(pc: InstructionPointer) -> Self {
        Self(pc.0)
    }
}

impl From<LookupAddress> for Loaded {
    fn from(address: LookupAddress) -> Self {
        Self(address.get())
    }
}

impl From<Loaded> for InstructionPointer {
    fn from(address: Loaded) -> Self {
        Self(address.0)
    }
}

impl fmt::LowerHex for Linked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}
