//! The files of a process: an executable, and the libraries that it needs.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use sframe_elf::debug_file::{DebugFile, DebugFileError};
use sframe_elf::file::{MAX_BYTES, read};
use sframe_machine::{
    Dynamic, Image, Images, Library, LoadError, Loaded, Machine, MachineError, Mapped, Native, Options,
    Outcome, native,
};
use sha2::{Digest as _, Sha256};

/// Why the files of a process can't be collected.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file can't be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file can't be loaded.
    #[error("{}: {source}", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: LoadError,
    },
    /// The interpreter that loads an executable's libraries is not there.
    #[error("its interpreter {name} is not below the root (--root DIR is what it sees as /): {source}")]
    Interpreter {
        /// Its path.
        name: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The machine can't be set up for the first run.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A library is only where the files may not send anybody.
    #[error(
        "{needed_by} needs the library {name}, which is only at {}, outside of the executable's folder: name a \
         folder with --library-path, or let the files name any with --trust-runpath",
        path.display()
    )]
    Outside {
        /// The library's name.
        name: String,
        /// The image that needs it.
        needed_by: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A library is in none of the folders that were searched.
    #[error("{needed_by} needs the library {name}{}", searched(.folders, .interpreter.as_deref()))]
    Missing {
        /// The library's name.
        name: String,
        /// The image that needs it.
        needed_by: String,
        /// The folders that were searched.
        folders: Vec<PathBuf>,
        /// What loads the libraries when the program runs on a system.
        interpreter: Option<String>,
    },
}

fn searched(folders: &[PathBuf], interpreter: Option<&str>) -> String {
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let none = match folders.is_empty() {
        true => String::new(),
        false => format!(", which is in none of the folders searched: {}", folders.join(", ")),
    };
    let root = interpreter.map_or_else(String::new, |interpreter| {
        format!(
            "--root DIR is the system that it runs on, where {interpreter} finds its libraries (--root / is this one); \
             or "
        )
    });
    format!("{none}: {root}--library-path DIR is where to look for it")
}

/// The bytes of an executable and of its libraries, by the names that are
/// requested.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The executable.
    pub executable: Vec<u8>,
    /// Its libraries, which the machine links.
    pub libraries: Vec<(String, Vec<u8>)>,
    /// What it loads itself, instead.
    pub own: Option<OwnImages>,
    /// Their separate debug files.
    pub debug: DebugFiles,
}

/// Separate debug files, which name functions.
#[derive(Clone, Debug, Default)]
pub struct DebugFiles {
    /// Each, or why it is not used, by the name of the file that it is of. That of the executable is empty.
    found: BTreeMap<String, Result<DebugFile, Arc<DebugFileError>>>,
}

impl DebugFiles {
    /// Looks for that of a file, unless there is no root below which they are looked for.
    fn look_for(&mut self, root: Option<&Path>, name: &str, path: &Path, bytes: &[u8]) {
        let Some(root) = root else { return };
        let found = DebugFile::find(path, bytes, root).map_err(Arc::new).transpose();
        self.found.extend(found.map(|found| (name.to_owned(), found)));
    }

    pub(super) fn get(&self, name: &str) -> Option<&DebugFile> {
        self.found.get(name)?.as_ref().ok()
    }

    /// Returns the files that have one, with it, or why it is not used.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Result<&DebugFile, &DebugFileError>)> {
        let found = self.found.iter();
        found.map(|(name, found)| (name.as_str(), found.as_ref().map_err(|error| &**error)))
    }
}

impl Files {
    /// SHA-256 of each file, by name, in hexadecimal. `executable` is the executable's.
    #[must_use]
    pub fn digests(&self, executable: &str) -> Vec<(String, String)> {
        let libraries = self.libraries.iter().map(|(name, bytes)| (name.as_str(), bytes));
        std::iter::once((executable, &self.executable))
            .chain(libraries)
            .map(|(name, bytes)| (name.to_owned(), format!("{:x}", Sha256::digest(bytes))))
            .collect()
    }
}

