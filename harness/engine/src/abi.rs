//! What differs between the ABIs.

use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

use crate::constants::{
    SFRAME_ABI_AARCH64_ENDIAN_BIG, SFRAME_ABI_AARCH64_ENDIAN_LITTLE, SFRAME_ABI_AMD64_ENDIAN_LITTLE,
    SFRAME_ABI_S390X_ENDIAN_BIG, SFRAME_FRE_RA_OFFSET_INVALID, SFRAME_S390X_CFA_OFFSET_ADJUSTMENT,
    SFRAME_S390X_CFA_OFFSET_ALIGNMENT_FACTOR, SFRAME_S390X_SP_VAL_OFFSET,
};

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// An ABI for which SFrame is defined (2.2.1).
///
/// They are ordered by name, as listings of files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize), serde(rename_all = "snake_case"))]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(description = "An ABI for which SFrame is defined and programs are built.")
)]
pub enum Abi {
    /// x86-64, System V.
    Amd64,
    /// AArch64, little endian.
    Aarch64,
    /// AArch64, big endian.
    Aarch64Be,
    /// IBM Z, 64 bit.
    S390x,
}

impl Abi {
    /// Every ABI.
    pub const ALL: [Self; 4] = [Self::Amd64, Self::Aarch64, Self::Aarch64Be, Self::S390x];

