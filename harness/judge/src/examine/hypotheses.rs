//! Calls of which only what follows shows whether they are any.
//!
//! - A call within a function may fetch an address: of data that is skipped, for instance. Then its return address is
//!   taken from where it was put, and control never returns there.
//! - A call to the next instruction, which puts the PC where a return address would be, may return there as well. So
//!   may what is reached by a branch that leaves the return address elsewhere than the ABI has it.
//! - A jump may call a function, if it leaves a return address where the ABI has it. Then the function returns there.
//!   If that is in the place of the one that the code before the jump was called with, and leads to the same caller,
//!   the function returns in its place.
//! - A jump for which SP was loaded from memory may stay in its frame, or land in one further out: compiled code that
//!   leaves for its interpreter stays. So may one to the caller's code, past the data after a call for instance. Where
//!   it has stayed, the frame returns.
//!
//! Until that is known, each comparison is made both ways. What comes of it counts once control has shown which it
//! was: the function has returned to that address with the right SP, or the frame that would have been its caller has
//! ended before. If the run ends before that, what is right only for the opposite of what the call stack says is set
//! aside.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::{InstructionPointer, LookupAddress, ReturnAddress};
use sframe_inspect::instructions::MOST_REMOVED;
use sframe_machine::{CallStack, Exit, Moment, Record};

use crate::compare::{Disagreement, Value};
use crate::examine::results::Results;
use crate::target::{Loaded, Target};
use crate::truth::stores::LastStores;
use crate::unwind::Backtrace;
use crate::vocabulary::Verdict;

/// At most this many are open at a time. Any others are taken for what the innermost one of their kind is, or for what
/// they look like if there is none.
const MOST: usize = 3;

/// So many of those that have turned out otherwise are remembered.
const MOST_REFUTED: usize = 64;

/// What may be a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Candidate {
    /// A call instruction within a function: the record is on the call stack.
    Call,
    /// A jump, or a call that is not taken for one: the record is not on the call stack.
    Jump,
    /// A jump after which a function returns elsewhere in its caller: the record is there with another return address.
    TailJump,
    /// A landing in the innermost frame: so many records fewer are on the call stack if it is one further out.
    Landing(usize),
}

/// A call that may be none, or a jump that may be one.
#[derive(Debug)]
pub(super) struct Hypothesis {
    candidate: Candidate,
    /// Where the record is, or would be, from the oldest on.
    position: usize,
    call: Record,
    /// The record that is on the call stack there, except for a jump: then it is the call of the frame that it was made
    /// from.
    known: Option<Record>,
    /// The results of the moments since then, by what the hypotheses turn out to be: see [`Truth::at`].
    results: Vec<Results>,
    /// The instructions at which rows disagree with what the call stack says, and agree with what may be otherwise.
    pending: Vec<u64>,
    /// Those of which an inner one has left that open.
    unknown: Vec<u64>,
    /// More of its kind, for which there was no room: they are taken to be what it is. Their positions, and the calls that
    /// are on the call stack there.
    others: Vec<(usize, Record)>,
}

/// What hypotheses turn out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    /// What the call stack says.
    AsRecorded,
    /// The opposite.
    Otherwise,
    /// Not known.
    Either,
}

impl Truth {
    const ALL: [Self; 3] = [Self::AsRecorded, Self::Otherwise, Self::Either];

    /// Returns the number of different results of some hypotheses.
    fn places(hypotheses: usize) -> usize {
        (0..hypotheses).fold(1, |places, _| places * Self::ALL.len())
    }

    /// Returns what each of some hypotheses turns out to be where results are, the oldest first: positions count in
    /// threes, the last one fastest.
    fn at(place: usize, hypotheses: usize) -> Vec<Self> {
        let of = |digit| Self::ALL[place / Self::places(digit) % Self::ALL.len()];
        (0..hypotheses).rev().map(of).collect()
    }
}

/// What has come of hypotheses.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) results: Results,
    /// The instructions at which rows disagree with what the call stack has said, and agree with what may be otherwise.
    pub(super) pending: Vec<u64>,
    /// Whether it is not known which of the two it was.
    pub(super) is_open: bool,
    /// The instructions at which the result is unknown.
    pub(super) unknown: Vec<u64>,
}

