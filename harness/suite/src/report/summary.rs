//! Summaries for people.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sframe_engine::Abi;
use sframe_inspect::hazard;
use sframe_judge::calls::ExclusionReason;
use sframe_judge::compare::ByTopmost;
use sframe_judge::examine::coverage::{ExploredRows, UnexercisedRow};
use sframe_judge::external::UnwinderReport;
use sframe_judge::finding::{Finding, groups};
use sframe_judge::vocabulary::{Trace, Verdict};
use sframe_kit::conclusion::Conclusion;
use sframe_kit::text::{Text, counted, first_of, grouped, per_second};

use super::diagnostic::{Described, Style, help, not_shown, quoted, with_option};
use super::known::known_lines;
use super::{CheckReport, Report, ReportSummary, unwinder_summary};
use crate::case::{CaseReport, Outcome, SeenKnown, SignalCounts};
use crate::matrix::shape_of;

/// The most rows with findings that are shown for a case; the report has all of
/// them.
pub(super) const SHOWN: usize = 8;

/// The most of a whole run that are shown with instructions and witnesses.
pub(super) const IN_FULL: usize = 8;

/// Shows the results of a run: findings first, and one sentence about all of it last. `notes` are left out
/// where only what is wrong is wanted.
#[must_use]
pub fn run_summary(report: &Report, elapsed: Duration, notes: &Text, style: Style) -> Text {
    let mut text = Text::default();
    let mut in_full = IN_FULL;
    // Where the bench could not do its work comes before what it has found.
    show_cases(&mut text, &report.cases, Outcome::Broken, &mut in_full, style);
    show_cases(&mut text, &report.cases, Outcome::Unexpected, &mut in_full, style);
    if style.is_full() {
        show_known(&mut text, &report.cases);
        show_skipped(&mut text, &report.cases);
        show_table(&mut text, &report.cases);
        show_control_flow(&mut text, &report.summary);
        show_signals(&mut text, &report.summary);
        show_traces(&mut text, &report.summary);
        for (reason, rows) in &report.summary.rows_unreached {
            let _ = writeln!(text, "rows not exercised: {}: {reason}", grouped(*rows));
        }
        show_numbers(&mut text, &report.summary, elapsed);
    }
    show_excluded(&mut text, &report.cases);
    // Directly below the cases it would say the same again.
    if report.summary.unexpected > 0 || style.is_full() {
        show_reasons(&mut text, &report.cases);
    }
    if !style.is_brief() {
        if report.cases.iter().any(|case| case.unwinder.is_some()) {
            text.append(&unwinder_summary(&report.cases));
        }
        text.append(notes);
    }
    if !style.is_brief() || report.interrupted {
        report.conclusion().show(&mut text);
    }
    text
}

/// Shows how much was compared, and how fast.
fn show_numbers(text: &mut Text, summary: &ReportSummary, elapsed: Duration) {
    let _ = writeln!(
        text,
        "{} executed, {} compared; {}; {}; {} of {} exercised{}",
        counted(summary.counts.instructions, "instruction"),
        grouped(summary.counts.comparisons),
        frames(summary.counts.frames, summary.counts.frames_derived),
        counted(summary.stops, "stop"),
        grouped(summary.rows_exercised),
        counted(summary.rows_total, "row"),
        explored(summary.rows_explored)
    );
    // Merged reports have no elapsed time.
    if !elapsed.is_zero() {
        let seconds = elapsed.as_secs_f64();
        let _ = writeln!(
            text,
            "{seconds:.1} s, {}",
            per_second(summary.counts.instructions, "instruction", seconds)
        );
    }
}

/// The most variants of a program that are listed with a finding.
const IDS: usize = 6;

