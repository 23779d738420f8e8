//! The content of a section, owned.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::abi::Abi;
use crate::error::{Error, ErrorKind};
use crate::read::{self, DataWordSize, FdeType, Flags, FreType, PauthKey, PcType};
use crate::rule::Row;
use crate::version::Version;

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
    /// Width of row starts; `None` for the width that GNU as chooses by the size of the
    /// function.
    pub fre_type: Option<FreType>,
    /// How PCs are compared with row starts.
    pub pc_type: PcType,
    /// How data words are read.
    pub fde_type: FdeType,
    /// The key that signs return addresses.
    pub pauth_key: PauthKey,
    /// Whether this is a signal frame.
    pub signal: bool,
    /// Size of the repeated block of a mask FDE; `None` in version 1.
    pub rep_size: Option<u8>,
    /// Position of the function's rows among those of all functions in the FRE sub-section:
    /// linkers sort the FDEs and leave the rows in place.
    pub rows_position: u32,
    /// The rows. Their ends are not written: each follows from the start of the next.
    pub rows: Vec<Row>,
    /// Rows whose data words are wider than their values need, keyed by their starts.
    pub wide_rows: BTreeMap<u32, WideRow>,
}

/// A row whose data words are wider than their values need (2.4.1): GNU as 2.40 and 2.44 use
/// the next width for the smallest number of a width, such as -128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideRow {
    /// The row that has this width. A row with different content does not.
    pub row: Row,
    /// The width.
    pub data_words: DataWordSize,
}

impl Function {
    /// Returns the width of row starts that GNU as chooses for a function of this size.
    #[must_use]
    pub const fn usual_fre_type(size: u32) -> FreType {
        match size {
            0..=0xff => FreType::Addr1,
            0x100..=0xffff => FreType::Addr2,
            _ => FreType::Addr4,
        }
    }

    /// Returns the width that the data words of a row are known to have.
    pub(super) fn width_of(&self, row: &Row) -> Option<DataWordSize> {
        let wide = self.wide_rows.get(&row.start)?;
        // The end depends on the next row.
        (Row { end: row.end, ..wide.row } == *row).then_some(wide.data_words)
    }
}

impl Section {
    /// Takes over the content of a section. What the format ignores is not kept: bytes that
    /// nothing refers to, reserved bits.
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
            // Rows shared by many functions would multiply.
            len += reader.offset() - fde.rows_offset;
            if len > section.fre_range().len() {
                return Err(ErrorKind::SharedRows.at(fde.rows_offset));
            }
            let usual = Function::usual_fre_type(fde.size);
            // A function without rows shares the place of the one that follows it.
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
                wide_rows: BTreeMap::new(),
            });
        }
        offsets.sort_unstable();
        for (position, (.., function)) in (0..).zip(offsets) {
            functions[function].rows_position = position;
        }
        let mut owned = Self {
            version: header.version,
            flags: header.flags,
            abi: header.abi,
            fixed_fp_offset: header.fixed_fp_offset,
            fixed_ra_offset: header.fixed_ra_offset,
            auxiliary: section.auxiliary_header().to_vec(),
            functions,
        };
        for index in 0..owned.functions.len() {
            owned.functions[index].wide_rows = owned.wide_rows(section, index)?;
        }
        Ok(owned)
    }

    /// Returns the rows of a function whose data words are wider than they would be written.
    fn wide_rows(&self, section: &read::Section<'_>, index: usize) -> Result<BTreeMap<u32, WideRow>, Error> {
        let function = &self.functions[index];
        let mut wide = BTreeMap::new();
        let fde = section.fde(u32::try_from(index).unwrap_or(u32::MAX))?;
        for (fre, row) in section.fres(&fde).zip(&function.rows) {
            let data_words = fre?.data_word_size();
            let needed = self.data_words(function, row).ok().map(DataWordSize::width);
            if needed.is_some_and(|needed| needed < data_words.width()) {
                wide.insert(row.start, WideRow { row: *row, data_words });
            }
        }
        Ok(wide)
    }
}
