//! What an unwinder is given, and what it answers.

use sframe_engine::{
    DwarfRegister, InstructionPointer, LookupAddress, Mangled, PauthMask, Pc, Registers, StepError,
};
use sframe_machine::{Change, Memory, Moment};

/// Where an unwinder starts: the registers of the CPU, and memory.
pub struct Viewpoint<'v> {
    /// Address of the instruction that executes next, with the load bias.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer register.
    pub fp: u64,
    /// Memory.
    pub memory: &'v dyn Memory,
    /// The registers of the CPU, by DWARF number.
    pub registers: &'v dyn Registers,
    /// The number of bits of the program's virtual addresses: above them are authentication codes.
    pub address_bits: u32,
}

impl<'v> Viewpoint<'v> {
    /// What an unwinder may see at a moment.
    pub const fn new(moment: &'v Moment<'v>) -> Self {
        let Moment { pc, sp, fp, memory, .. } = *moment;
        Self { pc, sp, fp, memory, registers: moment, address_bits: moment.address_bits() }
    }

    /// How authentication codes are removed from addresses.
    #[must_use]
    pub const fn pauth(&self) -> PauthMask {
        PauthMask::for_address_bits(self.address_bits)
    }

    /// The value of a register by its DWARF number.
    #[must_use]
    pub fn register(&self, dwarf: u32) -> Option<u64> {
        self.registers.register(DwarfRegister(dwarf))
    }
}

impl std::fmt::Debug for Viewpoint<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Viewpoint").field("pc", &self.pc).finish_non_exhaustive()
    }
}

/// The address of a value that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable(pub u64);

/// A frame of a backtrace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where the frame executes or will continue. Not adjusted for look-ups.
    pub pc: u64,
    /// Its CFA. `None` if the walk ended before it was known.
    pub cfa: Option<u64>,
    /// The frame pointer register in this frame, or why it is unknown.
    pub fp: Result<u64, Unreadable>,
    /// How its section says that its return address is signed, with the value
    /// as found. `None` if it is not signed, or if the unwinder does not report
    /// it.
    pub mangled: Option<Mangled>,
    /// Whether a signal has interrupted it before the instruction at `pc`, so
    /// that it is the caller of a signal frame. `None` if the unwinder does not
    /// report it.
    pub interrupted: Option<bool>,
}

/// Why a backtrace ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The last frame is marked as outermost.
    Outermost,
    /// The last frame's caller can't be found.
    Failed(StepError),
    /// There are more frames than any real program has.
    TooDeep,
    /// The unwinder gives no reason, or one that is not listed here.
    Unspecified,
}

/// The answer of an unwinder: frames, starting with the topmost, and an end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backtrace {
    /// The frames, the topmost first.
    pub frames: Vec<Frame>,
    /// Why there are no more.
    pub end: End,
    /// The 8-byte words of memory, as address / 8, that the step from each
    /// frame has read. Empty if the unwinder does not report them.
    pub words: Vec<Vec<u64>>,
    /// The number of frames after which nobody looks at more. `None`: see [`DEPTH_LIMIT`](super::DEPTH_LIMIT).
    pub limit: Option<usize>,
}

impl Backtrace {
    /// Walks the stack from end to end, in place of an earlier walk.
    pub fn unwind(&mut self, unwinder: &mut dyn Unwinder, viewpoint: &Viewpoint<'_>) {
        self.frames.clear();
        self.words.clear();
        unwinder.unwind(viewpoint, self);
    }
}

impl Default for End {
    /// The answer of an unwinder that knows nothing.
    fn default() -> Self {
        Self::Failed(StepError::NoFde)
    }
}

/// An unwinder under test.
pub trait Unwinder {
    /// Walks the stack from a viewpoint. `backtrace` is empty; it is passed in
    /// so that its memory can be reused.
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace);

    /// Notes that what there is to unwind by has changed.
    fn changed(&mut self, change: &Change) {
        let _ = change;
    }

    /// Forgets all such changes: another run begins.
    fn restart(&mut self) {}

    /// The unwinder's steps, if its walks consist of nothing else. An unchanged
    /// frame then need not be walked again; otherwise every walk is done from
    /// end to end.
    fn stepper(&mut self) -> Option<&mut dyn Stepper> {
        None
    }
}

