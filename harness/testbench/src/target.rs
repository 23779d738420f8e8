//! A file under test, opened by both views: what the machine loads, and what
//! the linker says of it.

use std::fmt;

use sframe_engine::Section;
use sframe_machine::{Image, LoadError};

use crate::subject::{Subject, SubjectError};

/// Why a file can't be tested.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The machine can't load it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its sections or symbols can't be read.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// There is nothing to test.
    #[error("there is no .sframe section")]
    NoSection,
    /// The section's header is malformed; nothing can be looked up.
    #[error("the .sframe section ({len} bytes at {address:#x}) can't be used: {source}")]
    Section {
        /// Its length in bytes.
        len: usize,
        /// Its address.
        address: u64,
        /// What is wrong.
        source: sframe_engine::Error,
    },
    /// The section is for another ABI than the file.
    #[error("the .sframe section is for {section}, the file for {file}")]
    WrongAbi {
        /// The section's ABI.
        section: &'static str,
        /// The file's ABI.
        file: &'static str,
    },
}

/// A file under test.
#[derive(Debug)]
pub struct Target<'a> {
    /// What the machine loads.
    pub image: Image<'a>,
    /// Sections and symbols.
    pub subject: Subject<'a>,
    /// The SFrame section, at its address with the load bias.
    pub section: Section<'a>,
}

impl<'a> Target<'a> {
    /// Opens an executable.
    ///
    /// # Errors
    /// It can't be loaded, or has no usable `.sframe` section.
    pub fn open(bytes: &'a [u8]) -> Result<Self, TargetError> {
        let image = Image::parse(bytes)?;
        let subject = Subject::parse(bytes)?;
        let sframe = subject.sframe.ok_or(TargetError::NoSection)?;
        let address = sframe.address.wrapping_add(image.bias);
        let section = Section::parse(sframe.data, address).map_err(|source| TargetError::Section {
            len: sframe.data.len(),
            address: sframe.address,
            source,
        })?;
        let (abi, file) = (section.header().abi.name(), image.cpu.name);
        if abi != file {
            return Err(TargetError::WrongAbi { section: abi, file });
        }
        Ok(Self { image, subject, section })
    }

    /// Where a loaded address lies.
    #[must_use]
    pub fn place(&self, loaded: u64) -> Place<'_> {
        let address = loaded.wrapping_sub(self.image.bias);
        let symbol = self.subject.symbols.at(address);
        Place {
            address,
            function: symbol.map(|(name, _)| name),
            offset: symbol.map_or(0, |(_, offset)| offset),
        }
    }

    /// The name of the function of a frame, as specs write it: the address
    /// where there is no symbol. `topmost` frames are named by their PC, the
    /// others by the call before it.
    #[must_use]
    pub fn frame_name(&self, pc: u64, topmost: bool) -> String {
        let place = self.place(if topmost { pc } else { pc.wrapping_sub(1) });
        place.function.map_or_else(|| format!("{:#x}", place.address), str::to_owned)
    }
}

/// An address without the load bias, and the function there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The address.
    pub address: u64,
    /// The function, if a symbol names it.
    pub function: Option<&'a str>,
    /// The offset into the function, in bytes.
    pub offset: u64,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.function {
            Some(function) => write!(f, "{function}+{:#x} ({:#x})", self.offset, self.address),
            None => write!(f, "{:#x}", self.address),
        }
    }
}
