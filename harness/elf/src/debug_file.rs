//! Separate debug files: what `strip` has taken out of a file. Of them the function symbols are used, to
//! name addresses, and `.debug_frame`.
//!
//! They are found as debuggers do: by the build ID, or by the name and the checksum in `.gnu_debuglink`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::{fmt, io};

use object::Object as _;

use crate::bounded::{self, File, SharedBytes};
use crate::file::{MAX_BYTES, read};

/// The folder of debug files, below a root.
const FOLDER: &str = "usr/lib/debug";
/// Of a build ID, the folder's name takes one byte, and the file's name the others.
const SHORTEST_BUILD_ID: usize = 2;

/// A debug file.
#[derive(Clone, PartialEq, Eq)]
pub struct DebugFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its contents.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for DebugFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DebugFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Why a debug file is not used.
#[derive(Debug, thiserror::Error)]
#[error("the debug file {} is not used: {reason}", path.display())]
pub struct DebugFileError {
    /// Where it is.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: Unused,
}

/// What is wrong with a debug file.
#[derive(Debug, thiserror::Error)]
pub enum Unused {
    /// It can't be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// It is no ELF file, or its tables are malformed.
    #[error("{0}")]
    Object(#[from] object::Error),
    /// Its tables would take too long to read.
    #[error(transparent)]
    SharedBytes(#[from] SharedBytes),
    /// It has another build ID, or another checksum.
    #[error("it is of another build")]
    OtherBuild,
}

impl DebugFile {
    /// Reads a file that is known to be a debug file.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), bytes: read(path, MAX_BYTES)? })
    }

    /// Finds the debug file of a file without function symbols of its own: beside it, in the folder `.debug`
    /// there, or below a root. `None` if there is none, or none is needed.
    ///
    /// # Errors
    /// There is one, but it is not usable.
    pub fn find(file: &Path, bytes: &[u8], root: &Path) -> Result<Option<Self>, DebugFileError> {
        // A file that can't be read gets its error when it is opened.
        let Ok(elf) = bounded::open::<Unused>(bytes.into()) else { return Ok(None) };
        if elf.symbols().next().is_some() {
            return Ok(None);
        }
        let id = elf.build_id().ok().flatten().filter(|id| id.len() >= SHORTEST_BUILD_ID);
        let link = elf.gnu_debuglink().ok().flatten();
        let by_id = id.map(|id| root.join(FOLDER).join(".build-id").join(name_of(id)));
        let linked = link.map(|(name, _)| beside(file, name, root)).unwrap_or_default();
        let Some(path) = by_id.into_iter().chain(linked).find(|path| path.is_file()) else { return Ok(None) };
        let usable = || {
            let debug = Self::read(&path)?;
            let of_debug = bounded::open::<Unused>(debug.bytes[..].into())?;
            let is_same = match (id, of_debug.build_id().ok().flatten()) {
                (Some(id), Some(other)) => id == other,
                _ => link.is_some_and(|(_, checksum)| crc32fast::hash(&debug.bytes) == checksum),
            };
            if is_same { Ok(debug) } else { Err(Unused::OtherBuild) }
        };
        usable().map(Some).map_err(|reason| DebugFileError { path: path.clone(), reason })
    }

    /// Opens it, if its tables can be read.
    pub(crate) fn open(&self) -> Option<File<'_>> {
        bounded::open::<Unused>(self.bytes[..].into()).ok()
    }
}

/// The path of a build ID's debug file, in the folder of all.
fn name_of(id: &[u8]) -> PathBuf {
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (folder, name) = id.split_at(1);
    Path::new(&digits(folder)).join(format!("{}.debug", digits(name)))
}

/// Where a debug file may be that a file names. The name is no path: a file from a stranger could name any.
fn beside(file: &Path, name: &[u8], root: &Path) -> Vec<PathBuf> {
    let name = Path::new(OsStr::from_bytes(name));
    let mut components = name.components();
    if !matches!((components.next(), components.next()), (Some(Component::Normal(_)), None)) {
        return Vec::new();
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    let below = folder.canonicalize().unwrap_or_default();
    let below = below.strip_prefix(root.canonicalize().unwrap_or_default()).map(Path::to_owned);
    let in_root = below.ok().map(|below| root.join(FOLDER).join(below));
    let folders = [folder.to_owned(), folder.join(".debug")].into_iter().chain(in_root);
    // A file may name itself.
    folders.map(|folder| folder.join(name)).filter(|path| path != file).collect()
}
