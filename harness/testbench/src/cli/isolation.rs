//! Programs under test in separate processes.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::thread::available_parallelism;
use std::time::Duration;

use clap::Args;
use rustix::process::{Signal, set_parent_process_death_signal};
use sframe_inspect::command::{Failure, Status};
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::explore::{Cache, Explorer};
use sframe_judge::external::isolation::Isolation;
use sframe_judge::process::address_space;
use sframe_judge::unwind::sframe_unwinder;
use sframe_machine::RESERVED_ADDRESSES;
use sframe_suite::provenance::IN_CHILD;
use sframe_suite::suite::{made_of, workers};
use wait_timeout::ChildExt as _;

use super::interrupt::{self, Interrupts};
use super::numbers;
use super::options::ADVANCED;

/// The names of the worker subcommands: for cases, and for functions to explore.
pub(super) const WORKER: &str = "worker";
pub(super) const EXPLORER: &str = "explorer";

/// This program, even if its file has been replaced.
const BENCH: &str = "/proc/self/exe";

/// The allowed memory of a process, in bytes: from what the bench itself needs to all addresses.
pub(super) const MEMORY_SIZES: RangeInclusive<u64> = 256 << 20..=128 << 40;

/// Default limits of a process: memory in bytes, and time in seconds. No
/// program of the corpus takes a minute; a check may have a large budget, and
/// an unwinder under test may be slow.
const MEMORY: u64 = 8 << 30;
const TIMEOUT: u64 = 3600;

/// What a child adds to its status. If a library ends the child, its status
/// does not have this.
const FROM_CHILD: i32 = 64;

/// Runs cases in separate processes: one that crashes, runs out of memory or
/// takes too long is broken, and the others continue.
#[derive(Args)]
pub(crate) struct IsolationOptions {
    #[command(flatten)]
    limits: Limits,
    /// Run the cases in this process, without limits: for a debugger or a
    /// profiler. A crash of a case then ends the run.
    #[arg(long, conflicts_with_all = ["memory", "timeout"])]
    in_process: bool,
}

/// Limits of the process that runs a program.
#[derive(Args, Clone, Copy)]
pub(super) struct Limits {
    /// Memory of a process in which programs are run, without the 1 GiB of addresses that the
    /// emulator reserves and hardly touches.
    #[arg(long, value_name = "BYTES", default_value_t = MEMORY,
          value_parser = numbers::bytes(MEMORY_SIZES), help_heading = ADVANCED)]
    memory: u64,
    /// How long a program may take.
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT,
          value_parser = numbers::seconds::<u64>(numbers::SECONDS), help_heading = ADVANCED)]
    timeout: u64,
}

impl IsolationOptions {
    /// The workers of a run.
    pub(crate) fn workers(&self) -> Option<Isolation> {
        (!self.in_process).then(|| self.limits.workers(WORKER))
    }

    /// Those that explore what a case leaves.
    pub(crate) fn explorer(&self) -> Explorer {
        explorer_with(self.limits.memory, 1)
    }
}

/// Where it is remembered what exploring has shown.
#[derive(Args)]
pub(super) struct CacheOptions {
    /// Remember in this folder what exploring files has shown: it is not done again as long as they, and this program, are
    /// what they were [default on a terminal: sframe-testbench in $XDG_CACHE_HOME or ~/.cache].
    #[arg(long, value_name = "DIR", help_heading = ADVANCED)]
    cache: Option<PathBuf>,
    /// Explore all files, and remember nothing.
    #[arg(long, conflicts_with = "cache", help_heading = ADVANCED)]
    no_cache: bool,
}

impl CacheOptions {
    /// The folder, if there is one.
    pub(super) fn open(&self) -> Option<Cache> {
        let own = || {
            let is_for_people = std::io::stderr().is_terminal() && std::env::var_os("CI").is_none();
            let named = |name| std::env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
            let home = || named("HOME").map(|home| home.join(".cache"));
            let folder = named("XDG_CACHE_HOME").or_else(home).filter(|folder| folder.is_absolute())?;
            is_for_people.then(|| folder.join("sframe-testbench"))
        };
        let folder = self.cache.clone().or_else(|| own().filter(|_| !self.no_cache))?;
        Some(Cache::new(folder, made_of::bench().ok()?))
    }
}

/// How long the functions of a batch, or one that has failed, may take.
pub(super) const SECONDS_OF_A_BATCH: u64 = 60;

/// Asks the system, before anything runs.
///
/// # Errors
/// It allows so few addresses that the emulator can't start.
pub(super) fn has_addresses() -> Result<(), Failure> {
    let needed = *MEMORY_SIZES.start();
    let Some(allowed) = address_space::too_few_for(needed) else { return Ok(()) };
    Err(Failure::broken(format!(
        "error: the system allows {allowed} bytes of addresses (`ulimit -v`); the emulator reserves \
         {RESERVED_ADDRESSES}, and programs need {needed}"
    )))
}

/// Workers that explore what a run leaves.
fn explorer_with(memory: u64, jobs: usize) -> Explorer {
    Explorer { isolation: Limits::new(memory, SECONDS_OF_A_BATCH).workers(EXPLORER), jobs, cache: None }
}

/// Workers that explore files.
pub(super) fn explorer_of_files(cache: &CacheOptions) -> Explorer {
    Limits::new(MEMORY, TIMEOUT).explorer(cache)
}

