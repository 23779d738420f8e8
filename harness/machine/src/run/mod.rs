//! A run of a program: hooks and their state.

pub(crate) mod blocks;
mod parked;
mod signal;
mod signals;
mod snapshot;
mod straight;
mod system_call;
mod tables;
mod tasks;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use memmap2::MmapMut;
use sframe_engine::{DwarfRegister, Registers};
use unicorn_engine::{HookType, MemType, Prot, TlbEntry, TlbType, Unicorn, X86Insn, uc_error};

use crate::address_space::{AddressSpace, PAGE};
use crate::answers::Answers;
use crate::block::{Blocks, Instant, Seen};
use crate::control_flow::ControlFlow;
use crate::cpu::{Control, Cpu, Effect, Unreported};
use crate::effect_cache::with_code;
use crate::follow::{Follower, Processor};
use crate::link::lazy;
use crate::linux::ids::{FIRST, SpaceId, TaskId};
use crate::linux::kernel::Linux;
use crate::linux::objects::signals::{SI_KERNEL, SIGILL, SIGSEGV, SIGTRAP, SignalInfo};
use crate::observer::{Flow, Moment, Observer, Table};
use crate::outcome::{Broken, End};
use crate::places::Places;
use crate::process::Pattern;
use crate::straight::{Gate, Passing};
use crate::witness::{Action, Place, Witness, WitnessFaults};
use parked::Parked;
use signals::{Interrupted, Pause};
use snapshot::Snapshot;

/// Addresses that the emulator reserves for what it translates, and hardly touches, in bytes.
pub const RESERVED_ADDRESSES: usize = 1 << 30;

/// How many instructions pass, while none is shown, until the observer is asked again whether to go on.
const ASKED_EVERY: u64 = 1 << 16;

/// The state that changes while the program runs. Hooks share it, and borrow its fields apart.
pub(crate) struct Run<'o> {
    pub(crate) cpu: &'static Cpu,
    pub(crate) space: AddressSpace,
    budget: u64,
    /// The budget without what system calls have spent of it.
    limit: u64,
    observer: &'o mut dyn Observer,
    /// Whether the observer wants reports of stores.
    reports_stores: bool,
    pub(crate) follower: Follower,
    /// Where the machine's own code is.
    places: Places,
    /// Lazily bound calls.
    slots: lazy::Slots,
    /// What signals have interrupted.
    interrupted: Vec<Interrupted>,
    /// Whether a signal can be delivered now.
    signal_waits: bool,
    /// The last signal that the observer has sent.
    observers_signal: Option<u64>,
    pub(crate) linux: Rc<Linux>,
    /// The number of the current task.
    thread: u32,
    /// The tasks that wait for their turn.
    parked: BTreeMap<TaskId, Parked>,
    /// The address space that `space` is, and the others.
    space_id: SpaceId,
    spaces: BTreeMap<SpaceId, AddressSpace>,
    /// Whether there is somebody who observes the first program.
    observes: bool,
    /// Whether the current task executes it.
    is_observed: bool,
    /// The number of instructions at which the current task's turn ends.
    turn_end: u64,
    /// The first stack.
    stack: Range<u64>,
    pattern: Pattern,
    witness_faults: WitnessFaults,
    /// The control flow of tasks that have ended.
    ended_flow: ControlFlow,
    /// The time of the last instruction that was observed.
    observed: u64,
    /// Instructions that were not observed: those of other programs.
    pub(crate) unobserved: u64,
    /// Those that the observer has let pass.
    pub(crate) passed: u64,
    /// Instructions that nobody looks at.
    gate: Rc<Gate>,
    passing: Option<Passing>,
    /// The time of the last instruction that did not pass.
    shown: u64,
    /// SP and FP before the instructions that have passed, until they are compared.
    kept: Option<(u64, u64)>,
    blocks: Blocks,
    /// The reason for stopping the emulator.
    pub(crate) pause: Option<Pause>,
    /// The state to go back to from a copy of the process.
    snapshot: Option<Snapshot>,
    /// The tables that the program has registered, in this order.
    tables: Vec<Arc<Table>>,
    pub(crate) instructions: u64,
    /// The instruction that started last.
    pub(crate) last_pc: u64,
    last_size: u32,
    pub(crate) end: Option<End>,
}

const ILL_ILLOPC: i32 = 1;
const TRAP_BRKPT: i32 = 1;

