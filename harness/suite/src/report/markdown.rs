//! `summary.md`: a run or a check for job summaries and for comments on changes.
//!
//! Names come from the files under test. Everything except the bench's own
//! words is in code spans or fenced blocks, where nothing is interpreted: no
//! HTML, no link, no mention of anybody.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use sframe_engine::Abi;
use sframe_judge::examine::excluded::Exclusion;
use sframe_judge::finding::{Finding, groups};
use sframe_judge::vocabulary::Verdict;
use sframe_kit::conclusion::Conclusion;
use sframe_kit::table::Table;
use sframe_kit::text::{Text, counted, demangled, first_of, grouped, neutral};

use super::diagnostic::{Described, Style, not_shown};
use super::files::{COLUMNS, LISTED};
use super::format::{Document, Format, Written};
use super::known::known_lines;
use super::native::NativeRun;
use super::summary::{IN_FULL, SHOWN, command_for, explored, frames, show_accepted, show_explored};
use super::{CheckReport, ExploreReport, ExploredFiles, RefusedFile, Report};
use crate::case::{CaseReport, Outcome, SeenKnown};

/// The most cases of an outcome that are listed. Readers of the summary accept at most a
/// megabyte.
const CASES: usize = 20;

/// The most files in a table.
const FILES: usize = 500;

/// The most characters of one text from a report: a message, a name.
const TEXT: usize = 2000;

/// The most characters of a line: a text, and the words around it.
const LINE: usize = TEXT + 200;

pub(super) const FORMAT: Format = Format { files: &["summary.md", "matrix.md", "links.md"], write };

fn write(document: &Document<'_>) -> Option<Written> {
    let (name, mut text) = match *document {
        Document::Run { report, .. } => ("summary.md", markdown(report)),
        Document::Check { report, .. } => ("summary.md", markdown_of_check(report)),
        Document::Explore { report } => ("summary.md", markdown_of_exploration(report)),
        Document::Files { files } => ("summary.md", markdown_of_files(files)),
        Document::Matrix { report, ending } => ("matrix.md", crate::matrix::markdown(report, ending)),
        Document::Samples { report } => {
            ("summary.md", markdown_of_tables(&report.conclusion(), &report.tables()))
        }
        Document::Links { table } => ("links.md", table.markdown()),
    };
    if let Some(provenance) = document.provenance() {
        let _ = write!(text, "\n## This report\n\n{}", block(&provenance.text()));
    }
    Some((name, Ok(text)))
}

/// The summary of a run.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let summary = &report.summary;
    let mut text = heading(&report.conclusion());
    if let Some(shard) = report.shard {
        let _ = writeln!(text, "Shard {shard} of a run of {}.\n", counted(report.selected, "case"));
    }
    let _ = writeln!(
        text,
        "{} executed, {} compared; {}; {}; {} of {} exercised{}.\n",
        counted(summary.counts.instructions, "instruction"),
        grouped(summary.counts.comparisons),
        frames(summary.counts.frames, summary.counts.frames_derived),
        counted(summary.stops, "stop"),
        grouped(summary.rows_exercised),
        counted(summary.rows_total, "row"),
        explored(summary.rows_explored),
    );
    for case in report.cases.iter().filter(|case| !case.excluded.is_empty()).take(CASES) {
        let _ = writeln!(text, "\n{}:\n\n{}", code(&case.id), excluded(&case.excluded));
    }
    text += &table(&report.cases);

    let mut in_full = IN_FULL;
    let with = |outcome| {
        report.cases.iter().filter(move |case| case.outcome == outcome && !report.is_as_in_baseline(case))
    };
    for (outcome, title) in [(Outcome::Unexpected, "Unexpected findings"), (Outcome::Broken, "Broken")] {
        let count = with(outcome).count();
        if count > 0 {
            let _ = writeln!(text, "\n## {title}");
        }
        for case in with(outcome).take(CASES) {
            let _ = writeln!(text, "\n### {}\n", code(&case.id));
            let mut shown = Text::default();
            shown.line(case.reason.as_deref().unwrap_or_default());
            findings(&mut shown, &case.findings, &case.findings_omitted, &case.build, &mut in_full);
            text += &block(&shown);
            reproduce(&mut text, &command_for(case));
        }
        if let Some(more) = count.checked_sub(CASES).filter(|more| *more > 0) {
            let _ = writeln!(text, "\nAnd {} more; report.html has all of them.", grouped(more as u64));
        }
    }
    let worse: Vec<(&str, &[String])> = report.worse().collect();
    if !worse.is_empty() {
        let _ = writeln!(text, "\n## {}\n", begun(&report.worse_words()));
        for (case, what) in worse.iter().take(CASES) {
            let _ = writeln!(text, "- {}: {}", code(case), code(&what.join("; ")));
        }
        if let Some(more) = worse.len().checked_sub(CASES).filter(|more| *more > 0) {
            let _ = writeln!(text, "- and {}", counted(more as u64, "more case"));
        }
    }
    let before: Vec<&CaseReport> =
        report.cases.iter().filter(|case| report.is_as_in_baseline(case)).collect();
    if !before.is_empty() {
        let _ = writeln!(text, "\n## As in the {}\n", report.baseline_name());
        for case in before.iter().take(CASES) {
            let _ = writeln!(text, "- {}: {}", code(&case.id), case.outcome.name());
        }
        if let Some(more) = before.len().checked_sub(CASES).filter(|more| *more > 0) {
            let _ = writeln!(text, "- and {}", counted(more as u64, "more case"));
        }
    }
    skipped(&mut text, with(Outcome::Skipped));
    text
}

