//! Numbers at offsets of a section, in the section's byte order.

use crate::abi::ByteOrder;
use crate::error::{Clause, Error, ErrorKind};

/// A byte order, known when the code is compiled.
pub(crate) trait Order {
    fn u16(bytes: [u8; 2]) -> u16;
    fn u32(bytes: [u8; 4]) -> u32;
    fn u64(bytes: [u8; 8]) -> u64;
}

/// The lowest byte first.
pub(crate) struct Little;

/// The highest byte first.
pub(crate) struct Big;

impl Order for Little {
    fn u16(bytes: [u8; 2]) -> u16 {
        u16::from_le_bytes(bytes)
    }

    fn u32(bytes: [u8; 4]) -> u32 {
        u32::from_le_bytes(bytes)
    }

    fn u64(bytes: [u8; 8]) -> u64 {
        u64::from_le_bytes(bytes)
    }
}

impl Order for Big {
    fn u16(bytes: [u8; 2]) -> u16 {
        u16::from_be_bytes(bytes)
    }

    fn u32(bytes: [u8; 4]) -> u32 {
        u32::from_be_bytes(bytes)
    }

    fn u64(bytes: [u8; 8]) -> u64 {
        u64::from_be_bytes(bytes)
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