/// Shows the cases with an outcome that nobody expects: what seems to be one mistake in several cases of a program is
/// shown once.
fn show_cases(text: &mut Text, cases: &[CaseReport], outcome: Outcome, in_full: &mut usize, style: Style) {
    let mut shown: Vec<(Vec<String>, &CaseReport, Vec<&CaseReport>)> = Vec::new();
    for case in cases.iter().filter(|case| case.outcome == outcome) {
        let shape = shape_of_case(case);
        match shown.iter_mut().find(|(of, ..)| *of == shape) {
            Some((.., others)) => others.push(case),
            None => shown.push((shape, case, Vec::new())),
        }
    }
    for (_, case, others) in shown {
        let CaseReport { build, findings, findings_omitted, .. } = case;
        let ids: Vec<&str> = others.iter().map(|case| case.id.as_str()).collect();
        let others = if ids.is_empty() { String::new() } else { format!("; alike: {}", first_of(&ids, IDS)) };
        let command = command_for(case);
        let word = if outcome == Outcome::Broken { "broken" } else { "unexpected" };
        text.line(format!("{word:<11} {}{others}", case.id));
        if let Some(reason) = &case.reason {
            text.line(format!("    {reason}"));
        }
        show_findings(text, findings, findings_omitted, build, &command, in_full, style);
        if findings.is_empty() {
            help(text, &command, style);
        }
    }
}

/// Whether two cases seem to show one mistake.
#[must_use]
pub fn is_alike(case: &CaseReport, other: &CaseReport) -> bool {
    shape_of_case(case) == shape_of_case(other)
}

/// What a case has in common with others that have the same findings: its program, and of each finding what does not
/// differ from one build to another. A reason to be broken, without findings, is the same in all programs.
fn shape_of_case(case: &CaseReport) -> Vec<String> {
    let mut shape: Vec<String> = case.findings.iter().map(shape_of).collect();
    shape.sort_unstable();
    shape.dedup();
    shape.extend(case.findings_omitted.keys().map(ToString::to_string));
    let is_of_program = case.reason.is_none() || !shape.is_empty();
    shape.extend(case.reason.clone());
    if is_of_program {
        shape.push(case.id.split('/').next().unwrap_or_default().to_owned());
    }
    shape
}

/// Shows what was excluded in all cases, by program, function and reason.
fn show_excluded(text: &mut Text, cases: &[CaseReport]) {
    let mut places: BTreeMap<(&str, &str, ExclusionReason), (u64, u64)> = BTreeMap::new();
    for case in cases {
        for excluded in &case.excluded {
            let place = (case.program.as_str(), excluded.function.as_str(), excluded.reason);
            let (instructions, seen) = places.entry(place).or_default();
            *instructions += excluded.instructions;
            *seen += 1;
        }
    }
    for ((program, function, reason), (instructions, seen)) in places {
        text.line(format!(
            "excluded: {} in {function} of {program}, in {}: {}",
            counted(instructions, "comparison"),
            counted(seen, "case"),
            reason.text()
        ));
    }
}

/// The most reasons for broken cases at the end of a summary.
const REASONS: usize = 3;

/// Repeats why cases are broken, the most frequent reasons first.
fn show_reasons(text: &mut Text, cases: &[CaseReport]) {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.outcome == Outcome::Broken) {
        *reasons.entry(case.reason.as_deref().unwrap_or_default()).or_default() += 1;
    }
    let mut reasons: Vec<(&str, u64)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, cases)| std::cmp::Reverse(*cases));
    for (reason, cases) in reasons.iter().take(REASONS) {
        text.line(format!("broken      {}: {reason}", counted(*cases, "case")));
    }
    let more = reasons.len().saturating_sub(REASONS) as u64;
    if more > 0 {
        text.line(format!("broken      and for {}, above", counted(more, "other reason")));
    }
}

/// Describes how many frames were compared, and derived.
pub(super) fn frames(all: u64, derived: u64) -> String {
    let stood = all.saturating_sub(derived);
    format!("{} derived, {} unchanged", counted(derived, "frame"), grouped(stood))
}

/// Says what exploring says of the rows that were not exercised; nothing if none was explored.
pub(super) fn explored(rows: ExploredRows) -> String {
    if rows.total() == 0 {
        String::new()
    } else {
        format!("; {} did not run: {rows}", counted(rows.total(), "row"))
    }
}

/// Shows the rows that exploring proves to be wrong.
pub(super) fn show_explored(text: &mut Text, rows: &[UnexercisedRow]) {
    for (index, line) in rows.iter().filter_map(UnexercisedRow::wrong_line).enumerate() {
        if index == SHOWN {
            text.line("    explored    ... and others, see `explore`");
            break;
        }
        text.line(format!("    explored    {line}"));
    }
}