/// The summary of a check.
#[must_use]
pub fn markdown_of_check(report: &CheckReport) -> String {
    let summary = &report.summary;
    let mut text = heading(&report.conclusion());
    let native = report.native.as_ref().map(NativeRun::line);
    for line in report.sample().into_iter().chain(report.stack()).chain(native) {
        let _ = writeln!(text, "{}", block(&Text::of(line)));
    }
    let _ = writeln!(
        text,
        "{}: {}, SFrame version {}.\n{} executed, {} compared, {} agree; {}, at most {} deep; {} of {} \
         exercised{}.",
        code(&report.file),
        report.abi,
        report.sframe_version,
        counted(summary.counts.instructions, "instruction"),
        grouped(summary.counts.comparisons),
        grouped(summary.agree),
        frames(summary.counts.frames, summary.counts.frames_derived),
        grouped(summary.max_depth as u64),
        grouped(summary.rows.exercised),
        counted(summary.rows.total, "row"),
        explored(summary.rows_explored),
    );
    if !report.excluded.is_empty() {
        let _ = write!(text, "\n## Excluded\n\n{}", excluded(&report.excluded));
    }
    if let Some(missing) = report.missing_line() {
        let _ = write!(text, "\n## Without FDE\n\n{}", block(&Text::of(missing)));
    }
    let sections = report.sections();
    if !sections.is_empty() {
        let mut shown = Text::default();
        sections.iter().for_each(|section| shown.line(cut(section)));
        let _ = write!(text, "\n## Sections\n\n{}", block(&shown));
    }
    let program = report.program();
    if !program.is_empty() {
        let mut shown = Text::default();
        program.iter().for_each(|line| shown.line(cut(line)));
        let _ = write!(text, "\n## The program\n\n{}", block(&shown));
    }
    if !report.too_little.is_empty() {
        let reasons = report.too_little.join("\n");
        let _ = write!(text, "\n## Too little\n\n{}", block(&Text::of(reasons)));
    }
    if let Some(unmet) = &report.unmet {
        let _ = write!(text, "\n## Less than demanded\n\n{}", block(&Text::of(unmet)));
    }
    if let Some(reason) = &report.broken {
        let _ = write!(text, "\n## Broken\n\n{}", block(&Text::of(reason)));
    }
    if !report.findings.is_empty() {
        let mut shown = Text::default();
        let CheckReport { file, findings_omitted, .. } = report;
        findings(&mut shown, &report.findings, findings_omitted, file, &mut IN_FULL.clone());
        let _ = write!(
            text,
            "\n| verdict | findings |\n|---|---:|\n{}\n## Findings\n\n{}",
            summary
                .verdicts
                .iter()
                .map(|(verdict, count)| format!("| {} | {} |\n", code(verdict), grouped(*count)))
                .collect::<String>(),
            block(&shown),
        );
    }
    let mut not_run = Text::default();
    show_explored(&mut not_run, &report.unexercised);
    if not_run != Text::default() {
        let which = if summary.left_out > 0 { "were not compared" } else { "did not run" };
        let _ = write!(text, "\n## Wrong rows that {which}\n\n{}", block(&not_run));
    }
    let mut beyond = Text::default();
    show_accepted(&mut beyond, &report.known, Style::default());
    if beyond != Text::default() {
        let _ = write!(text, "\n## What SFrame can't express\n\n{}", block(&beyond));
    }
    let known = known_lines(SeenKnown::accepted(&report.known).filter(|seen| !seen.is_beyond_the_format()));
    if !known.is_empty() {
        let _ = writeln!(text, "\n## Known\n");
        for line in known.iter().take(CASES) {
            let _ = writeln!(text, "- {}", code(line));
        }
        if let Some(more) = known.len().checked_sub(CASES).filter(|more| *more > 0) {
            let _ = writeln!(text, "- and {}", counted(more as u64, "more reason"));
        }
    }
    if !report.findings.is_empty() || !known.is_empty() || report.broken.is_some() {
        reproduce(&mut text, &report.command());
    }
    text
}

