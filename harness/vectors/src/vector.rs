//! A vector, as it is loaded.

use crate::accept::Alternative;
use crate::expect::{Fde, Header, Lookup, Reject};
use crate::section::SectionSource;
use crate::step::Step;

/// A section and what a reader must answer.
#[derive(Clone, Debug, Default)]
pub struct Vector {
    /// Folder and name: `flex/amd64-drap`.
    pub id: String,
    /// What it shows.
    pub summary: String,
    /// The clauses that it proves, with their versions.
    pub clauses: Vec<String>,
    /// The readings that its answers depend on.
    pub readings: Vec<String>,
    /// Where the section is loaded.
    pub address: u64,
    /// The section.
    pub bytes: Vec<u8>,
    /// The section, field by field.
    pub section: Option<SectionSource>,
    /// Why it can't be opened.
    pub reject: Option<Reject>,
    /// Otherwise, its header.
    pub header: Option<Header>,
    /// Its functions, in the order of the section.
    pub fdes: Vec<Fde>,
    /// Look-ups.
    pub lookups: Vec<Lookup>,
    /// Steps.
    pub steps: Vec<Step>,
    /// Whether any answer is right, as long as there is one: the section breaks several rules at once.
    pub only_answered: bool,
    /// Answers that are accepted where the text is open.
    pub alternatives: Vec<Alternative>,
}

impl Vector {
    /// Returns its group: the folder that it is in.
    #[must_use]
    pub fn group(&self) -> &str {
        self.id.split('/').next().unwrap_or_default()
    }
}
