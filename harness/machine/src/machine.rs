//! The machine: an image, a CPU, and the loop that runs them.

use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};
use std::panic::{AssertUnwindSafe, catch_unwind};

use memmap2::MmapMut;
use unicorn_engine::{HookType, MemType, Prot, TlbEntry, TlbType, Unicorn, X86Insn, uc_error};

use crate::address_space::{AddressSpace, MapError};
use crate::call_stack::{Bottom, Signature};
use crate::cpu::{AuthenticationKey, BranchTarget, Control, Cpu, Link, Source, StackPointer, Unreported};
use crate::effect_cache::{EffectCache, with_code};
use crate::image::{Image, LoadError};
use crate::images::Images;
use crate::link::{Plan, lazy, prelude};
use crate::observer::{Flow, Moment, Observer};
use crate::outcome::{Broken, End, Outcome};
use crate::places::Places;
use crate::process::{self, Pattern, ProcessError};
use crate::signal::{Pause, Signals};
use crate::witness::{Action, Branch, Callee, Movement, Place, Witness, WitnessFaults};

/// How a program is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Arguments behind `argv[0]`.
    pub arguments: Vec<String>,
    /// What uninitialised registers and stack hold.
    pub pattern: Pattern,
    /// The program is broken if it executes more instructions than this.
    pub budget: u64,
    /// Size of the stack, in bytes.
    pub stack_size: u64,
    /// Faults of the witness, to see that they are noticed.
    #[doc(hidden)]
    pub witness_faults: WitnessFaults,
}

impl Options {
    /// Sizes of the stack that a program may have any use for, in bytes.
    pub const STACK_SIZES: RangeInclusive<u64> = 64 << 10..=1 << 30;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            arguments: Vec::new(),
            pattern: Pattern::First,
            budget: 50_000_000,
            stack_size: 8 << 20,
            witness_faults: WitnessFaults::default(),
        }
    }
}

/// A machine could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// Its memory could not be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The image can't be linked.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The arguments do not fit onto the stack.
    #[error("{0}")]
    Stack(String),
    /// The host has no room for the emulator.
    #[error("out of memory: the emulator reserves {TRANSLATION_BUFFER} bytes of addresses")]
    Memory,
    /// The emulator refused to be set up.
    #[error("Unicorn can't be set up for {cpu}: {error:?}")]
    Unicorn {
        /// The CPU.
        cpu: &'static str,
        /// What Unicorn says.
        error: uc_error,
    },
}

impl From<ProcessError> for MachineError {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::Map(error) => Self::Map(error),
            ProcessError::StackTooSmall(_) => Self::Stack(error.to_string()),
        }
    }
}

/// A loaded program.
#[derive(Debug)]
pub struct Machine {
    cpu: &'static Cpu,
    entry: u64,
    sp: u64,
    pattern: Pattern,
    budget: u64,
    /// The first stack.
    stack: Range<u64>,
    witness_faults: WitnessFaults,
    space: AddressSpace,
    plan: Plan,
}

impl Machine {
    /// Maps an executable that needs no library, and lays out its first stack.
    ///
    /// # Errors
    /// As for [`Self::with_images`]; or it needs a library.
    pub fn new(image: &Image<'_>, options: &Options) -> Result<Self, MachineError> {
        Self::with_images(&Images::of(image.clone())?, options)
    }

    /// Maps an executable with its libraries, links them, and lays out the
    /// first stack.
    ///
    /// # Errors
    /// Memory that the host does not have, or arguments that do not fit.
    pub fn with_images(images: &Images<'_>, options: &Options) -> Result<Self, MachineError> {
        let (space, sp) = process::create(images, &options.arguments, options.stack_size, options.pattern)?;
        let image = images.executable();
        Ok(Self {
            cpu: image.cpu,
            entry: image.entry,
            sp,
            pattern: options.pattern,
            budget: options.budget,
            stack: images.plan.places.stack_top() - options.stack_size..images.plan.places.stack_top(),
            witness_faults: options.witness_faults,
            space,
            plan: images.plan.clone(),
        })
    }

