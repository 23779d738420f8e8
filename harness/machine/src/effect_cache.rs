//! The effects of executed instructions on control and stack, decoded once.

use crate::address_space::Memory;
use crate::cpu::{Cpu, Effect, LONGEST_TRAP};
use crate::pc_map::PcMap;

/// The effect of each executed instruction, decoded once per address.
#[derive(Debug, Default)]
pub(crate) struct EffectCache(PcMap<Effect>, u32);

impl EffectCache {
    /// Forgets all effects: code may have changed.
    pub(crate) fn clear(&mut self) {
        self.0 = PcMap::default();
        self.1 += 1;
    }

    /// Returns the number of the code: another one may have other instructions.
    pub(crate) const fn code(&self) -> u32 {
        self.1
    }

    /// Returns the effect of the instruction at an address.
    #[inline(always)]
    pub(crate) fn get(&mut self, cpu: &Cpu, memory: &(impl Memory + ?Sized), pc: u64) -> Effect {
        match self.0.get(pc) {
            Some(effect) => *effect,
            None => self.decoded(cpu, memory, pc),
        }
    }

    #[cold]
    #[inline(never)]
    fn decoded(&mut self, cpu: &Cpu, memory: &(impl Memory + ?Sized), pc: u64) -> Effect {
        let effect = decode(cpu, memory, pc);
        // Code that the program can change is decoded each time.
        if memory.is_constant_code(pc) {
            self.0.get_or_insert_with(pc, || effect);
        }
        effect
    }
}

/// Returns the effect of the instruction at an address.
pub(crate) fn decode(cpu: &Cpu, memory: &(impl Memory + ?Sized), pc: u64) -> Effect {
    with_code(cpu, memory, pc, |code| cpu.effect(code))
}

/// Whether a call skips a speculation trap, given where it returns to, and where it leads: see [`Cpu::skips_trap`].
pub(crate) fn skips_trap(cpu: &Cpu, memory: &(impl Memory + ?Sized), next: u64, callee: u64) -> bool {
    let mut buffer = [0; LONGEST_TRAP];
    let len = usize::try_from(callee.wrapping_sub(next)).unwrap_or(usize::MAX);
    let Some(between) = buffer.get_mut(..len) else { return false };
    memory.read(next, between) && with_code(cpu, memory, callee, |code| cpu.skips_trap(between, code))
}

/// Passes on the bytes of the instruction at an address; more may follow.
pub(crate) fn with_code<T>(
    cpu: &Cpu,
    memory: &(impl Memory + ?Sized),
    pc: u64,
    look: impl FnOnce(&[u8]) -> T,
) -> T {
    let mut code = [0; 16];
    // Near the end of a region the instruction is shorter than the longest.
    let len = (1..=cpu.longest).rev().find(|len| memory.read(pc, &mut code[..*len])).unwrap_or(0);
    look(&code[..len])
}
