//! Look-ups and steps.

use super::section::{Function, Section};
use super::ways::Way;
use crate::answer::StepAnswer;
use crate::equation::{Base, Equation, Recovery};
use crate::expect::{Answer, Lookup, Question, Reject, Row, Rules};
use crate::names::{FdeType, Flag, PcType, RejectKind};
use crate::number::Address;
use crate::question::StepQuestion;
use crate::step::{Caller, End, PcKind, Tracked};

impl Section<'_> {
    pub(super) fn look_up(&self, functions: &[Function], question: Question) -> Lookup {
        let Question { pc, return_address } = question;
        let answer = self.answer(functions, self.looked_up(pc, return_address));
        Lookup { pc, return_address, answer }
    }

    /// The address by which a PC is looked up.
    fn looked_up(&self, pc: Address, is_return: bool) -> u64 {
        if is_return && self.has(Way::ByteAfterReturnAddress) {
            return pc.0.wrapping_add(1);
        }
        let before = is_return && !self.has(Way::ReturnAddressAsPc) || self.has(Way::PcAsReturnAddress);
        pc.0.wrapping_sub(before.into())
    }

    fn covers(&self, function: &Function, address: u64) -> bool {
        let size = u64::from(function.size);
        if self.has(Way::EndOfAddressSpaceNotFound) && function.start.checked_add(size).is_none() {
            return false;
        }
        let mut offset = address.wrapping_sub(function.start);
        if self.has(Way::DifferenceOf32Bits) {
            offset &= 0xffff_ffff;
        }
        let within = offset < size || offset == size && self.has(Way::EndIncluded);
        let within = within || self.has(Way::SizeIgnored) && address >= function.start;
        within && !(offset == 0 && self.has(Way::StartExcluded))
    }

    fn function_at(&self, functions: &[Function], address: u64) -> Option<usize> {
        let sorted = self.header.flags & Flag::Sorted.bit() != 0;
        let indexes = 0..functions.len();
        if self.has(Way::SortedAssumed) && !sorted {
            let up_to = functions.partition_point(|function| function.start <= address);
            return up_to.checked_sub(1).filter(|index| self.covers(&functions[*index], address));
        }
        let first = usize::from(self.has(Way::FirstFdeNeverFound));
        let last = functions.len() - usize::from(self.has(Way::LastFdeNeverFound) && !functions.is_empty());
        let starts = indexes.clone().filter(|index| functions[*index].start <= address);
        let to_the_last = self.has(Way::StartsComparedSignedUpToTheLast);
        let nearest = if (self.has(Way::StartsComparedSigned) || to_the_last) && sorted {
            // The last one that is not after the PC; empty ones hide nothing. Which are looked at depends on whether the
            // upper bound is among them.
            let (mut from, mut to) = (0, functions.len());
            while from < to {
                let middle = usize::midpoint(from, to - usize::from(to_the_last));
                if functions[middle].start.cast_signed() <= address.cast_signed() {
                    from = middle + 1;
                } else {
                    to = middle;
                }
            }
            (0..from).rfind(|index| functions[*index].size > 0)
        } else if self.has(Way::LastHides) || self.has(Way::SizeIgnored) {
            starts.max_by_key(|index| (functions[*index].start, *index))
        } else if self.has(Way::FirstHides) {
            starts.max_by_key(|index| (functions[*index].start, usize::MAX - *index))
        } else {
            let mut found = indexes.filter(|index| (first..last).contains(index));
            found.find(|index| self.covers(&functions[*index], address))
        };
        nearest.filter(|index| self.covers(&functions[*index], address))
    }

    fn answer(&self, functions: &[Function], address: u64) -> Answer {
        let Some(index) = self.function_at(functions, address) else { return Answer::NoFde };
        let function = &functions[index];
        if let Some(reject) = &function.fde.reject {
            return Answer::Reject(reject.clone());
        }
        if function.fde.outermost {
            return Answer::Outermost(index);
        }
        match self.row_at(function, address) {
            Ok(None) => Answer::NoRow(index),
            Ok(Some(row)) => match &function.fde.rows[row] {
                Row::Rules(rules) if rules.cfa.is_none() && self.has(Way::NoWordsIsNoRow) => {
                    Answer::NoRow(index)
                }
                _ => Answer::Row(index, row),
            },
            Err(kind) => Answer::Reject(Reject { kind, offset: None }),
        }
    }

    fn row_at(&self, function: &Function, address: u64) -> Result<Option<usize>, RejectKind> {
        let mut offset = address.wrapping_sub(function.start);
        if self.has(Way::DifferenceOf32Bits) {
            offset &= 0xffff_ffff;
        }
        let rows = &function.fde.rows;
        let is_mask = function.fde.pc_type == PcType::Mask && !self.has(Way::PcTypeIgnoredInLookups);
        if is_mask && self.format.block {
            let block = if self.has(Way::BlockOf16) { 16 } else { u64::from(function.fde.rep_size) };
            let from = if self.has(Way::BlocksOfAddresses) { address } else { offset };
            offset = match from.checked_rem(block) {
                Some(_) if self.has(Way::BlockByMask) => from & (block - 1),
                Some(rest) => rest,
                None => return Err(RejectKind::ZeroRepSize),
            };
        }
        let covers = |start: u32| {
            let start = match self.has(Way::RowStartsSignExtended) {
                true => i64::from(start.cast_signed()).cast_unsigned(),
                false => u64::from(start),
            };
            let masked = if self.has(Way::MaskOfOffset) { offset } else { address };
            match is_mask && !self.format.block {
                true => masked & start >= start,
                false if self.has(Way::RowStartNeverIncluded) => offset > start,
                false if self.has(Way::RowStartExcluded) => offset > start || offset == 0 && start == 0,
                false => offset >= start,
            }
        };
        let mut found: Option<usize> = None;
        for (index, row) in rows.iter().enumerate() {
            let start = match row {
                Row::Rules(rules) => rules.start,
                // The one that can't be read.
                Row::Reject(reject) if function.fault.is_some_and(covers) => return Err(reject.kind),
                Row::Reject(_) => break,
            };
            if covers(start) {
                let stays = self.has(Way::FirstRowAlways) && found.is_some()
                    || is_mask && !self.format.block && self.has(Way::FirstMaskCounts) && found.is_some()
                    || self.has(Way::FirstOfEqualRows)
                        && found.is_some_and(|found| start_of(rows, found) == start);
                found = if stays { found } else { Some(index) };
            } else if !is_mask || self.format.block {
                break;
            }
        }
        if self.has(Way::LastRowAlways) && found.is_some() {
            found = rows.len().checked_sub(1);
        }
        Ok(found)
    }

    pub(super) fn step(&self, functions: &[Function], question: &StepQuestion) -> StepAnswer {
        let end = |end| StepAnswer { caller: None, end };
        let by_itself = self.has(Way::CallerByReturnAddress) || self.has(Way::CallersWithoutKinds);
        let as_it_is = by_itself && !self.has(Way::ByteAfterReturnAddress);
        let is_return = question.frame.kind == PcKind::Return && !as_it_is;
        let address = self.looked_up(question.frame.pc, is_return);
        let (function, row) = match self.answer(functions, address) {
            Answer::NoFde | Answer::Rules(_) => return end(Some(End::NoFde {})),
            Answer::NoRow(_) => return end(Some(End::NoRow {})),
            Answer::Outermost(_) if self.has(Way::NoRowsIsNoEnd) => return end(Some(End::NoRow {})),
            Answer::Outermost(_) => return end(Some(End::Outermost {})),
            Answer::Reject(_) => return end(Some(End::Malformed {})),
            Answer::Row(function, row) => (&functions[function], row),
        };
        let Row::Rules(rules) = &function.fde.rows[row] else { return end(Some(End::Malformed {})) };
        let Some(cfa) = rules.cfa else {
            let is_lost = self.has(Way::NoWordsIsNoEnd);
            return end(Some(if is_lost { End::RaNotSaved {} } else { End::Outermost {} }));
        };
        let caller = self.caller(function, rules, cfa, question);
        match caller {
            Ok(caller) => StepAnswer { caller: Some(caller), end: None },
            Err(why) => end(Some(why)),
        }
    }

    fn caller(
        &self,
        function: &Function,
        rules: &Rules,
        cfa: Equation,
        question: &StepQuestion,
    ) -> Result<Caller, End> {
        let frame = question.frame;
        let state = State { question };
        let cfa = state.value(&cfa, 0, Tracked::Cfa)?;
        if !cfa.is_multiple_of(8) && !self.has(Way::NoAlignmentNeeded) {
            return Err(End::Misaligned { cfa: Address(cfa) });
        }
        let flex = function.fde.fde_type == FdeType::Flex;
        let is_cfa = self.has(Way::SpIsCfa) || flex && self.has(Way::FlexSpIsCfa);
        let sp = if is_cfa { cfa } else { cfa.wrapping_sub(self.machine.sp_below) };
        let only_equal = self.has(Way::OnlyEqualIsNoProgress);
        // Calls leave the return address on the stack.
        let by_call = self.machine.ra.is_none();
        let has_called = frame.kind == PcKind::Return || by_call && self.has(Way::ProgressAboveOnAmd64);
        let stays =
            sp == frame.sp.0 && has_called && (by_call || only_equal || self.has(Way::ProgressStrict));
        let is_free = function.fde.signal && !self.has(Way::SignalFramesProgress);
        let is_lower = sp < frame.sp.0 && !only_equal;
        if (is_lower || stays) && !is_free && !self.has(Way::NoProgressNeeded) {
            return Err(End::NoProgress { cfa: Address(cfa) });
        }
        let in_register = rules.ra == Recovery::Unchanged;
        if in_register && self.has(Way::RaInRegisterUnknown) && self.machine.words_of_1_or_3 {
            return Err(End::RaNotSaved {});
        }
        let ra = match rules.ra {
            Recovery::Rule(rule) => state.value(&rule, cfa, Tracked::Ra)?,
            Recovery::Unchanged | Recovery::Undefined => match self.machine.ra {
                Some(register) if question.registers.is_some() => state.register(register, Tracked::Ra)?,
                _ => return Err(End::RaNotSaved {}),
            },
        };
        let fp = match rules.fp {
            _ if self.has(Way::FpLost) => frame.fp.0,
            Some(Recovery::Rule(rule)) => state.value(&rule, cfa, Tracked::Fp)?,
            _ => frame.fp.0,
        };
        let has_code = rules.mangled || self.machine.signs && self.has(Way::CodesAlwaysStripped);
        let pc = match question.address_bits {
            Some(bits) if has_code && bits < 64 => self.without_code(ra, bits),
            _ => ra,
        };
        if pc == 0 && self.has(Way::ZeroIsOutermost) {
            return Err(End::Outermost {});
        }
        let is_return = self.has(Way::SignalCallerByReturn) || self.has(Way::CallersWithoutKinds);
        let signal = function.fde.signal && !is_return;
        let kind = if signal { PcKind::Instruction } else { PcKind::Return };
        let sp = if self.has(Way::SpUnchanged) { frame.sp.0 } else { sp };
        Ok(Caller { pc: Address(pc), kind, cfa: Address(cfa), sp: Address(sp), fp: Address(fp) })
    }

    /// The address without its authentication code, whose bits are those above the lowest ones.
    fn without_code(&self, address: u64, bits: u32) -> u64 {
        let code = u64::MAX << bits;
        match address >> 55 & 1 {
            _ if self.has(Way::CodesNeverStripped) => address,
            1 if !self.has(Way::CodesClearedAnywhere) => address | code,
            _ => address & !code,
        }
    }
}

fn start_of(rows: &[Row], index: usize) -> u32 {
    match rows.get(index) {
        Some(Row::Rules(rules)) => rules.start,
        _ => 0,
    }
}

/// What rules are applied to.
struct State<'s> {
    question: &'s StepQuestion,
}

impl State<'_> {
    fn register(&self, register: u32, what: Tracked) -> Result<u64, End> {
        let known = self.question.registers.as_ref().ok_or(End::UnsafeRegister { what, register })?;
        known.get(&register).map(|value| value.0).ok_or(End::UnknownRegister { what, register })
    }

    fn value(&self, rule: &Equation, cfa: u64, what: Tracked) -> Result<u64, End> {
        let base = match rule.base {
            Base::Cfa => cfa,
            Base::Sp => self.question.frame.sp.0,
            Base::Fp => self.question.frame.fp.0,
            Base::Register(number) => self.register(number, what)?,
        };
        let address = Address(base.wrapping_add_signed(rule.offset));
        if !rule.dereference {
            return Ok(address.0);
        }
        self.question.memory.get(&address).map(|value| value.0).ok_or(End::Unreadable { what, address })
    }
}
