//! The SFrame sections of a process, each for the addresses of its image.

use std::ops::Range;

use sframe_engine::{Abi, Error, Fde, Found, LookupAddress, Section, StepError};

/// Sections by image.
///
/// An address is looked up only in the section of the image that contains it:
/// entries in other images' sections are ignored.
#[derive(Clone, Debug, Default)]
pub struct Sections<'a> {
    sections: Vec<(Range<u64>, Section<'a>)>,
}

impl<'a> Sections<'a> {
    /// Takes sections, each with the loaded addresses of its image. These must not
    /// overlap.
    #[must_use]
    pub fn new(sections: Vec<(Range<u64>, Section<'a>)>) -> Self {
        Self { sections }
    }

    /// Returns the section for an address. `None` outside of all images, or if
    /// the image has no section.
    #[must_use]
    pub fn at(&self, address: impl Into<LookupAddress>) -> Option<&Section<'a>> {
        let address = address.into().get();
        self.sections.iter().find(|(range, _)| range.contains(&address)).map(|(_, section)| section)
    }

    /// Returns the FDE that covers an address.
    ///
    /// # Errors
    /// The section is malformed there.
    pub fn lookup_fde(&self, address: impl Into<LookupAddress>) -> Result<Option<Fde>, Error> {
        let address = address.into();
        self.at(address).map_or(Ok(None), |section| section.lookup_fde(address))
    }

    /// Returns the FDE and the row that cover an address.
    ///
    /// # Errors
    /// The section is malformed there.
    pub fn lookup(&self, address: impl Into<LookupAddress>) -> Result<Option<Found>, Error> {
        let address = address.into();
        self.at(address).map_or(Ok(None), |section| section.lookup(address))
    }

    /// Returns the rules for an address, as steps apply them.
    ///
    /// # Errors
    /// There is no FDE or no row, or the section is malformed there.
    pub fn rules(&self, address: impl Into<LookupAddress>) -> Result<(Abi, Found), StepError> {
        let address = address.into();
        let section = self.at(address).ok_or(StepError::NoFde)?;
        let fde = section.lookup_fde(address)?.ok_or(StepError::NoFde)?;
        let found = section.lookup_row(&fde, address)?.ok_or(StepError::NoRow)?;
        Ok((section.header().abi, found))
    }

    /// The sections in the order of the images.
    pub fn iter(&self) -> impl Iterator<Item = &Section<'a>> {
        self.sections.iter().map(|(_, section)| section)
    }
}
