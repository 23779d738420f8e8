//! The memory of an emulated program, owned by the host.
//!
//! Unicorn maps these regions by pointer, so the harness reads them without asking it, in a
//! tenth of the time per stop.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::ptr;
use std::rc::Rc;

use memmap2::{Advice, MmapOptions, MmapRaw, UncheckedAdvice};
use rustc_hash::FxHashMap;
use unicorn_engine::{Prot, Unicorn, uc_error};

/// Whether two ranges have an address in common.
#[must_use]
pub const fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

/// The page size, on every ABI here.
pub(crate) const PAGE: u64 = 4096;
pub(crate) const PAGE_LEN: usize = 4096;

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
    /// For memory that is only reserved.
    pub const NONE: Self = Self { read: false, write: false, execute: false };
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

/// Memory can't be changed while the emulator runs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LiveError {
    #[error(transparent)]
    Map(#[from] MapError),
    #[error("Unicorn: {0:?}")]
    Unicorn(uc_error),
}

impl From<uc_error> for LiveError {
    fn from(error: uc_error) -> Self {
        Self::Unicorn(error)
    }
}

/// The regions that a second emulator has of an address space. They keep the host's memory.
#[derive(Default)]
pub(crate) struct Mapped(Vec<Region>);

/// The regions of an address space at some time.
pub(crate) struct Regions(Vec<Region>);

/// Consecutive pages with the same permissions.
#[derive(Clone, Debug)]
struct Region {
    start: u64,
    len: u64,
    permissions: Permissions,
    /// The host's memory, which several regions may share, and where in it this region starts.
    /// `None` while it may not be used: programs reserve more than the host has.
    memory: Option<(Rc<MmapRaw>, usize)>,
    /// Whether copies of the process share it.
    is_shared: bool,
}

impl Region {
    const fn end(&self) -> u64 {
        self.start + self.len
    }

    /// Whether the emulator has it as it has another one.
    fn is_mapped_as(&self, other: &Self) -> bool {
        (self.start, self.len, self.permissions) == (other.start, other.len, other.permissions)
            && self.pointer() == other.pointer()
    }

    /// Returns the host's pointer to the region, if the program may use it.
    fn pointer(&self) -> Option<*mut u8> {
        let (memory, offset) = self.memory.as_ref().filter(|_| self.permissions != Permissions::NONE)?;
        Some(memory.as_mut_ptr().wrapping_add(*offset))
    }

    /// Gives it memory, if it has none and the program may use it.
    fn allocate(&mut self) -> Result<(), MapError> {
        if self.memory.is_none() && self.permissions != Permissions::NONE {
            self.memory = Some((Rc::new(self.host_memory()?), 0));
        }
        Ok(())
    }

    /// Returns zeroes of its length.
    fn host_memory(&self) -> Result<MmapRaw, MapError> {
        let Self { start, len, .. } = *self;
        let memory = usize::try_from(len)
            .map_err(std::io::Error::other)
            .and_then(|len| MmapOptions::new().no_reserve_swap().len(len).map_anon())
            .map_err(|source| MapError::Host { start, len, source })?;
        Ok(memory.into())
    }

    /// Gives the host back what the region alone holds of memory of which others have the rest.
    fn discard(&self) {
        let Some((memory, offset)) = self.memory.as_ref().filter(|_| !self.is_shared) else { return };
        if Rc::strong_count(memory) > 1 {
            let len = usize::try_from(self.len).unwrap_or_default();
            // SAFETY: no Rust reference points into the memory, and no other region has this part
            // of it. It has been taken from the emulator.
            #[expect(unsafe_code, reason = "memory becomes zeroes without a store")]
            let _ = unsafe { memory.unchecked_advise_range(UncheckedAdvice::DontNeed, *offset, len) };
        }
    }

