//! The results that the README and `harness/results/by-toolchain.md` show: written from a report of the whole corpus,
//! and about the cases that there are.
//!
//! To renew them after a run: `UPDATE_RESULTS=report/report.json cargo test --workspace --test bench results`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use sframe_corpus::spec::{Faults, UpstreamState};
use sframe_engine::Abi;
use sframe_kit::text::{counted, grouped};
use sframe_suite::report::Report;
use sframe_suite::site::{Found, OfAbi, OfToolchain, Seen, by_rows};
use sframe_suite::suite::Filter;

use crate::common::{repository, suite};

/// The report that the results are written from.
const UPDATE: &str = "UPDATE_RESULTS";

const BEGIN: &str = "<!-- results: written by a test, see CONTRIBUTING -->\n";
const END: &str = "<!-- end of results -->\n";

const ABIS: [&str; 4] = ["amd64", "aarch64", "aarch64_be", "s390x"];

fn page() -> PathBuf {
    repository().join("harness/results/by-toolchain.md")
}

/// The toolchain as the tables have it: what was derived from others is one.
fn name(toolchain: &str) -> &str {
    if toolchain.starts_with("derived") { "derived" } else { toolchain }
}

/// A cell of the README's table.
fn cell_of(found: &OfAbi, link: &str) -> String {
    let faults = match found.faults.len() {
        0 => "no fault".to_owned(),
        some => format!("[{}]({link})", counted(some as u64, "fault")),
    };
    format!("{} cases, {} rows, {faults}", grouped(found.cases), grouped(found.rows()))
}

/// The faults of a component, by name, each with its title and whether it is unreported.
type OfComponent = BTreeMap<String, (String, bool)>;

/// The faults that have a page, by component.
fn components() -> BTreeMap<String, OfComponent> {
    let faults = Faults::load(&repository().join("specs")).expect("pages");
    let mut components: BTreeMap<String, OfComponent> = BTreeMap::new();
    for (name, fault, _) in faults.iter() {
        // Without its versions.
        let component = fault.component.to_string();
        let component = component.split(' ').next().unwrap_or_default().to_owned();
        let is_unreported = fault.upstream.state == UpstreamState::Unreported;
        components
            .entry(component)
            .or_default()
            .insert(name.to_owned(), (fault.title.clone(), is_unreported));
    }
    components
}

/// How many faults each component has.
fn of_components() -> String {
    let components = components();
    let unreported = |faults: &OfComponent| faults.values().filter(|(_, unreported)| *unreported).count();
    let all: usize = components.values().map(BTreeMap::len).sum();
    let open: usize = components.values().map(unreported).sum();
    let mut text = format!(
        "{all} bugs are known, {open} of them unreported. Each has [a page](specs/faults/README.md): which component has \
         it, the\nsmallest program that shows it, and what each witness says. Those of linkers that only \
         [their suite](harness/results/links.md)\nshows are not among them.\n\n| component | known bugs | \
         unreported |\n|---|---:|---:|\n"
    );
    for (component, faults) in &components {
        let link =
            format!("harness/results/by-toolchain.md#{}", component.to_lowercase().replace(['.', '+'], ""));
        let _ = writeln!(text, "| [{component}]({link}) | {} | {} |", faults.len(), unreported(faults));
    }
    text
}

/// The tables of the README.
fn summary(report: &Report) -> String {
    let mut text = of_components();
    text.push_str("\n| toolchain | amd64 | aarch64 | aarch64_be | s390x |\n|---|---|---|---|---|\n");
    for (toolchain, found) in &Found::of(report).toolchains {
        let _ = write!(text, "| {toolchain} |");
        for abi in Abi::ALL {
            let link = format!("harness/results/by-toolchain.md#{}", toolchain.replace('.', ""));
            let cell = found.abis.get(&abi).map_or_else(|| "–".to_owned(), |cell| cell_of(cell, &link));
            let _ = write!(text, " {cell} |");
        }
        text.push('\n');
    }
    text.push_str("\n| reader | vectors answered rightly | defects |\n|---|---:|---:|\n");
    for (reader, vectors, defects) in readers() {
        let _ = writeln!(text, "| {reader} | {vectors} | [{defects}](harness/adapters/results.md) |");
    }
    text
}

/// Each reader of the adapters' results: its name, vectors, and the number of its defects.
fn readers() -> Vec<(String, String, usize)> {
    let text = std::fs::read_to_string(repository().join("harness/adapters/results.md")).expect("results");
    let sections = text.split("\n## ").skip(1);
    let reader = |section: &str| {
        // Some were asked twice, with an option of their adapter.
        let mut asked = section.split("\nOf ").skip(1).map(|rest| {
            let (all, rest) = rest.split_once(" vectors, ")?;
            let (right, rest) = rest.split_once(" are answered correctly, ")?;
            let skipped = rest.split_once(" skipped")?.0;
            Some((right, format!("{right} of {all}, {skipped} skipped")))
        });
        let (without, mut vectors) = asked.next()??;
        // An option that changes nothing here is none to use.
        if let Some(Some((right, _))) =
            asked.next().filter(|asked| asked.as_ref().is_some_and(|(right, _)| *right != without))
        {
            let option = section.split("`target/adapters/").nth(1)?.split('`').next()?.split_once(' ')?.1;
            let _ = write!(vectors, "; {right} with `{option}`");
        }
        let defects = section.split_once("### Defects").map_or("", |(_, list)| list);
        let defects = defects.split("\n### ").next().unwrap_or_default().matches("\n- **").count();
        Some((section.lines().next()?.to_owned(), vectors, defects))
    };
    sections.filter_map(reader).collect()
}

