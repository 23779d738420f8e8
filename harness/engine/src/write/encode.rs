//! Encodes sections, field by field as the specification lists them.

use alloc::vec;
use alloc::vec::Vec;

use super::error::{WriteError, WriteErrorKind};
use super::layout::Layout;
use super::section::{Function, Section};
use crate::abi::{ByteOrder, CfaOffsetScaling, DwarfRegister};
use crate::constants::{
    HEADER_SIZE, SFRAME_BASE_REG_FP, SFRAME_BASE_REG_SP, SFRAME_FRE_DATAWORD_1B, SFRAME_FRE_DATAWORD_2B,
    SFRAME_FRE_DATAWORD_4B, SFRAME_MAGIC,
};
use crate::read::{DataWordSize, FdeType, FreType, PauthKey, PcType};
use crate::rule::{Base, Recovery, RecoveryRule, Row};

/// Numbers in a byte order.
struct Output {
    order: ByteOrder,
    bytes: Vec<u8>,
}

impl Output {
    /// The low `width` bytes of a number.
    fn put(&mut self, width: usize, value: i64) {
        match self.order {
            ByteOrder::Little => self.bytes.extend(&value.to_le_bytes()[..width]),
            ByteOrder::Big => self.bytes.extend(&value.to_be_bytes()[8 - width..]),
        }
    }

    fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Bytes that nothing refers to.
    fn fill(&mut self, count: u16, layout: &Layout) {
        self.bytes.extend(core::iter::repeat_n(layout.filler, count.into()));
    }

    fn u32(&mut self, value: usize) -> Result<(), WriteErrorKind> {
        let value = u32::try_from(value).map_err(|_| WriteErrorKind::SectionTooLong)?;
        self.put(4, value.into());
        Ok(())
    }
}

impl Section {
    /// Writes the section for an address.
    ///
    /// Data words get the smallest width that holds all words of a row, unless they were read
    /// wider ([`Function::wide_rows`]). A flex row ends with the last rule that is not the
    /// default. GNU as does the same.
    ///
    /// # Errors
    /// What the version can't express, with function and row.
    pub fn write(&self, address: u64) -> Result<Vec<u8>, WriteError> {
        self.write_with(address, &Layout::default())
    }

    /// Writes the section for an address, with another layout.
    ///
    /// # Errors
    /// What the version can't express, with function and row.
    pub fn write_with(&self, address: u64, layout: &Layout) -> Result<Vec<u8>, WriteError> {
        self.check_header().map_err(WriteErrorKind::of_section)?;
        let order = self.abi.byte_order();
        let mut fres = Output { order, bytes: Vec::new() };
        let mut offsets = vec![0; self.functions.len()];
        for index in self.rows_order()? {
            offsets[index] = fres.bytes.len();
            self.write_rows(index, layout, &mut fres)?;
        }

        let mut output = Output { order, bytes: Vec::new() };
        self.write_header(fres.bytes.len(), layout, &mut output).map_err(WriteErrorKind::of_section)?;
        output.fill(layout.header_gap, layout);
        for (index, (function, offset)) in self.functions.iter().zip(offsets).enumerate() {
            let result = self.write_fde(function, offset, address, &mut output);
            result.map_err(|kind| kind.of_function(index))?;
        }
        output.fill(layout.sub_section_gap, layout);
        output.bytes.extend(fres.bytes);
        output.fill(layout.trailing, layout);
        Ok(output.bytes)
    }

    fn check_header(&self) -> Result<(), WriteErrorKind> {
        if !self.version.has_abi(self.abi) {
            return Err(WriteErrorKind::AbiNotInVersion(self.abi, self.version));
        }
        let unknown = self.flags.0 & !self.version.flags();
        if unknown != 0 {
            return Err(WriteErrorKind::FlagNotInVersion(unknown, self.version));
        }
        if self.fixed_fp_offset == Some(0) || self.fixed_ra_offset == Some(0) {
            return Err(WriteErrorKind::ZeroFixedOffset);
        }
        Ok(())
    }

    /// The functions in the order of their rows.
    fn rows_order(&self) -> Result<Vec<usize>, WriteError> {
        let mut order = vec![None; self.functions.len()];
        for (index, function) in self.functions.iter().enumerate() {
            let position = function.rows_position;
            let slot = usize::try_from(position).ok().and_then(|position| order.get_mut(position));
            match slot {
                Some(slot) if slot.is_none() => *slot = Some(index),
                _ => return Err(WriteErrorKind::BadRowsPosition(position).of_function(index)),
            }
        }
        Ok(order.into_iter().flatten().collect())
    }

