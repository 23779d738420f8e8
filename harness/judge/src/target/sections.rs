//! The SFrame sections of a process, each for the addresses of its image.

use std::ops::Range;
use std::sync::Arc;

use sframe_engine::{Abi, Error, Fde, Found, Index, LookupAddress, Section, StepError};
use sframe_machine::{Change, Table, overlap};

/// Sections by image, and those that the program has registered.
///
/// An address is looked up only in the section of the image that contains it:
/// entries in other images' sections are ignored. Within code for which the program has registered a section, that one
/// counts alone, the last one if there are several.
#[derive(Clone, Debug, Default)]
pub struct Sections<'a> {
    sections: Vec<OfImage<'a>>,
    registered: Vec<Arc<Table>>,
}

/// A section, and the loaded addresses of its image. Without the index, look-ups in a function with many rows would take
/// time in proportion to the rows.
#[derive(Clone, Debug)]
struct OfImage<'a> {
    range: Range<u64>,
    index: Arc<Index<'a>>,
    /// Whether another file has taken its place.
    is_replaced: bool,
}

impl<'a> Sections<'a> {
    /// Takes sections, each with the loaded addresses of its image. These must not
    /// overlap.
    #[must_use]
    pub fn new(sections: Vec<(Range<u64>, Section<'a>)>) -> Self {
        let of_image =
            |(range, section)| OfImage { range, index: Arc::new(Index::new(&section)), is_replaced: false };
        Self { sections: sections.into_iter().map(of_image).collect(), registered: Vec::new() }
    }

    /// Registers or withdraws a section, or those of an image. Returns whether look-ups may have changed.
    pub fn change(&mut self, change: &Change) -> bool {
        match change {
            Change::Registered(table) => self.registered.push(Arc::clone(table)),
            Change::Withdrawn(table) => match self.registered.iter().rposition(|known| known == table) {
                Some(last) => drop(self.registered.remove(last)),
                None => return false,
            },
            Change::Executed(_) => {
                let is_new = self.has_registered() || self.sections.iter().any(|of| of.is_replaced);
                self.start_again();
                return is_new;
            }
            Change::Mapped(range) => return self.replace(range, false),
            Change::Replaced(range) => return self.replace(range, true),
            // Nothing is executed where nothing is.
            Change::Unmapped(_) => return false,
        }
        true
    }

    /// Notes that other files have taken the place of images, or that they are there again. Returns whether that is new.
    fn replace(&mut self, range: &Range<u64>, by_others: bool) -> bool {
        let is_there = |of: &&mut OfImage<'_>| overlap(&of.range, range);
        let mut is_new = false;
        for of in self.sections.iter_mut().filter(is_there) {
            is_new |= std::mem::replace(&mut of.is_replaced, by_others) != by_others;
        }
        is_new
    }

    /// As the program starts: without sections that it has registered, and with those of all images.
    pub fn start_again(&mut self) {
        self.registered.clear();
        self.sections.iter_mut().for_each(|of| of.is_replaced = false);
    }

    /// Whether the program has registered sections.
    #[must_use]
    pub const fn has_registered(&self) -> bool {
        !self.registered.is_empty()
    }

    /// Looks up in the section that the program has registered for the code at an address. `None` if there is none.
    fn in_registered<T>(
        &self,
        address: LookupAddress,
        look: impl FnOnce(&Section<'_>) -> Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        let table = self.registered.iter().rev().find(|table| table.code.contains(&address.get()))?;
        Some(Section::parse(&table.bytes, table.address).and_then(|section| look(&section)))
    }

    fn of_image(&self, address: LookupAddress) -> Option<&OfImage<'a>> {
        self.sections.iter().find(|of| of.range.contains(&address.get()) && !of.is_replaced)
    }

    /// Returns the section of the image at an address. `None` outside of all images, or if
    /// the image has no section.
    #[must_use]
    pub fn at(&self, address: impl Into<LookupAddress>) -> Option<&Section<'a>> {
        self.of_image(address.into()).map(|of| of.index.section())
    }

    /// Returns the FDE that covers an address.
    ///
    /// # Errors
    /// The section is malformed there.
    pub fn lookup_fde(&self, address: impl Into<LookupAddress>) -> Result<Option<Fde>, Error> {
        let address = address.into();
        if let Some(found) = self.in_registered(address, |section| section.lookup_fde(address)) {
            return found;
        }
        self.at(address).map_or(Ok(None), |section| section.lookup_fde(address))
    }

