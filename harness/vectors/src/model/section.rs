//! From bytes to header, functions and rows.

use sframe_engine::{Abi, ByteOrder};

use super::table::{Format, Machine};
use super::ways::{Way, Ways};
use crate::equation::{Base, Equation, Recovery};
use crate::expect::{Fde, Header, Reject, Row, Rules};
use crate::names::{FdeType, Flag, FreType, PauthKey, PcType, RejectKind};
use crate::number::Address;
use crate::question::SectionQuestion;

/// Size of preamble and header, in bytes.
const HEADER: usize = 28;

/// A section that can be read.
pub(super) struct Section<'q> {
    bytes: &'q [u8],
    address: u64,
    order: ByteOrder,
    pub(super) header: Header,
    pub(super) format: Format,
    pub(super) machine: Machine,
    /// Where the sub-sections are, in bytes from the start of the section.
    fdes_at: usize,
    fres_at: usize,
    fres_end: usize,
    /// By way, whether it is taken: that is asked for every byte.
    ways: [bool; Way::ALL.len()],
}

/// A function.
pub(super) struct Function {
    pub(super) start: u64,
    pub(super) size: u32,
    pub(super) fde: Fde,
    /// Where the row starts that can't be read.
    pub(super) fault: Option<u32>,
}

/// What an FDE says of its rows.
struct Attribute {
    num_rows: u32,
    info: u8,
    info2: u8,
    rep_size: u8,
    padding: u16,
    rows_at: usize,
}

/// A row as it is stored.
struct Stored {
    start: u32,
    sp: bool,
    mangled: bool,
    /// The width of the words in bytes, their number, and the bytes.
    width: usize,
    count: u8,
    words_at: usize,
}

fn number(bytes: &[u8], order: ByteOrder, at: usize, width: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    Some(match order {
        ByteOrder::Little => bytes.iter().rev().fold(0, add),
        ByteOrder::Big => bytes.iter().fold(0, add),
    })
}

/// A number of some bytes with its sign.
const fn signed(value: u64, width: usize) -> i64 {
    let unused = 64 - 8 * width;
    (value << unused).cast_signed() >> unused
}

#[expect(clippy::cast_possible_truncation, reason = "the lowest bits are meant")]
const fn low32(value: u64) -> u32 {
    value as u32
}

#[expect(clippy::cast_possible_truncation, reason = "the lowest bits are meant")]
const fn low16(value: u64) -> u16 {
    value as u16
}

#[expect(clippy::cast_possible_truncation, reason = "the lowest bits are meant")]
const fn low8(value: u64) -> u8 {
    value as u8
}

