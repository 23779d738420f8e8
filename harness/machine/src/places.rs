//! Where the machine puts memory that is not the program's.

use std::ops::Range;

use crate::address_space::PAGE;

/// Each image after the first one starts at a multiple of this.
pub(crate) const SPACING: u64 = 1 << 24;

/// Addresses of the first stack, of thread storage and of the machine's own code, in a part of
/// the address space without images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    start: u64,
}

impl Places {
    /// The length of the part, of which its start is a multiple.
    const LEN: u64 = 1 << 37;

    /// Returns the first part that is free of images, after the one that most images are in.
    /// Returns `None` if there are images everywhere, up to `end`.
    pub(crate) fn among(images: &[Range<u64>], end: u64) -> Option<Self> {
        (1..end / Self::LEN).map(|part| Self { start: part * Self::LEN }).find(|places| {
            let own = places.start..places.start + Self::LEN;
            images.iter().all(|image| image.end <= own.start || own.end <= image.start)
        })
    }

    /// The first of its addresses.
    pub(crate) const fn first(self) -> u64 {
        self.start
    }

    /// The stack ends here; nothing is mapped above it.
    pub(crate) const fn stack_top(self) -> u64 {
        self.start + Self::LEN - 0x1_0000
    }

    /// The page of thread storage.
    pub(crate) const fn thread_storage(self) -> u64 {
        self.start + 0x10_0000
    }

    /// Thread pointers point into the middle of the page: ABIs use both sides.
    pub(crate) const fn thread_pointer(self) -> u64 {
        self.thread_storage() + PAGE / 2
    }

    /// The page of the machine's own code: that of its dynamic linker.
    pub(crate) const fn linker(self) -> Range<u64> {
        let start = self.start + 0x20_0000;
        start..start + PAGE
    }

    /// The page of code that the kernel offers to programs: where handlers of signals return to
    /// that bring nothing of their own.
    pub(crate) const fn kernel(self) -> Range<u64> {
        let start = self.start + 0x30_0000;
        start..start + PAGE
    }

    /// Where a handler of signals returns to.
    pub(crate) const fn restorer(self) -> u64 {
        self.kernel().start
    }

    /// Addresses for mappings: what is left below the largest stack.
    pub(crate) const fn mappings(self) -> Range<u64> {
        self.start + (1 << 30)..self.start + Self::LEN - (1 << 31)
    }

    /// Where calls are bound lazily; and where they are bound if the slot's value is signed.
    pub(crate) const fn resolver(self, signs: bool) -> u64 {
        self.linker().start + if signs { 0x100 } else { 0 }
    }

    /// Returns whether an instruction is the first of a resolver.
    pub(crate) const fn is_resolver(self, pc: u64) -> bool {
        pc == self.resolver(false) || pc == self.resolver(true)
    }

    /// One instruction that signs a slot.
    pub(crate) const fn sign(self) -> u64 {
        self.linker().start + 0x200
    }

    /// Where functions return to that were never called.
    pub(crate) const fn nobody(self) -> u64 {
        self.linker().start + 0x400
    }

    /// The value by which the second word of a global offset table identifies its image.
    pub(crate) const fn token(self, image: usize) -> u64 {
        self.linker().start + 0x800 + image as u64
    }
}

impl Default for Places {
    fn default() -> Self {
        Self { start: Self::LEN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_keeps_out_of_the_way_of_images() {
        let places = |images: &[Range<u64>]| Places::among(images, 1 << 47).map(|places| places.start);
        let place = |image: Range<u64>| places(std::slice::from_ref(&image));
        assert_eq!(place(0x40_0000..0x50_0000), Some(1 << 37));
        assert_eq!(place(0x20_0000_0000..0x20_0000_1000), Some(1 << 38));
        assert_eq!(places(&[0x3f_ffff_f000..0x60_0000_0000, 0x70_0000_0000..0x7f_0000_0000]), Some(1 << 39));
        assert_eq!(place(0x1000..0x7fff_0000_0000), None);
    }
}