/// What happens before each instruction.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// The call stack is followed, and the observer is called.
    Observer,
    /// A function that does nothing is called.
    Empty,
    /// Nothing.
    None,
}

/// Makes an emulator that has none of the program's memory yet.
fn emulator<'a>(cpu: &Cpu, space: &AddressSpace) -> Result<Unicorn<'a, ()>, uc_error> {
    let mut unicorn = Unicorn::new(cpu.arch, cpu.mode)?;
    // Without room for its translations, the emulator would end the process, with the status of
    // a finding.
    drop(MmapMut::map_anon(RESERVED_ADDRESSES).map_err(|_| uc_error::NOMEM)?);
    if let Some(model) = cpu.model {
        unicorn.ctl_set_cpu_model(model)?;
    }
    if space.layout().any(|(region, _)| region.end > 1 << cpu.physical_bits) {
        // Addresses are physical by default.
        unicorn.ctl_set_tlb_type(TlbType::VIRTUAL)?;
        unicorn.add_tlb_hook(1, 0, |_, address, _| Some(TlbEntry { paddr: address, perms: Prot::ALL }))?;
    }
    Ok(unicorn)
}

/// Installs memory and hooks. Hooks are installed before anything runs: a hook that is added
/// after code was translated misses that code.
pub(crate) fn set_up<'a>(
    run: &'a RefCell<Run<'_>>,
    cpu: &'static Cpu,
    each: Hook,
) -> Result<Unicorn<'a, ()>, uc_error> {
    let mut unicorn = emulator(cpu, &run.borrow().space)?;
    run.borrow().space.install(&mut unicorn)?;
    match each {
        Hook::Observer => {
            let gate = Rc::clone(&run.borrow().gate);
            unicorn.add_code_hook(1, 0, move |unicorn, pc, size| {
                if !gate.passes(pc, size) {
                    enter(run, unicorn, |run, unicorn| {
                        if !run.goes_by_block(pc) && !run.go_on_passing(pc, size) {
                            run.end_passing();
                            run.instruction(unicorn, pc, size);
                        }
                    });
                }
            })?;
        }
        Hook::Empty => {
            unicorn.add_code_hook(1, 0, |_, _, _| {})?;
        }
        Hook::None => {}
    }
    if run.borrow().reports_stores {
        unicorn.add_mem_hook(HookType::MEM_WRITE, 1, 0, move |unicorn, _, address, len, _| {
            enter(run, unicorn, |run, _| run.stored_in_passing(address, len as u64));
            true
        })?;
    }
    unicorn.add_mem_hook(HookType::MEM_INVALID, 1, 0, move |unicorn, access, address, _, _| {
        hook(run, unicorn, |run, unicorn| run.fault(unicorn, access, address));
        false
    })?;
    unicorn.add_insn_invalid_hook(move |unicorn| {
        hook(run, unicorn, |run, _| run.exception(None));
        false
    })?;
    if cpu.arch == unicorn_engine::Arch::X86 {
        unicorn.add_insn_sys_hook(X86Insn::SYSCALL, 1, 0, move |unicorn| {
            hook(run, unicorn, |run, unicorn| {
                if each != Hook::Observer {
                    run.last_pc = unicorn.pc_read().unwrap_or_default();
                }
                run.pause = Some(Pause::SystemCall);
            });
        })?;
    }
    unicorn.add_intr_hook(move |unicorn, number| {
        // On aarch64 and s390x, exception 2 is the supervisor call.
        let is_call = cpu.arch != unicorn_engine::Arch::X86 && number == 2;
        hook(run, unicorn, |run, unicorn| {
            if each != Hook::Observer {
                run.last_pc = unicorn.pc_read().unwrap_or_default();
            }
            if is_call {
                run.pause = Some(Pause::SystemCall);
            } else if let Some(address) = run.failed_fetch(unicorn) {
                run.fault(unicorn, MemType::FETCH, address);
            } else if let Some(address) = run.failed_operand(unicorn) {
                run.fault(unicorn, MemType::READ, address);
            } else {
                run.exception(Some(number));
            }
        });
    })?;
    Ok(unicorn)
}

/// Runs a hook's work, for which the instructions that have passed are followed.
fn hook(
    run: &RefCell<Run<'_>>,
    unicorn: &mut Unicorn<'_, ()>,
    work: impl FnOnce(&mut Run<'_>, &mut Unicorn<'_, ()>),
) {
    enter(run, unicorn, |run, unicorn| {
        run.interrupt_passing();
        work(run, unicorn);
    });
}

