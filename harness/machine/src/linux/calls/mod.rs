//! The system calls, by subject. Each file answers those of its subject.

mod clone;
mod descriptors;
mod epoll;
mod execute;
mod futex;
mod identity;
mod memory;
mod names;
mod open;
mod poll;
mod random;
mod signals;
mod sockets;
mod status;
mod tasks;
mod time;
mod timers;
mod transfer;
mod unsupported;
mod wait;

use rustix::io::Errno;

use super::answer::{Answer, Refused};
use super::kernel::Linux;
use super::user::User;

impl Linux {
    /// Executes a system call of the current task. `now` is the number of executed
    /// instructions.
    pub(crate) fn call(
        &mut self,
        user: &mut User<'_, '_>,
        number: u64,
        arguments: [u64; 6],
        now: u64,
    ) -> Answer {
        self.clock.instructions(now);
        self.expire_timers();
        let Some(name) = self.cpu.system_calls.name(number) else {
            self.usage.unknown(number);
            return Answer::Done(Err(Errno::NOSYS));
        };
        self.usage.called(name);
        let answer = self.answer(user, name, arguments);
        // A signal may have come while the call was about to be made again.
        let answer = match answer {
            Answer::Wait(wait) if self.has_signal() => self.interrupted(wait),
            answer => answer,
        };
        if matches!(answer, Answer::Wait(_)) {
            return answer;
        }
        if matches!(answer, Answer::Done(Err(Errno::NOSYS))) {
            self.usage.refused(name);
        }
        if !matches!(answer, Answer::Gone) {
            self.tasks.current_mut().answered();
            self.restore_mask();
        }
        // Others may have waited for what has changed.
        self.tasks.retry();
        answer
    }

    /// Asks each subject in turn.
    fn answer(&mut self, user: &mut User<'_, '_>, name: &str, arguments: [u64; 6]) -> Answer {
        let call = None
            .or_else(|| self.call_memory(user, name, arguments))
            .or_else(|| self.call_transfer(user, name, arguments))
            .or_else(|| self.call_open(user, name, arguments))
            .or_else(|| self.call_status(user, name, arguments))
            .or_else(|| self.call_names(user, name, arguments))
            .or_else(|| self.call_descriptors(user, name, arguments))
            .or_else(|| self.call_time(user, name, arguments))
            .or_else(|| self.call_timers(user, name, arguments))
            .or_else(|| self.call_identity(user, name, arguments))
            .or_else(|| self.call_random(user, name, arguments))
            .or_else(|| self.call_futex(user, name, arguments))
            .or_else(|| self.call_poll(user, name, arguments))
            .or_else(|| self.call_epoll(user, name, arguments))
            .or_else(|| self.call_signals(user, name, arguments))
            .or_else(|| self.call_sockets(name, arguments))
            .or_else(|| self.call_wait(user, name, arguments))
            .or_else(|| unsupported::call(name));
        match call {
            Some(Ok(result)) => Answer::Done(Ok(result)),
            Some(Err(Refused::Errno(errno))) => Answer::Done(Err(errno)),
            Some(Err(Refused::Wait(wait))) => Answer::Wait(wait),
            Some(Err(Refused::Unsupported)) => Answer::Unsupported,
            None => self.call_tasks(user, name, arguments).unwrap_or(Answer::Unsupported),
        }
    }
}
