//! The call-stack witness: the calls and returns that really happened.
//!
//! It sees the PC, SP and FP of each instruction before it executes, and what
//! the previous instruction could do to control and to SP. It knows nothing about
//! symbols, debug information or unwind tables, so its call stack can judge them.
//!
//! - A call puts a record on the call stack, unless it can't return:
//!   it leads to its own return address and the instruction there is not the
//!   first of a function, which is how the PC is fetched; or it skips a speculation
//!   trap and its first instruction replaces the return address, as in retpolines.
//! - An indirect branch to a record's return address, with SP as it was at the
//!   call, is the return. ABIs return by more than one instruction, and also
//!   conditionally: a return that is not taken moves nothing, nor does an
//!   instruction that first executes another one. Where calls leave SP
//!   alone, a return instruction to that address is the return whatever SP is:
//!   outlined prologues and epilogues have moved it. Where calls push their return
//!   address, a callee that has popped it and goes there with SP lower than at the
//!   call has done the same.
//! - SP beyond its value at the call ends the call as well: `longjmp`, unwinding
//!   and callees that drop their return address discard frames like that.
//!   SP has to be strictly beyond, since a callee that has popped its return
//!   address is still running; so is one that is about to return to it.
//! - An indirect branch that follows such a loss, or for which SP was loaded
//!   from a saved context, arrives in a frame that was on the call stack before:
//!   the call that was made from it with the same SP has ended too. The place of
//!   each frame's last call identifies the frame, since tail calls lead to
//!   functions that were never called. If several frames have the same SP, the
//!   function decides. `setjmp` is a call that returns twice: if control arrives at
//!   a return address, with the SP of a call that returned there, the frame is
//!   the one that the call returned to, in whatever part of its function the last
//!   call was made.
//! - SP that comes from memory, or from a register that was not computed from SP
//!   or FP, may point to another stack. If frames were left there before, they
//!   are the call stack again. In fresh memory the next transfer of control shows
//!   what it means: a call is made by the same frame, whose SP has moved; an
//!   indirect branch begins a new context.
//!
//! Limits: a new stack that lies within a frame of the current one, as a local
//! array does, can't be distinguished from the frame itself by SP alone. Nor can
//! a new context on a stack that an abandoned one has left with the same SP. A
//! function that was only ever jumped to is taken for the one before it in
//! memory.

mod arrival;
mod known_code;
mod stacks;

use std::ops::Range;
use std::sync::Arc;

use crate::answers::{Answers, Event, Question};
use crate::call_stack::{Bottom, CallStack, Exit, Record, Signature};
use crate::control_flow::ControlFlow;
use crate::cpu::{AuthenticationKey, Control, Cpu, Link};
use known_code::{Callees, Frame, Frameless, Memory, Returned, Stubs};
use stacks::{Context, Stack, Switched, Unsettled};

/// Where the value that an instruction puts into SP comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Movement {
    /// From SP.
    Relative,
    /// From FP, or from memory that SP or FP points to.
    Frame,
    /// From elsewhere.
    Foreign,
}

/// Faults that can be injected into the witness, to test that the suite notices.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WitnessFaults {
    /// Treats an indirect branch out of a frame as its return.
    pub misses_tail_calls: bool,
    /// Keeps the frames that `longjmp` and unwinding discard.
    pub misses_nonlocal_exits: bool,
    /// Treats each stack as the first one.
    pub misses_stack_switches: bool,
    /// Treats a fetch of the PC as a call.
    pub misses_pc_fetches: bool,
    /// Treats the calls over speculation traps as calls of functions.
    pub misses_speculation_traps: bool,
    /// Treats code that leaves for a landing pad as the callee of the frame there.
    pub misses_landings: bool,
    /// Forgets where calls have returned to.
    pub misses_second_returns: bool,
    /// Treats conditional branches as taken.
    pub misses_conditions: bool,
    /// Requires SP to be as it was at the call for each return.
    pub misses_outlined_frames: bool,
    /// Treats signal handlers as callees of the function that they interrupt.
    pub misses_signal_frames: bool,
}

/// Where the program executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) pc: u64,
    pub(crate) sp: u64,
    pub(crate) fp: u64,
}

/// How a signal was delivered.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) interrupted: Place,
    /// What the handler returns to.
    pub(crate) restorer: u64,
    /// The handler's first instruction.
    pub(crate) handler: Place,
    /// The alternate stack, if SP has gone there.
    pub(crate) alternate: Option<Range<u64>>,
    /// The time of the last instruction that was observed: other tasks may have run since.
    pub(crate) observed: u64,
}

