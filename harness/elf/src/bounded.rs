//! Opens ELF files with arbitrary tables.
//!
//! Every name and every section is within the file. But any number of them may
//! share bytes, so that reading all of them could take far more than the file's
//! size.

use object::elf::{FileHeader64, ProgramHeader64, SectionHeader64};
use object::read::elf::{ElfFile64, ElfSection64, FileHeader, SectionHeader, SectionTable, Sym};
use object::{Endianness, SectionIndex};

use crate::source::Source;

/// Sections or names together are far larger than the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} share the same bytes so often that together they have more than {limit}")]
pub struct SharedBytes {
    what: &'static str,
    limit: u64,
}

/// Names and sections may together have this many times the file's length: linkers
/// merge equal names, and names that are suffixes of others.
const SHARE: u64 = 16;
/// And this many bytes more.
const SPARE: u64 = 1 << 24;

/// The number of bytes that may still be read.
pub(crate) struct Allowance {
    what: &'static str,
    limit: u64,
    left: u64,
}

impl Allowance {
    pub(crate) fn new(what: &'static str, file: u64) -> Self {
        let limit = file.saturating_mul(SHARE).saturating_add(SPARE);
        Self { what, limit, left: limit }
    }

    pub(crate) fn take(&mut self, len: u64) -> Result<(), SharedBytes> {
        let left = self.left.checked_sub(len);
        self.left = left.ok_or(SharedBytes { what: self.what, limit: self.limit })?;
        Ok(())
    }
}

/// An ELF file with its symbols.
pub type File<'a> = ElfFile64<'a, Endianness, Source<'a>>;
/// A section of such a file.
pub type FileSection<'a, 'f> = ElfSection64<'a, 'f, Endianness, Source<'a>>;

/// The positions of a file's sections and segments.
#[derive(Clone, Copy)]
pub struct Tables<'a> {
    /// The file.
    pub source: Source<'a>,
    /// Its byte order.
    pub endian: Endianness,
    /// Its header.
    pub header: &'a FileHeader64<Endianness>,
    /// Its segments.
    pub segments: &'a [ProgramHeader64<Endianness>],
    /// Its sections.
    pub sections: SectionTable<'a, FileHeader64<Endianness>, Source<'a>>,
}

impl<'a> Tables<'a> {
    /// Reads those of a file with arbitrary tables.
    pub fn parse(source: Source<'a>) -> Result<Self, object::Error> {
        let header = FileHeader64::parse(source)?;
        let endian = header.endian()?;
        let segments = header.program_headers(endian, source)?;
        let sections = header.sections(endian, source)?;
        Ok(Self { source, endian, header, segments, sections })
    }

    /// Returns those of a file that is open.
    pub fn of(elf: &File<'a>) -> Self {
        Self {
            source: elf.data(),
            endian: elf.endian(),
            header: elf.elf_header(),
            segments: elf.elf_program_headers(),
            sections: *elf.elf_section_table(),
        }
    }
}

/// Reads the positions of sections and segments, if they can be traversed in
/// bounded time. Symbols are not read.
pub fn tables<'a, E>(source: Source<'a>) -> Result<Tables<'a>, E>
where
    E: From<object::Error> + From<SharedBytes>,
{
    let tables = Tables::parse(source)?;
    bounded_sections(&tables)?;
    Ok(tables)
}

/// Opens a file, if its tables' contents can be traversed in bounded time.
pub fn open<'a, E>(source: Source<'a>) -> Result<File<'a>, E>
where
    E: From<object::Error> + From<SharedBytes>,
{
    let elf = File::parse(source)?;
    bounded_sections(&Tables::of(&elf))?;
    bounded_symbols(&elf)?;
    Ok(elf)
}

fn bounded_sections(tables: &Tables<'_>) -> Result<(), SharedBytes> {
    let Tables { endian, sections, source, .. } = *tables;
    let mut contents = Allowance::new("sections", source.len());
    for section in sections.iter() {
        contents.take(len_in_file(section, endian, source))?;
    }
    let mut names = Allowance::new("names of sections", source.len());
    let index = tables.header.shstrndx(endian, source).map(|index| SectionIndex(index as usize));
    let table = index.and_then(|index| sections.section(index));
    let table = table.map_or(0, |section| len_in_file(section, endian, source));
    for section in sections.iter() {
        names.take(name_len(sections.section_name(endian, section), section.sh_name(endian), table))?;
    }
    Ok(())
}

fn bounded_symbols(elf: &File<'_>) -> Result<(), SharedBytes> {
    let (endian, source) = (elf.endian(), elf.data());
    for symbols in [elf.elf_symbol_table(), elf.elf_dynamic_symbol_table()] {
        let mut names = Allowance::new("names of symbols", source.len());
        let table = elf.elf_section_table().section(symbols.string_section());
        let table = table.map_or(0, |section| len_in_file(section, endian, source));
        for symbol in symbols.iter() {
            names.take(name_len(symbols.symbol_name(endian, symbol), symbol.st_name(endian), table))?;
        }
    }
    Ok(())
}

/// Returns the number of a section's bytes in the file; 0 if some are missing.
fn len_in_file(section: &SectionHeader64<Endianness>, endian: Endianness, source: Source<'_>) -> u64 {
    let end = |(start, len): (u64, u64)| start.checked_add(len).filter(|end| *end <= source.len());
    let range = section.file_range(endian);
    range.filter(|range| end(*range).is_some()).map_or(0, |(_, len)| len)
}

/// A name that does not end in its table is searched through all of it.
fn name_len(found: Result<&[u8], object::Error>, offset: u32, table: u64) -> u64 {
    match found {
        Ok(name) => name.len() as u64 + 1,
        Err(_) => table.saturating_sub(offset.into()),
    }
}
