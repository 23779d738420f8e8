//! Faults in a section as a whole, which no reader can undo. Of linkers: input sections that are concatenated instead
//! of merged, relocations of function starts that were written to other places, and starts that count from their own
//! fields where they should count from the section. Of programs that move code of linked files: a section that still
//! describes where it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use object::elf::ET_REL;
use object::read::elf::FileHeader;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex, SectionKind};
use sframe_engine::constants::V3_FDE_ATTR_SIZE;
use sframe_engine::{Fde, Section};

use crate::bounded::File;
use crate::call_frame_info::call_frame_info;
use crate::cfi::CallFrameInfo;
use crate::dynamic_relocations;
use crate::numbers::signed;
use crate::symbols::Symbols;
use sframe_kit::ranges::{merge, position};
use sframe_kit::text::counted;
use sframe_kit::{Blame, Confidence};

/// A merge fault, with all its consequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeFault {
    /// The kind of fault.
    pub kind: MergeFaultKind,
    /// The first evidence, in bytes from the start of the section.
    pub offset: u64,
    /// Code that has lost its rules because of it, sorted. Of a function of unknown
    /// size, only the start.
    pub lost: Vec<Range<u64>>,
    /// FDEs that differ from what their function's object file had, by index.
    pub spoilt: BTreeSet<u32>,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeFaultKind {
    /// Input sections follow one another, each with its header. Readers use the first.
    Concatenated {
        /// Sections after the first.
        sections: usize,
        /// FDEs in them.
        fdes: u64,
    },
    /// Relocations are not at the starts of FDEs.
    MisplacedRelocations {
        /// Those relocations.
        relocations: usize,
        /// FDEs whose start was not relocated.
        unrelocated: usize,
    },
    /// Starts count from their own fields, as relocations leave them, and not from the
    /// section's start, as the format has it before version 2 errata 1 (2.3.1).
    UnconvertedStarts {
        /// Those starts.
        starts: usize,
    },
    /// FDEs describe places where no function is any more.
    Stale {
        /// Those FDEs.
        fdes: usize,
        /// The program that has moved code in the file, and says so in it.
        rewriter: &'static str,
    },
}

impl fmt::Display for MergeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.offset;
        match self.kind {
            MergeFaultKind::Concatenated { sections, fdes } => write!(
                f,
                "the linker has concatenated input sections instead of merging them: {} from offset {offset:#x} \
                 on, whose {} no reader finds",
                counted(sections as u64, "section"),
                counted(fdes, "FDE"),
            ),
            MergeFaultKind::MisplacedRelocations { relocations, unrelocated } => write!(
                f,
                "the linker has put {} elsewhere than at the start of an FDE, the first at offset {offset:#x}; \
                 {} without one",
                counted(relocations as u64, "relocation"),
                counted(unrelocated as u64, "start"),
            ),
            MergeFaultKind::UnconvertedStarts { starts } => write!(
                f,
                "the linker has left {} of FDEs as relocations give them, the first at offset {offset:#x}: counted \
                 from their own fields, and not from the section's start",
                counted(starts as u64, "start"),
            ),
            MergeFaultKind::Stale { fdes, rewriter } => write!(
                f,
                "the section is stale: {} in the code from which {rewriter} has moved functions, the first at offset \
                 {offset:#x}, and none for what was moved",
                counted(fdes as u64, "FDE"),
            ),
        }
    }
}

impl MergeFault {
    /// Which component has caused it, and how certain that is.
    #[must_use]
    pub const fn blame(&self) -> (Blame, Confidence) {
        match self.kind {
            MergeFaultKind::Concatenated { .. }
            | MergeFaultKind::MisplacedRelocations { .. }
            | MergeFaultKind::UnconvertedStarts { .. } => (Blame::ProducerLinker, Confidence::High),
            MergeFaultKind::Stale { .. } => (Blame::Rewriter, Confidence::High),
        }
    }

