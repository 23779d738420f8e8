//! Tasks: the threads of all processes, which take turns.

use rustix::io::Errno;

use super::clock;
use super::signals::TaskSignals;
use crate::linux::ids::{ProcessId, SpaceId, TaskId};

/// No program here has more tasks at once.
const MOST_TASKS: usize = 256;

/// What a task waits for. Times are since the start, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    on: On,
    deadline: Option<u64>,
    /// Whether a signal whose handler says so makes the call again, rather than end it.
    pub(crate) restarts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// Anything that could let its call succeed.
    Event,
    /// The word at an address.
    Futex { space: SpaceId, address: u64, mask: u32 },
    /// The end of a child's use of its memory.
    Child(TaskId),
    /// A signal.
    Signal,
    /// A time.
    Time,
}

impl Wait {
    /// Until a time.
    pub(crate) const fn until(deadline: u64) -> Self {
        Self { on: On::Time, deadline: Some(deadline), restarts: false }
    }

    /// Until another task has done something.
    pub(crate) const fn event(deadline: Option<u64>) -> Self {
        Self { on: On::Event, deadline, restarts: deadline.is_none() }
    }

    /// Waits for an event in a call that does not continue after the handler of a signal.
    pub(crate) const fn event_until(deadline: Option<u64>) -> Self {
        Self { on: On::Event, deadline, restarts: false }
    }

    pub(crate) const fn on(on: On, deadline: Option<u64>, restarts: bool) -> Self {
        Self { on, deadline, restarts }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Ready,
    Waiting(Wait),
}

/// How a task goes on that has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Its call has this result.
    Done(Result<u64, Errno>),
    /// Its call is made again at once.
    Again,
    /// Its call is made again after the handler of a signal.
    Restart,
}

/// A thread of a process.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) id: TaskId,
    pub(crate) process: ProcessId,
    pub(crate) space: SpaceId,
    state: State,
    wake: Option<Wake>,
    /// The end of the wait of its unfinished call.
    deadline: Option<u64>,
    /// Whether it has passed.
    expired: bool,
    pub(crate) signals: TaskSignals,
    /// What the kernel clears when the task ends.
    pub(crate) clears: u64,
    /// Whether a task waits until it no longer uses its memory.
    pub(crate) lends: bool,
}

impl Task {
    pub(crate) fn new(id: TaskId, process: ProcessId, space: SpaceId) -> Self {
        Self {
            id,
            process,
            space,
            state: State::Ready,
            wake: None,
            deadline: None,
            expired: false,
            signals: TaskSignals::default(),
            clears: 0,
            lends: false,
        }
    }

    /// Returns whether the deadline of its unfinished call has passed.
    pub(crate) const fn has_expired(&self) -> bool {
        self.expired
    }

    /// Returns the deadline of its unfinished call.
    pub(crate) const fn deadline(&self) -> Option<u64> {
        self.deadline
    }

    /// Notes that its call has ended.
    pub(crate) const fn answered(&mut self) {
        self.deadline = None;
        self.expired = false;
        self.signals.awaited = 0;
    }

    const fn wake(&mut self, wake: Wake) {
        self.state = State::Ready;
        self.wake = Some(wake);
        if !matches!(wake, Wake::Again) {
            self.answered();
        }
    }

    /// Ends its wait for a signal that it is to handle.
    pub(crate) const fn interrupt(&mut self, restarts: bool) {
        if let State::Waiting(wait) = &self.state {
            let restarts = restarts && wait.restarts;
            match wait.on {
                On::Child(_) => {}
                // It is yet to say how much of its time was left.
                On::Time => self.wake(Wake::Again),
                _ if restarts => self.wake(Wake::Restart),
                _ => self.wake(Wake::Done(Err(Errno::INTR))),
            }
        }
    }

    /// How it goes on, if it has waited.
    pub(crate) const fn take_wake(&mut self) -> Option<Wake> {
        self.wake.take()
    }
}

/// All tasks, in the order of their turns.
#[derive(Clone, Debug)]
pub(crate) struct Tasks {
    tasks: Vec<Task>,
    current: usize,
}

/// Every task waits for what can't happen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadlock;

impl Tasks {
    pub(crate) fn new(first: Task) -> Self {
        Self { tasks: vec![first], current: 0 }
    }

    pub(crate) fn current(&self) -> &Task {
        &self.tasks[self.current]
    }

    pub(crate) fn current_mut(&mut self) -> &mut Task {
        &mut self.tasks[self.current]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Task> {
        self.tasks.iter_mut()
    }

    /// Returns whether other tasks may run.
    pub(crate) const fn are_several(&self) -> bool {
        self.tasks.len() > 1
    }

    /// The address spaces that are in use.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = SpaceId> {
        self.tasks.iter().map(|task| task.space)
    }

