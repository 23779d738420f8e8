//! How walks ended.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::InstructionPointer;
use sframe_kit::text::counted;

use crate::compare::WalkEnd;
use crate::finding::{Finding, Message, Said};
use crate::target::{Loaded, Target};
use crate::vocabulary::{End, Verdict};

/// The number of walks by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct WalkEnds {
    /// At an entry function that is marked as outermost.
    pub outermost: u64,
    /// At an entry function that is not marked.
    pub unmarked: u64,
    /// At the first function of a context that the program has made, which is not marked.
    pub context: u64,
    /// Nowhere: the comparison was excluded, and counts for nothing.
    pub unsettled: u64,
    /// Anywhere, while SP had left the frames of the callers, and control had not: what the rows say agrees with the call
    /// stack that control was about to leave, or with the one where it landed.
    #[serde(default)]
    pub departing: u64,
    /// At code without an FDE.
    pub no_fde: u64,
    /// Those of them that end at the entry function: the backtrace is whole, and does not say so.
    #[serde(default)]
    pub entry_without_fde: u64,
    /// At an interrupted frame whose rules need a register.
    pub in_register: u64,
    /// At a frame that continues on a stack at lower addresses.
    pub no_progress: u64,
    /// At a disagreement.
    pub disagreed: u64,
}

impl WalkEnds {
    /// Adds the counts of another run.
    pub const fn add(&mut self, other: &Self) {
        self.outermost += other.outermost;
        self.unmarked += other.unmarked;
        self.context += other.context;
        self.unsettled += other.unsettled;
        self.departing += other.departing;
        self.no_fde += other.no_fde;
        self.entry_without_fde += other.entry_without_fde;
        self.in_register += other.in_register;
        self.no_progress += other.no_progress;
        self.disagreed += other.disagreed;
    }

    /// Returns the ends that specs can name, and how often each was seen.
    #[must_use]
    pub const fn counts(&self) -> [(End, u64); 6] {
        [
            (End::Outermost, self.outermost),
            (End::Unmarked, self.unmarked),
            (End::Context, self.context),
            (End::NoFde, self.no_fde),
            (End::InRegister, self.in_register),
            (End::NoProgress, self.no_progress),
        ]
    }

    /// Counts walks through a call stack of `depth` frames.
    pub(crate) const fn count(&mut self, end: WalkEnd, depth: usize, times: u64) {
        if let WalkEnd::NoFde { frame } = end
            && frame + 1 == depth
        {
            self.entry_without_fde += times;
        }
        *match end {
            WalkEnd::Outermost => &mut self.outermost,
            WalkEnd::Unmarked { .. } => &mut self.unmarked,
            WalkEnd::Context { .. } => &mut self.context,
            WalkEnd::Unsettled => &mut self.unsettled,
            WalkEnd::Departing => &mut self.departing,
            WalkEnd::NoFde { .. } => &mut self.no_fde,
            WalkEnd::InRegister { .. } => &mut self.in_register,
            WalkEnd::NoProgress { .. } => &mut self.no_progress,
            WalkEnd::Disagreed => &mut self.disagreed,
        } += times;
    }
}

/// Returns a finding for each row, or function without one, at which backtraces have ended before the call stack did, or
/// from which they have gone on beyond it, and each way to end, where only complete ones will do. `early` is how many, by
/// the address at which the last frame was looked up. Disagreements are findings already.
pub(super) fn incomplete(early: &BTreeMap<(End, u64), u64>, target: &Target<'_>) -> Vec<Finding> {
    let mut places: BTreeMap<_, (u64, u64, u64)> = BTreeMap::new();
    for (&(end, address), &walks) in early {
        let place = target.place(Loaded(address));
        let found = target.sections.lookup(InstructionPointer(address)).ok().flatten();
        let row = found.map(|found| (found.fde.start, found.row.start));
        let place = (end, place.image, place.function, row);
        let (_, places, all) = places.entry(place).or_insert((address, 0, 0));
        *places += 1;
        *all += walks;
    }
    let finding = |((end, ..), (address, places, hits)): ((End, _, _, _), (u64, u64, u64))| {
        let backtraces = counted(hits, "backtrace");
        let message = if end.is_whole() {
            format!(
                "{backtraces} went on beyond the outermost frame, which is not marked, to what is no frame"
            )
        } else {
            format!("{backtraces} ended before the call stack, as `{end}`")
        };
        // Who has left the code without an FDE is asked as elsewhere.
        let asked = if end == End::NoFde { Verdict::NoFde } else { Verdict::Incomplete };
        let message = Message::at(target.place(Loaded(address)), message);
        let finding = Finding::of_spec(asked, Said::WholeBacktrace, end, message).at(Loaded(address), target);
        Finding { verdict: Verdict::Incomplete, hits, places, ..finding }
    };
    places.into_iter().map(finding).collect()
}
