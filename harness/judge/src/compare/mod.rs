//! Compares one backtrace with one call stack.

mod bottom;
pub(crate) mod incremental;
mod reliability;
mod rules;
pub(crate) mod steady;
mod topmost;

pub use reliability::Reliabilities;
pub(crate) use reliability::{first_wrong_frame, reliability};
pub(crate) use rules::Remembered;
pub use rules::{Rules, RulesAt};
pub(crate) use topmost::{ByPc, LastInstructions, Start};
pub use topmost::{ByTopmost, Topmosts};

use std::ops::Range;

use sframe_engine::{
    DwarfRegister, InstructionPointer, LookupAddress, Mangled, PauthKey, Pc, RecoveryRule, ReturnAddress,
    StepError, Tracked,
};
use sframe_machine::{AuthenticationKey, CallStack, Memory, Moment, Record};

use crate::truth::stores::{LastStores, Store};
use crate::unwind::{Backtrace, Bases, End, Frame, State, Unreadable, Viewpoint};
use crate::vocabulary;
use crate::vocabulary::Verdict;

/// The true state at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Truth<'m> {
    /// The PC.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer register.
    pub fp: u64,
    /// The number of bytes below SP that belong to the topmost function.
    pub red_zone: u64,
    /// The calls that have not returned.
    pub call_stack: &'m CallStack,
    /// When memory was stored to. Without it, rules are not checked for reading
    /// what the function has saved.
    pub stores: Option<&'m LastStores>,
    /// What is seen of the machine. Without it, the rules of frames whose callers no walk goes on to are not checked.
    pub viewpoint: Option<&'m Viewpoint<'m>>,
    /// A fault to inject into the comparison, to check that it is noticed: every FP
    /// is accepted.
    pub(crate) ignores_fp: bool,
}

impl<'m> Truth<'m> {
    /// The truth at a moment.
    pub const fn of(moment: &Moment<'m>) -> Self {
        Self {
            pc: moment.pc,
            sp: moment.sp,
            fp: moment.fp,
            red_zone: moment.red_zone(),
            call_stack: moment.call_stack,
            stores: None,
            viewpoint: None,
            ignores_fp: false,
        }
    }

    /// The truth with what is seen of the machine.
    #[must_use]
    pub const fn seen_from(&self, viewpoint: &'m Viewpoint<'m>) -> Self {
        Self { viewpoint: Some(viewpoint), ..*self }
    }

    /// The truth if these are the calls.
    #[must_use]
    pub const fn by(&self, call_stack: &'m CallStack) -> Self {
        Self { call_stack, ..*self }
    }

