//! A section in another version, byte order or layout, alone or in its file.

use object::elf::{SHT_GNU_SFRAME, SHT_PROGBITS, SectionType};
use sframe_engine::write::{self, Conversion, Target, WriteError};
use sframe_engine::{ByteOrder, Section, Version};

use crate::embed::{EmbedError, embed};
use crate::input::{FileFormat, Input, InputError};
use crate::layout::Layout;

/// What to convert to.
#[derive(Clone, Debug)]
pub struct Request {
    /// The version.
    pub version: Version,
    /// The order of the bytes; as it is, if not given.
    pub byte_order: Option<ByteOrder>,
    /// The layout.
    pub layout: Layout,
}

/// A section that has been converted, and its file.
#[derive(Debug)]
pub struct Converted<'a> {
    /// What became of it.
    pub conversion: Conversion,
    /// The number of functions that it had before.
    pub functions: usize,
    layout: write::Layout,
    file: &'a [u8],
    format: FileFormat,
    address: u64,
    byte_order: ByteOrder,
}

/// Why a section can't be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The file has no section.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The section is malformed.
    #[error(transparent)]
    Section(#[from] sframe_engine::Error),
    /// The section can't be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The section can't be put back.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// There is no file to put the section back into.
    #[error("the file is a section itself: there is no ELF file to put it back into")]
    NoElf,
    /// The section is no more one for its file.
    #[error("a section of the other byte order can't be put back into its ELF file")]
    ByteOrderOfFile,
}

impl Request {
    /// Converts the section of a file.
    ///
    /// # Errors
    /// There is no section, it is malformed, or it can't have the version or
    /// the byte order at all.
    pub fn convert<'a>(&self, file: &'a [u8]) -> Result<Converted<'a>, ConvertError> {
        let input = Input::open(file, None)?;
        let section = Section::parse(&input.data, input.address)?;
        let old_order = section.header().abi.byte_order();
        let byte_order = self.byte_order.unwrap_or(old_order);
        let owned = write::Section::from_read(&section)?;
        let mut conversion = owned.convert(Target { version: self.version, byte_order })?;
        let layout = self.layout.apply(&mut conversion.section);
        Ok(Converted {
            conversion,
            functions: owned.functions.len(),
            layout,
            file,
            format: input.format,
            address: input.address,
            byte_order: old_order,
        })
    }
}

impl Converted<'_> {
    /// The section's bytes, for the address of the old one.
    ///
    /// # Errors
    /// The version has no room for an address, or does not know what the layout asks for.
    pub fn section(&self) -> Result<Vec<u8>, ConvertError> {
        Ok(self.write(self.address)?)
    }

    fn write(&self, address: u64) -> Result<Vec<u8>, WriteError> {
        self.conversion.section.write_with(address, &self.layout)
    }

    /// The file, with the new section in place of the old one.
    ///
    /// # Errors
    /// As [`Self::section`]; and the file is no executable or shared library, or
    /// has no place for the section.
    pub fn file(&self) -> Result<Vec<u8>, ConvertError> {
        let section = &self.conversion.section;
        if self.format == FileFormat::Raw {
            return Err(ConvertError::NoElf);
        }
        if section.abi.byte_order() != self.byte_order {
            return Err(ConvertError::ByteOrderOfFile);
        }
        Ok(embed(self.file, section_type(section.version), |address| self.write(address))?)
    }
}

/// The type of the section in an ELF file: one of its own since version 2 errata 1 (1.3).
const fn section_type(version: Version) -> SectionType {
    match version {
        Version::V1 => SHT_PROGBITS,
        Version::V2 | Version::V3 => SHT_GNU_SFRAME,
    }
}
