//! The content of rows (3.1): where CFA, RA and FP are.

use crate::abi::{Abi, DwarfRegister};
use crate::lint::catalogue as rules;
use crate::lint::finding::Value;
use crate::lint::fre::Fre;
use crate::lint::layout::Layout;
use crate::lint::reporter::{Place, Reporter};

/// Checks the data words of a row of a default FDE. There is at least one, or
/// the version is 1.
pub(super) fn check_default(row: &Fre, layout: &Layout<'_>, abi: Abi, place: Place, out: &mut Reporter<'_>) {
    let (cfa, ra, fp) = match (abi.fixed_ra_offset(), row.words()) {
        (Some(_), [cfa]) => (*cfa, None, None),
        (Some(_), [cfa, fp]) => (*cfa, None, Some(*fp)),
        (None, words @ ([_] | [_, _] | [_, _, _])) => {
            (words[0], words.get(1).copied(), words.get(2).copied())
        }
        (Some(_) | None, words) => {
            let count = Value::Number(words.len() as i64);
            out.report(&rules::WORD_COUNT, place, [count, Value::Text(abi.name())]);
            return;
        }
    };
    if layout.signs_return_addresses() && ra.is_some() && fp.is_none() {
        out.say(&rules::TWO_WORDS, place);
    }
    let cfa = abi.decode_cfa_offset(cfa);
    let register = if row.is_sp_based() { abi.sp() } else { abi.fp() };
    check_cfa(abi, Some(register), cfa, place, out);

    let padding = ra.is_some() && ra == abi.ra_padding();
    if padding {
        match fp {
            Some(_) => out.say(&rules::RA_PADDING, place),
            None => out.report(&rules::NEEDLESS_PADDING, place, ["RA"]),
        }
    }
    let mut slot = |name: &'static str, word: Option<i32>| {
        let word = word?;
        if layout.version.has_registers_in_words(abi) && word & 1 != 0 {
            let register = word >> 1;
            let values = [Value::Text(name), Value::Number(register.into())];
            let known =
                u32::try_from(register).is_ok_and(|register| abi.has_register(DwarfRegister(register)));
            out.report(if known { &rules::TOPMOST_ONLY } else { &rules::S390X_REGISTER }, place, values);
            return None;
        }
        Some(i64::from(word))
    };
    let ra = if padding { None } else { slot("RA", ra) };
    let fp = slot("FP", fp);
    Slots { ra, fp, cfa_from_sp: row.is_sp_based().then_some(cfa) }.check(abi, place, out);
}

/// What the values of saved registers, and frames that FP points into, are multiples of, in bytes.
const WORD: i64 = 8;

/// The CFA as an offset from a register; `None` if it is not just that.
pub(super) fn check_cfa(
    abi: Abi,
    register: Option<DwarfRegister>,
    offset: i64,
    place: Place,
    out: &mut Reporter<'_>,
) {
    let from_sp = register == Some(abi.sp());
    let alignment = if from_sp { abi.sp_alignment() } else { WORD };
    if offset % alignment != 0 && (from_sp || register == Some(abi.fp())) {
        let name = Value::Text(if from_sp { "SP" } else { "FP" });
        out.report(&rules::CFA_ALIGNMENT, place, [name, Value::Signed(offset), Value::Number(alignment)]);
    }
    if i32::try_from(offset).is_err() {
        out.report(&rules::CFA_RANGE, place, [offset]);
    }
    let least = abi.cfa_offset_at_entry();
    if from_sp && offset < least {
        let values = [Value::Signed(offset), Value::Text(abi.name()), Value::Number(least)];
        out.report(&rules::CFA_BELOW_SP, place, values);
    }
}

/// Where RA and FP are on the stack, as offsets from the CFA.
pub(super) struct Slots {
    pub(super) ra: Option<i64>,
    pub(super) fp: Option<i64>,
    /// The CFA as an offset from SP, if it is one.
    pub(super) cfa_from_sp: Option<i64>,
}

impl Slots {
    pub(super) fn check(&self, abi: Abi, place: Place, out: &mut Reporter<'_>) {
        for (name, slot) in [("RA", self.ra), ("FP", self.fp)] {
            let Some(offset) = slot else { continue };
            if offset >= 0 {
                out.report(&rules::SLOT_ABOVE_CFA, place, [Value::Text(name), Value::Number(offset)]);
            }
            if offset % WORD != 0 {
                out.report(&rules::SLOT_ALIGNMENT, place, [Value::Text(name), Value::Signed(offset)]);
            }
            if let Some(from_sp) = self.cfa_from_sp.map(|cfa| cfa + offset).filter(|from_sp| *from_sp < 0) {
                out.report(&rules::SLOT_BELOW_SP, place, [Value::Text(name), Value::Signed(from_sp)]);
            }
        }
        let ra = self.ra.or(abi.fixed_ra_offset().map(i64::from));
        if let (Some(ra), Some(fp)) = (ra, self.fp)
            && (ra - fp).abs() < 8
        {
            out.report(&rules::SLOTS_OVERLAP, place, [ra, fp].map(Value::Signed));
        }
    }
}
