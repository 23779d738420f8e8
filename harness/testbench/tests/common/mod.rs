//! What the tests share.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sframe_suite::suite::Suite;

/// The top of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The committed specs and corpus, read once for all tests of a process.
pub(crate) fn suite() -> &'static Suite {
    static SUITE: LazyLock<Suite> = LazyLock::new(|| {
        let repository = repository();
        Suite::open(&repository.join("corpus"), &repository.join("specs")).unwrap_or_else(|error| {
            if let sframe_suite::suite::SuiteError::Specs(errors) = &error {
                errors.iter().for_each(|error| eprintln!("{}", error.render(false)));
            }
            panic!("{error}")
        })
    });
    &SUITE
}
