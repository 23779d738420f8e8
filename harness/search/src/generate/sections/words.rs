//! A plan field by field, for the encoder of `sframe-vectors`: what each word of the section holds.

use sframe_engine::{ByteOrder, Version};
use sframe_vectors::{
    Base, BaseRegister, Equation, FdeSource, FdeType, Flag, Hex, PauthKey, PcType, RawFde, RawHeader, RawRow,
    Recovery, RowSource, SectionSource,
};

use super::dialect::{Dialect, OddWord};
use super::fault::{FdeFault, RowFault, SectionFault};
use super::plan::{FunctionPlan, RowPlan, RowRules, SectionPlan};

impl SectionPlan {
    /// Returns the section field by field, or `None` if the format has no way to say what is planned.
    #[must_use]
    pub fn source(&self) -> Option<SectionSource> {
        let mut flags = Vec::new();
        flags.extend(self.sorted.then_some(Flag::Sorted));
        flags.extend(self.frame_pointer.then_some(Flag::FramePointer));
        flags.extend(self.pcrel.then_some(Flag::Pcrel));
        let order = self.row_order();
        let in_order = order.iter().copied().eq(0..order.len());
        let fdes = self.functions.iter().map(|function| self.fde_source(function)).collect::<Option<_>>()?;
        let fill = |count: u8| Hex(vec![self.filler; count.into()]);
        let mut source = SectionSource {
            version: self.version.number(),
            abi: self.abi,
            byte_order: None,
            flags,
            fixed_fp: self.fixed_fp.unwrap_or(0),
            fixed_ra: self.fixed_ra.unwrap_or(0),
            aux: Hex(self.auxiliary.clone()),
            fde_gap: fill(self.header_gap),
            fre_gap: fill(self.sub_section_gap),
            fdes,
            row_order: (!in_order).then_some(order),
            header: RawHeader::default(),
            trailing: fill(self.trailing),
            keep: None,
        };
        let fre_len = fre_len(&source);
        for (function, fde) in self.functions.iter().zip(&mut source.fdes) {
            if let Some(FdeFault::FreOffset(behind)) = function.broken {
                fde.raw.fre_offset = Some(fre_len.saturating_add(behind));
            }
        }
        if let Some(fault) = self.broken {
            self.break_header(&mut source, fault);
        }
        Some(source)
    }

    /// Returns where the parts of the section end, from its start: the auxiliary header, the FDEs, the rows.
    fn ends(&self, source: &SectionSource) -> [u32; 3] {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let header = HEADER + count(self.auxiliary.len());
        let fdes =
            header + u32::from(self.header_gap) + count(self.functions.len() * self.version.fde_size());
        [header, fdes, fdes + u32::from(self.sub_section_gap) + fre_len(source)]
    }

    fn break_header(&self, source: &mut SectionSource, fault: SectionFault) {
        let [header, fdes, rows] = self.ends(source);
        let behind = rows + u32::from(self.trailing);
        let fre_len = fre_len(source);
        let raw = &mut source.header;
        match fault {
            SectionFault::Magic(magic) => raw.magic = Some(magic),
            SectionFault::Version(version) => raw.version = Some(version),
            SectionFault::Abi(abi) => raw.abi = Some(abi),
            SectionFault::ByteOrder => {
                source.byte_order = Some(match self.abi.byte_order() {
                    ByteOrder::Little => ByteOrder::Big,
                    ByteOrder::Big => ByteOrder::Little,
                });
            }
            SectionFault::CutHeader(keep) => source.keep = Some(keep.into()),
            // At least the header is left, and less than the sub-sections need.
            SectionFault::Cut(by) => {
                source.keep = usize::try_from(rows.saturating_sub(by.into()).max(HEADER)).ok();
            }
            SectionFault::NumFdes(more) => {
                let size = u32::try_from(self.version.fde_size()).unwrap_or(1);
                let room = (behind - fdes) / size + 1;
                raw.num_fdes = u32::try_from(self.functions.len()).ok().map(|count| count + room + more);
            }
            SectionFault::Fdeoff(by) => raw.fdeoff = Some((behind - header).saturating_add(by)),
            SectionFault::Freoff(by) => raw.freoff = Some((behind - header).saturating_add(by)),
            SectionFault::FreLen(by) => {
                raw.fre_len = Some((fre_len + u32::from(self.trailing)).saturating_add(by));
            }
        }
    }

