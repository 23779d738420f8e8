//! The files that commands are about: those that are named, those below folders, and
//! the members of archives.

use std::fmt::Display;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use object::read::ReadCache;
use object::read::archive::{ArchiveFile, ArchiveMember};
use sha2::{Digest as _, Sha256};

use super::exit::Failure;
use sframe_elf::abi::is_known_machine;
use sframe_elf::file;
use sframe_elf::source::{Contents, ReadSeek, Source};

/// The argument that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// A file, or a member of an archive.
pub struct Subject {
    /// Its name, as reports have it.
    pub name: String,
    contents: Contents,
    /// The SHA-256 of what it was made of.
    made_of: Option<String>,
}

/// Why a command can't use a file.
pub struct Unusable {
    /// What is wrong with it.
    pub message: String,
    /// Whether it is an ELF file without a section to inspect.
    pub lacks_section: bool,
}

/// An error that may say that a file has no `.sframe`.
pub trait SubjectError: Display {
    /// Whether it says that.
    fn lacks_section(&self) -> bool;
}

impl Unusable {
    fn new(error: &dyn Display) -> Self {
        Self { message: error.to_string(), lacks_section: false }
    }

    /// The failure of a command that is about this file alone.
    pub(super) fn failure(&self, name: &str) -> Failure {
        Failure::unusable(format!("error: {name}: {}", self.message))
    }
}

impl Subject {
    pub(super) const fn new(name: String, contents: Contents) -> Self {
        Self { name, contents, made_of: None }
    }

    /// What was made of this file.
    pub(super) fn made_into(&self, bytes: Vec<u8>) -> Result<Self, Unusable> {
        let made_of = Some(self.digest()?);
        Ok(Self { name: self.name.clone(), contents: Contents::whole(bytes), made_of })
    }

    /// The SHA-256 of the file, in hexadecimal.
    ///
    /// # Errors
    /// It could not be read.
    pub fn digest(&self) -> Result<String, Unusable> {
        if let Some(digest) = &self.made_of {
            return Ok(digest.clone());
        }
        let bytes = self.source().all();
        let bytes = bytes.ok_or_else(|| match self.contents.failure() {
            Some(failure) => Unusable::new(failure),
            None => Unusable::new(&"the file can't be read"),
        })?;
        Ok(format!("{:x}", Sha256::digest(bytes)))
    }

    /// The file.
    #[must_use]
    pub fn source(&self) -> Source<'_> {
        Source::from(&self.contents)
    }

    /// Returns `made`, unless the required parts of the file can't be read.
    /// Unreadable parts look malformed or absent.
    ///
    /// # Errors
    /// It could not be made, or the file could not be read.
    pub fn checked<T>(&self, made: Result<T, impl SubjectError>) -> Result<T, Unusable> {
        match self.contents.failure() {
            Some(failure) => Err(Unusable::new(failure)),
            None => made.map_err(|error| Unusable {
                message: error.to_string(),
                lacks_section: error.lacks_section(),
            }),
        }
    }
}

/// Whether a file is an archive; `false` of one that can't be read.
#[must_use]
pub fn is_archive(path: &Path) -> bool {
    let mut start = Vec::new();
    // Opening a pipe waits for who writes to it.
    if !path.is_file() {
        return false;
    }
    let read = std::fs::File::open(path).and_then(|file| file.take(Kind::BYTES).read_to_end(&mut start));
    read.is_ok() && matches!(Kind::of(&start), Kind::Archive | Kind::ThinArchive)
}

/// The members of a thin archive.
pub(super) fn thin_members(path: &Path) -> Result<Vec<PathBuf>, Unusable> {
    let bytes = file::read(path, file::MAX_BYTES).map_err(|error| Unusable::new(&error))?;
    let archive = ArchiveFile::parse(&*bytes).map_err(|error| Unusable::new(&error))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let member = |member: object::Result<ArchiveMember<'_>>| {
        let member = member.map_err(|error| Unusable::new(&error))?;
        let name = std::str::from_utf8(member.name()).map_err(|error| Unusable::new(&error))?;
        Ok(folder.join(name))
    };
    archive.members().map(member).collect()
}

/// What an argument names.
pub(super) enum Given {
    /// A file that is no archive, whatever it contains.
    File(Subject),
    Archive(Archive),
    Folder,
}

