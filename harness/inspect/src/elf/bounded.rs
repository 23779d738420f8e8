//! Opening ELF files whose tables may say anything.
//!
//! Every name and every section lies within the file. But any number of them
//! may share its bytes, and what is read of each would be far more than the file.

use object::read::elf::{ElfFile64, FileHeader, SectionHeader, Sym};
use object::{Endianness, SectionIndex};

/// What sections or names have together is far more than the file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} share the same bytes so often that together they have more than {limit}")]
pub struct SharedBytes {
    what: &'static str,
    limit: u64,
}

/// Names and sections may have so many times the file's length: linkers merge
/// names that are the same, and those that others end with.
const SHARE: u64 = 16;
/// And so many bytes more.
const SPARE: u64 = 1 << 24;

/// Bytes that may still be read.
pub(crate) struct Allowance {
    what: &'static str,
    limit: u64,
    left: u64,
}

impl Allowance {
    pub(crate) fn new(what: &'static str, file: usize) -> Self {
        let limit = (file as u64).saturating_mul(SHARE).saturating_add(SPARE);
        Self { what, limit, left: limit }
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<(), SharedBytes> {
        let left = self.left.checked_sub(len as u64);
        self.left = left.ok_or(SharedBytes { what: self.what, limit: self.limit })?;
        Ok(())
    }
}

type File<'a> = ElfFile64<'a, Endianness>;

/// Opens a file, if what its tables name can be gone through in bounded time.
pub(crate) fn open<'a, E>(bytes: &'a [u8]) -> Result<File<'a>, E>
where
    E: From<object::Error> + From<SharedBytes>,
{
    let elf = File::parse(bytes)?;
    bounded(&elf, bytes)?;
    Ok(elf)
}

fn bounded(elf: &File<'_>, bytes: &[u8]) -> Result<(), SharedBytes> {
    let endian = elf.endian();
    let sections = elf.elf_section_table();
    let mut contents = Allowance::new("sections", bytes.len());
    for section in sections.iter() {
        contents.take(section.data(endian, bytes).map_or(0, <[u8]>::len))?;
    }
    // A name that does not end in its table is looked for in all of it.
    let len = |index: Result<SectionIndex, object::Error>| {
        let section = index.and_then(|index| sections.section(index));
        section.and_then(|section| section.data(endian, bytes)).map_or(0, <[u8]>::len)
    };
    let name_len = |found: Result<&[u8], object::Error>, offset: u32, table: usize| match found {
        Ok(name) => name.len() + 1,
        Err(_) => table.saturating_sub(offset as usize),
    };
    let mut names = Allowance::new("names of sections", bytes.len());
    let index = elf.elf_header().shstrndx(endian, bytes).map(|index| SectionIndex(index as usize));
    let table = len(index);
    for section in sections.iter() {
        names.take(name_len(sections.section_name(endian, section), section.sh_name(endian), table))?;
    }
    for symbols in [elf.elf_symbol_table(), elf.elf_dynamic_symbol_table()] {
        let mut names = Allowance::new("names of symbols", bytes.len());
        let table = len(Ok(symbols.string_section()));
        for symbol in symbols.iter() {
            names.take(name_len(symbols.symbol_name(endian, symbol), symbol.st_name(endian), table))?;
        }
    }
    Ok(())
}
