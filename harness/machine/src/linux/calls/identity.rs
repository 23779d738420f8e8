//! Who the program is, what it runs on, and what it may use.

use rustix::io::Errno;
use unicorn_engine::RegisterX86;

use crate::linux::answer::{Call, Refused};
use crate::linux::ids::FIRST;
use crate::linux::kernel::Linux;
use crate::linux::objects::descriptions::MOST_DESCRIPTORS;
use crate::linux::user::{User, int};

/// The user and the group of all processes.
pub(crate) const USER: u32 = 1000;
const INFINITY: u64 = u64::MAX;

impl Linux {
    pub(crate) fn call_identity(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        Some(match name {
            "getpid" => Ok(self.tasks.current().process.0.into()),
            "gettid" => Ok(self.tasks.current().id.0.into()),
            "getppid" => Ok(self.process().parent.0.into()),
            "getpgrp" | "getpgid" | "getsid" | "setsid" => Ok(FIRST.into()),
            "setpgid" => Ok(0),
            "getuid" | "geteuid" | "getgid" | "getegid" => Ok(USER.into()),
            "setuid" | "setgid" | "setreuid" | "setregid" | "setresuid" | "setresgid" | "setfsuid"
            | "setfsgid" => Ok(0),
            "getresuid" | "getresgid" => self.three_ids(user, a),
            "getgroups" => Ok(0),
            "setgroups" => Err(Errno::PERM.into()),
            "capget" | "capset" => Err(Errno::PERM.into()),
            "set_tid_address" => {
                let task = self.tasks.current_mut();
                task.clears = a[0];
                Ok(task.id.0.into())
            }
            "uname" => self.uname(user, a[0]),
            "prlimit64" => self.limits(user, a[1], a[2], a[3]),
            "getrlimit" => self.limits(user, a[0], 0, a[1]),
            "setrlimit" => self.limits(user, a[0], a[1], 0),
            "getrusage" => self.usage_of_process(user, a[1]),
            "sysinfo" => self.sysinfo(user, a[0]),
            "sched_yield" | "sched_setaffinity" | "sched_setscheduler" | "sched_setparam" | "setpriority" => {
                Ok(0)
            }
            "sched_getscheduler" => Ok(0),
            "sched_getparam" => user.write_half(a[1], 0).map(|()| 0).map_err(Refused::from),
            "sched_get_priority_min" | "sched_get_priority_max" => Ok(u64::from(matches!(a[0], 1 | 2))),
            "getpriority" => Ok(20),
            "sched_getaffinity" => self.affinity(user, a[1], a[2]),
            "getcpu" => self.getcpu(user, a),
            "prctl" => self.prctl(user, a),
            "arch_prctl" => self.arch_prctl(user, a),
            "personality" => Ok(self.personality(a[0])),
            _ => return None,
        })
    }

    /// What the process has set, of which nothing changes how it runs: addresses are never random. A sanitizer runs
    /// itself again until it sees what it has set.
    fn personality(&mut self, new: u64) -> u64 {
        const ONLY_ASKED: u32 = u32::MAX;
        let (old, new) = (self.process().personality, int(new).cast_unsigned());
        if new != ONLY_ASKED {
            self.process_mut().personality = new;
        }
        old.into()
    }

    fn three_ids(&self, user: &mut User<'_, '_>, a: [u64; 6]) -> Call {
        for to in &a[..3] {
            user.write_half(*to, USER)?;
        }
        Ok(0)
    }

    fn uname(&self, user: &mut User<'_, '_>, to: u64) -> Call {
        const FIELD: usize = 65;
        let machine = self.cpu.system_calls.machine;
        let mut bytes = Vec::new();
        for field in ["Linux", "testbench", "6.12.0", "#1", machine, "(none)"] {
            bytes.extend(field.bytes());
            bytes.resize(bytes.len().next_multiple_of(FIELD), 0);
        }
        user.write(to, &bytes)?;
        Ok(0)
    }

