//! What relocations compute, and where they put it.

use sframe_engine::ByteOrder;

/// What a relocation of some type does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Howto {
    /// Nothing: it only marks its place. So do offsets in thread-local storage, which
    /// stay 0.
    Nothing,
    /// It puts the distance from an origin to a target into a field.
    Distance(Target, Origin, Field),
}

/// Where a relocation leads, before its addend is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// To the symbol.
    Symbol,
    /// To the symbol's entry in the GOT.
    Entry(Content),
    /// To the GOT itself.
    Got,
    /// Nowhere: it is the symbol's size.
    Size,
}

/// What an entry of the GOT contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Content {
    /// The symbol's address.
    Address,
    /// What a loader says of a thread-local symbol: here, zeros.
    ThreadLocal,
}

/// What a target is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// To 0.
    Zero,
    /// To the place that is relocated.
    Place,
    /// To the page of that place; of the target, only its page counts.
    Page,
    /// To the GOT.
    Got,
    /// To the page where the GOT starts.
    PageOfGot,
}

/// Bits of an instruction or a datum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The number of bytes that contain it.
    pub(super) size: u8,
    /// The lowest bit of the value that is kept; those below are not in the field.
    pub(super) low: u8,
    /// Where the bits from there on go.
    pub(super) parts: &'static [Part],
    /// Which values it can have.
    pub(super) range: Range,
    /// Whether its bytes are an instruction's, whose order may differ from that of data.
    pub(super) is_code: bool,
}

/// Bits of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The number of bits.
    pub(super) len: u8,
    /// The lowest bit that they go to.
    pub(super) at: u8,
}

/// The values that a field can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    /// Those of its bits as a number with a sign.
    Signed,
    /// Those of its bits as a number without a sign.
    Unsigned,
    /// Both.
    Either,
    /// Any: higher bits are in other fields.
    Any,
}

/// A number of this many bytes.
pub(super) const fn data(size: u8, range: Range) -> Field {
    let parts: &[Part] = match size {
        1 => &[Part { len: 8, at: 0 }],
        2 => &[Part { len: 16, at: 0 }],
        4 => &[Part { len: 32, at: 0 }],
        _ => &[Part { len: 64, at: 0 }],
    };
    Field { size, low: 0, parts, range, is_code: false }
}

/// The orders of the bytes of data, and of instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Orders {
    pub(super) data: ByteOrder,
    pub(super) code: ByteOrder,
}

impl Field {
    /// Puts a value into the field of the bytes that begin at its place. Returns whether
    /// it fits; if not, nothing changes.
    pub(super) fn put(&self, orders: Orders, bytes: &mut [u8], value: u64) -> bool {
        let Some(bytes) = bytes.get_mut(..self.size.into()) else { return false };
        let is_little = (if self.is_code { orders.code } else { orders.data }) == ByteOrder::Little;
        let len: u32 = self.parts.iter().map(|part| u32::from(part.len)).sum();
        let kept = value.cast_signed() >> self.low;
        let is_aligned = self.range == Range::Any || kept << self.low == value.cast_signed();
        let above = kept.checked_shr(len).unwrap_or(if kept < 0 { -1 } else { 0 });
        let sign = kept >> (len - 1);
        let fits = match self.range {
            Range::Signed => sign == 0 || sign == -1,
            Range::Unsigned => above == 0,
            Range::Either => above == 0 || sign == -1,
            Range::Any => true,
        };
        // All 64 bits are in it.
        if !is_aligned || (len < 64 && !fits) {
            return false;
        }
        let mut rest = kept.cast_unsigned();
        let mut word = 0_u64;
        let ordered = |index: usize| if is_little { index } else { usize::from(self.size) - 1 - index };
        for index in 0..usize::from(self.size) {
            word |= u64::from(bytes[ordered(index)]) << (8 * index);
        }
        for part in self.parts {
            let ones = u64::MAX >> (64 - part.len);
            word = word & !(ones << part.at) | (rest & ones) << part.at;
            rest = rest.checked_shr(part.len.into()).unwrap_or(0);
        }
        let changed = word.to_le_bytes();
        for index in 0..usize::from(self.size) {
            bytes[ordered(index)] = changed[index];
        }
        true
    }
}
