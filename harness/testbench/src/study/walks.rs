//! Walks at a sample of the instructions, and what they are worth.

use std::num::NonZeroU64;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use sframe_machine::{Bottom, Moment};

use super::Unwinders;
use crate::compare::Truth;
use crate::examine::Probe;
use crate::examine::sampling::Strides;
use crate::target::{Loaded, Target};
use crate::unwind::{Backtrace, Unwinder, Viewpoint};

/// Deeper call stacks are not walked: the cost of a walk grows with the depth. Profilers stop
/// earlier (perf: after 127 frames).
pub const MAX_DEPTH: usize = 1024;

/// What the walks of one unwinder were worth.
///
/// A walk is *whole* if it has all frames of the call stack, each with the right PC, and with the
/// right CFA as far as the unwinder gives one; and if it then ends. Where nothing marks the
/// outermost frame, one more frame is no fault if its PC lies in none of the images. What a walk
/// finds below a context that the program itself has made, such as a coroutine's, is not judged.
///
/// A walk is *cut short* if all of its frames are right, and some are missing at its end. All other
/// walks are *wrong*: they have a frame that is not on the call stack, or leave one out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Walks {
    /// Those that were whole.
    pub whole: u64,
    /// Those that were cut short.
    pub cut_short: u64,
    /// Those that were wrong.
    pub wrong: u64,
}

impl Walks {
    /// Their number.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.whole.saturating_add(self.cut_short).saturating_add(self.wrong)
    }

    /// Adds others, each as if there were so many of it.
    pub const fn add(&mut self, other: &Self, times: u64) {
        self.whole = self.whole.saturating_add(other.whole.saturating_mul(times));
        self.cut_short = self.cut_short.saturating_add(other.cut_short.saturating_mul(times));
        self.wrong = self.wrong.saturating_add(other.wrong.saturating_mul(times));
    }
}

/// What executed in an image: the topmost frame was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Executed {
    /// Number of instructions.
    pub instructions: u64,
    /// Those in the sample whose call stack was deeper than [`MAX_DEPTH`]. They were not walked.
    pub too_deep: u64,
    /// Those in the sample whose call stack was not yet certain. They were not walked.
    pub unsettled: u64,
    /// Walks with SFrame.
    pub sframe: Walks,
    /// Walks with call frame information.
    pub cfi: Walks,
    /// Walks with frame pointers, or on s390x the backchain.
    pub frame_pointers: Walks,
}

impl Executed {
    /// Adds another run's. Its walks count as many times as there were instructions for each of
    /// them, so that they weigh as much as those of a run with another distance.
    pub const fn add(&mut self, other: &Self, every: u64) {
        self.instructions = self.instructions.saturating_add(other.instructions);
        self.too_deep = self.too_deep.saturating_add(other.too_deep.saturating_mul(every));
        self.unsettled = self.unsettled.saturating_add(other.unsettled.saturating_mul(every));
        self.sframe.add(&other.sframe, every);
        self.cfi.add(&other.cfi, every);
        self.frame_pointers.add(&other.frame_pointers, every);
    }
}

/// Walks stacks while a program is examined.
pub(super) struct Walkers<'t, 'a, 'u> {
    target: &'t Target<'a>,
    unwinders: Unwinders<'u>,
    strides: Strides,
    backtrace: Backtrace,
    /// What executed in each image, and then elsewhere.
    executed: Vec<Executed>,
    /// The image that executed last, and its addresses.
    image: (usize, Range<u64>),
}

impl<'t, 'a, 'u> Walkers<'t, 'a, 'u> {
    pub(super) fn new(target: &'t Target<'a>, unwinders: Unwinders<'u>, every: NonZeroU64) -> Self {
        let elsewhere = target.modules.len();
        Self {
            target,
            unwinders,
            strides: Strides::new(every),
            backtrace: Backtrace::default(),
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
    fn executes(&mut self, moment: &Moment<'_>) {
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
        let (target, backtrace) = (self.target, &mut self.backtrace);
        let mut walk = |unwinder: &mut dyn Unwinder, walks: &mut Walks| {
            backtrace.frames.clear();
            backtrace.words.clear();
            unwinder.unwind(&viewpoint, backtrace);
            *judge(&truth, backtrace, target, walks) += 1;
        };
        walk(&mut *self.unwinders.sframe, &mut executed.sframe);
        walk(&mut *self.unwinders.cfi, &mut executed.cfi);
        walk(&mut *self.unwinders.frame_pointers, &mut executed.frame_pointers);
    }

    fn compared(&mut self, _: &Truth<'_>, _: &Viewpoint<'_>) {}
}

/// Returns which kind of walk this is.
fn judge<'w>(
    truth: &Truth<'_>,
    backtrace: &Backtrace,
    target: &Target<'_>,
    walks: &'w mut Walks,
) -> &'w mut u64 {
    let depth = truth.call_stack.depth();
    for (index, frame) in backtrace.frames.iter().enumerate().take(depth) {
        let is_pc_right = frame.pc == truth.pc_of(index);
        let call = truth.call_of(index);
        let is_cfa_right = frame.cfa.is_none_or(|cfa| call.is_none_or(|call| call.cfa == cfa));
        if !is_pc_right || !is_cfa_right {
            return &mut walks.wrong;
        }
    }
    match backtrace.frames.get(depth..) {
        None => &mut walks.cut_short,
        Some([]) => &mut walks.whole,
        Some(_) if truth.call_stack.bottom() != Bottom::Entry => &mut walks.whole,
        Some([extra]) if target.module_at(Loaded(extra.pc)).is_none() => &mut walks.whole,
        Some(_) => &mut walks.wrong,
    }
}
