//! Walks at a sample of the instructions, and what they are worth.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU64;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use sframe_engine::Abi;
use sframe_judge::compare::{ByTopmost, Reliabilities, Topmosts, Truth};
use sframe_judge::examine::sampling::Strides;
use sframe_judge::examine::{Closed, Probe, Readings};
use sframe_judge::target::{Loaded, Target};
use sframe_judge::triage::{ExitClaim, ExitClaims};
use sframe_judge::unwind::{Backtrace, End, Frame, Unwinder, Viewpoint};
use sframe_judge::vocabulary::{Reliability, Topmost};
use sframe_machine::{Bottom, Moment, Record};

use super::Unwinders;

/// Deeper call stacks are not walked: the cost of a walk grows with the depth. Profilers stop
/// earlier (perf: after 127 frames).
pub const MAX_DEPTH: usize = 1024;

/// What the walks of one unwinder were worth.
///
/// A walk is *complete* if it has all frames of the call stack, each with the right PC, and with the
/// right CFA as far as the unwinder gives one; and if it then ends. Where nothing marks the
/// outermost frame, one more frame is no fault if its PC lies in none of the images; below the first
/// function of a context that the program itself has made, such as a coroutine's, nor is the one
/// that it would return to.
///
/// A walk is *incomplete* if all of its frames are right, and some are missing at its end; it is *silent* instead if it
/// then ends as if at the outermost frame. All other walks are *wrong*: they have a frame that is not on the call stack,
/// or leave one out.
///
/// Where a walk describes where a function will go, other than to its caller, before it has gone there, no walk is any of
/// these: what is right is *not settled*. What `__builtin_eh_return` makes of functions has such moments. Where a call may
/// be none, or a jump may be one, walks count once the run has shown which it was; if it never does, those that depend on
/// it are not settled either.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Walks {
    /// What they were worth, by what the topmost frame was in. Unlike those of an unwinder under test, walks that are
    /// wrong at a caller's frame count where they began: all ways have the same number of walks from each place.
    pub by_topmost: ByTopmost,
}

impl Walks {
    /// What they were worth, wherever they began.
    #[must_use]
    pub fn worth(&self) -> Reliabilities {
        self.by_topmost.total()
    }

    /// Adds others, each multiplied by a weight.
    pub fn add(&mut self, other: &Self, times: u64) {
        self.by_topmost.add_times(&other.by_topmost, times);
    }
}

/// What executed in an image: the topmost frame was there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Executed {
    /// Number of instructions.
    pub instructions: u64,
    /// Those in the sample whose call stack was deeper than [`MAX_DEPTH`]. They were not walked.
    pub too_deep: u64,
    /// Those in the sample where it was not settled what is right. They count in no way to walk.
    pub unsettled: u64,
    /// Walks with SFrame.
    pub sframe: Walks,
    /// Walks with call frame information.
    pub cfi: Walks,
    /// Walks with frame pointers, or on s390x the backchain.
    pub frame_pointers: Walks,
    /// Walks with these, after a look at the code of the innermost function.
    pub with_code: Walks,
}

/// A way to walk stacks, as reports name it, and its walks.
type Way = (&'static str, fn(&Executed) -> &Walks);

/// All of them.
pub(super) const WAYS: [Way; 4] = [
    ("SFrame", |executed| &executed.sframe),
    ("CFI", |executed| &executed.cfi),
    ("frame pointers", |executed| &executed.frame_pointers),
    ("these and code", |executed| &executed.with_code),
];

impl Executed {
    /// Adds another run's. Its walks count as many times as there were instructions for each of
    /// them, so that they weigh as much as those of a run with another distance.
    pub fn add(&mut self, other: &Self, every: u64) {
        self.instructions = self.instructions.saturating_add(other.instructions);
        self.too_deep = self.too_deep.saturating_add(other.too_deep.saturating_mul(every));
        self.unsettled = self.unsettled.saturating_add(other.unsettled.saturating_mul(every));
        self.sframe.add(&other.sframe, every);
        self.cfi.add(&other.cfi, every);
        self.frame_pointers.add(&other.frame_pointers, every);
        self.with_code.add(&other.with_code, every);
    }
}

/// Walks stacks while a program is examined.
pub(super) struct Walkers<'t, 'a, 'u> {
    target: &'t Target<'a>,
    abi: Option<Abi>,
    walkers: [Walker<'u>; 4],
    /// What wrong walks say about how functions leave.
    claims: ExitClaims<Walked>,
    /// How many moments had several such claims, and those of them that one has settled.
    several: (u64, HashSet<u64>),
    strides: Strides,
    topmosts: Topmosts<'t, 'a>,
    /// What executed in each image, and then elsewhere.
    executed: Vec<Executed>,
    /// The image that executed last, and its addresses.
    image: (usize, Range<u64>),
    open: OpenWalks,
}

/// What the walks from a moment are worth, in each way.
type Worth = [Reliability; 4];

/// Walks from moments at which the run has yet to show what the calls are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Open {
    image: usize,
    topmost: Topmost,
    /// What they are worth by each of the [`Readings`]; `None` if that is not settled.
    readings: Vec<Option<Worth>>,
}

