//! Descriptors: close(2), dup(2), fcntl(2), ioctl(2).

use std::path::PathBuf;

use rustix::io::Errno;

use super::open::CLOSE_ON_EXECUTE;
use crate::linux::answer::{Call, Refused};
use crate::linux::kernel::Linux;
use crate::linux::objects::descriptions::{
    ACCESS_MODE, APPEND, MOST_DESCRIPTORS, NONBLOCK, Object, PIPE_LEN,
};
use crate::linux::objects::disk::FileId;
use crate::linux::user::{User, int, low};

impl Linux {
    pub(crate) fn call_descriptors(
        &mut self,
        user: &mut User<'_, '_>,
        name: &str,
        a: [u64; 6],
    ) -> Option<Call> {
        Some(match name {
            "close" => self.close(low(a[0])),
            "dup" => self.duplicate(a[0], 0, false),
            "dup2" if a[0] == a[1] => self.described(a[0]).map(|_| a[1]).map_err(Refused::from),
            "dup2" => self.duplicate_as(a[0], low(a[1]), false),
            "dup3" if a[0] == a[1] => Err(Errno::INVAL.into()),
            "dup3" => self.duplicate_as(a[0], low(a[1]), a[2] & CLOSE_ON_EXECUTE != 0),
            "fcntl" => self.fcntl(user, a),
            "ioctl" => self.ioctl(user, a),
            "ftruncate" => self.ftruncate(a[0], a[1]),
            "fallocate" => self.fallocate(a),
            "fchmod" => self.fchmod(a[0], a[1]),
            "fsync" | "fdatasync" | "flock" | "fadvise64" | "sync_file_range" | "syncfs" | "fchown"
            | "fchownat" | "utimensat" | "futimesat" => {
                let has_descriptor = self.described(a[0]).map(|_| 0);
                has_descriptor.map_err(Refused::from)
            }
            "sync" => Ok(0),
            "umask" => {
                let process = self.process_mut();
                let old = std::mem::replace(&mut process.umask, low(a[0]) & 0o777);
                Ok(old.into())
            }
            _ => return None,
        })
    }

    fn close(&mut self, number: u32) -> Call {
        let id = self.process_mut().descriptors.remove(number)?;
        self.descriptions.release(id);
        Ok(0)
    }

    fn duplicate(&mut self, descriptor: u64, from: u32, closes: bool) -> Call {
        let id = self.described(descriptor)?;
        let number = self.process_mut().descriptors.add(from, id, closes)?;
        self.descriptions.retain(id);
        Ok(number.into())
    }

    fn duplicate_as(&mut self, descriptor: u64, number: u32, closes: bool) -> Call {
        let id = self.described(descriptor)?;
        let replaced = self.process_mut().descriptors.replace(number, id, closes)?;
        self.descriptions.retain(id);
        if let Some(replaced) = replaced {
            self.descriptions.release(replaced);
        }
        Ok(number.into())
    }

    fn fcntl(&mut self, user: &mut User<'_, '_>, [descriptor, command, argument, ..]: [u64; 6]) -> Call {
        const DUPFD: i32 = 0;
        const GETFD: i32 = 1;
        const SETFD: i32 = 2;
        const GETFL: i32 = 3;
        const SETFL: i32 = 4;
        const GETLK: i32 = 5;
        const SETLK: i32 = 6;
        const SETLKW: i32 = 7;
        const OFD_GETLK: i32 = 36;
        const OFD_SETLK: i32 = 37;
        const OFD_SETLKW: i32 = 38;
        const DUPFD_CLOEXEC: i32 = 1030;
        const SETPIPE_SZ: i32 = 1031;
        const GETPIPE_SZ: i32 = 1032;
        const UNLOCKED: u16 = 2;
        let id = self.described(descriptor)?;
        let number = low(descriptor);
        match int(command) {
            DUPFD | DUPFD_CLOEXEC if u64::from(low(argument)) >= MOST_DESCRIPTORS => Err(Errno::INVAL.into()),
            DUPFD => self.duplicate(descriptor, low(argument), false),
            DUPFD_CLOEXEC => self.duplicate(descriptor, low(argument), true),
            GETFD => Ok(u64::from(*self.process_mut().descriptors.closes_on_execute(number)?)),
            SETFD => {
                *self.process_mut().descriptors.closes_on_execute(number)? = argument & 1 != 0;
                Ok(0)
            }
            GETFL => Ok(self.descriptions.get(id)?.flags),
            SETFL => {
                let description = self.descriptions.get_mut(id)?;
                description.flags = description.flags & ACCESS_MODE | argument & (APPEND | NONBLOCK);
                Ok(0)
            }
            // Nobody else is there to hold a lock.
            GETLK | OFD_GETLK => {
                let record = user.record().short(UNLOCKED);
                user.write(argument, &record.bytes)?;
                Ok(0)
            }
            SETLK | SETLKW | OFD_SETLK | OFD_SETLKW => Ok(0),
            SETPIPE_SZ | GETPIPE_SZ => Ok(PIPE_LEN as u64),
            _ => Err(Errno::INVAL.into()),
        }
    }

