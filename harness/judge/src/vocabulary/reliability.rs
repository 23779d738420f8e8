//! What a walk is worth.

use super::named::named;

named! {
    /// What a walk is worth to whoever has to rely on it, such as a live patch: a backtrace is good if it is complete, or
    /// says that it is not.
    pub enum Reliability, "reliability" {
        /// It has all frames of the call stack and no others, and no wrong value of one: an FP that can't be read is none.
        Complete = "complete",
        /// Frames are missing, and the walk says so: it ends otherwise than at an outermost frame, or the unwinder
        /// declares it unreliable. So is a walk that goes on beyond the first of all functions, which is not marked: what it
        /// finds there is no frame.
        Incomplete = "incomplete",
        /// Frames are missing, and the walk ends as if at the outermost frame, or the unwinder declares it reliable.
        Silent = "silent",
        /// It has a frame that is not there, or a wrong value of one, whatever it says.
        Wrong = "wrong",
    }
}
