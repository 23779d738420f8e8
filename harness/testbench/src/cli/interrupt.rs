//! Interrupts: the first ends the work, and what is known by then is reported. A second one, later, ends the
//! process.
//!
//! Of a command that runs in a child process, the parent passes the first on, and the child then ends its
//! run. A second one kills the child.

use std::collections::BTreeMap;
use std::io;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use sframe_inspect::command::interrupt::{SAME, at_interrupt};
use sframe_inspect::command::{Failure, Status, print, print_verdict};
use sframe_judge::examine::stop::{StopReason, StopRequest};
use sframe_kit::conclusion::Ending;
use sframe_kit::text::Text;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// The time in which commands end with their children once an end is asked for.
const COMMANDS_END: Duration = Duration::from_millis(200);

/// The interrupts that the parent has received.
pub(super) struct Interrupts {
    signals: Signals,
    count: Arc<AtomicUsize>,
}

impl Interrupts {
    /// Begins to receive. Until [`Self::pass_on`], they wait.
    pub(super) fn receive() -> io::Result<Self> {
        Ok(Self { signals: Signals::new([SIGINT, SIGTERM])?, count: Arc::default() })
    }

    /// Passes them on to the child. Returns their number so far.
    pub(super) fn pass_on(self, child: &Child) -> io::Result<Arc<AtomicUsize>> {
        let Self { mut signals, count } = self;
        // Unlike a process ID, it never comes to mean another process.
        let child = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
        let shown = Arc::clone(&count);
        std::thread::spawn(move || {
            let mut first: Option<Instant> = None;
            for _ in signals.forever() {
                let signal = match first {
                    None => Signal::TERM,
                    Some(first) if first.elapsed() < SAME => continue,
                    Some(_) => Signal::KILL,
                };
                first.get_or_insert_with(Instant::now);
                count.fetch_add(1, Ordering::Relaxed);
                // It may have just ended.
                let _ = pidfd_send_signal(&child, signal);
            }
        });
        Ok(shown)
    }
}

/// Without a child: returns what asks for an end at the first interrupt. A later one ends the process.
pub(super) fn requests_here() -> Result<StopRequest, Failure> {
    requests_and(|| {})
}

/// As [`requests_here`]; after it has asked, calls `then`.
fn requests_and(then: impl FnOnce() + Send + 'static) -> Result<StopRequest, Failure> {
    let stop = StopRequest::default();
    let requested = stop.clone();
    at_interrupt(move || {
        requested.stop(StopReason::Interrupted);
        then();
    })?;
    Ok(stop)
}

/// For commands that know nothing before they end, but keep what they have built: an interrupt ends their commands,
/// and then them.
pub(super) fn ends_at_once(is_json: bool) -> Result<StopRequest, Failure> {
    requests_and(move || {
        std::thread::sleep(COMMANDS_END);
        let then = "builds that are finished are kept; the same command goes on";
        let said = if is_json {
            print_verdict(Ending::Interrupted, &BTreeMap::from([("then", then)]))
        } else {
            print(&Text::of(format_args!("{}: {then}", Ending::Interrupted)))
        };
        // Who does not read any more knows that it has ended.
        drop(said);
        std::process::exit(Status::Broken as i32);
    })
}

/// Waits until [`ends_at_once`] has ended the process.
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
