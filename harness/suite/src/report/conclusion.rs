//! The last lines that people read: the verdict in a word, what made it so, and then a fact in each line: what was judged,
//! and what was not.

use std::collections::{BTreeMap, BTreeSet};

use sframe_judge::examine::counts::Counts;
use sframe_judge::examine::coverage::ExploredRows;
use sframe_judge::target::Origin;
use sframe_judge::vocabulary::Verdict;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::text::{counted, first_of, grouped};

use super::NoResult;
use super::document::{CheckReport, JudgedImage, MISSING_FDE, Report};
use super::explore::ExploreReport;
use crate::case::{Outcome, SeenKnown};

/// The most names in a list.
const LISTED: usize = 3;

impl CheckReport {
    /// How it ends: see [`Self::outcome`].
    #[must_use]
    pub fn ending(&self) -> Ending {
        match self.without_result() {
            Some(NoResult::Broken | NoResult::Interrupted) => {
                NoResult::ending(self.broken.as_deref().unwrap_or_default())
            }
            Some(NoResult::LessCovered) => Ending::Fail,
            Some(NoResult::NothingCompared | NoResult::NothingJudged | NoResult::TooLittleJudged) => {
                Ending::Inconclusive
            }
            None if self.findings().is_some() => Ending::Fail,
            None => Ending::Pass,
        }
    }

    /// What was checked, how it came out, and what to do about the rest.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let checked = checked(&self.summary.counts) + &self.result();
        let has_run = self.summary.counts.instructions > 0;
        let unmet = self.unmet.iter().map(|unmet| format!("less is covered than demanded: {unmet}"));
        // The verdict says of itself that it was interrupted.
        let broken = self.broken.clone().filter(|_| self.ending() != Ending::Interrupted);
        let is_until_then = broken.is_some() && has_run;
        let mut facts: Vec<String> = broken.into_iter().chain(unmet).collect();
        facts.extend(self.findings());
        facts.push(if is_until_then { format!("until then, {checked}") } else { checked });
        if self.broken.is_none() {
            facts.extend(self.ended().map(|ended| format!("the program {ended}")));
        }
        let not_enough = match self.findings() {
            _ if !has_run => "",
            None => "not enough for a verdict: ",
            Some(_) => "besides, too little is checked: ",
        };
        facts.extend(self.too_little.iter().map(|reason| format!("{not_enough}{reason}")));
        facts.extend(self.not_checked());
        facts.extend(of_rows(self.summary.rows_explored, self.summary.left_out > 0));
        facts.extend(not_looked_for(self.known_not_looked_at));
        Conclusion { ending: self.ending(), facts }
    }

    fn result(&self) -> String {
        match in_words(&self.known) {
            _ if self.findings().is_some() || !self.has_used_rows() => String::new(),
            None => ", all correct".to_owned(),
            Some(others) => format!(", all correct but {others}"),
        }
    }

    /// How many findings there are.
    fn findings(&self) -> Option<String> {
        let others = in_words(&self.known).map_or_else(String::new, |others| format!(", besides {others}"));
        Some(found(&self.summary.verdicts, "finding")? + &others)
    }

    /// Why some instructions were not checked, and what checks them.
    fn not_checked(&self) -> Vec<String> {
        let summary = &self.summary;
        // Of a sample, it is not known what has no FDE.
        let is_sample = summary.left_out > 0;
        let without_fde: u64 = if is_sample { 0 } else { summary.uncovered.values().sum() };
        let rest = summary.counts.instructions.saturating_sub(summary.counts.comparisons);
        let is_made = self.has_section_of(Origin::EhFrame);
        let without = match is_made && !self.has_section_of(Origin::Sframe) {
            true => "in code whose CFI is missing, or can't be expressed in SFrame",
            false => "in code without an FDE",
        };
        let unread = self.unwinder.as_ref().map_or(0, |unwinder| unwinder.unread);
        let nothing_compared = summary.counts.nothing_compared.saturating_sub(without_fde + unread);
        let stand_in = if is_sample { 0 } else { summary.stand_in.min(nothing_compared) };
        let without_caller = nothing_compared - stand_in;
        let known = without_fde
            + nothing_compared
            + unread
            + summary.excluded
            + summary.left_out
            + summary.unobserved;
        let is_own = self.unwinder.is_none();
        let not_asked = if !is_own { rest.saturating_sub(known) } else { 0 };
        let listed =
            self.without_section(without_fde).map_or_else(String::new, |images| format!(" ({images})"));
        if rest == 0 {
            return Vec::new();
        }
        let without = format!("{without}{listed}");
        let no_caller = match is_own && !is_sample {
            true => "in outermost functions, which have no caller",
            false => "with no caller to compare",
        };
        let parts = not_checked(&[
            (without_fde, &*without),
            (stand_in, "in the stand-in for the dynamic linker"),
            (without_caller, no_caller),
            (unread, "whose answer could not be read"),
            (summary.excluded, "excluded"),
            (summary.left_out, "not in the sample"),
            (summary.unobserved, "of other programs"),
            (not_asked, "not asked about"),
        ]);
        let advice = match is_sample {
            true => self
                .summary
                .with_cfi
                .iter()
                .any(|count| *count > 0)
                .then(|| "`--from either` checks by .eh_frame where there is no .sframe".to_owned()),
            false => self.advice(without_fde),
        };
        let advice = advice.filter(|_| !is_made && !parts.is_empty());
        [Some(parts).filter(|parts| !parts.is_empty()), advice].into_iter().flatten().collect()
    }

    /// How much of what has no FDE was executed in libraries without a section, and elsewhere: most first.
    fn without_section(&self, without_fde: u64) -> Option<String> {
        let none = self.images.iter().filter(|image| image.section == Origin::None);
        let executed = |image: &JudgedImage| {
            let name = image.name.as_ref()?;
            Some((*self.summary.uncovered.get(name)?, name.clone()))
        };
        let mut images: Vec<(u64, String)> = none.filter_map(executed).collect();
        if images.is_empty() {
            return None;
        }
        let elsewhere = without_fde - images.iter().map(|(count, _)| count).sum::<u64>().min(without_fde);
        images.extend((elsewhere > 0).then(|| (elsewhere, "other code".to_owned())));
        images.sort_by(|one, other| other.cmp(one));
        let images: Vec<String> =
            images.iter().map(|(count, name)| format!("{} in {name}", grouped(*count))).collect();
        Some(first_of(&images, LISTED))
    }

    /// How code without SFrame is judged that has other call frame information, and how much of it.
    fn advice(&self, without_fde: u64) -> Option<String> {
        let [without_section, beside_section] = self.summary.with_cfi;
        let (option, count) = match without_section {
            0 => ("--from eh-frame", beside_section),
            count => ("--from either", count),
        };
        let of_it = match count {
            0 if without_fde > 0 && self.has_section_of(Origin::Sframe) => {
                return Some("there is no CFI to say how much of it could have an FDE".to_owned());
            }
            0 => return None,
            all if all == without_fde => "all of it".to_owned(),
            some => format!("{} of those", grouped(some)),
        };
        Some(format!("`{option}` checks by .eh_frame, which covers {of_it}"))
    }
}

