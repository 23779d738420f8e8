//! The terms of the format.

use serde::{Deserialize, Serialize};

/// A flag of the preamble (2.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// `SFRAME_F_FDE_SORTED`.
    Sorted,
    /// `SFRAME_F_FRAME_POINTER`.
    FramePointer,
    /// `SFRAME_F_FDE_FUNC_START_PCREL`.
    Pcrel,
}

impl Flag {
    /// Its bit.
    #[must_use]
    pub const fn bit(self) -> u8 {
        match self {
            Self::Sorted => 1,
            Self::FramePointer => 2,
            Self::Pcrel => 4,
        }
    }
}

/// Width of row starts (2.3.3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FreType {
    /// 1 byte.
    #[default]
    Addr1,
    /// 2 bytes.
    Addr2,
    /// 4 bytes.
    Addr4,
}

/// How a PC is compared with row starts (2.3.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PcType {
    /// As an offset in the function.
    #[default]
    Inc,
    /// As an offset in a block that repeats; in version 1, by its bits.
    Mask,
}

/// How data words are read (2.3.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FdeType {
    /// As offsets.
    #[default]
    Default,
    /// As pairs of control word and offset.
    Flex,
}

/// The key of a function's return addresses (2.3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PauthKey {
    /// Key A.
    #[default]
    A,
    /// Key B.
    B,
}

/// The base register bit of a row's info byte (2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BaseRegister {
    /// The stack pointer.
    Sp,
    /// The frame pointer.
    Fp,
}

/// Why a reader must reject a section, a function or a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RejectKind {
    /// A structure is cut off by the end of the section, or of the FRE sub-section.
    Truncated,
    /// The magic number is wrong in both byte orders.
    BadMagic,
    /// The version is not 1, 2 or 3.
    UnknownVersion,
    /// The version does not define the ABI.
    UnknownAbi,
    /// The byte order is not that of the ABI.
    WrongByteOrder,
    /// A sub-section, or the auxiliary header before it, ends past the end of the section.
    SubSectionOutOfBounds,
    /// The rows of a function start outside the FRE sub-section.
    FreOffsetOutOfBounds,
    /// The FRE type is not ADDR1, ADDR2 or ADDR4.
    UnknownFreType,
    /// The FDE type is neither default nor flex.
    UnknownFdeType,
    /// A mask FDE has blocks of size 0.
    ZeroRepSize,
    /// The size of data words is the reserved one.
    UnknownDataWordSize,
    /// A row of default type has a number of data words that its ABI does not allow.
    BadDataWordCount,
    /// A row of flex type has half a pair, or words after the last pair.
    BadFlexWordCount,
    /// A flex rule for the CFA has no base register.
    FlexCfaWithoutRegister,
    /// The answer of a reader that gives no reason. Not for vectors.
    Unspecified,
}

impl RejectKind {
    /// Every kind that a vector may name.
    pub const OF_VECTORS: [Self; 14] = [
        Self::Truncated,
        Self::BadMagic,
        Self::UnknownVersion,
        Self::UnknownAbi,
        Self::WrongByteOrder,
        Self::SubSectionOutOfBounds,
        Self::FreOffsetOutOfBounds,
        Self::UnknownFreType,
        Self::UnknownFdeType,
        Self::ZeroRepSize,
        Self::UnknownDataWordSize,
        Self::BadDataWordCount,
        Self::BadFlexWordCount,
        Self::FlexCfaWithoutRegister,
    ];
}
