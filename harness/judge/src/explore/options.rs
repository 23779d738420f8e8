//! How far functions are explored.

use serde::{Deserialize, Serialize};

/// How far functions are explored.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct ExploreOptions {
    /// A function is given up after this number of instructions, with each seed.
    pub budget: u64,
}

impl Default for ExploreOptions {
    fn default() -> Self {
        Self { budget: 200_000 }
    }
}
