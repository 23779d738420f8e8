//! What exploring some of a file's functions has shown.

use serde::{Deserialize, Serialize};

use super::certainty::Doubt;
use super::pc_set::PcSet;
use super::rows::{Reach, RowId};
use crate::finding::Finding;

/// A disagreement at an instruction.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Candidate {
    /// The instruction.
    pub(super) pc: u64,
    pub(super) row: Option<RowId>,
    pub(super) finding: Finding,
    /// What keeps the surest sight of it from being a proof.
    pub(super) doubts: Vec<Doubt>,
    /// What the path of that one assumes.
    pub(super) assumptions: Vec<String>,
    /// With which seeds it was seen without a doubt.
    pub(super) seeds: [bool; 2],
    /// The entry of the function on whose path it was seen.
    pub(super) function: u64,
    /// Whether it is not certain that callers enter there.
    pub(super) from_nowhere: bool,
    /// The entries of the functions that this path has called, and what they remove from the stack, if their code
    /// shows it.
    pub(super) callees: Vec<(u64, Option<u64>)>,
    /// Whether it has called others, whose code is elsewhere or was not found.
    pub(super) calls_others: bool,
    /// How far SP is above where the caller has left it.
    pub(super) above_caller: u64,
    /// Where calls within the function have led to that have not returned on its path.
    pub(super) labels: Vec<u64>,
    /// Whether the row says that there is no caller.
    pub(super) denies_caller: bool,
    /// Whether the row says that the return address is in its register, where no call has put another.
    pub(super) loads_ra: bool,
    /// Whether the function has its caller's FP: in the register, or where it has saved it.
    pub(super) has_fp: bool,
}

/// How a function is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Ways {
    pub(super) returns: bool,
    /// Whether it was left with its caller's FP after FP was wrong.
    pub(super) restores_fp: bool,
    /// Whether it was left with everything that callees preserve.
    pub(super) regularly: bool,
    /// Whether it was left so by a return to the caller.
    pub(super) to_caller: bool,
    /// Whether it was left so by a jump to another function that the instruction names.
    pub(super) by_jump: bool,
    /// What it removes from the stack when it returns to the caller.
    pub(super) removed: Removed,
    /// Whether it has returned elsewhere, or with another SP, after a call of a function whose code does not show what
    /// it does to SP.
    pub(super) is_unbalanced: bool,
}

/// What a function was seen to remove from the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) enum Removed {
    /// It was not seen to return.
    #[default]
    Unseen,
    /// This number of bytes each time.
    Bytes(u64),
    /// Not the same each time.
    Different,
}

impl Removed {
    const fn add(&mut self, other: Self) {
        *self = match (*self, other) {
            (Self::Unseen, other) => other,
            (known, Self::Unseen) => known,
            (Self::Bytes(one), Self::Bytes(two)) if one == two => other,
            _ => Self::Different,
        };
    }

    /// Whether it is as much as a number of bytes.
    pub(super) const fn includes(self, bytes: u64) -> bool {
        match self {
            Self::Unseen | Self::Different => bytes == 0,
            Self::Bytes(removed) => bytes <= removed,
        }
    }

    /// Whether it may be this number of bytes.
    pub(super) fn may_be(self, bytes: u64) -> bool {
        matches!(self, Self::Unseen) || self == Self::Bytes(bytes)
    }
}

impl Ways {
    /// Whether it was seen to leave SP to its caller as it was, whatever its callees have done to it, and never
    /// elsewhere.
    pub(super) const fn is_balanced(&self) -> bool {
        (self.to_caller || self.by_jump) && !self.is_unbalanced
    }

    /// Adds what was seen elsewhere.
    pub(super) const fn add(&mut self, other: Self) {
        self.returns |= other.returns;
        self.restores_fp |= other.restores_fp;
        self.regularly |= other.regularly;
        self.to_caller |= other.to_caller;
        self.by_jump |= other.by_jump;
        self.removed.add(other.removed);
        self.is_unbalanced |= other.is_unbalanced;
    }
}

/// A part of the result.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Partial {
    pub(super) functions: u64,
    pub(super) instructions: u64,
    /// The rows that agreed somewhere.
    pub(super) agree: Vec<RowId>,
    /// The instructions at which they did.
    pub(super) agreed: PcSet,
    pub(super) candidates: Vec<Candidate>,
    /// By the functions' entries.
    pub(super) ways: Vec<(u64, Ways)>,
    /// Rows that deny a caller, which was not judged.
    pub(super) outermost: Vec<RowId>,
    /// Entries that were jumped to from within a frame.
    pub(super) entered_with_frame: Vec<u64>,
    /// Labels from which a call within a function has returned.
    pub(super) returned_labels: Vec<u64>,
    /// Those after which a function was left as callers have it, without such a return.
    pub(super) left_labels: Vec<u64>,
    /// By FDE.
    pub(super) reach: Vec<(u32, Reach)>,
}

impl Partial {
    /// The rows that something was compared with.
    pub(super) fn rows(&self) -> impl Iterator<Item = RowId> {
        let disputed = self.candidates.iter().filter_map(|candidate| candidate.row);
        self.agree.iter().chain(&self.outermost).copied().chain(disputed)
    }
}
