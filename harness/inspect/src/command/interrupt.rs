//! Interrupts: SIGINT and SIGTERM.

use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::exit::Failure;

/// Interrupts that follow within this time are the same one: `timeout` sends its signal to the
/// process, and then to the whole group. On a busy machine, the second one may be late.
pub const SAME: Duration = Duration::from_secs(1);

/// Calls `first` at the first interrupt. A later one ends the process.
///
/// # Errors
/// Interrupts can't be received.
pub fn at_interrupt(first: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let signals = Signals::new([SIGINT, SIGTERM]);
    let mut signals =
        signals.map_err(|error| Failure::broken(format!("error: interrupts can't be received: {error}")))?;
    std::thread::spawn(move || {
        let (mut first, mut at) = (Some(first), Instant::now());
        for signal in signals.forever() {
            match first.take() {
                Some(first) => {
                    at = Instant::now();
                    first();
                }
                None if at.elapsed() < SAME => {}
                // There is nothing to be done if it fails: the next one may do it.
                None => _ = emulate_default_handler(signal),
            }
        }
    });
    Ok(())
}
