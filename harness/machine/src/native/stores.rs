//! What instructions store, as far as their code says it.

use rustc_hash::FxHashMap;
use sframe_engine::Registers as _;
use sframe_isa::{Disassembly, Instruction, Stored};

use super::registers::Stopped;
use crate::address_space::Memory as _;
use crate::cpu::Cpu;
use crate::effect_cache::with_code;

/// What an instruction stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stores {
    Nothing,
    At(Stored),
    Anything,
}

impl Stores {
    fn of(instruction: Option<&Instruction>) -> Self {
        match instruction {
            Some(Instruction { may_store: false, .. }) => Self::Nothing,
            Some(Instruction { stored: Some(stored), .. }) => Self::At(*stored),
            _ => Self::Anything,
        }
    }
}

/// What instructions store, by address, in code that does not change.
#[derive(Debug, Default)]
pub(super) struct KnownStores(FxHashMap<u64, Stores>);

impl KnownStores {
    /// Forgets all: code may have changed.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns what the instruction at an address will store: address and length in bytes. `None` if that is nothing; all
    /// addresses, if it is not known.
    pub(super) fn of(&mut self, cpu: &Cpu, pc: u64, stopped: &Stopped<'_>) -> Option<(u64, u64)> {
        let memory = stopped.memory;
        let decode = || with_code(cpu, memory, pc, |code| Disassembly::one(cpu.abi, pc, code));
        let stores = match self.0.get(&pc) {
            Some(known) => *known,
            None => {
                let stores = Stores::of(decode().as_ref());
                if memory.is_constant_code(pc) {
                    self.0.insert(pc, stores);
                }
                stores
            }
        };
        match stores {
            Stores::Nothing => None,
            Stores::At(stored) => {
                let address = stored.address(|register| stopped.register(register));
                Some(address.map_or(ANYTHING, |address| (address, stored.bytes_in_all())))
            }
            Stores::Anything => Some(ANYTHING),
        }
    }
}

/// All addresses.
pub(super) const ANYTHING: (u64, u64) = (0, u64::MAX);