    /// Returns why only that component can have caused it.
    pub const fn evidence(&self) -> &'static str {
        match self.kind {
            MergeFaultKind::Concatenated { .. } => {
                "assemblers write one header for the section of an object; only linkers put sections together"
            }
            MergeFaultKind::MisplacedRelocations { .. } => {
                "assemblers relocate the start of each FDE and nothing else; only linkers move relocations"
            }
            MergeFaultKind::UnconvertedStarts { .. } => {
                "counted from their own fields, they are the starts of functions; only linkers can make them count \
                 from the section's start"
            }
            MergeFaultKind::Stale { .. } => {
                "assemblers and linkers write FDEs for functions that are there; the file says what has moved them"
            }
        }
    }

    /// Whether the rules of an address were lost because of it.
    pub fn has_lost(&self, address: u64) -> bool {
        position(&self.lost, address).is_some()
    }
}

/// Returns the faults of a file's section as a whole. `index` is the section's
/// index in the file's table, if it has one.
pub fn merge_faults(
    elf: &File<'_>,
    section: &Section<'_>,
    index: Option<SectionIndex>,
    symbols: &Symbols,
) -> Vec<MergeFault> {
    let relocations = if elf.elf_header().e_type(elf.endian()) == ET_REL {
        index.and_then(|index| of_relocatable(elf, section, index))
    } else {
        let linked = of_dynamic(elf, section).or_else(|| of_linked(section, symbols));
        linked.or_else(|| unconverted(elf, section, symbols))
    };
    let is_unconverted = |fault: &MergeFault| matches!(fault.kind, MergeFaultKind::UnconvertedStarts { .. });
    let converted = !relocations.as_ref().is_some_and(is_unconverted);
    let faults: Vec<MergeFault> = concatenated(section, converted).into_iter().chain(relocations).collect();
    // They explain such starts as well.
    if faults.is_empty() { stale(elf, section, symbols).into_iter().collect() } else { faults }
}

/// The start of the names of sections with what was there before BOLT moved it.
pub const MOVED_BY_BOLT: &str = ".bolt.org";

/// Whether BOLT has rewritten the file, which it says in a note.
pub fn is_rewritten(elf: &File<'_>) -> bool {
    elf.section_by_name(".note.bolt_info").is_some()
}

/// Checks a linked file for FDEs of functions that were moved: there are functions without an FDE where the moved ones
/// are, and FDEs without a function where they were. The old code is still there, with call frame information.
fn stale(elf: &File<'_>, section: &Section<'_>, symbols: &Symbols) -> Option<MergeFault> {
    if !is_rewritten(elf) {
        return None;
    }
    // A stripped file does not say which functions were moved. Where none is described in the code that is used, all were.
    let is_stripped = elf.symbol_table().is_none();
    let code = |prefix: &str| {
        let named = |name: &str| name.starts_with(prefix);
        let sections = elf.sections().filter(|section| section.kind() == SectionKind::Text);
        let sections = sections.filter(|section| section.name().is_ok_and(named));
        merge(
            sections
                .map(|section| section.address()..section.address().saturating_add(section.size()))
                .collect(),
        )
    };
    let (before, now) = (code(MOVED_BY_BOLT), code(".text"));
    let fdes: Vec<Fde> = section.fdes().flatten().filter(|fde| fde.size > 0).collect();
    // What has been moved may keep a name for where it was.
    let functions: BTreeSet<u64> =
        symbols.functions().filter(|(_, name)| !name.contains(".org.")).map(|(address, _)| address).collect();
    let covered =
        merge(fdes.iter().map(|fde| fde.start..fde.start.saturating_add(fde.size.into())).collect());
    let is_left_out = |start: &u64| position(&now, *start).is_some() && position(&covered, *start).is_none();
    let is_all_old = || !now.is_empty() && !fdes.iter().any(|fde| position(&now, fde.start).is_some());
    if !(if is_stripped { is_all_old() } else { functions.iter().any(is_left_out) }) {
        return None;
    }
    let is_stale = |fde: &&Fde| !functions.contains(&fde.start) && position(&before, fde.start).is_some();
    Some(MergeFault {
        kind: MergeFaultKind::Stale { fdes: fdes.iter().filter(is_stale).count(), rewriter: "BOLT" },
        offset: start_field(section, fdes.iter().find(is_stale)?.index),
        lost: Vec::new(),
        // Their rows may be right for the old code.
        spoilt: BTreeSet::new(),
    })
}

