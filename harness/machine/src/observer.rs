//! What looks at the machine before each instruction, and what it sees.

use crate::address_space::AddressSpace;
use crate::call_stack::CallStack;
use crate::cpu::Cpu;

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Execute the instruction.
    Continue,
    /// End the run before it.
    Stop,
    /// Send this signal to the program, which gets it before the instruction
    /// unless it blocks it. The instruction will be seen again behind the handler.
    Signal(u8),
}

/// The state of the machine before an instruction executes.
pub struct Moment<'m> {
    /// The number of instructions that have executed before.
    pub time: u64,
    /// Address of the instruction.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer register.
    pub fp: u64,
    /// The calls that have not returned.
    pub call_stack: &'m CallStack,
    /// Memory.
    pub memory: &'m AddressSpace,
    pub(crate) cpu: &'static Cpu,
    pub(crate) read_register: &'m dyn Fn(i32) -> Option<u64>,
}

impl Moment<'_> {
    /// The number of bytes below SP that signals leave alone (the ABI's red zone).
    #[must_use]
    pub const fn red_zone(&self) -> u64 {
        self.cpu.signal_frame.red_zone
    }

    /// The value of a register by its DWARF number, or none if the number is
    /// unknown.
    #[must_use]
    pub fn register(&self, dwarf: u32) -> Option<u64> {
        let register = self.cpu.registers.get(usize::try_from(dwarf).ok()?)?;
        (self.read_register)(*register)
    }
}

/// Looks at the machine before each instruction.
pub trait Observer {
    /// Called before the instruction at `moment.pc` executes.
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow;

    /// Whether [`Self::store`] is to be called. Asked once, before the run;
    /// a run whose stores are reported takes longer.
    fn wants_stores(&self) -> bool {
        false
    }

    /// Called for each store, by the program or by the machine for it, with
    /// address and length in bytes. All that an instruction stores is
    /// reported between its [`Self::instruction`] and the next one.
    ///
    /// Nothing else changes memory, but not all that is reported does: the
    /// value may be the same, and of some instructions only bounds of what
    /// they store are known.
    fn store(&mut self, address: u64, len: u64) {
        let _ = (address, len);
    }
}

impl<F: FnMut(&Moment<'_>) -> Flow> Observer for F {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        self(moment)
    }
}
