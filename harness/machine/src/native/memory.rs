//! The memory of a process that is stopped.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use rustc_hash::FxHashMap;
use rustix::process::Pid;

use super::maps::{self, Mapping};
use crate::address_space::{Memory, PAGE, PAGE_LEN};

type Page = [u8; PAGE_LEN];

/// Pages that have been read.
#[derive(Default)]
struct Pages {
    /// Where each is, by address; `None` if it can't be read.
    known: FxHashMap<u64, Option<usize>>,
    /// Pages to use again come after those that are in use.
    pages: Vec<Box<Page>>,
    used: usize,
}

impl Pages {
    fn clear(&mut self) {
        self.known.clear();
        self.used = 0;
    }

    /// Returns a page, which is read if necessary.
    fn get(&mut self, start: u64, file: &File) -> Option<&Page> {
        let position = *self.known.entry(start).or_insert_with(|| {
            if self.used == self.pages.len() {
                self.pages.push(Box::new([0; PAGE_LEN]));
            }
            let is_read = file.read_exact_at(&mut self.pages[self.used][..], start).is_ok();
            self.used += usize::from(is_read);
            is_read.then(|| self.used - 1)
        });
        position.map(|position| &*self.pages[position])
    }
}

/// The memory of a process, of which each page is read once at each stop, and code once for all.
pub(super) struct ProcessMemory {
    file: File,
    mappings: Vec<Mapping>,
    /// Code that the program can't change.
    code: RefCell<Pages>,
    /// What it can change, until it executes again.
    data: RefCell<Pages>,
    /// The mapping that was asked for last.
    last: Cell<usize>,
}

impl ProcessMemory {
    /// Opens the memory of a process that is stopped.
    pub(super) fn open(process: Pid) -> io::Result<Self> {
        let file = File::open(format!("/proc/{}/mem", process.as_raw_nonzero()))?;
        let (code, data) = (RefCell::default(), RefCell::default());
        let mut memory = Self { file, mappings: Vec::new(), code, data, last: Cell::new(0) };
        memory.map_again(process)?;
        Ok(memory)
    }

    /// Takes note that the program may have changed what is mapped.
    pub(super) fn map_again(&mut self, process: Pid) -> io::Result<()> {
        self.mappings = maps::read(process)?;
        self.last.set(0);
        self.code.get_mut().clear();
        self.executed();
        Ok(())
    }

    /// Takes note that the program has executed something: it may have changed anything.
    #[inline]
    pub(super) fn executed(&mut self) {
        self.data.get_mut().clear();
    }

    /// Returns what is mapped, by address.
    pub(super) fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// Returns the mapping at an address.
    pub(super) fn mapping(&self, address: u64) -> Option<&Mapping> {
        let holds = |mapping: &&Mapping| mapping.range.contains(&address);
        if let Some(mapping) = self.mappings.get(self.last.get()).filter(holds) {
            return Some(mapping);
        }
        let index = self.mappings.partition_point(|mapping| mapping.range.end <= address);
        self.last.set(index);
        self.mappings.get(index).filter(holds)
    }

    /// Fills a buffer from within one page.
    fn read_of_page(&self, address: u64, buffer: &mut [u8]) -> bool {
        let start = address & !(PAGE - 1);
        let pages = if self.is_constant_code(address) { &self.code } else { &self.data };
        let mut pages = pages.borrow_mut();
        let Some(page) = pages.get(start, &self.file) else { return false };
        let from = usize::try_from(address - start).unwrap_or_default();
        buffer.copy_from_slice(&page[from..from + buffer.len()]);
        true
    }
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        let (mut at, mut rest) = (address, buffer);
        while !rest.is_empty() {
            let left = usize::try_from(PAGE - at % PAGE).unwrap_or_default();
            let (piece, after) = rest.split_at_mut(left.min(rest.len()));
            if !self.read_of_page(at, piece) {
                return false;
            }
            at = at.wrapping_add(piece.len() as u64);
            rest = after;
        }
        true
    }

    fn read_u64(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        // The program has the host's byte order.
        self.read(address, &mut bytes).then(|| u64::from_ne_bytes(bytes))
    }

    fn regions(&self) -> Vec<Range<u64>> {
        let readable = self.mappings.iter().filter(|mapping| mapping.permissions.read);
        readable.map(|mapping| mapping.range.clone()).collect()
    }

    fn is_constant_code(&self, address: u64) -> bool {
        let permissions = self.mapping(address).map(|mapping| mapping.permissions).unwrap_or_default();
        permissions.execute && !permissions.write
    }
}
