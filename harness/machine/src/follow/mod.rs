//! Follows the calls of a program instruction by instruction, whatever executes it: an emulator, or the host's own
//! processor.

mod trail;

use std::sync::Arc;

use crate::address_space::Memory;
use crate::answers::{Answer, Answers, Event, Question};
use crate::call_stack::{Record, Signature};
use crate::cpu::{AuthenticationKey, BranchTarget, Control, Cpu, Effect, Link, Source, StackPointer};
use crate::effect_cache::{EffectCache, skips_trap, with_code};
use crate::outcome::Broken;
use crate::witness::{Action, Branch, Callee, Movement, Place, Witness};
pub(crate) use trail::Trail;

/// No program has more calls that have not returned, in all its contexts. At 16 bytes each, a
/// main thread's stack on Linux (8 MiB) has room for half of them.
const DEPTH_LIMIT: usize = 1 << 20;

/// What a program has where it is stopped.
pub(crate) trait Processor {
    /// Its memory.
    type Memory: Memory + ?Sized;

    /// Returns the value of a register, by its number in [`Cpu`].
    fn register(&self, register: i32) -> Option<u64>;

    /// Returns the memory.
    fn memory(&self) -> &Self::Memory;
}

/// Follows the calls of one thread at a time.
#[derive(Debug)]
pub(crate) struct Follower {
    pub(crate) cpu: &'static Cpu,
    /// The calls of the current thread.
    pub(crate) witness: Witness,
    /// Its last instructions.
    pub(crate) trail: Trail,
    /// The key with which its last instruction has signed the link register.
    pub(crate) signing: Option<AuthenticationKey>,
    pub(crate) effects: EffectCache,
    /// What an earlier run has shown of the calls.
    pub(crate) answers: Arc<Answers>,
    /// The number of instructions and signals that were followed: it is never put back.
    pub(crate) event: Event,
}

impl Follower {
    /// Follows a program from its first instruction on.
    pub(crate) fn new(cpu: &'static Cpu, witness: Witness, answers: Arc<Answers>) -> Self {
        Self {
            cpu,
            witness: witness.knowing(Arc::clone(&answers)),
            trail: Trail::default(),
            signing: None,
            effects: EffectCache::default(),
            answers,
            event: 0,
        }
    }

    /// Begins to follow an instruction, or a signal.
    #[inline]
    pub(crate) const fn begin_event(&mut self) {
        self.event += 1;
        self.witness.begin_event(self.event);
    }

    /// Follows the next instruction, before it executes. `len` is its length in bytes, if that matters. Returns what it will
    /// do.
    ///
    /// # Errors
    /// The calls can't be followed any further.
    #[inline(always)]
    pub(crate) fn follow(
        &mut self,
        processor: &impl Processor,
        at: Place,
        time: u64,
        len: impl FnOnce() -> u64,
    ) -> Result<Effect, Broken> {
        let Place { pc, sp, .. } = at;
        self.begin_event();
        self.enter_callee(processor, pc, sp)?;
        if let (Some(key), Link::Register(link)) = (self.signing.take(), self.cpu.link)
            && let Some(signed) = processor.register(link)
        {
            self.witness.sign(Signature { key, signed });
        }
        let effect = self.effects.get(self.cpu, processor.memory(), pc);
        self.signing = effect.signs;
        let movement = self.movement(effect.stack_pointer, processor.memory());
        if matches!(effect.control, Control::Other | Control::Link) {
            self.trail.push(pc);
        } else {
            self.trail.clear();
        }
        let action = Action {
            control: effect.control,
            movement,
            fall_through: (effect.is_conditional || effect.control == Control::Link)
                .then(|| pc.wrapping_add(len())),
        };
        let cpu = self.cpu;
        self.witness.follow(at, time, action, || branch(cpu, processor, pc, sp));
        if self.witness.has_begun() {
            self.note_beginning(processor, at, time);
        }
        if self.answers.are_calls(pc) && !self.witness.call_stack().has_called() {
            self.enter_by_branch(processor, at);
        }
        Ok(effect)
    }

    /// Follows a call to its callee, if the last instruction was one.
    ///
    /// # Errors
    /// The calls can't be followed any further.
    #[inline]
    pub(crate) fn enter_callee(
        &mut self,
        processor: &impl Processor,
        pc: u64,
        sp: u64,
    ) -> Result<(), Broken> {
        if self.witness.was_call() { self.enter(processor, pc, sp) } else { Ok(()) }
    }

    fn enter(&mut self, processor: &impl Processor, pc: u64, sp: u64) -> Result<(), Broken> {
        let return_address = self
            .return_address(processor, sp)
            .ok_or_else(|| Broken::Harness("a call left no return address".into()))?;
        self.witness.enter(pc, return_address, callee(self.cpu, processor.memory(), pc, return_address));
        if self.witness.size() > DEPTH_LIMIT {
            return Err(Broken::Depth(DEPTH_LIMIT));
        }
        Ok(())
    }

    /// Returns the return address where calls leave it.
    fn return_address(&self, processor: &impl Processor, sp: u64) -> Option<u64> {
        match self.cpu.link {
            Link::Stack => processor.memory().read_u64(sp),
            Link::Register(link) => processor.register(link),
        }
    }

