//! Hazards: rows that are right by luck, or cause trouble in the field. They are not findings. But for
//! [`HazardKind::UnknownFp`], which only a run shows, they follow from the rules alone.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use sframe_engine::{Abi, Base, Recovery, RecoveryRule, Row};

use sframe_kit::FindingRow;
use sframe_kit::text::counted;

/// The kinds of hazards, by their stable IDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HazardKind {
    /// The return address or FP is read below SP, beyond the area that the ABI
    /// protects from signal handlers: 128 bytes on amd64, none elsewhere.
    BelowRedZone,
    /// The return address or FP is read below SP, within the red zone: the slot has been
    /// popped, and keeps the value until the function stores something else there.
    PoppedSlot,
    /// A rule names a register other than SP and FP. Only these two are known for
    /// callers, and for code that a signal has interrupted.
    OtherRegister,
    /// The return address is in its register (aarch64, s390x). A walk ends here if
    /// a signal has interrupted the frame; no row can prevent that.
    LinkRegister,
    /// The trace ends here although call frame information has a caller: there is
    /// no FDE or row, or the row marks an outermost frame.
    EndsEarly,
    /// FP is where the rule has it, and a run does not show whether it was saved there, or left
    /// there, or is equal by chance: an instruction of which that is not known has put it there.
    UnknownFp,
}

impl HazardKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::BelowRedZone,
        Self::PoppedSlot,
        Self::OtherRegister,
        Self::LinkRegister,
        Self::EndsEarly,
        Self::UnknownFp,
    ];

    /// Returns what it means, as a clause.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::BelowRedZone => "a rule reads below SP, where signal handlers write",
            Self::PoppedSlot => "a rule reads a slot that has already been popped",
            Self::OtherRegister => "a rule needs a register that is known in the topmost frame only",
            Self::LinkRegister => "RA is in its register, and a walk through a signal's frame ends here",
            Self::EndsEarly => "the trace ends where CFI has a caller",
            Self::UnknownFp => "FP is there, and it is not known whether it was saved or is equal by chance",
        }
    }
}

impl fmt::Display for HazardKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BelowRedZone => "below-red-zone",
            Self::PoppedSlot => "popped-slot",
            Self::OtherRegister => "other-register",
            Self::LinkRegister => "link-register",
            Self::EndsEarly => "ends-early",
            Self::UnknownFp => "unknown-fp",
        })
    }
}

/// A hazard of a row, or of code without one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hazard {
    /// The kind.
    pub kind: HazardKind,
    /// The library that it is in; `None` for the file itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The function, or its address if no symbol names it.
    pub function: String,
    /// The row, if any.
    pub row: Option<FindingRow>,
    /// The number of instructions affected: of the row, or of those executed.
    pub instructions: u64,
    /// The whole hazard in a sentence.
    pub message: String,
}

impl Hazard {
    fn new(kind: HazardKind, function: String, row: Option<&Row>, instructions: u64) -> Self {
        let row = row.map(FindingRow::new);
        let place = row.as_ref().map(|row| format!("row +{}: {}", row.start, row.rules));
        let place = place.unwrap_or_else(|| "no row".to_owned());
        let instructions_text = counted(instructions, "instruction");
        let message = format!("{function}: {}; {place} ({instructions_text})", kind.text());
        Self { kind, image: None, function, row, instructions, message }
    }
}

/// The number of instructions affected, and the row, by the function's address, the
/// row's start and the kind.
pub type Tally = BTreeMap<(u64, Option<u32>, HazardKind), (Option<Row>, u64)>;

/// Returns the hazards of a tally, in its order. `name` names functions.
pub fn list(tally: &Tally, name: impl Fn(u64) -> String) -> Vec<Hazard> {
    let rows = tally.iter().map(|(key, (row, count))| (key, row.as_ref(), *count));
    rows.map(|((start, _, kind), row, count)| Hazard::new(*kind, name(*start), row, count)).collect()
}

/// Returns the number of rows and of instructions for each kind.
pub fn totals(hazards: &[Hazard]) -> impl Iterator<Item = (HazardKind, usize, u64)> {
    HazardKind::ALL.into_iter().filter_map(|kind| {
        let of_kind = hazards.iter().filter(|hazard| hazard.kind == kind);
        let rows = of_kind.clone().count();
        (rows > 0).then(|| (kind, rows, of_kind.map(|hazard| hazard.instructions).sum()))
    })
}

