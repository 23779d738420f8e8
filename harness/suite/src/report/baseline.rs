//! The results that later runs must not fall below.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use sframe_judge::finding::Finding;
use sframe_kit::conclusion::Ending;
use sframe_vectors::words::of_json;

use super::changes::{CaseResults, Changed, ReportKind, case_change};
use super::identity::Asked;
use super::in_baseline::InBaseline;
use super::merge::Partial;
use super::{Report, RunIdentity};
use crate::case::{CaseReport, Outcome};
use crate::identity::{Identity, differences};

/// The version of the file format.
const SCHEMA: u32 = 2;

/// The result of each case of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a baseline, which is an object")]
pub struct Baseline {
    /// The version of the file format.
    schema: u32,
    /// What was asked of each case.
    #[serde(default)]
    asked: Asked,
    /// The results, by the cases' IDs.
    #[serde(deserialize_with = "unique")]
    cases: BTreeMap<String, CaseResults>,
}

/// Why a report can't be compared with a baseline.
#[derive(Debug, thiserror::Error)]
pub enum UnfitReport {
    /// Another version of the bench has written it.
    #[error("the report has format {0}, and this bench reads {known}", known = super::SCHEMA)]
    Schema(u32),
    /// It covers only a part of a run.
    #[error(transparent)]
    Partial(#[from] Partial),
    /// It has a case more than once.
    #[error("the report has the case {0} twice")]
    Twice(String),
    /// Something else was asked of each case.
    #[error(
        "the run had {run}, and that of the baseline {baseline}: what one has not found it may not have asked for"
    )]
    Asked {
        /// What was asked in the run.
        run: Asked,
        /// What was asked in that of the baseline.
        baseline: Asked,
    },
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

impl Report {
    /// Adds what a baseline has: reports and the last line then say which failures are none of this run.
    pub fn set_against(&mut self, baseline: &Baseline, comparison: &Comparison) {
        let mut worse: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for Change { case, what } in &comparison.worse {
            worse.entry(case.clone()).or_default().push(what.clone());
        }
        let findings = self.cases.iter().filter_map(|case| {
            let found = differences(&baseline.cases.get(&case.id)?.open(), &CaseResults::of(case).open());
            let worse = found.into_iter().filter(|difference| difference.is_worse());
            Some((case.id.clone(), worse.map(|difference| difference.finding).collect()))
        });
        let findings = findings.collect();
        self.baseline = Some(InBaseline { worse, findings, verdict: None });
    }

    /// Whether a case fails, as it does in the baseline.
    pub(super) fn is_as_in_baseline(&self, case: &CaseReport) -> bool {
        matches!(case.outcome, Outcome::Unexpected | Outcome::Broken)
            && self.baseline.as_ref().is_some_and(|baseline| {
                baseline.findings.contains_key(&case.id) && !baseline.worse.contains_key(&case.id)
            })
    }

