//! Writes an executable: its content first, and then its headers, which say where
//! that is.

use std::borrow::Cow;

use object::elf::{
    ET_EXEC, FileHeader64, PF_R, PF_X, PT_GNU_SFRAME, PT_LOAD, ProgramFlags, ProgramHeader64, ProgramType,
    SectionHeader64,
};
use object::pod::bytes_of;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, U16, U32, U64};

use super::layout::{Layout, PAGE, Place};

/// A section of the executable.
#[derive(Clone, Debug)]
pub(super) struct Section<'a> {
    /// Its header; [`image`] sets the offset.
    pub(super) header: SectionHeader64<Endianness>,
    /// Its bytes in the file.
    pub(super) content: Cow<'a, [u8]>,
}

/// Returns the bytes of all segments and sections, after a page for headers. In those
/// with code, `filler` is where no section is. Returns `None` if they would be more than
/// the limit.
pub(super) fn image(
    endian: Endianness,
    sections: &mut [Section<'_>],
    layout: &Layout,
    filler: u8,
    limit: u64,
) -> Option<Vec<u8>> {
    let mut end = layout.end;
    for (section, place) in sections.iter_mut().zip(&layout.places) {
        let offset = match place {
            Some(place) => place.offset,
            None if section.content.is_empty() => 0,
            None => {
                let alignment = section.header.sh_addralign(endian).clamp(1, PAGE);
                let start = end.checked_next_multiple_of(alignment)?;
                end = start.checked_add(section.content.len() as u64)?;
                start
            }
        };
        section.header.sh_offset.set(endian, offset);
    }
    let len = usize::try_from(end.checked_next_multiple_of(8)?).ok().filter(|len| *len as u64 <= limit)?;
    let mut file = vec![0; len];
    for segment in layout.segments.iter().filter(|segment| segment.flags.contains(PF_X)) {
        let (start, len) = (segment.place.offset, segment.file_len);
        file.get_mut(range(start, len)?)?.fill(filler);
    }
    for section in sections {
        let place = range(section.header.sh_offset(endian), section.content.len() as u64);
        file.get_mut(place?)?.copy_from_slice(&section.content);
    }
    Some(file)
}

fn range(start: u64, len: u64) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(start).ok()?;
    Some(start..start.checked_add(usize::try_from(len).ok()?)?)
}

/// Puts the headers before and after an image. `header` is that of the relocatable
/// file, and `sframe` the index of its SFrame section.
pub(super) fn headers(
    file: &mut Vec<u8>,
    header: &FileHeader64<Endianness>,
    sections: &[Section<'_>],
    layout: &Layout,
    (entry, sframe): (u64, Option<usize>),
) {
    let endian = header.endian().unwrap_or_default();
    let mut programs: Vec<ProgramHeader64<Endianness>> = layout
        .segments
        .iter()
        .map(|it| program(endian, PT_LOAD, it.flags, it.place, (it.file_len, it.memory_len), PAGE))
        .collect();
    let sframe = sframe.and_then(|index| Some((sections.get(index)?, layout.places.get(index).copied()??)));
    programs.extend(sframe.map(|(section, place)| {
        let len = section.content.len() as u64;
        program(endian, PT_GNU_SFRAME, PF_R, place, (len, len), 8)
    }));
    let size = |len: usize| U16::new(endian, u16::try_from(len).unwrap_or(u16::MAX));
    let mut linked = *header;
    linked.e_type.set(endian, ET_EXEC);
    linked.e_entry.set(endian, entry);
    linked.e_phoff.set(endian, size_of_val(header) as u64);
    linked.e_shoff.set(endian, file.len() as u64);
    linked.e_ehsize = size(size_of_val(header));
    linked.e_phentsize = size(size_of::<ProgramHeader64<Endianness>>());
    linked.e_phnum = size(programs.len());
    linked.e_shentsize = size(size_of::<SectionHeader64<Endianness>>());
    linked.e_shnum = size(sections.len());
    // The page has room for far more than five of them.
    let head: Vec<u8> = bytes_of(&linked).iter().chain(programs.iter().flat_map(bytes_of)).copied().collect();
    file.iter_mut().zip(head).for_each(|(byte, header)| *byte = header);
    for section in sections {
        file.extend_from_slice(bytes_of(&section.header));
    }
}

fn program(
    endian: Endianness,
    kind: ProgramType,
    flags: ProgramFlags,
    place: Place,
    (file_len, memory_len): (u64, u64),
    alignment: u64,
) -> ProgramHeader64<Endianness> {
    ProgramHeader64 {
        p_type: U32::new(endian, kind),
        p_flags: U32::new(endian, flags),
        p_offset: U64::new(endian, place.offset),
        p_vaddr: U64::new(endian, place.address),
        p_paddr: U64::new(endian, place.address),
        p_filesz: U64::new(endian, file_len),
        p_memsz: U64::new(endian, memory_len),
        p_align: U64::new(endian, alignment),
    }
}
