//! Compile units: which compiler has made the code at an address, as debug information says (`DW_AT_producer`).

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DebugAddrBase, DebugLocListsBase,
    DebugRngListsBase, DebugStrOffsetsBase, DebuggingInformationEntry, Dwarf, DwarfFileType, Reader as _,
    Section as _, Unit, UnitHeader,
};
use rustc_hash::FxHashMap;

use crate::bounded::{Allowance, File, SharedBytes};
use crate::dwarf::{self, Slice};

/// Who has made the code of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer<'u> {
    /// What it says of itself: a compiler, or an assembler.
    pub name: &'u str,
    /// Whether the source was assembly (`DW_LANG_Mips_Assembler`): then no compiler has made the code.
    pub is_assembled: bool,
}

/// The producers of units, by the code that they have.
#[derive(Clone, Debug, Default)]
pub struct CompileUnits {
    /// Sorted by address, with indices of producers.
    ranges: Vec<(Range<u64>, usize)>,
    /// With whether the source was assembly.
    producers: Vec<(String, bool)>,
}

/// Why a unit names nobody.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error(transparent)]
    Malformed(#[from] gimli::Error),
    #[error(transparent)]
    SharedBytes(#[from] SharedBytes),
}

impl CompileUnits {
    /// Those of a file. What is malformed, or not there, names nobody.
    pub(crate) fn read(elf: &File<'_>) -> Self {
        let mut units = Self::default();
        let Ok(sections) = dwarf::sections(elf) else { return units };
        let dwarf = sections.borrow(|data| dwarf::slice(elf, data));
        // Any number of units may share attributes, names and ranges.
        let mut allowance = Allowance::new("compile units", elf.data().len());
        let mut headers = Vec::new();
        let mut all = dwarf.units();
        while let Ok(Some(header)) = all.next() {
            headers.push(header);
        }
        let tables = tables(&dwarf, &headers);
        for header in headers {
            let Some(table) = tables.get(&header.debug_abbrev_offset()) else { continue };
            if let Err(Unread::SharedBytes(_)) = units.add(&dwarf, header, table, &mut allowance) {
                break;
            }
        }
        units.ranges.sort_by_key(|(range, _)| range.start);
        units
    }

    fn add<'a>(
        &mut self,
        dwarf: &Dwarf<Slice<'a>>,
        header: UnitHeader<Slice<'a>>,
        table: &Arc<Abbreviations>,
        allowance: &mut Allowance,
    ) -> Result<(), Unread> {
        let mut unit = unread(header, Arc::clone(table));
        let mut entries = header.entries(table);
        let Some(root) = entries.next_dfs()? else { return Ok(()) };
        allowance.take(root.attrs.len() as u64)?;
        for attribute in &root.attrs {
            match attribute.value() {
                AttributeValue::DebugStrOffsetsBase(base) => unit.str_offsets_base = base,
                AttributeValue::DebugAddrBase(base) => unit.addr_base = base,
                AttributeValue::DebugRngListsBase(base) => unit.rnglists_base = base,
                _ => {}
            }
        }
        let Some(producer) = root.attr_value(gimli::DW_AT_producer) else { return Ok(()) };
        let producer = dwarf.attr_string(&unit, producer)?;
        allowance.take(producer.len() as u64)?;
        self.add_ranges(dwarf, &mut unit, root, allowance)?;
        let producer = producer.slice().get(..LONGEST_PRODUCER).unwrap_or(producer.slice());
        let language = root.attr_value(gimli::DW_AT_language);
        let is_assembled = language == Some(AttributeValue::Language(gimli::DW_LANG_Mips_Assembler));
        self.producers.push((String::from_utf8_lossy(producer).into_owned(), is_assembled));
        Ok(())
    }

    /// Adds the code of a unit, whose producer comes next.
    fn add_ranges<'a>(
        &mut self,
        dwarf: &Dwarf<Slice<'a>>,
        unit: &mut Unit<Slice<'a>>,
        root: &DebuggingInformationEntry<Slice<'a>>,
        allowance: &mut Allowance,
    ) -> Result<(), Unread> {
        let number = self.producers.len();
        let address = |unit: &Unit<_>, name| match root.attr_value(name) {
            Some(value) => dwarf.attr_address(unit, value),
            None => Ok(None),
        };
        let low = address(unit, gimli::DW_AT_low_pc)?;
        unit.low_pc = low.unwrap_or(0);
        if let Some(list) = root.attr_value(gimli::DW_AT_ranges) {
            let Some(mut list) = dwarf.attr_ranges(unit, list)? else { return Ok(()) };
            // Those that are empty take time as well.
            while let Some(entry) = list.next_raw()? {
                allowance.take(RANGE)?;
                self.ranges.extend(list.convert_raw(entry)?.map(|range| (range.begin..range.end, number)));
            }
            return Ok(());
        }
        let high = match root.attr_value(gimli::DW_AT_high_pc) {
            Some(AttributeValue::Udata(size)) => low.map(|low| low.saturating_add(size)),
            _ => address(unit, gimli::DW_AT_high_pc)?,
        };
        self.ranges.extend(low.zip(high).map(|(low, high)| (low..high, number)));
        Ok(())
    }

    /// The compilers, each once, without their options.
    pub(crate) fn compilers(&self) -> BTreeSet<String> {
        let compilers =
            self.producers.iter().filter(|(name, is_assembled)| !is_assembled && !name.is_empty());
        let without_options = |(name, _): &(String, bool)| name.split(" -").next().map(str::to_owned);
        compilers.filter_map(without_options).collect()
    }

    /// Returns who has made the code at an address.
    #[must_use]
    pub fn producer_at(&self, address: u64) -> Option<Producer<'_>> {
        let behind = self.ranges.partition_point(|(range, _)| range.start <= address);
        let (range, producer) = self.ranges.get(behind.checked_sub(1)?)?;
        let (name, is_assembled) = self.producers.get(*producer).filter(|_| range.contains(&address))?;
        Some(Producer { name, is_assembled: *is_assembled })
    }
}

