//! A file whose functions are explored.

use std::path::Path;

use sframe_inspect::file::{MAX_BYTES, read};

use super::error::ExploreError;
use crate::target::{MadeSections, SectionSource, Target};

/// The bytes of a file, and the section that was made for it.
#[derive(Debug)]
pub struct ExploredFile {
    bytes: Vec<u8>,
    made: MadeSections,
}

impl ExploredFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read(path: &Path, source: SectionSource) -> Result<Self, ExploreError> {
        let bytes = read(path, MAX_BYTES)?;
        let made = MadeSections::alone(&bytes, source);
        Ok(Self { bytes, made })
    }

    /// Opens it.
    ///
    /// # Errors
    /// It is no executable, shared library or object file of an ABI, or has no section.
    pub fn open(&self) -> Result<Target<'_>, ExploreError> {
        Ok(Target::alone(&self.bytes, Some(&self.made))?)
    }
}
