//! Frame row entries (2.4) and their interpretation (3).

use core::fmt;

use crate::abi::{Abi, DwarfRegister};
use crate::constants::{
    SFRAME_BASE_REG_FP, SFRAME_FRE_DATAWORD_1B, SFRAME_FRE_DATAWORD_2B, SFRAME_FRE_DATAWORD_4B,
};
use crate::error::{Clause, Error, ErrorKind};
use crate::read::bytes::Bytes;
use crate::read::default_row::StoredRow;
use crate::read::fde::{Fde, FdeType, FreType, PcType};
use crate::read::header::Header;
use crate::read::row_table::ValidRows;
use crate::read::section::Section;
use crate::rule::{Base, Recovery, RecoveryRule, Row};

/// Width of the data words of a row (2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataWordSize {
    /// 1 byte.
    One,
    /// 2 bytes.
    Two,
    /// 4 bytes.
    Four,
}

impl DataWordSize {
    /// Width in bytes.
    #[must_use]
    pub const fn width(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
        }
    }
}

/// The data words of one row, not yet interpreted.
#[derive(Clone, Copy)]
struct DataWords<'a> {
    bytes: Bytes<'a>,
    offset: usize,
    size: DataWordSize,
    count: u8,
}

impl DataWords<'_> {
    /// Returns a data word as a signed number, as most words are.
    fn signed(&self, index: u8) -> Result<i32, Error> {
        let offset = self.offset + usize::from(index) * self.size.width();
        let clause = Clause::Fre;
        Ok(match self.size {
            DataWordSize::One => i32::from(self.bytes.u8(offset, clause)?.cast_signed()),
            DataWordSize::Two => i32::from(self.bytes.u16(offset, clause)?.cast_signed()),
            DataWordSize::Four => self.bytes.u32(offset, clause)?.cast_signed(),
        })
    }

    /// Returns a data word as an unsigned number, as flex control words are.
    fn unsigned(&self, index: u8) -> Result<u32, Error> {
        let word = self.signed(index)?.cast_unsigned();
        Ok(match self.size {
            DataWordSize::One => word & 0xff,
            DataWordSize::Two => word & 0xffff,
            DataWordSize::Four => word,
        })
    }
}

/// A frame row entry as it is stored, not yet interpreted (2.4).
#[derive(Clone, Copy)]
pub struct Fre<'a> {
    start: u32,
    info: u8,
    info_at: usize,
    base: Base,
    mangled_ra: bool,
    words: DataWords<'a>,
    offset: usize,
    end: usize,
}

impl Fre<'_> {
    /// Its offset, in bytes from the start of the section.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Its length in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.end - self.offset
    }

    /// The start of the row, in bytes from the start of the function or of
    /// the repeated block.
    #[must_use]
    pub const fn start(&self) -> u32 {
        self.start
    }

    /// The info byte with all its bits (2.4.1).
    #[must_use]
    pub const fn info(&self) -> u8 {
        self.info
    }

    /// Returns the CFA base of default rows, SP or FP, from the info byte.
    #[must_use]
    pub const fn base(&self) -> Base {
        self.base
    }

    /// Returns whether the return address carries an authentication code (AArch64).
    #[must_use]
    pub const fn mangled_ra(&self) -> bool {
        self.mangled_ra
    }

    /// Width of the data words.
    #[must_use]
    pub const fn data_word_size(&self) -> DataWordSize {
        self.words.size
    }

    /// Returns the data words as signed numbers, in their order. Control words of flex rows are
    /// unsigned; see [`Fre::control_word`].
    pub fn data_words(&self) -> impl ExactSizeIterator<Item = i32> + '_ {
        (0..self.words.count).map(|index| self.words.signed(index).unwrap_or_default())
    }

    /// Returns the data word at a position as an unsigned number, as control words of flex rows
    /// are (3.2).
    #[must_use]
    pub fn control_word(&self, index: u8) -> Option<u32> {
        (index < self.words.count).then(|| self.words.unsigned(index).ok()).flatten()
    }
}

impl fmt::Debug for Fre<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fre")
            .field("offset", &self.offset)
            .field("start", &self.start)
            .field("info", &self.info)
            .field("words", &self.words.count)
            .finish_non_exhaustive()
    }
}

fn read_start(bytes: Bytes<'_>, offset: usize, fre_type: FreType) -> Result<u32, Error> {
    let clause = Clause::Fre;
    match fre_type {
        FreType::Addr1 => bytes.u8(offset, clause).map(u32::from),
        FreType::Addr2 => bytes.u16(offset, clause).map(u32::from),
        FreType::Addr4 => bytes.u32(offset, clause),
    }
}

