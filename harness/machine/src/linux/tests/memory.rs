//! Memory: what mmap(2), munmap(2), mprotect(2) and mremap(2) leave.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::io::Errno;

use super::{BRK, Caller, MAPPINGS};
use crate::linux::answer::Answer;
use crate::linux::system::System;

const PAGE: u64 = 4096;
const NONE: u64 = 0;
const READ: u64 = 1;
const READ_WRITE: u64 = 3;
const READ_EXECUTE: u64 = 5;
const SHARED: u64 = 0x21;
const PRIVATE: u64 = 0x22;
const OF_FILE: u64 = 0x2;
const FIXED: u64 = 0x10;
const NO_REPLACE: u64 = 0x10_0000;
const MAYMOVE: u64 = 1;
const GIB: u64 = 1 << 30;

impl Caller {
    fn map(&mut self, address: u64, len: u64, protection: u64, flags: u64) -> Result<u64, Errno> {
        self.call("mmap", &[address, len, protection, flags, u64::MAX, 0])
    }

    /// Maps pages, each of which starts with its number from 1 on.
    fn numbered(&mut self, pages: u64) -> u64 {
        let start = self.map(0, pages * PAGE, READ_WRITE, PRIVATE).expect("memory");
        for page in 0..pages {
            assert!(self.space.write_u64(start + page * PAGE, page + 1));
        }
        start
    }

    /// Returns the first words of pages; `None` where there is nothing to read.
    fn numbers(&self, start: u64, pages: u64) -> Vec<Option<u64>> {
        (0..pages).map(|page| self.space.read_u64(start + page * PAGE)).collect()
    }

    /// Maps all of a file to execute it, at a place that is free to choose.
    fn execute(&mut self, file: u64, len: u64) -> u64 {
        self.call("mmap", &[0, len, READ_EXECUTE, OF_FILE, file, 0]).expect("a mapping")
    }

    /// Returns what `/proc/self/maps` shows of a range.
    fn maps(&mut self, start: u64, end: u64) -> Vec<String> {
        let text = self.text("/proc/self/maps");
        let is_within = |line: &&str| {
            let address = line.split('-').next().expect("an address");
            (start..end).contains(&u64::from_str_radix(address, 16).expect("an address"))
        };
        text.lines().filter(is_within).map(str::to_owned).collect()
    }

    /// Returns the memory of a child of the process.
    fn fork(&mut self) -> crate::address_space::AddressSpace {
        match self.answer("fork", &[]) {
            Answer::Clone(task) => task.space.expect("its own").1,
            answer => panic!("{answer:?}"),
        }
    }
}

#[test]
fn unmapping_the_middle_leaves_both_sides() {
    let mut caller = Caller::new();
    let start = caller.numbered(5);
    assert_eq!(caller.call("munmap", &[start + PAGE, 2 * PAGE]), Ok(0));
    assert_eq!(caller.numbers(start, 5), [Some(1), None, None, Some(4), Some(5)]);
    assert_eq!(caller.map(start + PAGE, PAGE, READ_WRITE, PRIVATE | NO_REPLACE), Ok(start + PAGE));
    assert_eq!(caller.numbers(start, 5), [Some(1), Some(0), None, Some(4), Some(5)]);
    // What is not mapped needs no unmapping.
    assert_eq!(caller.call("munmap", &[start, 5 * PAGE]), Ok(0));
    assert_eq!(caller.call("munmap", &[start, 5 * PAGE]), Ok(0));
    assert_eq!(caller.numbers(start, 5), [None; 5]);
}

#[test]
fn protecting_the_middle_keeps_contents() {
    let mut caller = Caller::new();
    let start = caller.numbered(4);
    assert_eq!(caller.call("mprotect", &[start + PAGE, PAGE, NONE]), Ok(0));
    assert_eq!(caller.call("mprotect", &[start + 2 * PAGE, PAGE, READ]), Ok(0));
    assert_eq!(caller.numbers(start, 4), [Some(1), None, Some(3), Some(4)]);
    assert_eq!(caller.maps(start, start + 4 * PAGE).len(), 4);
    let file = caller.open("/dev/zero", 0).expect("a device");
    assert_eq!(caller.call("read", &[file, start + PAGE, 8]), Err(Errno::FAULT));
    assert_eq!(caller.call("read", &[file, start + 2 * PAGE, 8]), Err(Errno::FAULT));
    assert_eq!(caller.call("mprotect", &[start, 4 * PAGE, READ_WRITE]), Ok(0));
    assert_eq!(caller.numbers(start, 4), [Some(1), Some(2), Some(3), Some(4)]);
    // What there is has changed.
    assert_eq!(caller.call("mprotect", &[start + 3 * PAGE, 2 * PAGE, READ]), Err(Errno::NOMEM));
    assert_eq!(caller.call("read", &[file, start + 3 * PAGE, 8]), Err(Errno::FAULT));
}