    /// Returns the call that made a frame, 0 for the topmost. The outermost has none.
    pub fn call_of(&self, frame: usize) -> Option<&'m Record> {
        let calls = self.call_stack.records();
        calls.get(calls.len().checked_sub(frame + 1)?)
    }

    /// Returns the call that a frame has made; the topmost has made none.
    fn call_from(&self, frame: usize) -> Option<&'m Record> {
        self.call_of(frame.checked_sub(1)?)
    }

    /// Returns what an unwinder without mistakes so far knows about a frame.
    pub fn state(&self, frame: usize) -> State {
        let pc = match self.call_from(frame) {
            None => Pc::Instruction(InstructionPointer(self.pc)),
            Some(call) if call.interrupted => Pc::Instruction(InstructionPointer(call.return_address)),
            Some(call) => Pc::Return(ReturnAddress(call.return_address)),
        };
        State { pc, sp: self.sp_of(frame), fp: Ok(self.fp_of(frame)), same_sp: self.same_sp(frame) }
    }

    /// Returns the number of consecutive steps, up to a frame, that did not move
    /// SP: those from frames that made their calls with their callers' SP.
    fn same_sp(&self, frame: usize) -> u8 {
        let stays = |callee: &usize| {
            *callee > 0 && !is_interrupted(self, *callee) && self.sp_of(*callee) == self.sp_of(callee + 1)
        };
        let steps = (0..frame).rev().take(u8::MAX.into()).take_while(stays).count();
        u8::try_from(steps).unwrap_or(u8::MAX)
    }

    /// Whether a frame's caller had FP and SP at the same address.
    pub fn callers_fp_is_sp(&self, frame: usize) -> bool {
        self.call_of(frame).is_some_and(|call| call.caller_fp == call.caller_sp)
    }

    /// Whether a frame has a caller.
    pub fn has_caller(&self, frame: usize) -> bool {
        self.call_of(frame).is_some()
    }

    /// Returns where the rules of a frame are looked up.
    pub fn address(&self, frame: usize) -> LookupAddress {
        match self.call_from(frame) {
            None => InstructionPointer(self.pc).into(),
            Some(call) if call.interrupted => InstructionPointer(call.return_address).into(),
            Some(call) => ReturnAddress(call.return_address).into(),
        }
    }

    /// Returns where frames are looked up, starting at the topmost.
    pub(crate) fn addresses(self) -> impl Iterator<Item = LookupAddress> {
        (0..self.call_stack.depth()).map(move |frame| self.address(frame))
    }

    /// Returns the stack pointer of a frame.
    fn sp_of(&self, frame: usize) -> u64 {
        self.call_from(frame).map_or(self.sp, |call| call.caller_sp)
    }

    /// Returns the frame pointer register in a frame.
    fn fp_of(&self, frame: usize) -> u64 {
        self.call_from(frame).map_or(self.fp, |call| call.caller_fp)
    }

    /// Returns the address of the word that a rule loads a value from, if it needs
    /// no registers but SP and FP.
    pub(crate) fn word(&self, frame: usize, rule: &RecoveryRule) -> Option<u64> {
        let bases = Bases {
            cfa: self.call_of(frame).map(|call| call.cfa),
            sp: Some(self.sp_of(frame)),
            fp: Some(self.fp_of(frame)),
        };
        rule.dereference.then(|| bases.address(rule, |_| None))?
    }

    /// Returns the addresses of the words of a frame, from its SP to its CFA. `None` if it has no caller, or is larger than
    /// frames are that are worth a search.
    pub(crate) fn own_words(&self, frame: usize) -> Option<impl Iterator<Item = u64> + use<>> {
        const LARGEST: u64 = 1 << 16;
        let own = self.sp_of(frame) & !7..self.call_of(frame)?.cfa;
        (own.end.saturating_sub(own.start) <= LARGEST).then(|| own.step_by(8))
    }

    /// Returns where a frame executes or will continue.
    pub fn pc_of(&self, frame: usize) -> u64 {
        self.call_from(frame).map_or(self.pc, |call| call.return_address)
    }
}

/// How a walk that agrees with the call stack ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// At the entry function or the first one of a context, marked as outermost.
    Outermost,
    /// At the entry function, whose section does not mark it: beyond it the
    /// unwinder found an address that belongs to nothing, or could not continue.
    Unmarked {
        /// Whether the walk has frames beyond it, where nobody is.
        goes_beyond: bool,
    },
    /// At the first function of a context that the program has made, which is not
    /// marked. What comes after it is not judged: the program put it there.
    Context {
        /// Whether the walk has frames beyond it, where nobody is.
        goes_beyond: bool,
    },
    /// Nowhere: it is not yet known what the topmost frame is part of.
    Unsettled,
    /// Anywhere: SP has left the frames of the callers, and control has not. What the rows say agrees with the call
    /// stack that control is about to leave, or with the one where it lands.
    Departing,
    /// At a frame without an FDE. The frames inside of it agree.
    NoFde {
        /// The frame, 0 for the topmost.
        frame: usize,
    },
    /// At a frame that a signal has interrupted and whose rules need a register
    /// that is unknown beyond the signal's frame. The frames inside of it agree.
    InRegister {
        /// The frame.
        frame: usize,
    },
    /// At a frame that continues on a stack at lower addresses. Its rules are
    /// right, but unwinders refuse to walk in that direction.
    NoProgress {
        /// The frame.
        frame: usize,
    },
    /// At a disagreement.
    Disagreed,
}

