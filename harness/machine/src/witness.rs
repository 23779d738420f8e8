//! The call-stack witness: what calls and returns have really happened.
//!
//! It sees the PC, SP and FP of each instruction before it executes, and what
//! the instruction before could do to control and to SP. It knows nothing of
//! symbols, debug information or unwind tables, so its call stack can judge them.
//!
//! - A call puts a record on the call stack, unless it leads to its own return
//!   address and the instruction there is no function's first: that is how the PC
//!   is fetched, and nobody returns from there.
//! - An indirect branch to a record's return address, with SP as it was at the
//!   call, is the return. ABIs return by more than one instruction, and
//!   conditionally too.
//! - SP beyond its value at the call ends the call as well: `longjmp`, unwinding
//!   and callees that drop their return address give frames up like that.
//!   Strictly beyond, for a callee that has popped its return address is still
//!   running.
//! - An indirect branch that follows such a loss, or for which SP was loaded
//!   from a saved context, arrives in a frame that was on the call stack before:
//!   the call that was made from it with the same SP has ended too.
//! - SP that comes from memory, or from a register that was not computed from SP
//!   or FP, may point to another stack. Where frames were left there before, they
//!   are the call stack again. In fresh memory the next transfer of control tells
//!   what it means: a call is made by the same frame, whose SP has moved; an
//!   indirect branch begins a new context.
//!
//! A limit: a new stack that lies within a frame of the current one, as a local
//! array does, can't be told from the frame itself by SP alone.

use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::call_stack::{Bottom, CallStack, Record, Signature};
use crate::control_flow::ControlFlow;
use crate::cpu::{AuthenticationKey, Control, Cpu, Link};

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

/// Faults that can be put into the witness, to see that the suite notices.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WitnessFaults {
    /// Takes an indirect branch out of a frame for its return.
    pub misses_tail_calls: bool,
    /// Keeps the frames that `longjmp` and unwinding give up.
    pub misses_nonlocal_exits: bool,
    /// Takes each stack for the first one.
    pub misses_stack_switches: bool,
    /// Takes the fetching of the PC for a call.
    pub misses_pc_fetches: bool,
    /// Takes signal handlers for callees of the function that they interrupt.
    pub misses_signal_frames: bool,
}

/// Where the program executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) pc: u64,
    pub(crate) sp: u64,
    pub(crate) fp: u64,
}

/// How a signal has been delivered.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) interrupted: Place,
    /// What the handler returns to.
    pub(crate) restorer: u64,
    /// The handler's first instruction.
    pub(crate) handler: Place,
    /// The alternate stack, if SP has gone there.
    pub(crate) alternate: Option<Range<u64>>,
}

/// The instruction that executed last.
#[derive(Clone, Copy, Debug)]
struct Previous {
    control: Control,
    movement: Movement,
    sp: u64,
    fp: u64,
}

/// Memory in which frames of a call stack lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stack {
    /// The oldest record that was made on it, by position.
    first: usize,
    /// The highest SP seen on it.
    base: u64,
    /// SP when it was entered.
    entered: u64,
    /// SP when it was left; only of use where it is not the current one.
    left: u64,
}

impl Stack {
    /// A stack that SP has come to with the value `entered`, and whose first
    /// frame begins with `sp`.
    const fn new(first: usize, entered: u64, sp: u64) -> Self {
        Self { first, base: if entered > sp { entered } else { sp }, entered, left: sp }
    }

    /// The number of bytes in use when it was left, if `sp` lies among them.
    fn holds(&self, sp: u64) -> Option<u64> {
        (self.left <= sp && sp <= self.base).then(|| self.base - self.left)
    }
}

/// A thread of control: its calls, and the stacks they lie on, the oldest first.
#[derive(Debug)]
struct Context {
    call_stack: CallStack,
    stacks: Vec<Stack>,
}

/// SP has gone to fresh memory.
#[derive(Clone, Copy, Debug)]
struct Unsettled {
    /// SP before.
    left: u64,
    /// SP behind.
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

/// First instructions of functions, as calls have shown them.
#[derive(Debug, Default)]
struct Callees {
    all: FxHashSet<u64>,
    sorted: BTreeSet<u64>,
}

impl Callees {
    fn insert(&mut self, callee: u64) {
        if self.all.insert(callee) {
            self.sorted.insert(callee);
        }
    }

