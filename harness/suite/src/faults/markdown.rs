//! The page of a fault as Markdown, for a report to the component's developers.

use std::fmt::Write as _;

use sframe_corpus::spec::{Example, Fault, Site};
use sframe_kit::text::{Text, neutral};
use sframe_links::LinkPage;

use super::report::FaultReport;
use super::text::{known_upstream, reached};
use crate::report::{block, cell, code};

/// Writes the page of a fault that cases of `links` show.
#[must_use]
pub fn link_markdown(page: &LinkPage) -> String {
    let LinkPage { name, title, component, summary, upstream } = page;
    let mut text = format!("# {}\n\n{}\n", prose(title), prose(summary));
    let _ = writeln!(text, "\n- Component: {}", code(component));
    let _ = writeln!(text, "- Name: {}; upstream: {}", code(name), prose(&known_upstream(upstream)));
    text
}

/// Writes the page of a fault.
#[must_use]
pub fn markdown(report: &FaultReport<'_>) -> String {
    let FaultReport { name, fault, reach, build, dump } = report;
    let Fault { title, component, summary, section, sites, example, witnesses, upstream, .. } = *fault;
    let Example { abi, toolchain, sources, commands, function, row, verdict, wrong, right, .. } = example;
    let mut text = format!("# {}\n\n{}\n", prose(title), prose(summary));
    let tool = code(&component.to_string());
    let _ = writeln!(
        text,
        "\n- Component: {tool} ({}); the section {}",
        component.blame(),
        code(section.as_str())
    );
    let _ = writeln!(text, "- Name: {}; upstream: {}", code(name), prose(&known_upstream(upstream)));

    if !sites.is_empty() {
        text += "\n| file | row | wrong | right |\n|---|---|---|---|\n";
    }
    for Site { file, abi, function, row, wrong, right } in sites {
        let place = format!("{function}, row +{row}");
        let file = prose(&format!("{file} for {abi}"));
        let _ = writeln!(text, "| {file} | {} | {} | {} |", cell(&place), cell(wrong), cell(right));
    }

    let _ = writeln!(text, "\n## Example for {abi}");
    for (name, source) in sources {
        let _ = write!(text, "\n{}:\n\n{}", code(name), quoted(source.lines()));
    }
    let made = commands.iter().map(|command| format!("$ {command}"));
    let _ = write!(
        text,
        "\nMade by {}; {}:\n\n",
        code(toolchain),
        build.as_ref().map_or_else(
            || "there is no program".to_owned(),
            |build| format!("the build is {}", code(&build.display().to_string()))
        )
    );
    text += &quoted(made);

    let row = row.map_or_else(String::new, |row| format!(", row {}", code(&format!("+{row}"))));
    let _ = writeln!(text, "\n## {} in {}{row}\n", code(verdict.as_str()), code(function));
    let (rules, is_wrong) = if example.is_crash() { ("", "says") } else { ("rules", "wrong") };
    let head = format!("| | {rules} |\n|---|---|");
    let _ = writeln!(text, "{head}\n| {is_wrong} | {} |\n| right | {} |", cell(wrong), cell(right));
    if !dump.is_empty() {
        let _ = write!(text, "\n{}", quoted(dump.iter()));
    }
    if !witnesses.is_empty() {
        let _ = writeln!(text, "\n| witness | says |\n|---|---|");
    }
    for (witness, says) in witnesses {
        let _ = writeln!(text, "| {} | {} |", prose(witness), cell(says));
    }
    let _ = writeln!(text, "\n## Reach\n");
    for line in reach.iter().flat_map(reached) {
        let _ = writeln!(text, "- {}", prose(&line));
    }
    text
}

fn quoted(lines: impl Iterator<Item = impl std::fmt::Display>) -> String {
    let mut text = Text::default();
    lines.for_each(|line| text.line(line));
    block(&text)
}

/// Text of a page, which may have no HTML.
fn prose(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    neutral(&text).replace('&', "&amp;").replace('<', "&lt;")
}