impl WalkEnd {
    /// Whether the walk has reached the outermost frame.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Outermost | Self::Unmarked { .. } | Self::Context { .. })
    }

    /// Whether anything was compared, for a call stack of `depth` frames: the first of all functions has no caller to
    /// compare, and may only be marked as outermost.
    #[must_use]
    pub const fn has_compared(self, depth: usize) -> bool {
        match self {
            Self::Unsettled | Self::NoFde { frame: 0 } => false,
            Self::Unmarked { .. } | Self::Context { .. } => depth > 1,
            _ => true,
        }
    }

    /// Whether the walk has frames beyond the outermost one, where nobody is.
    pub(crate) const fn goes_beyond(self) -> bool {
        matches!(self, Self::Unmarked { goes_beyond: true } | Self::Context { goes_beyond: true })
    }

    /// Whether it is the end of most walks, whose place is not recorded.
    pub(crate) const fn is_usual(self) -> bool {
        matches!(self, Self::Outermost)
    }

    /// Returns the frame at which an incomplete walk ended.
    pub(crate) const fn frame(self) -> Option<usize> {
        match self {
            Self::NoFde { frame } | Self::InRegister { frame } | Self::NoProgress { frame } => Some(frame),
            _ => None,
        }
    }

    /// Returns the name of the end in specs.
    #[must_use]
    pub const fn in_specs(self) -> Option<vocabulary::End> {
        match self {
            Self::Outermost => Some(vocabulary::End::Outermost),
            Self::Unmarked { .. } => Some(vocabulary::End::Unmarked),
            Self::Context { .. } => Some(vocabulary::End::Context),
            Self::NoFde { .. } => Some(vocabulary::End::NoFde),
            Self::InRegister { .. } => Some(vocabulary::End::InRegister),
            Self::NoProgress { .. } => Some(vocabulary::End::NoProgress),
            Self::Unsettled | Self::Departing | Self::Disagreed => None,
        }
    }
}

/// A difference between backtrace and call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The kind.
    pub verdict: Verdict,
    /// The frame whose rules gave the wrong value, 0 for the topmost.
    pub frame: usize,
    /// That frame's PC.
    pub pc: u64,
    /// Where its rules are looked up.
    pub address: LookupAddress,
    /// The call stack's value.
    pub expected: Value,
    /// The unwinder's value.
    pub got: Value,
    /// The frame that had a wrong FP before, if that may be the cause.
    pub after_wrong_fp: Option<usize>,
}

/// What a disagreement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// An address or register value.
    Word(u64),
    /// Memory that can't be read.
    Unreadable(u64),
    /// A return address, and the key that it is signed with, if any.
    Signed(u64, Option<PauthKey>),
    /// Where a frame continues, and whether it was interrupted there.
    Interrupted(u64, bool),
    /// A value that a call of the function has saved.
    Saved,
    /// A word below the stack pointer.
    BelowSp(u64),
    /// A word that no instruction has stored to since the function was called.
    Stale(u64),
    /// A word that FP is restored from, although the function stored there another
    /// register as the caller left it, or a constant.
    NotFp(u64),
    /// FP, which has been overwritten.
    OverwrittenFp,
    /// A register that no instruction has written since the function was called.
    StaleRegister(DwarfRegister),
    /// A number of frames.
    Frames(usize),
    /// An end of the walk.
    End(End),
}

impl Disagreement {
    /// By how much a wrong CFA is wrong.
    pub(crate) fn cfa_error(&self) -> Option<u64> {
        match (self.verdict, self.got, self.expected) {
            (Verdict::WrongCfa, Value::Word(got), Value::Word(right)) => Some(got.wrapping_sub(right)),
            _ => None,
        }
    }
}

/// A walk to compare.
pub trait Walked {
    /// Returns the number of frames.
    fn count(&self) -> usize;
    /// Returns a frame, 0 for the topmost.
    fn frame(&self, index: usize) -> Option<Frame>;
    /// Returns why there are no more.
    fn end(&self) -> End;
    /// Returns the 8-byte words of memory, as addresses / 8, that the step from a
    /// frame has read. Empty if the unwinder does not report them.
    fn words_read(&self, index: usize) -> &[u64] {
        let _ = index;
        &[]
    }
}

impl Walked for Backtrace {
    fn count(&self) -> usize {
        self.frames.len()
    }

    fn frame(&self, index: usize) -> Option<Frame> {
        self.frames.get(index).copied()
    }

    fn end(&self) -> End {
        self.end
    }

    fn words_read(&self, index: usize) -> &[u64] {
        self.words.get(index).map_or(&[], Vec::as_slice)
    }
}

