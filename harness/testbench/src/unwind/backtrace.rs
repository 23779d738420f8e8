//! What an unwinder is given, and what it answers.

use sframe_engine::StepError;
use sframe_machine::{AddressSpace, Moment};

/// Where an unwinder starts: the registers of the CPU, and memory.
pub struct Viewpoint<'v> {
    /// Address of the instruction that executes next, with the load bias.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer register.
    pub fp: u64,
    /// Memory.
    pub memory: &'v AddressSpace,
    moment: &'v Moment<'v>,
}

impl<'v> Viewpoint<'v> {
    pub(crate) const fn new(moment: &'v Moment<'v>) -> Self {
        Self { pc: moment.pc, sp: moment.sp, fp: moment.fp, memory: moment.memory, moment }
    }

    /// The value of a register by its DWARF number.
    #[must_use]
    pub fn register(&self, dwarf: u32) -> Option<u64> {
        self.moment.register(dwarf)
    }
}

/// A frame of a backtrace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where the frame executes or will go on. Not changed for look-ups.
    pub pc: u64,
    /// Its CFA. None where the walk ended before it was known.
    pub cfa: Option<u64>,
    /// The frame pointer register in this frame, or the address at which it
    /// was to be read and could not.
    pub fp: Result<u64, u64>,
}

/// Why a backtrace ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The last frame is marked as outermost.
    Outermost,
    /// The last frame's caller can't be found.
    Failed(StepError),
    /// There are more frames than anybody would want.
    TooDeep,
}

/// The answer of an unwinder: frames from the topmost one on, and an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backtrace {
    /// The frames, the topmost first.
    pub frames: Vec<Frame>,
    /// Why there are no more.
    pub end: End,
}

impl Default for Backtrace {
    fn default() -> Self {
        Self { frames: Vec::new(), end: End::Failed(StepError::NoFde) }
    }
}

/// Something that walks stacks, and is to be judged.
pub trait Unwinder {
    /// Walks the stack from a viewpoint. `backtrace` is empty; it is handed
    /// over so that its memory can be used again.
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace);
}
