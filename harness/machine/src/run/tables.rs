//! What there is to unwind by comes and goes: files are mapped to be executed, and programs register tables for code that
//! they have written, by calls of the bench's own.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use rustix::io::Errno;
use unicorn_engine::Unicorn;

use super::parked::Request;
use super::{Emulated, Run};
use crate::linux::objects::memory::Mapping;
use crate::observer::{Change, Moment, Table};
use crate::witness::Place;

/// Registers a table: its address and size, and the address and size of the code.
const REGISTER: u64 = 0x5346_0001;
/// Withdraws the table that was registered last for code that begins at an address.
const WITHDRAW: u64 = 0x5346_0002;

/// The largest table, in bytes.
const LARGEST: u64 = 16 << 20;
/// No program registers more at a time.
const MOST: usize = 1 << 10;

impl Run<'_> {
    /// Answers the bench's own calls. `None` for those of the kernel.
    pub(super) fn table_call(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        request: &Request,
    ) -> Option<Result<(), Errno>> {
        let Request { number: REGISTER | WITHDRAW, arguments, .. } = request else { return None };
        // A copy of the process, or another program, has nobody who would notice.
        if self.snapshot.is_some() || !self.is_observed {
            return None;
        }
        let changed = match request.number {
            REGISTER => self.register(arguments),
            _ => self.withdraw(arguments[0]),
        };
        Some(changed.map(|change| self.show(unicorn, &change)))
    }

    fn register(&mut self, arguments: &[u64; 6]) -> Result<Change, Errno> {
        let [address, size, start, len, ..] = *arguments;
        let code = end_of(start, len)?;
        if !(1..=LARGEST).contains(&size) {
            return Err(Errno::INVAL);
        }
        if self.tables.len() == MOST {
            return Err(Errno::NOMEM);
        }
        let mut bytes = vec![0; usize::try_from(size).map_err(|_| Errno::INVAL)?];
        if !self.space.read(address, &mut bytes) {
            return Err(Errno::FAULT);
        }
        let table = Arc::new(Table { code, address, bytes });
        self.tables.push(Arc::clone(&table));
        Ok(Change::Registered(table))
    }

    fn withdraw(&mut self, start: u64) -> Result<Change, Errno> {
        let last = self.tables.iter().rposition(|table| table.code.start == start).ok_or(Errno::NOENT)?;
        Ok(Change::Withdrawn(self.tables.remove(last)))
    }

    /// Shows what the last call has mapped and unmapped.
    pub(super) fn note_changes(&mut self, unicorn: &Unicorn<'_, ()>) {
        if self.linux.mappings.is_empty() {
            return;
        }
        let mappings = std::mem::take(&mut Rc::make_mut(&mut self.linux).mappings);
        if self.snapshot.is_some() || !self.is_observed {
            return;
        }
        for mapping in mappings {
            let change = match mapping {
                Mapping::Added(range) => Change::Mapped(range),
                Mapping::Removed(range) => Change::Unmapped(range),
                Mapping::Replaced(range) => Change::Replaced(range),
            };
            self.show(unicorn, &change);
        }
    }

    /// Shows a change to the observer.
    pub(super) fn show(&mut self, unicorn: &Unicorn<'_, ()>, change: &Change) {
        let read = |register| unicorn.reg_read(register).unwrap_or_default();
        let at = Place { pc: self.last_pc, sp: read(self.cpu.sp), fp: read(self.cpu.fp) };
        let time = self.instructions.saturating_sub(1);
        let emulated = Emulated::now(self.cpu, &self.space, unicorn);
        let moment = Moment::of(&self.follower, at, time, self.thread, &self.space, &emulated);
        self.observer.changed(&moment, change);
    }
}

fn end_of(start: u64, len: u64) -> Result<Range<u64>, Errno> {
    let end = start.checked_add(len).filter(|_| len > 0);
    end.map(|end| start..end).ok_or(Errno::INVAL)
}
