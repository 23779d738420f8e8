//! What files are: stat(2), statx(2), access(2), statfs(2).

use std::hash::{Hash as _, Hasher as _};
use std::path::Path;

use rustc_hash::FxHasher;
use rustix::io::Errno;

use super::identity::USER;
use crate::cpu::Stat;
use crate::linux::answer::Call;
use crate::linux::kernel::Linux;
use crate::linux::objects::clock::START;
use crate::linux::objects::descriptions::Object;
use crate::linux::objects::disk::{Entry, blocks};
use crate::linux::user::{Record, User, int};

/// `AT_FDCWD`.
const FOLDER: i32 = -100;
const SYMLINK_NOFOLLOW: u64 = 0x100;
const EMPTY_PATH: u64 = 0x1000;

const FIFO: u32 = 0o010_000;
const CHARACTER: u32 = 0o020_000;
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;

/// The status of a file. All are as old as the system.
struct Status {
    inode: u64,
    mode: u32,
    len: u64,
}

fn inode(path: &Path) -> u64 {
    let mut hasher = FxHasher::default();
    path.hash(&mut hasher);
    hasher.finish() >> 16
}

impl Linux {
    pub(crate) fn call_status(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        Some(match name {
            "fstat" => self.fstat(user, a[0], a[1]),
            "stat" => self.stat(user, FOLDER, a[0], a[1], 0),
            "lstat" => self.stat(user, FOLDER, a[0], a[1], SYMLINK_NOFOLLOW),
            "newfstatat" | "fstatat" => self.stat(user, int(a[0]), a[1], a[2], a[3]),
            "statx" => self.statx(user, a),
            "access" => self.access(user, FOLDER, a[0], a[1]),
            "faccessat" | "faccessat2" => self.access(user, int(a[0]), a[1], a[2]),
            "statfs" => self.statfs(user, Some(a[0]), a[1]),
            "fstatfs" => self.statfs(user, None, a[1]),
            _ => return None,
        })
    }

    fn status_of_entry(&self, path: &Path, entry: &Entry) -> Status {
        let (mode, len) = match entry {
            Entry::File(file) => (REGULAR | self.disk.mode(*file), self.disk.len(*file)),
            Entry::Folder => (DIRECTORY | 0o755, 4096),
            Entry::Link(target) => (SYMLINK | 0o777, target.as_os_str().len() as u64),
            Entry::Special(_) => (CHARACTER | 0o666, 0),
        };
        Status { inode: inode(path), mode, len }
    }

    fn status_of_descriptor(&self, descriptor: u64) -> Result<Status, Errno> {
        let id = self.described(descriptor)?;
        Ok(match &self.descriptions.get(id)?.object {
            Object::File { file, path } => self.status_of_entry(path, &Entry::File(*file)),
            Object::Folder { path, .. } => self.status_of_entry(path, &Entry::Folder),
            Object::Bytes(bytes) => Status { inode: 3, mode: REGULAR | 0o444, len: bytes.len() as u64 },
            Object::Special(_) => Status { inode: 4, mode: CHARACTER | 0o666, len: 0 },
            Object::Output | Object::Error | Object::PipeReader(_) | Object::PipeWriter(_) => {
                Status { inode: 5, mode: FIFO | 0o600, len: 0 }
            }
            Object::Event { .. } | Object::Timer { .. } | Object::Signals(_) | Object::Epoll(_) => {
                Status { inode: 6, mode: 0o600, len: 0 }
            }
        })
    }

    fn status(&mut self, user: &User<'_, '_>, folder: i32, path: u64, flags: u64) -> Result<Status, Errno> {
        let text = if path == 0 && flags & EMPTY_PATH != 0 { Vec::new() } else { user.text(path)? };
        if text.is_empty() && flags & EMPTY_PATH != 0 {
            if folder == FOLDER {
                let folder = self.process().folder.clone();
                return Ok(self.status_of_entry(&folder, &Entry::Folder));
            }
            return self.status_of_descriptor(u64::from(folder.cast_unsigned()));
        }
        let path = self.resolve(user, folder, path, flags & SYMLINK_NOFOLLOW == 0)?;
        let entry = self.disk.entry(&self.proc(), &path)?;
        Ok(self.status_of_entry(&path, &entry))
    }

    fn stat(&mut self, user: &mut User<'_, '_>, folder: i32, path: u64, to: u64, flags: u64) -> Call {
        let status = self.status(user, folder, path, flags)?;
        let record = self.record(user.record(), &status);
        user.write(to, &record.bytes)?;
        Ok(0)
    }

    fn fstat(&self, user: &mut User<'_, '_>, descriptor: u64, to: u64) -> Call {
        let status = self.status_of_descriptor(descriptor)?;
        let record = self.record(user.record(), &status);
        user.write(to, &record.bytes)?;
        Ok(0)
    }

    /// `struct stat`.
    fn record(&self, record: Record, status: &Status) -> Record {
        let Status { inode, mode, len } = *status;
        self.cpu.system_calls.stat.iter().fold(record, |record, field| match *field {
            Stat::Inode => record.word(inode),
            Stat::Mode => record.half(mode),
            Stat::User => record.half(USER),
            Stat::Len => record.word(len),
            Stat::Blocks => record.word(blocks(len)),
            Stat::Times => record.words([START, 0, START, 0, START, 0]),
            Stat::Word(value) => record.word(value),
            Stat::Half(value) => record.half(value),
        })
    }

    fn statx(&mut self, user: &mut User<'_, '_>, [folder, path, flags, _, to, _]: [u64; 6]) -> Call {
        const BASIC_STATS: u32 = 0x7ff;
        let Status { inode, mode, len } = self.status(user, int(folder), path, flags)?;
        let record = user.record().half(BASIC_STATS).half(4096).word(0).half(1).half(USER).half(USER);
        let mode = u16::try_from(mode).unwrap_or_default();
        let record = record.short(mode).short(0).words([inode, len, blocks(len), 0]);
        let record = record.words([START, 0, START, 0, START, 0, START, 0]);
        // The device: of the file itself 0, of the file system 0 and 1.
        let record = record.half(0).half(0).half(0).half(1).padded(256);
        user.write(to, &record.bytes)?;
        Ok(0)
    }

    fn access(&mut self, user: &User<'_, '_>, folder: i32, path: u64, wanted: u64) -> Call {
        const EXECUTE: u64 = 1;
        let status = self.status(user, folder, path, 0)?;
        let is_executable = status.mode & 0o111 != 0;
        if wanted & EXECUTE != 0 && !is_executable { Err(Errno::ACCESS.into()) } else { Ok(0) }
    }

    fn statfs(&mut self, user: &mut User<'_, '_>, path: Option<u64>, to: u64) -> Call {
        const TMPFS: u64 = 0x0102_1994;
        if let Some(path) = path {
            self.status(user, FOLDER, path, 0)?;
        }
        const BLOCKS: u64 = 1 << 20;
        let record = if self.cpu.system_calls.has_short_statfs {
            let record = user.record().half(0x0102_1994).half(4096);
            record
                .words([BLOCKS, BLOCKS, BLOCKS, BLOCKS, BLOCKS])
                .half(0)
                .half(0)
                .half(255)
                .half(4096)
                .padded(88)
        } else {
            let record = user.record().words([TMPFS, 4096, BLOCKS, BLOCKS, BLOCKS, BLOCKS, BLOCKS, 0]);
            record.words([255, 4096]).padded(120)
        };
        user.write(to, &record.bytes)?;
        Ok(0)
    }
}
