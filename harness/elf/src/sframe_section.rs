//! The section of a file: the `.sframe` section of an ELF file, relocated if
//! necessary, or a file that is itself a section.

use std::borrow::Cow;
use std::collections::BTreeMap;

use object::elf::ET_REL;
use object::read::elf::FileHeader;
use object::{
    Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget as Target, SectionIndex,
};
use sframe_engine::Header;

use crate::abi::{format_of, pc_relative_width};
use crate::bounded::{self, Allowance, File};
use crate::find_sframe::{MissingSection, SectionError};
use crate::object_file::ObjectFileError;
use crate::source::Source;
use crate::unknown_symbol::UnknownSymbol;

/// Why a file has no section to dump.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It is neither an ELF file nor a section.
    #[error("this is neither an ELF file nor an SFrame section: {0}")]
    Unknown(sframe_engine::Error),
    /// The file shrank while it was read, or its disk failed.
    #[error("the file can't be read to its end")]
    Unreadable,
    /// Its tables can't be read.
    #[error(transparent)]
    ObjectFile(#[from] ObjectFileError),
    /// It is for a machine that SFrame does not know.
    #[error("the ELF file is for machine {0}, not for amd64, aarch64 or s390x")]
    Machine(u16),
    /// There is no `.sframe` section.
    #[error(transparent)]
    NoSection(#[from] MissingSection),
    /// The section exists, but can't be decoded at all.
    #[error(transparent)]
    Section(#[from] SectionError),
    /// An address was given, but the section already has one.
    #[error("an address can be given for raw sections only; an ELF file has its own")]
    AddressOfElf,
}

/// Preamble, header and the longest auxiliary header together are shorter.
const LONGEST_HEADER: u64 = 512;

/// What kind of file the section comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// An ELF file, with binutils' name for the format.
    Elf(&'static str),
    /// The section alone.
    Raw,
}

/// What the relocation of a function's start address refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelocationTarget {
    /// The section or symbol.
    pub name: String,
    /// Offset from it, in bytes.
    pub addend: i64,
}

/// A section to dump.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The kind of the file.
    pub format: FileFormat,
    /// The section's bytes, relocated if the file is relocatable. Those of version
    /// 1 are not: binutils 2.40 does not relocate them either.
    pub data: Cow<'a, [u8]>,
    /// The address at which they are loaded.
    pub address: u64,
    /// Relocations by their offset in the section. Empty in linked files.
    pub relocations: BTreeMap<u64, RelocationTarget>,
}

impl<'a> Input<'a> {
    /// Finds the section of a file. `address` is the load address of a raw section.
    ///
    /// # Errors
    /// The file has no section, or the section's preamble and header can't be read.
    pub fn open(source: impl Into<Source<'a>>, address: Option<u64>) -> Result<Self, InputError> {
        let source = source.into();
        if !source.starts_with(&object::elf::ELFMAG) {
            let start = source.bytes(0..source.len().min(LONGEST_HEADER)).ok_or(InputError::Unreadable)?;
            Header::parse(start).map_err(InputError::Unknown)?;
            return Ok(Self {
                format: FileFormat::Raw,
                data: source.all().ok_or(InputError::Unreadable)?,
                address: address.unwrap_or(0),
                relocations: BTreeMap::new(),
            });
        }
        if address.is_some() {
            return Err(InputError::AddressOfElf);
        }
        let tables = bounded::tables::<ObjectFileError>(source)?;
        let machine = tables.header.e_machine(tables.endian);
        let format = format_of(machine, tables.endian).ok_or(InputError::Machine(machine.0))?;
        let sframe = tables.sframe().map_err(ObjectFileError::from)?;
        let (sframe, index) = sframe.ok_or_else(|| tables.missing_sframe())?;
        let section = Header::parse(sframe.data).map_err(|source| sframe.malformed(source))?;
        let mut input = Self {
            format: FileFormat::Elf(format),
            data: Cow::Borrowed(sframe.data),
            address: sframe.address,
            relocations: BTreeMap::new(),
        };
        if let (ET_REL, Some(index)) = (tables.header.e_type(tables.endian), index) {
            let elf = bounded::open::<ObjectFileError>(source)?;
            UnknownSymbol::check(&elf).map_err(ObjectFileError::from)?;
            input.relocate(&elf, index, section.version.has_pcrel_starts())?;
        }
        Ok(input)
    }

    /// Records the relocations of the section, and, if `apply` is set, applies
    /// those that are relative to their place. Sections are at their own addresses:
    /// 0 in assemblers' output.
    fn relocate(&mut self, elf: &File<'_>, index: SectionIndex, apply: bool) -> Result<(), ObjectFileError> {
        let mut names = Allowance::new("names of relocations", elf.data().len());
        let machine = elf.elf_header().e_machine(elf.endian());
        for (offset, relocation) in elf.section_by_index(index)?.relocations() {
            let Target::Symbol(index) = relocation.target() else { continue };
            let Ok(symbol) = elf.symbol_by_index(index) else { continue };
            let of_section = symbol.section_index().and_then(|index| elf.section_by_index(index).ok());
            let name = match (symbol.name(), &of_section) {
                (Ok(name), _) if !name.is_empty() => name.to_owned(),
                (_, Some(section)) => section.name().unwrap_or_default().to_owned(),
                _ => String::new(),
            };
            names.take(name.len() as u64)?;
            self.relocations.insert(offset, RelocationTarget { name, addend: relocation.addend() });
            let width = match relocation.flags() {
                RelocationFlags::Elf { r_type } if apply => pc_relative_width(machine, r_type),
                _ => None,
            };
            let Some(width) = width else { continue };
            let place = self.address.wrapping_add(offset);
            let value = symbol.address().wrapping_add_signed(relocation.addend()).wrapping_sub(place);
            let little = elf.is_little_endian();
            let bytes = if little { value.to_le_bytes() } else { value.to_be_bytes() };
            let Some(value) = bytes.get(if little { 0..width } else { 8 - width..8 }) else { continue };
            let field = usize::try_from(offset)
                .ok()
                .and_then(|offset| self.data.to_mut().get_mut(offset..)?.get_mut(..width));
            if let Some(field) = field {
                field.copy_from_slice(value);
            }
        }
        Ok(())
    }
}
