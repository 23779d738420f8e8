//! What the frames of functions, as their code makes them, say of a disagreement.

use sframe_engine::{Abi, Base, Recovery, Row};
use sframe_isa::{FrameLayout, FrameValues, SavedLocation};

use super::inquiry::Values;
use crate::finding::Side;
use crate::unwind::State;

/// Which side a layout agrees with about the places that a row reads from. `None`
/// if it does not show that: what is below SP, where it has been popped, may have been overwritten.
pub(super) fn side_of(layout: &FrameLayout, row: &Row) -> Option<Side> {
    let is_popped = |offset: i64| layout.sp.is_some_and(|sp| offset < -sp);
    let same = |kept: SavedLocation, recovery: &Recovery| match (kept, recovery) {
        (SavedLocation::InRegister, Recovery::Unchanged) => Some(true),
        (SavedLocation::OnStack(offset), Recovery::Rule(rule))
            if rule.base == Base::Cfa && rule.dereference =>
        {
            (rule.offset != offset || !is_popped(offset)).then_some(rule.offset == offset)
        }
        (SavedLocation::OnStack(_), Recovery::Unchanged) => Some(false),
        (SavedLocation::InRegister, Recovery::Rule(rule)) if rule.base == Base::Cfa => Some(false),
        _ => None,
    };
    // FP is the caller's there, whatever it holds.
    let by_callers_fp =
        row.cfa.is_some_and(|cfa| cfa.base == Base::Fp) && layout.fp.is_none() && layout.sp.is_some();
    match (same(layout.ra, &row.ra), same(layout.caller_fp, &row.fp)) {
        _ if by_callers_fp => Some(Side::CallStack),
        (Some(false), _) | (_, Some(false)) => Some(Side::CallStack),
        (Some(true), Some(true)) => Some(Side::Section),
        _ => None,
    }
}

/// The values that a layout gives. `link` is what the return address register holds, where that is known.
pub(super) fn values(
    layout: &FrameLayout,
    abi: Abi,
    state: &State,
    link: Option<u64>,
    memory: &dyn Fn(u64) -> Option<u64>,
) -> Values {
    let FrameValues { cfa, ra, fp } = layout.values(state.sp, state.fp.ok(), link, memory);
    // What is loaded may be signed.
    let may_be_signed = abi.signs_return_addresses() && layout.ra != SavedLocation::InRegister;
    let ra = ra.filter(|_| !may_be_signed).map(Some);
    Values { cfa, ra, fp, ..Values::default() }
}