fn read_fre(bytes: Bytes<'_>, offset: usize, fre_type: FreType) -> Result<Fre<'_>, Error> {
    let start = read_start(bytes, offset, fre_type)?;
    let info_at = offset + fre_type.width();
    let info = bytes.u8(info_at, Clause::FreInfo)?;
    let size = match (info >> 5) & 3 {
        SFRAME_FRE_DATAWORD_1B => DataWordSize::One,
        SFRAME_FRE_DATAWORD_2B => DataWordSize::Two,
        SFRAME_FRE_DATAWORD_4B => DataWordSize::Four,
        _ => return Err(ErrorKind::UnknownDataWordSize.at(info_at)),
    };
    let count = (info >> 1) & 0xf;
    let words = DataWords { bytes, offset: info_at + 1, size, count };
    let needed = usize::from(count) * size.width();
    let available = bytes.len().saturating_sub(words.offset);
    if needed > available {
        return Err(ErrorKind::Truncated { needed, available, clause: Clause::Fre }.at(words.offset));
    }
    Ok(Fre {
        start,
        info,
        info_at,
        base: Base::of_info(info),
        mangled_ra: info & 0x80 != 0,
        offset,
        end: words.offset + needed,
        words,
    })
}

impl Base {
    /// The CFA base of default rows, from the info byte (2.4.1).
    #[inline]
    pub(crate) const fn of_info(info: u8) -> Self {
        if info & 1 == SFRAME_BASE_REG_FP { Self::Fp } else { Self::Sp }
    }
}

impl Header {
    /// Returns the position of the FP word in default rows, the last one that they can have (3.1).
    const fn default_fp_word(&self) -> u8 {
        if self.fixed_ra_offset.is_some() { 1 } else { 2 }
    }

    /// Returns which default rows have rules. Their words can be anything.
    pub(crate) fn valid_default_rows(&self) -> ValidRows {
        let least = u8::from(!self.version.marks_outermost_rows());
        ValidRows::with_words(least, self.default_fp_word() + 1)
    }
}

/// The recovery rules of a row: CFA, RA, FP.
type Rules = (Option<RecoveryRule>, Recovery, Recovery);

impl Fre<'_> {
    fn rules(&self, header: &Header, fde_type: FdeType) -> Result<Rules, Error> {
        if self.words.count == 0 && header.version.marks_outermost_rows() {
            return Ok((None, Recovery::Undefined, Recovery::Undefined));
        }
        match fde_type {
            FdeType::Default => self.default_rules(header),
            FdeType::Flex => self.flex_rules(header),
        }
    }

    fn default_rules(&self, header: &Header) -> Result<Rules, Error> {
        let Self { base, words, .. } = self;
        if words.count == 0 || words.count > header.default_fp_word() + 1 {
            return Err(ErrorKind::BadDataWordCount(words.count).at(self.info_at));
        }
        // As many as there are can be read.
        let word = |index| words.signed(index).unwrap_or_default();
        Ok(default_rules(header, *base, words.count, word))
    }

    /// 3.2: pairs of control word and offset for CFA, RA and FP, in this
    /// order; a single 0 stands for a pair whose default applies.
    ///
    /// The position of the FP pair follows this text: word 3 after a padding word for RA, word
    /// 4 after a pair. The pseudocode of appendix A swaps the two branches; real files agree
    /// with the text.
    fn flex_rules(&self, header: &Header) -> Result<Rules, Error> {
        let mut next = 0;
        let abi = header.abi;
        let cfa = match self.flex_rule(abi, &mut next)? {
            Some(rule) if rule.base != Base::Cfa => RecoveryRule {
                // Stored adjusted and scaled on s390x, as in default rows.
                offset: abi.decode_cfa_offset(self.words.signed(1)?),
                ..rule
            },
            _ => return Err(ErrorKind::FlexCfaWithoutRegister.at(self.info_at)),
        };
        let ra = self.flex_rule(abi, &mut next)?.map(Recovery::Rule);
        let fp = self.flex_rule(abi, &mut next)?.map(Recovery::Rule);
        if next < self.words.count {
            return Err(ErrorKind::BadFlexWordCount(self.words.count).at(self.info_at));
        }
        Ok((
            Some(cfa),
            ra.or(fixed(header.fixed_ra_offset)).unwrap_or(Recovery::Unchanged),
            fp.or(fixed(header.fixed_fp_offset)).unwrap_or(Recovery::Unchanged),
        ))
    }

    /// Returns the rule at word `next`, or `None` if the words end or there is a padding word.
    fn flex_rule(&self, abi: Abi, next: &mut u8) -> Result<Option<RecoveryRule>, Error> {
        if *next >= self.words.count {
            return Ok(None);
        }
        let control = self.words.unsigned(*next)?;
        *next += 1;
        if control == 0 {
            return Ok(None);
        }
        if *next >= self.words.count {
            return Err(ErrorKind::BadFlexWordCount(self.words.count).at(self.info_at));
        }
        let offset = i64::from(self.words.signed(*next)?);
        *next += 1;
        let base = match DwarfRegister(control >> 3) {
            _ if control & 1 == 0 => Base::Cfa,
            register if register == abi.sp() => Base::Sp,
            register if register == abi.fp() => Base::Fp,
            register => Base::Register(register),
        };
        Ok(Some(RecoveryRule { base, offset, dereference: control & 2 != 0 }))
    }
}