    fn fde_source(&self, function: &FunctionPlan) -> Option<FdeSource> {
        if function.flex && !self.version.has_flex_fdes() {
            return None;
        }
        let rows =
            function.rows.iter().map(|row| self.row_source(function, row)).collect::<Option<Vec<_>>>()?;
        let count = u32::try_from(rows.len()).ok()?;
        let mut fde = FdeSource {
            start: sframe_vectors::Address(function.start),
            size: function.size,
            fre_type: function.fre_type,
            pc_type: function.pc_type,
            fde_type: if function.flex { FdeType::Flex } else { FdeType::Default },
            pauth_key: if function.key_b { PauthKey::B } else { PauthKey::A },
            signal: function.signal,
            rep_size: function.rep_size,
            raw: RawFde::default(),
            rows,
        };
        let bits = u8::from(function.pc_type == PcType::Mask) << 4
            | u8::from(function.key_b) << 5
            | u8::from(function.signal) << 7;
        match function.broken {
            Some(FdeFault::FreType(fre_type)) => fde.raw.info = Some(bits | fre_type & 0xf),
            Some(FdeFault::FdeType(fde_type)) => fde.raw.info2 = Some(fde_type & 0x1f),
            Some(FdeFault::RepSize) => (fde.pc_type, fde.rep_size) = (PcType::Mask, 0),
            Some(FdeFault::NumFres) => fde.raw.num_fres = Some(count + 1),
            Some(FdeFault::FreOffset(_)) | None => {}
        }
        Some(fde)
    }

    /// Returns the words of a row that breaks no rule, and their width.
    pub(super) fn words_of(&self, function: &FunctionPlan, row: &RowPlan) -> Option<(u8, usize)> {
        let (width, words) = self.words(function, &RowPlan { broken: None, ..row.clone() })?;
        Some((width, words.len()))
    }

    fn words(&self, function: &FunctionPlan, row: &RowPlan) -> Option<(u8, Vec<Word>)> {
        let mut words = match &row.rules {
            None if !self.version.marks_outermost_rows() => return None,
            None => Vec::new(),
            Some(rules) if function.flex => self.flex_words(rules)?,
            Some(rules) => self.default_words(rules)?,
        };
        match row.broken {
            None | Some(RowFault::WordSize) => {}
            Some(RowFault::NoWords) => words.clear(),
            Some(RowFault::WordCount(count)) => words.resize(count.into(), Word::Signed(-8)),
            Some(RowFault::HalfPair) => {
                words.pop();
            }
            Some(RowFault::NoCfa) => *words.first_mut()? = Word::Control(0),
            Some(RowFault::CfaOnCfa) => *words.first_mut()? = Word::Control(2),
        }
        let least = if words.is_empty() { 1 } else { row.width };
        let fits = |width: &u8| *width >= least && words.iter().all(|word| word.fits(*width));
        let width = [1, 2, 4].into_iter().find(fits)?;
        Some((width, words))
    }

    fn row_source(&self, function: &FunctionPlan, row: &RowPlan) -> Option<RowSource> {
        let (width, words) = self.words(function, row)?;
        // Rows of default type name their base here; in others, the bit means nothing.
        let on_sp = !function.flex && row.rules.is_some_and(|rules| rules.cfa.base == Base::Sp);
        let base = if on_sp { BaseRegister::Sp } else { BaseRegister::Fp };
        let mut raw = RawRow::default();
        if row.broken == Some(RowFault::WordSize) {
            let count = u8::try_from(words.len()).ok()?;
            raw.info = Some(u8::from(row.mangled) << 7 | 3 << 5 | count << 1 | u8::from(on_sp));
        }
        let words = words.into_iter().map(Word::value).collect();
        Some(RowSource { start: row.start, base, width, words, mangled: row.mangled, raw })
    }

    /// CFA, RA if the header does not fix it, FP if it is not where the header says.
    fn default_words(&self, rules: &RowRules) -> Option<Vec<Word>> {
        let RowRules { cfa, ra, fp } = *rules;
        if cfa.dereference || !matches!(cfa.base, Base::Sp | Base::Fp) {
            return None;
        }
        let mut words = vec![self.cfa_word(cfa.offset)?];
        let fp_is_usual = fp == self.usual_fp();
        match self.fixed_ra {
            Some(_) if ra != self.usual_ra() => return None,
            Some(_) => {}
            None if ra == Recovery::Unchanged && fp_is_usual => {}
            None if ra == Recovery::Unchanged => words.push(self.unsaved()?),
            None => {
                let word = self.saved_word(ra)?;
                words.push(Some(word).filter(|word| Some(*word) != self.unsaved())?);
            }
        }
        if !fp_is_usual {
            words.push(self.saved_word(fp)?);
        }
        Some(words)
    }

