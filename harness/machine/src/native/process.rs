//! A process that is traced: from its start to its end.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, child_subreaper, getpid, kill_process, kill_process_group, set_child_subreaper,
    waitpid,
};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity, sched_yield};

use super::error::NativeError;
use super::output::{Output, Written, input};
use super::ptrace;
use crate::options::Options;

/// The processes of a program. Those that are left when this is dropped are killed.
pub(super) struct Process {
    /// The first process, which is also its first thread, and the number of its group.
    pub(super) id: Pid,
    output: Output,
    /// The threads that have not ended.
    pub(super) threads: Vec<Pid>,
    /// The processors of this thread before it was bound to one.
    processors: Option<CpuSet>,
    /// Whether orphans were this process's children before.
    was_reaper: bool,
    /// Whether nothing is left: its numbers may be those of others.
    is_over: bool,
}

impl Process {
    /// Starts a program. It has stopped before its first instruction.
    pub(super) fn start(executable: &Path, options: &Options) -> Result<Self, NativeError> {
        let system = &options.system;
        let output = Output::new().map_err(NativeError::of("no file in memory"))?;
        let streams = output.streams().map_err(NativeError::of("no file in memory"))?;
        let [standard_output, standard_error] = streams;
        let path = executable.canonicalize().map_err(NativeError::Start)?;
        let mut command = Command::new(path);
        command
            .arg0(OsStr::from_bytes(&system.program))
            .args(system.arguments.iter().map(|argument| OsStr::from_bytes(argument)))
            .env_clear()
            .stdin(input(system.input.as_ref().map(|input| &***input)).map_err(NativeError::Start)?)
            .stdout(standard_output)
            .stderr(standard_error);
        for variable in &system.environment {
            let (name, value) = match variable.iter().position(|byte| *byte == b'=') {
                Some(position) => (&variable[..position], &variable[position + 1..]),
                None => (&variable[..], &[][..]),
            };
            command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
        }
        // Both sides of a step take turns: on one processor, neither waits for another to wake up.
        let processors = bind_to_one();
        // Nobody takes it for an orphan before its session is known.
        let mut sessions = sessions();
        let started = ptrace::start(command, options.stack_size);
        let id = started.map_err(|error| {
            release(processors.as_ref());
            match error.kind() {
                _ if ptrace::is_not_allowed(&error) => NativeError::NotAllowed(error),
                // The file itself is there.
                io::ErrorKind::NotFound => NativeError::NoInterpreter,
                _ => NativeError::Start(error),
            }
        })?;
        // What the program leaves behind is reaped here, and not by another process.
        let was_reaper = child_subreaper().is_ok_and(|reaper| reaper.is_some());
        let _ = set_child_subreaper(Some(getpid()));
        let process = Self { id, output, threads: vec![id], processors, was_reaper, is_over: false };
        sessions.push(id);
        drop(sessions);
        let stopped = ptrace::wait(id, true).map_err(NativeError::of("waitpid"))?;
        if !stopped.is_some_and(|status| status.stopped()) {
            return Err(NativeError::Start(io::ErrorKind::UnexpectedEof.into()));
        }
        ptrace::follow_threads(id).map_err(NativeError::NotAllowed)?;
        Ok(process)
    }

    /// Ends what is left of it, and returns what the program has written.
    pub(super) fn end(mut self) -> io::Result<Written> {
        self.kill();
        self.output.written()
    }

    /// Ends what is left of it.
    fn kill(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        if self.threads.contains(&self.id) {
            let _ = kill_process(self.id, Signal::KILL);
        }
        let _ = kill_process_group(self.id, Signal::KILL);
        // The first thread is gone last.
        for thread in std::mem::take(&mut self.threads).into_iter().rev() {
            while let Ok(Some(status)) = ptrace::wait(thread, true) {
                if status.exited() || status.signaled() {
                    break;
                }
                // It has stopped on its way out.
                let _ = ptrace::detach(thread);
            }
        }
        sessions().retain(|session| *session != self.id);
        // What those have made that are gone is this process's.
        let mut patience = Patience::default();
        for _ in 0..MOST_ROUNDS {
            let left: Vec<Pid> = left_of(self.id).collect();
            if left.is_empty() {
                break;
            }
            for process in left {
                let _ = kill_process(process, Signal::KILL);
                let _ = waitpid(Some(process), WaitOptions::NOHANG);
            }
            patience.wait();
        }
    }
}

/// How often it is tried to end what is left: it is gone after a few times.
const MOST_ROUNDS: u32 = 2_000;

/// The sessions of programs that are running: each has one.
fn sessions() -> MutexGuard<'static, Vec<Pid>> {
    static SESSIONS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The processes that are left of a program: those of its session, and orphans that have begun one themselves.
fn left_of(session: Pid) -> impl Iterator<Item = Pid> {
    let own = getpid();
    let own_session = parent_and_session(own).1;
    let number = |name: &OsStr| Pid::from_raw(name.to_str()?.parse().ok()?);
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(move |entry| number(&entry.file_name())).filter(move |process| {
        let (parent, of) = parent_and_session(*process);
        let is_orphan =
            || parent == Some(own) && of != own_session && !of.is_some_and(|of| sessions().contains(&of));
        of == Some(session) || of.is_some() && is_orphan()
    })
}

/// The parent of a process and its session, each if it is of this process's namespace.
fn parent_and_session(process: Pid) -> (Option<Pid>, Option<Pid>) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The state, the parent, the group and the session follow the name, which may have any characters.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let mut numbers = after.split_whitespace().skip(1).map(|word| Pid::from_raw(word.parse().unwrap_or(0)));
    (numbers.next().flatten(), numbers.nth(1).flatten())
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        release(self.processors.as_ref());
        if !self.was_reaper {
            let _ = set_child_subreaper(None);
        }
    }
}

/// Binds this thread, and what it starts, to the processor that it is on. Returns those that it may use otherwise.
fn bind_to_one() -> Option<CpuSet> {
    let before = sched_getaffinity(None).ok()?;
    let mut one = CpuSet::new();
    one.set(sched_getcpu());
    sched_setaffinity(None, &one).ok()?;
    Some(before)
}

fn release(processors: Option<&CpuSet>) {
    if let Some(processors) = processors {
        let _ = sched_setaffinity(None, processors);
    }
}

/// Waits for what may take long: as briefly as possible at first.
#[derive(Debug, Default)]
pub(super) struct Patience(u32);

impl Patience {
    /// Lets others run. Returns whether some time has passed, so that it is worth asking what else there is.
    pub(super) fn wait(&mut self) -> bool {
        const BRIEF: u32 = 200;
        self.0 += 1;
        if self.0 < BRIEF {
            sched_yield();
            return false;
        }
        sleep(Duration::from_micros(u64::from(self.0.min(10 * BRIEF))));
        true
    }
}