/// Runs a hook's work. Panics must not leave it, since the emulator's frames are between here
/// and anybody who could catch them.
fn enter(
    run: &RefCell<Run<'_>>,
    unicorn: &mut Unicorn<'_, ()>,
    work: impl FnOnce(&mut Run<'_>, &mut Unicorn<'_, ()>),
) {
    let Ok(mut run) = run.try_borrow_mut() else {
        let _ = unicorn.emu_stop();
        return;
    };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&mut run, unicorn))) {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("a panic without a message");
        run.end = Some(End::Broken(Broken::Harness(message.to_owned())));
    }
    if run.end.is_some() || run.pause.is_some() {
        let _ = unicorn.emu_stop();
    }
}

/// The emulator, where it is stopped.
#[derive(Clone, Copy)]
pub(crate) struct Emulated<'e, 'u> {
    pub(crate) cpu: &'static Cpu,
    pub(crate) memory: Seen<'e>,
    pub(crate) unicorn: &'e Unicorn<'u, ()>,
}

impl<'e, 'u> Emulated<'e, 'u> {
    /// As it is now.
    pub(crate) const fn now(
        cpu: &'static Cpu,
        space: &'e AddressSpace,
        unicorn: &'e Unicorn<'u, ()>,
    ) -> Self {
        Self { cpu, memory: Seen { space, instant: None }, unicorn }
    }
}

impl<'e> Processor for Emulated<'e, '_> {
    type Memory = Seen<'e>;

    #[inline]
    fn register(&self, register: i32) -> Option<u64> {
        match self.memory.instant {
            None => self.unicorn.reg_read(register).ok(),
            Some(instant) => {
                let number = self.cpu.registers.iter().position(|known| *known == register)?;
                Some(instant.register(DwarfRegister(u32::try_from(number).ok()?)))
            }
        }
    }

    #[inline]
    fn memory(&self) -> &Seen<'e> {
        &self.memory
    }
}

impl Registers for Emulated<'_, '_> {
    #[inline]
    fn register(&self, register: DwarfRegister) -> Option<u64> {
        match self.memory.instant {
            None => numbered(self.cpu, self.unicorn, register),
            Some(instant) => {
                let is_known = self.cpu.registers.len() as u64 > register.0.into();
                is_known.then(|| instant.register(register))
            }
        }
    }
}

/// Returns the value of a register, by its DWARF number.
#[inline]
fn numbered(cpu: &Cpu, unicorn: &Unicorn<'_, ()>, register: DwarfRegister) -> Option<u64> {
    let known = cpu.registers.get(usize::try_from(register.0).ok()?)?;
    unicorn.reg_read(*known).ok()
}

/// The initial state of a run.
pub(crate) struct Start {
    pub(crate) cpu: &'static Cpu,
    pub(crate) entry: u64,
    pub(crate) sp: u64,
    pub(crate) budget: u64,
    /// The first stack.
    pub(crate) stack: Range<u64>,
    pub(crate) witness_faults: WitnessFaults,
    pub(crate) answers: Arc<Answers>,
    pub(crate) stepped: Arc<BTreeSet<u64>>,
    pub(crate) space: AddressSpace,
    pub(crate) places: Places,
    pub(crate) slots: lazy::Slots,
    pub(crate) linux: Linux,
    pub(crate) pattern: Pattern,
    /// Whether the observer is to be called.
    pub(crate) observes: bool,
}

impl<'o> Run<'o> {
    pub(crate) fn new(start: Start, observer: &'o mut dyn Observer) -> Self {
        Self {
            cpu: start.cpu,
            space: start.space,
            budget: start.budget,
            limit: start.budget,
            reports_stores: start.observes && observer.wants_stores(),
            blocks: Blocks::new(start.observes && observer.goes_by_block(), start.stepped),
            observer,
            follower: Follower::new(
                start.cpu,
                Witness::new(start.cpu, start.stack.clone(), start.sp, start.witness_faults),
                start.answers,
            ),
            places: start.places,
            slots: start.slots,
            interrupted: Vec::new(),
            signal_waits: false,
            observers_signal: None,
            linux: Rc::new(start.linux),
            thread: FIRST,
            parked: BTreeMap::new(),
            space_id: SpaceId(FIRST),
            spaces: BTreeMap::new(),
            observes: start.observes,
            is_observed: start.observes,
            turn_end: start.budget,
            stack: start.stack,
            pattern: start.pattern,
            witness_faults: start.witness_faults,
            ended_flow: ControlFlow::default(),
            observed: 0,
            unobserved: 0,
            passed: 0,
            gate: Rc::default(),
            passing: None,
            shown: 0,
            kept: None,
            pause: None,
            snapshot: None,
            tables: Vec::new(),
            instructions: 0,
            last_pc: start.entry,
            last_size: 0,
            end: None,
        }
    }

