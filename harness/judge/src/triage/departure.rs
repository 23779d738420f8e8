//! Functions that leave for elsewhere than their callers.

use std::collections::BTreeMap;
use std::hash::Hash;

use rustc_hash::FxHashMap;
use sframe_engine::{Abi, Recovery};
use sframe_machine::{CallStack, Exit, Moment, Record};

use crate::compare::{Disagreement, Truth, Value};
use crate::target::Target;
use crate::vocabulary::Verdict;

/// A row's claim about how its function leaves, if it differs from the call
/// stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExitClaim {
    /// Control continues there.
    GoesTo(u64),
    /// Control continues there, by an address that the function itself has put where return addresses are: going there
    /// is no return, but a jump.
    JumpsTo(u64),
    /// This is the CFA.
    LeavesCfa(u64),
    /// Control continues with this FP, which a callee has put where the function had saved its caller's.
    LeavesFp(u64),
}

impl ExitClaim {
    pub(crate) const fn of(disagreement: &Disagreement) -> Option<Self> {
        match (disagreement.verdict, disagreement.got) {
            (Verdict::WrongRa, Value::Word(address)) => Some(Self::GoesTo(address)),
            (Verdict::WrongCfa, Value::Word(cfa)) => Some(Self::LeavesCfa(cfa)),
            _ => None,
        }
    }

    /// The claim of a row that reads FP from where its function had saved it: a callee has since put there the FP of the
    /// frame that it wants control to land in. libgcc's unwinder does so before `__builtin_eh_return`.
    pub(crate) fn of_saved_fp(found: &Disagreement, truth: &Truth<'_>, target: &Target<'_>) -> Option<Self> {
        let (Verdict::WrongFp, Value::Word(fp)) = (found.verdict, found.got) else { return None };
        let row = target.sections.lookup(found.address).ok().flatten()?.row;
        let Recovery::Rule(rule) = row.fp else { return None };
        let (word, call) = (truth.word(found.frame, &rule)?, truth.call_of(found.frame)?);
        truth.stores?.is_overwritten_by_callee(word, call.since).then_some(Self::LeavesFp(fp))
    }

    /// Whether a departure from the function that a call has entered bears out the claim. A return to the caller
    /// bears nothing out, however it is made: what differs from the call stack then is wrong.
    ///
    /// Code that installs a context, as libgcc's unwinder does, first makes its own frame one
    /// that was called by the frame where it lands, in place of that frame's last call.
    pub(crate) fn is_borne_out(self, departure: &Departure, call: &Record, abi: Option<Abi>) -> bool {
        let Departure { exit, pc, sp, fp } = *departure;
        let is_own_return = pc == call.return_address;
        let last = match exit {
            Exit::Landing { .. } if is_own_return && sp == call.caller_sp => return false,
            Exit::Return if is_own_return => return false,
            Exit::Landing { call, .. } => call,
            // A landing pad may be right behind the call of a frame further out, which then returns there.
            Exit::Return => None,
        };
        match self {
            Self::GoesTo(address) | Self::JumpsTo(address) => pc == address || last == Some(address),
            Self::LeavesCfa(cfa) => abi.is_some_and(|abi| abi.sp_from_cfa(cfa) == sp),
            Self::LeavesFp(saved) => saved == fp,
        }
    }
}

/// How control has left frames, and where it has gone.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    exit: Exit,
    pc: u64,
    sp: u64,
    fp: u64,
}

impl Departure {
    /// Returns how control has left frames with the last instruction, if it has.
    pub fn of(moment: &Moment<'_>) -> Option<Self> {
        let exit = moment.call_stack.exit()?;
        Some(Self { exit, pc: moment.pc, sp: moment.sp, fp: moment.fp })
    }
}

/// At most this many claims about calls that have not ended are remembered. Any
/// others count as wrong, whatever happens later.
const MOST_CLAIMS: usize = 1 << 16;

/// The claims of a run, each of them made for something: a `K`.
///
/// In a function that returns elsewhere than to its caller, as `__builtin_eh_return` does,
/// rows describe where it will go before it has gone. Only the program can show which of the
/// two a row means.
#[derive(Debug)]
pub struct ExitClaims<K> {
    claims: Claims<K>,
    /// Those of the other threads.
    parked: FxHashMap<u32, Claims<K>>,
    thread: u32,
}

impl<K> Default for ExitClaims<K> {
    fn default() -> Self {
        Self { claims: Claims::default(), parked: FxHashMap::default(), thread: 0 }
    }
}

impl<K: Copy + Eq + Hash> ExitClaims<K> {
    /// Begins a new run, or another part of one, after some calls.
    pub fn start(&mut self, calls: usize) {
        self.claims = Claims { depth: calls, ..Claims::default() };
    }

    /// Remembers a claim about the frame that a call has made.
    pub fn add(&mut self, call: &Record, key: K, says: ExitClaim) {
        self.claims.add(call, key, says);
    }

    /// Follows calls and returns, at every instruction. Returns those whose claims the program
    /// bears out now, and how many.
    #[inline]
    pub fn follow(&mut self, moment: &Moment<'_>, abi: Option<Abi>) -> Vec<(K, u64)> {
        if moment.thread == self.thread && self.claims.are_none() {
            self.claims.depth = moment.call_stack.records().len();
            self.claims.innermost = moment.call_stack.records().last().map(|last| last.since);
            return Vec::new();
        }
        self.follow_calls(moment, abi)
    }