/// The version of what was judged, and what it was made from if that is no section of a file.
pub(super) fn version(is_made: bool, version: u8) -> String {
    let made = if is_made { ".eh_frame as " } else { "" };
    format!("{made}SFrame version {version}")
}

/// Shows the results of a check: findings first, and one sentence about all of it last.
#[must_use]
pub fn check_summary(report: &CheckReport, style: Style) -> Text {
    let mut text = Text::default();
    if !style.is_brief() {
        let CheckReport { file, abi, sframe_version, .. } = report;
        text.line(format!("{file}: {abi}, {}", version(report.is_made(), *sframe_version)));
        report.sample().into_iter().for_each(|sample| text.line(sample));
        report.stack().into_iter().for_each(|stack| text.line(format!("stack       {stack}")));
        report.native.iter().for_each(|native| text.line(format!("native      {}", native.line())));
    }
    if style.is_full() {
        report.sections().iter().for_each(|section| text.line(format!("section     {section}")));
    }
    let command = with_option(&report.command(), "--report DIR");
    let CheckReport { file, findings, findings_omitted, .. } = report;
    show_findings(&mut text, findings, findings_omitted, file, &command, &mut IN_FULL.clone(), style);
    show_accepted(&mut text, &report.known, style);
    if !style.is_brief() {
        show_explored(&mut text, &report.unexercised);
    }
    if !style.is_brief() {
        report.excluded.iter().for_each(|excluded| text.line(excluded.line()));
        report.missing_line().into_iter().for_each(|missing| text.line(missing));
    }
    if style.is_full() {
        show_uncovered(&mut text, &report.summary.uncovered);
        report.program().iter().for_each(|line| text.line(format!("program     {line}")));
        show_figures(&mut text, report);
    } else if !style.is_brief() {
        report.last_output.iter().for_each(|line| text.line(format!("program     printed: {line}")));
    }
    match &report.broken {
        Some(reason) if style.is_brief() => {
            Conclusion { ending: report.ending(), facts: vec![reason.clone()] }.show(&mut text);
        }
        _ if style.is_brief() => {}
        _ => {
            text.append(&report.unwinder.as_ref().map(UnwinderReport::text).unwrap_or_default());
            report.conclusion().show(&mut text);
        }
    }
    text
}

/// Shows what is accepted, if asked for, and what the format can't express: the first places of it.
pub(super) fn show_accepted(text: &mut Text, known: &[SeenKnown], style: Style) {
    let (beyond, others): (Vec<&SeenKnown>, Vec<&SeenKnown>) =
        SeenKnown::accepted(known).partition(|seen| seen.is_beyond_the_format());
    if style.is_full() {
        known_lines(others.into_iter()).iter().for_each(|line| text.line(format!("known       {line}")));
    }
    if style.is_brief() {
        return;
    }
    let shown = if style.is_full() { usize::MAX } else { SHOWN };
    for SeenKnown { finding, reason, .. } in beyond.iter().take(shown) {
        text.line(format!("format      {}: {}; {reason}", finding.verdict, finding.message));
    }
    if let Some(more) = beyond.len().checked_sub(shown).filter(|more| *more > 0) {
        text.line(format!("format      and {} (--verbose)", counted(more as u64, "more function")));
    }
}

/// Shows the functions that were executed without an FDE, those that executed most first.
fn show_uncovered(text: &mut Text, uncovered: &BTreeMap<String, u64>) {
    let mut functions: Vec<(&String, &u64)> = uncovered.iter().collect();
    functions.sort_by_key(|(_, instructions)| Reverse(**instructions));
    for (function, instructions) in functions {
        text.line(format!("    no FDE      {function}: {}", counted(*instructions, "instruction")));
    }
}

