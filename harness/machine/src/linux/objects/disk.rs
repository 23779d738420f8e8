//! Files: those below the root, which are only read, and above them what the program has
//! changed, in memory.
//!
//! Paths are resolved here, component by component, so that no link leads out of the root. The
//! host is asked only for paths without links.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::special::{Processes, Special};

/// As many links are followed in one path.
const MOST_LINKS: usize = 40;
/// Folders in one another. Linux counts bytes only, but here each component costs a look at all
/// those above it.
const MOST_FOLDERS: usize = 128;
/// Everything that programs have written, in bytes.
const WRITTEN_LIMIT: u64 = 1 << 30;
/// The largest file that is read as a whole, in bytes.
const FILE_LIMIT: u64 = 1 << 30;
const PAGE: u64 = 4096;
const PAGE_LEN: usize = 4096;

/// A file, whatever its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId(usize);

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    File(FileId),
    Folder,
    Link(PathBuf),
    Special(Special),
}

#[derive(Clone, Debug)]
enum Content {
    Host(Rc<fs::File>, u64),
    Memory(Rc<Vec<u8>>),
    Changed(Changed),
}

/// One of the host's files with changes: only those take memory.
#[derive(Clone, Debug)]
struct Changed {
    host: Rc<fs::File>,
    /// How much of the host's file is left.
    host_len: u64,
    len: u64,
    /// The pages that differ, by their number in the file.
    pages: Rc<BTreeMap<u64, Rc<Page>>>,
}

type Page = [u8; PAGE_LEN];

impl Changed {
    /// Returns what a page has, with zeroes after the end of the host's file.
    fn page(&self, number: u64) -> Result<Page, Errno> {
        if let Some(page) = self.pages.get(&number) {
            return Ok(**page);
        }
        let mut page = [0; PAGE_LEN];
        let start = number * PAGE;
        let len = index(self.host_len.saturating_sub(start).min(PAGE))?;
        self.host.read_exact_at(&mut page[..len], start).map_err(|_| Errno::IO)?;
        Ok(page)
    }

    /// Splits a range into parts of pages: the page's number, and where the part is in it and in the
    /// range.
    fn parts(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            let at = offset + done as u64;
            let start = usize::try_from(at % PAGE).unwrap_or_default();
            let part = done..len.min(done + PAGE_LEN - start);
            done = part.end;
            (!part.is_empty()).then_some((at / PAGE, start, part))
        })
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        for (number, start, part) in Self::parts(offset, bytes.len()) {
            let len = part.len();
            bytes[part].copy_from_slice(&self.page(number)?[start..start + len]);
        }
        Ok(())
    }

    /// Changes bytes. Returns how much more memory that takes.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<u64, Errno> {
        let before = self.pages.len();
        for (number, start, part) in Self::parts(offset, bytes.len()) {
            let mut page = self.page(number)?;
            page[start..start + part.len()].copy_from_slice(&bytes[part]);
            Rc::make_mut(&mut self.pages).insert(number, Rc::new(page));
        }
        self.len = self.len.max(offset + bytes.len() as u64);
        Ok((self.pages.len() - before) as u64 * PAGE)
    }

    fn truncate(&mut self, len: u64) -> Result<(), Errno> {
        if len < self.len {
            self.host_len = self.host_len.min(len);
            let pages = Rc::make_mut(&mut self.pages);
            pages.retain(|number, _| number * PAGE < len);
            if let Some(last) = pages.get_mut(&(len / PAGE)) {
                Rc::make_mut(last)[index(len % PAGE)?..].fill(0);
            }
        }
        self.len = len;
        Ok(())
    }
}

#[derive(Clone, Debug)]
struct File {
    content: Content,
    mode: u32,
    /// How often the program has changed it.
    changes: u64,
}

/// All files.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    root: Option<PathBuf>,
    /// What differs from the root; `None` where something was removed.
    changes: BTreeMap<PathBuf, Option<Entry>>,
    files: Vec<File>,
    /// Files below the root that were looked at.
    known: BTreeMap<PathBuf, FileId>,
    written: u64,
}

/// What a folder lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) name: Vec<u8>,
    /// `DT_DIR`, `DT_LNK` or `DT_REG`.
    pub(crate) kind: u8,
}

const DT_CHR: u8 = 2;
const DT_DIR: u8 = 4;
const DT_REG: u8 = 8;
const DT_LNK: u8 = 10;

