//! The outcome of one comparison.

use super::named::named;

named! {
    /// The outcome of one comparison.
    pub enum Verdict, "verdict" {
        /// Backtrace and call stack are the same.
        Agree = "agree",
        /// A frame's CFA is wrong.
        WrongCfa = "wrong-cfa",
        /// A frame's return address is wrong.
        WrongRa = "wrong-ra",
        /// A frame's frame pointer is wrong.
        WrongFp = "wrong-fp",
        /// The values are right by luck: one was read where the function has
        /// saved nothing, or below the stack pointer.
        ByLuck = "by-luck",
        /// The backtrace ends before the call stack does.
        Truncated = "truncated",
        /// The backtrace goes on after the call stack has ended.
        ExtraFrames = "extra-frames",
        /// No FDE covers a PC that a spec wants covered.
        NoFde = "no-fde",
        /// A CFA cannot be computed, since memory it needs cannot be read.
        BadMemory = "bad-memory",
        /// The CFA does not move towards the stack base.
        NoProgress = "no-progress",
        /// The section cannot be decoded.
        DecodeError = "decode-error",
        /// The backtrace is complete, but does not end as it should.
        WrongEnd = "wrong-end",
        /// The unwinder under test has died, in a process of its own.
        Crashed = "crashed",
        /// The unwinder under test has not answered in time.
        TimedOut = "timed-out",
        /// The answer of the unwinder under test is none that the protocol knows.
        BadAnswer = "bad-answer",
        /// A stop or a minimum of the sweep was not reached.
        NotReached = "not-reached",
        /// The call stack is not the one that the spec expects.
        UnexpectedFrames = "unexpected-frames",
        /// A known failure did not happen.
        UnexpectedPass = "unexpected-pass",
        /// A known failure happened differently.
        ChangedFailure = "changed-failure",
        /// The bench could not do its work: no verdict on anything under test.
        Broken = "broken",
    }
}

impl Verdict {
    /// Why a `known` entry may not name this verdict; `None` where it may.
    ///
    /// Only a failure of what is under test can be known. The others are
    /// success, a failure of the bench, or what is said of `known` entries.
    pub const fn not_knowable(self) -> Option<&'static str> {
        match self {
            Self::Agree => Some("`agree` is success, and no failure to be known"),
            Self::Broken => Some("`broken` is a failure of the bench, and is never expected"),
            Self::UnexpectedPass | Self::ChangedFailure => {
                Some("this verdict is about `known` entries, and cannot be in one")
            }
            Self::Crashed | Self::TimedOut | Self::BadAnswer => {
                Some("this verdict is about an unwinder, and a spec speaks of builds")
            }
            _ => None,
        }
    }
}
