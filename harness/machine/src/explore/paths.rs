//! The paths of a function: what is known of the one that is followed, and each of its instructions.

use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::DwarfRegister;
use sframe_isa::{Comparand, Condition, MOST_REMOVED, Operation, Relation};
use unicorn_engine::{Context, Unicorn, uc_error};

use super::arena::{Layout, Pages, Seed};
use super::assumption::Assumption;
use super::code::{Code, Decoded, Kind};
use super::fork::{Fork, LabelCall, Progress};
use super::journal::{Journal, Store};
use super::point::{Class, Point};
use super::returns::Known;
use super::tables::{Load, load_of};
use super::{Binary, Callee, Explored, Function, Observer};
use crate::address_space::AddressSpace;
use crate::call_stack::{Bottom, CallStack, Record, Signature};
use crate::cpu::{AuthenticationKey, Cpu, Link, Unreported};
use crate::effect_cache::{skips_trap, with_code};
use crate::observer::Moment;
use crate::run::Emulated;

/// A state is abandoned where a compare with SP is this many instructions before the branch.
const COMPARE_DISTANCE: usize = 8;
/// At most this many places where FP or RA have been stored distinguish states.
const MOST_SAVED: usize = 16;
/// Arguments on the stack, in words, and the number of the first one.
const STACK_ARGUMENTS: u64 = 8;
const FIRST_ON_STACK: u64 = 8;

/// What a register holds at a function's entry, by its DWARF number, unless it has a meaning.
pub(super) const fn at_entry(number: u64) -> u64 {
    0xc0de_0000_0000_0001 + (number << 32)
}

/// Why the emulator was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The path ends before the last instruction.
    End,
    /// The last instruction is not for the emulator.
    Special,
    /// The last instruction has raised an exception.
    Exception,
}

/// The paths of a function that have yet to be taken, and the state of the one that is. What hooks borrow apart is a field of
/// its own.
pub(super) struct Paths<'o, 'b> {
    pub(super) cpu: &'static Cpu,
    pub(super) binary: &'o Binary<'b>,
    pub(super) observer: &'o mut dyn Observer,
    pub(super) layout: Layout,
    pub(super) space: AddressSpace,
    pub(super) pages: Pages,
    pub(super) code: Code,
    pub(super) known: Known,
    pub(super) panic: Option<Box<dyn std::any::Any + Send>>,
    pub(super) function: Function,
    pub(super) result: Explored,
    call_stack: CallStack,
    fork: Fork,
    /// States that were met, by their keys.
    pub(super) seen: FxHashSet<u64>,
    /// How many states of each instruction.
    pub(super) states: FxHashMap<u64, u32>,
    /// SP at branches, when they were first met.
    sp_at_branches: FxHashMap<u64, u64>,
    /// Places where FP or RA have been stored.
    pub(super) saved: Vec<u64>,
    pub(super) journal: Journal,
    pub(super) assumptions: Vec<Assumption>,
    pub(super) trace: Vec<u64>,
    /// What was loaded from what may be tables, oldest first.
    pub(super) loads: Vec<Load>,
    pub(super) class: Class,
    pub(super) signature: Option<Signature>,
    signing: Option<AuthenticationKey>,
    /// The branch that was executed last, unless it may go one way only.
    pub(super) branch: Option<u64>,
    /// Whether states are compared before the next instruction.
    pub(super) is_joint: bool,
    pub(super) is_after_call: bool,
    /// The calls within the function that have not returned, the last one last.
    pub(super) labels: Vec<LabelCall>,
    /// The return address of the last instruction, if that was a call that skips a speculation trap.
    skipped: Option<u64>,
    pub(super) stop: Option<Stop>,
    /// The length of the trace when an instruction failed.
    pub(super) failed_at: Option<usize>,
}

