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

/// How long it may be judged what was followed until then.
const TO_JUDGE: Duration = Duration::from_millis(500);

/// Tells work that goes on once an end was asked for when to end.
#[derive(Debug)]
pub(crate) struct Grace<'r> {
    request: &'r StopRequest,
    since: Option<Instant>,
    time: Duration,
}

impl<'r> Grace<'r> {
    pub(crate) const fn for_the_report(request: &'r StopRequest) -> Self {
        Self { request, since: None, time: FOR_THE_REPORT }
    }

    /// Whether an end was asked for, and the time is over.
    pub(crate) fn is_over(&mut self) -> bool {
        self.request.reason().is_some() && self.since.get_or_insert_with(Instant::now).elapsed() > self.time
    }
}

/// Where a run was ended that another one judges.
#[derive(Debug)]
pub(super) struct Cut<'r> {
    /// The number of instructions that are known.
    instructions: u64,
    grace: Grace<'r>,
}

impl<'r> Cut<'r> {
    pub(super) const fn of(request: &'r StopRequest, instructions: u64) -> Self {
        Self { instructions, grace: Grace { request, since: None, time: TO_JUDGE } }
    }

    /// Whether there is more to judge, after this many instructions, and time for it.
    pub(super) fn has_more(&mut self, instructions: u64) -> bool {
        instructions < self.instructions && !self.grace.is_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_told_to_end_has_time_for_its_report() {
        let request = StopRequest::default();
        let mut grace = Grace::for_the_report(&request);
        assert!(!grace.is_over());
        request.stop(StopReason::TimeIsOver);
        assert!(!grace.is_over());
        grace.since = Instant::now().checked_sub(2 * FOR_THE_REPORT);
        assert!(grace.since.is_none() || grace.is_over());
    }
}