/// What an instruction can do to the call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) control: Control,
    pub(crate) movement: Movement,
    /// The next instruction, if a transfer of control depends on a condition, or leaves its address.
    pub(crate) fall_through: Option<u64>,
}

impl Action {
    /// The effect of an instruction without effects that matter.
    pub(crate) const NOTHING: Self =
        Self { control: Control::Other, movement: Movement::Relative, fall_through: None };

    /// The effect of a system call that loads all registers.
    const LOADED: Self = Self { control: Control::Indirect, movement: Movement::Foreign, fall_through: None };
}

/// Where an indirect branch is about to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    pub(crate) to: u64,
    /// Whether it is unconditional.
    pub(crate) is_certain: bool,
}

/// What a call leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// A function.
    Function,
    /// The next instruction, which uses its return address as the PC.
    PcFetch,
    /// Code past a speculation trap that replaces its return address.
    SpeculationTrap,
    /// A retpoline in the calling function itself, which jumps to the function that the call is
    /// for.
    InlineRetpoline,
}

/// The instruction that executed last.
#[derive(Clone, Copy, Debug)]
struct Previous {
    action: Action,
    time: u64,
    pc: u64,
    sp: u64,
    fp: u64,
}

impl Previous {
    /// An instruction without effects that matter.
    const fn nothing(time: u64, pc: u64, sp: u64, fp: u64) -> Self {
        Self { action: Action::NOTHING, time, pc, sp, fp }
    }
}

/// Follows the program and keeps its [`CallStack`]. All of its state is here, and is copied with it: what a fork or a
/// signal takes back.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    cfa_above_sp: u64,
    /// Whether calls leave their return address at SP.
    links_on_stack: bool,
    /// Whether a branch by any register may be a return.
    returns_by_any_branch: bool,
    /// The process's first stack.
    main_stack: Range<u64>,
    faults: WitnessFaults,
    previous: Previous,
    current: Context,
    /// Contexts that may continue later.
    parked: Vec<Context>,
    /// SP in fresh memory, until it is known what that means.
    unsettled: Option<Unsettled>,
    /// SP when it was last loaded, or when frames were discarded, since the last indirect
    /// branch.
    restored: Option<u64>,
    /// The outermost call that SP has left since then.
    left: Option<Record>,
    /// Where the context was left that SP has gone to since then.
    resumed: Option<u64>,
    /// When the call was made whose return address SP has been above, where calls leave it on the stack.
    popped: Option<u64>,
    /// SP with which that context was entered, if SP has this value again: it may have ended, and
    /// another one begins in its place.
    entered: Option<u64>,
    /// The number of records and contexts that are parked.
    parked_size: usize,
    /// First instructions of all callees so far, and of functions that were never called.
    callees: Callees,
    /// Where calls have returned to.
    returned: Returned,
    /// The frames that calls have returned to last, by SP.
    levels: Memory<u64, Frame>,
    frameless: Frameless,
    stubs: Stubs,
    /// The return address of the last instruction, if that was a call that fetches the PC.
    fetched: Option<u64>,
    /// The return address of the last instruction, if that was a call that skips a speculation trap.
    skipped: Option<u64>,
    /// Whether the next instruction is the first of the run.
    starts: bool,
    /// Whether a function has begun a context, which is not noted yet.
    begins: bool,
    /// What an earlier run has shown.
    answers: Arc<Answers>,
    /// The number of what is followed, and its PC.
    now: (Event, u64),
    /// Whether SP has moved past frames by arithmetic, and the next branch may lead out of them.
    has_moved: bool,
    /// The stack that SP was loaded for, while control has gone nowhere from there.
    switched: Option<Switched>,
    /// Where SP had gone when a signal came, by the number of calls then.
    interrupted: Vec<(usize, Unsettled)>,
    /// How many of the calls are known not to end where SP is past them.
    stays: Option<usize>,
    /// The number of contexts so far.
    contexts: u32,
    control_flow: ControlFlow,
}

