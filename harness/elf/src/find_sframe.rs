//! The rule for finding the SFrame section of a file.

use object::elf::{PT_GNU_SFRAME, ProgramHeader64, SHT_GNU_SFRAME, SHT_NOBITS, SectionHeader64};
use object::read::elf::{ProgramHeader, SectionHeader};
use object::{Endianness, SectionIndex};
use sframe_engine::{Abi, Section};

use crate::bounded::{self, SharedBytes, Tables};
use crate::source::Source;

/// The name of the section.
pub const NAME: &[u8] = b".sframe";

/// Why a file has no section to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingSection {
    /// It has no such section.
    #[error("there is no .sframe section")]
    Absent,
    /// It has one, but its contents are in another file: this one is for debuggers
    /// (`objcopy --only-keep-debug`).
    #[error("the .sframe section has no contents in this file, as in separate debug files")]
    NoContents,
}

/// Why the tables of a file do not show where its section is.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// `object` rejects them.
    #[error(transparent)]
    Object(#[from] object::Error),
    /// They take too long to read.
    #[error(transparent)]
    SharedBytes(#[from] SharedBytes),
    /// They contradict the file.
    #[error(transparent)]
    OutsideFile(#[from] OutsideFile),
}

/// The position of a section or a segment is outside the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the .sframe section lies outside the file")]
pub struct OutsideFile;

/// A section's bytes, and the address at which they are loaded, without load bias.
#[derive(Clone, Copy, Debug)]
pub struct SectionBytes<'a> {
    /// The bytes.
    pub data: &'a [u8],
    /// The address.
    pub address: u64,
}

/// Why a section that was found can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SectionError {
    /// Its header is malformed; nothing can be looked up.
    #[error("the .sframe section ({len} bytes at {address:#x}) can't be used: {source}")]
    Malformed {
        /// Its length in bytes.
        len: usize,
        /// Its address, without load bias.
        address: u64,
        /// The fault.
        source: sframe_engine::Error,
    },
    /// It is for another ABI than the file.
    #[error("the .sframe section is for {section}, the file for {file}")]
    WrongAbi {
        /// The section's ABI.
        section: Abi,
        /// The file's ABI.
        file: Abi,
    },
}

impl<'a> SectionBytes<'a> {
    /// Opens the section of a file for an ABI, `bias` past its address.
    ///
    /// # Errors
    /// Its header is malformed, or it is for another ABI.
    pub fn open(self, bias: u64, file: Abi) -> Result<Section<'a>, SectionError> {
        let opened = Section::parse(self.data, self.address.wrapping_add(bias));
        let section = opened.map_err(|source| self.malformed(source))?;
        match section.header().abi {
            abi if abi == file => Ok(section),
            abi => Err(SectionError::WrongAbi { section: abi, file }),
        }
    }

    /// Returns the error for a malformed header.
    #[must_use]
    pub const fn malformed(self, source: sframe_engine::Error) -> SectionError {
        SectionError::Malformed { len: self.data.len(), address: self.address, source }
    }
}

/// Which segments count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segments {
    /// Those with contents in the file.
    InFile,
    /// Also those with memory only, as in separate debug files.
    All,
}

/// Returns the SFrame section of a file, if it has one.
///
/// # Errors
/// The tables are malformed.
pub fn find_sframe<'a>(source: impl Into<Source<'a>>) -> Result<Option<SectionBytes<'a>>, FindError> {
    let found = bounded::tables::<FindError>(source.into())?.sframe()?;
    Ok(found.map(|(section, _)| section))
}

/// The rule. A section is an SFrame section by its type, whatever its name; or by
/// its name, if it has contents in this file: GNU as before 2.45 writes
/// `SHT_PROGBITS`, and a `SHT_NOBITS` section has its contents elsewhere. The first
/// such section is used. If no section has it, for example because the section table is
/// stripped, the first `PT_GNU_SFRAME` segment with contents in the file gives the
/// position.
impl<'a> Tables<'a> {
    /// Returns the section, with its index if it is in the section table.
    pub fn sframe(&self) -> Result<Option<(SectionBytes<'a>, Option<SectionIndex>)>, OutsideFile> {
        if let Some((index, section)) = self.sframe_sections().next() {
            return Ok(Some((self.bytes_of_section(section)?, Some(index))));
        }
        let segment = self.sframe_segments(Segments::InFile).next();
        segment.map(|(_, segment)| Ok((self.bytes_of_segment(segment)?, None))).transpose()
    }

    /// Returns all sections that match.
    pub fn sframe_sections(&self) -> impl Iterator<Item = (SectionIndex, &'a SectionHeader64<Endianness>)> {
        self.named_sections().filter(|(_, section)| self.is_sframe(section))
    }

    /// The first entry of the table is not a section.
    fn named_sections(&self) -> impl Iterator<Item = (SectionIndex, &'a SectionHeader64<Endianness>)> {
        self.sections.enumerate().skip(1)
    }

    /// Whether a section matches.
    pub fn is_sframe(&self, section: &SectionHeader64<Endianness>) -> bool {
        match section.sh_type(self.endian) {
            SHT_GNU_SFRAME => true,
            SHT_NOBITS => false,
            _ => self.is_named(section),
        }
    }

    fn is_named(&self, section: &SectionHeader64<Endianness>) -> bool {
        self.sections.section_name(self.endian, section) == Ok(NAME)
    }

    /// Returns all segments of the type, with their indices in the table.
    pub fn sframe_segments(
        &self,
        which: Segments,
    ) -> impl Iterator<Item = (usize, &'a ProgramHeader64<Endianness>)> {
        let endian = self.endian;
        self.segments.iter().enumerate().filter(move |(_, segment)| {
            let is_it = segment.p_type(endian) == PT_GNU_SFRAME;
            is_it && (which == Segments::All || !lacks_contents(segment, endian))
        })
    }

    /// Returns the bytes of a section, with its address.
    pub fn bytes_of_section(
        &self,
        section: &SectionHeader64<Endianness>,
    ) -> Result<SectionBytes<'a>, OutsideFile> {
        let data = section.data(self.endian, self.source).map_err(|_| OutsideFile)?;
        Ok(SectionBytes { data, address: section.sh_addr(self.endian) })
    }

    /// Returns the bytes of a segment, with its address.
    pub fn bytes_of_segment(
        &self,
        segment: &ProgramHeader64<Endianness>,
    ) -> Result<SectionBytes<'a>, OutsideFile> {
        let data = segment.data(self.endian, self.source).map_err(|()| OutsideFile)?;
        Ok(SectionBytes { data, address: segment.p_vaddr(self.endian) })
    }

    /// Returns why a file has no section to read.
    pub fn missing_sframe(&self) -> MissingSection {
        let endian = self.endian;
        let is_empty = |(_, section): (SectionIndex, &SectionHeader64<Endianness>)| {
            section.sh_type(endian) == SHT_NOBITS && self.is_named(section)
        };
        let has_empty_segment =
            self.sframe_segments(Segments::All).any(|(_, segment)| lacks_contents(segment, endian));
        if self.named_sections().any(is_empty) || has_empty_segment {
            MissingSection::NoContents
        } else {
            MissingSection::Absent
        }
    }
}

/// Whether a segment has memory, but no bytes in the file.
fn lacks_contents(header: &ProgramHeader64<Endianness>, endian: Endianness) -> bool {
    header.p_filesz(endian) == 0 && header.p_memsz(endian) > 0
}
