//! Two reports beside one another: what is new, gone or changed, by cause and by case.

mod results;
mod shown;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use results::{ReportKind, Results, UnreadReport};
pub use shown::{changes_html, changes_markdown, changes_text};

use super::SCHEMA;
use super::baseline::rank;
use crate::case::Outcome;
use crate::provenance::Provenance;
use results::{CaseResults, Cause, Found};
use sframe_judge::compare::{ByTopmost, Reliabilities};
use sframe_judge::vocabulary::{Topmost, Verdict};

/// How two reports differ.
#[derive(Clone, Debug, Serialize)]
pub struct Changes {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Where the first report comes from.
    pub before: Option<Provenance>,
    /// Where the second one does.
    pub after: Option<Provenance>,
    /// How their runs differ: `name: before / after`.
    pub runs: Vec<String>,
    /// Cases of each.
    pub cases_of: [u64; 2],
    /// Cases of both in which nothing has changed.
    pub unchanged: u64,
    /// Causes with another number of cases, of those that both have and could judge.
    pub causes: Vec<CauseChange>,
    /// What the walks were worth, where that has changed; of those that both have and could judge.
    pub reliability: Vec<ReliabilityChange>,
    /// Cases in which something has changed.
    pub cases: Vec<CaseChange>,
}

/// What has become of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Changed {
    /// It is worse than before.
    Worse,
    /// It was not there before.
    New,
    /// It is different, and neither worse nor better.
    Changed,
    /// It is better than before.
    Better,
    /// It is not there any more.
    Gone,
}

impl std::fmt::Display for Changed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Worse => "worse",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Better => "better",
            Self::Gone => "gone",
        })
    }
}

/// A cause, and how many cases have it.
#[derive(Clone, Debug, Serialize)]
pub struct CauseChange {
    /// The fault or the reason, if it is known; or else the verdict and the component to blame.
    pub cause: String,
    /// Whether somebody has explained it.
    pub known: bool,
    /// What has become of it.
    pub change: Changed,
    /// Cases with it, before and after.
    pub cases: [u64; 2],
}

/// What the walks were worth whose topmost frame was in something.
#[derive(Clone, Debug, Serialize)]
pub struct ReliabilityChange {
    /// What it was in.
    pub topmost: Topmost,
    /// The number of walks of each worth, before and after.
    pub walks: [Reliabilities; 2],
}

/// A case in which something has changed.
#[derive(Clone, Debug, Serialize)]
pub struct CaseChange {
    /// The case; of a report of a file, the file.
    pub case: String,
    /// What has become of it.
    pub change: Changed,
    /// Its outcomes, before and after.
    pub outcomes: [Option<Outcome>; 2],
    /// Why it is broken or skipped now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Verdict, function and row of new findings, with their causes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<String>,
    /// Verdict, function and row of findings that are gone, with their causes; empty if the case is gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Rows exercised, before and after; of an explored file, rows judged.
    pub rows: [u64; 2],
}

impl Changes {
    /// Compares two reports. If each is about one file, these are compared, whatever their names.
    #[must_use]
    pub fn between(before: &Results, after: &Results) -> Self {
        let mut earlier = before.cases.clone();
        if before.kind.is_of_a_file()
            && after.kind.is_of_a_file()
            && let (Some((_, case)), Some(name)) = (before.cases.first_key_value(), after.cases.keys().next())
        {
            earlier = BTreeMap::from([(name.clone(), case.clone())]);
        }
        let names: BTreeSet<&String> = earlier.keys().chain(after.cases.keys()).collect();
        let mut cases: Vec<CaseChange> = Vec::new();
        let mut unchanged = 0;
        for name in names {
            match case_change(name, earlier.get(name), after.cases.get(name)) {
                Some(change) => cases.push(change),
                None => unchanged += 1,
            }
        }
        cases.sort_by_key(|case| case.change);
        let runs = before.run.as_ref().zip(after.run.as_ref());
        Self {
            schema: SCHEMA,
            before: before.provenance.clone(),
            after: after.provenance.clone(),
            runs: runs.map(|(before, after)| before.differences(after)).unwrap_or_default(),
            cases_of: [before.cases.len() as u64, after.cases.len() as u64],
            unchanged,
            causes: cause_changes(&earlier, &after.cases),
            reliability: reliability_changes(&earlier, &after.cases),
            cases,
        }
    }

