//! What the kernel keeps.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use rustix::io::Errno;

use super::answer::Execute;
use super::ids::{FIRST, ProcessId, SpaceId, TaskId};
use super::objects::clock::Clock;
use super::objects::descriptions::{Descriptions, Descriptors, Output};
use super::objects::disk::{Disk, Entry, path_of};
use super::objects::memory::{MappedFile, Mapping, Memory};
use super::objects::programs::{Next, Programs};
use super::objects::random::Random;
use super::objects::signals::Actions;
use super::objects::special::Processes;
use super::objects::tasks::{Task, Tasks};
use super::objects::timers::Timers;
use super::system::System;
use super::usage::Usage;
use crate::address_space::AddressSpace;
use crate::cpu::Cpu;
use crate::image::Image;

/// A process: what its tasks share.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) parent: ProcessId,
    pub(super) space: SpaceId,
    /// The path of its program.
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<Vec<u8>>,
    pub(super) descriptors: Descriptors,
    pub(super) folder: PathBuf,
    pub(super) umask: u32,
    /// What `personality` has set; it outlives `execve`.
    pub(super) personality: u32,
    pub(super) actions: Actions,
    pub(super) timers: Timers,
    /// The status that `wait4` gives, if it has ended.
    pub(super) status: Option<u32>,
}

/// What the kernel knows.
#[derive(Clone, Debug)]
pub(crate) struct Linux {
    pub(super) cpu: &'static Cpu,
    pub(super) system: Rc<System>,
    pub(super) disk: Disk,
    pub(super) descriptions: Descriptions,
    pub(super) processes: BTreeMap<ProcessId, Process>,
    pub(super) memories: BTreeMap<SpaceId, Memory>,
    pub(crate) tasks: Tasks,
    pub(super) clock: Clock,
    pub(super) random: Random,
    /// The number of the next process, task or address space.
    next: u32,
    /// Whether to keep the files that the first program maps to execute them, which are these.
    pub(crate) keeps_mapped: bool,
    pub(crate) mapped: Vec<MappedFile>,
    /// The programs that the first process executes.
    pub(crate) programs: Programs,
    /// The memory of the one that is observed.
    pub(crate) observed: SpaceId,
    /// Code of the first program that has come and gone with the last call.
    pub(crate) mappings: Vec<Mapping>,
    /// How much they are, in bytes.
    pub(super) kept_bytes: u64,
    pub(crate) usage: Usage,
}

/// The memory that a program starts with.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The end of the program's image: its break.
    pub(crate) brk: u64,
    /// Addresses for mappings.
    pub(crate) mappings: Range<u64>,
    /// The first stack.
    pub(crate) stack: Range<u64>,
}

impl From<Layout> for Memory {
    fn from(layout: Layout) -> Self {
        Self::new(layout.brk, layout.mappings, layout.stack)
    }
}

impl Linux {
    /// The kernel of a first process. `program` is its file, if programs are to find it at
    /// its path, which need not be below the root.
    pub(crate) fn new(
        cpu: &'static Cpu,
        system: Rc<System>,
        layout: Layout,
        program: Option<Vec<u8>>,
    ) -> Self {
        let (process, space) = (ProcessId(FIRST), SpaceId(FIRST));
        let mut descriptions = Descriptions::default();
        let mut disk = Disk::new(system.root.as_deref());
        let path = path_of(&system.program);
        let found = disk.resolve(&Processes::default(), std::path::Path::new("/"), &path, true);
        if let (Some(program), Ok(found)) = (program, &found)
            && !matches!(disk.entry(&Processes::default(), found), Ok(Entry::File(_)))
        {
            disk.add(found, program);
        }
        let first = Process {
            parent: ProcessId(1),
            space,
            program: found.unwrap_or(path),
            arguments: system.all_arguments(),
            descriptors: Descriptors::standard(&mut descriptions, system.input.as_ref()),
            folder: path_of(&system.folder),
            umask: 0o022,
            personality: 0,
            actions: Actions::default(),
            timers: Timers::default(),
            status: None,
        };
        Self {
            cpu,
            disk,
            descriptions,
            processes: BTreeMap::from([(process, first)]),
            memories: BTreeMap::from([(space, layout.into())]),
            tasks: Tasks::new(Task::new(TaskId(FIRST), process, space)),
            clock: Clock::default(),
            random: Random::default(),
            next: FIRST + 1,
            keeps_mapped: false,
            mapped: Vec::new(),
            programs: Programs::default(),
            observed: SpaceId(FIRST),
            mappings: Vec::new(),
            kept_bytes: 0,
            usage: Usage::default(),
            system,
        }
    }

