//! The stores of a path, so that they can be undone, and asked for.

use crate::address_space::AddressSpace;

/// The last store to a word of memory on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastStore {
    /// The instruction.
    pub pc: u64,
    /// Whether the instruction names the place by the stack pointer or frame pointer alone, as those
    /// do that save registers, and it is the same each time if it is by the frame pointer.
    pub is_in_frame: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    before: [u8; 8],
    len: u8,
    store: Store,
}

/// An execution of an instruction that stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Store {
    /// The instruction.
    pub(super) pc: u64,
    /// How many instructions the path had executed before it.
    pub(super) time: usize,
}

/// The stores of a path, oldest first.
#[derive(Debug, Default)]
pub(super) struct Journal(Vec<Entry>);

impl Journal {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Records that an instruction is about to store to `len` bytes.
    pub(super) fn stores(&mut self, space: &AddressSpace, store: Store, address: u64, len: u64) {
        let end = address.saturating_add(len);
        let mut at = address;
        while at < end {
            let len = (end - at).min(8);
            let mut before = [0; 8];
            let bytes = &mut before[..usize::try_from(len).unwrap_or(8)];
            // What is not mapped is not stored to.
            if space.read(at, bytes) {
                self.0.push(Entry { address: at, before, len: len.to_le_bytes()[0], store });
            }
            at += len;
        }
    }

    /// Undoes all stores but the oldest ones.
    pub(super) fn undo(&mut self, space: &AddressSpace, oldest: usize) {
        while self.0.len() > oldest {
            let Some(Entry { address, before, len, .. }) = self.0.pop() else { return };
            // It could be read there.
            let _ = space.write(address, &before[..len.into()]);
        }
    }

    /// Returns the last store to any of the 8 bytes at an address: its instruction, and the word
    /// before it.
    pub(super) fn last(&self, space: &AddressSpace, address: u64) -> Option<(u64, u64)> {
        let position = self.0.iter().rposition(|entry| entry.overlaps(address))?;
        let store = self.0[position].store;
        // One instruction may store a word in parts.
        let others = self.0[..position].iter().rposition(|entry| entry.store != store);
        let first = others.map_or(0, |before| before + 1);
        let mut word = [0; 8];
        if !space.read(address, &mut word) {
            return None;
        }
        self.0[first..=position].iter().rev().for_each(|entry| entry.put_back(address, &mut word));
        Some((store.pc, space.number(word)))
    }

    /// Returns the last instruction that has overwritten a value in the 8 bytes at an address.
    pub(super) fn overwriting(&self, space: &AddressSpace, address: u64, value: u64) -> Option<u64> {
        let mut word = [0; 8];
        if !space.read(address, &mut word) {
            return None;
        }
        let mut entries = self.0.iter().rev().filter(|entry| entry.overlaps(address));
        let entry = entries.find(|entry| {
            let after = word;
            entry.put_back(address, &mut word);
            word != after && space.number(word) == value
        })?;
        Some(entry.store.pc)
    }

    /// Whether an instruction has stored to different places.
    pub(super) fn moves(&self, pc: u64) -> bool {
        let mut last: Option<&Entry> = None;
        let mut place = None;
        self.0.iter().filter(|entry| entry.store.pc == pc).any(|entry| {
            let is_part = last.is_some_and(|last| last.store == entry.store);
            last = Some(entry);
            !is_part && place.replace(entry.address).is_some_and(|before| before != entry.address)
        })
    }
}

impl Entry {
    /// Whether it is about any of the 8 bytes at an address.
    const fn overlaps(&self, address: u64) -> bool {
        let end = self.address.wrapping_add(self.len as u64);
        self.address < address.wrapping_add(8) && address < end
    }

