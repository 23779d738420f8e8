//! What comparing amounts to, in numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::{Disagreement, Reliabilities, WalkEnd, reliability};
use crate::examine::ends::WalkEnds;
use crate::truth::cross_check::TraceCounts;
use crate::vocabulary::Reliability;

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
    /// What the walks were worth, also those with which nothing was compared.
    #[serde(default)]
    pub reliability: Reliabilities,
    /// How often the call stack was compared with each other trace of the calls.
    pub traces: TraceCounts,
}

impl Counts {
    /// Counts comparisons with a call stack of `depth` frames, each of which ends in the same way: what it has found, how many of them were compared, and how
    /// many of these derived anew. Returns what the walk is worth, unless that is not settled.
    pub(super) fn count(
        &mut self,
        end: WalkEnd,
        found: &[Disagreement],
        frames: usize,
        derived: u64,
        depth: usize,
        times: u64,
    ) -> Option<Reliability> {
        self.walk_ends.count(if found.is_empty() { end } else { WalkEnd::Disagreed }, depth, times);
        if end.has_compared(depth) {
            self.comparisons += times;
            self.frames += frames as u64 * times;
            self.frames_derived += derived.min(frames as u64) * times;
        } else {
            self.nothing_compared += times;
        }
        (end != WalkEnd::Unsettled).then(|| reliability(end, found, depth, None))
    }

    /// Adds those of another run.
    pub fn add(&mut self, other: &Self) {
        let Self {
            instructions,
            comparisons,
            nothing_compared,
            frames,
            frames_derived,
            walk_ends,
            reliability,
            traces,
        } = other;
        self.instructions += instructions;
        self.comparisons += comparisons;
        self.nothing_compared += nothing_compared;
        self.frames += frames;
        self.frames_derived += frames_derived;
        self.walk_ends.add(walk_ends);
        self.reliability.add(reliability);
        self.traces.add(traces);
    }
}