    /// What a baseline is called here: the cases of a toolchain are compared with those of a reference.
    pub(super) fn baseline_name(&self) -> &'static str {
        self.baseline.as_ref().map_or("baseline", InBaseline::name)
    }

    /// What is said first of what is worse than in the baseline, or is not as in the reference.
    pub(super) fn worse_words(&self) -> String {
        match self.verdict_of_toolchains() {
            None => "worse than in the baseline".to_owned(),
            Some(_) => "not as in the reference".to_owned(),
        }
    }

    /// Whether the baseline has a finding of a case.
    pub(super) fn has_in_baseline(&self, case: &str, finding: &Finding) -> bool {
        let findings = self.baseline.as_ref().and_then(|baseline| baseline.findings.get(case));
        findings.is_some_and(|worse| !worse.contains(&Identity::of(finding)))
    }

    /// The verdict on toolchains, if these are their cases.
    pub(super) fn verdict_of_toolchains(&self) -> Option<Ending> {
        self.baseline.as_ref()?.verdict
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
        report.is_whole()?;
        let cases = report.cases.iter().map(|case| (case.id.clone(), CaseResults::of(case)));
        Ok(Self { schema: SCHEMA, asked: asked(report), cases: cases.collect() })
    }

    /// Checks that a report can be compared with this baseline.
    ///
    /// # Errors
    /// It has a case twice, or has another format, or other things were asked of each case.
    pub fn fits(&self, report: &Report) -> Result<(), UnfitReport> {
        Self::check(report)?;
        let (run, baseline) = (asked(report), self.asked.clone());
        if run == baseline { Ok(()) } else { Err(UnfitReport::Asked { run, baseline }) }
    }

    pub(super) fn check(report: &Report) -> Result<(), UnfitReport> {
        if report.schema != super::SCHEMA {
            return Err(UnfitReport::Schema(report.schema));
        }
        report.twice().first().map_or(Ok(()), |id| Err(UnfitReport::Twice((*id).to_owned())))
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

    /// Compares a run, as `compare` does. What its selection has, and is not there, is gone; of a shard, nothing is known
    /// of that.
    #[must_use]
    pub fn compare(&self, report: &Report) -> Comparison {
        let mut comparison = Comparison::default();
        let now: BTreeMap<&String, CaseResults> =
            report.cases.iter().map(|case| (&case.id, CaseResults::of(case))).collect();
        let ids: BTreeSet<&String> = self.cases.keys().chain(now.keys().copied()).collect();
        for id in ids {
            let pair = [self.cases.get(id), now.get(id)];
            let is_expected = RunIdentity::expects(report.run.as_ref(), report.shard, id);
            let Some(change) = case_change(id, pair[0], pair[1], ReportKind::Run, is_expected) else {
                continue;
            };
            let outcomes = match pair.map(|case| case.map(|case| case.outcome)) {
                [Some(before), Some(now)] if before.rank() != now.rank() => {
                    Some(format!("{}, was {}", now.name(), before.name()))
                }
                [None, Some(now)] => Some(format!("new, and {}", now.name())),
                _ => None,
            };
            match change.change {
                Changed::New => comparison.new.push(id.clone()),
                Changed::Gone => comparison.left_out += 1,
                Changed::Worse | Changed::Better | Changed::Changed => {
                    let is_worse = change.change == Changed::Worse;
                    let mut changes = |is_worse: bool, lines: Vec<String>| {
                        let into = if is_worse { &mut comparison.worse } else { &mut comparison.better };
                        into.extend(lines.into_iter().map(|what| Change { case: id.clone(), what }));
                    };
                    changes(is_worse, outcomes.into_iter().collect());
                    // What is known has changed, and that is neither.
                    if change.change != Changed::Changed {
                        changes(true, change.new.into_iter().filter(|_| is_worse).collect());
                        changes(false, change.gone);
                    }
                }
            }
        }
        comparison
    }

    /// Adopts the improvements of a run, and its new cases without unexpected
    /// findings. What is worse stays as it was.
    pub fn tighten(&mut self, report: &Report) {
        for case in &report.cases {
            let now = CaseResults::of(case);
            let before = self.cases.get(&case.id);
            let change = case_change(&case.id, before, Some(&now), ReportKind::Run, true);
            if change.is_none_or(|change| change.change != Changed::Worse) {
                self.cases.insert(case.id.clone(), now);
            }
        }
    }
}

fn asked(report: &Report) -> Asked {
    report.run.as_ref().map(RunIdentity::asked).unwrap_or_default()
}

/// Reads a map in which no key may be there twice: the last would hide what the others say.
fn unique<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    struct Entries<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
        type Value = BTreeMap<String, T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = BTreeMap::new();
            while let Some((key, value)) = map.next_entry::<String, T>()? {
                if entries.contains_key(&key) {
                    return Err(A::Error::custom(format!("{key} is there twice")));
                }
                entries.insert(key, value);
            }
            Ok(entries)
        }
    }

    deserializer.deserialize_map(Entries(PhantomData))
}
