//! Rows of flex FDEs (3.2): pairs of control word and offset.

use crate::abi::{Abi, DwarfRegister};
use crate::lint::catalogue as rules;
use crate::lint::finding::Value;
use crate::lint::fre::Fre;
use crate::lint::layout::Layout;
use crate::lint::recovery::{Slots, check_cfa};
use crate::lint::reporter::{Place, Reporter};

/// A pair of data words.
#[derive(Clone, Copy)]
struct Pair {
    control: u32,
    offset: i64,
}

impl Pair {
    const fn register(self) -> Option<u32> {
        if self.control & 1 != 0 { Some(self.control >> 3) } else { None }
    }

    const fn dereferences(self) -> bool {
        self.control & 2 != 0
    }

    /// Where on the stack the value is saved, as an offset from the CFA.
    fn slot(self) -> Option<i64> {
        (self.register().is_none() && self.dereferences()).then_some(self.offset)
    }
}

/// The meaning of the data words.
struct Pairs<'r> {
    row: &'r Fre,
    next: usize,
}

/// What is in the place of a pair.
#[derive(Clone, Copy)]
enum Entity {
    /// The words end before it.
    Absent,
    Padding,
    /// A control word without its offset.
    Cut,
    Pair(Pair),
}

impl Pairs<'_> {
    fn take(&mut self) -> Entity {
        let mut words = self.row.words().iter().skip(self.next);
        let Some(control) = words.next() else { return Entity::Absent };
        let control = self.row.control(*control);
        self.next += 1;
        if control == 0 {
            return Entity::Padding;
        }
        let Some(offset) = words.next() else { return Entity::Cut };
        self.next += 1;
        Entity::Pair(Pair { control, offset: i64::from(*offset) })
    }
}

/// Checks the data words of a row, of which there is at least one. Returns whether a default
/// row could say the same.
pub(super) fn check(
    row: &Fre,
    layout: &Layout<'_>,
    abi: Option<Abi>,
    place: Place,
    out: &mut Reporter<'_>,
) -> bool {
    let mut pairs = Pairs { row, next: 0 };
    let [cfa, ra, fp] = [pairs.take(), pairs.take(), pairs.take()];
    match cfa {
        Entity::Pair(pair) if pair.register().is_some() => {}
        Entity::Absent | Entity::Cut => {}
        Entity::Padding => out.report(&rules::FLEX_CFA, place, [Value::Hex(0)]),
        Entity::Pair(pair) => out.report(&rules::FLEX_CFA, place, [Value::Hex(pair.control.into())]),
    }
    let cut = [cfa, ra, fp].iter().any(|entity| matches!(entity, Entity::Cut));
    if cut || pairs.next < row.words().len() {
        out.report(&rules::FLEX_WORDS, place, [Value::Number(row.words().len() as i64)]);
    }
    if let (Entity::Padding, Entity::Absent) | (_, Entity::Padding) = (ra, fp) {
        let name = if matches!(fp, Entity::Padding) { "FP" } else { "RA" };
        out.report(&rules::FLEX_PADDING, place, [name]);
    }
    let Some(abi) = abi else { return false };
    if let (Entity::Padding, Entity::Pair(_), true) = (ra, fp, abi.ra().is_some()) {
        out.say(&rules::RA_PADDING, place);
    }
    for (name, entity) in [("CFA", cfa), ("RA", ra), ("FP", fp)] {
        if let Entity::Pair(pair) = entity {
            check_pair(name, pair, abi, place, out);
        }
    }
    let pair = |entity| if let Entity::Pair(pair) = entity { Some(pair) } else { None };
    check_rules([pair(cfa), pair(ra), pair(fp)], abi, place, out);
    could_be_default([pair(cfa), pair(ra), pair(fp)], layout, abi)
}

fn check_pair(name: &'static str, pair: Pair, abi: Abi, place: Place, out: &mut Reporter<'_>) {
    if pair.control & 4 != 0 {
        let values = [Value::Hex(pair.control.into()), Value::Text(name)];
        out.report(&rules::FLEX_UNUSED, place, values);
    }
    match pair.register() {
        Some(register) if !abi.has_register(DwarfRegister(register)) => {
            let values = [Value::Text(name), Value::from(register), Value::Text(abi.name())];
            out.report(&rules::FLEX_REGISTER, place, values);
        }
        Some(register) if register != abi.sp().0 && register != abi.fp().0 => {
            out.report(&rules::TOPMOST_ONLY, place, [Value::Text(name), Value::from(register)]);
        }
        None if pair.control >> 3 != 0 && name != "CFA" => {
            let values = [Value::Text(name), Value::from(pair.control >> 3)];
            out.report(&rules::FLEX_IDLE_REGISTER, place, values);
        }
        _ => {}
    }
}

fn check_rules([cfa, ra, fp]: [Option<Pair>; 3], abi: Abi, place: Place, out: &mut Reporter<'_>) {
    // The CFA as an offset from SP, if it is one.
    let mut cfa_from_sp = None;
    if let Some(cfa) = cfa {
        // Stored adjusted and scaled on s390x, whatever the base register.
        let offset = i32::try_from(cfa.offset).map_or(cfa.offset, |word| abi.decode_cfa_offset(word));
        if cfa.register() == Some(abi.sp().0) && !cfa.dereferences() {
            cfa_from_sp = Some(offset);
        }
        let register = cfa.register().filter(|_| !cfa.dereferences());
        check_cfa(abi, register.map(DwarfRegister), offset, place, out);
    }
    if let Some(ra) = ra.filter(|ra| !ra.dereferences()) {
        let base = match ra.register() {
            None => Some("CFA"),
            Some(register) if register == abi.sp().0 => Some("SP"),
            Some(_) => None,
        };
        if let Some(base) = base {
            out.report(&rules::FLEX_RA_ADDRESS, place, [Value::Text(base), Value::Signed(ra.offset)]);
        }
    }
    let slots = Slots { ra: ra.and_then(Pair::slot), fp: fp.and_then(Pair::slot), cfa_from_sp };
    slots.check(abi, place, out);
}

fn could_be_default([cfa, ra, fp]: [Option<Pair>; 3], layout: &Layout<'_>, abi: Abi) -> bool {
    let cfa = cfa.is_some_and(|cfa| {
        let register = cfa.register();
        !cfa.dereferences() && (register == Some(abi.sp().0) || register == Some(abi.fp().0))
    });
    let ra_slot = ra.map(Pair::slot);
    let ra = match (abi.fixed_ra_offset(), ra_slot) {
        (_, None) => true,
        (Some(fixed), Some(slot)) => slot == Some(fixed.into()),
        // 0 is padding in a default row.
        (None, Some(slot)) => slot.is_some_and(|slot| slot != 0),
    };
    let fp = fp.is_none_or(|fp| fp.slot().is_some())
        && (!layout.signs_return_addresses() || fp.is_some() == ra_slot.is_some());
    cfa && ra && fp
}
