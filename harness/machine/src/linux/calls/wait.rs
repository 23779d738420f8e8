//! Children: wait4(2) and waitid(2).

use rustix::io::Errno;

use super::identity::USER;
use crate::linux::answer::{Call, Refused};
use crate::linux::ids::ProcessId;
use crate::linux::kernel::Linux;
use crate::linux::objects::signals::{SIGCHLD, SignalInfo};
use crate::linux::objects::tasks::Wait;
use crate::linux::user::{User, int, low};

const WNOHANG: u64 = 1;
/// In `waitid`: do not remove the child.
const WNOWAIT: u64 = 0x0100_0000;

/// Which children are meant.
enum Children {
    All,
    One(ProcessId),
}

impl Linux {
    pub(crate) fn call_wait(&mut self, user: &mut User<'_, '_>, name: &str, a: [u64; 6]) -> Option<Call> {
        Some(match name {
            "wait4" => self.wait4(user, a),
            "waitid" => self.waitid(user, a),
            _ => return None,
        })
    }

    fn wait4(&mut self, user: &mut User<'_, '_>, [which, status_to, flags, usage, ..]: [u64; 6]) -> Call {
        let which = int(which);
        // Process groups are not told apart: each has all children.
        let which = u32::try_from(which).ok().filter(|id| *id > 0);
        let Some((child, status)) = self.ended_child(which.map_or(Children::All, one), flags)? else {
            return Ok(0);
        };
        if status_to != 0 {
            user.write_half(status_to, status)?;
        }
        if usage != 0 {
            user.write(usage, &[0; 144])?;
        }
        self.processes.remove(&child);
        Ok(child.0.into())
    }

    fn waitid(&mut self, user: &mut User<'_, '_>, [kind, which, info, flags, usage, _]: [u64; 6]) -> Call {
        const P_PID: u64 = 1;
        const CLD_EXITED: u32 = 1;
        const CLD_KILLED: u32 = 2;
        let which = if kind == P_PID { one(u32::try_from(which).unwrap_or(0)) } else { Children::All };
        let Some((child, status)) = self.ended_child(which, flags)? else {
            if info != 0 {
                user.write(info, &[0; 128])?;
            }
            return Ok(0);
        };
        if info != 0 {
            let signal = status & 0x7f;
            let (code, status) = if signal == 0 { (CLD_EXITED, status >> 8) } else { (CLD_KILLED, signal) };
            let record = user.record().half(low(SIGCHLD)).half(0).half(code).half(0);
            let record = record.half(child.0).half(USER).half(status).padded(128);
            user.write(info, &record.bytes)?;
        }
        if usage != 0 {
            user.write(usage, &[0; 144])?;
        }
        if flags & WNOWAIT == 0 {
            self.processes.remove(&child);
        }
        Ok(0)
    }

    /// Returns a child that has ended with its status, or waits for one.
    fn ended_child(&self, which: Children, flags: u64) -> Result<Option<(ProcessId, u32)>, Refused> {
        let own = self.tasks.current().process;
        let mut children = self.processes.iter().filter(|(id, child)| {
            child.parent == own
                && match which {
                    Children::All => true,
                    Children::One(meant) => meant == **id,
                }
        });
        if let Some((id, status)) = children.clone().find_map(|(id, child)| Some((*id, child.status?))) {
            return Ok(Some((id, status)));
        }
        if children.next().is_none() {
            return Err(Errno::CHILD.into());
        }
        if flags & WNOHANG != 0 { Ok(None) } else { Err(Refused::Wait(Wait::event(None))) }
    }

    /// Notifies a process that one of its children has ended.
    pub(crate) fn child_has_ended(&mut self, parent: ProcessId) {
        self.tasks.retry();
        self.send_to_process(parent, SIGCHLD, SignalInfo::default());
    }
}

fn one(id: u32) -> Children {
    Children::One(ProcessId(id))
}