/// Such walks, with their number, by how many questions are open: those with one come first.
#[derive(Debug, Default)]
struct OpenWalks(Vec<HashMap<Open, u64>>);

impl OpenWalks {
    fn add(&mut self, walks: Open, count: u64) {
        let questions = walks.readings.len().trailing_zeros() as usize;
        self.0.resize_with(questions.max(self.0.len()), HashMap::new);
        if let Some(last) = questions.checked_sub(1) {
            *self.0[last].entry(walks).or_default() += count;
        }
    }

    /// Takes what the last question decides. Returns what is decided then.
    fn settle(&mut self, closed: Closed) -> Vec<(Open, u64)> {
        let decided = self.0.get_mut(closed.open).map(std::mem::take).unwrap_or_default();
        let chosen = |pair: &[Option<Worth>]| match closed.is_otherwise {
            Some(is_otherwise) => pair[usize::from(is_otherwise)],
            // Whatever it was, some walks are worth the same.
            None => pair[0].filter(|_| pair[0] == pair[1]),
        };
        let decided = decided.into_iter().map(|(walks, count)| {
            let readings = walks.readings.chunks_exact(2).map(chosen).collect();
            (Open { readings, ..walks }, count)
        });
        let (done, open): (Vec<_>, Vec<_>) = decided.partition(|(walks, _)| walks.readings.len() == 1);
        open.into_iter().for_each(|(walks, count)| self.add(walks, count));
        done
    }
}

/// One of the unwinders.
struct Walker<'u> {
    unwinder: Box<dyn Unwinder + 'u>,
    backtrace: Backtrace,
    walks: fn(&mut Executed) -> &mut Walks,
}

/// The walks from a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Walked {
    /// The image that executed.
    image: usize,
    topmost: Topmost,
    /// What they were worth.
    worth: [Reliability; 4],
    /// Which moment it was, if several claims say something else of it.
    moment: Option<u64>,
}

impl<'t, 'a, 'u> Walkers<'t, 'a, 'u> {
    pub(super) fn new(target: &'t Target<'a>, unwinders: Unwinders<'u>, every: NonZeroU64) -> Self {
        let elsewhere = target.modules.len();
        let Unwinders { sframe, cfi, frame_pointers, with_code } = unwinders;
        let walkers = [
            Walker::new(sframe, |executed| &mut executed.sframe),
            Walker::new(cfi, |executed| &mut executed.cfi),
            Walker::new(frame_pointers, |executed| &mut executed.frame_pointers),
            Walker::new(with_code, |executed| &mut executed.with_code),
        ];
        Self {
            target,
            abi: target.executable().subject.abi(),
            walkers,
            claims: ExitClaims::default(),
            several: (0, HashSet::default()),
            strides: Strides::new(every),
            topmosts: Topmosts::new(target),
            executed: vec![Executed::default(); elsewhere + 1],
            image: (elsewhere, 0..0),
            open: OpenWalks::default(),
        }
    }

    /// Returns what executed in each image, and elsewhere.
    pub(super) fn into_executed(mut self) -> (Vec<Executed>, Executed) {
        let elsewhere = self.executed.pop().unwrap_or_default();
        (self.executed, elsewhere)
    }

    /// Takes back the walks from some moments: one of them has described where the function was about to go.
    fn forget(&mut self, Walked { image, topmost, worth, moment }: Walked, count: u64) {
        if moment.is_some_and(|moment| !self.several.1.insert(moment)) {
            return;
        }
        let executed = &mut self.executed[image];
        for (walker, worth) in self.walkers.iter().zip(worth) {
            (walker.walks)(executed).by_topmost.0.entry(topmost).or_default().forget(worth, count);
        }
        executed.unsettled += count;
    }

    /// Returns the position of the image that contains an instruction.
    fn image_of(&mut self, pc: u64) -> usize {
        if !self.image.1.contains(&pc) {
            let mut modules = self.target.modules.iter();
            self.image = match modules.position(|module| module.image.range().contains(&pc)) {
                Some(position) => (position, self.target.modules[position].image.range()),
                None => (self.target.modules.len(), 0..0),
            };
        }
        self.image.0
    }
}