    /// Undoes it in a copy of the 8 bytes at an address.
    fn put_back(&self, address: u64, word: &mut [u8; 8]) {
        for (index, byte) in self.before[..self.len.into()].iter().enumerate() {
            let offset = self.address.wrapping_add(index as u64).wrapping_sub(address);
            if let Some(place) = usize::try_from(offset).ok().and_then(|offset| word.get_mut(offset)) {
                *place = *byte;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_space::Permissions;

    const AT: u64 = 0x10_0000;

    fn space() -> AddressSpace {
        let mut space = AddressSpace::new(false);
        space.map(AT, 0x1000, Permissions::READ_WRITE).expect("room");
        assert!(space.write_u64(AT, 0x1111_1111_1111_1111) && space.write_u64(AT + 8, 0x2222_2222_2222_2222));
        space
    }

    /// Stores as the instruction at `pc` does.
    fn store(journal: &mut Journal, space: &AddressSpace, pc: u64, address: u64, bytes: &[u8]) {
        let store = Store { pc, time: journal.len() };
        journal.stores(space, store, address, bytes.len() as u64);
        assert!(space.write(address, bytes));
    }

    #[test]
    fn stores_are_undone_back_to_any_of_them() {
        let (space, mut journal) = (space(), Journal::default());
        let mut states = Vec::new();
        let words = || [space.read_u64(AT), space.read_u64(AT + 8)];
        for (pc, offset, bytes) in
            [(1, 0, &[1; 8][..]), (2, 4, &[2; 8]), (3, 6, &[3; 2]), (4, 0, &[4; 16]), (5, 7, &[5; 3])]
        {
            states.push((journal.len(), words()));
            store(&mut journal, &space, pc, AT + offset, bytes);
            assert_ne!(words(), states.last().expect("one").1, "{pc}");
        }
        for (len, before) in states.into_iter().rev() {
            journal.undo(&space, len);
            assert_eq!((journal.len(), words()), (len, before));
        }
    }

    #[test]
    fn the_last_store_to_a_word_may_touch_only_a_part_of_it() {
        let (space, mut journal) = (space(), Journal::default());
        assert_eq!(journal.last(&space, AT), None);
        store(&mut journal, &space, 1, AT, &[1; 8]);
        assert_eq!(journal.last(&space, AT), Some((1, 0x1111_1111_1111_1111)));
        assert_eq!(journal.last(&space, AT + 8), None);
        // Its last byte, and the next word's first one.
        store(&mut journal, &space, 2, AT + 7, &[2; 2]);
        assert_eq!(journal.last(&space, AT), Some((2, 0x0101_0101_0101_0101)));
        assert_eq!(journal.last(&space, AT + 8), Some((2, 0x2222_2222_2222_2222)));
        // One instruction stores both words in parts.
        let by_parts = Store { pc: 3, time: journal.len() };
        for part in 0..4 {
            journal.stores(&space, by_parts, AT + 4 * part, 4);
            assert!(space.write(AT + 4 * part, &[3; 4]));
        }
        assert_eq!(journal.last(&space, AT), Some((3, 0x0201_0101_0101_0101)));
        assert_eq!(journal.last(&space, AT + 8), Some((3, 0x2222_2222_2222_2202)));
    }

    #[test]
    fn what_a_word_has_held_is_known_however_often_it_was_overwritten() {
        let (space, mut journal) = (space(), Journal::default());
        let held = |journal: &Journal| {
            [0x1111_1111_1111_1111, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202]
                .map(|value| journal.overwriting(&space, AT, value))
        };
        assert_eq!(held(&journal), [None; 3]);
        store(&mut journal, &space, 1, AT, &[1; 8]);
        assert_eq!(held(&journal), [Some(1), None, None]);
        // In two parts, the second of which touches the next word, too.
        store(&mut journal, &space, 2, AT, &[2; 4]);
        store(&mut journal, &space, 3, AT + 4, &[2; 8]);
        assert_eq!(held(&journal), [Some(1), Some(2), None]);
        // The same again changes nothing.
        store(&mut journal, &space, 4, AT, &[2; 8]);
        assert_eq!(held(&journal), [Some(1), Some(2), None]);
        assert_eq!(journal.overwriting(&space, 0x10, 0), None);
    }

    #[test]
    fn an_instruction_counts_as_moving_if_its_next_store_is_elsewhere() {
        let (space, mut journal) = (space(), Journal::default());
        let stores = |journal: &mut Journal, pc, time, address| {
            journal.stores(&space, Store { pc, time }, address, 8);
        };
        // In two parts, twice.
        for time in [1, 5] {
            stores(&mut journal, 1, time, AT);
            stores(&mut journal, 1, time, AT + 8);
        }
        stores(&mut journal, 2, 6, AT);
        stores(&mut journal, 2, 7, AT + 8);
        assert_eq!([1, 2, 3].map(|pc| journal.moves(pc)), [false, true, false]);
    }

    #[test]
    fn stores_to_unmapped_memory_are_not_recorded() {
        let (space, mut journal) = (space(), Journal::default());
        journal.stores(&space, Store { pc: 1, time: 0 }, AT - 8, 8);
        assert_eq!(journal.len(), 0);
        journal.stores(&space, Store { pc: 1, time: 0 }, AT - 8, 16);
        assert_eq!((journal.len(), journal.last(&space, AT - 8)), (1, None));
        journal.stores(&space, Store { pc: 1, time: 0 }, u64::MAX - 3, 8);
        assert_eq!(journal.len(), 1);
    }
}