impl Witness {
    pub(crate) fn new(cpu: &Cpu, main_stack: Range<u64>, sp: u64, faults: WitnessFaults) -> Self {
        Self {
            cfa_above_sp: cpu.cfa_above_sp,
            links_on_stack: cpu.link == Link::Stack,
            returns_by_any_branch: cpu.returns_by_any_branch,
            main_stack,
            faults,
            previous: Previous::nothing(0, 0, sp, 0),
            current: Context {
                call_stack: CallStack::new(Bottom::Entry, Vec::new()),
                stacks: vec![Stack::new(0, sp, sp)],
                left_at: 0,
            },
            parked: Vec::new(),
            unsettled: None,
            restored: None,
            left: None,
            resumed: None,
            entered: None,
            popped: None,
            parked_size: 0,
            callees: Callees::default(),
            returned: Returned::default(),
            levels: Memory::default(),
            frameless: Frameless::default(),
            stubs: Stubs::default(),
            fetched: None,
            skipped: None,
            starts: true,
            begins: false,
            answers: Arc::default(),
            now: (0, 0),
            has_moved: false,
            switched: None,
            interrupted: Vec::new(),
            stays: None,
            contexts: 0,
            control_flow: ControlFlow::default(),
        }
    }

    /// Gives it what an earlier run has shown.
    pub(crate) fn knowing(self, answers: Arc<Answers>) -> Self {
        Self { answers, ..self }
    }

    /// Begins what is followed next.
    #[inline]
    pub(crate) const fn begin_event(&mut self, event: Event) {
        self.now.0 = event;
    }

    /// Notes that a call has been bound.
    pub(crate) const fn bound(&mut self) {
        self.control_flow.lazy_bindings += 1;
    }

    /// The call stack of a context that was not there before.
    fn new_context(&mut self, bottom: Bottom, records: Vec<Record>) -> CallStack {
        self.contexts += 1;
        CallStack::new(bottom, records).in_context(self.contexts)
    }

    /// Forgets all calls: what runs next was not called.
    pub(crate) fn start_again(&mut self, sp: u64, bottom: Bottom) {
        self.previous = Previous::nothing(self.previous.time, self.previous.pc, sp, 0);
        self.current = Context {
            call_stack: self.new_context(bottom, Vec::new()),
            stacks: vec![Stack::new(0, sp, sp)],
            left_at: 0,
        };
        self.parked.clear();
        self.parked_size = 0;
        self.unsettled = None;
        self.restored = None;
        self.left = None;
        self.resumed = None;
        self.entered = None;
        self.popped = None;
        self.stays = None;
        self.switched = None;
        self.interrupted.clear();
        self.returned.clear();
        self.levels.clear();
        self.frameless.clear();
        self.starts = true;
        self.begins = false;
    }

    /// The witness of a new task with its own stack, which knows the functions.
    pub(crate) fn of_task(&self, cpu: &Cpu, stack: Range<u64>, sp: u64) -> Self {
        let mut witness = Self::new(cpu, stack, sp, self.faults).knowing(Arc::clone(&self.answers));
        witness.start_again(sp, Bottom::Context);
        witness.previous.time = self.previous.time;
        witness.callees.clone_from(&self.callees);
        witness
    }

    /// The witness of a new task that continues the calls of its parent.
    pub(crate) fn copy(&self) -> Self {
        Self { control_flow: ControlFlow::default(), ..self.clone() }
    }

    pub(crate) const fn call_stack(&self) -> &CallStack {
        &self.current.call_stack
    }

    /// Returns whether the last instruction has led to the first function of a context: once.
    #[inline]
    pub(crate) const fn has_begun(&mut self) -> bool {
        std::mem::replace(&mut self.begins, false)
    }

    /// Notes how it begins: see [`CallStack::beginning`].
    pub(crate) const fn begin(&mut self, beginning: Option<Record>) {
        self.current.call_stack.begin(beginning);
    }

    /// Notes that the observer has seen the call stack.
    #[inline]
    pub(crate) fn seen(&mut self) {
        self.current.call_stack.seen();
    }

    pub(crate) const fn control_flow(&self) -> &ControlFlow {
        &self.control_flow
    }

    /// Returns whether the last instruction was a call, so that [`Self::enter`] needs its
    /// return address before [`Self::follow`].
    pub(crate) fn was_call(&self) -> bool {
        self.previous.action.control == Control::Call
    }

    /// The number of bytes that a call puts on the stack.
    const fn pushed_by_calls(&self) -> u64 {
        if self.links_on_stack { 8 } else { 0 }
    }

    /// Returns the number of calls and contexts that it remembers.
    pub(crate) fn size(&self) -> usize {
        self.current.size() + self.parked_size
    }

