//! Signals: what is to be done with them, and who has them pending (signal(7)).

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

pub(crate) use crate::cpu::SI_KERNEL;

pub(crate) const SIGNALS: u64 = 64;
pub(crate) const SIGILL: u64 = 4;
pub(crate) const SIGTRAP: u64 = 5;
pub(crate) const SIGKILL: u64 = 9;
pub(crate) const SIGSEGV: u64 = 11;
pub(crate) const SIGPIPE: u64 = 13;
pub(crate) const SIGALRM: u64 = 14;
pub(crate) const SIGCHLD: u64 = 17;
const SIGCONT: u64 = 18;
pub(crate) const SIGSTOP: u64 = 19;
const SIGURG: u64 = 23;
pub(crate) const SIGVTALRM: u64 = 26;
pub(crate) const SIGPROF: u64 = 27;
const SIGWINCH: u64 = 28;

/// Signals from this one on wait as often as they were sent, others once.
const SIGRTMIN: u64 = 32;
/// No task has more signals that wait.
const MOST_PENDING: usize = 1024;

/// `si_code`: sent by a timer.
pub(crate) const SI_TIMER: i32 = -2;

pub(crate) const SIG_DFL: u64 = 0;
pub(crate) const SIG_IGN: u64 = 1;
pub(crate) const SA_RESTORER: u64 = 0x0400_0000;
pub(crate) const SA_ONSTACK: u64 = 0x0800_0000;
pub(crate) const SA_RESTART: u64 = 0x1000_0000;
pub(crate) const SA_NODEFER: u64 = 0x4000_0000;
pub(crate) const SA_RESETHAND: u64 = 0x8000_0000;

pub(crate) const UNBLOCKABLE: u64 = bit(SIGKILL) | bit(SIGSTOP);

/// Returns the bit of a signal in a set.
pub(crate) const fn bit(signal: u64) -> u64 {
    1 << (signal - 1)
}

/// What the program wants done with a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) handler: u64,
    pub(crate) flags: u64,
    pub(crate) restorer: u64,
    pub(crate) mask: u64,
}

/// What is to be done with a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    Handle(Action),
    Ignore,
    /// The process ends.
    Terminate,
}

/// The actions of a process, by signal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Actions(pub(crate) BTreeMap<u64, Action>);

impl Actions {
    pub(crate) fn disposition(&self, signal: u64) -> Disposition {
        match self.0.get(&signal) {
            Some(action) if action.handler == SIG_IGN => Disposition::Ignore,
            Some(action) if action.handler != SIG_DFL => Disposition::Handle(*action),
            _ if matches!(signal, SIGCHLD | SIGCONT | SIGURG | SIGWINCH) => Disposition::Ignore,
            _ => Disposition::Terminate,
        }
    }

    /// The program is replaced, and its handlers with it.
    pub(crate) fn reset(&mut self) {
        self.0.retain(|_, action| action.handler == SIG_IGN);
    }
}

/// What a handler learns about its signal: the fields of `siginfo_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SignalInfo {
    /// `si_code`.
    pub(crate) code: i32,
    /// The word at its start: the sender, or the address of a fault.
    pub(crate) word: u64,
    /// The value that was sent along.
    pub(crate) value: u64,
}

/// Signals that wait for their delivery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending(BTreeMap<u64, VecDeque<SignalInfo>>);

impl Pending {
    /// Returns the signals, as a bit for each.
    pub(crate) fn set(&self) -> u64 {
        self.0.keys().fold(0, |set, signal| set | bit(*signal))
    }

    /// Returns the first signal of a set that waits.
    pub(crate) fn first(&self, set: u64) -> Option<u64> {
        self.0.keys().copied().find(|signal| set & bit(*signal) != 0)
    }

    /// Returns what is known about a signal.
    pub(crate) fn of(&self, signal: u64) -> impl Iterator<Item = &SignalInfo> {
        self.0.get(&signal).into_iter().flatten()
    }

    pub(crate) fn add(&mut self, signal: u64, info: SignalInfo) {
        let queue = self.0.entry(signal).or_default();
        let room = if signal < SIGRTMIN { 1 } else { MOST_PENDING };
        if queue.len() < room {
            queue.push_back(info);
        }
    }

    pub(crate) fn take(&mut self, signal: u64) -> Option<SignalInfo> {
        let queue = self.0.get_mut(&signal)?;
        let info = queue.pop_front();
        if queue.is_empty() {
            self.0.remove(&signal);
        }
        info
    }

    pub(crate) fn forget(&mut self, signal: u64) {
        self.0.remove(&signal);
    }
}

/// The signals of a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskSignals {
    /// A bit for each signal.
    pub(crate) blocked: u64,
    /// The mask that returns when the call ends that has replaced it.
    pub(crate) saved: Option<u64>,
    pub(crate) pending: Pending,
    /// Signals that it waits for.
    pub(crate) awaited: u64,
    /// The alternate stack.
    pub(crate) alternate: Option<Range<u64>>,
}

impl TaskSignals {
    /// The signals of a new task. It keeps the alternate stack if it is on its own copy of it.
    pub(crate) fn of_child(&self, keeps_stack: bool) -> Self {
        let alternate = if keeps_stack { self.alternate.clone() } else { None };
        Self { blocked: self.blocked, alternate, ..Self::default() }
    }

    /// The program is replaced.
    pub(crate) fn executed(&mut self) {
        self.alternate = None;
        self.saved = None;
    }

    pub(crate) fn first_ready(&self) -> Option<u64> {
        self.pending.first(!self.blocked)
    }

    /// Replaces the mask until the call has ended.
    pub(crate) fn replace_mask(&mut self, mask: u64) {
        self.saved.get_or_insert(self.blocked);
        self.blocked = mask & !UNBLOCKABLE;
    }
}
