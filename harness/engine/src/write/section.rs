//! What a section says, owned.

use alloc::vec::Vec;

use crate::abi::Abi;
use crate::error::{Error, ErrorKind};
use crate::read::{self, FdeType, Flags, FreType, PauthKey, PcType, Version};
use crate::rule::Row;

/// A section that can be changed and written (2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Version of the format.
    pub version: Version,
    /// Section-wide flags.
    pub flags: Flags,
    /// The ABI; it also fixes the byte order.
    pub abi: Abi,
    /// Offset of the saved FP from the CFA where it is the same in every row.
    pub fixed_fp_offset: Option<i8>,
    /// Offset of the return address from the CFA where it is the same in every row.
    pub fixed_ra_offset: Option<i8>,
    /// The auxiliary header.
    pub auxiliary: Vec<u8>,
    /// The functions, in the order of the FDE sub-section.
    pub functions: Vec<Function>,
}

/// A function with its rows (2.3, 2.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Address of the function.
    pub start: u64,
    /// Size of the function, in bytes.
    pub size: u32,
    /// Width of row starts. None for the one that GNU as takes: by the size
    /// of the function.
    pub fre_type: Option<FreType>,
    /// How PCs are compared with row starts.
    pub pc_type: PcType,
    /// How data words are read.
    pub fde_type: FdeType,
    /// The key that signs return addresses.
    pub pauth_key: PauthKey,
    /// Whether this is a signal frame.
    pub signal: bool,
    /// Size of the repeated block of a mask FDE. None in version 1.
    pub rep_size: Option<u8>,
    /// Position of the function's rows among all functions' in the FRE
    /// sub-section: linkers sort the FDEs and leave the rows where they were.
    pub rows_position: u32,
    /// The rows. Their ends are not written: each follows from the next start.
    pub rows: Vec<Row>,
}

impl Function {
    /// The width of row starts that GNU as takes for a function of a size.
    #[must_use]
    pub const fn usual_fre_type(size: u32) -> FreType {
        match size {
            0..=0xff => FreType::Addr1,
            0x100..=0xffff => FreType::Addr2,
            _ => FreType::Addr4,
        }
    }
}

impl Section {
    /// Takes over all that a section says. What the format ignores is not
    /// kept: bytes that nothing refers to, reserved bits.
    ///
    /// # Errors
    /// An FDE or row is malformed, or functions share rows.
    pub fn from_read(section: &read::Section<'_>) -> Result<Self, Error> {
        let header = section.header();
        let mut functions = Vec::new();
        let mut offsets = Vec::new();
        let mut len = 0;
        for fde in section.fdes() {
            let fde = fde?;
            let mut reader = section.rows(&fde);
            let rows = reader.by_ref().collect::<Result<Vec<_>, _>>()?;
            // Rows that many functions share would multiply.
            len += reader.offset() - fde.rows_offset;
            if len > section.fre_range().len() {
                return Err(ErrorKind::SharedRows.at(fde.rows_offset));
            }
            let usual = Function::usual_fre_type(fde.size);
            // A function without rows has the place of the one that follows it.
            offsets.push((fde.rows_offset, rows.len(), functions.len()));
            functions.push(Function {
                start: fde.start,
                size: fde.size,
                fre_type: (fde.fre_type != usual).then_some(fde.fre_type),
                pc_type: fde.pc_type,
                fde_type: fde.fde_type,
                pauth_key: fde.pauth_key,
                signal: fde.signal,
                rep_size: fde.rep_size,
                rows_position: 0,
                rows,
            });
        }
        offsets.sort_unstable();
        for (position, (.., function)) in (0..).zip(offsets) {
            functions[function].rows_position = position;
        }
        Ok(Self {
            version: header.version,
            flags: header.flags,
            abi: header.abi,
            fixed_fp_offset: header.fixed_fp_offset,
            fixed_ra_offset: header.fixed_ra_offset,
            auxiliary: section.auxiliary_header().to_vec(),
            functions,
        })
    }
}
