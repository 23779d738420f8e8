//! Memory: mmap(2), brk(2) and their relatives.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use crate::address_space::{PAGE, Permissions, overlap};
use crate::linux::answer::{Call, Refused};
use crate::linux::kernel::Linux;
use crate::linux::objects::disk::FileId;
use crate::linux::objects::memory::{MappedFile, Mapping, Memory, Placed};
use crate::linux::user::User;

const MAP_SHARED: u64 = 1;
const MAP_TYPE: u64 = 0xf;
const MAP_FIXED: u64 = 0x10;
const MAP_ANONYMOUS: u64 = 0x20;
const MAP_HUGETLB: u64 = 0x4_0000;
const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;

/// Memory of all processes together, without what they only reserve, in bytes.
const LIMIT: u64 = 4 << 30;
/// All files that are kept because they were mapped to be executed, in bytes.
const KEPT_LIMIT: u64 = 1 << 30;
/// The heap of `brk`, in bytes.
const HEAP_LIMIT: u64 = 1 << 30;

fn permissions(protection: u64) -> Permissions {
    let has = |bit: u64| protection & bit != 0;
    // What can be written or executed can be read.
    Permissions { read: protection & 7 != 0, write: has(2), execute: has(4) }
}

impl Linux {
    pub(crate) fn call_memory(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        let result = match name {
            "brk" => self.brk(user, a[0]).map_err(Refused::from),
            // The old form takes a pointer to its arguments.
            "mmap" if self.cpu.system_calls.mmap_takes_pointer => {
                user.words(a[0]).map_err(Refused::from).and_then(|a| self.mmap(user, a))
            }
            "mmap" => self.mmap(user, a),
            "munmap" => self.munmap(user, a[0], a[1]).map_err(Refused::from),
            "mprotect" => self.mprotect(user, a).map_err(Refused::from),
            "mremap" => self.mremap(user, a).map_err(Refused::from),
            "madvise" => self.madvise(user, a).map_err(Refused::from),
            "msync" | "mlock" | "mlock2" | "munlock" | "mlockall" | "munlockall" => Ok(0),
            _ => return None,
        };
        self.memory().used = user.space.size();
        Some(result)
    }

    /// Returns whether the current process may have more memory.
    pub(super) fn has_room(&mut self, user: &User<'_, '_>, more: u64) -> bool {
        self.memory().used = user.space.size();
        let used = self.memories.values().fold(more, |sum, memory| sum.saturating_add(memory.used));
        used <= LIMIT
    }

    fn brk(&mut self, user: &mut User<'_, '_>, to: u64) -> Result<u64, Errno> {
        let heap = self.memory().heap.clone();
        if to < heap.start || to > heap.start + HEAP_LIMIT {
            return Ok(heap.end);
        }
        let pages = |end: u64| end.next_multiple_of(PAGE);
        let (old, new) = (pages(heap.end), pages(to));
        if new > old {
            if !self.has_room(user, new - old) || !user.space.is_free(old..new) {
                return Ok(heap.end);
            }
            if user.map(old..new, Permissions::READ_WRITE, false).is_err() {
                return Ok(heap.end);
            }
        } else if new < old {
            user.unmap(new..old)?;
        }
        self.memory().heap.end = to;
        Ok(to)
    }