/// Workers for files of unknown origin.
pub(super) fn workers_of_strangers() -> Isolation {
    Limits::new(MEMORY, TIMEOUT).workers(WORKER)
}

impl Limits {
    /// The memory of a process, in bytes.
    pub(super) const MEMORY: u64 = MEMORY;

    /// Makes limits of a process: its memory in bytes, and its time in seconds.
    pub(super) const fn new(memory: u64, timeout: u64) -> Self {
        Self { memory, timeout }
    }

    /// Workers that explore, one for each processor.
    fn explorer(self, cache: &CacheOptions) -> Explorer {
        let jobs = available_parallelism().map_or(1, usize::from);
        Explorer { cache: cache.open(), ..explorer_with(self.memory, jobs) }
    }

    /// Workers with these limits that run a subcommand.
    pub(super) fn workers(self, subcommand: &str) -> Isolation {
        let worker = vec![BENCH.to_owned(), subcommand.to_owned()];
        Isolation { worker, memory: self.memory, timeout: Duration::from_secs(self.timeout) }
    }
}

/// Runs as a worker.
pub(super) fn worker() -> Result<Status, Failure> {
    match workers::serve(&sframe_unwinder) {
        Ok(()) => Ok(Status::AsExpected),
        Err(error) => Err(Failure::broken(format!("error: {error}"))),
    }
}

/// Runs as a worker that explores functions.
pub(super) fn explorer() -> Result<Status, Failure> {
    match sframe_judge::explore::serve() {
        Ok(()) => Ok(Status::AsExpected),
        Err(error) => Err(Failure::broken(format!("error: {error}"))),
    }
}

/// How many seconds a child may take for its report when its time is over: as long as the
/// run, within these bounds.
const FOR_THE_REPORT: RangeInclusive<u64> = 2..=30;

/// Runs a command in a child process, so that a crash of the child is one clear
/// error.
#[derive(Args)]
pub(crate) struct ChildOptions {
    #[command(flatten)]
    limits: Limits,
    /// Run as the child.
    #[arg(long, hide = true)]
    in_child: bool,
}

impl ChildOptions {
    /// Compares what a part of a program's memory is to have, in bytes, with what all of it may have.
    ///
    /// # Errors
    /// It does not fit.
    pub(crate) fn has_room_for(&self, option: &str, bytes: u64) -> Result<(), Failure> {
        let memory = self.limits.memory;
        if bytes < memory {
            return Ok(());
        }
        Err(Failure::unusable(format!(
            "error: {option} {} does not fit into --memory {}",
            numbers::binary(bytes),
            numbers::binary(memory)
        )))
    }

    /// Whether this is the child.
    pub(crate) const fn is_child(&self) -> bool {
        self.in_child
    }

    /// Runs the command in a child with the same arguments. `name` is its
    /// subject, for messages. The request comes when the command is interrupted, and when its
    /// time is over.
    pub(crate) fn run(
        &self,
        name: &str,
        command: &str,
        run: impl FnOnce(StopRequest) -> Result<Status, Failure>,
    ) -> Result<Status, Failure> {
        if self.in_child {
            let limited = self.limit().map_err(|error| Failure::broken(format!("error: {error}")));
            let status = limited.and_then(run).unwrap_or_else(|failure| failure.report());
            std::process::exit(FROM_CHILD + status as i32);
        }
        let broken = |what: &str| Failure::broken(format!("error: {name}: {what}"));
        let failed = |error: std::io::Error| broken(&error.to_string());
        let interrupts = Interrupts::receive();
        let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        // Options of all commands may come first.
        let own = arguments.iter().position(|word| word == command).map_or(0, |place| place + 1);
        arguments.insert(own, IN_CHILD.into());
        let child = Command::new(BENCH).args(arguments).spawn();
        let mut child = child.map_err(|error| {
            broken(&format!("no process can be started: {BENCH}: {error}; /proc has to be mounted"))
        })?;
        interrupts.pass_on(&child).map_err(failed)?;
        let status = self.wait(&mut child).map_err(failed)?;
        let Some(status) = status else {
            return Err(broken(&format!(
                "{command} took more than {} s, and was killed",
                self.limits.timeout
            )));
        };
        let from_child = status.code().and_then(|code| Status::of(code - FROM_CHILD));
        from_child.ok_or_else(|| {
            if interrupts.has_any() {
                return broken("interrupted, without a report");
            }
            broken(&format!(
                "{command} ended without a result: {status}; its memory limit is {} bytes",
                self.limits.memory
            ))
        })
    }

    /// Workers that explore what the run leaves: one for each processor.
    pub(super) fn explorer(&self, cache: &CacheOptions) -> Explorer {
        self.limits.explorer(cache)
    }

    fn limit(&self) -> std::io::Result<StopRequest> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let stop = interrupt::requests(Duration::from_secs(self.limits.timeout))?;
        address_space::limit(self.limits.memory)?;
        Ok(stop)
    }

    /// Waits for the child. `None` if it took too long and was killed: it ends by itself when
    /// its time is over, unless it hangs.
    fn wait(&self, child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
        let Limits { timeout, .. } = self.limits;
        let more = timeout.clamp(*FOR_THE_REPORT.start(), *FOR_THE_REPORT.end());
        let status = child.wait_timeout(Duration::from_secs(timeout + more))?;
        if status.is_none() {
            child.kill()?;
            child.wait()?;
        }
        Ok(status)
    }
}
