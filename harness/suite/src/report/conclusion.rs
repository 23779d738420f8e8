//! The last line that people read: one sentence that says what was judged, how it came out, and what was not judged.

use std::collections::{BTreeMap, BTreeSet};

use sframe_inspect::text::{counted, first_of, grouped};
use sframe_judge::examine::coverage::ExploredRows;
use sframe_judge::vocabulary::Verdict;

use super::document::{CheckReport, JudgedImage, Origin, Report};
use super::explore::ExploreReport;
use crate::case::{Outcome, SeenKnown};

impl CheckReport {
    /// What was judged, how it came out, and what to do about the rest.
    #[must_use]
    pub fn conclusion(&self) -> String {
        let judged = self.judged() + &self.result();
        let has_run = self.summary.counts.instructions > 0;
        let mut clauses = match &self.broken {
            Some(reason) if !has_run => vec![format!("broken: {reason}"), judged],
            Some(reason) => vec![format!("broken: {reason}"), format!("until then, {judged}")],
            None => vec![judged],
        };
        if !self.too_little.is_empty() {
            let reasons = self.too_little.join("; ");
            clauses.push(if has_run { format!("that is too little: {reasons}") } else { reasons });
        }
        clauses.extend(self.unmet.iter().map(|unmet| format!("that is less than was demanded: {unmet}")));
        clauses.extend(self.not_judged());
        clauses.extend(
            self.ended().filter(|_| self.broken.is_none()).map(|ended| format!("the program {ended}")),
        );
        clauses.extend(of_rows(self.summary.rows_explored, self.summary.left_out > 0));
        clauses.extend(not_looked_for(self.known_not_looked_at));
        clauses.join("; ")
    }

    fn judged(&self) -> String {
        let counts = &self.summary.counts;
        let executed = counted(counts.instructions, "instruction");
        match counts.comparisons {
            0 if counts.instructions == 0 => "nothing was executed".to_owned(),
            all if all == counts.instructions => {
                format!("{} judged", all_of(all, "instruction executed", "instructions executed"))
            }
            some => format!("{} of {executed} executed {} judged", grouped(some), was(some)),
        }
    }

    fn result(&self) -> String {
        let findings: u64 = self.summary.verdicts.values().sum();
        let others = in_words(&self.known);
        let are = if self.summary.counts.comparisons == 1 { "is" } else { "are" };
        match (findings, &others) {
            (0, _) if !self.has_used_rows() => String::new(),
            (0, None) => format!(", and {are} right"),
            (0, Some(others)) => format!(", and {are} right except for {others}"),
            (_, None) => format!(": {}", counted(findings, "finding")),
            (_, Some(others)) => format!(": {}, besides {others}", counted(findings, "finding")),
        }
    }

    /// Why some instructions were not judged, and what judges them.
    fn not_judged(&self) -> Option<String> {
        let summary = &self.summary;
        // Of a sample, it is not known what has no FDE.
        let is_sample = summary.left_out > 0;
        let without_fde: u64 = if is_sample { 0 } else { summary.uncovered.values().sum() };
        let rest = summary.counts.instructions.saturating_sub(summary.counts.comparisons);
        let is_made = self.has_section_of(Origin::EhFrame);
        let what = match is_made {
            true if self.has_section_of(Origin::Sframe) => "an FDE",
            true => "an FDE that SFrame can express",
            false => "SFrame",
        };
        let unread = self.unwinder.as_ref().map_or(0, |unwinder| unwinder.unread);
        let nothing_compared = summary.counts.nothing_compared.saturating_sub(without_fde + unread);
        let stand_in = if is_sample { 0 } else { summary.stand_in.min(nothing_compared) };
        let without_caller = nothing_compared - stand_in;
        let known = without_fde
            + nothing_compared
            + unread
            + summary.set_aside
            + summary.left_out
            + summary.unobserved;
        let is_own = self.unwinder.is_none();
        let not_asked = if !is_own { rest.saturating_sub(known) } else { 0 };
        let listed =
            self.without_section(without_fde).map_or_else(String::new, |images| format!(" ({images})"));
        let without = format!("without {what}{listed}");
        let parts = match rest {
            0 => return None,
            _ if without_fde == rest => format!("the rest is without {what}{listed}"),
            _ => parts(&[
                (without_fde, without.as_str()),
                (stand_in, "in the stand-in for the dynamic linker"),
                (
                    without_caller,
                    if is_own && !is_sample {
                        "in outermost functions, which have no caller"
                    } else {
                        "with nothing to compare"
                    },
                ),
                (
                    unread,
                    if unread == 1 {
                        "whose answer could not be read"
                    } else {
                        "whose answers could not be read"
                    },
                ),
                (summary.set_aside, "set aside"),
                (summary.left_out, "not in the sample"),
                (summary.unobserved, "of other programs"),
                (not_asked, "not asked about"),
            ]),
        };
        let advice = match is_sample {
            true => self
                .summary
                .with_cfi
                .iter()
                .any(|count| *count > 0)
                .then(|| "`--from either` judges by .eh_frame where there is no .sframe".to_owned()),
            false => self.advice(without_fde),
        };
        let advice = advice.filter(|_| !is_made);
        let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
        (!parts.is_empty()).then(|| parts + &advice)
    }

