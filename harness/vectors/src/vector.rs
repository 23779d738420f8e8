//! A vector, as it is loaded.

use crate::alternative::Alternative;
use crate::expect::{Fde, Header, Lookup, Reject};
use crate::names::{FdeType, FreType, PauthKey, PcType};
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
    /// Returns how much there is to it, to show the simplest of several: what is special about it counts more than
    /// its size.
    #[must_use]
    pub fn weight(&self) -> usize {
        let special = self.section.as_ref().map_or(0, |section| {
            let of_section = [
                !section.aux.0.is_empty(),
                !section.fde_gap.0.is_empty(),
                !section.fre_gap.0.is_empty(),
                !section.trailing.0.is_empty(),
                section.row_order.is_some(),
                section.fixed_fp != 0,
                section.keep.is_some(),
            ];
            let of_fdes = section.fdes.iter().take(64).map(|fde| {
                usize::from(fde.signal)
                    + usize::from(fde.fre_type != FreType::default())
                    + usize::from(fde.pc_type != PcType::default())
                    + usize::from(fde.fde_type != FdeType::default())
                    + usize::from(fde.pauth_key != PauthKey::default())
                    + usize::from(fde.size == 0)
            });
            of_section.into_iter().map(usize::from).chain(of_fdes).sum()
        });
        100 * (special + self.readings.len() + usize::from(self.is_faulty())) + self.bytes.len()
    }

    /// Returns its group: the folder that it is in.
    #[must_use]
    pub fn group(&self) -> &str {
        self.id.split('/').next().unwrap_or_default()
    }
}
