//! Which states of a function are the same as far as unwinding is concerned.

use std::hash::{Hash, Hasher as _};

use rustc_hash::FxHasher;
use unicorn_engine::{Unicorn, uc_error};

use super::paths::Paths;
use crate::cpu::Link;

/// At most this many states of an instruction are followed.
const MOST_STATES: u32 = 40;

impl Paths<'_, '_> {
    /// Whether a state like the present one has been met, or there have been too many.
    pub(super) fn is_known(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        pc: u64,
        is_free: bool,
    ) -> Result<bool, uc_error> {
        let key = self.key(unicorn, (pc, false))?;
        if !self.seen.insert(key) {
            return Ok(true);
        }
        if !is_free {
            return Ok(false);
        }
        let states = self.states.entry(pc).or_default();
        *states += 1;
        let are_too_many = *states > MOST_STATES;
        self.result.is_cut |= are_too_many;
        Ok(are_too_many)
    }

    /// What distinguishes states: SP, FP as far as it is the caller's or points into the stack, where the
    /// caller's FP and RA have been saved, what calls within the function have not returned, and what the
    /// observer says.
    pub(super) fn key(
        &self,
        unicorn: &Unicorn<'_, ()>,
        place: impl std::hash::Hash,
    ) -> Result<u64, uc_error> {
        let mut hasher = FxHasher::default();
        let (sp, fp) = (unicorn.reg_read(self.cpu.sp)?, unicorn.reg_read(self.cpu.fp)?);
        let is_in_stack = self.layout.stack().contains(&fp);
        (place, sp, if is_in_stack { fp } else { 0 }, self.class, self.signature.is_some()).hash(&mut hasher);
        self.labels.hash(&mut hasher);
        if let Link::Register(link) = self.cpu.link {
            (unicorn.reg_read(link)? == self.layout.return_address()).hash(&mut hasher);
        }
        for address in &self.saved {
            self.space.read_u64(*address).filter(|word| self.is_callers(*word)).hash(&mut hasher);
        }
        Ok(hasher.finish())
    }

    /// Whether a word is the caller's FP or the return address.
    pub(super) fn is_callers(&self, word: u64) -> bool {
        word == self.layout.caller_fp()
            || word == self.layout.return_address()
            || self.signature.is_some_and(|signature| word == signature.signed)
    }
}
