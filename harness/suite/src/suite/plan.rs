//! How cases are run.

use sframe_corpus::spec::Faults;
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::explore::Explorer;
use sframe_judge::external::isolation::Isolation;
use sframe_machine::Options;

use super::journal::Journal;
use crate::case::{Demands, UnderTest};

/// How cases are run.
#[derive(Clone)]
pub struct Plan<'p> {
    /// How programs are started.
    pub options: Options,
    /// The unwinder under test. With [`Self::isolation`], one in Rust is the
    /// workers' unwinder.
    pub unwinder: UnderTest<'p>,
    /// What is asked of each case besides its spec.
    pub demands: Demands,
    /// Where finished cases are kept, and taken from.
    pub journal: Option<&'p Journal>,
    /// If set, cases run in separate processes.
    pub isolation: Option<Isolation>,
    /// If set, says what exploring says of the rows that a case does not use.
    pub explorer: Option<Explorer>,
    /// If set, findings say which of these faults is their cause.
    pub faults: Option<&'p Faults>,
    /// Whether specs are fitted to builds that they were not written for. The
    /// given cases are fitted already; worker processes fit theirs too.
    pub is_fitted: bool,
    /// Ends the run: no further case is begun, and those that have begun are not kept.
    pub stop: StopRequest,
}

impl<'p> Plan<'p> {
    /// Runs in this process and keeps nothing.
    #[must_use]
    pub fn new(options: Options, unwinder: UnderTest<'p>) -> Self {
        Self {
            options,
            unwinder,
            demands: Demands { is_listed: false, requires_reliable: false, settles_late: false },
            journal: None,
            isolation: None,
            explorer: None,
            faults: None,
            is_fitted: false,
            stop: StopRequest::default(),
        }
    }
}
