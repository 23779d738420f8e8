//! The effects of executed instructions on control and stack, decoded once.

use rustc_hash::FxHashMap;

use crate::address_space::AddressSpace;
use crate::cpu::{Cpu, Effect};

/// The effect of each executed instruction, decoded once per address.
#[derive(Debug, Default)]
pub(crate) struct EffectCache {
    tables: Vec<EffectTable>,
    /// The effects in regions that are too long for a table.
    others: FxHashMap<u64, Effect>,
}

/// A region with more places for instructions has no table: it may be almost all zeroes.
const TABLE_LIMIT: u64 = 1 << 24;

#[derive(Debug)]
struct EffectTable {
    start: u64,
    end: u64,
    effects: Vec<Option<Effect>>,
}

impl EffectCache {
    /// Returns the effect of the instruction at an address.
    pub(crate) fn get(&mut self, cpu: &Cpu, space: &AddressSpace, pc: u64) -> Effect {
        let index = match self.tables.iter().position(|table| (table.start..table.end).contains(&pc)) {
            Some(index) => index,
            None => match space.executable(pc) {
                Some((range, false)) => {
                    let len = (range.end - range.start) / cpu.alignment;
                    if len > TABLE_LIMIT {
                        return *self.others.entry(pc).or_insert_with(|| decode(cpu, space, pc));
                    }
                    let len = usize::try_from(len).unwrap_or(0);
                    let effects = vec![None; len];
                    self.tables.push(EffectTable { start: range.start, end: range.end, effects });
                    self.tables.len() - 1
                }
                // Code that the program can change is decoded each time.
                _ => return decode(cpu, space, pc),
            },
        };
        let table = &mut self.tables[index];
        let slot = usize::try_from((pc - table.start) / cpu.alignment)
            .ok()
            .and_then(|slot| table.effects.get_mut(slot));
        match slot {
            Some(slot) => *slot.get_or_insert_with(|| decode(cpu, space, pc)),
            None => decode(cpu, space, pc),
        }
    }
}

fn decode(cpu: &Cpu, space: &AddressSpace, pc: u64) -> Effect {
    with_code(cpu, space, pc, |code| cpu.effect(code))
}

/// Passes on the bytes of the instruction at an address; more may follow.
pub(crate) fn with_code<T>(cpu: &Cpu, space: &AddressSpace, pc: u64, look: impl FnOnce(&[u8]) -> T) -> T {
    let mut code = [0; 16];
    // Near the end of a region the instruction is shorter than the longest.
    let len = (1..=cpu.longest).rev().find(|len| space.read(pc, &mut code[..*len])).unwrap_or(0);
    look(&code[..len])
}
