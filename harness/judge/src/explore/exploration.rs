//! What exploring a file has shown.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::certainty::{Certainty, Doubt};
use super::pc_set::PcSet;
use super::rows::{FunctionRows, RowCounts, RowId, RowState};
use crate::finding::Finding;
use crate::target::Target;
use sframe_elf::kernel::FormKind;

/// A wrong row, or one that may be.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ExploredFinding {
    /// Whether the row is wrong.
    pub certainty: Certainty,
    /// Why that is not proved. Empty if it is.
    pub doubts: Vec<Doubt>,
    /// What the path assumes on which it was seen.
    pub assumptions: Vec<String>,
    /// The form of a kernel's code in which it was seen, if it is not the one of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<FormKind>,
    /// The code at its places, if it differs: the instruction after the one before it, and at how many places.
    #[serde(default, skip_serializing_if = "is_one")]
    pub codes: BTreeMap<String, u64>,
    /// The finding. Its places are the instructions at which the row was seen to be wrong.
    #[serde(flatten)]
    pub finding: Finding,
}

fn is_one(codes: &BTreeMap<String, u64>) -> bool {
    codes.len() < 2
}

impl ExploredFinding {
    /// Says in words why it is not proved. Empty if it is.
    #[must_use]
    pub fn doubts_text(&self) -> String {
        let doubts: Vec<&str> = self.doubts.iter().map(|doubt| doubt.says()).collect();
        doubts.join("; ")
    }

    /// Adds what was seen of the same cause at another place.
    fn merge(&mut self, other: &Self) {
        let (hits, places) =
            (self.finding.hits + other.finding.hits, self.finding.places + other.finding.places);
        let mut codes = std::mem::take(&mut self.codes);
        *codes.entry(other.code()).or_default() += other.finding.places;
        if (other.certainty, other.doubts.len()) < (self.certainty, self.doubts.len()) {
            *self = other.clone();
        }
        (self.finding.hits, self.finding.places, self.codes) = (hits, places, codes);
    }

    /// The instruction of a place, after the one before it.
    fn code(&self) -> String {
        let Finding { pc, listing, .. } = &self.finding;
        let at = listing.iter().position(|listed| Some(listed.pc) == *pc);
        let lines = at.map_or(&[][..], |at| &listing[at.saturating_sub(1)..=at]);
        let texts: Vec<&str> = lines.iter().map(|listed| listed.text.as_str()).collect();
        texts.join("; ")
    }

    /// A finding about a list of known ones, or about the section as a whole, and not about a row.
    #[must_use]
    pub const fn of_no_row(finding: Finding) -> Self {
        Self {
            certainty: Certainty::Proved,
            doubts: Vec::new(),
            assumptions: Vec::new(),
            form: None,
            codes: BTreeMap::new(),
            finding,
        }
    }
}

/// What is wrong at one place, and what of.
#[derive(Debug)]
pub(super) struct FoundPlace {
    pub(super) of: Subject,
    pub(super) found: ExploredFinding,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// The section as a whole.
    Section,
    /// A row.
    Row(RowId),
    /// A function where it has no row, by its entry.
    Function(u64),
}

/// What exploring a file has shown.
#[derive(Debug, Default)]
pub struct Exploration {
    /// Functions that were explored.
    pub functions: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// The rows.
    pub rows: RowCounts,
    /// Those of each function.
    pub of_functions: Vec<FunctionRows>,
    /// Where rows have agreed on some path, by loaded addresses.
    pub(super) agreed: Vec<PcSet>,
    /// What is known of each row.
    pub(super) states: FxHashMap<RowId, RowState>,
    /// What is wrong, at each place.
    pub(super) places: Vec<FoundPlace>,
    /// Whether it was ended early.
    pub was_interrupted: bool,
}

impl Exploration {
    /// Puts the faults of the sections as a whole first, and takes away what merely follows from them.
    #[must_use]
    pub fn with_section_faults(mut self, target: &Target<'_>) -> Self {
        let faults = target.section_faults().into_iter().map(ExploredFinding::of_no_row);
        let is_consequence = target.consequences();
        self.places.retain(|place| !is_consequence(&place.found.finding));
        self.places.splice(0..0, faults.map(|found| FoundPlace { of: Subject::Section, found }));
        self
    }

    /// What was found at each place.
    pub fn places(&self) -> impl Iterator<Item = &ExploredFinding> {
        self.places.iter().map(|place| &place.found)
    }

    /// What was found at each place. A row may be wrong for several reasons: a known bug is that of places.
    pub fn each_place(&mut self) -> impl Iterator<Item = &mut Finding> {
        self.places.iter_mut().map(|place| &mut place.found.finding)
    }

    /// What is wrong, the proved ones first: one finding for each verdict, cause, hint and row, and for what has no row
    /// of each function, where it is surest, or else at the first place.
    #[must_use]
    pub fn findings(&self) -> Vec<ExploredFinding> {
        let mut findings: Vec<ExploredFinding> = Vec::new();
        let mut known = FxHashMap::default();
        for FoundPlace { of, found } in &self.places {
            let Finding { verdict, blame, fault, hint, .. } = &found.finding;
            let fault = fault.as_ref().map(|fault| &fault.name);
            let cause = (*of, *verdict, *blame, fault, hint.as_ref(), found.form);
            let next = findings.len();
            let index = if *of == Subject::Section { next } else { *known.entry(cause).or_insert(next) };
            match findings.get_mut(index) {
                Some(known) => known.merge(found),
                None => {
                    let codes = BTreeMap::from([(found.code(), found.finding.places)]);
                    findings.push(ExploredFinding { codes, ..found.clone() });
                }
            }
        }
        let whole = self.places.iter().take_while(|place| place.of == Subject::Section).count();
        findings[whole..].sort_by_key(|found| (found.certainty, found.finding.pc.map(|pc| pc.0)));
        findings
    }

    /// Returns the instructions whose rows have agreed on some path, by loaded addresses.
    pub fn agreed(&self) -> impl Iterator<Item = u64> {
        self.agreed.iter().flat_map(PcSet::iter)
    }
}
