//! The outcome of one comparison.

use super::named::named;

named! {
    /// The outcome of one comparison.
    pub enum Verdict, "verdict" {
        /// Backtrace and call stack are the same.
        Agree = "agree",
        /// A row's rule gives another CFA than the call stack has.
        WrongCfa = "wrong-cfa",
        /// A row's rule gives another return address than the call stack has, or
        /// another signature.
        WrongRa = "wrong-ra",
        /// A row's rule gives another frame pointer of the caller than the call
        /// stack has.
        WrongFp = "wrong-fp",
        /// A rule gives the right value, but reads it below SP, beyond what the ABI protects there, or
        /// where the function has saved nothing.
        ByLuck = "by-luck",
        /// The backtrace ends before the call stack does.
        Truncated = "truncated",
        /// The backtrace continues past the end of the call stack.
        ExtraFrames = "extra-frames",
        /// Code has no FDE, where a spec demands a whole backtrace.
        NoFde = "no-fde",
        /// A CFA depends on memory that can't be read.
        BadMemory = "bad-memory",
        /// The unwinder gave up: the CFA does not move towards the base of the
        /// stack.
        NoProgress = "no-progress",
        /// The section is malformed, was not merged, is stale, or speaks of addresses outside its image.
        DecodeError = "decode-error",
        /// The backtrace is whole, but does not end as it should.
        WrongEnd = "wrong-end",
        /// The backtrace is right as far as it goes, ends before the call stack does, and says so. A failure where only
        /// complete ones are good enough (`--require-reliable`).
        Incomplete = "incomplete",
        /// The backtrace ends before the call stack does, and the unwinder under test declares it reliable.
        Silent = "silent",
        /// The backtrace is wrong, and the unwinder under test declares it reliable.
        FalselyReliable = "falsely-reliable",
        /// The unwinder under test ended before it answered.
        Crashed = "crashed",
        /// The unwinder under test did not answer in time.
        TimedOut = "timed-out",
        /// The answer of the unwinder under test violates the protocol.
        BadAnswer = "bad-answer",
        /// A stop or a minimum of the sweep was not reached.
        NotReached = "not-reached",
        /// The call stack is not the one that the spec expects.
        UnexpectedFrames = "unexpected-frames",
        /// A known failure is gone.
        UnexpectedPass = "unexpected-pass",
        /// A known failure is now another one.
        ChangedFailure = "changed-failure",
        /// The bench could not do its work: no verdict on anything under test.
        Broken = "broken",
    }
}

impl Verdict {
    /// Whether it is about what a spec or a list expects, and not about a row.
    pub const fn is_of_specs(self) -> bool {
        matches!(self, Self::NotReached | Self::UnexpectedFrames | Self::UnexpectedPass)
    }

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
            Self::Crashed | Self::TimedOut | Self::BadAnswer | Self::Silent | Self::FalselyReliable => {
                Some("this verdict is about an unwinder, and a spec speaks of builds")
            }
            Self::Incomplete => Some("a spec says with `ends` how backtraces end"),
            _ => None,
        }
    }
}