    /// The function that an address lies in, as far as is known.
    fn at(&self, pc: u64) -> Option<u64> {
        self.sorted.range(..=pc).next_back().copied()
    }
}

/// Follows the program and keeps its [`CallStack`].
#[derive(Debug)]
pub(crate) struct Witness {
    cfa_above_sp: u64,
    /// Whether calls leave their return address at SP.
    links_on_stack: bool,
    /// The process's first stack.
    main_stack: Range<u64>,
    faults: WitnessFaults,
    previous: Previous,
    current: Context,
    /// Contexts that may go on later.
    parked: Vec<Context>,
    /// SP in fresh memory, until it is known what that means.
    unsettled: Option<Unsettled>,
    /// SP when it was last loaded, or when frames were given up, since the last
    /// indirect branch.
    restored: Option<u64>,
    /// First instructions of all callees so far.
    callees: Callees,
    control_flow: ControlFlow,
}

impl Witness {
    pub(crate) fn new(cpu: &Cpu, main_stack: Range<u64>, sp: u64, faults: WitnessFaults) -> Self {
        Self {
            cfa_above_sp: cpu.cfa_above_sp,
            links_on_stack: cpu.link == Link::Stack,
            main_stack,
            faults,
            previous: Previous { control: Control::Other, movement: Movement::Relative, sp, fp: 0 },
            current: Context {
                call_stack: CallStack::new(Bottom::Entry, Vec::new()),
                stacks: vec![Stack::new(0, sp, sp)],
            },
            parked: Vec::new(),
            unsettled: None,
            restored: None,
            callees: Callees::default(),
            control_flow: ControlFlow::default(),
        }
    }

    /// A call has been bound.
    pub(crate) const fn bound(&mut self) {
        self.control_flow.lazy_bindings += 1;
    }

    /// Forgets all calls: what runs next was called by nobody.
    pub(crate) fn start_again(&mut self, sp: u64) {
        self.previous = Previous { control: Control::Other, movement: Movement::Relative, sp, fp: 0 };
        self.current = Context {
            call_stack: CallStack::new(Bottom::Entry, Vec::new()),
            stacks: vec![Stack::new(0, sp, sp)],
        };
        self.parked.clear();
        self.unsettled = None;
        self.restored = None;
    }

    pub(crate) const fn call_stack(&self) -> &CallStack {
        &self.current.call_stack
    }

    /// The observer has seen the call stack.
    pub(crate) const fn seen(&mut self) {
        self.current.call_stack.seen();
    }

    pub(crate) const fn control_flow(&self) -> &ControlFlow {
        &self.control_flow
    }

    /// Whether the last instruction was a call, so that [`Self::enter`] has to
    /// be told its return address before [`Self::follow`].
    pub(crate) fn was_call(&self) -> bool {
        self.previous.control == Control::Call
    }

