//! Stacks that were recorded on real machines: samples of `perf record --call-graph dwarf`, and the threads of core dumps.
//!
//! A sample has registers and a piece of memory, and no call stack to be compared with: that several methods agree proves
//! nothing. What they differ in shows where to look, and what proves a row to be wrong is exploring it.

pub mod changes;
pub mod core_dump;
pub mod perf;
pub mod process;
pub mod read;
pub mod recording;
pub mod registers;
pub mod report;
pub mod walks;
