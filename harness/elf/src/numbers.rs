//! Numbers of any width, in the byte order of a file.

use sframe_engine::ByteOrder;

/// Reads an unsigned number of at most 8 bytes.
pub(crate) fn unsigned(bytes: &[u8], order: ByteOrder) -> u64 {
    let push = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    match order {
        ByteOrder::Little => bytes.iter().rev().fold(0, push),
        ByteOrder::Big => bytes.iter().fold(0, push),
    }
}

/// Reads a signed number of at most 8 bytes.
pub(crate) fn signed(bytes: &[u8], order: ByteOrder) -> i64 {
    let unused = 64 - 8 * bytes.len().clamp(1, 8);
    (unsigned(bytes, order) << unused).cast_signed() >> unused
}
