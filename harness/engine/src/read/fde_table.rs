//! Searches the FDEs as they are stored: only their starts are read. The search is compiled for one
//! version and one byte order.

use core::hint::select_unpredictable;

use crate::abi::ByteOrder;
use crate::constants::{V1_FDE_SIZE, V2_FDE_SIZE, V3_FDE_INDEX_SIZE};
use crate::read::bytes::{Big, Little, Order};
use crate::version::Version;

/// The FDEs of a section, and what their starts are relative to (2.3.1).
#[derive(Clone, Copy)]
pub(crate) struct FdeTable<'a> {
    pub(crate) version: Version,
    pub(crate) order: ByteOrder,
    pub(crate) bytes: &'a [u8],
    /// What the start of the first FDE is relative to.
    pub(crate) origin: u64,
    /// How much further that is for each one after it.
    pub(crate) step: u64,
}

impl FdeTable<'_> {
    /// Returns what the start of an FDE is relative to.
    #[inline(always)]
    pub(crate) const fn origin_of(self, index: u64) -> u64 {
        self.origin.wrapping_add(index.wrapping_mul(self.step))
    }

    /// Returns how many FDEs start at or before an address. They have to be sorted.
    pub(crate) fn starting_up_to(self, address: u64) -> u32 {
        match (self.version, self.order) {
            (Version::V1, ByteOrder::Little) => self.search(address, start_of_32_bits::<Little, V1_FDE_SIZE>),
            (Version::V1, ByteOrder::Big) => self.search(address, start_of_32_bits::<Big, V1_FDE_SIZE>),
            (Version::V2, ByteOrder::Little) => self.search(address, start_of_32_bits::<Little, V2_FDE_SIZE>),
            (Version::V2, ByteOrder::Big) => self.search(address, start_of_32_bits::<Big, V2_FDE_SIZE>),
            (Version::V3, ByteOrder::Little) => self.search(address, start_of_64_bits::<Little>),
            (Version::V3, ByteOrder::Big) => self.search(address, start_of_64_bits::<Big>),
        }
    }

    #[inline(always)]
    fn search<const N: usize>(self, address: u64, relative: impl Fn(&[u8; N]) -> i64) -> u32 {
        let (table, _) = self.bytes.as_chunks::<N>();
        let (mut low, mut high) = (0, table.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(fde) = table.get(middle) else { break };
            let start = self.origin_of(middle as u64).wrapping_add_signed(relative(fde));
            let is_up_to = start <= address;
            // Which half it is can't be predicted.
            low = select_unpredictable(is_up_to, middle + 1, low);
            high = select_unpredictable(is_up_to, high, middle);
        }
        // As many as the header counts.
        u32::try_from(low).unwrap_or(u32::MAX)
    }
}

fn start_of_32_bits<O: Order, const N: usize>(fde: &[u8; N]) -> i64 {
    fde.first_chunk().map_or(0, |start| O::u32(*start).cast_signed().into())
}

fn start_of_64_bits<O: Order>(fde: &[u8; V3_FDE_INDEX_SIZE]) -> i64 {
    fde.first_chunk().map_or(0, |start| O::u64(*start).cast_signed())
}