impl Probe for Walkers<'_, '_, '_> {
    fn start(&mut self) {
        self.claims.start(0);
    }

    fn executes(&mut self, moment: &Moment<'_>, readings: Readings<'_>) {
        for (walked, count) in self.claims.follow(moment, self.abi) {
            self.forget(walked, count);
        }
        let image = self.image_of(moment.pc);
        let executed = &mut self.executed[image];
        executed.instructions += 1;
        if !self.strides.takes() {
            return;
        }
        if !moment.call_stack.is_settled() {
            executed.unsettled += 1;
            return;
        }
        if moment.call_stack.depth() > MAX_DEPTH {
            executed.too_deep += 1;
            return;
        }
        let (truth, viewpoint) = (Truth::of(moment), Viewpoint::new(moment));
        let judged = self.walkers.each_mut().map(|walker| walker.walk(&truth, &viewpoint, self.target));
        let worth = judged.map(|(worth, _)| worth);
        let topmost = self.topmosts.of(moment);
        let others = readings.others(moment.call_stack);
        if !others.is_empty() {
            let of = |call_stack| {
                let mut truth = Truth::of(moment);
                truth.call_stack = call_stack;
                self.walkers.each_ref().map(|walker| judge(&truth, &walker.backtrace, self.target).0)
            };
            let readings: Vec<Option<Worth>> =
                std::iter::once(worth).chain(others.iter().map(of)).map(Some).collect();
            self.open.add(Open { image, topmost, readings }, 1);
            return;
        }
        for (walker, worth) in self.walkers.iter().zip(worth) {
            (walker.walks)(executed).by_topmost.0.entry(topmost).or_default().count(worth);
        }
        let mut claims: Vec<Cause<'_>> = Vec::new();
        for (call, says) in judged.into_iter().filter_map(|(_, cause)| cause) {
            if !claims.iter().any(|(other, same)| other.since == call.since && *same == says) {
                claims.push((call, says));
            }
        }
        let moment = (claims.len() > 1).then(|| {
            self.several.0 += 1;
            self.several.0
        });
        for (call, says) in claims {
            self.claims.add(call, Walked { image, topmost, worth, moment }, says);
        }
    }

    fn settled(&mut self, closed: Closed) {
        for (Open { image, topmost, readings }, count) in self.open.settle(closed) {
            let executed = &mut self.executed[image];
            let Some(Some(worth)) = readings.first().copied() else {
                executed.unsettled += count;
                continue;
            };
            for (walker, worth) in self.walkers.iter().zip(worth) {
                (walker.walks)(executed).by_topmost.0.entry(topmost).or_default().count_all(worth, count);
            }
        }
    }

    fn compared(&mut self, _: &Truth<'_>, _: &Viewpoint<'_>) {}
}

impl<'u> Walker<'u> {
    fn new(unwinder: Box<dyn Unwinder + 'u>, walks: fn(&mut Executed) -> &mut Walks) -> Self {
        Self { unwinder, backtrace: Backtrace::default(), walks }
    }

    fn walk<'m>(
        &mut self,
        truth: &Truth<'m>,
        viewpoint: &Viewpoint<'_>,
        target: &Target<'_>,
    ) -> (Reliability, Option<Cause<'m>>) {
        self.backtrace.unwind(&mut *self.unwinder, viewpoint);
        judge(truth, &self.backtrace, target)
    }
}

/// The call whose frame gave a wrong value, and what that says of its exit.
type Cause<'m> = (&'m Record, ExitClaim);

/// Returns what a walk is worth, as [`Walks`] says, and where a wrong one went wrong.
fn judge<'m>(
    truth: &Truth<'m>,
    backtrace: &Backtrace,
    target: &Target<'_>,
) -> (Reliability, Option<Cause<'m>>) {
    let depth = truth.call_stack.depth();
    // Whether a frame gave a wrong FP that is still wrong: then what is wrong further out says nothing of an
    // exit.
    let mut has_wrong_fp = false;
    let mut inner: Option<&Record> = None;
    for (index, frame) in backtrace.frames.iter().enumerate().take(depth) {
        if frame.pc != truth.pc_of(index) {
            let says = |inner| (inner, ExitClaim::GoesTo(frame.pc));
            return (Reliability::Wrong, inner.map(says).filter(|_| !has_wrong_fp));
        }
        has_wrong_fp = matches!((inner, frame.fp), (Some(inner), Ok(fp)) if fp != inner.caller_fp);
        let call = truth.call_of(index);
        if let (Some(cfa), Some(call)) = (frame.cfa, call)
            && cfa != call.cfa
        {
            // A frame further out has the SP that its callee is said to leave: on s390x, functions
            // save it.
            let (call, cfa) = match inner {
                Some(inner) => (inner, inner.cfa.wrapping_add(cfa.wrapping_sub(call.cfa))),
                None => (call, cfa),
            };
            return (Reliability::Wrong, (!has_wrong_fp).then_some((call, ExitClaim::LeavesCfa(cfa))));
        }
        inner = call;
    }
    let is_nowhere = |frame: &Frame| target.module_at(Loaded(frame.pc)).is_none();
    let is_context = truth.call_stack.bottom() != Bottom::Entry;
    let worth = match backtrace.frames.get(depth..) {
        None if backtrace.end == End::Outermost => Reliability::Silent,
        None => Reliability::Incomplete,
        Some([]) => Reliability::Complete,
        Some([extra]) if is_nowhere(extra) => Reliability::Complete,
        // The first function of a context has an address to return to, which the program has put there.
        Some([_]) if is_context => Reliability::Complete,
        Some([_, extra]) if is_context && is_nowhere(extra) => Reliability::Complete,
        Some(_) => Reliability::Wrong,
    };
    (worth, None)
}
