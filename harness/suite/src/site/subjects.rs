//! Pages about what is judged: toolchains, linkers and readers; and the clauses that it is judged by.

use sframe_judge::study::WAYS;
use sframe_kit::percent::share;
use sframe_kit::text::{counted, grouped};

use super::bugs;
use super::contents::Site;
use super::found::{Found, OfToolchain, Seen, by_rows};
use super::frame::{FILTER, Page, SiteFile, file_name, filter, link};
use super::stored::Reader;
use crate::clauses::{ClauseReport, Verdict};
use crate::report::{StudyReport, class_of, escaped, links_in_html};
use sframe_engine::Abi;
use sframe_kit::conclusion::Ending;

/// The path of a toolchain's page.
fn path(toolchain: &str) -> String {
    format!("toolchains/{}.html", file_name(toolchain))
}

pub(super) fn pages(site: &Site<'_>, found: &Found) -> Vec<SiteFile> {
    let of_toolchains = found.toolchains.iter().map(|(name, of)| toolchain(site, name, of));
    let mut pages: Vec<SiteFile> = of_toolchains.collect();
    let mut page = Page::new("toolchains.html", "toolchains");
    toolchains(site, found, &mut page);
    pages.push(page.end(None));
    pages.push(linkers(site));
    let mut page = Page::new("readers.html", "readers");
    readers(site, &mut page);
    site.readers.iter().for_each(|reader| mistakes(reader, &mut page));
    pages.push(page.end(None));
    pages.push(clauses(site));
    pages
}

/// The table of what was found, by toolchain and ABI.
pub(super) fn toolchains(site: &Site<'_>, found: &Found, page: &mut Page) {
    if found.toolchains.is_empty() {
        page.paragraph("No run is stored.");
    } else {
        runs(found, page);
    }
    studies(site, page);
}

/// What was found in runs.
fn runs(found: &Found, page: &mut Page) {
    let heads: Vec<&str> = std::iter::once("toolchain").chain(Abi::ALL.map(Abi::name)).collect();
    let rows = found.toolchains.iter().map(|(name, of)| {
        let cell = |abi| {
            of.abis.get(&abi).map_or_else(String::new, |of| {
                let unexpected = of.unexpected.len() as u64;
                let (ending, says) = match (unexpected, of.faults.len() as u64) {
                    (0, 0) => (class_of(Ending::Pass), "no bug".to_owned()),
                    (0, bugs) => ("known", counted(bugs, "bug")),
                    (unexpected, _) => {
                        (class_of(Ending::Fail), format!("{} unexpected or broken", grouped(unexpected)))
                    }
                };
                let (cases, rows) = (grouped(of.cases), grouped(of.rows()));
                format!("<span class=\"chip {ending}\">{says}</span> {cases} cases, {rows} rows")
            })
        };
        std::iter::once(link("", &path(name), name)).chain(Abi::ALL.map(cell)).collect()
    });
    page.table(&heads, rows);
}

/// How many walks are complete, by way.
fn studies(site: &Site<'_>, page: &mut Page) {
    let about = |study: &StudyReport| {
        let all = study.all();
        let shares = WAYS.map(|(_, of)| {
            let worth = of(&all).worth();
            share(worth.complete, worth.total())
        });
        let file = study.file.rsplit('/').next().unwrap_or_default();
        [escaped(file), study.abi.clone()].into_iter().chain(shares).collect()
    };
    if !site.studies.is_empty() {
        page.heading("Complete walks, by way");
        let heads: Vec<&str> = ["program", "ABI"].into_iter().chain(WAYS.map(|(way, _)| way)).collect();
        page.table(&heads, site.studies.iter().map(about));
    }
}

