//! The bytes of a file, of which only the requested parts are in memory.
//!
//! A library of 150 MB is mostly code and data; the description of its frames takes
//! a few megabytes. Mapping the file would also work, except for files that shrink
//! at the same time: reading past the new end raises a signal instead of an error.

use std::borrow::Cow;
use std::fs::File;
use std::hash::{BuildHasher as _, BuildHasherDefault};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use object::read::ReadRef;
use rustc_hash::FxHasher;

/// Bytes that are read together if a reader wants only a few of them.
const BLOCK: usize = 1 << 16;
/// Number of lists for longer parts.
const LISTS: usize = 1 << 10;
/// `object` needs bytes to be aligned in memory as they are in the file.
const ALIGNMENT: usize = 16;

/// A file: all of its bytes, or the ones requested so far.
#[derive(Debug)]
pub struct Contents(Storage);

#[derive(Debug)]
enum Storage {
    All(Vec<u8>),
    Parts(Parts),
}

impl Contents {
    /// Wraps a file that is in memory.
    #[must_use]
    pub const fn whole(bytes: Vec<u8>) -> Self {
        Self(Storage::All(bytes))
    }

    /// Wraps a file of `len` bytes that is read on demand.
    #[must_use]
    pub fn in_parts(file: File, len: u64) -> Self {
        let blocks = usize::try_from(len.div_ceil(BLOCK as u64)).unwrap_or(usize::MAX);
        Self(Storage::Parts(Parts {
            file: Mutex::new(file),
            len,
            blocks: std::iter::repeat_with(OnceLock::new).take(blocks).collect(),
            lists: std::iter::repeat_with(OnceLock::new).take(LISTS).collect(),
            kept: AtomicU64::new(0),
            whole: OnceLock::new(),
            failure: OnceLock::new(),
        }))
    }

    /// Returns the same as something to be read from its start. What was read of it is dropped.
    #[must_use]
    pub fn into_reader(self) -> Box<dyn ReadSeek> {
        match self.0 {
            Storage::All(bytes) => Box::new(io::Cursor::new(bytes)),
            Storage::Parts(parts) => {
                Box::new(parts.file.into_inner().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }

    /// Returns the first error while reading the file: it shrank, or its disk
    /// failed. Parts that could not be read look malformed.
    #[must_use]
    pub fn failure(&self) -> Option<&io::Error> {
        match &self.0 {
            Storage::All(_) => None,
            Storage::Parts(parts) => parts.failure.get(),
        }
    }
}

/// What can be read anywhere.
pub trait ReadSeek: io::Read + io::Seek {}

impl<T: io::Read + io::Seek> ReadSeek for T {}

/// The bytes of a file, wherever they are.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a>(Place<'a>);

#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    Memory(&'a [u8]),
    File(&'a Parts),
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Source<'a> {
    fn from(bytes: &'a T) -> Self {
        Self(Place::Memory(bytes.as_ref()))
    }
}

impl<'a> From<&'a Contents> for Source<'a> {
    fn from(contents: &'a Contents) -> Self {
        match &contents.0 {
            Storage::All(bytes) => Self(Place::Memory(bytes)),
            Storage::Parts(parts) => Self(Place::File(parts)),
        }
    }
}

impl<'a> Source<'a> {
    /// The number of bytes.
    #[must_use]
    pub const fn len(self) -> u64 {
        match self.0 {
            Place::Memory(bytes) => bytes.len() as u64,
            Place::File(parts) => parts.len,
        }
    }

    /// Whether there are no bytes.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether the file starts with these bytes.
    #[must_use]
    pub fn starts_with(self, start: &[u8]) -> bool {
        self.read_bytes_at(0, start.len() as u64) == Ok(start)
    }

    /// Returns bytes that are kept as long as the file is, or `None` if they are
    /// not all in it.
    #[must_use]
    pub fn bytes(self, range: Range<u64>) -> Option<&'a [u8]> {
        self.read_bytes_at(range.start, range.end.checked_sub(range.start)?).ok()
    }

    /// Returns bytes for one use: those in memory are borrowed, others are read.
    #[must_use]
    pub fn copy(self, range: Range<u64>) -> Option<Cow<'a, [u8]>> {
        match self.0 {
            Place::Memory(_) => self.bytes(range).map(Cow::Borrowed),
            Place::File(parts) => {
                let size = range.end.checked_sub(range.start)?;
                if size == 0 {
                    return Some(Cow::Borrowed(&[]));
                }
                let len = parts.checked(range.start, size)?;
                parts.read(range.start, len).map(Cow::Owned)
            }
        }
    }