impl<'q> Section<'q> {
    pub(super) fn open(question: &'q SectionQuestion, ways: &Ways) -> Result<Self, RejectKind> {
        let bytes = &question.bytes.0[..];
        let has = |way| ways.contains(&way);
        let magic = number(bytes, ByteOrder::Little, 0, 2).ok_or(RejectKind::Truncated)?;
        let order = match magic {
            0xdee2 => ByteOrder::Little,
            0xe2de if !has(Way::LittleEndianOnly) => ByteOrder::Big,
            _ => return Err(RejectKind::BadMagic),
        };
        let byte = |at: usize| bytes.get(at).copied().ok_or(RejectKind::Truncated);
        let version = byte(2)?;
        let format = Format::of(version);
        let format = if has(Way::VersionUnchecked) { format.or(Format::of(3)) } else { format };
        let format = format.ok_or(RejectKind::UnknownVersion)?;
        if bytes.len() < HEADER {
            return Err(RejectKind::Truncated);
        }
        let abi = Self::abi(format, order, byte(4)?, ways).ok_or(RejectKind::UnknownAbi)?;
        let machine = Machine::of(abi);
        if machine.order != order && !has(Way::AnyByteOrder) {
            return Err(RejectKind::WrongByteOrder);
        }
        let word = |at| number(bytes, order, at, 4).map(low32).ok_or(RejectKind::Truncated);
        let mut header = Header {
            version,
            abi,
            flags: byte(3)?,
            fixed_fp: byte(5)?.cast_signed(),
            fixed_ra: byte(6)?.cast_signed(),
            aux_len: byte(7)?,
            num_fdes: word(8)?,
            num_fres: word(12)?,
            fre_len: word(16)?,
            fdeoff: word(20)?,
            freoff: word(24)?,
        };
        if has(Way::NumFdesOf8Bits) {
            header.num_fdes &= 0xff;
        }
        if has(Way::NumFdesOf16Bits) {
            header.num_fdes &= 0xffff;
        }
        let header_end = HEADER + if has(Way::AuxIgnored) { 0 } else { usize::from(header.aux_len) };
        let fdes_at = header_end + if has(Way::FdeoffIgnored) { 0 } else { header.fdeoff as usize };
        let fdes_len = (header.num_fdes as usize).saturating_mul(format.entry);
        let fdes_end = fdes_at.saturating_add(fdes_len);
        let fres_at = if has(Way::FreoffIgnored) { fdes_end } else { header_end + header.freoff as usize };
        let fres_end = fres_at.saturating_add(header.fre_len as usize);
        if fdes_end.max(fres_end) > bytes.len() {
            return Err(RejectKind::SubSectionOutOfBounds);
        }
        let mut section = Self {
            bytes,
            address: question.address.0,
            order,
            header,
            format,
            machine,
            fdes_at,
            fres_at,
            fres_end,
            ways: std::array::from_fn(|way| ways.contains(&Way::ALL[way])),
        };
        section.refuse(fdes_len, fdes_end.max(fres_end))?;
        if has(Way::FresFromHeader) {
            section.fres_at = header_end;
        }
        if has(Way::RowsFromFdes) && !format.attribute {
            section.fres_at = fdes_end;
        }
        if has(Way::RowsBeyondSubSection) {
            section.fres_end = bytes.len();
        }
        Ok(section)
    }

    pub(super) fn has(&self, way: Way) -> bool {
        self.ways[way as usize]
    }

    fn abi(format: Format, order: ByteOrder, id: u8, ways: &Ways) -> Option<Abi> {
        let of = |format: Format| format.abis.iter().find(|(known, _)| *known == id).map(|(_, abi)| *abi);
        let known = of(format);
        let known = if ways.contains(&Way::S390xInVersion1) { known.or(of(Format::of(2)?)) } else { known };
        let any = || match order {
            ByteOrder::Little => Abi::Amd64,
            ByteOrder::Big => Abi::S390x,
        };
        if ways.contains(&Way::AbiUnchecked) { known.or(Some(any())) } else { known }
    }

    /// What some readers refuse of a section that can be read.
    fn refuse(&self, fdes_len: usize, end: usize) -> Result<(), RejectKind> {
        let Self { header, format, machine, .. } = self;
        let set = |flag: Flag| header.flags & flag.bit() != 0;
        let unknown = header.flags & !7 != 0 || set(Flag::FramePointer) && !format.frame_pointer;
        let gap = header.fdeoff != 0 || header.freoff as usize != fdes_len + header.fdeoff as usize;
        let refused = set(Flag::Pcrel) && !format.pcrel && self.has(Way::PcrelInVersion1Refused)
            || unknown && self.has(Way::UndefinedFlagsRefused)
            || end < self.bytes.len() && self.has(Way::TrailingBytesRefused)
            || gap && self.has(Way::GapsRefused)
            || format.entry.is_multiple_of(4)
                && fdes_len > 0
                && !self.fdes_at.is_multiple_of(4)
                && self.has(Way::UnalignedFdesRefused)
            || header.fixed_ra != machine.fixed_ra && self.has(Way::FixedRaRefused)
            || self.has(Way::NumFresRefused) && self.num_rows() != u64::from(header.num_fres);
        if refused { Err(RejectKind::Unspecified) } else { Ok(()) }
    }

    /// The number of rows of all functions.
    fn num_rows(&self) -> u64 {
        let attributes = (0..self.header.num_fdes).filter_map(|index| self.attribute(index).ok());
        attributes.map(|attribute| u64::from(attribute.num_rows)).sum()
    }

    fn number(&self, at: usize, width: usize) -> u64 {
        number(self.bytes, self.order, at, width).unwrap_or_default()
    }

    fn entry_size(&self) -> usize {
        match self.format.entry {
            17 if self.has(Way::EntriesOf20Bytes) => 20,
            20 if self.has(Way::EntriesOf17Bytes) => 17,
            size => size,
        }
    }

