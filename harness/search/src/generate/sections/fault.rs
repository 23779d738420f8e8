//! What breaks one rule of the format, and what a reader has to say of it.

use serde::Serialize;
use sframe_engine::{Abi, Version};
use sframe_vectors::{Reject, RejectKind};

use super::plan::SectionPlan;

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
    /// The FDE sub-section starts past the end, by this many bytes.
    Fdeoff(u32),
    /// The FRE sub-section starts past the end, by this many bytes.
    Freoff(u32),
    /// The FRE sub-section is longer than the section, by this many bytes.
    FreLen(u32),
}

/// A broken FDE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FdeFault {
    /// Rows that start this many bytes, at least one, past the FRE sub-section.
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

/// A rule that is broken, and what has to be rejected then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What breaks it, in words.
    pub name: &'static str,
    /// The clause, without the version.
    pub clause: &'static str,
    /// Why it has to be rejected.
    pub kind: RejectKind,
}

const fn rule((name, clause, kind): (&'static str, &'static str, RejectKind)) -> Rule {
    Rule { name, clause, kind }
}

impl SectionFault {
    /// Returns the rule that is broken.
    #[must_use]
    pub const fn rule(self) -> Rule {
        let behind = RejectKind::SubSectionOutOfBounds;
        rule(match self {
            Self::Magic(_) => ("wrong magic number", "magic", RejectKind::BadMagic),
            Self::Version(_) => ("unknown version", "version", RejectKind::UnknownVersion),
            Self::Abi(_) => ("unknown ABI", "abi", RejectKind::UnknownAbi),
            Self::ByteOrder => ("wrong byte order", "byte-order", RejectKind::WrongByteOrder),
            Self::CutHeader(_) => ("cut header", "header", RejectKind::Truncated),
            Self::Cut(_) => ("cut sub-section", "sub-sections", behind),
            Self::NumFdes(_) => ("too many FDEs", "sub-sections", behind),
            Self::Fdeoff(_) => ("FDEs past the end", "sub-sections", behind),
            Self::Freoff(_) => ("rows past the end", "sub-sections", behind),
            Self::FreLen(_) => ("rows too long", "sub-sections", behind),
        })
    }

    /// Returns what has to be rejected, and where, as far as readers can agree.
    #[must_use]
    pub const fn reject(self) -> Reject {
        let offset = match self {
            Self::Magic(_) | Self::ByteOrder => Some(0),
            Self::Version(_) => Some(2),
            Self::Abi(_) => Some(4),
            _ => None,
        };
        Reject { kind: self.rule().kind, offset }
    }
}

impl FdeFault {
    /// Returns the rule that is broken.
    #[must_use]
    pub const fn rule(self) -> Rule {
        rule(match self {
            Self::FreOffset(_) => {
                ("offset to rows behind their end", "fre-offset", RejectKind::FreOffsetOutOfBounds)
            }
            Self::FreType(_) => ("unknown FRE type", "fre-type", RejectKind::UnknownFreType),
            Self::FdeType(_) => ("unknown FDE type", "fde-type", RejectKind::UnknownFdeType),
            Self::RepSize => ("blocks of size 0", "rep-size", RejectKind::ZeroRepSize),
            Self::NumFres => ("more rows than there are", "sub-sections", RejectKind::Truncated),
        })
    }

    /// Returns whether the function has to be rejected, and not a row after its last one.
    #[must_use]
    pub const fn is_of_function(self) -> bool {
        !matches!(self, Self::NumFres)
    }
}

impl RowFault {
    /// Returns the rule that is broken.
    #[must_use]
    pub const fn rule(self) -> Rule {
        let no_cfa = RejectKind::FlexCfaWithoutRegister;
        let count = RejectKind::BadDataWordCount;
        rule(match self {
            Self::WordSize => {
                ("reserved size of data words", "data-word-size", RejectKind::UnknownDataWordSize)
            }
            Self::WordCount(_) => ("too many data words", "data-word-count", count),
            Self::NoWords => ("no data words in version 1", "data-word-count", count),
            Self::HalfPair => ("half a pair", "flex-pairs", RejectKind::BadFlexWordCount),
            Self::NoCfa => ("padding for the CFA", "flex-cfa-first", no_cfa),
            Self::CfaOnCfa => ("CFA based on the CFA", "flex-cfa-first", no_cfa),
        })
    }
}

impl SectionPlan {
    /// Returns the rules that are broken: of the header first, then of functions and rows.
    pub fn broken_rules(&self) -> impl Iterator<Item = Rule> {
        let of_functions = self.functions.iter().filter_map(|function| function.broken).map(FdeFault::rule);
        let rows = self.functions.iter().flat_map(|function| &function.rows);
        let of_rows = rows.filter_map(|row| row.broken).map(RowFault::rule);
        self.broken.map(SectionFault::rule).into_iter().chain(of_functions).chain(of_rows)
    }
}

/// Returns whether a version has an ABI with this identifier.
pub(super) fn knows_abi(version: Version, id: u8) -> bool {
    Abi::from_id(id).is_some_and(|abi| version.has_abi(abi))
}
