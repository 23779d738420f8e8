//! The memory of earlier moments.
//!
//! Stops are answered when the program has already moved on. Copying all memory
//! each time would be too much: there is one copy from the first stop, and one of
//! each page that was stored to, mapped or unmapped between two stops.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_machine::Memory;

const PAGE: u64 = 4096;
const PAGE_LEN: usize = 4096;
/// A store of more bytes, or with wider bounds, counts as a store to everything.
const WIDE: u64 = 1 << 24;

/// What a page holds. There is most of zeroes, of which none is kept.
type Page = Vec<u8>;

/// Memory at each of the pending stops.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    /// The bounds of what could be read at the last stop, by address.
    regions: Vec<Range<u64>>,
    /// Each page at the first pending stop.
    first: FxHashMap<u64, Page>,
    /// Pages stored to since the last stop.
    dirty: FxHashSet<u64>,
    all_dirty: bool,
    last_dirty: Option<u64>,
    /// Pages that were different later, or not there: each with the first stop that has it.
    later: FxHashMap<u64, Vec<(usize, Option<Page>)>>,
    later_bytes: usize,
}

impl Shadow {
    /// Starts another run, with different memory.
    pub(super) fn start(&mut self) {
        *self = Self::default();
    }

    /// Records a store.
    pub(super) fn stored(&mut self, address: u64, len: u64) {
        if self.regions.is_empty() || len == 0 {
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
    pub(super) fn keep(&mut self, memory: &dyn Memory, stop: usize) {
        let all_dirty = std::mem::take(&mut self.all_dirty);
        let regions = memory.regions();
        if all_dirty || regions != self.regions {
            let old = std::mem::replace(&mut self.regions, regions);
            let new = self.regions.iter().filter(|region| all_dirty || !is_among(region, &old));
            let gone = old.iter().filter(|region| !is_among(region, &self.regions));
            self.dirty.extend(new.chain(gone).flat_map(|region| region.start / PAGE..region.end / PAGE));
        }
        self.last_dirty = None;
        let mut buffer = [0; PAGE_LEN];
        for page in self.dirty.drain() {
            let is_there = memory.read(page * PAGE, &mut buffer);
            let content = if buffer == [0; PAGE_LEN] { &[] } else { &buffer[..] };
            let content = is_there.then_some(content);
            let last = match self.later.get(&page).and_then(|versions| versions.last()) {
                Some((_, last)) => last.as_ref(),
                None => self.first.get(&page),
            };
            if content == last.map(Vec::as_slice) {
                continue;
            }
            let content = content.map(<[u8]>::to_vec);
            match content {
                _ if stop > 0 => {
                    self.later_bytes += content.as_ref().map_or(0, Vec::len);
                    self.later.entry(page).or_default().push((stop, content));
                }
                Some(content) => drop(self.first.insert(page, content)),
                None => drop(self.first.remove(&page)),
            }
        }
    }

    /// Returns the number of bytes kept for stops after the first.
    pub(super) const fn later_bytes(&self) -> usize {
        self.later_bytes
    }

    /// Returns the bounds of the region around an address at the last stop.
    pub(super) fn region(&self, address: u64) -> Option<Range<u64>> {
        self.regions.iter().find(|region| region.contains(&address)).cloned()
    }

    /// Returns a page as it was at a stop, if it was there.
    fn page(&self, stop: usize, page: u64) -> Option<&Page> {
        let mut versions = self.later.get(&page).into_iter().flatten().rev();
        match versions.find(|(since, _)| *since <= stop) {
            Some((_, version)) => version.as_ref(),
            None => self.first.get(&page),
        }
    }

    /// Returns memory as it was at a stop, or `None` if not all of it was mapped.
    pub(super) fn read(&self, stop: usize, address: u64, size: u32) -> Option<Vec<u8>> {
        let end = address.checked_add(size.into())?;
        let mut bytes = Vec::with_capacity(usize::try_from(size).ok()?);
        let mut at = address;
        while at < end {
            let page = self.page(stop, at / PAGE)?;
            let next = end.min(at - at % PAGE + PAGE);
            let start = usize::try_from(at % PAGE).ok()?;
            let len = usize::try_from(next - at).ok()?;
            match page.get(start..start + len) {
                Some(content) => bytes.extend(content),
                None => bytes.resize(bytes.len() + len, 0),
            }
            at = next;
        }
        Some(bytes)
    }

    /// Ends all pending stops: the known memory is then that of the last one.
    pub(super) fn settle(&mut self) {
        for (page, mut versions) in self.later.drain() {
            match versions.pop() {
                Some((_, Some(version))) => drop(self.first.insert(page, version)),
                _ => drop(self.first.remove(&page)),
            }
        }
        self.later_bytes = 0;
    }
}

/// Whether one of some regions, by address, has the same bounds.
fn is_among(region: &Range<u64>, regions: &[Range<u64>]) -> bool {
    let found = regions.binary_search_by_key(&region.start, |other| other.start);
    found.is_ok_and(|at| regions[at] == *region)
}
