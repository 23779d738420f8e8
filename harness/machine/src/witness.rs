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

mod known_code;

use std::ops::Range;
use std::sync::Arc;

use crate::answers::{Answers, Event, Question};
use crate::call_stack::{Bottom, CallStack, Exit, Record, Signature};
use crate::control_flow::ControlFlow;
use crate::cpu::{AuthenticationKey, Control, Cpu, Link};
use known_code::{Callees, FARTHEST_PART, Frame, Frameless, Memory, Returned, Stubs};

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
    const NOTHING: Self = Self { control: Control::Other, movement: Movement::Relative, fall_through: None };

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

/// Memory that holds frames of a call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stack {
    /// The oldest record that was made on it, by position.
    first: usize,
    /// The highest SP seen on it.
    base: u64,
    /// SP when it was entered.
    entered: u64,
    /// SP when it was left; only meaningful if it is not the current one.
    left: u64,
    /// Whether it lies on another one of the context: a function has loaded SP for that, and has gone on.
    is_shared: bool,
}

impl Stack {
    /// A stack that SP has reached with the value `entered`, and whose first
    /// frame begins with `sp`.
    const fn new(first: usize, entered: u64, sp: u64) -> Self {
        let base = if entered > sp { entered } else { sp };
        Self { first, base, entered, left: sp, is_shared: false }
    }

    /// The number of bytes in use when it was left, if `sp` is among them.
    fn holds(&self, sp: u64) -> Option<u64> {
        (self.left <= sp && sp <= self.base).then(|| self.base - self.left)
    }
}

/// SP moves no further within a stack of which nothing else is known, in bytes.
const LARGEST_FRAME: u64 = 1 << 20;

/// A thread of control: its calls and their stacks, oldest first.
#[derive(Clone, Debug)]
struct Context {
    call_stack: CallStack,
    stacks: Vec<Stack>,
    /// The instruction that left it for another context.
    left_at: u64,
}

/// SP has been loaded for a stack on which frames were left, and control has gone nowhere since.
#[derive(Clone, Debug)]
struct Switched {
    /// What was left.
    before: Context,
    /// The context that it has gone to, as it was, if that is another one.
    resumed: Option<Context>,
    /// The context that has been kept of what was left.
    parked: u32,
}

/// SP has gone to fresh memory.
#[derive(Clone, Copy, Debug)]
struct Unsettled {
    /// SP before.
    left: u64,
    /// SP after.
    entered: u64,
}

/// Where SP has gone.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// To a stack of the current context, by position.
    Own(usize),
    /// To a stack of a parked context, by the positions of both.
    Parked(usize, usize),
}

