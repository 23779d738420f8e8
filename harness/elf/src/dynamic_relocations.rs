//! The relocations that a loader applies. A library can have more of them than of
//! everything that describes its frames, so they are read in blocks and not kept.

use std::ops::Range;

use object::elf::{
    DT_JMPREL, DT_PLTREL, DT_PLTRELSZ, DT_REL, DT_RELA, DT_RELASZ, DT_RELSZ, PT_DYNAMIC, PT_LOAD, SHT_CREL,
    SHT_REL, SHT_RELA,
};
use object::read::elf::{CrelIterator, ProgramHeader, SectionHeader};
use object::{Endian as _, Endianness, SymbolIndex};

use crate::bounded::File;
use crate::source::Source;

/// Bytes that are read together: a whole number of entries of both kinds.
const BLOCK: u64 = 48 << 11;
/// No dynamic segment has more bytes.
const MOST_TAGS: u64 = 1 << 16;
/// The length of an entry without an addend, and with one.
const REL: usize = 16;
const RELA: usize = 24;

/// Calls `visit` with the address and the symbol of each relocation, in their order: those of sections, and then those that
/// only the dynamic segment leads to, as it leads loaders.
pub(crate) fn each(elf: &File<'_>, mut visit: impl FnMut(u64, Option<SymbolIndex>)) {
    let (endian, source) = (elf.endian(), elf.data());
    let symbols = elf.elf_dynamic_symbol_table().section();
    let sections = elf.elf_section_table().iter().skip(1);
    let mut seen: Vec<Range<u64>> = Vec::new();
    for section in sections.filter(|section| section.link(endian) == symbols) {
        if let Some((start, len)) = section.file_range(endian) {
            seen.push(start..start.saturating_add(len));
        }
        let mut all = |size| in_blocks(source, endian, section.file_range(endian), size, &mut visit);
        match section.sh_type(endian) {
            SHT_REL => all(REL),
            SHT_RELA => all(RELA),
            SHT_CREL => {
                let relocations = section.data(endian, source).and_then(CrelIterator::new);
                for relocation in relocations.into_iter().flatten().map_while(Result::ok) {
                    visit(relocation.r_offset, relocation.symbol());
                }
            }
            _ => {}
        }
    }
    for (start, len, size) in tables_of_segment(elf) {
        if !seen.iter().any(|range| range.contains(&start)) {
            in_blocks(source, endian, Some((start, len)), size, &mut visit);
        }
    }
}

/// The tables that the dynamic segment names: where they are in the file, their lengths, and those of their entries.
fn tables_of_segment(elf: &File<'_>) -> Vec<(u64, u64, usize)> {
    let (endian, headers) = (elf.endian(), elf.elf_program_headers());
    let dynamic = headers.iter().find(|header| header.p_type(endian) == PT_DYNAMIC);
    let range = dynamic.map(|header| {
        let start = header.p_offset(endian);
        start..start.saturating_add(header.p_filesz(endian).min(MOST_TAGS))
    });
    let Some(entries) = range.and_then(|range| elf.data().copy(range)) else { return Vec::new() };
    let value = |tag: i64| {
        let mut entries = entries.as_chunks::<8>().0.as_chunks::<2>().0.iter();
        let found = entries.find(|[own, _]| endian.read_u64(*own) == tag.cast_unsigned());
        found.map(|[_, value]| endian.read_u64(*value))
    };
    let in_file = |address: u64| {
        let segments = headers.iter().filter(|header| header.p_type(endian) == PT_LOAD);
        let mut offsets = segments.filter_map(|header| {
            let from = address.checked_sub(header.p_vaddr(endian))?;
            (from < header.p_filesz(endian)).then(|| header.p_offset(endian).saturating_add(from))
        });
        offsets.next()
    };
    let of_plt = if value(DT_PLTREL.0) == Some(DT_REL.0.cast_unsigned()) { REL } else { RELA };
    let tables = [(DT_RELA, DT_RELASZ, RELA), (DT_REL, DT_RELSZ, REL), (DT_JMPREL, DT_PLTRELSZ, of_plt)];
    let table = |(start, len, size): (_, _, usize)| Some((in_file(value(start)?)?, value(len)?, size));
    tables.map(|(start, len, size)| (start.0, len.0, size)).into_iter().filter_map(table).collect()
}

