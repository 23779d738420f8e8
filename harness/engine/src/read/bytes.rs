//! Numbers at offsets of a section, in the section's byte order.

use crate::abi::ByteOrder;
use crate::error::{Clause, Error, ErrorKind};

/// A byte order, known when the code is compiled.
pub(crate) trait Order {
    fn u16(bytes: [u8; 2]) -> u16;
    fn u32(bytes: [u8; 4]) -> u32;
    fn u64(bytes: [u8; 8]) -> u64;

    /// Returns the number in the first 1, 2 or 4 of some bytes, whose width is given in bits.
    fn leading(bytes: [u8; 4], width: u32) -> u32;

    /// Returns that number with its sign.
    #[inline]
    fn leading_signed(bytes: [u8; 4], width: u32) -> i32 {
        let unused = 32 - width;
        (Self::leading(bytes, width) << unused).cast_signed() >> unused
    }
}

/// The lowest byte first.
pub(crate) struct Little;

/// The highest byte first.
pub(crate) struct Big;

impl Order for Little {
    #[inline]
    fn u16(bytes: [u8; 2]) -> u16 {
        u16::from_le_bytes(bytes)
    }

    #[inline]
    fn u32(bytes: [u8; 4]) -> u32 {
        u32::from_le_bytes(bytes)
    }

    #[inline]
    fn u64(bytes: [u8; 8]) -> u64 {
        u64::from_le_bytes(bytes)
    }

    #[inline]
    fn leading(bytes: [u8; 4], width: u32) -> u32 {
        u32::from_le_bytes(bytes) & (u32::MAX >> (32 - width))
    }
}

impl Order for Big {
    #[inline]
    fn u16(bytes: [u8; 2]) -> u16 {
        u16::from_be_bytes(bytes)
    }

    #[inline]
    fn u32(bytes: [u8; 4]) -> u32 {
        u32::from_be_bytes(bytes)
    }

    #[inline]
    fn u64(bytes: [u8; 8]) -> u64 {
        u64::from_be_bytes(bytes)
    }

    #[inline]
    fn leading(bytes: [u8; 4], width: u32) -> u32 {
        u32::from_be_bytes(bytes) >> (32 - width)
    }
}

/// A section's bytes with their order. Every read is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    data: &'a [u8],
    order: ByteOrder,
}

impl<'a> Bytes<'a> {
    pub(crate) const fn new(data: &'a [u8], order: ByteOrder) -> Self {
        Self { data, order }
    }

    pub(crate) const fn len(self) -> usize {
        self.data.len()
    }

    /// Returns the first `end` bytes; offsets do not change.
    pub(crate) fn until(self, end: usize) -> Self {
        Self { data: self.data.get(..end).unwrap_or(self.data), order: self.order }
    }

    pub(crate) const fn order(self) -> ByteOrder {
        self.order
    }

    /// Returns the `N` bytes from an offset on, or `None` if there are fewer.
    #[inline]
    pub(crate) fn window<const N: usize>(self, offset: usize) -> Option<&'a [u8; N]> {
        self.data.get(offset..)?.first_chunk()
    }

    /// Returns part of the bytes, or `None` if it reaches past the end.
    pub(crate) fn slice(self, range: core::ops::Range<usize>) -> &'a [u8] {
        self.data.get(range).unwrap_or_default()
    }

    fn array<const N: usize>(self, offset: usize, clause: Clause) -> Result<[u8; N], Error> {
        offset
            .checked_add(N)
            .and_then(|end| self.data.get(offset..end))
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| {
                let available = self.data.len().saturating_sub(offset);
                ErrorKind::Truncated { needed: N, available, clause }.at(offset)
            })
    }

    pub(crate) fn u8(self, offset: usize, clause: Clause) -> Result<u8, Error> {
        self.array::<1>(offset, clause).map(|[byte]| byte)
    }

    pub(crate) fn u16(self, offset: usize, clause: Clause) -> Result<u16, Error> {
        let bytes = self.array(offset, clause)?;
        Ok(match self.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        })
    }

    pub(crate) fn u32(self, offset: usize, clause: Clause) -> Result<u32, Error> {
        let bytes = self.array(offset, clause)?;
        Ok(match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        })
    }

    pub(crate) fn u64(self, offset: usize, clause: Clause) -> Result<u64, Error> {
        let bytes = self.array(offset, clause)?;
        Ok(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }
}