/// 3.1: the words are CFA offset, RA offset unless RA is fixed, and FP offset. There are as many
/// as a row of default type can have, and at least one.
#[inline(always)]
fn default_rules(header: &Header, base: Base, count: u8, word: impl Fn(u8) -> i32) -> Rules {
    let cfa = RecoveryRule { base, offset: header.abi.decode_cfa_offset(word(0)), dereference: false };
    let ra = match fixed(header.fixed_ra_offset) {
        Some(ra) => ra,
        None if count > 1 => tracked_ra(header, word(1)),
        None => Recovery::Unchanged,
    };
    let fp_word = header.default_fp_word();
    let fp = if count > fp_word {
        saved(header, word(fp_word))
    } else {
        fixed(header.fixed_fp_offset).unwrap_or(Recovery::Unchanged)
    };
    (Some(cfa), ra, fp)
}

/// A value saved at a fixed offset from the CFA, from the header (2.2).
#[inline]
fn fixed(offset: Option<i8>) -> Option<Recovery> {
    offset.map(|offset| saved_at_cfa(i64::from(offset)))
}

#[inline]
fn saved_at_cfa(offset: i64) -> Recovery {
    Recovery::Rule(RecoveryRule { base: Base::Cfa, offset, dereference: true })
}

/// The RA word of a default row.
#[inline]
fn tracked_ra(header: &Header, word: i32) -> Recovery {
    if header.abi.ra_padding() == Some(word) { Recovery::Unchanged } else { saved(header, word) }
}

/// The RA or FP word of a default row: an offset from the CFA, or a register.
#[inline]
fn saved(header: &Header, word: i32) -> Recovery {
    if header.version.has_registers_in_words(header.abi) && word & 1 != 0 {
        let register = DwarfRegister((word >> 1).cast_unsigned());
        Recovery::Rule(RecoveryRule { base: Base::Register(register), offset: 0, dereference: false })
    } else {
        saved_at_cfa(i64::from(word))
    }
}

/// The rows of a function (2.4), in the order of the section. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    bytes: Bytes<'a>,
    header: Header,
    fde: Fde,
    valid: Option<ValidRows>,
    offset: usize,
    left: u32,
}

/// Reads a row of default type and its length, in bytes, unless it is not valid or among the last
/// bytes of the section.
#[inline(always)]
fn row_at_once(
    bytes: Bytes<'_>,
    header: &Header,
    fde: &Fde,
    valid: ValidRows,
    offset: usize,
    is_last: bool,
) -> Option<(Row, usize)> {
    let row = StoredRow::read(bytes.window(offset)?, bytes.order(), fde.fre_type, valid)?;
    let (cfa, ra, fp) = default_rules(header, row.base(), row.count(), |index| row.word(index));
    let end = if is_last { fde.rows_end() } else { row.next_start() };
    Some((Row { start: row.start(), end, cfa, ra, fp, mangled_ra: row.mangled_ra() }, row.len()))
}