/// Returns the section, and those that follow it in the same bytes.
fn all<'a>(section: &Section<'a>) -> impl Iterator<Item = Section<'a>> {
    std::iter::successors(Some(section.clone()), Section::following)
}

/// An FDE, and the section that it is in.
type Placed<'a> = (Section<'a>, Fde);

/// Returns the FDEs of a section, and of those that follow it in the same bytes.
fn all_fdes<'a>(section: &Section<'a>) -> impl Iterator<Item = Placed<'a>> {
    all(section).flat_map(|one| {
        let fdes: Vec<Fde> = one.fdes().flatten().collect();
        fdes.into_iter().map(move |fde| (one.clone(), fde))
    })
}

/// Returns the code of an FDE if its start counts from its own field.
fn from_field((section, fde): &Placed<'_>) -> Range<u64> {
    let start = fde.start.wrapping_add(start_field(section, fde.index));
    start..start.saturating_add(fde.size.into())
}

/// Checks for sections that follow the first one. `converted` says whether starts are as the format
/// has them.
fn concatenated(section: &Section<'_>, converted: bool) -> Option<MergeFault> {
    let following = || all(section).skip(1);
    let fdes = following().map(|section| u64::from(section.header().num_fdes)).sum();
    // Without FDEs, none is lost.
    let first = following().next().filter(|_| fdes > 0)?;
    let covered = |placed: Placed<'_>| {
        let (_, fde) = &placed;
        if converted { fde.start..fde.start.saturating_add(fde.size.into()) } else { from_field(&placed) }
    };
    let lost = all_fdes(section).filter(|(one, _)| one.address() != section.address()).map(covered);
    Some(MergeFault {
        kind: MergeFaultKind::Concatenated { sections: following().count(), fdes },
        offset: first.address().wrapping_sub(section.address()),
        lost: merge(lost.collect()),
        spoilt: BTreeSet::new(),
    })
}

/// Returns where the start of an FDE is stored, in bytes from the section's start.
pub fn start_field(section: &Section<'_>, index: u32) -> u64 {
    let header = section.header();
    let first = (header.end() as u64).saturating_add(header.fdeoff.into());
    first.saturating_add(u64::from(index).saturating_mul(header.version.fde_size() as u64))
}

/// A field that a linker relocates: the start address in an FDE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartField {
    /// The start of its section, in bytes from the start of the first one.
    pub section: u64,
    /// The FDE, if it is in the first section. Another fault covers the sections
    /// after it.
    fde: Option<u32>,
}

/// Returns the start fields of all FDEs, including those in sections that follow,
/// by position in bytes from the start of the first section.
pub fn start_fields(section: &Section<'_>) -> BTreeMap<u64, StartField> {
    let fields = all(section).flat_map(|one| {
        let base = one.address().wrapping_sub(section.address());
        let fdes = 0..one.header().num_fdes;
        fdes.map(move |fde| {
            let field = StartField { section: base, fde: (base == 0).then_some(fde) };
            (base.saturating_add(start_field(&one, fde)), field)
        })
    });
    fields.collect()
}

