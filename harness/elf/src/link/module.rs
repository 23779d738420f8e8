//! Loads a relocatable file as a kernel loads a module: to the addresses of modules, section by section, with the FDEs
//! of `.sframe` sorted then.

use object::elf::ET_REL;
use object::read::elf::FileHeader;
use serde::Serialize;
use sframe_engine::constants::{HEADER_SIZE, SFRAME_F_FDE_SORTED};
use sframe_engine::{Abi, Fde, PcType, Section};

use super::relocate::Unapplied;
use super::{LinkError, Linked, Placement, link_to};
use crate::abi::abi_of;
use crate::bounded;
use crate::find_sframe::SectionBytes;
use crate::numbers::signed;
use crate::object_file::ObjectFile;
use crate::source::Source;
use crate::symbols::Symbols;
use sframe_kit::Address;
use sframe_kit::text::{Text, counted};

/// Why a file can't be loaded as a module.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// It is linked already.
    #[error("this is not a relocatable file, from which a kernel loads modules")]
    NotRelocatable,
    /// It can't be relocated.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// A module, as a kernel has loaded it.
#[derive(Clone, Debug)]
pub struct LoadedModule {
    /// An executable of its sections at their addresses.
    pub file: Vec<u8>,
    /// What loading it has done.
    pub module: Module,
}

/// What loading a module does to its sections, and to its FDEs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Module {
    /// The parts, which lie together in memory, by address.
    pub parts: Vec<ModulePart>,
    /// The relocations that were not applied.
    pub unapplied: Vec<Unapplied>,
    /// The FDEs, if it has a section whose header is well-formed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fdes: Option<ModuleFdes>,
}

/// A part of a module that is in memory as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModulePart {
    /// Its first address.
    pub address: Address,
    /// Its length in bytes.
    pub size: u64,
    /// Whether it has code.
    pub is_code: bool,
    /// Whether it is freed once the module has initialised.
    pub is_init: bool,
    /// The sections with content, by address.
    pub sections: Vec<String>,
}

/// What becomes of the FDEs of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModuleFdes {
    /// Their number.
    pub total: u64,
    /// Those that begin below the one before them in the file.
    pub out_of_order: u64,
    /// What a binary search between half-open bounds gives in the order of the file, at the first instruction of each row.
    pub before_sort: LookUps,
    /// What one without branches gives, which halves the length.
    pub before_sort_branchless: LookUps,
    /// What one between inclusive bounds gives that ends where starts are not in order, as Linux's.
    pub before_sort_inclusive: LookUps,
    /// What each of them gives after a stable sort by start.
    pub after_sort: LookUps,
    /// Addresses at which several FDEs begin.
    pub equal_starts: Vec<EqualStart>,
    /// FDEs of code that is freed once the module has initialised: they are stale then, and must not be used.
    pub stale_after_init: u64,
    /// FDEs of code that runs only when the module is removed, which a kernel that removes none need not load.
    pub of_exit: u64,
}

/// What look-ups give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LookUps {
    /// The FDE that has the row.
    pub right: u64,
    /// None.
    pub missed: u64,
    /// Another FDE that covers the address too.
    pub another: u64,
}

/// FDEs that begin at the same address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EqualStart {
    /// Where they begin.
    pub address: Address,
    /// The function there, if a symbol names it.
    pub function: Option<String>,
    /// Their sizes, in the order of the file.
    pub sizes: Vec<u32>,
    /// How many look-ups give something else if the sort turns their order round.
    pub depending: u64,
}

/// As many addresses with several FDEs are shown.
const SHOWN: usize = 10;

/// Where kernels load modules by default: the start of that area for a kernel of 48-bit addresses on AArch64; on s390x
/// it ends where the kernel begins.
const fn module_area(abi: Abi) -> u64 {
    match abi {
        Abi::Amd64 => 0xffff_ffff_c000_0000,
        Abi::Aarch64 | Abi::Aarch64Be => 0xffff_8000_0000_0000,
        Abi::S390x => 0x3ff_6000_0000,
    }
}

/// Whether the code of a section is freed once the module has initialised.
pub(super) fn is_init(section: &[u8]) -> bool {
    section.starts_with(b".init")
}

/// Whether the code of a section runs when the module is removed.
fn is_exit(section: &[u8]) -> bool {
    section.starts_with(b".exit")
}

