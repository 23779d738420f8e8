//! What exploring has shown, remembered in a folder: files that have not changed are not explored again.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sframe_elf::debug_file::DebugFile;
use sha2::{Digest as _, Sha256};

use crate::target::SectionSource;

/// The size of the largest entry, in bytes, as it is and when it is read.
const LARGEST: usize = 64 << 20;
const LARGEST_READ: usize = 1 << 30;
/// The size of all entries, in bytes: the oldest ones are removed then.
const MOST: u64 = 1 << 30;
/// How much is done to make an entry small.
const LEVEL: u8 = 1;

/// A folder in which is remembered what exploring has shown.
///
/// An entry is known by all that its contents depend on: the file, its debug file, the functions and how far they were
/// explored, and the program that has explored them. It is not read if it is not as it was written. Whoever may write there
/// decides what is found, as with the program itself.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    program: String,
}

impl Cache {
    /// A folder, which need not be there. `program` tells this program from others that would show something else.
    #[must_use]
    pub const fn new(folder: PathBuf, program: String) -> Self {
        Self { folder, program }
    }

    /// The entry for what a file has shown that is judged by a section, and named by a debug file, in answer to a question.
    pub(super) fn entry(
        &self,
        file: &[u8],
        source: SectionSource,
        debug: Option<&DebugFile>,
        question: &str,
    ) -> Entry<'_> {
        let mut digest = Sha256::new();
        let source = format!("{source:?}");
        let debug = debug.map_or(&[][..], |debug| &debug.bytes);
        for part in [self.program.as_bytes(), file, source.as_bytes(), debug, question.as_bytes()] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        Entry { cache: self, place: self.folder.join(format!("{:x}.explored", digest.finalize())) }
    }

    fn write(&self, place: &Path, packed: &[u8]) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        self.make_room()?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&Sha256::digest(packed))?;
        file.write_all(packed)?;
        file.persist(place)?;
        Ok(())
    }

    /// Removes the entries that have not been used for the longest time, if there are too many.
    fn make_room(&self) -> std::io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let path = entry.path();
            let is_entry = path.extension().is_some_and(|extension| extension == "explored");
            if let Ok(metadata) = entry.metadata()
                && is_entry
            {
                entries.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len(), path));
            }
        }
        entries.sort();
        let mut size: u64 = entries.iter().map(|(_, size, _)| size).sum();
        for (_, of_entry, path) in entries {
            if size + LARGEST as u64 <= MOST {
                break;
            }
            fs::remove_file(path)?;
            size -= of_entry;
        }
        Ok(())
    }
}

/// Where something is remembered.
pub(super) struct Entry<'c> {
    cache: &'c Cache,
    place: PathBuf,
}

impl Entry<'_> {
    /// Returns what exploring has shown before.
    pub(super) fn find<T: DeserializeOwned>(&self) -> Option<T> {
        let size =
            usize::try_from(fs::metadata(&self.place).ok()?.len()).ok().filter(|size| *size <= LARGEST);
        let entry = fs::read(&self.place).ok().filter(|entry| Some(entry.len()) == size)?;
        let (digest, packed) = entry.split_at_checked(32)?;
        if digest != &Sha256::digest(packed)[..] {
            return None;
        }
        let text = decompress_to_vec_zlib_with_limit(packed, LARGEST_READ).ok()?;
        let shown = serde_json::from_slice(&text).ok()?;
        // It is in use.
        let _ = fs::File::options()
            .append(true)
            .open(&self.place)
            .and_then(|file| file.set_modified(SystemTime::now()));
        Some(shown)
    }

    /// Remembers what exploring has shown. It does no harm if that fails.
    pub(super) fn remember(&self, shown: &impl Serialize) {
        let Ok(text) = serde_json::to_vec(shown) else { return };
        let packed = compress_to_vec_zlib(&text, LEVEL);
        if text.len() <= LARGEST_READ && packed.len() + 32 <= LARGEST {
            let _ = self.cache.write(&self.place, &packed);
        }
    }
}
