//! Findings of a check that are known.

use std::collections::BTreeMap;

use sframe_corpus::spec::KnownFile;
use sframe_judge::finding::Finding;
use sframe_kit::text::counted;

use super::CheckReport;
use super::document::{named_by, verdicts};
use crate::case::{Outcome, SeenKnown, Settled, settle};

impl CheckReport {
    /// Separates the findings that are failures from what the format can't express, and what a file explains. Its
    /// entries that are gone or have changed become findings, with their places in the file; if the
    /// run is broken, or an unwinder was asked at some stops only, or a sample was compared, they may be gone.
    #[must_use]
    pub fn with_known(mut self, file: Option<&KnownFile>) -> Self {
        let complete = self.broken.is_none() && self.unwinder.is_none() && self.sampling.is_none();
        let findings = std::mem::take(&mut self.findings);
        let entries = file.into_iter().flat_map(KnownFile::entries);
        let Settled { known, unexpected, changed, not_looked_at } =
            settle(entries, findings, |_| complete, Some(self.abi));
        self.known_not_looked_at = if self.sampling.is_some() { not_looked_at } else { 0 };
        self.faults = file.map(|file| named_by(known.iter(), file.faults())).unwrap_or_default();
        self.known = known;
        self.findings = unexpected;
        self.findings.extend(located(changed, file));
        self.summary.verdicts = verdicts(&self.findings, &self.findings_omitted);
        self
    }

    /// The outcome, as of a case.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let is_explained = self.findings.is_empty() && self.findings_omitted.is_empty();
        match (&self.broken, is_explained, self.known.is_empty()) {
            (Some(_), ..) => Outcome::Broken,
            (None, false, _) => Outcome::Unexpected,
            _ if self.unmet.is_some() => Outcome::Unexpected,
            // What proves nothing is no result.
            _ if !self.too_little.is_empty() => Outcome::Broken,
            (None, true, false) => Outcome::Known,
            (None, true, true) => Outcome::Agree,
        }
    }
}

/// The findings of entries that are gone or have changed, with the places of the entries.
pub(super) fn located(
    changed: Vec<(usize, Finding)>,
    file: Option<&KnownFile>,
) -> impl Iterator<Item = Finding> {
    let entries: Vec<usize> = changed.iter().map(|(entry, _)| *entry).collect();
    let places = file.map(|file| file.places(&entries)).unwrap_or_default();
    changed.into_iter().zip(places).map(|((_, finding), place)| Finding {
        message: finding.message.clone().and(format_args!(" ({place})")),
        ..finding
    })
}

/// Says how many findings each fault or reason explains, most first.
pub(super) fn known_lines<'s>(known: impl Iterator<Item = &'s SeenKnown>) -> Vec<String> {
    let mut reasons: BTreeMap<_, u64> = BTreeMap::new();
    for seen in known {
        *reasons.entry(seen.explanation()).or_default() += seen.findings;
    }
    let mut reasons = Vec::from_iter(reasons);
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    reasons.into_iter().map(|(reason, count)| format!("{}: {reason}", counted(count, "finding"))).collect()
}