/// The hypotheses that are open, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Hypotheses {
    open: Vec<Hypothesis>,
    thread: u32,
    /// Where control has last returned to.
    returned_to: u64,
    /// Code within functions that has returned from a call.
    subroutines: FxHashSet<u64>,
    /// Whether calls lead to code within the function that makes them, by return address, with their callees: the last
    /// answers of [`is_within_function`], which looks two functions up.
    within: FxHashMap<u64, (u64, bool)>,
    /// When the calls were made last that have turned out to be none, or to have ended before.
    refuted: VecDeque<u64>,
    /// What has turned out to be something.
    closed: Vec<Closed>,
}

/// What a question has turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// How many others are still open: those that were asked before.
    pub open: usize,
    /// Whether it was the opposite of what the call stack says; `None` if nothing shows that.
    pub is_otherwise: Option<bool>,
}

/// What the calls of a moment may be, where the run has yet to show whether one of them is none, or a jump was one.
#[derive(Clone, Copy, Debug)]
pub struct Readings<'h>(Option<&'h Hypotheses>);

impl Readings<'_> {
    /// Returns the call stacks that there may be instead of what the witness has recorded: with that before them, twice as
    /// many for each question, of which the last one to be asked changes from each to the next.
    #[must_use]
    pub fn others(self, recorded: &CallStack) -> Vec<CallStack> {
        let Some(hypotheses) = self.0 else { return Vec::new() };
        hypotheses.call_stacks(recorded).split_off(1)
    }
}

impl Hypotheses {
    /// Whether any is open for a thread.
    #[inline]
    pub(super) fn are_open(&self, thread: u32) -> bool {
        !self.open.is_empty() && self.thread == thread
    }

