//! How much of a program's execution each way of walking stacks gets right: SFrame, call frame
//! information, and frame pointers, without and with a look at the code; and what each of them costs
//! in the file.
//!
//! All are asked at the same moments of one run, and judged by the call stack alone, in the
//! same way. [`Walks`] says what counts as right.

mod image;
mod popped;
mod walks;

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use crate::examine::progress::Progress;
use crate::examine::sampling::Sampling;
use crate::examine::stop::StopRequest;
use crate::examine::{Examination, ExamineOptions, examine_with};
use crate::target::Target;
use crate::truth::cross_check::Traces;
use crate::unwind::{CfiUnwinder, CodeReadingUnwinder, FramePointerUnwinder, Unwinder, sframe_unwinder};
use sframe_machine::{MachineError, Options};

pub use image::{ImageSizes, Skipped, VersionSize};
pub use popped::{Popped, PoppedSlots};
pub use walks::{Executed, MAX_DEPTH, WAYS, Walks, Way};

/// How often each row is compared for findings, at each place that uses it.
const PER_PLACE: NonZeroU32 = NonZeroU32::MIN.saturating_add(2);

/// What to study.
#[derive(Clone, Debug)]
pub struct StudyOptions {
    /// Stacks are walked at one in this many instructions, at distances that vary.
    pub every: NonZeroU64,
    /// Ends the run if somebody asks for that.
    pub stop: StopRequest,
    /// Where to show how far the run is.
    pub progress: Option<Arc<Progress>>,
}

impl Default for StudyOptions {
    fn default() -> Self {
        Self { every: NonZeroU64::MIN, stop: StopRequest::default(), progress: None }
    }
}

/// What is compared.
pub struct Unwinders<'u> {
    /// Reads `.sframe`, or what is made in its place.
    pub sframe: Box<dyn Unwinder + 'u>,
    /// Reads `.eh_frame` or `.debug_frame`.
    pub cfi: Box<dyn Unwinder + 'u>,
    /// Follows frame records, or the backchain.
    pub frame_pointers: Box<dyn Unwinder + 'u>,
    /// Follows these after a look at the code of the innermost function.
    pub with_code: Box<dyn Unwinder + 'u>,
}

impl<'u> Unwinders<'u> {
    /// This project's own.
    #[must_use]
    pub fn of<'a: 'u>(target: &'u Target<'a>) -> Self {
        Self {
            sframe: sframe_unwinder(target),
            cfi: Box::new(CfiUnwinder::new(target)),
            frame_pointers: Box::new(FramePointerUnwinder::new(target)),
            with_code: Box::new(CodeReadingUnwinder::new(target)),
        }
    }
}

/// What was seen in a run.
#[derive(Debug)]
pub struct Study {
    /// The run, with the findings about rows.
    pub examination: Examination,
    /// What executed in each image, in the order of the target's.
    pub images: Vec<Executed>,
    /// What executed elsewhere.
    pub elsewhere: Executed,
}

impl Study {
    /// Runs a program.
    ///
    /// # Errors
    /// The machine can't be set up. If the program breaks later, the examination says so.
    pub fn of(
        target: &Target<'_>,
        unwinders: Unwinders<'_>,
        options: &StudyOptions,
        machine: &Options,
    ) -> Result<Self, MachineError> {
        let look = ExamineOptions {
            traces: Traces::of_abi(target.executable().image.cpu.abi),
            sampling: Sampling { per_place: Some(PER_PLACE), ..Sampling::default() },
            stop: options.stop.clone(),
            progress: options.progress.clone(),
            ..ExamineOptions::default()
        };
        let mut walkers = walks::Walkers::new(target, unwinders, options.every);
        let mut unwinder = sframe_unwinder(target);
        let examination = examine_with(target, &mut *unwinder, &look, machine, Some(&mut walkers))?;
        let (images, elsewhere) = walkers.into_executed();
        Ok(Self { examination, images, elsewhere })
    }
}