impl<'o, 'b> Paths<'o, 'b> {
    pub(super) fn new(
        binary: &'o Binary<'b>,
        observer: &'o mut dyn Observer,
        layout: Layout,
        space: AddressSpace,
    ) -> Self {
        let cpu = binary.image.cpu;
        Self {
            cpu,
            binary,
            observer,
            layout,
            space,
            pages: Pages::new(layout),
            code: Code::new(cpu),
            known: Known::default(),
            panic: None,
            function: Function {
                entry: 0,
                seed: Seed::default(),
                budget: 0,
                is_entry_point: false,
                link: None,
                is_signal: false,
            },
            result: Explored::default(),
            call_stack: CallStack::new(Bottom::Context, Vec::new()),
            fork: Fork::default(),
            seen: FxHashSet::default(),
            states: FxHashMap::default(),
            sp_at_branches: FxHashMap::default(),
            saved: Vec::new(),
            journal: Journal::default(),
            assumptions: Vec::new(),
            trace: Vec::new(),
            loads: Vec::new(),
            class: 0,
            signature: None,
            signing: None,
            branch: None,
            is_joint: false,
            is_after_call: false,
            labels: Vec::new(),
            skipped: None,
            stop: None,
            failed_at: None,
        }
    }

    /// Puts the CPU into the state that user code expects. Returns its registers.
    pub(super) fn prepare(&self, unicorn: &mut Unicorn<'_, ()>) -> Result<Context, uc_error> {
        (self.cpu.prepare)(unicorn)?;
        (self.cpu.set_thread_pointer)(unicorn, self.layout.thread())?;
        unicorn.context_init()
    }

    /// Where the function's callers leave the return address.
    pub(super) fn link(&self) -> Link {
        self.function.link.and_then(|link| self.register(link)).map_or(self.cpu.link, Link::Register)
    }

    /// SP at the function's entry.
    pub(super) fn entry_sp(&self) -> u64 {
        let sp = self.layout.caller_sp();
        if self.cpu.link == Link::Stack { sp - 8 } else { sp }
    }

    fn cfa(&self) -> u64 {
        self.layout.caller_sp() + self.cpu.cfa_above_sp
    }

    /// Begins the next function. Returns false after the last one.
    pub(super) fn begin(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        initial: &Context,
    ) -> Result<bool, uc_error> {
        let Some(function) = self.observer.next() else { return Ok(false) };
        let Function { entry, seed, .. } = function;
        self.function = function;
        self.layout.is_started = function.is_entry_point && self.link() == Link::Stack;
        self.result = Explored::default();
        if self.code.trim() {
            // The emulator keeps what it has translated until that is a gigabyte.
            unicorn.ctl_flush_tb()?;
        }
        self.pages.start(seed);
        unicorn.ctl_flush_tlb()?;
        unicorn.context_restore(initial)?;
        let (sp, fp, ra) = (self.layout.caller_sp(), self.layout.caller_fp(), self.layout.return_address());
        for (number, register) in (0..).zip(self.cpu.registers) {
            unicorn.reg_write(*register, at_entry(number))?;
        }
        for (number, argument) in (1..).zip(self.cpu.convention.arguments) {
            unicorn.reg_write(self.cpu.registers[*argument], self.given(number))?;
        }
        unicorn.reg_write(self.cpu.fp, fp)?;
        unicorn.reg_write(self.cpu.sp, self.entry_sp())?;
        match self.link() {
            Link::Register(link) => unicorn.reg_write(link, ra)?,
            Link::Stack => {
                let _ = self.space.write_u64(self.entry_sp(), ra);
            }
        }
        for number in 0..STACK_ARGUMENTS {
            // Below the end of the stack.
            let _ = self.space.write_u64(self.cfa() + 8 * number, self.given(FIRST_ON_STACK + number));
        }
        let call = Record {
            return_address: ra,
            cfa: self.cfa(),
            caller_sp: sp,
            caller_fp: fp,
            callee: entry,
            since: 0,
            event: 0,
            interrupted: function.is_signal,
            signature: None,
        };
        self.call_stack = CallStack::new(Bottom::Context, vec![call]);
        self.seen.clear();
        self.states.clear();
        self.sp_at_branches.clear();
        self.saved.clear();
        if self.cpu.link == Link::Stack {
            self.saved.push(self.entry_sp());
        }
        let progress = Progress {
            stores: 0,
            assumptions: 0,
            instructions: 0,
            class: 0,
            signature: None,
            is_after_call: false,
            labels: Vec::new(),
        };
        self.fork.push(unicorn, entry, progress, None)?;
        Ok(true)
    }

    /// What the function gets as an argument or result.
    pub(super) const fn given(&self, number: u64) -> u64 {
        match self.function.seed {
            Seed::Pointers => self.layout.object(number),
            Seed::Numbers => number,
        }
    }

