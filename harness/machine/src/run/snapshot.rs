//! Copies of the process: a snapshot of its state, to which the run goes back.

use std::rc::Rc;

use unicorn_engine::{Context, Unicorn, uc_error};

use super::Run;
use super::signals::Interrupted;
use crate::address_space::Regions;
use crate::follow::Trail;
use crate::link::lazy::Slots;
use crate::linux::kernel::Linux;
use crate::outcome::{Broken, End};
use crate::witness::{Place, Witness};

/// The state of the process before an instruction, without memory: the address space keeps what
/// its pages held.
pub(super) struct Snapshot {
    at: Place,
    registers: Context,
    witness: Witness,
    slots: Slots,
    trail: Trail,
    interrupted: Vec<Interrupted>,
    linux: Rc<Linux>,
    regions: Regions,
    instructions: u64,
    limit: u64,
}

impl Run<'_> {
    /// Makes a copy of the process, which runs from now on, before the last instruction.
    pub(super) fn fork(&mut self, unicorn: &Unicorn<'_, ()>) -> Result<(), uc_error> {
        if self.snapshot.is_some() {
            self.end(End::Broken(Broken::Harness("a copy of the process is copied".into())));
            return Ok(());
        }
        if self.linux.tasks.are_several() {
            self.end(End::Broken(Broken::Harness("a process with several threads can't be copied".into())));
            return Ok(());
        }
        let (sp, fp) = (unicorn.reg_read(self.cpu.sp)?, unicorn.reg_read(self.cpu.fp)?);
        self.snapshot = Some(Snapshot {
            at: Place { pc: self.last_pc, sp, fp },
            registers: unicorn.context_init()?,
            witness: self.follower.witness.clone(),
            slots: self.slots.clone(),
            trail: self.follower.trail.clone(),
            interrupted: self.interrupted.clone(),
            linux: Rc::clone(&self.linux),
            regions: self.space.keep_regions(),
            instructions: self.instructions,
            limit: self.limit,
        });
        self.space.keep_pages();
        if !self.reports_stores {
            // Nothing tells which pages change.
            self.space.save(0, u64::MAX);
        }
        Ok(())
    }

    /// Gives the copy up. Returns where the process continues.
    pub(super) fn rewind(&mut self, unicorn: &mut Unicorn<'_, ()>) -> Result<Option<u64>, uc_error> {
        let Some(snapshot) = self.snapshot.take() else {
            self.end(End::Broken(Broken::Harness("there is no copy of the process to end".into())));
            return Ok(None);
        };
        // The copy may have made others.
        self.parked.clear();
        if let Some(own) = self.spaces.remove(&snapshot.linux.tasks.current().space) {
            self.space.uninstall(unicorn)?;
            own.install(unicorn)?;
            self.space = own;
        }
        self.spaces.clear();
        self.space_id = snapshot.linux.tasks.current().space;
        let is_remapped = self.space.restore_regions(unicorn, snapshot.regions)?;
        if self.space.restore_pages() || is_remapped {
            // Code has changed that may be translated.
            unicorn.ctl_flush_tb()?;
        }
        if is_remapped {
            self.follower.effects.clear();
        }
        unicorn.context_restore(&snapshot.registers)?;
        self.follower.witness.rewind(snapshot.witness, &snapshot.at);
        (self.slots, self.follower.trail, self.interrupted) =
            (snapshot.slots, snapshot.trail, snapshot.interrupted);
        self.linux = snapshot.linux;
        self.note_signals();
        self.instructions = snapshot.instructions;
        self.limit = snapshot.limit;
        self.begin_turn();
        self.last_pc = snapshot.at.pc;
        Ok(Some(snapshot.at.pc))
    }

    /// Gives the copy up because it has ended. Returns `None` without a copy, or if a fault of
    /// the harness has ended it.
    pub(super) fn fork_ended(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        result: Result<(), uc_error>,
    ) -> Option<u64> {
        self.snapshot.as_ref()?;
        let end = self.conclude(unicorn, result);
        if matches!(end, End::Broken(Broken::Harness(_))) {
            self.end(end);
            return None;
        }
        self.observer.fork_ended(&end);
        let result = self.rewind(unicorn);
        self.unless_refused(result)
    }
}