    /// Records the call that the last instruction made. `kind` is what the first instruction of
    /// the callee does with the return address.
    pub(crate) fn enter(&mut self, callee: u64, return_address: u64, kind: Callee) {
        match kind {
            Callee::PcFetch if !self.faults.misses_pc_fetches => {
                self.control_flow.pc_fetches += 1;
                self.fetched = Some(return_address);
                return;
            }
            Callee::SpeculationTrap if !self.faults.misses_speculation_traps => {
                self.control_flow.speculation_traps += 1;
                self.skipped = Some(return_address);
                return;
            }
            _ if !self.faults.misses_pc_fetches
                && self.answers.is_otherwise(self.now.0, Question::Call { return_address, callee }) =>
            {
                self.control_flow.pc_fetches += 1;
                return;
            }
            _ => {}
        }
        self.go_on_elsewhere(self.previous.sp);
        // The frame that SP was loaded for makes the call.
        self.left = None;
        self.restored = None;
        self.resumed = None;
        self.entered = None;
        let Previous { sp, fp, .. } = self.previous;
        self.move_stack(sp);
        self.control_flow.calls += 1;
        if kind != Callee::InlineRetpoline {
            self.callees.insert(callee);
        }
        let caller = Place { pc: return_address, sp, fp };
        self.current.call_stack.settle();
        // The frame makes a call again from which nobody has returned: it was none, or has been left.
        if self.top().is_some_and(|top| Self::returns(top, caller)) {
            self.control_flow.discarded_frames += 1;
            self.current.call_stack.pop();
        }
        if kind == Callee::InlineRetpoline {
            let departed = self.current.call_stack.clone();
            self.push(caller, callee, false);
            self.current.call_stack.unsettle(departed, self.now);
        } else {
            self.push(caller, callee, false);
        }
    }

    /// The last instruction has signed the link register.
    pub(crate) fn sign(&mut self, signature: Signature) {
        *match signature.key {
            AuthenticationKey::A => &mut self.control_flow.signed_with_key_a,
            AuthenticationKey::B => &mut self.control_flow.signed_with_key_b,
        } += 1;
        if let Some(record) = self.current.call_stack.innermost_mut() {
            record.signature = Some(signature);
        }
    }

    /// Puts a record on the call stack. The caller will continue at `caller`.
    fn push(&mut self, caller: Place, callee: u64, interrupted: bool) {
        self.current.call_stack.push(Record {
            return_address: caller.pc,
            cfa: caller.sp.wrapping_add(self.cfa_above_sp),
            caller_sp: caller.sp,
            caller_fp: caller.fp,
            callee,
            since: self.previous.time,
            event: self.now.0,
            interrupted,
            signature: None,
        });
    }

    /// Follows the next instruction, before it executes. Calls that the last one has ended are
    /// removed from the call stack. `branch` is where the last one leads, if it is an indirect
    /// branch and its code shows the target.
    #[inline(always)]
    pub(crate) fn follow(
        &mut self,
        at: Place,
        time: u64,
        action: Action,
        branch: impl Fn() -> Option<Branch>,
    ) {
        let Place { pc, sp, fp } = at;
        self.now.1 = pc;
        if std::mem::take(&mut self.starts) {
            self.callees.insert(pc);
        }
        self.current.call_stack.exit = None;
        self.current.call_stack.has_arrived = false;
        self.current.call_stack.linked = self.fetched.take();
        self.current.call_stack.skipped = self.skipped.take();
        self.follow_jump(at);
        // Most instructions leave both control and SP alone, and so did the one before.
        let is_idle = self.previous.action == Action::NOTHING
            && action == Action::NOTHING
            && sp == self.previous.sp
            && self.top().is_none_or(|top| sp <= top.caller_sp);
        if !is_idle {
            self.follow_moves(at, action, branch);
        }
        if let Some(Exit::Landing { or: Some(frame), .. }) = self.current.call_stack.exit {
            self.land_as_known(pc, frame);
        }
        self.previous = Previous { action, time, pc, sp, fp };
    }