    /// Whether something is worse.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.cases.iter().any(|case| case.change == Changed::Worse)
    }

    /// Whether no case is in both.
    #[must_use]
    pub fn has_nothing_in_common(&self) -> bool {
        let is_in_both = |case: &CaseChange| case.outcomes.iter().all(Option::is_some);
        self.unchanged == 0 && !self.cases.iter().any(is_in_both)
    }

    /// Cases that have changed in a way.
    pub(super) fn count(&self, change: Changed) -> u64 {
        self.cases.iter().filter(|case| case.change == change).count() as u64
    }
}

/// Says what was found, and what it comes from. A place begins with its verdict, which is not repeated.
fn found_at(place: &str, cause: &Cause) -> String {
    let verdict = place.split(' ').next().unwrap_or_default();
    let rest = cause.name.strip_prefix(verdict).and_then(|rest| rest.strip_prefix(", "));
    format!("{place}: {}", rest.unwrap_or(&cause.name))
}

fn case_change(name: &str, before: Option<&CaseResults>, after: Option<&CaseResults>) -> Option<CaseChange> {
    let found = |case: Option<&CaseResults>| case.map(|case| case.found.clone()).unwrap_or_default();
    let (was, is) = (found(before), found(after));
    let only = |one: &Found, other: &Found| -> Vec<String> {
        one.difference(other).map(|(place, cause)| found_at(place, cause)).collect()
    };
    // A case that could not be judged has looked for nothing, and neither has one that was not run.
    let both = before.is_none_or(CaseResults::is_judged) && after.is_none_or(CaseResults::is_judged);
    let mut new = if both { only(&is, &was) } else { Vec::new() };
    let mut gone = if both && after.is_some() { only(&was, &is) } else { Vec::new() };
    let [more, fewer] = if both { omitted(before, after) } else { Default::default() };
    let (is_more, is_fewer) = (!more.is_empty(), !fewer.is_empty());
    new.extend(more);
    gone.extend(fewer.into_iter().filter(|_| after.is_some()));
    let [causes_were, causes_are] = open_causes(&was, &is);
    let is_worse = both && !causes_are.is_subset(&causes_were);
    let is_better = both && !causes_were.is_subset(&causes_are);
    let change = match (before, after) {
        (None, None) => return None,
        (None, Some(after)) if rank(after.outcome) > 0 => Changed::Worse,
        (None, Some(_)) => Changed::New,
        (Some(_), None) => Changed::Gone,
        (Some(before), Some(after)) => match rank(after.outcome).cmp(&rank(before.outcome)) {
            std::cmp::Ordering::Greater => Changed::Worse,
            std::cmp::Ordering::Less => Changed::Better,
            std::cmp::Ordering::Equal if is_more || is_worse => Changed::Worse,
            std::cmp::Ordering::Equal if is_fewer || is_better => Changed::Better,
            std::cmp::Ordering::Equal if both && after.unreliable() > before.unreliable() => Changed::Worse,
            std::cmp::Ordering::Equal if both && after.unreliable() < before.unreliable() => Changed::Better,
            std::cmp::Ordering::Equal if after.rows_exercised < before.rows_exercised => Changed::Worse,
            std::cmp::Ordering::Equal
                if !new.is_empty()
                    || !gone.is_empty()
                    || after.outcome != before.outcome
                    || after.reason != before.reason =>
            {
                Changed::Changed
            }
            std::cmp::Ordering::Equal if after.rows_exercised > before.rows_exercised => Changed::Better,
            std::cmp::Ordering::Equal => return None,
        },
    };
    let rows = |case: Option<&CaseResults>| case.map_or(0, |case| case.rows_exercised);
    Some(CaseChange {
        case: name.to_owned(),
        change,
        outcomes: [before.map(|case| case.outcome), after.map(|case| case.outcome)],
        reason: after.and_then(|case| case.reason.clone()),
        new,
        gone,
        rows: [rows(before), rows(after)],
    })
}