#[test]
fn a_fixed_mapping_replaces_what_is_there() {
    let mut caller = Caller::new();
    let start = caller.numbered(4);
    let middle = start + PAGE;
    assert_eq!(caller.map(middle, 2 * PAGE, READ_WRITE, PRIVATE | NO_REPLACE), Err(Errno::EXIST));
    assert_eq!(caller.map(middle, 2 * PAGE, READ, PRIVATE | FIXED), Ok(middle));
    assert_eq!(caller.numbers(start, 4), [Some(1), Some(0), Some(0), Some(4)]);
    assert_eq!(caller.map(start + 3 * PAGE, 2 * PAGE, NONE, PRIVATE | FIXED), Ok(start + 3 * PAGE));
    assert_eq!(caller.numbers(start, 5), [Some(1), Some(0), Some(0), None, None]);
    // A hint is one only.
    let other = caller.map(start, PAGE, READ_WRITE, PRIVATE).expect("memory");
    assert!(other >= start + 5 * PAGE, "{other:#x}");
}

#[test]
fn mremap_grows_shrinks_and_moves() {
    let mut caller = Caller::new();
    let start = caller.numbered(3);
    assert_eq!(caller.call("mremap", &[start, 3 * PAGE, 4 * PAGE, 0]), Ok(start));
    assert_eq!(caller.numbers(start, 5), [Some(1), Some(2), Some(3), Some(0), None]);
    let wall = caller.map(start + 4 * PAGE, PAGE, READ_WRITE, PRIVATE | FIXED).expect("memory");
    assert_eq!(caller.call("mremap", &[start, 4 * PAGE, 5 * PAGE, 0]), Err(Errno::NOMEM));
    let moved = caller.call("mremap", &[start, 4 * PAGE, 6 * PAGE, MAYMOVE]).expect("memory");
    assert!(moved > wall, "{moved:#x}");
    assert_eq!(caller.numbers(start, 4), [None; 4]);
    assert_eq!(caller.numbers(moved, 7), [Some(1), Some(2), Some(3), Some(0), Some(0), Some(0), None]);
    assert_eq!(caller.call("mremap", &[moved, 6 * PAGE, 2 * PAGE, 0]), Ok(moved));
    assert_eq!(caller.numbers(moved, 3), [Some(1), Some(2), None]);
    assert_eq!(caller.call("mremap", &[start, PAGE, 2 * PAGE, MAYMOVE]), Err(Errno::FAULT));
    assert_eq!(caller.call("mremap", &[moved + 1, PAGE, 2 * PAGE, MAYMOVE]), Err(Errno::INVAL));
    assert_eq!(caller.call("mremap", &[moved, PAGE, 0, MAYMOVE]), Err(Errno::INVAL));
}

#[test]
fn calls_on_memory_fail_as_on_linux() {
    let mut caller = Caller::new();
    let start = caller.numbered(1);
    let top = 0x7fff_ffff_f000;
    for (name, arguments, errno) in [
        ("mmap", [0, 0, READ, PRIVATE], Errno::INVAL),
        ("mmap", [0, PAGE, READ, 0x20], Errno::INVAL),
        ("mmap", [0, u64::MAX, READ, PRIVATE], Errno::NOMEM),
        ("mmap", [0, 1 << 47, NONE, PRIVATE], Errno::NOMEM),
        ("mmap", [start + 1, PAGE, READ, PRIVATE | FIXED], Errno::INVAL),
        ("mmap", [top, PAGE, READ, PRIVATE | FIXED], Errno::NOMEM),
        ("mmap", [!0xfff, PAGE, READ, PRIVATE | FIXED], Errno::NOMEM),
        ("munmap", [start + 1, PAGE, 0, 0], Errno::INVAL),
        ("munmap", [start, 0, 0, 0], Errno::INVAL),
        ("munmap", [start, !0xfff, 0, 0], Errno::INVAL),
        ("munmap", [!0xfff, PAGE, 0, 0], Errno::INVAL),
        ("mprotect", [start + 1, PAGE, READ, 0], Errno::INVAL),
        ("mprotect", [start, PAGE, 0x40, 0], Errno::INVAL),
        ("mprotect", [start, !0xfff, READ, 0], Errno::NOMEM),
        ("mprotect", [0, PAGE, READ, 0], Errno::NOMEM),
        ("madvise", [start + 1, PAGE, 4, 0], Errno::INVAL),
        ("madvise", [start, PAGE, 99, 0], Errno::INVAL),
    ] {
        let arguments = [arguments[0], arguments[1], arguments[2], arguments[3], u64::MAX, 0];
        assert_eq!(caller.call(name, &arguments), Err(errno), "{name} {arguments:x?}");
    }
    // What needs a file.
    let file = |caller: &mut Caller, descriptor: u64, offset: u64| {
        caller.call("mmap", &[0, PAGE, READ, OF_FILE, descriptor, offset])
    };
    assert_eq!(file(&mut caller, 99, 0), Err(Errno::BADF));
    assert_eq!(file(&mut caller, 1, 0), Err(Errno::NODEV));
    let tmp = caller.open("/tmp", 0).expect("a folder");
    assert_eq!(file(&mut caller, tmp, 0), Err(Errno::ACCESS));
    assert_eq!(file(&mut caller, tmp, 1), Err(Errno::INVAL));
    assert_eq!(caller.call("mprotect", &[start, 0, READ]), Ok(0));
    assert_eq!(caller.numbers(start, 1), [Some(1)]);
}