    /// Returns all bytes, to be used once.
    #[must_use]
    pub fn all(self) -> Option<Cow<'a, [u8]>> {
        self.copy(0..self.len())
    }
}

impl<'a> ReadRef<'a> for Source<'a> {
    fn len(self) -> Result<u64, ()> {
        Ok(self.len())
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        match self.0 {
            Place::Memory(bytes) => bytes.read_bytes_at(offset, size),
            Place::File(parts) => parts.bytes(offset, size).ok_or(()),
        }
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        match self.0 {
            Place::Memory(bytes) => bytes.read_bytes_at_until(range, delimiter),
            Place::File(parts) => parts.bytes_until(range, delimiter).ok_or(()),
        }
    }
}

/// What has been read of a file. It stays in place until the file is dropped, so
/// that readers can share it.
#[derive(Debug)]
struct Parts {
    file: Mutex<File>,
    len: u64,
    /// For small requests, by position in the file.
    blocks: Box<[OnceLock<Vec<u8>>]>,
    /// For requests that span several blocks.
    lists: Box<[OnceLock<Box<Part>>]>,
    /// The number of bytes in these lists.
    kept: AtomicU64,
    /// The whole file, once the lists would be longer than it.
    whole: OnceLock<Vec<u8>>,
    failure: OnceLock<io::Error>,
}

/// Bytes that a reader requested together.
#[derive(Debug)]
struct Part {
    start: u64,
    bytes: Vec<u8>,
    next: OnceLock<Box<Part>>,
}

impl Parts {
    /// Returns the size as `usize` if the file has that many bytes at the offset.
    fn checked(&self, offset: u64, size: u64) -> Option<usize> {
        let end = offset.checked_add(size).filter(|end| *end <= self.len);
        usize::try_from(size).ok().filter(|_| end.is_some())
    }

    fn bytes(&self, offset: u64, size: u64) -> Option<&[u8]> {
        if size == 0 {
            return Some(&[]);
        }
        let size = self.checked(offset, size)?;
        let (block, from) = block_of(offset)?;
        if from + size <= BLOCK {
            return self.block(block)?.get(from..from + size);
        }
        // Aligned as in the file.
        let lead = from % ALIGNMENT;
        self.part(offset - lead as u64, size + lead)?.get(lead..)
    }

    fn bytes_until(&self, range: Range<u64>, delimiter: u8) -> Option<&[u8]> {
        let mut left = self.checked(range.start, range.end.checked_sub(range.start)?)?;
        let mut at = range.start;
        while left > 0 {
            let (block, from) = block_of(at)?;
            let rest = self.block(block)?.get(from..)?;
            let rest = rest.get(..left).unwrap_or(rest);
            if let Some(len) = rest.iter().position(|byte| *byte == delimiter) {
                return self.bytes(range.start, at - range.start + len as u64);
            }
            at += rest.len() as u64;
            left -= rest.len();
        }
        None
    }

    /// Returns bytes that span several blocks.
    fn part(&self, start: u64, size: usize) -> Option<&[u8]> {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(start);
        let mut slot = self.lists.get(usize::try_from(hash % LISTS as u64).ok()?)?;
        loop {
            match slot.get() {
                Some(part) if part.start == start && part.bytes.len() >= size => {
                    return part.bytes.get(..size);
                }
                Some(part) => slot = &part.next,
                None => {
                    // Tables may name the same bytes any number of times.
                    let before = self.kept.fetch_add(size as u64, Ordering::Relaxed);
                    if before.saturating_add(size as u64) > self.len {
                        let from = usize::try_from(start).ok()?;
                        return self.whole()?.get(from..from.checked_add(size)?);
                    }
                    let bytes = self.read(start, size)?;
                    // If another thread adds one at the same time, look at that one next.
                    slot.get_or_init(|| Box::new(Part { start, bytes, next: OnceLock::new() }));
                }
            }
        }
    }

    fn block(&self, index: usize) -> Option<&[u8]> {
        let slot = self.blocks.get(index)?;
        if slot.get().is_none() {
            let start = (index * BLOCK) as u64;
            let size = usize::try_from(self.len.checked_sub(start)?).map_or(BLOCK, |left| left.min(BLOCK));
            let bytes = self.read(start, size)?;
            slot.get_or_init(|| bytes);
        }
        slot.get().map(Vec::as_slice)
    }