    pub(super) fn finish(&mut self) {
        self.fork.clear();
        self.journal.undo(&self.space, 0);
        self.result.is_cut |= self.pages.ran_out;
        self.observer.explored(&self.function, &self.result);
    }

    /// Takes up the last state that waits. Returns its PC.
    pub(super) fn take_up(&mut self, unicorn: &mut Unicorn<'_, ()>) -> Result<Option<u64>, uc_error> {
        if self.result.instructions >= self.function.budget {
            self.result.is_cut = true;
            return Ok(None);
        }
        let Some((pc, progress, assumption)) = self.fork.pop(unicorn)? else { return Ok(None) };
        self.result.paths += 1;
        self.journal.undo(&self.space, progress.stores);
        self.assumptions.truncate(progress.assumptions);
        self.assumptions.extend(assumption);
        self.trace.truncate(progress.instructions);
        while self.loads.last().is_some_and(|load| load.position >= progress.instructions) {
            self.loads.pop();
        }
        self.class = progress.class;
        self.signature = progress.signature;
        self.call_stack.innermost_mut().into_iter().for_each(|call| call.signature = progress.signature);
        self.is_after_call = progress.is_after_call;
        self.labels = progress.labels;
        (self.signing, self.branch, self.is_joint, self.failed_at) = (None, None, true, None);
        self.skipped = None;
        if let Some(Assumption::Forced { at, to }) = assumption {
            self.make_true(unicorn, at, to)?;
        }
        Ok(Some(pc))
    }

    /// Sets the flags as they are where a branch leads, if a comparison decides that: what reads them next is a part of
    /// the same condition.
    fn make_true(&self, unicorn: &mut Unicorn<'_, ()>, branch: u64, to: u64) -> Result<(), uc_error> {
        let decoded = self.code.at(&self.space, branch);
        let Some(Condition { relation, .. }) = decoded.instruction.condition else { return Ok(()) };
        let is_taken = to != branch.wrapping_add(decoded.len);
        (self.cpu.set_order)(
            unicorn,
            match if is_taken { relation } else { relation.negated() } {
                Relation::Equal => Ordering::Equal,
                Relation::NotEqual | Relation::Less | Relation::LessOrEqual => Ordering::Less,
                Relation::Greater | Relation::GreaterOrEqual => Ordering::Greater,
            },
        )
    }

    /// What has led to the present state.
    fn progress(&self) -> Progress {
        Progress {
            stores: self.journal.len(),
            assumptions: self.assumptions.len(),
            instructions: self.trace.len(),
            class: self.class,
            signature: self.signature,
            is_after_call: false,
            labels: self.labels.clone(),
        }
    }

    /// Lets a state wait: the present one, but at another PC, and with an assumption more. Of states
    /// that are alike, one waits.
    pub(super) fn wait(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        pc: u64,
        assumption: Assumption,
    ) -> Result<(), uc_error> {
        let key = self.key(unicorn, (pc, true))?;
        if !self.seen.insert(key) {
            return Ok(());
        }
        self.fork.push(unicorn, pc, self.progress(), Some(assumption))
    }

    pub(super) fn instruction(&mut self, unicorn: &mut Unicorn<'_, ()>, pc: u64) {
        if self.stop.is_some() {
            return;
        }
        if self.step(unicorn, pc).is_err() {
            // The emulator is in no state to go on from.
            self.result.is_cut = true;
            self.stop = Some(Stop::End);
        }
    }

