//! Open files: descriptors, and what they refer to.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use rustix::io::Errno;

use super::disk::{FileId, Name};
use super::special::Special;
use super::timers::Timer;

/// A process has fewer descriptors than this.
pub(crate) const MOST_DESCRIPTORS: u64 = 1024;
/// What fits into a pipe, in bytes.
pub(crate) const PIPE_LEN: usize = 1 << 16;
/// The most that is kept of what a program writes to standard output, and to standard error.
const OUTPUT_LIMIT: usize = 64 << 20;

/// `O_ACCMODE` and its values, `O_APPEND` and `O_NONBLOCK`, the same for all ABIs.
pub(crate) const ACCESS_MODE: u64 = 3;
pub(crate) const READ_ONLY: u64 = 0;
pub(crate) const WRITE_ONLY: u64 = 1;
pub(crate) const READ_WRITE: u64 = 2;
pub(crate) const APPEND: u64 = 0o2000;
pub(crate) const NONBLOCK: u64 = 0o4000;

/// Identifies an open file description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DescriptionId(u32);

/// Identifies a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PipeId(u32);

/// What is open.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    /// Bytes that are only read: standard input, and what `/proc` shows.
    Bytes(Arc<Vec<u8>>),
    /// Standard output.
    Output,
    /// Standard error.
    Error,
    Special(Special),
    File {
        file: FileId,
        path: PathBuf,
    },
    Folder {
        path: PathBuf,
        names: Rc<[Name]>,
    },
    PipeReader(PipeId),
    PipeWriter(PipeId),
    /// A counter (eventfd(2)).
    Event {
        count: u64,
        is_semaphore: bool,
    },
    /// A timer by a clock, and how often it has expired since it was read (timerfd_create(2)).
    Timer {
        clock: i32,
        timer: Timer,
        count: u64,
    },
    /// Signals of a set (signalfd(2)).
    Signals(u64),
    /// Descriptors of interest (epoll(7)).
    Epoll(BTreeMap<u32, Interest>),
}

/// What an epoll object wants to know about a descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interest {
    pub(crate) description: DescriptionId,
    pub(crate) events: u32,
    pub(crate) data: u64,
    /// Whether it was reported, and only a change is to be reported again.
    pub(crate) reported: u32,
}

/// An open file description.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) object: Object,
    pub(crate) offset: u64,
    /// Access mode, `O_APPEND` and `O_NONBLOCK`.
    pub(crate) flags: u64,
    references: usize,
}

/// A pipe's content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipe {
    pub(crate) bytes: VecDeque<u8>,
    pub(crate) readers: usize,
    pub(crate) writers: usize,
}

/// What a program has written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    /// To standard output.
    pub(crate) standard: Vec<u8>,
    /// To standard output and standard error.
    pub(crate) all: Vec<u8>,
    /// Whether there was more.
    pub(crate) is_cut: bool,
}

impl Output {
    pub(crate) fn write(&mut self, bytes: &[u8], to_standard: bool) {
        let mut add = |to: &mut Vec<u8>| {
            let room = OUTPUT_LIMIT.saturating_sub(to.len());
            to.extend(bytes.iter().take(room));
            self.is_cut |= bytes.len() > room;
        };
        add(&mut self.all);
        if to_standard {
            add(&mut self.standard);
        }
    }
}

/// All open file descriptions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Descriptions {
    open: BTreeMap<DescriptionId, Description>,
    pub(crate) pipes: BTreeMap<PipeId, Pipe>,
    next: u32,
    pub(crate) output: Output,
}

impl Descriptions {
    pub(crate) fn open(&mut self, object: Object, flags: u64) -> DescriptionId {
        let id = DescriptionId(self.next);
        self.next += 1;
        let flags = flags & (ACCESS_MODE | APPEND | NONBLOCK);
        self.open.insert(id, Description { object, offset: 0, flags, references: 1 });
        id
    }

    pub(crate) fn get(&self, id: DescriptionId) -> Result<&Description, Errno> {
        self.open.get(&id).ok_or(Errno::BADF)
    }

    pub(crate) fn get_mut(&mut self, id: DescriptionId) -> Result<&mut Description, Errno> {
        self.open.get_mut(&id).ok_or(Errno::BADF)
    }

