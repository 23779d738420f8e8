//! The program as its kernel sees it: memory, registers, and the layout of its numbers.

use std::cell::Cell;
use std::ops::Range;

use rustix::io::Errno;
use unicorn_engine::Unicorn;

use super::answer::Fault;
use crate::address_space::{AddressSpace, LiveError, PAGE, Permissions, overlap};
use crate::cpu::Cpu;

/// The result of a system call.
pub(crate) type Result<T = u64> = std::result::Result<T, Errno>;

/// Paths and names are shorter than this, in bytes.
const PATH_MAX: u64 = 4096;

/// The program that has made a system call.
pub(crate) struct User<'u, 'a> {
    pub(crate) cpu: &'static Cpu,
    pub(crate) space: &'u mut AddressSpace,
    pub(crate) unicorn: &'u mut Unicorn<'a, ()>,
    /// What has been stored: address and length.
    pub(crate) stores: Vec<(u64, u64)>,
    /// Whether code may have changed.
    pub(crate) changes_code: bool,
    /// Why the machine can't go on, if it can't.
    pub(crate) fault: Option<Fault>,
    /// What the kernel has read and stored, in bytes.
    pub(crate) moved: Cell<u64>,
}

impl User<'_, '_> {
    fn moves(&self, len: u64) {
        self.moved.set(self.moved.get().saturating_add(len));
    }

    /// Reads bytes that the program may read.
    pub(crate) fn read(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        self.moves(len);
        let mut bytes = vec![0; usize::try_from(len).map_err(|_| Errno::FAULT)?];
        if self.space.allows(address, len, |allowed| allowed.read) && self.space.read(address, &mut bytes) {
            Ok(bytes)
        } else {
            Err(Errno::FAULT)
        }
    }