    /// Records the call that the last instruction made. `fetches_pc` tells
    /// what the first instruction of the callee does with the return address.
    pub(crate) fn enter(&mut self, callee: u64, return_address: u64, fetches_pc: bool) {
        if callee == return_address && fetches_pc && !self.faults.misses_pc_fetches {
            self.control_flow.pc_fetches += 1;
            return;
        }
        let Previous { sp, fp, .. } = self.previous;
        self.current.call_stack.settled = true;
        if let Some(Unsettled { left, entered }) = self.unsettled.take() {
            // The frame goes on, on another stack.
            self.control_flow.stack_moves += 1;
            let first = self.current.call_stack.records().len();
            self.current.leave_stack(left);
            self.current.stacks.push(Stack::new(first, entered, sp));
        }
        self.control_flow.calls += 1;
        self.callees.insert(callee);
        self.push(Record {
            return_address,
            cfa: sp.wrapping_add(self.cfa_above_sp),
            caller_sp: sp,
            caller_fp: fp,
            callee,
            interrupted: false,
            signature: None,
        });
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

    fn push(&mut self, record: Record) {
        self.current.call_stack.push(record);
    }

    /// Takes note of the next instruction, before it executes. Calls that the
    /// last one has ended are taken off the call stack.
    pub(crate) fn follow(&mut self, pc: u64, sp: u64, fp: u64, control: Control, movement: Movement) {
        if sp != self.previous.sp && !self.faults.misses_stack_switches {
            self.follow_stack(sp);
        }
        if self.unsettled.is_none() {
            self.give_up(sp);
        }
        if self.previous.control.is_indirect() {
            self.arrive(pc, sp, fp);
        }
        self.previous = Previous { control, movement, sp, fp };
    }

    /// The innermost record on the current stack, and SP at that call.
    fn top(&self) -> Option<&Record> {
        let first = self.current.stacks.last().map_or(0, |stack| stack.first);
        self.current.call_stack.records().get(first..)?.last()
    }

    /// Ends the calls that SP has left behind.
    fn give_up(&mut self, sp: u64) {
        if self.faults.misses_nonlocal_exits {
            return;
        }
        let before = self.current.call_stack.records().len();
        while self.top().is_some_and(|top| sp > top.caller_sp) {
            self.current.call_stack.pop();
        }
        let lost = before - self.current.call_stack.records().len();
        self.control_flow.frames_given_up += lost as u64;
        let is_foreign = self.previous.movement == Movement::Foreign;
        if lost > 0 || is_foreign {
            self.restored = Some(sp);
        }
        if is_foreign && (lost > 0 || self.top().is_some_and(|top| sp == top.caller_sp)) {
            // The frame that loaded SP is gone, and control has not left it yet.
            self.current.call_stack.settled = false;
        }
    }

    /// An indirect branch has led to `pc`.
    fn arrive(&mut self, pc: u64, sp: u64, fp: u64) {
        let restored = self.restored.take() == Some(sp);
        self.current.call_stack.settled = true;
        let is_return = self.previous.control == Control::Return;
        if self.unsettled.is_some() {
            self.control_flow.contexts_begun += 1;
            return self.begin_context(sp);
        }
        let Some(top) = self.top().copied() else {
            self.control_flow.computed_returns += u64::from(is_return);
            return;
        };
        if top.return_address == pc && top.caller_sp == sp && !top.interrupted {
            self.control_flow.returns += 1;
        } else if top.caller_sp == sp && (restored || self.links_on_stack) {
            if self.faults.misses_nonlocal_exits {
                return;
            }
            self.control_flow.frames_given_up += 1;
            self.current.call_stack.pop();
            return self.land(pc, fp);
        } else if restored {
            return self.land(pc, fp);
        } else {
            self.control_flow.computed_returns += u64::from(is_return);
            let leaves = sp.wrapping_add(if self.links_on_stack { 8 } else { 0 }) == top.caller_sp;
            if !(self.faults.misses_tail_calls && leaves) {
                return;
            }
        }
        self.current.call_stack.pop();
    }

    /// Control has come by a restored context, with SP not higher than at the
    /// innermost call that is left: to the innermost frame, or to one further
    /// out. The functions that were called tell which; of several frames of one
    /// function, FP does.
    fn land(&mut self, pc: u64, fp: u64) {
        self.control_flow.nonlocal_exits += 1;
        let Some(function) = self.callees.at(pc) else { return };
        let first = self.current.stacks.last().map_or(0, |stack| stack.first);
        let records = self.current.call_stack.records();
        if records.last().is_some_and(|innermost| innermost.callee == function) {
            return;
        }
        // A frame by the number of records below it.
        let mut frames =
            (first + 1..records.len()).rev().filter(|frame| records[frame - 1].callee == function);
        let nearest = frames.clone().next();
        let same_fp = frames.find(|frame| records[*frame].caller_fp == fp);
        if let Some(frame) = same_fp.or(nearest) {
            self.control_flow.frames_given_up += (records.len() - frame) as u64;
            self.current.call_stack.truncate(frame);
        }
    }

    /// A context begins in the memory that SP has gone to.
    fn begin_context(&mut self, sp: u64) {
        let Some(Unsettled { left, entered }) = self.unsettled.take() else { return };
        self.current.leave_stack(left);
        let fresh = Context {
            call_stack: CallStack::new(Bottom::Context, Vec::new()),
            stacks: vec![Stack::new(0, entered, sp)],
        };
        let old = std::mem::replace(&mut self.current, fresh);
        self.park(old);
    }

    /// Keeps a context that has been left.
    fn park(&mut self, mut context: Context) {
        context.call_stack.settled = true;
        self.parked.push(context);
    }

    /// SP has changed: on its stack, or to another one.
    fn follow_stack(&mut self, sp: u64) {
        let Previous { sp: before, movement, .. } = self.previous;
        let base = self.current.stacks.last().map_or(sp, |stack| stack.base);
        let settled = self.unsettled.is_none();
        let within = settled && before <= sp && sp <= base;
        if movement == Movement::Relative || (movement == Movement::Frame && within) {
            return self.grow(before, sp);
        }
        // Stacks may lie within one another: the smallest is meant.
        let own = within.then(|| base - before);
        match self.find(sp).filter(|(_, size)| own.is_none_or(|own| *size < own)) {
            Some((target, _)) => self.go_to(target, sp),
            None if within || movement == Movement::Frame || !settled => self.grow(before, sp),
            // An `alloca` of which the origin is too far away to be seen.
            None if self.main_stack.contains(&sp) && self.main_stack.contains(&before) => {
                self.grow(before, sp);
            }
            None => self.unsettle(before, sp),
        }
    }

    fn unsettle(&mut self, left: u64, entered: u64) {
        self.unsettled = Some(Unsettled { left, entered });
        self.current.call_stack.settled = false;
    }

    /// SP has moved on its stack. Where that grows over frames of a parked
    /// context, these have ended: their memory is used again.
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
        }
    }

