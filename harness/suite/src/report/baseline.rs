//! The results that later runs must not fall below.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_inspect::text::counted;
use sframe_judge::finding::Finding;
use sframe_vectors::words::of_json;

use super::{Report, Selection};
use crate::case::{CaseReport, Outcome};
use crate::suite::shard::Shard;

/// The version of the file format.
const SCHEMA: u32 = 1;

/// The result of each case of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a baseline, which is an object")]
pub struct Baseline {
    /// The version of the file format.
    schema: u32,
    /// The selection of cases in its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    selection: Option<Selection>,
    /// The results, by the cases' IDs.
    cases: BTreeMap<String, BaselineCase>,
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BaselineCase {
    /// The outcome.
    outcome: Outcome,
    /// The number of rows that a topmost frame used.
    rows_exercised: u64,
    /// Verdict, function and row of each unexplained finding.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    findings: BTreeSet<String>,
}

/// Why a report can't be compared with a baseline.
#[derive(Debug, thiserror::Error)]
pub enum UnfitReport {
    /// Another version of the bench has written it.
    #[error("the report has format {0}, and this bench reads {known}", known = super::SCHEMA)]
    Schema(u32),
    /// It covers only a part of a run.
    #[error("the report is only of shard {0} of a run: `merge` joins all of them")]
    Shard(Shard),
    /// It has a case more than once.
    #[error("the report has the case {0} twice")]
    Twice(String),
}

/// Why a file is not a baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It can't be read as one.
    #[error("this is not a baseline: {}", of_json(.0))]
    Malformed(#[from] serde_json::Error),
    /// Another version of the bench has written it.
    #[error("the baseline has format {0}, and this bench reads {SCHEMA}")]
    Schema(u32),
}

impl BaselineCase {
    fn of(case: &CaseReport) -> Self {
        // Nothing more is known about findings that are only counted.
        let omitted = case.findings_omitted.iter().map(|(verdict, count)| format!("{count} more {verdict}"));
        let findings = case.findings.iter().map(key).chain(omitted).collect();
        Self { outcome: case.outcome, rows_exercised: case.rows.exercised, findings }
    }

    /// The rank of a result: the higher, the worse.
    const fn rank(&self) -> u8 {
        rank(self.outcome)
    }
}

/// The rank of an outcome: the higher, the worse.
pub(super) const fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Agree | Outcome::Known => 0,
        Outcome::Unexpected => 1,
        Outcome::Skipped => 2,
        Outcome::Broken => 3,
    }
}

/// Identifies the subject of a finding, independently of addresses.
pub(super) fn key(finding: &Finding) -> String {
    let mut key = finding.verdict.to_string();
    for part in [finding.image.as_deref(), finding.function.as_deref()].into_iter().flatten() {
        key += &format!(" {part}");
    }
    if let Some(row) = &finding.row {
        key += &format!(" +{}", row.start);
    }
    key
}

/// A difference between a run and its baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The case.
    pub case: String,
    /// What has changed, for people.
    pub what: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.case, self.what)
    }
}

/// The result of comparing a run with its baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// What has become worse.
    pub worse: Vec<Change>,
    /// What has become better.
    pub better: Vec<Change>,
    /// Cases without unexpected findings that the baseline does not have.
    pub new: Vec<String>,
    /// Number of cases of the baseline that the run was not meant to have.
    pub left_out: u64,
}

/// What a baseline has of a run's cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InBaseline {
    /// What is worse, by case. A case may be there no more.
    pub(super) worse: BTreeMap<String, Vec<String>>,
    /// The findings of each case, by their keys.
    findings: BTreeMap<String, BTreeSet<String>>,
}

impl Report {
    /// Adds what a baseline has: reports and the last line then say which failures are none of this run.
    pub fn set_against(&mut self, baseline: &Baseline, comparison: &Comparison) {
        let mut worse: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for Change { case, what } in &comparison.worse {
            worse.entry(case.clone()).or_default().push(what.clone());
        }
        let cases = baseline.cases.iter();
        let findings = cases.map(|(id, case)| (id.clone(), case.findings.clone())).collect();
        self.baseline = Some(InBaseline { worse, findings });
    }

    /// Whether a case fails, as it does in the baseline.
    pub(super) fn is_as_in_baseline(&self, case: &CaseReport) -> bool {
        matches!(case.outcome, Outcome::Unexpected | Outcome::Broken)
            && self.baseline.as_ref().is_some_and(|baseline| {
                baseline.findings.contains_key(&case.id) && !baseline.worse.contains_key(&case.id)
            })
    }

    /// Whether the baseline has a finding of a case.
    pub(super) fn has_in_baseline(&self, case: &str, finding: &Finding) -> bool {
        let findings = self.baseline.as_ref().and_then(|baseline| baseline.findings.get(case));
        findings.is_some_and(|findings| findings.contains(&key(finding)))
    }

    /// What is worse than in the baseline, by case. A case may be there no more.
    pub(super) fn worse(&self) -> impl Iterator<Item = (&str, &[String])> {
        let worse = self.baseline.iter().flat_map(|baseline| &baseline.worse);
        worse.map(|(case, what)| (case.as_str(), what.as_slice()))
    }

    /// What is worse of a case than in the baseline.
    pub(super) fn worse_of(&self, case: &str) -> &[String] {
        self.baseline.as_ref().and_then(|baseline| baseline.worse.get(case)).map_or(&[], Vec::as_slice)
    }

    /// How many cases are worse than in the baseline, and how many fail as they do there.
    pub(super) fn against_baseline(&self) -> Option<[u64; 2]> {
        let baseline = self.baseline.as_ref()?;
        let same = self.cases.iter().filter(|case| self.is_as_in_baseline(case)).count();
        Some([baseline.worse.len() as u64, same as u64])
    }
}

