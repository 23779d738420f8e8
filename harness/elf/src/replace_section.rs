//! Puts an `.sframe` section into an executable or a shared library, replacing the
//! existing one.
//!
//! No other loaded byte moves or changes. If the section fits in the old one's
//! place, it goes there. Otherwise it goes to the end of the file, into a separate
//! loaded segment after all others; the program headers move to the start of that
//! segment, because their table has to grow.

use std::ops::Range;

use object::elf::{
    ET_DYN, ET_EXEC, FileHeader64, PF_R, PN_XNUM, PT_GNU_SFRAME, PT_LOAD, PT_PHDR, ProgramHeader64,
    SHF_ALLOC, SHN_LORESERVE, SHT_GNU_SFRAME, SHT_NOBITS, SHT_NULL, SectionFlags, SectionHeader64,
    SectionType,
};
use object::pod::{bytes_of, bytes_of_slice};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, U32, U64};
use sframe_engine::write::WriteError;

use crate::bounded::Tables;
use crate::find_sframe::{NAME, Segments};
use crate::source::Source;

/// The section's alignment, as in GNU ld.
const ALIGNMENT: u64 = 8;
/// The smallest page size of a loader.
const PAGE: u64 = 0x1000;
/// The maximum accepted alignment of a segment.
const MAX_PAGE: u64 = 1 << 24;
/// The maximum amount of padding that may be added to a file, in bytes.
const MAX_FILLING: u64 = 16 << 20;

/// Why a section can't be put into a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The file's headers can't be read.
    #[error("the ELF headers can't be read: {0}")]
    Object(#[from] object::Error),
    /// The file shrank while it was read, or its disk failed.
    #[error("the file can't be read to its end")]
    Unreadable,
    /// Only executables and shared libraries have a loaded section.
    #[error("a section can be put into an executable or a shared library only, not into ELF type {0}")]
    NotLinked(u16),
    /// The file violates the ELF specification.
    #[error("{0}")]
    Malformed(&'static str),
    /// There are too many headers for the header's count fields.
    #[error("the file has too many headers to add one")]
    TooManyHeaders,
    /// After the last segment's addresses, there is no place at which the headers
    /// could still be found from the first one.
    #[error(
        "the section would have to lie {0:#x} bytes past the end of the file, because the \
         segments reach that far in memory"
    )]
    TooFar(u64),
    /// The section can't be written for its address.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The section's length differs between two addresses.
    #[error("the section is {0} bytes long at one address, and {1} at another one")]
    Length(usize, usize),
}

type Segment = ProgramHeader64<Endianness>;
type SectionEntry = SectionHeader64<Endianness>;

/// Returns the file with the section that `write` makes for an address. The
/// section's length must not depend on the address.
///
/// If the file has no such section, or no `PT_GNU_SFRAME` segment, it is added.
///
/// # Errors
/// The file is not one that is loaded, is malformed, or has no place for the
/// section; or `write` fails.
pub fn embed<'a>(
    file: impl Into<Source<'a>>,
    section_type: SectionType,
    write: impl Fn(u64) -> Result<Vec<u8>, WriteError>,
) -> Result<Vec<u8>, EmbedError> {
    let elf = Elf::parse(file.into())?;
    let len = write(elf.old_address())?.len();
    let place = elf.place(len)?;
    let data = write(place.address)?;
    if data.len() != len {
        return Err(EmbedError::Length(len, data.len()));
    }
    elf.put(place, &data, section_type)
}

/// Returns the address that a section of length `len` gets in a file.
///
/// # Errors
/// As for [`embed`].
pub fn address_of_new(file: Source<'_>, len: usize) -> Result<u64, EmbedError> {
    Ok(Elf::parse(file)?.place(len)?.address)
}

/// Where a section goes.
#[derive(Clone, Copy)]
struct Place {
    /// The offset in the file.
    offset: u64,
    address: u64,
    /// The segment to add, if any.
    added: Option<AddedSegment>,
}

/// A segment that starts with the program headers and ends with the section.
#[derive(Clone, Copy)]
struct AddedSegment {
    offset: u64,
    address: u64,
    alignment: u64,
}

/// The file's headers.
struct Elf<'a> {
    bytes: Source<'a>,
    endian: Endianness,
    header: FileHeader64<Endianness>,
    segments: Vec<Segment>,
    /// Empty if the section table is stripped.
    sections: Vec<SectionEntry>,
    /// The section's index in the table.
    sframe: Option<usize>,
    /// The index of the section's segment in the table.
    segment: Option<usize>,
}