/// All that an unwinder knows of a frame before it steps to the frame's caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Where the frame executes or will continue.
    pub pc: Pc,
    /// The stack pointer in this frame.
    pub sp: u64,
    /// As in [`Frame`].
    pub fp: Result<u64, Unreadable>,
    /// As in [`sframe_engine::Frame::same_sp`].
    pub same_sp: u8,
}

impl State {
    /// The state of the topmost frame.
    #[must_use]
    pub const fn topmost(viewpoint: &Viewpoint<'_>) -> Self {
        let pc = Pc::Instruction(InstructionPointer(viewpoint.pc));
        Self { pc, sp: viewpoint.sp, fp: Ok(viewpoint.fp), same_sp: 0 }
    }

    /// The frame as part of a backtrace.
    #[must_use]
    pub const fn frame(&self, cfa: Option<u64>, mangled: Option<Mangled>) -> Frame {
        let interrupted = Some(matches!(self.pc, Pc::Instruction(_)));
        Frame { pc: self.pc.get(), cfa, fp: self.fp, mangled, interrupted }
    }
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// The frame's CFA. `None` if the walk ends before it is known.
    pub cfa: Option<u64>,
    /// As in [`Frame`].
    pub mangled: Option<Mangled>,
    /// Its caller, or why there is none.
    pub caller: Result<State, End>,
    /// How the step used the frame's FP.
    pub fp_use: FpUse,
}

/// What a step does with FP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FpUse {
    /// It passes FP to the caller unchanged, and does nothing else with it.
    Passed,
    /// Nothing: the result would be the same with any other FP.
    Unused,
    /// Anything.
    #[default]
    Used,
}

/// Where a plain row finds RA or FP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// In its register.
    Unchanged,
    /// In memory, at this offset from the CFA.
    At(i64),
    /// In another register.
    In(DwarfRegister),
}

/// A row that needs nothing but SP, FP, registers that hold RA and FP, and two words of memory,
/// and says nothing else: of no signal frame, and of no signed return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainRow {
    /// The frame pointer register.
    pub fp: DwarfRegister,
    /// Whether the CFA is based on FP, and not on SP.
    pub cfa_from_fp: bool,
    /// What is added to it.
    pub cfa_offset: i64,
    /// How far the caller's SP lies below the CFA.
    pub sp_below_cfa: u64,
    /// The register that calls leave RA in, if they do.
    pub ra_register: Option<DwarfRegister>,
    /// Where RA is.
    pub ra: Saved,
    /// Where the caller's FP is.
    pub saved_fp: Saved,
}

/// The steps of an unwinder.
///
/// A step depends on its arguments alone: with the same state, and the same
/// contents of the memory that it read, it has the same result.
pub trait Stepper {
    /// Steps from a frame to its caller. `topmost` is given for the topmost
    /// frame only: further out, only SP and FP are known.
    /// `memory` reads 8 bytes as a number, and is the only way to do so.
    fn step(
        &mut self,
        state: &State,
        topmost: Option<&Viewpoint<'_>>,
        memory: &dyn Fn(u64) -> Option<u64>,
    ) -> Stepped;

    /// Returns the row for a frame, if a step from it does what the row says and nothing else.
    /// Otherwise each step is made.
    fn plain_row(&mut self, address: LookupAddress) -> Option<PlainRow> {
        let _ = address;
        None
    }
}

/// An unwinder whose steps can't be seen: every walk is done in full.
pub struct BlackBox<U>(pub U);

impl<U: Unwinder> Unwinder for BlackBox<U> {
    fn unwind(&mut self, viewpoint: &Viewpoint<'_>, backtrace: &mut Backtrace) {
        self.0.unwind(viewpoint, backtrace);
    }

    fn changed(&mut self, change: &Change) {
        self.0.changed(change);
    }

    fn restart(&mut self) {
        self.0.restart();
    }
}
