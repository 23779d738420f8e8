//! Reading and writing: read(2), write(2) and their relatives.

use rustix::io::Errno;

use super::signals::SIGNAL_RECORD;
use crate::linux::answer::{Call, Refused};
use crate::linux::kernel::Linux;
use crate::linux::objects::descriptions::{
    ACCESS_MODE, APPEND, DescriptionId, NONBLOCK, Object, PIPE_LEN, PipeId, READ_ONLY, WRITE_ONLY,
};
use crate::linux::objects::signals::{SIGPIPE, SignalInfo};
use crate::linux::objects::special::Special;
use crate::linux::objects::tasks::Wait;
use crate::linux::user::{Record, User, int};

/// The most that one call transfers; programs ask again for the rest.
const MOST: u64 = 1 << 24;
/// `IOV_MAX`.
const MOST_PARTS: u64 = 1024;

impl Linux {
    pub(crate) fn call_transfer(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        Some(match name {
            "read" => self.read(user, a[0], &[(a[1], a[2])], None),
            "pread64" => self.read(user, a[0], &[(a[1], a[2])], Some(a[3])),
            "write" => self.write(user, a[0], &[(a[1], a[2])], None),
            "pwrite64" => self.write(user, a[0], &[(a[1], a[2])], Some(a[3])),
            "readv" | "preadv" | "preadv2" => match parts(user, a[1], a[2]) {
                Ok(parts) => self.read(user, a[0], &parts, offset_of_parts(name, a[3])),
                Err(errno) => Err(errno.into()),
            },
            "writev" | "pwritev" | "pwritev2" => match parts(user, a[1], a[2]) {
                Ok(parts) => self.write(user, a[0], &parts, offset_of_parts(name, a[3])),
                Err(errno) => Err(errno.into()),
            },
            "lseek" => self.seek(a[0], a[1], a[2]),
            "sendfile" => self.send_file(user, a),
            _ => return None,
        })
    }

    /// Returns what a descriptor of the current process refers to.
    pub(super) fn described(&self, descriptor: u64) -> Result<DescriptionId, Errno> {
        let number = u32::try_from(int(descriptor)).map_err(|_| Errno::BADF)?;
        self.process().descriptors.get(number)
    }

    /// Returns what a descriptor refers to, and refuses an offset if that has none.
    fn described_at(&self, descriptor: u64, at: Option<u64>) -> Result<DescriptionId, Errno> {
        let id = self.described(descriptor)?;
        let Some(at) = at else { return Ok(id) };
        match self.descriptions.get(id)?.object {
            _ if at.cast_signed() < 0 => Err(Errno::INVAL),
            Object::Bytes(_) | Object::File { .. } | Object::Folder { .. } | Object::Special(_) => Ok(id),
            Object::Output
            | Object::Error
            | Object::PipeReader(_)
            | Object::PipeWriter(_)
            | Object::Event { .. }
            | Object::Timer { .. }
            | Object::Signals(_)
            | Object::Epoll(_) => Err(Errno::SPIPE),
        }
    }

    fn read(
        &mut self,
        user: &mut User<'_, '_>,
        descriptor: u64,
        parts: &[(u64, u64)],
        at: Option<u64>,
    ) -> Call {
        let id = self.described_at(descriptor, at)?;
        let len = parts.iter().fold(0_u64, |sum, (_, len)| sum.saturating_add(*len)).min(MOST);
        // A call that fails must not have taken anything.
        for (address, len) in parts {
            if *len > 0 && !user.space.allows(*address, (*len).min(MOST), |allowed| allowed.write) {
                return Err(Errno::FAULT.into());
            }
        }
        let bytes = self.take(id, len, at)?;
        let mut rest = &bytes[..];
        for (address, len) in parts {
            let len = usize::try_from(*len).unwrap_or(usize::MAX).min(rest.len());
            let (part, after) = rest.split_at(len);
            user.write(*address, part)?;
            rest = after;
        }
        Ok(bytes.len() as u64)
    }