/// Compares PC, CFA and FP of every frame, starting at the topmost.
///
/// A wrong CFA or RA ends the comparison, since everything after it follows from
/// it; so does a mark that is wrong about whether the caller was interrupted. A wrong FP does not: if nothing reads it, the walk continues correctly. Only
/// the first frame of a run of wrong FPs is reported.
pub fn compare(
    truth: &Truth<'_>,
    walk: &impl Walked,
    rules: &impl Rules,
    report: impl FnMut(Disagreement),
) -> WalkEnd {
    compare_at(0..truth.call_stack.depth() - 1, truth, walk, rules, report)
}

/// Compares a walk with the call stack, and returns how that ends and all disagreements.
pub(crate) fn disagreements(
    truth: &Truth<'_>,
    walk: &impl Walked,
    rules: &impl Rules,
) -> (WalkEnd, Vec<Disagreement>) {
    let mut found = Vec::new();
    let end = compare(truth, walk, rules, |disagreement| found.push(disagreement));
    (end, found)
}

/// Returns how many frames of a walk were compared: a disagreement that ends the
/// comparison is about the last of them.
pub(crate) fn frames_compared(end: WalkEnd, disagreed: Option<usize>, frames: usize) -> usize {
    match disagreed {
        Some(frame) if end == WalkEnd::Disagreed => frames.min(frame + 1),
        _ => frames,
    }
}

/// Compares only the given frames, in ascending order, and the end. The others must
/// be [`unremarkable`].
pub(crate) fn compare_at(
    indices: impl Iterator<Item = usize>,
    truth: &Truth<'_>,
    walk: &impl Walked,
    rules: &impl Rules,
    mut report: impl FnMut(Disagreement),
) -> WalkEnd {
    if !truth.call_stack.is_settled() {
        return WalkEnd::Unsettled;
    }
    let mut wrong_fp = None;
    for index in indices {
        match compare_frame(index, truth, walk, rules, wrong_fp, &mut report) {
            Ok(still_wrong) => wrong_fp = still_wrong,
            Err(end) => return end,
        }
    }
    bottom::end_at_bottom(truth, walk, rules, report)
}

/// Compares one frame that has a caller. `wrong_fp` is the frame whose FP was wrong
/// before, if the FP is still wrong. Returns the same for this frame, or how the
/// walk ends here.
pub fn compare_frame(
    index: usize,
    truth: &Truth<'_>,
    walk: &impl Walked,
    rules: &impl Rules,
    wrong_fp: Option<usize>,
    report: &mut impl FnMut(Disagreement),
) -> Result<Option<usize>, WalkEnd> {
    let disagree = |verdict, expected, got| Disagreement {
        after_wrong_fp: wrong_fp,
        ..Disagreement::new(truth, index, verdict, expected, got)
    };
    let (Some(frame), Some(call)) = (walk.frame(index), truth.call_of(index)) else {
        // An unwinder that answers without even the topmost frame.
        report(truncated(truth, index, walk.end()));
        return Err(WalkEnd::Disagreed);
    };
    let is_before_restorer = is_found_before_restorer(truth, index, rules);
    if is_before_restorer && walk.frame(index + 1).is_none() && !matches!(walk.end(), End::Outermost) {
        return Err(WalkEnd::NoFde { frame: index });
    }
    // The row that is found is right where it is.
    let mut report = |found: Disagreement| {
        let own = InstructionPointer(found.pc).into();
        report(Disagreement { address: if is_before_restorer { own } else { found.address }, ..found });
    };
    if let Some(cfa) = frame.cfa
        && cfa != call.cfa
    {
        report(disagree(Verdict::WrongCfa, Value::Word(call.cfa), Value::Word(cfa)));
        return Err(WalkEnd::Disagreed);
    }
    let Some(caller) = walk.frame(index + 1) else {
        match end_before_caller(truth, index, frame, call, walk.end(), rules) {
            Ok(end) => {
                compare_not_walked(index, end, truth, rules, wrong_fp, &mut report);
                return Err(end);
            }
            Err(found) => report(Disagreement { after_wrong_fp: wrong_fp, ..found }),
        }
        return Err(WalkEnd::Disagreed);
    };
    if caller.pc != call.return_address {
        report(disagree(Verdict::WrongRa, Value::Word(call.return_address), Value::Word(caller.pc)));
        return Err(WalkEnd::Disagreed);
    }
    if let Some((true_key, mangled)) = wrong_signature(&frame, call) {
        let signed = |key| Value::Signed(call.return_address, key);
        report(disagree(Verdict::WrongRa, signed(true_key), signed(Some(mangled.key))));
    }
    if !says_how_it_goes_on(truth, index, &caller, call, rules) {
        let where_it_goes_on = |interrupted| Value::Interrupted(call.return_address, interrupted);
        let (expected, got) = (where_it_goes_on(call.interrupted), where_it_goes_on(!call.interrupted));
        report(disagree(Verdict::WrongRa, expected, got));
        // The caller is looked up a byte too early or too late.
        return Err(WalkEnd::Disagreed);
    }
    if caller.fp == Ok(call.caller_fp) || truth.ignores_fp {
        if let Some(luck) = luck(truth, index, walk.words_read(index), rules) {
            report(disagree(Verdict::ByLuck, Value::Saved, luck));
        }
        return Ok(None);
    }
    if is_interrupted(truth, index) && rules.at(truth.address(index)).need_register() {
        return Err(WalkEnd::InRegister { frame: index });
    }
    if wrong_fp.is_none() {
        let got = caller.fp.map_or_else(|Unreadable(address)| Value::Unreadable(address), Value::Word);
        report(disagree(Verdict::WrongFp, Value::Word(call.caller_fp), got));
    }
    Ok(wrong_fp.or(Some(index)))
}

