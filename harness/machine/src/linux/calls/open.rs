//! Opening files: openat(2), pipe(2), eventfd(2).

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::linux::answer::Call;
use crate::linux::kernel::Linux;
use crate::linux::objects::descriptions::{ACCESS_MODE, DescriptionId, Object, READ_ONLY, READ_WRITE};
use crate::linux::objects::disk::{Entry, FileId, NewEntry, path_of};
use crate::linux::objects::special::Special;
use crate::linux::user::{User, int, low};

const CREATE: u64 = 0o100;
const EXCLUSIVE: u64 = 0o200;
const TRUNCATE: u64 = 0o1000;
pub(super) const CLOSE_ON_EXECUTE: u64 = 0o2_000_000;
const PATH_ONLY: u64 = 0o10_000_000;
/// The bit of `O_TMPFILE` that `O_DIRECTORY` does not have.
const TEMPORARY: u64 = 0o20_000_000;

/// `AT_FDCWD`.
const FOLDER: i32 = -100;

impl Linux {
    pub(crate) fn call_open(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        Some(match name {
            "open" => self.open(user, FOLDER, a[0], a[1], a[2]),
            "creat" => self.open(user, FOLDER, a[0], CREATE | TRUNCATE | 1, a[1]),
            "openat" => self.open(user, int(a[0]), a[1], a[2], a[3]),
            "pipe" => self.pipe(user, a[0], 0),
            "pipe2" => self.pipe(user, a[0], a[1]),
            "eventfd" => self.event(a[0], 0),
            "eventfd2" => self.event(a[0], a[1]),
            _ => return None,
        })
    }

    /// Returns a path that a call names, and the folder that it is relative to.
    pub(super) fn place(&self, folder: i32, path: &[u8]) -> Result<(PathBuf, PathBuf), Errno> {
        let path = path_of(path);
        if path.is_absolute() || folder == FOLDER {
            return Ok((self.process().folder.clone(), path));
        }
        let id = self.process().descriptors.get(u32::try_from(folder).map_err(|_| Errno::BADF)?)?;
        match &self.descriptions.get(id)?.object {
            Object::Folder { path: folder, .. } => Ok((folder.clone(), path)),
            _ => Err(Errno::NOTDIR),
        }
    }

    /// Resolves a path that a call names.
    pub(super) fn resolve(
        &mut self,
        user: &User<'_, '_>,
        folder: i32,
        path: u64,
        follows_last: bool,
    ) -> Result<PathBuf, Errno> {
        let (folder, path) = self.place(folder, &user.text(path)?)?;
        self.disk.resolve(&self.proc(), &folder, &path, follows_last)
    }

    fn open(&mut self, user: &User<'_, '_>, folder: i32, path: u64, flags: u64, mode: u64) -> Call {
        let [wants_folder, stays] = self.cpu.system_calls.folder_flags;
        if flags & TEMPORARY == TEMPORARY {
            return Err(Errno::OPNOTSUPP.into());
        }
        let follows = flags & stays == 0 && flags & (CREATE | EXCLUSIVE) != CREATE | EXCLUSIVE;
        let (folder, name) = self.place(folder, &user.text(path)?)?;
        let names_folder = name.as_os_str().as_bytes().ends_with(b"/");
        let processes = self.proc();
        let path = self.disk.resolve(&processes, &folder, &name, follows)?;
        let writes = flags & ACCESS_MODE != READ_ONLY && flags & PATH_ONLY == 0;
        let object = match self.disk.entry(&processes, &path) {
            Ok(_) if flags & (CREATE | EXCLUSIVE) == CREATE | EXCLUSIVE => return Err(Errno::EXIST.into()),
            Ok(Entry::Link(_)) => return Err(Errno::LOOP.into()),
            Ok(Entry::Folder) if writes || flags & CREATE != 0 => return Err(Errno::ISDIR.into()),
            Ok(Entry::Folder) => {
                let names = self.disk.list(&processes, &path)?.into();
                Object::Folder { path, names }
            }
            Ok(_) if flags & wants_folder != 0 => return Err(Errno::NOTDIR.into()),
            Ok(Entry::File(file)) => {
                if writes && flags & TRUNCATE != 0 {
                    self.disk.truncate(file, 0)?;
                }
                Object::File { file, path }
            }
            Ok(Entry::Special(special)) => return self.open_special(user, special, flags),
            Err(Errno::NOENT) if flags & CREATE != 0 && names_folder => return Err(Errno::ISDIR.into()),
            Err(Errno::NOENT) if flags & CREATE != 0 => {
                let file = self.create(&path, NewEntry::File(low(mode) & !self.process().umask))?;
                Object::File { file: file.ok_or(Errno::IO)?, path }
            }
            Err(errno) => return Err(errno.into()),
        };
        let id = self.descriptions.open(object, flags);
        self.describe(id, flags)
    }

