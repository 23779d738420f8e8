//! The content of rows (3.1): where CFA, RA and FP are.

use crate::abi::Abi;
use crate::constants::{SFRAME_FRE_RA_OFFSET_INVALID, SFRAME_S390X_SP_VAL_OFFSET};
use crate::lint::catalogue as rules;
use crate::lint::finding::Value;
use crate::lint::fre::Fre;
use crate::lint::layout::Layout;
use crate::lint::reporter::{Place, Reporter};
use crate::read::Version;

/// Checks the data words of a row of a default FDE. There is at least one, or
/// the version is 1.
pub(super) fn check_default(row: &Fre, layout: &Layout<'_>, abi: Abi, place: Place, out: &mut Reporter<'_>) {
    let (cfa, ra, fp) = match (abi, row.words()) {
        (Abi::Amd64, [cfa]) => (*cfa, None, None),
        (Abi::Amd64, [cfa, fp]) => (*cfa, None, Some(*fp)),
        (Abi::Aarch64 | Abi::Aarch64Be | Abi::S390x, words @ ([_] | [_, _] | [_, _, _])) => {
            (words[0], words.get(1).copied(), words.get(2).copied())
        }
        (_, words) => {
            let count = Value::Number(words.len() as i64);
            out.report(&rules::WORD_COUNT, place, [count, Value::Text(abi.name())]);
            return;
        }
    };
    if layout.is_aarch64() && ra.is_some() && fp.is_none() {
        out.say(&rules::TWO_WORDS, place);
    }
    let cfa = abi.decode_cfa_offset(cfa);
    check_cfa(abi, row.is_sp_based(), cfa, place, out);

    // On s390x the word for RA may be padding.
    let padding = abi == Abi::S390x && ra == Some(SFRAME_FRE_RA_OFFSET_INVALID);
    if padding {
        match fp {
            Some(_) => out.say(&rules::RA_PADDING, place),
            None => out.report(&rules::NEEDLESS_PADDING, place, ["RA"]),
        }
    }
    let mut slot = |name: &'static str, word: Option<i32>| {
        let word = word?;
        // Version 2 of s390x marks registers by the lowest bit (errata 1).
        if abi == Abi::S390x && layout.version == Version::V2 && word & 1 != 0 {
            let register = word >> 1;
            let values = [Value::Text(name), Value::Number(register.into())];
            let known = u32::try_from(register).is_ok_and(|register| has_register(abi, register));
            out.report(if known { &rules::TOPMOST_ONLY } else { &rules::S390X_REGISTER }, place, values);
            return None;
        }
        Some(i64::from(word))
    };
    let ra = if padding { None } else { slot("RA", ra) };
    let fp = slot("FP", fp);
    Slots { ra, fp, cfa_from_sp: row.is_sp_based().then_some(cfa) }.check(abi, place, out);
}

/// The CFA as an offset from SP or FP.
pub(super) fn check_cfa(abi: Abi, from_sp: bool, offset: i64, place: Place, out: &mut Reporter<'_>) {
    if i32::try_from(offset).is_err() {
        out.report(&rules::CFA_RANGE, place, [offset]);
    }
    // The distance between SP and CFA when a function is entered.
    let least = match abi {
        Abi::Amd64 => 8,
        Abi::Aarch64 | Abi::Aarch64Be => 0,
        Abi::S390x => -SFRAME_S390X_SP_VAL_OFFSET,
    };
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
            if abi == Abi::S390x && offset % 8 != 0 {
                out.report(&rules::SLOT_ALIGNMENT, place, [Value::Text(name), Value::Signed(offset)]);
            }
            if let Some(from_sp) = self.cfa_from_sp.map(|cfa| cfa + offset).filter(|from_sp| *from_sp < 0) {
                out.report(&rules::SLOT_BELOW_SP, place, [Value::Text(name), Value::Signed(from_sp)]);
            }
        }
        let ra = self.ra.or((abi == Abi::Amd64).then_some(-8));
        if let (Some(ra), Some(fp)) = (ra, self.fp)
            && (ra - fp).abs() < 8
        {
            out.report(&rules::SLOTS_OVERLAP, place, [ra, fp].map(Value::Signed));
        }
    }
}

/// Returns whether the ABI has a register with this DWARF number.
pub(super) const fn has_register(abi: Abi, number: u32) -> bool {
    match abi {
        // General, RA, xmm0-15, st and mm; r16-r31 of APX.
        Abi::Amd64 => number <= 48 || (number >= 130 && number <= 145),
        // General with sp; v0-v31.
        Abi::Aarch64 | Abi::Aarch64Be => number <= 31 || (number >= 64 && number <= 95),
        // General and floating point.
        Abi::S390x => number <= 31,
    }
}
