//! When, and by which instruction, memory and registers were written last.

use std::ops::RangeInclusive;

use rustc_hash::FxHashMap;

use crate::disassembly::{Disassembly, Instruction};
use crate::target::Module;

/// The store that a word has its value from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Store {
    /// The [`Moment::time`](sframe_machine::Moment::time) of the instruction.
    pub(crate) time: u64,
    /// Its address.
    pub(crate) pc: u64,
}

/// What an instruction does to registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Those that it writes, as bits by their DWARF numbers.
    registers: u64,
    /// Whether it writes FP, and if so, whether with anything but what was saved.
    fp: Option<bool>,
}

impl Written {
    /// Of an instruction that is not known.
    const ANYTHING: Self = Self { registers: u64::MAX, fp: Some(false) };

    /// Of the instruction at an address; of any, where none is known.
    pub(crate) fn at(module: Option<&Module<'_>>, address: u64) -> Self {
        let known = module.and_then(|module| Some((module, Disassembly::one(module, address)?)));
        let Some((module, instruction)) = known else { return Self::ANYTHING };
        let Instruction { written, writes, copies, loads, .. } = instruction;
        let restores = || !copies.sp && (loads || module.code().restores_fp(address, &instruction));
        Self { registers: written, fp: writes.fp.then(|| !restores()) }
    }
}

/// Stores of more bytes than this are not kept word by word.
const LARGEST: u64 = 1 << 16;

/// The 8-byte words that bytes lie in: their addresses / 8.
pub(crate) fn words(address: u64, len: u64) -> RangeInclusive<u64> {
    let last = address.saturating_add(len.saturating_sub(1));
    address / 8..=last / 8
}

/// The last store to each 8-byte word.
#[derive(Debug, Default)]
pub(crate) struct LastStores {
    /// The instruction that executes.
    now: Option<Store>,
    words: FxHashMap<u64, Store>,
    /// The last store that nobody knows the bounds of.
    anywhere: Option<Store>,
    /// When registers were written, by their DWARF numbers.
    registers: Registers,
    /// When FP was overwritten, unless it has been loaded again since.
    overwritten: Option<Store>,
}

#[derive(Debug)]
struct Registers([Option<u64>; 64]);

impl Default for Registers {
    fn default() -> Self {
        Self([None; 64])
    }
}

impl LastStores {
    /// What is stored from now on is stored by this instruction.
    pub(crate) const fn instruction(&mut self, time: u64, pc: u64) {
        self.now = Some(Store { time, pc });
    }

    /// The instruction that executes writes registers.
    pub(crate) fn wrote_registers(&mut self, written: Written) {
        let Some(now) = self.now else { return };
        if let Some(overwritten) = written.fp {
            self.overwritten = overwritten.then_some(now);
        }
        let mut written = written.registers;
        while written != 0 {
            self.registers.0[written.trailing_zeros() as usize] = Some(now.time);
            written &= written - 1;
        }
    }

    /// One of these registers that has not been written after a time.
    pub(crate) fn unwritten(&self, registers: u64, time: u64) -> Option<u32> {
        if registers == 0 {
            return None;
        }
        (0..64).find(|number| {
            let last = self.registers.0[*number as usize];
            registers & 1 << number != 0 && last.is_none_or(|last| last <= time)
        })
    }

    /// The instruction that has overwritten FP after a time, if it has not been
    /// loaded again since.
    pub(crate) fn overwritten_fp(&self, time: u64) -> Option<u64> {
        self.overwritten.filter(|last| last.time > time).map(|last| last.pc)
    }

    pub(crate) fn stored(&mut self, address: u64, len: u64) {
        // What is there before the first instruction nobody has stored.
        let Some(now) = self.now else { return };
        if len > LARGEST {
            self.anywhere = Some(now);
            return;
        }
        for word in words(address, len) {
            self.words.insert(word, now);
        }
    }

    /// The last store to the word at an address.
    pub(crate) fn last(&self, address: u64) -> Option<Store> {
        let word = self.words.get(&(address / 8)).copied();
        [word, self.anywhere].into_iter().flatten().max_by_key(|store| store.time)
    }

    /// Whether the word at an address has been stored to at a time or later.
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

    #[test]
    fn each_word_that_bytes_lie_in_has_the_last_store() {
        let mut stores = LastStores::default();
        stores.stored(0x100, 8);
        assert_eq!(stores.last(0x100), None);
        stores.instruction(5, 0x10);
        stores.stored(0x106, 4);
        stores.instruction(7, 0x14);
        stores.stored(0x108, 1);
        assert_eq!(stores.last(0x100), Some(Store { time: 5, pc: 0x10 }));
        assert_eq!(stores.last(0x10f), Some(Store { time: 7, pc: 0x14 }));
        assert_eq!(stores.last(0x110), None);
        assert!(stores.since(0x100, 5) && !stores.since(0x100, 6) && stores.since(0x108, 6));
    }

    #[test]
    fn registers_are_stale_until_they_are_written() {
        let mut stores = LastStores::default();
        stores.instruction(3, 0x10);
        assert_eq!(stores.unwritten(1 << 17, 2), Some(17));
        stores.wrote_registers(Written { registers: 1 << 17 | 1 << 3, fp: None });
        assert_eq!(stores.unwritten(1 << 17 | 1 << 3, 2), None);
        assert_eq!(stores.unwritten(1 << 17, 3), Some(17));
        assert_eq!(stores.unwritten(0, 4), None);
    }

    #[test]
    fn fp_is_overwritten_until_it_is_loaded_again() {
        let mut stores = LastStores::default();
        stores.instruction(3, 0x10);
        stores.wrote_registers(Written { registers: 0, fp: Some(true) });
        stores.instruction(4, 0x14);
        stores.wrote_registers(Written::default());
        assert_eq!((stores.overwritten_fp(2), stores.overwritten_fp(3)), (Some(0x10), None));
        stores.wrote_registers(Written { registers: 0, fp: Some(false) });
        assert_eq!(stores.overwritten_fp(2), None);
    }

    #[test]
    fn a_store_without_bounds_is_one_to_every_word() {
        let mut stores = LastStores::default();
        stores.instruction(1, 0x10);
        stores.stored(0x100, 8);
        stores.instruction(2, 0x14);
        stores.stored(0, u64::MAX);
        assert!(stores.since(0x100, 2) && stores.since(0x8000, 2) && !stores.since(0x8000, 3));
    }
}
