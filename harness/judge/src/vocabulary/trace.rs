//! What a program leaves of its calls, beside unwind data.

use super::named::named;

named! {
    /// A trace that a program leaves of its calls, and that the call stack is
    /// compared with.
    pub enum Trace, "trace" {
        /// The return addresses that amd64's calls put on the stack.
        ReturnAddresses = "return-addresses",
        /// The chain of frame records, where every function that calls another
        /// one has one: in C without optimisation, except on s390x.
        FramePointers = "frame-pointers",
        /// The backchain of s390x, in C that is compiled with `-mbackchain`.
        Backchain = "backchain",
        /// The path that the program itself records, in `bench_path`.
        RecordedPath = "recorded-path",
    }
}