/// The images of a program that loads its libraries itself.
#[derive(Clone, Debug, Default)]
pub struct OwnImages {
    /// The interpreter: its name and its file.
    pub interpreter: Option<(String, Vec<u8>)>,
    /// What was loaded in a first run, in its order.
    pub loaded: Vec<LoadedFile>,
    /// What is added to the executable's addresses, if the host maps all files, and the machine none.
    pub bias: Option<u64>,
}

/// An image that a program has loaded.
#[derive(Clone, Debug)]
pub struct LoadedFile {
    /// Its name: that of its file.
    pub name: String,
    /// The file, which may be loaded more than once.
    pub bytes: Arc<[u8]>,
    /// What is added to its addresses.
    pub bias: u64,
}

impl From<Mapped> for LoadedFile {
    fn from(Mapped { path, bytes, bias }: Mapped) -> Self {
        Self { name: file_name(&path), bytes, bias }
    }
}

impl Files {
    /// Reads an executable, and finds and reads the libraries that it needs.
    ///
    /// They are looked for where the caller says, then where the file that needs them
    /// says (`DT_RUNPATH`, or `DT_RPATH`, with `$ORIGIN`), and nowhere else: the
    /// host's libraries are not the program's.
    ///
    /// # Errors
    /// A file that can't be read or loaded, or a library that is not found, or not where it may be.
    pub fn find(path: &Path, libraries_at: LibraryFolders<'_>) -> Result<Self, FilesError> {
        let mut left = MAX_BYTES;
        let executable = read_some(path, &mut left)?;
        // What can't be run needs no libraries.
        Image::parse(&executable).map_err(|source| FilesError::Load { path: path.to_owned(), source })?;
        let mut debug = DebugFiles::default();
        debug.look_for(libraries_at.debug_root, "", path, &executable);
        let mut libraries: Vec<(String, Vec<u8>)> = Vec::new();
        let mut search = Search::new(path, &executable, libraries_at)?;
        while let Some((name, needed_by, folders)) = search.wanted.pop_front() {
            if libraries.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let candidates = || folders.iter().map(|folder| (folder, folder.join(&name)));
            let allowed = |(folder, found): &(&PathBuf, PathBuf)| search.may_open(folder, &name, found);
            let Some((_, found)) = candidates().filter(|(_, path)| path.is_file()).find(allowed) else {
                if let Some((_, path)) = candidates().find(|(_, path)| path.is_file()) {
                    return Err(FilesError::Outside { name, needed_by, path });
                }
                let interpreter = interpreter_of(&executable);
                return Err(FilesError::Missing { name, needed_by, folders: folders.to_vec(), interpreter });
            };
            let bytes = read_some(&found, &mut left)?;
            search.add(&found, &name, &bytes)?;
            debug.look_for(libraries_at.debug_root, &name, &found, &bytes);
            libraries.push((name, bytes));
        }
        Ok(Self { executable, libraries, own: None, debug })
    }

