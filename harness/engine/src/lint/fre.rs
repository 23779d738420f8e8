//! Frame row entries (2.4): what is stored.

use crate::error::{Clause, Error};
use crate::lint::catalogue as rules;
use crate::lint::finding::Value;
use crate::lint::flex;
use crate::lint::header::Layout;
use crate::lint::recovery;
use crate::lint::section::{Place, Reporter};
use crate::read::{Bytes, FdeType, FreType, Version};

/// Why a row, and so all rows behind it, can't be read.
pub(super) enum Fault {
    /// It does not fit.
    Truncated,
    /// Its data words have the reserved size.
    WordSize {
        /// Where the info byte is.
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
    info: u8,
    info_at: usize,
    /// Width of a data word, in bytes.
    pub(super) width: usize,
    count: u8,
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

    /// A data word as the unsigned number that a flex control word is.
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

    /// Whether two rows, with whatever widths, hold the same.
    pub(super) fn says_the_same_as(&self, other: &Self) -> bool {
        // All but the width of the data words.
        (self.info ^ other.info) & !0x60 == 0 && self.words() == other.words()
    }

    /// Checks what the row holds. Whether a default row could hold it too.
    pub(super) fn check(
        &self,
        layout: &Layout<'_>,
        fde_type: FdeType,
        place: Place,
        out: &mut Reporter<'_>,
    ) -> bool {
        let info_place = place.with_offset(self.info_at);
        if let Some(abi) = layout.abi.filter(|_| self.info & 0x80 != 0 && !layout.is_aarch64()) {
            out.report(&rules::MANGLED_RA, info_place, [abi.name()]);
        }
        self.check_width(fde_type, info_place, out);
        if self.count == 0 && layout.version != Version::V1 {
            out.say(&rules::RA_UNDEFINED, info_place);
            return true;
        }
        match (fde_type, layout.abi) {
            // What is fixed, and so where FP is, depends on the ABI.
            (FdeType::Default, None) => {
                if self.count == 0 || self.count > 3 {
                    let values = [Value::from(self.count), Value::Text("any ABI")];
                    out.report(&rules::WORD_COUNT, info_place, values);
                }
                true
            }
            (FdeType::Default, Some(abi)) => {
                recovery::check_default(self, layout, abi, info_place, out);
                true
            }
            (FdeType::Flex, abi) => flex::check(self, layout, abi, info_place, out),
        }
    }

    fn check_width(&self, fde_type: FdeType, place: Place, out: &mut Reporter<'_>) {
        let fits = |width: u32| {
            let bits = width * 8;
            // Control words are unsigned; they start pairs, and 0 is a pair of its own.
            let mut is_control = fde_type == FdeType::Flex;
            self.words().iter().all(|word| {
                let signed = i64::from(*word);
                let (low, high) =
                    if is_control { (0, 1 << bits) } else { (-(1 << (bits - 1)), 1 << (bits - 1)) };
                let value = if is_control { i64::from(self.control(*word)) } else { signed };
                is_control = fde_type == FdeType::Flex && (!is_control || value == 0);
                (low..high).contains(&value)
            })
        };
        let needed = [1, 2].into_iter().find(|width| fits(*width));
        if let Some(needed) = needed.filter(|needed| (*needed as usize) < self.width && self.count > 0) {
            let values = [Value::Number(self.width as i64), Value::from(needed)];
            out.report(&rules::WIDE_WORDS, place, values);
        }
    }
}