/// Where something is wrong that nobody has accepted, each with the known fault that it looks like: a row may be wrong
/// for several reasons. What is only recognised now is the same as before.
fn open_causes<'f>(was: &'f Found, is: &'f Found) -> [BTreeSet<(&'f str, Option<&'f str>)>; 2] {
    let causes = |found: &'f Found| -> BTreeSet<(&'f str, Option<&'f str>)> {
        let open = found.iter().filter(|(_, cause)| !cause.is_known);
        open.map(|(place, cause)| (place.as_str(), cause.looks_like.as_deref())).collect()
    };
    let (mut before, mut after) = (causes(was), causes(is));
    let unnamed: Vec<_> = before.iter().copied().filter(|(_, fault)| fault.is_none()).collect();
    for cause in unnamed.into_iter().filter(|cause| !after.contains(cause)).collect::<Vec<_>>() {
        let named = after.iter().copied().find(|named| named.0 == cause.0 && !before.contains(named));
        if let Some(named) = named {
            before.remove(&cause);
            after.remove(&named);
        }
    }
    [before, after]
}

/// Returns what there is more of, and what less, of findings that are only counted.
fn omitted(before: Option<&CaseResults>, after: Option<&CaseResults>) -> [Vec<String>; 2] {
    let of = |case: Option<&CaseResults>| case.map(|case| case.omitted.clone()).unwrap_or_default();
    let beyond = |one: &BTreeMap<Verdict, u64>, other: &BTreeMap<Verdict, u64>| {
        let counts =
            one.iter().map(|(verdict, count)| (verdict, *count, other.get(verdict).copied().unwrap_or(0)));
        counts
            .filter(|(_, count, other)| count > other)
            .map(|(verdict, count, other)| {
                format!("{verdict}: {count} findings that are only counted, not {other}")
            })
            .collect()
    };
    let (was, is) = (of(before), of(after));
    [beyond(&is, &was), beyond(&was, &is)]
}

/// The cases that both reports have judged.
fn judged_by_both<'c>(
    before: &'c BTreeMap<String, CaseResults>,
    after: &'c BTreeMap<String, CaseResults>,
) -> impl Iterator<Item = [&'c CaseResults; 2]> {
    let pairs = before.iter().filter_map(|(name, case)| Some([case, after.get(name)?]));
    pairs.filter(|pair| pair.iter().all(|case| case.is_judged()))
}

/// Counts what the walks were worth.
fn reliability_changes(
    before: &BTreeMap<String, CaseResults>,
    after: &BTreeMap<String, CaseResults>,
) -> Vec<ReliabilityChange> {
    let mut sides = [ByTopmost::default(), ByTopmost::default()];
    for pair in judged_by_both(before, after) {
        sides.iter_mut().zip(pair).for_each(|(side, case)| side.add(&case.reliability));
    }
    let all: BTreeSet<Topmost> = sides.iter().flat_map(|side| side.0.keys().copied()).collect();
    let of = |topmost| sides.each_ref().map(|side| side.0.get(&topmost).copied().unwrap_or_default());
    let changes = all.into_iter().map(|topmost| ReliabilityChange { topmost, walks: of(topmost) });
    changes.filter(|change| change.walks[0] != change.walks[1]).collect()
}

/// Counts in how many cases each cause was seen. What only one of the reports has judged would not show
/// whether a cause is new or gone.
fn cause_changes(
    before: &BTreeMap<String, CaseResults>,
    after: &BTreeMap<String, CaseResults>,
) -> Vec<CauseChange> {
    let mut counts: BTreeMap<Cause, [u64; 2]> = BTreeMap::new();
    for pair in judged_by_both(before, after) {
        for (side, case) in pair.into_iter().enumerate() {
            let causes: BTreeSet<&Cause> = case.found.iter().map(|(_, cause)| cause).collect();
            for cause in causes {
                counts.entry(cause.clone()).or_default()[side] += 1;
            }
        }
    }
    let mut changes: Vec<CauseChange> = counts
        .into_iter()
        .filter(|(_, [before, after])| before != after)
        .map(|(cause, cases)| {
            let change = match cases {
                [0, _] => Changed::New,
                [_, 0] => Changed::Gone,
                [before, after] if after > before => Changed::Worse,
                _ => Changed::Better,
            };
            CauseChange { cause: cause.name, known: cause.is_known, change, cases }
        })
        .collect();
    // What nobody has explained comes first.
    changes.sort_by_key(|change| (change.known, change.change));
    changes
}