    /// Limits can't be changed; a program may try.
    fn limits(&self, user: &mut User<'_, '_>, resource: u64, new: u64, old: u64) -> Call {
        const STACK: u64 = 3;
        const CORE: u64 = 4;
        const PROCESSES: u64 = 6;
        const FILES: u64 = 7;
        let limit = match resource {
            STACK => self.stack_size(),
            CORE => 0,
            PROCESSES => 256,
            FILES => MOST_DESCRIPTORS,
            0..=15 => INFINITY,
            _ => return Err(Errno::INVAL.into()),
        };
        if new != 0 {
            let _: [u64; 2] = user.words(new)?;
        }
        if old != 0 {
            let record = user.record().words([limit, if resource == STACK { INFINITY } else { limit }]);
            user.write(old, &record.bytes)?;
        }
        Ok(0)
    }

    fn stack_size(&self) -> u64 {
        let memory = self.memories.get(&self.tasks.current().space);
        memory.map_or(0, |memory| memory.stack.end - memory.stack.start)
    }

    fn usage_of_process(&self, user: &mut User<'_, '_>, to: u64) -> Call {
        let microseconds = self.clock.now() / 1000;
        let record = user.record().words([microseconds / 1_000_000, microseconds % 1_000_000]).padded(144);
        user.write(to, &record.bytes)?;
        Ok(0)
    }

    fn sysinfo(&self, user: &mut User<'_, '_>, to: u64) -> Call {
        const MEMORY: u64 = 4 << 30;
        let record = user.record().words([1000, 0, 0, 0, MEMORY, MEMORY / 2, 0, 0, 0, 0]);
        // The number of processes, padding, and the unit of memory.
        let record = record.short(1).short(0).half(0).words([0, 0]).half(1).padded(112);
        user.write(to, &record.bytes)?;
        Ok(0)
    }

    /// There is one processor.
    fn affinity(&self, user: &mut User<'_, '_>, len: u64, to: u64) -> Call {
        if len < 8 {
            return Err(Errno::INVAL.into());
        }
        user.write_word(to, 1)?;
        Ok(8)
    }

    fn getcpu(&self, user: &mut User<'_, '_>, a: [u64; 6]) -> Call {
        for to in a[..2].iter().filter(|to| **to != 0) {
            user.write_half(*to, 0)?;
        }
        Ok(0)
    }

    fn prctl(&self, user: &mut User<'_, '_>, a: [u64; 6]) -> Call {
        const SET_PDEATHSIG: i32 = 1;
        const GET_DUMPABLE: i32 = 3;
        const SET_DUMPABLE: i32 = 4;
        const SET_NAME: i32 = 15;
        const GET_NAME: i32 = 16;
        const SET_NO_NEW_PRIVS: i32 = 38;
        const SVE_SET_VL: i32 = 50;
        const SVE_GET_VL: i32 = 51;
        const SET_VMA: i32 = 0x5356_4d41;
        match int(a[0]) {
            SET_PDEATHSIG | SET_DUMPABLE | SET_NAME | SET_NO_NEW_PRIVS => Ok(0),
            GET_DUMPABLE => Ok(1),
            GET_NAME => {
                user.write(a[1], b"program\0\0\0\0\0\0\0\0\0")?;
                Ok(0)
            }
            // There is one length, which is what others are cut to.
            SVE_SET_VL | SVE_GET_VL => self.cpu.system_calls.vector_len.ok_or(Errno::INVAL.into()),
            SET_VMA => Err(Errno::INVAL.into()),
            _ => Err(Errno::INVAL.into()),
        }
    }

    fn arch_prctl(&self, user: &mut User<'_, '_>, a: [u64; 6]) -> Call {
        const SET_GS: u64 = 0x1001;
        const SET_FS: u64 = 0x1002;
        const GET_FS: u64 = 0x1003;
        const GET_GS: u64 = 0x1004;
        let register = match a[0] {
            SET_GS | GET_GS => RegisterX86::GS_BASE,
            SET_FS | GET_FS => RegisterX86::FS_BASE,
            // Among them those of shadow stacks.
            _ => return Err(Errno::INVAL.into()),
        };
        if matches!(a[0], SET_GS | SET_FS) {
            user.unicorn.reg_write(register, a[1]).map_err(|_| Errno::PERM)?;
        } else {
            let base = user.unicorn.reg_read(register).map_err(|_| Errno::PERM)?;
            user.write_word(a[1], base)?;
        }
        Ok(0)
    }
}
