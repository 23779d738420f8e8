//! A page for each bug, at an address that stays, and their list.

use std::cmp::Reverse;

use chrono::NaiveDate;
use sframe_corpus::spec::{Fault, FaultySection, Site as Place, Upstream};
use sframe_kit::text::grouped;
use sframe_links::{LinkPage, LinkResult};

use super::contents::Site;
use super::frame::{FILTER, Page, SiteFile, filter, link, outside};
use crate::faults::{FaultReport, Form, known_upstream, link_upstream, reached, upstream};
use crate::report::escaped;

/// The path of a bug's page.
pub(super) fn path(name: &str) -> String {
    format!("bugs/{name}.html")
}

pub(super) fn pages(site: &Site<'_>) -> Vec<SiteFile> {
    let of_programs = site.faults.faults.iter().map(|fault| of_program(site, fault));
    let of_links = site.faults.links.iter().map(|page| of_link(site, page));
    std::iter::once(list(site)).chain(of_programs).chain(of_links).collect()
}

/// All bugs, with a field that leaves out what does not have its words.
fn list(site: &Site<'_>) -> SiteFile {
    let mut page = Page::new("bugs.html", "bugs");
    let all = &site.faults;
    let count = all.faults.len() + all.links.len();
    page.paragraph(format_args!(
        "{} bugs of compilers, assemblers, linkers and libraries, each with what is written, what should be, and how to see it.",
        grouped(count as u64)
    ));
    page.html(&format!("<p>{}</p>\n", link("", "feed.xml", "new bugs as a feed")));
    page.html(&filter("bugs"));
    let row = |name: &str, title: &str, component: String, upstream: &Upstream, builds: String| {
        vec![link("", &path(name), title), escaped(&component), upstream.state.to_string(), builds]
    };
    let of_programs = all.faults.iter().map(|it| {
        let builds = it.reach.as_ref().map_or_else(String::new, |reach| grouped(reach.builds));
        row(it.name, &it.fault.title, it.fault.component.to_string(), &it.fault.upstream, builds)
    });
    let of_links = all
        .links
        .iter()
        .map(|it| row(&it.name, &it.title, it.component.clone(), &it.upstream, "cases of links".to_owned()));
    page.table(&["bug", "component", "upstream", "builds of the corpus"], of_programs.chain(of_links));
    page.end(Some(FILTER))
}

fn facts_of(upstream: &Upstream, component: String, found: Option<NaiveDate>) -> Vec<(&'static str, String)> {
    let mut state = escaped(&known_upstream(&Upstream { link: None, ..upstream.clone() }));
    if let Some(to) = &upstream.link {
        state += &format!(": {}", outside(to));
    }
    let mut facts = vec![("component", escaped(&component)), ("upstream", state)];
    facts.extend(found.map(|date| ("found", date.to_string())));
    facts
}

/// A feed of the newest bugs (RFC 4287). Its links are relative, as the site can be anywhere.
pub(super) fn feed(site: &Site<'_>) -> SiteFile {
    let of_programs =
        site.faults.faults.iter().map(|it| (it.fault.found, it.name, &it.fault.title, &it.fault.summary));
    let of_links = site.faults.links.iter().map(|it| (it.found, &*it.name, &it.title, &it.summary));
    let all = of_programs.chain(of_links);
    let all = all.filter_map(|(date, name, title, summary)| Some((date?, name, title, summary)));
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(date, name, ..)| (Reverse(*date), *name));
    let updated = all.first().map_or_else(NaiveDate::default, |(date, ..)| *date);
    let mut feed = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <title>SFrame test bench: bugs</title>\n<id>tag:sframe-testbench,2026:bugs</id>\n\
         <updated>{updated}T00:00:00Z</updated>\n<author><name>sframe-testbench</name></author>\n"
    );
    for (date, name, title, summary) in all.into_iter().take(ENTRIES) {
        feed += &format!(
            "<entry><id>tag:sframe-testbench,2026:bugs/{name}</id><title>{}</title><updated>{date}T00:00:00Z</updated>\
             <link href=\"{}\"/><summary>{}</summary></entry>\n",
            escaped(title),
            path(name),
            escaped(summary.trim())
        );
    }
    ("feed.xml".to_owned(), feed + "</feed>\n")
}

