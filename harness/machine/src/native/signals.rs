//! Signals, as the host delivers them.

use std::ops::Range;

use super::run::Run;
use super::threads::Delivered;
use crate::address_space::{Memory as _, overlap};
use crate::cpu::Link;
use crate::effect_cache::with_code;
use crate::follow::Processor as _;
use crate::outcome::{Broken, End};
use crate::witness::{Delivery, Place};

impl Run<'_> {
    /// Follows the current thread to the handler of a signal, if it has begun. Returns whether it has.
    pub(super) fn begin_handler(&mut self, delivered: Delivered) -> bool {
        let layout = self.cpu.signal_frame;
        let handler = self.stopped().place();
        let saved = |register: i32| {
            let (offset, _) = layout.registers.iter().find(|(_, known)| *known == register)?;
            self.memory.read_u64(handler.sp.wrapping_add(*offset))
        };
        let (Some(pc), Some(sp), Some(fp)) = (saved(self.cpu.pc), saved(self.cpu.sp), saved(self.cpu.fp))
        else {
            return false;
        };
        let interrupted = Place { pc, sp, fp };
        // An interrupted system call is made again.
        let again = self.current.at.pc.wrapping_sub(self.cpu.system_calls.len);
        if (sp, fp) != (self.current.at.sp, self.current.at.fp) || ![self.current.at.pc, again].contains(&pc)
        {
            return false;
        }
        let restorer = match self.cpu.link {
            Link::Stack => self.memory.read_u64(handler.sp),
            Link::Register(link) => self.stopped().register(link),
        };
        // `uc_stack`.
        let stack = |offset: u64| self.memory.read_u64(handler.sp.wrapping_add(layout.context + offset));
        let alternate = stack(16).zip(stack(32)).map(|(start, len)| start..start.wrapping_add(len));
        let alternate = alternate.filter(|stack| {
            let holds = |sp: u64| stack.start < sp && sp <= stack.end;
            holds(handler.sp) && !holds(sp)
        });
        // An instruction that has failed counts as executed; any other one will be seen again.
        if !delivered.is_fault() || delivered.is_behind {
            self.instructions -= 1;
        }
        self.current.call = None;
        self.show_interruption();
        self.follower.signing = None;
        self.follower.begin_event();
        let (restorer, observed) = (restorer.unwrap_or_default(), self.observed);
        self.follower.witness.signal(&Delivery { interrupted, restorer, handler, alternate, observed });
        self.follower.begin_event();
        // Frames that were never returned to are below, or their stack is in use again.
        let room = layout.above + layout.len;
        self.current.frames.retain(|(frame, _)| *frame > handler.sp || frame + room <= handler.sp);
        self.current.frames.push((handler.sp, self.follower.trail.clone()));
        true
    }

    /// The current thread has gone back to what a signal has interrupted.
    pub(super) fn end_handler(&mut self) {
        let frame = self.current.at.sp.wrapping_sub(self.cpu.signal_frame.restorer_sp);
        let position = self.current.frames.iter().rposition(|(known, _)| *known == frame);
        let trail = position.map(|position| self.current.frames.swap_remove(position).1);
        self.follower.trail = trail.unwrap_or_default();
        let at = self.stopped().place();
        self.follower.witness.signal_return(&at);
    }

    /// How the run has ended that a signal has ended.
    pub(super) fn killed(&self, signal: u8) -> End {
        let is_it = |delivered: &Delivered| delivered.is_fault() && delivered.signal == i32::from(signal);
        let Some(Delivered { info, signal, at, .. }) = self.current.delivering.filter(is_it) else {
            return End::Killed(signal);
        };
        let Place { pc, sp, .. } = at;
        let address = info.address;
        End::Broken(match signal {
            libc::SIGSEGV | libc::SIGBUS => {
                let access = if address == pc { "fetch" } else { "access" };
                let stack = self.stack.clone();
                let is_used = |free: Range<u64>| {
                    self.memory.mappings().iter().any(|mapping| overlap(&mapping.range, &free))
                };
                let is_below = address < stack.start && sp < stack.start && !is_used(address..stack.start);
                match is_below {
                    true => Broken::Stack { address, pc, size: stack.end - stack.start },
                    false => Broken::Fault { access, address, pc },
                }
            }
            _ => {
                let code = with_code(self.cpu, &self.memory, pc, <[u8]>::to_vec);
                Broken::Exception { number: None, pc, code }
            }
        })
    }
}
