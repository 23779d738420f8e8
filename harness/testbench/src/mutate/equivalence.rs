//! Mutants that are right after all.

use std::collections::BTreeSet;

use sframe_engine::{Base, InstructionPointer, LookupAddress, Recovery, RecoveryRule, Section};

use super::trial::{Meaning, Use};
use crate::disassembly::{Disassembly, Instruction, Roles};
use crate::spec::named::named;

named! {
    /// Why a mutant is as right as the section that it was made of.
    pub enum Reason, "reason" {
        /// At no instruction, and at no call's return address, do its rules
        /// differ in meaning.
        SameMeaning = "same-meaning",
        /// Only the frames of functions that nobody has called have used what
        /// differs, and of these no caller can be found.
        NoCaller = "no-caller",
        /// Wherever what differs was used it has given the right values, and
        /// each from where they are bound to be: SP or FP while neither
        /// changes, a register that still or again holds the value, or the
        /// place where the function has saved it.
        SameValue = "same-value",
    }
}

/// Whether two sections mean the same wherever an unwinder may ask: before an
/// instruction, and in the last byte of a call. `scope` is where they may differ.
pub(super) fn mean_the_same(
    one: &Section<'_>,
    other: &Section<'_>,
    code: &Disassembly,
    scope: Option<std::ops::Range<u64>>,
) -> bool {
    let scope = scope.unwrap_or(0..u64::MAX);
    code.within(scope).all(|(address, instruction)| {
        let same = |address: LookupAddress| Meaning::of(one, address) == Meaning::of(other, address);
        let behind = address.wrapping_add(instruction.len);
        same(sframe_engine::InstructionPointer(address).into())
            && (!instruction.calls || same(sframe_engine::ReturnAddress(behind).into()))
    })
}

/// Whether rules that have given the right values at each use were bound to.
/// That they read nothing stale, the comparison has made sure of.
pub(super) fn give_the_same_values(
    one: &Section<'_>,
    other: &Section<'_>,
    code: &Disassembly,
    uses: &BTreeSet<Use>,
) -> bool {
    let places: BTreeSet<u64> = uses.iter().filter_map(|of| instruction_at(code, of.address)).collect();
    uses.iter().all(|of| {
        let address = LookupAddress::from(InstructionPointer(of.address));
        let (old, new) = (Meaning::of(one, address), Meaning::of(other, address));
        let Meaning::Row { cfa, ra, fp, mangled: key, signal } = new else { return false };
        // Where there was no FDE, all of the row is new.
        let (old_cfa, old_ra, old_fp) = match old {
            Meaning::Row { cfa, ra, fp, mangled, signal: was_signal } => {
                if (mangled, was_signal) != (key, signal) {
                    return false;
                }
                (Some(cfa), Some(ra), Some(fp))
            }
            Meaning::NoFde if key.is_none() && !signal => (None, None, None),
            _ => return false,
        };
        let Ok(Some(fde)) = other.lookup_fde(address) else { return false };
        let before = |range_end| code.within(fde.start..range_end).map(|(_, instruction)| instruction);
        let Some(at) = instruction_at(code, of.address) else { return false };
        // A call has not come back: it counts as executed where its caller is asked.
        let end = if of.topmost { at } else { at + 1 };
        let home = |recovery, is: fn(&Roles) -> bool, is_ra: bool| match recovery {
            Recovery::Unchanged => in_register(before(end), is),
            Recovery::Rule(RecoveryRule {
                dereference: true, base: Base::Cfa | Base::Sp | Base::Fp, ..
            }) => {
                // No function has its return address by chance.
                let saves = |pc: &u64| code.at(*pc).is_some_and(|store| is(&store.copies));
                is_ra || of.stored_by.iter().any(saves)
            }
            Recovery::Rule(RecoveryRule { dereference: false, base: Base::Register(_), .. }) => {
                before(end).any(|instruction| is(&instruction.copies))
            }
            // Where every caller keeps FP at SP, it can be had from SP.
            Recovery::Rule(RecoveryRule {
                dereference: false,
                base: Base::Sp | Base::Cfa | Base::Fp,
                ..
            }) => of.callers_fp_is_sp,
            _ => false,
        };
        let cfa_is_fixed = match old_cfa {
            Some(old) => old == cfa || is_fixed(old, cfa, code, &places, of, fde.start..at),
            None => cfa.is_some_and(|rule| rule.base == Base::Sp && !rule.dereference),
        };
        cfa_is_fixed
            && (old_ra == Some(ra) || home(ra, |roles| roles.ra, true))
            && (old_fp == Some(fp) || home(fp, |roles| roles.fp, false))
    })
}

/// The start of the instruction that an address lies in.
fn instruction_at(code: &Disassembly, address: u64) -> Option<u64> {
    let start = code.before(address.checked_add(1)?)?;
    code.at(start).filter(|instruction| address - start < instruction.len).map(|_| start)
}

/// Whether a register holds what it held when the function was called: nothing
/// before has written it, or the last to do so has loaded it again.
fn in_register<'i>(before: impl DoubleEndedIterator<Item = &'i Instruction>, is: fn(&Roles) -> bool) -> bool {
    let mut before = before;
    before.rfind(|instruction| is(&instruction.writes)).is_none_or(|last| last.loads && !last.calls)
}

/// Whether two rules for the CFA are the same for as long as one stands for the
/// other: both add to SP, FP or a copy of SP, and none of these changes there.
fn is_fixed(
    one: Option<RecoveryRule>,
    other: Option<RecoveryRule>,
    code: &Disassembly,
    places: &BTreeSet<u64>,
    of: &Use,
    before: std::ops::Range<u64>,
) -> bool {
    let at = before.end;
    let (Some(one), Some(other)) = (one, other) else { return false };
    if one.dereference || other.dereference {
        return false;
    }
    let is_copy = |rule: &RecoveryRule| match rule.base {
        Base::Sp | Base::Fp => true,
        Base::Cfa => false,
        Base::Register(_) => code
            .within(before.clone())
            .any(|(_, Instruction { copies, .. })| copies.sp || (copies.fp && of.callers_fp_is_sp)),
    };
    // The instructions around this one at which the rules differ, the last of
    // which may change something: what it does comes after.
    let next = code.behind(at).filter(|next| places.contains(next));
    // Where SP and FP are the same, one may be set to the other.
    let are_same = one.offset == other.offset;
    let changes = code.at(at).is_some_and(|Instruction { writes, copies, .. }| {
        let sets = (writes.sp && copies.fp) || (writes.fp && copies.sp);
        (writes.sp || writes.fp) && !(are_same && sets)
    });
    is_copy(&one) && is_copy(&other) && (next.is_none() || !changes)
}
