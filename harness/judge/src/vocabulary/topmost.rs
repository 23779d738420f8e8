//! What the topmost frame of a walk was in.

use super::named::named;

named! {
    /// What the topmost frame was in when a stack was walked: what kernels ask of every instruction is asked of the
    /// rarest ones.
    pub enum Topmost, "topmost" {
        /// A row before those that cover most of its function: the frame is being set up.
        Prologue = "prologue",
        /// The rows that cover most of its function.
        Body = "body",
        /// A row with other rules, after the first of these: the frame is being torn down, or is another for a while.
        Epilogue = "epilogue",
        /// A PLT, which the linker has made.
        LinkageTable = "plt",
        /// A function through which indirect jumps or returns go, so that the CPU does not speculate: a retpoline, or a
        /// return thunk. Compilers give it a name of its own; those that are written inline are part of their function.
        Thunk = "thunk",
        /// Code that an FDE marks as that of a signal frame, such as a restorer.
        SignalFrame = "signal-frame",
        /// An outermost frame.
        OutermostFrame = "outermost-frame",
        /// Code that no row describes.
        NoRow = "no-row",
        /// A function that was called by the last instruction of another one, as only those are that never return: the
        /// return address is past the caller's end, and mostly in the next function.
        AfterNoreturnCall = "after-noreturn-call",
        /// Anything: the walk was wrong at a frame further out, whatever the topmost one was in.
        Caller = "caller",
    }
}