    /// Whether nothing happens to the call stack before the instructions from a place on up to the last one, if they execute
    /// one after the other, with the same SP. What the last one calls, or returns to, is followed after it.
    pub(crate) fn is_idle(&mut self, at: Place, last: u64) -> bool {
        let Some(Record { caller_sp, callee, .. }) = self.top().copied() else { return false };
        let is_free = self.stays.is_none()
            && self.unsettled.is_none()
            && self.switched.is_none()
            && self.left.is_none()
            && self.current.call_stack.is_settled()
            && self.current.call_stack.departed_at.is_none();
        // With the SP of the call, control may be where the callee has returned to.
        is_free
            && (at.sp < caller_sp
                || !self.links_on_stack
                    && at.sp == caller_sp
                    && self.callees.is_in(at.pc, callee)
                    && self.callees.is_in(last, callee))
    }

    /// Follows instructions before which nothing has happened, up to one that has been executed at a time.
    pub(crate) fn pass(&mut self, event: Event, at: Place, time: u64, action: Action) {
        let Place { pc, sp, fp } = at;
        self.now = (event, pc);
        if action != Action::NOTHING {
            self.has_moved = false;
        }
        self.previous = Previous { action, time, pc, sp, fp };
    }

    /// The last instruction was a branch that is known to have called what begins here: it has left this return address.
    #[cold]
    pub(crate) fn called_by_branch(&mut self, return_address: u64, lag: u64, at: Place) {
        let Place { pc, sp, fp } = at;
        let caller = Place { pc: return_address, sp: sp.wrapping_add(self.pushed_by_calls()), fp };
        self.control_flow.calls += 1;
        self.callees.insert(pc);
        self.push(caller, pc, false);
        if let Some(record) = self.current.call_stack.innermost_mut() {
            record.since = self.previous.time.saturating_sub(lag);
        }
    }

    /// Follows the next instruction if it, or the last one, moves control or SP.
    #[inline(never)]
    fn follow_moves(&mut self, at: Place, action: Action, branch: impl Fn() -> Option<Branch>) {
        let Place { pc, sp, .. } = at;
        if self.previous.action.control == Control::Link {
            self.current.call_stack.linked = self.previous.action.fall_through;
        }
        if sp != self.previous.sp && !self.faults.misses_stack_switches {
            self.follow_stack(sp);
            self.take_back(sp);
        }
        if self.links_on_stack
            && let Some(top) = self.top().filter(|top| top.caller_sp == sp)
        {
            self.popped = Some(top.since);
        }
        // An instruction that executes another one is seen twice, and has not led anywhere yet.
        let stays = [self.previous.action.fall_through, Some(self.previous.pc)].contains(&Some(pc));
        let taken = !(self.previous.action.fall_through.is_some() && stays) || self.faults.misses_conditions;
        let arrives = taken && self.previous.action.control.is_indirect();
        if self.unsettled.is_none() {
            let returns = || branch().filter(|_| action.control == Control::Return);
            self.give_up(sp, || if arrives { Some(pc) } else { returns().map(|branch| branch.to) });
        }
        let is_elsewhere = || taken && self.callees.at(pc) != self.callees.at(self.previous.pc);
        if self.switched.is_some() && (arrives || is_elsewhere()) {
            self.switched = None;
        }
        if arrives {
            self.arrive(at);
            self.current.call_stack.has_arrived = true;
        }
        self.has_moved = false;
        if self.lands(action, branch) {
            // With the SP of another frame's call, it lands there.
            let is_of_frame =
                |departed: &CallStack| departed.records().iter().any(|call| call.caller_sp == sp);
            let call_stack = &self.current.call_stack;
            self.has_moved = call_stack.is_settled() && !call_stack.departed().is_some_and(is_of_frame);
            self.unsettle_here();
        }
    }

    /// Control has come to the innermost frame, or to another one, with so many calls below: if an earlier run has shown
    /// that it was the other one, the calls between them have ended.
    #[cold]
    fn land_as_known(&mut self, pc: u64, frame: usize) {
        if self.answers.is_otherwise(self.now.0, Question::Landing { at: pc }) {
            let records = self.current.call_stack.records();
            let last = records.get(frame).copied();
            self.control_flow.discarded_frames += records.len().saturating_sub(frame) as u64;
            self.current.call_stack.truncate(frame);
            self.current.call_stack.exit = Some(landing(last, None));
        }
    }

