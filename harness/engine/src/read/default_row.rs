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

/// A row of default type as it is stored (2.4).
#[derive(Clone, Copy)]
pub(crate) struct StoredRow<'a> {
    window: &'a [u8; WINDOW],
    order: ByteOrder,
    fre_type: FreType,
    info: u8,
}

impl<'a> StoredRow<'a> {
    /// Returns the row at the start of a window, or `None` if it is not valid.
    #[inline(always)]
    pub(crate) fn read(
        window: &'a [u8; WINDOW],
        order: ByteOrder,
        fre_type: FreType,
        valid: ValidRows,
    ) -> Option<Self> {
        let info = *window.get(fre_type.width())?;
        valid.has(info).then_some(Self { window, order, fre_type, info })
    }

    /// Its start.
    #[inline(always)]
    pub(crate) fn start(&self) -> u32 {
        self.start_at(0)
    }

    /// The start of the next row, if there is one.
    #[inline(always)]
    pub(crate) fn next_start(&self) -> u32 {
        self.start_at(self.len())
    }

    /// Its length in bytes.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.fre_type.width() + 1 + (usize::from(self.count()) << self.size())
    }

    /// The CFA base.
    #[inline(always)]
    pub(crate) fn base(&self) -> Base {
        Base::of_info(self.info)
    }

    /// Whether the return address carries an authentication code.
    #[inline(always)]
    pub(crate) fn mangled_ra(&self) -> bool {
        self.info & 0x80 != 0
    }

    /// The number of data words.
    #[inline(always)]
    pub(crate) fn count(&self) -> u8 {
        (self.info >> 1) & 0xf
    }

    /// Returns a data word. What is past the last one means nothing.
    #[inline(always)]
    pub(crate) fn word(&self, index: u8) -> i32 {
        let bytes = self.four_at(self.fre_type.width() + 1 + (usize::from(index) << self.size()));
        let bits = 8 << self.size();
        match self.order {
            ByteOrder::Little => Little::leading_signed(bytes, bits),
            ByteOrder::Big => Big::leading_signed(bytes, bits),
        }
    }

    /// The size of a data word, as a power of two.
    #[inline(always)]
    fn size(&self) -> u8 {
        (self.info >> 5) & 3
    }

    #[inline(always)]
    fn start_at(&self, offset: usize) -> u32 {
        let (bytes, bits) = (self.four_at(offset), self.fre_type.bits());
        match self.order {
            ByteOrder::Little => Little::leading(bytes, bits),
            ByteOrder::Big => Big::leading(bytes, bits),
        }
    }

    #[inline(always)]
    fn four_at(&self, offset: usize) -> [u8; 4] {
        self.window.get(offset..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default()
    }
}
