//! How cases are run.

use std::time::Duration;

use sframe_machine::Options;

use super::journal::Journal;
use crate::case::UnderTest;

/// How cases are run.
#[derive(Clone)]
pub struct Plan<'p> {
    /// How programs are started.
    pub options: Options,
    /// The unwinder under test. With [`Self::isolation`], one in Rust is that
    /// of the workers.
    pub unwinder: UnderTest<'p>,
    /// Whether the code is listed with what was seen there.
    pub is_listed: bool,
    /// Where finished cases are kept, and taken from.
    pub journal: Option<&'p Journal>,
    /// Cases are run in processes of their own.
    pub isolation: Option<Isolation>,
    /// Whether specs are fitted to builds that they were not written for: the
    /// cases' have been, and those processes do the same.
    pub is_fitted: bool,
}

/// How workers are started, and what they may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// The command that starts one: it has to call [`serve`].
    pub worker: Vec<String>,
    /// Address space that a worker may have, in bytes. The emulator alone takes
    /// more than 1 GiB of it, most of which it never touches.
    pub memory: u64,
    /// How long a case may take.
    pub timeout: Duration,
}

impl<'p> Plan<'p> {
    /// In this process, and nothing is kept.
    #[must_use]
    pub const fn new(options: Options, unwinder: UnderTest<'p>) -> Self {
        Self { options, unwinder, is_listed: false, journal: None, isolation: None, is_fitted: false }
    }
}