/// Follows the program and keeps its [`CallStack`].
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

    /// A function may load SP for a stack that it does not leave for, and call from there: it goes on, as code with stacks
    /// of its own does that calls C. Nothing has led out of it.
    fn go_on_elsewhere(&mut self, sp: u64) {
        if self.come_back() {
            let first = self.current.call_stack.records().len();
            self.current.stacks.push(Stack { is_shared: true, ..Stack::new(first, sp, sp) });
            self.control_flow.stack_moves += 1;
        }
    }

    /// Takes it back that SP has been loaded for another stack. Returns whether it has been.
    fn come_back(&mut self) -> bool {
        let Some(Switched { before, resumed, parked }) = self.switched.take() else { return false };
        self.parked.retain(|context| context.call_stack.context() != parked);
        self.parked.extend(resumed);
        self.parked_size = self.parked.iter().map(Context::size).sum();
        let departed_at = self.current.call_stack.departed_at;
        self.current = before;
        let call_stack = &mut self.current.call_stack;
        call_stack.settle();
        call_stack.seen();
        call_stack.resumed();
        call_stack.restored = departed_at;
        true
    }

    /// The innermost frame continues on the stack in fresh memory that SP has gone to, if it has.
    fn move_stack(&mut self, sp: u64) {
        if let Some(Unsettled { left, entered }) = self.unsettled.take() {
            self.control_flow.stack_moves += 1;
            let first = self.current.call_stack.records().len();
            self.current.leave_stack(left);
            self.current.stacks.push(Stack::new(first, entered, sp));
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
        // Not to a helper that ends the frame: to code that has made one of the calls.
        let calls = self.left.iter().chain(self.current.call_stack.records());
        if calls.into_iter().any(|call| self.calls_from(call, here)) {
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

    /// Returns whether the next instruction leads from discarded frames, not to where the
    /// innermost call returns to, but into its callee or another frame.
    fn lands(&self, next: Action, branch: impl FnOnce() -> Option<Branch>) -> bool {
        let elsewhere = |to| self.top().is_none_or(|top| top.return_address != to);
        !self.faults.misses_landings
            && self.left.is_some()
            && next.control.is_indirect()
            && branch().is_some_and(|branch| branch.is_certain && elsewhere(branch.to))
    }

    /// Returns whether SP has been loaded as it was at the call of another frame, of the function where control is about to
    /// go: a landing pad may be right after the innermost call.
    fn is_loaded_for_another(&self, sp: u64, target: impl Fn() -> Option<u64>) -> bool {
        let records = self.current.call_stack.records();
        let others = records.split_last().map_or(&[][..], |(_, others)| others);
        let mut of_sp = others.iter().filter(|call| call.caller_sp == sp).peekable();
        self.previous.action.movement != Movement::Relative
            && of_sp.peek().is_some()
            && target()
                .and_then(|target| self.callees.at(target))
                .is_some_and(|here| of_sp.any(|call| self.calls_from(call, here)))
    }

    /// Returns whether the innermost call returns to `target` with a different SP from that at
    /// the call: where calls leave SP alone, the callee may have moved it for its caller.
    fn returns_elsewhere(&self, sp: u64, target: Option<u64>) -> bool {
        let restored = self.restored == Some(sp);
        let returns = |top: &Record| !top.interrupted && Some(top.return_address) == target;
        !self.links_on_stack
            && !restored
            && !self.faults.misses_outlined_frames
            && self.top().is_some_and(returns)
    }

    /// Returns the position of the call further out that ends with control at `pc` and SP as it
    /// was at that call: where calls leave SP alone, functions without a frame may return for
    /// their callers.
    fn returns_further(&self, pc: u64, sp: u64) -> Option<usize> {
        let first = self.current.stacks.last().map_or(0, |stack| stack.first);
        let records = self.current.call_stack.records();
        let same_sp = |depth: &usize| records[*depth].caller_sp == sp;
        let returns = |depth: &usize| !records[*depth].interrupted && records[*depth].return_address == pc;
        (first..records.len()).rev().skip(1).take_while(same_sp).find(returns)
    }

    /// Follows an indirect branch to `pc`.
    fn arrive(&mut self, at: Place) {
        let Place { pc, sp, .. } = at;
        let is_return = self.previous.action.control == Control::Return;
        let moves_sp = is_return && self.returns_elsewhere(sp, Some(pc));
        // A return instruction has taken its target from the stack.
        let popped = if is_return { self.pushed_by_calls() } else { 0 };
        let restored = self
            .restored
            .take()
            .is_some_and(|restored| restored == sp || restored.wrapping_add(popped) == sp);
        let left = self.left.take();
        let resumed = self.resumed.take();
        let from = resumed.unwrap_or(self.previous.pc);
        let entered = self.entered.take();
        // SP has moved past frames by arithmetic, and was not loaded.
        let has_moved = self.has_moved || self.current.call_stack.is_settled();
        let departed_at = self.current.call_stack.departed_at;
        let departed = self.current.call_stack.settle();
        if self.stays.take().is_some()
            && self.top().is_some_and(|top| top.return_address == pc && !top.interrupted)
        {
            self.control_flow.returns += 1;
            return self.return_to(at);
        }
        if self.unsettled.is_some() {
            if self.top().is_some_and(|top| !top.interrupted && top.return_address == pc) {
                // A callee has changed the stack of its caller.
                self.control_flow.returns += 1;
                self.return_to(at);
                return self.move_stack(sp);
            }
            self.control_flow.contexts_begun += 1;
            self.callees.insert(pc);
            self.begin_context(sp);
            self.begins = true;
            return;
        }
        let context = self.current.call_stack.context();
        if let Some(departed) = departed.filter(|departed| has_moved && departed.context() == context)
            && self.returns_beyond(at, &departed)
        {
            self.current.call_stack.restored = departed_at;
            return self.return_beyond(at, departed);
        }
        let Some(top) = self.top().copied() else {
            self.control_flow.computed_returns += u64::from(is_return);
            // The first function of a context has returned.
            if self.current.call_stack.beginning().is_some_and(|beginning| beginning.return_address == pc) {
                self.current.call_stack.begin(None);
            }
            return;
        };
        if Self::returns(&top, at) {
            self.control_flow.returns += 1;
            self.return_to(at);
            return self.note_frameless(pc, sp);
        }
        if self.returns_outlined(&top, at) {
            self.control_flow.outlined_frames += 1;
            return self.return_to(at);
        }
        if !restored && self.returns_keeping(&top, at) {
            return self.may_have_ended();
        }
        if let (Some(entered), Some(left_at)) = (entered, resumed)
            && self.callees.at(pc) != self.callees.at(left_at)
            && !self.is_in_callee(pc)
        {
            // Not one of the functions of the context that was left: it has ended.
            self.control_flow.contexts_begun += 1;
            self.callees.insert(pc);
            self.current.call_stack.truncate(0);
            self.contexts += 1;
            self.current.call_stack.context = self.contexts;
            self.current.stacks = vec![Stack::new(0, entered, sp)];
            self.begins = true;
            return;
        }
        let second = self.returned.get(&(pc, sp));
        if let Some(frame) = second.filter(|frame| restored && self.is_there(*frame)) {
            if self.faults.misses_nonlocal_exits {
                return;
            }
            self.control_flow.nonlocal_exits += 1;
            let lost = self.current.call_stack.records().len() - frame.depth;
            self.control_flow.discarded_frames += lost as u64;
            let call = self.current.call_stack.records().get(frame.depth).copied().or(left);
            self.current.call_stack.truncate(frame.depth);
            self.current.call_stack.exit = Some(landing(call, None));
            return;
        }
        if restored && second.is_some() && self.enter_again(pc, sp) {
            return;
        }
        if moves_sp {
            self.control_flow.outlined_frames += 1;
        } else if let Some(depth) =
            self.returns_further(pc, sp).filter(|_| is_return || restored || self.returns_by_any_branch)
        {
            let lost = self.current.call_stack.records().len() - depth - 1;
            self.control_flow.discarded_frames += lost as u64;
            self.control_flow.returns += 1;
            self.current.call_stack.truncate(depth + 1);
        } else if top.caller_sp == sp
            && (self.links_on_stack
                || (restored && !self.stays(pc, left, resumed, &top))
                || (is_return && self.is_callers(pc, &top)))
        {
            if self.faults.misses_nonlocal_exits {
                return;
            }
            self.control_flow.discarded_frames += 1;
            self.current.call_stack.pop();
            if is_return && self.links_on_stack && !restored {
                // The address that a hook has put in the place of the return address: with SP as it leaves it, control is in
                // no frame further out.
                self.control_flow.nonlocal_exits += 1;
                self.current.call_stack.exit = Some(landing(Some(top), None));
                return;
            }
            return self.land(at, from, Some(top));
        } else if restored {
            return self.land(at, from, left);
        } else {
            self.control_flow.computed_returns += u64::from(is_return);
            let leaves = sp.wrapping_add(self.pushed_by_calls()) == top.caller_sp;
            if leaves && !is_return && pc.abs_diff(self.previous.pc) > FARTHEST_PART {
                self.callees.insert(pc);
                self.stubs.insert(top.callee, pc);
            } else if leaves && !self.links_on_stack && (is_return || self.is_callers(pc, &top)) {
                // Its callee may have come back behind data, or may be in a function that nobody has called,
                // as is what a return address leads to that a hook has put in place of its own.
                return self.may_have_ended();
            }
            if !(self.faults.misses_tail_calls && leaves) {
                return;
            }
        }
        self.current.call_stack.pop();
        self.current.call_stack.exit = Some(Exit::Return);
    }

    /// Whether control that arrives somewhere ends a call as functions do that leave SP alone.
    fn returns(call: &Record, at: Place) -> bool {
        call.return_address == at.pc && call.caller_sp == at.sp && !call.interrupted
    }

    /// Whether control returns with SP lower than at the call: an outlined prologue, or a probe of the stack,
    /// has taken its return address off the stack and made a frame for its caller.
    fn returns_outlined(&self, call: &Record, at: Place) -> bool {
        self.popped == Some(call.since) && self.returns_below(call, at)
    }

    /// Whether control goes to the return address of a call and leaves it on the stack: it has returned,
    /// unless a function begins there that the callee goes on in.
    fn returns_keeping(&self, call: &Record, at: Place) -> bool {
        self.links_on_stack && self.returns_below(call, at) && self.callees.at(at.pc) != Some(at.pc)
    }

    /// Whether control comes to the return address of a call with SP lower than at the call.
    fn returns_below(&self, call: &Record, at: Place) -> bool {
        !self.faults.misses_outlined_frames
            && (call.return_address == at.pc && at.sp < call.caller_sp && !call.interrupted)
    }

    /// Whether an address is in the function that has made a call, as far as is known, and not in its callee.
    fn is_callers(&self, pc: u64, call: &Record) -> bool {
        let here = self.callees.at(pc);
        here.is_some_and(|here| self.calls_from(call, here) && !self.stubs.runs(call, here))
            && !call.interrupted
            && !self.faults.misses_landings
    }

    /// Whether control returns from the innermost of the calls that SP has moved past: its callee has removed
    /// arguments from the caller's stack.
    fn returns_beyond(&self, at: Place, departed: &CallStack) -> bool {
        let Some((last, others)) = departed.records().split_last() else { return false };
        last.return_address == at.pc
            && !last.interrupted
            // With the SP of another frame's call, it lands there: a landing pad may be right after a call.
            && !others.iter().any(|call| call.caller_sp == at.sp)
            && !self.top().is_some_and(|top| Self::returns(top, at))
    }

    fn return_beyond(&mut self, at: Place, departed: CallStack) {
        let lost = departed.records().len() - self.current.call_stack.records().len();
        self.control_flow.discarded_frames -= lost as u64;
        self.control_flow.returns += 1;
        self.current.call_stack.restore(departed);
        self.return_to(at);
    }

    /// Ends the innermost call, and remembers where it has returned to.
    fn return_to(&mut self, at: Place) {
        self.current.call_stack.pop();
        self.current.call_stack.exit = Some(Exit::Return);
        self.returned.insert((at.pc, at.sp), self.innermost());
        self.levels.insert(at.sp, self.innermost());
    }

    /// Returns the innermost frame.
    fn innermost(&self) -> Frame {
        let records = self.current.call_stack.records();
        Frame { depth: records.len(), since: records.last().map_or(0, |call| call.since) }
    }

    /// Remembers the innermost call if its callee has no frame although it calls: `sigsetjmp`
    /// keeps its return address elsewhere.
    fn note_frameless(&mut self, pc: u64, sp: u64) {
        let Some(call) = self.top().copied().filter(|call| sp >= call.caller_sp && !call.interrupted) else {
            return;
        };
        let records = self.current.call_stack.records();
        let depth = records.len() - 1;
        let since = depth.checked_sub(1).map_or(0, |last| records[last].since);
        self.frameless.insert((pc, sp), (call, Frame { depth, since }));
    }

    /// Enters a function without a frame a second time, as if its caller had called it again:
    /// `siglongjmp` continues in a `sigsetjmp` that has returned. Returns whether there is one.
    fn enter_again(&mut self, pc: u64, sp: u64) -> bool {
        let Some((call, caller)) = self.frameless.get(&(pc, sp)) else { return false };
        if self.faults.misses_nonlocal_exits || !self.is_there(caller) {
            return false;
        }
        self.control_flow.nonlocal_exits += 1;
        let lost = self.current.call_stack.records().len() - caller.depth;
        self.control_flow.discarded_frames += lost as u64;
        let last = self.current.call_stack.records().get(caller.depth).copied();
        self.current.call_stack.truncate(caller.depth);
        self.current.call_stack.push(Record {
            since: self.previous.time,
            event: self.now.0,
            signature: None,
            ..call
        });
        self.current.call_stack.exit = Some(landing(last, None));
        true
    }

    /// Returns whether a frame on the current stack has not ended.
    fn is_there(&self, frame: Frame) -> bool {
        let first = self.current.stacks.last().map_or(0, |stack| stack.first);
        let records = self.current.call_stack.records();
        let call = frame.depth.checked_sub(1).map(|last| records.get(last));
        !self.faults.misses_second_returns
            && (first..=records.len()).contains(&frame.depth)
            && match call {
                Some(call) => call.is_some_and(|call| call.since == frame.since),
                None => true,
            }
    }

    /// Returns whether a call was made from this function. Its return address may be the next
    /// function's first instruction.
    fn calls_from(&self, call: &Record, function: u64) -> bool {
        self.callees.at(call.return_address.wrapping_sub(1)) == Some(function)
    }

    /// Returns whether the innermost frame is in this function: by the call that it had made,
    /// if SP has moved past it, or by where control was.
    fn is_innermost(&self, function: u64, left: Option<Record>, from: u64) -> bool {
        match left {
            Some(call) => self.calls_from(&call, function),
            None => self.callees.at(from) == Some(function),
        }
    }

    /// Returns whether an address is in the callee of one of the calls.
    fn is_in_callee(&self, pc: u64) -> bool {
        let Some(here) = self.callees.at(pc) else { return false };
        self.current.call_stack.records().iter().any(|call| self.stubs.runs(call, here))
    }

    /// Returns whether control that comes to `pc`, with SP as it was at the innermost call,
    /// stays in its callee, which has no frame, and is not in its caller. `resumed` is where
    /// the context was left, if it continues after another one.
    fn stays(&self, pc: u64, left: Option<Record>, resumed: Option<u64>, top: &Record) -> bool {
        let Some(here) = self.callees.at(pc) else { return false };
        // It may have left for another function by a tail call, as `swapcontext` of glibc does.
        let is_callee = self.stubs.runs(top, here) && !self.calls_from(top, here);
        is_callee
            || self.is_innermost(here, left, resumed.unwrap_or(self.previous.pc))
                && (resumed.is_some() || !self.calls_from(top, here))
    }

    /// Handles control that arrives by a restored context, with SP not higher than at the
    /// innermost remaining call: in the innermost frame, or in one further out. `left` is the
    /// call that the innermost frame had made, if SP has moved past it.
    ///
    /// A frame is identified by where it made its call, whatever function was called there first: it may have
    /// left that function by a tail call. If that place is in the function that control has come to, it is
    /// the frame. Among several frames of one function, FP decides. If calls have returned to the innermost
    /// frame with this SP, and none of the others has made its last call with it, control may as well have
    /// stayed: compiled code leaves for its interpreter like that.
    fn land(&mut self, at: Place, from: u64, left: Option<Record>) {
        let Place { pc, sp, fp } = at;
        self.control_flow.nonlocal_exits += 1;
        self.current.call_stack.exit = Some(landing(left, None));
        let Some(here) = self.callees.at(pc) else { return };
        if self.is_innermost(here, left, from) {
            return;
        }
        let first =
            self.current.stacks.last().map_or(0, |stack| if stack.is_shared { 0 } else { stack.first });
        let records = self.current.call_stack.records();
        // A frame, given by the number of records below it: the next record is its call.
        let frames = (first..records.len()).rev().filter(|frame| self.calls_from(&records[*frame], here));
        let same_sp = |frame: &usize| records[*frame].caller_sp == sp;
        let same_fp = |frame: &usize| records[*frame].caller_fp == fp;
        let nearest = frames.clone().next();
        let same = frames.clone().find(|frame| same_sp(frame) && same_fp(frame));
        let other = same.or_else(|| frames.clone().find(same_fp)).or(nearest);
        // The innermost frame has had this SP, and no other one had it at its last call.
        let has_had_sp = !self.faults.misses_second_returns && self.levels.get(&sp) == Some(self.innermost());
        if has_had_sp && !frames.clone().any(|frame| same_sp(&frame)) {
            self.current.call_stack.exit = Some(landing(left, other));
        } else if let Some(frame) = other {
            self.control_flow.discarded_frames += (records.len() - frame) as u64;
            let call = records[frame];
            self.current.call_stack.truncate(frame);
            // Those that it has not called on, and those that it has left for the one below.
            while let [.., below, last] = &self.current.stacks[..]
                && (last.first > frame || last.first == frame && below.holds(sp).is_some())
            {
                self.current.stacks.pop();
            }
            self.current.call_stack.exit = Some(landing(Some(call), None));
        }
    }

    /// Begins a context in the memory that SP has gone to.
    fn begin_context(&mut self, sp: u64) {
        let Some(Unsettled { left, entered }) = self.unsettled.take() else { return };
        self.current.leave_stack(left);
        let fresh = Context {
            call_stack: self.new_context(Bottom::Context, Vec::new()),
            stacks: vec![Stack::new(0, entered, sp)],
            left_at: 0,
        };
        let old = std::mem::replace(&mut self.current, fresh);
        self.park(old);
    }

    /// Keeps a context that has been left.
    fn park(&mut self, mut context: Context) {
        context.call_stack.settle();
        (context.call_stack.exit, context.call_stack.linked) = (None, None);
        context.call_stack.skipped = None;
        context.call_stack.seen();
        context.call_stack.resumed();
        context.left_at = self.previous.pc;
        self.parked_size += context.size();
        self.parked.push(context);
    }

    /// Handles a change of SP, on its stack or to another one.
    fn follow_stack(&mut self, sp: u64) {
        let Previous { sp: before, action: Action { movement, .. }, .. } = self.previous;
        let switched = if movement == Movement::Relative { None } else { self.switched.take() };
        let base = self.current.stacks.last().map_or(sp, |stack| stack.base);
        let settled = self.unsettled.is_none();
        let within = settled && before <= sp && sp <= base;
        // Back from fresh memory to where it was, by a register that has kept it: no context has begun.
        let left = self.unsettled.map_or(before, |unsettled| unsettled.left);
        if !settled && movement == Movement::Relative && (left..=base).contains(&sp) {
            return self.go_to(Target::Own(self.current.stacks.len() - 1), sp, None);
        }
        if movement == Movement::Relative || (movement == Movement::Frame && within) {
            return self.grow(before, sp);
        }
        // Stacks may lie within one another: the smallest one counts.
        let own = within.then(|| base - before);
        match self.find(sp).filter(|(_, size)| own.is_none_or(|own| *size < own)) {
            Some((target, _)) => self.go_to(target, sp, switched),
            None if within || !settled => self.grow(before, sp),
            // FP, or a word of the frame, may hold an address of a stack of which nothing is known.
            None if movement == Movement::Frame && sp.abs_diff(before) <= LARGEST_FRAME => {
                self.grow(before, sp)
            }
            // An `alloca` whose origin is too far back to be seen.
            None if self.main_stack.contains(&sp) && self.main_stack.contains(&before) => {
                self.grow(before, sp);
            }
            None => self.unsettle(before, sp),
        }
    }

    fn unsettle(&mut self, left: u64, entered: u64) {
        self.unsettled = Some(Unsettled { left, entered });
        self.unsettle_here();
    }

    /// Handles SP moving on its stack. If the stack grows over frames of a parked context,
    /// these have ended: their memory is used again.
    fn grow(&mut self, before: u64, sp: u64) {
        if sp < before {
            self.forget(sp..before);
        } else if self.unsettled.is_none()
            && let Some(stack) = self.current.stacks.last_mut()
        {
            stack.base = stack.base.max(sp);
        }
    }

    /// Drops the parked contexts that have frames in a range.
    fn forget(&mut self, range: Range<u64>) {
        if !self.parked.is_empty() {
            let used = |stack: &Stack| range.start < stack.base && stack.left < range.end;
            self.parked.retain(|context| !context.stacks.iter().any(used));
            self.parked_size = self.parked.iter().map(Context::size).sum();
        }
    }

    /// Returns the smallest stack that was left with `sp` among its bytes.
    fn find(&self, sp: u64) -> Option<(Target, u64)> {
        // The current stack counts only if SP has left it for fresh memory.
        let fresh = usize::from(self.unsettled.is_none());
        let own = self.current.stacks.iter().enumerate();
        let own = own.take(self.current.stacks.len() - fresh).map(|(index, stack)| {
            let unsettled = self.unsettled.filter(|_| index + 1 == self.current.stacks.len());
            (Target::Own(index), Stack { left: unsettled.map_or(stack.left, |sp| sp.left), ..*stack })
        });
        let parked = self.parked.iter().enumerate().flat_map(|(context, parked)| {
            parked
                .stacks
                .iter()
                .enumerate()
                .map(move |(index, stack)| (Target::Parked(context, index), *stack))
        });
        own.chain(parked)
            .filter_map(|(target, stack)| Some((target, stack.holds(sp)?)))
            .min_by_key(|(_, size)| *size)
    }

    /// Handles SP pointing to a stack on which frames were left.
    fn go_to(&mut self, target: Target, sp: u64, switched: Option<Switched>) {
        let before = self.unsettled.take().map_or(self.previous.sp, |sp| sp.left);
        self.current.call_stack.settle();
        match target {
            Target::Own(index) => {
                if index + 1 == self.current.stacks.len() {
                    return;
                }
                // With a restored context, the frame that restored it has ended too.
                if self.previous.action.movement == Movement::Foreign {
                    self.unsettle_here();
                }
                // The context leaves its upper stacks. Code that comes back to them finds their
                // frames, but not those of the callers.
                let keep = self.current.stacks[index + 1].first;
                let mut whole = self.current.clone();
                whole.leave_stack(before);
                let records = self.current.call_stack.split_off(keep);
                let mut stacks = self.current.stacks.split_off(index + 1);
                let Some(call) = records.first() else { return };
                self.left = Some(*call);
                for stack in &mut stacks {
                    stack.first -= keep;
                }
                let call_stack = self.new_context(Bottom::Context, records);
                let mut left = Context { call_stack, stacks, left_at: 0 };
                left.leave_stack(before);
                self.park(left);
                self.switched = Some(Switched { before: whole, resumed: None, parked: self.contexts });
            }
            Target::Parked(context, index) => {
                let number = self.parked[context].call_stack.context();
                if let Some(switched) = switched.filter(|switched| switched.parked == number) {
                    // Back to what it has left, without having gone anywhere.
                    self.switched = Some(switched);
                    self.come_back();
                    return;
                }
                self.current.leave_stack(before);
                let resumed = self.parked.swap_remove(context);
                self.parked_size -= resumed.size();
                let stack = resumed.stacks[index];
                if index == 0 && sp == stack.entered && sp != stack.left {
                    // Entered as if for the first time: its old frames have ended.
                    return self.unsettle(before, sp);
                }
                let was = resumed.clone();
                self.resumed = Some(resumed.left_at);
                self.entered = (index == 0 && sp == stack.entered).then_some(sp);
                let left = std::mem::replace(&mut self.current, resumed);
                let departed = left.call_stack.clone();
                if self.entered.is_some() {
                    // It may begin anew where it began: its old frames are not certain.
                    self.current.call_stack.unsettle(departed, self.now);
                } else {
                    self.current.call_stack.depart(departed, self.now);
                }
                let parked = left.call_stack.context();
                self.switched = Some(Switched { before: left.clone(), resumed: Some(was), parked });
                self.park(left);
                self.current.call_stack.resumed();
                self.control_flow.contexts_resumed += 1;
                if let Some(above) = self.current.stacks.get(index + 1) {
                    self.current.call_stack.truncate(above.first);
                    self.current.stacks.truncate(index + 1);
                }
            }
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

impl Context {
    /// Its records, its stacks, and itself.
    fn size(&self) -> usize {
        self.call_stack.records().len() + self.stacks.len() + 1
    }

    /// Remembers where SP was when it left for another stack.
    fn leave_stack(&mut self, sp: u64) {
        if let Some(stack) = self.stacks.last_mut() {
            stack.left = sp;
        }
    }
}

/// A landing in the frame that has made a call, or in the innermost one; it may be in another, with this many
/// calls below.
fn landing(call: Option<Record>, or: Option<usize>) -> Exit {
    Exit::Landing { call: call.map(|call| call.return_address), or }
}

#[cfg(test)]
mod tests;
