//! Signals, delivered as on Linux: a frame on the stack with the interrupted state, the
//! handler, the restorer after it, and `rt_sigreturn`.

use std::ops::Range;
use std::rc::Rc;

use unicorn_engine::{Unicorn, uc_error};

use super::Run;
use super::signals::{Interrupted, Pause};
use crate::cpu::{Chain, Link};
use crate::linux::objects::signals::{
    Action, Disposition, SA_NODEFER, SA_ONSTACK, SA_RESETHAND, SA_RESTORER, SignalInfo, UNBLOCKABLE, bit,
};
use crate::outcome::{Broken, End};
use crate::witness::{Delivery, Place};

impl Run<'_> {
    /// Sends a signal to the program on behalf of the observer. It is delivered as soon as it is
    /// not blocked.
    pub(crate) fn raise(&mut self, signal: u64) {
        Rc::make_mut(&mut self.linux).raise(signal);
        self.observers_signal = Some(signal);
        self.note_signals();
    }

    /// Notes whether a signal can be delivered now.
    pub(crate) fn note_signals(&mut self) {
        self.signal_waits = self.linux.has_signal();
    }

    /// Lets the program handle an instruction that has failed. Returns false if it does not
    /// handle that signal.
    pub(super) fn raise_fault(&mut self, signal: u64, info: SignalInfo) -> bool {
        if self.handles_fault(signal) || !self.linux.is_first_process() {
            self.pause.get_or_insert(Pause::Fault(signal, info));
            return true;
        }
        false
    }

    /// Does what the emulator was stopped for, and returns where it continues.
    pub(crate) fn resume(&mut self, unicorn: &mut Unicorn<'_, ()>, pause: Pause) -> Option<u64> {
        // The last instruction has not executed, or its effect is undone.
        if pause != Pause::Turn {
            self.follower.signing = None;
        }
        let result = match pause {
            Pause::Signal => {
                self.instructions -= 1;
                self.deliver_first(unicorn)
            }
            // It has been observed, and counts as executed.
            Pause::Fault(signal, info) => self.deliver_fault(unicorn, signal, info),
            Pause::Trap(signal, info) => {
                Rc::make_mut(&mut self.linux).force(signal, info);
                self.note_signals();
                Ok(Some(self.last_pc.wrapping_add(self.last_size.into())))
            }
            Pause::SystemCall => {
                let request = self.request(unicorn);
                request.and_then(|request| self.system_call(unicorn, request))
            }
            Pause::Turn => self.end_turn(unicorn),
            // They are no reason to do anything.
            Pause::Blocks | Pause::Steps => Ok(Some(self.last_pc)),
            Pause::Fork(signal) => {
                self.instructions -= 1;
                self.fork(unicorn).and_then(|()| {
                    self.raise(signal);
                    self.deliver_first(unicorn)
                })
            }
            Pause::Rewind => self.rewind(unicorn),
        };
        self.unless_refused(result)
    }

    /// Delivers the signal of a failed instruction, which can't be blocked or ignored.
    fn deliver_fault(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        signal: u64,
        info: SignalInfo,
    ) -> Result<Option<u64>, uc_error> {
        if self.handles_fault(signal) {
            self.deliver(unicorn, signal, info)
        } else {
            self.terminate(unicorn, signal)
        }
    }

    pub(super) fn handles_fault(&self, signal: u64) -> bool {
        let is_blocked = self.linux.tasks.current().signals.blocked & bit(signal) != 0;
        !is_blocked && matches!(self.linux.disposition(signal), Disposition::Handle(_))
    }

    /// Delivers the first of the signals that can be delivered now.
    fn deliver_first(&mut self, unicorn: &mut Unicorn<'_, ()>) -> Result<Option<u64>, uc_error> {
        let taken = Rc::make_mut(&mut self.linux).take_signal();
        self.note_signals();
        match taken {
            Some((signal, info)) => self.deliver(unicorn, signal, info),
            // It is blocked.
            None => Ok(Some(self.last_pc)),
        }
    }

    /// Ends the run if the emulator has refused something.
    pub(super) fn unless_refused(&mut self, result: Result<Option<u64>, uc_error>) -> Option<u64> {
        result.unwrap_or_else(|error| {
            self.end(End::Broken(Broken::Unicorn(format!("{error:?}"))));
            None
        })
    }

    fn deliver(
        &mut self,
        unicorn: &mut Unicorn<'_, ()>,
        signal: u64,
        info: SignalInfo,
    ) -> Result<Option<u64>, uc_error> {
        let pc = self.last_pc;
        let is_observers = self.observers_signal.take() == Some(signal);
        let mut action = match self.linux.disposition(signal) {
            Disposition::Handle(action) => action,
            Disposition::Ignore => return Ok(Some(pc)),
            Disposition::Terminate if is_observers => {
                let why = "the program has no handler for it";
                self.end(End::Broken(Broken::Signal { number: signal, pc, why }));
                return Ok(None);
            }
            Disposition::Terminate => return self.terminate(unicorn, signal),
        };
        if action.flags & SA_RESTORER == 0 && self.cpu.signal_frame.chain != Chain::ReturnAddress {
            action.restorer = self.places.restorer();
        }
        if action.flags & SA_RESETHAND != 0 {
            Rc::make_mut(&mut self.linux).reset_action(signal);
        }

        let (sp, fp) = (unicorn.reg_read(self.cpu.sp)?, unicorn.reg_read(self.cpu.fp)?);
        let interrupted = Place { pc, sp, fp };
        let signals = &self.linux.tasks.current().signals;
        let alternate = signals
            .alternate
            .clone()
            .filter(|stack| action.flags & SA_ONSTACK != 0 && !(stack.start < sp && sp <= stack.end));
        if self.is_observed {
            self.observer.interrupted();
        }
        let Some(frame) =
            self.write_frame(unicorn, (signal, info), &action, interrupted, alternate.as_ref())?
        else {
            let why = "there is no room for its frame on the stack";
            self.end(End::Broken(Broken::Signal { number: signal, pc, why }));
            return Ok(None);
        };
        let signals = &mut Rc::make_mut(&mut self.linux).tasks.current_mut().signals;
        signals.saved = None;
        signals.blocked |= action.mask;
        if action.flags & SA_NODEFER == 0 {
            signals.blocked |= bit(signal);
        }
        self.note_signals();

        let layout = self.cpu.signal_frame;
        let [number, information, context, ..] = self.cpu.system_calls.arguments;
        unicorn.reg_write(number, signal)?;
        unicorn.reg_write(information, frame + layout.info)?;
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
        self.follower.begin_event();
        let (restorer, observed) = (action.restorer, self.observed);
        self.follower.witness.signal(&Delivery { interrupted, restorer, handler, alternate, observed });
        self.follower.begin_event();
        Ok(Some(action.handler))
    }

    /// Writes a signal frame. Returns `None` if it does not fit.
    fn write_frame(
        &mut self,
        unicorn: &Unicorn<'_, ()>,
        (signal, info): (u64, SignalInfo),
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

        let signals = &self.linux.tasks.current().signals;
        let mask = signals.saved.unwrap_or(signals.blocked);
        let stack = signals.alternate.clone().unwrap_or(0..0);
        let mut words: Vec<(u64, u64)> = vec![
            (layout.context + 16, stack.start),
            (layout.context + 32, stack.end - stack.start),
            (layout.mask, mask),
            (layout.info + 16, info.word),
            (layout.info + 24, info.value),
        ];
        if let Some(fault) = layout.fault {
            words.push((fault, if info.code > 0 { info.word } else { 0 }));
        }
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
        // si_signo and si_code.
        done &= self.store_u32(frame + layout.info, u32::try_from(signal).unwrap_or(0));
        done &= self.store_u32(frame + layout.info + 8, info.code.cast_unsigned());
        if !done {
            return Ok(None);
        }
        // Frames that were never returned to are below, or their stack is in use again.
        self.interrupted.retain(|state| state.frame > frame || state.frame + room <= frame);
        self.interrupted.push(Interrupted {
            frame,
            state: Rc::new(unicorn.context_init()?),
            registers,
            trail: self.follower.trail.clone(),
        });
        Ok(Some(frame))
    }

    /// `rt_sigreturn`: the state of the frame at SP becomes the CPU's.
    pub(super) fn signal_return(&mut self, unicorn: &mut Unicorn<'_, ()>) -> Result<Option<u64>, uc_error> {
        let layout = self.cpu.signal_frame;
        let frame = unicorn.reg_read(self.cpu.sp)?.wrapping_sub(layout.restorer_sp);
        let position = self.interrupted.iter().rposition(|state| state.frame == frame);
        let saved = position.map(|position| self.interrupted.swap_remove(position));
        if let Some(saved) = &saved {
            unicorn.context_restore(&saved.state)?;
            self.follower.trail.clone_from(&saved.trail);
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
        let mask = self.space.read_u64(frame.wrapping_add(layout.mask)).unwrap_or(0);
        Rc::make_mut(&mut self.linux).tasks.current_mut().signals.blocked = mask & !UNBLOCKABLE;
        self.note_signals();
        let (sp, fp) = (unicorn.reg_read(self.cpu.sp)?, unicorn.reg_read(self.cpu.fp)?);
        self.follower.witness.signal_return(&Place { pc, sp, fp });
        Ok(Some(pc))
    }

    /// Ends the current process by a signal.
    fn terminate(&mut self, unicorn: &mut Unicorn<'_, ()>, signal: u64) -> Result<Option<u64>, uc_error> {
        let number = u32::try_from(signal).unwrap_or_default();
        if self.linux.is_first_process() {
            self.end(End::Killed(number.to_le_bytes()[0]));
            return Ok(None);
        }
        self.as_kernel(unicorn, |linux, user, _| linux.exit_group(user, number))?;
        self.next_task(unicorn, false)
    }
}