    #[cold]
    fn follow_calls(&mut self, moment: &Moment<'_>, abi: Option<Abi>) -> Vec<(K, u64)> {
        if moment.thread != self.thread {
            let claims = self.parked.remove(&moment.thread).unwrap_or_default();
            self.parked.insert(self.thread, std::mem::replace(&mut self.claims, claims));
            self.thread = moment.thread;
        }
        if self.claims.is_followed(moment.call_stack) {
            return Vec::new();
        }
        self.claims.follow(moment, abi)
    }
}

/// The claims about calls of a thread that have not ended.
#[derive(Debug)]
struct Claims<K> {
    /// By the time of the call.
    open: BTreeMap<u64, OfCall<K>>,
    count: usize,
    /// Claims about calls that SP has moved past, until control has left them.
    leaving: Vec<OfCall<K>>,
    /// The number of calls before the last instruction.
    depth: usize,
    /// The time of the innermost of them.
    innermost: Option<u64>,
}

/// The claims about the frame that a call has made: whom they are for, and how often each was made.
#[derive(Debug)]
struct OfCall<K> {
    call: Record,
    claims: FxHashMap<(K, ExitClaim), u64>,
    /// Whether control has left it without another call in it.
    is_left_by_itself: bool,
}

impl<K> Default for Claims<K> {
    fn default() -> Self {
        Self { open: BTreeMap::new(), count: 0, leaving: Vec::new(), depth: 0, innermost: None }
    }
}

impl<K: Copy + Eq + Hash> Claims<K> {
    /// Whether there is nothing that a call or a return could bear out.
    fn are_none(&self) -> bool {
        self.open.is_empty() && self.leaving.is_empty()
    }

    /// Whether nothing has been called or left since the last moment.
    fn is_followed(&self, call_stack: &CallStack) -> bool {
        (call_stack.kept(), call_stack.records().len()) == (self.depth, self.depth)
            && call_stack.exit().is_none()
    }

    fn add(&mut self, call: &Record, key: K, says: ExitClaim) {
        if self.count < MOST_CLAIMS {
            let new = || OfCall { call: *call, claims: FxHashMap::default(), is_left_by_itself: false };
            let times =
                self.open.entry(call.since).or_insert_with(new).claims.entry((key, says)).or_default();
            self.count += usize::from(*times == 0);
            *times += 1;
        }
    }

    /// Returns the claims that control goes where it has gone now from the innermost call, which may have ended or go on
    /// there: a hook may have put its own address in the place of the return address.
    fn gone(&mut self, departure: &Departure, calls: &[Record]) -> Vec<(K, u64)> {
        let Exit::Landing { or: Some(frame), .. } = departure.exit else { return Vec::new() };
        let left = calls.get(frame).filter(|left| calls.len() == frame + 1 && left.caller_sp == departure.sp);
        let Some(OfCall { claims, .. }) = left.and_then(|left| self.open.get_mut(&left.since)) else {
            return Vec::new();
        };
        let gone = claims.extract_if(|(_, says), _| *says == ExitClaim::GoesTo(departure.pc));
        let gone: Vec<_> = gone.map(|((key, _), count)| (key, count)).collect();
        self.count -= gone.len();
        gone
    }

    fn follow(&mut self, moment: &Moment<'_>, abi: Option<Abi>) -> Vec<(K, u64)> {
        let call_stack = moment.call_stack;
        let (records, kept) = (call_stack.records(), call_stack.kept());
        if kept < self.depth && !self.open.is_empty() {
            let last = kept.checked_sub(1).and_then(|last| records.get(last));
            let ended = self.open.split_off(&last.map_or(0, |last| last.since + 1));
            self.count -= ended.values().map(|ended| ended.claims.len()).sum::<usize>();
            let is_innermost = |ended: &OfCall<K>| self.innermost == Some(ended.call.since);
            let ended =
                ended.into_values().map(|ended| OfCall { is_left_by_itself: is_innermost(&ended), ..ended });
            self.leaving.extend(ended);
        }
        let calls = records.len() > self.depth;
        self.innermost = records.last().map(|last| last.since);
        self.depth = records.len();
        if call_stack.exit().is_none() && !calls {
            return Vec::new();
        }
        let leaving = std::mem::take(&mut self.leaving);
        let Some(departure) = Departure::of(moment) else { return Vec::new() };
        let mut borne_out = self.gone(&departure, records);
        for OfCall { call, claims, is_left_by_itself } in leaving {
            let says = |(_, says): &(K, ExitClaim)| {
                // Only the function itself can take its caller's FP from where it has saved it.
                let can_leave = is_left_by_itself || !matches!(says, ExitClaim::LeavesFp(_));
                can_leave && says.is_borne_out(&departure, &call, abi)
            };
            let claims = claims.into_iter().filter(|(claim, _)| says(claim));
            borne_out.extend(claims.map(|((key, _), count)| (key, count)));
        }
        borne_out
    }
}