    /// Returns whether another task may be added.
    pub(crate) const fn check_room(&self) -> Result<(), Errno> {
        if self.tasks.len() < MOST_TASKS { Ok(()) } else { Err(Errno::AGAIN) }
    }

    pub(crate) fn add(&mut self, task: Task) {
        self.tasks.push(task);
    }

    /// Lets the current task wait.
    pub(crate) fn wait(&mut self, wait: Wait) {
        // It comes, however far it is.
        let deadline = wait.deadline.map(|deadline| deadline.min(clock::END));
        let task = self.current_mut();
        task.state = State::Waiting(Wait { deadline, ..wait });
        task.deadline = deadline;
    }

    /// Lets tasks try again that wait for an event.
    pub(crate) fn retry(&mut self) {
        for task in &mut self.tasks {
            if matches!(task.state, State::Waiting(Wait { on: On::Event, .. })) {
                task.wake(Wake::Again);
            }
        }
    }

    /// Wakes tasks that wait for a word, and returns how many there were.
    pub(crate) fn wake_futex(&mut self, space: SpaceId, address: u64, most: u64, mask: u32) -> u64 {
        let mut woken = 0;
        for task in &mut self.tasks {
            if woken < most
                && let State::Waiting(Wait { on: On::Futex { space: at, address: word, mask: of }, .. }) =
                    task.state
                && (at, word) == (space, address)
                && of & mask != 0
            {
                task.wake(Wake::Done(Ok(0)));
                woken += 1;
            }
        }
        woken
    }

    /// Lets tasks that wait for a word wait for another one, and returns how many there were.
    pub(crate) fn requeue(&mut self, space: SpaceId, from: u64, to: u64, most: u64) -> u64 {
        let mut moved = 0;
        for task in &mut self.tasks {
            if moved < most
                && let State::Waiting(Wait { on: On::Futex { space: at, address, .. }, .. }) = &mut task.state
                && (*at, *address) == (space, from)
            {
                *address = to;
                moved += 1;
            }
        }
        moved
    }

    /// The current task's process executes another program: its other tasks end, and who has
    /// lent it memory goes on.
    pub(crate) fn executed(&mut self, space: SpaceId) {
        let (id, process) = (self.current().id, self.current().process);
        self.tasks.retain(|task| task.process != process || task.id == id);
        self.current = self.tasks.iter().position(|task| task.id == id).unwrap_or_default();
        let task = self.current_mut();
        task.space = space;
        task.clears = 0;
        task.signals.executed();
        self.give_back(id);
    }

    /// A task no longer uses the memory that it was lent.
    fn give_back(&mut self, child: TaskId) {
        for task in &mut self.tasks {
            if let State::Waiting(Wait { on: On::Child(waits_for), .. }) = task.state
                && waits_for == child
            {
                task.wake(Wake::Done(Ok(child.0.into())));
            }
            if task.id == child {
                task.lends = false;
            }
        }
    }

    /// Removes tasks that have ended. The turn passes to the one that follows.
    pub(crate) fn remove(&mut self, ended: impl Fn(&Task) -> bool) {
        let gone: Vec<TaskId> = self.tasks.iter().filter(|task| ended(task)).map(|task| task.id).collect();
        for id in &gone {
            self.give_back(*id);
        }
        let before = self.tasks[..self.current].iter().filter(|task| ended(task)).count();
        self.tasks.retain(|task| !ended(task));
        self.current -= before;
        if self.current >= self.tasks.len() {
            self.current = 0;
        }
    }

    /// Gives the turn to the next task that is ready at a time, after the current one if that
    /// `yields`. If none is, returns the next deadline.
    pub(crate) fn turn(&mut self, now: u64, yields: bool) -> Result<(), Option<u64>> {
        self.expire(now);
        let from = self.current + usize::from(yields);
        let count = self.tasks.len();
        let ready = |index: &usize| self.tasks[*index].state == State::Ready;
        if let Some(next) = (0..count).map(|offset| (from + offset) % count).find(ready) {
            self.current = next;
            return Ok(());
        }
        let deadline = |task: &Task| match task.state {
            State::Waiting(wait) => wait.deadline,
            State::Ready => None,
        };
        Err(self.tasks.iter().filter_map(deadline).min())
    }

    /// Wakes the tasks whose deadline has passed.
    fn expire(&mut self, now: u64) {
        for task in &mut self.tasks {
            if let State::Waiting(wait) = task.state
                && wait.deadline.is_some_and(|deadline| deadline <= now)
            {
                match wait.on {
                    On::Futex { .. } => task.wake(Wake::Done(Err(Errno::TIMEDOUT))),
                    On::Event | On::Child(_) | On::Signal | On::Time => {
                        task.expired = true;
                        task.wake(Wake::Again);
                    }
                }
            }
        }
    }
}
