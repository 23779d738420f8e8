//! The first page: the verdict, what changed, and where everything else is; and badges.

use serde_json::json;
use sframe_kit::conclusion::Ending;
use sframe_kit::text::{counted, grouped};

use super::contents::Site;
use super::found::Found;
use super::frame::{Page, SiteFile, file_name, link};
use super::subjects::{readers, toolchains};
use crate::report::{Report, changes_text, class_of, escaped};
use sframe_corpus::spec::UpstreamState;
use sframe_links::LinksReport;

/// How a run has ended, when it was made, and by what.
fn about(run: &Report) -> [String; 3] {
    let made = run.provenance.as_ref();
    let date = made.map_or_else(|| "at an unknown time".to_owned(), |made| made.started.clone());
    [run.conclusion().sentence(), date, made.map_or_else(String::new, |made| made.maker())]
}

pub(super) fn page(site: &Site<'_>, found: &Found) -> SiteFile {
    let mut page = Page::new("index.html", "scoreboard");
    if let Some(run) = site.runs.last() {
        let [says, date, maker] = about(run);
        page.verdict(run.ending(), &says);
        page.html(&format!(
            "<p class=\"faint\">{} by sframe-testbench {}</p>\n",
            escaped(&date),
            escaped(&maker)
        ));
    }
    let states = site.faults.faults.iter().map(|it| it.fault.upstream.state);
    let states = states.chain(site.faults.links.iter().map(|it| it.upstream.state));
    let unreported = states.clone().filter(|state| *state == UpstreamState::Unreported).count() as u64;
    let wrong = site.links.reports.iter().filter(|linker| linker.has_findings()).count() as u64;
    let summary = &site.clauses.summary;
    let tiles = [
        ("bugs.html", "known", grouped(states.count() as u64), "known bugs".to_owned()),
        ("bugs.html?words=unreported", "known", grouped(unreported), "of them unreported".to_owned()),
        ("toolchains.html", "agree", grouped(found.toolchains.len() as u64), "toolchains".to_owned()),
        (
            "linkers.html",
            if wrong == 0 { "agree" } else { "unexpected" },
            grouped(site.links.reports.len() as u64),
            format!("linkers and rewriters, {} with unknown findings", grouped(wrong)),
        ),
        ("readers.html", "agree", grouped(site.readers.len() as u64), "readers".to_owned()),
        (
            "clauses.html",
            class_of(site.clauses.conclusion().ending),
            grouped(summary.proved),
            format!("of {} proved", counted(summary.clauses, "clause")),
        ),
    ];
    let tile = |(to, class, number, what): (&str, &str, String, String)| {
        format!("<li class=\"{class}\"><a href=\"{to}\"><b>{number}</b> {}</a></li>\n", escaped(&what))
    };
    page.html(&format!("<ul class=\"tiles\">\n{}</ul>\n", tiles.map(tile).concat()));
    if let Some(changes) = &site.changes {
        page.heading("Since the run before");
        let text = changes_text(changes).to_string();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        page.lines(&lines[..lines.len().min(CHANGES)].join("\n"));
        page.html(&format!("<p>{}</p>\n", link("", "changes.html", "all changes")));
    }
    page.heading("Toolchains");
    toolchains(site, found, &mut page);
    page.heading("Linkers");
    if site.links.reports.is_empty() {
        page.paragraph("No report of `links` is stored.");
    }
    for linker in &site.links.reports {
        let conclusion = linker.conclusion();
        page.verdict(conclusion.ending, &conclusion.sentence());
    }
    page.heading("Readers");
    readers(site, &mut page);
    page.heading("Runs");
    page.table(
        &["when", "by", "result"],
        site.runs.iter().rev().map(|run| {
            let [says, date, maker] = about(run);
            vec![escaped(&date), escaped(&maker), escaped(&says)]
        }),
    );
    page.heading("To repeat it");
    page.lines(
        "sframe-testbench run --report report\nsframe-testbench links NAME --json >links.json\n\
         sframe-testbench vectors --unwinder COMMAND --json >reader.json\n\
         sframe-testbench site SITE report/report.json links.json reader.json",
    );
    page.end(None)
}

/// The most lines of changes on the first page.
const CHANGES: usize = 30;

/// Documents that shields.io and others make badges of.
pub(super) fn badges(site: &Site<'_>, found: &Found) -> Vec<SiteFile> {
    let badge = |name: String, label: &str, message: String, colour: &str| {
        let badge = json!({ "schemaVersion": 1, "label": label, "message": message, "color": colour });
        (format!("badges/{}.json", file_name(&name)), badge.to_string())
    };
    let mut badges = Vec::new();
    for (name, of) in &found.toolchains {
        for (abi, of) in &of.abis {
            let (message, colour) = match (of.unexpected.len() as u64, of.faults.len() as u64) {
                (0, 0) => (counted(of.rows(), "row") + " correct", "brightgreen"),
                (0, bugs) => (counted(bugs, "known bug"), "yellow"),
                (unexpected, _) => (counted(unexpected, "unexpected case"), "red"),
            };
            badges.push(badge(format!("{name}-{abi}"), &format!("SFrame of {name}, {abi}"), message, colour));
        }
    }
    let colour = |ending| match ending {
        Ending::Pass => "brightgreen",
        Ending::Fail => "red",
        _ => "lightgrey",
    };
    let of_linker = |linker: &LinksReport| {
        let conclusion = linker.conclusion();
        let first = conclusion.facts.first().cloned().unwrap_or_default();
        let says = first.strip_prefix(&format!("{}: ", linker.linker)).unwrap_or(&first).to_owned();
        badge(linker.linker.clone(), &format!("SFrame by {}", linker.linker), says, colour(conclusion.ending))
    };
    badges.extend(site.links.reports.iter().map(of_linker));
    for reader in &site.readers {
        let ending = if reader.verdict == "PASS" { Ending::Pass } else { Ending::Fail };
        let says = format!("{} of {} vectors", grouped(reader.agree), grouped(reader.vectors));
        let name = format!("{}-{}", reader.name, reader.version);
        badges.push(badge(name, &format!("SFrame read by {}", reader.name), says, colour(ending)));
    }
    badges
}
