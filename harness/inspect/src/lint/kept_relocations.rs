//! The relocations of `.sframe` that a linked file still has, as `--emit-relocs` leaves them for programs that rewrite it.

use std::collections::BTreeMap;

use object::read::elf::FileHeader;
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionIndex};
use sframe_engine::{Fde, Section};

use sframe_elf::abi::is_nothing;
use sframe_elf::bounded::File;
use sframe_elf::merge_faults::start_field;
use sframe_elf::object_file::is_linkage_table;
use sframe_kit::ranges::{merge, position};

/// How these relocations differ from the starts of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptRelocations {
    /// Those elsewhere than at the start of an FDE, or at one that an earlier one is at.
    pub(crate) misplaced: usize,
    /// Those that lead to another place than the start that they are at.
    pub(crate) wrong: usize,
    /// Starts without one, except those of code that the linker has made.
    pub(crate) unrelocated: usize,
    /// Where the first one is that is misplaced or wrong, in bytes from the start of the section; else the start without.
    pub(crate) first: u64,
}

/// Compares the relocations of a linked file's section with its FDEs. Returns `None` if there are none, or they agree.
pub(crate) fn kept_relocations(
    elf: &File<'_>,
    section: &Section<'_>,
    index: SectionIndex,
) -> Option<KeptRelocations> {
    let of_file = elf.section_by_index(index).ok()?;
    let machine = elf.elf_header().e_machine(elf.endian());
    let field = |fde: &Fde| start_field(section, fde.index);
    let mut starts: BTreeMap<u64, u64> =
        section.fdes().flatten().map(|fde| (field(&fde), fde.start)).collect();
    let (mut relocations, mut misplaced, mut wrong) = (0_usize, Vec::new(), Vec::new());
    for (address, relocation) in of_file.relocations() {
        // Linkers leave it where they have discarded the code.
        if matches!(relocation.flags(), RelocationFlags::Elf { r_type } if is_nothing(machine, r_type)) {
            continue;
        }
        relocations += 1;
        let offset = address.wrapping_sub(section.address());
        let target = match relocation.target() {
            RelocationTarget::Symbol(symbol) => elf.symbol_by_index(symbol).ok(),
            _ => None,
        };
        let target = target.map(|symbol| symbol.address().wrapping_add_signed(relocation.addend()));
        match starts.remove(&offset) {
            None => misplaced.push(offset),
            Some(start) if target != Some(start) => wrong.push(offset),
            Some(_) => {}
        }
    }
    if relocations == 0 {
        return None;
    }
    let tables = elf.sections().filter(|section| section.name().is_ok_and(is_linkage_table));
    let tables = tables.map(|table| table.address()..table.address().saturating_add(table.size()));
    let tables = merge(tables.collect());
    starts.retain(|_, start| position(&tables, *start).is_none());
    let first = misplaced.iter().chain(&wrong).min().or(starts.keys().next());
    Some(KeptRelocations {
        misplaced: misplaced.len(),
        wrong: wrong.len(),
        unrelocated: starts.len(),
        first: *first?,
    })
}
