//! A map from the addresses of instructions.

use rustc_hash::FxHashMap;

/// The number of addresses of a page.
const PAGE: usize = 4096;

/// A map from the addresses of instructions. Code is dense, and the next instruction is mostly
/// near the last one: then a look-up costs two loads. It is inlined, since there are several at
/// each instruction.
#[derive(Clone, Debug)]
pub struct PcMap<T> {
    /// The page of an address, by address / 4096.
    pages: FxHashMap<u64, usize>,
    /// For each address of a page, 1 + the position of its entry; 0 for none.
    positions: Vec<Box<[u32; PAGE]>>,
    entries: Vec<(u64, T)>,
    /// The last page: its key and position.
    last: (u64, usize),
}

impl<T> Default for PcMap<T> {
    fn default() -> Self {
        Self { pages: FxHashMap::default(), positions: Vec::new(), entries: Vec::new(), last: (u64::MAX, 0) }
    }
}

#[inline]
fn split(pc: u64) -> (u64, usize) {
    (pc / PAGE as u64, usize::try_from(pc % PAGE as u64).unwrap_or(0))
}

impl<T> PcMap<T> {
    /// Returns the entry of an address, if it has one.
    #[inline(always)]
    pub fn get(&mut self, pc: u64) -> Option<&mut T> {
        let (page, offset) = split(pc);
        if page != self.last.0 {
            self.last = (page, *self.pages.get(&page)?);
        }
        let position = self.positions[self.last.1][offset] as usize;
        Some(&mut self.entries[position.checked_sub(1)?].1)
    }

    /// Returns the entry of an address, which is made if necessary.
    #[inline(always)]
    pub fn get_or_insert_with(&mut self, pc: u64, make: impl FnOnce() -> T) -> &mut T {
        let (page, offset) = split(pc);
        if page != self.last.0 {
            self.last = (page, self.page(page));
        }
        match (self.positions[self.last.1][offset] as usize).checked_sub(1) {
            Some(position) => &mut self.entries[position].1,
            None => self.make(pc, offset, make),
        }
    }

    /// Makes the entry of an address on the last page.
    #[cold]
    #[inline(never)]
    fn make(&mut self, pc: u64, offset: usize, make: impl FnOnce() -> T) -> &mut T {
        self.entries.push((pc, make()));
        let entries = u32::try_from(self.entries.len()).expect("fewer instructions than 2^32");
        self.positions[self.last.1][offset] = entries;
        &mut self.entries[entries as usize - 1].1
    }

    /// Returns the position of a page, which is made if necessary.
    #[cold]
    fn page(&mut self, page: u64) -> usize {
        *self.pages.entry(page).or_insert_with(|| {
            self.positions.push(Box::new([0; PAGE]));
            self.positions.len() - 1
        })
    }

    /// Returns the number of entries.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the map is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns all entries with their addresses, in the order in which they were made.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.entries.iter().map(|(pc, entry)| (*pc, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_made_once_and_found_on_any_page() {
        let mut map = PcMap::default();
        let pcs = [0x1000, 0x1fff, 0x2000, 0, u64::MAX, 0x1000, 0x7fff_0000_1000];
        for pc in pcs {
            *map.get_or_insert_with(pc, || 0) += 1;
        }
        assert_eq!(map.iter().count(), 6);
        for (pc, expected) in [(0x1000, Some(2)), (0x1001, None), (u64::MAX, Some(1)), (0x9000, None)] {
            assert_eq!(map.get(pc).copied(), expected, "{pc:#x}");
        }
        assert_eq!(map.iter().next(), Some((0x1000, &2)));
    }
}
