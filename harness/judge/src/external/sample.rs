//! Selects the stops at which an unwinder is asked.

use std::hash::Hasher as _;
use std::ops::Range;

use rustc_hash::{FxHashSet, FxHasher};
use serde::{Deserialize, Serialize};

use crate::compare::Truth;

/// At how many stops of a case an unwinder in another process is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum StopsPerCase {
    /// Every instruction.
    All,
    /// Each PC when it is first reached, and wherever a spec has a stop. In
    /// addition, up to this number of stops at which a PC is reached with a new
    /// call stack: the first ones, as long as they have fewer than
    /// [`FRAMES_PER_STOP`] frames on average.
    AtMost(u64),
}

impl StopsPerCase {
    /// The default.
    pub const DEFAULT: Self = Self::AtMost(2000);
}

impl std::fmt::Display for StopsPerCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::AtMost(stops) => stops.fmt(f),
        }
    }
}

/// See [`StopsPerCase::AtMost`].
pub const FRAMES_PER_STOP: u64 = 100;

/// The maximum number of different stops that are distinguished; later ones count as new.
const TOLD_APART: usize = 1 << 22;

/// A call on the path to the current function, with the path up to it.
#[derive(Clone, Copy, Debug)]
struct Call {
    since: u64,
    return_address: u64,
    path: u64,
}

/// Chooses stops.
#[derive(Debug)]
pub(super) struct Sample {
    stops_per_case: StopsPerCase,
    calls: Vec<Call>,
    pcs: FxHashSet<u64>,
    stops: FxHashSet<u64>,
    more_stops: u64,
    more_frames: u64,
    is_breakpoint: bool,
    /// How often the rules of code have changed.
    changes: u64,
    /// Moments offered.
    pub(super) moments: u64,
    /// Those that differ from all before.
    pub(super) different: u64,
}

fn hash(values: impl std::hash::Hash) -> u64 {
    let mut hasher = FxHasher::default();
    values.hash(&mut hasher);
    hasher.finish()
}

impl Sample {
    pub(super) fn new(stops_per_case: StopsPerCase) -> Self {
        Self {
            stops_per_case,
            calls: Vec::new(),
            pcs: FxHashSet::default(),
            stops: FxHashSet::default(),
            more_stops: 0,
            more_frames: 0,
            is_breakpoint: false,
            changes: 0,
            moments: 0,
            different: 0,
        }
    }

    /// Starts another run.
    pub(super) fn start(&mut self) {
        self.calls.clear();
        self.is_breakpoint = false;
    }

    /// What there is to unwind by has changed: the next moment is asked about. So is what was asked about before, if the
    /// same code, or other code in the same place, has other rules now.
    pub(super) fn changed(&mut self, code: Option<&Range<u64>>) {
        if let Some(code) = code {
            self.pcs.retain(|pc| !code.contains(pc));
            self.changes += 1;
        }
        self.is_breakpoint = true;
    }

    /// Counts a moment at which the unwinder can't be asked.
    pub(super) const fn pass(&mut self) {
        self.moments += 1;
    }

    /// Marks the next moment as one that a spec names.
    pub(super) const fn breakpoint(&mut self) {
        self.is_breakpoint = true;
    }

    /// Whether to ask the unwinder at this moment.
    pub(super) fn wants(&mut self, truth: &Truth<'_>) -> bool {
        self.moments += 1;
        let is_breakpoint = std::mem::take(&mut self.is_breakpoint);
        let records = truth.call_stack.records();
        self.calls.truncate(records.len());
        // A call is the same if it was made at the same time; then the calls before it are the
        // same, too.
        while let Some(call) = self.calls.last()
            && let Some(record) = records.get(self.calls.len() - 1)
            && (call.since, call.return_address) != (record.since, record.return_address)
        {
            self.calls.pop();
        }
        for record in &records[self.calls.len()..] {
            let outer = self.calls.last().map_or(0, |call| call.path);
            let path = hash((outer, record.return_address, record.interrupted));
            let (since, return_address) = (record.since, record.return_address);
            self.calls.push(Call { since, return_address, path });
        }
        let path = self.calls.last().map_or(0, |call| call.path);
        let is_new = self.stops.len() >= TOLD_APART
            || self.stops.insert(hash((path, truth.pc, records.len(), self.changes)));
        self.different += u64::from(is_new);
        let StopsPerCase::AtMost(most) = self.stops_per_case else { return true };
        let is_first = self.pcs.insert(truth.pc);
        if is_first || is_breakpoint {
            return true;
        }
        if !is_new {
            return false;
        }
        let wanted = self.more_stops < most && self.more_frames < most.saturating_mul(FRAMES_PER_STOP);
        if wanted {
            self.more_stops += 1;
            self.more_frames += truth.call_stack.depth() as u64;
        }
        wanted
    }
}