    /// Follows the last instruction to the callee that it has called by a branch, if an earlier run has shown that.
    #[cold]
    fn enter_by_branch(&mut self, processor: &impl Processor, at: Place) {
        let linked = self.witness.call_stack().linked();
        let Some(return_address) = linked.or_else(|| self.return_address(processor, at.sp)) else { return };
        let question = Question::Branch { return_address, callee: at.pc };
        if let Some(Answer::Otherwise { lag }) = self.answers.get(self.event, question) {
            self.witness.called_by_branch(return_address, lag, at);
        }
    }

    /// Notes what the first function of a context finds for its return address.
    #[cold]
    fn note_beginning(&mut self, processor: &impl Processor, at: Place, time: u64) {
        let Place { pc, sp, fp } = at;
        let return_address = self.return_address(processor, sp);
        let caller_sp = sp.wrapping_add(self.cpu.abi.pushed_by_calls());
        self.witness.begin(return_address.map(|return_address| Record {
            return_address,
            cfa: caller_sp.wrapping_add(self.cpu.cfa_above_sp),
            caller_sp,
            caller_fp: fp,
            callee: pc,
            since: time.saturating_sub(1),
            event: self.event,
            interrupted: false,
            signature: None,
        }));
    }

    /// Returns where the new value of SP comes from.
    #[inline]
    fn movement(&self, stack_pointer: StackPointer, memory: &(impl Memory + ?Sized)) -> Movement {
        match stack_pointer {
            StackPointer::Relative => Movement::Relative,
            StackPointer::Frame => Movement::Frame,
            StackPointer::Loaded => Movement::Foreign,
            StackPointer::Copied(register) => self.origin(register, memory),
        }
    }

    /// Returns where the value of a register comes from, traced through other registers as far as
    /// the trail shows.
    #[inline(never)]
    fn origin(&self, mut register: u8, memory: &(impl Memory + ?Sized)) -> Movement {
        for pc in self.trail.newest_first() {
            match with_code(self.cpu, memory, pc, |code| (self.cpu.source)(code, register)) {
                Source::Itself => {}
                Source::Stack => return Movement::Relative,
                Source::Register(other) => register = other,
                Source::Elsewhere => break,
            }
        }
        Movement::Foreign
    }
}

/// What a callee first does with its return address.
fn callee(cpu: &Cpu, memory: &(impl Memory + ?Sized), pc: u64, return_address: u64) -> Callee {
    let look = |code: &[u8]| {
        if pc == return_address {
            return if fetches_pc(cpu, memory, pc, code) { Callee::PcFetch } else { Callee::Function };
        }
        if skips_trap(cpu, memory, return_address, pc) {
            return Callee::SpeculationTrap;
        }
        if is_inline_retpoline(cpu, memory, pc, code, return_address) {
            return Callee::InlineRetpoline;
        }
        Callee::Function
    };
    with_code(cpu, memory, pc, look)
}

/// Returns whether the code at `pc`, or what that executes in its place, uses the return
/// address of the call before it.
fn fetches_pc(cpu: &Cpu, memory: &(impl Memory + ?Sized), pc: u64, code: &[u8]) -> bool {
    let fetches = cpu.fetches_pc;
    match (cpu.branch_target)(code) {
        Some(BranchTarget::Instruction(distance)) => {
            with_code(cpu, memory, pc.wrapping_add_signed(distance), fetches)
        }
        _ => fetches(code),
    }
}

/// Returns whether the code at `pc` is a retpoline that ends right before the call that has
/// led there.
fn is_inline_retpoline(
    cpu: &Cpu,
    memory: &(impl Memory + ?Sized),
    pc: u64,
    code: &[u8],
    return_address: u64,
) -> bool {
    let Some((len, distance)) = (cpu.direct_call)(code) else { return false };
    let trap = pc.wrapping_add(len);
    let jump = trap.wrapping_add_signed(distance);
    let jump_len = with_code(cpu, memory, jump, |code| (cpu.retpoline_jump)(code));
    let is_before_call = |jump_len: u64| {
        let call = jump.wrapping_add(jump_len);
        let ends = with_code(cpu, memory, call, |code| (cpu.direct_call)(code));
        ends.is_some_and(|(len, distance)| {
            let after = call.wrapping_add(len);
            after == return_address && after.wrapping_add_signed(distance) == pc
        })
    };
    skips_trap(cpu, memory, trap, jump) && jump_len.is_some_and(is_before_call)
}

/// Returns where an indirect branch leads, as far as its code shows.
fn branch(cpu: &Cpu, processor: &impl Processor, pc: u64, sp: u64) -> Option<Branch> {
    let memory = processor.memory();
    let look = |pc| {
        with_code(cpu, memory, pc, |code| Some(((cpu.branch_target)(code)?, !(cpu.is_conditional)(code))))
    };
    let (target, is_certain) = match look(pc)? {
        (BranchTarget::Instruction(distance), _) => look(pc.wrapping_add_signed(distance))?,
        found => found,
    };
    let to = match target {
        BranchTarget::Register(register) => processor.register(register)?,
        BranchTarget::Stack => memory.read_u64(sp)?,
        BranchTarget::Instruction(_) => return None,
    };
    // Without the authentication code that `retaa` expects.
    Some(Branch { to: to & (u64::MAX >> (64 - cpu.address_bits)), is_certain })
}