fn toolchain(site: &Site<'_>, name: &str, of: &OfToolchain) -> SiteFile {
    let mut page = Page::new(path(name), name);
    if let Some(summary) = site.toolchains.get(name) {
        page.paragraph(summary.trim());
    }
    let unexpected: Vec<&String> = of.abis.values().flat_map(|of| &of.unexpected).collect();
    let bugs_of = counted(of.faults.len() as u64, "known bug");
    match unexpected.len() as u64 {
        0 => page.verdict(Ending::Pass, &format!("PASS: {bugs_of}, and nothing else is wrong")),
        some => page.verdict(Ending::Fail, &format!("FAIL: {} unexpected; {bugs_of}", counted(some, "case"))),
    }
    for case in unexpected {
        page.paragraph(case);
    }
    let cells = |name: String, seen: &Seen| {
        let abis: Vec<&str> = seen.abis.iter().map(|abi| abi.name()).collect();
        vec![name, grouped(seen.rows.len() as u64), grouped(seen.cases), abis.join(", ")]
    };
    if !of.faults.is_empty() {
        page.heading("Bugs");
        let rows = by_rows(of.faults.clone()).into_iter();
        let rows = rows.map(|((name, title), seen)| cells(link("../", &bugs::path(&name), &title), &seen));
        page.table(&["bug", "wrong rows", "cases", "ABIs"], rows);
    }
    if !of.others.is_empty() {
        page.heading("Known, and no bug of a component");
        let rows = by_rows(of.others.clone()).into_iter();
        page.table(&["why", "rows", "cases", "ABIs"], rows.map(|(why, seen)| cells(escaped(&why), &seen)));
    }
    page.heading("To see it");
    let toolchains: String = of.names.iter().map(|name| format!(" --toolchain {name}")).collect();
    page.lines(&format!("sframe-testbench run{toolchains}"));
    page.end(None)
}

fn linkers(site: &Site<'_>) -> SiteFile {
    let mut page = Page::new("linkers.html", "linkers");
    match site.links.reports.is_empty() {
        true => page.paragraph("No report of `links` is stored."),
        false => page.html(&links_in_html(&site.links)),
    }
    page.end(None)
}

/// The table of readers.
pub(super) fn readers(site: &Site<'_>, page: &mut Page) {
    if site.readers.is_empty() {
        page.paragraph("No report of `vectors` is stored.");
        return;
    }
    let cells = |reader: &Reader| {
        let skipped = reader.skipped.len() as u64;
        let wrong = reader.vectors.saturating_sub(reader.agree + reader.partly + skipped);
        let verdict = if reader.verdict == "PASS" { "agree" } else { "unexpected" };
        vec![
            escaped(&format!("{} {}", reader.name, reader.version)),
            format!("<span class=\"chip {verdict}\">{}</span>", escaped(&reader.verdict)),
            format!("{} of {}", grouped(reader.agree), grouped(reader.vectors)),
            grouped(wrong),
            grouped(skipped),
            grouped(reader.mistakes.len() as u64),
        ]
    };
    let heads = ["reader", "verdict", "correct", "wrong", "not answered", "mistakes that explain it"];
    page.table(&heads, site.readers.iter().map(cells));
}

/// The mistakes that a reader seems to make.
fn mistakes(reader: &Reader, page: &mut Page) {
    if reader.mistakes.is_empty() {
        return;
    }
    page.heading(&format!("{} {}", reader.name, reader.version));
    let rows = reader.mistakes.iter().map(|it| {
        let clause = format!("{}: {}", it.clause, it.sentence);
        vec![escaped(&it.summary), grouped(it.answers), escaped(&clause)]
    });
    page.table(&["mistake", "answers", "clause"], rows);
}

fn clauses(site: &Site<'_>) -> SiteFile {
    let mut page = Page::new("clauses.html", "clauses");
    let conclusion = site.clauses.conclusion();
    page.verdict(conclusion.ending, &conclusion.sentence());
    page.html(&filter("clauses"));
    let cells = |clause: &ClauseReport<'_>| {
        let reason = clause.unproved.unwrap_or("no reason is given");
        let proof = match clause.verdict {
            Verdict::Proved => counted(clause.proofs.len() as u64, "proof"),
            Verdict::Excused | Verdict::Unproved => format!("not proved: {reason}"),
            Verdict::Stale => format!("proved, though it is said not to be: {reason}"),
        };
        vec![
            escaped(clause.id),
            format!("V{} {} {}", clause.version, escaped(clause.section), escaped(clause.title)),
            clause.side.to_string(),
            escaped(clause.summary),
            escaped(&proof),
        ]
    };
    let heads = ["clause", "section", "binds", "requires", "proved"];
    page.table(&heads, site.clauses.clauses.iter().map(cells));
    page.end(Some(FILTER))
}
