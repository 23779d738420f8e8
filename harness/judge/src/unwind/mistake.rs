//! Usual mistakes of unwinders.

use sframe_engine::{
    Abi, Base, CfaOffsetScaling, Found, InstructionPointer, LookupAddress, Pc, Recovery, RecoveryRule,
    ReturnAddress, Section, StepError,
};

use crate::target::sections::Sections;

/// The size of a word, in bytes.
const WORD: i64 = 8;

/// A mistake, from the most particular to the most general.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mistake {
    /// The rules of a caller are those of its return address, not of the byte
    /// before it, which belongs to the call.
    LookUpAtReturnAddress,
    /// The rules of a frame that has made no call are those of the byte before
    /// its PC.
    LookUpBeforePc,
    /// What a signal has interrupted is looked up as the caller of a call is (2.3.3).
    SignalCallerAsReturn,
    /// A function without rows, which is the outermost frame (2.3.3.2), has those of the next one.
    RowsOfTheNext,
    /// The CFA's offset is used as it is stored, where the ABI scales it (3.1.3).
    CfaOffsetAsStored,
    /// The address in a rule is taken for the value that lies there (4.1).
    NotLoaded,
    /// FP is taken for SP in the CFA's rule, or SP for FP (2.4.1).
    OtherCfaBase,
    /// RA is loaded from FP's place, and FP from RA's.
    SwappedPlaces,
    /// The caller is given the frame's own FP, which the row says is saved.
    OwnFp,
    /// The authentication code is left in the return address.
    CodeNotRemoved,
    /// The rules are those of the row before.
    RowBefore,
    /// The rules are those of the row after.
    RowAfter,
    /// The CFA is a word too low.
    CfaTooLow,
    /// The CFA is a word too high.
    CfaTooHigh,
    /// RA or FP is loaded from the word below its place.
    PlaceTooLow,
    /// RA or FP is loaded from the word above its place.
    PlaceTooHigh,
}

impl Mistake {
    /// All of them, the most particular first.
    pub const ALL: [Self; 16] = [
        Self::LookUpAtReturnAddress,
        Self::LookUpBeforePc,
        Self::SignalCallerAsReturn,
        Self::RowsOfTheNext,
        Self::CfaOffsetAsStored,
        Self::NotLoaded,
        Self::OtherCfaBase,
        Self::SwappedPlaces,
        Self::OwnFp,
        Self::CodeNotRemoved,
        Self::RowBefore,
        Self::RowAfter,
        Self::CfaTooLow,
        Self::CfaTooHigh,
        Self::PlaceTooLow,
        Self::PlaceTooHigh,
    ];

