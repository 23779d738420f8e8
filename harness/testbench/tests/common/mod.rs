//! What the tests share.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sframe_suite::suite::{Suite, SuiteError};

/// The top of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The committed specs and corpus, read once for all tests of a process.
pub(crate) fn suite() -> &'static Suite {
    static SUITE: LazyLock<Option<Suite>> =
        LazyLock::new(|| open().inspect_err(|text| eprint!("{text}")).ok());
    SUITE.as_ref().expect("specs and corpus, whose mistakes are printed once")
}

/// Opens the committed specs and corpus; the error is for people.
pub(crate) fn open() -> Result<Suite, String> {
    let repository = repository();
    Suite::open(&repository.join("corpus"), &repository.join("specs")).map_err(|error| match &error {
        SuiteError::Specs(errors) => {
            errors.iter().map(|error| format!("{}\n", error.render(false))).collect()
        }
        error => format!("{error}\n"),
    })
}
