//! The memory of earlier moments.
//!
//! Stops are answered when the program has already moved on. Copying all memory
//! each time would be too much: there is one copy from the first stop, and one of
//! each page that was stored to between two stops.

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_machine::AddressSpace;

const PAGE: u64 = 4096;
const PAGE_LEN: usize = 4096;
/// A store of more bytes, or with wider bounds, counts as a store to everything.
const WIDE: u64 = 1 << 24;

#[derive(Debug)]
struct Region {
    start: u64,
    bytes: Vec<u8>,
}

impl Region {
    fn offset(&self, address: u64) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.start)?).ok()?;
        (offset < self.bytes.len()).then_some(offset)
    }
}

/// Memory at each of the pending stops.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    /// Memory at the first pending stop.
    regions: Vec<Region>,
    /// Pages stored to since the last stop.
    dirty: FxHashSet<u64>,
    all_dirty: bool,
    last_dirty: Option<u64>,
    /// Later contents of pages: each with the first stop that has it.
    later: FxHashMap<u64, Vec<(usize, Vec<u8>)>>,
    later_bytes: usize,
    is_current: bool,
}

impl Shadow {
    /// Starts another run, with different memory.
    pub(super) fn start(&mut self) {
        *self = Self { regions: std::mem::take(&mut self.regions), ..Self::default() };
    }

    /// Records a store.
    pub(super) fn stored(&mut self, address: u64, len: u64) {
        if !self.is_current || len == 0 {
            return;
        }
        let (first, last) = (address / PAGE, address.saturating_add(len - 1) / PAGE);
        if first == last && self.last_dirty == Some(first) {
            return;
        }
        if len > WIDE {
            self.all_dirty = true;
        } else {
            self.dirty.extend(first..=last);
            self.last_dirty = Some(last);
        }
    }

    /// Keeps the current memory as that of a stop.
    pub(super) fn keep(&mut self, memory: &AddressSpace, stop: usize) {
        if !self.is_current || self.all_dirty && stop == 0 {
            let mut old = std::mem::take(&mut self.regions);
            for range in memory.regions() {
                let len = usize::try_from(range.end - range.start).unwrap_or(0);
                let mut bytes = old.pop().map_or_else(Vec::new, |region| region.bytes);
                bytes.resize(len, 0);
                if memory.read(range.start, &mut bytes) {
                    self.regions.push(Region { start: range.start, bytes });
                }
            }
            self.is_current = true;
            self.dirty.clear();
        } else {
            if self.all_dirty {
                for Region { start, bytes } in &self.regions {
                    self.dirty.extend(start / PAGE..(start + bytes.len() as u64) / PAGE);
                }
            }
            for page in self.dirty.drain() {
                let Some(region) =
                    self.regions.iter_mut().find(|region| region.offset(page * PAGE).is_some())
                else {
                    continue;
                };
                if stop == 0 {
                    if let Some(offset) = region.offset(page * PAGE)
                        && let Some(bytes) = region.bytes.get_mut(offset..offset + PAGE_LEN)
                    {
                        let _ = memory.read(page * PAGE, bytes);
                    }
                    continue;
                }
                let mut bytes = vec![0; PAGE_LEN];
                if memory.read(page * PAGE, &mut bytes) {
                    self.later.entry(page).or_default().push((stop, bytes));
                    self.later_bytes += PAGE_LEN;
                }
            }
        }
        self.all_dirty = false;
        self.last_dirty = None;
    }

    /// Returns the number of bytes kept for stops after the first.
    pub(super) const fn later_bytes(&self) -> usize {
        self.later_bytes
    }

    /// Returns the bounds of the region around an address.
    pub(super) fn region(&self, address: u64) -> Option<std::ops::Range<u64>> {
        let region = self.regions.iter().find(|region| region.offset(address).is_some())?;
        Some(region.start..region.start + region.bytes.len() as u64)
    }

    /// Returns memory as it was at a stop, or `None` if not all of it is mapped in
    /// one region.
    pub(super) fn read(&self, stop: usize, address: u64, size: u32) -> Option<Vec<u8>> {
        let size = usize::try_from(size).ok()?;
        let region = self.regions.iter().find(|region| region.offset(address).is_some())?;
        let offset = region.offset(address)?;
        let mut bytes = region.bytes.get(offset..offset.checked_add(size)?)?.to_vec();
        let end = address + size as u64;
        for page in address / PAGE..=(end.saturating_sub(1)) / PAGE {
            let versions = self.later.get(&page).into_iter().flatten();
            let Some((_, version)) = versions.take_while(|(since, _)| *since <= stop).last() else {
                continue;
            };
            let start = page * PAGE;
            for at in address.max(start)..end.min(start + PAGE) {
                let (to, from) = (usize::try_from(at - address).ok()?, usize::try_from(at - start).ok()?);
                bytes[to] = version[from];
            }
        }
        Some(bytes)
    }

    /// Ends all pending stops: the known memory is then that of the last one.
    pub(super) fn settle(&mut self) {
        for (page, mut versions) in self.later.drain() {
            let Some((_, version)) = versions.pop() else { continue };
            for region in &mut self.regions {
                if let Some(offset) = region.offset(page * PAGE)
                    && let Some(bytes) = region.bytes.get_mut(offset..offset + PAGE_LEN)
                {
                    bytes.copy_from_slice(&version);
                }
            }
        }
        self.later_bytes = 0;
    }
}