/// Shows how much was compared, how walks ended, and hazards.
fn show_figures(text: &mut Text, report: &CheckReport) {
    let summary = &report.summary;
    let _ = writeln!(
        text,
        "{} executed, {} compared, {} agree; {}, at most {} deep",
        counted(summary.counts.instructions, "instruction"),
        grouped(summary.counts.comparisons),
        grouped(summary.agree),
        frames(summary.counts.frames, summary.counts.frames_derived),
        summary.max_depth
    );
    if summary.counts.nothing_compared > 0 {
        let what = "at which there was nothing to compare: the walk ended at the topmost frame";
        let _ = writeln!(text, "    {} {what}", counted(summary.counts.nothing_compared, "instruction"));
    }
    let ends = summary.counts.walk_ends;
    let _ = writeln!(
        text,
        "walks ended: {} outermost, {} unmarked, {} without FDE, {} at {}",
        grouped(ends.outermost),
        grouped(ends.unmarked),
        grouped(ends.no_fde.saturating_sub(ends.entry_without_fde)),
        grouped(ends.disagreed),
        if report.known.iter().any(SeenKnown::is_beyond_the_format) {
            "a finding or what SFrame can't express"
        } else {
            "a finding"
        }
    );
    for (count, what) in [
        (ends.entry_without_fde, "whole, at an entry function that has no FDE"),
        (ends.context, "at the first function of a context that the program made, unmarked"),
        (ends.in_register, "at an interrupted frame whose rules need a register"),
        (ends.no_progress, "at a frame that continues on a stack further down in memory"),
        (ends.departing, "while SP had left a frame and control had not: as before or after"),
        (ends.unsettled, "excluded, see above"),
    ] {
        if count > 0 {
            let _ = writeln!(text, "    {} {what}", grouped(count));
        }
    }
    show_reliability(text, "", &summary.reliability_by_topmost);
    for (kind, rows, instructions) in hazard::totals(&report.hazards) {
        let _ = writeln!(
            text,
            "hazard      {kind}: {}; {} executed with {}",
            kind.text(),
            counted(instructions, "instruction"),
            counted(rows as u64, "row")
        );
    }
    let rows = &summary.rows;
    let _ = writeln!(
        text,
        "{} of {} exercised, {} as a caller's{}",
        grouped(rows.exercised),
        counted(rows.total, "row"),
        grouped(rows.exercised_as_caller),
        explored(summary.rows_explored)
    );
}

/// Shows findings: the first ones in full, up to the limit, the others in a
/// line each.
fn show_findings(
    text: &mut Text,
    findings: &[Finding],
    omitted: &BTreeMap<Verdict, u64>,
    file: &str,
    command: &str,
    in_full: &mut usize,
    style: Style,
) {
    let mut groups = groups(findings);
    // What nobody has explained comes first.
    groups.sort_by_key(|group| group.first.fault.is_some());
    for group in groups.iter().take(SHOWN) {
        if let Some(left) = in_full.checked_sub(1) {
            *in_full = left;
            group.diagnostic(text, file, style);
            text.blank();
        } else {
            group.line(text, "    ", style);
        }
    }
    for line in not_shown(groups.len(), SHOWN, omitted) {
        let _ = writeln!(text, "    {line}");
    }
    if !groups.is_empty() {
        help(text, command, style);
    }
}

/// The command that reproduces a case. If the command line of the run is not known, its options are
/// missing.
pub(super) fn command_for(case: &CaseReport) -> String {
    let plain = || format!("sframe-testbench run --case {}", quoted(&case.id));
    case.reproduce.clone().unwrap_or_else(plain)
}

/// Shows each known bug once, and other known failures by program, with the number of cases.
fn show_known(text: &mut Text, cases: &[CaseReport]) {
    for (why, KnownIn { programs, verdicts, cases }) in known_in(cases) {
        let (programs, verdicts) = (listed(&programs), listed(&verdicts));
        let _ = writeln!(
            text,
            "known       {programs}: {verdicts} in {}: {why}",
            counted(cases.len() as u64, "case")
        );
    }
}

/// Where something known was seen.
#[derive(Default)]
pub(super) struct KnownIn<'r> {
    pub(super) programs: BTreeSet<&'r str>,
    pub(super) verdicts: BTreeSet<&'r str>,
    pub(super) cases: BTreeSet<&'r str>,
}

/// Collects where each known bug was seen, and each other known failure of a program.
pub(super) fn known_in(cases: &[CaseReport]) -> impl Iterator<Item = (String, KnownIn<'_>)> {
    let mut known: BTreeMap<(Option<&str>, String), KnownIn<'_>> = BTreeMap::new();
    for case in cases {
        for seen in SeenKnown::accepted(&case.known) {
            let program = seen.fault.is_none().then_some(case.program.as_str());
            let entry = known.entry((program, seen.explanation())).or_default();
            entry.programs.insert(&case.program);
            entry.verdicts.insert(seen.verdict.as_str());
            entry.cases.insert(&case.id);
        }
    }
    known.into_iter().map(|((_, why), seen)| (why, seen))
}