/// Returns a path from its bytes.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()))
}

impl Disk {
    /// With the files below a root; without one, only with a folder for temporary files.
    pub(crate) fn new(root: Option<&Path>) -> Self {
        let mut disk = Self {
            root: root.map(Path::to_owned),
            changes: BTreeMap::new(),
            files: Vec::new(),
            known: BTreeMap::new(),
            written: 0,
        };
        for folder in ["/tmp", "/dev/shm"] {
            if !matches!(disk.host(Path::new(folder)), Ok(Entry::Folder)) {
                disk.changes.insert(folder.into(), Some(Entry::Folder));
            }
        }
        disk
    }

    /// Adds a file.
    pub(crate) fn add(&mut self, path: &Path, content: Vec<u8>) -> FileId {
        let id = self.new_file(Content::Memory(Rc::new(content)), 0o755);
        self.changes.insert(path.to_owned(), Some(Entry::File(id)));
        id
    }

    fn new_file(&mut self, content: Content, mode: u32) -> FileId {
        self.files.push(File { content, mode, changes: 0 });
        FileId(self.files.len() - 1)
    }

    /// Resolves a path, relative to a folder unless it starts at the root, into one without
    /// links; the last component need not exist.
    pub(crate) fn resolve(
        &mut self,
        processes: &Processes,
        folder: &Path,
        path: &Path,
        follows_last: bool,
    ) -> Result<PathBuf, Errno> {
        if path.as_os_str().is_empty() {
            return Err(Errno::NOENT);
        }
        let mut done = PathBuf::from("/");
        let mut todo: Vec<PathBuf> = components(path);
        if !path.is_absolute() {
            todo.extend(components(folder));
        }
        let wants_folder = matches!(path.as_os_str().as_bytes(), [.., b'/'] | [.., b'/', b'.']);
        let mut links = 0;
        while let Some(component) = todo.pop() {
            if component.as_os_str() == ".." {
                done.pop();
                continue;
            }
            let is_last = todo.is_empty();
            let next = done.join(&component);
            if next.components().count() > MOST_FOLDERS {
                return Err(Errno::NAMETOOLONG);
            }
            match self.entry(processes, &next) {
                Ok(Entry::Link(target)) if !is_last || follows_last || wants_folder => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::LOOP);
                    }
                    if target.is_absolute() {
                        done = PathBuf::from("/");
                    }
                    todo.extend(components(&target));
                }
                Ok(Entry::Folder) => done = next,
                Ok(_) if is_last && !wants_folder => done = next,
                Ok(_) => return Err(Errno::NOTDIR),
                Err(Errno::NOENT) if is_last => done = next,
                Err(errno) => return Err(errno),
            }
        }
        Ok(done)
    }

    /// Returns what is at a path without links.
    pub(crate) fn entry(&mut self, processes: &Processes, path: &Path) -> Result<Entry, Errno> {
        if let Some(change) = self.changes.get(path) {
            return change.clone().ok_or(Errno::NOENT);
        }
        if let Some(entry) = processes.entry(path) {
            return entry;
        }
        let gone = |ancestor: &Path| matches!(self.changes.get(ancestor), Some(None));
        if path.ancestors().skip(1).any(gone) {
            return Err(Errno::NOENT);
        }
        self.host(path)
    }

    /// Asks the host.
    fn host(&mut self, path: &Path) -> Result<Entry, Errno> {
        if let Some(id) = self.known.get(path) {
            return Ok(Entry::File(*id));
        }
        if path == Path::new("/") {
            return Ok(Entry::Folder);
        }
        let below = path.strip_prefix("/").map_err(|_| Errno::NOENT)?;
        let host = self.root.as_ref().ok_or(Errno::NOENT)?.join(below);
        let metadata = fs::symlink_metadata(&host).map_err(errno)?;
        if metadata.is_dir() {
            return Ok(Entry::Folder);
        }
        if metadata.is_symlink() {
            return fs::read_link(&host).map(Entry::Link).map_err(errno);
        }
        if !metadata.is_file() {
            // Devices and pipes of the host are not the program's.
            return Err(Errno::ACCESS);
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&host).map_err(errno)?;
        let metadata = file.metadata().map_err(errno)?;
        if !metadata.is_file() {
            return Err(Errno::ACCESS);
        }
        let mode = metadata.permissions().mode() & 0o777;
        let id = self.new_file(Content::Host(Rc::new(file), metadata.len()), mode);
        self.known.insert(path.to_owned(), id);
        Ok(Entry::File(id))
    }

    pub(crate) fn len(&self, id: FileId) -> u64 {
        match &self.files[id.0].content {
            Content::Host(_, len) => *len,
            Content::Memory(bytes) => bytes.len() as u64,
            Content::Changed(changed) => changed.len,
        }
    }

    /// Returns how often the program has changed a file.
    pub(crate) fn changes(&self, id: FileId) -> u64 {
        self.files[id.0].changes
    }

    pub(crate) fn mode(&self, id: FileId) -> u32 {
        self.files[id.0].mode
    }

    pub(crate) fn set_mode(&mut self, id: FileId, mode: u32) {
        self.files[id.0].mode = mode & 0o777;
    }

    /// Reads bytes; fewer at the end of the file.
    pub(crate) fn read_at(&self, id: FileId, offset: u64, len: u64) -> Result<Vec<u8>, Errno> {
        let len = len.min(self.len(id).saturating_sub(offset));
        let len = usize::try_from(len).map_err(|_| Errno::NOMEM)?;
        match &self.files[id.0].content {
            Content::Host(file, _) => {
                let mut bytes = vec![0; len];
                file.read_exact_at(&mut bytes, offset).map_err(|_| Errno::IO)?;
                Ok(bytes)
            }
            Content::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                Ok(bytes[start..start + len].to_vec())
            }
            Content::Changed(changed) => {
                let mut bytes = vec![0; len];
                changed.read(offset, &mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// Reads a whole file.
    pub(crate) fn content(&self, id: FileId) -> Result<Arc<[u8]>, Errno> {
        if self.len(id) > FILE_LIMIT {
            return Err(Errno::NOMEM);
        }
        self.read_at(id, 0, u64::MAX).map(Arc::from)
    }

    /// Returns the content of a file that is about to be changed and to have a length.
    fn change(&mut self, id: FileId, len: u64) -> Result<&mut Content, Errno> {
        if matches!(self.files[id.0].content, Content::Memory(_)) {
            if len > FILE_LIMIT {
                return Err(Errno::FBIG);
            }
            let grows = len.saturating_sub(self.len(id));
            if self.written.saturating_add(grows) > WRITTEN_LIMIT {
                return Err(Errno::NOSPC);
            }
            self.written += grows;
        }
        let file = &mut self.files[id.0];
        file.changes += 1;
        if let Content::Host(host, len) = &file.content {
            let (host, len) = (Rc::clone(host), *len);
            file.content = Content::Changed(Changed { host, host_len: len, len, pages: Rc::default() });
        }
        Ok(&mut file.content)
    }

    pub(crate) fn write_at(&mut self, id: FileId, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let end = offset.checked_add(bytes.len() as u64).filter(|end| end.cast_signed() >= 0);
        let end = end.ok_or(Errno::FBIG)?;
        if self.written.saturating_add(bytes.len() as u64) > WRITTEN_LIMIT {
            return Err(Errno::NOSPC);
        }
        let more = match self.change(id, end)? {
            Content::Memory(content) => {
                let content = Rc::make_mut(content);
                let (start, end) = (index(offset)?, index(end)?);
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[start..end].copy_from_slice(bytes);
                0
            }
            Content::Changed(changed) => changed.write(offset, bytes)?,
            Content::Host(..) => return Err(Errno::IO),
        };
        self.written += more;
        Ok(())
    }

    pub(crate) fn truncate(&mut self, id: FileId, len: u64) -> Result<(), Errno> {
        if len.cast_signed() < 0 {
            return Err(Errno::INVAL);
        }
        match self.change(id, len)? {
            Content::Memory(content) => Rc::make_mut(content).resize(index(len)?, 0),
            Content::Changed(changed) => changed.truncate(len)?,
            Content::Host(..) => return Err(Errno::IO),
        }
        Ok(())
    }

    /// Makes something at a path, whose folder exists.
    pub(crate) fn create(&mut self, path: &Path, entry: NewEntry) -> Result<Option<FileId>, Errno> {
        let (entry, id) = match entry {
            NewEntry::File(mode) => {
                let id = self.new_file(Content::Memory(Rc::default()), mode & 0o777);
                (Entry::File(id), Some(id))
            }
            NewEntry::Folder => (Entry::Folder, None),
            NewEntry::Link(target) => (Entry::Link(target), None),
            NewEntry::Same(id) => (Entry::File(id), Some(id)),
        };
        self.changes.insert(path.to_owned(), Some(entry));
        Ok(id)
    }

    pub(crate) fn remove(&mut self, path: &Path) {
        self.changes.insert(path.to_owned(), None);
    }

    /// Moves a file, a link, or a folder with what is in it.
    pub(crate) fn rename(&mut self, processes: &Processes, from: &Path, to: &Path) -> Result<(), Errno> {
        let mut todo = vec![(from.to_owned(), to.to_owned())];
        let mut moved = Vec::new();
        while let Some((from, to)) = todo.pop() {
            let entry = self.entry(processes, &from)?;
            if entry == Entry::Folder {
                let names = self.list(processes, &from)?.into_iter();
                let names = names.filter(|name| name.name != b"." && name.name != b"..");
                todo.extend(
                    names.map(|name| path_of(&name.name)).map(|name| (from.join(&name), to.join(name))),
                );
            }
            self.changes.insert(to, Some(entry));
            moved.push(from);
        }
        moved.iter().for_each(|path| self.remove(path));
        Ok(())
    }

    /// Lists a folder, with `.` and `..`, by name.
    pub(crate) fn list(&mut self, processes: &Processes, folder: &Path) -> Result<Vec<Name>, Errno> {
        let mut names: BTreeMap<Vec<u8>, u8> =
            [b".".to_vec(), b"..".to_vec()].map(|name| (name, DT_DIR)).into();
        names.extend(processes.list(folder).into_iter().map(|(name, entry)| (name, kind(&entry))));
        let is_removed = folder.ancestors().any(|path| matches!(self.changes.get(path), Some(None)));
        if let (Some(root), false) = (&self.root, is_removed) {
            let below = folder.strip_prefix("/").map_err(|_| Errno::NOENT)?;
            // Folders that the program has made are not there.
            for entry in fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
                let kind = entry.file_type().map_or(DT_REG, |kind| {
                    if kind.is_dir() {
                        DT_DIR
                    } else if kind.is_symlink() {
                        DT_LNK
                    } else {
                        DT_REG
                    }
                });
                names.insert(entry.file_name().into_vec(), kind);
            }
        }
        for (path, change) in &self.changes {
            if path.parent() == Some(folder)
                && let Some(name) = path.file_name()
            {
                match change {
                    Some(entry) => names.insert(name.as_bytes().to_vec(), kind(entry)),
                    None => names.remove(name.as_bytes()),
                };
            }
        }
        Ok(names.into_iter().map(|(name, kind)| Name { name, kind }).collect())
    }
}

/// What is made at a path.
#[derive(Clone, Debug)]
pub(crate) enum NewEntry {
    /// An empty file with these permissions.
    File(u32),
    Folder,
    Link(PathBuf),
    /// Another name of a file that exists: a hard link.
    Same(FileId),
}

const fn kind(entry: &Entry) -> u8 {
    match entry {
        Entry::File(_) => DT_REG,
        Entry::Folder => DT_DIR,
        Entry::Link(_) => DT_LNK,
        Entry::Special(_) => DT_CHR,
    }
}

fn index(offset: u64) -> Result<usize, Errno> {
    usize::try_from(offset).map_err(|_| Errno::FBIG)
}

/// Returns the components of a path, the last one first, without `/` and `.`.
fn components(path: &Path) -> Vec<PathBuf> {
    let mut components: Vec<PathBuf> = path
        .components()
        .filter(|component| matches!(component, Component::Normal(_) | Component::ParentDir))
        .map(|component| PathBuf::from(component.as_os_str()))
        .collect();
    components.reverse();
    components
}

/// The error number that a program gets for an error of the host.
fn errno(error: io::Error) -> Errno {
    match error.kind() {
        io::ErrorKind::NotFound => Errno::NOENT,
        io::ErrorKind::PermissionDenied => Errno::ACCESS,
        io::ErrorKind::NotADirectory => Errno::NOTDIR,
        io::ErrorKind::InvalidFilename => Errno::NAMETOOLONG,
        _ => Errno::IO,
    }
}

/// The number of blocks of 512 bytes that a file takes.
pub(crate) const fn blocks(len: u64) -> u64 {
    len.next_multiple_of(PAGE) / 512
}
