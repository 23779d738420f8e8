//! What is known of an address space beyond its regions.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::disk::FileId;
use crate::address_space::{PAGE, overlap};
use crate::linux::user::User;

/// A file that was mapped to be executed.
#[derive(Clone, Debug)]
pub(crate) struct MappedFile {
    pub(crate) path: PathBuf,
    pub(crate) version: FileVersion,
    /// Its content.
    pub(crate) bytes: Arc<[u8]>,
    /// Where the mapping is, and from where in the file it comes.
    pub(crate) address: u64,
    pub(crate) offset: u64,
}

/// A file, and how often the program had changed it.
pub(crate) type FileVersion = (FileId, u64);

/// Where a file was mapped when its place was free to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) version: FileVersion,
    pub(crate) offset: u64,
    pub(crate) range: Range<u64>,
}

/// A change of what can be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mapping {
    /// A file was mapped there.
    Added(Range<u64>),
    /// Whatever was there is gone.
    Removed(Range<u64>),
    /// Another file was mapped over code of the first one that was there.
    Replaced(Range<u64>),
}

/// What is known of an address space beyond its regions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) heap: Range<u64>,
    /// What its tasks may use after their last call that has changed it, in bytes.
    pub(crate) used: u64,
    /// Addresses for mappings.
    free: Range<u64>,
    pub(crate) stack: Range<u64>,
    /// Mappings of files, with their paths.
    pub(crate) files: Vec<(Range<u64>, PathBuf)>,
    /// Where code of files has been. These addresses are not used again, so that an address
    /// always means the same function.
    pub(crate) code: Vec<Range<u64>>,
    /// The first file that was mapped to be executed at each place.
    first_files: Vec<(Range<u64>, FileVersion)>,
    /// The last mappings whose place was free to choose: linkers map images into them.
    placed: VecDeque<Range<u64>>,
    /// The mappings of files among all of them.
    images: Vec<Placed>,
}

impl Memory {
    pub(crate) fn new(brk: u64, free: Range<u64>, stack: Range<u64>) -> Self {
        let brk = brk.next_multiple_of(PAGE);
        Self { heap: brk..brk, free, stack, ..Self::default() }
    }

    /// An address means the same function as it did in another program that the process has executed before. `programs`
    /// are where the machine has put their own images.
    pub(crate) fn come_after(&mut self, before: &Self, programs: Vec<Range<u64>>) {
        self.code.clone_from(&before.code);
        self.code.extend(programs);
        self.first_files.clone_from(&before.first_files);
        self.images.clone_from(&before.images);
    }

    /// Notes that a place was chosen for a mapping.
    pub(crate) fn placed(&mut self, range: Range<u64>) {
        const LAST: usize = 16;
        self.placed.truncate(LAST - 1);
        self.placed.push_front(range);
    }

    /// Notes that a place was chosen for a mapping of a file.
    pub(crate) fn placed_file(&mut self, placed: Placed) {
        if !self.images.contains(&placed) {
            self.images.push(placed);
        }
    }

    /// Returns where a part of a file was mapped before, if nothing is there now: an address means
    /// the same function then, although it is used again.
    pub(crate) fn place_again(
        &self,
        user: &User<'_, '_>,
        version: FileVersion,
        offset: u64,
        len: u64,
    ) -> Option<u64> {
        let same = |placed: &&Placed| {
            let placed_len = placed.range.end - placed.range.start;
            (placed.version, placed.offset, placed_len) == (version, offset, len)
        };
        let free = |placed: &&Placed| user.space.is_free(placed.range.clone());
        self.images.iter().filter(same).find(free).map(|placed| placed.range.start)
    }

    /// Notes that a file was mapped to be executed, as a part of an image or alone.
    pub(crate) fn has_code(&mut self, range: &Range<u64>) {
        let whole = self.placed.iter().find(|placed| overlap(placed, range));
        self.code.push(whole.unwrap_or(range).clone());
    }

    /// Notes a file that is mapped to be executed. Returns whether it is the first one there.
    pub(crate) fn is_first_file(&mut self, range: &Range<u64>, version: FileVersion) -> bool {
        let mut there = self.first_files.iter().filter(|(known, _)| overlap(known, range));
        let Some((_, first)) = there.next() else {
            self.first_files.push((range.clone(), version));
            return true;
        };
        *first == version && there.all(|(_, known)| *known == version)
    }

    /// Forgets the files that were mapped in a range.
    pub(crate) fn forget(&mut self, range: &Range<u64>) {
        let cut = |(mapped, path): (Range<u64>, PathBuf)| {
            let before = mapped.start..mapped.end.min(range.start.max(mapped.start));
            let after = mapped.start.max(range.end.min(mapped.end))..mapped.end;
            let rest = if overlap(&mapped, range) { [before, after] } else { [mapped.clone(), 0..0] };
            rest.into_iter().filter(|part| !part.is_empty()).map(move |part| (part, path.clone()))
        };
        self.files = std::mem::take(&mut self.files).into_iter().flat_map(cut).collect();
    }

    /// Finds a place for a mapping.
    pub(crate) fn place(&self, user: &User<'_, '_>, len: u64) -> Option<u64> {
        let mut free = self.free.clone();
        loop {
            let start = user.space.find_free(free.clone(), len)?;
            match self.code.iter().find(|code| overlap(code, &(start..start + len))) {
                Some(code) => free.start = code.end,
                None => return Some(start),
            }
        }
    }

    /// Returns the content of `/proc/self/maps`.
    pub(crate) fn maps(&self, user: &User<'_, '_>) -> Vec<u8> {
        let mut text = String::new();
        for (range, allowed) in user.space.layout() {
            let bit = |set, letter| if set { letter } else { '-' };
            let file = self.files.iter().find(|(mapped, _)| overlap(mapped, &range));
            let name = if overlap(&range, &self.stack) {
                "[stack]".to_owned()
            } else if overlap(&range, &self.heap) {
                "[heap]".to_owned()
            } else {
                file.map(|(_, path)| path.display().to_string()).unwrap_or_default()
            };
            let _ = writeln!(
                text,
                "{:08x}-{:08x} {}{}{}p 00000000 00:00 0 {name}",
                range.start,
                range.end,
                bit(allowed.read, 'r'),
                bit(allowed.write, 'w'),
                bit(allowed.execute, 'x'),
            );
        }
        text.into_bytes()
    }
}
