//! The memory of an emulated program, owned by the host.
//!
//! Unicorn maps these regions by pointer, so the harness reads them without asking it, in a
//! tenth of the time per stop.

use std::cell::{Cell, RefCell};
use std::ptr;

use memmap2::{Advice, MmapMut, MmapRaw};
use rustc_hash::FxHashMap;
use unicorn_engine::{Prot, Unicorn, uc_error};

/// The page size, on every ABI here.
pub(crate) const PAGE: u64 = 4096;
const PAGE_LEN: usize = 4096;

/// What a program may do with a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Permissions {
    /// Load from it.
    pub read: bool,
    /// Store to it.
    pub write: bool,
    /// Execute it.
    pub execute: bool,
}

impl Permissions {
    /// For data.
    pub const READ_WRITE: Self = Self { read: true, write: true, execute: false };

    pub(crate) const fn or(self, other: Self) -> Self {
        Self {
            read: self.read | other.read,
            write: self.write | other.write,
            execute: self.execute | other.execute,
        }
    }

    fn prot(self) -> Prot {
        let bit = |set, prot| if set { prot } else { Prot::NONE };
        bit(self.read, Prot::READ) | bit(self.write, Prot::WRITE) | bit(self.execute, Prot::EXEC)
    }
}

/// A region could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The host is out of memory.
    #[error("no host memory for {len:#x} bytes at {start:#x}: {source}")]
    Host {
        /// First address.
        start: u64,
        /// Length in bytes.
        len: u64,
        /// The host's error.
        source: std::io::Error,
    },
    /// It would overlap another region, or its bounds are not page-aligned.
    #[error("{start:#x}..{end:#x} overlaps another region or is not made of whole pages")]
    Overlap {
        /// First address.
        start: u64,
        /// First address past the end.
        end: u64,
    },
}

#[derive(Debug)]
struct Region {
    start: u64,
    len: u64,
    permissions: Permissions,
    memory: MmapRaw,
}

/// Regions of memory at the program's addresses.
#[derive(Debug)]
pub struct AddressSpace {
    regions: Vec<Region>,
    big_endian: bool,
    /// The region of the last access; most accesses go to the stack.
    last: Cell<usize>,
    /// What pages held, by address, before they were changed, where that is kept.
    kept: RefCell<Option<FxHashMap<u64, Box<[u8; PAGE_LEN]>>>>,
}

impl AddressSpace {
    pub(crate) const fn new(big_endian: bool) -> Self {
        Self { regions: Vec::new(), big_endian, last: Cell::new(0), kept: RefCell::new(None) }
    }

    /// Adds a region of zeroes.
    pub(crate) fn map(&mut self, start: u64, len: u64, permissions: Permissions) -> Result<(), MapError> {
        let end = start.wrapping_add(len);
        let overlaps = |region: &Region| start < region.start + region.len && region.start < end;
        let odd = !start.is_multiple_of(PAGE) || !len.is_multiple_of(PAGE) || end <= start;
        if odd || self.regions.iter().any(overlaps) {
            return Err(MapError::Overlap { start, end });
        }
        let memory = usize::try_from(len)
            .map_err(std::io::Error::other)
            .and_then(MmapMut::map_anon)
            .map_err(|source| MapError::Host { start, len, source })?;
        // Stacks are filled before each run: fewer faults. Without huge pages nothing is lost.
        let _ = memory.advise(Advice::HugePage);
        self.regions.push(Region { start, len, permissions, memory: memory.into() });
        Ok(())
    }

    /// Hands every region to the emulator.
    pub(crate) fn install<D>(&self, unicorn: &mut Unicorn<'_, D>) -> Result<(), uc_error> {
        for region in &self.regions {
            let memory = region.memory.as_mut_ptr().cast();
            // SAFETY: the mapping is `len` bytes long and page-aligned. It
            // lives as long as `self`, which `Machine::run` keeps until the
            // emulator is gone. The host reads and writes it only through raw
            // pointers, so no Rust reference aliases the emulator's accesses.
            #[expect(unsafe_code, reason = "Unicorn maps host memory by raw pointer")]
            unsafe {
                unicorn.mem_map_ptr(region.start, region.len, region.permissions.prot(), memory)?;
            }
        }
        Ok(())
    }

    /// Returns the host's pointer to `len` bytes at an address, if one region has them all.
    #[inline]
    fn pointer(&self, address: u64, len: u64) -> Option<*mut u8> {
        let within = |region: &Region| {
            let offset = address.wrapping_sub(region.start);
            (offset < region.len && len <= region.len - offset).then_some(offset)
        };
        let (region, offset) = match self.regions.get(self.last.get()).and_then(|r| Some((r, within(r)?))) {
            Some(found) => found,
            None => {
                let (index, offset) = self
                    .regions
                    .iter()
                    .enumerate()
                    .find_map(|(index, region)| Some((index, within(region)?)))?;
                self.last.set(index);
                (&self.regions[index], offset)
            }
        };
        let offset = usize::try_from(offset).ok()?;
        Some(region.memory.as_mut_ptr().wrapping_add(offset))
    }

