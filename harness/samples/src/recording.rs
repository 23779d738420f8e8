//! What is read of a recording, whatever its format.

use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use sframe_engine::{Abi, ByteOrder, DwarfRegister, Registers};
use sframe_machine::Memory;

/// Why a recording can't be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The system's error.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// It is neither of the two.
    #[error("neither perf.data nor a core dump")]
    UnknownFormat,
    /// Of a machine that SFrame is not for.
    #[error("recorded on {0}; amd64, aarch64, aarch64_be and s390x are supported")]
    UnknownMachine(String),
    /// It contradicts itself.
    #[error("{0}")]
    Malformed(String),
}

/// A file that a process had mapped to be executed, or what it had mapped in place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its path on that machine, or a name such as `[vdso]`.
    pub path: String,
    /// Where.
    pub range: Range<u64>,
    /// Which of the file's bytes is the first.
    pub offset: u64,
    /// The build ID that the recording has for it.
    pub build_id: Option<Vec<u8>>,
}

impl Mapping {
    /// A segment of a file, whose bytes from `offset` on are at the range: mappings begin with a page.
    #[must_use]
    pub fn of_segment(path: &str, range: Range<u64>, offset: u64) -> Self {
        let before = range.start % 4096;
        let (path, range) = (path.to_owned(), range.start - before..range.end);
        Self { path, range, offset: offset.saturating_sub(before), build_id: None }
    }

    /// Whether it is of a file: others have names such as `[vdso]`, `//anon` and `anon_inode:[perf_event]`.
    #[must_use]
    pub fn is_of_file(&self) -> bool {
        let is_named = self.path.starts_with('[') || self.path.starts_with("//") || self.path.contains(":[");
        !self.path.is_empty() && !is_named
    }
}

/// A process, from one execution of a program to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its number on that machine.
    pub id: i32,
    /// What it executed.
    pub mappings: Vec<Mapping>,
}

impl Process {
    /// Maps something, in place of what was there.
    pub fn map(&mut self, mapping: Mapping) {
        let is_there = |other: &Mapping| sframe_machine::overlap(&other.range, &mapping.range);
        self.mappings.retain(|other| !is_there(other));
        self.mappings.push(mapping);
    }

    /// What is mapped at an address.
    #[must_use]
    pub fn mapping_at(&self, address: u64) -> Option<&Mapping> {
        self.mappings.iter().find(|mapping| mapping.range.contains(&address))
    }
}

/// A piece of memory: bytes of a buffer that others may share.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Its address.
    pub address: u64,
    /// The buffer.
    pub buffer: Arc<Vec<u8>>,
    /// Its part of that.
    pub part: Range<usize>,
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.part.clone()]
    }

    /// The addresses.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.part.len() as u64)
    }
}

/// A thread at some time: its registers, and some of its memory.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Which process, by its position.
    pub process: usize,
    /// Its number on that machine.
    pub thread: i32,
    /// Whether the kernel was executing for it: the registers are those with which it goes on.
    pub in_kernel: bool,
    /// The registers that are known, by DWARF number.
    pub registers: Vec<(u32, u64)>,
    /// The address of the next instruction.
    pub pc: u64,
    /// The order of the bytes in memory.
    pub byte_order: ByteOrder,
    /// Memory, by address. A copy of the stack is the only piece.
    pub memory: Arc<[Piece]>,
}

impl Sample {
    /// The copy of the stack, from SP on.
    #[must_use]
    pub fn stack(&self) -> &[u8] {
        self.memory.first().map(Piece::bytes).unwrap_or_default()
    }
}

impl Registers for Sample {
    fn register(&self, register: DwarfRegister) -> Option<u64> {
        self.registers.iter().find(|(number, _)| *number == register.0).map(|(_, value)| *value)
    }
}

impl Memory for Sample {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        let found = self.memory.iter().find(|piece| piece.range().contains(&address));
        let bytes = found.and_then(|piece| {
            let from = usize::try_from(address - piece.address).ok()?;
            piece.bytes().get(from..from.checked_add(buffer.len())?)
        });
        bytes.is_some_and(|bytes| {
            buffer.copy_from_slice(bytes);
            true
        })
    }

    fn read_u64(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes).then(|| match self.byte_order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }

    fn regions(&self) -> Vec<Range<u64>> {
        self.memory.iter().map(Piece::range).collect()
    }
}

/// Samples of processes.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The ABI of all of them.
    pub abi: Abi,
    /// The processes.
    pub processes: Vec<Process>,
    /// The samples, in their order.
    pub samples: Vec<Sample>,
    /// Samples without registers or stack, such as those of the kernel's own threads.
    pub without_stack: u64,
    /// Events that the recording says were lost.
    pub lost: u64,
    /// Whether it is a core dump.
    pub is_core_dump: bool,
    /// Whether it ends before what it says that it has.
    pub is_cut_short: bool,
}

impl Recording {
    /// One without processes and samples.
    #[must_use]
    pub const fn new(abi: Abi) -> Self {
        Self {
            abi,
            processes: Vec::new(),
            samples: Vec::new(),
            without_stack: 0,
            lost: 0,
            is_core_dump: false,
            is_cut_short: false,
        }
    }
}

/// Returns the bytes of a file that a recording names, if it is there.
pub type OpenFile<'o> = dyn Fn(&str) -> Option<Vec<u8>> + 'o;

/// Where a file is that a recording names: no part of its path leads out of the folder.
pub(crate) fn place(name: &str, root: &Path, recording: &Path) -> PathBuf {
    let beside = || recording.parent().unwrap_or(Path::new(""));
    let folder = if name.starts_with('/') { root } else { beside() };
    let parts = Path::new(name).components().filter(|part| matches!(part, Component::Normal(_)));
    folder.join(parts.collect::<PathBuf>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_names_no_file_outside_of_the_root() {
        let place = |name| place(name, Path::new("/a/b"), Path::new("c/core"));
        assert_eq!(place("/usr/lib/x.so"), Path::new("/a/b/usr/lib/x.so"));
        assert_eq!(place("/../../etc/passwd"), Path::new("/a/b/etc/passwd"));
        assert_eq!(place("./../program"), Path::new("c/program"));
    }
}
