//! Walks at a sample of the instructions, and what they are worth.

use std::num::NonZeroU64;
use std::ops::Range;

use crate::calls::Readings;
use crate::compare::{ByTopmost, Disagreement, Reliabilities, Topmosts, Truth, Value};
use crate::examine::Probe;
use crate::examine::sampling::Strides;
use crate::target::sections::Sections;
use crate::target::{Loaded, Target};
use crate::unwind::{Backtrace, End, Frame, Unwinder, Viewpoint};
use crate::vocabulary::{Reliability, Verdict};
use serde::{Deserialize, Serialize};
use sframe_engine::Recovery;
use sframe_machine::{Bottom, Change, Moment};

use super::Unwinders;

/// Deeper call stacks are not walked: the cost of a walk grows with the depth. Profilers stop
/// earlier (perf: after 127 frames).
pub const MAX_DEPTH: usize = 1024;

/// More frames beyond the call stack are not looked at.
const FRAMES_BEYOND: usize = 8;

/// What the walks of one unwinder were worth.
///
/// A walk is *complete* if it has all frames of the call stack, each with the right PC, and with the
/// right CFA as far as the unwinder gives one; and if it then ends.
///
/// A walk is *incomplete* if all of its frames are right, and some are missing at its end, or one follows that is not
/// there, and nothing marks the outermost frame: its PC lies in none of the images, or is what the first function of a
/// context would return to, such as a coroutine's. It is *silent* instead if it lacks frames, and ends as if at the
/// outermost one. All other walks are *wrong*: they have a frame that is not on the call stack, or leave one out.
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
    /// Those in the sample where the correct answer was undecidable. They count in no way to walk.
    pub unsettled: u64,
    /// Those in the sample in whose topmost frame the row has FP below SP. The slot has been popped: a recorded stack does
    /// not have it, and readers that give up then lose all callers.
    #[serde(default)]
    pub popped_slots: u64,
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
pub type Way = (&'static str, fn(&Executed) -> &Walks);

/// All ways.
pub const WAYS: [Way; 4] = [
    ("SFrame", |executed| &executed.sframe),
    ("CFI", |executed| &executed.cfi),
    ("frame pointers", |executed| &executed.frame_pointers),
    ("FP and code", |executed| &executed.with_code),
];

impl Executed {
    /// Adds another run's. Its walks count as many times as there were instructions for each of
    /// them, so that they weigh as much as those of a run with another distance.
    pub fn add(&mut self, other: &Self, every: u64) {
        self.instructions = self.instructions.saturating_add(other.instructions);
        self.too_deep = self.too_deep.saturating_add(other.too_deep.saturating_mul(every));
        self.unsettled = self.unsettled.saturating_add(other.unsettled.saturating_mul(every));
        self.popped_slots = self.popped_slots.saturating_add(other.popped_slots.saturating_mul(every));
        self.sframe.add(&other.sframe, every);
        self.cfi.add(&other.cfi, every);
        self.frame_pointers.add(&other.frame_pointers, every);
        self.with_code.add(&other.with_code, every);
    }
}

/// Walks stacks while a program is examined.
pub(super) struct Walkers<'t, 'a, 'u> {
    target: &'t Target<'a>,
    walkers: [Walker<'u>; 4],
    /// The sections as they are now.
    sections: Sections<'a>,
    strides: Strides,
    topmosts: Topmosts<'t, 'a>,
    /// What executed in each image, and then elsewhere.
    executed: Vec<Executed>,
    /// The image that executed last, and its addresses.
    image: (usize, Range<u64>),
}

/// One of the unwinders.
struct Walker<'u> {
    unwinder: Box<dyn Unwinder + 'u>,
    backtrace: Backtrace,
    walks: fn(&mut Executed) -> &mut Walks,
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
            walkers,
            sections: target.sections.clone(),
            strides: Strides::new(every),
            topmosts: Topmosts::new(target),
            executed: vec![Executed::default(); elsewhere + 1],
            image: (elsewhere, 0..0),
        }
    }

    /// Returns what executed in each image, and elsewhere.
    pub(super) fn into_executed(mut self) -> (Vec<Executed>, Executed) {
        let elsewhere = self.executed.pop().unwrap_or_default();
        (self.executed, elsewhere)
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
        self.sections = self.target.sections.clone();
        self.walkers.iter_mut().for_each(|walker| walker.unwinder.restart());
    }

    fn changed(&mut self, _: &Moment<'_>, change: &Change, _: &dyn Fn() -> Readings) {
        self.sections.change(change);
        self.walkers.iter_mut().for_each(|walker| walker.unwinder.changed(change));
    }

    fn executes(&mut self, moment: &Moment<'_>, readings: &dyn Fn() -> Readings) {
        let image = self.image_of(moment.pc);
        let executed = &mut self.executed[image];
        executed.instructions += 1;
        if !self.strides.takes() {
            return;
        }
        if moment.call_stack.depth() > MAX_DEPTH {
            executed.too_deep += 1;
            return;
        }
        let (viewpoint, readings) = (Viewpoint::new(moment), readings());
        let truth = Truth::of(moment).seen_from(&viewpoint);
        let [sframe, others @ ..] = &mut self.walkers;
        sframe.backtrace.unwind(&mut *sframe.unwinder, &viewpoint);
        let judged = readings.hold(&truth, &sframe.backtrace, &self.sections, self.target);
        let Some(worth) = judged.worth(moment.call_stack) else {
            executed.unsettled += 1;
            return;
        };
        let row = self.sections.lookup(truth.address(0)).ok().flatten();
        if let Some(Recovery::Rule(rule)) = row.map(|found| found.row.fp)
            && truth.word(0, &rule).is_some_and(|slot| slot < truth.sp)
        {
            executed.popped_slots += 1;
        }
        let topmost = self.topmosts.of(moment);
        let call_stack = judged.held_against(moment.call_stack);
        let mut count = |walker: &Walker<'_>, worth| {
            (walker.walks)(executed).by_topmost.0.entry(topmost).or_default().count(worth, 1);
        };
        count(sframe, worth);
        for walker in others {
            // Rows that are damaged may lead on for ever.
            walker.backtrace.limit = Some(moment.call_stack.depth() + FRAMES_BEYOND);
            walker.backtrace.unwind(&mut *walker.unwinder, &viewpoint);
            let stacks = readings.call_stacks();
            let stacks = [call_stack, moment.call_stack].into_iter().chain(&stacks);
            // Each may be of another call stack than the rows, or describe where the function then leaves for.
            let by = |call_stack| judge(&truth.by(call_stack), &walker.backtrace, self.target, &readings);
            let worth = stacks.map(by).min_by_key(|worth| *worth == Reliability::Wrong);
            count(walker, worth.unwrap_or(Reliability::Wrong));
        }
    }

    fn compared(&mut self, _: &Truth<'_>, _: &Viewpoint<'_>, _: &dyn Fn() -> Readings) {}
}