    /// How much of what has no FDE was executed in libraries without a section, and elsewhere: most first.
    fn without_section(&self, without_fde: u64) -> Option<String> {
        const LISTED: usize = 3;
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
                return Some("no call frame information says how much of it could have an FDE".to_owned());
            }
            0 => return None,
            all if all == without_fde => "it".to_owned(),
            some => format!("{} of those", grouped(some)),
        };
        Some(format!("`{option}` judges by .eh_frame, which describes {of_it}"))
    }
}

impl Report {
    /// How many cases came out how, and how much was judged.
    #[must_use]
    pub fn conclusion(&self) -> String {
        let summary = &self.summary;
        let counts = &summary.counts;
        let (all, judged) = (counts.instructions, counts.comparisons);
        let mut clauses = vec![format!(
            "{}: {} agree, {} known, {} unexpected, {} broken, {} skipped",
            counted(summary.cases, "case"),
            grouped(summary.agree),
            grouped(summary.known),
            grouped(summary.unexpected),
            grouped(summary.broken),
            grouped(summary.skipped)
        )];
        if let Some([worse, same]) = self.against_baseline() {
            let counts = parts(&[(worse, "worse than in the baseline"), (same, "as in the baseline")]);
            clauses.extend((!counts.is_empty()).then_some(counts));
        }
        if all == 0 {
            let why = self.why_skipped().map_or_else(String::new, |why| format!(": {why}"));
            clauses.push(format!("nothing was executed{why}"));
        } else if all == judged {
            clauses.push(format!("{} judged", all_of(all, "instruction executed", "instructions executed")));
        } else {
            let rest = all.saturating_sub(judged);
            let is_known = counts.nothing_compared + summary.set_aside;
            let parts = parts(&[
                (counts.nothing_compared.min(rest), "with nothing to compare"),
                (summary.set_aside, "set aside"),
                (rest.saturating_sub(is_known), "not asked about"),
            ]);
            let executed = counted(all, "instruction");
            clauses.push(format!(
                "{} of {executed} executed {} judged; {parts}",
                grouped(judged),
                was(judged)
            ));
        }
        clauses.extend(of_rows(summary.rows_explored, false));
        clauses.join("; ")
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
    /// How many rows came out how.
    #[must_use]
    pub fn conclusion(&self) -> String {
        let summary = &self.summary;
        let rows = counted(summary.rows_total, "row");
        let asked = if summary.rows_left_out > 0 { " of the functions asked for" } else { "" };
        let judged = match summary.rows_judged {
            0 if summary.rows_total == 0 => {
                let whose = if asked.is_empty() { "the file" } else { "what was asked for" };
                format!("nothing was judged: {whose} has no row")
            }
            all if all == summary.rows_total => {
                format!("{} judged", all_of(all, &format!("row{asked}"), &format!("rows{asked}")))
            }
            some => format!("{} of {rows}{asked} {} judged", grouped(some), was(some)),
        };
        let results = parts(&[
            (summary.rows_agree, "agree"),
            (summary.rows_partly, "agree in part"),
            (summary.rows_wrong, "wrong"),
            (summary.rows_possible, "possibly wrong"),
        ]);
        let agree = if summary.rows_judged == 1 { "agrees" } else { "agree" };
        let mut clauses: Vec<String> =
            self.interrupted.then(|| "interrupted".to_owned()).into_iter().collect();
        let judged = if self.interrupted { format!("until then, {judged}") } else { judged };
        clauses.push(match &*results {
            "" => judged,
            _ if summary.rows_agree < summary.rows_judged => format!("{judged}: {results}"),
            // The finding is about code that the kernel has patched.
            _ if self.findings.iter().any(|found| found.form.is_some()) => {
                format!("{judged}, and {agree} with the code as it is in the file")
            }
            _ => format!("{judged}, and {agree}"),
        });
        match (self.found(), in_words(&self.known)) {
            (None, None) if summary.rows_total == 0 => {}
            (None, None) => clauses.push("no finding".to_owned()),
            (None, Some(others)) => clauses.push(format!("no finding except {others}")),
            (Some(found), None) => clauses.push(found),
            (Some(found), Some(others)) => clauses.push(format!("{found}, besides {others}")),
        }
        clauses.extend(not_looked_for(self.known_not_looked_at));
        clauses.join("; ")
    }

    /// How many findings are proved, and how many known ones are no more as they were.
    pub(super) fn found(&self) -> Option<String> {
        let count =
            |verdict: Verdict| self.summary.verdicts.get(verdict.as_str()).copied().unwrap_or_default();
        let [gone, changed] = [count(Verdict::UnexpectedPass), count(Verdict::ChangedFailure)];
        let all: u64 = self.summary.verdicts.values().sum();
        let are = |count, what: &str| match count {
            1 => format!("1 known finding {what}"),
            _ => format!("{} known findings {what}", grouped(count)),
        };
        let proved = all.saturating_sub(gone + changed);
        let found = [
            (proved, counted(proved, "proved finding")),
            (gone, are(gone, "gone")),
            (changed, are(changed, "changed")),
        ];
        let found: Vec<String> =
            found.into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words).collect();
        (!found.is_empty()).then(|| found.join(", "))
    }
}

