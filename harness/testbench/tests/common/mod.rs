//! What the tests share.

use std::sync::LazyLock;

use sframe_suite::suite::{Suite, SuiteError};

#[path = "../../../judge/tests/judge/common.rs"]
mod place;

pub(crate) use place::repository;

/// The committed specs and corpus, read once for all tests of a process.
pub(crate) fn suite() -> &'static Suite {
    suite_if_right().expect("specs and corpus, whose mistakes are printed once")
}

/// The same; `None` if there are mistakes in them, which are printed.
pub(crate) fn suite_if_right() -> Option<&'static Suite> {
    static SUITE: LazyLock<Option<Suite>> = LazyLock::new(|| {
        let repository = repository();
        let opened = Suite::open(&repository.join("corpus"), &repository.join("specs"));
        opened
            .inspect_err(|error| match error {
                SuiteError::Specs(errors) => {
                    errors.iter().for_each(|error| eprintln!("{}", error.render(false)))
                }
                error => eprintln!("{error}"),
            })
            .ok()
    });
    SUITE.as_ref()
}