    /// Follows a jump to a place that the instruction names, if it has led to the code that has called, with
    /// SP as a callee leaves it: the callee may have ended, and may as well continue in a function that was
    /// never called. With SP from a saved context, it lands in the frame that SP was loaded for, if that is
    /// another function's.
    #[inline]
    fn follow_jump(&mut self, at: Place) {
        let Place { pc, sp, .. } = at;
        if self.restored == Some(sp) && !self.current.call_stack.is_settled() {
            return self.follow_landing(at);
        }
        let Some(top) = self.top().filter(|top| top.caller_sp == sp) else { return };
        let (callee, control) = (top.callee, self.previous.action.control);
        // Also out of a function that the callee has called, and that SP has left as well.
        if control == Control::Other
            && !self.callees.is_in(pc, callee)
            && (self.left.is_some() || self.callees.is_in(self.previous.pc, callee))
        {
            self.leave_callee(pc);
        }
    }

    /// Follows an instruction after one that has loaded SP from a saved context.
    #[cold]
    fn follow_landing(&mut self, at: Place) {
        let is_direct = self.previous.action.control == Control::Other && !self.faults.misses_landings;
        let here = self.callees.at(at.pc).filter(|here| Some(*here) != self.callees.at(self.previous.pc));
        let Some(here) = here.filter(|_| is_direct) else { return };
        // Not to a helper that ends the frame: to code that has made one of the calls, with this SP or past it.
        let records = self.current.call_stack.records().iter().filter(|call| call.caller_sp == at.sp);
        if self.left.iter().chain(records).any(|call| self.calls_from(call, here)) {
            self.arrive(at);
        }
    }

    /// Follows a jump out of what is known as the innermost call's callee.
    fn leave_callee(&mut self, pc: u64) {
        let leads_back = self.top().is_some_and(|top| self.is_callers(pc, top));
        if leads_back && self.unsettled.is_none() && self.current.call_stack.is_settled() {
            self.left = None;
            self.may_have_ended();
        }
    }

    /// Notes that the innermost call may have ended, although nothing says so yet.
    fn may_have_ended(&mut self) {
        let frame = self.current.call_stack.records().len() - 1;
        self.current.call_stack.exit = Some(landing(None, Some(frame)));
    }

    /// Takes frames back that SP has been above, if it is below them again before control has gone anywhere.
    /// They may as well have ended.
    fn take_back(&mut self, sp: u64) {
        let pushed = self.pushed_by_calls();
        let call_stack = &mut self.current.call_stack;
        let is_below = |last: &Record| sp.wrapping_add(pushed) <= last.caller_sp;
        let departed_at = call_stack.departed_at;
        if self.unsettled.is_none()
            && call_stack.is_settled()
            && call_stack
                .departed_within()
                .and_then(|departed| departed.records().last())
                .is_some_and(is_below)
            && let Some(departed) = call_stack.settle()
        {
            let left = call_stack.records().len();
            self.control_flow.discarded_frames -= (departed.records().len() - left) as u64;
            call_stack.restored = departed_at;
            call_stack.restore(departed);
            call_stack.exit = Some(landing(None, Some(left)));
            self.left = None;
            self.restored = None;
        }
    }

    /// Returns the innermost record on the current stack, and SP at that call.
    fn top(&self) -> Option<&Record> {
        let first = self.current.stacks.last().map_or(0, |stack| stack.first);
        self.current.call_stack.records().get(first..)?.last()
    }

    /// Ends the calls that SP has moved past. `target` is where control has gone, or is about
    /// to go by a return instruction.
    fn give_up(&mut self, sp: u64, target: impl Fn() -> Option<u64>) {
        if self.faults.misses_nonlocal_exits {
            return;
        }
        if let Some(calls) = self.stays {
            let is_below = |top: &Record| sp.wrapping_add(self.pushed_by_calls()) <= top.caller_sp;
            if self.current.call_stack.records().len() == calls && !self.top().is_some_and(is_below) {
                return;
            }
            self.stays = None;
        }
        let is_foreign = self.previous.action.movement == Movement::Foreign;
        if self.top().is_some_and(|top| sp > top.caller_sp) {
            if !is_foreign && !self.is_loaded_for_another(sp, &target) && self.returns_elsewhere(sp, target())
            {
                return;
            }
            let (event, at) = self.now;
            let before = self.current.call_stack.records().len();
            if !is_foreign && self.answers.is_otherwise(event, Question::Departure { at }) {
                self.stays = Some(before);
                return;
            }
            let departed = self.current.call_stack.clone();
            while let Some(top) = self.top().filter(|top| sp > top.caller_sp) {
                self.left = Some(*top);
                self.current.call_stack.pop();
            }
            let lost = before - self.current.call_stack.records().len();
            self.control_flow.discarded_frames += lost as u64;
            self.restored = Some(sp);
            // The frames have ended, but control has not left them yet.
            if is_foreign {
                self.current.call_stack.unsettle(departed, self.now);
            } else {
                self.current.call_stack.depart(departed, self.now);
            }
        } else if is_foreign {
            self.restored = Some(sp);
            if self.top().is_some_and(|top| sp == top.caller_sp) {
                self.unsettle_here();
            }
        }
    }

