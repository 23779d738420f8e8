//! Clocks and sleeping: clock_gettime(2), nanosleep(2) and their relatives.

use rustix::io::Errno;

use crate::linux::answer::{Call, Refused};
use crate::linux::kernel::Linux;
use crate::linux::objects::clock::{SECOND, START, UPTIME};
use crate::linux::objects::tasks::Wait;
use crate::linux::user::{User, int};

const TIMER_ABSTIME: u64 = 1;

/// Reads a `timespec` as nanoseconds.
pub(crate) fn timespec(user: &User<'_, '_>, address: u64) -> Result<u64, Errno> {
    let [seconds, nanoseconds] = user.words(address)?;
    if nanoseconds >= SECOND || seconds.cast_signed() < 0 {
        return Err(Errno::INVAL);
    }
    Ok(seconds.saturating_mul(SECOND).saturating_add(nanoseconds))
}

/// Reads a timeout, if there is one, and returns its end.
pub(crate) fn deadline(linux: &Linux, user: &User<'_, '_>, address: u64) -> Result<Option<u64>, Errno> {
    if address == 0 {
        return Ok(None);
    }
    Ok(Some(linux.clock.now().saturating_add(timespec(user, address)?)))
}

impl Linux {
    pub(crate) fn call_time(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        Some(match name {
            "clock_gettime" => self.clock_gettime(user, int(a[0]), a[1]),
            "clock_getres" => self.clock_getres(user, int(a[0]), a[1]),
            "gettimeofday" => self.gettimeofday(user, a[0], a[1]),
            "time" => self.time(user, a[0]),
            "times" => self.times(user, a[0]),
            "nanosleep" => self.sleep(user, (1, 0), a[0], a[1]),
            "clock_nanosleep" => self.sleep(user, (int(a[0]), a[1]), a[2], a[3]),
            "clock_settime" | "settimeofday" | "clock_adjtime" | "adjtimex" => Err(Errno::PERM.into()),
            _ => return None,
        })
    }

    fn clock_gettime(&self, user: &mut User<'_, '_>, clock: i32, to: u64) -> Call {
        let now = self.clock.read(clock)?;
        let time = user.record().words([now / SECOND, now % SECOND]);
        user.write(to, &time.bytes)?;
        Ok(0)
    }

    fn clock_getres(&self, user: &mut User<'_, '_>, clock: i32, to: u64) -> Call {
        self.clock.read(clock)?;
        if to != 0 {
            let time = user.record().words([0, 1]);
            user.write(to, &time.bytes)?;
        }
        Ok(0)
    }

    fn gettimeofday(&self, user: &mut User<'_, '_>, time: u64, zone: u64) -> Call {
        let now = START * SECOND + self.clock.now();
        if time != 0 {
            let record = user.record().words([now / SECOND, now % SECOND / 1000]);
            user.write(time, &record.bytes)?;
        }
        if zone != 0 {
            user.write(zone, &[0; 8])?;
        }
        Ok(0)
    }

    fn time(&self, user: &mut User<'_, '_>, to: u64) -> Call {
        let date = self.clock.date();
        if to != 0 {
            user.write_word(to, date)?;
        }
        Ok(date)
    }

    /// In hundredths of a second.
    fn times(&self, user: &mut User<'_, '_>, to: u64) -> Call {
        let ticks = |nanoseconds: u64| nanoseconds / (SECOND / 100);
        if to != 0 {
            let record = user.record().words([ticks(self.clock.instructions), 0, 0, 0]);
            user.write(to, &record.bytes)?;
        }
        Ok(ticks(UPTIME + self.clock.now()))
    }

    /// Sleeps by a clock, with flags. If a signal ends it, says how much was left.
    fn sleep(
        &self,
        user: &mut User<'_, '_>,
        (clock, flags): (i32, u64),
        request: u64,
        remaining: u64,
    ) -> Call {
        let task = self.tasks.current();
        if task.has_expired() {
            return Ok(0);
        }
        let time = timespec(user, request)?;
        let deadline = if flags & TIMER_ABSTIME == 0 {
            self.clock.now().saturating_add(time)
        } else {
            self.clock.at(clock, time)?
        };
        let deadline = task.deadline().unwrap_or(deadline);
        if self.has_signal() {
            let left = deadline.saturating_sub(self.clock.now());
            if remaining != 0 && flags & TIMER_ABSTIME == 0 {
                let record = user.record().words([left / SECOND, left % SECOND]);
                user.write(remaining, &record.bytes)?;
            }
            return Err(Errno::INTR.into());
        }
        Err(Refused::Wait(Wait::until(deadline)))
    }
}