/// Loads a relocatable file as a module.
///
/// # Errors
/// The file is not relocatable, malformed or too large, or not for a known machine.
pub fn load_module<'a>(source: impl Into<Source<'a>>) -> Result<LoadedModule, ModuleError> {
    let source = source.into();
    let tables = bounded::tables::<LinkError>(source)?;
    if tables.header.e_type(tables.endian) != ET_REL {
        return Err(ModuleError::NotRelocatable);
    }
    let abi = abi_of(&bounded::open::<LinkError>(source)?).ok_or(LinkError::Machine)?;
    let placement = Placement { base: module_area(abi), gap: 0, frees_init: true };
    let linked = link_to(source, placement)?.ok_or(ModuleError::NotRelocatable)?;
    let Linked { mut file, unapplied } = linked;
    let parts = parts(&file)?;
    let fdes = sort_fdes(&mut file);
    Ok(LoadedModule { file, module: Module { parts, unapplied, fdes } })
}

/// The parts of a loaded module.
fn parts(file: &[u8]) -> Result<Vec<ModulePart>, LinkError> {
    use object::elf::{PF_X, PT_LOAD, SHF_ALLOC};
    use object::read::elf::{ProgramHeader, SectionHeader};

    let tables = bounded::tables::<LinkError>(Source::from(file))?;
    let endian = tables.endian;
    let mut sections: Vec<(u64, String)> = tables
        .sections
        .iter()
        .filter(|header| header.sh_flags(endian).contains(SHF_ALLOC) && header.sh_size(endian) > 0)
        .map(|header| {
            let name = tables.sections.section_name(endian, header).unwrap_or_default();
            (header.sh_addr(endian), String::from_utf8_lossy(name).into_owned())
        })
        .collect();
    sections.sort();
    let part = |header: &object::elf::ProgramHeader64<object::Endianness>| {
        let (address, size) = (header.p_vaddr(endian), header.p_memsz(endian));
        let within = sections.iter().filter(|(start, _)| start.wrapping_sub(address) < size);
        let sections: Vec<String> = within.map(|(_, name)| name.clone()).collect();
        ModulePart {
            address: Address(address),
            size,
            is_code: header.p_flags(endian).contains(PF_X),
            is_init: sections.first().is_some_and(|section| is_init(section.as_bytes())),
            sections,
        }
    };
    let loaded = tables.segments.iter().filter(|header| header.p_type(endian) == PT_LOAD);
    Ok(loaded.map(part).filter(|part| part.size > 0).collect())
}

/// An FDE in the order of the file.
#[derive(Clone, Copy)]
struct Entry {
    index: u32,
    start: u64,
    size: u64,
}

impl Entry {
    const fn contains(&self, pc: u64) -> bool {
        pc.wrapping_sub(self.start) < self.size
    }
}

/// Sorts the FDEs of the file's section in place. Returns what that changes; `None` if the section can't be read.
fn sort_fdes(file: &mut [u8]) -> Option<ModuleFdes> {
    let (at, sorted, found) = {
        let bytes: &[u8] = file;
        let subject = ObjectFile::parse(bytes).ok()?;
        let SectionBytes { data, address } = subject.sframe?;
        let section = Section::parse(data, address).ok()?;
        let fdes: Vec<Fde> = section.fdes().map(Result::ok).collect::<Option<_>>()?;
        let section_at = |address| subject.section_at(address).map(str::to_owned);
        let (order, found) = facts(&section, &fdes, &subject.symbols, section_at);
        // What it has borrowed is within the file.
        let at = data.as_ptr().addr().checked_sub(bytes.as_ptr().addr())?;
        (at, sorted(&section, &order)?, found)
    };
    file.get_mut(at..at + sorted.len())?.copy_from_slice(&sorted);
    Some(found)
}

/// Returns a section with its FDEs in another order. `None` if a start does not fit.
fn sorted(section: &Section<'_>, order: &[usize]) -> Option<Vec<u8>> {
    let (data, header) = (section.data(), section.header());
    let (size, width) = (header.version.fde_size(), header.version.start_size());
    let first = HEADER_SIZE + section.auxiliary_header().len() + usize::try_from(header.fdeoff).ok()?;
    let mut bytes = data.to_vec();
    for (to, from) in order.iter().enumerate() {
        let (to, from) = (first + to * size, first + from * size);
        bytes.get_mut(to..to + size)?.copy_from_slice(data.get(from..from + size)?);
        if header.start_is_pcrel() {
            let field = bytes.get_mut(to..to + width)?;
            let is_big = header.abi.is_big_endian();
            let moved =
                signed(field, header.abi.byte_order()).wrapping_add(from as i64).wrapping_sub(to as i64);
            if width == 4 && i32::try_from(moved).is_err() {
                return None;
            }
            let moved = if is_big { moved.to_be_bytes() } else { moved.to_le_bytes() };
            field.copy_from_slice(if is_big { &moved[8 - width..] } else { &moved[..width] });
        }
    }
    *bytes.get_mut(3)? |= SFRAME_F_FDE_SORTED;
    Some(bytes)
}