    /// Ends the run, unless it has ended already: the first reason counts.
    pub(crate) fn end(&mut self, end: End) {
        self.end.get_or_insert(end);
    }

    fn instruction(&mut self, unicorn: &mut Unicorn<'_, ()>, pc: u64, size: u32) {
        if self.end.is_some() || self.pause.is_some() || pc == self.places.sign() {
            return;
        }
        if self.instructions >= self.turn_end {
            if self.instructions >= self.limit {
                return self.end(End::Broken(Broken::Budget(self.budget)));
            }
            self.last_pc = pc;
            self.pause = Some(Pause::Turn);
            return;
        }
        if !self.is_observed {
            return self.pass(pc, size);
        }
        let (Ok(sp), Ok(fp)) = (unicorn.reg_read(self.cpu.sp), unicorn.reg_read(self.cpu.fp)) else {
            return self.end(End::Broken(Broken::Unicorn("registers can't be read".into())));
        };
        if self.places.is_resolver(pc) {
            match self.slots.bind(self.cpu, &self.space, unicorn, sp, self.places) {
                Ok(slot) => {
                    self.follower.witness.bound();
                    self.stored(slot, 8);
                }
                Err(error) => return self.end(End::Broken(Broken::Linking(error))),
            }
        }
        self.observe(unicorn, Place { pc, sp, fp }, size, None);
    }

    /// Follows an instruction, and shows it to the observer: before it executes, or at an instant of a block that has.
    fn observe(&mut self, unicorn: &Unicorn<'_, ()>, place: Place, size: u32, instant: Option<&Instant<'_>>) {
        let (pc, time) = (place.pc, self.instructions);
        self.shown = time;
        self.instructions += 1;
        (self.last_pc, self.last_size) = (pc, size);
        if let Some(kept) = self.kept.take() {
            self.check_kept(kept, place);
        }
        let memory = Seen { space: &self.space, instant };
        let emulated = Emulated { cpu: self.cpu, memory, unicorn };
        let effect = match self.follower.follow(&emulated, place, time, || size.into()) {
            Ok(effect) => effect,
            Err(broken) => return self.end(End::Broken(broken)),
        };
        if self.signal_waits {
            self.pause = Some(Pause::Signal);
            return;
        }
        let moment = Moment::of(&self.follower, place, time, self.thread, &emulated.memory, &emulated);
        let flow = self.observer.instruction(&moment);
        let straight = if flow == Flow::Continue { self.observer.lets_pass(&moment) } else { None };
        self.observed = time;
        self.follower.witness.seen();
        if flow == Flow::Continue && effect.stores_unreported && self.reports_stores {
            let unreported = self.unreported(pc, &|register| Processor::register(&emulated, register));
            if let Some((address, len)) = unreported {
                self.stored(address, len);
            }
        }
        if flow == Flow::Continue {
            self.end_by_itself(pc, &effect);
            if let Some(straight) = straight {
                self.let_pass(&effect, straight, place);
            }
        } else {
            self.obey(flow);
        }
    }

    /// Does what the observer wants.
    #[cold]
    fn obey(&mut self, flow: Flow) {
        match flow {
            Flow::Continue => {}
            Flow::Stop => self.end(End::Stopped),
            Flow::Signal(signal) => {
                self.raise(signal.into());
                if self.signal_waits {
                    self.pause = Some(Pause::Signal);
                }
            }
            Flow::Fork(signal) => self.pause = Some(Pause::Fork(signal.into())),
            Flow::Rewind => self.pause = Some(Pause::Rewind),
        }
    }

    /// Ends the run before an instruction that Linux does not let go on, or that the emulator can't execute.
    #[inline]
    fn end_by_itself(&mut self, pc: u64, effect: &Effect) {
        match () {
            () if effect.is_privileged => {
                let fault = SignalInfo { code: SI_KERNEL, ..SignalInfo::default() };
                if !self.raise_fault(SIGSEGV, fault) {
                    self.end(End::Broken(Broken::Privileged { pc, code: self.code_at(pc) }));
                }
            }
            () if effect.is_mistaken => self.exception(None),
            () if effect.control == Control::SelfJump => self.end(End::SelfJump(pc)),
            () => {}
        }
    }