    /// Returns what a thread's calls may be.
    #[inline]
    pub(super) fn readings(&self, thread: u32) -> Readings<'_> {
        Readings(Some(self).filter(|hypotheses| hypotheses.are_open(thread)))
    }

    /// Returns what questions have turned out to be since this was last called, the last one to be asked first: see
    /// [`Probe::settled`](super::Probe::settled).
    pub(super) fn take_closed(&mut self) -> Vec<Closed> {
        std::mem::take(&mut self.closed)
    }

    /// Takes note of a return.
    #[inline]
    pub(super) const fn returned(&mut self, moment: &Moment<'_>) {
        self.returned_to = moment.pc;
    }

    fn has_room(&self, thread: u32) -> bool {
        self.open.is_empty() || (self.thread == thread && self.open.len() < MOST)
    }

    fn add(&mut self, thread: u32, candidate: Candidate, position: usize, call: Record, calls: &[Record]) {
        self.thread = thread;
        let known = candidate.known(position).and_then(|known| calls.get(known)).copied();
        let results = (0..Truth::places(self.open.len() + 1)).map(|_| Results::default()).collect();
        let (pending, unknown, others) = (Vec::new(), Vec::new(), Vec::new());
        self.open.push(Hypothesis { candidate, position, call, known, results, pending, unknown, others });
    }

    /// Adds a call that is on the call stack, or takes it for what the innermost one of its kind is if there is no room.
    fn add_known(
        &mut self,
        thread: u32,
        candidate: Candidate,
        position: usize,
        call: Record,
        calls: &[Record],
    ) {
        if self.has_room(thread) {
            self.add(thread, candidate, position, call, calls);
        } else if self.thread == thread
            && let Some(last) = self.open.iter_mut().rfind(|last| last.candidate == candidate)
        {
            last.others.push((position, call));
        }
    }

    /// Whether a call has turned out to be none, or to have ended before.
    pub(super) fn is_refuted(&self, call: &Record) -> bool {
        self.refuted.contains(&call.since)
    }

    /// Whether a call leads to code within the function that makes it: [`is_within_function`] is asked once for each
    /// place and callee.
    fn is_within_function(&mut self, call: &Record, target: &Target<'_>) -> bool {
        match self.within.get(&call.return_address) {
            Some((callee, is_within)) if *callee == call.callee => *is_within,
            _ => {
                let is_within = is_within_function(call, target);
                self.within.insert(call.return_address, (call.callee, is_within));
                is_within
            }
        }
    }

    /// Takes note of a call that has just been made, if it may be none: it leads into the function that it is in, and
    /// nothing says that a function begins there.
    pub(super) fn called(&mut self, moment: &Moment<'_>, target: &Target<'_>) {
        let calls = moment.call_stack.records();
        let Some(call) = moment.call().filter(|call| !call.interrupted) else { return };
        if !self.subroutines.contains(&call.callee) && self.is_within_function(call, target) {
            self.add_known(moment.thread, Candidate::Call, calls.len() - 1, *call, calls);
        }
    }

    /// Takes note of a jump that may be a call: a walk from its target leads to a return address that is where the ABI
    /// has it.
    fn jumped(
        &mut self,
        moment: &Moment<'_>,
        backtrace: &Backtrace,
        stores: &LastStores,
        target: &Target<'_>,
    ) -> bool {
        // What the last call has left behind is no return address that a jump has left, nor is the function's own.
        let own = moment.call_stack.records().last();
        let is_own = |address| own.is_some_and(|own| own.is_return_address(address));
        let place = |call: &Record| (call.return_address, call.caller_sp);
        let is_asked =
            |call: &Record| self.open.iter().any(|open| open.is_jump() && place(&open.call) == place(call));
        let is_new = |call: &Record| {
            call.return_address != self.returned_to && !is_own(call.return_address) && !is_asked(call)
        };
        let call = jump(moment, backtrace, stores).filter(is_new).filter(|_| self.has_room(moment.thread));
        let Some(call) = call else { return false };
        let calls = moment.call_stack.records();
        let replaces = calls.last().is_some_and(|last| replaces(&call, last, moment, target));
        let candidate = if replaces { Candidate::TailJump } else { Candidate::Jump };
        self.add(moment.thread, candidate, calls.len() - usize::from(replaces), call, calls);
        true
    }

    /// Takes note of what has just been reached by what is not taken for a call, if it may be one. A walk from there is
    /// given if it has been jumped to.
    pub(super) fn reached(
        &mut self,
        moment: &Moment<'_>,
        jumped: Option<&Backtrace>,
        stores: &LastStores,
        target: &Target<'_>,
    ) -> bool {
        self.linked(moment) || jumped.is_some_and(|backtrace| self.jumped(moment, backtrace, stores, target))
    }

    /// Takes note of a return address that has just been left, by what is not taken for a call.
    pub(super) fn linked(&mut self, moment: &Moment<'_>) -> bool {
        let is_noted = self.open.last().is_some_and(|last| last.call.since + 1 == moment.time);
        let linked = moment.call_stack.linked().filter(|_| !is_noted && self.has_room(moment.thread));
        let Some(return_address) = linked else { return false };
        let calls = moment.call_stack.records();
        let call = moment.as_entered(return_address);
        self.add(moment.thread, Candidate::Jump, calls.len(), call, calls);
        true
    }

    /// Takes note of a landing in the innermost frame that may be in another one, with so many calls below.
    #[cold]
    pub(super) fn landed(&mut self, moment: &Moment<'_>, frame: usize) {
        let calls = moment.call_stack.records();
        if let Some(last) = calls.last() {
            let candidate = Candidate::Landing(calls.len() - frame);
            self.add_known(moment.thread, candidate, calls.len() - 1, *last, calls);
        }
    }

    /// Settles those of which a moment shows what they are. Returns the results that count now, if no other is open.
    #[cold]
    pub(super) fn settle(&mut self, moment: &Moment<'_>, target: &Target<'_>) -> Option<Settled> {
        let mut settled = None;
        let calls = moment.call_stack.records();
        for hypothesis in &mut self.open {
            let is_there = |(position, call): &(usize, Record)| {
                calls.get(*position).is_some_and(|record| record.since == call.since)
            };
            let ended = hypothesis.others.extract_if(.., |other| !is_there(other));
            self.refuted.extend(ended.map(|(_, call)| call.since));
        }
        while let Some(truth) = self.open.last().and_then(|last| last.truth(moment)) {
            settled = self.close(truth, target).or(settled);
        }
        settled
    }

    /// Settles all: nothing more is seen of them.
    pub(super) fn abandon(&mut self, target: &Target<'_>) -> Option<Settled> {
        let mut settled = None;
        while !self.open.is_empty() {
            settled = self.close(Truth::Either, target).or(settled);
        }
        settled
    }

    /// Settles the last one. Returns its results if no other is open.
    fn close(&mut self, truth: Truth, target: &Target<'_>) -> Option<Settled> {
        let last = self.open.pop()?;
        let is_otherwise = (truth != Truth::Either).then_some(truth == Truth::Otherwise);
        self.closed.push(Closed { open: self.open.len(), is_otherwise });
        if last.candidate == Candidate::Call && truth == Truth::AsRecorded {
            self.subroutines.insert(last.call.callee);
        }
        if truth == Truth::Otherwise && !last.is_jump() {
            self.refuted.extend(last.known.map(|known| known.since));
        }
        self.refuted.drain(..self.refuted.len().saturating_sub(MOST_REFUTED));
        let of_truth = |(index, results)| (index % 3 == truth as usize).then_some(results);
        let results = last.results.into_iter().enumerate().filter_map(of_truth);
        let (pending, unknown, is_open) = (last.pending, last.unknown, truth == Truth::Either);
        match self.open.last_mut() {
            None => results.into_iter().next().map(|results| Settled { results, pending, is_open, unknown }),
            Some(outer) => {
                outer.results.iter_mut().zip(results).for_each(|(outer, inner)| outer.merge(inner, target));
                // What only an inner one has left open is settled for the outer ones.
                let left = if is_open { &mut outer.unknown } else { &mut outer.pending };
                left.extend(pending);
                outer.unknown.extend(unknown);
                None
            }
        }
    }

    /// Returns the call stacks that there may be, with the positions of their results: what the witness has recorded is
    /// the first.
    pub(super) fn call_stacks(&self, recorded: &CallStack) -> Vec<CallStack> {
        let both = [Truth::AsRecorded, Truth::Otherwise];
        let all = 0..1_usize << self.open.len();
        all.map(|bits| {
            // The innermost first, so that the positions of the others stay.
            let chosen = self.open.iter().enumerate().rev();
            chosen.fold(recorded.clone(), |stack, (index, hypothesis)| {
                let bit = bits >> (self.open.len() - 1 - index) & 1;
                if both[bit] == Truth::AsRecorded { stack } else { hypothesis.otherwise(&stack) }
            })
        })
        .collect()
    }

    /// Whether a disagreement follows from a jump having made a call, and is no fault of the row: what jumps has pushed
    /// the return address itself, so that SP is lower at the jump than when the callee has returned. The row is that of
    /// the jump.
    pub(super) fn is_of_jump(&self, found: &Disagreement, call_stack: &CallStack, pushed: u64) -> bool {
        let made = found.frame.checked_sub(1).and_then(|frame| call_stack.innermost_first().nth(frame));
        let is_made_by = |hypothesis: &Hypothesis| {
            hypothesis.candidate == Candidate::Jump && Some(&hypothesis.call) == made
        };
        let (Value::Word(expected), Value::Word(got)) = (found.expected, found.got) else { return false };
        found.verdict == Verdict::WrongCfa
            && pushed > 0
            && got == expected.wrapping_add(pushed)
            && self.open.iter().any(is_made_by)
    }

    /// Adds the results of a moment, one for each of [`Self::call_stacks`], where `is_right` says which of them agree.
    /// `add` is called for each place where results go, with the call stack's position; `None` for what is right only
    /// for the opposite of what the call stack says, where nothing shows that.
    pub(super) fn record(
        &mut self,
        pc: u64,
        is_right: &[bool],
        mut add: impl FnMut(Option<usize>, &mut Results),
    ) {
        let count = self.open.len();
        let Some(last) = self.open.last_mut() else { return };
        if is_right.first() == Some(&false) && is_right.contains(&true) {
            last.pending.push(pc);
        }
        for (place, results) in last.results.iter_mut().enumerate() {
            let truths = Truth::at(place, count);
            let fits = |stack: &usize| {
                truths.iter().enumerate().all(|(index, truth)| match truth {
                    Truth::Either => true,
                    truth => stack >> (count - 1 - index) & 1 == *truth as usize,
                })
            };
            let mut stacks = (0..1 << count).filter(fits);
            let first = stacks.next().unwrap_or_default();
            let is_open = !is_right[first] && stacks.any(|stack| is_right[stack]);
            add(Some(first).filter(|_| !is_open), results);
        }
    }
}