    fn entry_at(&self, index: u32) -> usize {
        self.fdes_at + index as usize * self.entry_size()
    }

    /// The fields of an FDE.
    fn attribute(&self, index: u32) -> Result<Attribute, RejectKind> {
        let Format { start, attribute, block, .. } = self.format;
        let at = self.entry_at(index) + start;
        let mut fre_offset = self.number(at + 4, 4);
        if self.has(Way::FreOffsetOf16Bits) {
            fre_offset &= 0xffff;
        }
        let rows_at = self.fres_at.saturating_add(usize::try_from(fre_offset).unwrap_or(usize::MAX));
        if rows_at > self.fres_end {
            return Err(RejectKind::FreOffsetOutOfBounds);
        }
        let mut found = if attribute {
            if rows_at + 5 > self.fres_end {
                return Err(RejectKind::Truncated);
            }
            Attribute {
                num_rows: low32(self.number(rows_at, 2)),
                info: low8(self.number(rows_at + 2, 1)),
                info2: low8(self.number(rows_at + 3, 1)),
                rep_size: low8(self.number(rows_at + 4, 1)),
                padding: 0,
                rows_at: rows_at + if self.has(Way::AttributeSkipped) { 4 } else { 5 },
            }
        } else {
            Attribute {
                num_rows: low32(self.number(at + 8, 4)),
                info: low8(self.number(at + 12, 1)),
                info2: 0,
                rep_size: if block { low8(self.number(at + 13, 1)) } else { 0 },
                padding: if block { low16(self.number(at + 14, 2)) } else { 0 },
                rows_at,
            }
        };
        if self.has(Way::NumRowsOf8Bits) {
            found.num_rows &= 0xff;
        }
        if self.has(Way::LastRowMissed) && found.num_rows > 1 {
            found.num_rows -= 1;
        }
        Ok(found)
    }

    fn start(&self, index: u32) -> u64 {
        let at = self.entry_at(index);
        let width = self.format.start;
        let stored = self.number(at, width);
        let mut offset = signed(stored, width);
        if self.has(Way::StartOf32Bits) {
            offset = signed(stored & 0xffff_ffff, 4);
        }
        if self.has(Way::StartUnsigned) {
            offset = stored.cast_signed();
        }
        let flag = self.header.flags & Flag::Pcrel.bit() != 0;
        let pcrel = flag && (self.format.pcrel || self.has(Way::PcrelInVersion1));
        let pcrel = (pcrel || self.has(Way::PcrelAlways)) && !self.has(Way::PcrelIgnored);
        if !pcrel {
            let absolute = self.has(Way::StartAbsolute);
            return (if absolute { 0 } else { self.address }).wrapping_add_signed(offset);
        }
        let field = if self.has(Way::PcrelOfFirst) {
            self.fdes_at
        } else if self.has(Way::PcrelWithoutHeader) {
            at - self.fdes_at + HEADER
        } else {
            at
        };
        self.address.wrapping_add(field as u64).wrapping_add_signed(offset)
    }

    pub(super) fn functions(&self) -> Vec<Function> {
        (0..self.header.num_fdes).map(|index| self.function(index)).collect()
    }

    fn function(&self, index: u32) -> Function {
        let start = self.start(index);
        let mut size = low32(self.number(self.entry_at(index) + self.format.start, 4));
        if self.has(Way::SizeOf16Bits) {
            size &= 0xffff;
        }
        let mut fault = None;
        let fde = match self.fde(index, start, size, &mut fault) {
            Ok(fde) => fde,
            Err(kind) => Fde::rejected(Reject { kind, offset: None }),
        };
        Function { start, size, fde, fault }
    }