/// What was excluded.
fn excluded(places: &[Exclusion]) -> String {
    let mut shown = Text::default();
    places.iter().for_each(|place| shown.line(cut(&place.line())));
    block(&shown)
}

/// Names the command that shows the same again.
fn reproduce(text: &mut String, command: &str) {
    let _ = writeln!(text, "\nReproduce with {}", code(command));
}

/// The summary of an exploration.
#[must_use]
fn markdown_of_exploration(report: &ExploreReport) -> String {
    let mut text = heading(&report.conclusion());
    let _ = writeln!(
        text,
        "{}: {}, {}.\n{}.",
        code(&report.file),
        report.abi,
        report.version(),
        report.numbers()
    );
    let mut open = Text::default();
    report.open_lines().iter().for_each(|line| open.line(cut(line)));
    if let Some(section) = report.section_line() {
        let _ = write!(text, "\n## Sections\n\n{}", block(&Text::of(cut(&section))));
    }
    if report.proved().next().is_some() {
        let mut shown = Text::default();
        report.show_findings(&mut shown, Style::default());
        let _ = write!(text, "\n## Findings\n\n{}", block(&shown));
    }
    let known = known_lines(SeenKnown::accepted(&report.known));
    if !known.is_empty() {
        let _ = writeln!(text, "\n## Known\n");
        known.iter().take(CASES).for_each(|line| {
            let _ = writeln!(text, "- {}", code(line));
        });
    }
    if report.proved().next().is_some() || !known.is_empty() {
        reproduce(&mut text, &report.command());
    }
    if open != Text::default() {
        let _ = write!(text, "\n## Not decided\n\n{}", block(&open));
    }
    text
}

/// The summary of files that were explored together.
fn markdown_of_files(files: &ExploredFiles) -> String {
    let mut text = heading(&files.conclusion());
    let causes = files.causes();
    if !causes.is_empty() {
        text += "\n## By cause\n\n| cause | findings | files | for example |\n|---|--:|--:|---|\n";
    }
    for (cause, count, of) in causes {
        let examples = first_of(&of, LISTED);
        let _ = writeln!(text, "| {} | {count} | {} | {} |", cell(&cause), of.len(), cell(&examples));
    }
    let _ = write!(text, "\n## Files\n\n| {} |\n|---|---|--:|--:|--:|--:|---|\n", COLUMNS.join(" | "));
    for report in files.reports.iter().take(FILES) {
        // Only the name is from outside.
        let [file, rest @ ..] = ExploredFiles::cells(report);
        let _ = writeln!(text, "| {} | {} |", cell(&file), rest.join(" | "));
    }
    if let Some(more) = files.reports.len().checked_sub(FILES).filter(|more| *more > 0) {
        let _ = writeln!(text, "\nAnd {}, in report.json.", counted(more as u64, "more file"));
    }
    for RefusedFile { file, error } in &files.refused {
        let _ = writeln!(text, "\n{} could not be explored: {}", code(file), code(error));
    }
    for report in files.with_findings().take(LISTED) {
        let _ = write!(text, "\n## {}\n\n{}", cell(&report.file), block(&ExploredFiles::findings(report)));
    }
    text
}

