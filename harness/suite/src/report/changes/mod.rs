//! Two reports beside one another: what is new, gone or changed, by cause and by case.

mod results;
mod shown;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sframe_kit::conclusion::Ending;
use sframe_kit::text::grouped;

pub(super) use results::CaseResults;
pub use results::{ReportKind, Results, UnreadReport};
pub use shown::{changes_html, changes_markdown, changes_text};

use super::{NoResult, RunIdentity, SCHEMA};
use crate::case::Outcome;
use crate::identity::{Difference, Places, differences};
use crate::provenance::Provenance;
use results::{Cause, Measure};
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
    /// Cases of both that the second report has judged.
    #[serde(skip)]
    pub compared: u64,
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
    /// What reports call them.
    #[serde(skip)]
    pub said: [Option<String>; 2],
    /// Why it is broken or skipped now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is new or worse: verdict, function and row of findings, with their causes, and what else is
    /// worse, with both numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<String>,
    /// What is gone or better, likewise; empty if the case is gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Rows exercised, before and after; of an explored file, rows judged.
    pub rows: [u64; 2],
}

impl Changes {
    /// Compares two reports. If each is about one file, these are compared, whatever their names; files of folders that have
    /// no name in common are compared by the ends of their names.
    #[must_use]
    pub fn between(before: &Results, after: &Results) -> Self {
        let (mut earlier, mut later) = (before.cases.clone(), after.cases.clone());
        let are_files = before.kind.is_of_a_file() && after.kind.is_of_a_file();
        if are_files && !earlier.keys().any(|name| later.contains_key(name)) {
            if before.is_of_several || after.is_of_several {
                later = after.named_as(before);
            } else {
                earlier = later.keys().cloned().zip(earlier.into_values()).collect();
            }
        }
        let names: BTreeSet<&String> = earlier.keys().chain(later.keys()).collect();
        let is_compared =
            |(name, case): &(&String, &CaseResults)| earlier.contains_key(*name) && case.is_judged();
        let compared = later.iter().filter(is_compared).count() as u64;
        let mut cases: Vec<CaseChange> = Vec::new();
        let mut unchanged = 0;
        for name in names {
            // What the selection has, and is not there, is worse, and not only left out.
            let is_expected = RunIdentity::expects(after.run.as_ref(), after.shard, name);
            match case_change(name, earlier.get(name), later.get(name), after.kind, is_expected) {
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
            compared,
            causes: cause_changes(&earlier, &later),
            reliability: reliability_changes(&earlier, &later),
            cases,
        }
    }

    /// How the comparison ends: if the second report has judged no case of both, it shows nothing.
    #[must_use]
    pub fn ending(&self) -> Ending {
        match () {
            () if self.cases.iter().any(|case| case.change == Changed::Worse) => Ending::Fail,
            () if self.compared == 0 => Ending::Inconclusive,
            () => Ending::Pass,
        }
    }

    /// Cases that have changed in a way.
    pub(super) fn count(&self, change: Changed) -> u64 {
        self.cases.iter().filter(|case| case.change == change).count() as u64
    }
}

/// What is worse of findings, and what is better, in words.
fn says(
    differences: &[Difference],
    before: Option<&CaseResults>,
    after: Option<&CaseResults>,
) -> [Vec<String>; 2] {
    let found = || [after, before].into_iter().flatten().flat_map(|case| &case.found);
    let line = |difference: &Difference| {
        let finding = &difference.finding;
        let cause = found().find(|found| found.finding == *finding).map(|found| found.cause.name.as_str());
        // The place begins with its verdict, which is not repeated.
        let cause = cause.map(|name| name.strip_prefix(&format!("{}, ", finding.verdict)).unwrap_or(name));
        let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
        format!("{finding}{cause}{difference:#}")
    };
    [true, false].map(|is_worse| {
        differences.iter().filter(|difference| difference.is_worse() == is_worse).map(line).collect()
    })
}

/// What has become of a case; `None` if nothing has. `is_expected` is whether it should be there.
pub(super) fn case_change(
    name: &str,
    before: Option<&CaseResults>,
    after: Option<&CaseResults>,
    kind: ReportKind,
    is_expected: bool,
) -> Option<CaseChange> {
    // A case that could not be judged has looked for nothing, and neither has one that was not run: then nothing is gone.
    // But what is found where nobody had looked is new.
    let [was_judged, is_judged] = [before, after].map(|case| case.is_none_or(CaseResults::is_judged));
    let both = was_judged && is_judged;
    let between = |of: fn(&CaseResults) -> Places| {
        let places = |case: Option<&CaseResults>| case.map(of).unwrap_or_default();
        let found = if is_judged { differences(&places(before), &places(after)) } else { Vec::new() };
        found.into_iter().filter(|difference| both || difference.is_worse()).collect::<Vec<_>>()
    };
    let open = between(CaseResults::open);
    let [mut new, mut gone] = says(&open, before, after);
    let [new_known, mut gone_known] = says(&between(CaseResults::known), before, after);
    let [more, fewer] = if both { omitted(before, after) } else { Default::default() };
    let is_worse = !more.is_empty() || open.iter().any(Difference::is_worse);
    let is_better = !fewer.is_empty() || open.iter().any(|difference| !difference.is_worse());
    new.extend(more);
    gone.extend(fewer);
    if after.is_none() {
        gone.clear();
        gone_known.clear();
    }
    let pair = before.zip(after);
    let measures = pair.map(|(before, after)| CaseResults::measures(before, after, kind)).unwrap_or_default();
    let newly_uncovered = pair.and_then(|(before, after)| after.uncovered_beside(before));
    let covered_now = pair.and_then(|(before, after)| before.uncovered_beside(after));
    // Nothing that is better makes up for it.
    let gets_worse = is_worse
        || newly_uncovered.is_some()
        || measures.iter().any(Measure::is_worse)
        || pair.is_some_and(|(before, after)| {
            after.outcome.rank() > before.outcome.rank() || after.is_no_result_beside(before)
        });
    let change = match (before, after) {
        (None, None) => return None,
        // A new file may have nothing to judge.
        (None, Some(after)) if after.without_result == Some(NoResult::NothingJudged) => Changed::New,
        (None, Some(after)) if after.outcome.rank() > 0 => Changed::Worse,
        (None, Some(_)) => Changed::New,
        (Some(_), None) if is_expected => Changed::Worse,
        (Some(_), None) => Changed::Gone,
        (Some(_), Some(_)) if gets_worse => Changed::Worse,
        (Some(before), Some(after))
            if after.outcome.rank() < before.outcome.rank()
                || is_better
                || before.is_no_result_beside(after) =>
        {
            Changed::Better
        }
        (Some(before), Some(after))
            if [&new, &new_known, &gone, &gone_known].iter().any(|found| !found.is_empty())
                || after.outcome != before.outcome
                || after.reason != before.reason =>
        {
            Changed::Changed
        }
        (Some(_), Some(_)) if covered_now.is_some() || !measures.is_empty() => Changed::Better,
        (Some(_), Some(_)) => return None,
    };
    if after.is_none() && change == Changed::Worse {
        let what = if kind.is_of_a_file() {
            "not there any more, or without a section"
        } else {
            "no longer run, although it is selected"
        };
        new.push(what.to_owned());
    }
    // What no finding shows.
    if let Some((before, after)) = before.zip(after) {
        new.extend(after.is_no_result_beside(before).then(|| after.says()));
        gone.extend(before.is_no_result_beside(after).then(|| before.says()));
    }
    let ranks = [before, after].map(|case| case.map_or(0, |case| case.outcome.rank()));
    if let Some(after) = after.filter(|_| ranks[1] > ranks[0] && !is_worse) {
        new.push(after.says());
    }
    if let Some((before, _)) = before.zip(after).filter(|_| ranks[0] > ranks[1] && !is_better) {
        gone.push(before.says());
    }
    new.extend(newly_uncovered);
    gone.extend(covered_now);
    for measure in &measures {
        if measure.is_worse() { &mut new } else { &mut gone }.push(measure.says());
    }
    // Where not all is shown, this is left out first.
    new.extend(new_known);
    gone.extend(gone_known);
    let rows = |case: Option<&CaseResults>| case.map_or(0, |case| case.rows_exercised);
    Some(CaseChange {
        case: name.to_owned(),
        change,
        outcomes: [before.map(|case| case.outcome), after.map(|case| case.outcome)],
        said: [before, after].map(|case| case.map(CaseResults::outcome_in_words)),
        reason: after.and_then(|case| case.reason.clone()),
        new,
        gone,
        rows: [rows(before), rows(after)],
    })
}

/// Returns what there is more of, and what less, of findings that are only counted.
fn omitted(before: Option<&CaseResults>, after: Option<&CaseResults>) -> [Vec<String>; 2] {
    let of = |case: Option<&CaseResults>| case.map(|case| case.omitted.clone()).unwrap_or_default();
    let beyond = |one: &BTreeMap<Verdict, u64>, other: &BTreeMap<Verdict, u64>, is_now: bool| {
        let counts =
            one.iter().map(|(verdict, count)| (verdict, *count, other.get(verdict).copied().unwrap_or(0)));
        counts
            .filter(|(_, count, other)| count > other)
            .map(|(verdict, count, other)| {
                let (now, before) = if is_now { (count, other) } else { (other, count) };
                let now = grouped(now);
                format!("{verdict}: {now} findings that are only counted, not {}", grouped(before))
            })
            .collect()
    };
    let (was, is) = (of(before), of(after));
    [beyond(&is, &was, true), beyond(&was, &is, false)]
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
            let causes: BTreeSet<&Cause> = case.found.iter().map(|found| &found.cause).collect();
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
