//! What differs between the ABIs.

use core::fmt;

use crate::constants::{
    SFRAME_ABI_AARCH64_ENDIAN_BIG, SFRAME_ABI_AARCH64_ENDIAN_LITTLE, SFRAME_ABI_AMD64_ENDIAN_LITTLE,
    SFRAME_ABI_S390X_ENDIAN_BIG, SFRAME_S390X_CFA_OFFSET_ADJUSTMENT,
    SFRAME_S390X_CFA_OFFSET_ALIGNMENT_FACTOR, SFRAME_S390X_SP_VAL_OFFSET,
};

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// A register by its number in DWARF, as the ABI's psABI document assigns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DwarfRegister(pub u32);

impl fmt::Display for DwarfRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

/// The ABIs that SFrame supports (2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Abi {
    /// AMD64, little endian.
    Amd64,
    /// AArch64, little endian.
    Aarch64,
    /// AArch64, big endian.
    Aarch64Be,
    /// s390x, big endian.
    S390x,
}

impl Abi {
    /// Every ABI, ordered by name.
    pub const ALL: [Self; 4] = [Self::Amd64, Self::Aarch64, Self::Aarch64Be, Self::S390x];

    /// Returns the ABI with this identifier in the header, `sfh_abi_arch` (2.2.1).
    #[must_use]
    pub const fn from_id(id: u8) -> Option<Self> {
        match id {
            SFRAME_ABI_AARCH64_ENDIAN_BIG => Some(Self::Aarch64Be),
            SFRAME_ABI_AARCH64_ENDIAN_LITTLE => Some(Self::Aarch64),
            SFRAME_ABI_AMD64_ENDIAN_LITTLE => Some(Self::Amd64),
            SFRAME_ABI_S390X_ENDIAN_BIG => Some(Self::S390x),
            _ => None,
        }
    }

    /// The identifier in the header (2.2.1).
    #[must_use]
    pub const fn id(self) -> u8 {
        match self {
            Self::Aarch64Be => SFRAME_ABI_AARCH64_ENDIAN_BIG,
            Self::Aarch64 => SFRAME_ABI_AARCH64_ENDIAN_LITTLE,
            Self::Amd64 => SFRAME_ABI_AMD64_ENDIAN_LITTLE,
            Self::S390x => SFRAME_ABI_S390X_ENDIAN_BIG,
        }
    }

    /// The name used everywhere in this project: `amd64`, `aarch64`,
    /// `aarch64_be` or `s390x`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Aarch64 => "aarch64",
            Self::Aarch64Be => "aarch64_be",
            Self::S390x => "s390x",
        }
    }

    /// The byte order of data, and so of the section (2.1.1).
    #[must_use]
    pub const fn byte_order(self) -> ByteOrder {
        match self {
            Self::Amd64 | Self::Aarch64 => ByteOrder::Little,
            Self::Aarch64Be | Self::S390x => ByteOrder::Big,
        }
    }

    /// The stack pointer: rsp, sp, or r15.
    #[must_use]
    pub const fn sp(self) -> DwarfRegister {
        match self {
            Self::Amd64 => DwarfRegister(7),
            Self::Aarch64 | Self::Aarch64Be => DwarfRegister(31),
            Self::S390x => DwarfRegister(15),
        }
    }

    /// The frame pointer: rbp, x29, or r11.
    #[must_use]
    pub const fn fp(self) -> DwarfRegister {
        match self {
            Self::Amd64 => DwarfRegister(6),
            Self::Aarch64 | Self::Aarch64Be => DwarfRegister(29),
            Self::S390x => DwarfRegister(11),
        }
    }

    /// The register that holds the return address when a function is entered:
    /// x30 or r14. AMD64 has none; its calls push the return address.
    #[must_use]
    pub const fn ra(self) -> Option<DwarfRegister> {
        match self {
            Self::Amd64 => None,
            Self::Aarch64 | Self::Aarch64Be => Some(DwarfRegister(30)),
            Self::S390x => Some(DwarfRegister(14)),
        }
    }

    /// Returns the caller's SP at the call, given the CFA: on s390x the CFA is 160 bytes above
    /// it (3.1.3), elsewhere they are the same.
    #[must_use]
    pub const fn sp_from_cfa(self, cfa: u64) -> u64 {
        match self {
            Self::S390x => cfa.wrapping_add_signed(SFRAME_S390X_SP_VAL_OFFSET),
            _ => cfa,
        }
    }

    /// Returns the CFA offset in bytes, given the data word that holds it: s390x stores it
    /// adjusted and scaled (3.1.3). Scaled offsets can exceed 32 bits.
    ///
    /// The text specifies this for default FDEs only; GNU as stores the CFA offset of flex rows
    /// the same way, whatever their base register.
    pub(crate) const fn decode_cfa_offset(self, word: i32) -> i64 {
        match self {
            Self::S390x => {
                word as i64 * SFRAME_S390X_CFA_OFFSET_ALIGNMENT_FACTOR - SFRAME_S390X_CFA_OFFSET_ADJUSTMENT
            }
            _ => word as i64,
        }
    }
}

impl fmt::Display for Abi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
