//! What system calls lead to.

use std::path::PathBuf;

use rustix::io::Errno;
use unicorn_engine::uc_error;

use super::ids::{SpaceId, TaskId};
use super::objects::tasks::Wait;
use crate::address_space::AddressSpace;

/// What a system call leads to.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It has ended with this result.
    Done(Result<u64, Errno>),
    /// The task waits.
    Wait(Wait),
    /// It is made again after the handler of a signal.
    Restart,
    /// The state that a signal has interrupted continues.
    SignalReturn,
    /// A task was made.
    Clone(Box<NewTask>),
    /// The process is to execute another program.
    Execute(Box<Execute>),
    /// The task has ended; others go on.
    Gone,
    /// The first process has ended with this status.
    Exit(u8),
    /// The machine does not implement it.
    Unsupported,
}

/// What the run needs to know about a new task.
#[derive(Debug)]
pub(crate) struct NewTask {
    pub(crate) id: TaskId,
    /// Its SP, unless it is that of its parent.
    pub(crate) sp: Option<u64>,
    /// Its thread pointer, unless it is that of its parent.
    pub(crate) thread_pointer: Option<u64>,
    /// A copy of its parent's memory, unless they share it.
    pub(crate) space: Option<(SpaceId, AddressSpace)>,
    /// Whether it continues the calls of its parent.
    pub(crate) is_copy: bool,
    /// Whether its parent waits until it has ended or executes another program.
    pub(crate) lends: bool,
}

/// The arguments of `execve`.
#[derive(Debug)]
pub(crate) struct Execute {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<Vec<u8>>,
    pub(crate) environment: Vec<Vec<u8>>,
}

/// Why the machine can't go on after a system call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// The emulator has refused something.
    Unicorn(uc_error),
}

/// Why a call has no result yet, or never has one.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It fails.
    Errno(Errno),
    /// The task waits.
    Wait(Wait),
    /// The machine does not implement it.
    Unsupported,
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// The result of the calls that may wait.
pub(crate) type Call = Result<u64, Refused>;
