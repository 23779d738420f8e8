//! Observers, which see the machine before each instruction.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use sframe_engine::{Abi, DwarfRegister, Registers};

use crate::address_space::Memory;
use crate::answers::Event;
use crate::call_stack::{CallStack, Record};
use crate::cpu::Cpu;
use crate::follow::Follower;
use crate::outcome::End;
use crate::straight::Straight;
use crate::witness::Place;

/// Whether to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Execute the instruction.
    Continue,
    /// End the run before it.
    Stop,
    /// Send this signal to the program, which receives it before the instruction unless it
    /// blocks it. The instruction will be seen again after the handler.
    Signal(u8),
    /// Send this signal to a copy of the process. The instruction will be seen again, in the state that
    /// it has now, when the observer answers [`Flow::Rewind`] or the copy has ended.
    Fork(u8),
    /// In a copy of the process: end the copy.
    Rewind,
}

/// The state of a program before an instruction executes, wherever it is: whoever has registers, memory and a call stack
/// can make one.
pub struct Moment<'m> {
    /// The number of instructions that have executed before.
    pub time: u64,
    /// Its number among all that are followed.
    pub event: Event,
    /// The thread that executes it, by its number.
    pub thread: u32,
    /// Address of the instruction.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer register.
    pub fp: u64,
    /// The calls that have not returned.
    pub call_stack: &'m CallStack,
    /// Memory.
    pub memory: &'m dyn Memory,
    /// The registers.
    pub registers: &'m dyn Registers,
    /// The ABI's CPU.
    pub cpu: &'static Cpu,
    /// The number of the code, which changes with it.
    pub code: u32,
}

impl<'m> Moment<'m> {
    /// That of the thread that is followed, before the instruction at a place.
    #[inline(always)]
    pub(crate) fn of(
        follower: &'m Follower,
        at: Place,
        time: u64,
        thread: u32,
        memory: &'m dyn Memory,
        registers: &'m dyn Registers,
    ) -> Self {
        Self {
            time,
            event: follower.event,
            thread,
            pc: at.pc,
            sp: at.sp,
            fp: at.fp,
            call_stack: follower.witness.call_stack(),
            memory,
            registers,
            cpu: follower.cpu,
            code: follower.effects.code(),
        }
    }
}

impl Moment<'_> {
    /// The ABI.
    #[must_use]
    pub const fn abi(&self) -> Abi {
        self.cpu.abi
    }

    /// The number of bits of the program's virtual addresses: above them are authentication codes.
    #[must_use]
    pub const fn address_bits(&self) -> u32 {
        self.cpu.address_bits
    }

    /// The number of bytes below SP that signals leave alone (the ABI's red zone).
    #[inline]
    #[must_use]
    pub const fn red_zone(&self) -> u64 {
        self.cpu.signal_frame.red_zone
    }

    /// Returns those of the instructions at some addresses, up to one that moves control, of which only the observer has to
    /// know what it would see: see [`Observer::lets_pass`]. `end` is the address after the last one, and `is_last_free` is
    /// whether that may change SP or FP. If another one does, the run is broken.
    #[must_use]
    pub fn straight(&self, pcs: Vec<u64>, end: u64, is_last_free: bool) -> Straight {
        Straight::new(self.cpu, self.memory, self.code, pcs, end, is_last_free)
    }

    /// Whether the code of some instructions is still what it was.
    #[inline]
    #[must_use]
    pub const fn is_current(&self, straight: &Straight) -> bool {
        self.code == straight.code
    }

    /// Returns the call that the last instruction has made, if it has.
    #[must_use]
    pub fn call(&self) -> Option<&Record> {
        self.call_stack.records().last().filter(|_| self.call_stack.has_called())
    }

    /// Returns the call that the last instruction would have made if it had called what begins here, with a return
    /// address and the caller's SP.
    #[must_use]
    pub fn as_called(&self, return_address: u64, caller_sp: u64) -> Record {
        Record {
            return_address,
            cfa: caller_sp.wrapping_add(self.cpu.cfa_above_sp),
            caller_sp,
            caller_fp: self.fp,
            callee: self.pc,
            since: self.time.saturating_sub(1),
            event: self.event,
            interrupted: false,
            signature: None,
        }
    }

    /// Returns the call that has led here, if one has, given its return address: nothing has executed since.
    #[must_use]
    pub fn as_entered(&self, return_address: u64) -> Record {
        self.as_called(return_address, self.sp.wrapping_add(self.abi().pushed_by_calls()))
    }

    /// Returns the call stack as it will continue, if signal handlers have changed the saved contexts of what
    /// was interrupted: its PC, SP or FP.
    #[must_use]
    pub fn rewritten(&self) -> Option<CallStack> {
        if !self.call_stack.is_interrupted() {
            return None;
        }
        let calls = self.call_stack.records();
        let mut rewritten: Option<CallStack> = None;
        let layout = self.cpu.signal_frame;
        for (position, interrupted) in calls.iter().enumerate().filter(|(_, call)| call.interrupted) {
            // The handler began with SP at the signal's frame; its restorer has SP within it.
            let frame = match calls.get(position + 1) {
                Some(handler) => handler.caller_sp.wrapping_sub(self.abi().pushed_by_calls()),
                None => self.sp.wrapping_sub(layout.restorer_sp),
            };
            let saved = |register: i32| {
                let known = layout.registers.iter().find(|(_, known)| *known == register)?;
                self.memory.read_u64(frame.wrapping_add(known.0))
            };
            let saved = (saved(self.cpu.pc), saved(self.cpu.sp), saved(self.cpu.fp));
            let (Some(pc), Some(sp), Some(fp)) = saved else { continue };
            let Record { return_address, caller_sp, caller_fp, .. } = *interrupted;
            if (pc, sp, fp) != (return_address, caller_sp, caller_fp) {
                let cfa = sp.wrapping_add(self.cpu.cfa_above_sp);
                let call = Record { return_address: pc, cfa, caller_sp: sp, caller_fp: fp, ..*interrupted };
                rewritten.get_or_insert_with(|| self.call_stack.clone()).replace(position, call);
            }
        }
        rewritten
    }

    /// Returns the value of the register that has an argument of the ABI's functions, if one has it: the first
    /// argument is number 0.
    #[must_use]
    pub fn argument(&self, index: usize) -> Option<u64> {
        self.register(u32::try_from(*self.cpu.convention.arguments.get(index)?).ok()?)
    }

    /// Returns the value of a register by its DWARF number, or `None` if the number is unknown.
    #[inline]
    #[must_use]
    pub fn register(&self, dwarf: u32) -> Option<u64> {
        self.registers.register(DwarfRegister(dwarf))
    }
}

