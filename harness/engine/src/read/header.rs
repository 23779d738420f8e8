//! The preamble and the header (2.1, 2.2).

use crate::abi::{Abi, ByteOrder};
use crate::constants::{
    HEADER_SIZE, SFRAME_CFA_FIXED_FP_INVALID, SFRAME_CFA_FIXED_RA_INVALID, SFRAME_F_FDE_FUNC_START_PCREL,
    SFRAME_F_FDE_SORTED, SFRAME_F_FRAME_POINTER, SFRAME_MAGIC,
};
use crate::error::{Clause, Error, ErrorKind};
use crate::read::bytes::Bytes;
use crate::version::Version;

/// The flags of the preamble (2.1.3). Bits without a meaning are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// FDEs are sorted by start address.
    #[must_use]
    pub const fn sorted(self) -> bool {
        self.0 & SFRAME_F_FDE_SORTED != 0
    }

    /// All functions keep a frame pointer (versions 1 and 2).
    #[must_use]
    pub const fn frame_pointer(self) -> bool {
        self.0 & SFRAME_F_FRAME_POINTER != 0
    }

    /// Start addresses are relative to their own field (version 2 errata 1, version 3).
    #[must_use]
    pub const fn func_start_pcrel(self) -> bool {
        self.0 & SFRAME_F_FDE_FUNC_START_PCREL != 0
    }
}

/// The header of a section (2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version of the format.
    pub version: Version,
    /// Section-wide flags.
    pub flags: Flags,
    /// The ABI; it also fixes the byte order.
    pub abi: Abi,
    /// Offset of the saved FP from the CFA where it is the same in every row, in bytes.
    pub fixed_fp_offset: Option<i8>,
    /// Offset of the return address from the CFA where it is the same in every row, in bytes.
    pub fixed_ra_offset: Option<i8>,
    /// Length of the auxiliary header, in bytes.
    pub auxhdr_len: u8,
    /// Number of FDEs.
    pub num_fdes: u32,
    /// Number of FREs, all functions together.
    pub num_fres: u32,
    /// Length of the FRE sub-section, in bytes.
    pub fre_len: u32,
    /// Start of the FDE sub-section, in bytes from the end of the header.
    pub fdeoff: u32,
    /// Start of the FRE sub-section, in bytes from the end of the header.
    pub freoff: u32,
}

impl Header {
    /// Reads preamble and header, and determines the byte order from the magic number (2.1.1).
    ///
    /// # Errors
    /// Too few bytes, an unknown magic number, version or ABI, or a byte
    /// order that is not the ABI's.
    pub fn parse(data: &[u8]) -> Result<Self, Error> {
        let magic = Bytes::new(data, ByteOrder::Little).u16(0, Clause::Preamble)?;
        let order = if magic == SFRAME_MAGIC {
            ByteOrder::Little
        } else if magic.swap_bytes() == SFRAME_MAGIC {
            ByteOrder::Big
        } else {
            return Err(ErrorKind::BadMagic(magic).at(0));
        };

        let bytes = Bytes::new(data, order);
        let version = bytes.u8(2, Clause::Preamble)?;
        let version = Version::from_number(version).ok_or(ErrorKind::UnknownVersion(version).at(2))?;
        if data.len() < HEADER_SIZE {
            let clause = Clause::Header;
            return Err(ErrorKind::Truncated { needed: HEADER_SIZE, available: data.len(), clause }.at(0));
        }
        let abi = bytes.u8(4, Clause::Header)?;
        let abi =
            Abi::from_id(abi).filter(|abi| version.has_abi(*abi)).ok_or(ErrorKind::UnknownAbi(abi).at(4))?;
        if abi.byte_order() != order {
            return Err(ErrorKind::WrongByteOrder(abi).at(0));
        }
        let fixed = |offset: usize, invalid: i8| {
            let value = bytes.u8(offset, Clause::Header)?.cast_signed();
            Ok((value != invalid).then_some(value))
        };
        let word = |offset: usize| bytes.u32(offset, Clause::Header);
        Ok(Self {
            version,
            flags: Flags(bytes.u8(3, Clause::Preamble)?),
            abi,
            fixed_fp_offset: fixed(5, SFRAME_CFA_FIXED_FP_INVALID)?,
            fixed_ra_offset: fixed(6, SFRAME_CFA_FIXED_RA_INVALID)?,
            auxhdr_len: bytes.u8(7, Clause::Header)?,
            num_fdes: word(8)?,
            num_fres: word(12)?,
            fre_len: word(16)?,
            fdeoff: word(20)?,
            freoff: word(24)?,
        })
    }

    /// Returns the end of the header with its auxiliary part, in bytes from the start of the
    /// section (2.2). The offsets of both sub-sections count from here.
    #[must_use]
    pub const fn end(&self) -> usize {
        HEADER_SIZE + self.auxhdr_len as usize
    }

    /// Whether start addresses are relative to their own field (2.1.3). The bit
    /// means nothing where the version does not know the flag.
    #[must_use]
    pub const fn start_is_pcrel(&self) -> bool {
        self.version.has_pcrel_starts() && self.flags.func_start_pcrel()
    }
}
