//! A run: each instruction is shown, and then executed.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{Pid, Resource};
use sframe_isa::Disassembly;

use super::abi::{self, executes};
use super::error::NativeError;
use super::maps::STACK;
use super::memory::ProcessMemory;
use super::process::{Patience, Process};
use super::ptrace;
use super::registers::{Layout, Stopped, Words};
use super::stores::{ANYTHING, KnownStores};
use super::threads::{Call, Delivered, Stop, Thread, is_of};
use crate::address_space::overlap;
use crate::call_stack::Bottom;
use crate::control_flow::ControlFlow;
use crate::cpu::{Control, Cpu, Effect};
use crate::effect_cache::with_code;
use crate::follow::{Follower, Processor as _};
use crate::images::Images;
use crate::linux::Usage;
use crate::observer::{Change, Flow, Moment, Observer};
use crate::options::{Native, Options};
use crate::outcome::{Broken, End, Outcome};
use crate::witness::{Place, Witness};

/// Runs a program to its end on the host's processor, and shows the observer each instruction.
///
/// # Errors
/// The program is for another processor, or can't be started and traced.
pub(crate) fn run(
    native: &Native,
    images: &Images<'_>,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, NativeError> {
    let cpu = images.executable().cpu;
    executes(cpu)?;
    let process = Process::start(&native.executable, options)?;
    let memory = ProcessMemory::open(process.id).map_err(NativeError::of("the program's memory"))?;
    let mut run = Run::new(cpu, native, images, options, (process, memory), observer);
    run.words.read(run.process.id).map_err(NativeError::of("the program's registers"))?;
    run.begin();
    let end = run.go_on();
    run.conclude(end)
}

/// How many instructions a thread executes before another one has its turn.
const TURN: u64 = 20_000;
/// How many instructions are executed until the observer is asked whether to go on.
const ASKED_EVERY: u64 = 1 << 10;

/// The state of a run.
pub(super) struct Run<'o> {
    pub(super) cpu: &'static Cpu,
    observer: &'o mut dyn Observer,
    reports_stores: bool,
    native: &'o Native,
    /// The addresses of the images that are known, without the executable.
    images: Vec<Range<u64>>,
    /// The first stack.
    pub(super) stack: Range<u64>,
    budget: u64,
    pub(super) follower: Follower,
    process: Process,
    pub(super) memory: ProcessMemory,
    pub(super) layout: Layout,
    /// The registers of the current thread.
    pub(super) words: Words,
    pub(super) current: Thread,
    /// The other threads.
    others: Vec<Thread>,
    /// The number of threads so far.
    made: u32,
    turn_end: u64,
    stores: KnownStores,
    pub(super) instructions: u64,
    /// The time of the last instruction that was shown.
    pub(super) observed: u64,
    digest: u64,
    ended_flow: ControlFlow,
    system_calls: Usage,
}

impl<'o> Run<'o> {
    fn new(
        cpu: &'static Cpu,
        native: &'o Native,
        images: &Images<'_>,
        options: &Options,
        (process, memory): (Process, ProcessMemory),
        observer: &'o mut dyn Observer,
    ) -> Self {
        // The stack grows down to its limit.
        let stack = memory.mappings().iter().find(|mapping| mapping.name.as_os_str() == STACK);
        let end = stack.map_or(0, |mapping| mapping.range.end);
        let limit = rustix::process::getrlimit(Resource::Stack).maximum.unwrap_or(u64::MAX);
        let stack = end.saturating_sub(options.stack_size.min(limit))..end;
        let witness = Witness::new(cpu, stack.clone(), end, options.witness_faults);
        Self {
            cpu,
            reports_stores: observer.wants_stores(),
            observer,
            native,
            images: images.iter().skip(1).map(|(_, image)| image.range()).collect(),
            stack,
            budget: options.budget,
            follower: Follower::new(cpu, witness, Arc::clone(&options.answers)),
            current: Thread::new(process.id, 1, None),
            process,
            memory,
            layout: Layout::of(cpu),
            words: Words::new(),
            others: Vec::new(),
            made: 1,
            turn_end: TURN,
            stores: KnownStores::default(),
            instructions: 0,
            observed: 0,
            digest: 0,
            ended_flow: ControlFlow::default(),
            system_calls: Usage::default(),
        }
    }

