//! What differs between the versions of the format.

use core::fmt;

use crate::abi::Abi;
use crate::constants::{
    SFRAME_F_FDE_FUNC_START_PCREL, SFRAME_F_FDE_SORTED, SFRAME_F_FRAME_POINTER, SFRAME_VERSION_1,
    SFRAME_VERSION_2, SFRAME_VERSION_3, V1_FDE_SIZE, V2_FDE_SIZE, V3_FDE_INDEX_SIZE,
};

/// A version of the format (2.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// Version 1, obsolete.
    V1,
    /// Version 2, with or without its errata.
    V2,
    /// Version 3.
    V3,
}

impl Version {
    /// Every version, the oldest first.
    pub const ALL: [Self; 3] = [Self::V1, Self::V2, Self::V3];

    /// The newest version.
    pub const LATEST: Self = Self::ALL[Self::ALL.len() - 1];

    /// The number in the preamble.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::V1 => SFRAME_VERSION_1,
            Self::V2 => SFRAME_VERSION_2,
            Self::V3 => SFRAME_VERSION_3,
        }
    }

    /// The version of a number in the preamble.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        let mut index = 0;
        while index < Self::ALL.len() {
            if Self::ALL[index].number() == number {
                return Some(Self::ALL[index]);
            }
            index += 1;
        }
        None
    }

    /// Whether the specification calls it obsolete (2.1.2).
    #[must_use]
    pub const fn is_obsolete(self) -> bool {
        match self {
            Self::V1 => true,
            Self::V2 | Self::V3 => false,
        }
    }

    /// Whether its sections are written as erratum 1 of version 2 demands (1.3). `None` for version 2 itself: some
    /// of its sections are older than the erratum.
    #[must_use]
    pub const fn has_erratum_1(self) -> Option<bool> {
        match self {
            Self::V1 => Some(false),
            Self::V2 => None,
            Self::V3 => Some(true),
        }
    }

    /// Size of one entry of the FDE sub-section, in bytes (2.3).
    #[must_use]
    pub const fn fde_size(self) -> usize {
        match self {
            Self::V1 => V1_FDE_SIZE,
            Self::V2 => V2_FDE_SIZE,
            Self::V3 => V3_FDE_INDEX_SIZE,
        }
    }

    /// Whether the version knows an ABI: s390x came with erratum 1 of version 2
    /// (1.3).
    #[must_use]
    pub const fn has_abi(self, abi: Abi) -> bool {
        match abi {
            Abi::Amd64 | Abi::Aarch64 | Abi::Aarch64Be => true,
            Abi::S390x => !matches!(self, Self::V1),
        }
    }

    /// The flags of the preamble that mean something (2.1.3).
    #[must_use]
    pub const fn flags(self) -> u8 {
        match self {
            Self::V1 => SFRAME_F_FDE_SORTED | SFRAME_F_FRAME_POINTER,
            Self::V2 => SFRAME_F_FDE_SORTED | SFRAME_F_FRAME_POINTER | SFRAME_F_FDE_FUNC_START_PCREL,
            Self::V3 => SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL,
        }
    }

    /// Whether a flag says that all functions keep a frame pointer (2.1.3).
    #[must_use]
    pub const fn has_frame_pointer_flag(self) -> bool {
        self.flags() & SFRAME_F_FRAME_POINTER != 0
    }

    /// Whether a flag can make start addresses relative to their own field
    /// (since version 2 erratum 1).
    #[must_use]
    pub const fn has_pcrel_starts(self) -> bool {
        self.flags() & SFRAME_F_FDE_FUNC_START_PCREL != 0
    }

    /// Size of the start address of an FDE, in bytes (2.3).
    #[must_use]
    pub const fn start_size(self) -> usize {
        match self {
            Self::V1 | Self::V2 => 4,
            Self::V3 => 8,
        }
    }

    /// Whether the FRE sub-section has an attribute for each FDE before its rows (2.3.2).
    #[must_use]
    pub const fn has_fde_attributes(self) -> bool {
        match self {
            Self::V1 | Self::V2 => false,
            Self::V3 => true,
        }
    }

    /// Whether mask FDEs give the size of the block that repeats (2.3.3.1).
    #[must_use]
    pub const fn has_rep_size(self) -> bool {
        match self {
            Self::V1 => false,
            Self::V2 | Self::V3 => true,
        }
    }

    /// Whether FDEs name the key that signs return addresses (2.3.3).
    #[must_use]
    pub const fn has_pauth_key(self) -> bool {
        match self {
            Self::V1 => false,
            Self::V2 | Self::V3 => true,
        }
    }

    /// Whether FDEs can be of flex type (3.2).
    #[must_use]
    pub const fn has_flex_fdes(self) -> bool {
        match self {
            Self::V1 | Self::V2 => false,
            Self::V3 => true,
        }
    }

    /// Whether FDEs can be of signal frames (2.3.3).
    #[must_use]
    pub const fn marks_signal_frames(self) -> bool {
        match self {
            Self::V1 | Self::V2 => false,
            Self::V3 => true,
        }
    }

    /// Whether a row without data words marks an outermost frame (2.4.1; since
    /// version 2 erratum 2).
    #[must_use]
    pub const fn marks_outermost_rows(self) -> bool {
        match self {
            Self::V1 => false,
            Self::V2 | Self::V3 => true,
        }
    }

    /// Whether a default FDE without rows marks a function whose frames are all
    /// outermost (2.3.3.2).
    #[must_use]
    pub const fn marks_outermost_functions(self) -> bool {
        match self {
            Self::V1 | Self::V2 => false,
            Self::V3 => true,
        }
    }

    /// Whether an odd word of RA or FP in a default row names a register, and no
    /// stack slot (version 2 erratum 1, `SFRAME_V2_S390X_OFFSET_IS_REGNUM`).
    /// Version 3 uses flex FDEs for that.
    #[must_use]
    pub const fn has_registers_in_words(self, abi: Abi) -> bool {
        abi.saves_in_registers() && matches!(self, Self::V2)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}
