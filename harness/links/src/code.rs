//! Where the code of functions is, whatever symbols say.
//!
//! A linker may drop names, and one that loses the rows of a function may lose its name with them. The code itself shows
//! that a function is there: the bytes of its object, except those that relocations, and what linkers relax with them,
//! change.

use std::collections::BTreeMap;

use object::elf::{PF_X, PT_LOAD, ProgramHeader64};
use object::read::elf::{ElfComdat64, ElfFile64, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectComdat as _, ObjectKind, ObjectSection as _, SectionKind};
use sframe_elf::linked_code::LinkedCode;

/// A section with code.
#[derive(Clone, Debug)]
pub(super) struct Text {
    address: u64,
    /// The signature of its group, of which a linker keeps one.
    pub(super) group: Option<String>,
    code: LinkedCode,
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
            let code = match elf.kind() {
                ObjectKind::Relocatable => LinkedCode::of_relocatable(&section)?,
                // Those relocations that a linked file keeps are applied.
                _ => LinkedCode::whole(section.data().ok()?),
            };
            Some(Self { address: section.address(), group: groups.get(&section.index().0).cloned(), code })
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
            let code = LinkedCode::whole(segment.data(endian, elf.data()).ok()?);
            Some(Self { address: segment.p_vaddr(endian), group: None, code })
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
        self.code.size() as u64
    }

    /// Whether so much of it is the same wherever it is linked to that it can be told from other code.
    pub(super) fn is_distinct(&self) -> bool {
        self.code.known() >= LEAST
    }

    /// Whether it is at an address.
    pub(super) fn is_at(&self, all: &[Self], address: u64) -> bool {
        let Some((index, offset)) = Self::with(all, address) else { return false };
        self.code.is_in(&all[index].code, usize::try_from(offset).unwrap_or(usize::MAX))
    }

    /// Where it is, except in what is taken. Places may overlap.
    pub(super) fn places(&self, all: &[Self], taken: &Taken) -> Vec<u64> {
        let size = self.code.size();
        let mut places = Vec::new();
        for text in all {
            let mut from = 0;
            while from + size <= text.code.size() {
                let address = text.address.saturating_add(from as u64);
                if let Some(end) = taken.end(address, size as u64) {
                    from += usize::try_from(end - address).unwrap_or(1).max(1);
                } else {
                    places.extend(self.code.is_in(&text.code, from).then_some(address));
                    from += 1;
                }
            }
        }
        places
    }
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
        Text { address, group: None, code: LinkedCode::whole(bytes) }
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
        code = text(0, &[1, 2]);
        assert_eq!(code.places(&all, &taken), [0x1007]);
        assert!(!code.is_distinct(), "too short");
    }
}