impl Hypothesis {
    /// Returns the call stack if the opposite of what it says is true.
    fn otherwise(&self, recorded: &CallStack) -> CallStack {
        let left = match self.candidate {
            Candidate::Call => 1,
            Candidate::Landing(left) => left,
            Candidate::Jump => return recorded.with(self.position, self.call),
            Candidate::TailJump => {
                return recorded.without(self.position..self.position + 1).with(self.position, self.call);
            }
        };
        // The innermost first, so that the positions of the others stay.
        let positions = self.others.iter().rev().map(|(position, _)| *position).chain([self.position]);
        positions.fold(recorded.clone(), |stack, position| stack.without(position + 1 - left..position + 1))
    }

    /// What a moment shows it to be.
    fn truth(&self, moment: &Moment<'_>) -> Option<Truth> {
        let calls = moment.call_stack.records();
        // A function may remove arguments that were on the stack.
        let removed = moment.sp.checked_sub(self.call.caller_sp);
        let is_removed = |bytes: u64| bytes == 0 || self.is_jump() && bytes <= MOST_REMOVED;
        let returns = moment.call().is_none()
            && moment.pc == self.call.return_address
            && removed.is_some_and(is_removed);
        let is_there = |known: &Record| {
            let at = self.candidate.known(self.position).and_then(|at| calls.get(at));
            at.is_some_and(|record| record.since == known.since)
        };
        let is_back = self.candidate == Candidate::Jump && returns && calls.len() == self.position;
        if self.known.as_ref().is_none_or(is_there) && !is_back {
            return None;
        }
        // The frame that would have been the caller has ended by a landing further out: nobody returns any more.
        if self.is_jump() && !returns && matches!(moment.call_stack.exit(), Some(Exit::Landing { .. })) {
            return Some(Truth::Either);
        }
        Some(if returns == self.is_jump() { Truth::Otherwise } else { Truth::AsRecorded })
    }

