//! The results that the README and `harness/results/by-toolchain.md` show: written from a report of the whole corpus,
//! and about the cases that there are.
//!
//! To renew them after a run: `UPDATE_RESULTS=report/report.json cargo test --workspace --test bench results`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use sframe_corpus::spec::{Faults, UpstreamState};
use sframe_kit::text::{counted, grouped};
use sframe_suite::report::Report;
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

/// What was found with one toolchain for one ABI.
#[derive(Default)]
struct Cell {
    cases: u64,
    /// By build.
    rows: BTreeMap<String, u64>,
    /// The faults that were seen, by name.
    faults: BTreeSet<String>,
}

type Table = BTreeMap<String, BTreeMap<String, Cell>>;

fn table(report: &Report) -> Table {
    let mut table = Table::new();
    for case in &report.cases {
        let abis = table.entry(name(&case.toolchain).to_owned()).or_default();
        let cell = abis.entry(case.abi.to_string()).or_default();
        cell.cases += 1;
        cell.rows.insert(case.build.clone(), case.rows.total);
        cell.faults.extend(case.known.iter().filter_map(|seen| seen.fault.clone()));
    }
    table
}

impl Cell {
    fn text(&self, link: &str) -> String {
        let rows: u64 = self.rows.values().sum();
        let faults = match self.faults.len() {
            0 => "no fault".to_owned(),
            some => format!("[{}]({link})", counted(some as u64, "fault")),
        };
        format!("{} cases, {} rows, {faults}", grouped(self.cases), grouped(rows))
    }
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
    for (toolchain, abis) in &table(report) {
        let _ = write!(text, "| {toolchain} |");
        for abi in ABIS {
            let link = format!("harness/results/by-toolchain.md#{}", toolchain.replace('.', ""));
            let cell = abis.get(abi).map_or_else(|| "–".to_owned(), |cell| cell.text(&link));
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

/// How far a cause reaches.
#[derive(Default)]
struct Reach {
    rows: BTreeSet<String>,
    cases: u64,
    abis: BTreeSet<String>,
}

impl Reach {
    fn text(&self) -> String {
        let abis = self.abis.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        format!("{} | {} | {abis}", grouped(self.rows.len() as u64), grouped(self.cases))
    }
}

/// Causes with their reach, that with most rows first.
fn by_rows<K: Ord>(causes: BTreeMap<K, Reach>) -> Vec<(K, Reach)> {
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(_, reach)| std::cmp::Reverse(reach.rows.len()));
    causes
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
    let mut of_fault: BTreeMap<String, Reach> = BTreeMap::new();
    let names: BTreeSet<&str> = report.cases.iter().map(|case| name(&case.toolchain)).collect();
    for toolchain in names {
        let cases = report.cases.iter().filter(|case| name(&case.toolchain) == toolchain);
        // By fault and title.
        let mut faults: BTreeMap<(String, String), Reach> = BTreeMap::new();
        let mut others: BTreeMap<String, Reach> = BTreeMap::new();
        for case in cases {
            let mut of_case = BTreeSet::new();
            for seen in &case.known {
                let finding = &seen.finding;
                let start = finding.row.as_ref().map(|row| row.start.to_string()).unwrap_or_default();
                let row = format!("{} {:?} {:?} {start}", case.build, finding.image, finding.function);
                let add = |reach: &mut Reach, is_first: bool| {
                    reach.rows.insert(row.clone());
                    reach.abis.insert(case.abi.to_string());
                    reach.cases += u64::from(is_first);
                };
                let is_first = of_case.insert((seen.fault.clone(), seen.reason.clone()));
                match &seen.fault {
                    Some(fault) => {
                        add(faults.entry((fault.clone(), seen.reason.clone())).or_default(), is_first);
                        add(of_fault.entry(fault.clone()).or_default(), is_first);
                    }
                    None => add(others.entry(seen.reason.clone()).or_default(), is_first),
                }
            }
        }
        let _ = writeln!(text, "\n## {toolchain}\n");
        if faults.is_empty() {
            text.push_str("No fault.\n");
        } else {
            text.push_str("| fault | wrong rows | cases | ABIs |\n|---|---:|---:|---|\n");
        }
        for ((fault, title), reach) in by_rows(faults) {
            let link = format!("[{}](../../specs/faults/{fault}.yaml)", cell(&title));
            let _ = writeln!(text, "| {link} | {} |", reach.text());
        }
        if !others.is_empty() {
            text.push_str(
                "\nNo fault of a component:\n\n| why | rows | cases | ABIs |\n|---|---:|---:|---|\n",
            );
        }
        for (reason, reach) in by_rows(others) {
            let _ = writeln!(text, "| {} | {} |", cell(&reason), reach.text());
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
            let _ = writeln!(text, "| {link} | {unreported} | {} |", reach.text());
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