impl Report {
    /// How it ends.
    #[must_use]
    pub fn ending(&self) -> Ending {
        if let Some(verdict) = self.verdict_of_toolchains().filter(|_| !self.interrupted) {
            return verdict;
        }
        let summary = &self.summary;
        match self.against_baseline() {
            _ if self.interrupted => Ending::Interrupted,
            Some([worse, _]) if worse > 0 => Ending::Fail,
            None if summary.broken > 0 => Ending::Error,
            None if summary.unexpected > 0 => Ending::Fail,
            _ if summary.counts.comparisons == 0 => Ending::Inconclusive,
            _ => Ending::Pass,
        }
    }

    /// How many cases came out how, and how much was checked.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let summary = &self.summary;
        let counts = &summary.counts;
        let cases = parts(&[
            (summary.broken, "could not finish"),
            (summary.unexpected, "unexpected"),
            (summary.agree, "correct"),
            (summary.known, if summary.known == 1 { "known failure" } else { "known failures" }),
            (summary.skipped, "skipped"),
        ]);
        let mut facts = match summary.cases {
            0 if self.interrupted => Vec::new(),
            0 => vec!["no case was run".to_owned()],
            all => vec![format!("{}: {cases}", counted(all, "case"))],
        };
        if let Some([worse, same]) = self.against_baseline() {
            let name = self.baseline_name();
            let fail = if self.verdict_of_toolchains().is_some() { "fail " } else { "" };
            let (worse_than, as_in) = (self.worse_words(), format!("{fail}as in the {name}"));
            let counts = parts(&[(worse, &worse_than), (same, &as_in)]);
            facts.splice(..0, (!counts.is_empty()).then_some(counts));
        }
        if self.interrupted {
            facts.insert(
                0,
                format!("{} of {} were run", grouped(summary.cases), counted(self.selected, "case")),
            );
        }
        facts.push(checked(counts));
        if counts.instructions == 0 {
            facts.extend(self.why_skipped());
        }
        let rest = counts.instructions.saturating_sub(counts.comparisons);
        let is_known = counts.nothing_compared + summary.excluded;
        let rest = not_checked(&[
            (counts.nothing_compared.min(rest), "with no caller to compare"),
            (summary.excluded, "excluded"),
            (rest.saturating_sub(is_known), "not asked about"),
        ]);
        facts.extend((!rest.is_empty()).then_some(rest));
        facts.extend(of_rows(summary.rows_explored, false));
        Conclusion { ending: self.ending(), facts }
    }
}

