//! Where control arrives by a return, or by another branch to an address that is computed.

use super::known_code::{FARTHEST_PART, Frame};
use super::stacks::Stack;
use super::{Action, Branch, Movement, Place, Witness, landing};
use crate::call_stack::{CallStack, Exit, Record};
use crate::cpu::Control;

/// What is known where control arrives, and has not returned from the innermost call.
struct Arrival {
    at: Place,
    /// Where it has come from.
    from: u64,
    /// The innermost call.
    top: Record,
    /// The outermost call that SP has left.
    left: Option<Record>,
    /// Where the context was left that SP has gone to.
    resumed: Option<u64>,
    is_return: bool,
    /// Whether SP was loaded with the value that it has.
    restored: bool,
    /// Whether the callee has moved SP for its caller.
    moves_sp: bool,
}

impl Witness {
    /// Returns whether the next instruction leads from discarded frames, not to where the
    /// innermost call returns to, but into its callee or another frame.
    pub(super) fn lands(&self, next: Action, branch: impl FnOnce() -> Option<Branch>) -> bool {
        let elsewhere = |to| self.top().is_none_or(|top| top.return_address != to);
        !self.faults.misses_landings
            && self.left.is_some()
            && next.control.is_indirect()
            && branch().is_some_and(|branch| branch.is_certain && elsewhere(branch.to))
    }