fn listed(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

fn show_skipped(text: &mut Text, cases: &[CaseReport]) {
    for case in cases.iter().filter(|case| case.outcome == Outcome::Skipped) {
        let _ = writeln!(text, "skipped     {}: {}", case.id, case.reason.as_deref().unwrap_or(""));
    }
}

/// Shows cases and instructions by toolchain and ABI.
fn show_table(text: &mut Text, cases: &[CaseReport]) {
    let mut table: BTreeMap<(&str, u8, Abi), (u64, u64)> = BTreeMap::new();
    for case in cases {
        let row = table.entry((&case.toolchain, case.sframe_version, case.abi)).or_default();
        row.0 += 1;
        row.1 += case.counts.comparisons;
    }
    let width = table.keys().map(|(toolchain, ..)| toolchain.len() + 2).fold(12, usize::max);
    let _ = writeln!(text, "{:<width$}version  abi          cases  comparisons", "toolchain");
    for ((toolchain, version, abi), (cases, comparisons)) in table {
        let comparisons = grouped(comparisons);
        let _ = writeln!(text, "{toolchain:<width$}{version:<9}{abi:<12}{cases:>6}{comparisons:>13}");
    }
}

/// Shows in how many cases of each ABI control was transferred in each way.
fn show_control_flow(text: &mut Text, summary: &ReportSummary) {
    let abis: String = summary.abis.keys().map(|abi| format!("{abi:>11}")).collect();
    let _ = writeln!(text, "{:<20}{abis}", "control flow, cases");
    for (feature, by_abi) in &summary.control_flow {
        let count = |abi| by_abi.get(abi).map_or_else(|| "-".to_owned(), |count| grouped(count.cases));
        let counts: String = summary.abis.keys().map(|abi| format!("{:>11}", count(abi))).collect();
        let _ = writeln!(text, "{feature:<20}{counts}");
    }
}

/// Shows signals, and the share with complete backtraces.
fn show_signals(text: &mut Text, summary: &ReportSummary) {
    for (abi, by_version) in &summary.signals {
        for (version, counts) in by_version {
            let SignalCounts { delivered, complete, ends, .. } = counts;
            #[expect(clippy::cast_precision_loss, reason = "a share for people")]
            let share = *complete as f64 * 100.0 / (*delivered).max(1) as f64;
            let ends: Vec<String> =
                ends.iter().map(|(end, count)| format!("{} ended {end}", grouped(*count))).collect();
            let _ = writeln!(
                text,
                "signals on {abi}, version {version}: {} delivered, {share:.1} % with whole backtraces{}{}",
                grouped(*delivered),
                if ends.is_empty() { "" } else { "; " },
                ends.join(", ")
            );
        }
    }
    for (abi, by) in &summary.reliability_by_abi {
        show_reliability(text, &format!(" on {abi}"), by);
    }
}

/// Shows what the walks were worth, and where those were that were not complete.
fn show_reliability(text: &mut Text, on: &str, by: &ByTopmost) {
    let total = by.total();
    let _ = writeln!(text, "reliability{on}: {total}");
    let not_complete =
        by.0.iter().filter(|(_, of)| of.complete < of.counts().iter().map(|(_, count)| count).sum());
    for (topmost, of) in not_complete {
        let of = of.counts().into_iter().filter(|(_, count)| *count > 0);
        let of: Vec<String> =
            of.map(|(reliability, count)| format!("{} {reliability}", grouped(count))).collect();
        let _ = writeln!(text, "    {topmost}: {}", of.join(", "));
    }
}

/// Shows what the call stack itself was compared with.
fn show_traces(text: &mut Text, summary: &ReportSummary) {
    let counts = Trace::ALL.iter().map(|trace| (trace, summary.counts.traces.of(*trace)));
    let counts: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(trace, count)| format!("{trace} {}", grouped(count)))
        .collect();
    if !counts.is_empty() {
        let _ = writeln!(text, "the call stack compared with other traces: {}", counts.join(", "));
    }
}
