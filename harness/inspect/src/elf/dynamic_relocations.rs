//! The relocations that a loader applies. A library can have more of them than of
//! everything that describes its frames, so they are read in blocks and not kept.

use object::elf::{SHT_CREL, SHT_REL, SHT_RELA};
use object::read::elf::{CrelIterator, SectionHeader};
use object::{Endian as _, Endianness, SymbolIndex};

use crate::elf::bounded::File;
use crate::source::Source;

/// Bytes that are read together: a whole number of entries of both kinds.
const BLOCK: u64 = 48 << 11;
/// The length of an entry without an addend, and with one.
const REL: usize = 16;
const RELA: usize = 24;

/// Calls `visit` with the address and the symbol of each relocation, in their order.
pub(crate) fn each(elf: &File<'_>, mut visit: impl FnMut(u64, Option<SymbolIndex>)) {
    let (endian, source) = (elf.endian(), elf.data());
    let symbols = elf.elf_dynamic_symbol_table().section();
    let sections = elf.elf_section_table().iter().skip(1);
    for section in sections.filter(|section| section.link(endian) == symbols) {
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
    use crate::elf::bounded;
    use crate::elf::object_file::ObjectFileError;

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