    /// Returns whether SP has been loaded as it was at the call of another frame, of the function where control is about to
    /// go: a landing pad may be right after the innermost call.
    pub(super) fn is_loaded_for_another(&self, sp: u64, target: impl Fn() -> Option<u64>) -> bool {
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
    pub(super) fn returns_elsewhere(&self, sp: u64, target: Option<u64>) -> bool {
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
    pub(super) fn returns_further(&self, pc: u64, sp: u64) -> Option<usize> {
        let first = self.current.stacks.last().map_or(0, |stack| stack.first);
        let records = self.current.call_stack.records();
        let same_sp = |depth: &usize| records[*depth].caller_sp == sp;
        let returns = |depth: &usize| !records[*depth].interrupted && records[*depth].return_address == pc;
        (first..records.len()).rev().skip(1).take_while(same_sp).find(returns)
    }

    /// Follows an indirect branch to `pc`.
    pub(super) fn arrive(&mut self, at: Place) {
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
            return self.arrive_in_fresh_memory(at);
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
            return self.begin_again(at, entered);
        }
        if restored && self.arrive_again(at, left) {
            return;
        }
        let arrival = Arrival { at, from, top, left, resumed, is_return, restored, moves_sp };
        self.arrive_elsewhere(&arrival);
    }

    /// Control arrives after SP has gone to fresh memory: a callee has moved it, or a context begins.
    fn arrive_in_fresh_memory(&mut self, at: Place) {
        let Place { pc, sp, .. } = at;
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
    }

    /// Control arrives in none of the functions of the context that SP has gone to, where that began: it has ended.
    fn begin_again(&mut self, at: Place, entered: u64) {
        self.control_flow.contexts_begun += 1;
        self.callees.insert(at.pc);
        self.current.call_stack.truncate(0);
        self.contexts += 1;
        self.current.call_stack.context = self.contexts;
        self.current.stacks = vec![Stack::new(0, entered, at.sp)];
        self.begins = true;
    }

    /// Control arrives where a call has returned to before, with the same SP. Returns whether that is all.
    fn arrive_again(&mut self, at: Place, left: Option<Record>) -> bool {
        let Place { pc, sp, .. } = at;
        let Some(frame) = self.returned.get(&(pc, sp)) else { return false };
        if !self.is_there(frame) {
            return self.enter_again(pc, sp);
        }
        if !self.faults.misses_nonlocal_exits {
            self.control_flow.nonlocal_exits += 1;
            let lost = self.current.call_stack.records().len() - frame.depth;
            self.control_flow.discarded_frames += lost as u64;
            let call = self.current.call_stack.records().get(frame.depth).copied().or(left);
            self.current.call_stack.truncate(frame.depth);
            self.current.call_stack.exit = Some(landing(call, None));
        }
        true
    }

    /// Control arrives where the innermost call does not return to as functions do that leave SP alone.
    fn arrive_elsewhere(&mut self, arrival: &Arrival) {
        let Arrival { at, from, top, left, resumed, is_return, restored, moves_sp } = *arrival;
        let Place { pc, sp, .. } = at;
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
    pub(super) fn returns(call: &Record, at: Place) -> bool {
        call.return_address == at.pc && call.caller_sp == at.sp && !call.interrupted
    }

    /// Whether control returns with SP lower than at the call: an outlined prologue, or a probe of the stack,
    /// has taken its return address off the stack and made a frame for its caller.
    pub(super) fn returns_outlined(&self, call: &Record, at: Place) -> bool {
        self.popped == Some(call.since) && self.returns_below(call, at)
    }

    /// Whether control goes to the return address of a call and leaves it on the stack: it has returned,
    /// unless a function begins there that the callee goes on in.
    pub(super) fn returns_keeping(&self, call: &Record, at: Place) -> bool {
        self.links_on_stack && self.returns_below(call, at) && self.callees.at(at.pc) != Some(at.pc)
    }

    /// Whether control comes to the return address of a call with SP lower than at the call.
    pub(super) fn returns_below(&self, call: &Record, at: Place) -> bool {
        !self.faults.misses_outlined_frames
            && (call.return_address == at.pc && at.sp < call.caller_sp && !call.interrupted)
    }

    /// Whether an address is in the function that has made a call, as far as is known, and not in its callee.
    pub(super) fn is_callers(&self, pc: u64, call: &Record) -> bool {
        let here = self.callees.at(pc);
        here.is_some_and(|here| self.calls_from(call, here) && !self.stubs.runs(call, here))
            && !call.interrupted
            && !self.faults.misses_landings
    }

    /// Whether control returns from the innermost of the calls that SP has moved past: its callee has removed
    /// arguments from the caller's stack.
    pub(super) fn returns_beyond(&self, at: Place, departed: &CallStack) -> bool {
        let Some((last, others)) = departed.records().split_last() else { return false };
        last.return_address == at.pc
            && !last.interrupted
            // With the SP of another frame's call, it lands there: a landing pad may be right after a call.
            && !others.iter().any(|call| call.caller_sp == at.sp)
            && !self.top().is_some_and(|top| Self::returns(top, at))
    }

    pub(super) fn return_beyond(&mut self, at: Place, departed: CallStack) {
        let lost = departed.records().len() - self.current.call_stack.records().len();
        self.control_flow.discarded_frames -= lost as u64;
        self.control_flow.returns += 1;
        self.current.call_stack.restore(departed);
        self.return_to(at);
    }

    /// Ends the innermost call, and remembers where it has returned to.
    pub(super) fn return_to(&mut self, at: Place) {
        self.current.call_stack.pop();
        self.current.call_stack.exit = Some(Exit::Return);
        self.returned.insert((at.pc, at.sp), self.innermost());
        self.levels.insert(at.sp, self.innermost());
    }

    /// Returns the innermost frame.
    pub(super) fn innermost(&self) -> Frame {
        let records = self.current.call_stack.records();
        Frame { depth: records.len(), since: records.last().map_or(0, |call| call.since) }
    }

    /// Remembers the innermost call if its callee has no frame although it calls: `sigsetjmp`
    /// keeps its return address elsewhere.
    pub(super) fn note_frameless(&mut self, pc: u64, sp: u64) {
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
    pub(super) fn enter_again(&mut self, pc: u64, sp: u64) -> bool {
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
    pub(super) fn is_there(&self, frame: Frame) -> bool {
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
    pub(super) fn calls_from(&self, call: &Record, function: u64) -> bool {
        self.callees.at(call.return_address.wrapping_sub(1)) == Some(function)
    }

    /// Returns whether the innermost frame is in this function: by the call that it had made,
    /// if SP has moved past it, or by where control was.
    pub(super) fn is_innermost(&self, function: u64, left: Option<Record>, from: u64) -> bool {
        match left {
            Some(call) => self.calls_from(&call, function),
            None => self.callees.at(from) == Some(function),
        }
    }

    /// Returns whether an address is in the callee of one of the calls.
    pub(super) fn is_in_callee(&self, pc: u64) -> bool {
        let Some(here) = self.callees.at(pc) else { return false };
        self.current.call_stack.records().iter().any(|call| self.stubs.runs(call, here))
    }

    /// Returns whether control that comes to `pc`, with SP as it was at the innermost call,
    /// stays in its callee, which has no frame, and is not in its caller. `resumed` is where
    /// the context was left, if it continues after another one.
    pub(super) fn stays(&self, pc: u64, left: Option<Record>, resumed: Option<u64>, top: &Record) -> bool {
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
    pub(super) fn land(&mut self, at: Place, from: u64, left: Option<Record>) {
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
}
