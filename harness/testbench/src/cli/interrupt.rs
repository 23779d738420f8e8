//! Interrupts: the first ends the work, and what is known by then is reported. A second one, later, ends the
//! process.
//!
//! Of a command that runs in a child process, the parent passes the first on, and the child then ends its
//! run. A second one kills the child.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::Serialize;
use sframe_inspect::command::interrupt::{at_each_interrupt, at_interrupt};
use sframe_inspect::command::{Failure, Status, print, print_verdict};
use sframe_judge::examine::stop::{StopReason, StopRequest};
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::text::counted;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The time in which commands end with their children once an end is asked for.
const COMMANDS_END: Duration = Duration::from_millis(200);

/// The interrupts that the parent has received.
#[derive(Clone, Default)]
pub(super) struct Interrupts {
    count: Arc<AtomicUsize>,
    /// Unlike a process ID, it never comes to mean another process.
    child: Arc<OnceLock<OwnedFd>>,
}

impl Interrupts {
    /// Begins to receive them for a child. Until [`Self::pass_on`], they wait.
    pub(super) fn receive() -> Self {
        let interrupts = Self::default();
        let received = interrupts.clone();
        at_each_interrupt(move |_| {
            received.count.fetch_add(1, Ordering::Relaxed);
            received.send();
        });
        interrupts
    }

    /// Passes them on to the child.
    pub(super) fn pass_on(&self, child: &Child) -> io::Result<()> {
        let child = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
        self.child.get_or_init(|| child);
        self.send();
        Ok(())
    }

    /// Whether there were any.
    pub(super) fn has_any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// The first one ends the child's run, and a second one kills it.
    fn send(&self) {
        let signal = match self.count.load(Ordering::Relaxed) {
            0 => return,
            1 => Signal::TERM,
            _ => Signal::KILL,
        };
        // It may have just ended.
        self.child.get().map(|child| pidfd_send_signal(child, signal));
    }
}

/// Without a child: returns what asks for an end at the first interrupt. A later one ends the process.
pub(super) fn requests_here() -> StopRequest {
    let stop = StopRequest::default();
    let requested = stop.clone();
    at_interrupt(move || requested.stop(StopReason::Interrupted));
    stop
}

/// Fails if an end was asked for before there was anything to report.
pub(super) fn not_stopped(stop: &StopRequest) -> Result<(), Failure> {
    stop.reason().map_or(Ok(()), |reason| Err(stopped(reason)))
}

/// What says that an end was asked for before there was anything to report.
pub(super) fn stopped(reason: StopReason) -> Failure {
    let reason = match reason {
        StopReason::Interrupted => "stopped",
        StopReason::TimeIsOver => "the time limit was over",
    };
    Failure::broken(format!("{}: {reason} before there was a result", Ending::Interrupted))
}

/// What a command has done that reports nothing before its end.
#[derive(Clone, Default)]
pub(super) struct Work {
    /// What ends its commands.
    pub(super) stop: StopRequest,
    builds: Arc<AtomicU64>,
    cases: Arc<AtomicU64>,
}

#[derive(Serialize)]
struct Stopped {
    builds: u64,
    cases: u64,
    /// How to go on.
    then: &'static str,
}

impl Work {
    /// Begins work that an interrupt ends, with its commands, and then says how to go on.
    pub(super) fn begin(is_json: bool, then: &'static str) -> Self {
        let work = Self::default();
        let done = work.clone();
        at_interrupt(move || {
            done.stop.stop(StopReason::Interrupted);
            std::thread::sleep(COMMANDS_END);
            // Who does not read any more knows that it has ended.
            drop(done.tell(is_json, then));
            std::process::exit(Status::Broken as i32);
        });
        work
    }

    fn tell(&self, is_json: bool, then: &'static str) -> Result<(), Failure> {
        let [builds, cases] = [&self.builds, &self.cases].map(|count| count.load(Ordering::Relaxed));
        if is_json {
            return print_verdict(Ending::Interrupted, &Stopped { builds, cases, then });
        }
        let done = format!("{} made, {} run", counted(builds, "build"), counted(cases, "case"));
        print(&Conclusion { ending: Ending::Interrupted, facts: vec![done, then.to_owned()] }.text())
    }

    /// Counts a build.
    pub(super) fn has_built(&self) {
        self.builds.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a case that has run.
    pub(super) fn has_run(&self) {
        self.cases.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits until the interrupt of [`Work`] has ended the process.
pub(super) fn wait_for_end() -> ! {
    loop {
        std::thread::park();
    }
}

/// In the child: returns what the parent, or the end of the time limit, asks for.
pub(super) fn requests(timeout: Duration) -> io::Result<StopRequest> {
    let stop = StopRequest::default();
    flag::register_usize(SIGTERM, stop.cell(), StopReason::Interrupted.value())?;
    // A terminal sends its interrupts to all processes. The parent's word counts.
    flag::register(SIGINT, Arc::new(AtomicBool::new(false)))?;
    let limited = stop.clone();
    std::thread::spawn(move || {
        std::thread::sleep(timeout);
        limited.stop(StopReason::TimeIsOver);
    });
    Ok(stop)
}