    /// Returns the FDE and the row that cover an address.
    ///
    /// # Errors
    /// The section is malformed there.
    pub fn lookup(&self, address: impl Into<LookupAddress>) -> Result<Option<Found>, Error> {
        let address = address.into();
        if let Some(found) = self.in_registered(address, |section| section.lookup(address)) {
            return found;
        }
        self.of_image(address).map_or(Ok(None), |of| of.index.lookup(address))
    }

    /// Returns the rules for an address, as steps apply them.
    ///
    /// # Errors
    /// There is no FDE or no row, or the section is malformed there.
    pub fn rules(&self, address: impl Into<LookupAddress>) -> Result<(Abi, Found), StepError> {
        let address = address.into();
        let registered = self.in_registered(address, |section| {
            let found = section.lookup(address)?;
            let has_fde = found.is_some() || section.lookup_fde(address)?.is_some();
            Ok((section.header().abi, found, has_fde))
        });
        let (abi, found, has_fde) = match (registered, self.of_image(address)) {
            (Some(registered), _) => registered?,
            (None, None) => return Err(StepError::NoFde),
            (None, Some(of)) => {
                let (section, found) = (of.index.section(), of.index.lookup(address)?);
                let has_fde = found.is_some() || section.lookup_fde(address)?.is_some();
                (section.header().abi, found, has_fde)
            }
        };
        found.map(|found| (abi, found)).ok_or(if has_fde { StepError::NoRow } else { StepError::NoFde })
    }

    /// The sections in the order of the images.
    pub fn iter(&self) -> impl Iterator<Item = &Section<'a>> {
        self.sections.iter().map(|of| of.index.section())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use sframe_engine::InstructionPointer;

    use super::*;

    const START: u64 = 0x1000;

    /// A section of version 2 for a function that has a row for each of its bytes.
    fn section_of(rows: u32) -> Vec<u8> {
        let mut bytes = vec![0xe2, 0xde, 2, 1, 3, 0, 0xf8, 0];
        for number in [1, rows, rows * 6, 0, 20, 0x1000_u32.wrapping_neg(), rows, 0, rows, 2] {
            bytes.extend(number.to_le_bytes());
        }
        for start in 0..rows {
            bytes.extend(start.to_le_bytes());
            bytes.extend([3, 8]);
        }
        bytes
    }

    fn sections(bytes: &[u8]) -> Sections<'_> {
        Sections::new(vec![(0..0x100_0000, Section::parse(bytes, 0x2000).expect("a sound section"))])
    }

    /// The time that it takes to look every row up, at best.
    fn time(rows: u32) -> Duration {
        let bytes = section_of(rows);
        let try_once = || {
            let sections = sections(&bytes);
            let begun = Instant::now();
            for offset in 0..rows {
                let found = sections.lookup(InstructionPointer(START + u64::from(offset)));
                assert_eq!(found.expect("a sound section").expect("a row").row_index, Some(offset));
            }
            begun.elapsed()
        };
        (0..3).map(|_| try_once()).min().expect("three times")
    }

    #[test]
    fn looking_up_all_rows_of_a_function_takes_linear_time() {
        let (few, many) = (time(4_000), time(32_000));
        assert!(many < few * 24, "{few:?} for 4,000 rows, {many:?} for 32,000");
    }

    /// Also where none is.
    #[test]
    fn an_index_finds_the_same_rows_as_the_section() {
        let bytes = section_of(100);
        let (sections, section) =
            (sections(&bytes), Section::parse(&bytes, 0x2000).expect("a sound section"));
        for address in [START - 1, START, START + 1, START + 99, START + 100, START, START - 1] {
            let address = InstructionPointer(address);
            assert_eq!(sections.lookup(address), section.lookup(address));
            let rules = sections.rules(address);
            assert_eq!(
                rules.map(|(_, found)| Some(found)).or_else(|_| section.lookup(address)),
                section.lookup(address)
            );
            assert_eq!(rules.is_err(), section.lookup_fde(address).expect("a sound section").is_none());
        }
    }
}
