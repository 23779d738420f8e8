//! What rules are computed from.

use sframe_engine::{Base, DwarfRegister, RecoveryRule};

/// What the bases of rules hold in a frame; `None` for what is not known there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bases {
    pub(crate) cfa: Option<u64>,
    pub(crate) sp: Option<u64>,
    pub(crate) fp: Option<u64>,
}

impl Bases {
    /// The address that a rule computes, or loads from. `register` knows the registers besides SP and FP.
    pub(crate) fn address(
        self,
        rule: &RecoveryRule,
        register: impl FnOnce(DwarfRegister) -> Option<u64>,
    ) -> Option<u64> {
        let base = match rule.base {
            Base::Cfa => self.cfa,
            Base::Sp => self.sp,
            Base::Fp => self.fp,
            Base::Register(number) => register(number),
        };
        Some(base?.wrapping_add_signed(rule.offset))
    }
}