    /// Returns the process of the current task.
    pub(super) fn process(&self) -> &Process {
        // It is removed after its last task, when its parent has waited for it.
        &self.processes[&self.tasks.current().process]
    }

    pub(super) fn process_mut(&mut self) -> &mut Process {
        let process = self.tasks.current().process;
        self.processes.entry(process).or_insert_with(|| unreachable!("a task without its process"))
    }

    /// Returns what is known of the memory of the current task.
    pub(super) fn memory(&mut self) -> &mut Memory {
        let space = self.tasks.current().space;
        self.memories.entry(space).or_default()
    }

    pub(super) fn next_id(&mut self) -> u32 {
        let next = self.next;
        self.next += 1;
        next
    }

    /// Returns what `/proc` shows.
    pub(super) fn proc(&self) -> Processes {
        let process = self.process();
        Processes {
            own: self.tasks.current().process.0,
            all: self.processes.keys().map(|id| id.0).collect(),
            program: process.program.clone(),
            folder: process.folder.clone(),
            descriptors: process.descriptors.numbers().collect(),
        }
    }

    /// With the programs of a process that is followed from one to the next.
    pub(crate) fn executing(self, programs: Programs) -> Self {
        Self { programs, ..self }
    }

    /// Returns whether the current task executes the program that is observed, in its own memory.
    pub(crate) fn is_observed_program(&self) -> bool {
        self.tasks.current().space == self.observed
    }

    /// Returns whether what the current task executes next takes the place of the program that is observed.
    pub(crate) fn replaces_observed(&self) -> bool {
        self.is_observed_program() && self.is_first_process()
    }

    /// Finds addresses for a program that takes the place of the one that is observed. `None` if that one is the last.
    pub(crate) fn place_next<'a>(
        &mut self,
        executable: &'a [u8],
        interpreter: Option<&'a [u8]>,
    ) -> Option<Next<'a>> {
        if self.programs.is_empty() || !self.replaces_observed() {
            return None;
        }
        let code = self.memory().code.clone();
        self.programs.place(executable, interpreter, &code)
    }

    /// Returns whether the current task belongs to the first process.
    pub(crate) fn is_first_process(&self) -> bool {
        self.tasks.current().process == ProcessId(FIRST)
    }

    /// Replaces the program of the current process: the end of `execve`. It is the one that is observed from now on if there
    /// are `images` of it, which have been placed. Returns its new address space.
    pub(crate) fn executed(
        &mut self,
        execute: &Execute,
        layout: Layout,
        images: &[(PathBuf, Arc<[u8]>, &Image<'_>)],
    ) -> SpaceId {
        let space = SpaceId(self.next_id());
        let mut memory = Memory::from(layout);
        if !images.is_empty() {
            for (path, bytes, image) in images {
                self.programs.note(path, bytes, image);
            }
            let programs: Vec<Range<u64>> = self.programs.ranges().collect();
            memory.come_after(self.memory(), programs);
            self.observed = space;
        }
        self.memories.insert(space, memory);
        let process = self.process_mut();
        process.space = space;
        process.program.clone_from(&execute.path);
        process.arguments.clone_from(&execute.arguments);
        process.actions.reset();
        process.timers.own.clear();
        for closed in process.descriptors.close_on_execute() {
            self.descriptions.release(closed);
        }
        self.tasks.executed(space);
        space
    }

    /// Reads a program to execute, or its interpreter.
    pub(crate) fn read_program(&mut self, path: &[u8]) -> Result<Arc<[u8]>, Errno> {
        let processes = self.proc();
        let folder = self.process().folder.clone();
        let path = self.disk.resolve(&processes, &folder, &path_of(path), true)?;
        match self.disk.entry(&processes, &path)? {
            Entry::File(file) => self.disk.content(file),
            _ => Err(Errno::ACCESS),
        }
    }

    /// Returns what the program has written.
    pub(crate) const fn output(&self) -> &Output {
        &self.descriptions.output
    }

    /// Removes the address spaces that no task uses.
    pub(crate) fn drop_unused(&mut self, spaces: &mut BTreeMap<SpaceId, AddressSpace>) {
        let used: Vec<SpaceId> = self.tasks.spaces().collect();
        spaces.retain(|space, _| used.contains(space));
        self.memories.retain(|space, _| used.contains(space));
    }
}
