//! Time: each instruction takes a nanosecond, and sleeping takes as long as it should.

use rustix::io::Errno;

pub(crate) const SECOND: u64 = 1_000_000_000;
/// The date when programs start, in seconds: 2023-11-14.
pub(crate) const START: u64 = 1_700_000_000;
/// How long the system has been running then, in nanoseconds.
pub(crate) const UPTIME: u64 = 1000 * SECOND;

/// When time stands still, in nanoseconds since the start: dates after it could not be numbers.
pub(crate) const END: u64 = 1 << 62;

/// `CLOCK_REALTIME` and the others that show the date.
pub(crate) const DATES: [i32; 3] = [0, 5, 11];
/// `CLOCK_MONOTONIC`, `_RAW`, `_COARSE` and `CLOCK_BOOTTIME`.
pub(crate) const MONOTONIC: [i32; 4] = [1, 4, 6, 7];
/// `CLOCK_PROCESS_CPUTIME_ID` and `CLOCK_THREAD_CPUTIME_ID`.
const CPU_TIME: [i32; 2] = [2, 3];

/// The time since the start, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    pub(crate) instructions: u64,
    /// How long all tasks have slept.
    slept: u64,
}

impl Clock {
    pub(crate) const fn instructions(&mut self, executed: u64) {
        self.instructions = executed;
    }

    /// Returns the time since the start.
    pub(crate) const fn now(&self) -> u64 {
        let now = self.instructions.saturating_add(self.slept);
        if now < END { now } else { END }
    }

    /// Lets time pass until then.
    pub(crate) const fn sleep_until(&mut self, deadline: u64) {
        self.slept = self.slept.saturating_add(deadline.saturating_sub(self.now()));
    }

    /// Returns what a clock shows.
    pub(crate) fn read(&self, clock: i32) -> Result<u64, Errno> {
        match clock {
            _ if DATES.contains(&clock) => Ok(START * SECOND + self.now()),
            _ if MONOTONIC.contains(&clock) => Ok(UPTIME + self.now()),
            // Those of other processes and tasks have negative numbers.
            _ if CPU_TIME.contains(&clock) || clock < 0 => Ok(self.instructions),
            _ => Err(Errno::INVAL),
        }
    }

    /// Returns the time since the start at which a clock shows a time.
    pub(crate) fn at(&self, clock: i32, time: u64) -> Result<u64, Errno> {
        let now = self.read(clock)?;
        Ok(self.now().saturating_add(time.saturating_sub(now)).min(END))
    }

    pub(crate) const fn date(&self) -> u64 {
        START + self.now() / SECOND
    }
}
