//! Who gets a signal, and when: kill(2), sigaction(2), sigprocmask(2) and their relatives. Their
//! delivery, which needs the CPU, is that of [`run`](crate::run).

use rustix::io::Errno;

use super::time::deadline;
use crate::linux::answer::{Answer, Call, Refused};
use crate::linux::ids::{FIRST, ProcessId, TaskId};
use crate::linux::kernel::Linux;
use crate::linux::objects::signals::{
    Action, Disposition, SA_RESTART, SIGKILL, SIGNALS, SIGSTOP, SignalInfo, UNBLOCKABLE, bit,
};
use crate::linux::objects::tasks::{On, Task, Wait};
use crate::linux::user::{User, int, low};

impl Linux {
    pub(crate) fn call_signals(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        Some(match name {
            "rt_sigaction" => self.signal_action(user, a),
            "rt_sigprocmask" => self.signal_mask(user, a),
            "rt_sigpending" => {
                let pending = &self.tasks.current().signals.pending;
                let set = pending.keys().fold(0, |set, signal| set | bit(*signal));
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
        Some((signal, signals.pending.remove(&signal).unwrap_or_default()))
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

    /// Sends a signal to a task. A signal that is ignored is lost.
    fn send(&mut self, task: TaskId, signal: u64, info: SignalInfo) {
        let Some(target) = self.tasks.iter().find(|other| other.id == task) else { return };
        let actions = self.processes.get(&target.process).map(|process| &process.actions);
        let disposition = actions.map_or(Disposition::Ignore, |actions| actions.disposition(signal));
        let is_awaited = target.signals.awaited & bit(signal) != 0;
        let is_blocked = target.signals.blocked & bit(signal) != 0;
        if disposition == Disposition::Ignore && !is_awaited && !is_blocked {
            return;
        }
        let restarts = matches!(disposition, Disposition::Handle(action) if action.flags & SA_RESTART != 0);
        if let Some(target) = self.tasks.iter_mut().find(|other| other.id == task) {
            target.signals.pending.entry(signal).or_insert(info);
            if !is_blocked {
                target.interrupt(restarts);
            }
        }
        if is_awaited {
            self.tasks.retry();
        }
    }

    /// Sends a signal to the task of a process that takes it.
    pub(crate) fn send_to_process(&mut self, process: ProcessId, signal: u64, info: SignalInfo) {
        let tasks = || self.tasks.iter().filter(|task| task.process == process);
        let awaits = tasks().find(|task| task.signals.awaited & bit(signal) != 0);
        let takes = || tasks().find(|task| task.signals.blocked & bit(signal) == 0);
        if let Some(task) = awaits.or_else(takes).or_else(|| tasks().next()) {
            self.send(task.id, signal, info);
        }
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
                    task.signals.pending.remove(&signal);
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
        let found = task.signals.pending.keys().copied().find(|signal| awaited & bit(*signal) != 0);
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
        let sent = task.signals.pending.remove(&signal).unwrap_or_default();
        if info != 0 {
            let record = user.record().half(low(signal)).half(0).half(sent.code.cast_unsigned()).half(0);
            let record = record.word(sent.word).word(sent.value).padded(128);
            user.write(info, &record.bytes)?;
        }
        Ok(signal)
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
        let process = u64::from(self.tasks.current().process.0);
        let user = u64::from(super::identity::USER);
        let word = if self.cpu.abi.is_big_endian() { process << 32 | user } else { user << 32 | process };
        SignalInfo { code, word, value: 0 }
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
