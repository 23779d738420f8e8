//! Where a path leaves its function: by a return, a jump to another function, or into one.

use sframe_isa::MOST_REMOVED;
use unicorn_engine::{Unicorn, uc_error};

use super::assumption::{Assumption, Callee, Returns};
use super::code::{Decoded, Kind};
use super::paths::{Paths, at_entry};
use super::{Departure, Leaving, tables};
use crate::cpu::Link;
use crate::effect_cache::with_code;

impl Paths<'_, '_> {
    /// Whether the path leaves the function before an instruction: for another one, whose entry it
    /// has jumped to or run into.
    pub(super) fn leaves(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        pc: u64,
        previous: Option<u64>,
        sp: u64,
    ) -> Result<bool, uc_error> {
        let Some(previous) = previous else { return Ok(false) };
        let decoded = self.code.at(&self.space, previous);
        let has_jumped = decoded.len != 0 && previous.wrapping_add(decoded.len) != pc;
        if !has_jumped && self.body(previous) != self.body(pc) {
            if self.ends_with_call() {
                return Ok(true);
            }
            self.assumptions.push(Assumption::RunsInto { to: pc });
        }
        if pc == self.function.entry || !self.binary.entries.contains(&pc) {
            return Ok(false);
        }
        if sp == self.entry_sp() && self.holds_return_address(unicorn, sp)? {
            let is_named = has_jumped && decoded.instruction.target().is_some();
            let departure = if is_named { Departure::DirectJump } else { Departure::Otherwise };
            self.leave(unicorn, pc, sp, departure)?;
            return Ok(true);
        }
        if !has_jumped {
            // Within the same body it only seems to be an entry: what calls it may be data. Nor is it one, perhaps, where
            // a frame comes with control, no call is seen, and the last instruction is none, which may not return.
            let (from, body) = (self.body(previous), self.body(pc));
            let is_call = matches!(decoded.kind, Kind::Call(_));
            let comes_with_frame = from.is_some()
                && body.is_some()
                && !is_call
                && sp != self.entry_sp()
                && !self.binary.called.contains(&pc);
            return Ok(!comes_with_frame && (body.is_none() || from != body));
        }
        self.assumptions.push(Assumption::JumpWithFrame { to: pc });
        Ok(false)
    }

    /// The position of the body that holds an address.
    pub(super) fn body(&self, pc: u64) -> Option<usize> {
        let bodies = &self.binary.bodies;
        let next = bodies.partition_point(|body| body.start <= pc);
        next.checked_sub(1).filter(|last| bodies[*last].contains(&pc))
    }

    /// Whether the path has done nothing since a call that may not return: then the call is probably
    /// the end of its function, and what follows is padding.
    fn ends_with_call(&self) -> bool {
        for pc in self.trace.iter().rev() {
            let decoded = self.code.at(&self.space, *pc);
            match decoded.kind {
                Kind::Call(_) => {
                    return matches!(self.assumptions.last(), Some(Assumption::Call { at, returns, .. })
                        if at == pc && *returns != Returns::Sometimes);
                }
                _ if decoded.is_padding() => {}
                _ => return false,
            }
        }
        false
    }

    /// Whether the return address is where calls leave it.
    pub(super) fn holds_return_address(&self, unicorn: &Unicorn<'_, ()>, sp: u64) -> Result<bool, uc_error> {
        let address = self.layout.return_address();
        Ok(match self.link() {
            Link::Stack => self.space.read_u64(sp) == Some(address),
            Link::Register(link) => unicorn.reg_read(link)? == address,
        })
    }

    /// Notifies the observer that control goes to a function that returns to the caller.
    pub(super) fn leave(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        pc: u64,
        sp: u64,
        departure: Departure,
    ) -> Result<(), uc_error> {
        let fp = unicorn.reg_read(self.cpu.fp)?;
        let leaving = Leaving { departure, is_regular: self.preserves_registers(unicorn)?, removed: None };
        self.observe(unicorn, pc, sp, fp, |observer, point| observer.leaves(point, leaving));
        Ok(())
    }