    /// The mistake, and what would be right.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::LookUpAtReturnAddress => {
                "this is the answer of a look-up at RA; it agrees if RA - 1 is looked up"
            }
            Self::LookUpBeforePc => {
                "this is the answer of a look-up at PC - 1; it agrees if PC is looked up, since the frame has \
                 made no call"
            }
            Self::SignalCallerAsReturn => {
                "this is the answer of a look-up of what a signal has interrupted at PC - 1; it agrees if PC is looked \
                 up, since nothing was called"
            }
            Self::RowsOfTheNext => {
                "this is the answer of the next function's first row; it agrees if a function without rows is the \
                 outermost frame"
            }
            Self::CfaOffsetAsStored => {
                "this is the answer of the CFA offset as it is stored; it agrees if the ABI's scaling is undone"
            }
            Self::NotLoaded => {
                "this is the address that the rule computes; it agrees if the word there is loaded"
            }
            Self::OtherCfaBase => {
                "this is the answer of the other base register; it agrees if the CFA's base is taken from the row"
            }
            Self::SwappedPlaces => {
                "this is the answer of the offsets of RA and FP in the wrong order; it agrees if they are swapped"
            }
            Self::OwnFp => "this is the frame's own FP; it agrees if FP is restored as the row says",
            Self::CodeNotRemoved => {
                "this is RA with its authentication code; it agrees if the code is removed"
            }
            Self::RowBefore => {
                "this is the answer of the row before; it agrees if a row includes its first address"
            }
            Self::RowAfter => {
                "this is the answer of the row after; it agrees if the last row is taken that starts at or \
                 before the address"
            }
            Self::CfaTooLow => "the CFA is a word too low",
            Self::CfaTooHigh => "the CFA is a word too high",
            Self::PlaceTooLow => "this is the word below the right one",
            Self::PlaceTooHigh => "this is the word above the right one",
        }
    }

    /// The rules with the mistake. `None` where nothing can be mistaken so.
    #[must_use]
    pub fn rules(self, sections: &Sections<'_>, pc: Pc) -> Option<Result<(Abi, Found), StepError>> {
        let right = LookupAddress::from(pc);
        match (self, pc) {
            (Self::LookUpAtReturnAddress, Pc::Return(ReturnAddress(at))) => {
                return Some(sections.rules(InstructionPointer(at)));
            }
            (Self::LookUpBeforePc, Pc::Instruction(InstructionPointer(at))) => {
                return Some(sections.rules(ReturnAddress(at)));
            }
            (Self::LookUpAtReturnAddress | Self::LookUpBeforePc, _) => return None,
            _ => {}
        }
        let (abi, mut found) = sections.rules(right).ok()?;
        if self == Self::RowsOfTheNext {
            let section = sections.at(right).filter(|_| found.row_index.is_none())?;
            let next = usize::try_from(found.fde.index).ok()? + 1;
            let row = section.rows(&section.fdes().nth(next)?.ok()?).next()?.ok()?;
            return Some(Ok((abi, Found { row_index: Some(0), row, ..found })));
        }
        let row = &mut found.row;
        let cfa = row.cfa.as_mut()?;
        match self {
            Self::LookUpAtReturnAddress | Self::LookUpBeforePc | Self::RowsOfTheNext => return None,
            // The caller of such a frame was interrupted.
            Self::SignalCallerAsReturn if found.fde.signal => found.fde.signal = false,
            Self::SignalCallerAsReturn => return None,
            Self::CfaOffsetAsStored => {
                let CfaOffsetScaling { adjustment, factor } = abi.cfa_offset_scaling()?;
                cfa.offset = (cfa.offset + adjustment) / factor;
            }
            Self::OtherCfaBase => {
                cfa.base = match cfa.base {
                    Base::Sp => Base::Fp,
                    Base::Fp => Base::Sp,
                    Base::Cfa | Base::Register(_) => return None,
                };
            }
            Self::CfaTooLow => cfa.offset -= WORD,
            Self::CfaTooHigh => cfa.offset += WORD,
            Self::SwappedPlaces => {
                let (Recovery::Rule(ra), Recovery::Rule(fp)) = (&mut row.ra, &mut row.fp) else {
                    return None;
                };
                std::mem::swap(ra, fp);
            }
            Self::OwnFp => row.fp = Recovery::Unchanged,
            Self::CodeNotRemoved => row.mangled_ra = false,
            Self::NotLoaded => {
                cfa.dereference = false;
                places(&mut row.ra, &mut row.fp).for_each(|rule| rule.dereference = false);
            }
            Self::PlaceTooLow => places(&mut row.ra, &mut row.fp).for_each(|rule| rule.offset -= WORD),
            Self::PlaceTooHigh => places(&mut row.ra, &mut row.fp).for_each(|rule| rule.offset += WORD),
            Self::RowBefore => found = neighbour(sections.at(right)?, &found, -1)?,
            Self::RowAfter => found = neighbour(sections.at(right)?, &found, 1)?,
        }
        Some(Ok((abi, found)))
    }
}

