//! Function descriptor entries (2.3). Versions 1 and 2 keep an FDE in one structure; version 3
//! splits it into index and attribute.

use crate::constants::{
    SFRAME_AARCH64_PAUTH_KEY_B, SFRAME_FDE_PCTYPE_MASK, SFRAME_FDE_TYPE_DEFAULT, SFRAME_FDE_TYPE_FLEX,
    SFRAME_FRE_TYPE_ADDR1, SFRAME_FRE_TYPE_ADDR2, SFRAME_FRE_TYPE_ADDR4, V3_FDE_ATTR_SIZE,
};
use crate::error::{Clause, Error, ErrorKind};
use crate::read::section::Section;
use crate::version::Version;

/// Width of the start offsets of a function's rows (2.3.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FreType {
    /// 1 byte.
    Addr1,
    /// 2 bytes.
    Addr2,
    /// 4 bytes.
    Addr4,
}

impl FreType {
    /// Width in bytes.
    #[must_use]
    pub const fn width(self) -> usize {
        match self {
            Self::Addr1 => 1,
            Self::Addr2 => 2,
            Self::Addr4 => 4,
        }
    }
}

/// How a PC is compared with row starts (2.3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PcType {
    /// As an offset from the start of the function.
    Inc,
    /// As an offset into a block that repeats, such as a PLT entry.
    Mask,
}

/// How the data words of a function's rows are read (2.3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FdeType {
    /// As stack offsets, by the rules of the ABI.
    Default,
    /// As pairs of control word and offset; version 3.
    Flex,
}

/// The key that signs a function's return addresses (2.3.3; AArch64).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PauthKey {
    /// Key A.
    A,
    /// Key B.
    B,
}

/// A function descriptor entry, whatever the version (2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fde {
    /// Position in the FDE sub-section, from 0.
    pub index: u32,
    /// Address of the function.
    pub start: u64,
    /// Size of the function, in bytes.
    pub size: u32,
    /// Where the function's rows start, in bytes from the start of the section.
    pub rows_offset: usize,
    /// Number of rows.
    pub num_rows: u32,
    /// Width of row starts.
    pub fre_type: FreType,
    /// How PCs are compared with row starts.
    pub pc_type: PcType,
    /// How data words are read.
    pub fde_type: FdeType,
    /// The key that signs return addresses. Meaningful on AArch64 only.
    pub pauth_key: PauthKey,
    /// Whether this is the frame of a signal handler's return (version 3; 2.3.3). Its caller
    /// was interrupted, and did not call it.
    pub signal: bool,
    /// Size of the repeated block of a mask FDE, in bytes; `None` in version 1.
    pub rep_size: Option<u8>,
    /// Whether this marks an outermost frame: version 3, default type, no rows (2.3.3.2).
    pub outermost: bool,
}

impl Fde {
    /// Returns whether the function covers an address.
    #[must_use]
    pub const fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.size as u64
    }
}

/// The part of an FDE that look-ups search by.
#[derive(Clone, Copy)]
pub(crate) struct FdeRange {
    pub(crate) start: u64,
    pub(crate) size: u32,
}

impl Section<'_> {
    /// Start and size of an FDE, without its rows and attributes.
    pub(crate) fn fde_range(&self, index: u32) -> Result<FdeRange, Error> {
        let offset = self.fde_offset(index)?;
        let clause = Clause::FdeIndex;
        let (relative, size) = match self.header().version {
            Version::V1 | Version::V2 => {
                let relative = i64::from(self.bytes.u32(offset, clause)?.cast_signed());
                (relative, self.bytes.u32(offset + 4, clause)?)
            }
            Version::V3 => {
                let relative = self.bytes.u64(offset, clause)?.cast_signed();
                (relative, self.bytes.u32(offset + 8, clause)?)
            }
        };
        let origin = self.fde_table().origin_of(index.into());
        Ok(FdeRange { start: origin.wrapping_add_signed(relative), size })
    }

    /// Reads the FDE at a position of the FDE sub-section (2.3.1, 2.3.2).
    ///
    /// # Errors
    /// No such FDE, rows outside the FRE sub-section, or an unknown type.
    pub fn fde(&self, index: u32) -> Result<Fde, Error> {
        let offset = self.fde_offset(index)?;
        let FdeRange { start, size } = self.fde_range(index)?;
        let index_clause = Clause::FdeIndex;

        // Where the fields are that version 3 moved into the attribute.
        let (fre_offset_at, attribute) = match self.header().version {
            Version::V1 | Version::V2 => (offset + 8, None),
            Version::V3 => (offset + 12, Some(Clause::FdeAttribute)),
        };
        let fre_offset = self.bytes.u32(fre_offset_at, index_clause)?;
        let data = self
            .fre_range()
            .start
            .checked_add(fre_offset as usize)
            .filter(|data| *data <= self.fre_range().end)
            .ok_or(ErrorKind::FreOffsetOutOfBounds(fre_offset).at(fre_offset_at))?;

        let (rows_offset, num_rows, info_at, info2, rep_size) = match attribute {
            Some(clause) => {
                let (needed, available) = (V3_FDE_ATTR_SIZE, self.fre_range().end - data);
                if available < needed {
                    return Err(ErrorKind::Truncated { needed, available, clause }.at(data));
                }
                let num_rows = u32::from(self.bytes.u16(data, clause)?);
                let info2 = self.bytes.u8(data + 3, clause)?;
                let rep_size = self.bytes.u8(data + 4, clause)?;
                (data + V3_FDE_ATTR_SIZE, num_rows, data + 2, info2, Some(rep_size))
            }
            None => {
                let num_rows = self.bytes.u32(offset + 12, index_clause)?;
                let rep_size = if self.header().version.has_rep_size() {
                    Some(self.bytes.u8(offset + 17, index_clause)?)
                } else {
                    None
                };
                (data, num_rows, offset + 16, SFRAME_FDE_TYPE_DEFAULT, rep_size)
            }
        };
        let info = self.bytes.u8(info_at, attribute.unwrap_or(index_clause))?;

        let fre_type = match info & 0xf {
            SFRAME_FRE_TYPE_ADDR1 => FreType::Addr1,
            SFRAME_FRE_TYPE_ADDR2 => FreType::Addr2,
            SFRAME_FRE_TYPE_ADDR4 => FreType::Addr4,
            unknown => return Err(ErrorKind::UnknownFreType(unknown).at(info_at)),
        };
        let fde_type = match info2 & 0x1f {
            SFRAME_FDE_TYPE_DEFAULT => FdeType::Default,
            SFRAME_FDE_TYPE_FLEX => FdeType::Flex,
            unknown => return Err(ErrorKind::UnknownFdeType(unknown).at(info_at + 1)),
        };
        let pc_type = if (info >> 4) & 1 == SFRAME_FDE_PCTYPE_MASK { PcType::Mask } else { PcType::Inc };
        if pc_type == PcType::Mask && rep_size == Some(0) {
            return Err(ErrorKind::ZeroRepSize.at(info_at));
        }
        let version = self.header().version;
        Ok(Fde {
            index,
            start,
            size,
            rows_offset,
            num_rows,
            fre_type,
            pc_type,
            fde_type,
            pauth_key: match (info >> 5) & 1 {
                SFRAME_AARCH64_PAUTH_KEY_B => PauthKey::B,
                _ => PauthKey::A,
            },
            signal: version.marks_signal_frames() && info & 0x80 != 0,
            rep_size,
            outermost: version.marks_outermost_functions() && fde_type == FdeType::Default && num_rows == 0,
        })
    }
}