/// The most entries of the feed.
const ENTRIES: usize = 50;

fn of_program(site: &Site<'_>, report: &FaultReport<'_>) -> SiteFile {
    let FaultReport { name, fault, reach, .. } = report;
    let Fault {
        title, component, found, summary, section, sites, example, witnesses, upstream: state, ..
    } = *fault;
    let mut page = Page::new(path(name), title);
    page.paragraph(summary);
    let mut facts = facts_of(state, format!("{component}: {}", component.blame()), *found);
    if *section == FaultySection::EhFrame {
        facts.push((".eh_frame", "is what is wrong: .sframe is right, or lacks the function".to_owned()));
    }
    page.facts(&facts);
    page.heading("What is written, and what should be");
    let row = example.row.map_or_else(String::new, |row| format!(", row +{row}"));
    page.paragraph(format_args!("{}{row}, for {}: {}", example.function, example.abi, example.verdict));
    let says = if example.is_crash() { "the tool says" } else { "written" };
    page.facts(&[(says, escaped(&example.wrong)), ("right", escaped(&example.right))]);
    if !witnesses.is_empty() {
        page.table(
            &["witness", "says"],
            witnesses.iter().map(|(name, says)| vec![escaped(name), escaped(says)]),
        );
    }
    if !sites.is_empty() {
        page.heading("Where the library has it");
        let cells = |it: &Place| {
            let place = format!("{}, row +{}, for {}", it.function, it.row, it.abi);
            vec![escaped(&it.file), escaped(&place), escaped(&it.wrong), escaped(&it.right)]
        };
        page.table(&["file", "function", "written", "right"], sites.iter().map(cells));
    }
    page.heading("The smallest program");
    for (file, source) in &example.sources {
        page.paragraph(file);
        page.lines(source);
    }
    page.paragraph(format_args!("By {}:", example.toolchain));
    page.lines(&example.commands.join("\n"));
    if let Some(reach) = reach {
        page.heading("Where the corpus has it");
        reached(reach).iter().for_each(|line| page.paragraph(line));
    }
    page.heading("To see it");
    let shows = format!(
        "sframe-testbench faults {name}\nsframe-testbench faults {name} --toolchain {}",
        example.toolchain
    );
    page.lines(&shows);
    page.heading("As a report to its developers");
    let by = site.toolchains.get(&example.toolchain).map(String::as_str);
    page.lines(&upstream(report, by, Form::Bugzilla));
    page.end(None)
}

fn of_link(site: &Site<'_>, report: &LinkPage) -> SiteFile {
    let LinkPage { name, title, component, found, summary, upstream } = report;
    let mut page = Page::new(path(name), title);
    page.paragraph(summary.trim());
    page.facts(&facts_of(upstream, component.clone(), *found));
    let mark = format!("({name})");
    let mut rows = Vec::new();
    for linker in &site.links.reports {
        let is_of = |result: &&LinkResult| result.known.iter().any(|why| why.ends_with(&mark));
        let cases = linker.results.iter().filter(is_of);
        let cases: Vec<String> = cases.map(|result| format!("{} ({})", result.case, result.abi)).collect();
        if !cases.is_empty() {
            rows.push(vec![escaped(&linker.linker), escaped(&cases.join(", "))]);
        }
    }
    if !rows.is_empty() {
        page.heading("Cases that show it");
        page.table(&["linker", "cases"], rows);
    }
    page.heading("To see it");
    page.lines("sframe-testbench links --linker ld --keep kept");
    page.heading("As a report to its developers");
    page.lines(&link_upstream(report, Form::Bugzilla));
    page.end(None)
}
