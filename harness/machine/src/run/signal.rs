//! Signals, delivered as on Linux: a frame on the stack with the interrupted state, the
//! handler, the restorer after it, and `rt_sigreturn`.

use std::ops::Range;
use std::rc::Rc;

use unicorn_engine::{Unicorn, uc_error};

use crate::cpu::{Chain, Link};

use super::Run;
use super::signals::{Action, Interrupted, Pause};
use crate::outcome::{Broken, End};
use crate::witness::{Delivery, Place};

const SIGNALS: usize = 64;
const SIGKILL: u64 = 9;
const SIGSTOP: u64 = 19;

const EFAULT: u64 = 14;
const EINVAL: u64 = 22;

const fn failure(number: u64) -> u64 {
    number.wrapping_neg()
}

impl Run<'_> {
    /// Sends a signal to the program. It is delivered as soon as it is not blocked.
    pub(crate) fn raise(&mut self, signal: u64) {
        if (1..=SIGNALS as u64).contains(&signal) {
            self.signals.pending |= 1 << (signal - 1);
        }
    }

    /// Returns whether a signal can be delivered now.
    #[inline]
    pub(crate) const fn signals_wait(&self) -> bool {
        self.signals.pending & !self.signals.blocked != 0
    }

    /// Asks for a pause if a signal can be delivered now.
    pub(crate) fn deliver_pending(&mut self) {
        if let Some(signal) = self.take_pending() {
            self.pause = Some(Pause::Signal(signal));
        }
    }

    /// Takes the first of the signals that can be delivered now.
    fn take_pending(&mut self) -> Option<u64> {
        let ready = self.signals.pending & !self.signals.blocked;
        let position = (ready != 0).then(|| ready.trailing_zeros())?;
        self.signals.pending &= !(1 << position);
        Some(u64::from(position) + 1)
    }

    /// Does what the emulator was stopped for, and returns where it continues.
    pub(crate) fn resume(&mut self, unicorn: &mut Unicorn<'_, ()>, pause: Pause) -> Option<u64> {
        // The last instruction has not executed, or its effect is undone.
        self.signing = None;
        let result = match pause {
            Pause::Signal(signal) => {
                self.instructions -= 1;
                self.deliver(unicorn, signal)
            }
            Pause::SignalReturn => self.signal_return(unicorn),
            Pause::Fork(signal) => {
                self.instructions -= 1;
                self.fork(unicorn).and_then(|()| {
                    self.raise(signal);
                    match self.take_pending() {
                        Some(signal) => self.deliver(unicorn, signal),
                        // It is blocked.
                        None => Ok(Some(self.last_pc)),
                    }
                })
            }
            Pause::Rewind => self.rewind(unicorn),
        };
        self.unless_refused(result)
    }

    /// Ends the run if the emulator has refused something.
    pub(super) fn unless_refused(&mut self, result: Result<Option<u64>, uc_error>) -> Option<u64> {
        result.unwrap_or_else(|error| {
            self.end(End::Broken(Broken::Unicorn(format!("{error:?}"))));
            None
        })
    }

    fn deliver(&mut self, unicorn: &mut Unicorn<'_, ()>, signal: u64) -> Result<Option<u64>, uc_error> {
        const SIG_DFL: u64 = 0;
        const SIG_IGN: u64 = 1;
        const SA_RESTORER: u64 = 0x0400_0000;
        const SA_ONSTACK: u64 = 0x0800_0000;
        const SA_NODEFER: u64 = 0x4000_0000;
        const SA_RESETHAND: u64 = 0x8000_0000;

        let pc = self.last_pc;
        let slot = usize::try_from(signal - 1).ok().and_then(|slot| self.signals.actions.get_mut(slot));
        let action = slot.as_ref().and_then(|slot| **slot);
        let Some(action) = action.filter(|action| action.handler != SIG_DFL) else {
            self.end(End::Broken(Broken::Signal {
                number: signal,
                pc,
                why: "the program has no handler for it",
            }));
            return Ok(None);
        };
        if action.handler == SIG_IGN {
            return Ok(Some(pc));
        }
        if action.flags & SA_RESTORER == 0 && self.cpu.signal_frame.chain != Chain::ReturnAddress {
            let why = "its handler has no restorer, and the machine has no vDSO";
            self.end(End::Broken(Broken::Signal { number: signal, pc, why }));
            return Ok(None);
        }
        if let (Some(slot), true) = (slot, action.flags & SA_RESETHAND != 0) {
            *slot = None;
        }

        let (sp, fp) = (unicorn.reg_read(self.cpu.sp)?, unicorn.reg_read(self.cpu.fp)?);
        let interrupted = Place { pc, sp, fp };
        let alternate = self
            .signals
            .alternate
            .clone()
            .filter(|stack| action.flags & SA_ONSTACK != 0 && !(stack.start < sp && sp <= stack.end));
        let Some(frame) = self.write_frame(unicorn, signal, &action, interrupted, alternate.as_ref())? else {
            let why = "there is no room for its frame on the stack";
            self.end(End::Broken(Broken::Signal { number: signal, pc, why }));
            return Ok(None);
        };
        self.signals.blocked |= action.mask;
        if action.flags & SA_NODEFER == 0 {
            self.signals.blocked |= 1 << (signal - 1);
        }

        let layout = self.cpu.signal_frame;
        let [number, info, context] = self.cpu.system_calls.arguments;
        unicorn.reg_write(number, signal)?;
        unicorn.reg_write(info, frame + layout.info)?;
        unicorn.reg_write(context, frame + layout.context)?;
        unicorn.reg_write(self.cpu.sp, frame)?;
        let mut handler = Place { pc: action.handler, sp: frame, fp };
        match self.cpu.link {
            // Functions with variable arguments read their number from the result's register.
            Link::Stack => unicorn.reg_write(self.cpu.system_calls.result, 0)?,
            Link::Register(link) => unicorn.reg_write(link, action.restorer)?,
        }
        if layout.chain == Chain::FrameRecord {
            handler.fp = frame + layout.len;
            unicorn.reg_write(self.cpu.fp, handler.fp)?;
        }
        self.witness.signal(&Delivery { interrupted, restorer: action.restorer, handler, alternate });
        Ok(Some(action.handler))
    }

    /// Writes a signal frame. Returns `None` if it does not fit.
    fn write_frame(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        signal: u64,
        action: &Action,
        interrupted: Place,
        alternate: Option<&Range<u64>>,
    ) -> Result<Option<u64>, uc_error> {
        let layout = self.cpu.signal_frame;
        let top = alternate.map_or_else(|| interrupted.sp.wrapping_sub(layout.red_zone), |stack| stack.end);
        let room = layout.above + layout.len;
        let lowest = top.wrapping_sub(room).wrapping_sub(layout.misalignment);
        let frame = (lowest - lowest % layout.alignment).wrapping_add(layout.misalignment);
        let in_alternate = |stack: &Range<u64>| stack.start <= frame;
        if frame > top || !alternate.is_none_or(in_alternate) {
            return Ok(None);
        }
        let mut registers = Vec::with_capacity(layout.registers.len());
        for (_, register) in layout.registers {
            let pc = *register == self.cpu.pc;
            registers.push(if pc { interrupted.pc } else { unicorn.reg_read(*register)? });
        }

        let stack = self.signals.alternate.clone().unwrap_or(0..0);
        let mut words: Vec<(u64, u64)> = vec![
            (layout.context + 16, stack.start),
            (layout.context + 32, stack.end - stack.start),
            (layout.mask, self.signals.blocked),
        ];
        words.extend(layout.registers.iter().map(|(offset, _)| *offset).zip(registers.iter().copied()));
        match (layout.chain, self.cpu.link) {
            (Chain::FrameRecord, Link::Register(link)) => {
                words.extend([(layout.len, interrupted.fp), (layout.len + 8, unicorn.reg_read(link)?)]);
            }
            (Chain::FrameRecord | Chain::ReturnAddress, _) => words.push((0, action.restorer)),
            (Chain::Backchain, _) => words.push((0, interrupted.sp)),
        }
        let blank = vec![0; usize::try_from(room).unwrap_or(0)];
        let mut done = self.store(frame, &blank);
        for (offset, word) in words {
            done &= self.store_u64(frame + offset, word);
        }
        // si_signo; the sender, as by kill(2), and the flags stay 0.
        done &= self.store_u32(frame + layout.info, u32::try_from(signal).unwrap_or(0));
        if !done {
            return Ok(None);
        }
        // Frames that were never returned to are below, or their stack is in use again.
        self.signals.interrupted.retain(|state| state.frame > frame || state.frame + room <= frame);
        self.signals.interrupted.push(Interrupted {
            frame,
            state: Rc::new(unicorn.context_init()?),
            registers,
            trail: self.trail.clone(),
        });
        Ok(Some(frame))
    }

    /// `rt_sigreturn`: the state of the frame at SP becomes the CPU's.
    fn signal_return(&mut self, unicorn: &mut Unicorn<'_, ()>) -> Result<Option<u64>, uc_error> {
        let layout = self.cpu.signal_frame;
        let frame = unicorn.reg_read(self.cpu.sp)?.wrapping_sub(layout.restorer_sp);
        let position = self.signals.interrupted.iter().rposition(|state| state.frame == frame);
        let saved = position.map(|position| self.signals.interrupted.swap_remove(position));
        if let Some(saved) = &saved {
            unicorn.context_restore(&saved.state)?;
            self.trail.clone_from(&saved.trail);
        }
        let mut pc = self.last_pc;
        for (index, (offset, register)) in layout.registers.iter().enumerate() {
            let Some(value) = self.space.read_u64(frame.wrapping_add(*offset)) else {
                let address = frame.wrapping_add(*offset);
                self.end(End::Broken(Broken::Fault { access: "read", address, pc: self.last_pc }));
                return Ok(None);
            };
            if *register == self.cpu.pc {
                pc = value;
            } else if saved.as_ref().is_none_or(|saved| saved.registers[index] != value) {
                unicorn.reg_write(*register, value)?;
            }
        }
        self.signals.blocked = self.space.read_u64(frame.wrapping_add(layout.mask)).unwrap_or(0);
        let (sp, fp) = (unicorn.reg_read(self.cpu.sp)?, unicorn.reg_read(self.cpu.fp)?);
        self.witness.signal_return(&Place { pc, sp, fp });
        Ok(Some(pc))
    }

    /// rt_sigaction(2).
    pub(crate) fn signal_action(&mut self, [signal, new, old]: [u64; 3]) -> u64 {
        let index = usize::try_from(signal.wrapping_sub(1)).unwrap_or(SIGNALS);
        if index >= SIGNALS || (new != 0 && matches!(signal, SIGKILL | SIGSTOP)) {
            return failure(EINVAL);
        }
        self.signals.actions.resize(SIGNALS, None);
        // struct sigaction of the kernel: handler, flags, restorer, mask.
        let words = |base: u64| [0, 8, 16, 24].map(|offset| base.wrapping_add(offset));
        let before = self.signals.actions[index];
        if new != 0 {
            let [handler, flags, restorer, mask] = words(new).map(|address| self.space.read_u64(address));
            let (Some(handler), Some(flags), Some(restorer), Some(mask)) = (handler, flags, restorer, mask)
            else {
                return failure(EFAULT);
            };
            self.signals.actions[index] = Some(Action { handler, flags, restorer, mask });
        }
        if old != 0 {
            let before = before.map_or([0; 4], |a| [a.handler, a.flags, a.restorer, a.mask]);
            let stored =
                words(old).into_iter().zip(before).all(|(address, word)| self.store_u64(address, word));
            return if stored { 0 } else { failure(EFAULT) };
        }
        0
    }

    /// rt_sigprocmask(2).
    pub(crate) fn signal_mask(&mut self, [how, new, old]: [u64; 3]) -> u64 {
        const SIG_BLOCK: u64 = 0;
        const SIG_UNBLOCK: u64 = 1;
        const SIG_SETMASK: u64 = 2;
        const UNBLOCKABLE: u64 = 1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1);

        let before = self.signals.blocked;
        if new != 0 {
            let Some(set) = self.space.read_u64(new) else { return failure(EFAULT) };
            self.signals.blocked = !UNBLOCKABLE
                & match how {
                    SIG_BLOCK => before | set,
                    SIG_UNBLOCK => before & !set,
                    SIG_SETMASK => set,
                    _ => return failure(EINVAL),
                };
        }
        if old == 0 || self.store_u64(old, before) { 0 } else { failure(EFAULT) }
    }

    /// sigaltstack(2).
    pub(crate) fn alternate_stack(&mut self, sp: u64, [new, old, _]: [u64; 3]) -> u64 {
        const EPERM: u64 = 1;
        const ENOMEM: u64 = 12;
        const SS_ONSTACK: u32 = 1;
        const SS_DISABLE: u32 = 2;
        const MINSIGSTKSZ: u64 = 2048;

        let before = self.signals.alternate.clone();
        let in_use = before.as_ref().is_some_and(|stack| stack.start < sp && sp <= stack.end);
        if new != 0 {
            // stack_t: address, flags (4 bytes), size.
            let mut flags = [0; 4];
            let words = (self.space.read_u64(new), self.space.read_u64(new.wrapping_add(16)));
            let ((Some(start), Some(len)), true) = (words, self.space.read(new.wrapping_add(8), &mut flags))
            else {
                return failure(EFAULT);
            };
            let flags = if self.cpu.abi.is_big_endian() {
                u32::from_be_bytes(flags)
            } else {
                u32::from_le_bytes(flags)
            };
            if in_use {
                return failure(EPERM);
            }
            self.signals.alternate = match flags & !SS_ONSTACK {
                SS_DISABLE => None,
                0 if len < MINSIGSTKSZ => return failure(ENOMEM),
                0 => Some(start..start.saturating_add(len)),
                _ => return failure(EINVAL),
            };
        }
        if old == 0 {
            return 0;
        }
        let flags = if in_use {
            SS_ONSTACK
        } else if before.is_some() {
            0
        } else {
            SS_DISABLE
        };
        let stack = before.unwrap_or(0..0);
        let stored = self.store_u64(old, stack.start)
            && self.store_u32(old.wrapping_add(8), flags)
            && self.store_u64(old.wrapping_add(16), stack.end - stack.start);
        if stored { 0 } else { failure(EFAULT) }
    }
}