    /// Hands it to the emulator.
    fn install<D>(&self, unicorn: &mut Unicorn<'_, D>) -> Result<(), uc_error> {
        let Some(pointer) = self.pointer() else { return Ok(()) };
        // SAFETY: the memory is at least `len` bytes long from there on, and page-aligned. It
        // lives as long as the address space has the region, or a copy of it; before it drops
        // the last one, it takes the region from the emulator, or the emulator is gone. The
        // host reads and writes it only through raw pointers, so no Rust reference aliases the
        // emulator's accesses.
        #[expect(unsafe_code, reason = "Unicorn maps host memory by raw pointer")]
        unsafe {
            unicorn.mem_map_ptr(self.start, self.len, self.permissions.prot(), pointer.cast())
        }
    }

    /// Takes it from the emulator.
    fn uninstall<D>(&self, unicorn: &mut Unicorn<'_, D>) -> Result<(), uc_error> {
        self.pointer().map_or(Ok(()), |_| unicorn.mem_unmap(self.start, self.len))
    }
}

/// The memory of a program that is stopped, wherever it is kept.
pub trait Memory {
    /// Fills a buffer from an address on. Returns false, and leaves the buffer unspecified, unless all of it is known.
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool;

    /// Returns the 8 bytes at an address as a number in the program's byte order, or `None` if they are not known.
    fn read_u64(&self, address: u64) -> Option<u64>;

    /// Returns the addresses that are known, in their order.
    fn regions(&self) -> Vec<Range<u64>>;

    /// Returns whether an address is known to be in executable memory that the program can't change.
    fn is_constant_code(&self, address: u64) -> bool {
        let _ = address;
        false
    }
}

impl Memory for AddressSpace {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        Self::read(self, address, buffer)
    }

    fn read_u64(&self, address: u64) -> Option<u64> {
        Self::read_u64(self, address)
    }

    fn regions(&self) -> Vec<Range<u64>> {
        Self::regions(self).collect()
    }

    fn is_constant_code(&self, address: u64) -> bool {
        let permissions = self.permissions(address);
        permissions.execute && !permissions.write
    }
}

