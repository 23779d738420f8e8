//! What instructions store, as far as their code says it.

use rustc_hash::FxHashMap;
use sframe_engine::{DwarfRegister, Registers as _};
use sframe_isa::{Disassembly, Instruction, Operation, Place};

use super::registers::Stopped;
use crate::address_space::Memory as _;
use crate::cpu::Cpu;
use crate::effect_cache::with_code;

/// What an instruction stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stores {
    Nothing,
    /// `len` bytes, at an address that is a register's value before the instruction plus a constant.
    At {
        base: DwarfRegister,
        offset: i64,
        len: u64,
    },
    Anything,
}

impl Stores {
    fn of(cpu: &Cpu, instruction: Option<&Instruction>) -> Self {
        let Some(instruction) = instruction else { return Self::Anything };
        match &instruction.operation {
            _ if !instruction.may_store => Self::Nothing,
            Operation::Store { values, place: Some(Place { base, offset, .. }), size } => {
                Self::At { base: *base, offset: *offset, len: values.len() as u64 * u64::from(*size) }
            }
            _ if instruction.is_call() && !instruction.text.starts_with("lcall") => {
                let pushed = cpu.abi.pushed_by_calls();
                Self::At { base: cpu.abi.sp(), offset: -pushed.cast_signed(), len: pushed }
            }
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
                let stores = Stores::of(cpu, decode().as_ref());
                if memory.is_constant_code(pc) {
                    self.0.insert(pc, stores);
                }
                stores
            }
        };
        let at = |base, offset: i64, len| Some((stopped.register(base)?.wrapping_add_signed(offset), len));
        match stores {
            Stores::Nothing | Stores::At { len: 0, .. } => None,
            Stores::At { base, offset, len } => at(base, offset, len).or(Some(ANYTHING)),
            Stores::Anything => Some(ANYTHING),
        }
    }
}

/// All addresses.
pub(super) const ANYTHING: (u64, u64) = (0, u64::MAX);
