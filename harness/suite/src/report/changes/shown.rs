//! Changes between two reports, for people.

use std::fmt::Write as _;

use sframe_kit::conclusion::Conclusion;
use sframe_kit::text::{Text, counted, grouped};

use super::{CaseChange, CauseChange, Changed, Changes, ReliabilityChange};
use crate::provenance::Provenance;
use crate::report::html::plain::{self, escaped, table_of};
use crate::report::markdown::{cell, code};

/// The most cases that are listed in Markdown, whose readers accept at most a megabyte.
const CASES: usize = 200;

/// The most cases of those that only one of the reports has that are listed on a terminal.
const OF_ONE: usize = 20;

/// The most that is listed of a case on a terminal, of what is new or worse, and of what is gone or better.
const PLACES: usize = 8;

/// Formats changes for a terminal: how the comparison ends, last.
#[must_use]
pub fn changes_text(changes: &Changes) -> Text {
    let mut text = Text::default();
    text.line(format_args!("before: {}", side(changes.before.as_ref())));
    text.line(format_args!("after:  {}", side(changes.after.as_ref())));
    for difference in &changes.runs {
        text.line(format_args!("the runs differ (before / after): {}", difference));
    }
    for cause in &changes.causes {
        text.line(format_args!("{:<8} {}", cause.change.to_string(), of_cause(cause)));
    }
    for ReliabilityChange { topmost, walks: [before, after] } in &changes.reliability {
        text.line(format_args!("walks from {topmost}: {after}; before: {before}"));
    }
    // Runs that select differently have many such cases, of which nothing else is to be said.
    let mut left = [(Changed::New, OF_ONE), (Changed::Gone, OF_ONE)];
    for case in &changes.cases {
        if let Some((_, left)) = left.iter_mut().find(|(change, _)| *change == case.change) {
            let Some(fewer) = left.checked_sub(1) else { continue };
            *left = fewer;
        }
        text.line(format_args!("{:<8} {}: {}", case.change.to_string(), case.case, outcomes(case)));
        for (sign, places) in [("+", &case.new), ("-", &case.gone)] {
            for place in places.iter().take(PLACES) {
                text.line(format_args!("         {sign} {}", place));
            }
            if let Some(more) = places.len().checked_sub(PLACES).filter(|more| *more > 0) {
                text.line(format_args!("         {sign} and {} more", grouped(more as u64)));
            }
        }
    }
    for change in [Changed::New, Changed::Gone] {
        if let Some(more) = changes.count(change).checked_sub(OF_ONE as u64).filter(|more| *more > 0) {
            text.line(format_args!(
                "{:<8} and {}; --report DIR lists all",
                change.to_string(),
                counted(more, "more case")
            ));
        }
    }
    conclusion(changes).show(&mut text);
    text
}

/// How the comparison ends.
fn conclusion(changes: &Changes) -> Conclusion {
    let nothing = "the second report has judged no case that both have".to_owned();
    let nothing = (changes.compared == 0).then_some(nothing);
    Conclusion { ending: changes.ending(), facts: nothing.into_iter().chain([headline(changes)]).collect() }
}

/// The numbers, in a line.
fn headline(changes: &Changes) -> String {
    let [before, after] = changes.cases_of;
    let all = [Changed::Worse, Changed::New, Changed::Changed, Changed::Better, Changed::Gone];
    let counts: Vec<String> =
        all.into_iter().map(|change| format!("{} {change}", grouped(changes.count(change)))).collect();
    let unchanged = grouped(changes.unchanged);
    format!(
        "{}, {} before: {}, {unchanged} unchanged",
        counted(after, "case"),
        grouped(before),
        counts.join(", ")
    )
}

fn side(provenance: Option<&Provenance>) -> String {
    provenance.map_or_else(
        || "a report that does not say how it was made".to_owned(),
        |made| format!("{}, sframe-testbench {}: {}", made.started, made.maker(), made.command),
    )
}

fn of_cause(CauseChange { cause, cases: [before, after], known, .. }: &CauseChange) -> String {
    let is_known = if *known { "known" } else { "unexplained" };
    format!("{cause} ({is_known}): {}, {} before", counted(*after, "case"), grouped(*before))
}

fn outcomes(CaseChange { said, reason, .. }: &CaseChange) -> String {
    let why = reason.as_deref().and_then(|reason| reason.lines().next()).filter(|why| !why.is_empty());
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    match said.clone() {
        [Some(before), Some(after)] if before == after => format!("{after}{why}"),
        [Some(before), Some(after)] => format!("{after}{why}, was {before}"),
        [Some(before), None] => format!("not in the second report, was {before}"),
        [None, Some(after)] => format!("{after}{why}, not in the first report"),
        [None, None] => String::new(),
    }
}

/// The columns of what walks were worth.
const WALKS: [&str; 9] =
    ["topmost frame", "complete", "before", "incomplete", "before", "silent", "before", "wrong", "before"];

const WALKS_IN_MARKDOWN: &str = "\n## Walks, by what the topmost frame was in\n\nOf the cases that both reports have checked.\n\n\
    | topmost frame | complete | before | incomplete | before | silent | before | wrong | before |\n\
    |---|---:|---:|---:|---:|---:|---:|---:|---:|\n";

