//! Who gets a signal, and when: kill(2), sigaction(2), sigprocmask(2) and their relatives. Their
//! delivery, which needs the CPU, is that of [`run`](crate::run).

use rustix::io::Errno;

use super::time::deadline;
use crate::linux::answer::{Answer, Call, Refused};
use crate::linux::ids::{FIRST, ProcessId, TaskId};
use crate::linux::kernel::Linux;
use crate::linux::objects::descriptions::Object;
use crate::linux::objects::signals::{
    Action, Disposition, SA_RESTART, SI_TIMER, SIGKILL, SIGNALS, SIGSTOP, SignalInfo, UNBLOCKABLE, bit,
};
use crate::linux::objects::tasks::{On, Task, Wait};
use crate::linux::user::{Record, User, int, low};

/// The length of a `signalfd_siginfo`.
pub(super) const SIGNAL_RECORD: usize = 128;

impl Linux {
    pub(crate) fn call_signals(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        Some(match name {
            "rt_sigaction" => self.signal_action(user, a),
            "rt_sigprocmask" => self.signal_mask(user, a),
            "rt_sigpending" => {
                let set = self.tasks.current().signals.pending.set();
                user.write_word(a[0], set).map(|()| 0).map_err(Refused::from)
            }
            "rt_sigsuspend" => self.signal_suspend(user, a),
            "pause" => self.wait_for_signal(),
            "rt_sigtimedwait" => self.signal_wait(user, a),
            "sigaltstack" => self.alternate_stack(user, a),
            "kill" => self.kill(int(a[0]), a[1]),
            "tkill" => self.kill_task(None, low(a[0]), a[1]),
            "tgkill" => self.kill_task(Some(ProcessId(low(a[0]))), low(a[1]), a[2]),
            "rt_sigqueueinfo" | "rt_tgsigqueueinfo" => self.queue(user, name, a),
            "signalfd" => self.signal_descriptor(user, a[0], a[1], 0),
            "signalfd4" => self.signal_descriptor(user, a[0], a[1], a[3]),
            _ => return None,
        })
    }

    /// Returns whether a signal is to be delivered to the current task now.
    pub(crate) fn has_signal(&self) -> bool {
        self.tasks.current().signals.first_ready().is_some()
    }

    /// Ends a wait for the signal that is to be delivered.
    pub(crate) fn interrupted(&self, wait: Wait) -> Answer {
        let signal = self.tasks.current().signals.first_ready();
        let action = signal.map(|signal| self.disposition(signal));
        let restarts = matches!(action, Some(Disposition::Handle(action)) if action.flags & SA_RESTART != 0);
        if restarts && wait.restarts { Answer::Restart } else { Answer::Done(Err(Errno::INTR)) }
    }

    /// Takes the first signal that is to be delivered to the current task now.
    pub(crate) fn take_signal(&mut self) -> Option<(u64, SignalInfo)> {
        let signals = &mut self.tasks.current_mut().signals;
        let signal = signals.first_ready()?;
        let info = signals.pending.take(signal).unwrap_or_default();
        Some((signal, self.taken(info)))
    }

    /// Returns what is to be done with a signal to the current task.
    pub(crate) fn disposition(&self, signal: u64) -> Disposition {
        self.process().actions.disposition(signal)
    }

    /// Notes that the current task's handler has been called once: `SA_RESETHAND`.
    pub(crate) fn reset_action(&mut self, signal: u64) {
        self.process_mut().actions.0.remove(&signal);
    }

    /// Sends a signal to the current task.
    pub(crate) fn raise(&mut self, signal: u64) {
        if (1..=SIGNALS).contains(&signal) {
            let task = self.tasks.current().id;
            self.send(task, signal, SignalInfo::default());
        }
    }

    /// Sends the current task a signal that it handles, of what it has done itself.
    pub(crate) fn force(&mut self, signal: u64, info: SignalInfo) {
        let task = self.tasks.current().id;
        self.send(task, signal, info);
    }

