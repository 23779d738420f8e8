//! Waiting for many descriptors: epoll(7).

use std::collections::BTreeMap;

use rustix::io::Errno;

use super::poll::{ERR, HUP};
use crate::linux::answer::{Call, Refused};
use crate::linux::kernel::Linux;
use crate::linux::objects::descriptions::{DescriptionId, Interest, Object};
use crate::linux::user::{User, int, low};

const ADD: i32 = 1;
const DELETE: i32 = 2;
const MODIFY: i32 = 3;
/// `EPOLLONESHOT` and `EPOLLET`.
const ONE_SHOT: u32 = 1 << 30;
const EDGE: u32 = 1 << 31;

impl Linux {
    pub(crate) fn call_epoll(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        let wait =
            |linux: &mut Self, user: &mut User<'_, '_>, end: Option<u64>| linux.epoll_wait(user, a, end);
        Some(match name {
            "epoll_create" => self.install(Object::Epoll(BTreeMap::new()), 0),
            "epoll_create1" => self.install(Object::Epoll(BTreeMap::new()), a[0]),
            "epoll_ctl" => self.epoll_control(user, a),
            "epoll_wait" | "epoll_pwait" => {
                let end = u64::try_from(int(a[3])).ok().map(|time| self.clock.now() + time * 1_000_000);
                let mask = if name == "epoll_wait" { 0 } else { a[4] };
                self.with_mask(user, mask).map_err(Refused::from).and_then(|()| wait(self, user, end))
            }
            "epoll_pwait2" => {
                let end = super::time::deadline(self, user, a[3]);
                let end = end.and_then(|end| self.with_mask(user, a[4]).map(|()| end));
                end.map_err(Refused::from).and_then(|end| wait(self, user, end))
            }
            _ => return None,
        })
    }

    fn interests(&mut self, epoll: DescriptionId) -> Result<&mut BTreeMap<u32, Interest>, Errno> {
        match &mut self.descriptions.get_mut(epoll)?.object {
            Object::Epoll(interests) => Ok(interests),
            _ => Err(Errno::INVAL),
        }
    }

    /// Returns whether an epoll object would be in one that is in another one. Linux allows a few
    /// more, but no circle.
    fn nests(&self, epoll: DescriptionId, description: DescriptionId) -> Result<bool, Errno> {
        let is_epoll = |id: &DescriptionId| {
            self.descriptions.get(*id).is_ok_and(|other| matches!(other.object, Object::Epoll(_)))
        };
        let Object::Epoll(inner) = &self.descriptions.get(description)?.object else { return Ok(false) };
        let holds = inner.values().any(|interest| is_epoll(&interest.description));
        Ok(holds || self.descriptions.holders(epoll).next().is_some())
    }

    fn epoll_control(
        &mut self,
        user: &User<'_, '_>,
        [epoll, operation, descriptor, event, ..]: [u64; 6],
    ) -> Call {
        let (epoll, description) = (self.described(epoll)?, self.described(descriptor)?);
        if matches!(
            self.descriptions.get(description)?.object,
            Object::File { .. } | Object::Folder { .. } | Object::Bytes(_)
        ) {
            return Err(Errno::PERM.into());
        }
        if description == epoll {
            return Err(Errno::INVAL.into());
        }
        if int(operation) == ADD && self.nests(epoll, description)? {
            return Err(Errno::LOOP.into());
        }
        let (offset, _) = self.cpu.system_calls.epoll_event;
        let interest = match int(operation) {
            ADD | MODIFY => {
                let (events, data) = (user.half(event)?, user.word(event.wrapping_add(offset))?);
                Some(Interest { description, events: events | ERR | HUP, data, reported: 0 })
            }
            DELETE => None,
            _ => return Err(Errno::INVAL.into()),
        };
        let interests = self.interests(epoll)?;
        let number = low(descriptor);
        // The number may have been that of something else, which is closed.
        let is_known = interests.get(&number).is_some_and(|known| known.description == description);
        match (interest, int(operation)) {
            (Some(_), ADD) if is_known => return Err(Errno::EXIST.into()),
            (_, MODIFY | DELETE) if !is_known => return Err(Errno::NOENT.into()),
            (Some(interest), _) => {
                interests.insert(number, interest);
            }
            (None, _) => {
                interests.remove(&number);
            }
        }
        Ok(0)
    }

    fn epoll_wait(&mut self, user: &mut User<'_, '_>, a: [u64; 6], end: Option<u64>) -> Call {
        let [epoll, to, most, ..] = a;
        let most = usize::try_from(int(most)).ok().filter(|most| *most > 0).ok_or(Errno::INVAL)?;
        let epoll = self.described(epoll)?;
        let interests = self.interests(epoll)?.clone();
        let (offset, len) = self.cpu.system_calls.epoll_event;
        let padding = usize::try_from(offset).unwrap_or_default();
        let mut bytes = Vec::new();
        let mut found = 0;
        for (number, interest) in interests {
            let ready = self.ready(interest.description) & interest.events;
            let is_new = interest.events & EDGE == 0 || ready & !interest.reported != 0;
            let mut changed = Interest { reported: ready, ..interest };
            if ready != 0 && is_new && found < most {
                let record = user.record().half(ready).padded(padding).word(interest.data);
                debug_assert_eq!(record.bytes.len(), len, "an event");
                bytes.extend(record.bytes);
                found += 1;
                if interest.events & ONE_SHOT != 0 {
                    changed.events = 0;
                }
            }
            self.interests(epoll)?.insert(number, changed);
        }
        if found == 0 {
            self.until(end)?;
        }
        user.write(to, &bytes)?;
        Ok(found as u64)
    }
}
