//! Compares a spec's expectations with what a run has shown.

use std::collections::BTreeMap;

use sframe_corpus::spec::{BuildFacts, Exception, Frames, Percent, Signal, Spec, Stop, Sweep};
use sframe_judge::compare::WalkEnd;
use sframe_judge::examine::coverage::{Coverage, RowUse, UnexercisedRow};
use sframe_judge::examine::excluded::{self, Exclusion, is_too_much};
use sframe_judge::examine::{Arrival, Deliveries, WalkEnds};
use sframe_judge::finding::{Finding, FindingRow, Said};
use sframe_judge::vocabulary::{End, Verdict};
use sframe_kit::text::{counted, grouped};

use crate::case::CaseReport;

/// Returns the finding if a stop's expectations were not met.
pub(crate) fn judge_stop(stop: &Stop, (hits, arrival): &(u32, Option<Arrival>)) -> Vec<Finding> {
    let Some(arrival) = arrival else {
        return vec![Finding::of_spec(
            Verdict::NotReached,
            format!("arrival {} at {}", stop.hit, stop.at),
            counted((*hits).into(), "arrival"),
            format!(
                "{} was reached {}, but the stop is at arrival {}",
                stop.at,
                counted((*hits).into(), "time"),
                stop.hit
            ),
        )];
    };
    let mut findings = Vec::new();
    if let Some(frames) = &stop.frames
        && *frames != *arrival.frames.as_slice()
    {
        findings.push(Finding::of_spec(
            Verdict::UnexpectedFrames,
            frames.join(" < "),
            arrival.frames.join(" < "),
            difference(stop, frames, &arrival.frames),
        ));
    }
    findings.extend(judge_end(stop, arrival));
    findings
}

/// Says how a call stack differs from what a spec expects.
fn difference(stop: &Stop, expected: &Frames, got: &[String]) -> String {
    let first = expected.iter().zip(got).take_while(|(expected, got)| expected == got).count();
    let at = |function: Option<&str>| function.map_or_else(|| "none".to_owned(), |name| format!("`{name}`"));
    format!(
        "at {} the call stack is [{}], and the spec expects [{}]: the first frame that differs is frame {first}, {} and \
         not {}",
        stop.at,
        got.iter().collect::<Frames>().text(),
        expected.text(),
        at(got.get(first).map(String::as_str)),
        at(expected.iter().nth(first)),
    )
}

/// A stop requires a complete backtrace: up to the entry function, and ending there.
fn judge_end(stop: &Stop, arrival: &Arrival) -> Option<Finding> {
    let (verdict, got): (_, Said) = match (arrival.end, stop.end) {
        // The disagreement is already a finding.
        (WalkEnd::Disagreed, _) => return None,
        (end, None) if end.is_whole() => return None,
        (end, Some(expected)) if end.in_specs() == Some(expected) => return None,
        (WalkEnd::NoFde { frame }, _) => {
            let function = arrival.frames.get(frame).map_or("?", String::as_str);
            (Verdict::NoFde, format!("no FDE for frame {frame}, {function}").into())
        }
        (WalkEnd::Unsettled, _) => {
            (Verdict::WrongEnd, "nowhere: the topmost frame's caller is not known yet".into())
        }
        (end, _) => (Verdict::WrongEnd, end.in_specs().map_or_else(|| "".into(), Said::from)),
    };
    let expected = stop.end.map_or(Said::WholeBacktrace, Said::from);
    let message = format!("at {} the backtrace ends: {got}; expected: {expected}", stop.at);
    Some(Finding::of_spec(verdict, expected, got, message))
}