/// The rules that load RA and FP from memory.
fn places<'r>(ra: &'r mut Recovery, fp: &'r mut Recovery) -> impl Iterator<Item = &'r mut RecoveryRule> {
    [ra, fp].into_iter().filter_map(|recovery| match recovery {
        Recovery::Rule(rule) if rule.dereference => Some(rule),
        Recovery::Rule(_) | Recovery::Unchanged | Recovery::Undefined => None,
    })
}

/// The row of the same function at a distance.
fn neighbour(section: &Section<'_>, found: &Found, distance: i32) -> Option<Found> {
    let index = found.row_index?.checked_add_signed(distance)?;
    let row = section.rows(&found.fde).nth(usize::try_from(index).ok()?)?.ok()?;
    Some(Found { row_index: Some(index), row, ..*found })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::target::Target;

    /// The rules with each mistake, at an instruction whose rules are
    /// `CFA = SP+16, RA = *(CFA-8), FP = *(CFA-16)`.
    #[test]
    fn each_mistake_changes_the_rules_as_described() {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47/amd64/recursion.O0");
        let bytes = std::fs::read(file).expect("a build");
        let target = Target::open(&bytes).expect("a target");
        let descend = target.addresses_of("descend")[0].0;
        let at = |offset: u64| Pc::Instruction(InstructionPointer(descend + offset));
        let rules = |mistake: Mistake, pc: Pc| {
            let found = mistake.rules(&target.sections, pc)?;
            Some(found.map_or_else(|error| error.to_string(), |(_, found)| found.row.to_string()))
        };
        let right = "CFA = SP+16, RA = *(CFA-8), FP = *(CFA-16)";
        assert_eq!(target.sections.rules(at(1)).expect("rules").1.row.to_string(), right);
        let expected = [
            (Mistake::LookUpBeforePc, "CFA = SP+8, RA = *(CFA-8), FP unchanged"),
            (Mistake::NotLoaded, "CFA = SP+16, RA = CFA-8, FP = CFA-16"),
            (Mistake::OtherCfaBase, "CFA = FP+16, RA = *(CFA-8), FP = *(CFA-16)"),
            (Mistake::SwappedPlaces, "CFA = SP+16, RA = *(CFA-16), FP = *(CFA-8)"),
            (Mistake::OwnFp, "CFA = SP+16, RA = *(CFA-8), FP unchanged"),
            (Mistake::CodeNotRemoved, right),
            (Mistake::RowBefore, "CFA = SP+8, RA = *(CFA-8), FP unchanged"),
            (Mistake::RowAfter, "CFA = FP+16, RA = *(CFA-8), FP = *(CFA-16)"),
            (Mistake::CfaTooLow, "CFA = SP+8, RA = *(CFA-8), FP = *(CFA-16)"),
            (Mistake::CfaTooHigh, "CFA = SP+24, RA = *(CFA-8), FP = *(CFA-16)"),
            (Mistake::PlaceTooLow, "CFA = SP+16, RA = *(CFA-16), FP = *(CFA-24)"),
            (Mistake::PlaceTooHigh, "CFA = SP+16, RA = *(CFA), FP = *(CFA-8)"),
        ];
        for (mistake, row) in expected {
            assert_eq!(rules(mistake, at(1)).as_deref(), Some(row), "{mistake:?}");
        }
        // Nothing is scaled on amd64, nothing has been called, and no row is before the first.
        assert_eq!(rules(Mistake::CfaOffsetAsStored, at(1)), None);
        assert_eq!(rules(Mistake::LookUpAtReturnAddress, at(1)), None);
        assert_eq!(rules(Mistake::RowBefore, at(0)), None);
        let returned = Pc::Return(ReturnAddress(descend + 1));
        let at_once = Some("CFA = SP+16, RA = *(CFA-8), FP = *(CFA-16)");
        assert_eq!(rules(Mistake::LookUpAtReturnAddress, returned).as_deref(), at_once);
        assert_eq!(rules(Mistake::LookUpBeforePc, returned), None);
    }
}
