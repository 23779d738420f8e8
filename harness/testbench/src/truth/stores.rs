//! When, and by which instruction, memory and registers were last written.

use std::cell::Cell;
use std::ops::RangeInclusive;

use rustc_hash::FxHashMap;
use sframe_engine::DwarfRegister;
use sframe_machine::{CallStack, Record};

use crate::target::{Loaded, Module};
use sframe_inspect::instructions::{Instruction, Registers};

/// The store that gave a word its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Store {
    /// The [`Moment::time`](sframe_machine::Moment::time) of the instruction.
    pub(crate) time: u64,
    /// Its address.
    pub(crate) pc: u64,
    /// For an instruction that stores other registers than FP: when these were
    /// last written; 0 for never, and for constants.
    others_since: Option<u64>,
}

impl Store {
    /// Whether the stored value can't be FP's value at a time: the other
    /// registers have not changed since then, either.
    pub(crate) fn is_not_fp(&self, time: u64) -> bool {
        self.others_since.is_some_and(|since| since <= time)
    }
}

/// The effect of an instruction on registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Those that it writes.
    registers: Registers,
    /// Whether it writes FP, and if so, whether with anything other than the
    /// saved value.
    fp: Option<bool>,
    /// Those that it stores, if FP is not one of them: empty for a constant.
    stored: Option<Registers>,
}

impl Written {
    /// The effect of an unknown instruction.
    const ANYTHING: Self = Self { registers: Registers::ALL, fp: Some(false), stored: None };

    /// The effect of the instruction at an address, or of any if it is unknown.
    pub(crate) fn at(module: Option<&Module<'_>>, address: u64) -> Self {
        let known = module.and_then(|module| Some((module, module.instruction(Loaded(address))?)));
        let Some((module, instruction)) = known else { return Self::ANYTHING };
        let Some(abi) = module.subject.abi() else { return Self::ANYTHING };
        let Instruction { uses, defs, .. } = instruction;
        let symbol = module.subject.symbols.at(module.linked(Loaded(address)).0);
        let function = symbol.map_or(0, |(_, offset)| address.wrapping_sub(offset));
        let restores = || {
            let code = || module.code_around(Loaded(address));
            !uses.contains(abi.sp())
                && (instruction.reloads() || code().restores_fp(abi, function, address, &instruction))
        };
        let is_known = !uses.is_empty() || instruction.stores_constants();
        let stored = Some(uses).filter(|_| is_known && !uses.contains(abi.fp()) && !instruction.is_call());
        Self { registers: defs, fp: defs.contains(abi.fp()).then(|| !restores()), stored }
    }
}

/// Stores of more bytes than this are not recorded word by word.
const LARGEST: u64 = 1 << 16;

/// The 8-byte words that contain some bytes, as address / 8.
pub(crate) fn words(address: u64, len: u64) -> RangeInclusive<u64> {
    let last = address.saturating_add(len.saturating_sub(1));
    address / 8..=last / 8
}

/// The number of words of a page.
const PAGE: usize = 512;

/// The last store to each word, by address / 8, in pages.
#[derive(Clone, Debug, Default)]
struct Words {
    /// Positions of pages, by word / 512.
    pages: FxHashMap<u64, usize>,
    stores: Vec<Box<[Option<Store>; PAGE]>>,
    /// The last page: its key and position.
    last: Cell<Option<(u64, usize)>>,
}

impl Words {
    fn split(word: u64) -> (u64, usize) {
        (word / PAGE as u64, usize::try_from(word % PAGE as u64).unwrap_or(0))
    }

    fn known(&self, page: u64) -> Option<usize> {
        match self.last.get() {
            Some((last, position)) if last == page => Some(position),
            _ => {
                let position = *self.pages.get(&page)?;
                self.last.set(Some((page, position)));
                Some(position)
            }
        }
    }

    fn get(&self, word: u64) -> Option<Store> {
        let (page, offset) = Self::split(word);
        self.stores[self.known(page)?][offset]
    }