/// Regions of memory at the program's addresses.
#[derive(Debug)]
pub struct AddressSpace {
    /// By address, without overlaps.
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
        let odd = !start.is_multiple_of(PAGE) || !len.is_multiple_of(PAGE) || end <= start;
        if odd || !self.is_free(start..end) {
            return Err(MapError::Overlap { start, end });
        }
        let mut region = Region { start, len, permissions, memory: None, is_shared: false };
        region.allocate()?;
        if let Some((memory, _)) = &region.memory {
            // Stacks are filled before each run: fewer faults. Without huge pages nothing is lost.
            let _ = memory.advise(Advice::HugePage);
        }
        self.insert(region);
        Ok(())
    }

    fn insert(&mut self, region: Region) -> usize {
        let index = self.regions.partition_point(|other| other.start < region.start);
        self.regions.insert(index, region);
        self.last.set(0);
        index
    }

    /// Hands every region to the emulator.
    pub(crate) fn install<D>(&self, unicorn: &mut Unicorn<'_, D>) -> Result<(), uc_error> {
        self.regions.iter().try_for_each(|region| region.install(unicorn))
    }

    /// Whether the program may write to what it may execute.
    pub(crate) fn may_change_code(&self) -> bool {
        self.regions.iter().any(|region| region.permissions.execute && region.permissions.write)
    }

    /// Hands another emulator what it has not, and takes from it what it has no more. Returns whether that is code.
    pub(crate) fn install_changes<D>(
        &self,
        unicorn: &mut Unicorn<'_, D>,
        mapped: &mut Mapped,
    ) -> Result<bool, uc_error> {
        let is_known = self.regions.len() == mapped.0.len()
            && self.regions.iter().zip(&mapped.0).all(|(one, other)| one.is_mapped_as(other));
        if is_known {
            return Ok(false);
        }
        let mut is_code = false;
        let has =
            |regions: &[Region], region: &Region| regions.iter().any(|other| region.is_mapped_as(other));
        for region in mapped.0.iter().filter(|region| !has(&self.regions, region)) {
            region.uninstall(unicorn)?;
            is_code |= region.permissions.execute;
        }
        for region in self.regions.iter().filter(|region| !has(&mapped.0, region)) {
            region.install(unicorn)?;
            is_code |= region.permissions.execute;
        }
        mapped.0.clone_from(&self.regions);
        Ok(is_code)
    }

    /// Takes every region from the emulator.
    pub(crate) fn uninstall<D>(&self, unicorn: &mut Unicorn<'_, D>) -> Result<(), uc_error> {
        self.regions.iter().try_for_each(|region| region.uninstall(unicorn))
    }

    /// Maps zeroes while the emulator runs, in place of what is there.
    pub(crate) fn map_live<D>(
        &mut self,
        unicorn: &mut Unicorn<'_, D>,
        range: Range<u64>,
        permissions: Permissions,
        is_shared: bool,
    ) -> Result<(), LiveError> {
        let Range { start, end } = range;
        self.unmap_live(unicorn, range)?;
        let mut region = Region { start, len: end - start, permissions, memory: None, is_shared };
        region.allocate()?;
        let index = self.insert(region);
        Ok(self.regions[index].install(unicorn)?)
    }

    /// Unmaps what is in a range of whole pages.
    pub(crate) fn unmap_live<D>(
        &mut self,
        unicorn: &mut Unicorn<'_, D>,
        range: Range<u64>,
    ) -> Result<(), LiveError> {
        let taken = self.take(unicorn, range)?;
        // Unless the regions return as they were.
        if self.kept.borrow().is_none() {
            taken.iter().for_each(Region::discard);
        }
        Ok(())
    }

    /// Takes regions out of the address space.
    fn take<D>(&mut self, unicorn: &mut Unicorn<'_, D>, range: Range<u64>) -> Result<Vec<Region>, LiveError> {
        let Range { start, end } = range;
        self.save(start, end - start);
        let indices = self.cut(unicorn, start..end)?;
        let taken: Vec<Region> = self.regions.drain(indices).collect();
        for region in &taken {
            region.uninstall(unicorn)?;
        }
        Ok(taken)
    }

    /// Moves what is in a range to another address, in place of what is there.
    pub(crate) fn move_live<D>(
        &mut self,
        unicorn: &mut Unicorn<'_, D>,
        range: Range<u64>,
        to: u64,
    ) -> Result<(), LiveError> {
        let from = range.start;
        let moved = self.take(unicorn, range.clone())?;
        self.unmap_live(unicorn, to..to + (range.end - from))?;
        for region in moved {
            let index = self.insert(Region { start: region.start - from + to, ..region });
            self.regions[index].install(unicorn)?;
        }
        Ok(())
    }

    /// Changes permissions while the emulator runs. Returns false, having changed what there is,
    /// unless all of the range is mapped.
    pub(crate) fn protect_live<D>(
        &mut self,
        unicorn: &mut Unicorn<'_, D>,
        range: Range<u64>,
        permissions: Permissions,
    ) -> Result<bool, LiveError> {
        let len = range.end - range.start;
        let indices = self.cut(unicorn, range)?;
        let mut mapped = 0;
        for region in &mut self.regions[indices] {
            mapped += region.len;
            if region.permissions == permissions {
                continue;
            }
            // Not by `mem_protect`: for s390x, it makes code that can't be written fail when it is fetched.
            region.uninstall(unicorn)?;
            region.permissions = permissions;
            region.allocate()?;
            region.install(unicorn)?;
        }
        Ok(mapped == len)
    }

    /// Splits regions at both ends of a range. Returns which regions are in it.
    fn cut<D>(&mut self, unicorn: &mut Unicorn<'_, D>, range: Range<u64>) -> Result<Range<usize>, LiveError> {
        self.last.set(0);
        for at in [range.start, range.end] {
            let index = self.regions.partition_point(|region| region.end() <= at);
            let Some(region) = self.regions.get(index).filter(|region| region.start < at) else { continue };
            // The emulator has each region as one, so that it never splits any itself.
            region.uninstall(unicorn)?;
            let mut head = region.clone();
            let mut tail = region.clone();
            head.len = at - head.start;
            tail.start = at;
            tail.len -= head.len;
            if let Some((_, offset)) = &mut tail.memory {
                *offset += usize::try_from(head.len).unwrap_or_default();
            }
            head.install(unicorn)?;
            tail.install(unicorn)?;
            self.regions.splice(index..=index, [head, tail]);
        }
        let position = |at: u64| self.regions.partition_point(|region| region.start < at);
        Ok(position(range.start)..position(range.end))
    }

    /// Returns a copy, which shares what copies of a process share.
    pub(crate) fn copy(&self) -> Result<Self, MapError> {
        let mut copy = Self::new(self.big_endian);
        for region in &self.regions {
            if region.is_shared {
                copy.insert(region.clone());
                continue;
            }
            // Whether or not the program may use it now.
            let mut memory = None;
            if let Some((from, offset)) = &region.memory {
                let (from, to) = (from.as_ptr().wrapping_add(*offset), region.host_memory()?);
                let len = usize::try_from(region.len).unwrap_or_default();
                // SAFETY: both are `len` bytes long; the copy's memory is new, so they don't overlap.
                #[expect(unsafe_code, reason = "the emulator writes this memory without Rust's knowledge")]
                unsafe {
                    ptr::copy_nonoverlapping(from, to.as_mut_ptr(), len);
                }
                memory = Some((Rc::new(to), 0));
            }
            copy.insert(Region { memory, ..region.clone() });
        }
        Ok(copy)
    }

    /// Returns the regions as they are, to go back to with [`Self::restore_regions`].
    pub(crate) fn keep_regions(&self) -> Regions {
        Regions(self.regions.clone())
    }

    /// Goes back to earlier regions. Returns whether they had changed.
    pub(crate) fn restore_regions<D>(
        &mut self,
        unicorn: &mut Unicorn<'_, D>,
        regions: Regions,
    ) -> Result<bool, uc_error> {
        let is_unchanged = self.regions.len() == regions.0.len()
            && self.regions.iter().zip(&regions.0).all(|(one, other)| one.is_mapped_as(other));
        if !is_unchanged {
            self.uninstall(unicorn)?;
            self.regions = regions.0;
            self.last.set(0);
            self.install(unicorn)?;
        }
        Ok(!is_unchanged)
    }

    /// Returns whether nothing is mapped in a range.
    pub(crate) fn is_free(&self, range: Range<u64>) -> bool {
        let index = self.regions.partition_point(|region| region.end() <= range.start);
        self.regions.get(index).is_none_or(|region| region.start >= range.end)
    }

    /// Returns the lowest address in a range from which on `len` bytes are free.
    pub(crate) fn find_free(&self, range: Range<u64>, len: u64) -> Option<u64> {
        let mut start = range.start;
        for region in &self.regions {
            if region.end() <= start {
                continue;
            }
            if start.checked_add(len)? <= region.start {
                break;
            }
            start = region.end();
        }
        start.checked_add(len).is_some_and(|end| end <= range.end).then_some(start)
    }

    /// Returns the number of bytes that the program may use.
    pub(crate) fn size(&self) -> u64 {
        let usable = self.regions.iter().filter(|region| region.memory.is_some());
        usable.map(|region| region.len).sum()
    }

    /// Returns the number of bytes in a range that are reserved, and never were to be used.
    pub(crate) fn reserved(&self, range: &Range<u64>) -> u64 {
        let reserved = self.regions.iter().filter(|region| region.memory.is_none());
        let within =
            |region: &Region| region.end().min(range.end).saturating_sub(region.start.max(range.start));
        reserved.map(within).sum()
    }

    /// Returns the region that holds an address.
    #[inline]
    fn region(&self, address: u64) -> Option<&Region> {
        let holds = |region: &Region| address.wrapping_sub(region.start) < region.len;
        if let Some(region) = self.regions.get(self.last.get()).filter(|region| holds(region)) {
            return Some(region);
        }
        let index = self.regions.partition_point(|region| region.end() <= address);
        let region = self.regions.get(index).filter(|region| holds(region))?;
        self.last.set(index);
        Some(region)
    }

    /// Returns the host's pointer to `len` bytes at an address, if one region has them all.
    #[inline]
    fn pointer(&self, address: u64, len: u64) -> Option<*mut u8> {
        let region = self.region(address)?;
        let offset = address - region.start;
        if len > region.len - offset {
            return None;
        }
        Some(region.pointer()?.wrapping_add(usize::try_from(offset).ok()?))
    }

    /// Splits a range of bytes where regions end: pairs of an address and a length. `None` if
    /// something is not mapped.
    fn pieces(&self, address: u64, len: u64) -> Option<Vec<(u64, usize)>> {
        let end = address.checked_add(len)?;
        let mut pieces = Vec::new();
        let mut at = address;
        while at < end {
            let region = self.region(at).filter(|region| region.pointer().is_some())?;
            let stop = end.min(region.end());
            pieces.push((at, usize::try_from(stop - at).ok()?));
            at = stop;
        }
        Some(pieces)
    }

    /// Returns the 8 bytes at an address as a number in the program's byte order, or `None` if
    /// nothing is mapped there.
    #[inline]
    #[must_use]
    pub fn read_u64(&self, address: u64) -> Option<u64> {
        let Some(pointer) = self.pointer(address, 8) else { return self.read_u64_in_pieces(address) };
        // SAFETY: `pointer` checked that 8 bytes lie within a live mapping.
        #[expect(unsafe_code, reason = "the emulator writes this memory without Rust's knowledge")]
        let bytes = unsafe { ptr::read(pointer.cast::<[u8; 8]>()) };
        Some(self.number(bytes))
    }

    #[cold]
    fn read_u64_in_pieces(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes).then(|| self.number(bytes))
    }

    pub(crate) const fn number(&self, bytes: [u8; 8]) -> u64 {
        if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    /// Fills a buffer from an address on. Returns false, and leaves the buffer unspecified,
    /// unless all of it is mapped.
    #[must_use]
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        if let Some(pointer) = self.pointer(address, buffer.len() as u64) {
            // SAFETY: `pointer` checked the length, and a mapping never overlaps a
            // buffer that Rust owns.
            #[expect(unsafe_code, reason = "the emulator writes this memory without Rust's knowledge")]
            unsafe {
                ptr::copy_nonoverlapping(pointer, buffer.as_mut_ptr(), buffer.len());
            }
            return true;
        }
        let Some(pieces) = self.pieces(address, buffer.len() as u64) else { return false };
        let mut rest = buffer;
        pieces.into_iter().all(|(address, len)| {
            let (piece, after) = std::mem::take(&mut rest).split_at_mut(len);
            rest = after;
            self.read(address, piece)
        })
    }

    /// Returns the bounds of the regions that the program may use, by address.
    pub fn regions(&self) -> impl Iterator<Item = Range<u64>> {
        let usable = self.regions.iter().filter(|region| region.pointer().is_some());
        usable.map(|region| region.start..region.end())
    }

    /// Stores bytes at an address, whether or not the program may. Returns false, and stores
    /// nothing, unless all of it is mapped.
    #[must_use]
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> bool {
        if let Some(pointer) = self.pointer(address, bytes.len() as u64) {
            self.save(address, bytes.len() as u64);
            // SAFETY: as in `read`; the region is writable for the host.
            #[expect(unsafe_code, reason = "the emulator reads this memory without Rust's knowledge")]
            unsafe {
                ptr::copy_nonoverlapping(bytes.as_ptr(), pointer, bytes.len());
            }
            return true;
        }
        let Some(pieces) = self.pieces(address, bytes.len() as u64) else { return false };
        let mut rest = bytes;
        pieces.into_iter().all(|(address, len)| {
            let (piece, after) = rest.split_at(len);
            rest = after;
            self.write(address, piece)
        })
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
        for region in self.regions.iter().filter(|region| region.pointer().is_some()) {
            let start = (address & !(PAGE - 1)).max(region.start);
            for page in (start..end.min(region.end())).step_by(PAGE_LEN) {
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

    /// Stores a number at each multiple of 8 of some pages, by its address. Returns false unless all
    /// of it is mapped in one region.
    ///
    /// The whole stack is filled before each run, and a page from the one before it: `value` has to
    /// combine the address with constants by shifts, masks and exclusive or only, so that all words
    /// of two pages differ by the same bits.
    #[must_use]
    pub(crate) fn fill(&self, start: u64, pages: u64, value: impl Fn(u64) -> u64) -> bool {
        debug_assert!(start.is_multiple_of(PAGE), "pages begin at multiples of their size");
        let bytes = |word: u64| if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
        let mut words = [[0; 8]; PAGE_LEN / 8];
        words.iter_mut().zip(0..).for_each(|(word, number)| *word = bytes(value(start + 8 * number)));
        let mut before = start;
        (0..pages).map(|page| start + page * PAGE).all(|page| {
            let difference = u64::from_ne_bytes(bytes(value(page) ^ value(before)));
            before = page;
            for word in &mut words {
                *word = (u64::from_ne_bytes(*word) ^ difference).to_ne_bytes();
            }
            self.write(page, words.as_flattened())
        })
    }

    /// Returns what the program may do at an address: nothing where nothing is mapped.
    pub(crate) fn permissions(&self, address: u64) -> Permissions {
        self.region(address).map(|region| region.permissions).unwrap_or_default()
    }

    /// Returns whether the program may access all bytes from an address on in a way.
    pub(crate) fn allows(&self, address: u64, len: u64, access: impl Fn(Permissions) -> bool) -> bool {
        let pieces = self.pieces(address, len);
        pieces.is_some_and(|pieces| pieces.iter().all(|(address, _)| access(self.permissions(*address))))
    }

    /// Returns the bounds of the region that holds an address.
    pub(crate) fn extent(&self, address: u64) -> Option<Range<u64>> {
        let region = self.region(address)?;
        Some(region.start..region.end())
    }

    /// Returns every region with its permissions, by address.
    pub(crate) fn layout(&self) -> impl Iterator<Item = (Range<u64>, Permissions)> {
        self.regions.iter().map(|region| (region.start..region.end(), region.permissions))
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
    fn each_word_of_filled_pages_follows_from_its_own_address() {
        let value = |address: u64| 0xe1e1_0000_0000_0005 ^ (address << 3);
        for big_endian in [false, true] {
            let mut space = AddressSpace::new(big_endian);
            space.map(0x7000, 0x5000, Permissions::READ_WRITE).unwrap();
            assert!(space.fill(0x7000, 4, value));
            for address in (0x7000..0xb000).step_by(8) {
                assert_eq!(space.read_u64(address), Some(value(address)), "{address:#x}");
            }
            assert_eq!(space.read_u64(0xb000), Some(0));
            assert!(!space.fill(0xb000, 2, value), "the second one is not mapped");
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

    /// A part that stays must not keep the host's memory for the rest.
    #[test]
    fn unmapped_memory_is_returned_to_the_host() {
        let mut unicorn = Unicorn::new(unicorn_engine::Arch::X86, unicorn_engine::Mode::MODE_64).unwrap();
        let mut space = AddressSpace::new(false);
        space.map(0x1000, 0x3000, Permissions::READ_WRITE).unwrap();
        space.install(&mut unicorn).unwrap();
        for page in [0x1000, 0x2000, 0x3000] {
            assert!(space.write_u64(page, page));
        }
        let before = space.keep_regions();
        space.unmap_live(&mut unicorn, 0x2000..0x3000).unwrap();
        assert_eq!(space.read_u64(0x2000), None);
        // The same memory, as it is now.
        space.restore_regions(&mut unicorn, before).unwrap();
        let words = [0x1000, 0x2000, 0x3000].map(|page| space.read_u64(page));
        assert_eq!(words, [Some(0x1000), Some(0), Some(0x3000)]);
        drop(unicorn);
    }
}