/// Whether a signal's frame is looked up in the function before its restorer. A handler
/// returns to the restorer's first instruction, though nothing called it, so that the address
/// before is another function's, unless the restorer's FDE starts earlier on purpose. A walk may
/// end there, since the restorer has no rules that can be found. One that goes on by those of
/// the function before has a frame that is not there, and one that ends at its mark is silent.
pub(crate) fn is_found_before_restorer(truth: &Truth<'_>, index: usize, rules: &impl Rules) -> bool {
    index > 0
        && truth.call_of(index).is_some_and(|call| call.interrupted)
        && rules.at(truth.address(index)).are_not_for_signal_frame_at(truth.pc_of(index))
}

/// Whether comparing a frame would report nothing, and change nothing for the
/// frames after it: its CFA and its caller's PC are right, and its caller's FP is
/// as right or wrong as its own.
pub(crate) fn unremarkable(index: usize, truth: &Truth<'_>, walk: &impl Walked, rules: &impl Rules) -> bool {
    let (Some(frame), Some(caller), Some(call)) =
        (walk.frame(index), walk.frame(index + 1), truth.call_of(index))
    else {
        return false;
    };
    // The topmost frame's FP need not be derived.
    let fp_is_right = truth.call_from(index).is_none_or(|inner| frame.fp == Ok(inner.caller_fp));
    frame.cfa.is_none_or(|cfa| cfa == call.cfa)
        && !is_found_before_restorer(truth, index, rules)
        && caller.pc == call.return_address
        && wrong_signature(&frame, call).is_none()
        && says_how_it_goes_on(truth, index, &caller, call, rules)
        && luck(truth, index, walk.words_read(index), rules).is_none()
        && (caller.fp == Ok(call.caller_fp)) == fp_is_right
}

impl Disagreement {
    pub(crate) fn new(
        truth: &Truth<'_>,
        frame: usize,
        verdict: Verdict,
        expected: Value,
        got: Value,
    ) -> Self {
        let (pc, address) = (truth.pc_of(frame), truth.address(frame));
        Self { verdict, frame, pc, address, expected, got, after_wrong_fp: None }
    }
}

fn is_interrupted(truth: &Truth<'_>, frame: usize) -> bool {
    truth.call_from(frame).is_some_and(|call| call.interrupted)
}

/// Whether a backtrace is right, or silent, about whether a frame's caller was
/// interrupted or has made a call.
///
/// Code that was jumped to, and has the SP of the function that it leads to, may at
/// its first instruction report that this function was interrupted before the
/// instruction at which it continues: the state is as it will be there. GCC's
/// thunks for s390x do so, and have only that one instruction. It must make no
/// difference to the rules of that function.
fn says_how_it_goes_on(
    truth: &Truth<'_>,
    index: usize,
    caller: &Frame,
    call: &Record,
    rules: &impl Rules,
) -> bool {
    let Some(interrupted) = caller.interrupted.filter(|interrupted| *interrupted != call.interrupted) else {
        return true;
    };
    let address = truth.address(index);
    let is_first = |function: &Range<u64>| function.start == address.get() && function.start != call.callee;
    interrupted
        && truth.sp_of(index) == call.caller_sp
        && rules.at(address).function().as_ref().is_some_and(is_first)
        && rules
            .at(InstructionPointer(call.return_address).into())
            .same_rules(&rules.at(ReturnAddress(call.return_address).into()))
}

