//! Where the repository is, for tests.

use std::path::{Path, PathBuf};

/// The top of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
