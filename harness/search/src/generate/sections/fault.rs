//! What breaks one rule of the format, and what a reader has to say of it.

use serde::Serialize;
use sframe_engine::{Abi, Version};
use sframe_vectors::RejectKind;

/// A broken header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SectionFault {
    /// Another magic number.
    Magic(u16),
    /// A version that does not exist.
    Version(u8),
    /// An ABI that the version does not have.
    Abi(u8),
    /// The byte order that is not the ABI's.
    ByteOrder,
    /// The section ends within its header, after this many bytes.
    CutHeader(u8),
    /// The section ends this many bytes, at least one, before the end of its sub-sections.
    Cut(u8),
    /// More FDEs than there is room for, by this many.
    NumFdes(u32),
    /// The FDE sub-section starts behind the end, by this many bytes.
    Fdeoff(u32),
    /// The FRE sub-section starts behind the end, by this many bytes.
    Freoff(u32),
    /// The FRE sub-section is longer than the section, by this many bytes.
    FreLen(u32),
}

/// A broken FDE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FdeFault {
    /// Rows that start this many bytes, at least one, behind the FRE sub-section.
    FreOffset(u32),
    /// An FRE type that does not exist, from 3 to 15.
    FreType(u8),
    /// An FDE type that does not exist, from 2 to 31 (version 3).
    FdeType(u8),
    /// Blocks of size 0 (versions 2 and 3).
    RepSize,
    /// One row more than the FRE sub-section has, in the function whose rows are the last.
    NumFres,
}

/// A broken row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowFault {
    /// The reserved size of data words.
    WordSize,
    /// This many data words, more than a row of default type can have, and at most 15.
    WordCount(u8),
    /// No data words, which version 1 does not know.
    NoWords,
    /// Half a pair at the end (flex).
    HalfPair,
    /// A padding word where the CFA has to be (flex).
    NoCfa,
    /// A CFA that is based on the CFA (flex).
    CfaOnCfa,
}

impl SectionFault {
    /// Returns what has to be rejected, and where, as far as readers can agree.
    #[must_use]
    pub const fn reject(self) -> (RejectKind, Option<usize>) {
        match self {
            Self::Magic(_) => (RejectKind::BadMagic, Some(0)),
            Self::Version(_) => (RejectKind::UnknownVersion, Some(2)),
            Self::Abi(_) => (RejectKind::UnknownAbi, Some(4)),
            Self::ByteOrder => (RejectKind::WrongByteOrder, Some(0)),
            Self::CutHeader(_) => (RejectKind::Truncated, None),
            Self::Cut(_) | Self::NumFdes(_) | Self::Fdeoff(_) | Self::Freoff(_) | Self::FreLen(_) => {
                (RejectKind::SubSectionOutOfBounds, None)
            }
        }
    }

    /// Returns the clause that is broken, without the version.
    #[must_use]
    pub const fn clause(self) -> &'static str {
        match self {
            Self::Magic(_) => "magic",
            Self::Version(_) => "version",
            Self::Abi(_) => "abi",
            Self::ByteOrder => "byte-order",
            Self::CutHeader(_) => "header",
            Self::Cut(_) | Self::NumFdes(_) | Self::Fdeoff(_) | Self::Freoff(_) | Self::FreLen(_) => {
                "sub-sections"
            }
        }
    }

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Magic(_) => "wrong magic number",
            Self::Version(_) => "unknown version",
            Self::Abi(_) => "unknown ABI",
            Self::ByteOrder => "wrong byte order",
            Self::CutHeader(_) => "cut header",
            Self::Cut(_) => "cut sub-section",
            Self::NumFdes(_) => "too many FDEs",
            Self::Fdeoff(_) => "FDEs behind the end",
            Self::Freoff(_) => "rows behind the end",
            Self::FreLen(_) => "rows too long",
        }
    }
}

impl FdeFault {
    /// Returns what has to be rejected: the function, or (false) a row behind its last one.
    #[must_use]
    pub const fn reject(self) -> (RejectKind, bool) {
        match self {
            Self::FreOffset(_) => (RejectKind::FreOffsetOutOfBounds, true),
            Self::FreType(_) => (RejectKind::UnknownFreType, true),
            Self::FdeType(_) => (RejectKind::UnknownFdeType, true),
            Self::RepSize => (RejectKind::ZeroRepSize, true),
            Self::NumFres => (RejectKind::Truncated, false),
        }
    }

    /// Returns the clause that is broken, without the version.
    #[must_use]
    pub const fn clause(self) -> &'static str {
        match self {
            Self::FreOffset(_) => "fre-offset",
            Self::FreType(_) => "fre-type",
            Self::FdeType(_) => "fde-type",
            Self::RepSize => "rep-size",
            Self::NumFres => "sub-sections",
        }
    }

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FreOffset(_) => "offset to rows behind their end",
            Self::FreType(_) => "unknown FRE type",
            Self::FdeType(_) => "unknown FDE type",
            Self::RepSize => "blocks of size 0",
            Self::NumFres => "more rows than there are",
        }
    }
}

impl RowFault {
    /// Returns what has to be rejected.
    #[must_use]
    pub const fn reject(self) -> RejectKind {
        match self {
            Self::WordSize => RejectKind::UnknownDataWordSize,
            Self::WordCount(_) | Self::NoWords => RejectKind::BadDataWordCount,
            Self::HalfPair => RejectKind::BadFlexWordCount,
            Self::NoCfa | Self::CfaOnCfa => RejectKind::FlexCfaWithoutRegister,
        }
    }

    /// Returns the clause that is broken, without the version.
    #[must_use]
    pub const fn clause(self) -> &'static str {
        match self {
            Self::WordSize => "data-word-size",
            Self::WordCount(_) | Self::NoWords => "data-word-count",
            Self::HalfPair => "flex-pairs",
            Self::NoCfa | Self::CfaOnCfa => "flex-cfa-first",
        }
    }

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WordSize => "reserved size of data words",
            Self::WordCount(_) => "too many data words",
            Self::NoWords => "no data words in version 1",
            Self::HalfPair => "half a pair",
            Self::NoCfa => "padding for the CFA",
            Self::CfaOnCfa => "CFA based on the CFA",
        }
    }
}

/// Returns whether a version has an ABI with this identifier.
pub(super) fn knows_abi(version: Version, id: u8) -> bool {
    Abi::from_id(id).is_some_and(|abi| version.has_abi(abi))
}