    /// Reads from a description.
    fn take(&mut self, id: DescriptionId, len: u64, at: Option<u64>) -> Result<Vec<u8>, Refused> {
        let most = usize::try_from(len).unwrap_or_default();
        let description = self.descriptions.get_mut(id)?;
        if description.flags & ACCESS_MODE == WRITE_ONLY {
            return Err(Errno::BADF.into());
        }
        let is_blocking = description.flags & NONBLOCK == 0;
        let offset = at.unwrap_or(description.offset);
        let bytes = match &mut description.object {
            Object::Bytes(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                bytes[start..].iter().take(most).copied().collect()
            }
            Object::File { file, .. } => self.disk.read_at(*file, offset, len)?,
            Object::Special(Special::Zero | Special::Full) => vec![0; most],
            Object::Special(Special::Random) => self.random.bytes(most),
            Object::Special(_) => Vec::new(),
            Object::Folder { .. } => return Err(Errno::ISDIR.into()),
            Object::PipeReader(pipe) => {
                let pipe = *pipe;
                return self.take_from_pipe(pipe, most, is_blocking);
            }
            Object::Event { count, is_semaphore } => {
                if most < 8 {
                    return Err(Errno::INVAL.into());
                }
                if *count == 0 {
                    return Err(blocked(is_blocking));
                }
                let value = if *is_semaphore { 1 } else { *count };
                *count -= value;
                return Ok(Record::new(self.cpu.abi.is_big_endian()).word(value).bytes);
            }
            Object::Timer { count, .. } => {
                if most < 8 {
                    return Err(Errno::INVAL.into());
                }
                if *count == 0 {
                    return Err(blocked(is_blocking));
                }
                let record = Record::new(self.cpu.abi.is_big_endian()).word(std::mem::take(count));
                return Ok(record.bytes);
            }
            Object::Signals(set) => {
                let set = *set;
                if most < SIGNAL_RECORD {
                    return Err(Errno::INVAL.into());
                }
                let bytes = self.read_signals(set, most);
                return if bytes.is_empty() { Err(blocked(is_blocking)) } else { Ok(bytes) };
            }
            Object::Output | Object::Error | Object::PipeWriter(_) | Object::Epoll(_) => {
                return Err(Errno::INVAL.into());
            }
        };
        if at.is_none() {
            description.offset += bytes.len() as u64;
        }
        Ok(bytes)
    }

    fn take_from_pipe(&mut self, pipe: PipeId, most: usize, is_blocking: bool) -> Result<Vec<u8>, Refused> {
        let pipe = self.descriptions.pipes.get_mut(&pipe).ok_or(Errno::BADF)?;
        if pipe.bytes.is_empty() && pipe.writers > 0 && most > 0 {
            return Err(blocked(is_blocking));
        }
        let len = most.min(pipe.bytes.len());
        Ok(pipe.bytes.drain(..len).collect())
    }

    fn write(
        &mut self,
        user: &mut User<'_, '_>,
        descriptor: u64,
        parts: &[(u64, u64)],
        at: Option<u64>,
    ) -> Call {
        let id = self.described_at(descriptor, at)?;
        let mut bytes = Vec::new();
        for (address, len) in parts {
            let room = MOST.saturating_sub(bytes.len() as u64);
            bytes.extend(user.read(*address, (*len).min(room))?);
        }
        self.put(id, &bytes, at)
    }

    /// Writes to a description.
    fn put(&mut self, id: DescriptionId, bytes: &[u8], at: Option<u64>) -> Call {
        let description = self.descriptions.get_mut(id)?;
        if description.flags & ACCESS_MODE == READ_ONLY {
            return Err(Errno::BADF.into());
        }
        let is_blocking = description.flags & NONBLOCK == 0;
        match &mut description.object {
            Object::File { file, .. } => {
                let offset = match at {
                    Some(at) => at,
                    None if description.flags & APPEND != 0 => self.disk.len(*file),
                    None => description.offset,
                };
                self.disk.write_at(*file, offset, bytes)?;
                if at.is_none() {
                    description.offset = offset + bytes.len() as u64;
                }
            }
            Object::Output => self.descriptions.output.write(bytes, true),
            Object::Error => self.descriptions.output.write(bytes, false),
            Object::Special(Special::Full) => return Err(Errno::NOSPC.into()),
            Object::Special(_) => {}
            Object::PipeWriter(pipe) => {
                let pipe = *pipe;
                return self.put_into_pipe(pipe, bytes, is_blocking);
            }
            Object::Event { count, .. } => {
                let value: [u8; 8] = bytes.try_into().map_err(|_| Errno::INVAL)?;
                let big_endian = self.cpu.abi.is_big_endian();
                let value = if big_endian { u64::from_be_bytes(value) } else { u64::from_le_bytes(value) };
                if value == u64::MAX {
                    return Err(Errno::INVAL.into());
                }
                let sum = count.checked_add(value).filter(|sum| *sum < u64::MAX);
                *count = sum.ok_or_else(|| blocked(is_blocking))?;
            }
            Object::Timer { .. } | Object::Signals(_) => return Err(Errno::INVAL.into()),
            Object::Bytes(_) | Object::Folder { .. } | Object::PipeReader(_) | Object::Epoll(_) => {
                return Err(Errno::BADF.into());
            }
        }
        Ok(bytes.len() as u64)
    }