/// Returns the findings about expectations of signals.
pub(crate) fn judge_signals(signal: &Signal, deliveries: &Deliveries) -> Vec<Finding> {
    let Deliveries { delivered, complete, .. } = *deliveries;
    let place = signal.place();
    let mut findings = Vec::new();
    let minimum = u64::from(signal.min_deliveries.get());
    if delivered < minimum {
        findings.push(Finding::of_spec(
            Verdict::NotReached,
            counted(minimum, "signal"),
            counted(delivered, "signal"),
            format!(
                "{place}, {} {} delivered, at least {minimum} expected",
                counted(delivered, "signal"),
                if delivered == 1 { "was" } else { "were" }
            ),
        ));
    }
    if !signal.complete.is_reached_by(complete, delivered) {
        let ends: Vec<String> =
            deliveries.ends.iter().map(|(end, count)| format!("{count} ended {end}")).collect();
        findings.push(Finding::of_spec(
            Verdict::NotReached,
            format!("{} of the signals with whole backtraces", signal.complete),
            format!("{complete} of {delivered}"),
            format!(
                "{place}, backtraces of {complete} of {delivered} signals were whole, and {} expected ({})",
                signal.complete,
                ends.join(", ")
            ),
        ));
    }
    let at_entry = deliveries.complete_at_entry;
    if !signal.at_entry.is_reached_by(at_entry, delivered) {
        findings.push(Finding::of_spec(
            Verdict::NotReached,
            format!("{} of the signals with whole backtraces at the handler's first instruction", signal.at_entry),
            format!("{at_entry} of {delivered}"),
            format!(
                "{place}, backtraces of {at_entry} of {delivered} signals were whole at the handler's first instruction, and \
                 {} expected",
                signal.at_entry
            ),
        ));
    }
    for (end, count) in &deliveries.ends {
        if !signal.ends.contains(end) {
            findings.push(Finding::of_spec(
                Verdict::WrongEnd,
                Said::AnotherEnd,
                *end,
                format!("{place}, backtraces of {count} signals end: {end}; the spec does not expect that"),
            ));
        }
    }
    findings
}

/// Returns findings for code without an FDE and rows that were not exercised,
/// unless the spec excepts them, and for exceptions that are not needed.
pub(crate) fn judge_coverage(spec: &Spec, facts: &BuildFacts<'_>, coverage: &Coverage) -> Vec<Finding> {
    let mut findings = Vec::new();
    let uncovered = coverage.uncovered.iter().map(|(function, instructions)| {
        let got = format!("{} of {function} without an FDE", counted(*instructions, "instruction"));
        (None, function, None, got)
    });
    let no_fde = (Verdict::NoFde, "an FDE for every instruction");
    except(&spec.uncovered, facts, uncovered, no_fde, &mut findings);
    for exception in Spec::exceptions_for(&spec.uncovered, facts) {
        let Some(expected) = exception.instructions else { continue };
        let places = coverage.uncovered_places.iter().filter(|(function, _)| exception.names(function));
        let got: u64 = places.map(|(_, count)| count).sum();
        if got != expected {
            let functions: Vec<_> = exception.functions.iter().map(ToString::to_string).collect();
            let message = format!(
                "{got} different instructions of {} execute without an FDE; the spec expects {expected}",
                functions.join(", ")
            );
            let finding =
                Finding::of_spec(Verdict::NotReached, expected.to_string(), got.to_string(), message);
            findings.push(Finding { function: functions.into_iter().next(), ..finding });
        }
    }

    let mut rows: BTreeMap<(Option<&String>, &String), Vec<&FindingRow>> = BTreeMap::new();
    // Who has no caller can't be compared, however a program is written.
    let can_be = coverage.unexercised.iter().filter(|row| row.used != RowUse::WithoutCaller);
    for UnexercisedRow { image, function, row, .. } in can_be {
        rows.entry((image.as_ref(), function)).or_default().push(row);
    }
    let unreached = rows.into_iter().map(|((image, function), rows)| {
        let starts: Vec<String> = rows.iter().map(|row| format!("+{}", row.start)).collect();
        let got = format!("rows {} of {function} not exercised", starts.join(", "));
        (image, function, rows.first().copied(), got)
    });
    let not_reached = (Verdict::NotReached, "every row exercised");
    except(&spec.unreached, facts, unreached, not_reached, &mut findings);
    findings
}

fn except<'c>(
    exceptions: &[Exception],
    facts: &BuildFacts<'_>,
    found: impl Iterator<Item = (Option<&'c String>, &'c String, Option<&'c FindingRow>, String)>,
    (verdict, expected): (Verdict, &str),
    findings: &mut Vec<Finding>,
) {
    let entries = Spec::exceptions_for(exceptions, facts);
    let mut patterns: Vec<_> =
        entries.flat_map(|entry| entry.functions.iter()).map(|pattern| (pattern, false)).collect();
    for (image, function, row, got) in found {
        let mut excepted = false;
        for (_, needed) in patterns.iter_mut().filter(|(pattern, _)| pattern.matches(function)) {
            (*needed, excepted) = (true, true);
        }
        if !excepted {
            let message = format!("{got}; the spec expects {expected}");
            let finding = Finding::of_spec(verdict, expected.to_owned(), got, message);
            let function = Some(function.clone());
            findings.push(Finding { function, image: image.cloned(), row: row.cloned(), ..finding });
        }
    }
    for (pattern, _) in patterns.iter().filter(|(_, needed)| !needed) {
        let message = format!("`{pattern}` is excepted from {expected}, but needs no exception");
        findings.push(Finding::of_spec(
            Verdict::UnexpectedPass,
            format!("an exception from {expected}"),
            "none needed".to_owned(),
            message,
        ));
    }
}