/// Visits the entries of a table, unless it is not wholly in the file, or has a part
/// of an entry, or is misaligned.
fn in_blocks(
    source: Source<'_>,
    endian: Endianness,
    range: Option<(u64, u64)>,
    size: usize,
    visit: &mut impl FnMut(u64, Option<SymbolIndex>),
) {
    let Some((start, len)) = range else { return };
    let end = start.checked_add(len).filter(|end| *end <= source.len());
    let is_whole = len.is_multiple_of(size as u64) && start.is_multiple_of(8);
    let Some(end) = end.filter(|_| is_whole) else { return };
    let mut at = start;
    while at < end {
        let next = end.min(at + BLOCK);
        let Some(block) = source.copy(at..next) else { return };
        for entry in block.chunks_exact(size) {
            let Some(([address, info], _)) = entry.as_chunks().0.split_first_chunk() else { return };
            let symbol = usize::try_from(endian.read_u64(*info) >> 32).unwrap_or(0);
            visit(endian.read_u64(*address), (symbol != 0).then_some(SymbolIndex(symbol)));
        }
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use object::{Object as _, RelocationTarget};
    use rstest::rstest;

    use super::*;
    use crate::bounded;
    use crate::object_file::ObjectFileError;

    #[rstest]
    fn dynamic_relocations_are_those_that_another_crate_reads(
        #[values("amd64", "aarch64", "aarch64_be", "s390x")] abi: &str,
        #[values("", ".first.so")] file: &str,
    ) {
        let builds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47");
        let path = builds.join(abi).join(format!("crossing.O2-dynamic{file}"));
        let bytes = std::fs::read(path).expect("a build");
        let elf = bounded::open::<ObjectFileError>((&bytes).into()).expect("an ELF file");
        let symbol = |target| match target {
            RelocationTarget::Symbol(symbol) => Some(symbol),
            _ => None,
        };
        let relocations = elf.dynamic_relocations().into_iter().flatten();
        let expected: Vec<_> =
            relocations.map(|(address, relocation)| (address, symbol(relocation.target()))).collect();
        let mut read = Vec::new();
        each(&elf, |address, symbol| read.push((address, symbol)));
        assert!(read.iter().any(|(_, symbol)| symbol.is_some()), "{read:?}");
        assert_eq!(read, expected);
    }

    /// A table without a section is found as loaders find it.
    #[rstest]
    fn tables_that_no_section_has_are_those_of_the_dynamic_segment(
        #[values("amd64", "aarch64", "aarch64_be", "s390x")] abi: &str,
    ) {
        let builds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds/gnu-2.47");
        let bytes = std::fs::read(builds.join(abi).join("crossing.O2-dynamic")).expect("a build");
        let read = |bytes: &Vec<u8>| {
            let elf = bounded::open::<ObjectFileError>(bytes.into()).expect("an ELF file");
            let mut read = Vec::new();
            each(&elf, |address, _| read.push(address));
            read.sort_unstable();
            read
        };
        let mut without = bytes.clone();
        let elf = bounded::open::<ObjectFileError>((&bytes).into()).expect("an ELF file");
        let (endian, symbols) = (elf.endian(), elf.elf_dynamic_symbol_table().section());
        let start = usize::try_from(elf.elf_header().e_shoff.get(endian)).expect("a place");
        for (index, section) in elf.elf_section_table().iter().enumerate() {
            if section.link(endian) == symbols {
                // sh_link.
                without[start + 64 * index + 40..][..4].fill(0);
            }
        }
        assert!(!read(&bytes).is_empty());
        assert_eq!(read(&without), read(&bytes));
    }

    #[test]
    fn a_long_table_is_read_to_its_end() {
        for (size, count) in [(REL, 20_000), (RELA, 10_000)] {
            let addresses = || 0..count;
            let entry = |address: u64| {
                let start = [address.to_be_bytes(), (address << 32 | 7).to_be_bytes()].concat();
                [start, vec![0; size - REL]].concat()
            };
            let bytes: Vec<u8> = [0; 8].into_iter().chain(addresses().flat_map(entry)).collect();
            let visited = |range| {
                let mut visited = Vec::new();
                let mut visit = |address, symbol: Option<SymbolIndex>| {
                    visited.push((address, symbol.map_or(0, |symbol| symbol.0 as u64)));
                };
                in_blocks(Source::from(&bytes), Endianness::Big, Some(range), size, &mut visit);
                visited
            };
            let len = bytes.len() as u64 - 8;
            assert!(len > 2 * BLOCK);
            let all: Vec<_> = addresses().map(|address| (address, address)).collect();
            assert!(visited((8, len)) == all);
            for malformed in [(8, len - 1), (8, len + size as u64), (4, size as u64), (u64::MAX, len)] {
                assert_eq!(visited(malformed), []);
            }
        }
    }
}
