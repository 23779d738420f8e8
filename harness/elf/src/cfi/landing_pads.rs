//! Where functions go on when an exception leaves a call: their landing pads, from
//! the language-specific data areas (LSDAs) that `.eh_frame` points to.
//!
//! The format is that of the Itanium C++ ABI's exception handling tables, which C,
//! C++, Rust and Ada share.

use std::ops::Range;

use gimli::{DwEhPe, EndianSlice, Reader, RunTimeEndian, constants};

use super::table::Slice;

/// Calls that an exception may leave, and the place where their function then goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// Addresses of the code. A call belongs to it if its last byte does: one before
    /// the return address.
    pub range: Range<u64>,
    /// The address of the landing pad.
    pub landing_pad: u64,
}

/// Why the call sites of a function can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LsdaError {
    /// Its address is not in the file.
    #[error("the LSDA at {0:#x} is not in the file")]
    Outside(u64),
    /// It is malformed.
    #[error("the LSDA at {address:#x} can't be read: {source}")]
    Malformed {
        /// Its address.
        address: u64,
        /// The fault.
        source: gimli::Error,
    },
    /// There are more call sites than can be intentional: LSDAs overlap.
    #[error("the LSDA at {0:#x} is not read to its end: there are more than {MAX_CALL_SITES} call sites")]
    TooMany(u64),
}

/// The maximum number of call sites of a file, with those without a landing pad.
const MAX_CALL_SITES: usize = 1 << 21;

/// The landing pads of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LandingPads {
    /// Sorted by start.
    sites: Vec<CallSite>,
    errors: Vec<LsdaError>,
}

impl LandingPads {
    /// Reads LSDAs, given by their addresses with the starts of their functions.
    /// `loaded` returns what is loaded at an address, to the end of its segment.
    pub(super) fn read<'d>(
        endian: RunTimeEndian,
        lsdas: impl Iterator<Item = (u64, u64)>,
        loaded: impl Fn(u64) -> Option<&'d [u8]>,
    ) -> Self {
        let mut read = Self::default();
        let mut left = MAX_CALL_SITES;
        for (address, function) in lsdas {
            let lsda = |data| Lsda { data: EndianSlice::new(data, endian), address, function };
            let error = match loaded(address).map(|data| lsda(data).call_sites(&mut left, &mut read.sites)) {
                Some(Ok(true)) => continue,
                Some(Ok(false)) => LsdaError::TooMany(address),
                Some(Err(source)) => LsdaError::Malformed { address, source },
                None => LsdaError::Outside(address),
            };
            read.errors.push(error);
        }
        read.sites.sort_by_key(|site| (site.range.start, site.range.end, site.landing_pad));
        read.sites.dedup();
        read
    }

    /// Returns all call sites with a landing pad, sorted by start.
    #[must_use]
    pub fn call_sites(&self) -> &[CallSite] {
        &self.sites
    }

    /// Returns why some LSDAs are not among them, or not to their ends.
    #[must_use]
    pub fn errors(&self) -> &[LsdaError] {
        &self.errors
    }

    /// Returns the landing pad for a call, given by its return address.
    #[must_use]
    pub fn of_call(&self, return_address: u64) -> Option<u64> {
        let call = return_address.checked_sub(1)?;
        let next = self.sites.partition_point(|site| site.range.start <= call);
        let site = self.sites.get(next.checked_sub(1)?)?;
        site.range.contains(&call).then_some(site.landing_pad)
    }
}

/// A language-specific data area.
struct Lsda<'d> {
    /// From its start on; its end is not known.
    data: Slice<'d>,
    address: u64,
    /// The start of its function, or of a part of it that lies elsewhere.
    function: u64,
}

impl Lsda<'_> {
    /// Appends the call sites with a landing pad, and returns whether these are all.
    /// `left` is the number that may still be read.
    fn call_sites(&self, left: &mut usize, found: &mut Vec<CallSite>) -> gimli::Result<bool> {
        let mut rest = self.data;
        let pads = match DwEhPe(rest.read_u8()?) {
            constants::DW_EH_PE_omit => self.function,
            encoding => self.pointer(encoding, &mut rest)?,
        };
        if DwEhPe(rest.read_u8()?) != constants::DW_EH_PE_omit {
            // The table of types, which is not needed.
            rest.read_uleb128()?;
        }
        let encoding = DwEhPe(rest.read_u8()?);
        let len = usize::try_from(rest.read_uleb128()?).unwrap_or(usize::MAX);
        let mut table = rest.split(len)?;
        while !table.is_empty() {
            let Some(others) = left.checked_sub(1) else { return Ok(false) };
            *left = others;
            let start = value(encoding, &mut table)?;
            let len = value(encoding, &mut table)?;
            let pad = value(encoding, &mut table)?;
            // The action: what the landing pad does.
            table.read_uleb128()?;
            let start = self.function.wrapping_add(start);
            let end = start.checked_add(len).ok_or(gimli::Error::AddressOverflow)?;
            if pad != 0 && start < end {
                found.push(CallSite { range: start..end, landing_pad: pads.wrapping_add(pad) });
            }
        }
        Ok(true)
    }

    /// Reads an address, which may be relative to its own place.
    fn pointer(&self, encoding: DwEhPe, rest: &mut Slice<'_>) -> gimli::Result<u64> {
        let place = self.address.wrapping_add(rest.offset_from(self.data) as u64);
        let format = encoding.format();
        match encoding.application() {
            constants::DW_EH_PE_absptr if !encoding.is_indirect() => value(format, rest),
            // 0 stands for no address.
            constants::DW_EH_PE_pcrel if !encoding.is_indirect() => value(format, rest)
                .map(|distance| if distance == 0 { 0 } else { place.wrapping_add(distance) }),
            _ => Err(gimli::Error::UnsupportedPointerEncoding(encoding)),
        }
    }
}

/// Reads a number that is relative to nothing.
fn value(encoding: DwEhPe, rest: &mut Slice<'_>) -> gimli::Result<u64> {
    match encoding {
        constants::DW_EH_PE_uleb128 => rest.read_uleb128(),
        constants::DW_EH_PE_udata2 => rest.read_u16().map(u64::from),
        constants::DW_EH_PE_udata4 => rest.read_u32().map(u64::from),
        constants::DW_EH_PE_absptr | constants::DW_EH_PE_udata8 | constants::DW_EH_PE_sdata8 => {
            rest.read_u64()
        }
        constants::DW_EH_PE_sleb128 => rest.read_sleb128().map(i64::cast_unsigned),
        constants::DW_EH_PE_sdata2 => rest.read_i16().map(|value| i64::from(value).cast_unsigned()),
        constants::DW_EH_PE_sdata4 => rest.read_i32().map(|value| i64::from(value).cast_unsigned()),
        _ => Err(gimli::Error::UnsupportedPointerEncoding(encoding)),
    }
}

#[cfg(test)]
mod tests;