/// Checks a relocatable file for relocations that are not at the starts of FDEs.
/// Which functions they belong to is unknown; FDEs whose start is not relocated
/// have lost theirs.
fn of_relocatable(elf: &File<'_>, section: &Section<'_>, index: SectionIndex) -> Option<MergeFault> {
    let mut starts = start_fields(section);
    let mut misplaced: BTreeMap<u64, Option<u64>> = BTreeMap::new();
    for (offset, relocation) in elf.section_by_index(index).ok()?.relocations() {
        if starts.remove(&offset).is_some() {
            continue;
        }
        let target = match relocation.target() {
            RelocationTarget::Symbol(symbol) => elf.symbol_by_index(symbol).ok(),
            _ => None,
        };
        let target = target.map(|symbol| symbol.address().wrapping_add_signed(relocation.addend()));
        misplaced.insert(offset, target);
    }
    let spoilt: BTreeSet<u32> = starts.into_values().filter_map(|field| field.fde).collect();
    let kind =
        MergeFaultKind::MisplacedRelocations { relocations: misplaced.len(), unrelocated: spoilt.len() };
    let start = |target: &u64| *target..target.saturating_add(1);
    let lost = merge(misplaced.values().flatten().map(start).collect());
    Some(MergeFault { kind, offset: *misplaced.first_key_value()?.0, lost, spoilt })
}

/// Checks for relocations that a loader would apply to the section. A linked
/// section has none.
fn of_dynamic(elf: &File<'_>, section: &Section<'_>) -> Option<MergeFault> {
    let mut offsets = BTreeSet::new();
    dynamic_relocations::each(elf, |address, _| offsets.extend(section_offset(section, address)));
    Some(MergeFault {
        kind: MergeFaultKind::MisplacedRelocations { relocations: offsets.len(), unrelocated: 0 },
        offset: *offsets.first()?,
        lost: Vec::new(),
        spoilt: fdes_at(section, &offsets, 8),
    })
}

/// Returns the offset of an address in the section.
fn section_offset(section: &Section<'_>, address: u64) -> Option<u64> {
    let offset = address.wrapping_sub(section.address());
    (offset < section.data().len() as u64).then_some(offset)
}

/// Checks for starts that were never relocated, in a section with words, in or
/// after its rows, that lead from their own positions to functions: the relocations
/// were applied there.
fn of_linked(section: &Section<'_>, symbols: &Symbols) -> Option<MergeFault> {
    // Assemblers leave 0 in a field for the linker.
    let is_untouched = |fde: &Fde| {
        let field = section.address().wrapping_add(start_field(section, fde.index));
        let origin = if section.header().start_is_pcrel() { field } else { section.address() };
        fde.size > 0 && fde.start == origin
    };
    let untouched: Vec<Fde> = section.fdes().flatten().filter(is_untouched).collect();
    if untouched.is_empty() {
        return None;
    }
    let moved = section.fdes().flatten().filter(|fde| !is_untouched(fde));
    let starts: BTreeSet<u64> = moved.map(|fde| fde.start).collect();
    let functions: BTreeSet<u64> = symbols.addresses().filter(|address| !starts.contains(address)).collect();
    let width = start_width(section);
    let rows = (section.header().end() as u64).saturating_add(section.header().freoff.into());
    let words = own_bytes(section).windows(width).enumerate().skip(usize::try_from(rows).ok()?);
    let leads_to_function = |(offset, word): (usize, &[u8])| {
        let place = section.address().wrapping_add(offset as u64);
        let target = place.wrapping_add_signed(signed(word, section.header().abi.byte_order()));
        functions.contains(&target).then_some((offset as u64, target))
    };
    let found: BTreeMap<u64, u64> = words.filter_map(leads_to_function).collect();
    let mut spoilt = fdes_at(section, &found.keys().copied().collect(), width as u64);
    let kind =
        MergeFaultKind::MisplacedRelocations { relocations: found.len(), unrelocated: untouched.len() };
    spoilt.extend(untouched.iter().map(|fde| fde.index));
    let lost = |start: &u64| symbols.extent(*start).unwrap_or(*start..start.saturating_add(1));
    let lost = merge(found.values().map(lost).collect());
    Some(MergeFault { kind, offset: *found.first_key_value()?.0, lost, spoilt })
}