impl Given {
    pub(super) fn open(path: &Path) -> Result<Self, Unusable> {
        if path.is_dir() {
            return Ok(Self::Folder);
        }
        let contents = if path.as_os_str() == STANDARD_INPUT {
            file::open_standard_input(file::MAX_BYTES, |start| Kind::of(start) != Kind::Other)
        } else {
            file::open(path, file::MAX_BYTES)
        };
        let contents = contents.map_err(|error| Unusable::new(&error))?;
        let name = path.display().to_string();
        let source = Source::from(&contents);
        match Kind::of(source.bytes(0..source.len().min(Kind::BYTES)).unwrap_or_default()) {
            Kind::Archive => Ok(Self::Archive(Archive { name, bytes: contents.into_reader() })),
            Kind::ThinArchive => Err(Unusable::new(
                &"this is a thin archive, whose members are files of their own: name those, or their folder",
            )),
            Kind::Elf | Kind::OtherElf | Kind::Section | Kind::Other => {
                Ok(Self::File(Subject::new(name, contents)))
            }
        }
    }
}

/// What a file is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An ELF file that may have a section.
    Elf,
    /// An ELF file of 32 bits, or for another machine.
    OtherElf,
    Section,
    Archive,
    /// An archive without contents.
    ThinArchive,
    Other,
}

impl Kind {
    /// How many of the first bytes decide it, if the file has that many.
    pub(super) const BYTES: u64 = 20;

    pub(super) fn of(start: &[u8]) -> Self {
        if start.starts_with(&object::archive::MAGIC) {
            return Self::Archive;
        }
        if start.starts_with(&object::archive::THIN_MAGIC) {
            return Self::ThinArchive;
        }
        if start.starts_with(&[0xe2, 0xde]) || start.starts_with(&[0xde, 0xe2]) {
            return Self::Section;
        }
        if !start.starts_with(&object::elf::ELFMAG) {
            return Self::Other;
        }
        let machine = match start {
            [_, _, _, _, _, order, .., first, second] if start.len() as u64 == Self::BYTES => {
                let machine = [*first, *second];
                let is_big = *order == object::elf::ELFDATA2MSB.0;
                if is_big { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) }
            }
            // Reading it says what is wrong.
            _ => return Self::Elf,
        };
        let is_64_bit = start.get(4) == Some(&object::elf::ELFCLASS64.0);
        if is_64_bit && is_known_machine(machine) { Self::Elf } else { Self::OtherElf }
    }
}

/// An archive. Its members are read one after another.
pub(super) struct Archive {
    pub(super) name: String,
    bytes: Box<dyn ReadSeek>,
}

/// A member of an archive.
pub(super) struct Member {
    name: String,
    range: Range<u64>,
}

impl Archive {
    /// Opens a file that is an archive.
    pub(super) fn open(path: &Path) -> Result<Self, Unusable> {
        match Given::open(path)? {
            Given::Archive(archive) => Ok(archive),
            Given::File(_) | Given::Folder => Err(Unusable::new(&"this is no longer an archive")),
        }
    }

    /// Returns the members up to the first that is malformed, and what is wrong with that.
    pub(super) fn members(&mut self) -> (Vec<Member>, Option<Unusable>) {
        let mut members = Vec::new();
        let unreadable = |error: object::Error| Unusable::new(&format!("the archive can't be read: {error}"));
        // It keeps headers and names, but no members.
        let cache = ReadCache::new(&mut self.bytes);
        let archive = match ArchiveFile::parse(&cache) {
            Ok(archive) => archive,
            Err(error) => return (members, Some(unreadable(error))),
        };
        for member in archive.members() {
            match member {
                Ok(member) => {
                    let (start, len) = member.file_range();
                    let name = String::from_utf8_lossy(member.name()).into_owned();
                    members.push(Member { name, range: start..start.saturating_add(len) });
                }
                Err(error) => return (members, Some(unreadable(error))),
            }
        }
        (members, None)
    }

    /// Returns what a member is.
    pub(super) fn kind(&mut self, member: &Member) -> std::io::Result<Kind> {
        let start = member.range.start;
        let end = start.saturating_add(Kind::BYTES).min(member.range.end);
        self.read(start..end).map(|start| Kind::of(&start))
    }

    /// Reads a member.
    pub(super) fn member(&mut self, member: &Member) -> Result<Subject, Unusable> {
        let bytes = self.read(member.range.clone()).map_err(|error| Unusable::new(&error))?;
        if bytes.len() as u64 != member.range.end - member.range.start {
            return Err(Unusable::new(&"the archive ends within this member"));
        }
        Ok(Subject::new(self.name_of(member), Contents::whole(bytes)))
    }

    /// Names a member.
    pub(super) fn name_of(&self, member: &Member) -> String {
        format!("{}({})", self.name, member.name)
    }

    /// Reads bytes, or as many of them as there are.
    fn read(&mut self, range: Range<u64>) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.bytes.seek(SeekFrom::Start(range.start))?;
        (&mut self.bytes).take(range.end - range.start).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