    /// Notes that the callers of the topmost frame are not certain any more.
    fn unsettle_here(&mut self) {
        if self.current.call_stack.is_settled() {
            let departed = self.current.call_stack.clone();
            self.current.call_stack.unsettle(departed, self.now);
        }
    }

    /// Notes that a signal is delivered before the instruction that was followed last.
    pub(crate) fn signal(&mut self, delivery: &Delivery) {
        let Delivery { interrupted, restorer, handler, alternate, observed } = delivery;
        if let Some(unsettled) = self.unsettled {
            // It isn't known yet what that means: until the handler has returned, the frame has moved there.
            self.move_stack(interrupted.sp);
            self.current.call_stack.settle();
            self.interrupted.push((self.current.call_stack.records().len(), unsettled));
        }
        self.go_on_elsewhere(interrupted.sp);
        self.control_flow.signals += 1;
        // SP goes below the frames that it was past, and says nothing of them.
        if self.current.call_stack.is_settled() {
            self.current.call_stack.settle();
        }
        // The interrupted instruction has not executed.
        self.previous.time = self.previous.time.saturating_sub(1).min(*observed);
        if !self.faults.misses_signal_frames {
            self.push(*interrupted, *restorer, true);
        }
        if let Some(alternate) = alternate {
            self.control_flow.alternate_stacks += 1;
            self.forget(alternate.clone());
            self.current.leave_stack(interrupted.sp);
            let first = self.current.call_stack.records().len();
            self.current.stacks.push(Stack::new(first, alternate.end, handler.sp));
        }
        // As if the restorer had called the handler: the run counts both.
        self.now.0 += 1;
        let sp = handler.sp.wrapping_add(self.pushed_by_calls());
        self.push(Place { pc: *restorer, sp, fp: handler.fp }, handler.pc, false);
        self.continue_at(handler);
    }

    /// Handles the restorer's request for the state before a signal, where the program now
    /// continues.
    pub(crate) fn signal_return(&mut self, at: &Place) {
        let call_stack = &mut self.current.call_stack;
        let Some(record) = call_stack.records().last().copied().filter(|record| record.interrupted) else {
            // Not from a place where a signal was delivered: the system call only loads
            // registers.
            self.previous.action = Action::LOADED;
            return;
        };
        self.control_flow.signal_returns += 1;
        call_stack.pop();
        let depth = call_stack.records().len();
        while self.current.stacks.len() > 1 && self.current.stacks.last().is_some_and(|s| s.first > depth) {
            self.current.stacks.pop();
        }
        while self.interrupted.last().is_some_and(|(calls, _)| *calls > depth) {
            self.interrupted.pop();
        }
        if let Some((_, unsettled)) = self.interrupted.pop_if(|(calls, _)| *calls == depth) {
            self.current.stacks.pop();
            self.unsettle(unsettled.left, unsettled.entered);
        }
        self.continue_at(at);
        if (record.return_address, record.caller_sp) != (at.pc, at.sp) {
            // The handler has chosen another place.
            self.previous.sp = record.caller_sp;
            self.previous.action = Action::LOADED;
        }
    }

    /// Goes back to an earlier state, in which the instruction that was followed last has not
    /// executed. What was counted stays counted.
    pub(crate) fn rewind(&mut self, to: Self, at: &Place) {
        let control_flow = self.control_flow;
        *self = Self { control_flow, ..to };
        self.previous.time = self.previous.time.saturating_sub(1);
        self.continue_at(at);
    }

    /// Notes that the next instruction does not follow the last one.
    const fn continue_at(&mut self, at: &Place) {
        self.previous = Previous::nothing(self.previous.time, at.pc, at.sp, at.fp);
    }
}

/// A landing in the frame that has made a call, or in the innermost one; it may be in another, with this many
/// calls below.
fn landing(call: Option<Record>, or: Option<usize>) -> Exit {
    Exit::Landing { call: call.map(|call| call.return_address), or }
}

#[cfg(test)]
mod tests;
