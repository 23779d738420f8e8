//! Which function a call through a register leads to.

use sframe_engine::DwarfRegister;
use sframe_isa::Registers;
use unicorn_engine::{Unicorn, uc_error};

use super::assumption::Callee;
use super::code::{Decoded, Kind};
use super::paths::Paths;

/// Instructions before a call that are looked at.
const DISTANCE: usize = 64;

impl Paths<'_, '_> {
    /// Returns the function that a call through a register leads to, if the code of the path alone says which: nothing
    /// that was loaded, passed on or returned takes part in its address. For any other, memory that the program has
    /// changed may lead elsewhere.
    pub(super) fn computed_callee(
        &self,
        unicorn: &Unicorn<'_, ()>,
        decoded: &Decoded,
    ) -> Result<Callee, uc_error> {
        let Some(register) = decoded.instruction.uses.only() else { return Ok(Callee::Unknown) };
        let Some(number) = self.register(register) else { return Ok(Callee::Unknown) };
        let to = unicorn.reg_read(number)?;
        let is_certain = self.binary.entries.contains(&to) && self.follows_from_code(register);
        Ok(if is_certain { Callee::Function(to) } else { Callee::Unknown })
    }

    /// Whether what a register holds before the last instruction of the path follows from constants of its
    /// instructions.
    fn follows_from_code(&self, register: DwarfRegister) -> bool {
        let mut wanted = Registers::default();
        wanted.insert(register);
        for pc in self.trace.iter().rev().skip(1).take(DISTANCE) {
            let decoded = self.code.at(&self.space, *pc);
            // What registers hold after a call has nothing to do with what they held before.
            if decoded.len == 0 || matches!(decoded.kind, Kind::Call(_) | Kind::SystemCall | Kind::Privileged)
            {
                return false;
            }
            let written: Vec<DwarfRegister> =
                wanted.iter().filter(|register| decoded.instruction.defs.contains(*register)).collect();
            if written.is_empty() {
                continue;
            }
            let Some(sources) = decoded.instruction.sources else { return false };
            written.into_iter().for_each(|register| wanted.remove(register));
            wanted.extend(sources.iter());
            if wanted.is_empty() {
                return true;
            }
        }
        false
    }
}
