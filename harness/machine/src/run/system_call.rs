//! The Linux system calls that programs may make.

use unicorn_engine::Unicorn;

use super::Run;
use super::signals::Pause;
use crate::cpu::SystemCall;
use crate::outcome::{Broken, End};

/// Longer output is truncated.
const OUTPUT_LIMIT: usize = 1 << 20;

/// The number of the process, and of its only thread.
const PROCESS: u64 = 1000;

impl Run<'_> {
    /// Executes the program's system call. Ends the run if the machine does not implement it.
    pub(crate) fn system_call(&mut self, unicorn: &mut Unicorn<'_, ()>) {
        let calls = &self.cpu.system_calls;
        let read = |register: i32| unicorn.reg_read(register).unwrap_or_default();
        let number = read(calls.number);
        let arguments = calls.arguments.map(read);
        // s390x may name the call in the instruction itself: svc 1 to 255.
        let mut code = [0; 2];
        let immediate = calls.pc_lag > 0 && self.space.read(self.last_pc, &mut code) && code[1] != 0;
        let number = if immediate { u64::from(code[1]) } else { number };
        let sp = read(self.cpu.sp);

        let call = calls.numbers.iter().find(|(known, _)| *known == number).map(|(_, call)| *call);
        let result = match call {
            Some(SystemCall::Exit | SystemCall::ExitGroup) => {
                return self.end(End::Exit(arguments[0].to_le_bytes()[0]));
            }
            Some(SystemCall::SignalReturn) => {
                self.pause = Some(Pause::SignalReturn);
                return;
            }
            Some(SystemCall::Write) => self.write(arguments),
            Some(SystemCall::SignalAction) => self.signal_action(arguments),
            Some(SystemCall::SignalMask) => self.signal_mask(arguments),
            Some(SystemCall::AlternateStack) => self.alternate_stack(sp, arguments),
            Some(SystemCall::Kill | SystemCall::KillThread) => self.kill(arguments[0], arguments[1]),
            Some(SystemCall::KillThreadOfGroup) => self.kill(arguments[1], arguments[2]),
            Some(SystemCall::ProcessId | SystemCall::ThreadId) => PROCESS,
            None => {
                let pc = self.last_pc;
                return self.end(End::Broken(Broken::SystemCall { number, pc }));
            }
        };
        let mut done = unicorn.reg_write(calls.result, result);
        if calls.pc_lag > 0 {
            done = done.and(unicorn.reg_write(self.cpu.pc, self.last_pc + calls.pc_lag));
        }
        if let Err(error) = done {
            self.end(End::Broken(Broken::Unicorn(format!("{error:?}"))));
        }
    }

    /// kill(2), tkill(2) and tgkill(2), to the program itself only.
    fn kill(&mut self, process: u64, signal: u64) -> u64 {
        const ESRCH: u64 = 3;
        const EINVAL: u64 = 22;
        if process != PROCESS {
            return ESRCH.wrapping_neg();
        }
        if signal > 64 {
            return EINVAL.wrapping_neg();
        }
        self.raise(signal);
        0
    }

    /// write(2), to standard output and error only.
    fn write(&mut self, [descriptor, buffer, len]: [u64; 3]) -> u64 {
        const EBADF: u64 = 9;
        const EFAULT: u64 = 14;
        if !matches!(descriptor, 1 | 2) {
            return EBADF.wrapping_neg();
        }
        // A partial write is what Linux would also do with a huge length.
        let len = len.min(0x1_0000);
        let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
        if !self.space.read(buffer, &mut bytes) {
            return EFAULT.wrapping_neg();
        }
        let room = OUTPUT_LIMIT.saturating_sub(self.output.len());
        self.output.extend(bytes.iter().take(room));
        len
    }
}