/// The cells of a row of that.
fn cells(ReliabilityChange { topmost, walks: [before, after] }: &ReliabilityChange) -> [String; 9] {
    let mut cells = [const { String::new() }; 9];
    cells[0] = topmost.to_string();
    for ((pair, (_, before)), (_, after)) in
        cells[1..].chunks_exact_mut(2).zip(before.counts()).zip(after.counts())
    {
        pair.clone_from_slice(&[grouped(after), grouped(before)]);
    }
    cells
}

/// Formats changes as Markdown.
#[must_use]
pub fn changes_markdown(changes: &Changes) -> String {
    let mut text = format!("# SFrame test bench: {}\n\n", conclusion(changes).sentence());
    let _ = writeln!(text, "Before: {}  ", code(&side(changes.before.as_ref())));
    let _ = writeln!(text, "After: {}", code(&side(changes.after.as_ref())));
    for difference in &changes.runs {
        let _ = writeln!(text, "\nThe runs differ (before / after): {}", code(difference));
    }
    if !changes.causes.is_empty() {
        text += "\n## By cause\n\nOf the cases that both reports have checked.\n\n| change | cause | explained | cases | before |\n|---|---|---|---:|---:|\n";
    }
    for CauseChange { cause, known, change, cases: [before, after] } in &changes.causes {
        let known = if *known { "known" } else { "unexplained" };
        let _ = writeln!(
            text,
            "| {change} | {} | {known} | {} | {} |",
            cell(cause),
            grouped(*after),
            grouped(*before)
        );
    }
    if !changes.reliability.is_empty() {
        text += WALKS_IN_MARKDOWN;
    }
    for change in &changes.reliability {
        let _ = writeln!(text, "| {} |", cells(change).join(" | "));
    }
    if !changes.cases.is_empty() {
        text += "\n## By case\n\n| change | case | outcome | new or worse | gone or better |\n|---|---|---|---|---|\n";
    }
    for case in changes.cases.iter().take(CASES) {
        let places =
            |places: &[String]| places.iter().map(|place| cell(place)).collect::<Vec<_>>().join(", ");
        let CaseChange { change, new, gone, .. } = case;
        let said = cell(&outcomes(case));
        let _ = writeln!(
            text,
            "| {change} | {} | {said} | {} | {} |",
            cell(&case.case),
            places(new),
            places(gone)
        );
    }
    if let Some(more) = changes.cases.len().checked_sub(CASES).filter(|more| *more > 0) {
        let _ = writeln!(text, "\nAnd {} more; changes.html has all of them.", grouped(more as u64));
    }
    text
}

/// Formats changes as a page, which loads nothing and has no script.
#[must_use]
pub fn changes_html(changes: &Changes) -> String {
    let mut page = plain::head("changes");
    let _ = write!(
        page,
        "<p class=\"verdict {}\">{}</p>\n<dl><dt>before</dt><dd>{}</dd><dt>after</dt><dd>{}</dd></dl>\n",
        plain::class_of(changes.ending()),
        escaped(&conclusion(changes).sentence()),
        escaped(&side(changes.before.as_ref())),
        escaped(&side(changes.after.as_ref())),
    );
    for difference in &changes.runs {
        let _ = writeln!(page, "<p>The runs differ (before / after): {}</p>", escaped(difference));
    }
    if !changes.causes.is_empty() {
        page += "<h2>By cause</h2>\n<p class=\"faint\">Of the cases that both reports have checked.</p>\n";
        page += &table_of(&["change", "cause", "explained", "cases", "before"]);
        for CauseChange { cause, known, change, cases: [before, after] } in &changes.causes {
            let known = if *known { "known" } else { "unexplained" };
            let numbers = format!(
                "<td class=\"num\">{}</td><td class=\"num\">{}</td>",
                grouped(*after),
                grouped(*before)
            );
            let _ = writeln!(
                page,
                "<tr><td><span class=\"chip {}\">{change}</span></td><td>{}</td><td>{known}</td>{numbers}</tr>",
                class(*change),
                escaped(cause)
            );
        }
        page += "</tbody></table></div>\n";
    }
    if !changes.reliability.is_empty() {
        page += "<h2>Walks, by what the topmost frame was in</h2>\n<p class=\"faint\">Of the cases that both reports have checked.</p>\n";
        page += &table_of(&WALKS);
        for change in &changes.reliability {
            let [topmost, numbers @ ..] = cells(change);
            let numbers = numbers.map(|number| format!("<td class=\"num\">{number}</td>")).join("");
            let _ = writeln!(page, "<tr><td>{topmost}</td>{numbers}</tr>");
        }
        page += "</tbody></table></div>\n";
    }
    if !changes.cases.is_empty() {
        page += "<h2>By case</h2>\n";
        page += &table_of(&["change", "case", "outcome", "new or worse", "gone or better"]);
        for case in &changes.cases {
            let places = |places: &[String]| {
                places.iter().map(|place| escaped(place)).collect::<Vec<_>>().join("<br>")
            };
            let said = escaped(&outcomes(case));
            let _ = writeln!(
                page,
                "<tr><td><span class=\"chip {}\">{}</span></td><td>{}</td><td>{said}</td><td>{}</td><td>{}</td></tr>",
                class(case.change),
                case.change,
                escaped(&case.case),
                places(&case.new),
                places(&case.gone)
            );
        }
        page += "</tbody></table></div>\n";
    }
    page += plain::FOOT;
    page
}

/// The colour of a change.
const fn class(change: Changed) -> &'static str {
    match change {
        Changed::Worse => "unexpected",
        Changed::Better => "agree",
        Changed::New | Changed::Changed => "known",
        Changed::Gone => "skipped",
    }
}
