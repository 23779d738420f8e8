//! The threads of a process, of which one executes at a time, and why they stop.

use std::fs;
use std::io;

use rustix::process::{Pid, WaitStatus};

use super::ptrace::{self, SignalInfo};
use crate::control_flow::ControlFlow;
use crate::cpu::AuthenticationKey;
use crate::follow::{Follower, Trail};
use crate::witness::{Place, Witness};

/// Why a thread has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It has executed what it was to execute.
    Step,
    /// A system call begins or ends.
    Call,
    /// A signal is about to be delivered.
    Signal(i32, SignalInfo),
    /// It has made a thread.
    Cloned(Pid),
    /// The process executes another program.
    Executed,
    /// A signal has stopped the process, until another one lets it go on.
    Held,
    /// It has ended, with this status of the process.
    Exited(u8),
    /// A signal has ended the process.
    Killed(u8),
}

impl Stop {
    /// Returns why a thread has stopped, or ended.
    pub(super) fn of(thread: Pid, status: WaitStatus) -> io::Result<Self> {
        let byte = |number: Option<i32>| u8::try_from(number.unwrap_or_default()).unwrap_or_default();
        if status.exited() {
            return Ok(Self::Exited(byte(status.exit_status())));
        }
        if status.signaled() {
            return Ok(Self::Killed(byte(status.terminating_signal())));
        }
        let signal = status.stopping_signal().unwrap_or_default();
        match status.as_raw() >> 16 {
            libc::PTRACE_EVENT_CLONE => {
                let made = ptrace::new_thread(thread)?;
                return Ok(made.map_or(Self::Step, Self::Cloned));
            }
            libc::PTRACE_EVENT_EXEC => return Ok(Self::Executed),
            _ => {}
        }
        if signal == libc::SIGTRAP | 0x80 {
            return Ok(Self::Call);
        }
        let Some(info) = ptrace::signal_info(thread) else { return Ok(Self::Held) };
        // Linux says of its own traps where they come from: the trace flag, the end of a system call, or a handler's begin.
        let is_step = matches!(info.code, libc::TRAP_TRACE | libc::TRAP_BRKPT | libc::SIGTRAP);
        Ok(if signal == libc::SIGTRAP && is_step { Self::Step } else { Self::Signal(signal, info) })
    }
}

/// A system call that a thread makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: &'static str,
}

impl Call {
    /// Whether it loads the state from a signal's frame.
    pub(super) fn is_signal_return(self) -> bool {
        self.name == "rt_sigreturn"
    }

    /// Whether it may change what is mapped.
    pub(super) fn maps(self) -> bool {
        matches!(
            self.name,
            "mmap"
                | "munmap"
                | "mprotect"
                | "pkey_mprotect"
                | "mremap"
                | "remap_file_pages"
                | "shmat"
                | "shmdt"
        )
    }
}

/// A signal that is on its way to a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivered {
    pub(super) signal: i32,
    pub(super) info: SignalInfo,
    /// The instruction that was executing when it came.
    pub(super) at: Place,
    /// Whether that has executed.
    pub(super) is_behind: bool,
}

impl Delivered {
    /// Whether an instruction has raised it, as it has failed or trapped.
    pub(super) fn is_fault(self) -> bool {
        let of_instructions = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP];
        of_instructions.contains(&self.signal) && self.info.code > 0
    }
}

/// A thread, without what is followed of it while it is the current one.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) id: Pid,
    /// Its number, from 1.
    pub(super) number: u32,
    /// What was followed of it when another one went on.
    parked: Option<(Witness, Trail, Option<AuthenticationKey>)>,
    /// Whether it executes: its next stop has not been seen.
    pub(super) is_running: bool,
    /// The instruction that it executes, which was shown.
    pub(super) at: Place,
    /// The system call that it makes by that.
    pub(super) call: Option<Call>,
    /// The signal that comes before its next instruction.
    pub(super) signal: Option<Delivered>,
    /// The one that it was last let go on with.
    pub(super) delivering: Option<Delivered>,
    /// The frames of signals whose handlers have not returned, with the instructions before.
    pub(super) frames: Vec<(u64, Trail)>,
}

impl Thread {
    pub(super) fn new(id: Pid, number: u32, witness: Option<Witness>) -> Self {
        let parked = witness.map(|witness| (witness, Trail::default(), None));
        Self {
            id,
            number,
            parked,
            is_running: false,
            at: Place { pc: 0, sp: 0, fp: 0 },
            call: None,
            signal: None,
            delivering: None,
            frames: Vec::new(),
        }
    }

    /// Makes it the current one, in place of another, which is parked.
    pub(super) fn replace(&mut self, other: &mut Self, follower: &mut Follower) {
        if let Some((witness, trail, signing)) = self.parked.take() {
            let before = std::mem::replace(&mut follower.witness, witness);
            let trail = std::mem::replace(&mut follower.trail, trail);
            other.parked = Some((before, trail, std::mem::replace(&mut follower.signing, signing)));
        }
    }

    /// The control transfers of one that is not the current one.
    pub(super) fn control_flow(&self) -> Option<&ControlFlow> {
        self.parked.as_ref().map(|(witness, ..)| witness.control_flow())
    }

    /// Whether it waits within the kernel, for what may never come.
    pub(super) fn is_asleep(&self) -> bool {
        let stat = fs::read(format!("/proc/{}/stat", self.id.as_raw_nonzero())).unwrap_or_default();
        // `PID (NAME) STATE`; the name may have anything.
        let end = stat.iter().rposition(|byte| *byte == b')');
        let state = end.and_then(|end| stat.get(end + 2));
        matches!(state, Some(b'S' | b'D' | b'Z' | b'T'))
    }
}

/// Whether a thread is one of a process.
pub(super) fn is_of(process: Pid, thread: Pid) -> bool {
    let [process, thread] = [process, thread].map(Pid::as_raw_nonzero);
    fs::exists(format!("/proc/{process}/task/{thread}")).unwrap_or(false)
}