/// Returns the FDEs in the order that a stable sort gives, and what that changes.
fn facts(
    section: &Section<'_>,
    fdes: &[Fde],
    symbols: &Symbols<'_>,
    section_at: impl Fn(u64) -> Option<String>,
) -> (Vec<usize>, ModuleFdes) {
    let entry = |fde: &Fde| Entry { index: fde.index, start: fde.start, size: fde.size.into() };
    let unsorted: Vec<Entry> = fdes.iter().map(entry).collect();
    let mut order: Vec<usize> = (0..fdes.len()).collect();
    order.sort_by_key(|index| unsorted[*index].start);
    let stable: Vec<Entry> = order.iter().map(|index| unsorted[*index]).collect();
    let mut turned = stable.clone();
    let mut groups: Vec<&mut [Entry]> = turned.chunk_by_mut(|one, other| one.start == other.start).collect();
    groups.iter_mut().for_each(|group| group.reverse());
    let mut found = ModuleFdes {
        total: fdes.len() as u64,
        out_of_order: unsorted.windows(2).filter(|pair| pair[1].start < pair[0].start).count() as u64,
        ..ModuleFdes::default()
    };
    for group in stable.chunk_by(|one, other| one.start == other.start).filter(|group| group.len() > 1) {
        let address = group[0].start;
        found.equal_starts.push(EqualStart {
            address: Address(address),
            function: symbols.at(address).filter(|(_, offset)| *offset == 0).map(|(name, _)| name.to_owned()),
            sizes: group.iter().map(|entry| u32::try_from(entry.size).unwrap_or(u32::MAX)).collect(),
            depending: 0,
        });
    }
    for fde in fdes {
        let name = section_at(fde.start).unwrap_or_default();
        found.stale_after_init += u64::from(is_init(name.as_bytes()));
        found.of_exit += u64::from(is_exit(name.as_bytes()));
        if fde.pc_type == PcType::Mask {
            continue;
        }
        for row in section.rows(fde).flatten() {
            let pc = fde.start.wrapping_add(row.start.into());
            if !fde.contains(pc) {
                continue;
            }
            found.before_sort.add(search(&unsorted, pc), fde);
            found.before_sort_branchless.add(search_branchless(&unsorted, pc), fde);
            found.before_sort_inclusive.add(search_inclusive(&unsorted, pc), fde);
            let after = search(&stable, pc);
            found.after_sort.add(after, fde);
            if after != search(&turned, pc) {
                let last = found.equal_starts.partition_point(|equal| equal.address.0 <= pc);
                let group = last.checked_sub(1).and_then(|last| found.equal_starts.get_mut(last));
                group.into_iter().for_each(|equal| equal.depending += 1);
            }
        }
    }
    (order, found)
}