    /// Passes an instruction that is not observed.
    fn pass(&mut self, pc: u64, size: u32) {
        let repeats = pc == self.last_pc;
        self.instructions += 1;
        self.unobserved += 1;
        (self.last_pc, self.last_size) = (pc, size);
        if self.instructions.is_multiple_of(ASKED_EVERY) && self.observer.is_stopped() {
            self.end(End::Stopped);
        } else if self.signal_waits {
            self.pause = Some(Pause::Signal);
        } else if repeats
            && with_code(self.cpu, &self.space, pc, |code| (self.cpu.control)(code)) == Control::SelfJump
        {
            self.end(End::SelfJump(pc));
        }
    }

    /// Stores bytes on behalf of the kernel.
    pub(crate) fn store(&mut self, address: u64, bytes: &[u8]) -> bool {
        let stored = self.space.write(address, bytes);
        if stored {
            self.stored(address, bytes.len() as u64);
        }
        stored
    }

    pub(crate) fn store_u64(&mut self, address: u64, value: u64) -> bool {
        let bytes = if self.cpu.abi.is_big_endian() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.store(address, &bytes)
    }

    pub(crate) fn store_u32(&mut self, address: u64, value: u32) -> bool {
        let bytes = if self.cpu.abi.is_big_endian() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.store(address, &bytes)
    }

    /// Reports a store. Every change of the program's memory has to go through here, before it is
    /// made or by [`AddressSpace::write`].
    pub(crate) fn stored(&mut self, address: u64, len: u64) {
        if self.snapshot.is_some() {
            self.space.save(address, len);
        }
        // The same address in the memory of another process, such as a child, is another place.
        if self.reports_stores && self.space_id == self.linux.observed {
            self.observer.store(address, len);
        }
    }

    /// Returns what the instruction at `pc` stores that Unicorn will not report.
    fn unreported(&self, pc: u64, register: &dyn Fn(i32) -> Option<u64>) -> Option<(u64, u64)> {
        let decode = |pc| with_code(self.cpu, &self.space, pc, |code| (self.cpu.unreported)(code));
        match Unreported::at(pc, decode, register) {
            Unreported::Nothing => None,
            Unreported::Bytes { base, alignment, displacement, len } => {
                let base = base.and_then(register).unwrap_or_default();
                Some(((base - base % alignment).wrapping_add(displacement), len))
            }
            Unreported::Anything | Unreported::Target(..) => Some((0, u64::MAX)),
        }
    }

    /// Returns the operand in memory that the last instruction can't access, if the emulator has
    /// not named it.
    fn failed_operand(&self, unicorn: &Unicorn<'_, ()>) -> Option<u64> {
        let operands = self.cpu.memory_operands?;
        let register = |number: usize| {
            let register = self.cpu.registers.get(number);
            register.and_then(|register| unicorn.reg_read(*register).ok()).unwrap_or_default()
        };
        let addresses = with_code(self.cpu, &self.space, self.last_pc, |code| operands(code, &register));
        let fails = |address: &u64| {
            let allowed = self.space.permissions(*address);
            !(allowed.read && allowed.write)
        };
        addresses.into_iter().find(fails)
    }

    /// Returns where the last instruction has led to, if there is no code and the emulator has not
    /// said so.
    fn failed_fetch(&self, unicorn: &Unicorn<'_, ()>) -> Option<u64> {
        self.cpu.memory_operands?;
        let pc = unicorn.reg_read(self.cpu.pc).ok()?;
        (!self.space.permissions(pc).execute).then_some(pc)
    }

    fn fault(&mut self, unicorn: &Unicorn<'_, ()>, access: MemType, address: u64) {
        const SEGV_MAPERR: i32 = 1;
        const SEGV_ACCERR: i32 = 2;
        let is_mapped = !self.space.is_free(address..address.saturating_add(1));
        let code = if is_mapped { SEGV_ACCERR } else { SEGV_MAPERR };
        let is_fetch = matches!(access, MemType::FETCH | MemType::FETCH_UNMAPPED | MemType::FETCH_PROT);
        // Where the emulator does not say what has failed, Linux knows the page only.
        let word = if self.cpu.memory_operands.is_some() { address - address % PAGE } else { address };
        if self.raise_fault(SIGSEGV, SignalInfo { code, word, value: 0 }) {
            if is_fetch {
                self.fetch_failed(unicorn, address);
            }
            return;
        }
        let access = match access {
            MemType::WRITE | MemType::WRITE_UNMAPPED | MemType::WRITE_PROT => "write",
            _ if is_fetch => "fetch",
            _ => "read",
        };
        let pc = self.last_pc;
        let bottom = self.stack.start;
        let is_below_stack = !is_fetch
            && address < bottom
            && unicorn.reg_read(self.cpu.sp).is_ok_and(|sp| sp < bottom)
            && self.space.is_free(address..bottom);
        self.end(End::Broken(match is_below_stack {
            true => Broken::Stack { address, pc, size: self.stack.end - bottom },
            false => Broken::Fault { access, address, pc },
        }));
    }