    /// Reads an executable that finds its libraries below a root, and runs it once, without
    /// looking, to see what it loads. Returns also how that run has ended. Separate debug files are looked for below
    /// `debug_root`, if there is one.
    ///
    /// # Errors
    /// A file can't be read or loaded, its interpreter is not there, or the machine can't be set
    /// up.
    pub fn survey(
        path: &Path,
        options: &Options,
        debug_root: Option<&Path>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(Self, Outcome), FilesError> {
        let executable = read_some(path, &mut MAX_BYTES.clone())?;
        let load = |source: LoadError| FilesError::Load { path: path.to_owned(), source };
        let image = Image::parse(&executable).map_err(load)?;
        let interpreter = image.interpreter().map(|interpreter| {
            let found = options.system.read(interpreter);
            let name = String::from_utf8_lossy(interpreter).into_owned();
            match found {
                Ok(bytes) => Ok((file_name(Path::new(&name)), bytes.to_vec())),
                Err(source) => Err(FilesError::Interpreter { name, source }),
            }
        });
        let interpreter = interpreter.transpose()?;
        let library = interpreter.as_ref().map(|(name, bytes)| Library { name, bytes });
        let images = Images::with_interpreter(&executable, library, &[]).map_err(load)?;
        let survey = Machine::with_images(&images, options)?.survey(is_stopped)?;
        let mut debug = DebugFiles::default();
        debug.look_for(debug_root, "", path, &executable);
        let root = options.system.root.as_deref().unwrap_or(Path::new("/"));
        let on_host = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
        if let Some((name, bytes)) = &interpreter {
            let path = image.interpreter().map(|path| on_host(Path::new(OsStr::from_bytes(path))));
            debug.look_for(debug_root, name, &path.unwrap_or_default(), bytes);
        }
        for image in &survey.images {
            debug.look_for(debug_root, &file_name(&image.path), &on_host(&image.path), &image.bytes);
        }
        let loaded = survey.images.into_iter().map(LoadedFile::from).collect();
        let own = Some(OwnImages { interpreter, loaded, bias: None });
        Ok((Self { executable, own, debug, ..Self::default() }, survey.outcome))
    }

    /// Reads an executable for this host, and what the host loads for it, which a run shows if it has an interpreter. Returns
    /// also what further runs on the host's own processor have to know. Separate debug files are looked for below
    /// `debug_root`, if there is one.
    ///
    /// # Errors
    /// A file can't be read, or the host can't execute it.
    pub fn native(
        path: &Path,
        options: &Options,
        debug_root: Option<&Path>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(Self, Native), FilesError> {
        let executable = read_some(path, &mut MAX_BYTES.clone())?;
        let image =
            Image::parse(&executable).map_err(|source| FilesError::Load { path: path.to_owned(), source })?;
        let surveyed = native::survey(path, &image, options, is_stopped).map_err(MachineError::from)?;
        let mut debug = DebugFiles::default();
        debug.look_for(debug_root, "", path, &executable);
        for Mapped { path, bytes, .. } in &surveyed.images {
            debug.look_for(debug_root, &file_name(path), path, bytes);
        }
        let loaded = surveyed.images.into_iter().map(LoadedFile::from).collect();
        let own = Some(OwnImages { interpreter: None, loaded, bias: Some(surveyed.bias) });
        Ok((Self { executable, own, debug, ..Self::default() }, surveyed.native))
    }

    /// Returns each file with its name, which is empty for the executable.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let libraries = self.libraries.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        let own = self.own.iter().flat_map(|own| {
            let interpreter = own.interpreter.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
            interpreter.chain(own.loaded.iter().map(|file| (file.name.as_str(), &*file.bytes)))
        });
        std::iter::once(("", self.executable.as_slice())).chain(libraries).chain(own)
    }

    /// Loads the images.
    ///
    /// # Errors
    /// As for [`Images::load`] and [`Images::with_interpreter`].
    pub fn images(&self) -> Result<Images<'_>, LoadError> {
        let Some(own) = &self.own else { return Images::load(&self.executable, &self.libraries()) };
        let interpreter = own.interpreter.as_ref().map(|(name, bytes)| Library { name, bytes });
        let loaded: Vec<Loaded<'_>> = own
            .loaded
            .iter()
            .map(|LoadedFile { name, bytes, bias }| Loaded { name, bytes, bias: *bias })
            .collect();
        if let Some(bias) = own.bias {
            let executable = Loaded { name: "", bytes: &self.executable, bias };
            return Images::mapped(&[&[executable], &loaded[..]].concat());
        }
        Images::with_interpreter(&self.executable, interpreter, &loaded)
    }

    /// The libraries in the form that the machine takes.
    #[must_use]
    pub fn libraries(&self) -> Vec<Library<'_>> {
        self.libraries.iter().map(|(name, bytes)| Library { name, bytes }).collect()
    }
}

/// Reads a file, if it is no larger than what is left for all of them: the same
/// file may occur under any number of names.
fn read_some(path: &Path, left: &mut u64) -> Result<Vec<u8>, FilesError> {
    let bytes = read(path, *left).map_err(|source| FilesError::Read { path: path.to_owned(), source })?;
    *left -= bytes.len() as u64;
    Ok(bytes)
}

