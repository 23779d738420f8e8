//! Converts a section to another version, byte order or layout, or generates one
//! from call frame information, on its own or within its file.

pub mod from_cfi;
pub mod layout;

use std::ops::Range;

use object::elf::{ET_REL, PF_X, PT_LOAD, SHT_GNU_SFRAME, SHT_PROGBITS, SectionType};
use object::read::elf::{FileHeader, ProgramHeader};
use sframe_engine::constants::HEADER_SIZE;
use sframe_engine::write::{self, Target, WriteError, WriteErrorKind};
use sframe_engine::{ByteOrder, Section, Version};

use crate::convert::from_cfi::{Reason, RefusedRow, Synthesis, Synthesized, Unsupported};
use crate::convert::layout::Layout;
use sframe_elf::bounded::Tables;
use sframe_elf::cfi::CfiError;
use sframe_elf::debug_file::DebugFile;
use sframe_elf::object_file::ObjectFile;
use sframe_elf::replace_section::{EmbedError, address_of_new, embed};
use sframe_elf::sframe_section::{FileFormat, Input, InputError};
use sframe_elf::source::Source;

/// What to convert to.
#[derive(Clone, Debug)]
pub struct Request {
    /// The version.
    pub version: Version,
    /// The byte order; unchanged if `None`.
    pub byte_order: Option<ByteOrder>,
    /// The layout.
    pub layout: Layout,
}

/// A section that was converted, or generated from call frame information, and its
/// file.
#[derive(Debug)]
pub struct Converted<'a> {
    /// The section.
    pub section: write::Section,
    /// The number of functions to convert. An FDE of call frame information counts
    /// as several if others cut it, or a part of it repeats.
    pub functions: usize,
    /// What could not be converted. Functions are left out as a whole.
    pub left_out: Vec<Skipped>,
    /// The parts of call frame information that could not be read.
    pub errors: Vec<CfiError>,
    layout: write::Layout,
    file: Source<'a>,
    is_raw: bool,
    address: u64,
    byte_order: ByteOrder,
}

/// Why a function was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Address of the function.
    pub start: u64,
    /// Address past its end.
    pub end: u64,
    /// The row; `None` if the function itself can't be expressed.
    pub row: Option<SkippedRow>,
    /// What can't be expressed.
    pub reason: String,
    /// Whether the function's call frame information can't be read.
    pub is_unread: bool,
}

/// A row that can't be expressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedRow {
    /// Its index in the function.
    pub index: usize,
    /// Its first address.
    pub address: u64,
    /// Its rules as equations.
    pub rules: String,
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
    #[error("the file is a raw section: there is no ELF file to put the new one into")]
    NoElf,
    /// The call frame information of object files is not final: its addresses have
    /// yet to be relocated.
    #[error("this is a relocatable object; call frame information is taken from linked files only")]
    Relocatable,
    /// There is nothing to generate a section from.
    #[error("there is no call frame information in .eh_frame or .debug_frame")]
    NoCfi,
    /// None of the information can be read.
    #[error(transparent)]
    Cfi(#[from] CfiError),
    /// The section no longer matches its file.
    #[error("a section of the other byte order can't be put back into its ELF file")]
    ByteOrderOfFile,
}

