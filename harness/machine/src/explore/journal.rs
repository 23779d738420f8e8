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