    fn fde(&self, index: u32, start: u64, size: u32, fault: &mut Option<u32>) -> Result<Fde, RejectKind> {
        let attribute = self.attribute(index)?;
        let Attribute { num_rows, mut info, info2, rep_size, padding, rows_at } = attribute;
        if self.has(Way::FdeInfoFromTop) {
            info = info >> 4 | (info >> 3 & 1) << 4 | (info >> 2 & 1) << 5 | (info >> 1 & 1) << 6 | info << 7;
        }
        let Format { kinds, block, .. } = self.format;
        let unused = 0x40 | if kinds { 0 } else { 0x80 };
        if self.has(Way::UnusedBitsRefused) && (info & unused != 0 || info2 & 0xe0 != 0 || padding != 0) {
            return Err(RejectKind::Unspecified);
        }
        let is_of_version_1 = self.has(Way::KeyOfVersion1Refused) && !self.format.key;
        let is_elsewhere = self.has(Way::KeyElsewhereRefused) && !self.machine.signs;
        if info & 0x20 != 0 && (is_of_version_1 || is_elsewhere) {
            return Err(RejectKind::Unspecified);
        }
        let fre_type = match if self.has(Way::FreTypeUnmasked) { info } else { info & 0xf } {
            _ if self.has(Way::FreTypeIgnored) => FreType::Addr1,
            0 => FreType::Addr1,
            1 => FreType::Addr2,
            2 => FreType::Addr4,
            _ if self.has(Way::FreTypeUnchecked) => FreType::Addr4,
            _ => return Err(RejectKind::UnknownFreType),
        };
        let fde_type = match info2 & 0x1f {
            _ if self.has(Way::FdeTypeIgnored) => FdeType::Default,
            0 => FdeType::Default,
            1 => FdeType::Flex,
            _ => return Err(RejectKind::UnknownFdeType),
        };
        let is_mask = info & 0x10 != 0 && !self.has(Way::PcTypeIgnored);
        if is_mask && block && rep_size == 0 && !self.has(Way::RepSizePerLookup) {
            return Err(RejectKind::ZeroRepSize);
        }
        let key = info & 0x20 != 0 && !self.has(Way::KeyIgnored);
        let key = key && (self.format.key || !self.has(Way::KeyOfVersion1Unused));
        let key = key && (self.machine.signs || !self.has(Way::KeyElsewhereUnused));
        let signal_bit = if self.has(Way::SignalIsBit6) { 0x40 } else { 0x80 };
        let signal = kinds && info & signal_bit != 0 && !self.has(Way::SignalIgnored);
        let default = fde_type == FdeType::Default;
        let outermost = num_rows == 0
            && (kinds && default && !(signal && self.has(Way::SignalWithoutRowsUnknown))
                || self.has(Way::NoRowsOutermost))
            && !self.has(Way::NoRowsIsNoRow);
        if num_rows == 0 && !(kinds && default) && self.has(Way::NoRowsRefused) {
            return Err(RejectKind::Unspecified);
        }
        let extent = match (is_mask, block) {
            (true, true) => u32::from(rep_size),
            _ => size,
        };
        let may_be_late = size > 0 && (block || !is_mask);
        let is_late = |start: u32| {
            start >= extent && self.has(Way::RowsPastTheEndRefused)
                || start > extent && self.has(Way::RowsBeyondTheEndRefused)
        };
        let mut rows = Vec::new();
        let mut at = rows_at;
        for _ in 0..num_rows {
            let (start, row) = self.row(&mut at, fre_type, fde_type);
            let row = match row {
                Ok(row) if may_be_late && is_late(row.start) => Err(RejectKind::Unspecified),
                other => other,
            };
            match row {
                Ok(row) => rows.push(Row::Rules(row)),
                Err(kind) => {
                    rows.push(Row::Reject(Reject { kind, offset: None }));
                    *fault = Some(start.unwrap_or_default());
                    break;
                }
            }
        }
        Ok(Fde {
            reject: None,
            start: Some(Address(start)),
            size: Some(size),
            fre_type,
            pc_type: if is_mask { PcType::Mask } else { PcType::Inc },
            fde_type,
            pauth_key: if key { PauthKey::B } else { PauthKey::A },
            signal,
            rep_size,
            outermost,
            rows,
        })
    }

