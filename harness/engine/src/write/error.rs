//! What a version of the format can't express.

use core::fmt;

use crate::abi::Abi;
use crate::version::Version;

/// A section, function or row that can't be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteError {
    /// What can't be expressed.
    pub kind: WriteErrorKind,
    /// The function, by its position; `None` if the error is about the section itself.
    pub function: Option<usize>,
    /// The row, by its position in the function; `None` if the error is about the function
    /// itself.
    pub row: Option<usize>,
}

/// What can't be expressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteErrorKind {
    /// The version does not define the ABI (2.2.1).
    AbiNotInVersion(Abi, Version),
    /// The version does not define a flag (2.1.3).
    FlagNotInVersion(u8, Version),
    /// The auxiliary header is longer than 255 bytes (2.2).
    AuxiliaryHeaderTooLong(usize),
    /// The functions' row positions are not a permutation of 0 to their number minus 1.
    BadRowsPosition(u32),
    /// A sub-section's length does not fit 32 bits (2.2).
    SectionTooLong,
    /// The start is further from the section than the version's field reaches (2.3.1).
    StartOutOfReach(u64),
    /// There are more rows than the version can count (2.3.2).
    TooManyRows(usize),
    /// Only version 3 marks signal frames (2.3.3).
    SignalNotInVersion(Version),
    /// Only version 3 has flex FDEs (2.3.3.2).
    FlexNotInVersion(Version),
    /// Version 1 has no size of the repeated block; the other versions need one (2.3.2).
    RepSizeMismatch(Version),
    /// Only version 3 marks an outermost frame by an FDE without rows.
    OutermostNotInVersion(Version),
    /// An FDE without rows that means nothing would mark an outermost frame in version 3.
    NoRowsInVersion(Version),
    /// The row's RA is undefined, which version 1 can't express (2.4.1).
    UndefinedRaNotInVersion,
    /// The row starts further into the function than the FRE type can express (2.3.3.3).
    StartTooLarge(u32),
    /// An offset does not fit a data word of 4 bytes, or is not a multiple of
    /// 8 where s390x scales it (3.1.3).
    OffsetNotEncodable(i64),
    /// A default FDE has no words for the row's CFA rule (3.1).
    CfaNotInDefault,
    /// A default FDE has no words for the row's RA rule (3.1).
    RaNotInDefault,
    /// A default FDE has no words for the row's FP rule (3.1).
    FpNotInDefault,
    /// A flex FDE has no words for one of the row's rules: its control word
    /// would be padding, or the register's number is too large (3.2).
    RuleNotInFlex,
    /// A fixed offset of 0 in the header says that there is none (2.2).
    ZeroFixedOffset,
    /// There is no ABI of this family with the other byte order (2.2.1).
    NoSuchByteOrder(Abi),
}

impl WriteErrorKind {
    pub(super) const fn of_section(self) -> WriteError {
        WriteError { kind: self, function: None, row: None }
    }

    pub(super) const fn of_function(self, function: usize) -> WriteError {
        WriteError { kind: self, function: Some(function), row: None }
    }

    pub(super) const fn of_row(self, function: usize, row: usize) -> WriteError {
        WriteError { kind: self, function: Some(function), row: Some(row) }
    }
}

impl fmt::Display for WriteErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AbiNotInVersion(abi, version) => write!(f, "version {version} does not know {abi}"),
            Self::FlagNotInVersion(flag, version) => {
                write!(f, "version {version} does not know the flag {flag:#x}")
            }
            Self::AuxiliaryHeaderTooLong(len) => {
                write!(f, "the auxiliary header has {len} bytes, more than 255")
            }
            Self::BadRowsPosition(position) => {
                write!(f, "the position {position} of rows is taken, or past the last")
            }
            Self::SectionTooLong => f.write_str("the length of the section does not fit 32 bits"),
            Self::StartOutOfReach(start) => {
                write!(f, "the start {start:#x} is too far from the section for the version's field")
            }
            Self::TooManyRows(count) => write!(f, "{count} rows are more than the version can count"),
            Self::SignalNotInVersion(version) => write!(f, "version {version} can't mark a signal frame"),
            Self::FlexNotInVersion(version) => write!(f, "version {version} has no flex FDEs"),
            Self::RepSizeMismatch(version) if !version.has_rep_size() => {
                write!(f, "version {version} can't express the size of the repeated block")
            }
            Self::RepSizeMismatch(version) => {
                write!(f, "version {version} needs the size of the repeated block")
            }
            Self::OutermostNotInVersion(version) => {
                write!(f, "version {version} can't mark an outermost frame by an FDE")
            }
            Self::NoRowsInVersion(version) => {
                write!(f, "an FDE without rows would mark an outermost frame in version {version}")
            }
            Self::UndefinedRaNotInVersion => f.write_str("version 1 can't express an undefined RA"),
            Self::StartTooLarge(start) => write!(f, "the FRE type can't express the row's start {start:#x}"),
            Self::OffsetNotEncodable(offset) => write!(f, "the offset {offset} can't be encoded"),
            Self::CfaNotInDefault => f.write_str("a default FDE can't express this CFA rule"),
            Self::RaNotInDefault => f.write_str("a default FDE can't express this RA rule"),
            Self::FpNotInDefault => f.write_str("a default FDE can't express this FP rule"),
            Self::RuleNotInFlex => f.write_str("a flex FDE can't express one of the rules"),
            Self::ZeroFixedOffset => f.write_str("a fixed offset of 0 means that there is none"),
            Self::NoSuchByteOrder(abi) => write!(f, "there is no {abi} with the other byte order"),
        }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = self.function {
            write!(f, "function {function}")?;
            if let Some(row) = self.row {
                write!(f, ", row {row}")?;
            }
            f.write_str(": ")?;
        }
        self.kind.fmt(f)
    }
}

impl core::error::Error for WriteError {}
