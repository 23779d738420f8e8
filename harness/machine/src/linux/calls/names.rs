//! Names in folders: mkdir(2), unlink(2), rename(2), readlink(2), getdents64(2), chdir(2).

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::linux::answer::Call;
use crate::linux::kernel::Linux;
use crate::linux::objects::descriptions::Object;
use crate::linux::objects::disk::{Entry, NewEntry, path_of};
use crate::linux::objects::special::Special;
use crate::linux::user::{User, int, low};

/// `AT_FDCWD`.
const FOLDER: i32 = -100;
/// `AT_REMOVEDIR`.
const REMOVE_FOLDER: u64 = 0x200;

impl Linux {
    pub(crate) fn call_names(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        Some(match name {
            "mkdir" => self.make_folder(user, FOLDER, a[0]),
            "mkdirat" => self.make_folder(user, int(a[0]), a[1]),
            "unlink" => self.remove(user, FOLDER, a[0], 0),
            "rmdir" => self.remove(user, FOLDER, a[0], REMOVE_FOLDER),
            "unlinkat" => self.remove(user, int(a[0]), a[1], a[2]),
            "rename" => self.rename(user, [FOLDER; 2], [a[0], a[1]], 0),
            "renameat" => self.rename(user, [int(a[0]), int(a[2])], [a[1], a[3]], 0),
            "renameat2" => self.rename(user, [int(a[0]), int(a[2])], [a[1], a[3]], a[4]),
            "symlink" => self.make_link(user, a[0], FOLDER, a[1]),
            "symlinkat" => self.make_link(user, a[0], int(a[1]), a[2]),
            "link" => self.link(user, [FOLDER; 2], [a[0], a[1]]),
            "linkat" => self.link(user, [int(a[0]), int(a[2])], [a[1], a[3]]),
            "readlink" => self.read_link(user, FOLDER, a[0], a[1], a[2]),
            "readlinkat" => self.read_link(user, int(a[0]), a[1], a[2], a[3]),
            "getdents64" => self.list(user, a[0], a[1], a[2]),
            "getcwd" => self.getcwd(user, a[0], a[1]),
            "chdir" => self.change_folder(user, a[0]),
            "fchdir" => self.change_to(a[0]),
            "chmod" => self.change_mode(user, FOLDER, a[0], a[1]),
            "fchmodat" | "fchmodat2" => self.change_mode(user, int(a[0]), a[1], a[2]),
            "truncate" => self.truncate(user, a[0], a[1]),
            "chown" | "lchown" => self.exists(user, FOLDER, a[0]),
            "fchownat" | "utimensat" | "futimesat" if a[1] != 0 => self.exists(user, int(a[0]), a[1]),
            "utime" | "utimes" => self.exists(user, FOLDER, a[0]),
            "getxattr" | "lgetxattr" | "fgetxattr" | "setxattr" | "lsetxattr" | "fsetxattr" | "listxattr"
            | "llistxattr" | "flistxattr" | "removexattr" => Err(Errno::OPNOTSUPP.into()),
            _ => return None,
        })
    }

    /// Owners and times never change.
    fn exists(&mut self, user: &User<'_, '_>, folder: i32, path: u64) -> Call {
        self.found(user, folder, path, true).map(|_| 0).map_err(Into::into)
    }

    /// Resolves a path and returns what is there.
    fn found(
        &mut self,
        user: &User<'_, '_>,
        folder: i32,
        path: u64,
        follows: bool,
    ) -> Result<(PathBuf, Entry), Errno> {
        let path = self.resolve(user, folder, path, follows)?;
        let entry = self.disk.entry(&self.proc(), &path)?;
        Ok((path, entry))
    }

