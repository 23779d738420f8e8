//! Instructions that are not executed: calls, returns, indirect jumps, system calls, and those that
//! the emulator lacks.

use unicorn_engine::{Unicorn, uc_error};

use super::Leaving;
use super::assumption::{Assumption, Callee, Returns};
use super::code::{Decoded, Kind};
use super::paths::{Paths, Stop};
use super::tables::{self, Targets};
use crate::cpu::Link;
use crate::effect_cache::with_code;

/// What a register holds that a callee may have changed, or of which nothing is known.
const UNKNOWN: u64 = 0xdead_0000_0000_0005;
/// String instructions are not repeated more often than this.
const MOST_REPETITIONS: u64 = 64;
/// The number of the object that results point to.
const RESULT: u64 = 7;

impl Paths<'_, '_> {
    /// Does what the emulator has not done. Returns where the path continues.
    pub(super) fn stopped(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        result: Result<(), uc_error>,
    ) -> Result<Option<u64>, uc_error> {
        let Some(pc) = self.trace.last().copied() else { return Ok(None) };
        let decoded = self.code.at(&self.space, pc);
        match (self.stop.take(), result) {
            (Some(Stop::End), _) | (None, Ok(())) => Ok(None),
            (Some(Stop::Special), _) => self.special(unicorn, pc, &decoded),
            (Some(Stop::Exception), _) | (None, Err(_)) => self.failed(unicorn, pc, &decoded),
        }
    }

    fn special(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        pc: u64,
        decoded: &Decoded,
    ) -> Result<Option<u64>, uc_error> {
        let next = pc.wrapping_add(decoded.len);
        self.is_joint = true;
        match decoded.kind {
            Kind::Call(Callee::Function(to))
                if self.is_retpoline(to) && !self.binary.entries.contains(&to) =>
            {
                self.call(unicorn, pc, next, Callee::Unknown)
            }
            Kind::Call(callee) => self.call(unicorn, pc, next, callee),
            Kind::Return { is_conditional } => {
                let after = self.returns(unicorn, pc)?;
                Ok(after.or_else(|| is_conditional.then_some(next)))
            }
            Kind::IndirectJump { is_conditional } => {
                let found = tables::targets(self, unicorn, pc, decoded);
                self.follow(unicorn, pc, found)?;
                Ok(is_conditional.then_some(next))
            }
            Kind::SystemCall => {
                let call = &self.cpu.system_calls;
                unicorn.reg_write(call.result, self.given(RESULT))?;
                for register in call.clobbered {
                    unicorn.reg_write(*register, UNKNOWN)?;
                }
                self.assumptions.push(Assumption::SystemCall { at: pc });
                Ok(Some(next))
            }
            Kind::Trap | Kind::Plain | Kind::Branch(_) | Kind::Jump(_) => Ok(None),
            Kind::Privileged => self.skip(unicorn, pc, decoded),
        }
    }

    /// Lets the targets of an indirect jump wait.
    fn follow(&mut self, unicorn: &mut Unicorn<'_, ()>, pc: u64, found: Targets) -> Result<(), uc_error> {
        if found.targets.is_empty() {
            let sp = unicorn.reg_read(self.cpu.sp)?;
            if sp == self.entry_sp() && self.holds_return_address(unicorn, sp)? {
                // It may well be another function that returns to the caller.
                self.leave(unicorn, pc, sp)?;
            } else {
                self.result.unresolved_jumps += u32::from(!found.leaves);
            }
        }
        for to in found.targets {
            self.wait(unicorn, to, Assumption::Table { at: pc, to, is_bounded: found.is_bounded })?;
        }
        Ok(())
    }

    /// Tells the observer that control goes to a function that returns to the caller.
    pub(super) fn leave(&mut self, unicorn: &Unicorn<'_, ()>, pc: u64, sp: u64) -> Result<(), uc_error> {
        let fp = unicorn.reg_read(self.cpu.fp)?;
        let leaving = Leaving { is_tail_call: true, is_regular: self.preserves_registers(unicorn)? };
        self.observe(unicorn, pc, sp, fp, |observer, point| observer.leaves(point, leaving));
        Ok(())
    }