    /// Runs the program to its end and shows the observer each instruction.
    ///
    /// # Errors
    /// The emulator refuses to be set up. What goes wrong later is an
    /// [`End::Broken`], with all that was observed before it.
    pub fn run(self, observer: &mut dyn Observer) -> Result<Outcome, MachineError> {
        let cpu = self.cpu;
        let failed = |error| match error {
            uc_error::NOMEM => MachineError::Memory,
            error => MachineError::Unicorn { cpu: cpu.name, error },
        };
        let entry = self.entry;
        let (sp, pattern) = (self.sp, self.pattern);
        let plan = self.plan.clone();
        // The state outlives the emulator, which has pointers into its memory.
        let run = RefCell::new(Run::new(self, observer));
        let mut unicorn = set_up(&run, cpu).map_err(failed)?;
        let result = match prelude::run(&plan, &run, &mut unicorn, sp, pattern) {
            Ok(true) => {
                process::set_registers(&mut unicorn, cpu, sp, pattern, plan.places).map_err(failed)?;
                run.borrow_mut().witness.start_again(sp, Bottom::Entry);
                execute(&run, &mut unicorn, entry, NOWHERE)
            }
            other => other.map(|_| ()),
        };
        let pc = unicorn.reg_read(cpu.pc).unwrap_or_default();
        drop(unicorn);
        let mut run = run.into_inner();
        match result {
            Ok(()) => run.end(End::Broken(Broken::Halted { pc })),
            Err(uc_error::INSN_INVALID | uc_error::EXCEPTION) => run.exception(None),
            Err(error) => run.end(End::Broken(Broken::Unicorn(format!("{error:?}")))),
        }
        let end = run.end.unwrap_or(End::Broken(Broken::Halted { pc }));
        let control_flow = *run.witness.control_flow();
        Ok(Outcome { end, instructions: run.instructions, control_flow, output: run.output })
    }
}

/// Runs from an address to another one, with the pauses that signals need.
pub(crate) fn execute(
    run: &RefCell<Run<'_>>,
    unicorn: &mut Unicorn<'_, ()>,
    start: u64,
    until: u64,
) -> Result<(), uc_error> {
    let mut start = start;
    loop {
        let result = unicorn.emu_start(start, until, 0, 0);
        let mut run = run.borrow_mut();
        let Some(pause) = run.pause.take() else { return result };
        match run.resume(unicorn, pause) {
            Some(pc) => start = pc,
            None => return result,
        }
    }
}

/// Addresses that Unicorn reserves for what it translates, in bytes.
const TRANSLATION_BUFFER: usize = 1 << 30;

/// Retpolines are shorter than this, with their padding, in bytes.
const LONGEST_RETPOLINE: usize = 64;

/// No program has more calls that have not returned, in all of its contexts. A
/// main thread's stack on Linux (8 MiB) has room for half of it, at 16 bytes each.
const DEPTH_LIMIT: usize = 1 << 20;

/// An address at which nothing is ever mapped; emulation has no end address.
const NOWHERE: u64 = 0xffff_ffff_ffff_f000;

/// What changes while the program runs.
pub(crate) struct Run<'o> {
    pub(crate) cpu: &'static Cpu,
    pub(crate) space: AddressSpace,
    budget: u64,
    observer: &'o mut dyn Observer,
    /// Whether the observer wants to know of stores.
    reports_stores: bool,
    pub(crate) witness: Witness,
    /// Where the machine's own code lies.
    places: Places,
    /// Calls that are bound when they are first made.
    slots: lazy::Slots,
    effects: EffectCache,
    pub(crate) trail: Trail,
    pub(crate) signals: Signals,
    /// The key with which the last instruction has signed the link register.
    pub(crate) signing: Option<AuthenticationKey>,
    /// What the emulator is being stopped for.
    pub(crate) pause: Option<Pause>,
    pub(crate) instructions: u64,
    /// The instruction that has started last.
    pub(crate) last_pc: u64,
    last_size: u32,
    pub(crate) output: Vec<u8>,
    end: Option<End>,
}

