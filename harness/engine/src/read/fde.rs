//! Function descriptor entries (2.3). Versions 1 and 2 keep an FDE in one structure; version 3
//! splits it into index and attribute.

use crate::constants::{
    SFRAME_AARCH64_PAUTH_KEY_B, SFRAME_FDE_PCTYPE_MASK, SFRAME_FDE_TYPE_DEFAULT, SFRAME_FDE_TYPE_FLEX,
    SFRAME_FRE_TYPE_ADDR1, SFRAME_FRE_TYPE_ADDR2, SFRAME_FRE_TYPE_ADDR4, V3_FDE_ATTR_SIZE,
};
use crate::error::{Clause, Error, ErrorKind};
use crate::read::fde_table::{Attribute, StoredFde};
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

    /// Width in bits.
    pub(crate) const fn bits(self) -> u32 {
        match self {
            Self::Addr1 => u8::BITS,
            Self::Addr2 => u16::BITS,
            Self::Addr4 => u32::BITS,
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

impl Section<'_> {
    /// An FDE as it is stored.
    #[inline(always)]
    pub(crate) fn stored_fde(&self, index: u32) -> Result<StoredFde, Error> {
        self.fde_table().get(index).ok_or_else(|| self.no_such_fde(index))
    }

    /// Reads the FDE at a position of the FDE sub-section (2.3.1, 2.3.2).
    ///
    /// # Errors
    /// No such FDE, rows outside the FRE sub-section, or an unknown type.
    #[inline]
    pub fn fde(&self, index: u32) -> Result<Fde, Error> {
        self.fde_of(index, self.stored_fde(index)?)
    }

    /// Reads the FDE at a position, whose part in the FDE sub-section is known.
    #[inline(always)]
    pub(crate) fn fde_of(&self, index: u32, stored: StoredFde) -> Result<Fde, Error> {
        let StoredFde { start, size, fre_offset, attribute } = stored;
        let fres = self.fre_range();
        let data = fres.start.checked_add(fre_offset as usize).filter(|data| *data <= fres.end);
        let data = data.ok_or_else(|| self.fre_offset_out_of_bounds(index, fre_offset))?;
        let (rows_offset, attribute) = match attribute {
            Some(attribute) => (data, attribute),
            None => (data + V3_FDE_ATTR_SIZE, self.attribute(data)?),
        };
        let Attribute { num_rows, info, info2, rep_size } = attribute;
        let info_at = || self.info_offset(index, data);
        let fre_type = match info & 0xf {
            SFRAME_FRE_TYPE_ADDR1 => FreType::Addr1,
            SFRAME_FRE_TYPE_ADDR2 => FreType::Addr2,
            SFRAME_FRE_TYPE_ADDR4 => FreType::Addr4,
            unknown => return Err(ErrorKind::UnknownFreType(unknown).at(info_at())),
        };
        let fde_type = match info2 & 0x1f {
            SFRAME_FDE_TYPE_DEFAULT => FdeType::Default,
            SFRAME_FDE_TYPE_FLEX => FdeType::Flex,
            unknown => return Err(ErrorKind::UnknownFdeType(unknown).at(info_at() + 1)),
        };
        let pc_type = if (info >> 4) & 1 == SFRAME_FDE_PCTYPE_MASK { PcType::Mask } else { PcType::Inc };
        if pc_type == PcType::Mask && rep_size == Some(0) {
            return Err(ErrorKind::ZeroRepSize.at(info_at()));
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

    /// Reads the attribute of an FDE of version 3.
    #[inline(always)]
    fn attribute(&self, offset: usize) -> Result<Attribute, Error> {
        let bytes = self.bytes.slice(offset..self.fre_range().end);
        match bytes.first_chunk() {
            Some(bytes) => Ok(Attribute::read(self.header().abi.byte_order(), *bytes)),
            None => {
                let (needed, available) = (V3_FDE_ATTR_SIZE, bytes.len());
                let clause = Clause::FdeAttribute;
                Err(ErrorKind::Truncated { needed, available, clause }.at(offset))
            }
        }
    }

    /// Where the first info byte of an FDE is, in bytes from the start of the section. `data` is
    /// where its rows or its attribute start.
    #[cold]
    fn info_offset(&self, index: u32, data: usize) -> usize {
        match self.header().version {
            Version::V1 | Version::V2 => self.fde_offset(index) + 16,
            Version::V3 => data + 2,
        }
    }

    #[cold]
    fn no_such_fde(&self, index: u32) -> Error {
        ErrorKind::NoSuchFde(index).at(self.fde_offset(0))
    }

    #[cold]
    fn fre_offset_out_of_bounds(&self, index: u32, fre_offset: u32) -> Error {
        let field = match self.header().version {
            Version::V1 | Version::V2 => 8,
            Version::V3 => 12,
        };
        ErrorKind::FreOffsetOutOfBounds(fre_offset).at(self.fde_offset(index) + field)
    }
}
