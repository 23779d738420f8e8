//! Programs under test in processes of their own.

use sframe_inspect::command::{Failure, Status};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use clap::Args;
use rustix::process::{Signal, set_parent_process_death_signal};
use sframe_testbench::address_space;
use sframe_testbench::suite::{Isolation, workers};
use sframe_testbench::unwind::sframe_unwinder;
use wait_timeout::ChildExt as _;

/// The name of the subcommand that is a worker.
pub(super) const WORKER: &str = "worker";

/// This very program, whatever has become of its file.
const BENCH: &str = "/proc/self/exe";

/// Address space of a process, in bytes, and how long it may take, in seconds,
/// if nothing else is said. No program of the corpus takes a minute; a check
/// may have a large budget, and an unwinder under test may be slow.
const MEMORY: u64 = 8 << 30;
const TIMEOUT: u64 = 3600;

/// What a child adds to its status. What it does not end itself, as libraries
/// may do, has no such status.
const FROM_CHILD: i32 = 64;

/// Cases in processes of their own: one that crashes, spends its memory or
/// takes too long is broken, and the others go on.
#[derive(Args)]
pub(crate) struct IsolationOptions {
    #[command(flatten)]
    limits: Limits,
    /// Run the cases in this process, without limits: for a debugger or a
    /// profiler. What crashes a case ends the run.
    #[arg(long, conflicts_with_all = ["memory", "timeout"])]
    in_process: bool,
}

/// What the process that runs a program may use.
#[derive(Args, Clone, Copy)]
struct Limits {
    /// Address space of a process in which programs are run. The emulator
    /// needs more than 1 GiB, of which it touches little.
    #[arg(long, value_name = "BYTES", default_value_t = MEMORY,
          value_parser = clap::value_parser!(u64).range(1..))]
    memory: u64,
    /// How long a program may take.
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

impl IsolationOptions {
    /// The workers of a run.
    pub(crate) fn workers(&self) -> Option<Isolation> {
        (!self.in_process).then(|| workers(self.limits))
    }
}

/// Workers whose files nobody has seen before.
pub(super) fn workers_of_strangers() -> Isolation {
    workers(Limits { memory: MEMORY, timeout: TIMEOUT })
}

fn workers(Limits { memory, timeout }: Limits) -> Isolation {
    let worker = vec![BENCH.to_owned(), WORKER.to_owned()];
    Isolation { worker, memory, timeout: Duration::from_secs(timeout) }
}

/// Is a worker.
pub(super) fn worker() -> Result<Status, Failure> {
    match workers::serve(&sframe_unwinder) {
        Ok(()) => Ok(Status::AsExpected),
        Err(error) => Err(Failure::broken(format!("error: {error}"))),
    }
}

/// A command in a child of its own: what crashes the child is one clear error.
#[derive(Args)]
pub(crate) struct ChildOptions {
    #[command(flatten)]
    limits: Limits,
    /// This is the child.
    #[arg(long, hide = true)]
    in_child: bool,
}

impl ChildOptions {
    /// Runs the command in a child that has the same arguments. `name` is what
    /// it is about.
    pub(crate) fn run(
        &self,
        name: &str,
        command: &str,
        run: impl FnOnce() -> Result<Status, Failure>,
    ) -> Result<Status, Failure> {
        if self.in_child {
            let limited = self.limit().map_err(|error| Failure::broken(format!("error: {error}")));
            let status = limited.and_then(|()| run()).unwrap_or_else(|failure| failure.report());
            std::process::exit(FROM_CHILD + status as i32);
        }
        let broken = |what: &str| Failure::broken(format!("error: {name}: {what}"));
        let arguments = std::env::args_os().skip(2);
        let child = Command::new(BENCH).args([command, "--in-child"]).args(arguments).spawn();
        let mut child = child.map_err(|error| broken(&format!("no process can be started: {error}")))?;
        let status = self.wait(&mut child).map_err(|error| broken(&error.to_string()))?;
        let Some(status) = status else {
            return Err(broken(&format!(
                "{command} took more than {} s, and was killed",
                self.limits.timeout
            )));
        };
        let from_child = status.code().and_then(|code| Status::of(code - FROM_CHILD));
        from_child.ok_or_else(|| {
            broken(&format!(
                "{command} has ended without a result: {status}; it may have {} bytes of memory",
                self.limits.memory
            ))
        })
    }

    fn limit(&self) -> std::io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        address_space::limit(self.limits.memory)
    }

    /// None if it took too long, and is dead.
    fn wait(&self, child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
        let status = child.wait_timeout(Duration::from_secs(self.limits.timeout))?;
        if status.is_none() {
            child.kill()?;
            child.wait()?;
        }
        Ok(status)
    }
}