impl Request {
    /// Converts the section of a file.
    ///
    /// # Errors
    /// There is no section, it is malformed, or it can't have the version or the
    /// byte order at all.
    pub fn convert<'a>(&self, file: impl Into<Source<'a>>) -> Result<Converted<'a>, ConvertError> {
        let file = file.into();
        let input = Input::open(file, None)?;
        let section = Section::parse(&input.data, input.address)?;
        let old_order = section.header().abi.byte_order();
        let byte_order = self.byte_order.unwrap_or(old_order);
        let owned = write::Section::from_read(&section)?;
        let mut conversion = owned.convert(Target { version: self.version, byte_order })?;
        let layout = self.layout.apply(&mut conversion.section)?;
        let left_out = conversion.left_out.iter().filter_map(|gone| {
            let function = owned.functions.get(gone.function)?;
            Some(gone.errors.iter().map(|error| Skipped::of_function(function, error.row, error.kind)))
        });
        let mut converted = Converted {
            section: conversion.section,
            functions: owned.functions.len(),
            left_out: left_out.flatten().collect(),
            errors: Vec::new(),
            layout,
            file,
            is_raw: input.format == FileFormat::Raw,
            address: input.address,
            byte_order: old_order,
        };
        if let Err(ConvertError::Write(error)) = converted.section()
            && matches!(error.kind, WriteErrorKind::StartOutOfReach(_))
        {
            converted.leave_out_of_reach();
        }
        Ok(converted)
    }

    /// Generates the section that the call frame information of an executable or a shared library implies: its
    /// `.eh_frame` and, of code that this says nothing of, its `.debug_frame`. Its address is that of the file's
    /// `.sframe` section or, if there is none, the one that it will get in the file.
    ///
    /// # Errors
    /// The file has no such information, none of it can be read, or the section
    /// can't have the version or the byte order at all.
    pub fn synthesize<'a>(&self, file: impl Into<Source<'a>>) -> Result<Converted<'a>, ConvertError> {
        self.imply(file.into(), None, None)
    }

    /// Does what [`Self::synthesize`] does, for any address: the section is used without putting it into the
    /// file, which may have no place for it. A separate debug file may have its `.debug_frame`.
    ///
    /// # Errors
    /// As for [`Self::synthesize`].
    pub fn synthesize_at<'a>(
        &self,
        file: impl Into<Source<'a>>,
        address: u64,
        debug: Option<&'a DebugFile>,
    ) -> Result<Converted<'a>, ConvertError> {
        self.imply(file.into(), Some(address), debug)
    }

    fn imply<'a>(
        &self,
        file: Source<'a>,
        address: Option<u64>,
        debug: Option<&'a DebugFile>,
    ) -> Result<Converted<'a>, ConvertError> {
        let subject = ObjectFile::parse_with(file, debug).map_err(InputError::from)?;
        let (machine, executable) = elf_facts(file)?;
        let abi = subject.abi().ok_or(InputError::Machine(machine))?;
        let cfi = subject.call_frame_info().ok_or(ConvertError::NoCfi)?;
        let implication = Synthesis {
            cfi: &cfi,
            abi,
            executable: &executable,
            version: self.version,
            byte_order: self.byte_order.unwrap_or(abi.byte_order()),
        };
        let Synthesized { mut section, fdes, left_out, errors } = implication.synthesize()?;
        if fdes == 0 {
            return Err(errors.into_iter().next().map_or(ConvertError::NoCfi, ConvertError::Cfi));
        }
        let layout = self.layout.apply(&mut section)?;
        let address = match (address, subject.sframe) {
            (Some(address), _) => address,
            (None, Some(sframe)) => sframe.address,
            (None, None) => address_of_new(file, HEADER_SIZE)?,
        };
        let mut converted = Converted {
            functions: section.functions.len() + left_out.len(),
            section,
            left_out: left_out.into_iter().flat_map(Skipped::of_cfi).collect(),
            errors,
            layout,
            file,
            is_raw: false,
            address,
            byte_order: abi.byte_order(),
        };
        converted.leave_out_of_reach();
        Ok(converted)
    }
}

/// Returns the machine of an ELF file, and the addresses of its executable segments.
fn elf_facts(file: Source<'_>) -> Result<(u16, Vec<Range<u64>>), ConvertError> {
    let Tables { endian, header, segments, .. } = Tables::parse(file).map_err(EmbedError::from)?;
    if header.e_type(endian) == ET_REL {
        return Err(ConvertError::Relocatable);
    }
    let executable = segments
        .iter()
        .filter(|segment| segment.p_type(endian) == PT_LOAD && segment.p_flags(endian).contains(PF_X))
        .map(|segment| {
            let start = segment.p_vaddr(endian);
            start..start.saturating_add(segment.p_memsz(endian))
        });
    Ok((header.e_machine(endian).0, executable.collect()))
}