    /// Looks at the instruction that comes next.
    fn step(&mut self, unicorn: &mut Unicorn<'_, ()>, pc: u64) -> Result<(), uc_error> {
        let decoded = self.code.at(&self.space, pc);
        let previous = self.trace.last().copied();
        self.result.instructions += 1;
        if self.result.instructions > self.function.budget {
            self.result.is_cut = true;
            self.stop = Some(Stop::End);
            return Ok(());
        }
        if decoded.instruction.repeats && self.repeats(unicorn, pc, previous == Some(pc))? {
            return Ok(());
        }
        let (sp, fp) = (unicorn.reg_read(self.cpu.sp)?, unicorn.reg_read(self.cpu.fp)?);
        let is_free = match self.branch.take() {
            Some(branch) => self.branched(unicorn, branch, pc, sp)?,
            None => true,
        };
        if self.leaves(unicorn, pc, previous, sp)? {
            self.stop = Some(Stop::End);
            return Ok(());
        }
        let stack = self.layout.stack();
        if sp < stack.start + 0x1000 || sp > self.layout.caller_sp() + MOST_REMOVED {
            self.result.lost_stack = true;
            self.stop = Some(Stop::End);
            return Ok(());
        }
        self.trace.push(pc);
        if let (Some(key), Link::Register(link)) = (self.signing.take(), self.cpu.link) {
            self.signature = Some(Signature { key, signed: unicorn.reg_read(link)? });
            self.call_stack.innermost_mut().into_iter().for_each(|call| call.signature = self.signature);
        }
        self.signing = decoded.signs;
        self.class = self.observe(unicorn, pc, sp, fp, |observer, point| observer.instruction(point));
        self.skipped = None;
        // What follows a call that never returns begins after padding.
        self.is_after_call &= decoded.is_padding();
        if std::mem::take(&mut self.is_joint) && self.is_known(unicorn, pc, is_free)? {
            self.stop = Some(Stop::End);
            return Ok(());
        }
        if self.binary.is_kernel {
            if let Some(detours) = self.binary.detours.get(&pc) {
                for (to, why) in detours {
                    self.wait(unicorn, *to, Assumption::Detour { at: pc, to: *to, why: *why })?;
                }
            }
            if decoded.returns_from_exception {
                self.result.returns_from_exception = true;
                self.stop = Some(Stop::End);
                return Ok(());
            }
        }
        self.dispatch(unicorn, pc, &decoded)
    }

    /// Prepares for what an instruction does.
    fn dispatch(&mut self, unicorn: &Unicorn<'_, ()>, pc: u64, decoded: &Decoded) -> Result<(), uc_error> {
        match decoded.kind {
            Kind::Plain => {
                if decoded.stores_unreported {
                    self.store_unreported(unicorn, pc)?;
                }
                self.note_load(unicorn, decoded);
            }
            Kind::Branch(_) => self.branch = Some(pc),
            Kind::Jump(_) => self.is_joint = true,
            Kind::Call(_) if self.binary.traced.contains(&pc) => self.stop = Some(Stop::Special),
            Kind::Call(Callee::Function(to))
                if !self.binary.entries.contains(&to) && !self.is_retpoline(to) =>
            {
                // Code that fetches the PC, and thunks: the call is part of the function, as its
                // unwind information has it.
                let next = pc.wrapping_add(decoded.len);
                if skips_trap(self.cpu, &self.space, next, to) {
                    self.skipped = Some(next);
                } else {
                    self.call_label(pc, to, next);
                }
                self.is_joint = true;
            }
            _ => self.stop = Some(Stop::Special),
        }
        Ok(())
    }

    /// Notes a call within the function: it may return, unless it fetches the PC.
    fn call_label(&mut self, pc: u64, label: u64, next: u64) {
        self.assumptions.push(Assumption::Internal { at: pc });
        match self.labels.iter_mut().find(|call| (call.label, call.next) == (label, next)) {
            Some(call) => call.is_repeated = true,
            None => self.labels.push(LabelCall { label, next, is_repeated: false }),
        }
    }

    /// Whether code is a retpoline: it jumps to the address in a register, in the way that a return
    /// does.
    pub(super) fn is_retpoline(&self, pc: u64) -> bool {
        let decoded = self.code.at(&self.space, pc);
        let Kind::Call(Callee::Function(to)) = decoded.kind else { return false };
        skips_trap(self.cpu, &self.space, pc.wrapping_add(decoded.len), to)
            && with_code(self.cpu, &self.space, to, |code| (self.cpu.retpoline_jump)(code)).is_some()
    }

    /// Records what a load that may be from a table reads.
    fn note_load(&mut self, unicorn: &Unicorn<'_, ()>, decoded: &Decoded) {
        let register = |register: DwarfRegister| unicorn.reg_read(self.register(register)?).ok();
        let load = load_of(decoded, self.trace.len() - 1, &register);
        self.loads.extend(load);
    }

