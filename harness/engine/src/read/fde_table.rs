//! The FDEs as they are stored. Searches read their starts only, and are compiled for one version
//! and one byte order.

use core::hint::select_unpredictable;

use crate::abi::ByteOrder;
use crate::constants::{
    SFRAME_FDE_TYPE_DEFAULT, V1_FDE_SIZE, V2_FDE_SIZE, V3_FDE_ATTR_SIZE, V3_FDE_INDEX_SIZE,
};
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

/// An FDE as it is stored (2.3.1).
#[derive(Clone, Copy)]
pub(crate) struct StoredFde {
    /// Address of the function.
    pub(crate) start: u64,
    /// Size of the function, in bytes.
    pub(crate) size: u32,
    /// Where its rows start or, in version 3, its attribute: in bytes from the start of the FRE
    /// sub-section.
    pub(crate) fre_offset: u32,
    /// What the FDE says of its rows; `None` in version 3, where the attribute does.
    pub(crate) attribute: Option<Attribute>,
}

impl StoredFde {
    /// Returns whether the function covers an address.
    #[inline]
    pub(crate) const fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.size as u64
    }
}

/// How the rows of a function are stored (2.3.2).
#[derive(Clone, Copy)]
pub(crate) struct Attribute {
    pub(crate) num_rows: u32,
    pub(crate) info: u8,
    pub(crate) info2: u8,
    /// `None` in version 1.
    pub(crate) rep_size: Option<u8>,
}

impl Attribute {
    /// Reads the attribute of an FDE of version 3.
    #[inline(always)]
    pub(crate) fn read(order: ByteOrder, bytes: [u8; V3_FDE_ATTR_SIZE]) -> Self {
        let [first, second, info, info2, rep_size] = bytes;
        let num_rows = match order {
            ByteOrder::Little => Little::u16([first, second]),
            ByteOrder::Big => Big::u16([first, second]),
        };
        Self { num_rows: num_rows.into(), info, info2, rep_size: Some(rep_size) }
    }
}

impl FdeTable<'_> {
    /// Returns the FDE at a position, or `None` past the last one.
    #[inline(always)]
    pub(crate) fn get(self, index: u32) -> Option<StoredFde> {
        match self.order {
            ByteOrder::Little => self.read::<Little>(index),
            ByteOrder::Big => self.read::<Big>(index),
        }
    }

    #[inline(always)]
    fn read<O: Order>(self, index: u32) -> Option<StoredFde> {
        let attribute = |num_rows, info, rep_size| {
            Some(Attribute { num_rows, info, info2: SFRAME_FDE_TYPE_DEFAULT, rep_size })
        };
        let (relative, size, fre_offset, attribute) = match self.version {
            Version::V1 => {
                let fde = self.entry::<V1_FDE_SIZE>(index)?;
                let [start, size, fre_offset, num_rows] = [0, 4, 8, 12].map(|at| u32_at::<O, _>(fde, at));
                (start.cast_signed().into(), size, fre_offset, attribute(num_rows, fde[16], None))
            }
            Version::V2 => {
                let fde = self.entry::<V2_FDE_SIZE>(index)?;
                let [start, size, fre_offset, num_rows] = [0, 4, 8, 12].map(|at| u32_at::<O, _>(fde, at));
                (start.cast_signed().into(), size, fre_offset, attribute(num_rows, fde[16], Some(fde[17])))
            }
            Version::V3 => {
                let fde = self.entry::<V3_FDE_INDEX_SIZE>(index)?;
                let [size, fre_offset] = [8, 12].map(|at| u32_at::<O, _>(fde, at));
                (start_of_64_bits::<O>(fde), size, fre_offset, None)
            }
        };
        let start = self.origin_of(index as usize).wrapping_add_signed(relative);
        Some(StoredFde { start, size, fre_offset, attribute })
    }

    #[inline]
    fn entry<const N: usize>(&self, index: u32) -> Option<&[u8; N]> {
        self.bytes.as_chunks().0.get(index as usize)
    }

    /// What the start of an FDE is relative to.
    #[inline]
    fn origin_of(&self, index: usize) -> u64 {
        self.origin.wrapping_add((index as u64).wrapping_mul(self.step))
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
            let is_up_to = self.origin_of(middle).wrapping_add_signed(relative(fde)) <= address;
            // Which half it is can't be predicted.
            low = select_unpredictable(is_up_to, middle + 1, low);
            high = select_unpredictable(is_up_to, high, middle);
        }
        // As many as the header counts.
        u32::try_from(low).unwrap_or(u32::MAX)
    }
}

/// The 4 bytes at an offset within an FDE.
#[inline]
fn u32_at<O: Order, const N: usize>(fde: &[u8; N], at: usize) -> u32 {
    fde.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| O::u32(*bytes))
}

#[inline]
fn start_of_32_bits<O: Order, const N: usize>(fde: &[u8; N]) -> i64 {
    u32_at::<O, N>(fde, 0).cast_signed().into()
}

#[inline]
fn start_of_64_bits<O: Order>(fde: &[u8; V3_FDE_INDEX_SIZE]) -> i64 {
    fde.first_chunk().map_or(0, |start| O::u64(*start).cast_signed())
}
