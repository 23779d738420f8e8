//! What a function's CFI declares that no row of `.sframe` can say, or that assemblers do not try to: they
//! leave the function out.

use sframe_engine::{Abi, Base, CfaOffsetScaling, Recovery, RecoveryRule, Version};

use super::dialect::Gas;
use super::directive::{Directive, Operation};
use super::state::Claim;

/// Whether an assembler may leave out a part of a function. Given are the directives before each of its
/// instructions, and what they declare there.
pub(super) fn may_be_left_out<'d>(
    version: Version,
    abi: Abi,
    sites: impl Iterator<Item = (&'d [Directive], Claim)>,
) -> bool {
    sites.into_iter().any(|(declared, claim)| {
        declared.iter().any(|directive| is_refused(version, abi, directive))
            || is_inexpressible(version, abi, &claim)
            || claim.ra != Some(Recovery::Undefined) && has_rule_for_sp(version, abi, declared)
    })
}

/// Whether assemblers do not read a directive.
fn is_refused(version: Version, abi: Abi, directive: &Directive) -> bool {
    match directive.operation {
        _ if directive.is_escape() => true,
        Operation::ReturnColumn(column) => column != abi.ra_column(),
        Operation::SignalFrame => !version.marks_signal_frames(),
        _ => false,
    }
}

/// Whether it is declared that SP is the CFA, which is what ABIs say anyway, and assemblers refuse it.
fn has_rule_for_sp(version: Version, abi: Abi, declared: &[Directive]) -> bool {
    refuses_rules_for_sp(version)
        && abi.sp_offset_from_cfa() == 0
        && declared.iter().any(|directive| directive.form == ".cfi_val_offset")
}

/// Whether assemblers that write a version refuse rules for SP, without looking at what they say.
const fn refuses_rules_for_sp(version: Version) -> bool {
    match version {
        Version::V1 | Version::V2 => false,
        Version::V3 => true,
    }
}

/// Whether a row can't say this.
pub(super) fn is_inexpressible(version: Version, abi: Abi, claim: &Claim) -> bool {
    // Rows of flexible FDEs name any register (3.2). No assembler writes them for AArch64.
    let has_registers = version.has_flex_fdes() && Gas::of(abi).names_registers;
    let in_register = |recovery: Option<Recovery>| {
        matches!(recovery, Some(Recovery::Rule(RecoveryRule { base: Base::Register(_), .. })))
    };
    let in_word = |recovery: Option<Recovery>| {
        matches!(recovery, Some(Recovery::Rule(RecoveryRule { base: Base::Cfa, dereference: true, .. })))
    };
    if claim.ra == Some(Recovery::Undefined) {
        return !version.marks_outermost_functions();
    }
    let Some(cfa) = claim.cfa else { return true };
    let is_factored = match abi.cfa_offset_scaling() {
        Some(CfaOffsetScaling { factor, .. }) => cfa.offset % factor == 0,
        None => true,
    };
    cfa.dereference
        || !is_factored
        || claim.fp == Some(Recovery::Undefined)
        || !has_registers
            && (matches!(cfa.base, Base::Register(_)) || in_register(claim.ra) || in_register(claim.fp))
        // The first of two offsets can't be omitted (2.4.3).
        || !has_registers && abi.has_link_register() && in_word(claim.fp) && !in_word(claim.ra)
}