    fn whole(&self) -> Option<&[u8]> {
        if self.whole.get().is_none() {
            let bytes = self.read(0, usize::try_from(self.len).ok()?)?;
            self.whole.get_or_init(|| bytes);
        }
        self.whole.get().map(Vec::as_slice)
    }

    /// Reads bytes that were within the file's length.
    fn read(&self, start: u64, size: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; size];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let read = file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut bytes));
        match read {
            Ok(()) => Some(bytes),
            Err(error) => {
                self.failure.get_or_init(|| error);
                None
            }
        }
    }
}

/// Returns the block that contains an offset, and the offset in it.
fn block_of(offset: u64) -> Option<(usize, usize)> {
    let block = usize::try_from(offset / BLOCK as u64).ok()?;
    Some((block, usize::try_from(offset % BLOCK as u64).ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Returns the same bytes as a file and in memory.
    fn both(len: usize) -> (Contents, Vec<u8>) {
        let bytes: Vec<u8> = (0..len).map(|at| u8::try_from(at / 7 % 251).expect("a byte")).collect();
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&bytes).expect("room");
        (Contents::in_parts(file, len as u64), bytes)
    }

    #[test]
    fn parts_of_a_file_are_as_they_are_in_memory() {
        let (contents, bytes) = both(5 * BLOCK / 2);
        let (file, memory) = (Source::from(&contents), Source::from(&bytes));
        let end = bytes.len() as u64;
        let block = BLOCK as u64;
        let places = [0, 1, 15, block - 1, block, block + 1, 2 * block - 3, end - 1, end, end + 1, u64::MAX];
        for (start, size) in places.into_iter().flat_map(|start| places.map(|size| (start, size))) {
            assert_eq!(
                file.read_bytes_at(start, size),
                memory.read_bytes_at(start, size),
                "{size} at {start}"
            );
            let range = start..start.saturating_add(size);
            assert_eq!(file.copy(range.clone()), memory.copy(range), "{size} at {start}");
            for delimiter in [0, 77, 255] {
                let [of_file, of_memory] = [file, memory]
                    .map(|source| source.read_bytes_at_until(start..start.saturating_add(size), delimiter));
                assert_eq!(of_file, of_memory, "until {delimiter} from {start}, at most {size}");
            }
        }
        assert_eq!(file.all(), memory.all());
        assert!(contents.failure().is_none());
    }

    #[test]
    fn long_parts_are_as_aligned_as_in_the_file() {
        let (contents, _) = both(3 * BLOCK);
        for start in 0..16 {
            let from = start as u64;
            let bytes = Source::from(&contents).bytes(from..from + 2 * BLOCK as u64).expect("bytes");
            assert_eq!(bytes.as_ptr() as usize % 16, start);
        }
    }

    #[test]
    fn however_often_parts_overlap_the_file_is_in_memory_twice_at_most() {
        let (contents, bytes) = both(3 * BLOCK);
        let source = Source::from(&contents);
        for start in 0..200_usize {
            let from = start as u64;
            let part = source.bytes(from..from + 2 * BLOCK as u64).expect("bytes");
            assert_eq!(part, &bytes[start..][..2 * BLOCK]);
        }
        let Storage::Parts(parts) = &contents.0 else { panic!("{contents:?}") };
        let mut kept = parts.whole.get().map_or(0, Vec::len);
        for list in &parts.lists {
            let mut slot = list;
            while let Some(part) = slot.get() {
                kept += part.bytes.len();
                slot = &part.next;
            }
        }
        assert!(kept <= 2 * bytes.len(), "{kept}");
    }

    #[test]
    fn a_file_that_gets_shorter_is_an_error() {
        let bytes = vec![1; 3 * BLOCK];
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&bytes).expect("room");
        let other = file.try_clone().expect("the same file");
        let contents = Contents::in_parts(file, bytes.len() as u64);
        let source = Source::from(&contents);
        assert!(source.starts_with(&[1; 4]));
        other.set_len(BLOCK as u64).expect("a shorter file");
        assert_eq!(source.bytes(0..4), Some(&[1; 4][..]));
        assert_eq!(source.bytes(2 * BLOCK as u64..2 * BLOCK as u64 + 4), None);
        assert_eq!(source.bytes(4..2 * BLOCK as u64), None);
        let failure = contents.failure().expect("an error").kind();
        assert_eq!(failure, io::ErrorKind::UnexpectedEof);
    }
}
