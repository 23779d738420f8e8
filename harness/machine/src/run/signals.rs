//! What signals have interrupted, and why the emulator pauses.

use std::rc::Rc;

use unicorn_engine::Context;

use crate::follow::Trail;
use crate::linux::objects::signals::SignalInfo;

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
    Signal,
    /// The last instruction has failed, and the program handles that signal.
    Fault(u64, SignalInfo),
    /// The last instruction has trapped, the program handles that signal, and continues after it.
    Trap(u64, SignalInfo),
    /// The last instruction is a system call.
    SystemCall,
    /// What comes next is executed by block.
    Blocks,
    /// What comes next is executed by instruction.
    Steps,
    /// Another task has its turn before the last instruction.
    Turn,
    /// A copy of the process is to be made, to which a signal is delivered.
    Fork(u64),
    /// The copy is to be given up.
    Rewind,
}