    fn mmap(&mut self, user: &mut User<'_, '_>, a: [u64; 6]) -> Call {
        let [address, len, protection, flags, descriptor, offset] = a;
        let len = len.checked_next_multiple_of(PAGE).ok_or(Errno::NOMEM)?;
        let has = |flag: u64| flags & flag != 0;
        if len == 0 || !offset.is_multiple_of(PAGE) || protection & !7 != 0 || flags & MAP_TYPE == 0 {
            return Err(Errno::INVAL.into());
        }
        if has(MAP_HUGETLB) {
            return Err(Errno::NOMEM.into());
        }
        let permissions = permissions(protection);
        let is_shared = flags & MAP_SHARED != 0;
        let file = if has(MAP_ANONYMOUS) { None } else { Some(self.file_to_map(descriptor)?) };
        if is_shared && permissions.write && file.is_some() {
            // The file would have to change with the memory.
            return Err(Refused::Unsupported);
        }
        if permissions != Permissions::NONE && !self.has_room(user, len) {
            return Err(Errno::NOMEM.into());
        }
        let version = file.as_ref().map(|(file, _)| (*file, self.disk.changes(*file)));
        let again = version.and_then(|version| self.memory().place_again(user, version, offset, len));
        let start = match again {
            Some(again) if !has(MAP_FIXED) && !has(MAP_FIXED_NOREPLACE) && address == 0 => again,
            _ => self.address_of(user, address, len, has(MAP_FIXED), has(MAP_FIXED_NOREPLACE))?,
        };
        let range = start..start + len;
        if let Some(version) = version.filter(|_| !has(MAP_FIXED)) {
            self.memory().placed_file(Placed { version, offset, range: range.clone() });
        }
        self.memory().forget(&range);
        if !has(MAP_FIXED) {
            self.memory().placed(range.clone());
        }
        user.map(range.clone(), permissions, is_shared)?;
        if let Some((file, path)) = file {
            let content = self.disk.read_at(file, offset, len)?;
            if permissions == Permissions::NONE {
                // Nobody sees it before the permissions change, and then it would be missing.
                user.protect(range.clone(), Permissions::READ_WRITE)?;
                user.fill(start, &content)?;
                user.protect(range.clone(), permissions)?;
            } else {
                user.fill(start, &content)?;
            }
            if permissions.execute {
                self.memory().has_code(&range);
                if self.is_observed_program() {
                    let version = (file, self.disk.changes(file));
                    let is_first = self.memory().is_first_file(&range, version);
                    let kind = if is_first { Mapping::Added } else { Mapping::Replaced };
                    self.mappings.push(kind(range.clone()));
                }
                if self.keeps_mapped && self.is_observed_program() {
                    self.keep_mapped(file, &path, start, offset)?;
                }
            }
            self.memory().files.push((range, path));
        }
        Ok(start)
    }

    /// Keeps a file that was mapped to be executed, once for each address.
    fn keep_mapped(&mut self, file: FileId, path: &Path, address: u64, offset: u64) -> Result<(), Errno> {
        let version = (file, self.disk.changes(file));
        let mut of_file = self.mapped.iter().filter(|known| known.version == version);
        let bytes = of_file.clone().next().map(|known| Arc::clone(&known.bytes));
        if of_file.any(|known| (known.address, known.offset) == (address, offset)) {
            return Ok(());
        }
        let bytes = match bytes {
            Some(bytes) => bytes,
            None => {
                self.kept_bytes = self.kept_bytes.saturating_add(self.disk.len(file));
                if self.kept_bytes > KEPT_LIMIT {
                    return Err(Errno::NOMEM);
                }
                self.disk.content(file)?
            }
        };
        self.mapped.push(MappedFile { path: path.to_owned(), version, bytes, address, offset });
        Ok(())
    }

    /// Chooses the address of a mapping.
    fn address_of(
        &mut self,
        user: &User<'_, '_>,
        address: u64,
        len: u64,
        fixed: bool,
        no_replace: bool,
    ) -> Result<u64, Errno> {
        let end = self.cpu.user_end.min(1 << self.cpu.physical_bits);
        let fits = address >= PAGE && address.checked_add(len).is_some_and(|last| last <= end);
        if fixed || no_replace {
            if !address.is_multiple_of(PAGE) || address < PAGE {
                return Err(Errno::INVAL);
            }
            if !fits {
                return Err(Errno::NOMEM);
            }
            if no_replace && !user.space.is_free(address..address + len) {
                return Err(Errno::EXIST);
            }
            return Ok(address);
        }
        let address = address - address % PAGE;
        let memory = self.memory();
        if fits && address >= PAGE {
            let range = address..address + len;
            if user.space.is_free(range.clone()) && !memory.code.iter().any(|code| overlap(code, &range)) {
                return Ok(address);
            }
        }
        memory.place(user, len).ok_or(Errno::NOMEM)
    }

    fn munmap(&mut self, user: &mut User<'_, '_>, address: u64, len: u64) -> Result<u64, Errno> {
        let range = pages(address, len)?;
        if range.is_empty() {
            return Err(Errno::INVAL);
        }
        self.memory().forget(&range);
        user.unmap(range.clone())?;
        if self.is_observed_program() {
            self.mappings.push(Mapping::Removed(range));
        }
        Ok(0)
    }

