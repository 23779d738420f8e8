//! The section as a whole: its extent, and its FDEs in order.

use core::ops::Range;

use crate::constants::HEADER_SIZE;
use crate::error::{Error, ErrorKind};
use crate::read::bytes::Bytes;
use crate::read::fde::Fde;
use crate::read::fde_table::FdeTable;
use crate::read::header::Header;

/// An SFrame section: borrowed bytes and the address at which they are loaded.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    pub(crate) bytes: Bytes<'a>,
    address: u64,
    header: Header,
    fdes: Range<usize>,
    fres: Range<usize>,
}

impl<'a> Section<'a> {
    /// Reads the header and checks that both sub-sections lie within the bytes.
    /// More bytes than the header accounts for are allowed: linkers pad.
    ///
    /// `address` is where the section is loaded; start addresses are relative
    /// to it or to fields within it (2.3.1).
    ///
    /// # Errors
    /// A malformed header (see [`Header::parse`]) or a sub-section that
    /// reaches past the end.
    pub fn parse(data: &'a [u8], address: u64) -> Result<Self, Error> {
        let header = Header::parse(data)?;
        let fdes_len = u64::from(header.num_fdes) * header.version.fde_size() as u64;
        let fdes = sub_section(data, &header, header.fdeoff, fdes_len, 20)?;
        let fres = sub_section(data, &header, header.freoff, u64::from(header.fre_len), 24)?;
        let bytes = Bytes::new(data, header.abi.byte_order());
        Ok(Self { bytes, address, header, fdes, fres })
    }

    /// The header.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The auxiliary header, whose meaning the ABI defines (2.2).
    #[must_use]
    pub fn auxiliary_header(&self) -> &'a [u8] {
        self.bytes.slice(HEADER_SIZE..self.header.end())
    }

    /// The address at which the section is loaded.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Returns the bytes that it was read from, including anything after its sub-sections.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.bytes.slice(0..self.bytes.len())
    }

    /// All FDEs, in the order of the section (2.3).
    #[must_use]
    pub const fn fdes(&self) -> Fdes<'_, 'a> {
        Fdes { section: self, next: 0 }
    }

    /// Returns the section that follows this one in the same bytes: after padding of zeros, or behind bytes that belong
    /// to none, with a header for the same ABI.
    ///
    /// A section has one header, which accounts for all of it (2.2). A linker that concatenates
    /// its input sections instead of merging them leaves one header for each, and readers use
    /// only the first: they never find the FDEs of the others.
    #[must_use]
    pub fn following(&self) -> Option<Self> {
        let end = self.end();
        let at = |start: usize| {
            let rest = self.bytes.slice(start..self.bytes.len());
            Self::parse(rest, self.address.wrapping_add(start as u64)).ok()
        };
        let padding = self.bytes.slice(end..self.bytes.len()).iter().position(|byte| *byte != 0)?;
        let start = end + padding;
        let is_alike = |section: &Self| section.header.abi == self.header.abi;
        at(start).or_else(|| (start + 1..self.bytes.len()).filter_map(at).find(is_alike))
    }

    /// Where its last sub-section ends, from the start of the section.
    pub(crate) fn end(&self) -> usize {
        self.fdes.end.max(self.fres.end)
    }

    /// Offset of an FDE from the start of the section.
    pub(crate) fn fde_offset(&self, index: u32) -> usize {
        self.fdes.start + index as usize * self.header.version.fde_size()
    }

    /// The FDEs as they are stored.
    #[inline]
    pub(crate) fn fde_table(&self) -> FdeTable<'a> {
        let Self { header, address, .. } = self;
        let (origin, step) = if header.start_is_pcrel() {
            (address.wrapping_add(self.fdes.start as u64), header.version.fde_size() as u64)
        } else {
            (*address, 0)
        };
        FdeTable {
            version: header.version,
            order: header.abi.byte_order(),
            bytes: self.bytes.slice(self.fdes.clone()),
            origin,
            step,
        }
    }

    /// The FRE sub-section, in bytes from the start of the section.
    pub(crate) const fn fre_range(&self) -> &Range<usize> {
        &self.fres
    }
}

/// The range of a sub-section, in bytes from the start of the section.
fn sub_section(
    data: &[u8],
    header: &Header,
    offset: u32,
    len: u64,
    field: usize,
) -> Result<Range<usize>, Error> {
    let start = header.end() as u64 + u64::from(offset);
    let end = start + len;
    match (usize::try_from(start), usize::try_from(end)) {
        (Ok(start), Ok(end)) if end <= data.len() => Ok(start..end),
        _ => Err(ErrorKind::SubSectionOutOfBounds { end, len: data.len() }.at(field)),
    }
}

/// The FDEs of a section. A faulty entry is an error item, after which the iteration continues.
#[derive(Clone, Debug)]
pub struct Fdes<'s, 'a> {
    section: &'s Section<'a>,
    next: u32,
}

impl Iterator for Fdes<'_, '_> {
    type Item = Result<Fde, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.section.header.num_fdes {
            return None;
        }
        self.next += 1;
        Some(self.section.fde(self.next - 1))
    }
}
