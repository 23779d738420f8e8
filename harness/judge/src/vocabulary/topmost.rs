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
        /// A procedure linkage table, which the linker has made.
        LinkageTable = "linkage-table",
        /// Code that an FDE marks as that of a signal frame, such as a restorer.
        SignalFrame = "signal-frame",
        /// An outermost frame.
        OutermostFrame = "outermost-frame",
        /// Code that no row describes.
        NoRow = "no-row",
        /// Anything: the walk was wrong at a frame further out, whatever the topmost one was in.
        Caller = "caller",
    }
}
