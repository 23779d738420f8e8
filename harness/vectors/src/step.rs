//! Steps: from a frame to its caller.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::number::Address;

/// A frame with the state of the program, and the result of one step.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The frame.
    pub frame: Frame,
    /// The other registers, by DWARF number. Given for the topmost frame only,
    /// even if none is known.
    pub registers: Option<BTreeMap<u32, Address>>,
    /// The content of memory: 8-byte numbers. Nothing else can be read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memory: BTreeMap<Address, Address>,
    /// The number of bits of an address that are not part of an authentication code (AArch64).
    /// If left out, nothing is stripped.
    pub address_bits: Option<u32>,
    /// The caller.
    pub caller: Option<Caller>,
    /// Why there is no caller.
    pub end: Option<End>,
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// The PC.
    pub pc: Address,
    /// The kind of PC.
    pub kind: PcKind,
    /// The stack pointer.
    pub sp: Address,
    /// The frame pointer.
    pub fp: Address,
}

/// What kind of PC a frame has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PcKind {
    /// The instruction that comes next: the topmost frame, and the caller of a signal frame.
    Instruction,
    /// The address at which the frame continues after a call.
    Return,
}

/// The caller of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Caller {
    /// Its PC, without authentication code.
    pub pc: Address,
    /// The kind of PC.
    pub kind: PcKind,
    /// The CFA of the frame (not of the caller).
    pub cfa: Address,
    /// The caller's stack pointer.
    pub sp: Address,
    /// The caller's frame pointer.
    pub fp: Address,
}

/// Why a frame has no caller. If there are several reasons, it is the first: look-up, CFA
/// (computed, aligned, progress), RA, FP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum End {
    /// The section says that there is none.
    Outermost {},
    /// No FDE covers the PC.
    NoFde {},
    /// The FDE has no row for the PC.
    NoRow {},
    /// The FDE or the row for the PC can't be read.
    Malformed {},
    /// A value has to be loaded from an address that can't be read.
    Unreadable {
        /// Which value.
        what: Tracked,
        /// The address.
        address: Address,
    },
    /// A rule needs a register other than SP and FP, but the frame is not the topmost.
    UnsafeRegister {
        /// Which value needs it.
        what: Tracked,
        /// The register.
        register: u32,
    },
    /// A rule needs a register of the topmost frame that is not known.
    UnknownRegister {
        /// Which value needs it.
        what: Tracked,
        /// The register.
        register: u32,
    },
    /// RA is still in its register, in a frame that is not the topmost.
    RaNotSaved {},
    /// The CFA is not a multiple of 8.
    Misaligned {
        /// The CFA.
        cfa: Address,
    },
    /// The caller's SP is not closer to the base of the stack.
    NoProgress {
        /// The CFA.
        cfa: Address,
    },
}

/// The values that SFrame tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Tracked {
    /// The canonical frame address.
    Cfa,
    /// The return address.
    Ra,
    /// The frame pointer.
    Fp,
}