    fn get_mut(&mut self, word: u64) -> &mut Option<Store> {
        let (page, offset) = Self::split(word);
        let position = self.known(page).unwrap_or_else(|| {
            self.stores.push(Box::new([None; PAGE]));
            self.pages.insert(page, self.stores.len() - 1);
            self.stores.len() - 1
        });
        &mut self.stores[position][offset]
    }
}

/// The last store to each 8-byte word.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastStores {
    /// The executing instruction: its time and address.
    now: Option<(u64, u64)>,
    /// Its effect on registers.
    written: Written,
    words: Words,
    /// The last store with unknown bounds.
    anywhere: Option<Store>,
    thread: Thread,
    /// The number of the thread, and the state of the others.
    number: u32,
    others: FxHashMap<u32, Thread>,
}

/// What is known of the registers of a thread.
#[derive(Clone, Debug, Default)]
struct Thread {
    registers: LastWrites,
    /// Where FP was overwritten and not loaded again since: the last time in
    /// each call, the oldest first.
    overwritten: Vec<Overwritten>,
    /// The innermost call before the instruction, and how many there were.
    call: Option<Record>,
    calls: usize,
}

impl LastWrites {
    fn of(&self, register: DwarfRegister) -> Option<u64> {
        self.0.get(register.0 as usize).copied().flatten()
    }
}

#[derive(Clone, Copy, Debug)]
struct Overwritten {
    time: u64,
    pc: u64,
}

/// When registers were written, by their DWARF numbers.
#[derive(Clone, Debug)]
struct LastWrites([Option<u64>; 64]);

impl Default for LastWrites {
    fn default() -> Self {
        Self([None; 64])
    }
}

impl LastStores {
    /// Notes that the previous instruction has executed; from now on, stores
    /// are by this one.
    #[inline]
    pub(crate) fn instruction(&mut self, time: u64, pc: u64, written: Written) {
        self.executed();
        self.now = Some((time, pc));
        self.written = written;
    }

    /// Notes that another thread goes on, at a time. All registers of a new one have just been
    /// written: it is not known with what.
    pub(crate) fn go_to_thread(&mut self, number: u32, time: u64) {
        self.executed();
        self.now = None;
        let new = || Thread { registers: LastWrites([Some(time); 64]), ..Thread::default() };
        let thread = self.others.remove(&number).unwrap_or_else(new);
        self.others.insert(self.number, std::mem::replace(&mut self.thread, thread));
        self.number = number;
    }

    /// Notes that the instruction has not executed: a signal comes before it.
    pub(crate) fn interrupted(&mut self) {
        self.written = Written::default();
    }

    /// Returns a store by the executing instruction; `None` before the first one.
    fn store(&self) -> Option<Store> {
        let (time, pc) = self.now?;
        let last = |register| self.thread.registers.of(register).unwrap_or(0);
        let others_since = self.written.stored.map(|stored| stored.iter().map(last).max().unwrap_or(0));
        Some(Store { time, pc, others_since })
    }

    /// Records the registers that the instruction has written.
    fn executed(&mut self) {
        let Some((time, pc)) = self.now else { return };
        if let Some(overwritten) = self.written.fp {
            self.forget_overwritten(self.thread.call.map_or(0, |call| call.since));
            if overwritten {
                self.thread.overwritten.push(Overwritten { time, pc });
            }
        }
        for register in self.written.registers.iter() {
            self.thread.registers.0[register.0 as usize] = Some(time);
        }
    }

    /// Follows calls and returns. If a call has overwritten FP, it has restored
    /// it when it returns.
    pub(crate) fn follow(&mut self, call_stack: &CallStack, pc: u64, fp: u64) {
        let records = call_stack.records();
        if (call_stack.kept(), records.len()) == (self.thread.calls, self.thread.calls) {
            return;
        }
        if call_stack.kept() < self.thread.calls {
            let ended = self.thread.calls - call_stack.kept();
            match self
                .thread
                .call
                .filter(|call| ended == 1 && call.return_address == pc && call.caller_fp == fp)
            {
                Some(call) => self.forget_overwritten(call.since),
                // Anything may have been restored.
                None => self.thread.overwritten.clear(),
            }
        }
        (self.thread.call, self.thread.calls) = (records.last().copied(), records.len());
    }

