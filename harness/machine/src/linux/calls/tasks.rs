//! Turns, and the ends of tasks: exit(2), exit_group(2).

use crate::linux::answer::Answer;
use crate::linux::ids::{FIRST, ProcessId, TaskId};
use crate::linux::kernel::Linux;
use crate::linux::objects::tasks::Deadlock;
use crate::linux::objects::timers::Timers;
use crate::linux::user::User;

impl Linux {
    /// Gives the turn to the next task. `now` is the number of executed instructions. `yields` is
    /// whether the current task has had its turn; otherwise it has ended, and the next one is in
    /// its place.
    pub(crate) fn schedule(&mut self, now: u64, yields: bool) -> Result<(), Deadlock> {
        self.clock.instructions(now);
        let mut yields = yields;
        loop {
            self.expire_timers();
            let Err(deadline) = self.tasks.turn(self.clock.now(), yields) else { return Ok(()) };
            let next = deadline.into_iter().chain(self.next_timer().time).min();
            self.clock.sleep_until(next.ok_or(Deadlock)?);
            yields = false;
        }
    }

    /// The calls that make and end tasks.
    pub(crate) fn call_tasks(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Answer> {
        Some(match name {
            "exit" => self.exit(user, a[0]),
            "exit_group" => self.exit_group(user, status_of_exit(a[0])),
            "clone" | "clone3" | "fork" | "vfork" => self.clone(user, name, a),
            "execve" => self.execve(user, a),
            "execveat" => self.execveat(user, a),
            "rt_sigreturn" | "sigreturn" => Answer::SignalReturn,
            _ => return None,
        })
    }

    /// Ends the current task; with the last one, its process.
    fn exit(&mut self, user: &mut User<'_, '_>, status: u64) -> Answer {
        let task = self.tasks.current();
        let (id, process) = (task.id, task.process);
        if !self.tasks.iter().any(|other| other.process == process && other.id != id) {
            return self.exit_group(user, status_of_exit(status));
        }
        self.clear_word(user, id);
        self.tasks.remove(|task| task.id == id);
        Answer::Gone
    }

    /// Ends the current process with a status as `wait4` gives it.
    pub(crate) fn exit_group(&mut self, user: &mut User<'_, '_>, status: u32) -> Answer {
        let ProcessId(number) = self.tasks.current().process;
        if number == FIRST {
            return Answer::Exit(status.to_le_bytes()[1]);
        }
        self.end_process(user, ProcessId(number), status);
        Answer::Gone
    }

    /// Ends a process other than the first one.
    pub(crate) fn end_process(&mut self, user: &mut User<'_, '_>, process: ProcessId, status: u32) {
        let current = self.tasks.current();
        if current.process == process {
            self.clear_word(user, current.id);
        }
        let closed = self.processes.get_mut(&process).map(|state| {
            state.status = Some(status);
            state.timers = Timers::default();
            (state.parent, state.descriptors.close_all())
        });
        self.tasks.remove(|task| task.process == process);
        if let Some((parent, closed)) = closed {
            closed.into_iter().for_each(|description| self.descriptions.release(description));
            self.child_has_ended(parent);
        }
        // Children without a parent are nobody's.
        self.processes.retain(|_, child| child.parent != process || child.status.is_none());
    }

    /// `set_tid_address`: who joins a thread waits for the word that is cleared.
    fn clear_word(&mut self, user: &mut User<'_, '_>, id: TaskId) {
        let Some(task) = self.tasks.iter().find(|task| task.id == id) else { return };
        let (address, space) = (task.clears, task.space);
        // A task that was lent its memory leaves it alone.
        if address != 0 && user.write_half(address, 0).is_ok() {
            self.tasks.wake_futex(space, address, 1, u32::MAX);
        }
    }
}

/// The status of a process that has called `exit`.
fn status_of_exit(argument: u64) -> u32 {
    u32::from(argument.to_le_bytes()[0]) << 8
}