    /// Returns what is open.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.open.values().map(|description| &description.object)
    }

    pub(crate) fn objects_mut(&mut self) -> impl Iterator<Item = &mut Object> {
        self.open.values_mut().map(|description| &mut description.object)
    }

    /// Returns the epoll objects that are interested in a description.
    pub(crate) fn holders(&self, id: DescriptionId) -> impl Iterator<Item = DescriptionId> {
        let holds = move |description: &Description| match &description.object {
            Object::Epoll(interests) => interests.values().any(|interest| interest.description == id),
            _ => false,
        };
        self.open.iter().filter(move |(_, description)| holds(description)).map(|(id, _)| *id)
    }

    /// Makes a pipe, and returns its ends.
    pub(crate) fn pipe(&mut self, flags: u64) -> [DescriptionId; 2] {
        let pipe = PipeId(self.next);
        self.pipes.insert(pipe, Pipe { bytes: VecDeque::new(), readers: 1, writers: 1 });
        [
            self.open(Object::PipeReader(pipe), READ_ONLY | flags),
            self.open(Object::PipeWriter(pipe), WRITE_ONLY | flags),
        ]
    }

    /// Adds a reference.
    pub(crate) fn retain(&mut self, id: DescriptionId) {
        if let Some(description) = self.open.get_mut(&id) {
            description.references += 1;
        }
    }

    /// Adds a reference for each of a process's descriptors.
    pub(crate) fn share(&mut self, descriptors: &Descriptors) {
        for (id, _) in descriptors.0.values() {
            self.retain(*id);
        }
    }

    /// Drops a reference. The last one closes it.
    pub(crate) fn release(&mut self, id: DescriptionId) {
        let Some(description) = self.open.get_mut(&id) else { return };
        description.references -= 1;
        if description.references > 0 {
            return;
        }
        let object = self.open.remove(&id).map(|description| description.object);
        let (pipe, end): (_, fn(&mut Pipe) -> &mut usize) = match object {
            Some(Object::PipeReader(pipe)) => (pipe, |pipe| &mut pipe.readers),
            Some(Object::PipeWriter(pipe)) => (pipe, |pipe| &mut pipe.writers),
            _ => return,
        };
        if let Some(state) = self.pipes.get_mut(&pipe) {
            *end(state) -= 1;
            if state.readers == 0 && state.writers == 0 {
                self.pipes.remove(&pipe);
            }
        }
    }
}

/// The descriptors of a process, each with whether `execve` closes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Descriptors(BTreeMap<u32, (DescriptionId, bool)>);

impl Descriptors {
    /// Standard input, output and error.
    pub(crate) fn standard(descriptions: &mut Descriptions, input: Option<&Arc<Vec<u8>>>) -> Self {
        let input = input.map_or(Object::Special(Special::Null), |input| Object::Bytes(Arc::clone(input)));
        let mut descriptors = Self::default();
        for (number, object, flags) in
            [(0, input, READ_ONLY), (1, Object::Output, WRITE_ONLY), (2, Object::Error, WRITE_ONLY)]
        {
            descriptors.0.insert(number, (descriptions.open(object, flags), false));
        }
        descriptors
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }

    /// Returns what a descriptor refers to.
    pub(crate) fn get(&self, number: u32) -> Result<DescriptionId, Errno> {
        self.0.get(&number).map(|(id, _)| *id).ok_or(Errno::BADF)
    }

    pub(crate) fn closes_on_execute(&mut self, number: u32) -> Result<&mut bool, Errno> {
        self.0.get_mut(&number).map(|(_, closes)| closes).ok_or(Errno::BADF)
    }

    /// Takes the lowest number from one on.
    pub(crate) fn add(&mut self, from: u32, id: DescriptionId, closes: bool) -> Result<u32, Errno> {
        let free = (from..).take_while(|number| u64::from(*number) < MOST_DESCRIPTORS);
        let number = free.into_iter().find(|number| !self.0.contains_key(number)).ok_or(Errno::MFILE)?;
        self.0.insert(number, (id, closes));
        Ok(number)
    }

    /// Takes a number, and returns what it referred to.
    pub(crate) fn replace(
        &mut self,
        number: u32,
        id: DescriptionId,
        closes: bool,
    ) -> Result<Option<DescriptionId>, Errno> {
        if u64::from(number) >= MOST_DESCRIPTORS {
            return Err(Errno::BADF);
        }
        Ok(self.0.insert(number, (id, closes)).map(|(id, _)| id))
    }

    pub(crate) fn remove(&mut self, number: u32) -> Result<DescriptionId, Errno> {
        self.0.remove(&number).map(|(id, _)| id).ok_or(Errno::BADF)
    }

    /// Closes those that `execve` closes.
    pub(crate) fn close_on_execute(&mut self) -> Vec<DescriptionId> {
        let closed = self.0.values().filter(|(_, closes)| *closes).map(|(id, _)| *id).collect();
        self.0.retain(|_, (_, closes)| !*closes);
        closed
    }

    pub(crate) fn close_all(&mut self) -> Vec<DescriptionId> {
        std::mem::take(&mut self.0).into_values().map(|(id, _)| id).collect()
    }
}