/// Returns the ends of backtraces that the spec does not expect, and those that it
/// expects but that were not seen. Where code without an FDE may execute, a
/// backtrace may end there too.
pub(crate) fn judge_ends(expected: &[End], seen: &WalkEnds) -> Vec<(End, Finding)> {
    let mut findings = Vec::new();
    for (end, count) in seen.counts() {
        let message = match (count, expected.contains(&end)) {
            (1, false) if end != End::NoFde => format!("1 backtrace ends as `{end}`"),
            (2.., false) if end != End::NoFde => format!("{count} backtraces end as `{end}`"),
            (0, true) => format!("no backtrace ends as `{end}`"),
            _ => continue,
        };
        let expected = Said::Ends(expected.to_vec());
        let got = seen.counts().into_iter().filter(|(_, count)| *count > 0);
        let got = Said::Ends(got.map(|(end, _)| end).collect());
        let message = format!("{message}; the spec expects: {expected}");
        findings.push((end, Finding::of_spec(Verdict::WrongEnd, expected, got, message)));
    }
    findings
}

/// Returns findings for minimums of a sweep that were not reached, each with the minimum's keys in the sweep.
pub(crate) fn judge_sweep(sweep: &Sweep, report: &CaseReport, covered: u64) -> Vec<(Vec<String>, Finding)> {
    let mut findings = Vec::new();
    let mut floor = |holds: bool, keys: &[&str], what: &str, expected: String, got: String| {
        if !holds {
            let message = format!("the sweep is too small: {what} {got}, at least {expected} expected");
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            findings.push((keys, Finding::of_spec(Verdict::NotReached, expected, got, message)));
        }
    };
    let share = |part: u64, whole: u64| format!("{} of {}", grouped(part), grouped(whole));
    let instructions = report.counts.comparisons + report.counts.nothing_compared;
    floor(
        instructions >= sweep.min_instructions,
        &["min_instructions"],
        "instructions looked at:",
        grouped(sweep.min_instructions),
        grouped(instructions),
    );
    if let Some(rows) = sweep.rows {
        let reached = report.rows.exercised + report.rows.without_caller;
        floor(
            rows.is_reached_by(reached, report.rows.total),
            &["rows"],
            "rows exercised:",
            rows.to_string(),
            share(reached, report.rows.total),
        );
    }
    if let Some(share_covered) = sweep.covered {
        floor(
            share_covered.is_reached_by(covered, report.counts.instructions),
            &["covered"],
            "instructions with an FDE:",
            share_covered.to_string(),
            share(covered, report.counts.instructions),
        );
    }
    let min_depth = sweep.min_depth.get();
    floor(
        report.max_depth as u64 >= u64::from(min_depth),
        &["min_depth"],
        "frames of the deepest call stack:",
        min_depth.to_string(),
        report.max_depth.to_string(),
    );
    for (feature, minimum) in &sweep.control_flow {
        let count = report.control_flow.of(*feature);
        let keys = ["control_flow", feature.as_str()];
        floor(count >= *minimum, &keys, &format!("{feature}:"), grouped(*minimum), grouped(count));
    }
    findings
}

/// Returns a finding if more comparisons were excluded than a spec allows.
pub(crate) fn judge_excluded(allowed: Option<Percent>, report: &CaseReport) -> Option<Finding> {
    let excluded = excluded::total(&report.excluded);
    let all = excluded + report.counts.comparisons;
    let is_too_much = match allowed {
        Some(allowed) => !allowed.bounds(excluded, all),
        None => is_too_much(&report.excluded, report.counts.comparisons),
    };
    is_too_much.then(|| {
        let expected = match allowed {
            Some(allowed) => format!("at most {allowed}"),
            None => "at most 1%, and not the whole of a function".to_owned(),
        };
        let places: Vec<String> = report.excluded.iter().map(Exclusion::line).collect();
        let message = format!(
            "{} of {} excluded, where {expected} may be: {}",
            grouped(excluded),
            counted(all, "comparison"),
            places.join("; ")
        );
        let got = format!("{} of {}", grouped(excluded), grouped(all));
        Finding::of_spec(Verdict::NotReached, expected, got, message)
    })
}
