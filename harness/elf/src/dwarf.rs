//! The debug sections of a file.

use std::borrow::Cow;

use gimli::{DwarfSections, EndianSlice, RunTimeEndian, SectionId};
use object::{Endianness, Object, ObjectSection};

use crate::bounded::File;

/// The contents of a section.
pub(crate) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// Reads them. What is not there, or damaged, is empty.
pub(crate) fn sections<'f>(elf: &'f File<'_>) -> Result<DwarfSections<Cow<'f, [u8]>>, gimli::Error> {
    DwarfSections::load(|id: SectionId| {
        let section = elf.section_by_name(id.name());
        Ok(section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
    })
}

/// The contents of a section, in the byte order of the file.
pub(crate) fn slice<'a>(elf: &File<'_>, data: &'a [u8]) -> Slice<'a> {
    let endian = match elf.endian() {
        Endianness::Little => RunTimeEndian::Little,
        Endianness::Big => RunTimeEndian::Big,
    };
    EndianSlice::new(data, endian)
}