/// How far a cause reaches: the columns.
fn columns(seen: &Seen) -> String {
    let abis = seen.abis.iter().map(|abi| abi.name()).collect::<Vec<_>>().join(", ");
    format!("{} | {} | {abis}", grouped(seen.rows.len() as u64), grouped(seen.cases))
}

fn cell(text: &str) -> String {
    text.replace('|', r"\|")
}

/// The page with what is behind the numbers.
fn details(report: &Report) -> String {
    let mut text = String::from(
        "# What was found in the corpus\n\nWritten from a run of all specs, with the engine of this project. A row is wrong \
         if the call stack of the running program\nsays so; each build's rows count once. Rows that did not run are in \
         the report.\n\n# Faults by toolchain\n",
    );
    let Found { toolchains, faults: mut of_fault } = Found::of(report);
    for (toolchain, OfToolchain { faults, others, .. }) in toolchains {
        let _ = writeln!(text, "\n## {toolchain}\n");
        if faults.is_empty() {
            text.push_str("No fault.\n");
        } else {
            text.push_str("| fault | wrong rows | cases | ABIs |\n|---|---:|---:|---|\n");
        }
        for ((fault, title), reach) in by_rows(faults) {
            let link = format!("[{}](../../specs/faults/{fault}.yaml)", cell(&title));
            let _ = writeln!(text, "| {link} | {} |", columns(&reach));
        }
        if !others.is_empty() {
            text.push_str(
                "\nNo fault of a component:\n\n| why | rows | cases | ABIs |\n|---|---:|---:|---|\n",
            );
        }
        for (reason, reach) in by_rows(others) {
            let _ = writeln!(text, "| {} | {} |", cell(&reason), columns(&reach));
        }
    }
    text.push_str(
        "\n# Faults by component\n\nThose without rows here are in programs that the corpus does not have.\n",
    );
    for (component, faults) in components() {
        let _ = writeln!(
            text,
            "\n## {component}\n\n| fault | unreported | wrong rows | cases | ABIs |\n|---|---|---:|---:|---|"
        );
        for (name, (title, is_unreported)) in faults {
            let reach = of_fault.remove(&name).unwrap_or_default();
            let unreported = if is_unreported { "unreported" } else { "" };
            let link = format!("[{}](../../specs/faults/{name}.yaml)", cell(&title));
            let _ = writeln!(text, "| {link} | {unreported} | {} |", columns(&reach));
        }
    }
    text
}

/// The README's results, and the text before and after.
fn parts(readme: &str) -> [&str; 3] {
    let (before, rest) = readme.split_once(BEGIN).expect("a mark");
    let (results, after) = rest.split_once(END).expect("a mark");
    [before, results, after]
}

#[test]
fn the_results_are_of_the_cases_that_there_are() {
    let path = repository().join("README.md");
    let readme = std::fs::read_to_string(&path).expect("a README");
    if let Some(report) = std::env::var_os(UPDATE) {
        let text = std::fs::read(repository().join(report)).expect("a report");
        let report: Report = serde_json::from_slice(&text).expect("a report");
        assert!(
            report.shard.is_none() && report.run.as_ref().is_some_and(|run| run.selection.is_everything())
        );
        let [before, _, after] = parts(&readme);
        let summary = summary(&report);
        std::fs::write(&path, format!("{before}{BEGIN}{summary}{END}{after}")).expect("written");
        std::fs::write(page(), details(&report)).expect("written");
    }
    let readme = std::fs::read_to_string(&path).expect("a README");
    let [_, results, _] = parts(&readme);
    let suite = suite();
    let mut cases: BTreeMap<(String, String), u64> = BTreeMap::new();
    for case in suite.cases(&Filter::default()).expect("cases") {
        // `<spec>/<toolchain>/<abi>/<variant>`.
        let id = case.id();
        let parts: Vec<&str> = id.split('/').collect();
        *cases.entry((name(parts[1]).to_owned(), parts[2].to_owned())).or_default() += 1;
    }
    let renew = format!("renew them: `ci/demo`, then {UPDATE}=report/report.json and this test");
    for ((toolchain, abi), count) in cases {
        let line = results.lines().find(|line| line.starts_with(&format!("| {toolchain} |")));
        let line = line.unwrap_or_else(|| panic!("no results of {toolchain}; {renew}"));
        let column = ABIS.iter().position(|name| *name == abi).expect("an ABI");
        let cell = line.split(" | ").nth(column + 1).expect("a cell");
        let expected = format!("{} cases, ", grouped(count));
        assert!(cell.starts_with(&expected), "{toolchain} {abi}: {cell}, and not {expected}; {renew}");
    }
    assert!(results.starts_with(&of_components()), "the faults are others; {renew}");
    for (reader, vectors, defects) in readers() {
        let line = format!("| {reader} | {vectors} | [{defects}](");
        assert!(results.contains(&line), "not {line}; {renew}");
    }
}