    fn put_into_pipe(&mut self, id: PipeId, bytes: &[u8], is_blocking: bool) -> Call {
        let pipe = self.descriptions.pipes.get_mut(&id).ok_or(Errno::BADF)?;
        if pipe.readers == 0 {
            let process = self.tasks.current().process;
            self.send_to_process(process, SIGPIPE, SignalInfo::default());
            return Err(Errno::PIPE.into());
        }
        let room = PIPE_LEN.saturating_sub(pipe.bytes.len());
        // What fits into the pipe is written at once or not at all.
        if room == 0 || (bytes.len() <= 4096 && bytes.len() > room) {
            return Err(blocked(is_blocking));
        }
        let len = bytes.len().min(room);
        pipe.bytes.extend(&bytes[..len]);
        Ok(len as u64)
    }

    fn seek(&mut self, descriptor: u64, offset: u64, whence: u64) -> Call {
        const SET: u64 = 0;
        const CURRENT: u64 = 1;
        const END: u64 = 2;
        let id = self.described(descriptor)?;
        let description = self.descriptions.get_mut(id)?;
        let len = match &description.object {
            Object::File { file, .. } => self.disk.len(*file),
            Object::Bytes(bytes) => bytes.len() as u64,
            Object::Folder { names, .. } => names.len() as u64,
            Object::Special(_) => 0,
            _ => return Err(Errno::SPIPE.into()),
        };
        let base = match whence {
            SET => 0,
            CURRENT => description.offset,
            END => len,
            _ => return Err(Errno::INVAL.into()),
        };
        let to = base.checked_add_signed(offset.cast_signed()).filter(|to| to.cast_signed() >= 0);
        description.offset = to.ok_or(Errno::INVAL)?;
        Ok(description.offset)
    }

    fn send_file(&mut self, user: &mut User<'_, '_>, [to, from, offset, len, ..]: [u64; 6]) -> Call {
        let at = if offset == 0 { None } else { Some(user.word(offset)?) };
        let (to, from) = (self.described(to)?, self.described_at(from, at)?);
        let start = match at {
            Some(at) => at,
            None => self.descriptions.get(from)?.offset,
        };
        let bytes = self.take(from, len.min(PIPE_LEN as u64), Some(start))?;
        let written = self.put(to, &bytes, None)?;
        match at {
            Some(at) => user.write_word(offset, at + written)?,
            None => self.descriptions.get_mut(from)?.offset = start + written,
        }
        Ok(written)
    }
}

/// What a call gets that would have to wait.
fn blocked(is_blocking: bool) -> Refused {
    if is_blocking { Refused::Wait(Wait::event(None)) } else { Errno::AGAIN.into() }
}

/// Returns where a call that takes a list of buffers starts: `readv` and `writev`, and an offset
/// of -1, mean the description's own offset.
fn offset_of_parts(name: &str, offset: u64) -> Option<u64> {
    Some(offset).filter(|offset| name.starts_with('p') && *offset != u64::MAX)
}

/// Reads a list of buffers.
fn parts(user: &User<'_, '_>, list: u64, count: u64) -> Result<Vec<(u64, u64)>, Errno> {
    if count > MOST_PARTS {
        return Err(Errno::INVAL);
    }
    let part = |index: u64| user.words(list.wrapping_add(index * 16)).map(|[address, len]| (address, len));
    (0..count).map(part).collect()
}