    fn forget_overwritten(&mut self, since: u64) {
        while self.thread.overwritten.pop_if(|last| last.time > since).is_some() {}
    }

    /// Returns one of these registers that has not been written after a time.
    pub(crate) fn unwritten(&self, registers: Registers, time: u64) -> Option<DwarfRegister> {
        registers.iter().find(|register| !self.has_written(*register, time))
    }

    /// Whether a register has been written after a time.
    pub(crate) fn has_written(&self, register: DwarfRegister, time: u64) -> bool {
        self.thread.registers.of(register).is_some_and(|last| last > time)
    }

    /// Returns the instruction that has overwritten FP after a time, unless FP
    /// has been loaded again since.
    pub(crate) fn overwritten_fp(&self, time: u64) -> Option<u64> {
        self.thread.overwritten.last().filter(|last| last.time > time).map(|last| last.pc)
    }

    pub(crate) fn stored(&mut self, address: u64, len: u64) {
        // Contents from before the first instruction have no store.
        let Some(now) = self.store() else { return };
        if len > LARGEST {
            // It is not known what it has stored in a word, nor whether.
            self.anywhere = Some(Store { others_since: None, ..now });
            return;
        }
        for word in words(address, len) {
            *self.words.get_mut(word) = Some(now);
        }
    }

    /// The last store to the word at an address.
    pub(crate) fn last(&self, address: u64) -> Option<Store> {
        let word = self.words.get(address / 8);
        [word, self.anywhere].into_iter().flatten().max_by_key(|store| store.time)
    }

