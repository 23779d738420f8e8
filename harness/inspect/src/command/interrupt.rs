//! Interrupts: SIGINT and SIGTERM.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sframe_kit::conclusion::Ending;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::exit::{Failure, Status};
use super::{has_printed, print_verdict, tell_line};

/// Interrupts that follow within this time are the same one: `timeout` sends its signal to the
/// process, and then to the whole group. On a busy machine, the second one may be late.
const SAME: Duration = Duration::from_secs(1);

/// A command that begins has this time to say what an interrupt does.
const TAKES_OVER: Duration = Duration::from_millis(100);

/// Gets the number of the signal.
type Handler = Box<dyn FnMut(i32) + Send>;

/// What interrupts do; without it, the first one ends the process.
static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// Begins to receive interrupts. As long as the command has not said what else one is to do, it ends the process, which says
/// so.
///
/// # Errors
/// Interrupts can't be received.
pub fn begin() -> Result<(), Failure> {
    let signals = Signals::new([SIGINT, SIGTERM]);
    let mut signals =
        signals.map_err(|error| Failure::broken(format!("error: interrupts can't be received: {error}")))?;
    std::thread::spawn(move || {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            if first.is_some_and(|first| first.elapsed() < SAME) {
                continue;
            }
            first.get_or_insert_with(Instant::now);
            if now().is_none() {
                std::thread::sleep(TAKES_OVER);
            }
            match &mut *now() {
                Some(handler) => handler(signal),
                None => end(),
            }
        }
    });
    Ok(())
}

/// Ends the process without a result: somebody who reads JSON learns that, unless there is some of it already.
fn end() -> ! {
    if !has_printed() && std::env::args_os().any(|argument| argument == "--json") {
        // Who does not read any more knows that it has ended.
        drop(print_verdict(Ending::Interrupted, &BTreeMap::<&str, &str>::new()));
    }
    tell_line(format_args!("{}: stopped before there was a result", Ending::Interrupted));
    std::process::exit(Status::Broken as i32)
}

fn now() -> MutexGuard<'static, Option<Handler>> {
    HANDLER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `handler` with the signal's number at each interrupt that comes from now on.
pub fn at_each_interrupt(handler: impl FnMut(i32) + Send + 'static) {
    *now() = Some(Box::new(handler));
}

/// Calls `first` at the first interrupt. A later one ends the process.
pub fn at_interrupt(first: impl FnOnce() + Send + 'static) {
    let mut first = Some(first);
    at_each_interrupt(move |signal| match first.take() {
        Some(first) => first(),
        // There is nothing to be done if it fails: the next one may do it.
        None => _ = emulate_default_handler(signal),
    });
}
