//! The comparison as Markdown: `matrix.md`.

use std::fmt::Write as _;

use sframe_kit::conclusion::Ending;
use sframe_kit::text::{grouped, neutral};

use super::causes::{PLACES, causes};
use super::compare::{KindDetail, Standing};
use super::report::{MadeAs, MatrixReport, ToolchainResult};
use super::text::{COLUMNS, evidence, groups, not_judged, references, refusals, some_of, versions};

/// The most lines of a list that are written.
const LINES: usize = 200;

/// Formats the comparison as Markdown. Text of tools and files is escaped.
#[must_use]
pub fn markdown(report: &MatrixReport, ending: Ending) -> String {
    let mut text = format!("# SFrame matrix: {ending}\n");
    for toolchain in &report.toolchains {
        show(&mut text, toolchain);
    }
    text
}

/// Escapes text for one line, so that it is not read as Markdown or HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in neutral(&text.replace(['\n', '\t'], " ")).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '(' | ')' | '#' | '|' | '~' | '!' | '@' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

fn show(text: &mut String, toolchain: &ToolchainResult) {
    let _ = writeln!(text, "\n## {}\n\n{}\n", escaped(&toolchain.name), escaped(toolchain.summary.trim()));
    let _ = writeln!(text, "{}; {}.\n", versions(toolchain), escaped(&references(toolchain)));
    for (abi, tools) in &toolchain.tools {
        let _ = writeln!(text, "- {abi}: {}; {}", escaped(&tools.compiler), escaped(&tools.binutils));
    }
    let names: String = COLUMNS.iter().map(|(name, _)| format!(" {name} |")).collect();
    let _ = writeln!(text, "\n| builds |{names}\n|---|{}", "---:|".repeat(COLUMNS.len()));
    for (abi, counts) in &toolchain.abis {
        let numbers: String =
            COLUMNS.iter().map(|(_, count)| format!(" {} |", grouped(count(counts)))).collect();
        let _ = writeln!(text, "| {} |{numbers}", abi);
    }
    let _ = writeln!(text, "\n{}.", evidence(toolchain));
    if let Some(links) = &toolchain.links {
        let _ = writeln!(text, "\n{}.", escaped(&links.conclusion().sentence()));
    }

    let worse = causes(toolchain.cases.iter()).into_iter().map(|cause| {
        let KindDetail { blame, confidence, message, .. } = cause.detail;
        let mut line = format!(
            "**{}**: {}; likely cause: {blame} ({confidence})",
            escaped(&cause.line()),
            escaped(message)
        );
        for more in cause.pages().into_iter().chain(cause.places(PLACES)).chain(cause.consequences()) {
            let _ = write!(line, "\n  - {}", escaped(&more));
        }
        if let Some(command) = cause.reproduce {
            let _ = write!(line, "\n  - reproduce with <code>{}</code>", escaped(command));
        }
        line
    });
    list(text, "Worse", worse);
    let better = groups(toolchain.cases.iter(), |case| &case.better);
    let better = better.into_iter().map(|((spec, abi, kind), group)| {
        let variants: Vec<&str> = group.variants.keys().copied().collect();
        format!(
            "{} ({abi}): without the reference's {}: {}",
            escaped(spec),
            escaped(&kind.to_string()),
            escaped(&variants.join(", "))
        )
    });
    list(text, "Better", better);
    let case_list = |standing: Standing| {
        let cases = toolchain.cases.iter().filter(move |case| case.standing == standing);
        cases.map(|case| {
            let command = case.reproduce.as_deref();
            let command =
                command.map(|command| format!("; reproduce with <code>{}</code>", escaped(command)));
            let reason = escaped(case.reason.as_deref().unwrap_or(""));
            format!("{}: {reason}{}", escaped(&case.id), command.unwrap_or_default())
        })
    };
    list(text, "Lost", case_list(Standing::Lost));
    list(text, "Broken", case_list(Standing::Broken));
    list(text, "No reference", case_list(Standing::NoReference));
    let without = toolchain.builds.iter().filter(|build| build.result == MadeAs::NoSection);
    list(text, "No section", without.map(|build| escaped(&build.id)));
    let refused = refusals(toolchain).into_iter();
    list(
        text,
        "Refused",
        refused.map(|(reason, ids, _)| format!("{}: {}", escaped(&reason), escaped(&some_of(&ids)))),
    );
    let notes = not_judged(toolchain).into_iter();
    list(
        text,
        "Not checked",
        notes.map(|(note, ids)| format!("{}: {}", escaped(note), escaped(&some_of(&ids)))),
    );
}

fn list(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n### {title}\n");
    for line in lines.iter().take(LINES) {
        let _ = writeln!(text, "- {line}");
    }
    if let Some(more) = lines.len().checked_sub(LINES).filter(|more| *more > 0) {
        let _ = writeln!(text, "- and {more} more");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_tools_is_not_markup() {
        let hostile = "a|b\n<script>`x` [l](u) **b** \u{1b}[31m @me";
        let text = escaped(hostile);
        assert!(!text.contains('\n') && !text.contains('<') && !text.contains('\u{1b}'), "{text}");
        for mark in ["\\|", "\\`", "\\[", "\\(", "\\*", "\\@"] {
            assert!(text.contains(mark), "{mark} in {text}");
        }
    }
}