impl Skipped {
    fn of_function(function: &write::Function, row: Option<usize>, kind: WriteErrorKind) -> Self {
        let row = row.and_then(|index| Some((index, function.rows.get(index)?)));
        Self {
            start: function.start,
            end: function.start.wrapping_add(function.size.into()),
            row: row.map(|(index, row)| SkippedRow {
                index,
                address: function.start.wrapping_add(row.start.into()),
                rules: row.to_string(),
            }),
            reason: kind.to_string(),
            is_unread: false,
        }
    }

    fn of_cfi(left_out: from_cfi::Skipped) -> impl Iterator<Item = Self> {
        let from_cfi::Skipped { range, refusals } = left_out;
        refusals.into_iter().map(move |Unsupported { row, reason }| Self {
            start: range.start,
            end: range.end,
            row: row.map(|RefusedRow { index, address, rules }| SkippedRow { index, address, rules }),
            is_unread: matches!(reason, Reason::Malformed(_)),
            reason: reason.to_string(),
        })
    }
}

impl Converted<'_> {
    /// Returns the section's bytes, for the address of the old one.
    ///
    /// # Errors
    /// The version has no room for an address, or does not support the layout.
    pub fn section(&self) -> Result<Vec<u8>, ConvertError> {
        Ok(self.write(self.address)?)
    }

    /// Leaves out functions that are too far from the section for a 32-bit start
    /// address.
    fn leave_out_of_reach(&mut self) {
        if self.section.version.start_size() > 4 {
            return;
        }
        let len = self.section.functions.len() as u64 * self.section.version.fde_size() as u64;
        let is_near = |function: &write::Function| {
            // Relative to the section, or to some field in it.
            [self.address, self.address.wrapping_add(len)]
                .iter()
                .all(|origin| i32::try_from(function.start.wrapping_sub(*origin).cast_signed()).is_ok())
        };
        let functions = std::mem::take(&mut self.section.functions);
        let (near, far): (Vec<_>, Vec<_>) = functions.into_iter().partition(is_near);
        self.left_out.extend(far.iter().map(|function| {
            Skipped::of_function(function, None, WriteErrorKind::StartOutOfReach(function.start))
        }));
        self.left_out.sort_by_key(|left_out| left_out.start);
        self.section.functions = near;
        let mut order: Vec<usize> = (0..self.section.functions.len()).collect();
        order.sort_by_key(|index| self.section.functions[*index].rows_position);
        for (position, index) in (0..).zip(order) {
            self.section.functions[index].rows_position = position;
        }
    }

    fn write(&self, address: u64) -> Result<Vec<u8>, WriteError> {
        self.section.write_with(address, &self.layout)
    }

    /// Returns the file, with the new section in place of the old one.
    ///
    /// # Errors
    /// As for [`Self::section`]; or the file is not an executable or a shared
    /// library, or has no place for the section.
    pub fn file(&self) -> Result<Vec<u8>, ConvertError> {
        let section = &self.section;
        if self.is_raw {
            return Err(ConvertError::NoElf);
        }
        if section.abi.byte_order() != self.byte_order {
            return Err(ConvertError::ByteOrderOfFile);
        }
        let file = embed(self.file, section_type(section.version), |address| self.write(address))?;
        // If section headers are garbage, the new section may not be the one that is found.
        Input::open(&file, None)?;
        Ok(file)
    }
}

/// Returns the section's type in an ELF file: since version 2 erratum 1 there is a
/// dedicated one (1.3).
fn section_type(version: Version) -> SectionType {
    if version.has_erratum_1() == Some(false) { SHT_PROGBITS } else { SHT_GNU_SFRAME }
}
