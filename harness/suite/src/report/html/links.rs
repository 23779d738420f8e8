//! The page of what linkers do: a table of cases by linkers, causes, and each finding with its commands.

use std::fmt::Write as _;

use super::plain::{self, escaped, table_of};
use sframe_links::{LinkOutcome, LinkResult, LinksReport, LinksTable};

/// Renders the page.
pub(super) fn html_of_links(table: &LinksTable) -> String {
    plain::head("linkers") + &links_in_html(table) + plain::FOOT
}

/// What the page says.
pub(crate) fn links_in_html(table: &LinksTable) -> String {
    let mut page = String::new();
    for report in &table.reports {
        let class = if report.has_findings() { "unexpected" } else { "agree" };
        let _ =
            writeln!(page, "<p class=\"verdict {class}\">{}</p>", escaped(&report.conclusion().sentence()));
    }
    let (rows, causes) = table.rows();
    let names: Vec<String> = table.reports.iter().map(|report| escaped(&report.linker)).collect();
    let columns: Vec<&str> = std::iter::once("case").chain(names.iter().map(String::as_str)).collect();
    page += "<h2>Cases</h2>\n";
    page += &table_of(&columns);
    for (case, cells) in rows {
        let about = table.cases.get(case).map_or("", |about| about.trim());
        let _ = write!(page, "<tr><th scope=\"row\" title=\"{}\">{}</th>", escaped(about), escaped(case));
        for cell in cells {
            let _ = write!(page, "<td>{}</td>", escaped(&cell));
        }
        page += "</tr>\n";
    }
    page += "</tbody></table></div>\n";
    if !causes.is_empty() {
        page += "<h2>Causes</h2>\n<ol>\n";
        for (linker, why) in causes {
            let _ = writeln!(page, "<li>{}: {}</li>", escaped(linker), escaped(why));
        }
        page += "</ol>\n";
    }
    for report in &table.reports {
        write_findings(report, &mut page);
    }
    page
}

/// What is wrong, and what is known and was not found.
fn write_findings(report: &LinksReport, page: &mut String) {
    let of = |outcome| report.results.iter().filter(move |result| result.outcome == outcome);
    let shown: Vec<&LinkResult> = of(LinkOutcome::Wrong).chain(of(LinkOutcome::Known)).collect();
    if shown.is_empty() && report.stale.is_empty() {
        return;
    }
    let _ = writeln!(page, "<h2>{}</h2>", escaped(&report.linker));
    for stale in &report.stale {
        let _ = writeln!(page, "<p>Known, and not so any more: {}</p>", escaped(stale));
    }
    for result in shown {
        let class = if result.outcome == LinkOutcome::Wrong { "unexpected" } else { "known" };
        let _ = writeln!(
            page,
            "<details><summary><span class=\"chip {class}\">{}</span> {} ({})</summary>",
            result.outcome,
            escaped(&result.case),
            result.abi
        );
        for finding in &result.findings {
            let _ = writeln!(page, "<p>{}: {}</p>", finding.kind, escaped(&finding.message));
        }
        for why in &result.known {
            let _ = writeln!(page, "<p class=\"faint\">{}</p>", escaped(why));
        }
        for command in &result.commands {
            let _ = writeln!(page, "<p><code>{}</code></p>", escaped(command));
        }
        let _ = writeln!(page, "<p class=\"faint\">{}</p>", escaped(&result.objects.join(" ")));
        for line in result.said.lines() {
            let _ = writeln!(page, "<p><code>{}</code></p>", escaped(line));
        }
        page.push_str("</details>\n");
    }
}