    fn write_header(
        &self,
        fre_len: usize,
        layout: &Layout,
        output: &mut Output,
    ) -> Result<(), WriteErrorKind> {
        let auxhdr_len = u8::try_from(self.auxiliary.len())
            .map_err(|_| WriteErrorKind::AuxiliaryHeaderTooLong(self.auxiliary.len()))?;
        output.put(2, SFRAME_MAGIC.into());
        output.u8(self.version.number());
        output.u8(self.flags.0);
        output.u8(self.abi.id());
        output.u8(self.fixed_fp_offset.unwrap_or(0).cast_unsigned());
        output.u8(self.fixed_ra_offset.unwrap_or(0).cast_unsigned());
        output.u8(auxhdr_len);
        output.u32(self.functions.len())?;
        output.u32(self.functions.iter().map(|function| function.rows.len()).sum())?;
        output.u32(fre_len)?;
        let fdeoff = usize::from(layout.header_gap);
        let fdes_len = self.functions.len() * self.version.fde_size();
        output.u32(fdeoff)?;
        output.u32(fdeoff + fdes_len + usize::from(layout.sub_section_gap))?; // sfh_freoff
        debug_assert_eq!(output.bytes.len(), HEADER_SIZE);
        output.bytes.extend(&self.auxiliary);
        Ok(())
    }

    fn write_fde(
        &self,
        function: &Function,
        offset: usize,
        address: u64,
        output: &mut Output,
    ) -> Result<(), WriteErrorKind> {
        let is_pcrel = self.flags.func_start_pcrel();
        let origin = if is_pcrel { address.wrapping_add(output.bytes.len() as u64) } else { address };
        let start = function.start.wrapping_sub(origin).cast_signed();
        let size = i64::from(function.size);
        let start_size = self.version.start_size();
        if start_size == 4 && i32::try_from(start).is_err() {
            return Err(WriteErrorKind::StartOutOfReach(function.start));
        }
        output.put(start_size, start);
        output.put(4, size);
        output.u32(offset)?;
        if self.version.has_fde_attributes() {
            return Ok(());
        }
        output.u32(function.rows.len())?;
        output.u8(info(function));
        if self.version.has_rep_size() {
            output.u8(function.rep_size.unwrap_or(0));
            output.put(2, 0); // sfde_func_padding2
        }
        Ok(())
    }

    /// The function's rows, and before them its attribute.
    fn write_rows(&self, index: usize, layout: &Layout, output: &mut Output) -> Result<(), WriteError> {
        let function = &self.functions[index];
        self.check_function(function).map_err(|kind| kind.of_function(index))?;
        if self.version.has_fde_attributes() {
            let count = u16::try_from(function.rows.len())
                .map_err(|_| WriteErrorKind::TooManyRows(function.rows.len()).of_function(index))?;
            output.put(2, count.into());
            output.u8(info(function));
            output.u8(match function.fde_type {
                FdeType::Default => 0,
                FdeType::Flex => 1,
            });
            output.u8(function.rep_size.unwrap_or(0));
        }
        for (position, row) in function.rows.iter().enumerate() {
            self.write_row(function, row, layout, output).map_err(|kind| kind.of_row(index, position))?;
        }
        Ok(())
    }

    /// Returns all rows of a function that can't be expressed. The function is treated as the
    /// first one.
    pub(super) fn row_errors(&self, function: &Function) -> Vec<WriteError> {
        let mut output = Output { order: self.abi.byte_order(), bytes: Vec::new() };
        let mut errors = Vec::new();
        for (position, row) in function.rows.iter().enumerate() {
            output.bytes.clear();
            let result = self.write_row(function, row, &Layout::default(), &mut output);
            errors.extend(result.err().map(|kind| kind.of_row(0, position)));
        }
        errors
    }

    fn check_function(&self, function: &Function) -> Result<(), WriteErrorKind> {
        let version = self.version;
        let is_mask = function.pc_type == PcType::Mask;
        let has_rep_size = function.rep_size.is_some_and(|size| size > 0);
        let is_right = if version.has_rep_size() { has_rep_size } else { function.rep_size.is_none() };
        if is_mask && !is_right {
            return Err(WriteErrorKind::RepSizeMismatch(version));
        }
        if function.signal && !version.marks_signal_frames() {
            return Err(WriteErrorKind::SignalNotInVersion(version));
        }
        if function.fde_type == FdeType::Flex && !version.has_flex_fdes() {
            return Err(WriteErrorKind::FlexNotInVersion(version));
        }
        Ok(())
    }