/// How far below SP memory counts as unused stack.
const BELOW_SP: u64 = 1 << 20;

/// Whether a step has found the right values in unreliable places: in memory below
/// SP, which signals may overwrite; in memory or registers that the function has
/// not written, so that they are leftovers of its caller; or FP in a place where
/// something else was saved.
fn luck(truth: &Truth<'_>, index: usize, words: &[u64], rules: &impl Rules) -> Option<Value> {
    let (stores, call) = (truth.stores?, truth.call_of(index)?);
    let rules = rules.at(truth.address(index));
    // What another function has done to FP is its caller's responsibility.
    if index == 0
        && let Some(pc) = stores.overwritten_fp(call.since)
        && rules.keep_fp()
        && rules.function().is_some_and(|function| function.contains(&pc))
    {
        return Some(Value::OverwrittenFp);
    }
    if index == 0
        && let Some(register) = stores.unwritten(rules.bases(), call.since)
    {
        return Some(Value::StaleRegister(register));
    }
    // Once FP has been restored, it is the caller's.
    if index == 0
        && let Some(fp) = rules.fp_as_base()
        && truth.fp == call.caller_fp
        && stores.has_fp(call.since)
    {
        return Some(Value::StaleRegister(fp));
    }
    if !truth.ignores_fp
        && let Some(rule) = rules.fp_rule()
        && let Some(address) = truth.word(index, &rule)
        && words.contains(&(address / 8))
        && stores.last(address).is_some_and(|last| last.time >= call.since && last.is_not_fp(call.since))
    {
        return Some(Value::NotFp(address));
    }
    let sp = truth.sp_of(index);
    if sp > call.cfa {
        // The frame continues on another stack.
        return None;
    }
    let is_topmost = index == 0 || is_interrupted(truth, index);
    let protected = if is_topmost { sp.wrapping_sub(truth.red_zone) } else { sp };
    words.iter().map(|word| word * 8).find_map(|address| {
        if (sp.saturating_sub(BELOW_SP)..protected & !7).contains(&address) {
            return Some(Value::BelowSp(address));
        }
        (!stores.since(address, call.since)).then_some(Value::Stale(address))
    })
}

/// Whether FP is where the topmost frame's row has it, and it is neither known that it was left or saved there, nor that
/// it was not and is equal by luck.
pub(crate) fn is_fp_unknown(truth: &Truth<'_>, memory: &dyn Memory, rules: &impl Rules) -> bool {
    let (Some(stores), Some(call)) = (truth.stores, truth.call_of(0)) else { return false };
    let rules = rules.at(truth.address(0));
    if rules.keep_fp() {
        let is_right = truth.fp_of(0) == call.caller_fp;
        let is_luck = |pc: u64| rules.function().is_some_and(|function| function.contains(&pc));
        return is_right
            && !stores.has_fp(call.since)
            && !stores.overwritten_fp(call.since).is_some_and(is_luck);
    }
    let word = rules.fp_rule().and_then(|rule| truth.word(0, &rule));
    word.is_some_and(|address| {
        let is_unknown = |last: &Store| {
            last.time >= call.since && !last.is_from_fp(call.since) && !last.is_not_fp(call.since)
        };
        memory.read_u64(address) == Some(call.caller_fp) && stores.last(address).is_some_and(is_unknown)
    })
}

/// Returns the real key of the return address and the claimed signature, if they differ.
fn wrong_signature(frame: &Frame, call: &Record) -> Option<(Option<PauthKey>, Mangled)> {
    let mangled = frame.mangled?;
    // The code of an authentication may be 0: what is signed is not told from what is not by its value.
    let Some(signature) = call.signature.filter(|signature| signature.signed == mangled.value) else {
        return Some((None, mangled));
    };
    let key = match signature.key {
        AuthenticationKey::A => PauthKey::A,
        AuthenticationKey::B => PauthKey::B,
    };
    (key != mangled.key).then_some((Some(key), mangled))
}

