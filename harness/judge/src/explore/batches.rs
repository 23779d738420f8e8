//! Functions that are explored together.

use super::partial::Partial;

/// Says which functions are explored, and takes the results.
pub(super) trait Batches {
    /// Returns the entries of the next functions; `None` at the end.
    fn next(&mut self) -> Option<Vec<u64>>;

    /// Takes what these functions have shown.
    fn explored(&mut self, partial: Partial);
}
