//! The registers of a thread that is stopped.

use std::io;

use rustix::process::Pid;
use sframe_engine::DwarfRegister;

use super::memory::ProcessMemory;
use super::ptrace;
use crate::cpu::{Cpu, of_prstatus};
use crate::follow::Processor;
use crate::witness::Place;

/// Where `NT_PRSTATUS` has the registers of an ABI.
#[derive(Debug)]
pub(super) struct Layout {
    cpu: &'static Cpu,
    /// By DWARF number.
    positions: Vec<Option<usize>>,
    pc: usize,
}

impl Layout {
    pub(super) fn of(cpu: &'static Cpu) -> Self {
        let (registers, pc) = of_prstatus(cpu.abi);
        let mut positions = vec![None; cpu.registers.len()];
        for (position, dwarf) in registers {
            if let Some(place) = usize::try_from(dwarf).ok().and_then(|dwarf| positions.get_mut(dwarf)) {
                *place = Some(position);
            }
        }
        Self { cpu, positions, pc }
    }

    /// Where a register is, by its number in [`Cpu`].
    fn position(&self, register: i32) -> Option<usize> {
        if register == self.cpu.pc {
            return Some(self.pc);
        }
        let dwarf = self.cpu.registers.iter().position(|known| *known == register)?;
        self.positions[dwarf]
    }
}

/// The registers of a thread, as they were when it stopped.
#[derive(Clone)]
pub(super) struct Words([u64; ptrace::MOST_WORDS]);

impl Words {
    pub(super) const fn new() -> Self {
        Self([0; ptrace::MOST_WORDS])
    }

    /// Reads those of a thread.
    #[inline]
    pub(super) fn read(&mut self, thread: Pid) -> io::Result<()> {
        ptrace::registers(thread, &mut self.0)
    }

    /// Returns one by its position in `NT_PRSTATUS`.
    pub(super) fn at(&self, position: usize) -> Option<u64> {
        self.0.get(position).copied()
    }
}

/// A thread that is stopped.
#[derive(Clone, Copy)]
pub(super) struct Stopped<'s> {
    pub(super) layout: &'s Layout,
    pub(super) words: &'s Words,
    pub(super) memory: &'s ProcessMemory,
}

impl Stopped<'_> {
    /// Where it executes next.
    pub(super) fn place(&self) -> Place {
        let cpu = self.layout.cpu;
        let read = |register| self.register(register).unwrap_or_default();
        Place { pc: read(cpu.pc), sp: read(cpu.sp), fp: read(cpu.fp) }
    }
}

impl Processor for Stopped<'_> {
    type Memory = ProcessMemory;

    fn register(&self, register: i32) -> Option<u64> {
        self.words.at(self.layout.position(register)?)
    }

    fn memory(&self) -> &ProcessMemory {
        self.memory
    }
}

impl sframe_engine::Registers for Stopped<'_> {
    fn register(&self, register: DwarfRegister) -> Option<u64> {
        self.words.at((*self.layout.positions.get(usize::try_from(register.0).ok()?)?)?)
    }
}
