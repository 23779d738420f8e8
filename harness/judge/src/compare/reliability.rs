//! What a walk is worth to whoever has to rely on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_kit::text::grouped;

use super::{Disagreement, Value, WalkEnd};
use crate::unwind::End;
use crate::vocabulary::{Reliability, Verdict};

/// The number of walks by what they are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Reliabilities {
    /// All frames, and no others.
    pub complete: u64,
    /// Frames are missing, or some are none, and the walk does not say that it ends at the outermost one.
    pub incomplete: u64,
    /// Frames are missing, and the walk does not say so.
    pub silent: u64,
    /// A frame that is not there, or a wrong value of one.
    pub wrong: u64,
}

impl Reliabilities {
    /// Counts walks.
    pub const fn count(&mut self, reliability: Reliability, times: u64) {
        *self.of(reliability) += times;
    }

    const fn of(&mut self, reliability: Reliability) -> &mut u64 {
        match reliability {
            Reliability::Complete => &mut self.complete,
            Reliability::Incomplete => &mut self.incomplete,
            Reliability::Silent => &mut self.silent,
            Reliability::Wrong => &mut self.wrong,
        }
    }

    /// Adds the counts of another run.
    pub const fn add(&mut self, other: &Self) {
        self.add_times(other, 1);
    }

    /// Adds those of a sample, each of which stands for a number of walks.
    pub const fn add_times(&mut self, other: &Self, times: u64) {
        self.complete = self.complete.saturating_add(other.complete.saturating_mul(times));
        self.incomplete = self.incomplete.saturating_add(other.incomplete.saturating_mul(times));
        self.silent = self.silent.saturating_add(other.silent.saturating_mul(times));
        self.wrong = self.wrong.saturating_add(other.wrong.saturating_mul(times));
    }

    /// The number of walks, whatever they are worth.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.complete.saturating_add(self.incomplete).saturating_add(self.silent).saturating_add(self.wrong)
    }

    /// The number of walks of each worth.
    #[must_use]
    pub const fn counts(&self) -> [(Reliability, u64); 4] {
        [
            (Reliability::Complete, self.complete),
            (Reliability::Incomplete, self.incomplete),
            (Reliability::Silent, self.silent),
            (Reliability::Wrong, self.wrong),
        ]
    }
}

impl std::fmt::Display for Reliabilities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = |(reliability, count): (Reliability, u64)| format!("{} {reliability}", grouped(count));
        f.write_str(&self.counts().map(of).join(", "))
    }
}

/// Returns how reliable a walk is that was compared with a call stack of `depth` frames. `declared` is what the unwinder says
/// of it; without that, a walk that ends at an outermost frame is one that claims to be complete.
///
/// The right value by luck is right here: the fault is the row's. So is a walk that has all frames and does not know it.
pub(crate) fn reliability(
    end: WalkEnd,
    found: &[Disagreement],
    depth: usize,
    declared: Option<bool>,
) -> Reliability {
    // Where a walk does not go on, its caller is what the row says, and not what the walk does.
    let is_walked = |found: &&Disagreement| end != WalkEnd::NoProgress { frame: found.frame };
    if found.iter().filter(is_walked).any(has_what_is_not_there) {
        return Reliability::Wrong;
    }
    let lacks_frames = |frame: usize| frame + 1 < depth;
    // An FP that can't be read ends no walk.
    let ends = |verdict| !matches!(verdict, Verdict::ByLuck | Verdict::WrongFp);
    let ends_early = |found: &&Disagreement| ends(found.verdict) && lacks_frames(found.frame);
    let early = found.iter().find(ends_early);
    if end.goes_beyond() {
        return Reliability::Incomplete;
    }
    if early.is_none() && !end.frame().is_some_and(lacks_frames) {
        return Reliability::Complete;
    }
    let claims_outermost = early.is_some_and(|found| matches!(found.got, Value::End(End::Outermost)));
    if declared.unwrap_or(claims_outermost) { Reliability::Silent } else { Reliability::Incomplete }
}

