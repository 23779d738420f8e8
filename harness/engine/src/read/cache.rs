//! A cache of look-ups, for PCs that come back.

use crate::address::LookupAddress;
use crate::error::Error;
use crate::read::lookup::Found;
use crate::read::section::Section;

/// What finds the function and row for an address: a [`Section`], or an index of one.
pub trait FindRow {
    /// Returns the function and row that cover an address, as [`Section::lookup`] does.
    ///
    /// # Errors
    /// Those of [`Section::lookup`].
    fn find_row(&self, address: LookupAddress) -> Result<Option<Found>, Error>;
}

impl FindRow for Section<'_> {
    fn find_row(&self, address: LookupAddress) -> Result<Option<Found>, Error> {
        self.lookup(address)
    }
}

impl<T: FindRow> FindRow for &T {
    fn find_row(&self, address: LookupAddress) -> Result<Option<Found>, Error> {
        (*self).find_row(address)
    }
}

/// The last look-ups, of `N` addresses at most: profilers see the same PCs again and again.
///
/// An address has one place, its remainder by `N`, and takes it over from the one before. A prime
/// number such as 509 serves best, as code has patterns of powers of two. An entry has about 170
/// bytes, which are part of the cache itself: nothing is allocated.
///
/// What it finds is what its source finds. Also kept is that there is no row; errors are not, so
/// that each look-up of a faulty place takes as long as the first.
///
/// ```
/// # use sframe_engine::{Cache, InstructionPointer, Section};
/// # let bytes = [
/// #     0xe2, 0xde, 2, 1, 3, 0, 0xf8, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
/// #     0x00, 0xf0, 0xff, 0xff, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x03, 8,
/// # ];
/// # let section = Section::parse(&bytes, 0x2000)?;
/// let mut cache = Cache::<_, 509>::new(&section);
/// let pc = InstructionPointer(0x1002);
/// assert_eq!(cache.lookup(pc)?, section.lookup(pc)?.as_ref());
/// # Ok::<(), sframe_engine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cache<S, const N: usize> {
    source: S,
    entries: [Option<Entry>; N],
}

/// What was found for an address.
#[derive(Clone, Copy, Debug)]
struct Entry {
    address: LookupAddress,
    found: Option<Found>,
}

impl<S: FindRow, const N: usize> Cache<S, N> {
    /// Makes an empty cache for a source: a [`Section`], an index, or a reference to one. `N` is
    /// not 0.
    #[must_use]
    pub fn new(source: S) -> Self {
        const { assert!(N > 0, "a cache has entries") };
        Self { source, entries: [None; N] }
    }

    /// The source.
    #[must_use]
    pub const fn source(&self) -> &S {
        &self.source
    }

    /// Returns the function and row that cover an address, as [`Section::lookup`] does.
    ///
    /// # Errors
    /// Those of [`Section::lookup`].
    #[inline]
    pub fn lookup(&mut self, address: impl Into<LookupAddress>) -> Result<Option<&Found>, Error> {
        let address = address.into();
        let place = usize::try_from(address.get() % N as u64).unwrap_or_default();
        let Self { source, entries } = self;
        let entry = &mut entries[place];
        if entry.is_none_or(|entry| entry.address != address) {
            *entry = Some(Entry { address, found: source.find_row(address)? });
        }
        Ok(entry.as_ref().and_then(|entry| entry.found.as_ref()))
    }
}