/// Handles a walk that has ended at a frame with a caller. Returns how it ended if
/// that is not a fault, and otherwise the fault.
fn end_before_caller(
    truth: &Truth<'_>,
    index: usize,
    frame: Frame,
    call: &Record,
    end: End,
    rules: &impl Rules,
) -> Result<WalkEnd, Disagreement> {
    let address = truth.address(index);
    let disagree = |verdict, expected, got| Err(Disagreement::new(truth, index, verdict, expected, got));
    match end {
        End::Failed(StepError::NoFde) if !rules.at(address).has_fde => Ok(WalkEnd::NoFde { frame: index }),
        End::Failed(StepError::RaNotSaved | StepError::UnsafeRegister { .. })
            if is_interrupted(truth, index) && rules.at(address).need_register() =>
        {
            Ok(WalkEnd::InRegister { frame: index })
        }
        End::Failed(StepError::NoProgress { cfa, .. }) => {
            let sp = truth.sp_of(index);
            // A frame's own CFA has been compared; the end says it as well.
            if (frame.cfa.is_some() || cfa == call.cfa) && call.caller_sp < sp {
                return Ok(WalkEnd::NoProgress { frame: index });
            }
            // Who only says how the walk has ended does not say from where.
            let end = End::Failed(StepError::NoProgress { cfa, sp });
            disagree(Verdict::NoProgress, Value::Word(call.cfa), Value::End(end))
        }
        End::Failed(StepError::Unreadable { tracked: Tracked::Ra, address }) => {
            disagree(Verdict::WrongRa, Value::Word(call.return_address), Value::Unreadable(address))
        }
        End::Failed(StepError::Unreadable { address, .. }) => {
            disagree(Verdict::BadMemory, Value::Word(call.cfa), Value::Unreadable(address))
        }
        End::Failed(StepError::Malformed(_)) => {
            disagree(Verdict::DecodeError, Value::Word(call.return_address), Value::End(end))
        }
        _ => Err(truncated(truth, index, end)),
    }
}

/// A frame and its caller, as the row says it, where a walk has ended that does not go on by it.
struct NotWalked<'w> {
    index: usize,
    frame: Frame,
    caller: Frame,
    words: &'w [u64],
}

impl Walked for NotWalked<'_> {
    fn count(&self) -> usize {
        self.index + 2
    }

    fn frame(&self, index: usize) -> Option<Frame> {
        match index.checked_sub(self.index)? {
            0 => Some(self.frame),
            1 => Some(self.caller),
            _ => None,
        }
    }

    fn end(&self) -> End {
        End::Unspecified
    }

    fn words_read(&self, index: usize) -> &[u64] {
        if index == self.index { self.words } else { &[] }
    }
}

/// Compares a frame that leads to a stack where no walk follows: what is wrong is the row, and not the walk.
fn compare_not_walked(
    index: usize,
    end: WalkEnd,
    truth: &Truth<'_>,
    rules: &impl Rules,
    wrong_fp: Option<usize>,
    report: &mut dyn FnMut(Disagreement),
) {
    let (WalkEnd::NoProgress { .. }, Some(viewpoint)) = (end, truth.viewpoint) else { return };
    let state = truth.state(index);
    let (Some(call), Some((stepped, words))) =
        (truth.call_of(index), rules.step(&state, index == 0, viewpoint))
    else {
        return;
    };
    let frame = state.frame(stepped.cfa, stepped.mangled);
    match stepped.caller {
        Ok(caller) => {
            let walk = NotWalked { index, frame, caller: caller.frame(None, None), words: &words };
            let _ = compare_frame(index, truth, &walk, rules, wrong_fp, &mut &mut *report);
        }
        Err(failed) => {
            if let Err(found) = end_before_caller(truth, index, frame, call, failed, rules) {
                report(Disagreement { after_wrong_fp: wrong_fp, ..found });
            }
        }
    }
}

fn truncated(truth: &Truth<'_>, frame: usize, end: End) -> Disagreement {
    let expected = Value::Frames(truth.call_stack.depth());
    Disagreement::new(truth, frame, Verdict::Truncated, expected, Value::End(end))
}