/// Longer names are cut.
const LONGEST_PRODUCER: usize = 1 << 8;
/// What a range takes.
const RANGE: u64 = size_of::<(Range<u64>, usize)>() as u64;

/// The abbreviations of units, by offset: of each, what is before the next one, as any number of units may be in the
/// middle of the same table.
fn tables(
    dwarf: &Dwarf<Slice<'_>>,
    headers: &[UnitHeader<Slice<'_>>],
) -> FxHashMap<DebugAbbrevOffset, Arc<Abbreviations>> {
    let all = dwarf.debug_abbrev.reader();
    let mut offsets: Vec<usize> = headers.iter().map(|header| header.debug_abbrev_offset().0).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let ends = offsets.iter().skip(1).copied().chain([all.len()]);
    let table = |(start, end): (usize, usize)| {
        let data = DebugAbbrev::from(all.slice().get(start..end).map(|data| Slice::new(data, all.endian()))?);
        Some((DebugAbbrevOffset(start), Arc::new(data.abbreviations(DebugAbbrevOffset(0)).ok()?)))
    };
    offsets.iter().copied().zip(ends).filter_map(table).collect()
}

/// A unit of which nothing has been read: its line program, which it may share with any number of others, never is.
fn unread<'a>(header: UnitHeader<Slice<'a>>, abbreviations: Arc<Abbreviations>) -> Unit<Slice<'a>> {
    let (encoding, main) = (header.encoding(), DwarfFileType::Main);
    Unit {
        header,
        abbreviations,
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: DebugStrOffsetsBase::default_for_encoding_and_file(encoding, main),
        addr_base: DebugAddrBase(0),
        loclists_base: DebugLocListsBase::default_for_encoding_and_file(encoding, main),
        rnglists_base: DebugRngListsBase::default_for_encoding_and_file(encoding, main),
        line_program: None,
        dwo_id: None,
    }
}