impl<'a> Elf<'a> {
    fn parse(bytes: Source<'a>) -> Result<Self, EmbedError> {
        let tables = Tables::parse(bytes)?;
        let (header, endian) = (*tables.header, tables.endian);
        let kind = header.e_type(endian);
        if !matches!(kind, ET_EXEC | ET_DYN) {
            return Err(EmbedError::NotLinked(kind.0));
        }
        if header.e_phnum.get(endian) == PN_XNUM {
            return Err(EmbedError::TooManyHeaders);
        }
        let segments = tables.segments.to_vec();
        let sections = tables.sections.iter().copied().collect();
        let sframe = tables.sframe_sections().next().map(|(index, _)| index.0);
        // One without contents in the file will do: it gets them.
        let segment = tables.sframe_segments(Segments::All).next().map(|(index, _)| index);
        let elf = Self { bytes, endian, header, segments, sections, sframe, segment };
        for segment in elf.loaded() {
            let (file, memory) = (segment.p_filesz(endian), segment.p_memsz(endian));
            let end = segment.p_offset(endian).checked_add(file);
            if segment.p_vaddr(endian).checked_add(memory).is_none() || file > memory {
                return Err(EmbedError::Malformed("a loaded segment reaches past the last address"));
            }
            if file > 0 && end.is_none_or(|end| end > bytes.len()) {
                return Err(EmbedError::Malformed("a loaded segment reaches past the end of the file"));
            }
        }
        Ok(elf)
    }