#[cfg(test)]
mod tests {
    use sframe_machine::{Bottom, Signature};

    use super::*;

    /// One in some hundreds of addresses is the same when it is signed.
    #[test]
    fn an_authentication_code_of_zero_is_a_signature() {
        let call = |signature| Record {
            return_address: 0x40_0d44,
            cfa: 0x1000,
            caller_sp: 0x1000,
            caller_fp: 0,
            callee: 0x40_0d00,
            since: 0,
            event: 0,
            interrupted: false,
            signature,
        };
        let claims = |value, key| Frame {
            pc: 0x40_0d04,
            cfa: Some(0x1000),
            fp: Ok(0),
            mangled: Some(Mangled { key, value }),
            interrupted: None,
        };
        let signed = |value| Some(Signature { key: AuthenticationKey::A, signed: value });
        let wrong = |frame: Frame, signature| wrong_signature(&frame, &call(signature)).map(|(real, _)| real);
        let (plain, mangled) = (0x40_0d44, 0x7400_0000_0040_0d44);
        assert_eq!(wrong(claims(plain, PauthKey::A), signed(plain)), None);
        assert_eq!(wrong(claims(plain, PauthKey::B), signed(plain)), Some(Some(PauthKey::A)));
        assert_eq!(wrong(claims(plain, PauthKey::A), None), Some(None));
        assert_eq!(wrong(claims(plain, PauthKey::A), signed(mangled)), Some(None));
        assert_eq!(wrong(claims(mangled, PauthKey::A), signed(mangled)), None);
        assert_eq!(wrong(claims(mangled, PauthKey::A), None), Some(None), "nothing is signed");
        assert_eq!(wrong(claims(0x1234, PauthKey::A), signed(mangled)), Some(None), "another value is");
        assert_eq!(wrong(claims(mangled, PauthKey::B), signed(mangled)), Some(Some(PauthKey::A)));
    }

    /// A made-up function from 0x1000 to 0x1010, with another one after it.
    pub(super) struct Functions {
        /// Whether the first one is for a signal's frame.
        pub(super) signal: bool,
        pub(super) second_has_fde: bool,
    }

    impl Rules for Functions {
        fn at(&self, address: LookupAddress) -> RulesAt {
            match address.get() {
                0x1000..0x1010 => RulesAt::of_function(0x1000, 0x1010, self.signal),
                0x1010..0x1020 if self.second_has_fde => RulesAt::of_function(0x1010, 0x1020, false),
                _ => RulesAt::default(),
            }
        }
    }

    /// An end may have the CFA that makes no progress, and the last frame none; a wrong one is no such end.
    #[test]
    fn a_walk_without_progress_has_the_right_cfa_in_its_frame_or_in_its_end() {
        let call = Record {
            return_address: 0x1018,
            cfa: 0x6010,
            caller_sp: 0x6010,
            caller_fp: 0,
            callee: 0x1000,
            since: 0,
            event: 0,
            interrupted: false,
            signature: None,
        };
        let call_stack = CallStack::new(Bottom::Entry, vec![call]);
        let truth = Truth {
            pc: 0x1004,
            sp: 0x7000,
            fp: 0,
            red_zone: 0,
            call_stack: &call_stack,
            stores: None,
            viewpoint: None,
            ignores_fp: false,
        };
        let functions = Functions { signal: false, second_has_fde: true };
        let ends = |in_frame: Option<u64>, in_end: u64| {
            let frame = Frame { pc: 0x1004, cfa: in_frame, fp: Ok(0), mangled: None, interrupted: None };
            let end = End::Failed(StepError::NoProgress { cfa: in_end, sp: 0 });
            let walk = Backtrace { frames: vec![frame], end, words: Vec::new(), limit: None };
            let (end, found) = disagreements(&truth, &walk, &functions);
            (matches!(end, WalkEnd::NoProgress { frame: 0 }), found.first().map(|found| found.got))
        };
        assert_eq!(ends(Some(0x6010), 0), (true, None));
        assert_eq!(ends(None, 0x6010), (true, None));
        let got = |cfa| Some(Value::End(End::Failed(StepError::NoProgress { cfa, sp: 0x7000 })));
        assert_eq!(ends(None, 0x6020), (false, got(0x6020)));
        assert_eq!(ends(None, 0), (false, got(0)));
    }
}
