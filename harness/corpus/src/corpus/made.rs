//! A build that was made.

use super::Build;

/// A complaint that did not prevent a build.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Warning {
    /// The build's id.
    pub id: String,
    /// The complaint, without the names of temporary files.
    pub message: String,
}

/// One build that was made.
pub(super) struct Made {
    pub(super) build: Build,
    pub(super) bytes: Vec<u8>,
    /// The libraries' bytes, as the build lists them.
    pub(super) libraries: Vec<Vec<u8>>,
    pub(super) warnings: Vec<Warning>,
}
