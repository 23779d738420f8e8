//! Requests to end a run before its program ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Why a run was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Somebody interrupted it.
    Interrupted,
    /// Its time is over.
    TimeIsOver,
}

impl StopReason {
    /// The value of [`StopRequest::cell`] that asks for an end. It is not 0.
    #[must_use]
    pub const fn value(self) -> usize {
        match self {
            Self::Interrupted => 1,
            Self::TimeIsOver => 2,
        }
    }
}

/// A request that may be made at any time, by another thread or the handler of a signal.
/// The run ends within [`Progress::INTERVAL`](super::progress::Progress::INTERVAL)
/// instructions; what was compared until then stays valid.
#[derive(Clone, Debug, Default)]
pub struct StopRequest(Arc<AtomicUsize>);

impl StopRequest {
    /// Asks for an end.
    pub fn stop(&self, reason: StopReason) {
        self.0.store(reason.value(), Ordering::Relaxed);
    }

    /// Where to store [`StopReason::value`], for handlers of signals, which can do little else.
    #[must_use]
    pub fn cell(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0)
    }

    /// Returns why to end, if that was asked for.
    #[inline]
    #[must_use]
    pub fn reason(&self) -> Option<StopReason> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            value if value == StopReason::TimeIsOver.value() => Some(StopReason::TimeIsOver),
            _ => Some(StopReason::Interrupted),
        }
    }
}

/// How long the report of what was seen may take once an end was asked for.
const FOR_THE_REPORT: Duration = Duration::from_secs(1);

/// Tells the work that follows a run when to end.
#[derive(Debug)]
pub(crate) struct Grace<'r> {
    request: &'r StopRequest,
    since: Option<Instant>,
}

impl<'r> Grace<'r> {
    pub(crate) const fn of(request: &'r StopRequest) -> Self {
        Self { request, since: None }
    }

    /// Whether an end was asked for, and the time for the report is over.
    pub(crate) fn is_over(&mut self) -> bool {
        self.request.reason().is_some()
            && self.since.get_or_insert_with(Instant::now).elapsed() > FOR_THE_REPORT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_told_to_end_has_time_for_its_report() {
        let request = StopRequest::default();
        let mut grace = Grace::of(&request);
        assert!(!grace.is_over());
        request.stop(StopReason::TimeIsOver);
        assert!(!grace.is_over());
        grace.since = Instant::now().checked_sub(2 * FOR_THE_REPORT);
        assert!(grace.since.is_none() || grace.is_over());
    }
}