    fn write_row(
        &self,
        function: &Function,
        row: &Row,
        layout: &Layout,
        output: &mut Output,
    ) -> Result<(), WriteErrorKind> {
        let width = fre_type(function).width();
        if width < 4 && row.start >> (8 * width) != 0 {
            return Err(WriteErrorKind::StartTooLarge(row.start));
        }
        output.put(width, row.start.into());
        let words = self.words(function, row)?;
        let asked = layout.data_words.filter(|_| !words.is_empty());
        let least = asked.into_iter().chain(function.width_of(row)).max();
        let size = word_size(&words, least)?;
        let (code, width) = match size {
            DataWordSize::One => (SFRAME_FRE_DATAWORD_1B, 1),
            DataWordSize::Two => (SFRAME_FRE_DATAWORD_2B, 2),
            DataWordSize::Four => (SFRAME_FRE_DATAWORD_4B, 4),
        };
        // A default row names its base here; rows without a base leave the bit clear.
        let base = match (row.cfa, function.fde_type) {
            (Some(RecoveryRule { base: Base::Sp, .. }), FdeType::Default) => SFRAME_BASE_REG_SP,
            _ => SFRAME_BASE_REG_FP,
        };
        // At most 6 words: three pairs.
        let count = u8::try_from(words.len()).unwrap_or(u8::MAX);
        output.u8(u8::from(row.mangled_ra) << 7 | code << 5 | count << 1 | base);
        for word in words {
            output.put(width, word.value());
        }
        Ok(())
    }

    /// The smallest width that holds the data words of a row (2.4.1).
    pub(super) fn data_words(&self, function: &Function, row: &Row) -> Result<DataWordSize, WriteErrorKind> {
        word_size(&self.words(function, row)?, None)
    }

    /// The data words of a row (3).
    fn words(&self, function: &Function, row: &Row) -> Result<Vec<Word>, WriteErrorKind> {
        match (row.cfa, function.fde_type) {
            (None, _) if !self.version.marks_outermost_rows() => Err(WriteErrorKind::UndefinedRaNotInVersion),
            (None, _) => Ok(Vec::new()),
            (Some(cfa), FdeType::Default) => self.default_words(&cfa, row),
            (Some(cfa), FdeType::Flex) => self.flex_words(&cfa, row),
        }
    }

    /// 3.1: CFA offset, RA offset where RA is not fixed, FP offset.
    fn default_words(&self, cfa: &RecoveryRule, row: &Row) -> Result<Vec<Word>, WriteErrorKind> {
        let mut words = Vec::new();
        if cfa.dereference || !matches!(cfa.base, Base::Sp | Base::Fp) {
            return Err(WriteErrorKind::CfaNotInDefault);
        }
        words.push(Word::Signed(self.encode_cfa_offset(cfa.offset)?));

        let fp_is_default = self.is_default(row.fp, self.fixed_fp_offset);
        let ra_is_default = self.is_default(row.ra, self.fixed_ra_offset);
        match (self.fixed_ra_offset, row.ra) {
            (Some(_), _) if !ra_is_default => return Err(WriteErrorKind::RaNotInDefault),
            (Some(_), _) => {}
            (None, Recovery::Unchanged) if fp_is_default => {}
            (None, ra) => {
                let padding = self.abi.ra_padding().map(i64::from);
                let word = match ra {
                    Recovery::Unchanged => padding,
                    Recovery::Undefined | Recovery::Rule(_) => {
                        self.saved_word(ra).filter(|word| Some(*word) != padding)
                    }
                };
                words.push(Word::Signed(word.ok_or(WriteErrorKind::RaNotInDefault)?));
            }
        }
        if !fp_is_default {
            let word = self.saved_word(row.fp).ok_or(WriteErrorKind::FpNotInDefault)?;
            words.push(Word::Signed(word));
        }
        Ok(words)
    }

    /// Returns whether a row needs no words for a value, because it is where the header or the
    /// ABI says.
    fn is_default(&self, recovery: Recovery, fixed: Option<i8>) -> bool {
        match (recovery, fixed) {
            (Recovery::Unchanged, None) => true,
            (Recovery::Rule(rule), Some(fixed)) => {
                rule.base == Base::Cfa && rule.dereference && rule.offset == i64::from(fixed)
            }
            _ => false,
        }
    }

    /// The word of a default row for a saved value: its offset from the CFA, or
    /// a register (version 2 erratum 1, `OFFSET_ENCODE_REGNUM`).
    fn saved_word(&self, recovery: Recovery) -> Option<i64> {
        let has_registers = self.version.has_registers_in_words(self.abi);
        match recovery {
            Recovery::Rule(RecoveryRule { base: Base::Cfa, offset, dereference: true }) => {
                (!has_registers || offset % 2 == 0).then_some(offset)
            }
            Recovery::Rule(RecoveryRule { base, offset: 0, dereference: false }) if has_registers => {
                let register = self.register(base)?;
                Some(i64::from(register.0) << 1 | 1)
            }
            _ => None,
        }
    }

