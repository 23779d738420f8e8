//! How far exploring a file is, for those who wait for it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::partial::Partial;
use crate::examine::stop::StopRequest;

/// Figures that change while a file is explored, and the request to end that.
#[derive(Debug, Default)]
pub struct Progress {
    /// Ends the exploration soon if somebody asks for that.
    pub stop: StopRequest,
    total: AtomicU64,
    functions: AtomicU64,
    failed: AtomicU64,
    findings: AtomicU64,
}

impl Progress {
    /// Takes a request.
    #[must_use]
    pub fn new(stop: StopRequest) -> Self {
        Self { stop, ..Self::default() }
    }

    /// Functions that have been explored, and all of them.
    #[must_use]
    pub fn functions(&self) -> (u64, u64) {
        (self.functions.load(Relaxed), self.total.load(Relaxed))
    }

    /// Functions in which the emulator has failed.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// Places at which a row may be wrong.
    #[must_use]
    pub fn findings(&self) -> u64 {
        self.findings.load(Relaxed)
    }

    pub(super) fn begin(&self, total: u64) {
        self.total.fetch_add(total, Relaxed);
    }

    pub(super) fn add(&self, partial: &Partial) {
        self.functions.fetch_add(partial.functions, Relaxed);
        self.findings.fetch_add(partial.candidates.len() as u64, Relaxed);
    }

    pub(super) fn failed(&self) {
        self.functions.fetch_add(1, Relaxed);
        self.failed.fetch_add(1, Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.reason().is_some()
    }
}
