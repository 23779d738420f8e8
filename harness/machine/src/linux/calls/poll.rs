//! Waiting for descriptors: poll(2) and select(2).

use rustix::io::Errno;

use super::time::{deadline, timespec};
use crate::linux::answer::{Call, Refused};
use crate::linux::kernel::Linux;
use crate::linux::objects::clock::SECOND;
use crate::linux::objects::descriptions::{DescriptionId, Object, PIPE_LEN};
use crate::linux::objects::tasks::Wait;
use crate::linux::user::{User, int, low};

/// `POLLIN`, `POLLOUT`, `POLLERR`, `POLLHUP` and `POLLNVAL`; those of epoll are the same.
pub(super) const IN: u32 = 1;
pub(super) const OUT: u32 = 4;
pub(super) const ERR: u32 = 8;
pub(super) const HUP: u32 = 0x10;
const NVAL: u32 = 0x20;
const MOST: u64 = 1024;

impl Linux {
    pub(crate) fn call_poll(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        Some(match name {
            "poll" => {
                let milliseconds = u64::try_from(int(a[2])).ok();
                let end = milliseconds.map(|time| self.clock.now() + time * 1_000_000);
                self.poll(user, a[0], a[1], end)
            }
            "ppoll" => self
                .with_mask(user, a[3])
                .and_then(|()| deadline(self, user, a[2]))
                .map_err(Refused::from)
                .and_then(|end| self.poll(user, a[0], a[1], end)),
            "select" => {
                self.microseconds(user, a[4]).map_err(Refused::from).and_then(|end| self.select(user, a, end))
            }
            "pselect6" => self.pselect(user, a),
            _ => return None,
        })
    }

    /// What can be done with a description without waiting.
    pub(super) fn ready(&self, id: DescriptionId) -> u32 {
        let Ok(description) = self.descriptions.get(id) else { return NVAL };
        match &description.object {
            Object::PipeReader(pipe) => match self.descriptions.pipes.get(pipe) {
                Some(pipe) => {
                    let data = if pipe.bytes.is_empty() { 0 } else { IN };
                    data | if pipe.writers == 0 { HUP } else { 0 }
                }
                None => HUP,
            },
            Object::PipeWriter(pipe) => match self.descriptions.pipes.get(pipe) {
                Some(pipe) => {
                    let room = if pipe.bytes.len() < PIPE_LEN { OUT } else { 0 };
                    room | if pipe.readers == 0 { ERR } else { 0 }
                }
                None => ERR,
            },
            Object::Event { count, .. } => {
                (if *count > 0 { IN } else { 0 }) | if *count < u64::MAX - 1 { OUT } else { 0 }
            }
            Object::Timer { count, .. } => {
                if *count > 0 {
                    IN
                } else {
                    0
                }
            }
            Object::Signals(set) => {
                if self.readable_signal(*set).is_some() {
                    IN
                } else {
                    0
                }
            }
            Object::Epoll(interests) => {
                let any = interests
                    .values()
                    .any(|interest| self.ready(interest.description) & interest.events != 0);
                if any { IN } else { 0 }
            }
            _ => IN | OUT,
        }
    }

    /// Waits, unless the time of the call has passed.
    pub(super) fn until(&self, end: Option<u64>) -> Result<(), Refused> {
        let task = self.tasks.current();
        let end = task.deadline().or(end);
        if task.has_expired() || end.is_some_and(|end| end <= self.clock.now()) {
            return Ok(());
        }
        if self.has_signal() {
            return Err(Errno::INTR.into());
        }
        Err(Refused::Wait(Wait::event_until(end)))
    }

    fn poll(&self, user: &mut User<'_, '_>, list: u64, count: u64, end: Option<u64>) -> Call {
        if count > MOST {
            return Err(Errno::INVAL.into());
        }
        let mut found = 0;
        for index in 0..count {
            // struct pollfd: descriptor, events, and what has happened.
            let at = list.wrapping_add(index * 8);
            let (descriptor, events) = (user.half(at)?, user.read(at.wrapping_add(4), 2)?);
            let events = low(user.number(&events));
            let returned = if descriptor.cast_signed() < 0 {
                0
            } else {
                match self.process().descriptors.get(descriptor) {
                    Ok(id) => self.ready(id) & (events | ERR | HUP),
                    Err(_) => NVAL,
                }
            };
            found += u64::from(returned != 0);
            let record = user.record().short(u16::try_from(returned).unwrap_or_default());
            user.write(at.wrapping_add(6), &record.bytes)?;
        }
        if found == 0 {
            self.until(end)?;
        }
        Ok(found)
    }

    fn microseconds(&self, user: &User<'_, '_>, timeout: u64) -> Result<Option<u64>, Errno> {
        if timeout == 0 {
            return Ok(None);
        }
        let [seconds, microseconds] = user.words(timeout)?;
        let time = seconds.saturating_mul(SECOND).saturating_add(microseconds.saturating_mul(1000));
        Ok(Some(self.clock.now().saturating_add(time)))
    }

    fn pselect(&mut self, user: &mut User<'_, '_>, a: [u64; 6]) -> Call {
        if a[5] != 0 {
            let [mask, _] = user.words(a[5])?;
            self.with_mask(user, mask)?;
        }
        let end = if a[4] == 0 { None } else { Some(self.clock.now().saturating_add(timespec(user, a[4])?)) };
        self.select(user, a, end)
    }

    fn select(&self, user: &mut User<'_, '_>, a: [u64; 6], end: Option<u64>) -> Call {
        let count = a[0];
        if count > MOST {
            return Err(Errno::INVAL.into());
        }
        let words = count.div_ceil(64);
        let mut found = 0;
        let mut results = Vec::new();
        for (set, wanted) in a[1..4].iter().zip([IN | HUP | ERR, OUT | ERR, 0]) {
            if *set == 0 {
                continue;
            }
            for word in 0..words {
                let at = set.wrapping_add(word * 8);
                let asked = user.word(at)?;
                let mut is = 0;
                for bit in (0..64).filter(|bit| asked & (1 << bit) != 0 && word * 64 + bit < count) {
                    let id = self.process().descriptors.get(low(word * 64 + bit))?;
                    if self.ready(id) & wanted != 0 {
                        is |= 1 << bit;
                        found += 1;
                    }
                }
                results.push((at, is));
            }
        }
        if found == 0 {
            self.until(end)?;
        }
        for (at, set) in results {
            user.write_word(at, set)?;
        }
        Ok(found)
    }
}
