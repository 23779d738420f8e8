//! Findings of known bugs: see [`Finding::fault`].

use std::collections::BTreeMap;

use sframe_corpus::spec::{Fault, Faults};
use sframe_judge::explore::{Certainty, ExploredFinding};
use sframe_judge::finding::{Finding, groups};

use super::document::verdicts;
use super::{CheckReport, ExploreReport};
use crate::case::SeenKnown;

impl CheckReport {
    /// Adds the pages of the faults that findings come from. If they are `accepted`, such findings are known.
    #[must_use]
    pub fn with_known_faults(mut self, faults: &Faults, accepted: bool) -> Self {
        self.faults.extend(pages(self.findings.iter(), faults));
        if accepted {
            let (of_faults, others) =
                std::mem::take(&mut self.findings).into_iter().partition::<Vec<_>, _>(is_of_fault);
            self.known.extend(known(&of_faults));
            self.findings = others;
            self.summary.verdicts = verdicts(&self.findings, &self.findings_omitted);
        }
        self
    }
}

impl ExploreReport {
    /// Adds the pages of the faults that findings come from. If they are `accepted`, those that are proved are known.
    #[must_use]
    pub fn with_known_faults(mut self, faults: &Faults, accepted: bool) -> Self {
        self.faults.extend(pages(self.findings.iter().map(|found| &found.finding), faults));
        if accepted {
            let is_known =
                |found: &ExploredFinding| found.certainty == Certainty::Proved && is_of_fault(&found.finding);
            let (of_faults, others) =
                std::mem::take(&mut self.findings).into_iter().partition::<Vec<_>, _>(is_known);
            let of_faults: Vec<Finding> = of_faults.into_iter().map(|found| found.finding).collect();
            self.known.extend(known(&of_faults));
            self.findings = others;
            self.count();
        }
        self
    }
}

const fn is_of_fault(finding: &Finding) -> bool {
    finding.fault.is_some()
}

/// The pages that findings name.
fn pages<'f>(findings: impl Iterator<Item = &'f Finding>, faults: &Faults) -> BTreeMap<String, Fault> {
    let named = findings.filter_map(|finding| finding.fault.as_ref());
    named.filter_map(|fault| Some((fault.name.clone(), faults.get(&fault.name)?.clone()))).collect()
}

/// Findings of faults, one for each cause.
fn known(findings: &[Finding]) -> Vec<SeenKnown> {
    let seen = |finding: Finding| {
        let title = finding.fault.as_ref()?.title.clone();
        let rules = finding.row.as_ref().map(|row| (row.rules.to_string(), finding.places));
        let places = finding.places;
        Some(SeenKnown::without_entry(finding, [1, places], rules.into_iter().collect(), title))
    };
    groups(findings).iter().filter_map(|group| seen(group.finding())).collect()
}