fn interpreter_of(executable: &[u8]) -> Option<String> {
    let image = Image::parse(executable).ok()?;
    image.interpreter().map(|name| String::from_utf8_lossy(name).into_owned())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Where libraries may be.
#[derive(Clone, Copy, Debug, Default)]
pub struct LibraryFolders<'p> {
    /// Folders to look in first.
    pub first: &'p [PathBuf],
    /// Whether files may name folders outside of these and of the executable's own. They can then
    /// make the bench open any file.
    pub anywhere: bool,
    /// The root below which separate debug files are looked for; they are not if there is none.
    pub debug_root: Option<&'p Path>,
}

struct Search<'p> {
    folders: LibraryFolders<'p>,
    /// The folders that files may name, with what is in them, without links.
    allowed: Vec<PathBuf>,
    /// The folders that the executable names for all images.
    inherited: Vec<PathBuf>,
    /// Names, who needs each, and where to look for it: breadth first, since a
    /// library that several images need is looked for where the first says.
    wanted: VecDeque<(String, String, Rc<[PathBuf]>)>,
}

impl<'p> Search<'p> {
    fn new(path: &Path, executable: &[u8], folders: LibraryFolders<'p>) -> Result<Self, FilesError> {
        let allowed = std::iter::once(folder_of(path)).chain(folders.first.iter().map(PathBuf::as_path));
        let allowed = allowed.filter_map(|folder| folder.canonicalize().ok()).collect();
        let mut search = Self { folders, allowed, inherited: Vec::new(), wanted: VecDeque::new() };
        let dynamic = dynamic(path, executable)?;
        if let Some(Dynamic { rpath: Some(rpath), runpath: None, .. }) = &dynamic {
            search.inherited = folders_in(rpath, path);
        }
        search.want(path, "the executable", dynamic);
        Ok(search)
    }

    /// Returns whether a library that was found may be read.
    fn may_open(&self, folder: &PathBuf, name: &str, found: &Path) -> bool {
        // The caller knows the folder; what is in it may be links.
        let is_callers = || self.folders.first.contains(folder) && !name.contains('/');
        let is_within = || {
            found.canonicalize().is_ok_and(|path| self.allowed.iter().any(|within| path.starts_with(within)))
        };
        self.folders.anywhere || is_callers() || is_within()
    }

    fn add(&mut self, path: &Path, name: &str, bytes: &[u8]) -> Result<(), FilesError> {
        let dynamic = dynamic(path, bytes)?;
        self.want(path, name, dynamic);
        Ok(())
    }

    fn want(&mut self, path: &Path, needed_by: &str, dynamic: Option<Dynamic>) {
        let Some(dynamic) = dynamic else { return };
        let own = dynamic.runpath.as_ref().or(dynamic.rpath.as_ref());
        let mut searched = self.folders.first.to_vec();
        searched.extend(own.map(|own| folders_in(own, path)).unwrap_or_default());
        for folder in &self.inherited {
            if !searched.contains(folder) {
                searched.push(folder.clone());
            }
        }
        let searched: Rc<[PathBuf]> = searched.into();
        let wanted =
            dynamic.needed.into_iter().map(|name| (name, needed_by.to_owned(), Rc::clone(&searched)));
        self.wanted.extend(wanted);
    }
}

fn dynamic(path: &Path, bytes: &[u8]) -> Result<Option<Dynamic>, FilesError> {
    Dynamic::read(bytes).map_err(|source| FilesError::Load { path: path.to_owned(), source })
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The folders of a list in a file.
fn folders_in(list: &str, file: &Path) -> Vec<PathBuf> {
    let origin = folder_of(file).display().to_string();
    let expand = |folder: &str| folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
    list.split(':').filter(|folder| !folder.is_empty()).map(|folder| PathBuf::from(expand(folder))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_is_the_folder_of_the_file_that_names_it() {
        let of = |list, file| folders_in(list, Path::new(file));
        assert_eq!(of("$ORIGIN:/a:${ORIGIN}/../b", "/x/y"), ["/x", "/a", "/x/../b"].map(PathBuf::from));
        assert_eq!(of("$ORIGIN/lib", "file"), [PathBuf::from("./lib")]);
        assert!(of("", "file").is_empty() && of("::", "file").is_empty(), "never the working folder");
    }
}