/// What a binary search finds for an address: the FDE with the highest start that is not above it, if that covers it.
/// Where the FDEs are not sorted, it ends somewhere.
fn search(entries: &[Entry], pc: u64) -> Option<u32> {
    let (mut low, mut high) = (0, entries.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if entries[middle].start <= pc {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    covering(entries, low.checked_sub(1)?, pc)
}

/// What one without branches finds: half of what is left is passed, or not.
fn search_branchless(entries: &[Entry], pc: u64) -> Option<u32> {
    let (mut first, mut len) = (0, entries.len());
    while len > 1 {
        let half = len / 2;
        first += if entries[first + half].start <= pc { half } else { 0 };
        len -= half;
    }
    covering(entries, first, pc)
}

/// What one between inclusive bounds finds. It ends where a start is not between those on both sides that it has seen.
fn search_inclusive(entries: &[Entry], pc: u64) -> Option<u32> {
    let (mut low, mut high) = (0, entries.len().checked_sub(1)?);
    let (mut lowest, mut highest, mut found) = (0, u64::MAX, None);
    while low <= high {
        let middle = low + (high - low) / 2;
        let start = entries[middle].start;
        if !(lowest..=highest).contains(&start) {
            return None;
        }
        if start <= pc {
            (lowest, low, found) = (start, middle + 1, Some(middle));
        } else {
            let Some(below) = middle.checked_sub(1) else { break };
            (highest, high) = (start, below);
        }
    }
    covering(entries, found?, pc)
}

/// An FDE, if it covers an address.
fn covering(entries: &[Entry], at: usize, pc: u64) -> Option<u32> {
    entries.get(at).filter(|entry| entry.contains(pc)).map(|entry| entry.index)
}

impl LookUps {
    const fn add(&mut self, found: Option<u32>, fde: &Fde) {
        match found {
            None => self.missed += 1,
            Some(index) if index == fde.index => self.right += 1,
            Some(_) => self.another += 1,
        }
    }

    const fn total(self) -> u64 {
        self.right + self.missed + self.another
    }
}

impl Module {
    /// Says what loading has done.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        text.blank();
        self.lines().iter().for_each(|line| text.wrap_line(line));
        text
    }

    /// Says it line by line.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec!["loaded as a module:".to_owned()];
        for ModulePart { address, size, is_code, is_init, sections } in &self.parts {
            let what = if *is_code { "code" } else { "data" };
            let until = if *is_init { ", until it has initialised" } else { "" };
            lines.push(format!("    {what} at {address} ({size:#x} bytes){until}: {}", sections.join(" ")));
        }
        lines.extend(self.unapplied.iter().map(|unapplied| format!("    not relocated: {unapplied}")));
        lines.extend(self.fdes.iter().flat_map(ModuleFdes::lines).map(|line| format!("    {line}")));
        lines
    }
}

