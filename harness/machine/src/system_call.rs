//! The Linux system calls that programs may make: exit, exit_group and write.

use unicorn_engine::Unicorn;

use crate::machine::Run;
use crate::outcome::{Broken, End};

/// Longer output is cut.
const OUTPUT_LIMIT: usize = 1 << 20;

impl Run<'_> {
    /// Does the system call that the program makes. It ends the run where
    /// the machine does not have it.
    pub(crate) fn system_call(&mut self, unicorn: &mut Unicorn<'_, ()>) {
        let calls = &self.cpu.system_calls;
        let read = |register: i32| unicorn.reg_read(register).unwrap_or_default();
        let number = read(calls.number);
        let arguments = calls.arguments.map(read);
        // s390x may name the call in the instruction itself: svc 1 to 255.
        let mut code = [0; 2];
        let immediate = calls.pc_behind > 0 && self.space.read(self.last_pc, &mut code) && code[1] != 0;
        let number = if immediate { u64::from(code[1]) } else { number };

        if number == calls.exit || number == calls.exit_group {
            return self.end(End::Exit(arguments[0].to_le_bytes()[0]));
        }
        if number != calls.write {
            let pc = self.last_pc;
            return self.end(End::Broken(Broken::SystemCall { number, pc }));
        }
        let result = self.write(arguments);
        let mut done = unicorn.reg_write(calls.result, result);
        if calls.pc_behind > 0 {
            done = done.and(unicorn.reg_write(self.cpu.pc, self.last_pc + calls.pc_behind));
        }
        if let Err(error) = done {
            self.end(End::Broken(Broken::Unicorn(format!("{error:?}"))));
        }
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
