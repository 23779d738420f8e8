//! Places that are examined closely.

use crate::compare::WalkEnd;

/// A place that a spec wants examined closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// The address, with load bias.
    pub pc: u64,
    /// The number of the arrival, from 1.
    pub hit: u32,
}

/// What was seen at a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The names of the call stack's frames, starting at the topmost.
    pub frames: Vec<String>,
    /// How the backtrace ended there.
    pub end: WalkEnd,
    /// Where it ended: the address by which its last frame was looked up.
    pub ended_at: u64,
}
