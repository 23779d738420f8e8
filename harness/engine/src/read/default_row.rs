//! Rows of default type, read from a fixed number of bytes at once: what all of them need lies
//! within these, so that nothing but the size of the section has to be checked.

use crate::abi::ByteOrder;
use crate::read::bytes::{Big, Little, Order};
use crate::read::fde::FreType;
use crate::read::row_table::ValidRows;
use crate::rule::Base;

/// The longest row of default type and the start of the next one, rounded up: a start of 4 bytes,
/// the info byte, 3 data words of 4 bytes, and a start of 4 bytes.
pub(crate) const WINDOW: usize = 24;

/// The most data words that a row of default type has (3.1).
pub(crate) const WORDS: usize = 3;

/// A row of default type as it is stored (2.4).
#[derive(Clone, Copy)]
pub(crate) struct StoredRow {
    /// Its start.
    pub(crate) start: u32,
    pub(crate) base: Base,
    pub(crate) mangled_ra: bool,
    /// Its number of data words.
    pub(crate) count: u8,
    /// Its data words. What is past the last one means nothing.
    pub(crate) words: [i32; WORDS],
    /// Its length in bytes.
    pub(crate) len: usize,
    /// The start of the next row, if there is one.
    pub(crate) next_start: u32,
}

impl StoredRow {
    /// Reads the row at the start of a window, or returns `None` if it is not valid.
    #[inline(always)]
    pub(crate) fn read(
        window: &[u8; WINDOW],
        order: ByteOrder,
        fre_type: FreType,
        valid: ValidRows,
    ) -> Option<Self> {
        match order {
            ByteOrder::Little => Self::read_in_order::<Little>(window, fre_type, valid),
            ByteOrder::Big => Self::read_in_order::<Big>(window, fre_type, valid),
        }
    }

    #[inline(always)]
    fn read_in_order<O: Order>(window: &[u8; WINDOW], fre_type: FreType, valid: ValidRows) -> Option<Self> {
        let width = fre_type.width();
        let info = *window.get(width)?;
        if !valid.has(info) {
            return None;
        }
        let (count, size) = ((info >> 1) & 0xf, (info >> 5) & 3);
        let len = width + 1 + (usize::from(count) << size);
        let word = |index: usize| -> Option<i32> {
            let bytes = window.get(width + 1 + (index << size)..)?.first_chunk()?;
            Some(O::leading_signed(*bytes, 8 << size))
        };
        let start = |at: usize| -> Option<u32> {
            let bytes = window.get(at..)?.first_chunk()?;
            Some(O::leading(*bytes, fre_type.bits()))
        };
        Some(Self {
            start: start(0)?,
            base: Base::of_info(info),
            mangled_ra: info & 0x80 != 0,
            count,
            words: [word(0)?, word(1)?, word(2)?],
            len,
            next_start: start(len)?,
        })
    }
}
