//! Why a walk that disagrees says nothing of the rows.

use crate::vocabulary::named;

named! {
    /// Why a comparison that disagrees says nothing of the row.
    pub enum ExclusionReason, "reason" {
        /// The function left, and not for its caller: the row says where to, before it had left.
        LeavesElsewhere = "leaves-elsewhere",
        /// The function left with the FP that a callee had put where the function had saved its caller's: the row
        /// reads it there, before it had left.
        LeavesWithFp = "leaves-with-fp",
        /// Control was about to begin a context that the program had made, and nothing is known of callers there.
        NewContext = "new-context",
        /// SP had left the stack of the callers, and the run did not show where control went then.
        NoLanding = "no-landing",
    }
}

impl ExclusionReason {
    /// The reason, for people.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::LeavesElsewhere => {
                "the row describes the frame that the function was about to resume, not its caller"
            }
            Self::LeavesWithFp => {
                "a callee replaced the FP that the function had saved, and the function then left with that one"
            }
            Self::NewContext => {
                "it switches to a context that the program has made, whose callers are unknown"
            }
            Self::NoLanding => "the run did not show where control was to go",
        }
    }
}

/// What is excluded at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub(crate) reason: ExclusionReason,
    pub(crate) as_caller: bool,
}
