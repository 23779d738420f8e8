//! Where the code of functions is, whatever symbols say.
//!
//! A linker may drop names, and one that loses the rows of a function may lose its name with them. The code itself shows
//! that a function is there: the bytes of its object, except those that relocations, and what linkers relax with them,
//! change.

use std::collections::BTreeMap;
use std::ops::Range;

use object::elf::{PF_X, PT_LOAD, ProgramHeader64};
use object::read::elf::{ElfComdat64, ElfFile64, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectComdat as _, ObjectSection as _, SectionKind};

/// The bytes that a relocation may change: those of its field, and before them those of the opcode.
const CHANGED: Range<i64> = -3..4;

/// A section with code.
#[derive(Clone, Debug)]
pub(super) struct Text {
    address: u64,
    /// The signature of its group, of which a linker keeps one.
    pub(super) group: Option<String>,
    /// Each byte, as far as it is the same wherever it is linked to.
    bytes: Vec<Option<u8>>,
}

impl Text {
    /// The sections with code of a file.
    pub(super) fn all(elf: &ElfFile64<'_, Endianness>) -> Vec<Self> {
        let sections = elf.sections().filter(|section| section.kind() == SectionKind::Text);
        let of_group = |group: ElfComdat64<'_, '_, Endianness>| {
            let name = group.name().unwrap_or_default().to_owned();
            group.sections().map(|section| (section.0, name.clone())).collect::<Vec<_>>()
        };
        let groups: BTreeMap<usize, String> = elf.comdats().flat_map(of_group).collect();
        let text = |section: object::read::elf::ElfSection64<'_, '_, Endianness>| {
            let mut bytes: Vec<_> = section.data().ok()?.iter().copied().map(Some).collect();
            // Those that a linked file keeps are applied.
            let relocations = section.relocations().filter(|_| elf.kind() == object::ObjectKind::Relocatable);
            for (offset, _) in relocations {
                let at = |distance: i64| usize::try_from(offset.checked_add_signed(distance)?).ok();
                for byte in CHANGED.filter_map(at) {
                    if let Some(byte) = bytes.get_mut(byte) {
                        *byte = None;
                    }
                }
            }
            Some(Self { address: section.address(), group: groups.get(&section.index().0).cloned(), bytes })
        };
        let found: Vec<Self> = sections.filter_map(text).collect();
        if !found.is_empty() {
            return found;
        }
        // The section table may be stripped.
        let endian = elf.endian();
        let segments = elf.elf_program_headers().iter();
        let code = segments
            .filter(|segment| segment.p_type(endian) == PT_LOAD && segment.p_flags(endian).contains(PF_X));
        let text = |segment: &ProgramHeader64<Endianness>| {
            let bytes = segment.data(endian, elf.data()).ok()?.iter().copied().map(Some).collect();
            Some(Self { address: segment.p_vaddr(endian), group: None, bytes })
        };
        code.filter_map(text).collect()
    }

    /// The section of several that an address is in, by its index, and where it is there.
    pub(super) fn with(all: &[Self], address: u64) -> Option<(usize, u64)> {
        all.iter().enumerate().find_map(|(index, text)| {
            let offset = address.checked_sub(text.address)?;
            (offset < text.size()).then_some((index, offset))
        })
    }

    /// Its size in bytes.
    pub(super) const fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Whether so much of it is the same wherever it is linked to that it can be told from other code.
    pub(super) fn is_distinct(&self) -> bool {
        self.bytes.iter().flatten().count() >= LEAST
    }

    /// Whether it is at an address.
    pub(super) fn is_at(&self, all: &[Self], address: u64) -> bool {
        let Some((index, offset)) = Self::with(all, address) else { return false };
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = start.checked_add(self.bytes.len()).and_then(|end| all[index].bytes.get(start..end));
        bytes.is_some_and(|bytes| is_same(bytes, &self.bytes))
    }

    /// Where it is, except in what is taken. Places may overlap.
    pub(super) fn places(&self, all: &[Self], taken: &Taken) -> Vec<u64> {
        let code = &self.bytes;
        let mut places = Vec::new();
        for text in all {
            let mut from = 0;
            while let Some(bytes) = text.bytes.get(from..from + code.len()) {
                let address = text.address.saturating_add(from as u64);
                if let Some(end) = taken.end(address, code.len() as u64) {
                    from += usize::try_from(end - address).unwrap_or(1).max(1);
                } else {
                    places.extend(is_same(bytes, code).then_some(address));
                    from += 1;
                }
            }
        }
        places
    }
}

/// Whether two codes are the same, as far as they are known.
fn is_same(own: &[Option<u8>], other: &[Option<u8>]) -> bool {
    own.iter().zip(other).all(|(own, other)| own.is_none() || other.is_none() || own == other)
}

/// So many bytes have to be the same for a code to be told from others.
const LEAST: usize = 3;

/// Code whose function is known.
#[derive(Debug, Default)]
pub(super) struct Taken(BTreeMap<u64, u64>);

impl Taken {
    pub(super) fn add(&mut self, start: u64, size: u64) {
        let end = self.0.entry(start).or_default();
        *end = (*end).max(start.saturating_add(size));
    }

    /// Whether one overlaps such a range.
    pub(super) fn has(&self, start: u64, size: u64) -> bool {
        self.end(start, size).is_some()
    }

    /// Where the first that overlaps such a range ends.
    fn end(&self, start: u64, size: u64) -> Option<u64> {
        let before = self.0.range(..start.saturating_add(size)).next_back()?;
        (*before.1 > start).then_some(*before.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(address: u64, bytes: &[u8]) -> Text {
        Text { address, group: None, bytes: bytes.iter().copied().map(Some).collect() }
    }

    #[test]
    fn code_is_found_where_nothing_else_is() {
        let all = [text(0x1000, &[1, 2, 3, 9, 1, 2, 3, 1, 2, 3])];
        let mut code = text(0, &[1, 2, 3]);
        let mut taken = Taken::default();
        assert_eq!(code.places(&all, &taken), [0x1000, 0x1004, 0x1007]);
        taken.add(0x1000, 5);
        assert_eq!(code.places(&all, &taken), [0x1007]);
        assert!(code.is_at(&all, 0x1007) && !code.is_at(&all, 0x1008), "it ends before");
        assert!(code.is_distinct());
        code.bytes[1] = None;
        assert_eq!(code.places(&all, &taken), [0x1007]);
        assert!(!code.is_distinct(), "too short");
    }
}
