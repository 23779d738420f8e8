//! The stores of a path, so that they can be undone, and asked for.

use crate::address_space::AddressSpace;

/// The last store to a word of memory on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastStore {
    /// The instruction.
    pub pc: u64,
    /// What the word held before it.
    pub before: u64,
    /// Whether the instruction names the place by the stack pointer or frame pointer alone, as those
    /// do that save registers.
    pub is_in_frame: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    before: [u8; 8],
    len: u8,
    pc: u64,
}

/// The stores of a path, oldest first.
#[derive(Debug, Default)]
pub(super) struct Journal(Vec<Entry>);

impl Journal {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Records that an instruction is about to store to `len` bytes.
    pub(super) fn stores(&mut self, space: &AddressSpace, pc: u64, address: u64, len: u64) {
        let end = address.saturating_add(len);
        let mut at = address;
        while at < end {
            let len = (end - at).min(8);
            let mut before = [0; 8];
            let bytes = &mut before[..usize::try_from(len).unwrap_or(8)];
            // What is not mapped is not stored to.
            if space.read(at, bytes) {
                self.0.push(Entry { address: at, before, len: len.to_le_bytes()[0], pc });
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
        let overlaps = |entry: &&Entry| {
            let end = entry.address.wrapping_add(entry.len.into());
            entry.address < address.wrapping_add(8) && address < end
        };
        let position = self.0.iter().rposition(|entry| overlaps(&entry))?;
        let pc = self.0[position].pc;
        // One instruction may store a word in parts.
        let first =
            self.0[..position].iter().rposition(|entry| entry.pc != pc).map_or(0, |before| before + 1);
        let mut word = [0; 8];
        if !space.read(address, &mut word) {
            return None;
        }
        for entry in self.0[first..=position].iter().rev().filter(overlaps) {
            for (index, byte) in entry.before[..entry.len.into()].iter().enumerate() {
                let offset = entry.address.wrapping_add(index as u64).wrapping_sub(address);
                if let Some(place) = usize::try_from(offset).ok().and_then(|offset| word.get_mut(offset)) {
                    *place = *byte;
                }
            }
        }
        Some((pc, space.number(word)))
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
        journal.stores(space, pc, address, bytes.len() as u64);
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
    fn the_last_store_to_a_word_is_any_that_touches_it() {
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
        for part in 0..4 {
            store(&mut journal, &space, 3, AT + 4 * part, &[3; 4]);
        }
        assert_eq!(journal.last(&space, AT), Some((3, 0x0201_0101_0101_0101)));
        assert_eq!(journal.last(&space, AT + 8), Some((3, 0x2222_2222_2222_2202)));
    }

    #[test]
    fn what_is_not_mapped_is_not_recorded() {
        let (space, mut journal) = (space(), Journal::default());
        journal.stores(&space, 1, AT - 8, 8);
        assert_eq!(journal.len(), 0);
        journal.stores(&space, 1, AT - 8, 16);
        assert_eq!((journal.len(), journal.last(&space, AT - 8)), (1, None));
        journal.stores(&space, 1, u64::MAX - 3, 8);
        assert_eq!(journal.len(), 1);
    }
}