    /// Resolves a path at which there is nothing yet.
    fn free(&mut self, user: &User<'_, '_>, folder: i32, path: u64) -> Result<PathBuf, Errno> {
        let (folder, path) = self.place(folder, &user.text(path)?)?;
        // A folder's name may end with a slash.
        let path: PathBuf = path.components().collect();
        let path = self.disk.resolve(&self.proc(), &folder, &path, false)?;
        match self.disk.entry(&self.proc(), &path) {
            Err(Errno::NOENT) => Ok(path),
            Ok(_) => Err(Errno::EXIST),
            Err(errno) => Err(errno),
        }
    }

    fn make_folder(&mut self, user: &User<'_, '_>, folder: i32, path: u64) -> Call {
        let path = self.free(user, folder, path)?;
        self.create(&path, NewEntry::Folder)?;
        Ok(0)
    }

    fn make_link(&mut self, user: &User<'_, '_>, target: u64, folder: i32, path: u64) -> Call {
        let target = path_of(&user.text(target)?);
        let path = self.free(user, folder, path)?;
        self.create(&path, NewEntry::Link(target))?;
        Ok(0)
    }

    fn link(&mut self, user: &User<'_, '_>, folders: [i32; 2], paths: [u64; 2]) -> Call {
        let (_, Entry::File(file)) = self.found(user, folders[0], paths[0], false)? else {
            return Err(Errno::PERM.into());
        };
        let path = self.free(user, folders[1], paths[1])?;
        self.create(&path, NewEntry::Same(file))?;
        Ok(0)
    }

    fn remove(&mut self, user: &User<'_, '_>, folder: i32, path: u64, flags: u64) -> Call {
        let (path, entry) = self.found(user, folder, path, false)?;
        let wants_folder = flags & REMOVE_FOLDER != 0;
        match entry {
            Entry::Folder if !wants_folder => return Err(Errno::ISDIR.into()),
            Entry::Folder if self.disk.list(&self.proc(), &path)?.len() > 2 => {
                return Err(Errno::NOTEMPTY.into());
            }
            Entry::Special(_) => return Err(Errno::PERM.into()),
            Entry::File(_) | Entry::Link(_) if wants_folder => return Err(Errno::NOTDIR.into()),
            _ => {}
        }
        self.disk.remove(&path);
        Ok(0)
    }

    fn rename(&mut self, user: &User<'_, '_>, folders: [i32; 2], paths: [u64; 2], flags: u64) -> Call {
        const NOREPLACE: u64 = 1;
        let (from, entry) = self.found(user, folders[0], paths[0], false)?;
        let to = self.resolve(user, folders[1], paths[1], false)?;
        let processes = self.proc();
        let parent = to.parent().ok_or(Errno::BUSY)?;
        if !matches!(self.disk.entry(&processes, parent)?, Entry::Folder) {
            return Err(Errno::NOTDIR.into());
        }
        if flags & !NOREPLACE != 0 || (entry == Entry::Folder && to.starts_with(&from) && to != from) {
            return Err(Errno::INVAL.into());
        }
        match (self.disk.entry(&processes, &to), &entry) {
            (Ok(_), _) if flags & NOREPLACE != 0 => return Err(Errno::EXIST.into()),
            (Ok(Entry::Folder), Entry::Folder) if self.disk.list(&processes, &to)?.len() > 2 => {
                return Err(Errno::NOTEMPTY.into());
            }
            (Ok(Entry::Folder), Entry::File(_) | Entry::Link(_)) => return Err(Errno::ISDIR.into()),
            (Ok(Entry::File(_) | Entry::Link(_)), Entry::Folder) => return Err(Errno::NOTDIR.into()),
            _ => {}
        }
        if from != to {
            self.disk.rename(&processes, &from, &to)?;
        }
        Ok(0)
    }

    fn read_link(&mut self, user: &mut User<'_, '_>, folder: i32, path: u64, to: u64, len: u64) -> Call {
        let target = match self.found(user, folder, path, false)? {
            (_, Entry::Link(target)) => target,
            (_, Entry::Special(Special::Descriptor(number))) => self.path_of_descriptor(number)?,
            _ => return Err(Errno::INVAL.into()),
        };
        let bytes = target.as_os_str().as_bytes();
        let len = bytes.len().min(usize::try_from(len).unwrap_or(usize::MAX));
        user.write(to, &bytes[..len])?;
        Ok(len as u64)
    }