impl Baseline {
    /// Makes a baseline from all results of a whole run, good or bad.
    ///
    /// # Errors
    /// The report covers only a part of a run, has a case twice, or has another
    /// format.
    pub fn of(report: &Report) -> Result<Self, UnfitReport> {
        Self::check(report)?;
        if let Some(shard) = report.shard.filter(|shard| shard.of() > 1) {
            return Err(UnfitReport::Shard(shard));
        }
        let cases = report.cases.iter().map(|case| (case.id.clone(), BaselineCase::of(case)));
        let selection = report.run.as_ref().map(|run| run.selection.clone());
        Ok(Self { schema: SCHEMA, selection, cases: cases.collect() })
    }

    /// Checks that a report can be compared with a baseline.
    ///
    /// # Errors
    /// It has a case twice, or has another format.
    pub fn check(report: &Report) -> Result<(), UnfitReport> {
        if report.schema != super::SCHEMA {
            return Err(UnfitReport::Schema(report.schema));
        }
        report.twice().first().map_or(Ok(()), |id| Err(UnfitReport::Twice((*id).to_owned())))
    }

    /// Whether a run was meant to have all cases that the baseline's had: it is
    /// not a shard, and the selection is the same.
    #[must_use]
    pub fn is_whole(&self, report: &Report) -> bool {
        let selection = report.run.as_ref().map(|run| &run.selection);
        let is_all = selection.is_none_or(|selection| {
            selection.is_everything() || self.selection.as_ref().is_some_and(|own| own.is_same(selection))
        });
        report.shard.is_none_or(|shard| shard.of() == 1) && is_all
    }

    /// Reads the text of a baseline.
    ///
    /// # Errors
    /// It is not a baseline, or has another format.
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let baseline: Self = serde_json::from_str(text)?;
        if baseline.schema == SCHEMA { Ok(baseline) } else { Err(BaselineError::Schema(baseline.schema)) }
    }

    /// Returns the text of the file.
    ///
    /// # Errors
    /// None, for any baseline.
    pub fn text(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Compares a run. If `is_whole`, it has all cases, so that any missing
    /// ones are gone.
    #[must_use]
    pub fn compare(&self, report: &Report, is_whole: bool) -> Comparison {
        let mut comparison = Comparison::default();
        let mut seen = BTreeSet::new();
        for case in &report.cases {
            seen.insert(&case.id);
            let now = BaselineCase::of(case);
            match self.cases.get(&case.id) {
                Some(before) => compare_case(&case.id, before, &now, &mut comparison),
                None if now.rank() == 0 => comparison.new.push(case.id.clone()),
                None => {
                    let reason = case.reason.as_deref().map_or_else(String::new, |why| format!(": {why}"));
                    let findings = now.findings.into_iter().collect::<Vec<_>>().join(", ");
                    let what = format!("new, and {}{reason} {findings}", name(now.outcome));
                    comparison.worse.push(Change { case: case.id.clone(), what: what.trim_end().to_owned() });
                }
            }
        }
        let gone = self.cases.keys().filter(|case| !seen.contains(case));
        if is_whole {
            let gone = gone.map(|case| Change { case: case.clone(), what: "no longer run".to_owned() });
            comparison.worse.extend(gone);
        } else {
            comparison.left_out = gone.count() as u64;
        }
        comparison
    }

    /// Adopts the improvements of a run, and its new cases without unexpected
    /// findings. What is worse stays as it was.
    pub fn tighten(&mut self, report: &Report) {
        for case in &report.cases {
            let now = BaselineCase::of(case);
            match self.cases.get_mut(&case.id) {
                Some(before) => {
                    if now.rank() < before.rank() {
                        before.outcome = now.outcome;
                    }
                    // A broken or skipped case has looked for nothing.
                    if now.rank() <= 1 {
                        before.findings.retain(|finding| now.findings.contains(finding));
                    }
                    before.rows_exercised = before.rows_exercised.max(now.rows_exercised);
                }
                None if now.rank() == 0 => {
                    self.cases.insert(case.id.clone(), now);
                }
                None => {}
            }
        }
    }
}

/// An outcome, as documents have it.
pub(super) fn name(outcome: Outcome) -> String {
    format!("{outcome:?}").to_lowercase()
}

fn compare_case(id: &str, before: &BaselineCase, now: &BaselineCase, comparison: &mut Comparison) {
    let change = |what: String| Change { case: id.to_owned(), what };
    let outcomes = || change(format!("{}, was {}", name(now.outcome), name(before.outcome)));
    match now.rank().cmp(&before.rank()) {
        std::cmp::Ordering::Greater => comparison.worse.push(outcomes()),
        std::cmp::Ordering::Less => comparison.better.push(outcomes()),
        std::cmp::Ordering::Equal => {}
    }
    if now.rank() > 1 {
        return;
    }
    let new = now.findings.difference(&before.findings);
    comparison.worse.extend(new.map(|finding| change(format!("new: {finding}"))));
    let gone = before.findings.difference(&now.findings);
    comparison.better.extend(gone.map(|finding| change(format!("gone: {finding}"))));
    let rows = |(old, new): (u64, u64)| change(format!("{} exercised, and were {old}", counted(new, "row")));
    match now.rows_exercised.cmp(&before.rows_exercised) {
        std::cmp::Ordering::Less => comparison.worse.push(rows((before.rows_exercised, now.rows_exercised))),
        std::cmp::Ordering::Greater => {
            comparison.better.push(rows((before.rows_exercised, now.rows_exercised)));
        }
        std::cmp::Ordering::Equal => {}
    }
}