    const fn is_jump(&self) -> bool {
        matches!(self.candidate, Candidate::Jump | Candidate::TailJump)
    }
}

impl Candidate {
    /// Returns the position of the record by which it is known that it is open.
    const fn known(self, position: usize) -> Option<usize> {
        match self {
            Self::Call | Self::Landing(_) | Self::TailJump => Some(position),
            Self::Jump => position.checked_sub(1),
        }
    }
}

/// Whether a call leads to code within the function that makes it, and neither section nor CFI has a function there.
fn is_within_function(call: &Record, target: &Target<'_>) -> bool {
    let fde = |address: LookupAddress| target.sections.lookup_fde(address).ok().flatten();
    let (callee, caller) = (InstructionPointer(call.callee), ReturnAddress(call.return_address));
    let (Some(own), Some(callers)) = (fde(callee.into()), fde(caller.into())) else { return false };
    let begins = || {
        let module = target.module_at(callee)?;
        let linked = module.linked(Loaded(call.callee)).0;
        Some(module.cfi()?.fde_at(linked)?.range.start == linked)
    };
    own.start == callers.start && own.start != call.callee && begins() != Some(true)
}

/// The call that a jump was, if a walk from its target is that of a callee whose return address is where the ABI has
/// it.
fn jump(moment: &Moment<'_>, backtrace: &Backtrace, stores: &LastStores) -> Option<Record> {
    let [topmost, caller, ..] = backtrace.frames[..] else { return None };
    let abi = moment.abi();
    let caller_sp = abi.sp_from_cfa(topmost.cfa?);
    let (linked, since) = match abi.ra() {
        Some(link) => (moment.register(link.0)?, moment.time.saturating_sub(1)),
        None => (moment.memory.read_u64(moment.sp)?, stores.last(moment.sp)?.time),
    };
    let is_known = |call: &Record| (call.return_address, call.caller_sp) == (caller.pc, caller_sp);
    let is_linked = caller_sp == moment.sp.wrapping_add(abi.pushed_by_calls()) && linked == caller.pc;
    let is_new = !moment.call_stack.records().iter().any(is_known);
    (is_linked && is_new && caller.fp == Ok(moment.fp))
        .then(|| Record { since, ..moment.as_called(caller.pc, caller_sp) })
}

/// Whether the call that a jump was takes the place of the innermost one: its return address is where the other one
/// was, or in the code that has made that one, and not in its callee.
fn replaces(call: &Record, last: &Record, moment: &Moment<'_>, target: &Target<'_>) -> bool {
    let function =
        |address: LookupAddress| target.sections.lookup_fde(address).ok().flatten().map(|fde| fde.start);
    let callers = function(ReturnAddress(last.return_address).into());
    let is_callers = || {
        callers.is_some()
            && callers == function(ReturnAddress(call.return_address).into())
            && callers != function(InstructionPointer(last.callee).into())
    };
    call.caller_sp == last.caller_sp && !last.interrupted && (moment.abi().ra().is_none() || is_callers())
}