/// Installs memory and hooks. The hooks come first of all that runs: a hook
/// that is added after code was translated misses that code.
fn set_up<'a>(run: &'a RefCell<Run<'_>>, cpu: &'static Cpu) -> Result<Unicorn<'a, ()>, uc_error> {
    let mut unicorn = Unicorn::new(cpu.arch, cpu.mode)?;
    // Where there is no room for what it translates, the emulator would end the
    // process, with the status of a finding.
    drop(MmapMut::map_anon(TRANSLATION_BUFFER).map_err(|_| uc_error::NOMEM)?);
    if let Some(model) = cpu.model {
        unicorn.ctl_set_cpu_model(model)?;
    }
    run.borrow().space.install(&mut unicorn)?;
    if run.borrow().space.regions().any(|region| region.end > 1 << cpu.physical_bits) {
        // Addresses are physical ones, unless somebody says otherwise.
        unicorn.ctl_set_tlb_type(TlbType::VIRTUAL)?;
        unicorn.add_tlb_hook(1, 0, |_, address, _| Some(TlbEntry { paddr: address, perms: Prot::ALL }))?;
    }
    unicorn.add_code_hook(1, 0, move |unicorn, pc, size| {
        hook(run, unicorn, |run, unicorn| run.instruction(unicorn, pc, size));
    })?;
    if run.borrow().reports_stores {
        unicorn.add_mem_hook(HookType::MEM_WRITE, 1, 0, move |unicorn, _, address, len, _| {
            hook(run, unicorn, |run, _| run.stored(address, len as u64));
            true
        })?;
    }
    unicorn.add_mem_hook(HookType::MEM_INVALID, 1, 0, move |unicorn, access, address, _, _| {
        hook(run, unicorn, |run, _| run.fault(access, address));
        false
    })?;
    unicorn.add_insn_invalid_hook(move |unicorn| {
        hook(run, unicorn, |run, _| run.exception(None));
        false
    })?;
    if cpu.arch == unicorn_engine::Arch::X86 {
        unicorn.add_insn_sys_hook(X86Insn::SYSCALL, 1, 0, move |unicorn| {
            hook(run, unicorn, |run, unicorn| run.system_call(unicorn));
        })?;
    }
    unicorn.add_intr_hook(move |unicorn, number| {
        // On aarch64 and s390x, exception 2 is the supervisor call.
        let is_call = cpu.arch != unicorn_engine::Arch::X86 && number == 2;
        hook(
            run,
            unicorn,
            |run, unicorn| {
                if is_call { run.system_call(unicorn) } else { run.exception(Some(number)) }
            },
        );
    })?;
    Ok(unicorn)
}

/// Runs a hook's work. Panics must not leave it, since the emulator's frames
/// lie between here and anybody who could catch them.
fn hook(
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

/// The instructions behind the last transfer of control, as far back as values
/// are traced.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    pcs: [u64; Self::LIMIT],
    len: usize,
}

impl Trail {
    const LIMIT: usize = 16;

    fn push(&mut self, pc: u64) {
        self.pcs[self.len % Self::LIMIT] = pc;
        self.len += 1;
    }

    fn newest_first(&self) -> impl Iterator<Item = u64> {
        let oldest = self.len.saturating_sub(Self::LIMIT);
        (oldest..self.len).rev().map(|index| self.pcs[index % Self::LIMIT])
    }
}