/// Returns the hazards of a row's own rules.
pub fn of_row(abi: Abi, row: &Row) -> impl Iterator<Item = HazardKind> {
    let recovered = [row.ra, row.fp].into_iter().filter_map(|recovery| match recovery {
        Recovery::Rule(rule) => Some(rule),
        Recovery::Unchanged | Recovery::Undefined => None,
    });
    let cfa = row.cfa;
    let rules = recovered.chain(cfa);
    let lowest = rules.clone().filter_map(|rule| below_sp(&rule, cfa)).min().unwrap_or(0);
    let needs_register = rules.clone().any(|rule| matches!(rule.base, Base::Register(_)));
    let in_link_register = row.ra == Recovery::Unchanged && abi.ra().is_some();
    [
        (lowest < -abi.red_zone(), HazardKind::BelowRedZone),
        ((-abi.red_zone()..0).contains(&lowest), HazardKind::PoppedSlot),
        (needs_register, HazardKind::OtherRegister),
        (in_link_register, HazardKind::LinkRegister),
    ]
    .into_iter()
    .filter_map(|(is_there, kind)| is_there.then_some(kind))
}

/// Returns where a rule reads, in bytes from SP, if that is below SP.
fn below_sp(rule: &RecoveryRule, cfa: Option<RecoveryRule>) -> Option<i64> {
    let from_sp = match (rule.base, cfa) {
        (Base::Sp, _) => rule.offset,
        (Base::Cfa, Some(RecoveryRule { base: Base::Sp, offset, dereference: false })) => {
            rule.offset.wrapping_add(offset)
        }
        _ => return None,
    };
    (rule.dereference && from_sp < 0).then_some(from_sp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cfa: (Base, i64), ra: Recovery, fp: Recovery) -> Row {
        let cfa = Some(RecoveryRule { base: cfa.0, offset: cfa.1, dereference: false });
        Row { start: 0, end: 8, cfa, ra, fp, mangled_ra: false }
    }

    fn slot(offset: i64) -> Recovery {
        Recovery::Rule(RecoveryRule { base: Base::Cfa, offset, dereference: true })
    }

    fn kinds(abi: Abi, row: &Row) -> Vec<HazardKind> {
        of_row(abi, row).collect()
    }

    #[test]
    fn a_slot_below_sp_is_popped_or_below_the_red_zone() {
        let sp = |offset| (Base::Sp, offset);
        let of = |abi, cfa, fp| kinds(abi, &row(sp(cfa), slot(-8), slot(fp)));
        assert_eq!(of(Abi::Amd64, 16, -16), []);
        assert_eq!(of(Abi::Amd64, 8, -16), [HazardKind::PoppedSlot]);
        assert_eq!(of(Abi::Amd64, 8, -136), [HazardKind::PoppedSlot]);
        assert_eq!(of(Abi::Amd64, 8, -144), [HazardKind::BelowRedZone]);
        assert_eq!(of(Abi::Aarch64, 16, -16), []);
        assert_eq!(of(Abi::Aarch64, 0, -16), [HazardKind::BelowRedZone]);
        // On s390x saved registers are above SP, in the caller's frame.
        assert_eq!(kinds(Abi::S390x, &row(sp(160), slot(-48), slot(-72))), []);
        // SP's position is unknown.
        assert_eq!(kinds(Abi::Amd64, &row((Base::Fp, 16), slot(-8), slot(-1000))), []);
    }

    #[test]
    fn registers_are_known_in_the_topmost_frame_only() {
        let other = (Base::Register(sframe_engine::DwarfRegister(10)), 0);
        assert_eq!(
            kinds(Abi::Amd64, &row(other, slot(-8), Recovery::Unchanged)),
            [HazardKind::OtherRegister]
        );
        let leaf = row((Base::Sp, 0), Recovery::Unchanged, Recovery::Unchanged);
        assert_eq!(kinds(Abi::Aarch64, &leaf), [HazardKind::LinkRegister]);
        let outermost = Row { cfa: None, ra: Recovery::Undefined, ..leaf };
        assert_eq!(kinds(Abi::Aarch64, &outermost), []);
    }
}
