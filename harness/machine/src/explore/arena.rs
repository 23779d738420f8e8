//! The memory of an explored function: a stack with a made-up caller, and pages that appear where
//! nothing is mapped.

use std::ops::Range;

use rustc_hash::FxHashMap;
use unicorn_engine::{MemType, Prot, TlbEntry};

use crate::address_space::{AddressSpace, MapError, PAGE, Permissions};

/// What a function is given as arguments, finds in uninitialised registers and memory, and gets
/// from its callees.
///
/// A row that is wrong is so with either. One that only seems wrong with values that the program
/// never has, as a size that is the address of something, may agree with the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Seed {
    /// Arguments point to memory, which is zero, as are results.
    #[default]
    Pointers,
    /// Arguments, results and memory are small numbers.
    Numbers,
}

/// Addresses of what the explored function uses, in a part of the address space that is free of
/// images.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    start: u64,
    /// Whether calls leave their return addresses on the stack, and the function was not called: the system starts it
    /// with SP at a multiple of 16.
    pub(super) is_started: bool,
}

impl Layout {
    /// The length of the part, of which its start is a multiple.
    const LEN: u64 = 1 << 37;
    const STACK_LEN: u64 = 64 << 20;
    /// The caller's frames above the explored function's.
    const CALLERS: u64 = 1 << 20;
    /// At most this many bytes of the stack are filled; the rest is zero.
    const FILLED: u64 = 1 << 16;

    /// Chooses the first part without an image below an end.
    pub(super) fn beside(image: &Range<u64>, end: u64) -> Option<Self> {
        let is_free = |layout: &Self| image.end <= layout.start || layout.start + Self::LEN <= image.start;
        (1..end / Self::LEN).map(|part| Self { start: part * Self::LEN, is_started: false }).find(is_free)
    }

    pub(super) const fn stack(self) -> Range<u64> {
        let start = self.start + (1 << 30);
        start..start + Self::STACK_LEN
    }

    /// SP of the caller when it calls, a multiple of 16.
    pub(super) const fn caller_sp(self) -> u64 {
        self.stack().end - Self::CALLERS + if self.is_started { 8 } else { 0 }
    }

    /// The caller's frame pointer.
    pub(super) const fn caller_fp(self) -> u64 {
        self.caller_sp() + 0x4_0310
    }

    /// Where the caller continues. Nothing is mapped there.
    pub(super) const fn return_address(self) -> u64 {
        self.start + 0x7_1000_5678
    }

    /// What an argument or result points to, by its number.
    pub(super) const fn object(self, number: u64) -> u64 {
        self.start + 0x2_0000_0000 + number * 0x1_0000
    }

    /// The thread pointer.
    pub(super) const fn thread(self) -> u64 {
        self.start + 0x3_0000_0800
    }

    /// The memory from which pages are taken. Programs don't know this address.
    const fn pool(self) -> Range<u64> {
        let start = self.start + (4 << 30);
        start..start + Pages::MOST * PAGE
    }
}

/// Pages that have appeared.
#[derive(Debug)]
pub(super) struct Pages {
    layout: Layout,
    seed: Seed,
    /// Where each one is in the pool.
    known: FxHashMap<u64, u64>,
    /// Whether there were not enough.
    pub(super) ran_out: bool,
}

impl Pages {
    /// No function gets more than this many.
    const MOST: u64 = 1024;

    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, seed: Seed::default(), known: FxHashMap::default(), ran_out: false }
    }

    /// Forgets all pages.
    pub(super) fn start(&mut self, seed: Seed) {
        self.known.clear();
        (self.seed, self.ran_out) = (seed, false);
    }

    /// Returns what is at a page of the function's memory; `None` ends the path.
    pub(super) fn translate(
        &mut self,
        space: &AddressSpace,
        address: u64,
        access: MemType,
    ) -> Option<TlbEntry> {
        // The emulator's pages may be smaller.
        let (page, offset) = (address & !(PAGE - 1), address & (PAGE - 1));
        let permissions = space.permissions(page);
        let is_pool = self.layout.pool().contains(&page);
        if permissions != Permissions::NONE && !is_pool {
            // Nothing changes the code that is explored.
            let write = if permissions.write { Prot::WRITE } else { Prot::NONE };
            return Some(TlbEntry { paddr: address, perms: Prot::READ | Prot::EXEC | write });
        }
        if matches!(access, MemType::FETCH) {
            return None;
        }
        if let Some(place) = self.known.get(&page) {
            return Some(TlbEntry { paddr: *place + offset, perms: Prot::READ | Prot::WRITE });
        }
        let index = self.known.len() as u64;
        if index == Self::MOST {
            self.ran_out = true;
            return None;
        }
        let word = match self.seed {
            Seed::Pointers => 0,
            Seed::Numbers => 16,
        };
        // Of stores that are not reported, some content of another function may be left.
        let place = self.layout.pool().start + index * PAGE;
        if !space.fill(place, 1, |_| word) {
            return None;
        }
        self.known.insert(page, place);
        Some(TlbEntry { paddr: place + offset, perms: Prot::READ | Prot::WRITE })
    }
}

/// Maps the stack and the pool.
pub(super) fn map(space: &mut AddressSpace, layout: Layout) -> Result<(), MapError> {
    let stack = layout.stack();
    space.map(stack.start, stack.end - stack.start, Permissions::READ_WRITE)?;
    // Below SP, and what belongs to the caller: nothing there is an address, or a register's value.
    let start = layout.caller_sp() - Layout::FILLED;
    let filled =
        space.fill(start, 2 * Layout::FILLED / PAGE, |address| 0xe1e1_0000_0000_0000 ^ (address << 3) ^ 5);
    let pool = layout.pool();
    space.map(pool.start, pool.end - pool.start, Permissions::READ_WRITE)?;
    if filled { Ok(()) } else { Err(MapError::Overlap { start, end: stack.end }) }
}
