//! System calls: the emulator pauses, the kernel answers, and the program continues.

use std::cell::Cell;
use std::rc::Rc;

use unicorn_engine::{Unicorn, uc_error};

use super::Run;
use super::parked::{Request, failure};
use crate::linux::answer::{Answer, Fault};
use crate::linux::kernel::Linux;
use crate::linux::user::User;
use crate::outcome::{Broken, End};

impl Run<'_> {
    /// Reads the system call that the last instruction makes.
    pub(super) fn request(&self, unicorn: &Unicorn<'_, ()>) -> Result<Request, uc_error> {
        let calls = &self.cpu.system_calls;
        let mut number = unicorn.reg_read(calls.number)?;
        let mut arguments = [0; 6];
        for (argument, register) in arguments.iter_mut().zip(calls.arguments) {
            *argument = unicorn.reg_read(register)?;
        }
        // s390x may name the call in the instruction itself: svc 1 to 255.
        let mut code = [0; 2];
        if calls.is_in_instruction && self.space.read(self.last_pc, &mut code) && code[1] != 0 {
            number = code[1].into();
        }
        let next = self.last_pc.wrapping_add(calls.len);
        Ok(Request { number, arguments, at: self.last_pc, next })
    }

    /// Makes a system call for the current task. Returns where the program continues.
    pub(super) fn system_call(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        request: Request,
    ) -> Result<Option<u64>, uc_error> {
        if let Some(result) = self.table_call(unicorn, &request) {
            unicorn.reg_write(self.cpu.system_calls.result, result.map_or_else(failure, |()| 0))?;
            return Ok(Some(request.next));
        }
        let answer = self.as_kernel(unicorn, |linux, user, now| {
            linux.call(user, request.number, request.arguments, now)
        })?;
        self.note_changes(unicorn);
        match answer {
            Answer::Done(result) => {
                let result = result.unwrap_or_else(failure);
                unicorn.reg_write(self.cpu.system_calls.result, result)?;
                Ok(Some(request.next))
            }
            Answer::Wait(wait) => {
                Rc::make_mut(&mut self.linux).tasks.wait(wait);
                self.park(unicorn, request.next, Some(request))?;
                self.next_task(unicorn, true)
            }
            Answer::Restart => Ok(Some(request.at)),
            Answer::SignalReturn => self.signal_return(unicorn),
            Answer::Clone(task) => self.new_task(unicorn, *task, request),
            Answer::Execute(execute) => self.execute_program(unicorn, &execute, request),
            Answer::Gone => self.next_task(unicorn, false),
            Answer::Exit(status) => {
                self.end(End::Exit(status));
                Ok(None)
            }
            Answer::Unsupported => {
                let Request { number, at: pc, .. } = request;
                let name = self.cpu.system_calls.name(number).unwrap_or("?");
                self.end(End::Broken(Broken::SystemCall { number, name, pc }));
                Ok(None)
            }
        }
    }

    /// Takes what the kernel has moved, in bytes, from the budget: as much as the program could
    /// move in about that time.
    pub(super) fn charge(&mut self, bytes: u64) {
        const BYTES_OF_AN_INSTRUCTION: u64 = 1024;
        self.limit = self.limit.saturating_sub(bytes / BYTES_OF_AN_INSTRUCTION);
        self.turn_end = self.turn_end.min(self.limit);
    }

    /// Lets the kernel act on the program's memory.
    pub(super) fn as_kernel<T>(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        act: impl FnOnce(&mut Linux, &mut User<'_, '_>, u64) -> T,
    ) -> Result<T, uc_error> {
        let mut user = User {
            cpu: self.cpu,
            space: &mut self.space,
            unicorn,
            stores: Vec::new(),
            changes_code: false,
            fault: None,
            moved: Cell::new(0),
        };
        let result = act(Rc::make_mut(&mut self.linux), &mut user, self.instructions);
        let User { stores, changes_code, fault, moved, .. } = user;
        self.charge(moved.get());
        for (address, len) in stores {
            self.stored(address, len);
        }
        if changes_code {
            self.follower.effects.clear();
            unicorn.ctl_flush_tb()?;
        }
        self.note_signals();
        self.note_timers();
        match fault {
            Some(Fault::Unicorn(error)) => Err(error),
            None => Ok(result),
        }
    }
}