#[test]
fn the_heap_ends_where_the_program_says() {
    let mut caller = Caller::new();
    let end = |caller: &mut Caller, to: u64| caller.call("brk", &[to]);
    assert_eq!(end(&mut caller, 0), Ok(BRK));
    assert_eq!(end(&mut caller, BRK + 10), Ok(BRK + 10));
    assert_eq!(caller.numbers(BRK, 2), [Some(0), None]);
    assert_eq!(end(&mut caller, BRK - 1), Ok(BRK + 10));
    assert_eq!(end(&mut caller, u64::MAX), Ok(BRK + 10));
    assert_eq!(end(&mut caller, BRK + 3 * PAGE), Ok(BRK + 3 * PAGE));
    let wall = BRK + 4 * PAGE;
    assert_eq!(caller.map(wall, PAGE, READ, PRIVATE | FIXED), Ok(wall));
    assert_eq!(end(&mut caller, wall + 1), Ok(BRK + 3 * PAGE));
    assert_eq!(end(&mut caller, wall), Ok(wall));
    assert_eq!(end(&mut caller, BRK), Ok(BRK));
    assert_eq!(caller.numbers(BRK, 1), [None]);
}

#[test]
fn the_file_of_mappings_shows_what_is_mapped() {
    let root = tempfile::tempdir().expect("a folder");
    fs::write(root.path().join("file"), vec![7; 3 * 4096]).expect("a file");
    let mut caller = Caller::below(root.path());
    assert_eq!(caller.call("brk", &[BRK + PAGE]), Ok(BRK + PAGE));
    let file = caller.open("/file", 0).expect("a file");
    let code = caller.call("mmap", &[0, 3 * PAGE, READ_EXECUTE, OF_FILE, file, 0]).expect("memory");
    assert_eq!(code, MAPPINGS);
    assert_eq!(caller.map(code + PAGE, PAGE, READ_WRITE, PRIVATE | FIXED), Ok(code + PAGE));
    assert_eq!(
        caller.text("/proc/self/maps"),
        "00010000-00020000 rw-p 00000000 00:00 0 \n\
         00400000-00401000 rw-p 00000000 00:00 0 [heap]\n\
         10000000-10001000 r-xp 00000000 00:00 0 /file\n\
         10001000-10002000 rw-p 00000000 00:00 0 \n\
         10002000-10003000 r-xp 00000000 00:00 0 /file\n\
         7fff0000-80000000 rw-p 00000000 00:00 0 [stack]\n"
    );
}

#[test]
fn files_are_mapped_privately() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("file");
    fs::write(&path, "content").expect("a file");
    let mut caller = Caller::below(root.path());
    let file = caller.open("/file", 2).expect("a file");
    let map = |caller: &mut Caller, flags: u64| caller.answer("mmap", &[0, PAGE, READ_WRITE, flags, file, 0]);
    let Answer::Done(Ok(start)) = map(&mut caller, OF_FILE) else { panic!("a mapping") };
    assert_eq!(caller.bytes(start, 9), b"content\0\0");
    assert!(caller.space.write(start, b"changed"));
    assert_eq!(caller.content("/file").as_deref(), Ok(&b"content"[..]));
    // The file would have to change with the memory: the machine says that it can't do that.
    assert!(matches!(map(&mut caller, 1), Answer::Unsupported));
    assert_eq!(fs::read(&path).expect("a file"), b"content");
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o400, 0o400);
}

