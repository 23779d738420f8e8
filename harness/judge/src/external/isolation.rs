//! Work in separate processes: how they are started, and their limits.

use std::time::Duration;

/// How workers are started, and their limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// The command that starts one: it has to serve what it is asked.
    pub worker: Vec<String>,
    /// Memory of a worker, in bytes, without the addresses that the emulator reserves.
    pub memory: u64,
    /// Time limit for a request.
    pub timeout: Duration,
}

/// The longest line that a worker writes, in bytes.
pub const LONGEST_LINE: usize = 512 << 20;