/// Entries of known findings that are about what was left out.
fn not_looked_for(entries: u64) -> Option<String> {
    match entries {
        0 => None,
        1 => Some("1 known finding was not looked for".to_owned()),
        _ => Some(format!("{} known findings were not looked for", grouped(entries))),
    }
}

/// The verb of a number of things.
const fn was(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// All of a number of things, as a subject with its verb.
fn all_of(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("the only {one} was"),
        _ => format!("all {} {many} were", grouped(count)),
    }
}

/// What was found and is no failure. `None` if nothing was.
pub(super) fn in_words(known: &[SeenKnown]) -> Option<String> {
    let (beyond, others): (Vec<&SeenKnown>, Vec<&SeenKnown>) =
        SeenKnown::accepted(known).partition(|seen| seen.is_beyond_the_format());
    let count = |of: &[&SeenKnown]| -> u64 { of.iter().map(|seen| seen.findings).sum() };
    let pages: BTreeSet<&str> = others.iter().filter_map(|seen| seen.fault.as_deref()).collect();
    let pages =
        if pages.is_empty() { String::new() } else { format!(" ({})", Vec::from_iter(pages).join(", ")) };
    let beyond_the_format = |count| format!("{} that SFrame can't express", counted(count, "place"));
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

/// What exploring says of rows that were not compared with the run, if that is not that all agree. Those that a sample
/// leaves out may have run.
fn of_rows(rows: ExploredRows, is_sample: bool) -> Option<String> {
    let results = parts(&[(rows.wrong, "wrong"), (rows.undecided, "undecided")]);
    let which = match (is_sample, rows.total()) {
        (false, _) => "that did not run",
        (true, 1) => "that was not compared",
        (true, _) => "that were not compared",
    };
    (!results.is_empty()).then(|| format!("of {} {which}: {results}", counted(rows.total(), "row")))
}
