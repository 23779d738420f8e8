//! Timers: when they expire, and whom they notify (timer_settime(2), setitimer(2), timerfd(2)).

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::clock::{Clock, DATES, END, MONOTONIC};
use super::signals::{SIGALRM, SIGPROF, SIGVTALRM};
use crate::linux::ids::TaskId;

/// A process has fewer timers than this.
const MOST_TIMERS: usize = 1024;
/// Timers that expire again after a shorter time than this, in nanoseconds, would leave the
/// program no time between two handlers of their signals.
const SHORTEST: u64 = 1000;

/// What has to pass before a timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Time.
    Time,
    /// The time that the program takes from the processor: it stands still while it sleeps.
    Processor,
}

impl Measure {
    /// What a clock measures.
    pub(crate) fn of(clock: i32) -> Self {
        if DATES.contains(&clock) || MONOTONIC.contains(&clock) { Self::Time } else { Self::Processor }
    }

    /// Returns how much has passed since the start.
    const fn now(self, clock: &Clock) -> u64 {
        match self {
            Self::Time => clock.now(),
            Self::Processor => clock.instructions,
        }
    }
}

/// When something expires, by its measure, since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timer {
    measure: Measure,
    expiry: Option<u64>,
    /// After how long it expires again; 0 if it does not.
    interval: u64,
}

impl Timer {
    /// One that is not set.
    pub(crate) const fn new(measure: Measure) -> Self {
        Self { measure, expiry: None, interval: 0 }
    }

    /// Sets it to expire after some time, or not at all.
    pub(crate) fn set(&mut self, clock: &Clock, after: Option<u64>, interval: u64) {
        // It comes, however far it is.
        let expiry = |after: u64| self.measure.now(clock).saturating_add(after).min(END);
        self.expiry = after.map(expiry);
        self.interval = if interval == 0 { 0 } else { interval.max(SHORTEST) };
    }

    pub(crate) const fn interval(&self) -> u64 {
        self.interval
    }

    /// Returns how long it has to go; 0 if it is not set.
    pub(crate) fn rest(&self, clock: &Clock) -> u64 {
        // What is about to expire has not expired.
        self.expiry.map_or(0, |expiry| expiry.saturating_sub(self.measure.now(clock)).max(1))
    }

    /// Returns how often it has expired since it was last asked.
    pub(crate) fn take(&mut self, clock: &Clock) -> u64 {
        let now = self.measure.now(clock);
        let Some(late) = self.expiry.and_then(|expiry| now.checked_sub(expiry)) else { return 0 };
        let Some(periods) = late.checked_div(self.interval) else {
            self.expiry = None;
            return 1;
        };
        let count = periods + 1;
        let next = |expiry: u64| expiry.saturating_add(count.saturating_mul(self.interval));
        self.expiry = self.expiry.map(next).filter(|next| *next <= END);
        count
    }

    /// Returns the time at which it expires, if it does even while all tasks wait.
    fn time(&self) -> Option<u64> {
        self.expiry.filter(|_| self.measure == Measure::Time)
    }
}

/// Whom a timer notifies when it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Nobody.
    Nobody,
    /// The process, or one task, by a signal with a value.
    Signal { signal: u64, value: u64, task: Option<TaskId> },
}

/// A timer that a process has made.
#[derive(Clone, Debug)]
pub(crate) struct OwnTimer {
    pub(crate) clock: i32,
    pub(crate) timer: Timer,
    pub(crate) notice: Notice,
    /// How often it has expired since its signal was sent, which still waits.
    pub(crate) overrun: u64,
    /// The overrun of the last signal that was taken.
    pub(crate) last_overrun: u64,
}

/// Which of the timers of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerId {
    /// An interval timer.
    Interval(usize),
    /// One that it has made.
    Own(u32),
}

/// The timers of a process.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    /// `ITIMER_REAL`, `ITIMER_VIRTUAL` and `ITIMER_PROF`. The kernel takes no time, so that the
    /// last two measure the same.
    pub(crate) interval: [Timer; 3],
    pub(crate) own: BTreeMap<u32, OwnTimer>,
}

/// The signals of the interval timers.
const SIGNALS: [u64; 3] = [SIGALRM, SIGVTALRM, SIGPROF];