    /// Sends a signal to a task. A signal that is ignored is lost.
    pub(super) fn send(&mut self, task: TaskId, signal: u64, info: SignalInfo) {
        let Some(target) = self.tasks.iter().find(|other| other.id == task) else { return };
        if self.loses(target, signal) {
            return;
        }
        let disposition = self.disposition_of(target.process, signal);
        let restarts = matches!(disposition, Disposition::Handle(action) if action.flags & SA_RESTART != 0);
        let mut waits = false;
        if let Some(target) = self.tasks.iter_mut().find(|other| other.id == task) {
            target.signals.pending.add(signal, info);
            if target.signals.blocked & bit(signal) == 0 {
                target.interrupt(restarts);
                waits = target.signals.awaited & bit(signal) != 0;
            } else {
                // Somebody may wait for it.
                waits = true;
            }
        }
        if waits {
            self.tasks.retry();
        }
    }

    /// Returns whether a task ignores a signal, so that it is lost.
    fn loses(&self, target: &Task, signal: u64) -> bool {
        let kept = (target.signals.awaited | target.signals.blocked) & bit(signal);
        kept == 0 && self.disposition_of(target.process, signal) == Disposition::Ignore
    }

    fn disposition_of(&self, process: ProcessId, signal: u64) -> Disposition {
        let process = self.processes.get(&process);
        process.map_or(Disposition::Ignore, |process| process.actions.disposition(signal))
    }

    /// Returns whether a signal to a process, or to one of its tasks, is not lost.
    pub(crate) fn takes(&self, process: ProcessId, task: Option<TaskId>, signal: u64) -> bool {
        let target = match task {
            Some(task) => self.tasks.iter().find(|other| other.id == task),
            None => self.taker(process, signal),
        };
        target.is_some_and(|target| !self.loses(target, signal))
    }

    /// Sends a signal to the task of a process that takes it.
    pub(crate) fn send_to_process(&mut self, process: ProcessId, signal: u64, info: SignalInfo) {
        if let Some(task) = self.taker(process, signal) {
            self.send(task.id, signal, info);
        }
    }

    /// Returns the task of a process that takes a signal.
    fn taker(&self, process: ProcessId, signal: u64) -> Option<&Task> {
        let tasks = || self.tasks.iter().filter(|task| task.process == process);
        let awaits = tasks().find(|task| task.signals.awaited & bit(signal) != 0);
        let takes = || tasks().find(|task| task.signals.blocked & bit(signal) == 0);
        awaits.or_else(takes).or_else(|| tasks().next())
    }

    fn signal_action(&mut self, user: &mut User<'_, '_>, [signal, new, old, ..]: [u64; 6]) -> Call {
        if !(1..=SIGNALS).contains(&signal) || (new != 0 && matches!(signal, SIGKILL | SIGSTOP)) {
            return Err(Errno::INVAL.into());
        }
        // struct sigaction of the kernel: handler, flags, restorer, mask.
        let before = self.process().actions.0.get(&signal).copied();
        if new != 0 {
            let [handler, flags, restorer, mask] = user.words(new)?;
            let action = Action { handler, flags, restorer, mask: mask & !UNBLOCKABLE };
            self.process_mut().actions.0.insert(signal, action);
            if self.disposition(signal) == Disposition::Ignore {
                let process = self.tasks.current().process;
                for task in self.tasks.iter_mut().filter(|task| task.process == process) {
                    task.signals.pending.forget(signal);
                }
            }
        }
        if old != 0 {
            let before = before.map_or([0; 4], |a| [a.handler, a.flags, a.restorer, a.mask]);
            let record = user.record().words(before);
            user.write(old, &record.bytes)?;
        }
        Ok(0)
    }

    fn signal_mask(&mut self, user: &mut User<'_, '_>, [how, new, old, ..]: [u64; 6]) -> Call {
        const SIG_BLOCK: u64 = 0;
        const SIG_UNBLOCK: u64 = 1;
        const SIG_SETMASK: u64 = 2;

        let before = self.tasks.current().signals.blocked;
        if new != 0 {
            let set = user.word(new)?;
            let blocked = match how {
                SIG_BLOCK => before | set,
                SIG_UNBLOCK => before & !set,
                SIG_SETMASK => set,
                _ => return Err(Errno::INVAL.into()),
            };
            self.tasks.current_mut().signals.blocked = blocked & !UNBLOCKABLE;
        }
        if old != 0 {
            user.write_word(old, before)?;
        }
        Ok(0)
    }

    fn signal_suspend(&mut self, user: &User<'_, '_>, [mask, ..]: [u64; 6]) -> Call {
        let mask = user.word(mask)?;
        self.tasks.current_mut().signals.replace_mask(mask);
        self.wait_for_signal()
    }