    /// Looks at a return. If it only ends a call within the function, returns where that continues.
    fn returns(&mut self, unicorn: &mut Unicorn<'_, ()>, pc: u64) -> Result<Option<u64>, uc_error> {
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
        if to != caller && self.cpu.link == Link::Stack {
            if self.is_pushed(sp, to) {
                unicorn.reg_write(self.cpu.sp, sp.wrapping_add(8))?;
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
                self.leave(unicorn, pc, outer)?;
                return Ok(None);
            }
            let found = tables::targets_of_return(self, unicorn, sp);
            unicorn.reg_write(self.cpu.sp, outer)?;
            self.follow(unicorn, pc, found)?;
            return Ok(None);
        }
        let popped = with_code(self.cpu, &self.space, pc, |code| (self.cpu.pops_arguments)(code));
        let popped = u64::from(popped) + if self.cpu.link == Link::Stack { 8 } else { 0 };
        let at_return = sp.wrapping_add(popped);
        let is_regular =
            to == caller && at_return == self.layout.caller_sp() && self.preserves_registers(unicorn)?;
        let leaving = Leaving { is_tail_call: false, is_regular };
        self.observe(unicorn, pc, sp, fp, |observer, point| observer.leaves(point, leaving));
        Ok(None)
    }

    /// Whether a word was stored by a call of this path, and holds its return address.
    fn is_pushed(&self, address: u64, word: u64) -> bool {
        let last = self.journal.last(&self.space, address);
        last.is_some_and(|(call, _)| {
            let decoded = self.code.at(&self.space, call);
            matches!(decoded.kind, Kind::Call(_)) && call.wrapping_add(decoded.len) == word
        })
    }

    /// Steps over a call.
    fn call(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        pc: u64,
        next: u64,
        callee: Callee,
    ) -> Result<Option<u64>, uc_error> {
        let returns = self.known.returns(&self.code, &self.space, self.binary, callee);
        let convention = &self.cpu.convention;
        // Of a callee in the same file a compiler may know which registers it does not change.
        let is_local = matches!(callee, Callee::Function(entry)
            if !self.is_trampoline(entry) && !self.binary.stubs.contains(&entry));
        if !is_local {
            for register in convention.clobbered {
                unicorn.reg_write(self.cpu.registers[*register], UNKNOWN)?;
            }
        }
        unicorn.reg_write(self.cpu.registers[convention.result], self.given(RESULT))?;
        if let Link::Register(link) = self.cpu.link {
            unicorn.reg_write(link, next)?;
        }
        let pads = &self.binary.landing_pads;
        // A call site has the last byte of its call.
        let last = next.wrapping_sub(1);
        let count = pads.partition_point(|(calls, _)| calls.start <= last);
        let pad =
            count.checked_sub(1).and_then(|index| pads.get(index)).filter(|(calls, _)| calls.contains(&last));
        if let Some((_, to)) = pad {
            let to = *to;
            self.wait(unicorn, to, Assumption::LandingPad { at: pc, to })?;
        }
        if returns == Returns::Never {
            return Ok(None);
        }
        self.assumptions.push(Assumption::Call { at: pc, callee, returns });
        self.is_after_call = true;
        Ok(Some(next))
    }

    pub(super) fn is_trampoline(&self, address: u64) -> bool {
        self.binary.trampolines.iter().any(|range| range.contains(&address))
    }

    /// Continues after an instruction that has failed.
    fn failed(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        pc: u64,
        decoded: &Decoded,
    ) -> Result<Option<u64>, uc_error> {
        if self.branch.take().is_some() {
            // There is nothing where it leads.
            return Ok(Some(pc.wrapping_add(decoded.len)));
        }
        // What comes after it can't be fetched.
        if self.failed_at.replace(self.trace.len()) == Some(self.trace.len()) {
            return Ok(None);
        }
        match decoded.kind {
            Kind::Plain => self.skip(unicorn, pc, decoded),
            _ => Ok(None),
        }
    }

    /// Steps over an instruction. Its results become unknown.
    fn skip(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        pc: u64,
        decoded: &Decoded,
    ) -> Result<Option<u64>, uc_error> {
        let defs = decoded.instruction.defs;
        if decoded.len == 0 || defs.contains(self.cpu.abi.sp()) {
            return Ok(None);
        }
        for register in defs.iter() {
            let register = usize::try_from(register.0).ok().and_then(|number| self.cpu.registers.get(number));
            if let Some(register) = register {
                unicorn.reg_write(*register, UNKNOWN)?;
            }
        }
        self.assumptions.push(Assumption::Skipped { at: pc });
        Ok(Some(pc.wrapping_add(decoded.len)))
    }

    /// Looks at a string instruction, which repeats itself. Returns whether it has begun before.
    pub(super) fn repeats(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        pc: u64,
        has_begun: bool,
    ) -> Result<bool, uc_error> {
        let Some(counter) = self.cpu.convention.counter else { return Ok(has_begun) };
        if !has_begun && unicorn.reg_read(counter)? > MOST_REPETITIONS {
            unicorn.reg_write(counter, 1)?;
            self.assumptions.push(Assumption::Shortened { at: pc });
        }
        Ok(has_begun)
    }
}