    /// Reads a row, and moves to the next. Its start is known even if nothing else is.
    fn row(
        &self,
        at: &mut usize,
        fre_type: FreType,
        fde_type: FdeType,
    ) -> (Option<u32>, Result<Rules, RejectKind>) {
        let width = match fre_type {
            FreType::Addr1 => 1,
            FreType::Addr2 if self.has(Way::Addr2Of4Bytes) => 4,
            FreType::Addr2 => 2,
            FreType::Addr4 => 4,
        };
        let bytes = self.bytes.get(..self.fres_end).unwrap_or(self.bytes);
        let Some(start) = number(bytes, self.order, *at, width) else {
            return (None, Err(RejectKind::Truncated));
        };
        let start = if self.has(Way::RowStartsSigned) || self.has(Way::RowStartsSignExtended) {
            low32(signed(start, width).cast_unsigned())
        } else {
            low32(start)
        };
        let stored = (|| {
            let info = self.row_info(*bytes.get(*at + width).ok_or(RejectKind::Truncated)?);
            let code = match () {
                () if self.has(Way::WordSizeUnmasked) => info >> 5,
                () if self.has(Way::WordSizeFromBit4) => info >> 4 & 3,
                () => info >> 5 & 3,
            };
            let size = match code {
                _ if self.has(Way::WordsOf1Byte) => 1,
                0 => 1,
                1 => 2,
                2 => 4,
                3 if self.has(Way::WordSize3Is8) => 8,
                _ => return Err(RejectKind::UnknownDataWordSize),
            };
            let mask = match () {
                () if self.has(Way::WordCountOf3Bits) => 7,
                () if self.has(Way::WordCountOf2Bits) => 3,
                () => 15,
            };
            let count = info >> 1 & mask;
            let words_at = *at + width + 1;
            *at = words_at + size * usize::from(count);
            if *at > bytes.len() {
                return Err(RejectKind::Truncated);
            }
            let sp = (info & 1 == 1) != self.has(Way::BaseBitInverted) || self.has(Way::BaseBitIgnored);
            let mangled = info & 0x80 != 0 && !self.has(Way::MangledIgnored);
            if mangled && !self.machine.signs && self.has(Way::MangledElsewhereRefused) {
                return Err(RejectKind::Unspecified);
            }
            let mangled = mangled && (self.machine.signs || !self.has(Way::MangledElsewhereUnused));
            Ok(Stored { start, sp, mangled, width: size, count, words_at })
        })();
        (Some(start), stored.and_then(|stored| self.rules(&stored, fde_type)))
    }

    /// The info byte of a row: the base, the number of words, their size, and whether RA is mangled, from the lowest bit
    /// on. Compilers for big-endian machines have fields of bits in the other order.
    fn row_info(&self, info: u8) -> u8 {
        if !self.has(Way::FreInfoFromTop) {
            return info;
        }
        info >> 7 | (info >> 3 & 15) << 1 | (info >> 1 & 3) << 5 | info << 7
    }

    fn unsigned_word(&self, row: &Stored, index: u8) -> u64 {
        let at = row.words_at + usize::from(index) * row.width;
        if self.has(Way::LittleEndianWords) {
            return number(self.bytes, ByteOrder::Little, at, row.width).unwrap_or_default();
        }
        self.number(at, row.width)
    }

    fn word(&self, row: &Stored, index: u8) -> i64 {
        let word = self.unsigned_word(row, index);
        let unsigned = self.has(Way::WordsUnsigned) || row.width < 4 && self.has(Way::NarrowWordsUnsigned);
        if unsigned { word.cast_signed() } else { signed(word, row.width) }
    }

    fn rules(&self, row: &Stored, fde_type: FdeType) -> Result<Rules, RejectKind> {
        let Format { undefined, kinds, .. } = self.format;
        let Stored { start, count, mangled, .. } = *row;
        // Only in version 2 it depends on an erratum.
        let refused = undefined && !kinds && self.has(Way::NoWordsRefused);
        let undefined = undefined && !refused || !undefined && self.has(Way::NoWordsUndefined);
        let (cfa, ra, fp) = match fde_type {
            _ if count == 0 && undefined => {
                return Ok(Rules { start, cfa: None, ra: Recovery::Undefined, fp: None, mangled });
            }
            FdeType::Default => self.default_rules(row)?,
            FdeType::Flex => self.flex_rules(row)?,
        };
        Ok(Rules { start, cfa: Some(cfa), ra, fp: Some(fp), mangled })
    }