    fn wait_for_signal(&self) -> Call {
        if self.has_signal() {
            return Err(Errno::INTR.into());
        }
        Err(Refused::Wait(Wait::on(On::Signal, None, false)))
    }

    /// Replaces the mask of the current task until its call has ended: `ppoll` and its like.
    pub(crate) fn with_mask(&mut self, user: &User<'_, '_>, mask: u64) -> Result<(), Errno> {
        if mask != 0 && self.tasks.current().signals.saved.is_none() {
            let mask = user.word(mask)?;
            self.tasks.current_mut().signals.replace_mask(mask);
        }
        Ok(())
    }

    /// Brings back the mask that a call has replaced, unless a signal is to be delivered first:
    /// its handler's return will.
    pub(crate) fn restore_mask(&mut self) {
        if !self.has_signal() {
            let signals = &mut self.tasks.current_mut().signals;
            if let Some(saved) = signals.saved.take() {
                signals.blocked = saved;
            }
        }
    }

    fn signal_wait(&mut self, user: &mut User<'_, '_>, [set, info, timeout, ..]: [u64; 6]) -> Call {
        let awaited = user.word(set)?;
        let end = deadline(self, user, timeout)?;
        let task = self.tasks.current_mut();
        let found = task.signals.pending.first(awaited);
        let Some(signal) = found else {
            if task.has_expired() {
                task.signals.awaited = 0;
                return Err(Errno::AGAIN.into());
            }
            task.signals.awaited = awaited;
            let end = task.deadline().or(end);
            return Err(Refused::Wait(Wait::on(On::Event, end, false)));
        };
        task.signals.awaited = 0;
        let sent = task.signals.pending.take(signal).unwrap_or_default();
        let sent = self.taken(sent);
        if info != 0 {
            let record = user.record().half(low(signal)).half(0).half(sent.code.cast_unsigned()).half(0);
            let record = record.word(sent.word).word(sent.value).padded(128);
            user.write(info, &record.bytes)?;
        }
        Ok(signal)
    }

    /// Makes a descriptor that signals of a set are read from, or gives it another set.
    fn signal_descriptor(&mut self, user: &User<'_, '_>, descriptor: u64, set: u64, flags: u64) -> Call {
        let set = user.word(set)? & !UNBLOCKABLE;
        if int(descriptor) == -1 {
            return self.install(Object::Signals(set), flags);
        }
        let id = self.described(descriptor)?;
        match &mut self.descriptions.get_mut(id)?.object {
            Object::Signals(old) => *old = set,
            _ => return Err(Errno::INVAL.into()),
        }
        self.tasks.retry();
        Ok(descriptor)
    }

    /// Returns a signal of a set that the current task can read: its own, or one that waits for
    /// its process, which is kept with another task.
    pub(super) fn readable_signal(&self, set: u64) -> Option<(TaskId, u64)> {
        let own = self.tasks.current();
        let others = self.tasks.iter().filter(|task| task.process == own.process && task.id != own.id);
        let waits = |task: &Task| Some((task.id, task.signals.pending.first(set)?));
        std::iter::once(own).chain(others).find_map(waits)
    }

    /// Takes signals of a set that wait, as many as there is room for: a `signalfd_siginfo` for
    /// each.
    pub(super) fn read_signals(&mut self, set: u64, room: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() + SIGNAL_RECORD <= room
            && let Some((id, signal)) = self.readable_signal(set)
        {
            let target = self.tasks.iter_mut().find(|task| task.id == id);
            let sent = target.and_then(|task| task.signals.pending.take(signal)).unwrap_or_default();
            let SignalInfo { code, word, value } = self.taken(sent);
            let big_endian = self.cpu.abi.is_big_endian();
            let [first, second] = if big_endian { [word >> 32, word] } else { [word, word >> 32] }.map(low);
            let is_timer = code == SI_TIMER;
            let [process, user] = if is_timer { [0; 2] } else { [first, second] };
            let [timer, overrun] = if is_timer { [first, second] } else { [0; 2] };
            let record = Record::new(big_endian).half(low(signal)).half(0).half(code.cast_unsigned());
            let record = record.half(process).half(user).half(0).half(timer).half(0).half(overrun);
            let record = record.half(0).half(0).half(low(value)).word(value).padded(SIGNAL_RECORD);
            bytes.extend(record.bytes);
        }
        bytes
    }