    /// Returns the 8 bytes at an address as a number in the program's byte order, or `None` if
    /// nothing is mapped there.
    #[inline]
    #[must_use]
    pub fn read_u64(&self, address: u64) -> Option<u64> {
        let pointer = self.pointer(address, 8)?;
        // SAFETY: `pointer` checked that 8 bytes lie within a live mapping.
        #[expect(unsafe_code, reason = "the emulator writes this memory without Rust's knowledge")]
        let bytes = unsafe { ptr::read_volatile(pointer.cast::<[u8; 8]>()) };
        Some(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// Fills a buffer from an address on. Returns false, and leaves the buffer unspecified,
    /// unless all of it is mapped in one region.
    #[must_use]
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        let Some(pointer) = self.pointer(address, buffer.len() as u64) else {
            return false;
        };
        // SAFETY: `pointer` checked the length, and a mapping never overlaps a
        // buffer that Rust owns.
        #[expect(unsafe_code, reason = "the emulator writes this memory without Rust's knowledge")]
        unsafe {
            ptr::copy_nonoverlapping(pointer, buffer.as_mut_ptr(), buffer.len());
        }
        true
    }

    /// Returns the bounds of the regions, in no particular order.
    pub fn regions(&self) -> impl Iterator<Item = std::ops::Range<u64>> {
        self.regions.iter().map(|region| region.start..region.start + region.len)
    }

    /// Stores bytes at an address. Returns false, and stores nothing, unless all of it is
    /// mapped in one region.
    #[must_use]
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> bool {
        let Some(pointer) = self.pointer(address, bytes.len() as u64) else {
            return false;
        };
        self.save(address, bytes.len() as u64);
        // SAFETY: as in `read`; the region is writable for the host.
        #[expect(unsafe_code, reason = "the emulator reads this memory without Rust's knowledge")]
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), pointer, bytes.len());
        }
        true
    }

    /// From now on, keeps what pages hold before they are changed.
    pub(crate) fn keep_pages(&self) {
        self.kept.replace(Some(FxHashMap::default()));
    }

    /// Keeps what the pages of some addresses hold, if pages are kept: they are about to be
    /// changed.
    pub(crate) fn save(&self, address: u64, len: u64) {
        let mut kept = self.kept.borrow_mut();
        let Some(pages) = kept.as_mut() else { return };
        let end = address.saturating_add(len);
        for region in &self.regions {
            let start = (address & !(PAGE - 1)).max(region.start);
            for page in (start..end.min(region.start + region.len)).step_by(PAGE_LEN) {
                pages.entry(page).or_insert_with(|| {
                    let mut bytes = Box::new([0; PAGE_LEN]);
                    let _ = self.read(page, &mut bytes[..]);
                    bytes
                });
            }
        }
    }

    /// Gives all pages back what they held, and keeps them no longer. Returns whether there is
    /// code on one of them.
    pub(crate) fn restore_pages(&self) -> bool {
        let kept = self.kept.take().unwrap_or_default();
        for (page, bytes) in &kept {
            let _ = self.write(*page, &bytes[..]);
        }
        kept.keys().any(|page| self.permissions(*page).execute)
    }

    /// Stores a number in the program's byte order.
    #[must_use]
    pub(crate) fn write_u64(&self, address: u64, value: u64) -> bool {
        let bytes = if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        self.write(address, &bytes)
    }

    /// Stores a number at each multiple of 8 from an address on, page by page, since the whole
    /// stack is filled before each run. Returns false unless all of it is mapped in one region.
    #[must_use]
    pub(crate) fn fill(&self, start: u64, pages: u64, value: impl Fn(u64) -> u64) -> bool {
        let mut words = [[0; 8]; PAGE_LEN / 8];
        (0..pages).map(|page| start + page * PAGE).all(|page| {
            let addresses = (page..).step_by(8);
            if self.big_endian {
                words.iter_mut().zip(addresses).for_each(|(word, at)| *word = value(at).to_be_bytes());
            } else {
                words.iter_mut().zip(addresses).for_each(|(word, at)| *word = value(at).to_le_bytes());
            }
            self.write(page, words.as_flattened())
        })
    }

    /// Returns whether an address is in executable memory that the program can't change.
    pub(crate) fn is_constant_code(&self, address: u64) -> bool {
        let permissions = self.permissions(address);
        permissions.execute && !permissions.write
    }

    /// Returns what the program may do at an address: nothing where nothing is mapped.
    fn permissions(&self, address: u64) -> Permissions {
        let region = self.regions.iter().find(|region| address.wrapping_sub(region.start) < region.len);
        region.map(|region| region.permissions).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stop_at_the_end_of_a_region() {
        let mut space = AddressSpace::new(true);
        space.map(0x1000, 0x1000, Permissions::READ_WRITE).unwrap();
        assert!(space.write_u64(0x1ff8, 0x0102_0304_0506_0708));
        assert_eq!(space.read_u64(0x1ff8), Some(0x0102_0304_0506_0708));
        let mut first = [0];
        assert!(space.read(0x1ff8, &mut first) && first == [1], "big endian");
        for address in [0x1ff9, 0x2000, 0xfff, 0, u64::MAX, u64::MAX - 7] {
            assert_eq!(space.read_u64(address), None, "{address:#x}");
        }
    }

    #[test]
    fn regions_that_overlap_or_wrap_are_refused() {
        let mut space = AddressSpace::new(false);
        space.map(0x2000, 0x2000, Permissions::READ_WRITE).unwrap();
        for (start, len) in
            [(0x1000, 0x2000), (0x3000, 0x1000), (0x5001, 0x1000), (0x6000, 0), (!0xfff, 0x2000)]
        {
            assert!(space.map(start, len, Permissions::READ_WRITE).is_err(), "{start:#x}");
        }
        space.map(0x4000, 0x1000, Permissions::READ_WRITE).unwrap();
    }
}