    /// The fixed place of RA; 0 if rows track it.
    fn fixed_ra(&self) -> i64 {
        match () {
            () if self.has(Way::FixedRaIgnored) => 0,
            () if self.has(Way::FixedRaByAbi) => self.machine.fixed_ra.into(),
            () if self.has(Way::FixedRaUnsigned) => self.header.fixed_ra.cast_unsigned().into(),
            () => self.header.fixed_ra.into(),
        }
    }

    fn fixed_fp(&self) -> i64 {
        if self.has(Way::FixedFpIgnored) { 0 } else { self.header.fixed_fp.into() }
    }

    fn default_rules(&self, row: &Stored) -> Result<(Equation, Recovery, Recovery), RejectKind> {
        let Machine { ra_padding, words_of_1_or_3, .. } = self.machine;
        let fixed_ra = self.fixed_ra();
        // Where rows track RA by the ABI, the second word may be that of RA whatever the header says.
        let tracked = fixed_ra == 0 || self.machine.fixed_ra == 0 && self.has(Way::FixedRaWithoutWord);
        let mut fp_word = if tracked || self.has(Way::FpIsWord2) { 2 } else { 1 };
        let mut ra_word = 1;
        let count = row.count;
        let surplus = count > fp_word + 1;
        let allowed = self.has(Way::SurplusWordsIgnored) && count <= self.format.most_words;
        if count == 0 || surplus && !allowed {
            return Err(RejectKind::BadDataWordCount);
        }
        if count == 2 && tracked && words_of_1_or_3 && self.has(Way::TwoWordsRefused) {
            return Err(RejectKind::BadDataWordCount);
        }
        if self.fixed_fp() != 0 && count > fp_word && self.has(Way::FixedFpWordRefused) {
            return Err(RejectKind::BadDataWordCount);
        }
        if tracked && count > 2 && self.has(Way::FpBeforeRa) {
            (ra_word, fp_word) = (2, 1);
        }
        let base = if row.sp { Base::Sp } else { Base::Fp };
        let cfa = Equation { base, offset: self.cfa_offset(self.word(row, 0), true), dereference: false };
        let ra = match self.word(row, ra_word) {
            _ if !tracked || count < 2 && fixed_ra != 0 => saved(fixed_ra),
            _ if count < 2 => Recovery::Unchanged,
            0 if ra_padding && !self.has(Way::RaPaddingIsOffset) => Recovery::Unchanged,
            word => self.saved(word),
        };
        let fp = match self.fixed_fp() {
            fixed if fixed != 0 && self.has(Way::FixedFpCounts) => saved(fixed),
            _ if count > fp_word && !(self.has(Way::ZeroFpWordUntracked) && self.word(row, fp_word) == 0) => {
                self.saved(self.word(row, fp_word))
            }
            0 => Recovery::Unchanged,
            fixed => saved(fixed),
        };
        Ok((cfa, ra, fp))
    }

    fn cfa_offset(&self, word: i64, default: bool) -> i64 {
        let Machine { factor, adjustment, .. } = self.machine;
        if !default && self.has(Way::FlexUnscaled) {
            return word;
        }
        let factor = if self.has(Way::CfaUnscaled) { 1 } else { factor };
        let adjustment = if self.has(Way::CfaUnadjusted) { 0 } else { adjustment };
        let offset = word * factor + adjustment;
        if self.has(Way::ScalingIn32Bits) && factor != 1 {
            return i64::from(low32(offset.cast_unsigned()).cast_signed());
        }
        offset
    }

    /// A value that is saved as the word says.
    fn saved(&self, word: i64) -> Recovery {
        let Format { kinds, odd_registers, .. } = self.format;
        let registers = odd_registers && !self.has(Way::RegisterOffsetsIgnored)
            || kinds && self.has(Way::OddOffsetsAreRegisters);
        if self.machine.odd_registers && registers && word & 1 != 0 {
            let number = if self.has(Way::RegisterNumberUnshifted) { word } else { word >> 1 };
            let base = self.base(low32(number.cast_unsigned()));
            return Recovery::Rule(Equation { base, offset: 0, dereference: false });
        }
        saved(if self.has(Way::SavedOffsetsScaled) { word * self.machine.factor } else { word })
    }