    /// Looks at a return. If it only ends a call within the function, returns where that continues.
    pub(super) fn returns(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        pc: u64,
    ) -> Result<Option<u64>, uc_error> {
        let (sp, fp) = (unicorn.reg_read(self.cpu.sp)?, unicorn.reg_read(self.cpu.fp)?);
        let caller = self.layout.return_address();
        let to = match self.cpu.link {
            Link::Register(link) => {
                let to = unicorn.reg_read(link)?;
                let takes =
                    |signed| with_code(self.cpu, &self.space, pc, self.cpu.returns_signed) && to == signed;
                if self.signature.is_some_and(|signature| takes(signature.signed)) { caller } else { to }
            }
            Link::Stack => self.space.read_u64(sp).unwrap_or_default(),
        };
        if to != caller && self.cpu.link != Link::Stack && self.label_returns(to) {
            return Ok(Some(to));
        }
        if to != caller && self.cpu.link == Link::Stack {
            if self.is_pushed(sp, to) {
                unicorn.reg_write(self.cpu.sp, sp.wrapping_add(8))?;
                self.label_returns(to);
                return Ok(Some(to));
            }
            // A retpoline: it has replaced its return address by that of a function, which returns to
            // the call before.
            let outer = sp.wrapping_add(8);
            let next = self.space.read_u64(outer).unwrap_or_default();
            if self.is_pushed(outer, next) {
                unicorn.reg_write(self.cpu.sp, outer.wrapping_add(8))?;
                return self.call(unicorn, pc, next, Callee::Unknown);
            }
            if next == caller {
                unicorn.reg_write(self.cpu.sp, outer)?;
                self.leave(unicorn, pc, outer, Departure::Otherwise)?;
                return Ok(None);
            }
            let found = tables::targets_of_return(self, unicorn, sp);
            unicorn.reg_write(self.cpu.sp, outer)?;
            if found.targets.is_empty() && self.assumptions.iter().any(Assumption::is_unknown_to_sp) {
                // Perhaps a callee has removed its arguments, and this is no return address.
                let leaving = Leaving { departure: Departure::Return, is_regular: false, removed: None };
                self.observe(unicorn, pc, sp, fp, |observer, point| observer.leaves(point, leaving));
            }
            self.follow(unicorn, pc, found)?;
            return Ok(None);
        }
        let popped = u64::from(self.code.at(&self.space, pc).instruction.removes);
        let at_return = sp.wrapping_add(popped + if self.cpu.link == Link::Stack { 8 } else { 0 });
        self.return_to(unicorn, pc, to == caller, at_return)?;
        Ok(None)
    }

    /// Looks at a jump through a register. Returns whether it leads to the return address, and so is a
    /// return.
    pub(super) fn returns_by_jump(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        pc: u64,
        decoded: &Decoded,
    ) -> Result<bool, uc_error> {
        let target = decoded.instruction.uses.only().and_then(|target| self.register(target));
        let Some(register) = target else { return Ok(false) };
        if unicorn.reg_read(register)? != self.layout.return_address() {
            return Ok(false);
        }
        let sp = unicorn.reg_read(self.cpu.sp)?;
        self.return_to(unicorn, pc, true, sp)?;
        Ok(true)
    }

    /// Notifies the observer of a return, after which SP is as given.
    fn return_to(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        pc: u64,
        is_to_caller: bool,
        at_return: u64,
    ) -> Result<(), uc_error> {
        let (sp, fp) = (unicorn.reg_read(self.cpu.sp)?, unicorn.reg_read(self.cpu.fp)?);
        let removed = Some(at_return.wrapping_sub(self.layout.caller_sp()));
        let removed = removed.filter(|removed| is_to_caller && *removed <= MOST_REMOVED);
        let is_regular = removed.is_some() && self.preserves_registers(unicorn)?;
        let leaving = Leaving { departure: Departure::Return, is_regular, removed };
        self.observe(unicorn, pc, sp, fp, |observer, point| observer.leaves(point, leaving));
        Ok(())
    }

    /// Ends the call within the function that returns to an address, and those that it has made. One that was made more
    /// than once stays. Returns false if there is none.
    fn label_returns(&mut self, to: u64) -> bool {
        let Some(call) = self.labels.iter().rposition(|call| call.next == to) else { return false };
        self.observer.returns_from_label(self.labels[call].label);
        let is_left = self.labels[call].is_repeated;
        self.labels.truncate(call + usize::from(is_left));
        true
    }

    /// Whether a word was stored by a call of this path, and holds its return address.
    fn is_pushed(&self, address: u64, word: u64) -> bool {
        let last = self.journal.last(&self.space, address);
        last.is_some_and(|(call, _)| {
            let decoded = self.code.at(&self.space, call);
            matches!(decoded.kind, Kind::Call(_)) && call.wrapping_add(decoded.len) == word
        })
    }

    /// Whether the registers that callees preserve hold what they did at the function's entry.
    pub(super) fn preserves_registers(&self, unicorn: &Unicorn<'_, ()>) -> Result<bool, uc_error> {
        for number in self.cpu.convention.preserved {
            if unicorn.reg_read(self.cpu.registers[*number])? != at_entry(*number as u64) {
                return Ok(false);
            }
        }
        Ok(unicorn.reg_read(self.cpu.fp)? == self.layout.caller_fp())
    }
}
