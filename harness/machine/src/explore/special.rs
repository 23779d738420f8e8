//! Instructions that are not executed: calls, returns, indirect jumps, system calls, and those that
//! the emulator lacks.

use std::ops::Range;

use sframe_engine::DwarfRegister;
use sframe_isa::{Operation, Place};
use unicorn_engine::{Unicorn, uc_error};

use super::Departure;
use super::assumption::{Assumption, Callee, Returns};
use super::code::{Decoded, Kind};
use super::paths::{Paths, Stop};
use super::tables::{self, Targets};
use crate::cpu::Link;
use crate::effect_cache::with_code;

/// What a register holds that a callee may have changed, or whose value is unknown.
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
            Kind::Call(_) if self.binary.traced.contains(&pc) => self.trace_call(unicorn, pc, next),
            Kind::Call(Callee::Function(to))
                if self.is_retpoline(to) && !self.binary.entries.contains(&to) =>
            {
                self.call(unicorn, pc, next, Callee::Unknown)
            }
            Kind::Call(Callee::Unknown) => {
                let callee = self.computed_callee(unicorn, decoded)?;
                self.call(unicorn, pc, next, callee)
            }
            Kind::Call(callee) => self.call(unicorn, pc, next, callee),
            Kind::Return { is_conditional } => {
                let after = self.returns(unicorn, pc)?;
                Ok(after.or_else(|| is_conditional.then_some(next)))
            }
            Kind::IndirectJump { is_conditional } => {
                if !self.returns_by_jump(unicorn, pc, decoded)? {
                    let found = tables::targets(self, unicorn, pc, decoded);
                    self.follow(unicorn, pc, found)?;
                }
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
    pub(super) fn follow(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        pc: u64,
        found: Targets,
    ) -> Result<(), uc_error> {
        if found.targets.is_empty() {
            let sp = unicorn.reg_read(self.cpu.sp)?;
            if sp == self.entry_sp() && self.holds_return_address(unicorn, sp)? {
                // It may well be another function that returns to the caller.
                let has_jumped_here = self.is_trampoline(pc);
                let departure = if has_jumped_here { Departure::DirectJump } else { Departure::Otherwise };
                self.leave(unicorn, pc, sp, departure)?;
            } else {
                self.result.unresolved_jumps += u32::from(!found.leaves);
            }
        }
        for to in found.targets {
            self.wait(unicorn, to, Assumption::Table { at: pc, to, is_bounded: found.is_bounded })?;
        }
        Ok(())
    }

    /// Steps over a call.
    pub(super) fn call(
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
        match self.link_of(pc) {
            Some(link) => unicorn.reg_write(link, next)?,
            // The call itself has overwritten what may have been popped from there.
            None => {
                let sp = unicorn.reg_read(self.cpu.sp)?;
                self.store_word(sp.wrapping_sub(self.cpu.abi.pushed_by_calls()), next);
            }
        }
        // A call site has the last byte of its call.
        let last = next.wrapping_sub(1);
        if let Some(to) = at(&self.binary.landing_pads, last) {
            let sp = unicorn.reg_read(self.cpu.sp)?;
            let pushed = at(&self.binary.pushed_arguments, last).unwrap_or_default();
            unicorn.reg_write(self.cpu.sp, sp.wrapping_add(pushed))?;
            self.wait(unicorn, to, Assumption::LandingPad { at: pc, to })?;
            unicorn.reg_write(self.cpu.sp, sp)?;
        }
        if returns == Returns::Never {
            return Ok(None);
        }
        let removes = self.known.removes(&self.code, &self.space, self.binary, callee);
        if let Some(removed) = removes.filter(|removed| *removed > 0) {
            let sp = unicorn.reg_read(self.cpu.sp)?;
            unicorn.reg_write(self.cpu.sp, sp.wrapping_add(removed))?;
        }
        let passes = self.known.passes(&self.code, &self.space, self.binary, callee);
        self.assumptions.push(Assumption::Call { at: pc, callee, returns, removes, passes });
        self.is_after_call = true;
        Ok(Some(next))
    }

    /// Steps over a call of a kernel's tracer. It changes nothing, and gives the return address register back what the
    /// function has put aside for it.
    fn trace_call(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        pc: u64,
        next: u64,
    ) -> Result<Option<u64>, uc_error> {
        match (self.link_of(pc), self.cpu.kept_for_tracer) {
            (Some(link), Some(kept)) => {
                let kept = unicorn.reg_read(kept)?;
                unicorn.reg_write(link, kept)?;
            }
            (Some(link), None) => unicorn.reg_write(link, next)?,
            (None, _) => {
                let sp = unicorn.reg_read(self.cpu.sp)?;
                self.store_word(sp.wrapping_sub(self.cpu.abi.pushed_by_calls()), next);
            }
        }
        self.assumptions.push(Assumption::Traced { at: pc });
        Ok(Some(next))
    }

    /// The register in which a call leaves the return address: on s390x any may be named, and calls at a
    /// function's entry leave its own one alone.
    fn link_of(&self, pc: u64) -> Option<i32> {
        let Link::Register(link) = self.cpu.link else { return None };
        let other = self.code.at(&self.space, pc).instruction.other_link(self.cpu.abi);
        Some(other.and_then(|other| self.register(other)).unwrap_or(link))
    }

    /// The register with a DWARF number.
    pub(super) fn register(&self, number: DwarfRegister) -> Option<i32> {
        self.cpu.registers.get(usize::try_from(number.0).ok()?).copied()
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
            Kind::Plain => {
                let next = self.skip(unicorn, pc, decoded)?;
                if next.is_none() {
                    self.result.unknown.get_or_insert(pc);
                }
                Ok(next)
            }
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
            if let Some(register) = self.register(register) {
                unicorn.reg_write(register, UNKNOWN)?;
            }
        }
        let is_privileged = with_code(self.cpu, &self.space, pc, self.cpu.is_privileged);
        let is_vector = with_code(self.cpu, &self.space, pc, self.cpu.is_vector);
        let has_stored = self.store_unknown(unicorn, decoded)?;
        self.assumptions.push(Assumption::Skipped {
            at: pc,
            // A kernel may execute it, and goes on.
            is_system: !self.binary.is_kernel && (is_privileged || defs.is_empty() && !is_vector),
            may_store: decoded.instruction.may_store && !has_stored,
        });
        Ok(Some(pc.wrapping_add(decoded.len)))
    }

    /// Stores something unknown for an instruction that can't be executed, and does nothing else. Returns whether it is
    /// such a one, to a place that it names.
    fn store_unknown(&mut self, unicorn: &Unicorn<'_, ()>, decoded: &Decoded) -> Result<bool, uc_error> {
        let Operation::Store { place: Some(Place { base, offset, writeback: 0 }), size, .. } =
            decoded.instruction.operation
        else {
            return Ok(false);
        };
        let Some(base) = self.register(base) else { return Ok(false) };
        let address = unicorn.reg_read(base)?.wrapping_add_signed(offset);
        for at in (0..u64::from(size)).step_by(8) {
            self.store_word(address.wrapping_add(at), UNKNOWN);
        }
        Ok(true)
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

/// What belongs to an address, of ranges that are sorted.
fn at(ranges: &[(Range<u64>, u64)], address: u64) -> Option<u64> {
    let count = ranges.partition_point(|(range, _)| range.start <= address);
    let (range, value) = ranges.get(count.checked_sub(1)?)?;
    range.contains(&address).then_some(*value)
}