    fn flex_rules(&self, row: &Stored) -> Result<(Equation, Recovery, Recovery), RejectKind> {
        let mut next = 0;
        let cfa = self.flex_rule(row, &mut next)?;
        let cfa = match cfa {
            Some(rule) if rule.base != Base::Cfa => rule,
            _ if self.has(Way::FlexCfaUnchecked) => {
                Equation { base: Base::Sp, offset: self.word(row, 1), dereference: false }
            }
            _ => return Err(RejectKind::FlexCfaWithoutRegister),
        };
        let base = match self.has(Way::FlexSpFpByInfo) {
            true if row.sp => Base::Sp,
            true => Base::Fp,
            false => cfa.base,
        };
        let cfa = Equation { base, offset: self.cfa_offset(cfa.offset, false), ..cfa };
        let (ra, fp) = if self.has(Way::FpPairOfPseudocode) {
            let is_pair = row.count > 2 && self.unsigned_word(row, 2) != 0;
            let ra = if is_pair { self.flex_rule(row, &mut next)? } else { None };
            let mut fp_at = if is_pair { 3 } else { 4 };
            let fp = if row.count > fp_at { self.flex_rule(row, &mut fp_at)? } else { None };
            (ra, fp)
        } else {
            let ra = self.flex_rule(row, &mut next)?;
            let fp = self.flex_rule(row, &mut next)?;
            let fp = fp.map(|rule| match self.has(Way::FpAlwaysLoaded) && rule.base == Base::Cfa {
                true => Equation { dereference: true, ..rule },
                false => rule,
            });
            if next < row.count && !self.has(Way::SurplusFlexWordsIgnored) {
                return Err(RejectKind::BadFlexWordCount);
            }
            (ra, fp)
        };
        let is_ignored = self.has(Way::FixedIgnoredInFlex);
        let or_fixed = |rule: Option<Equation>, fixed: i64| match (rule, fixed) {
            (Some(rule), _) => Recovery::Rule(rule),
            _ if is_ignored => Recovery::Unchanged,
            (None, 0) => Recovery::Unchanged,
            (None, fixed) => saved(fixed),
        };
        let is_unknown = |rule: &Equation| matches!(rule.base, Base::Register(number) if number > self.machine.last_register);
        if self.has(Way::UnknownRegistersRefused) && [Some(cfa), ra, fp].iter().flatten().any(is_unknown) {
            return Err(RejectKind::Unspecified);
        }
        Ok((cfa, or_fixed(ra, self.fixed_ra()), or_fixed(fp, self.fixed_fp())))
    }

    fn flex_rule(&self, row: &Stored, next: &mut u8) -> Result<Option<Equation>, RejectKind> {
        if *next >= row.count {
            return Ok(None);
        }
        let control = match self.unsigned_word(row, *next) {
            word if self.has(Way::ControlWordsSigned) => signed(word, row.width).cast_unsigned(),
            word if self.has(Way::ControlWordsSignExtended) => {
                low32(signed(word, row.width).cast_unsigned()).into()
            }
            word => word,
        };
        *next += 1;
        if control == 0 {
            if *next == row.count && self.has(Way::LonePaddingRefused) {
                return Err(RejectKind::BadFlexWordCount);
            }
            *next += u8::from(self.has(Way::PaddingIsPair));
            return Ok(None);
        }
        if *next >= row.count {
            return Err(RejectKind::BadFlexWordCount);
        }
        if control & 4 != 0 && self.has(Way::UnusedFlexBitRefused) {
            return Err(RejectKind::Unspecified);
        }
        let offset = self.word(row, *next);
        *next += 1;
        let shift = if self.has(Way::RegisterShift2) { 2 } else { 3 };
        let base = if control & 1 == 0 || self.has(Way::RegPIgnored) && *next > 2 {
            Base::Cfa
        } else {
            self.base(low32(control >> shift))
        };
        let dereference = (control & 2 != 0 || self.has(Way::DerefAlways)) && !self.has(Way::DerefIgnored);
        Ok(Some(Equation { base, offset, dereference }))
    }

    fn base(&self, number: u32) -> Base {
        match number {
            number if number == self.machine.sp => Base::Sp,
            number if number == self.machine.fp => Base::Fp,
            number => Base::Register(number),
        }
    }
}

/// A value that is saved at an offset from the CFA.
const fn saved(offset: i64) -> Recovery {
    Recovery::Rule(Equation { base: Base::Cfa, offset, dereference: true })
}
