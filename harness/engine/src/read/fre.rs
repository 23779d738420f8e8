//! Frame row entries (2.4) and their interpretation (3).

use crate::abi::{Abi, DwarfRegister};
use crate::constants::{
    SFRAME_BASE_REG_FP, SFRAME_FRE_DATAWORD_1B, SFRAME_FRE_DATAWORD_2B, SFRAME_FRE_DATAWORD_4B,
    SFRAME_FRE_RA_OFFSET_INVALID,
};
use crate::error::{Clause, Error, ErrorKind};
use crate::read::bytes::Bytes;
use crate::read::fde::{Fde, FdeType, FreType, PcType};
use crate::read::header::{Header, Version};
use crate::read::section::Section;
use crate::rule::{Base, Recovery, RecoveryRule, Row};

/// Width of the data words of a row (2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// A data word as the signed number it is in most places.
    fn signed(&self, index: u8) -> Result<i32, Error> {
        let offset = self.offset + usize::from(index) * self.size.width();
        let clause = Clause::Fre;
        Ok(match self.size {
            DataWordSize::One => i32::from(self.bytes.u8(offset, clause)?.cast_signed()),
            DataWordSize::Two => i32::from(self.bytes.u16(offset, clause)?.cast_signed()),
            DataWordSize::Four => self.bytes.u32(offset, clause)?.cast_signed(),
        })
    }

    /// A data word as the unsigned number that flex control words are.
    fn unsigned(&self, index: u8) -> Result<u32, Error> {
        let word = self.signed(index)?.cast_unsigned();
        Ok(match self.size {
            DataWordSize::One => word & 0xff,
            DataWordSize::Two => word & 0xffff,
            DataWordSize::Four => word,
        })
    }
}

/// One frame row entry as it is stored.
struct Fre<'a> {
    start: u32,
    info_at: usize,
    base: Base,
    mangled_ra: bool,
    words: DataWords<'a>,
    end: usize,
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
        info_at,
        base: if info & 1 == SFRAME_BASE_REG_FP { Base::Fp } else { Base::Sp },
        mangled_ra: info & 0x80 != 0,
        end: words.offset + needed,
        words,
    })
}

/// Recovery rules of a row: CFA, RA, FP.
type Rules = (Option<RecoveryRule>, Recovery, Recovery);

impl Fre<'_> {
    fn rules(&self, header: &Header, fde_type: FdeType) -> Result<Rules, Error> {
        // Version 2 errata 2 and version 3: no data words, RA undefined (2.4.1).
        if self.words.count == 0 && header.version != Version::V1 {
            return Ok((None, Recovery::Undefined, Recovery::Undefined));
        }
        match fde_type {
            FdeType::Default => self.default_rules(header),
            FdeType::Flex => self.flex_rules(header),
        }
    }

    /// 3.1: the words are CFA offset, RA offset where RA is not fixed, and FP offset.
    fn default_rules(&self, header: &Header) -> Result<Rules, Error> {
        let words = &self.words;
        let fp_index = if header.fixed_ra_offset.is_some() { 1 } else { 2 };
        if words.count == 0 || words.count > fp_index + 1 {
            return Err(ErrorKind::BadDataWordCount(words.count).at(self.info_at));
        }
        let cfa = RecoveryRule {
            base: self.base,
            offset: header.abi.decode_cfa_offset(words.signed(0)?),
            dereference: false,
        };
        let ra = match fixed(header.fixed_ra_offset) {
            Some(rule) => rule,
            None if words.count > 1 => tracked_ra(header, words.signed(1)?),
            None => Recovery::Unchanged,
        };
        let fp = if words.count > fp_index {
            saved(header, words.signed(fp_index)?)
        } else {
            fixed(header.fixed_fp_offset).unwrap_or(Recovery::Unchanged)
        };
        Ok((Some(cfa), ra, fp))
    }

    /// 3.2: pairs of control word and offset for CFA, RA and FP, in this
    /// order; a single 0 stands for a pair whose default applies.
    ///
    /// The position of the FP pair follows this text: word 3 after a padding
    /// word for RA, word 4 after a pair. The pseudocode of appendix A has the
    /// two branches the wrong way round; real files agree with the text.
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

    /// The rule at word `next`, or none where the words end or a padding word stands.
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

/// A value saved at a fixed offset from the CFA, from the header (2.2).
fn fixed(offset: Option<i8>) -> Option<Recovery> {
    offset.map(|offset| saved_at_cfa(i64::from(offset)))
}

fn saved_at_cfa(offset: i64) -> Recovery {
    Recovery::Rule(RecoveryRule { base: Base::Cfa, offset, dereference: true })
}

/// The RA word of a default row. On s390x 0 says that RA is not saved (3.1.3).
fn tracked_ra(header: &Header, word: i32) -> Recovery {
    if header.abi == Abi::S390x && word == SFRAME_FRE_RA_OFFSET_INVALID {
        Recovery::Unchanged
    } else {
        saved(header, word)
    }
}

/// The RA or FP word of a default row: an offset from the CFA, or on s390x in
/// version 2 also a register, told by its lowest bit (version 2 errata 1,
/// `SFRAME_V2_S390X_OFFSET_IS_REGNUM`). Version 3 uses flex FDEs for that.
fn saved(header: &Header, word: i32) -> Recovery {
    if header.abi == Abi::S390x && header.version == Version::V2 && word & 1 != 0 {
        let register = DwarfRegister((word >> 1).cast_unsigned());
        Recovery::Rule(RecoveryRule { base: Base::Register(register), offset: 0, dereference: false })
    } else {
        saved_at_cfa(i64::from(word))
    }
}

/// The rows of a function, in the order of the section. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    bytes: Bytes<'a>,
    header: Header,
    fde: Fde,
    offset: usize,
    left: u32,
}

impl Rows<'_> {
    /// First offset past the last row: the size of the repeated block of a
    /// mask FDE (version 1 does not tell it), or of the function.
    fn last_end(&self) -> u32 {
        match (self.fde.pc_type, self.fde.rep_size) {
            (PcType::Mask, Some(rep_size)) => u32::from(rep_size),
            _ => self.fde.size,
        }
    }

    fn read(&mut self) -> Result<Row, Error> {
        let fre = read_fre(self.bytes, self.offset, self.fde.fre_type)?;
        self.offset = fre.end;
        self.left -= 1;
        let end = if self.left > 0 {
            read_start(self.bytes, self.offset, self.fde.fre_type)?
        } else {
            self.last_end()
        };
        let (cfa, ra, fp) = fre.rules(&self.header, self.fde.fde_type)?;
        Ok(Row { start: fre.start, end, cfa, ra, fp, mangled_ra: fre.mangled_ra })
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let row = self.read();
        if row.is_err() {
            self.left = 0;
        }
        Some(row)
    }
}

impl<'a> Section<'a> {
    /// The rows of a function.
    #[must_use]
    pub fn rows(&self, fde: &Fde) -> Rows<'a> {
        Rows {
            bytes: self.bytes.until(self.fre_range().end),
            header: *self.header(),
            fde: *fde,
            offset: fde.rows_offset,
            left: fde.num_rows,
        }
    }
}
