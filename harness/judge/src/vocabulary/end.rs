//! How a backtrace may end.

use super::named::named;

named! {
    /// How a backtrace is expected to end.
    pub enum End, "end" {
        /// A row marks its function as the outermost frame: success.
        Outermost = "outermost",
        /// The entry function has a row that does not mark it as outermost: the
        /// unwinder reads one return address that does not exist, and finds no
        /// FDE for it.
        Unmarked = "unmarked",
        /// A frame has no FDE, and the backtrace is right up to it.
        NoFde = "no-fde",
        /// At the first function of a context that the program has made itself,
        /// or one that the dynamic linker has called, such as an initialiser;
        /// it is not marked. What lies beyond it is not part of its call stack.
        Context = "context",
        /// A frame that a signal has interrupted keeps its return address, or
        /// what its CFA depends on, in a register. Only SP and FP are known
        /// beyond the signal's frame, so that the format can't say more.
        InRegister = "in-register",
        /// A frame has gone on on a stack further down in memory, and the
        /// unwinder does not walk in that direction. The backtrace is right up
        /// to it.
        NoProgress = "no-progress",
    }
}

impl End {
    /// Whether the backtrace has every frame of the call stack.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Outermost | Self::Unmarked | Self::Context)
    }
}