    fn mprotect(&mut self, user: &mut User<'_, '_>, a: [u64; 6]) -> Result<u64, Errno> {
        const PROT_GROWSDOWN: u64 = 0x0100_0000;
        const PROT_BTI: u64 = 0x10;
        let [address, len, protection, ..] = a;
        let is_aligned = address.is_multiple_of(PAGE);
        let mut range = pages(address, len).map_err(|errno| if is_aligned { Errno::NOMEM } else { errno })?;
        if range.is_empty() {
            return Ok(0);
        }
        if protection & PROT_GROWSDOWN != 0 {
            range.start = user.space.extent(range.start).ok_or(Errno::NOMEM)?.start;
        }
        if protection & !(7 | PROT_GROWSDOWN | PROT_BTI) != 0 {
            return Err(Errno::INVAL);
        }
        let permissions = permissions(protection);
        if permissions != Permissions::NONE && !self.has_room(user, user.space.reserved(&range)) {
            return Err(Errno::NOMEM);
        }
        user.protect(range, permissions)?;
        Ok(0)
    }

    fn mremap(&mut self, user: &mut User<'_, '_>, a: [u64; 6]) -> Result<u64, Errno> {
        const MAYMOVE: u64 = 1;
        const FIXED: u64 = 2;
        let [address, old_len, new_len, flags, new_address, _] = a;
        let (old, new) = (pages(address, old_len)?, pages(address, new_len)?);
        if new.is_empty() || old.is_empty() {
            return Err(Errno::INVAL);
        }
        let (old_len, new_len) = (old.end - old.start, new.end - new.start);
        if flags & FIXED != 0 {
            return Err(Errno::NOSYS);
        }
        let _ = new_address;
        if new_len < old_len {
            self.memory().forget(&(new.end..old.end));
            user.unmap(new.end..old.end)?;
        }
        if new_len <= old_len {
            return Ok(address);
        }
        let permissions = user.space.permissions(old.end - PAGE);
        if user.space.extent(address).is_none() {
            return Err(Errno::FAULT);
        }
        if !self.has_room(user, new_len) {
            return Err(Errno::NOMEM);
        }
        if new.end <= self.cpu.user_end && user.space.is_free(old.end..new.end) {
            user.map(old.end..new.end, permissions, false)?;
            return Ok(address);
        }
        if flags & MAYMOVE == 0 {
            return Err(Errno::NOMEM);
        }
        let to = self.memory().place(user, new_len).ok_or(Errno::NOMEM)?;
        self.memory().forget(&old);
        user.move_to(old, to)?;
        user.map(to + old_len..to + new_len, permissions, false)?;
        Ok(to)
    }

    /// Memory that is not needed is cleared; other advice changes nothing that programs see.
    fn madvise(&mut self, user: &mut User<'_, '_>, a: [u64; 6]) -> Result<u64, Errno> {
        const DONTNEED: u64 = 4;
        /// `MADV_COLLAPSE`.
        const LAST_KNOWN: u64 = 25;
        let [address, len, advice, ..] = a;
        let range = pages(address, len)?;
        if advice > LAST_KNOWN {
            // Newer kernels install guard pages on request.
            return Err(Errno::INVAL);
        }
        if advice != DONTNEED || range.is_empty() {
            return Ok(0);
        }
        let is_file = |range: &Range<u64>, memory: &Memory| {
            memory.files.iter().any(|(mapped, _)| overlap(mapped, range))
        };
        let regions: Vec<(Range<u64>, Permissions)> = user.space.layout().collect();
        for (region, permissions) in regions {
            let part = region.start.max(range.start)..region.end.min(range.end);
            if part.is_empty() || is_file(&part, self.memory()) {
                continue;
            }
            user.map(part, permissions, false)?;
        }
        Ok(0)
    }
}

/// Returns the pages of a range that starts with one.
fn pages(address: u64, len: u64) -> Result<Range<u64>, Errno> {
    let end = len.checked_next_multiple_of(PAGE).and_then(|len| address.checked_add(len));
    match end {
        Some(end) if address.is_multiple_of(PAGE) => Ok(address..end),
        _ => Err(Errno::INVAL),
    }
}
