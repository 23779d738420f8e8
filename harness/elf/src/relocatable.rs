//! Lays out relocatable files as if they were linked: loaded sections get distinct
//! addresses, and the tables that describe code are relocated.

use std::collections::BTreeMap;

use object::elf::{
    ET_REL, SHF_ALLOC, SHF_COMPRESSED, SHN_ABS, SHN_UNDEF, SHT_DYNSYM, SHT_NOBITS, SHT_SYMTAB,
    SectionHeader64, Sym64,
};
use object::pod::bytes_of;
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationKind, RelocationTarget,
    SectionIndex, U64,
};
use sframe_engine::Section as Sframe;

use crate::abi::{is_nothing, pc_relative_width};
use crate::bounded::{self, File, FileSection, SharedBytes};
use crate::merge_faults::{StartField, start_fields};
use crate::source::Source;
use crate::unknown_symbol::UnknownSymbol;

/// Why a relocatable file can't be laid out.
#[derive(Debug, thiserror::Error)]
pub enum RelocationError {
    /// Its tables can't be read.
    #[error("the section and symbol tables can't be read: {0}")]
    Object(#[from] object::Error),
    /// They would take too long to read.
    #[error(transparent)]
    SharedBytes(#[from] SharedBytes),
    /// The file shrank while it was read, or its disk failed.
    #[error("the file can't be read to its end")]
    Unreadable,
    /// The sections together exceed the address space.
    #[error("the sections don't fit in a 64-bit address space")]
    NoRoom,
    /// A relocation that these tables do not need, or an invalid one.
    #[error("a relocation of {section} at offset {offset:#x} can't be applied")]
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

/// The address of the first section: not 0, which stands for discarded code.
const BASE: u64 = 0x1_0000;

/// Returns the file with its sections at disjoint addresses, symbols to match, and
/// `.sframe`, `.eh_frame` and `.debug_frame` relocated; in `.sframe`, only the
/// starts of FDEs. Returns `None` if the file is not relocatable.
///
/// # Errors
/// The tables or a relocation can't be used.
pub fn lay_out(source: Source<'_>) -> Result<Option<Vec<u8>>, RelocationError> {
    let tables = bounded::tables::<RelocationError>(source)?;
    let endian = tables.endian;
    if tables.header.e_type(endian) != ET_REL {
        return Ok(None);
    }
    let mut file = source.all().ok_or(RelocationError::Unreadable)?.into_owned();
    let elf = bounded::open::<RelocationError>(source)?;
    let addresses = addresses(&elf)?;
    let headers = elf.elf_header().e_shoff(endian);
    for (index, address) in addresses.iter().enumerate() {
        let header = at(headers, index, size_of::<SectionHeader64<Endianness>>());
        put(
            &mut file,
            header.and_then(|header| header.checked_add(16)),
            bytes_of(&U64::new(endian, *address)),
        );
    }
    move_symbols(&elf, &addresses, &mut file)?;
    UnknownSymbol::check(&elf)?;
    for section in elf.sections() {
        let header = section.elf_section_header();
        let is_sframe = tables.is_sframe(header);
        let is_cfi = matches!(section.name(), Ok(".eh_frame" | ".debug_frame"));
        // In compressed sections, relocation offsets don't match.
        if (is_sframe || is_cfi) && !header.sh_flags(endian).contains(SHF_COMPRESSED) {
            relocate(&elf, &section, is_sframe, &addresses, &mut file)?;
        }
    }
    Ok(Some(file))
}

/// Returns an address for each section, by index; 0 if it is not loaded.
fn addresses(elf: &File<'_>) -> Result<Vec<u64>, RelocationError> {
    let endian = elf.endian();
    let mut next = BASE;
    let mut place = |header: &SectionHeader64<Endianness>| -> Option<u64> {
        let alignment = header.sh_addralign(endian).max(1);
        let address = next.checked_next_multiple_of(alignment)?;
        // Leaves a gap so that functions of different sections never meet.
        next = address.checked_add(header.sh_size(endian))?.checked_add(16)?;
        Some(address)
    };
    let sections = elf.elf_section_table();
    let mut addresses = vec![0; sections.len()];
    // Sections without content come last: they may be larger than 32-bit offsets can reach.
    for is_content in [true, false] {
        for (index, header) in sections.iter().enumerate() {
            let has_content = header.sh_type(endian) != SHT_NOBITS;
            if has_content == is_content && header.sh_flags(endian).contains(SHF_ALLOC) {
                addresses[index] = place(header).ok_or(RelocationError::NoRoom)?;
            }
        }
    }
    Ok(addresses)
}

fn move_symbols(elf: &File<'_>, addresses: &[u64], file: &mut [u8]) -> Result<(), RelocationError> {
    let endian = elf.endian();
    for section in elf.elf_section_table().iter() {
        let kind = section.sh_type(endian);
        if kind != SHT_SYMTAB && kind != SHT_DYNSYM {
            continue;
        }
        let symbols =
            if kind == SHT_SYMTAB { elf.elf_symbol_table() } else { elf.elf_dynamic_symbol_table() };
        for (index, symbol) in symbols.enumerate() {
            let Some(section_index) = symbols.symbol_section(endian, symbol, index)? else { continue };
            let Some(address) = addresses.get(section_index.0) else { continue };
            let value = symbol.st_value(endian).wrapping_add(*address);
            let entry = at(section.sh_offset(endian), index.0, size_of::<Sym64<Endianness>>());
            put(file, entry.and_then(|entry| entry.checked_add(8)), bytes_of(&U64::new(endian, value)));
        }
    }
    Ok(())
}

/// Applies the relocations of a section.
fn relocate(
    elf: &File<'_>,
    section: &FileSection<'_, '_>,
    is_sframe: bool,
    addresses: &[u64],
    file: &mut [u8],
) -> Result<(), RelocationError> {
    let Some((start, size)) = section.file_range() else { return Ok(()) };
    let address_of = |index: SectionIndex| addresses.get(index.0).copied().unwrap_or(0);
    let own = address_of(section.index());
    let starts = section.data().ok().filter(|_| is_sframe).and_then(SframeStarts::of);
    let machine = elf.elf_header().e_machine(elf.endian());
    for (offset, relocation) in section.relocations() {
        let r_type = match relocation.flags() {
            RelocationFlags::Elf { r_type } => Some(r_type),
            _ => None,
        };
        // Linkers that write relocatable files leave it where they have discarded the code.
        if r_type.is_some_and(|r_type| is_nothing(machine, r_type)) {
            continue;
        }
        let from = starts.as_ref().map_or(Some(offset), |starts| starts.origin(offset));
        let Some(from) = from else { continue };
        let unusable = || {
            let section = section.name().unwrap_or_default().to_owned();
            RelocationError::Relocation { section, offset }
        };
        let symbol = match relocation.target() {
            RelocationTarget::Symbol(index) => elf.symbol_by_index(index)?,
            _ => return Err(unusable()),
        };
        // An undefined function has no rules.
        if symbol.elf_symbol().st_shndx(elf.endian()) == SHN_UNDEF {
            continue;
        }
        let is_absolute = symbol.elf_symbol().st_shndx(elf.endian()) == SHN_ABS;
        let base = symbol.section_index().filter(|_| !is_absolute).map_or(0, address_of);
        let target = symbol.address().wrapping_add(base).wrapping_add_signed(relocation.addend());
        // `object` does not know all the relative ones.
        let relative = r_type.and_then(|r_type| pc_relative_width(machine, r_type));
        let origin = own.wrapping_add(from);
        let (value, width) = match (relative, relocation.kind()) {
            (Some(width), _) => (target.wrapping_sub(origin), width),
            (None, RelocationKind::Absolute) => (target, usize::from(relocation.size() / 8)),
            _ => return Err(unusable()),
        };
        let end = offset.checked_add(width as u64).filter(|end| *end <= size);
        if relocation.has_implicit_addend() || !matches!(width, 4 | 8) || end.is_none() {
            return Err(unusable());
        }
        let bytes = match elf.endian() {
            Endianness::Little => value.to_le_bytes(),
            Endianness::Big => value.to_be_bytes(),
        };
        let bytes = if elf.is_little_endian() { &bytes[..width] } else { &bytes[8 - width..] };
        put(file, start.checked_add(offset), bytes);
    }
    Ok(())
}

/// The fields of an `.sframe` section that a linker relocates: the starts of FDEs.
pub struct SframeStarts {
    fields: BTreeMap<u64, StartField>,
    from_section: bool,
}

impl SframeStarts {
    /// Returns those of a section; `None` if it can't be read.
    pub fn of(section: &[u8]) -> Option<Self> {
        let read = Sframe::parse(section, 0).ok()?;
        Some(Self { fields: start_fields(&read), from_section: !read.header().start_is_pcrel() })
    }

    /// Returns the offset that the start at an offset is relative to. `None` if there is
    /// no start: a relocation there would overwrite rows.
    ///
    /// Starts without the flag are relative to the section, though assemblers relocate
    /// them relative to themselves, and linkers correct that.
    pub fn origin(&self, offset: u64) -> Option<u64> {
        let field = self.fields.get(&offset)?;
        Some(if self.from_section { field.section } else { offset })
    }
}

fn at(table: u64, index: usize, size: usize) -> Option<u64> {
    table.checked_add((index as u64).checked_mul(size as u64)?)
}

/// Overwrites bytes that are within the file.
fn put(file: &mut [u8], offset: Option<u64>, bytes: &[u8]) {
    let place = offset.and_then(|offset| {
        let offset = usize::try_from(offset).ok()?;
        file.get_mut(offset..)?.get_mut(..bytes.len())
    });
    if let Some(place) = place {
        place.copy_from_slice(bytes);
    }
}