    /// There are no terminals.
    fn ioctl(&mut self, user: &mut User<'_, '_>, [descriptor, request, argument, ..]: [u64; 6]) -> Call {
        const FIONREAD: u32 = 0x541b;
        const FIONBIO: u32 = 0x5421;
        const FIONCLEX: u32 = 0x5450;
        const FIOCLEX: u32 = 0x5451;
        let id = self.described(descriptor)?;
        match low(request) {
            FIONBIO => {
                let set = user.half(argument)? != 0;
                let description = self.descriptions.get_mut(id)?;
                description.flags = description.flags & !NONBLOCK | if set { NONBLOCK } else { 0 };
                Ok(0)
            }
            request @ (FIOCLEX | FIONCLEX) => {
                *self.process_mut().descriptors.closes_on_execute(low(descriptor))? = request == FIOCLEX;
                Ok(0)
            }
            FIONREAD => {
                let description = self.descriptions.get(id)?;
                let len = match &description.object {
                    Object::PipeReader(pipe) => {
                        self.descriptions.pipes.get(pipe).map_or(0, |pipe| pipe.bytes.len() as u64)
                    }
                    Object::File { file, .. } => self.disk.len(*file).saturating_sub(description.offset),
                    Object::Bytes(bytes) => (bytes.len() as u64).saturating_sub(description.offset),
                    _ => return Err(Errno::NOTTY.into()),
                };
                user.write_half(argument, u32::try_from(len).unwrap_or(u32::MAX))?;
                Ok(0)
            }
            _ => Err(Errno::NOTTY.into()),
        }
    }

    /// Returns the file that a descriptor refers to, with its path.
    pub(super) fn file_to_map(&self, descriptor: u64) -> Result<(FileId, PathBuf), Errno> {
        let id = self.described(descriptor)?;
        match &self.descriptions.get(id)?.object {
            Object::File { file, path } => Ok((*file, path.clone())),
            Object::Folder { .. } => Err(Errno::ACCESS),
            _ => Err(Errno::NODEV),
        }
    }

    fn file_to_write(&self, descriptor: u64) -> Result<FileId, Errno> {
        let id = self.described(descriptor)?;
        let description = self.descriptions.get(id)?;
        match &description.object {
            Object::File { file, .. } if description.flags & ACCESS_MODE != 0 => Ok(*file),
            _ => Err(Errno::INVAL),
        }
    }

    fn ftruncate(&mut self, descriptor: u64, len: u64) -> Call {
        let file = self.file_to_write(descriptor)?;
        self.disk.truncate(file, len)?;
        Ok(0)
    }

    fn fallocate(&mut self, [descriptor, mode, offset, len, ..]: [u64; 6]) -> Call {
        let file = self.file_to_write(descriptor)?;
        if mode != 0 {
            return Err(Errno::OPNOTSUPP.into());
        }
        let end = offset.checked_add(len).ok_or(Errno::FBIG)?;
        if end > self.disk.len(file) {
            self.disk.truncate(file, end)?;
        }
        Ok(0)
    }

    fn fchmod(&mut self, descriptor: u64, mode: u64) -> Call {
        if let Ok((file, _)) = self.file_to_map(descriptor) {
            self.disk.set_mode(file, low(mode));
        } else {
            self.described(descriptor)?;
        }
        Ok(0)
    }
}
