//! A file whose functions are explored.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{MemfdFlags, memfd_create};
use sframe_elf::debug_file::{DebugFile, DebugFileError};
use sframe_elf::file::{MAX_BYTES, read};
use sframe_elf::link::{LoadedModule, Module, Unapplied, link, load_module};
use sha2::{Digest as _, Sha256};

use super::error::ExploreError;
use crate::target::{MadeSections, SectionSource, Target};

/// The bytes of a file, and the section that was made for it. A relocatable one is linked.
#[derive(Debug)]
pub struct ExploredFile {
    bytes: Vec<u8>,
    /// SHA-256 of the file as it was given, in hexadecimal.
    digest: String,
    unapplied: Option<Vec<Unapplied>>,
    module: Option<Module>,
    source: SectionSource,
    /// Made when it is first opened: by then a debug file is known, if there is one.
    made: OnceLock<MadeSections>,
    debug: Option<DebugFile>,
}

impl ExploredFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It can't be read, or is relocatable and can't be linked.
    pub fn read(path: &Path, source: SectionSource) -> Result<Self, ExploreError> {
        Self::of(read(path, MAX_BYTES)?, source)
    }

    /// Takes the contents of a file.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn of(mut bytes: Vec<u8>, source: SectionSource) -> Result<Self, ExploreError> {
        let digest = format!("{:x}", Sha256::digest(&bytes));
        let mut unapplied = None;
        if is_relocatable(&bytes)
            && let Some(linked) = link(&bytes[..])?
        {
            (bytes, unapplied) = (linked.file, Some(linked.unapplied));
        }
        Ok(Self { digest, unapplied, ..Self::of_executable(bytes, source) })
    }

    /// Takes the contents of a relocatable file, as a kernel loads it.
    ///
    /// # Errors
    /// It is not relocatable, or can't be linked.
    pub fn of_module(bytes: &[u8], source: SectionSource) -> Result<Self, ExploreError> {
        let digest = format!("{:x}", Sha256::digest(bytes));
        let LoadedModule { file, module } = load_module(bytes)?;
        Ok(Self { digest, module: Some(module), ..Self::of_executable(file, source) })
    }

    /// Takes the contents of a linked file, which was made of another one.
    pub(super) fn of_executable(bytes: Vec<u8>, source: SectionSource) -> Self {
        let made = OnceLock::new();
        Self { bytes, digest: String::new(), unapplied: None, module: None, source, made, debug: None }
    }

    /// Names its functions by a separate debug file.
    #[must_use]
    pub fn named_by(self, debug: Option<DebugFile>) -> Self {
        Self { debug, made: OnceLock::new(), ..self }
    }

    /// Looks for a separate debug file below a root, given where the file is, and names its functions by that.
    ///
    /// # Errors
    /// There is one, but it is not usable.
    pub fn look_for_debug_file(self, path: &Path, root: &Path) -> (Self, Option<DebugFileError>) {
        match DebugFile::find(path, &self.bytes, root) {
            Ok(debug) => (self.named_by(debug), None),
            Err(error) => (self, Some(error)),
        }
    }

    /// Returns the separate debug file that names its functions, if there is one.
    #[must_use]
    pub const fn debug_file(&self) -> Option<&DebugFile> {
        self.debug.as_ref()
    }

    /// Returns the relocations that were not applied, if the file is relocatable: then its addresses
    /// are made up.
    #[must_use]
    pub fn unapplied(&self) -> Option<&[Unapplied]> {
        self.unapplied.as_deref()
    }

    /// Returns what loading it as a module has done, if it was.
    #[must_use]
    pub const fn module(&self) -> Option<&Module> {
        self.module.as_ref()
    }

    /// Returns the linked file.
    #[must_use]
    pub fn linked(&self) -> &[u8] {
        &self.bytes
    }

    /// SHA-256 of the file, in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Opens it.
    ///
    /// # Errors
    /// It is no executable, shared library or object file of an ABI, or has no section.
    pub fn open(&self) -> Result<Target<'_>, ExploreError> {
        let debug = self.debug.as_ref();
        let made = self.made.get_or_init(|| MadeSections::alone(&self.bytes, debug, self.source));
        Ok(Target::alone(&self.bytes, Some(made), debug)?)
    }
}

/// Bytes that workers open as a file of this process: they may be no file of their own on a disk.
#[derive(Debug)]
pub struct SharedFile {
    _file: File,
    path: PathBuf,
}

impl SharedFile {
    /// Makes a file in memory.
    ///
    /// # Errors
    /// There can't be one.
    pub fn of(bytes: &[u8]) -> std::io::Result<Self> {
        let mut file = File::from(memfd_create("image", MemfdFlags::CLOEXEC)?);
        file.write_all(bytes)?;
        let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
        Ok(Self { _file: file, path })
    }

    /// Where other processes find it while this one lives.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether an ELF file has the type `ET_REL`, in either byte order.
fn is_relocatable(bytes: &[u8]) -> bool {
    bytes.get(16..18).is_some_and(|kind| matches!(kind, [1, 0] | [0, 1]))
}