    /// Whether the word at an address has been stored to at or after a time.
    pub(crate) fn since(&self, address: u64, time: u64) -> bool {
        self.last(address).is_some_and(|store| store.time >= time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_bytes_are_all_that_they_lie_in() {
        assert_eq!(words(0x10, 8), 2..=2);
        assert_eq!(words(0x17, 1), 2..=2);
        assert_eq!(words(0x17, 2), 2..=3);
        assert_eq!(words(0x14, 8), 2..=3);
        assert_eq!(words(0x10, 0), 2..=2);
        assert_eq!(words(u64::MAX, 8), u64::MAX / 8..=u64::MAX / 8);
        assert_eq!(words(0, u64::MAX), 0..=u64::MAX / 8);
    }

    fn set(numbers: &[u32]) -> Registers {
        numbers.iter().copied().map(DwarfRegister).collect()
    }

    fn moment(stores: &mut LastStores, time: u64, pc: u64) {
        stores.instruction(time, pc, Written::default());
    }

    #[test]
    fn each_word_that_bytes_lie_in_has_the_last_store() {
        let mut stores = LastStores::default();
        stores.stored(0x100, 8);
        assert_eq!(stores.last(0x100), None);
        moment(&mut stores, 5, 0x10);
        stores.stored(0x106, 4);
        moment(&mut stores, 7, 0x14);
        stores.stored(0x108, 1);
        assert_eq!(stores.last(0x100), Some(Store { time: 5, pc: 0x10, others_since: None }));
        assert_eq!(stores.last(0x10f), Some(Store { time: 7, pc: 0x14, others_since: None }));
        assert_eq!(stores.last(0x110), None);
        assert!(stores.since(0x100, 5) && !stores.since(0x100, 6) && stores.since(0x108, 6));
    }

    #[test]
    fn registers_are_stale_until_they_are_written() {
        let mut stores = LastStores::default();
        let written = Written { registers: set(&[3, 17]), ..Written::default() };
        stores.instruction(3, 0x10, written);
        assert_eq!(stores.unwritten(set(&[17]), 2), Some(DwarfRegister(17)));
        moment(&mut stores, 4, 0x14);
        assert_eq!(stores.unwritten(set(&[3, 17]), 2), None);
        assert_eq!(stores.unwritten(set(&[17]), 3), Some(DwarfRegister(17)));
        assert_eq!(stores.unwritten(set(&[]), 4), None);
        stores.instruction(5, 0x18, written);
        stores.interrupted();
        moment(&mut stores, 6, 0x20);
        assert_eq!(stores.unwritten(set(&[17]), 3), Some(DwarfRegister(17)));
    }

    #[test]
    fn fp_is_overwritten_until_it_is_loaded_again() {
        let mut stores = LastStores::default();
        stores.instruction(3, 0x10, Written { fp: Some(true), ..Written::default() });
        moment(&mut stores, 4, 0x14);
        assert_eq!((stores.overwritten_fp(2), stores.overwritten_fp(3)), (Some(0x10), None));
        stores.instruction(5, 0x18, Written { fp: Some(false), ..Written::default() });
        assert_eq!(stores.overwritten_fp(2), Some(0x10));
        moment(&mut stores, 6, 0x1c);
        assert_eq!(stores.overwritten_fp(2), None);
    }

    #[test]
    fn the_registers_of_a_new_thread_come_from_another() {
        let mut stores = LastStores::default();
        moment(&mut stores, 3, 0x10);
        assert_eq!(stores.unwritten(set(&[5]), 2), Some(DwarfRegister(5)));
        stores.go_to_thread(2, 4);
        moment(&mut stores, 4, 0x14);
        assert_eq!(stores.unwritten(set(&[5]), 2), None);
        stores.go_to_thread(0, 5);
        moment(&mut stores, 5, 0x18);
        assert_eq!(stores.unwritten(set(&[5]), 2), Some(DwarfRegister(5)));
    }

    #[test]
    fn a_store_of_unknown_bounds_may_have_stored_fp() {
        let mut stores = LastStores::default();
        stores.instruction(3, 0x10, Written { stored: Some(set(&[])), ..Written::default() });
        stores.stored(0, u64::MAX);
        assert_eq!(stores.last(0x100).map(|last| (last.time, last.is_not_fp(9))), Some((3, false)));
    }

    #[test]
    fn another_register_that_is_stored_is_not_fp_until_it_is_written() {
        let (none, rbx, rcx) = (set(&[]), set(&[3]), set(&[2]));
        let mut stores = LastStores::default();
        let mut store = |time, registers, stored| {
            stores.instruction(time, 0x10, Written { registers, fp: None, stored });
            stores.stored(0x100, 8);
            stores.last(0x100).map(|last| (last.is_not_fp(3), last.is_not_fp(4)))
        };
        assert_eq!(store(4, none, Some(rbx)), Some((true, true)));
        // The instruction's own writes come after the store.
        assert_eq!(store(4, rbx, Some(rbx)), Some((true, true)));
        assert_eq!(store(5, none, Some(rbx)), Some((false, true)));
        assert_eq!(store(6, none, Some(set(&[2, 3]))), Some((false, true)));
        assert_eq!(store(7, none, Some(rcx)), Some((true, true)));
        // A constant, and an unknown value.
        assert_eq!(store(8, none, Some(none)), Some((true, true)));
        assert_eq!(store(9, none, None), Some((false, false)));
        store(10, none, Some(rcx));
        stores.interrupted();
        stores.stored(0x100, 8);
        assert_eq!(stores.last(0x100).map(|last| last.is_not_fp(3)), Some(false));
    }

    #[test]
    fn a_store_without_bounds_is_one_to_every_word() {
        let mut stores = LastStores::default();
        moment(&mut stores, 1, 0x10);
        stores.stored(0x100, 8);
        moment(&mut stores, 2, 0x14);
        stores.stored(0, u64::MAX);
        assert!(stores.since(0x100, 2) && stores.since(0x8000, 2) && !stores.since(0x8000, 3));
    }
}
