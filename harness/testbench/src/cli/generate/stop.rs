//! Interrupts of a search.

use sframe_inspect::command::{Failure, Status};
use sframe_judge::examine::stop::StopRequest;
use sframe_kit::conclusion::{Conclusion, Ending};

use crate::cli::interrupt::requests_here;

/// Returns what ends a search at an interrupt.
pub(super) fn stop_request() -> Result<StopRequest, Failure> {
    requests_here().map_err(|error| Failure::broken(format!("error: interrupts can't be received: {error}")))
}

/// How a search ends.
pub(super) fn conclusion(status: Status, is_stopped: bool, mut facts: Vec<String>) -> Conclusion {
    if !is_stopped {
        return Conclusion { ending: status.into(), facts };
    }
    facts.insert(0, "the search is incomplete, and nothing is reduced".to_owned());
    Conclusion { ending: Ending::Interrupted, facts }
}