/// Returns the first frame of which a walk has what is not there: whoever has found that can't rely on it, or on anything
/// beyond it.
pub(crate) fn first_wrong_frame(found: &[Disagreement]) -> Option<usize> {
    found.iter().filter(|found| has_what_is_not_there(found)).map(|found| found.frame).min()
}

/// Whether a walk has given a value that is not the call stack's, and not only none.
fn has_what_is_not_there(found: &Disagreement) -> bool {
    let gives_none = matches!(found.got, Value::Unreadable(_) | Value::End(_));
    match found.verdict {
        Verdict::WrongCfa | Verdict::WrongRa | Verdict::WrongFp => !gives_none,
        Verdict::ExtraFrames => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use sframe_engine::{InstructionPointer, StepError};

    use super::*;

    fn found(verdict: Verdict, got: Value) -> Disagreement {
        let address = InstructionPointer(0x1000).into();
        let expected = Value::Frames(3);
        Disagreement { verdict, frame: 1, pc: 0x1000, address, expected, got, after_wrong_fp: None }
    }

    #[test]
    fn walks_are_worth_what_they_say_and_have() {
        use Reliability::{Complete, Incomplete, Silent, Wrong};
        let no_row = Value::End(End::Failed(StepError::NoRow));
        let outermost = Value::End(End::Outermost);
        for (end, of, declared, worth) in [
            (WalkEnd::Outermost, None, None, Complete),
            (WalkEnd::Unmarked { goes_beyond: false }, None, None, Complete),
            // What follows is no frame.
            (WalkEnd::Unmarked { goes_beyond: true }, None, None, Incomplete),
            (WalkEnd::Context { goes_beyond: true }, None, Some(false), Incomplete),
            (WalkEnd::Context { goes_beyond: true }, None, Some(true), Incomplete),
            // The entry function has no FDE: nothing is missing.
            (WalkEnd::NoFde { frame: 2 }, None, Some(true), Complete),
            // A walk that lacks nothing may be called unreliable.
            (WalkEnd::Outermost, None, Some(false), Complete),
            (WalkEnd::NoFde { frame: 1 }, None, None, Incomplete),
            (WalkEnd::NoFde { frame: 1 }, None, Some(false), Incomplete),
            (WalkEnd::NoFde { frame: 1 }, None, Some(true), Silent),
            (WalkEnd::InRegister { frame: 1 }, None, Some(true), Silent),
            // The row is wrong, by which the walk does not go on.
            (WalkEnd::NoProgress { frame: 1 }, Some((Verdict::WrongFp, Value::Word(8))), None, Incomplete),
            (WalkEnd::Disagreed, Some((Verdict::Truncated, no_row)), None, Incomplete),
            (WalkEnd::Disagreed, Some((Verdict::Truncated, no_row)), Some(true), Silent),
            (WalkEnd::Disagreed, Some((Verdict::Truncated, outermost)), None, Silent),
            // It says that it has ended at the outermost frame, and that this is not to be relied on.
            (WalkEnd::Disagreed, Some((Verdict::Truncated, outermost)), Some(false), Incomplete),
            (WalkEnd::Disagreed, Some((Verdict::WrongCfa, Value::Word(8))), Some(false), Wrong),
            (WalkEnd::Disagreed, Some((Verdict::WrongRa, Value::Unreadable(8))), None, Incomplete),
            (WalkEnd::Disagreed, Some((Verdict::WrongFp, Value::Unreadable(8))), Some(true), Complete),
            (WalkEnd::Disagreed, Some((Verdict::WrongFp, Value::Word(8))), Some(true), Wrong),
            (WalkEnd::Disagreed, Some((Verdict::ExtraFrames, Value::Frames(4))), None, Wrong),
            (WalkEnd::Disagreed, Some((Verdict::ByLuck, Value::Saved)), None, Complete),
            (WalkEnd::NoFde { frame: 1 }, Some((Verdict::ByLuck, Value::Saved)), None, Incomplete),
        ] {
            let of: Vec<Disagreement> = of.map(|(verdict, got)| found(verdict, got)).into_iter().collect();
            assert_eq!(reliability(end, &of, 3, declared), worth, "{end:?} {of:?} {declared:?}");
        }
    }
}
