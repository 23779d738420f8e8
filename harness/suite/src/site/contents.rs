//! What a site is made of.

use std::collections::BTreeMap;

use sframe_links::LinksTable;

use super::stored::Reader;
use crate::clauses::ClausesReport;
use crate::faults::FaultsReport;
use crate::report::{Changes, Report, StudyReport};

/// What a site is about.
pub struct Site<'s> {
    /// The pages of all bugs.
    pub faults: FaultsReport<'s>,
    /// What the toolchains of the corpus are, by name.
    pub toolchains: BTreeMap<String, String>,
    /// The clauses, and what proves them.
    pub clauses: ClausesReport<'s>,
    /// Runs of the corpus, the oldest first.
    pub runs: Vec<Report>,
    /// What the last run changed, if there is one before it.
    pub changes: Option<Changes>,
    /// What linkers have done.
    pub links: LinksTable,
    /// What readers have answered to the vectors.
    pub readers: Vec<Reader>,
    /// Studies of programs.
    pub studies: Vec<StudyReport>,
}
