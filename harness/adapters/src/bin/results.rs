//! Writes `results.md` from the reports of runs: `results SAMPLE REPORT...`,
//! where `REPORT.run.json` and `REPORT.vectors.json` are what `run --json` and
//! `vectors --json` have printed.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let sample = arguments.next().ok_or("the sample is missing")?;
    println!("# Other unwinders under test");
    println!();
    println!(
        "Written by `ci/adapters --results`. Each line of a table is a kind of finding; the command shows it"
    );
    println!(
        "again, with all places. A finding is a difference between the unwinder's answer and the call stack"
    );
    println!(
        "where the engine of this project has none. `.eh_frame` may be wrong itself, and an adapter too."
    );
    println!();
    println!("The sample:");
    println!();
    println!("    {sample}");
    for report in arguments {
        let path = Path::new(&report);
        let read = |kind: &str| -> Result<Option<Value>, Box<dyn Error>> {
            match std::fs::read(path.with_file_name(format!("{}.{kind}.json", name(path)))) {
                Ok(bytes) if bytes.is_empty() => Ok(None),
                Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
                Err(error) => Err(error.into()),
            }
        };
        let run = read("run")?.ok_or("a run without a report")?;
        println!();
        runs(&report, &run);
        if let Some(vectors) = read("vectors")? {
            println!();
            sections(&report, &vectors);
        }
    }
    Ok(())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A cell of a table: one line, not too long, and nothing that ends it.
fn cell(text: &str) -> String {
    let line: String =
        text.split_whitespace().map(without_folders).collect::<Vec<_>>().join(" ").replace('|', "\\|");
    let short: String = line.chars().take(300).collect();
    if short.len() < line.len() { short + " ..." } else { short }
}

/// A path of a crate's file, without where this machine has it.
fn without_folders(word: &str) -> &str {
    let crates = word.find("/registry/src/").map(|at| at + "/registry/src/".len());
    crates.and_then(|at| Some(&word[at + word[at..].find('/')? + 1..])).unwrap_or(word)
}

fn runs(command: &str, run: &Value) {
    let unwinders = || list(&run["cases"]).iter().map(|case| &case["unwinder"]);
    let Some(first) = unwinders().find(|unwinder| unwinder.is_object()) else { return };
    println!("## {} {}", text(&first["name"]), text(&first["version"]));
    println!();
    let sum = |key: &str| unwinders().filter_map(|unwinder| unwinder[key].as_u64()).sum::<u64>();
    let summary = &run["summary"];
    println!(
        "Reads `{}`. {} cases: {} agree, {} with known findings of the build only, {} with findings, {} broken, {} skipped.",
        text(&first["data"]),
        summary["cases"],
        summary["agree"],
        summary["known"],
        summary["unexpected"],
        summary["broken"],
        summary["skipped"]
    );
    println!(
        "Asked at {} stops of {}, {} agree; {} frames, of {} no FP; started again {} times.",
        sum("stops"),
        sum("moments"),
        sum("agree"),
        sum("frames"),
        sum("fp_untold"),
        sum("restarts")
    );
    let mut skipped: BTreeMap<&str, u64> = BTreeMap::new();
    let mut kinds: BTreeMap<(&str, &str, &str), Kind<'_>> = BTreeMap::new();
    for case in list(&run["cases"]) {
        if matches!(text(&case["outcome"]), "skipped" | "broken") {
            *skipped.entry(text(&case["reason"])).or_default() += 1;
        }
        for finding in list(&case["findings"]) {
            let key = (text(&finding["verdict"]), text(&case["program"]), text(&case["abi"]));
            let kind = kinds.entry(key).or_insert_with(|| Kind {
                findings: 0,
                cases: Vec::new(),
                message: text(&finding["message"]),
                build: text(&case["build"]),
            });
            kind.findings += 1;
            let id = text(&case["id"]);
            if kind.cases.last() != Some(&id) {
                kind.cases.push(id);
            }
        }
    }
    for (reason, count) in skipped {
        println!("- {count} cases: {}", cell(reason));
    }
    if kinds.is_empty() {
        return;
    }
    println!();
    println!("| verdict | program | ABI | findings | cases | the first |");
    println!("|---|---|---|---|---|---|");
    for ((verdict, program, abi), kind) in kinds {
        let Kind { findings, cases, message, build } = kind;
        println!(
            "| `{verdict}` | {program} | {abi} | {findings} | {} | {}<br>`sframe-testbench check --unwinder {command} corpus/builds/{build}` |",
            cases.len(),
            cell(message)
        );
    }
}

struct Kind<'r> {
    findings: u64,
    cases: Vec<&'r str>,
    message: &'r str,
    build: &'r str,
}

fn sections(command: &str, vectors: &Value) {
    println!(
        "Of {} vectors, {} are answered as they say, {} skipped.",
        vectors["vectors"],
        vectors["agree"],
        list(&vectors["skipped"]).len()
    );
    let mut groups: BTreeMap<(&str, String), (u64, &str, &str)> = BTreeMap::new();
    for difference in list(&vectors["differences"]) {
        let vector = text(&difference["vector"]);
        let group = vector.split('/').next().unwrap_or_default();
        let what = match text(&difference["fault"]) {
            "" => text(&difference["part"]).to_owned(),
            fault => format!("`{fault}`"),
        };
        groups.entry((group, what)).or_insert((0, vector, text(&difference["message"]))).0 += 1;
    }
    if groups.is_empty() {
        return;
    }
    println!();
    println!("| group | part | differences | the first |");
    println!("|---|---|---|---|");
    for ((group, part), (count, vector, message)) in groups {
        println!(
            "| {group} | {part} | {count} | {}<br>`sframe-testbench vectors --unwinder {command} --only {vector}` |",
            cell(message)
        );
    }
}