    /// The last instruction has led to an address without an instruction, where a call may end that it has begun. What
    /// is not there does not count as executed.
    fn fetch_failed(&mut self, unicorn: &Unicorn<'_, ()>, address: u64) {
        let read = |register| unicorn.reg_read(register).unwrap_or_default();
        let (pc, sp, fp) = (read(self.cpu.pc), read(self.cpu.sp), read(self.cpu.fp));
        // It may begin on the page before.
        let is_near = address.checked_sub(pc).is_some_and(|offset| offset < self.cpu.longest as u64);
        let pc = if is_near { pc } else { address };
        let time = self.instructions;
        (self.last_pc, self.last_size) = (pc, 0);
        self.follower.begin_event();
        if !self.is_observed {
            return;
        }
        let emulated = Emulated::now(self.cpu, &self.space, unicorn);
        match self.follower.enter_callee(&emulated, pc, sp) {
            Ok(()) => self.follower.witness.follow(Place { pc, sp, fp }, time, Action::NOTHING, || None),
            Err(broken) => self.end(End::Broken(broken)),
        }
    }

    pub(crate) fn exception(&mut self, number: Option<u32>) {
        let pc = self.last_pc;
        let exceptions = self.cpu.system_calls.exceptions;
        let known = exceptions.iter().find(|(known, ..)| Some(*known) == number);
        let (signal, code) = match known {
            Some((_, signal, code)) => (*signal, *code),
            None if self.is_breakpoint(pc) => (SIGTRAP, TRAP_BRKPT),
            None => (SIGILL, ILL_ILLOPC),
        };
        let info = SignalInfo { code, word: if code == SI_KERNEL { 0 } else { pc }, value: 0 };
        let is_behind = number.is_some_and(|number| self.cpu.system_calls.traps.contains(&number));
        if is_behind && self.handles_fault(signal) {
            self.pause.get_or_insert(Pause::Trap(signal, info));
            return;
        }
        if self.raise_fault(signal, info) {
            return;
        }
        let code = self.code_at(pc);
        self.end(End::Broken(Broken::Exception { number, pc, code }));
    }

    fn is_breakpoint(&self, pc: u64) -> bool {
        let breakpoint = self.cpu.system_calls.breakpoint;
        breakpoint.is_some_and(|known| with_code(self.cpu, &self.space, pc, |code| code.starts_with(known)))
    }

    /// Returns the control transfers of all tasks.
    pub(crate) fn control_flow(&self) -> ControlFlow {
        let mut all = self.ended_flow;
        all.add(self.follower.witness.control_flow());
        self.parked.values().for_each(|task| all.add(task.control_flow()));
        all
    }

    /// Ends the run where the emulator has stopped, unless it has ended already.
    pub(crate) fn conclude(&mut self, unicorn: &Unicorn<'_, ()>, result: Result<(), uc_error>) -> End {
        match result {
            Ok(()) => {}
            Err(uc_error::INSN_INVALID | uc_error::EXCEPTION) => self.exception(None),
            Err(error) => self.end(End::Broken(Broken::Unicorn(format!("{error:?}")))),
        }
        let pc = unicorn.reg_read(self.cpu.pc).unwrap_or_default();
        self.end.take().unwrap_or(End::Broken(Broken::Halted { pc }))
    }

    /// Returns the bytes of the last instruction. If the emulator can't decode it, returns as
    /// many as the longest instruction has.
    fn code_at(&self, pc: u64) -> Vec<u8> {
        let known = usize::try_from(self.last_size).unwrap_or(0);
        let len = if (1..=self.cpu.longest).contains(&known) { known } else { self.cpu.longest };
        with_code(self.cpu, &self.space, pc, |code| code[..len.min(code.len())].to_vec())
    }
}