    /// The current thread, which is stopped.
    pub(super) const fn stopped(&self) -> Stopped<'_> {
        Stopped { layout: &self.layout, words: &self.words, memory: &self.memory }
    }

    /// Shows what is mapped besides the executable before the first instruction.
    fn begin(&mut self) {
        let sp = self.stopped().place().sp;
        self.follower.witness.start_again(sp, Bottom::Entry);
        self.note_mapped(&[]);
    }

    /// Executes until the end.
    fn go_on(&mut self) -> End {
        loop {
            let ended = if self.current.is_running { self.wait() } else { self.execute_next() };
            match ended {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(error) => return End::Broken(Broken::Harness(format!("the host: {error}"))),
            }
        }
    }

    /// Shows the next instruction of the current thread, and lets it execute.
    fn execute_next(&mut self) -> io::Result<Option<End>> {
        if self.instructions >= self.budget {
            return Ok(Some(End::Broken(Broken::Budget(self.budget))));
        }
        if self.instructions >= self.turn_end {
            self.turn_end = self.instructions + TURN;
            if let Some(stop) = self.switch()? {
                return self.go_on_with(stop);
            }
        }
        let at = self.stopped().place();
        let (effect, flow) = match self.show(at) {
            Ok(shown) => shown,
            Err(broken) => return Ok(Some(End::Broken(broken))),
        };
        match flow {
            Flow::Continue if effect.control == Control::SelfJump => return Ok(Some(End::SelfJump(at.pc))),
            Flow::Continue => {}
            Flow::Stop => return Ok(Some(End::Stopped)),
            Flow::Signal(_) | Flow::Fork(_) | Flow::Rewind => {
                let message = "a host's processor delivers no signals of an observer".to_owned();
                return Ok(Some(End::Broken(Broken::Harness(message))));
            }
        }
        if self.instructions.is_multiple_of(ASKED_EVERY) && self.observer.is_stopped() {
            return Ok(Some(End::Stopped));
        }
        self.current.at = at;
        self.current.call = self.call_at(at.pc);
        if self.reports_stores {
            self.report_stores(at.pc);
        }
        let signal = self.current.signal.take();
        self.resume(signal)?;
        Ok(None)
    }

    /// Lets the current thread execute one instruction, or the handler of a signal begin.
    fn resume(&mut self, signal: Option<Delivered>) -> io::Result<()> {
        self.current.delivering = signal;
        self.current.is_running = true;
        self.memory.executed();
        match ptrace::step(self.current.id, signal.map_or(0, |delivered| delivered.signal)) {
            // The process is ending.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            result => result,
        }
    }

    /// Follows the instruction that is next, and shows it.
    fn show(&mut self, at: Place) -> Result<(Effect, Flow), Broken> {
        let time = self.instructions;
        self.instructions += 1;
        // As for hash tables: each PC changes all bits after it.
        let number = u64::from(self.current.number);
        self.digest =
            (self.digest.rotate_left(5) ^ at.pc ^ (number << 56)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let stopped = Stopped { layout: &self.layout, words: &self.words, memory: &self.memory };
        let cpu = self.cpu;
        let len = || with_code(cpu, &self.memory, at.pc, |code| Disassembly::one(cpu.abi, at.pc, code));
        let effect =
            self.follower.follow(&stopped, at, time, || len().map_or(0, |instruction| instruction.len))?;
        let moment = Moment::of(&self.follower, at, time, self.current.number, &self.memory, &stopped);
        let flow = self.observer.instruction(&moment);
        self.observed = time;
        self.follower.witness.seen();
        Ok((effect, flow))
    }

    /// Tells the observer that a signal comes before the instruction that was shown last, whose frame is stored.
    pub(super) fn show_interruption(&mut self) {
        self.observer.interrupted();
        if self.reports_stores {
            let (address, len) = ANYTHING;
            self.observer.store(address, len);
        }
    }

    /// Returns the system call that the instruction at an address makes.
    fn call_at(&self, pc: u64) -> Option<Call> {
        let begins = abi::system_call(self.cpu.abi);
        let calls = &self.cpu.system_calls;
        let number = with_code(self.cpu, &self.memory, pc, |code| {
            let in_code = code.get(1).copied().filter(|number| calls.is_in_instruction && *number != 0);
            code.starts_with(begins).then(|| match in_code {
                Some(number) => Some(number.into()),
                None => self.stopped().register(calls.number),
            })
        });
        let number = number??;
        Some(Call { name: calls.name(number).unwrap_or("?") })
    }

    /// Reports what the instruction at an address is about to store.
    fn report_stores(&mut self, pc: u64) {
        let stopped = Stopped { layout: &self.layout, words: &self.words, memory: &self.memory };
        let stored = match self.current.call {
            // The kernel may store whatever it was asked for.
            Some(_) => Some(ANYTHING),
            None => self.stores.of(self.cpu, pc, &stopped),
        };
        if let Some((address, len)) = stored {
            self.observer.store(address, len);
        }
    }

    /// Waits until the current thread stops, or another one can go on.
    fn wait(&mut self) -> io::Result<Option<End>> {
        let id = self.current.id;
        // What is no system call executes at once.
        let is_brief = self.current.call.is_none() && self.current.delivering.is_none();
        let mut patience = Patience::default();
        loop {
            match ptrace::wait(id, is_brief) {
                Ok(Some(status)) => {
                    let stop = Stop::of(id, status)?;
                    return self.handle(stop);
                }
                Ok(None) => {}
                // Another thread has executed a program, and has taken its place.
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return self.forget_current(),
                Err(error) => return Err(error),
            }
            if patience.wait() && self.observer.is_stopped() {
                return Ok(Some(End::Stopped));
            }
            if !self.others.is_empty()
                && self.current.is_asleep()
                && let Some(stop) = self.switch()?
            {
                return self.go_on_with(stop);
            }
        }
    }

    /// Makes another thread the current one, if one can go on: the first after the current one, which becomes the last of the
    /// others. Returns why it has stopped, if that was not seen; `None` if none can.
    fn switch(&mut self) -> io::Result<Option<Option<Stop>>> {
        for index in 0..self.others.len() {
            let Thread { id, is_running, .. } = self.others[index];
            let stop = match ptrace::wait(id, false) {
                Ok(Some(status)) => Some(Stop::of(id, status)?),
                Ok(None) if is_running => continue,
                Ok(None) => None,
                Err(_) => Some(Stop::Exited(0)),
            };
            let mut next = self.others.remove(index);
            next.replace(&mut self.current, &mut self.follower);
            let before = std::mem::replace(&mut self.current, next);
            self.others.push(before);
            self.turn_end = self.instructions + TURN;
            return Ok(Some(stop));
        }
        Ok(None)
    }

    /// Goes on with a thread that has become the current one.
    fn go_on_with(&mut self, stop: Option<Stop>) -> io::Result<Option<End>> {
        match stop {
            Some(stop) => self.handle(stop),
            None => self.words.read(self.current.id).map(|()| None),
        }
    }

    /// The current thread has ended: another one goes on.
    fn forget_current(&mut self) -> io::Result<Option<End>> {
        let id = self.current.id;
        self.process.threads.retain(|thread| *thread != id);
        let mut patience = Patience::default();
        loop {
            if self.others.is_empty() {
                return Ok(Some(End::Broken(Broken::Harness("all threads are gone".into()))));
            }
            if let Some(stop) = self.switch()? {
                let ended = self.others.pop();
                ended.iter().filter_map(Thread::control_flow).for_each(|flow| self.ended_flow.add(flow));
                return self.go_on_with(stop);
            }
            if patience.wait() && self.observer.is_stopped() {
                return Ok(Some(End::Stopped));
            }
        }
    }

    /// Does what follows from a stop of the current thread.
    fn handle(&mut self, stop: Stop) -> io::Result<Option<End>> {
        match stop {
            Stop::Step => self.finish_step()?,
            Stop::Signal(signal, info) => {
                let at = self.current.at;
                self.before_signal(Delivered { signal, info, at, is_behind: false })?;
            }
            Stop::Cloned(thread) => {
                self.add(thread)?;
                self.resume(None)?;
            }
            Stop::Held | Stop::Call => self.resume(None)?,
            Stop::Executed => return Ok(Some(End::Broken(Broken::Executed { pc: self.current.at.pc }))),
            Stop::Killed(signal) => return Ok(Some(self.killed(signal))),
            Stop::Exited(status) if self.current.id == self.process.id => {
                self.process.threads.retain(|thread| *thread != self.process.id);
                return Ok(Some(End::Exit(status)));
            }
            Stop::Exited(_) => return self.forget_current(),
        }
        Ok(None)
    }

    /// The current thread has executed what was shown, or the handler of a signal begins.
    fn finish_step(&mut self) -> io::Result<()> {
        self.current.is_running = false;
        self.words.read(self.current.id)?;
        if let Some(delivered) = self.current.delivering.take()
            && self.begin_handler(delivered)
        {
            return Ok(());
        }
        self.finish_call()
    }

    /// A signal is to be delivered to the current thread.
    fn before_signal(&mut self, signal: Delivered) -> io::Result<()> {
        self.words.read(self.current.id)?;
        if self.stopped().place().pc == self.current.at.pc {
            // What was shown has not executed.
            return self.resume(Some(signal));
        }
        self.current.is_running = false;
        self.current.delivering = None;
        self.finish_call()?;
        self.current.signal = Some(Delivered { is_behind: true, ..signal });
        Ok(())
    }

    /// Takes note of what the system call has done that the last instruction was.
    fn finish_call(&mut self) -> io::Result<()> {
        let Some(call) = self.current.call.take() else { return Ok(()) };
        *self.system_calls.calls.entry(call.name.to_owned()).or_default() += 1;
        if call.maps() {
            let before = self.code();
            self.memory.map_again(self.process.id)?;
            self.follower.effects.clear();
            self.stores.clear();
            self.note_mapped(&before);
        }
        if call.is_signal_return() {
            self.end_handler();
        }
        Ok(())
    }

    /// The files that are mapped to be executed.
    fn code(&self) -> Vec<(PathBuf, Range<u64>)> {
        let code = self.memory.mappings().iter().filter(|mapping| mapping.is_code());
        code.map(|mapping| (mapping.name.clone(), mapping.range.clone())).collect()
    }

    /// Shows how the files that are mapped to be executed differ from those before.
    fn note_mapped(&mut self, before: &[(PathBuf, Range<u64>)]) {
        let after = self.code();
        let gone = before.iter().filter(|mapped| !after.contains(mapped));
        let mut changes: Vec<Change> = gone.map(|(_, range)| Change::Unmapped(range.clone())).collect();
        for mapped in after.iter().filter(|mapped| !before.contains(mapped)) {
            let (_, range) = mapped;
            let is_over = self.images.iter().any(|image| overlap(image, range));
            let is_known = self.native.code.contains(mapped);
            changes.push(match is_over && !is_known {
                true => Change::Replaced(range.clone()),
                false => Change::Mapped(range.clone()),
            });
        }
        let stopped = Stopped { layout: &self.layout, words: &self.words, memory: &self.memory };
        let time = self.instructions.saturating_sub(1);
        let moment =
            Moment::of(&self.follower, stopped.place(), time, self.current.number, &self.memory, &stopped);
        for change in &changes {
            self.observer.changed(&moment, change);
        }
    }

    /// Follows a thread that the current one has made.
    fn add(&mut self, id: Pid) -> io::Result<()> {
        // It stops before its first instruction.
        ptrace::wait(id, true)?;
        if !is_of(self.process.id, id) {
            return ptrace::detach(id);
        }
        self.process.threads.push(id);
        let mut words = Words::new();
        words.read(id)?;
        let sp = Stopped { layout: &self.layout, words: &words, memory: &self.memory }.place().sp;
        let stack = self.memory.mapping(sp.wrapping_sub(1)).map_or(0..0, |mapping| mapping.range.clone());
        let witness = self.follower.witness.of_task(self.cpu, stack, sp);
        self.made += 1;
        self.others.push(Thread::new(id, self.made, Some(witness)));
        Ok(())
    }

    /// Ends the processes that are left, and returns what was seen.
    fn conclude(mut self, end: End) -> Result<Outcome, NativeError> {
        self.ended_flow.add(self.follower.witness.control_flow());
        self.others.iter().filter_map(Thread::control_flow).for_each(|flow| self.ended_flow.add(flow));
        let written = self.process.end().map_err(NativeError::of("what the program has written"))?;
        Ok(Outcome {
            end,
            instructions: self.instructions,
            unobserved: 0,
            passed: 0,
            by_block: 0,
            lost: None,
            control_flow: self.ended_flow,
            output: written.all,
            standard_output: written.standard,
            is_output_cut: written.is_cut,
            system_calls: self.system_calls,
            digest: Some(self.digest),
        })
    }
}