    /// Shows the observer the present state.
    pub(super) fn observe<T>(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        pc: u64,
        sp: u64,
        fp: u64,
        show: impl FnOnce(&mut dyn Observer, &Point<'_>) -> T,
    ) -> T {
        let decoded = self.code.at(&self.space, pc);
        let is_call = matches!(decoded.kind, Kind::Call(_));
        let labels: Vec<u64> = self.labels.iter().map(|call| call.label).collect();
        let moment = Moment {
            time: self.result.instructions,
            event: self.result.instructions,
            thread: 0,
            pc,
            sp,
            fp,
            call_stack: &self.call_stack,
            memory: &self.space,
            registers: &Emulated::now(self.cpu, &self.space, unicorn),
            cpu: self.cpu,
            code: 0,
        };
        let point = Point {
            moment,
            entry: self.function.entry,
            assumptions: &self.assumptions,
            class: self.class,
            return_address: is_call.then(|| pc.wrapping_add(decoded.len)),
            is_after_call: self.is_after_call,
            labels: &labels,
            skipped: self.skipped,
            trace: &self.trace,
            saved: &self.saved,
            journal: &self.journal,
            code: &self.code,
            space: &self.space,
        };
        show(&mut *self.observer, &point)
    }

    /// Lets the other way of a branch wait, unless the branch depends on SP: where SP is, nothing may
    /// be assumed. Returns whether it may go both ways.
    fn branched(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        branch: u64,
        pc: u64,
        sp: u64,
    ) -> Result<bool, uc_error> {
        self.is_joint = true;
        let decoded = self.code.at(&self.space, branch);
        let (Kind::Branch(target), next) = (decoded.kind, branch.wrapping_add(decoded.len)) else {
            return Ok(true);
        };
        let first = *self.sp_at_branches.entry(branch).or_insert(sp);
        // A loop that moves SP ends when it ends.
        if first != sp || self.compares_sp() {
            return Ok(false);
        }
        let other = if pc == target { next } else { target };
        if other != pc {
            self.wait(unicorn, other, Assumption::Forced { at: branch, to: other })?;
        }
        Ok(true)
    }

    /// Whether the last compare of the path is with SP.
    fn compares_sp(&self) -> bool {
        let sp = self.cpu.abi.sp();
        let last = self.trace.iter().rev().take(COMPARE_DISTANCE);
        let compare = last.map(|pc| self.code.at(&self.space, *pc)).find_map(|decoded| {
            match decoded.instruction.operation {
                Operation::Compare { left, right, .. } => {
                    Some([left, right].contains(&Comparand::Register(sp)))
                }
                _ => None,
            }
        });
        compare.unwrap_or(false)
    }

    /// Records that the last instruction is about to store to memory.
    pub(super) fn stored(&mut self, address: u64, len: u64, value: u64) {
        let store = self.store(self.trace.last().copied().unwrap_or_default());
        self.journal.stores(&self.space, store, address, len);
        if len == 8
            && (self.is_callers(value) || self.is_callers(value.swap_bytes()))
            && self.saved.len() < MOST_SAVED
            && !self.saved.contains(&address)
        {
            self.saved.push(address);
        }
    }

    /// Stores a word on behalf of the last instruction, which is not executed.
    pub(super) fn store_word(&mut self, address: u64, word: u64) {
        let store = self.store(self.trace.last().copied().unwrap_or_default());
        self.journal.stores(&self.space, store, address, 8);
        let word = if self.cpu.abi.is_big_endian() { word.to_be_bytes() } else { word.to_le_bytes() };
        // What is not mapped is not stored to.
        let _ = self.space.write(address, &word);
    }

    /// The present execution of an instruction that stores.
    fn store(&self, pc: u64) -> Store {
        Store { pc, time: self.trace.len() }
    }

    /// Records stores that Unicorn does not report.
    fn store_unreported(&mut self, unicorn: &Unicorn<'_, ()>, pc: u64) -> Result<(), uc_error> {
        let decode = |pc| with_code(self.cpu, &self.space, pc, |code| (self.cpu.unreported)(code));
        match Unreported::at(pc, decode, |register| unicorn.reg_read(register).ok()) {
            Unreported::Nothing => {}
            Unreported::Bytes { base, alignment, displacement, len } => {
                let base = base.map_or(Ok(0), |base| unicorn.reg_read(base))?;
                let address = (base - base % alignment).wrapping_add(displacement);
                // Where pages have appeared, what is stored stays in them: nobody asks for it.
                let store = self.store(pc);
                self.journal.stores(&self.space, store, address, len);
            }
            // It is not executed.
            Unreported::Anything | Unreported::Target(..) => self.stop = Some(Stop::Exception),
        }
        Ok(())
    }
}