impl<'u> Walker<'u> {
    fn new(unwinder: Box<dyn Unwinder + 'u>, walks: fn(&mut Executed) -> &mut Walks) -> Self {
        Self { unwinder, backtrace: Backtrace::default(), walks }
    }
}

/// Returns how reliable a walk is that is not by rows of SFrame.
fn judge(truth: &Truth<'_>, backtrace: &Backtrace, target: &Target<'_>, readings: &Readings) -> Reliability {
    let depth = truth.call_stack.depth();
    let worth_of = |frame: usize, verdict, got| {
        let (pc, address, got) = (truth.pc_of(frame), truth.address(frame), Value::Word(got));
        let found = Disagreement { verdict, frame, pc, address, expected: got, got, after_wrong_fp: None };
        if readings.leaves(&found, truth) { Reliability::Complete } else { Reliability::Wrong }
    };
    for (index, frame) in backtrace.frames.iter().enumerate().take(depth) {
        if frame.pc != truth.pc_of(index) {
            return index
                .checked_sub(1)
                .map_or(Reliability::Wrong, |inner| worth_of(inner, Verdict::WrongRa, frame.pc));
        }
        if let (Some(cfa), Some(call)) = (frame.cfa, truth.call_of(index))
            && cfa != call.cfa
        {
            // A frame further out has the SP that its callee is said to leave: on s390x, functions save it.
            let inner = index.checked_sub(1).and_then(|inner| Some((inner, truth.call_of(inner)?.cfa)));
            let (frame, cfa) = match inner {
                Some((inner, own)) => (inner, own.wrapping_add(cfa.wrapping_sub(call.cfa))),
                None => (index, cfa),
            };
            return worth_of(frame, Verdict::WrongCfa, cfa);
        }
    }
    let is_nowhere = |frame: &Frame| target.module_at(Loaded(frame.pc)).is_none();
    // What a walk finds beyond the outermost frame is no frame, unless that is the address at which walks end.
    let beyond = |first: &Frame| if first.pc == 0 { Reliability::Complete } else { Reliability::Incomplete };
    let is_context = truth.call_stack.bottom() != Bottom::Entry;
    match backtrace.frames.get(depth..) {
        None if backtrace.end == End::Outermost => Reliability::Silent,
        None => Reliability::Incomplete,
        Some([]) => Reliability::Complete,
        // The first function of a context has an address to return to, which the program has put there.
        Some([first]) if is_context || is_nowhere(first) => beyond(first),
        Some([first, extra]) if is_context && is_nowhere(extra) => beyond(first),
        Some(_) => Reliability::Wrong,
    }
}
