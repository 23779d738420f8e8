//! The score of the bench, for people.

use std::fmt::Display;
use std::time::Duration;

use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::text::{Text, counted, grouped};

use super::{MutationReport, Score, Survivor};

/// Shows the outcome of mutants: survivors first, then the numbers.
#[must_use]
pub fn mutation_summary(report: &MutationReport, ending: Ending, elapsed: Duration) -> Text {
    let mut text = Text::default();
    for survivor in report.unproved.iter().chain(&report.survived) {
        show(&mut text, survivor);
    }
    let shows_possible = report.total.possible > 0;
    table(&mut text, "operator", shows_possible, report.by_operator.iter());
    table(&mut text, "ABI", shows_possible, report.by_abi.iter());
    table(&mut text, "version", shows_possible, report.by_version.iter());
    table(&mut text, "toolchain", shows_possible, report.by_toolchain.iter());
    table(&mut text, "program", shows_possible, report.by_program.iter());
    let list = |counts: Vec<(String, u64)>| {
        let parts = counts.into_iter().map(|(name, count)| format!("{name} {}", grouped(count)));
        parts.collect::<Vec<_>>().join(", ")
    };
    let killed_by = report.killed_by.iter().map(|(name, count)| (name.clone(), *count)).collect();
    let mut line = |what: &str, counts: Vec<(String, u64)>| {
        if !counts.is_empty() {
            let _ = writeln!(text, "{what}: {}", list(counts));
        }
    };
    line("noticed by", killed_by);
    let equivalent_by = report.equivalent_by.iter().map(|(reason, count)| (reason.to_string(), *count));
    line("equivalent", equivalent_by.collect());
    let possible = if report.total.possible == 0 {
        String::new()
    } else {
        let doubts = report.possible_by.iter().map(|(doubt, count)| (doubt.says().to_owned(), *count));
        line("not proved", doubts.collect());
        format!(" {} possible,", grouped(report.total.possible))
    };
    let survived = report.survived.len() as u64;
    let mutants = format!(
        "{}: {} survived, {} killed, {} equivalent,{possible} {} not exercised",
        counted(report.total.mutants, "mutant"),
        grouped(survived),
        grouped(report.total.killed),
        grouped(report.total.equivalent),
        grouped(report.total.not_exercised),
    );
    let score = report.score.map_or_else(
        || "none, since no mutant was exercised".to_owned(),
        |score| format!("{score:.2} % of those exercised and not equivalent"),
    );
    let time = format!("seed {}, {:.1} s", report.seed, elapsed.as_secs_f64());
    let left = (report.left_builds > 0)
        .then(|| format!("mutants of {} are left", counted(report.left_builds, "build")));
    let facts = left.into_iter().chain([mutants, format!("score: {score}"), time]);
    Conclusion { ending, facts: facts.collect() }.show(&mut text);
    text
}

fn show(text: &mut Text, survivor: &Survivor) {
    let Survivor { operator, build, image, function, row, message, disassembly, doubts } = survivor;
    let place = match (image, function) {
        (Some(image), Some(function)) => format!("{image}!{function}"),
        (Some(image), None) => image.clone(),
        (None, Some(function)) => function.clone(),
        (None, None) => "the header".to_owned(),
    };
    let outcome = if doubts.is_empty() { "survived" } else { "possible" };
    let _ = writeln!(text, "{outcome}  {operator}: {message}");
    let _ = writeln!(text, "    {build}: {place}");
    if let Some(row) = row {
        let _ = writeln!(text, "    row +{}: {}", row.start, row.rules);
    }
    for doubt in doubts {
        let _ = writeln!(text, "    not proved: {}", doubt.says());
    }
    for line in disassembly {
        let _ = writeln!(text, "        {line}");
    }
}

fn table<'s, K: Display + 's>(
    text: &mut Text,
    name: &str,
    shows_possible: bool,
    scores: impl Iterator<Item = (&'s K, &'s Score)>,
) {
    let possible = |cell: &str| if shows_possible { format!(" {cell:>8}") } else { String::new() };
    let _ = writeln!(
        text,
        "{name:<20} {:>9} {:>9} {:>10} {:>13}{} {:>8} {:>8}",
        "mutants",
        "killed",
        "equivalent",
        "not exercised",
        possible("possible"),
        "survived",
        "score"
    );
    for (key, score) in scores {
        let percent = score.percent().map_or_else(|| "-".to_owned(), |percent| format!("{percent:.2} %"));
        let _ = writeln!(
            text,
            "{:<20} {:>9} {:>9} {:>10} {:>13}{} {:>8} {percent:>8}",
            key.to_string(),
            grouped(score.mutants),
            grouped(score.killed),
            grouped(score.equivalent),
            grouped(score.not_exercised),
            possible(&grouped(score.possible)),
            grouped(score.survived)
        );
    }
}
