//! New tasks and new programs: clone(2), fork(2), vfork(2), execve(2).

use rustix::io::Errno;

use crate::cpu::CloneArgument;
use crate::linux::answer::{Answer, NewTask};
use crate::linux::ids::{ProcessId, SpaceId, TaskId};
use crate::linux::kernel::Linux;
use crate::linux::objects::tasks::{On, Task, Wait};
use crate::linux::objects::timers::Timers;
use crate::linux::user::User;

const CLONE_VM: u64 = 0x100;
const CLONE_SIGHAND: u64 = 0x800;
const CLONE_VFORK: u64 = 0x4000;
const CLONE_THREAD: u64 = 0x1_0000;
const CLONE_SETTLS: u64 = 0x8_0000;
const CLONE_PARENT_SETTID: u64 = 0x10_0000;
const CLONE_CHILD_CLEARTID: u64 = 0x20_0000;
const CLONE_CHILD_SETTID: u64 = 0x100_0000;
/// `CLONE_NEWNS` and its like: only privileged processes make namespaces.
const NAMESPACES: u64 = 0x7e02_0000;

struct Request {
    flags: u64,
    sp: u64,
    parent_word: u64,
    child_word: u64,
    thread_pointer: u64,
}

impl Linux {
    pub(crate) fn clone(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Answer {
        let made = self.request(user, name, a).and_then(|request| self.make_task(user, &request));
        match made {
            Ok(task) => Answer::Clone(Box::new(task)),
            Err(errno) => Answer::Done(Err(errno)),
        }
    }

    /// Reads the arguments, whose order depends on the ABI.
    fn request(&self, user: &User<'_, '_>, name: &str, a: [u64; 6]) -> Result<Request, Errno> {
        let none = Request { flags: 0, sp: 0, parent_word: 0, child_word: 0, thread_pointer: 0 };
        Ok(match name {
            "fork" => none,
            "vfork" => Request { flags: CLONE_VM | CLONE_VFORK, ..none },
            "clone3" => {
                // struct clone_args, of which the first 64 bytes always exist.
                const LEN: u64 = 64;
                if a[1] < LEN {
                    return Err(Errno::INVAL);
                }
                let [flags, _, child_word, parent_word, _, stack, size, thread_pointer] = user.words(a[0])?;
                let sp = if stack == 0 { 0 } else { stack.wrapping_add(size) };
                Request { flags, sp, parent_word, child_word, thread_pointer }
            }
            _ => {
                let value = |argument: CloneArgument| {
                    self.cpu
                        .system_calls
                        .clone
                        .iter()
                        .zip(a)
                        .find(|(at, _)| **at == argument)
                        .map_or(0, |(_, value)| value)
                };
                Request {
                    flags: value(CloneArgument::Flags),
                    sp: value(CloneArgument::Stack),
                    parent_word: value(CloneArgument::ParentWord),
                    child_word: value(CloneArgument::ChildWord),
                    thread_pointer: value(CloneArgument::ThreadPointer),
                }
            }
        })
    }

    fn make_task(&mut self, user: &mut User<'_, '_>, request: &Request) -> Result<NewTask, Errno> {
        let has = |flag: u64| request.flags & flag != 0;
        if has(NAMESPACES) {
            return Err(Errno::PERM);
        }
        if has(CLONE_THREAD) && !has(CLONE_SIGHAND) || has(CLONE_SIGHAND) && !has(CLONE_VM) {
            return Err(Errno::INVAL);
        }
        // Before anything is copied for it.
        self.tasks.check_room()?;
        let parent = self.tasks.current();
        let (process, space, mask) = (parent.process, parent.space, parent.signals.clone());
        let id = self.next_id();
        let new_space = if has(CLONE_VM) {
            None
        } else {
            if !self.has_room(user, user.space.size()) {
                return Err(Errno::NOMEM);
            }
            let copy = user.space.copy().map_err(|_| Errno::NOMEM)?;
            Some((SpaceId(id), copy))
        };
        let new_process = if has(CLONE_THREAD) { process } else { ProcessId(id) };
        let task_space = new_space.as_ref().map_or(space, |(space, _)| *space);
        let mut task = Task::new(TaskId(id), new_process, task_space);
        task.signals = mask.of_child(!has(CLONE_THREAD) && !has(CLONE_VM | CLONE_VFORK));
        task.clears = if has(CLONE_CHILD_CLEARTID) { request.child_word } else { 0 };
        task.lends = has(CLONE_VFORK);
        self.tasks.add(task);
        // The task exists, whether or not its number can be stored.
        if has(CLONE_PARENT_SETTID) {
            let _ = user.write_half(request.parent_word, id);
        }
        if has(CLONE_CHILD_SETTID) {
            match &new_space {
                None => {
                    let _ = user.write_half(request.child_word, id);
                }
                Some((_, copy)) => {
                    let record = user.record().half(id);
                    if copy.allows(request.child_word, 4, |allowed| allowed.write) {
                        let _ = copy.write(request.child_word, &record.bytes);
                    }
                }
            }
        }
        if let Some((space, _)) = &new_space {
            let memory = self.memory().clone();
            self.memories.insert(*space, memory);
        }
        if !has(CLONE_THREAD) {
            let mut child = self.process().clone();
            child.parent = process;
            child.space = task_space;
            child.timers = Timers::default();
            self.descriptions.share(&child.descriptors);
            self.processes.insert(new_process, child);
        }
        Ok(NewTask {
            id: TaskId(id),
            sp: (request.sp != 0).then_some(request.sp),
            thread_pointer: has(CLONE_SETTLS).then_some(request.thread_pointer),
            space: new_space,
            is_copy: !has(CLONE_THREAD),
            lends: has(CLONE_VFORK),
        })
    }

    /// Lets the current task wait until a child no longer uses its memory.
    pub(crate) fn lend(&mut self, child: TaskId) {
        self.tasks.wait(Wait::on(On::Child(child), None, false));
    }
}