impl Report {
    /// Why cases were skipped: the most frequent reason, and the number of others.
    #[must_use]
    pub fn why_skipped(&self) -> Option<String> {
        let skipped = self.cases.iter().filter(|case| case.outcome == Outcome::Skipped);
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for reason in skipped.filter_map(|case| case.reason.as_deref()) {
            *reasons.entry(reason).or_default() += 1;
        }
        let (first, _) = reasons.iter().max_by_key(|(_, count)| **count)?;
        match reasons.len() as u64 - 1 {
            0 => Some((*first).to_owned()),
            others => Some(format!("{first}; and {} (--verbose)", counted(others, "other reason"))),
        }
    }
}

impl ExploreReport {
    /// How it ends: see [`Self::outcome`].
    #[must_use]
    pub fn ending(&self) -> Ending {
        match self.without_result() {
            Some(NoResult::Interrupted) => Ending::Interrupted,
            Some(_) => Ending::Inconclusive,
            None if self.proved().next().is_some() => Ending::Fail,
            None => Ending::Pass,
        }
    }

    /// How many rows came out how.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let summary = &self.summary;
        let rows = counted(summary.rows_total, "row");
        let asked = if summary.rows_left_out > 0 { " of the functions asked for" } else { "" };
        let checked = match summary.rows_checked {
            0 if summary.rows_total == 0 => {
                let whose = if asked.is_empty() { "the file" } else { "what was asked for" };
                format!("nothing was checked: {whose} has no row")
            }
            all if all == summary.rows_total => format!("{rows}{asked} checked"),
            some => format!("{} of {rows}{asked} checked", grouped(some)),
        };
        let results = parts(&[
            (summary.rows_wrong, "wrong"),
            (summary.rows_possible, "possibly wrong"),
            (summary.rows_partly, "correct in part"),
            (summary.rows_agree, "correct"),
        ]);
        let mut facts = Vec::new();
        facts.push(match &*results {
            "" => checked,
            _ if summary.rows_agree < summary.rows_checked => format!("{checked}: {results}"),
            // The finding is about code that the kernel has patched.
            _ if self.findings.iter().any(|found| found.form.is_some()) => {
                format!("{checked}, all correct for the code as it is in the file")
            }
            _ => format!("{checked}, all correct{}", self.wrong_elsewhere()),
        });
        if let Some(lacks) = &self.section.lacks
            && lacks.unread_functions > 0
            && self.too_little.is_empty()
        {
            let functions = counted(lacks.unread_functions, "function");
            facts.push(format!("left out: {functions} with call frame information that can't be read"));
        }
        let outermost = self.outermost_elsewhere();
        if !outermost.is_empty() {
            let count = counted(outermost.len() as u64, "function");
            let named = first_of(&outermost, LISTED);
            facts.push(format!(
                "{count} without a caller, as the section says, which only running can check: {named}"
            ));
        }
        match (found(&self.summary.verdicts, "proved finding"), in_words(&self.known)) {
            (None, None) => {}
            (None, Some(others)) => facts.push(format!("no finding but {others}")),
            (Some(found), None) => facts.insert(0, found),
            (Some(found), Some(others)) => facts.insert(0, format!("{found}, besides {others}")),
        }
        facts.extend(self.too_little.iter().map(|reason| match self.proved().next() {
            None => format!("not enough for a verdict: {reason}"),
            Some(_) => format!("besides, too little is checked: {reason}"),
        }));
        let lost: Vec<&str> = self.without_fde.iter().map(|it| &*it.function).collect();
        if !lost.is_empty() {
            let what = "with call frame information that can be expressed, and no FDE";
            let functions = counted(lost.len() as u64, "function");
            facts.push(format!("{MISSING_FDE}: {functions} {what}: {}", first_of(&lost, LISTED)));
        }
        facts.extend(not_looked_for(self.known_not_looked_at));
        Conclusion { ending: self.ending(), facts }
    }
}

impl ExploreReport {
    /// What is known and was found: how many findings, and the page of each.
    pub fn accepted(&self) -> impl Iterator<Item = (u64, Option<&str>)> {
        let known = SeenKnown::accepted(&self.known).filter(|seen| !seen.is_beyond_the_format());
        known.map(|seen| (seen.findings, seen.fault.as_deref()))
    }