    /// Returns the ABI with this identifier in the header, `sfh_abi_arch` (2.2.1).
    #[must_use]
    pub const fn from_id(id: u8) -> Option<Self> {
        let mut index = 0;
        while index < Self::ALL.len() {
            if Self::ALL[index].id() == id {
                return Some(Self::ALL[index]);
            }
            index += 1;
        }
        None
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

    /// Whether data is big endian.
    #[must_use]
    pub const fn is_big_endian(self) -> bool {
        matches!(self.byte_order(), ByteOrder::Big)
    }

    /// The ABI of the same processor with data of that byte order.
    #[must_use]
    pub const fn with_byte_order(self, order: ByteOrder) -> Option<Self> {
        match (self, order) {
            (Self::Aarch64 | Self::Aarch64Be, ByteOrder::Little) => Some(Self::Aarch64),
            (Self::Aarch64 | Self::Aarch64Be, ByteOrder::Big) => Some(Self::Aarch64Be),
            (Self::Amd64, ByteOrder::Little) | (Self::S390x, ByteOrder::Big) => Some(self),
            (Self::Amd64, ByteOrder::Big) | (Self::S390x, ByteOrder::Little) => None,
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

    /// The name of a register in assembly, where that is not `r` and its number in DWARF.
    #[must_use]
    pub fn register_name(self, register: DwarfRegister) -> Option<&'static str> {
        const AMD64: [&str; 8] = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"];
        const AARCH64: [&str; 32] = [
            "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
            "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28",
            "x29", "x30", "sp",
        ];
        // Floating-point registers follow the sixteen general ones.
        const S390X: [&str; 16] = [
            "f0", "f2", "f4", "f6", "f1", "f3", "f5", "f7", "f8", "f10", "f12", "f14", "f9", "f11", "f13",
            "f15",
        ];
        let (names, first): (&[&str], u32) = match self {
            Self::Amd64 => (&AMD64, 0),
            Self::Aarch64 | Self::Aarch64Be => (&AARCH64, 0),
            Self::S390x => (&S390X, 16),
        };
        names.get(usize::try_from(register.0.checked_sub(first)?).ok()?).copied()
    }

    /// Whether a call leaves its return address in a register, and not on the stack.
    #[must_use]
    pub const fn has_link_register(self) -> bool {
        self.ra().is_some()
    }

    /// The return address's fixed offset from the CFA, in bytes, where a call
    /// pushes it (3.1.1).
    #[must_use]
    pub const fn fixed_ra_offset(self) -> Option<i8> {
        match self {
            Self::Amd64 => Some(-8),
            Self::Aarch64 | Self::Aarch64Be | Self::S390x => None,
        }
    }

    /// The number of bytes that a call pushes: those of the return address, where
    /// it is on the stack.
    #[must_use]
    pub const fn pushed_by_calls(self) -> u64 {
        match self.fixed_ra_offset() {
            Some(offset) => offset.unsigned_abs() as u64,
            None => 0,
        }
    }

    /// The CFA as an offset from SP when a function is entered, in bytes.
    #[must_use]
    pub const fn cfa_offset_at_entry(self) -> i64 {
        match self {
            Self::Amd64 => 8,
            Self::Aarch64 | Self::Aarch64Be => 0,
            Self::S390x => -SFRAME_S390X_SP_VAL_OFFSET,
        }
    }

    /// Whether functions can sign their return addresses, so that a row may say
    /// that RA is mangled (3.1.2).
    #[must_use]
    pub const fn signs_return_addresses(self) -> bool {
        match self {
            Self::Aarch64 | Self::Aarch64Be => true,
            Self::Amd64 | Self::S390x => false,
        }
    }

    /// Whether functions save RA and FP in other registers as a matter of course (3.1.3).
    #[must_use]
    pub const fn saves_in_registers(self) -> bool {
        match self {
            Self::S390x => true,
            Self::Amd64 | Self::Aarch64 | Self::Aarch64Be => false,
        }
    }

    /// Whether SP, and not FP, points to the record of the caller: the backchain.
    #[must_use]
    pub const fn has_backchain(self) -> bool {
        match self {
            Self::S390x => true,
            Self::Amd64 | Self::Aarch64 | Self::Aarch64Be => false,
        }
    }

    /// The CFA as an offset from FP where FP points to a frame record, in bytes,
    /// if the ABI fixes the record's place in the frame.
    #[must_use]
    pub const fn cfa_offset_from_frame_record(self) -> Option<u64> {
        match self {
            Self::Amd64 => Some(16),
            Self::Aarch64 | Self::Aarch64Be | Self::S390x => None,
        }
    }

    /// Bytes below SP that signal handlers leave alone.
    #[must_use]
    pub const fn red_zone(self) -> i64 {
        match self {
            Self::Amd64 => 128,
            Self::Aarch64 | Self::Aarch64Be | Self::S390x => 0,
        }
    }

    /// The column of the return address in DWARF's tables of rules.
    #[must_use]
    pub const fn ra_column(self) -> DwarfRegister {
        match self {
            // No register has this number.
            Self::Amd64 => DwarfRegister(16),
            Self::Aarch64 | Self::Aarch64Be => DwarfRegister(30),
            Self::S390x => DwarfRegister(14),
        }
    }

    /// Whether the ABI gives a register this DWARF number.
    #[must_use]
    pub const fn has_register(self, register: DwarfRegister) -> bool {
        let number = register.0;
        match self {
            // General, RA, xmm0-15, st and mm; r16-r31 of APX.
            Self::Amd64 => number <= 48 || (number >= 130 && number <= 145),
            // General with sp; v0-v31.
            Self::Aarch64 | Self::Aarch64Be => number <= 31 || (number >= 64 && number <= 95),
            // General and floating point.
            Self::S390x => number <= 31,
        }
    }

    /// The caller's SP at the call as an offset from the CFA, in bytes: on s390x
    /// the CFA lies 160 bytes above it (3.1.3), elsewhere they are one.
    #[must_use]
    pub const fn sp_offset_from_cfa(self) -> i64 {
        match self {
            Self::S390x => SFRAME_S390X_SP_VAL_OFFSET,
            Self::Amd64 | Self::Aarch64 | Self::Aarch64Be => 0,
        }
    }

    /// The caller's SP at the call, from the CFA.
    #[must_use]
    pub const fn sp_from_cfa(self, cfa: u64) -> u64 {
        cfa.wrapping_add_signed(self.sp_offset_from_cfa())
    }

    /// How CFA offsets are stored (3.1.3).
    #[must_use]
    pub const fn cfa_offset_scaling(self) -> Option<CfaOffsetScaling> {
        match self {
            Self::S390x => Some(CfaOffsetScaling {
                adjustment: SFRAME_S390X_CFA_OFFSET_ADJUSTMENT,
                factor: SFRAME_S390X_CFA_OFFSET_ALIGNMENT_FACTOR,
            }),
            Self::Amd64 | Self::Aarch64 | Self::Aarch64Be => None,
        }
    }

    /// A CFA offset in bytes from the data word that holds it. Scaled offsets
    /// can exceed 32 bits.
    ///
    /// The text gives scaling for default FDEs only; GNU as stores the CFA
    /// offset of flex rows the same way, whatever their base register.
    #[inline]
    pub(crate) const fn decode_cfa_offset(self, word: i32) -> i64 {
        match self.cfa_offset_scaling() {
            Some(scaling) => word as i64 * scaling.factor - scaling.adjustment,
            None => word as i64,
        }
    }

    /// The word of RA in a default row that stands for an RA which is not saved
    /// (3.1.3).
    #[inline]
    pub(crate) const fn ra_padding(self) -> Option<i32> {
        match self {
            Self::S390x => Some(SFRAME_FRE_RA_OFFSET_INVALID),
            Self::Amd64 | Self::Aarch64 | Self::Aarch64Be => None,
        }
    }

    /// What SP is a multiple of wherever it is used, in bytes.
    pub(crate) const fn sp_alignment(self) -> i64 {
        match self {
            Self::Amd64 | Self::S390x => 8,
            Self::Aarch64 | Self::Aarch64Be => 16,
        }
    }

    /// What the addresses of instructions are multiples of, in bytes.
    #[must_use]
    pub const fn instruction_alignment(self) -> u32 {
        match self {
            Self::Amd64 => 1,
            Self::Aarch64 | Self::Aarch64Be => 4,
            Self::S390x => 2,
        }
    }
}

/// CFA offsets that are stored as `(offset + adjustment) / factor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CfaOffsetScaling {
    /// In bytes.
    pub adjustment: i64,
    /// The offset is a multiple of it.
    pub factor: i64,
}

impl Ord for Abi {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl PartialOrd for Abi {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Abi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownAbi;

impl fmt::Display for UnknownAbi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown ABI; there are")?;
        for (index, abi) in Abi::ALL.into_iter().enumerate() {
            write!(f, "{} {abi}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownAbi {}

impl FromStr for Abi {
    type Err = UnknownAbi;

    fn from_str(name: &str) -> Result<Self, UnknownAbi> {
        Self::ALL.into_iter().find(|abi| abi.name() == name).ok_or(UnknownAbi)
    }
}
