//! The state of the process's signals.

use std::ops::Range;
use std::rc::Rc;

use unicorn_engine::Context;

use super::trail::Trail;

/// What the program wants done with a signal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Action {
    pub(super) handler: u64,
    pub(super) flags: u64,
    pub(super) restorer: u64,
    pub(super) mask: u64,
}

/// The process's signals.
#[derive(Clone, Default)]
pub(crate) struct Signals {
    /// By signal number minus one.
    pub(super) actions: Vec<Option<Action>>,
    /// A bit for each signal, at its number minus one.
    pub(super) blocked: u64,
    pub(super) pending: u64,
    pub(super) alternate: Option<Range<u64>>,
    pub(super) interrupted: Vec<Interrupted>,
}

/// State that a signal has interrupted.
#[derive(Clone)]
pub(super) struct Interrupted {
    pub(super) frame: u64,
    /// The complete CPU state; the frame holds the part that programs look at.
    pub(super) state: Rc<Context>,
    /// What the frame's registers were.
    pub(super) registers: Vec<u64>,
    /// The instructions before.
    pub(super) trail: Trail,
}

/// The reason for a pause of the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// A signal is to be delivered before the last instruction.
    Signal(u64),
    /// The last instruction was `rt_sigreturn`.
    SignalReturn,
    /// A copy of the process is to be made, to which a signal is delivered.
    Fork(u64),
    /// The copy is to be given up.
    Rewind,
}