    /// The smallest stack that was left with `sp` among its bytes.
    fn find(&self, sp: u64) -> Option<(Target, u64)> {
        // The current stack counts only where SP has left it for fresh memory.
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

    /// SP points to a stack on which frames were left.
    fn go_to(&mut self, target: Target, sp: u64) {
        let before = self.unsettled.take().map_or(self.previous.sp, |sp| sp.left);
        self.current.call_stack.settled = true;
        match target {
            Target::Own(index) => {
                if index + 1 == self.current.stacks.len() {
                    return;
                }
                // By a restored context the frame that did so is gone too.
                self.current.call_stack.settled = self.previous.movement != Movement::Foreign;
                // The context leaves its upper stacks. Who comes back to them
                // finds their frames, but not those of the callers.
                let keep = self.current.stacks[index + 1].first;
                let records = self.current.call_stack.split_off(keep);
                let mut stacks = self.current.stacks.split_off(index + 1);
                if records.is_empty() {
                    return;
                }
                for stack in &mut stacks {
                    stack.first -= keep;
                }
                let call_stack = CallStack::new(Bottom::Context, records);
                let mut left = Context { call_stack, stacks };
                left.leave_stack(before);
                self.park(left);
            }
            Target::Parked(context, index) => {
                self.current.leave_stack(before);
                let resumed = self.parked.swap_remove(context);
                let stack = resumed.stacks[index];
                if index == 0 && sp == stack.entered && sp != stack.left {
                    // Entered as if for the first time: its old frames have ended.
                    return self.unsettle(before, sp);
                }
                let left = std::mem::replace(&mut self.current, resumed);
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

    /// A signal is delivered before the instruction that was followed last.
    pub(crate) fn signal(&mut self, delivery: &Delivery) {
        let Delivery { interrupted, restorer, handler, alternate } = delivery;
        if self.unsettled.is_some() {
            // It isn't known yet what the interrupted frame is part of.
            self.begin_context(interrupted.sp);
        }
        self.control_flow.signals += 1;
        if !self.faults.misses_signal_frames {
            self.push(Record {
                return_address: interrupted.pc,
                cfa: interrupted.sp.wrapping_add(self.cfa_above_sp),
                caller_sp: interrupted.sp,
                caller_fp: interrupted.fp,
                callee: *restorer,
                interrupted: true,
                signature: None,
            });
        }
        if let Some(alternate) = alternate {
            self.control_flow.alternate_stacks += 1;
            self.forget(alternate.clone());
            self.current.leave_stack(interrupted.sp);
            let first = self.current.call_stack.records().len();
            self.current.stacks.push(Stack::new(first, alternate.end, handler.sp));
        }
        // As if the restorer had called the handler.
        let restorer_sp = handler.sp.wrapping_add(if self.links_on_stack { 8 } else { 0 });
        self.push(Record {
            return_address: *restorer,
            cfa: restorer_sp.wrapping_add(self.cfa_above_sp),
            caller_sp: restorer_sp,
            caller_fp: handler.fp,
            callee: handler.pc,
            interrupted: false,
            signature: None,
        });
        self.continue_at(handler);
    }

    /// The restorer has asked for the state before a signal, and now the
    /// program goes on there.
    pub(crate) fn signal_return(&mut self, at: &Place) {
        let call_stack = &mut self.current.call_stack;
        let Some(record) = call_stack.records().last().copied().filter(|record| record.interrupted) else {
            // Not from where a signal was delivered: a way to load registers.
            self.previous.control = Control::Indirect;
            self.previous.movement = Movement::Foreign;
            return;
        };
        self.control_flow.signal_returns += 1;
        call_stack.pop();
        let depth = call_stack.records().len();
        while self.current.stacks.len() > 1 && self.current.stacks.last().is_some_and(|s| s.first > depth) {
            self.current.stacks.pop();
        }
        self.continue_at(at);
        if (record.return_address, record.caller_sp) != (at.pc, at.sp) {
            // The handler has chosen another place.
            self.previous.sp = record.caller_sp;
            self.previous.control = Control::Indirect;
            self.previous.movement = Movement::Foreign;
        }
    }

    /// The next instruction is not behind the last one.
    const fn continue_at(&mut self, at: &Place) {
        let Place { sp, fp, .. } = *at;
        self.previous = Previous { control: Control::Other, movement: Movement::Relative, sp, fp };
    }
}

impl Context {
    /// Remembers where SP was when it left for another stack.
    fn leave_stack(&mut self, sp: u64) {
        if let Some(stack) = self.stacks.last_mut() {
            stack.left = sp;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{AARCH64, AMD64, S390X};

    use Control::{Call, Indirect, Other, Return};
    use Movement::{Foreign, Frame, Relative};

    const MAIN: Range<u64> = 0x1_0000..0x2_0000;

    /// What an instruction does: its address, SP before it, and its effects.
    type Step = (u64, u64, Control, Movement);

    struct Runner {
        witness: Witness,
        last: Option<Step>,
    }

    impl Runner {
        fn new(cpu: &Cpu, sp: u64) -> Self {
            Self { witness: Witness::new(cpu, MAIN, sp, WitnessFaults::default()), last: None }
        }

        /// A call's return address is its PC + 4. Gives the callees on the call stack.
        fn step(&mut self, step: Step) -> Vec<u64> {
            let (pc, sp, control, movement) = step;
            if let Some((last, ..)) = self.last.replace(step)
                && self.witness.was_call()
            {
                self.witness.enter(pc, last + 4, control == Other);
            }
            self.witness.follow(pc, sp, 0, control, movement);
            self.callees()
        }

        fn callees(&self) -> Vec<u64> {
            self.witness.call_stack().records().iter().map(|record| record.callee).collect()
        }

        fn steps(&mut self, steps: &[Step]) -> Vec<Vec<u64>> {
            steps.iter().map(|step| self.step(*step)).collect()
        }
    }

    fn run(cpu: &Cpu, steps: &[Step]) -> Vec<Vec<u64>> {
        Runner::new(cpu, steps[0].1).steps(steps)
    }

    const NONE: Vec<u64> = Vec::new();

    #[test]
    fn a_call_is_on_the_stack_until_its_return_has_executed() {
        let stacks = run(
            &AMD64,
            &[
                (0x10, 0x1080, Call, Relative),
                (0x100, 0x1078, Other, Relative),
                (0x104, 0x1078, Return, Relative),
                (0x14, 0x1080, Other, Relative),
            ],
        );
        assert_eq!(stacks, [vec![], vec![0x100], vec![0x100], vec![]]);
    }

    #[test]
    fn a_callee_that_pops_its_return_address_is_still_running() {
        let stacks = run(
            &AMD64,
            &[
                (0x10, 0x1080, Call, Relative),
                (0x100, 0x1078, Other, Relative),    // pop %rcx
                (0x101, 0x1080, Indirect, Relative), // jmp *%rcx
                (0x14, 0x1080, Other, Relative),
            ],
        );
        assert_eq!(stacks, [vec![], vec![0x100], vec![0x100], vec![]]);
    }

    #[test]
    fn a_tail_call_leaves_the_stack_as_it_is_and_its_return_ends_the_first_call() {
        let stacks = run(
            &AARCH64,
            &[
                (0x10, 0x1080, Call, Relative),
                (0x100, 0x1080, Other, Relative),    // b 0x200
                (0x200, 0x1080, Indirect, Relative), // br x16: a tail call by register
                (0x300, 0x1080, Return, Relative),
                (0x14, 0x1080, Other, Relative),
            ],
        );
        assert_eq!(stacks, [vec![], vec![0x100], vec![0x100], vec![0x100], vec![]]);
    }

    #[test]
    fn a_jump_past_several_frames_ends_all_of_them() {
        let stacks = run(
            &S390X,
            &[
                (0x10, 0x1800, Call, Relative),
                (0x100, 0x1640, Call, Relative),
                (0x200, 0x1480, Call, Relative),
                (0x300, 0x1320, Other, Foreign), // lmg %r6,%r15,0(%r2)
                (0x304, 0x1800, Indirect, Relative),
                (0x500, 0x1800, Other, Relative),
            ],
        );
        assert_eq!(stacks[3].len(), 3);
        assert_eq!(stacks[4], [0x100], "until the branch SP is not past the first call");
        assert_eq!(stacks[5], NONE);
    }

    #[test]
    fn a_jump_into_the_caller_from_its_own_frameless_callee_ends_the_call() {
        let (call, branch) = ((0x10, 0x1080, Call, Relative), (0x104, 0x1080, Indirect, Relative));
        let restored = (0x100, 0x1080, Other, Foreign); // mov sp, x9
        assert_eq!(run(&AARCH64, &[call, restored, branch, (0x50, 0x1080, Other, Relative)])[3], NONE);
        let tail_call = (0x100, 0x1080, Other, Relative);
        assert_eq!(run(&AARCH64, &[call, tail_call, branch, (0x500, 0x1080, Other, Relative)])[3], [0x100]);
        // On amd64 the return address is gone from the stack.
        let pop = (0x100, 0x1078, Other, Relative);
        assert_eq!(run(&AMD64, &[call, pop, branch, (0x50, 0x1080, Other, Relative)])[3], NONE);
    }

    #[test]
    fn a_jump_into_the_middle_of_a_frame_ends_the_calls_that_it_has_made() {
        let frame = |pc, sp, control, movement| (pc, sp, control, movement);
        let stacks = run(
            &AARCH64,
            &[
                frame(0x10, 0x1080, Call, Relative),
                frame(0x100, 0x1040, Call, Relative), // the frame with the pad
                frame(0x200, 0x1020, Call, Relative),
                frame(0x300, 0x1000, Other, Foreign), // mov sp, x9
                frame(0x304, 0x1030, Indirect, Relative),
                frame(0x140, 0x1030, Other, Relative), // the pad
            ],
        );
        assert_eq!(stacks[4], [0x100, 0x200], "SP is lower than at the call");
        assert_eq!(stacks[5], [0x100]);
    }

    #[test]
    fn an_epilogue_by_the_frame_pointer_is_no_restored_context() {
        let stacks = run(
            &AARCH64,
            &[
                (0x10, 0x1080, Call, Relative),
                (0x100, 0x1060, Other, Frame),       // mov sp, x29
                (0x104, 0x1060, Other, Relative),    // ldp x29, x30, [sp], #32
                (0x108, 0x1080, Indirect, Relative), // br x16
                (0x500, 0x1080, Other, Relative),
            ],
        );
        assert_eq!(stacks[4], [0x100]);
    }

    #[test]
    fn a_dropped_return_address_ends_two_calls() {
        let stacks = run(
            &AMD64,
            &[
                (0x10, 0x1080, Call, Relative),
                (0x100, 0x1078, Call, Relative),
                (0x200, 0x1070, Other, Relative),  // add $8,%rsp
                (0x204, 0x1078, Return, Relative), // to 0x14
                (0x14, 0x1080, Other, Relative),
            ],
        );
        assert_eq!(stacks[3], [0x100, 0x200]);
        assert_eq!(stacks[4], NONE);
    }

    #[test]
    fn fetching_the_pc_by_a_call_is_no_frame() {
        let stacks = run(
            &AMD64,
            &[
                (0x10, 0x1080, Call, Relative),
                (0x14, 0x1078, Other, Relative), // pop %rbx
                (0x18, 0x1080, Other, Relative),
            ],
        );
        assert_eq!(stacks, [NONE, NONE, NONE]);
    }

    #[test]
    fn a_call_to_the_function_behind_it_is_a_frame() {
        let mut witness = Witness::new(&AMD64, MAIN, 0x1080, WitnessFaults::default());
        witness.follow(0x10, 0x1080, 0, Call, Relative);
        witness.enter(0x14, 0x14, false);
        assert_eq!(witness.call_stack().records().len(), 1);
    }

    #[test]
    fn recursion_returns_one_level_at_a_time() {
        let stacks = run(
            &AMD64,
            &[
                (0x10, 0x1080, Call, Relative),
                (0x100, 0x1078, Call, Relative),
                (0x100, 0x1070, Return, Relative),
                (0x104, 0x1078, Return, Relative),
                (0x14, 0x1080, Other, Relative),
            ],
        );
        assert_eq!(stacks.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 2, 1, 0]);
    }

    #[test]
    fn the_cfa_of_s390x_lies_160_bytes_above_sp_at_the_call() {
        let mut witness = Witness::new(&S390X, MAIN, 800, WitnessFaults::default());
        witness.follow(0x10, 800, 7, Call, Relative);
        witness.enter(0x100, 0x16, false);
        let expected = Record {
            return_address: 0x16,
            cfa: 960,
            caller_sp: 800,
            caller_fp: 7,
            callee: 0x100,
            interrupted: false,
            signature: None,
        };
        assert_eq!(witness.call_stack().records(), [expected]);
    }

    #[test]
    fn calls_are_kept_as_long_as_they_are_the_same_since_the_moment_before() {
        let mut runner = Runner::new(&AMD64, 0x1_1080);
        let kept = |runner: &mut Runner, step| {
            runner.step(step);
            let call_stack = runner.witness.call_stack();
            let result = (call_stack.kept(), call_stack.records().len());
            runner.witness.seen();
            result
        };
        assert_eq!(kept(&mut runner, (0x10, 0x1_1080, Call, Relative)), (0, 0));
        assert_eq!(kept(&mut runner, (0x100, 0x1_1078, Call, Relative)), (0, 1));
        assert_eq!(kept(&mut runner, (0x200, 0x1_1070, Return, Relative)), (1, 2));
        assert_eq!(kept(&mut runner, (0x104, 0x1_1078, Call, Relative)), (1, 1));
        // A call ends and another one begins before the observer looks.
        runner.steps(&[(0x200, 0x1_1070, Return, Relative), (0x104, 0x1_1078, Call, Relative)]);
        assert_eq!(kept(&mut runner, (0x200, 0x1_1070, Return, Relative)), (1, 2));
        let mut runner = Runner::new(&AMD64, 0x1_1080);
        start_coroutine(&mut runner);
        runner.witness.seen();
        runner.step((0x800, 0x4ff0, Other, Foreign));
        runner.witness.seen();
        assert_eq!(kept(&mut runner, (0x804, 0x1_1078, Return, Relative)), (0, 1), "main's, resumed");
    }

    /// main calls a switch at 0x100, which loads SP and returns into a
    /// coroutine at 0x900 with a stack that ends at 0x5000.
    fn start_coroutine(runner: &mut Runner) {
        runner.steps(&[
            (0x10, 0x1_1080, Call, Relative),
            (0x100, 0x1_1078, Other, Foreign), // mov %rsi,%rsp
            (0x104, 0x4ff0, Return, Relative),
        ]);
        assert!(!runner.witness.call_stack().is_settled());
        assert_eq!(runner.step((0x900, 0x4ff8, Call, Relative)), NONE);
        assert!(runner.witness.call_stack().is_settled());
        assert_eq!(runner.witness.call_stack().bottom(), Bottom::Context);
    }

    #[test]
    fn contexts_have_call_stacks_of_their_own() {
        let mut runner = Runner::new(&AMD64, 0x1_1080);
        start_coroutine(&mut runner);
        let stacks = runner.steps(&[
            (0x800, 0x4ff0, Call, Relative),
            (0x100, 0x4fe8, Other, Foreign), // back to main, in the middle of the switch
            (0x104, 0x1_1078, Return, Relative),
            (0x14, 0x1_1080, Call, Relative), // and to the coroutine again
            (0x100, 0x1_1078, Other, Foreign),
            (0x104, 0x4fe8, Return, Relative),
            (0x804, 0x4ff0, Return, Relative),
            (0x904, 0x4ff8, Other, Relative),
        ]);
        let expected: [&[u64]; 8] =
            [&[0x800], &[0x800, 0x100], &[0x100], &[], &[0x100], &[0x800, 0x100], &[0x800], &[]];
        assert_eq!(stacks, expected);
        assert_eq!(runner.witness.control_flow().contexts_begun, 1);
        assert_eq!(runner.witness.control_flow().contexts_resumed, 2);
    }

    #[test]
    fn a_stack_that_is_entered_like_the_first_time_begins_a_new_context() {
        let mut runner = Runner::new(&AMD64, 0x1_1080);
        start_coroutine(&mut runner);
        runner.steps(&[
            (0x800, 0x4ff0, Call, Relative),
            (0x100, 0x4fe8, Other, Foreign), // for the last time
            (0x104, 0x1_1078, Return, Relative),
            (0x14, 0x1_1080, Other, Relative),
        ]);
        start_coroutine(&mut runner);
        assert_eq!(runner.witness.control_flow().contexts_begun, 2);
    }

    #[test]
    fn frames_whose_memory_is_used_again_have_ended() {
        let mut runner = Runner::new(&AMD64, 0x1_1080);
        start_coroutine(&mut runner);
        runner.steps(&[
            (0x800, 0x4ff0, Other, Foreign), // to a stack right above
            (0x804, 0x6000, Return, Relative),
            (0xa00, 0x6008, Other, Relative), // sub $0x1800,%rsp
            (0xa04, 0x4808, Other, Relative),
        ]);
        assert_eq!(runner.witness.parked.len(), 1, "main");
    }

    #[test]
    fn a_frame_that_calls_on_another_stack_stays_where_it_is() {
        let mut runner = Runner::new(&AMD64, 0x1_1080);
        let stacks = runner.steps(&[
            (0x10, 0x1_1080, Call, Relative),
            (0x100, 0x1_1078, Other, Foreign), // mov %rsi,%rsp
            (0x104, 0x5000, Call, Relative),
            (0x200, 0x4ff8, Call, Relative),
            (0x300, 0x4ff0, Return, Relative),
            (0x204, 0x4ff8, Return, Relative),
            (0x108, 0x5000, Other, Frame), // leave
            (0x10c, 0x1_1078, Return, Relative),
            (0x14, 0x1_1080, Other, Relative),
        ]);
        let expected: [&[u64]; 9] = [
            &[],
            &[0x100],
            &[0x100],
            &[0x100, 0x200],
            &[0x100, 0x200, 0x300],
            &[0x100, 0x200],
            &[0x100],
            &[0x100],
            &[],
        ];
        assert_eq!(stacks, expected);
        assert_eq!(runner.witness.control_flow().stack_moves, 1);
    }

    fn deliver(runner: &mut Runner, interrupted_sp: u64, handler_sp: u64, alternate: Option<Range<u64>>) {
        runner.witness.signal(&Delivery {
            interrupted: Place { pc: 0x204, sp: interrupted_sp, fp: 7 },
            restorer: 0x700,
            handler: Place { pc: 0x600, sp: handler_sp, fp: 8 },
            alternate,
        });
    }

    #[test]
    fn a_signal_puts_its_frame_and_the_handlers_on_the_stack() {
        let mut runner = Runner::new(&AMD64, 0x1_1080);
        runner.steps(&[(0x10, 0x1_1080, Call, Relative), (0x200, 0x1_1078, Other, Relative)]);
        runner.step((0x204, 0x1_1078, Call, Relative));
        deliver(&mut runner, 0x1_1078, 0x1_0c08, None);
        assert_eq!(runner.callees(), [0x200, 0x700, 0x600]);
        let [_, signal, handler] = runner.witness.call_stack().records() else { panic!() };
        assert_eq!((signal.return_address, signal.cfa, signal.caller_fp), (0x204, 0x1_1078, 7));
        assert!(signal.interrupted && !handler.interrupted);
        assert_eq!((handler.return_address, handler.cfa), (0x700, 0x1_0c10));
        let stacks = runner.steps(&[
            (0x600, 0x1_0c08, Call, Relative),
            (0x800, 0x1_0c00, Return, Relative),
            (0x604, 0x1_0c08, Return, Relative),
            (0x700, 0x1_0c10, Other, Relative),
        ]);
        assert_eq!(
            stacks[1..],
            [vec![0x200, 0x700, 0x600, 0x800], vec![0x200, 0x700, 0x600], vec![0x200, 0x700]]
        );
        runner.witness.signal_return(&Place { pc: 0x204, sp: 0x1_1078, fp: 7 });
        assert_eq!(runner.step((0x204, 0x1_1078, Call, Relative)), [0x200]);
        assert_eq!(runner.step((0x300, 0x1_1070, Other, Relative)), [0x200, 0x300]);
    }

    #[test]
    fn a_handler_may_jump_from_its_alternate_stack_to_a_frame_below_the_signal() {
        let mut runner = Runner::new(&AMD64, 0x1_1080);
        runner.steps(&[(0x10, 0x1_1080, Call, Relative), (0x200, 0x1_1078, Other, Relative)]);
        runner.step((0x204, 0x1_1070, Other, Relative));
        for _ in 0..2 {
            deliver(&mut runner, 0x1_1070, 0x5c08, Some(0x5000..0x6000));
            let stacks = runner.steps(&[
                (0x600, 0x5c08, Call, Relative),
                (0x800, 0x5c00, Other, Foreign), // mov 48(%rdi),%rsp
                (0x804, 0x1_1080, Indirect, Relative),
                (0x50, 0x1_1080, Other, Relative),
            ]);
            assert_eq!(stacks[1], [0x200, 0x700, 0x600, 0x800]);
            assert_eq!(stacks[3], NONE);
            runner.steps(&[(0x10, 0x1_1080, Call, Relative), (0x200, 0x1_1070, Other, Relative)]);
        }
    }

    #[test]
    fn a_signal_before_a_new_context_has_begun_is_delivered_to_that_context() {
        let mut runner = Runner::new(&AMD64, 0x1_1080);
        runner.steps(&[
            (0x10, 0x1_1080, Call, Relative),
            (0x100, 0x1_1078, Other, Foreign),
            (0x104, 0x4ff0, Return, Relative),
        ]);
        deliver(&mut runner, 0x4ff0, 0x4a08, None);
        assert_eq!(runner.callees(), [0x700, 0x600]);
        assert_eq!(runner.witness.call_stack().bottom(), Bottom::Context);
        runner.steps(&[(0x600, 0x4a08, Return, Relative), (0x700, 0x4a10, Other, Relative)]);
        runner.witness.signal_return(&Place { pc: 0x104, sp: 0x4ff0, fp: 0 });
        let stacks = runner.steps(&[(0x104, 0x4ff0, Return, Relative), (0x900, 0x4ff8, Other, Relative)]);
        assert_eq!(stacks, [NONE, NONE]);
    }
}