    /// Reads a text that ends with a zero byte.
    pub(crate) fn text(&self, address: u64) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        loop {
            let at = address.checked_add(text.len() as u64).ok_or(Errno::FAULT)?;
            // To the end of the page: what follows may not be mapped.
            let bytes = self.read(at, PAGE - at % PAGE)?;
            if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
                text.extend(&bytes[..end]);
                return if text.len() as u64 >= PATH_MAX { Err(Errno::NAMETOOLONG) } else { Ok(text) };
            }
            text.extend(bytes);
            if text.len() as u64 >= PATH_MAX {
                return Err(Errno::NAMETOOLONG);
            }
        }
    }

    /// Reads the texts of a list that ends with a null pointer.
    pub(crate) fn texts(&self, list: u64) -> Result<Vec<Vec<u8>>> {
        const MOST: u64 = 4096;
        let mut texts = Vec::new();
        for index in 0..MOST {
            match self.word(list.wrapping_add(index * 8))? {
                0 => return Ok(texts),
                text => texts.push(self.text(text)?),
            }
        }
        Err(Errno::TOOBIG)
    }

    pub(crate) fn word(&self, address: u64) -> Result<u64> {
        self.read(address, 8).map(|bytes| self.number(&bytes))
    }

    pub(crate) fn half(&self, address: u64) -> Result<u32> {
        let number = self.read(address, 4).map(|bytes| self.number(&bytes))?;
        Ok(low(number))
    }

    /// Returns consecutive words.
    pub(crate) fn words<const N: usize>(&self, address: u64) -> Result<[u64; N]> {
        let mut words = [0; N];
        for (word, offset) in words.iter_mut().zip((0..).step_by(8)) {
            *word = self.word(address.wrapping_add(offset))?;
        }
        Ok(words)
    }

    /// Reads bytes as a number in the program's byte order.
    pub(crate) fn number(&self, bytes: &[u8]) -> u64 {
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        if self.cpu.abi.is_big_endian() { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }

    /// Stores bytes where the program may.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let len = bytes.len() as u64;
        self.moves(len);
        if !self.space.allows(address, len, |allowed| allowed.write) || !self.space.write(address, bytes) {
            return Err(Errno::FAULT);
        }
        self.stores.push((address, len));
        Ok(())
    }

    pub(crate) fn write_word(&mut self, address: u64, value: u64) -> Result<()> {
        let record = self.record().word(value);
        self.write(address, &record.bytes)
    }

    pub(crate) fn write_half(&mut self, address: u64, value: u32) -> Result<()> {
        let record = self.record().half(value);
        self.write(address, &record.bytes)
    }

    /// Begins a structure.
    pub(crate) const fn record(&self) -> Record {
        Record::new(self.cpu.abi.is_big_endian())
    }

    /// Fills memory that was just mapped, whether or not the program may.
    pub(crate) fn fill(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.moves(bytes.len() as u64);
        if bytes.is_empty() || self.space.write(address, bytes) { Ok(()) } else { Err(Errno::FAULT) }
    }

    /// Maps zeroes.
    pub(crate) fn map(&mut self, range: Range<u64>, permissions: Permissions, is_shared: bool) -> Result<()> {
        self.changes(&range, permissions);
        let mapped = self.space.map_live(self.unicorn, range, permissions, is_shared);
        self.done(mapped)
    }

    pub(crate) fn unmap(&mut self, range: Range<u64>) -> Result<()> {
        self.changes(&range, Permissions::NONE);
        let unmapped = self.space.unmap_live(self.unicorn, range);
        self.done(unmapped)
    }

    /// Moves a mapping.
    pub(crate) fn move_to(&mut self, range: Range<u64>, to: u64) -> Result<()> {
        self.changes(&range, Permissions::NONE);
        self.changes(&(to..to + (range.end - range.start)), self.space.permissions(range.start));
        let moved = self.space.move_live(self.unicorn, range, to);
        self.done(moved)
    }

    /// Changes permissions. Linux answers `ENOMEM` where something is not mapped.
    pub(crate) fn protect(&mut self, range: Range<u64>, permissions: Permissions) -> Result<()> {
        self.changes_code |= permissions.execute || self.has_code(&range);
        let protected = self.space.protect_live(self.unicorn, range, permissions);
        if self.done(protected)? { Ok(()) } else { Err(Errno::NOMEM) }
    }

    /// Notes that the content of a range changes.
    fn changes(&mut self, range: &Range<u64>, permissions: Permissions) {
        self.changes_code |= permissions.execute || self.has_code(range);
        self.stores.push((range.start, range.end - range.start));
    }

    fn has_code(&self, range: &Range<u64>) -> bool {
        self.space.layout().any(|(other, allowed)| allowed.execute && overlap(&other, range))
    }

    /// The host has no memory: so has the program. What the emulator refuses ends the run.
    fn done<T>(&mut self, result: std::result::Result<T, LiveError>) -> Result<T> {
        result.map_err(|error| {
            if let LiveError::Unicorn(error) = error {
                self.fault = Some(Fault::Unicorn(error));
            }
            Errno::NOMEM
        })
    }

    /// Returns SP.
    pub(crate) fn sp(&self) -> u64 {
        self.unicorn.reg_read(self.cpu.sp).unwrap_or_default()
    }
}

/// A structure in the program's byte order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    pub(crate) bytes: Vec<u8>,
    big_endian: bool,
}

impl Record {
    pub(crate) const fn new(big_endian: bool) -> Self {
        Self { bytes: Vec::new(), big_endian }
    }

    /// Adds 8 bytes.
    pub(crate) fn word(mut self, value: u64) -> Self {
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    /// Adds 8-byte numbers.
    pub(crate) fn words(self, values: impl IntoIterator<Item = u64>) -> Self {
        values.into_iter().fold(self, Self::word)
    }

    /// Adds 4 bytes.
    pub(crate) fn half(mut self, value: u32) -> Self {
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    /// Adds 2 bytes.
    pub(crate) fn short(mut self, value: u16) -> Self {
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    /// Adds bytes.
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    /// Adds zeroes up to a length.
    pub(crate) fn padded(mut self, len: usize) -> Self {
        self.bytes.resize(len.max(self.bytes.len()), 0);
        self
    }
}

/// Returns the lower half of an argument.
pub(crate) fn low(argument: u64) -> u32 {
    u32::try_from(argument & 0xffff_ffff).unwrap_or_default()
}

/// Returns an argument of type `int`.
pub(crate) fn int(argument: u64) -> i32 {
    low(argument).cast_signed()
}