    /// To a process of the program only.
    fn kill(&mut self, process: i32, signal: u64) -> Call {
        if signal > SIGNALS {
            return Err(Errno::INVAL.into());
        }
        let sender = self.sender(0);
        let targets: Vec<ProcessId> = match u32::try_from(process) {
            Ok(0) => self.processes.keys().copied().collect(),
            Ok(id) => self.processes.keys().copied().filter(|process| process.0 == id).collect(),
            // A group, or all: there is one group.
            Err(_) if process == -1 || process.unsigned_abs() == FIRST => {
                self.processes.keys().copied().collect()
            }
            Err(_) => Vec::new(),
        };
        if targets.is_empty() {
            return Err(Errno::SRCH.into());
        }
        if signal != 0 {
            for target in targets {
                self.send_to_process(target, signal, sender);
            }
        }
        Ok(0)
    }

    fn sender(&self, code: i32) -> SignalInfo {
        let (ProcessId(process), user) = (self.tasks.current().process, super::identity::USER);
        SignalInfo { code, word: self.pair(process, user), value: 0 }
    }

    /// Returns the word that has two numbers of 4 bytes, one after the other.
    pub(super) fn pair(&self, first: u32, second: u32) -> u64 {
        let [first, second] = [first, second].map(u64::from);
        if self.cpu.abi.is_big_endian() { first << 32 | second } else { second << 32 | first }
    }

    fn kill_task(&mut self, process: Option<ProcessId>, task: u32, signal: u64) -> Call {
        const SI_TKILL: i32 = -6;
        if signal > SIGNALS {
            return Err(Errno::INVAL.into());
        }
        let is_meant =
            |other: &Task| other.id == TaskId(task) && process.is_none_or(|process| other.process == process);
        if !self.tasks.iter().any(is_meant) {
            return Err(Errno::SRCH.into());
        }
        if signal != 0 {
            let sender = self.sender(SI_TKILL);
            self.send(TaskId(task), signal, sender);
        }
        Ok(0)
    }

    fn queue(&mut self, user: &User<'_, '_>, name: &str, a: [u64; 6]) -> Call {
        let (task, signal, info) = match name {
            "rt_sigqueueinfo" => (None, a[1], a[2]),
            _ => (Some(TaskId(low(a[1]))), a[2], a[3]),
        };
        if !(1..=SIGNALS).contains(&signal) {
            return Err(Errno::INVAL.into());
        }
        let code = user.half(info.wrapping_add(8))?.cast_signed();
        let [word, value] = user.words(info.wrapping_add(16))?;
        let sent = SignalInfo { code, word, value };
        match task {
            Some(task) => self.send(task, signal, sent),
            None => self.send_to_process(ProcessId(low(a[0])), signal, sent),
        }
        Ok(0)
    }

    fn alternate_stack(&mut self, user: &mut User<'_, '_>, [new, old, ..]: [u64; 6]) -> Call {
        const SS_ONSTACK: u32 = 1;
        const SS_DISABLE: u32 = 2;
        const SS_AUTODISARM: u32 = 1 << 31;
        const MINSIGSTKSZ: u64 = 2048;

        let sp = user.sp();
        let before = self.tasks.current().signals.alternate.clone();
        let in_use = before.as_ref().is_some_and(|stack| stack.start < sp && sp <= stack.end);
        if new != 0 {
            // stack_t: address, flags (4 bytes), size.
            let (start, flags) = (user.word(new)?, user.half(new.wrapping_add(8))?);
            let len = user.word(new.wrapping_add(16))?;
            if in_use {
                return Err(Errno::PERM.into());
            }
            self.tasks.current_mut().signals.alternate = match flags & !(SS_ONSTACK | SS_AUTODISARM) {
                SS_DISABLE => None,
                0 if len < MINSIGSTKSZ => return Err(Errno::NOMEM.into()),
                0 => Some(start..start.saturating_add(len)),
                _ => return Err(Errno::INVAL.into()),
            };
        }
        if old != 0 {
            let flags = if in_use {
                SS_ONSTACK
            } else if before.is_some() {
                0
            } else {
                SS_DISABLE
            };
            let stack = before.unwrap_or(0..0);
            let record = user.record().word(stack.start).half(flags).half(0).word(stack.end - stack.start);
            user.write(old, &record.bytes)?;
        }
        Ok(0)
    }
}