    fn loaded(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.p_type(self.endian) == PT_LOAD)
    }

    /// Returns the old section's address and its range in the file.
    fn old(&self) -> Option<(u64, Range<u64>)> {
        let endian = self.endian;
        let (address, offset, len) = match (self.sframe, self.segment) {
            (Some(index), _) => {
                let section = self.sections.get(index)?;
                (section.sh_addr(endian), section.sh_offset(endian), section.sh_size(endian))
            }
            (None, Some(index)) => {
                let segment = self.segments.get(index)?;
                (segment.p_vaddr(endian), segment.p_offset(endian), segment.p_filesz(endian))
            }
            (None, None) => return None,
        };
        let end = offset.checked_add(len).filter(|end| *end <= self.bytes.len())?;
        Some((address, offset..end))
    }

    /// Returns the address of the old section; the new one will be near it.
    fn old_address(&self) -> u64 {
        let first = self.loaded().map(|segment| segment.p_vaddr(self.endian)).next().unwrap_or(0);
        self.old().map_or(first, |(address, _)| address)
    }

    fn place(&self, len: usize) -> Result<Place, EmbedError> {
        self.in_place(len as u64).map_or_else(|| self.behind(), Ok)
    }

    /// Returns the old section's place, if the new one fits there.
    fn in_place(&self, len: u64) -> Option<Place> {
        // Without a dedicated segment, a loader would not find it.
        self.segment?;
        let (address, old) = self.old()?;
        let range = old.start..old.end.max(old.start.checked_add(len)?);
        let endian = self.endian;
        let holds = |segment: &&Segment| {
            let (offset, vaddr) = (segment.p_offset(endian), segment.p_vaddr(endian));
            offset <= range.start
                && range.end <= offset.saturating_add(segment.p_filesz(endian))
                && address.wrapping_sub(vaddr) == range.start - offset
        };
        let is_free = self.is_free(&range) && (self.sframe.is_some() || range == old);
        (self.loaded().any(|segment| holds(&segment)) && is_free && address.is_multiple_of(ALIGNMENT / 2))
            .then_some(Place { offset: range.start, address, added: None })
    }

    /// Whether a part of the file contains nothing but the old section, and is
    /// loaded at most once.
    fn is_free(&self, range: &Range<u64>) -> bool {
        let endian = self.endian;
        let table =
            |offset: u64, count: usize, size: usize| offset..offset.saturating_add((count * size) as u64);
        let tables = [
            0..size_of::<FileHeader64<Endianness>>() as u64,
            table(self.header.e_phoff(endian), self.segments.len(), size_of::<Segment>()),
            table(self.header.e_shoff(endian), self.sections.len(), size_of::<SectionEntry>()),
        ];
        let sections = self.sections.iter().enumerate().filter_map(|(index, section)| {
            let is_other =
                Some(index) != self.sframe && !matches!(section.sh_type(endian), SHT_NOBITS | SHT_NULL);
            let start = section.sh_offset(endian);
            is_other.then(|| start..start.saturating_add(section.sh_size(endian)))
        });
        let segments = self.segments.iter().filter_map(|segment| {
            let is_other = !matches!(segment.p_type(endian), PT_LOAD | PT_GNU_SFRAME);
            let start = segment.p_offset(endian);
            is_other.then(|| start..start.saturating_add(segment.p_filesz(endian)))
        });
        let overlaps =
            |other: &Range<u64>| !other.is_empty() && other.start < range.end && range.start < other.end;
        let loads = self.loaded().map(|segment| {
            let start = segment.p_offset(endian);
            start..start.saturating_add(segment.p_filesz(endian))
        });
        !tables.into_iter().chain(sections).chain(segments).any(|other| overlaps(&other))
            && loads.filter(overlaps).count() <= 1
    }

    /// Returns a place after everything that is loaded. Programs find their headers
    /// by the address of the first segment and the headers' offset in the file, so
    /// the new segment has the same distance from the first one in memory as in the
    /// file.
    fn behind(&self) -> Result<Place, EmbedError> {
        let endian = self.endian;
        let first = self.loaded().min_by_key(|segment| segment.p_vaddr(endian));
        let first = first.ok_or(EmbedError::Malformed("nothing is loaded: there is no PT_LOAD segment"))?;
        let distance = first.p_vaddr(endian).checked_sub(first.p_offset(endian));
        let alignments = self.loaded().map(|segment| segment.p_align(endian));
        let alignment = alignments.fold(PAGE, u64::max);
        let ends =
            self.loaded().map(|segment| segment.p_vaddr(endian).saturating_add(segment.p_memsz(endian)));
        let end = ends.fold(0, u64::max).checked_next_multiple_of(alignment);
        let (Some(distance), Some(end)) = (distance, end) else {
            return Err(EmbedError::Malformed("the segments leave no address after them"));
        };
        if !alignment.is_power_of_two() || alignment > MAX_PAGE || !distance.is_multiple_of(alignment) {
            return Err(EmbedError::Malformed("a loaded segment has an alignment that can't be mapped"));
        }
        let len = self.bytes.len();
        let offset = len.next_multiple_of(ALIGNMENT).max(end.saturating_sub(distance));
        if offset - len > MAX_FILLING {
            return Err(EmbedError::TooFar(offset - len));
        }
        let address = offset
            .checked_add(distance)
            .filter(|address| address.checked_add(MAX_FILLING).is_some())
            .ok_or(EmbedError::Malformed("the segments leave no address after them"))?;
        let count = self.segments.len() + 1 + usize::from(self.segment.is_none());
        let headers = ((count * size_of::<Segment>()) as u64).next_multiple_of(ALIGNMENT);
        let added = AddedSegment { offset, address, alignment };
        Ok(Place { offset: offset + headers, address: address + headers, added: Some(added) })
    }

    fn put(mut self, place: Place, data: &[u8], section_type: SectionType) -> Result<Vec<u8>, EmbedError> {
        let mut bytes = self.bytes.all().ok_or(EmbedError::Unreadable)?.into_owned();
        // Clears the rest of the old section, so that it is not read.
        if let Some((_, old)) = self.old()
            && self.is_free(&old)
        {
            clear(&mut bytes, &old);
        }
        let endian = self.endian;
        self.put_segments(place, data.len() as u64)?;
        if let Some(added) = place.added {
            overwrite(&mut bytes, added.offset, bytes_of_slice(&self.segments));
            self.header.e_phoff.set(endian, added.offset);
            self.header.e_phnum.set(endian, header_count(self.segments.len(), PN_XNUM)?);
        } else {
            overwrite(&mut bytes, self.header.e_phoff(endian), bytes_of_slice(&self.segments));
        }
        overwrite(&mut bytes, place.offset, data);
        self.put_section(place, data.len() as u64, section_type, &mut bytes)?;
        overwrite(&mut bytes, 0, bytes_of(&self.header));
        Ok(bytes)
    }

    /// Writes the program headers, including the new section's.
    fn put_segments(&mut self, place: Place, len: u64) -> Result<(), EmbedError> {
        let endian = self.endian;
        let mut segment = Segment {
            p_type: U32::new(endian, PT_GNU_SFRAME),
            p_flags: U32::new(endian, PF_R),
            p_offset: U64::new(endian, place.offset),
            p_vaddr: U64::new(endian, place.address),
            p_paddr: U64::new(endian, place.address),
            p_filesz: U64::new(endian, len),
            p_memsz: U64::new(endian, len),
            p_align: U64::new(endian, ALIGNMENT),
        };
        match self.segment.and_then(|index| self.segments.get_mut(index)) {
            Some(old) => *old = segment,
            None => self.segments.push(segment),
        }
        let Some(added) = place.added else { return Ok(()) };
        let len = (place.offset - added.offset)
            .checked_add(len)
            .filter(|len| *len <= MAX_FILLING)
            .ok_or(EmbedError::Malformed("the section is longer than a segment of its own may be"))?;
        segment.p_type.set(endian, PT_LOAD);
        segment.p_offset.set(endian, added.offset);
        segment.p_vaddr.set(endian, added.address);
        segment.p_paddr.set(endian, added.address);
        segment.p_filesz.set(endian, len);
        segment.p_memsz.set(endian, len);
        segment.p_align.set(endian, added.alignment);
        // Loaded segments are sorted by address.
        let last = self.segments.iter().rposition(|segment| segment.p_type(endian) == PT_LOAD);
        self.segments.insert(last.map_or(0, |last| last + 1), segment);
        let table = (self.segments.len() * size_of::<Segment>()) as u64;
        for header in self.segments.iter_mut().filter(|segment| segment.p_type(endian) == PT_PHDR) {
            header.p_offset.set(endian, added.offset);
            header.p_vaddr.set(endian, added.address);
            header.p_paddr.set(endian, added.address);
            header.p_filesz.set(endian, table);
            header.p_memsz.set(endian, table);
        }
        Ok(())
    }

    /// Writes the section header, or a table with one more. A file without a table
    /// stays without one.
    fn put_section(
        &mut self,
        place: Place,
        len: u64,
        section_type: SectionType,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EmbedError> {
        let endian = self.endian;
        if self.sections.is_empty() {
            return Ok(());
        }
        let index = match self.sframe {
            Some(index) => index,
            None => self.add_section(bytes)?,
        };
        if let Some(section) = self.sections.get_mut(index) {
            section.sh_type.set(endian, section_type);
            section.sh_flags.set(endian, SectionFlags(section.sh_flags(endian).0 | SHF_ALLOC.0));
            section.sh_addr.set(endian, place.address);
            section.sh_offset.set(endian, place.offset);
            section.sh_size.set(endian, len);
        }
        overwrite(bytes, self.header.e_shoff(endian), bytes_of_slice(&self.sections));
        Ok(())
    }

    /// Makes room for a longer section table at the end of the file, and gives the
    /// section a name. Returns its index.
    fn add_section(&mut self, bytes: &mut Vec<u8>) -> Result<usize, EmbedError> {
        let endian = self.endian;
        let count = header_count(self.sections.len() + 1, SHN_LORESERVE)?;
        let strings = self.header.shstrndx(endian, self.bytes)?;
        let strings = self.sections.get_mut(strings as usize);
        let strings = strings.ok_or(EmbedError::Malformed("the names of the sections are missing"))?;
        let old = strings.data(endian, self.bytes)?;
        let sh_name = u32::try_from(old.len()).map_err(|_| EmbedError::TooManyHeaders)?;
        strings.sh_offset.set(endian, bytes.len() as u64);
        strings.sh_size.set(endian, (old.len() + NAME.len() + 1) as u64);
        bytes.extend(old);
        bytes.extend(NAME);
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(size_of::<u64>()), 0);
        self.header.e_shoff.set(endian, bytes.len() as u64);
        self.header.e_shnum.set(endian, count);
        self.sections.push(SectionEntry {
            sh_name: U32::new(endian, sh_name),
            sh_type: U32::new(endian, SHT_GNU_SFRAME),
            sh_flags: U64::new(endian, SHF_ALLOC),
            sh_addr: U64::new(endian, 0),
            sh_offset: U64::new(endian, 0),
            sh_size: U64::new(endian, 0),
            sh_link: U32::new(endian, 0),
            sh_info: U32::new(endian, 0),
            sh_addralign: U64::new(endian, ALIGNMENT),
            sh_entsize: U64::new(endian, 0),
        });
        Ok(self.sections.len() - 1)
    }
}

/// Returns a number of headers if it is below the reserved values.
fn header_count(count: usize, limit: u16) -> Result<u16, EmbedError> {
    u16::try_from(count).ok().filter(|count| *count < limit).ok_or(EmbedError::TooManyHeaders)
}

/// Fills a part of a file with zeros.
fn clear(file: &mut [u8], range: &Range<u64>) {
    if let (Ok(start), Ok(end)) = (usize::try_from(range.start), usize::try_from(range.end))
        && let Some(bytes) = file.get_mut(start..end)
    {
        bytes.fill(0);
    }
}

/// Overwrites bytes of a file, which grows if they are past its end.
fn overwrite(file: &mut Vec<u8>, offset: u64, data: &[u8]) {
    // The allowed padding limits how far an offset is past the end.
    let Ok(start) = usize::try_from(offset) else { return };
    let end = start + data.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[start..end].copy_from_slice(data);
}
