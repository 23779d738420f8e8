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
    }
}
