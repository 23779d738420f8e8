//! Frame row entries (2.4): what is stored.

use crate::error::{Clause, Error};
use crate::read::{Bytes, FreType};

/// Why a row, and so all rows after it, can't be read.
pub(super) enum Fault {
    /// It does not fit.
    Truncated,
    /// Its data words have the reserved size.
    WordSize {
        /// The offset of the info byte.
        at: usize,
    },
}

impl From<Error> for Fault {
    fn from(_: Error) -> Self {
        Self::Truncated
    }
}

/// A row as it is stored.
#[derive(Clone, Copy)]
pub(super) struct Fre {
    pub(super) start: u32,
    pub(super) info: u8,
    pub(super) info_at: usize,
    /// Width of a data word, in bytes.
    pub(super) width: usize,
    pub(super) count: u8,
    words: [i32; 15],
    pub(super) end: usize,
}

pub(super) fn read(bytes: Bytes<'_>, offset: usize, fre_type: FreType) -> Result<Fre, Fault> {
    let start = number(bytes, offset, fre_type.width())?;
    let start = match fre_type {
        FreType::Addr1 => start & 0xff,
        FreType::Addr2 => start & 0xffff,
        FreType::Addr4 => start,
    };
    let info_at = offset + fre_type.width();
    let info = bytes.u8(info_at, Clause::FreInfo)?;
    let size = (info >> 5) & 3;
    if size == 3 {
        return Err(Fault::WordSize { at: info_at });
    }
    let width = 1 << size;
    let count = (info >> 1) & 0xf;
    let mut words = [0; 15];
    let mut end = info_at + 1;
    for word in words.iter_mut().take(count.into()) {
        *word = number(bytes, end, width)?.cast_signed();
        end += width;
    }
    Ok(Fre { start, info, info_at, width, count, words, end })
}

/// A number of 1, 2 or 4 bytes, with its sign extended.
fn number(bytes: Bytes<'_>, offset: usize, width: usize) -> Result<u32, Error> {
    let clause = Clause::Fre;
    Ok(match width {
        1 => i32::from(bytes.u8(offset, clause)?.cast_signed()).cast_unsigned(),
        2 => i32::from(bytes.u16(offset, clause)?.cast_signed()).cast_unsigned(),
        _ => bytes.u32(offset, clause)?,
    })
}

impl Fre {
    pub(super) fn words(&self) -> &[i32] {
        self.words.get(..self.count.into()).unwrap_or_default()
    }

    /// Returns a data word as an unsigned number, as flex control words are.
    pub(super) fn control(&self, word: i32) -> u32 {
        match self.width {
            1 => word.cast_unsigned() & 0xff,
            2 => word.cast_unsigned() & 0xffff,
            _ => word.cast_unsigned(),
        }
    }

    pub(super) const fn is_sp_based(&self) -> bool {
        self.info & 1 == crate::constants::SFRAME_BASE_REG_SP
    }

    /// Returns whether two rows have the same content, in any width.
    pub(super) fn says_the_same_as(&self, other: &Self) -> bool {
        // All bits except the width of the data words.
        (self.info ^ other.info) & !0x60 == 0 && self.words() == other.words()
    }
}
