//! The hazards of the code that a program has executed.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use sframe_elf::cfi::CallFrameInfo;
use sframe_engine::InstructionPointer;
use sframe_inspect::hazard::{Hazard, HazardKind, Tally, list, of_row};

use crate::target::{Linked, Loaded, Module, Target};

/// Whether call frame information has a caller at an address.
fn has_caller(module: &Module<'_>, address: Linked) -> bool {
    let row = |cfi: &CallFrameInfo| {
        let row = cfi.row_at(address.0).ok()??;
        Some(cfi.rules(&row, row.range.start).has_caller())
    };
    module.cfi().and_then(row).unwrap_or(false)
}

/// Returns the hazards of executed code. `instructions` has their loaded addresses
/// and counts, and `unknown_fp` those at which it is not known where FP's value comes from.
pub(crate) fn executed(
    target: &Target<'_>,
    instructions: &BTreeMap<u64, u64>,
    unknown_fp: &FxHashSet<u64>,
) -> Vec<Hazard> {
    let mut found = Tally::new();
    for module in &target.modules {
        for (&pc, &count) in instructions.range(module.image.range()) {
            if count == 0 {
                continue;
            }
            let pc = InstructionPointer(pc);
            let look = module.section.as_ref().map(|section| (section, section.lookup(pc)));
            let (abi, row, start) = match look {
                Some((section, Ok(Some(found)))) => (section.header().abi, found.row, found.fde.start),
                // If the section can't be read, there are findings.
                Some((_, Err(_))) => continue,
                _ => {
                    if has_caller(module, module.linked(pc)) {
                        let place = target.place(pc);
                        let function = pc.0.wrapping_sub(place.offset);
                        found.entry((function, None, HazardKind::EndsEarly)).or_default().1 += count;
                    }
                    continue;
                }
            };
            let ends_early = row.is_outermost() && has_caller(module, module.linked(pc));
            let is_unknown = unknown_fp.contains(&pc.0);
            let of_run = [(ends_early, HazardKind::EndsEarly), (is_unknown, HazardKind::UnknownFp)];
            let of_run = of_run.into_iter().filter_map(|(is_there, kind)| is_there.then_some(kind));
            for kind in of_row(abi, &row).chain(of_run) {
                let hazard = found.entry((start, Some(row.start), kind)).or_default();
                *hazard = (Some(row), hazard.1 + count);
            }
        }
    }
    let mut hazards = list(&found, |start| target.frame_name(Loaded(start)));
    for (hazard, (start, ..)) in hazards.iter_mut().zip(found.keys()) {
        hazard.image = target.module_at(Loaded(*start)).and_then(|module| module.name.clone());
    }
    hazards
}
