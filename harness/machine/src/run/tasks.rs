//! Tasks, as far as the CPU is concerned: each has its registers and its calls.

use std::rc::Rc;
use std::sync::Arc;

use rustix::io::Errno;
use unicorn_engine::{Unicorn, uc_error};

use super::Run;
use super::parked::{Parked, Request, failure};
use crate::address_space::AddressSpace;
use crate::call_stack::Bottom;
use crate::follow::Trail;
use crate::image::Image;
use crate::linux::answer::{Execute, NewTask};
use crate::linux::objects::disk::path_of;
use crate::linux::objects::programs::Next;
use crate::linux::objects::tasks::Wake;
use crate::observer::Change;
use crate::outcome::{Broken, End};
use crate::process;
use crate::witness::Witness;

impl Run<'_> {
    /// Ends the turn of the current task before the last instruction.
    pub(super) fn end_turn(&mut self, unicorn: &mut Unicorn<'_, ()>) -> Result<Option<u64>, uc_error> {
        self.park(unicorn, self.last_pc, None)?;
        self.next_task(unicorn, true)
    }

    /// Keeps the state of the current task, which will continue at `pc`.
    pub(super) fn park(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        pc: u64,
        request: Option<Request>,
    ) -> Result<(), uc_error> {
        let fresh = Witness::new(self.cpu, 0..0, 0, self.witness_faults);
        let parked = Parked {
            registers: Rc::new(unicorn.context_init()?),
            pc,
            request,
            witness: std::mem::replace(&mut self.follower.witness, fresh),
            trail: std::mem::take(&mut self.follower.trail),
            signing: self.follower.signing.take(),
            interrupted: std::mem::take(&mut self.interrupted),
        };
        self.parked.insert(self.linux.tasks.current().id, parked);
        Ok(())
    }

    /// Gives the turn to the next task that is ready, and returns where it continues. `yields` is
    /// whether the current one has been parked; otherwise it has ended.
    pub(super) fn next_task(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        yields: bool,
    ) -> Result<Option<u64>, uc_error> {
        if !yields {
            self.ended_flow.add(self.follower.witness.control_flow());
        }
        let now = self.instructions;
        if Rc::make_mut(&mut self.linux).schedule(now, yields).is_err() {
            self.end(End::Broken(Broken::Deadlock { pc: self.last_pc }));
            return Ok(None);
        }
        let task = self.linux.tasks.current().id;
        let Some(parked) = self.parked.remove(&task) else {
            self.end(End::Broken(Broken::Harness("a task has no state".into())));
            return Ok(None);
        };
        self.go_to_space(unicorn)?;
        unicorn.context_restore(&parked.registers)?;
        self.follower.witness = parked.witness;
        self.follower.trail = parked.trail;
        self.follower.signing = parked.signing;
        self.interrupted = parked.interrupted;
        self.begin_turn();
        let wake = Rc::make_mut(&mut self.linux).tasks.current_mut().take_wake();
        self.note_signals();
        match (wake, parked.request) {
            (Some(Wake::Done(result)), _) => {
                let result = result.unwrap_or_else(failure);
                unicorn.reg_write(self.cpu.system_calls.result, result)?;
                Rc::make_mut(&mut self.linux).restore_mask();
                self.note_signals();
                Ok(Some(parked.pc))
            }
            (Some(Wake::Again), Some(request)) => self.system_call(unicorn, request),
            (Some(Wake::Restart), Some(request)) => Ok(Some(request.at)),
            _ => Ok(Some(parked.pc)),
        }
    }

    /// Notes whether the current task is observed, and when its turn ends.
    pub(super) fn begin_turn(&mut self) {
        const TURN: u64 = 20_000;
        self.is_observed = self.observes && self.linux.is_observed_program();
        self.thread = self.linux.tasks.current().id.0;
        self.turn_end = if self.linux.tasks.are_several() {
            self.limit.min(self.instructions.saturating_add(TURN))
        } else {
            self.limit
        };
        self.note_timers();
    }

    /// Notes that the turn ends when a timer expires.
    pub(super) fn note_timers(&mut self) {
        if let Some(instructions) = self.linux.next_timer().instructions {
            self.turn_end = self.turn_end.min(self.instructions.saturating_add(instructions));
        }
    }

    /// Brings the memory of the current task into the emulator.
    fn go_to_space(&mut self, unicorn: &mut Unicorn<'_, ()>) -> Result<(), uc_error> {
        let space = self.linux.tasks.current().space;
        if space != self.space_id {
            let Some(next) = self.spaces.remove(&space) else {
                self.end(End::Broken(Broken::Harness("a task has no memory".into())));
                return Ok(());
            };
            let old = self.replace_space(unicorn, next)?;
            self.spaces.insert(self.space_id, old);
            self.space_id = space;
        }
        Rc::make_mut(&mut self.linux).drop_unused(&mut self.spaces);
        Ok(())
    }

    /// Hands the emulator another address space in place of the current one.
    fn replace_space(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        next: AddressSpace,
    ) -> Result<AddressSpace, uc_error> {
        self.space.uninstall(unicorn)?;
        next.install(unicorn)?;
        unicorn.ctl_flush_tb()?;
        self.follower.effects.clear();
        Ok(std::mem::replace(&mut self.space, next))
    }

    /// Makes a task that continues after the system call of its parent.
    pub(super) fn new_task(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        task: NewTask,
        request: Request,
    ) -> Result<Option<u64>, uc_error> {
        let NewTask { id, sp, thread_pointer, space, is_copy, lends } = task;
        let parent = unicorn.context_init()?;
        let own_sp = unicorn.reg_read(self.cpu.sp)?;
        let sp = sp.unwrap_or(own_sp);
        unicorn.reg_write(self.cpu.sp, sp)?;
        unicorn.reg_write(self.cpu.system_calls.result, 0)?;
        if let Some(thread_pointer) = thread_pointer {
            (self.cpu.set_thread_pointer)(unicorn, thread_pointer)?;
        }
        let child = Parked {
            registers: Rc::new(unicorn.context_init()?),
            pc: request.next,
            request: None,
            // A child on the same stack continues its parent's calls.
            witness: if is_copy && sp == own_sp {
                self.follower.witness.copy()
            } else {
                let stack = self.space.extent(sp.wrapping_sub(1)).unwrap_or(0..0);
                self.follower.witness.of_task(self.cpu, stack, sp)
            },
            trail: self.follower.trail.clone(),
            signing: self.follower.signing,
            interrupted: if is_copy { self.interrupted.clone() } else { Vec::new() },
        };
        unicorn.context_restore(&parent)?;
        self.parked.insert(id, child);
        if let Some((id, space)) = space {
            self.charge(space.size());
            self.spaces.insert(id, space);
        }
        unicorn.reg_write(self.cpu.system_calls.result, id.0.into())?;
        if lends {
            Rc::make_mut(&mut self.linux).lend(id);
            self.park(unicorn, request.next, Some(request))?;
            return self.next_task(unicorn, true);
        }
        self.begin_turn();
        Ok(Some(request.next))
    }

    /// Replaces the program of the current process.
    pub(super) fn execute_program(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        execute: &Execute,
        request: Request,
    ) -> Result<Option<u64>, uc_error> {
        let fails = |unicorn: &mut Unicorn<'_, ()>, errno: Errno| {
            unicorn.reg_write(self.cpu.system_calls.result, failure(errno))?;
            Ok(Some(request.next))
        };
        let replaces_observed = self.snapshot.is_none() && self.linux.replaces_observed();
        let linux = Rc::make_mut(&mut self.linux);
        let Ok(bytes) = linux.read_program(execute.path.as_os_str().as_encoded_bytes()) else {
            return fails(unicorn, Errno::NOENT);
        };
        let Some(image) = Image::parse(&bytes).ok().filter(|image| image.cpu.abi == self.cpu.abi) else {
            return fails(unicorn, Errno::NOEXEC);
        };
        let interpreter = match &image.interpreter {
            None => None,
            Some(path) => match linux.read_program(path) {
                Ok(bytes) => Some((path_of(path), bytes)),
                Err(_) => return fails(unicorn, Errno::NOENT),
            },
        };
        let interpreter_bytes = interpreter.as_ref().map(|(_, bytes)| &**bytes);
        let next = if replaces_observed { linux.place_next(&bytes, interpreter_bytes) } else { None };
        let is_followed = next.is_some();
        let (image, interpreter_image) = match next {
            Some(Next { executable, interpreter }) => (executable, interpreter),
            None => {
                match interpreter_bytes.map(|bytes| process::interpreter_image(&image, bytes)).transpose() {
                    Ok(interpreter) => (image, interpreter),
                    Err(_) => return fails(unicorn, Errno::NOMEM),
                }
            }
        };
        let program = process::Program {
            executable: &image,
            arguments: &execute.arguments,
            environment: &execute.environment,
            stack_size: self.stack.end - self.stack.start,
            pattern: self.pattern,
        };
        let Ok(process::Started { space, sp, entry, places, layout, .. }) =
            program.start(interpreter_image.as_ref())
        else {
            return fails(unicorn, Errno::NOMEM);
        };
        let own = is_followed.then(|| (execute.path.clone(), Arc::clone(&bytes), &image));
        let of_interpreter = interpreter.as_ref().zip(interpreter_image.as_ref()).filter(|_| is_followed);
        let of_interpreter =
            of_interpreter.map(|((path, bytes), image)| (path.clone(), Arc::clone(bytes), image));
        let images: Vec<_> = own.into_iter().chain(of_interpreter).collect();
        if replaces_observed {
            self.tables.clear();
            if self.is_observed {
                let code = images.iter().flat_map(|(.., image)| image.code()).collect();
                self.show(unicorn, &Change::Executed(code));
            }
        }
        let stack = layout.stack.clone();
        let id = Rc::make_mut(&mut self.linux).executed(execute, layout, &images);
        self.charge(space.size());
        let old = self.replace_space(unicorn, space)?;
        self.spaces.insert(self.space_id, old);
        self.space_id = id;
        Rc::make_mut(&mut self.linux).drop_unused(&mut self.spaces);
        process::set_registers(unicorn, self.cpu, sp, self.pattern, places)?;
        self.interrupted.clear();
        self.follower.trail = Trail::default();
        self.follower.signing = None;
        self.ended_flow.add(self.follower.witness.control_flow());
        // Functions that are known are at the same addresses in what is followed.
        self.follower.witness = if is_followed {
            self.follower.witness.of_task(self.cpu, stack, sp)
        } else {
            Witness::new(self.cpu, 0..0, sp, self.witness_faults).knowing(Arc::clone(&self.follower.answers))
        };
        self.follower.witness.start_again(sp, Bottom::Entry);
        self.begin_turn();
        self.note_signals();
        Ok(Some(entry))
    }
}