impl ModuleFdes {
    fn lines(&self) -> Vec<String> {
        let Self {
            total,
            out_of_order,
            before_sort,
            after_sort,
            equal_starts,
            stale_after_init,
            of_exit,
            ..
        } = self;
        let mut lines = vec![
            format!(
                "{}, {out_of_order} out of order: of {}, a binary search finds that of {} once they are sorted",
                counted(*total, "FDE"),
                counted(before_sort.total(), "row"),
                after_sort.right
            ),
            format!(
                "before, of {} with half-open bounds, of {} without branches, of {} with inclusive bounds (Linux's)",
                before_sort.right, self.before_sort_branchless.right, self.before_sort_inclusive.right
            ),
        ];
        if after_sort.another + after_sort.missed > 0 {
            lines.push(format!(
                "sorted, look-ups still find none for {}, and another FDE for {}",
                counted(after_sort.missed, "row"),
                after_sort.another
            ));
        }
        for EqualStart { address, function, sizes, depending } in equal_starts.iter().take(SHOWN) {
            let name = function.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
            let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            let depends = match depending {
                0 => "look-ups do not depend on their order".to_owned(),
                rows => format!(
                    "which is found for {} depends on their order, which a stable sort keeps",
                    counted(*rows, "row")
                ),
            };
            lines.push(format!("FDEs of {} bytes begin at {address}{name}: {depends}", sizes.join(" and ")));
        }
        if equal_starts.len() > SHOWN {
            lines.push(format!("and at {}", counted((equal_starts.len() - SHOWN) as u64, "more address")));
        }
        if *stale_after_init > 0 {
            lines.push(format!(
                "{} of code that is freed once the module has initialised: stale then",
                counted(*stale_after_init, "FDE")
            ));
        }
        if *of_exit > 0 {
            lines.push(format!(
                "{} of code that removes the module, and is not loaded where none can be removed",
                counted(*of_exit, "FDE")
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sframe_engine::write::{Function, Section as Written};
    use sframe_engine::{
        Base, FdeType, Flags, InstructionPointer, PauthKey, Recovery, RecoveryRule, Row, Version,
    };

    use super::*;

    const ADDRESS: u64 = 0x2000;

    /// Functions with these starts and sizes, each with one row whose CFA tells it from the others.
    fn section(version: Version, abi: Abi, functions: &[(u64, u32)]) -> Vec<u8> {
        let rule = |offset| RecoveryRule { base: Base::Sp, offset, dereference: false };
        let function = |(position, (start, size)): (u32, &(u64, u32))| Function {
            start: *start,
            size: *size,
            fre_type: None,
            pc_type: PcType::Inc,
            fde_type: FdeType::Default,
            pauth_key: PauthKey::A,
            signal: false,
            rep_size: version.has_rep_size().then_some(0),
            rows_position: position,
            rows: vec![Row {
                start: 0,
                end: 0,
                cfa: Some(rule(160 + 8 * i64::from(position))),
                ra: Recovery::Unchanged,
                fp: Recovery::Unchanged,
                mangled_ra: false,
            }],
            wide_rows: BTreeMap::new(),
        };
        let flags = if version.has_pcrel_starts() { 4 } else { 0 };
        let section = Written {
            version,
            flags: Flags(flags),
            abi,
            fixed_fp_offset: None,
            fixed_ra_offset: None,
            auxiliary: vec![7; 3],
            functions: (0..).zip(functions).map(function).collect(),
        };
        section.write(ADDRESS).expect("a section")
    }

    fn facts_of(bytes: &[u8]) -> (Vec<usize>, ModuleFdes) {
        let section = Section::parse(bytes, ADDRESS).expect("a section");
        let fdes: Vec<Fde> = section.fdes().map(|fde| fde.expect("an FDE")).collect();
        facts(&section, &fdes, &Symbols::default(), |_| None)
    }

    #[test]
    fn sorting_moves_fdes_with_their_rows_in_all_versions() {
        let functions = [(0x9000, 16), (0x400, 16), (0x7000, 16), (0x1_0000, 8)];
        for version in Version::ALL {
            for abi in Abi::ALL.into_iter().filter(|abi| version.has_abi(*abi)) {
                let bytes = section(version, abi, &functions);
                let (order, _) = facts_of(&bytes);
                let read = Section::parse(&bytes, ADDRESS).expect("a section");
                let bytes = sorted(&read, &order).expect("it fits");
                let sorted = Section::parse(&bytes, ADDRESS).expect("a section");
                let starts: Vec<u64> = sorted.fdes().map(|fde| fde.expect("an FDE").start).collect();
                assert_eq!(starts, [0x400, 0x7000, 0x9000, 0x1_0000], "version {version}, {abi}");
                assert!(sorted.header().flags.0 & SFRAME_F_FDE_SORTED != 0);
                for (number, (start, _)) in (0..).zip(functions) {
                    let found =
                        sorted.lookup(InstructionPointer(start + 4)).expect("well-formed").expect("a row");
                    let cfa = found.row.cfa.expect("a CFA").offset;
                    assert_eq!(cfa, 160 + 8 * number, "version {version}, {abi}, {start:#x}");
                }
            }
        }
    }

    /// What sorts must not turn round FDEs with one start: the empty one would hide the other.
    #[test]
    fn look_ups_before_and_after_the_sort_are_counted() {
        let functions = [(0x500, 16), (0x400, 0), (0x400, 16), (0x300, 16)];
        let (order, found) = facts_of(&section(Version::V3, Abi::Amd64, &functions));
        assert_eq!(order, [3, 1, 2, 0]);
        assert_eq!((found.total, found.out_of_order), (4, 2));
        assert_eq!(found.after_sort, LookUps { right: 3, missed: 0, another: 0 });
        assert_ne!(found.before_sort, found.after_sort);
        let [equal] = &found.equal_starts[..] else { panic!("{:?}", found.equal_starts) };
        assert_eq!((equal.address.0, &equal.sizes[..], equal.depending), (0x400, &[0, 16][..], 1));
        // The other way round, the empty one hides it, and a stable sort leaves it so.
        let functions = [(0x500, 16), (0x400, 16), (0x400, 0), (0x300, 16)];
        let (_, found) = facts_of(&section(Version::V3, Abi::Amd64, &functions));
        assert_eq!(found.after_sort, LookUps { right: 2, missed: 1, another: 0 });
    }

    /// What a binary search finds among FDEs out of order depends on its form.
    #[test]
    fn each_form_of_a_binary_search_is_counted_by_itself() {
        let found = |starts: [u64; 5]| {
            let (_, found) = facts_of(&section(Version::V3, Abi::Amd64, &starts.map(|start| (start, 16))));
            [found.before_sort, found.before_sort_branchless, found.before_sort_inclusive].map(|it| it.right)
        };
        assert_eq!(found([0x100, 0x300, 0x200, 0x500, 0x400]), [3, 2, 1]);
        assert_eq!(found([0x100, 0x200, 0x300, 0x400, 0x500]), [5, 5, 5], "in order, all are one");
    }
}