    fn register(&self, base: Base) -> Option<DwarfRegister> {
        match base {
            Base::Cfa => None,
            Base::Sp => Some(self.abi.sp()),
            Base::Fp => Some(self.abi.fp()),
            Base::Register(register) => Some(register),
        }
    }

    /// 3.2: pairs of control word and offset; a 0 stands for a pair that is not needed.
    fn flex_words(&self, cfa: &RecoveryRule, row: &Row) -> Result<Vec<Word>, WriteErrorKind> {
        let mut words = Vec::new();
        if cfa.base == Base::Cfa {
            return Err(WriteErrorKind::RuleNotInFlex);
        }
        words.push(self.control_word(cfa)?);
        words.push(Word::Signed(self.encode_cfa_offset(cfa.offset)?));
        for (recovery, fixed) in [(row.ra, self.fixed_ra_offset), (row.fp, self.fixed_fp_offset)] {
            match recovery {
                _ if self.is_default(recovery, fixed) => words.push(Word::Unsigned(0)),
                Recovery::Rule(rule) => {
                    words.push(self.control_word(&rule)?);
                    words.push(Word::Signed(rule.offset));
                }
                Recovery::Unchanged | Recovery::Undefined => return Err(WriteErrorKind::RuleNotInFlex),
            }
        }
        while words.last() == Some(&Word::Unsigned(0)) {
            words.pop();
        }
        Ok(words)
    }

    fn control_word(&self, rule: &RecoveryRule) -> Result<Word, WriteErrorKind> {
        let register = self.register(rule.base);
        let number = register.map_or(0, |register| u64::from(register.0));
        let control = number << 3 | u64::from(rule.dereference) << 1 | u64::from(register.is_some());
        // A control word of 0 is padding: RA = CFA + 0 can't be written.
        match u32::try_from(control) {
            Ok(control) if control != 0 => Ok(Word::Unsigned(control)),
            _ => Err(WriteErrorKind::RuleNotInFlex),
        }
    }

    fn encode_cfa_offset(&self, offset: i64) -> Result<i64, WriteErrorKind> {
        let Some(CfaOffsetScaling { adjustment, factor }) = self.abi.cfa_offset_scaling() else {
            return Ok(offset);
        };
        offset
            .checked_add(adjustment)
            .filter(|offset| offset % factor == 0)
            .map(|offset| offset / factor)
            .ok_or(WriteErrorKind::OffsetNotEncodable(offset))
    }
}

/// A data word: a signed or an unsigned number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Signed(i64),
    Unsigned(u32),
}

impl Word {
    fn value(self) -> i64 {
        match self {
            Self::Signed(value) => value,
            Self::Unsigned(value) => value.into(),
        }
    }

    /// Returns whether a data word of this width holds it.
    fn fits(self, size: DataWordSize) -> bool {
        let bits = 8 * size.width();
        let (low, high) = match self {
            Self::Signed(_) => (-(1_i64 << (bits - 1)), (1_i64 << (bits - 1)) - 1),
            Self::Unsigned(_) => (0, (1_i64 << bits) - 1),
        };
        (low..=high).contains(&self.value())
    }
}

/// Returns the smallest width of data words that holds a row's, and is at least as wide as
/// asked for (2.4.1).
fn word_size(words: &[Word], least: Option<DataWordSize>) -> Result<DataWordSize, WriteErrorKind> {
    let fits = |size: &DataWordSize| {
        least.is_none_or(|least| *size >= least) && words.iter().all(|word| word.fits(*size))
    };
    [DataWordSize::One, DataWordSize::Two, DataWordSize::Four].into_iter().find(fits).ok_or_else(|| {
        let large = words.iter().find(|word| !word.fits(DataWordSize::Four));
        WriteErrorKind::OffsetNotEncodable(large.map_or(0, |word| word.value()))
    })
}

fn fre_type(function: &Function) -> FreType {
    function.fre_type.unwrap_or(Function::usual_fre_type(function.size))
}

/// The first info byte of an FDE (2.3.3).
fn info(function: &Function) -> u8 {
    let fre_type = match fre_type(function) {
        FreType::Addr1 => 0,
        FreType::Addr2 => 1,
        FreType::Addr4 => 2,
    };
    let mask = u8::from(function.pc_type == PcType::Mask);
    let key_b = u8::from(function.pauth_key == PauthKey::B);
    u8::from(function.signal) << 7 | key_b << 5 | mask << 4 | fre_type
}
