//! Changes between two reports, for people.

use std::fmt::Write as _;

use super::{CaseChange, CauseChange, Changed, Changes};
use crate::case::Outcome;
use crate::provenance::Provenance;
use crate::report::markdown::{cell, code};
use sframe_inspect::text::{Text, counted, grouped, neutral};

/// The most cases that are listed in Markdown, whose readers accept at most a megabyte.
const CASES: usize = 200;

/// The style of all pages.
const STYLE: &str = include_str!("../html/page.css");

/// Formats changes for a terminal.
#[must_use]
pub fn changes_text(changes: &Changes) -> Text {
    let mut text = Text::default();
    text.line(format_args!("before: {}", side(changes.before.as_ref())));
    text.line(format_args!("after:  {}", side(changes.after.as_ref())));
    for difference in &changes.runs {
        text.line(format_args!("the runs differ: {}", neutral(difference)));
    }
    for cause in &changes.causes {
        text.line(format_args!("{:<8} {}", cause.change.to_string(), neutral(&of_cause(cause))));
    }
    for case in &changes.cases {
        text.line(format_args!("{:<8} {}: {}", case.change.to_string(), neutral(&case.case), outcomes(case)));
        for (sign, places) in [("+", &case.new), ("-", &case.gone)] {
            places.iter().for_each(|place| text.line(format_args!("         {sign} {}", neutral(place))));
        }
        if let Some(reason) = &case.reason {
            text.line(format_args!("           {}", neutral(reason.lines().next().unwrap_or_default())));
        }
    }
    text.line(headline(changes));
    text
}

/// The numbers, in a line.
fn headline(changes: &Changes) -> String {
    let [before, after] = changes.cases_of;
    let all = [Changed::Worse, Changed::New, Changed::Changed, Changed::Better, Changed::Gone];
    let counts: Vec<String> =
        all.into_iter().map(|change| format!("{} {change}", grouped(changes.count(change)))).collect();
    let were = if before == 1 { "was" } else { "were" };
    let unchanged = grouped(changes.unchanged);
    format!(
        "{}, {} {were}: {}, {unchanged} unchanged",
        counted(after, "case"),
        grouped(before),
        counts.join(", ")
    )
}

fn side(provenance: Option<&Provenance>) -> String {
    provenance.map_or_else(
        || "an older version, which does not say".to_owned(),
        |made| format!("{}, sframe-testbench {}: {}", made.started, made.maker(), neutral(&made.command)),
    )
}

fn of_cause(CauseChange { cause, cases: [before, after], known, .. }: &CauseChange) -> String {
    let is_known = if *known { "known" } else { "unexplained" };
    format!("{cause} ({is_known}): {}, {} before", counted(*after, "case"), grouped(*before))
}

fn outcomes(CaseChange { outcomes, rows, .. }: &CaseChange) -> String {
    let name = |outcome: Outcome| format!("{outcome:?}").to_lowercase();
    let said = match outcomes.map(|outcome| outcome.map(name)) {
        [Some(before), Some(after)] if before == after => after,
        [Some(before), Some(after)] => format!("{after}, was {before}"),
        [Some(before), None] => format!("not in the second report, was {before}"),
        [None, Some(after)] => format!("{after}, not in the first report"),
        [None, None] => String::new(),
    };
    let [before, after] = *rows;
    if before == after || outcomes.iter().any(Option::is_none) {
        return said;
    }
    format!("{said}; {}, {} before", counted(after, "row"), grouped(before))
}

/// Formats changes as Markdown.
#[must_use]
pub fn changes_markdown(changes: &Changes) -> String {
    let mut text = format!("# SFrame test bench: {}\n\n", headline(changes));
    let _ = writeln!(text, "Before: {}  ", code(&side(changes.before.as_ref())));
    let _ = writeln!(text, "After: {}", code(&side(changes.after.as_ref())));
    for difference in &changes.runs {
        let _ = writeln!(text, "\nThe runs differ: {}", code(difference));
    }
    if !changes.causes.is_empty() {
        text += "\n## By cause\n\n| | cause | | cases | before |\n|---|---|---|---:|---:|\n";
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
    if !changes.cases.is_empty() {
        text += "\n## By case\n\n| | case | | new | gone |\n|---|---|---|---|---|\n";
    }
    for case in changes.cases.iter().take(CASES) {
        let places =
            |places: &[String]| places.iter().map(|place| cell(place)).collect::<Vec<_>>().join(", ");
        let CaseChange { change, new, gone, .. } = case;
        let said = outcomes(case);
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
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
    );
    let _ = write!(
        page,
        "<title>SFrame test bench: changes</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header><h1>SFrame test \
         bench: changes</h1></header>\n<main>\n<p class=\"verdict {}\">{}</p>\n<dl><dt>before</dt><dd>{}</dd>\
         <dt>after</dt><dd>{}</dd></dl>\n",
        if changes.is_worse() { "unexpected" } else { "agree" },
        escaped(&headline(changes)),
        escaped(&side(changes.before.as_ref())),
        escaped(&side(changes.after.as_ref())),
    );
    for difference in &changes.runs {
        let _ = writeln!(page, "<p>The runs differ: {}</p>", escaped(difference));
    }
    if !changes.causes.is_empty() {
        page += "<h2>By cause</h2>\n<div class=\"scroll\"><table>\n<tr><th></th><th>cause</th><th></th><th>cases</th><th>before</th></tr>\n";
        for CauseChange { cause, known, change, cases: [before, after] } in &changes.causes {
            let known = if *known { "known" } else { "unexplained" };
            let numbers = format!(
                "<td class=\"num\">{}</td><td class=\"num\">{}</td>",
                grouped(*after),
                grouped(*before)
            );
            let _ = writeln!(
                page,
                "<tr><td>{change}</td><td>{}</td><td>{known}</td>{numbers}</tr>",
                escaped(cause)
            );
        }
        page += "</table></div>\n";
    }
    if !changes.cases.is_empty() {
        page += "<h2>By case</h2>\n<div class=\"scroll\"><table>\n<tr><th></th><th>case</th><th></th><th>new</th><th>gone</th></tr>\n";
        for case in &changes.cases {
            let places = |places: &[String]| {
                places.iter().map(|place| escaped(place)).collect::<Vec<_>>().join("<br>")
            };
            let mut said = escaped(&outcomes(case));
            if let Some(reason) = &case.reason {
                let _ = write!(said, "<br>{}", escaped(reason));
            }
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td>{}</td><td>{said}</td><td>{}</td><td>{}</td></tr>",
                case.change,
                escaped(&case.case),
                places(&case.new),
                places(&case.gone)
            );
        }
        page += "</table></div>\n";
    }
    page += "</main>\n</body>\n</html>\n";
    page
}

/// Text of reports, which nothing may interpret.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in neutral(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}
