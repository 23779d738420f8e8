//! The results that the README and `harness/guide/results.md` show: written from a report of the whole corpus,
//! and about the cases that there are.
//!
//! To renew them after a run: `UPDATE_RESULTS=report/report.json cargo test --workspace --test bench results`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use sframe_inspect::text::grouped;
use sframe_suite::report::Report;
use sframe_suite::suite::Filter;

use crate::common::{repository, suite};

/// The report that the results are written from.
const UPDATE: &str = "UPDATE_RESULTS";

const BEGIN: &str = "<!-- results: written by a test, see CONTRIBUTING -->\n";
const END: &str = "<!-- end of results -->\n";

const ABIS: [&str; 4] = ["amd64", "aarch64", "aarch64_be", "s390x"];

fn page() -> PathBuf {
    repository().join("harness/guide/results.md")
}

/// The toolchain as the tables have it: what was derived from others is one.
fn name(toolchain: &str) -> &str {
    if toolchain.starts_with("derived") { "derived" } else { toolchain }
}

/// What was found with one toolchain for one ABI.
#[derive(Default)]
struct Cell {
    cases: u64,
    /// By build: rows, and those that were exercised.
    rows: BTreeMap<String, [u64; 2]>,
    /// By build: places that are wrong. A build's cases find the same.
    wrong: BTreeMap<String, BTreeSet<String>>,
}

type Table = BTreeMap<String, BTreeMap<String, Cell>>;

fn table(report: &Report) -> Table {
    let mut table = Table::new();
    for case in &report.cases {
        let abis = table.entry(name(&case.toolchain).to_owned()).or_default();
        let cell = abis.entry(case.abi.to_string()).or_default();
        cell.cases += 1;
        let rows = cell.rows.entry(case.build.clone()).or_default();
        *rows = [case.rows.total, rows[1].max(case.rows.exercised)];
        let place = |finding: &sframe_judge::finding::Finding| {
            let start = finding.row.as_ref().map(|row| row.start.to_string()).unwrap_or_default();
            format!("{:?} {:?} {start}", finding.image, finding.function)
        };
        let known = case.known.iter().map(|seen| &seen.finding);
        cell.wrong
            .entry(case.build.clone())
            .or_default()
            .extend(case.findings.iter().chain(known).map(place));
    }
    table
}

impl Cell {
    fn text(&self, link: &str) -> String {
        let rows: u64 = self.rows.values().map(|rows| rows[0]).sum();
        let wrong: usize = self.wrong.values().map(BTreeSet::len).sum();
        let wrong = if wrong == 0 {
            "0 wrong".to_owned()
        } else {
            format!("[{} wrong]({link})", grouped(wrong as u64))
        };
        format!("{} cases, {} rows, {wrong}", grouped(self.cases), grouped(rows))
    }
}

/// The tables of the README.
fn summary(report: &Report) -> String {
    let mut text =
        String::from("| toolchain | amd64 | aarch64 | aarch64_be | s390x |\n|---|---|---|---|---|\n");
    for (toolchain, abis) in &table(report) {
        let _ = write!(text, "| {toolchain} |");
        for abi in ABIS {
            let link = format!("harness/guide/results.md#{}", toolchain.replace('.', ""));
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
        let (_, mut vectors) = asked.next()??;
        if let Some(Some((right, _))) = asked.next() {
            let option = section.split("`target/adapters/").nth(1)?.split('`').next()?.split_once(' ')?.1;
            let _ = write!(vectors, "; {right} with `{option}`");
        }
        let defects = section.split_once("### Defects").map_or("", |(_, list)| list);
        let defects = defects.split("\n### ").next().unwrap_or_default().matches("\n- **").count();
        Some((section.lines().next()?.to_owned(), vectors, defects))
    };
    sections.filter_map(reader).collect()
}

/// How far a cause reaches: places, cases and ABIs.
type Reach = (BTreeSet<String>, u64, BTreeSet<String>);

/// The page with what is behind the numbers.
fn details(report: &Report) -> String {
    let mut text = String::from(
        "# What was found in the corpus\n\nWritten from a run of all specs, with the engine of this project. A row is wrong \
         if the call stack of the running program says so; each\nbuild's rows count once. Rows that did not run are in \
         the report.\n",
    );
    let names: BTreeSet<&str> = report.cases.iter().map(|case| name(&case.toolchain)).collect();
    for toolchain in names {
        let cases = report.cases.iter().filter(|case| name(&case.toolchain) == toolchain);
        // By component, and fault or reason.
        let mut causes: BTreeMap<(String, String), Reach> = BTreeMap::new();
        for case in cases {
            let mut of_case = BTreeSet::new();
            for seen in &case.known {
                let cause = match &seen.fault {
                    Some(fault) => format!("[{}](../../specs/faults/{fault}.yaml)", seen.reason),
                    None => seen.reason.clone(),
                };
                let key = (seen.blame.to_string(), cause);
                let finding = &seen.finding;
                let start = finding.row.as_ref().map(|row| row.start.to_string()).unwrap_or_default();
                let place = format!("{} {:?} {:?} {start}", case.build, finding.image, finding.function);
                let of = causes.entry(key.clone()).or_default();
                of.0.insert(place);
                of.2.insert(case.abi.to_string());
                of_case.insert(key);
            }
            for key in of_case {
                causes.entry(key).or_default().1 += 1;
            }
        }
        let _ = writeln!(text, "\n## {toolchain}\n");
        if causes.is_empty() {
            text.push_str("Nothing is wrong.\n");
            continue;
        }
        text.push_str("| wrong rows | cases | ABIs | to blame | what |\n|---:|---:|---|---|---|\n");
        let mut causes: Vec<_> = causes.into_iter().collect();
        causes.sort_by_key(|(_, (places, ..))| std::cmp::Reverse(places.len()));
        for ((blame, cause), (places, cases, abis)) in causes {
            let abis = abis.into_iter().collect::<Vec<_>>().join(", ");
            let (rows, cases) = (grouped(places.len() as u64), grouped(cases));
            let _ = writeln!(text, "| {rows} | {cases} | {abis} | {blame} | {} |", cause.replace('|', r"\|"));
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
    for (reader, vectors, defects) in readers() {
        let line = format!("| {reader} | {vectors} | [{defects}](");
        assert!(results.contains(&line), "not {line}; {renew}");
    }
}
