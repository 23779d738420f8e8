//! Makes an executable of one relocatable file, as a linker would that had nothing
//! else: so that what is written for executables can read it, and its functions can
//! be executed.
//!
//! Each section keeps its name, its index and its content. What the file only refers
//! to is made: the address of an undefined symbol is that of code that traps, in the
//! section `.undefined`. Thread-local variables have no place; their offsets are 0.

mod aarch64;
mod amd64;
mod howto;
mod layout;
mod module;
mod psabi;
mod relocate;
mod s390x;
mod symbols;
#[cfg(test)]
mod tests;
mod write;

use std::borrow::Cow;

use object::elf::{
    ET_REL, PF_X, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHN_ABS, SHN_LORESERVE, SHT_CREL, SHT_GROUP,
    SHT_NOBITS, SHT_NULL, SHT_PROGBITS, SHT_REL, SHT_RELA, SectionFlags, SectionHeader64, SymbolSection,
};
use object::pod::bytes_of_slice;
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{Endianness, Object as _, ObjectSection as _, U32, U64};

use crate::abi::abi_of;
use crate::bounded::{self, File, FileSection, SharedBytes, Tables};
use crate::relocatable::SframeStarts;
use crate::source::Source;
use crate::unknown_symbol::UnknownSymbol;
use layout::{Layout, Part, Place, Placement};
pub use module::{
    EqualStart, LoadedModule, LookUps, Module, ModuleError, ModuleFdes, ModulePart, load_module,
};
use psabi::Psabi;
use relocate::{Addresses, Counted, Got};
pub use relocate::{Reason, Unapplied};
use symbols::{Definition, Made, STUB, Symbols};
use write::Section;

/// Why no executable can be made of a relocatable file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// Its tables can't be read.
    #[error("the section and symbol tables can't be read: {0}")]
    Object(#[from] object::Error),
    /// They would take too long to read.
    #[error(transparent)]
    SharedBytes(#[from] SharedBytes),
    /// It is for another machine.
    #[error("the file is for a machine that SFrame does not know")]
    Machine,
    /// There are too many sections for the fields that count them.
    #[error("the file has too many sections")]
    TooManySections,
    /// The sections are too large, or their alignments.
    #[error("the sections don't fit in a gigabyte, or their alignments need far more than the file has")]
    NoRoom,
    /// A relocation has no place.
    #[error("a relocation of {section} at offset {offset:#x} lies outside the section")]
    Relocation {
        /// The section.
        section: String,
        /// The offset in it.
        offset: u64,
    },
    /// A relocation names a symbol that is not there.
    #[error(transparent)]
    Symbol(#[from] UnknownSymbol),
}

/// An executable that was made of a relocatable file.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The executable, for fixed addresses. Its entry point is the start of its first
    /// section with code.
    pub file: Vec<u8>,
    /// The relocations that were not applied.
    pub unapplied: Vec<Unapplied>,
}

/// The maximum size of an executable, as a multiple of the relocatable file's.
const SHARE: u64 = 16;
/// And this many bytes more.
const SPARE: u64 = 1 << 24;

/// Makes an executable of a relocatable file. Returns `None` if the file is not
/// relocatable.
///
/// # Errors
/// The file is malformed or too large, or not for a known machine.
pub fn link<'a>(source: impl Into<Source<'a>>) -> Result<Option<Linked>, LinkError> {
    link_to(source.into(), Placement::PROGRAM)
}

fn link_to(source: Source<'_>, placement: Placement) -> Result<Option<Linked>, LinkError> {
    let tables = bounded::tables::<LinkError>(source)?;
    if tables.header.e_type(tables.endian) != ET_REL {
        return Ok(None);
    }
    let elf = bounded::open::<LinkError>(source)?;
    let psabi = Psabi::of(abi_of(&elf).ok_or(LinkError::Machine)?);
    let symbols = Symbols::read(elf.elf_symbol_table(), tables.endian)?.ok_or(LinkError::NoRoom)?;
    let mut got = Got { is_needed: symbols.names_got, ..Got::default() };
    for section in elf.sections() {
        relocate::of_section(&elf, &section, psabi).flatten().for_each(|relocation| got.add(&relocation));
    }
    let count = tables.sections.len();
    let lens = [symbols.undefined_len, got.len(), symbols.common_len];
    let made: Vec<(Made, u64)> = Made::ALL.into_iter().zip(lens).filter(|(_, len)| *len > 0).collect();
    if count + made.len() >= usize::from(SHN_LORESERVE) {
        return Err(LinkError::TooManySections);
    }
    let limit = source.len().saturating_mul(SHARE).saturating_add(SPARE);
    let endian = tables.endian;
    let is_init = |header| tables.sections.section_name(endian, header).is_ok_and(module::is_init);
    let parts: Vec<Option<Part>> = tables
        .sections
        .iter()
        .map(|header| part(header, endian, is_init(header)))
        .chain(made.iter().map(|(made, len)| Some(made_part(*made, *len, &symbols))))
        .collect();
    UnknownSymbol::check(&elf)?;
    let layout = layout::lay_out(&parts, placement, limit).ok_or(LinkError::NoRoom)?;
    Linker { tables, elf: &elf, psabi, symbols, got, made, layout }.executable(limit).map(Some)
}