impl Registers for Moment<'_> {
    fn register(&self, register: DwarfRegister) -> Option<u64> {
        self.register(register.0)
    }
}

/// A change of what there is to unwind by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A file was mapped to be executed, at these addresses.
    Mapped(Range<u64>),
    /// Whatever was mapped at these addresses is there no more.
    Unmapped(Range<u64>),
    /// A file was mapped there to be executed, over another one: nothing is known of it.
    Replaced(Range<u64>),
    /// Another program takes the place of the one that was observed, with all that is mapped. Its own images are mapped to be
    /// executed at these addresses; there are none if it is not observed. The moment is the last one of the old program.
    Executed(Vec<Range<u64>>),
    /// The program has registered a table for code that it has written.
    Registered(Arc<Table>),
    /// It has withdrawn the table.
    Withdrawn(Arc<Table>),
}

/// A table that describes code, as a program has registered it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The code.
    pub code: Range<u64>,
    /// The address of the table.
    pub address: u64,
    /// Its bytes, as they were then.
    pub bytes: Vec<u8>,
}

/// Observes the machine before each instruction.
pub trait Observer {
    /// Called before the instruction at `moment.pc` executes.
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow;

    /// Called after [`Self::instruction`] has answered [`Flow::Continue`]. Returns instructions from this one on that
    /// execute one after the other, and before which the observer need not be called: it knows what it would see. None of
    /// them changes SP or FP, except the last one. Not all of them may pass.
    #[inline]
    fn lets_pass(&mut self, moment: &Moment<'_>) -> Option<Rc<Straight>> {
        let _ = moment;
        None
    }

    /// Called before an instruction to which one of them has jumped, or the last has led: returns instructions from there
    /// on, as [`Self::lets_pass`] does, before the first of which the observer need not be called either.
    fn goes_on(&mut self, pc: u64) -> Option<Rc<Straight>> {
        let _ = pc;
        None
    }

    /// Called when some of them have begun to execute, with the [`Moment::time`] of the first: before a store by the last
    /// of these, and before anything else is shown.
    fn passed(&mut self, time: u64, pcs: &[u64]) {
        let _ = (time, pcs);
    }

    /// Called after each store while instructions pass: returns whether the rest of them need still not be shown.
    fn still_lets_pass(&self) -> bool {
        true
    }

    /// Returns whether instructions may be followed after the block has executed in which they are. What they were shown with
    /// is then what it was; if that can't be known, the run ends, and its outcome says so. Called once, before the run.
    fn goes_by_block(&self) -> bool {
        false
    }

    /// Returns whether [`Self::store`] is to be called. Called once, before the run; a run that
    /// reports stores takes longer.
    fn wants_stores(&self) -> bool {
        false
    }

    /// Called for each store, by the program or by the machine for it, with
    /// address and length in bytes. All that an instruction stores is
    /// reported between its [`Self::instruction`] and the next one.
    ///
    /// Nothing else changes memory. But a reported store need not change it: the value may be
    /// the same, and for some instructions only bounds of what they store are known.
    fn store(&mut self, address: u64, len: u64) {
        let _ = (address, len);
    }

    /// Called when a system call has changed what there is to unwind by. The moment is that before the call: its
    /// instruction was shown last.
    fn changed(&mut self, moment: &Moment<'_>, change: &Change) {
        let _ = (moment, change);
    }

    /// Called before the machine delivers a signal: the instruction that was shown last has not
    /// executed, and what is stored next is the signal's frame.
    fn interrupted(&mut self) {}

    /// Called now and then while no instruction is shown: returns whether to end the run.
    fn is_stopped(&mut self) -> bool {
        false
    }

    /// Called when a copy of the process has come to an end by itself.
    fn fork_ended(&mut self, end: &End) {
        let _ = end;
    }
}

impl<F: FnMut(&Moment<'_>) -> Flow> Observer for F {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        self(moment)
    }
}
