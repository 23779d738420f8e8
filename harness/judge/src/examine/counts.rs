//! What comparing amounts to, in numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::WalkEnd;
use crate::examine::ends::WalkEnds;
use crate::truth::cross_check::TraceCounts;

/// What comparing amounts to: of one run, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Counts {
    /// Instructions executed.
    pub instructions: u64,
    /// Instructions at which backtrace and call stack were compared.
    pub comparisons: u64,
    /// Instructions at which nothing could be compared: the topmost frame has no FDE, or is the first of a context that
    /// the program has made. They are not among the comparisons.
    #[serde(default)]
    pub nothing_compared: u64,
    /// Frames whose CFA, RA and FP were compared, or are unchanged since they were compared.
    pub frames: u64,
    /// Those that were derived anew, from registers and memory.
    #[serde(default)]
    pub frames_derived: u64,
    /// How the walks ended.
    pub walk_ends: WalkEnds,
    /// How often the call stack was compared with each other trace of the calls.
    pub traces: TraceCounts,
}

impl Counts {
    /// Counts a comparison with a call stack of `depth` frames: how many of them were compared, and how many of these
    /// derived anew.
    pub(super) fn count(&mut self, end: WalkEnd, frames: usize, derived: u64, depth: usize) {
        self.walk_ends.count(end, depth);
        if end.has_compared(depth) {
            let frames = frames as u64;
            self.comparisons += 1;
            self.frames += frames;
            self.frames_derived += derived.min(frames);
        } else {
            self.nothing_compared += 1;
        }
    }

    /// Adds those of another run.
    pub fn add(&mut self, other: &Self) {
        let Self { instructions, comparisons, nothing_compared, frames, frames_derived, walk_ends, traces } =
            other;
        self.instructions += instructions;
        self.comparisons += comparisons;
        self.nothing_compared += nothing_compared;
        self.frames += frames;
        self.frames_derived += frames_derived;
        self.walk_ends.add(walk_ends);
        self.traces.add(traces);
    }
}