    /// Returns what `/proc` shows of a descriptor.
    fn path_of_descriptor(&self, number: u32) -> Result<PathBuf, Errno> {
        let id = self.process().descriptors.get(number)?;
        Ok(match &self.descriptions.get(id)?.object {
            Object::File { path, .. } | Object::Folder { path, .. } => path.clone(),
            Object::Event { .. } => "anon_inode:[eventfd]".into(),
            Object::Timer { .. } => "anon_inode:[timerfd]".into(),
            Object::Signals(_) => "anon_inode:[signalfd]".into(),
            Object::Epoll(_) => "anon_inode:[eventpoll]".into(),
            Object::Bytes(_) | Object::Special(_) => "/dev/null".into(),
            Object::Output | Object::Error | Object::PipeReader(_) | Object::PipeWriter(_) => {
                "pipe:[5]".into()
            }
        })
    }

    fn list(&mut self, user: &mut User<'_, '_>, descriptor: u64, to: u64, room: u64) -> Call {
        /// `struct linux_dirent64` without the name.
        const HEAD: usize = 19;
        let id = self.described(descriptor)?;
        let description = self.descriptions.get_mut(id)?;
        let Object::Folder { names, .. } = &description.object else { return Err(Errno::NOTDIR.into()) };
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        let mut next = description.offset;
        let start = usize::try_from(next).unwrap_or(usize::MAX).min(names.len());
        for name in &names[start..] {
            let len = (HEAD + name.name.len() + 1).next_multiple_of(8);
            if bytes.len() + len > room {
                if bytes.is_empty() {
                    return Err(Errno::INVAL.into());
                }
                break;
            }
            next += 1;
            let record = user.record().words([next, next]).short(u16::try_from(len).unwrap_or_default());
            let record = record.bytes(&[name.kind]).bytes(&name.name).padded(len);
            bytes.extend(record.bytes);
        }
        user.write(to, &bytes)?;
        self.descriptions.get_mut(id)?.offset = next;
        Ok(bytes.len() as u64)
    }

    fn getcwd(&self, user: &mut User<'_, '_>, to: u64, room: u64) -> Call {
        let bytes = [self.process().folder.as_os_str().as_bytes(), b"\0"].concat();
        if bytes.len() as u64 > room {
            return Err(Errno::RANGE.into());
        }
        user.write(to, &bytes)?;
        Ok(bytes.len() as u64)
    }

    fn change_folder(&mut self, user: &User<'_, '_>, path: u64) -> Call {
        let (path, Entry::Folder) = self.found(user, FOLDER, path, true)? else {
            return Err(Errno::NOTDIR.into());
        };
        self.process_mut().folder = path;
        Ok(0)
    }

    fn change_to(&mut self, descriptor: u64) -> Call {
        let id = self.described(descriptor)?;
        let Object::Folder { path, .. } = &self.descriptions.get(id)?.object else {
            return Err(Errno::NOTDIR.into());
        };
        let path = path.clone();
        self.process_mut().folder = path;
        Ok(0)
    }

    fn change_mode(&mut self, user: &User<'_, '_>, folder: i32, path: u64, mode: u64) -> Call {
        if let (_, Entry::File(file)) = self.found(user, folder, path, true)? {
            self.disk.set_mode(file, low(mode));
        }
        Ok(0)
    }

    fn truncate(&mut self, user: &User<'_, '_>, path: u64, len: u64) -> Call {
        let (_, Entry::File(file)) = self.found(user, FOLDER, path, true)? else {
            return Err(Errno::INVAL.into());
        };
        self.disk.truncate(file, len)?;
        Ok(0)
    }
}