#[test]
fn forks_share_only_what_is_mapped_shared() {
    let mut caller = Caller::new();
    let own = caller.numbered(2);
    let hidden = caller.numbered(1);
    let shared = caller.map(0, PAGE, READ_WRITE, SHARED).expect("memory");
    assert_eq!(caller.call("mprotect", &[hidden, PAGE, NONE]), Ok(0));
    let mut child = caller.fork();
    assert!(caller.space.write_u64(own, 10) && child.write_u64(own + PAGE, 20));
    assert!(caller.space.write_u64(shared, 30));
    assert_eq!(caller.numbers(own, 2), [Some(10), Some(2)]);
    assert_eq!((child.read_u64(own), child.read_u64(own + PAGE)), (Some(1), Some(20)));
    assert_eq!(child.read_u64(shared), Some(30));
    // What nobody may read for a while is copied, too.
    caller.space.uninstall(&mut caller.unicorn).expect("an emulator");
    std::mem::swap(&mut caller.space, &mut child);
    caller.space.install(&mut caller.unicorn).expect("an emulator");
    assert_eq!(caller.call("mprotect", &[hidden, PAGE, READ_WRITE]), Ok(0));
    assert_eq!(caller.numbers(hidden, 1), [Some(1)]);
}

#[test]
fn memory_is_limited_however_it_is_asked_for() {
    let mut caller = Caller::new();
    assert_eq!(caller.map(0, 5 * GIB, READ_WRITE, PRIVATE), Err(Errno::NOMEM));
    assert_eq!(caller.call("brk", &[BRK + 5 * GIB]), Ok(BRK));
    let mut caller = Caller::with_mappings(System::default(), 4 * GIB..64 * GIB);
    // What is only reserved costs nothing before it may be used.
    let reserved = caller.map(0, 8 * GIB, NONE, PRIVATE).expect("addresses");
    assert_eq!(caller.call("mprotect", &[reserved, 3 * GIB, READ_WRITE]), Ok(0));
    assert_eq!(caller.call("mprotect", &[reserved, 3 * GIB, READ]), Ok(0));
    assert_eq!(caller.call("mprotect", &[reserved, 5 * GIB, READ_WRITE]), Err(Errno::NOMEM));
    assert_eq!(caller.call("mremap", &[reserved, GIB, 3 * GIB, MAYMOVE]), Err(Errno::NOMEM));
    assert_eq!(caller.map(0, 2 * GIB, READ_WRITE, PRIVATE), Err(Errno::NOMEM));
}

/// Plug-ins are loaded again and again. Their addresses mean the same code each time.
#[test]
fn a_file_that_is_mapped_again_is_kept_once() {
    let root = tempfile::tempdir().expect("a folder");
    for (name, byte) in [("one", 1), ("other", 2)] {
        fs::write(root.path().join(name), vec![byte; 8192]).expect("a file");
    }
    let mut caller = Caller::below(root.path());
    caller.linux.keeps_mapped = true;
    let [one, other] = ["/one", "/other"].map(|path| caller.open(path, 2).expect("a file"));
    let first = caller.execute(one, 2 * PAGE);
    for _ in 0..50 {
        assert_eq!(caller.call("munmap", &[first, 2 * PAGE]), Ok(0));
        let between = caller.execute(other, 2 * PAGE);
        assert_ne!(between, first, "other code");
        assert_eq!(caller.call("munmap", &[between, 2 * PAGE]), Ok(0));
        assert_eq!(caller.execute(one, 2 * PAGE), first);
    }
    assert_eq!(caller.linux.mapped.len(), 2);
    // At a second place at the same time: the same bytes.
    let second = caller.execute(one, 2 * PAGE);
    assert_ne!(second, first);
    let bytes: Vec<*const u8> = caller.linux.mapped.iter().map(|file| file.bytes.as_ptr()).collect();
    assert!(bytes[0] == bytes[2] && bytes[0] != bytes[1], "{bytes:?}");
    // What has changed is another file.
    caller.write(one, &[7]).expect("a file");
    assert_eq!(caller.call("munmap", &[first, 2 * PAGE]), Ok(0));
    let changed = caller.execute(one, 2 * PAGE);
    assert!(changed != first && changed != second);
    assert_eq!(caller.linux.mapped.last().map(|file| file.bytes[0]), Some(7));
}
