//! Questions to a reader.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sframe_engine::{Abi, ByteOrder};

use crate::expect::{Lookup, Question};
use crate::number::{Address, Hex};
use crate::step::{Frame, Step};
use crate::vector::Vector;

/// Questions about a section. The vectors' manual, `corpus/vectors/README.md`,
/// says what the words mean.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SectionQuestion {
    /// Where the section is loaded.
    pub address: Address,
    /// The section.
    pub bytes: Hex,
    /// Its ABI, as the header of the file would give it; `None` if it is not known.
    pub abi: Option<Abi>,
    /// The byte order of the ABI.
    pub endian: Option<ByteOrder>,
    /// PCs to look up.
    #[serde(default)]
    pub lookups: Vec<Question>,
    /// Frames to step from.
    #[serde(default)]
    pub steps: Vec<StepQuestion>,
}

/// A frame to step from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepQuestion {
    /// The frame.
    pub frame: Frame,
    /// The other registers, by DWARF number. Only the topmost frame has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<BTreeMap<u32, Address>>,
    /// The content of memory: 8-byte numbers. Nothing else can be read.
    pub memory: BTreeMap<Address, Address>,
    /// Bits of an address that are not authentication code. Left out: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_bits: Option<u32>,
}

impl Vector {
    /// Returns all questions to a reader about it.
    #[must_use]
    pub fn question(&self) -> SectionQuestion {
        let abi = self.header.as_ref().map(|header| header.abi);
        let step = |step: &Step| StepQuestion {
            frame: step.frame,
            registers: step.registers.clone(),
            memory: step.memory.clone(),
            address_bits: step.address_bits,
        };
        SectionQuestion {
            address: Address(self.address),
            bytes: Hex(self.bytes.clone()),
            abi,
            endian: abi.map(Abi::byte_order),
            lookups: self.lookups.iter().map(Lookup::question).collect(),
            steps: self.steps.iter().map(step).collect(),
        }
    }
}
