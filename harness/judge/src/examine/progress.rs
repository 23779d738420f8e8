//! How far a run is, for others to look at.

use std::sync::atomic::{AtomicU64, Ordering};

/// Figures of a run, which another thread may read at any time: see [`Progress::INTERVAL`].
#[derive(Debug, Default)]
pub struct Progress {
    instructions: AtomicU64,
    findings: AtomicU64,
    depth: AtomicU64,
}

/// A run's figures at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Instructions executed.
    pub instructions: u64,
    /// Findings so far, which are wrong rows, and not the places where they are.
    pub findings: u64,
    /// Frames on the call stack.
    pub depth: u64,
}

impl Progress {
    /// The figures are renewed, and requests to stop are seen, once this many instructions have executed, and one
    /// is looked at: at least one in a thousand is.
    pub const INTERVAL: u64 = 64;

    /// Returns the figures.
    #[must_use]
    pub fn figures(&self) -> Figures {
        Figures {
            instructions: self.instructions.load(Ordering::Relaxed),
            findings: self.findings.load(Ordering::Relaxed),
            depth: self.depth.load(Ordering::Relaxed),
        }
    }

    pub(super) fn set(&self, figures: Figures) {
        self.instructions.store(figures.instructions, Ordering::Relaxed);
        self.findings.store(figures.findings, Ordering::Relaxed);
        self.depth.store(figures.depth, Ordering::Relaxed);
    }
}
