//! Interrupts of a search.

use sframe_inspect::command::Failure;
use sframe_judge::examine::stop::StopRequest;

use crate::cli::interrupt::requests_here;

/// Returns what ends a search at an interrupt.
pub(super) fn stop_request() -> Result<StopRequest, Failure> {
    requests_here().map_err(|error| Failure::broken(format!("error: interrupts can't be received: {error}")))
}

/// What is said of a search that was interrupted.
pub(super) const INTERRUPTED: &str = "interrupted: the search is incomplete, and nothing is reduced";
