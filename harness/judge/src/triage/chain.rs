//! Frame records and the backchain: traces that code may leave, and need not.

use sframe_engine::Recovery;

use super::inquiry::{Inquiry, Values, place_of};

/// Reads the record that FP, or SP on s390x, points to. `None` if there is no
/// place for one.
pub(super) fn read(inquiry: &Inquiry<'_, '_>) -> Option<(String, Values)> {
    let abi = inquiry.abi?;
    if abi.has_backchain() {
        // A backchain is the caller's SP; RA and FP have no fixed place after it.
        let caller_sp = inquiry.word(inquiry.state.sp)?;
        let values =
            Values { cfa: caller_sp.checked_add_signed(-abi.sp_offset_from_cfa()), ..Values::default() };
        return Some((format!("the backchain at SP leads to {caller_sp:#x}"), values));
    }
    let fp = inquiry.state.fp.ok()?;
    if !fp.is_multiple_of(8) || fp < inquiry.state.sp {
        return None;
    }
    let (caller_fp, ra) = (inquiry.word(fp)?, inquiry.word(fp.checked_add(8)?)?);
    let plain = inquiry.scene.target.pauth().strip(ra);
    let cfa = abi.cfa_offset_from_frame_record().map(|offset| fp.wrapping_add(offset));
    let values = Values { cfa, ra: Some(Some(plain)), fp: Some(caller_fp), ..Values::default() };
    // If code keeps another value in FP, it does not point to a record.
    let is_record = inquiry.truth.ra == values.ra && (cfa.is_none() || inquiry.truth.cfa == cfa);
    let found = inquiry.row.as_ref().map(|found| found.row);
    let loads = |recovery: Option<Recovery>, place| loaded_from(inquiry, recovery) == Some(place);
    // Where the row loads the same word, that is no second witness.
    let values = Values {
        ra: values.ra.filter(|_| !loads(found.map(|row| row.ra), fp.wrapping_add(8))),
        fp: values.fp.filter(|_| !loads(found.map(|row| row.fp), fp)),
        ..values
    };
    is_record
        .then(|| (format!("the record at FP ({fp:#x}) holds FP {caller_fp:#x} and RA {plain:#x}"), values))
}

/// Returns the address of the word that a rule of the row loads.
fn loaded_from(inquiry: &Inquiry<'_, '_>, recovery: Option<Recovery>) -> Option<u64> {
    match recovery? {
        Recovery::Rule(rule) if rule.dereference => place_of(&rule, inquiry.section.cfa, &inquiry.state),
        _ => None,
    }
}
