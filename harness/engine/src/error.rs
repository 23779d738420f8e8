//! Errors in a section.

use core::fmt;

macro_rules! clauses {
    ($($name:ident = $title:literal,)*) => {
        /// A place in the specification. The numbers are those of version 3.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Clause {
            $(
                #[doc = $title]
                $name,
            )*
        }

        impl Clause {
            /// Every place, in the order of the specification.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Number and title.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)*
                }
            }
        }
    };
}

clauses! {
    Overview = "1.1 Overview",
    ChangesV2 = "1.3 Changes from Version 1 to Version 2",
    Preamble = "2.1 SFrame Preamble",
    Magic = "2.1.1 SFrame Magic Number and Endianness",
    Version = "2.1.2 SFrame Version",
    Flags = "2.1.3 SFrame Flags",
    Header = "2.2 SFrame Header",
    AbiArch = "2.2.1 SFrame ABI/arch Identifier",
    FdeIndex = "2.3.1 The SFrame FDE Index",
    FdeAttribute = "2.3.2 The SFrame FDE Attribute",
    FdeInfo = "2.3.3 The SFrame FDE Info Bytes",
    PcType = "2.3.3.1 The SFrame FDE PC Types",
    FdeType = "2.3.3.2 The SFrame FDE Types",
    FreType = "2.3.3.3 The SFrame FRE Types",
    Fre = "2.4 SFrame FRE",
    FreInfo = "2.4.1 The SFrame FRE Info Word",
    DefaultFde = "3.1 Default FDE Type Interpretation",
    Aarch64 = "3.1.2 AArch64",
    S390x = "3.1.3 s390x",
    FlexFde = "3.2 Flexible FDE Type Interpretation",
}

/// A fault in a section, with its kind and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Where, in bytes from the start of the section.
    pub offset: usize,
}

/// What is wrong with a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The section ends inside a structure.
    Truncated {
        /// Bytes the structure needs.
        needed: usize,
        /// Bytes that are available.
        available: usize,
        /// The clause that describes the structure.
        clause: Clause,
    },
    /// The first two bytes are not the magic number in either byte order (2.1.1).
    BadMagic(u16),
    /// The version is not 1, 2 or 3 (2.1.2).
    UnknownVersion(u8),
    /// The format does not define the ABI identifier (2.2.1).
    UnknownAbi(u8),
    /// The section's byte order is not that of its ABI (2.1.1).
    WrongByteOrder(crate::Abi),
    /// A sub-section reaches past the end of the section (2.2).
    SubSectionOutOfBounds {
        /// Where it would end, in bytes from the start of the section.
        end: u64,
        /// The length of the section.
        len: usize,
    },
    /// There is no FDE with this index (2.3.1).
    NoSuchFde(u32),
    /// The offset to a function's rows is outside the FRE sub-section (2.3.1).
    FreOffsetOutOfBounds(u32),
    /// The FRE type is not ADDR1, ADDR2 or ADDR4 (2.3.3.3).
    UnknownFreType(u8),
    /// The FDE type is neither default nor flex (2.3.3.2).
    UnknownFdeType(u8),
    /// The PC type is mask, but the size of the repeated block is 0 (2.3.3.1).
    ZeroRepSize,
    /// A row's info byte has the reserved data word size 3 (2.4.1).
    UnknownDataWordSize,
    /// A row has a number of data words that its ABI or FDE type does not allow (3.1).
    BadDataWordCount(u8),
    /// A flex row's data words are not pairs and padding words (3.2).
    BadFlexWordCount(u8),
    /// Functions share rows: their rows add up to more bytes than the FRE sub-section has
    /// (2.4).
    SharedRows,
    /// A flex row gives its CFA without a base register (3.2).
    FlexCfaWithoutRegister,
}

impl ErrorKind {
    pub(crate) const fn at(self, offset: usize) -> Error {
        Error { kind: self, offset }
    }
}

impl Error {
    /// The clause of the specification that is broken.
    #[must_use]
    pub const fn clause(&self) -> Clause {
        match self.kind {
            ErrorKind::Truncated { clause, .. } => clause,
            ErrorKind::BadMagic(_) | ErrorKind::WrongByteOrder(_) => Clause::Magic,
            ErrorKind::UnknownVersion(_) => Clause::Version,
            ErrorKind::UnknownAbi(_) => Clause::AbiArch,
            ErrorKind::SubSectionOutOfBounds { .. } => Clause::Header,
            ErrorKind::NoSuchFde(_) | ErrorKind::FreOffsetOutOfBounds(_) => Clause::FdeIndex,
            ErrorKind::UnknownFreType(_) => Clause::FreType,
            ErrorKind::UnknownFdeType(_) => Clause::FdeType,
            ErrorKind::ZeroRepSize => Clause::PcType,
            ErrorKind::UnknownDataWordSize => Clause::FreInfo,
            ErrorKind::SharedRows => Clause::Fre,
            ErrorKind::BadDataWordCount(_) => Clause::DefaultFde,
            ErrorKind::BadFlexWordCount(_) | ErrorKind::FlexCfaWithoutRegister => Clause::FlexFde,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ErrorKind::Truncated { needed, available, .. } => {
                write!(f, "{needed} bytes are needed, {available} are left")?;
            }
            ErrorKind::BadMagic(magic) => write!(f, "the magic number is {magic:#06x}, not 0xdee2")?,
            ErrorKind::UnknownVersion(version) => write!(f, "version {version} is unknown")?,
            ErrorKind::UnknownAbi(abi) => write!(f, "the ABI identifier {abi} is unknown")?,
            ErrorKind::WrongByteOrder(abi) => write!(f, "the byte order is not that of {abi}")?,
            ErrorKind::SubSectionOutOfBounds { end, len } => {
                write!(f, "a sub-section ends at {end:#x}, past the end of the section at {len:#x}")?;
            }
            ErrorKind::NoSuchFde(index) => write!(f, "there is no FDE {index}")?,
            ErrorKind::FreOffsetOutOfBounds(offset) => {
                write!(f, "the rows' offset {offset:#x} is outside the FRE sub-section")?;
            }
            ErrorKind::UnknownFreType(fre_type) => write!(f, "FRE type {fre_type} is unknown")?,
            ErrorKind::UnknownFdeType(fde_type) => write!(f, "FDE type {fde_type} is unknown")?,
            ErrorKind::ZeroRepSize => write!(f, "the repeated block of a mask FDE has size 0")?,
            ErrorKind::UnknownDataWordSize => write!(f, "data word size 3 is reserved")?,
            ErrorKind::BadDataWordCount(count) => write!(f, "{count} data words are not allowed here")?,
            ErrorKind::BadFlexWordCount(count) => {
                write!(f, "{count} data words do not form complete flex rules")?;
            }
            ErrorKind::SharedRows => write!(f, "functions share rows")?,
            ErrorKind::FlexCfaWithoutRegister => write!(f, "a flex CFA rule has no base register")?,
        }
        write!(f, " (at offset {:#x}; {})", self.offset, self.clause().title())
    }
}

impl core::error::Error for Error {}