/// Returns how a section is loaded, if it is.
fn part(header: &SectionHeader64<Endianness>, endian: Endianness, is_init: bool) -> Option<Part> {
    let flags = header.sh_flags(endian);
    flags.contains(SHF_ALLOC).then(|| Part {
        size: header.sh_size(endian),
        alignment: header.sh_addralign(endian),
        has_content: header.sh_type(endian) != SHT_NOBITS,
        is_code: flags.contains(SHF_EXECINSTR),
        is_writable: flags.contains(SHF_WRITE),
        is_init,
    })
}

fn made_part(made: Made, size: u64, symbols: &Symbols) -> Part {
    Part {
        size,
        alignment: if made == Made::Common { symbols.common_alignment } else { 16 },
        has_content: made != Made::Common,
        is_code: made == Made::Undefined,
        is_writable: made != Made::Undefined,
        is_init: false,
    }
}

/// A relocatable file, and where its parts go.
struct Linker<'a, 'f> {
    tables: Tables<'a>,
    elf: &'f File<'a>,
    psabi: Psabi,
    symbols: Symbols,
    got: Got,
    /// The made sections, which follow those of the file, with their sizes.
    made: Vec<(Made, u64)>,
    layout: Layout,
}

impl<'a> Linker<'a, '_> {
    /// Returns the executable, if it is not larger than a limit.
    fn executable(self, limit: u64) -> Result<Linked, LinkError> {
        let endian = self.tables.endian;
        let symbols = self.symbol_addresses();
        let addresses = Addresses {
            symbols: &symbols,
            got: self.address_of(self.index_of(Made::Got)),
            entries: &self.got.entries,
        };
        let mut sections = self.sections(&symbols)?;
        let image = write::image(endian, &mut sections, &self.layout, self.psabi.stub[STUB - 1], limit);
        let mut file = image.ok_or(LinkError::NoRoom)?;
        let mut unapplied = Counted::new(self.elf.elf_header().e_machine(endian));
        for section in self.elf.sections() {
            let index = section.index().0;
            let Some(Section { header, content }) = sections.get(index) else { continue };
            let place = Place { address: self.address_of(index), offset: header.sh_offset(endian) };
            self.relocate(&section, &addresses, (place, content.len()), &mut file, &mut unapplied)?;
        }
        let code = self.layout.segments.first().filter(|segment| segment.flags.contains(PF_X));
        let entry = code.map_or(0, |segment| segment.place.address);
        let sframe = self.tables.sframe_sections().next().map(|(index, _)| index.0);
        write::headers(&mut file, self.tables.header, &sections, &self.layout, (entry, sframe));
        Ok(Linked { file, unapplied: unapplied.finish() })
    }

    /// Returns the index of a made section.
    fn index_of(&self, made: Made) -> usize {
        let position = self.made.iter().position(|(other, _)| *other == made);
        position.map_or(usize::MAX, |position| self.tables.sections.len() + position)
    }

    /// Returns the address of a section, or 0 if it is not loaded.
    fn address_of(&self, index: usize) -> u64 {
        self.layout.places.get(index).copied().flatten().map_or(0, |place| place.address)
    }

    /// Returns the address and the size of each symbol.
    fn symbol_addresses(&self) -> Vec<(u64, u64)> {
        let address = |definition: &Definition| match *definition {
            Definition::Absolute(address) => address,
            Definition::Section(index, offset) => self.address_of(index).wrapping_add(offset),
            Definition::Made(made, offset) => self.address_of(self.index_of(made)).wrapping_add(offset),
        };
        let sizes = self.elf.elf_symbol_table().iter().map(|symbol| symbol.st_size(self.tables.endian));
        self.symbols.definitions.iter().map(address).zip(sizes).collect()
    }

    /// Returns all sections, with their contents before relocation.
    fn sections(&self, symbols: &[(u64, u64)]) -> Result<Vec<Section<'a>>, LinkError> {
        let Tables { endian, source, sections: table, header, .. } = self.tables;
        let symbol_table = self.elf.elf_symbol_table();
        let mut sections = Vec::new();
        for (index, header) in table.enumerate() {
            let mut section = Section { header: *header, content: Cow::Borrowed(&[]) };
            match header.sh_type(endian) {
                // They have no meaning any more.
                SHT_NULL | SHT_REL | SHT_RELA | SHT_CREL | SHT_GROUP => section.header = null(endian),
                SHT_NOBITS => {}
                _ if index == symbol_table.section() => section.content = Cow::Owned(self.linked(symbols)),
                _ => section.content = Cow::Borrowed(header.data(endian, source)?),
            }
            section.header.sh_addr.set(endian, self.address_of(index.0));
            sections.push(section);
        }
        let names_index = header.shstrndx(endian, source).map_or(0, |index| index as usize);
        let mut names = sections.get(names_index).map(|names| names.content.to_vec()).unwrap_or_default();
        let without = names.len();
        for (made, len) in &self.made {
            let mut made_header = null(endian);
            made_header.sh_name.set(endian, u32::try_from(names.len()).unwrap_or(0));
            names.extend(made.name().bytes().chain([0]));
            let part = made_part(*made, *len, &self.symbols);
            let flags = if part.is_code { SHF_EXECINSTR } else { SHF_WRITE };
            made_header.sh_type.set(endian, if part.has_content { SHT_PROGBITS } else { SHT_NOBITS });
            made_header.sh_flags.set(endian, SHF_ALLOC | flags);
            made_header.sh_addr.set(endian, self.address_of(self.index_of(*made)));
            made_header.sh_size.set(endian, *len);
            made_header.sh_addralign.set(endian, part.alignment);
            let content = match made {
                Made::Undefined => self.psabi.stub.repeat(usize::try_from(*len).unwrap_or(0) / STUB),
                Made::Got => self.got.content(symbols, endian),
                Made::Common => Vec::new(),
            };
            sections.push(Section { header: made_header, content: Cow::Owned(content) });
        }
        if let Some(section) = sections.get_mut(names_index).filter(|_| without > 0) {
            section.header.sh_size.set(endian, names.len() as u64);
            section.content = Cow::Owned(names);
        }
        Ok(sections)
    }

    /// Returns the symbol table with addresses.
    fn linked(&self, symbols: &[(u64, u64)]) -> Vec<u8> {
        let table = self.elf.elf_symbol_table();
        let index = |made| SymbolSection(u16::try_from(self.index_of(made)).unwrap_or(SHN_ABS.0));
        let all = table.iter().zip(&self.symbols.definitions).zip(symbols);
        let linked = all.map(|((symbol, definition), (address, _))| {
            symbols::linked(symbol, self.tables.endian, *definition, *address, index)
        });
        bytes_of_slice(&linked.collect::<Vec<_>>()).to_vec()
    }

    /// Applies the relocations of a section, whose content has a place and a length.
    fn relocate(
        &self,
        section: &FileSection<'a, '_>,
        addresses: &Addresses<'_>,
        (place, len): (Place, usize),
        file: &mut [u8],
        unapplied: &mut Counted,
    ) -> Result<(), LinkError> {
        let end = usize::try_from(place.offset).unwrap_or(usize::MAX).saturating_add(len);
        let is_sframe = self.tables.is_sframe(section.elf_section_header());
        let starts = section.data().ok().filter(|_| is_sframe).and_then(SframeStarts::of);
        for relocation in relocate::of_section(self.elf, section, self.psabi) {
            let relocation = match relocation {
                Ok(relocation) => relocation,
                Err((number, reason)) => {
                    unapplied.add(number, reason);
                    continue;
                }
            };
            let offset = relocation.offset;
            let from = starts.as_ref().map_or(Some(offset), |starts| starts.origin(offset));
            let Some(from) = from else { continue };
            let outside = || {
                let section = section.name().unwrap_or_default().to_owned();
                LinkError::Relocation { section, offset }
            };
            let start = place.offset.checked_add(offset).and_then(|start| usize::try_from(start).ok());
            let bytes = start.and_then(|start| file.get_mut(start..end)).ok_or_else(outside)?;
            let origin = place.address.wrapping_add(from);
            if let Err((number, reason)) =
                relocation.apply(self.psabi.orders, addresses, origin, bytes).ok_or_else(outside)?
            {
                unapplied.add(number, reason);
            }
        }
        Ok(())
    }
}

/// Returns the header of no section.
fn null(endian: Endianness) -> SectionHeader64<Endianness> {
    SectionHeader64 {
        sh_name: U32::new(endian, 0),
        sh_type: U32::new(endian, SHT_NULL),
        sh_flags: U64::new(endian, SectionFlags(0)),
        sh_addr: U64::new(endian, 0),
        sh_offset: U64::new(endian, 0),
        sh_size: U64::new(endian, 0),
        sh_link: U32::new(endian, 0),
        sh_info: U32::new(endian, 0),
        sh_addralign: U64::new(endian, 0),
        sh_entsize: U64::new(endian, 0),
    }
}