impl Default for Timers {
    fn default() -> Self {
        let [time, processor] = [Measure::Time, Measure::Processor].map(Timer::new);
        Self { interval: [time, processor, processor], own: BTreeMap::new() }
    }
}

impl Timers {
    /// Adds a timer, and returns its number.
    pub(crate) fn add(&mut self, clock: i32, notice: impl FnOnce(u32) -> Notice) -> Result<u32, Errno> {
        if self.own.len() >= MOST_TIMERS {
            return Err(Errno::AGAIN);
        }
        let number = (0..).find(|number| !self.own.contains_key(number)).ok_or(Errno::AGAIN)?;
        let timer = Timer::new(Measure::of(clock));
        let notice = notice(number);
        self.own.insert(number, OwnTimer { clock, timer, notice, overrun: 0, last_overrun: 0 });
        Ok(number)
    }

    /// Returns all timers, and whom they notify.
    pub(crate) fn all(&self) -> impl Iterator<Item = (TimerId, Timer, Notice)> {
        let interval = self.interval.iter().zip(SIGNALS).enumerate().map(|(index, (timer, signal))| {
            (TimerId::Interval(index), *timer, Notice::Signal { signal, value: 0, task: None })
        });
        let own = self.own.iter().map(|(number, own)| (TimerId::Own(*number), own.timer, own.notice));
        interval.chain(own)
    }

    pub(crate) fn get_mut(&mut self, id: TimerId) -> Option<&mut Timer> {
        match id {
            TimerId::Interval(index) => self.interval.get_mut(index),
            TimerId::Own(number) => self.own.get_mut(&number).map(|own| &mut own.timer),
        }
    }
}

/// When the next of some timers expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Next {
    /// After how many instructions, unless tasks sleep.
    pub(crate) instructions: Option<u64>,
    /// At which time since the start, if it does even while all tasks wait.
    pub(crate) time: Option<u64>,
}

impl Next {
    /// Adds a timer.
    pub(crate) fn add(&mut self, timer: &Timer, clock: &Clock) {
        if timer.expiry.is_none() {
            return;
        }
        let first = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        self.instructions = first(self.instructions, Some(timer.rest(clock)));
        self.time = first(self.time, timer.time());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(instructions: u64) -> Clock {
        let mut clock = Clock::default();
        clock.instructions(instructions);
        clock
    }

    #[test]
    fn a_timer_counts_how_often_it_has_expired() {
        let mut timer = Timer::new(Measure::Time);
        assert_eq!((timer.rest(&at(0)), timer.take(&at(u64::MAX))), (0, 0), "it is not set");
        timer.set(&at(1000), Some(5000), 2000);
        assert_eq!((timer.rest(&at(4000)), timer.take(&at(5999))), (2000, 0));
        assert_eq!((timer.rest(&at(6000)), timer.take(&at(6000)), timer.take(&at(6000))), (1, 1, 0));
        assert_eq!((timer.take(&at(13_999)), timer.rest(&at(13_999))), (3, 1));
        timer.set(&at(0), Some(10), 0);
        assert_eq!((timer.take(&at(500)), timer.take(&at(600)), timer.rest(&at(600))), (1, 0, 0));
        timer.set(&at(0), Some(10), 1);
        assert_eq!(timer.interval(), SHORTEST);
        timer.set(&at(0), Some(u64::MAX), u64::MAX);
        assert_eq!(
            [END - 1, END, END].map(|now| timer.take(&at(now))),
            [0, 1, 0],
            "once, at the end of time"
        );
    }

    #[test]
    fn the_time_of_the_processor_stands_still_while_the_program_sleeps() {
        let mut clock = at(100);
        let [mut time, mut processor] = [Measure::Time, Measure::Processor].map(Timer::new);
        time.set(&clock, Some(1000), 0);
        processor.set(&clock, Some(1000), 0);
        let mut next = Next::default();
        next.add(&processor, &clock);
        assert_eq!(next, Next { instructions: Some(1000), time: None });
        next.add(&time, &clock);
        assert_eq!(next, Next { instructions: Some(1000), time: Some(1100) });
        clock.sleep_until(1100);
        assert_eq!((time.take(&clock), processor.take(&clock)), (1, 0));
        clock.instructions(1100);
        assert_eq!(processor.take(&clock), 1);
    }
}
