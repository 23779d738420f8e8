//! The stacks of a context, and where SP goes among them.

use std::ops::Range;

use super::{Action, Movement, Previous, Witness};
use crate::call_stack::{Bottom, CallStack};

/// Memory that holds frames of a call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stack {
    /// The oldest record that was made on it, by position.
    pub(super) first: usize,
    /// The highest SP seen on it.
    pub(super) base: u64,
    /// SP when it was entered.
    pub(super) entered: u64,
    /// SP when it was left; only meaningful if it is not the current one.
    pub(super) left: u64,
    /// Whether it lies on another one of the context: a function has loaded SP for that, and has gone on.
    pub(super) is_shared: bool,
}

impl Stack {
    /// A stack that SP has reached with the value `entered`, and whose first
    /// frame begins with `sp`.
    pub(super) const fn new(first: usize, entered: u64, sp: u64) -> Self {
        let base = if entered > sp { entered } else { sp };
        Self { first, base, entered, left: sp, is_shared: false }
    }

    /// The number of bytes in use when it was left, if `sp` is among them.
    pub(super) fn holds(&self, sp: u64) -> Option<u64> {
        (self.left <= sp && sp <= self.base).then(|| self.base - self.left)
    }
}

/// SP moves no further within a stack of which nothing else is known, in bytes.
const LARGEST_FRAME: u64 = 1 << 20;

/// A thread of control: its calls and their stacks, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) call_stack: CallStack,
    pub(super) stacks: Vec<Stack>,
    /// The instruction that left it for another context.
    pub(super) left_at: u64,
}

/// SP has been loaded for a stack on which frames were left, and control has gone nowhere since.
#[derive(Clone, Debug)]
pub(super) struct Switched {
    /// What was left.
    pub(super) before: Context,
    /// The context that it has gone to, as it was, if that is another one.
    pub(super) resumed: Option<Context>,
    /// The context that has been kept of what was left.
    pub(super) parked: u32,
}

/// SP has gone to fresh memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsettled {
    /// SP before.
    pub(super) left: u64,
    /// SP after.
    pub(super) entered: u64,
}

/// Where SP has gone.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// To a stack of the current context, by position.
    Own(usize),
    /// To a stack of a parked context, by the positions of both.
    Parked(usize, usize),
}

impl Context {
    /// Its records, its stacks, and itself.
    pub(super) fn size(&self) -> usize {
        self.call_stack.records().len() + self.stacks.len() + 1
    }

    /// Remembers where SP was when it left for another stack.
    pub(super) fn leave_stack(&mut self, sp: u64) {
        if let Some(stack) = self.stacks.last_mut() {
            stack.left = sp;
        }
    }
}

impl Witness {
    /// A function may load SP for a stack that it does not leave for, and call from there: it goes on, as code with stacks
    /// of its own does that calls C. Nothing has led out of it.
    pub(super) fn go_on_elsewhere(&mut self, sp: u64) {
        if self.come_back() {
            let first = self.current.call_stack.records().len();
            self.current.stacks.push(Stack { is_shared: true, ..Stack::new(first, sp, sp) });
            self.control_flow.stack_moves += 1;
        }
    }

    /// Takes it back that SP has been loaded for another stack. Returns whether it has been.
    pub(super) fn come_back(&mut self) -> bool {
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
    pub(super) fn move_stack(&mut self, sp: u64) {
        if let Some(Unsettled { left, entered }) = self.unsettled.take() {
            self.control_flow.stack_moves += 1;
            let first = self.current.call_stack.records().len();
            self.current.leave_stack(left);
            self.current.stacks.push(Stack::new(first, entered, sp));
        }
    }

    /// Begins a context in the memory that SP has gone to.
    pub(super) fn begin_context(&mut self, sp: u64) {
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
    pub(super) fn park(&mut self, mut context: Context) {
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
    pub(super) fn follow_stack(&mut self, sp: u64) {
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

    pub(super) fn unsettle(&mut self, left: u64, entered: u64) {
        self.unsettled = Some(Unsettled { left, entered });
        self.unsettle_here();
    }

    /// Handles SP moving on its stack. If the stack grows over frames of a parked context,
    /// these have ended: their memory is used again.
    pub(super) fn grow(&mut self, before: u64, sp: u64) {
        if sp < before {
            self.forget(sp..before);
        } else if self.unsettled.is_none()
            && let Some(stack) = self.current.stacks.last_mut()
        {
            stack.base = stack.base.max(sp);
        }
    }

    /// Drops the parked contexts that have frames in a range.
    pub(super) fn forget(&mut self, range: Range<u64>) {
        if !self.parked.is_empty() {
            let used = |stack: &Stack| range.start < stack.base && stack.left < range.end;
            self.parked.retain(|context| !context.stacks.iter().any(used));
            self.parked_size = self.parked.iter().map(Context::size).sum();
        }
    }

    /// Returns the smallest stack that was left with `sp` among its bytes.
    pub(super) fn find(&self, sp: u64) -> Option<(Target, u64)> {
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
    pub(super) fn go_to(&mut self, target: Target, sp: u64, switched: Option<Switched>) {
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
}