impl<'o> Run<'o> {
    fn new(machine: Machine, observer: &'o mut dyn Observer) -> Self {
        Self {
            cpu: machine.cpu,
            space: machine.space,
            budget: machine.budget,
            reports_stores: observer.wants_stores(),
            observer,
            witness: Witness::new(machine.cpu, machine.stack, machine.sp, machine.witness_faults),
            places: machine.plan.places,
            slots: machine.plan.slots,
            effects: EffectCache::default(),
            trail: Trail::default(),
            signals: Signals::default(),
            signing: None,
            pause: None,
            instructions: 0,
            last_pc: machine.entry,
            last_size: 0,
            output: Vec::new(),
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
        if self.instructions >= self.budget {
            return self.end(End::Broken(Broken::Budget(self.budget)));
        }
        let time = self.instructions;
        self.instructions += 1;
        (self.last_pc, self.last_size) = (pc, size);
        let (Ok(sp), Ok(fp)) = (unicorn.reg_read(self.cpu.sp), unicorn.reg_read(self.cpu.fp)) else {
            return self.end(End::Broken(Broken::Unicorn("registers can't be read".into())));
        };
        if self.places.is_resolver(pc) {
            match self.slots.bind(self.cpu, &self.space, unicorn, sp, self.places) {
                Ok(slot) => {
                    self.witness.bound();
                    self.stored(slot, 8);
                }
                Err(error) => return self.end(End::Broken(Broken::Linking(error))),
            }
        }
        if self.witness.was_call() {
            let return_address = match self.cpu.link {
                Link::Stack => self.space.read_u64(sp),
                Link::Register(link) => unicorn.reg_read(link).ok(),
            };
            let Some(return_address) = return_address else {
                let error = "a call left no return address".into();
                return self.end(End::Broken(Broken::Harness(error)));
            };
            self.witness.enter(pc, return_address, self.callee(pc, return_address));
            if self.witness.size() > DEPTH_LIMIT {
                return self.end(End::Broken(Broken::Depth(DEPTH_LIMIT)));
            }
        }
        if let (Some(key), Link::Register(link)) = (self.signing.take(), self.cpu.link)
            && let Ok(signed) = unicorn.reg_read(link)
        {
            self.witness.sign(Signature { key, signed });
        }
        let effect = self.effects.get(self.cpu, &self.space, pc);
        self.signing = effect.signs;
        let movement = self.movement(effect.stack_pointer);
        if effect.control == Control::Other {
            self.trail.push(pc);
        } else {
            self.trail.len = 0;
        }
        let action = Action {
            control: effect.control,
            movement,
            fall_through: effect.is_conditional.then(|| pc.wrapping_add(size.into())),
        };
        let (cpu, space) = (self.cpu, &self.space);
        self.witness.follow(Place { pc, sp, fp }, time, action, || branch(cpu, space, unicorn, pc, sp));
        if self.signals_wait() {
            self.deliver_pending();
            return;
        }
        let read_register = |register: i32| unicorn.reg_read(register).ok();
        let moment = Moment {
            time,
            pc,
            sp,
            fp,
            call_stack: self.witness.call_stack(),
            memory: &self.space,
            cpu: self.cpu,
            read_register: &read_register,
        };
        let flow = self.observer.instruction(&moment);
        self.witness.seen();
        if effect.stores_unreported && self.reports_stores {
            self.store_unreported(pc, &read_register);
        }
        match flow {
            Flow::Stop => self.end(End::Stopped),
            Flow::Signal(signal) => {
                self.raise(signal.into());
                self.deliver_pending();
            }
            Flow::Continue if effect.is_privileged => {
                self.end(End::Broken(Broken::Privileged { pc, code: self.code_at(pc) }));
            }
            Flow::Continue if effect.control == Control::SelfJump => self.end(End::SelfJump(pc)),
            Flow::Continue => {}
        }
    }

    /// What a callee does first with its return address.
    fn callee(&self, pc: u64, return_address: u64) -> Callee {
        let look = |code: &[u8]| {
            if pc == return_address {
                return if (self.cpu.fetches_pc)(code) { Callee::PcFetch } else { Callee::Function };
            }
            if self.skips_speculation_trap(return_address, pc) {
                return Callee::SpeculationTrap;
            }
            if self.is_inline_retpoline(pc, code, return_address) {
                return Callee::InlineRetpoline;
            }
            Callee::Function
        };
        with_code(self.cpu, &self.space, pc, look)
    }

    /// Whether what begins at `pc` is a retpoline that ends right before the call
    /// which has led there.
    fn is_inline_retpoline(&self, pc: u64, code: &[u8], return_address: u64) -> bool {
        let Some((len, distance)) = (self.cpu.direct_call)(code) else { return false };
        let trap = pc.wrapping_add(len);
        let jump = trap.wrapping_add_signed(distance);
        let jump_len = with_code(self.cpu, &self.space, jump, |code| (self.cpu.retpoline_jump)(code));
        let is_before_call = |jump_len: u64| {
            let call = jump.wrapping_add(jump_len);
            let ends = with_code(self.cpu, &self.space, call, |code| (self.cpu.direct_call)(code));
            ends.is_some_and(|(len, distance)| {
                let after = call.wrapping_add(len);
                after == return_address && after.wrapping_add_signed(distance) == pc
            })
        };
        self.skips_speculation_trap(trap, jump) && jump_len.is_some_and(is_before_call)
    }

    fn skips_speculation_trap(&self, return_address: u64, callee: u64) -> bool {
        let mut buffer = [0; LONGEST_RETPOLINE];
        let len = usize::try_from(callee.wrapping_sub(return_address)).unwrap_or(usize::MAX);
        let Some(between) = buffer.get_mut(..len) else { return false };
        self.space.read(return_address, between)
            && with_code(self.cpu, &self.space, callee, |code| {
                (self.cpu.skips_speculation_trap)(between, code)
            })
    }

    /// Where the new value of SP comes from: through other registers, as far
    /// as the trail shows.
    fn movement(&self, stack_pointer: StackPointer) -> Movement {
        let mut register = match stack_pointer {
            StackPointer::Relative => return Movement::Relative,
            StackPointer::Frame => return Movement::Frame,
            StackPointer::Loaded => return Movement::Foreign,
            StackPointer::Copied(register) => register,
        };
        for pc in self.trail.newest_first() {
            match with_code(self.cpu, &self.space, pc, |code| (self.cpu.source)(code, register)) {
                Source::Itself => {}
                Source::Stack => return Movement::Relative,
                Source::Register(other) => register = other,
                Source::Elsewhere => break,
            }
        }
        Movement::Foreign
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
        let bytes = if self.cpu.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        self.store(address, &bytes)
    }

    pub(crate) fn store_u32(&mut self, address: u64, value: u32) -> bool {
        let bytes = if self.cpu.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        self.store(address, &bytes)
    }

    /// Reports a store. Each change of the program's memory has to come here.
    pub(crate) fn stored(&mut self, address: u64, len: u64) {
        if self.reports_stores {
            self.observer.store(address, len);
        }
    }

    /// Reports the stores of the instruction at `pc` that Unicorn will not report.
    fn store_unreported(&mut self, pc: u64, register: &dyn Fn(i32) -> Option<u64>) {
        let decode = |pc| with_code(self.cpu, &self.space, pc, |code| (self.cpu.unreported)(code));
        let unreported = match decode(pc) {
            Unreported::Target(offset) => decode(pc.wrapping_add_signed(offset)),
            other => other,
        };
        match unreported {
            Unreported::Nothing => {}
            Unreported::Bytes { base, alignment, displacement, len } => {
                let base = base.and_then(register).unwrap_or_default();
                self.stored((base - base % alignment).wrapping_add(displacement), len);
            }
            // The target of an `exrl` is none itself.
            Unreported::Anything | Unreported::Target(_) => self.stored(0, u64::MAX),
        }
    }

    fn fault(&mut self, access: MemType, address: u64) {
        let access = match access {
            MemType::WRITE | MemType::WRITE_UNMAPPED | MemType::WRITE_PROT => "write",
            MemType::FETCH | MemType::FETCH_UNMAPPED | MemType::FETCH_PROT => "fetch",
            _ => "read",
        };
        let pc = self.last_pc;
        self.end(End::Broken(Broken::Fault { access, address, pc }));
    }

    fn exception(&mut self, number: Option<u32>) {
        let pc = self.last_pc;
        let code = self.code_at(pc);
        self.end(End::Broken(Broken::Exception { number, pc, code }));
    }

    /// The bytes of the last instruction. Where the emulator can't decode it,
    /// as many as the longest one has.
    fn code_at(&self, pc: u64) -> Vec<u8> {
        let known = usize::try_from(self.last_size).unwrap_or(0);
        let len = if (1..=self.cpu.longest).contains(&known) { known } else { self.cpu.longest };
        let mut code = vec![0; len];
        while !code.is_empty() && !self.space.read(pc, &mut code) {
            code.pop();
        }
        code
    }
}

/// Where an indirect branch leads, as far as its code tells.
fn branch(cpu: &Cpu, space: &AddressSpace, unicorn: &Unicorn<'_, ()>, pc: u64, sp: u64) -> Option<Branch> {
    let look = |pc| {
        with_code(cpu, space, pc, |code| Some(((cpu.branch_target)(code)?, !(cpu.is_conditional)(code))))
    };
    let (target, is_certain) = match look(pc)? {
        (BranchTarget::Instruction(distance), _) => look(pc.wrapping_add_signed(distance))?,
        found => found,
    };
    let to = match target {
        BranchTarget::Register(register) => unicorn.reg_read(register).ok()?,
        BranchTarget::Stack => space.read_u64(sp)?,
        BranchTarget::Instruction(_) => return None,
    };
    // Without the authentication code that `retaa` expects.
    Some(Branch { to: to & (u64::MAX >> (64 - cpu.address_bits)), is_certain })
}