    /// Names what is wrong, if that is no row.
    fn wrong_elsewhere(&self) -> String {
        let mut verdicts: BTreeMap<&str, u64> = BTreeMap::new();
        let is_of_list = |verdict| matches!(verdict, Verdict::UnexpectedPass | Verdict::ChangedFailure);
        let proved = self.proved().filter(|found| !is_of_list(found.finding.verdict));
        for found in proved.filter(|found| found.finding.row.is_none()) {
            *verdicts.entry(found.finding.verdict.as_str()).or_default() += 1;
        }
        let named: Vec<String> =
            verdicts.into_iter().map(|(verdict, count)| format!("{} {verdict}", grouped(count))).collect();
        if named.is_empty() { String::new() } else { format!("; wrong elsewhere: {}", named.join(", ")) }
    }
}

/// How many findings there are, and how many known ones are no more as they were. `None` if there is neither.
fn found(verdicts: &BTreeMap<String, u64>, what: &str) -> Option<String> {
    let count = |verdict: Verdict| verdicts.get(verdict.as_str()).copied().unwrap_or_default();
    let [gone, changed] = [count(Verdict::UnexpectedPass), count(Verdict::ChangedFailure)];
    let all: u64 = verdicts.values().sum();
    let are = |count, what: &str| match count {
        1 => format!("1 known finding {what}"),
        _ => format!("{} known findings {what}", grouped(count)),
    };
    let others = all.saturating_sub(gone + changed);
    let found =
        [(others, counted(others, what)), (gone, are(gone, "gone")), (changed, are(changed, "changed"))];
    let found: Vec<String> =
        found.into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words).collect();
    (!found.is_empty()).then(|| found.join(", "))
}

/// Entries of known findings that are about what was left out.
fn not_looked_for(entries: u64) -> Option<String> {
    match entries {
        0 => None,
        1 => Some("1 known finding was not looked for".to_owned()),
        _ => Some(format!("{} known findings were not looked for", grouped(entries))),
    }
}

/// How many of the instructions executed were checked.
fn checked(counts: &Counts) -> String {
    let executed = match counts.instructions {
        1 => "1 executed instruction".to_owned(),
        all => format!("{} executed instructions", grouped(all)),
    };
    match counts.comparisons {
        0 if counts.instructions == 0 => "nothing was executed".to_owned(),
        all if all == counts.instructions => format!("{executed} checked"),
        some => format!("{} of {executed} checked", grouped(some)),
    }
}

/// What was found and is no failure. `None` if nothing was.
pub(super) fn in_words(known: &[SeenKnown]) -> Option<String> {
    let (beyond, others): (Vec<&SeenKnown>, Vec<&SeenKnown>) =
        SeenKnown::accepted(known).partition(|seen| seen.is_beyond_the_format());
    let count = |of: &[&SeenKnown]| -> u64 { of.iter().map(|seen| seen.findings).sum() };
    let pages: BTreeSet<&str> = others.iter().filter_map(|seen| seen.fault.as_deref()).collect();
    let pages = if pages.is_empty() {
        String::new()
    } else {
        format!(" ({})", first_of(&Vec::from_iter(pages), LISTED))
    };
    let beyond_the_format = |count| format!("{} that can't be expressed in SFrame", counted(count, "place"));
    match (count(&others), count(&beyond)) {
        (0, 0) => None,
        (0, beyond) => Some(beyond_the_format(beyond)),
        (others, 0) => Some(counted(others, "known finding") + &pages),
        (others, beyond) => {
            Some(counted(others, "known finding") + &pages + " and " + &beyond_the_format(beyond))
        }
    }
}

/// Counts of what is not zero, with what each of them is.
fn parts(counts: &[(u64, &str)]) -> String {
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!("{} {what}", grouped(*count))).collect::<Vec<_>>().join(", ")
}

/// Why some were not checked, most first.
fn not_checked(counts: &[(u64, &str)]) -> String {
    let mut counts = counts.to_vec();
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let parts = parts(&counts);
    if parts.is_empty() { parts } else { format!("not checked: {parts}") }
}

/// What exploring says of rows that were not compared with the run, if that is not that all agree. Those that a sample
/// leaves out may have run.
fn of_rows(rows: ExploredRows, is_sample: bool) -> Option<String> {
    let results = parts(&[(rows.wrong, "wrong"), (rows.undecided, "undecided")]);
    let not = if is_sample { "not compared" } else { "not executed" };
    (!results.is_empty()).then(|| format!("{} {not}: {results}", counted(rows.total(), "row")))
}