    /// The word of RA that says that it is not saved.
    fn unsaved(&self) -> Option<Word> {
        Dialect::of(self.abi).zero_is_unsaved.then_some(Word::Signed(0))
    }

    fn saved_word(&self, recovery: Recovery) -> Option<Word> {
        let odd_is_register = Dialect::of(self.abi).odd_word(self.version) == OddWord::Register;
        match recovery {
            Recovery::Rule(Equation { base: Base::Cfa, offset, dereference: true }) => {
                (!odd_is_register || offset % 2 == 0).then_some(Word::Signed(offset))
            }
            Recovery::Rule(Equation { base, offset: 0, dereference: false }) if odd_is_register => {
                Some(Word::Signed(i64::from(self.number(base)?) << 1 | 1))
            }
            _ => None,
        }
    }

    fn cfa_word(&self, offset: i64) -> Option<Word> {
        let Dialect { cfa_bias, cfa_unit, .. } = Dialect::of(self.abi);
        let scaled = offset.checked_sub(cfa_bias)?;
        (scaled % cfa_unit == 0).then_some(Word::Signed(scaled / cfa_unit))
    }

    /// The DWARF number of a base, if that is a register.
    fn number(&self, base: Base) -> Option<u32> {
        match base {
            Base::Cfa => None,
            Base::Sp => Some(self.abi.sp().0),
            Base::Fp => Some(self.abi.fp().0),
            Base::Register(number) => Some(number),
        }
    }

    /// Pairs of control word and offset for CFA, RA, FP; a 0 for a pair that is not needed.
    fn flex_words(&self, rules: &RowRules) -> Option<Vec<Word>> {
        let RowRules { cfa, ra, fp } = *rules;
        let mut words = vec![self.control_word(&cfa).filter(|_| cfa.base != Base::Cfa)?];
        words.push(self.cfa_word(cfa.offset)?);
        for (recovery, usual) in [(ra, self.usual_ra()), (fp, self.usual_fp())] {
            match recovery {
                _ if recovery == usual => words.push(Word::Control(0)),
                Recovery::Rule(rule) => {
                    words.push(self.control_word(&rule)?);
                    words.push(Word::Signed(rule.offset));
                }
                Recovery::Unchanged | Recovery::Undefined => return None,
            }
        }
        while words.last() == Some(&Word::Control(0)) {
            words.pop();
        }
        Some(words)
    }

    fn control_word(&self, rule: &Equation) -> Option<Word> {
        let number = self.number(rule.base);
        let control = number.unwrap_or(0).checked_mul(8)? | u32::from(rule.dereference) << 1;
        let control = control | u32::from(number.is_some());
        // 0 is padding.
        (control != 0).then_some(Word::Control(control))
    }
}

/// The length of a header without what is auxiliary.
const HEADER: u32 = 28;

/// Returns the length of the FRE sub-section.
pub(super) fn fre_len(source: &SectionSource) -> u32 {
    let row = |fde: &FdeSource, row: &RowSource| {
        let start = match fde.fre_type {
            sframe_vectors::FreType::Addr1 => 1,
            sframe_vectors::FreType::Addr2 => 2,
            sframe_vectors::FreType::Addr4 => 4,
        };
        start + 1 + row.words.len() * usize::from(row.width)
    };
    let has_attributes = Version::from_number(source.version).is_some_and(Version::has_fde_attributes);
    let attribute = if has_attributes { 5 } else { 0 };
    let len = |fde: &FdeSource| attribute + fde.rows.iter().map(|it| row(fde, it)).sum::<usize>();
    u32::try_from(source.fdes.iter().map(len).sum::<usize>()).unwrap_or(u32::MAX)
}

/// A data word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    /// An offset: a signed number.
    Signed(i64),
    /// A control word: an unsigned one.
    Control(u32),
}

impl Word {
    fn value(self) -> i64 {
        match self {
            Self::Signed(value) => value,
            Self::Control(value) => value.into(),
        }
    }

    fn fits(self, width: u8) -> bool {
        let bits = 8 * u32::from(width);
        match self {
            Self::Signed(value) => (-(1_i64 << (bits - 1))..1 << (bits - 1)).contains(&value),
            Self::Control(value) => i64::from(value) < 1 << bits,
        }
    }
}