    /// Makes something in a folder that exists.
    pub(super) fn create(&mut self, path: &Path, entry: NewEntry) -> Result<Option<FileId>, Errno> {
        let parent = path.parent().ok_or(Errno::EXIST)?;
        if !matches!(self.disk.entry(&self.proc(), parent)?, Entry::Folder) {
            return Err(Errno::NOTDIR);
        }
        if ["/proc", "/sys", "/dev"].iter().any(|fixed| Path::new(fixed) == parent) {
            return Err(Errno::ACCESS);
        }
        self.disk.create(path, entry)
    }

    /// Gives a description a number.
    fn describe(&mut self, id: DescriptionId, flags: u64) -> Call {
        let closes = flags & CLOSE_ON_EXECUTE != 0;
        let number = self.process_mut().descriptors.add(0, id, closes);
        if number.is_err() {
            self.descriptions.release(id);
        }
        Ok(number?.into())
    }

    fn open_special(&mut self, user: &User<'_, '_>, special: Special, flags: u64) -> Call {
        let process = self.process();
        let bytes = match special {
            Special::Null | Special::Zero | Special::Full | Special::Random => {
                let id = self.descriptions.open(Object::Special(special), flags);
                return self.describe(id, flags);
            }
            Special::Terminal => return Err(Errno::NXIO.into()),
            Special::Descriptor(number) => {
                let id = process.descriptors.get(number)?;
                let description = self.descriptions.get(id)?.clone();
                // Files are opened again; other things are shared.
                if matches!(description.object, Object::File { .. } | Object::Folder { .. }) {
                    let id = self.descriptions.open(description.object, flags);
                    return self.describe(id, flags);
                }
                self.descriptions.retain(id);
                return self.describe(id, flags);
            }
            Special::Maps => self.memory().maps(user),
            Special::CommandLine => {
                process.arguments.iter().flat_map(|text| [text, &b"\0"[..]].concat()).collect()
            }
            Special::Environment => {
                self.system.environment.iter().flat_map(|text| [text, &b"\0"[..]].concat()).collect()
            }
            Special::Comm => [self.short_name(), b"\n".to_vec()].concat(),
            Special::Status => self.status_text(),
            Special::Numbers => self.numbers_text(),
            Special::Text(text) => text.as_bytes().to_vec(),
        };
        let id = self.descriptions.open(Object::Bytes(bytes.into()), READ_ONLY);
        self.describe(id, flags)
    }

    /// The name that the kernel has for a program.
    fn short_name(&self) -> Vec<u8> {
        let name = self.process().program.file_name();
        name.map(|name| name.as_bytes().iter().take(15).copied().collect()).unwrap_or_default()
    }

    fn status_text(&self) -> Vec<u8> {
        let process = self.tasks.current().process;
        let tasks = self.tasks.iter().filter(|task| task.process == process).count();
        let name = self.short_name();
        let numbers = format!(
            "\nState:\tR (running)\nTgid:\t{0}\nPid:\t{0}\nPPid:\t{1}\nThreads:\t{tasks}\n",
            process.0,
            self.process().parent.0
        );
        [b"Name:\t", &name[..], numbers.as_bytes()].concat()
    }

    fn numbers_text(&self) -> Vec<u8> {
        let stack = self.memories.get(&self.tasks.current().space).map_or(0, |memory| memory.stack.end);
        let start = format!("{} (", self.tasks.current().process.0);
        let rest = format!(
            ") R {} 1000 1000 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0 18446744073709551615 0 0 {stack} 0 0 0 0 0 0 0 0 \
             0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
            self.process().parent.0
        );
        [start.as_bytes(), &self.short_name(), rest.as_bytes()].concat()
    }

    fn pipe(&mut self, user: &mut User<'_, '_>, to: u64, flags: u64) -> Call {
        if !user.space.allows(to, 8, |allowed| allowed.write) {
            return Err(Errno::FAULT.into());
        }
        let closes = flags & CLOSE_ON_EXECUTE != 0;
        let ends = self.descriptions.pipe(flags);
        let mut numbers = Vec::new();
        for end in ends {
            match self.process_mut().descriptors.add(0, end, closes) {
                Ok(number) => numbers.push(number),
                Err(errno) => {
                    for number in numbers {
                        let _ = self.process_mut().descriptors.remove(number);
                    }
                    ends.into_iter().for_each(|end| self.descriptions.release(end));
                    return Err(errno.into());
                }
            }
        }
        let record = numbers.into_iter().fold(user.record(), |record, number| record.half(number));
        user.write(to, &record.bytes)?;
        Ok(0)
    }

    fn event(&mut self, count: u64, flags: u64) -> Call {
        const SEMAPHORE: u64 = 1;
        let object = Object::Event { count: low(count).into(), is_semaphore: flags & SEMAPHORE != 0 };
        let id = self.descriptions.open(object, READ_WRITE | flags);
        self.describe(id, flags)
    }

    /// Gives an object a number.
    pub(super) fn install(&mut self, object: Object, flags: u64) -> Call {
        let id = self.descriptions.open(object, READ_WRITE | flags);
        self.describe(id, flags)
    }
}
