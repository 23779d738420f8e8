//! Searches the rows of a function as they are stored: only their starts and lengths are read. The
//! search is compiled for one width of starts and one byte order.

use crate::abi::ByteOrder;
use crate::read::bytes::{Big, Little, Order};
use crate::read::fde::FreType;

/// The rows of a function, and what makes one of them well-formed (2.4).
#[derive(Clone, Copy)]
pub(crate) struct RowTable<'a> {
    pub(crate) order: ByteOrder,
    pub(crate) fre_type: FreType,
    /// From the first row to the end of the FRE sub-section.
    pub(crate) bytes: &'a [u8],
    pub(crate) count: u32,
    pub(crate) valid: ValidRows,
}

/// Which sizes and counts of data words a row may have: a bit for each value of these bits of
/// its info byte (2.4.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValidRows(u64);

impl ValidRows {
    /// Rows with these numbers of data words, of any known size.
    #[inline]
    pub(crate) const fn with_words(least: u8, most: u8) -> Self {
        let counts = (2 << most) - (1 << least);
        Self(counts | counts << 16 | counts << 32)
    }

    #[inline]
    pub(crate) fn has(self, info: u8) -> bool {
        self.0 >> ((info >> 1) & 0x3f) & 1 != 0
    }
}

/// A row that was found.
#[derive(Clone, Copy)]
pub(crate) struct FoundRow {
    /// Its position.
    pub(crate) index: u32,
    /// Where it is, in bytes from the start of the first row that was searched.
    pub(crate) at: usize,
}

/// A row up to the one that starts after the offset is malformed.
pub(crate) struct Malformed;

impl RowTable<'_> {
    /// Returns the last row that starts at or before an offset, before any that starts after it.
    pub(crate) fn last_up_to(self, offset: u64) -> Result<Option<FoundRow>, Malformed> {
        match (self.fre_type, self.order) {
            (FreType::Addr1, _) => self.search::<1>(offset, |[start]| u32::from(start)),
            (FreType::Addr2, ByteOrder::Little) => self.search(offset, |start| Little::u16(start).into()),
            (FreType::Addr2, ByteOrder::Big) => self.search(offset, |start| Big::u16(start).into()),
            (FreType::Addr4, ByteOrder::Little) => self.search(offset, Little::u32),
            (FreType::Addr4, ByteOrder::Big) => self.search(offset, Big::u32),
        }
    }

    #[inline(always)]
    fn search<const WIDTH: usize>(
        self,
        offset: u64,
        number: impl Fn([u8; WIDTH]) -> u32,
    ) -> Result<Option<FoundRow>, Malformed> {
        let mut found = None;
        let mut at = 0;
        for index in 0..self.count {
            let row = self.bytes.get(at..).and_then(|row| row.split_first_chunk::<WIDTH>());
            let Some((start, &[info, ..])) = row else { return Err(Malformed) };
            let next = at + WIDTH + 1 + (usize::from(info >> 1 & 0xf) << (info >> 5 & 3));
            if !self.valid.has(info) || next > self.bytes.len() {
                return Err(Malformed);
            }
            if u64::from(number(*start)) > offset {
                break;
            }
            found = Some(FoundRow { index, at });
            at = next;
        }
        Ok(found)
    }
}