/// Checks a linked file for starts that count from their own fields although the header says
/// that they count from the section's start. Functions are those of symbols and of call frame
/// information, which stripped files have.
fn unconverted(elf: &File<'_>, section: &Section<'_>, symbols: &Symbols) -> Option<MergeFault> {
    if section.header().start_is_pcrel() || section.header().version.has_erratum_1() == Some(true) {
        return None;
    }
    let fdes: Vec<Placed<'_>> = all_fdes(section).filter(|(_, fde)| fde.size > 0).collect();
    let mut starts: BTreeSet<u64> = symbols.addresses().collect();
    if fdes.iter().all(|(_, fde)| starts.contains(&fde.start)) {
        return None;
    }
    let cfi = call_frame_info(elf, None);
    starts.extend(cfi.iter().flat_map(CallFrameInfo::fdes).map(|fde| fde.range.start));
    let is_function = |placed: &Placed<'_>| starts.contains(&from_field(placed).start);
    let moved = fdes.iter().filter(|placed| !starts.contains(&placed.1.start) && is_function(placed)).count();
    // One may be there by chance.
    if moved < 2 || moved <= fdes.len() / 2 {
        return None;
    }
    // Those of its own tables, a linker writes itself. Another fault covers the sections after this one.
    let is_right = |placed: &Placed<'_>| starts.contains(&placed.1.start) && !is_function(placed);
    let wrong: Vec<_> = fdes.iter().filter(|placed| !is_right(placed)).collect();
    let wrong_here = || wrong.iter().filter(|(one, _)| one.address() == section.address());
    Some(MergeFault {
        kind: MergeFaultKind::UnconvertedStarts { starts: wrong.len() },
        offset: wrong.iter().map(|(one, fde)| field_offset(section, one, fde)).min()?,
        lost: merge(wrong_here().map(|placed| from_field(placed)).collect()),
        spoilt: wrong_here().map(|(_, fde)| fde.index).collect(),
    })
}

/// Returns where the start of an FDE is stored, in bytes from the start of the first section.
fn field_offset(first: &Section<'_>, section: &Section<'_>, fde: &Fde) -> u64 {
    section.address().wrapping_sub(first.address()).saturating_add(start_field(section, fde.index))
}

/// Returns the bytes of a section, without those of one that follows it.
fn own_bytes<'a>(section: &Section<'a>) -> &'a [u8] {
    let following = section.following().map(|next| next.address().wrapping_sub(section.address()));
    let end = following.and_then(|end| usize::try_from(end).ok());
    end.and_then(|end| section.data().get(..end)).unwrap_or(section.data())
}

/// Returns the size in bytes of the start field of an FDE.
fn start_width(section: &Section<'_>) -> usize {
    section.header().version.start_size()
}

/// Returns the FDEs for which any of their own bytes, their attributes or their
/// rows overlap fields at these offsets.
fn fdes_at(section: &Section<'_>, offsets: &BTreeSet<u64>, width: u64) -> BTreeSet<u32> {
    let is_hit = |range: Range<u64>| {
        let first = range.start.saturating_sub(width - 1);
        first < range.end && offsets.range(first..range.end).next().is_some()
    };
    let size = section.header().version.fde_size() as u64;
    let mut fdes: Vec<Fde> = section.fdes().flatten().collect();
    fdes.sort_by_key(|fde| fde.rows_offset);
    let rows_end = own_bytes(section).len();
    let ends = fdes.iter().skip(1).map(|next| next.rows_offset).chain([rows_end]);
    let hit = fdes.iter().zip(ends).filter(|(fde, end)| {
        let field = start_field(section, fde.index);
        let attribute = if section.header().version.has_fde_attributes() { V3_FDE_ATTR_SIZE } else { 0 };
        let rows = (fde.rows_offset - attribute.min(fde.rows_offset)) as u64;
        is_hit(field..field.saturating_add(size)) || is_hit(rows..*end as u64)
    });
    hit.map(|(fde, _)| fde.index).collect()
}