/// The verdict, and a table after the other.
pub fn markdown_of_tables(conclusion: &Conclusion, tables: &[Table]) -> String {
    let mut text = heading(conclusion);
    for Table { title, columns, rows } in tables {
        let _ =
            write!(text, "\n## {title}\n\n| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()));
        for row in rows.iter().take(FILES) {
            let cells: Vec<String> = row.iter().map(|text| cell(&demangled(text))).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
    }
    text
}

/// Words with a capital.
fn begun(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The verdict, and what made it so. Names in it come from files.
fn heading(conclusion: &Conclusion) -> String {
    format!("# SFrame test bench: {}\n\n{}\n", conclusion.ending, block(&conclusion.text()))
}

/// The number of cases by outcome, and of findings by verdict.
#[derive(Default)]
struct TableRow {
    outcomes: [u64; 5],
    /// Causes, and the places where they show.
    verdicts: BTreeMap<Verdict, [u64; 2]>,
}

/// Tabulates outcomes, and unexpected findings by verdict, for each toolchain
/// and ABI.
fn table(cases: &[CaseReport]) -> String {
    let mut rows: BTreeMap<(&str, Abi), TableRow> = BTreeMap::new();
    for case in cases {
        let TableRow { outcomes, verdicts } = rows.entry((&case.toolchain, case.abi)).or_default();
        for (count, outcome) in outcomes.iter_mut().zip(Outcome::ALL) {
            *count += u64::from(outcome == case.outcome);
        }
        for group in groups(&case.findings) {
            let [causes, places] = verdicts.entry(group.first.verdict).or_default();
            *causes += 1;
            *places += group.places;
        }
        for (verdict, count) in &case.findings_omitted {
            verdicts.entry(*verdict).or_default()[1] += count;
        }
    }
    let mut text =
        "| toolchain | ABI | cases | agree | known | unexpected | broken | skipped | unexpected findings |\n\
                    |---|---|---:|---:|---:|---:|---:|---:|---|\n"
            .to_owned();
    for ((toolchain, abi), TableRow { outcomes, verdicts }) in rows {
        let counts: String = outcomes.iter().map(|count| format!(" {} |", grouped(*count))).collect();
        let count = |(verdict, [causes, places]): (&Verdict, &[u64; 2])| match places == causes {
            true => format!("{verdict} {}", grouped(*causes)),
            false => format!("{verdict} {} at {}", grouped(*causes), counted(*places, "place")),
        };
        let verdicts: Vec<String> = verdicts.iter().map(count).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} |{counts} {} |",
            cell(toolchain),
            cell(abi.name()),
            grouped(outcomes.iter().sum()),
            verdicts.join(", ")
        );
    }
    text
}

/// Formats findings as the terminal shows them, with the likely cause.
fn findings(
    text: &mut Text,
    findings: &[Finding],
    omitted: &BTreeMap<Verdict, u64>,
    file: &str,
    in_full: &mut usize,
) {
    let groups = groups(findings);
    for group in groups.iter().take(SHOWN) {
        if let Some(left) = in_full.checked_sub(1) {
            *in_full = left;
            group.diagnostic(text, file, Style::default());
        } else {
            let blame = group.blame().map(|blame| format!("; {blame}")).unwrap_or_default();
            text.line(format_args!("{}{blame}", cut(&group.sentence())));
        }
    }
    for line in not_shown(groups.len(), SHOWN, omitted) {
        text.line(line);
    }
}

/// Lists how many cases were skipped for each reason.
fn skipped<'c>(text: &mut String, cases: impl Iterator<Item = &'c CaseReport>) {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for case in cases {
        *reasons.entry(case.reason.as_deref().unwrap_or_default()).or_default() += 1;
    }
    if reasons.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n## Skipped\n");
    for (reason, count) in reasons.iter().take(CASES) {
        let _ = writeln!(text, "- {}: {}", counted(*count, "case"), code(reason));
    }
    if let Some(more) = reasons.len().checked_sub(CASES).filter(|more| *more > 0) {
        let _ = writeln!(text, "- and {}", counted(more as u64, "more reason"));
    }
}

/// Cuts a line of a report to a readable length.
fn cut(line: &str) -> Cow<'_, str> {
    cut_at(line, TEXT)
}

fn cut_at(line: &str, characters: usize) -> Cow<'_, str> {
    match line.char_indices().nth(characters) {
        Some((end, _)) => format!("{} ...", &line[..end]).into(),
        None => line.into(),
    }
}

/// Makes a code span: with more backticks around it than inside (CommonMark 6.1).
pub(crate) fn code(text: &str) -> String {
    let text = neutral(text);
    let text = cut(&text);
    if text.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    let space = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Makes a code span for a table, where a bar ends the cell even in code.
pub(crate) fn cell(text: &str) -> String {
    code(text).replace('|', r"\|")
}

/// Makes a fenced block: with a longer fence than any inside (CommonMark 4.5).
pub(crate) fn block(text: &Text) -> String {
    let text = text.demangled();
    let lines: Vec<Cow<'_, str>> = text.trim_matches('\n').lines().map(|line| cut_at(line, LINE)).collect();
    let text = lines.join("\n");
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}\n")
}

/// The length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