impl Rows<'_> {
    /// Where the next row starts, in bytes from the start of the section.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    #[inline(always)]
    fn read_at_once(&mut self) -> Option<Row> {
        let Self { bytes, header, fde, valid, offset, left } = self;
        let (row, len) = row_at_once(*bytes, header, fde, (*valid)?, *offset, *left == 1)?;
        *offset += len;
        *left -= 1;
        Some(row)
    }

    #[inline(never)]
    fn read(&mut self) -> Result<Row, Error> {
        let fre = read_fre(self.bytes, self.offset, self.fde.fre_type)?;
        self.offset = fre.end;
        self.left -= 1;
        // If the next row is cut off, this one is still complete: the error belongs to the next
        // one.
        let end = match self.left {
            0 => None,
            _ => read_start(self.bytes, self.offset, self.fde.fre_type).ok(),
        };
        let end = end.unwrap_or_else(|| self.fde.rows_end());
        let (cfa, ra, fp) = fre.rules(&self.header, self.fde.fde_type)?;
        Ok(Row { start: fre.start, end, cfa, ra, fp, mangled_ra: fre.mangled_ra })
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        if let Some(row) = self.read_at_once() {
            return Some(Ok(row));
        }
        let row = self.read();
        if row.is_err() {
            self.left = 0;
        }
        Some(row)
    }
}

/// The frame row entries of a function as they are stored, in the order of
/// the section. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Fres<'a> {
    bytes: Bytes<'a>,
    fre_type: FreType,
    offset: usize,
    left: u32,
}

impl Fres<'_> {
    /// Returns the start of the next row, or of the one that could not be read: it is known
    /// even if what follows it is cut off or malformed. Returns `None` if the start itself is
    /// not in the section.
    #[must_use]
    pub fn next_start(&self) -> Option<u32> {
        read_start(self.bytes, self.offset, self.fre_type).ok()
    }
}

impl<'a> Iterator for Fres<'a> {
    type Item = Result<Fre<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let fre = read_fre(self.bytes, self.offset, self.fre_type);
        match &fre {
            Ok(fre) => self.offset = fre.end,
            Err(_) => self.left = 0,
        }
        Some(fre)
    }
}

impl Fde {
    /// First offset past the last row: the size of the repeated block of a mask FDE (version 1
    /// does not give it), or of the function.
    #[must_use]
    pub fn rows_end(&self) -> u32 {
        match (self.pc_type, self.rep_size) {
            (PcType::Mask, Some(rep_size)) => u32::from(rep_size),
            _ => self.size,
        }
    }
}

impl<'a> Section<'a> {
    /// Returns the frame row entries of a function, as they are stored.
    #[must_use]
    pub fn fres(&self, fde: &Fde) -> Fres<'a> {
        Fres { bytes: self.fres_bytes(), fre_type: fde.fre_type, offset: fde.rows_offset, left: fde.num_rows }
    }

    /// Returns the row that a frame row entry of a function stands for (3). `end` is the start
    /// of the next one, or [`Fde::rows_end`].
    ///
    /// # Errors
    /// The data words do not form the rules that the ABI and the FDE type require.
    pub fn row(&self, fde: &Fde, fre: &Fre<'_>, end: u32) -> Result<Row, Error> {
        let (cfa, ra, fp) = fre.rules(self.header(), fde.fde_type)?;
        Ok(Row { start: fre.start, end, cfa, ra, fp, mangled_ra: fre.mangled_ra })
    }

    /// Returns the rows of a function.
    #[must_use]
    #[inline]
    pub fn rows(&self, fde: &Fde) -> Rows<'a> {
        self.rows_from(fde, fde.rows_offset, fde.num_rows)
    }

    /// Returns the last rows of a function, from an offset from the start of the section on.
    #[inline]
    pub(crate) fn rows_from(&self, fde: &Fde, offset: usize, left: u32) -> Rows<'a> {
        let (bytes, header) = (self.fres_bytes(), *self.header());
        Rows { bytes, header, fde: *fde, valid: self.valid_rows(fde), offset, left }
    }

    /// Reads the row of a function at an offset from the start of the section, unless it is not a
    /// valid one of default type or among the last bytes of the section. `left` is the number of
    /// rows from there on.
    #[inline(always)]
    pub(crate) fn row_at_once(&self, fde: &Fde, offset: usize, left: u32) -> Option<Row> {
        let valid = self.valid_rows(fde).filter(|_| left > 0)?;
        let (row, _) = row_at_once(self.fres_bytes(), self.header(), fde, valid, offset, left == 1)?;
        Some(row)
    }

    /// The bytes up to the end of the FRE sub-section.
    #[inline]
    fn fres_bytes(&self) -> Bytes<'a> {
        self.bytes.until(self.fre_range().end)
    }

    /// Which rows of a function can be read at once; `None` if they are of flex type.
    #[inline]
    fn valid_rows(&self, fde: &Fde) -> Option<ValidRows> {
        match fde.fde_type {
            FdeType::Default => Some(ValidRows::with_words(1, self.header().default_fp_word() + 1)),
            FdeType::Flex => None,
        }
    }
}
