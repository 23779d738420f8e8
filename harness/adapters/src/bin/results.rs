//! Writes `results.md` from the reports of runs and from what people have found
//! out about them: `results FINDINGS FOLDER SELECTION PROFILES`. `FINDINGS` is
//! `findings.yaml`. For each `name` in it, `FOLDER/NAME.run.json` and
//! `FOLDER/NAME.vectors.json` are the outputs of `run --json` and `vectors
//! --json`; the latter is empty if the unwinder does not answer vectors. If it
//! does, `FOLDER/NAME.PROFILE.json` is the output of `vectors --json --profile
//! PROFILE`, for each of the profiles, which are separated by spaces. `FOLDER`
//! also has the runs of [`OWN`].

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::sync::LazyLock;

use regex_lite::Regex;
use serde::Deserialize;
use serde_json::Value;

/// An unwinder, with the causes of its answers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Peer {
    /// The names of its reports.
    name: String,
    /// The command that starts it.
    command: String,
    about: String,
    /// An option that works around a defect, with its results.
    #[serde(default)]
    workaround: Option<Workaround>,
    findings: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Workaround {
    name: String,
    command: String,
    about: String,
}

/// A root cause.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    kind: Kind,
    what: String,
    /// Clauses of `specs/clauses.yaml`, or another text that says what is right.
    #[serde(default)]
    clauses: Vec<String>,
    /// Where it is, in the source of the unwinder.
    #[serde(default)]
    source: Option<String>,
    /// The command that shows it, without `sframe-testbench` and `--unwinder`.
    reproduce: String,
    matches: Vec<Pattern>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// The unwinder does not do what the specification says.
    Defect,
    /// It does not claim to, or the specification is ambiguous.
    Limit,
    /// The data that it reads is wrong.
    Data,
    /// The bench is wrong.
    Bench,
}

const KINDS: [(Kind, &str); 4] = [
    (Kind::Defect, "Defects"),
    (Kind::Limit, "Limits"),
    (Kind::Data, "The data that it reads is wrong"),
    (Kind::Bench, "The bench is wrong, or has other conventions"),
];

/// The pattern for a finding or difference. All keys but the last are regular expressions for
/// the complete value; that of `message` is for a part of it.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Pattern {
    verdict: Option<String>,
    program: Option<String>,
    abi: Option<String>,
    toolchain: Option<String>,
    function: Option<String>,
    vector: Option<String>,
    /// `opening`, `lookups`, or a fault.
    part: Option<String>,
    blame: Option<String>,
    message: Option<String>,
    /// Whether it disappears with the workaround.
    worked_around: bool,
}

struct Matcher {
    keys: Vec<(&'static str, Regex)>,
    worked_around: bool,
}

impl Pattern {
    fn matcher(&self) -> Result<Matcher, Box<dyn Error>> {
        let of_run = self.verdict.is_some() || self.program.is_some() || self.function.is_some();
        let keys = [
            ("verdict", &self.verdict),
            ("program", &self.program),
            ("abi", &self.abi),
            ("toolchain", &self.toolchain),
            ("function", &self.function),
            ("vector", &self.vector),
            ("part", &self.part),
            ("blame", &self.blame),
            ("message", &self.message),
        ];
        if of_run && self.vector.is_some() {
            return Err("a pattern is for a run's findings or for vectors".into());
        }
        let mut compiled = Vec::new();
        for (key, pattern) in keys {
            if let Some(pattern) = pattern {
                let whole = format!("^(?:{pattern})$");
                let pattern = if key == "message" { pattern } else { &whole };
                compiled.push((key, Regex::new(pattern)?));
            }
        }
        Ok(Matcher { keys: compiled, worked_around: self.worked_around })
    }
}

/// A finding of a run or a difference of a vector, by its keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    /// The case or the vector.
    place: String,
    keys: BTreeMap<&'static str, String>,
}

impl Item {
    fn is_vector(&self) -> bool {
        self.keys.contains_key("vector")
    }
}

/// The reports of two commands about one unwinder.
struct Report {
    run: Value,
    vectors: Option<Value>,
    items: BTreeSet<Item>,
    /// The cases that it was asked about.
    asked: BTreeSet<String>,
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Reads a report of an unwinder. `None` if it is empty.
fn read(folder: &Path, name: &str, kind: &str) -> Result<Option<Value>, Box<dyn Error>> {
    let path = folder.join(format!("{name}.{kind}.json"));
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if bytes.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_slice(&bytes)?)) }
}

fn run_of(folder: &Path, name: &str) -> Result<Value, Box<dyn Error>> {
    Ok(read(folder, name, "run")?.ok_or_else(|| format!("{name}: the run has no report"))?)
}

impl Report {
    fn read(folder: &Path, name: &str) -> Result<Self, Box<dyn Error>> {
        let run = run_of(folder, name)?;
        let vectors = read(folder, name, "vectors")?;
        let (mut items, mut asked) = (BTreeSet::new(), BTreeSet::new());
        for case in list(&run["cases"]) {
            let place = text(&case["id"]).to_owned();
            if case["unwinder"].is_object() {
                asked.insert(place.clone());
            }
            for finding in list(&case["findings"]) {
                let mut keys: BTreeMap<&'static str, String> = BTreeMap::new();
                for key in ["program", "abi", "toolchain"] {
                    keys.insert(key, text(&case[key]).to_owned());
                }
                for key in ["verdict", "function", "blame", "message"] {
                    keys.insert(key, text(&finding[key]).to_owned());
                }
                items.insert(Item { place: place.clone(), keys });
            }
        }
        for difference in vectors.iter().flat_map(|vectors| list(&vectors["differences"])) {
            let place = text(&difference["vector"]).to_owned();
            let part = match text(&difference["fault"]) {
                "" => text(&difference["part"]),
                fault => fault,
            };
            let keys = [
                ("vector", place.clone()),
                ("part", part.to_owned()),
                ("message", anywhere(text(&difference["message"]))),
            ];
            items.insert(Item { place, keys: keys.into() });
        }
        Ok(Self { run, vectors, items, asked })
    }
}

/// The number of a process, which differs each time.
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"' \(\d+\) panicked").ok());
/// Where this machine keeps sources of crates.
static FOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\S*/registry/src/[^/]*/").ok());

/// The amount of an excess in a panic message, and Rust's advice.
static NUMBERS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(index|length) \d+| \| note: run with .*").ok());

/// Returns the last message of a process, without what differs between machines.
fn anywhere(message: &str) -> String {
    replace(&FOLDER, &replace(&NUMBER, message, "' panicked"), "")
}

fn replace(pattern: &Option<Regex>, text: &str, by: &str) -> String {
    pattern.as_ref().map_or_else(|| text.to_owned(), |pattern| pattern.replace_all(text, by).into_owned())
}

/// Returns why a case or vector has no answer, normalised so that equal reasons are equal.
fn reason(reason: &str) -> String {
    let reason = reason.strip_prefix("the unwinder doesn't support it: ").unwrap_or(reason);
    replace(&NUMBERS, &anywhere(reason), "$1")
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Wraps text to lines of at most 120 characters, with an indent for all but the first.
fn wrapped(text: &str, indent: &str) -> String {
    let (mut lines, mut length) = (String::new(), 0);
    for word in text.split_whitespace() {
        let more = word.chars().count() + 1;
        if length > 0 && length + more > 120 {
            lines.push('\n');
            lines.push_str(indent);
            length = indent.len();
        } else if length > 0 {
            lines.push(' ');
        }
        lines.push_str(word);
        length += more;
    }
    lines
}

fn sum(run: &Value, key: &str) -> u64 {
    list(&run["cases"]).iter().filter_map(|case| case["unwinder"][key].as_u64()).sum()
}

/// Returns the measurements, without times.
fn measured(report: &Report) {
    let run = &report.run;
    let count = |key: &str| run["summary"][key].as_u64().unwrap_or(0);
    println!(
        "{} cases: {} agree, {} of them except for known bugs of the build; {} with findings, {} broken, {} skipped.",
        grouped(count("cases")),
        grouped(count("agree") + count("known")),
        grouped(count("known")),
        grouped(count("unexpected")),
        grouped(count("broken")),
        grouped(count("skipped"))
    );
    println!(
        "Asked at {} of {} instructions ({} with a PC or call stack of their own): {} answers agree. Restarted {} times.",
        grouped(sum(run, "stops")),
        grouped(sum(run, "moments")),
        grouped(sum(run, "different")),
        grouped(sum(run, "agree")),
        grouped(sum(run, "restarts"))
    );
    if let Some(vectors) = &report.vectors {
        println!(
            "Of {} vectors, {} are answered correctly, {} in part, {} skipped.",
            vectors["vectors"],
            vectors["agree"],
            vectors["partly"],
            list(&vectors["skipped"]).len()
        );
    }
    let mut skipped: BTreeMap<(&str, String), (u64, u64)> = BTreeMap::new();
    for case in list(&run["cases"]) {
        let outcome = text(&case["outcome"]);
        if matches!(outcome, "skipped" | "broken") {
            skipped.entry((outcome, reason(text(&case["reason"])))).or_default().0 += 1;
        }
    }
    for vector in report.vectors.iter().flat_map(|vectors| list(&vectors["skipped"])) {
        skipped.entry(("skipped", reason(text(&vector["reason"])))).or_default().1 += 1;
    }
    if !skipped.is_empty() {
        println!();
    }
    for ((outcome, why), (cases, vectors)) in skipped {
        let (cases, vectors) = (grouped(cases), grouped(vectors));
        println!("- {}", wrapped(&format!("{outcome}, {cases} cases and {vectors} vectors: {why}"), "  "));
    }
}

/// What the bench brings to set beside the others: names of runs, and what they are on the page.
const OWN: [(&str, &str); 2] = [("engine", "engine of this project"), ("frame-pointers", "frame pointers")];

const WALKS: &str = "\
What the walks of each reader are worth to whoever has to rely on them: they are complete, incomplete and say so, \
incomplete and silent, or wrong. In brackets: at stops where the engine of this project, which does what the rows say, \
is silent or wrong as well, since the rows are. Each reader is asked about the ABIs and versions that it reads; frame \
pointers are followed in all code, also where it is compiled without them.";

/// Returns a line of the table of what walks are worth.
fn walks(name: &str, run: &Value) -> String {
    let (by_abi, _) = worth(run);
    let all = by_abi.values().fold([0; 4], |sum, of| std::array::from_fn(|index| sum[index] + of[index]));
    let where_rows_are_wrong = |worth: &str| {
        let cases = list(&run["cases"]).iter();
        cases.filter_map(|case| case["unwinder"]["where_rows_are_wrong"][worth].as_u64()).sum::<u64>()
    };
    let cell = |(worth, count): (&str, u64)| match worth {
        "silent" | "wrong" => format!("{} ({})", grouped(count), grouped(where_rows_are_wrong(worth))),
        _ => grouped(count),
    };
    let cells: Vec<String> = WORTH.into_iter().zip(all).map(cell).collect();
    format!("| {name} | {} |", cells.join(" | "))
}

/// What walks are worth to whoever has to rely on them, in the order of the table.
const WORTH: [&str; 4] = ["complete", "incomplete", "silent", "wrong"];

/// How many walks were worth what, in the order of [`WORTH`], by a name.
type Worth<'a> = BTreeMap<&'a str, [u64; 4]>;

/// Returns what walks were worth by ABI, and by what the topmost frame was in. Those without a walk are left out.
fn worth(run: &Value) -> (Worth<'_>, Worth<'_>) {
    let (mut by_abi, mut by_topmost) = (Worth::new(), Worth::new());
    for (abi, places) in run["summary"]["reliability_by_abi"].as_object().into_iter().flatten() {
        for (topmost, counts) in places.as_object().into_iter().flatten() {
            let counts = WORTH.map(|worth| counts[worth].as_u64().unwrap_or_default());
            if counts == [0; 4] {
                continue;
            }
            for (by, name) in [(&mut by_abi, abi), (&mut by_topmost, topmost)] {
                for (sum, count) in by.entry(name.as_str()).or_default().iter_mut().zip(counts) {
                    *sum += count;
                }
            }
        }
    }
    (by_abi, by_topmost)
}

/// Writes what the walks are worth.
fn reliability(run: &Value) {
    let (by_abi, by_topmost) = worth(run);
    if by_abi.is_empty() {
        return;
    }
    let declares = list(&run["cases"]).iter().any(|case| case["unwinder"]["declares"] == true);
    let how = if declares {
        "It says of each walk whether it is reliable."
    } else {
        "It does not say of a walk whether it is reliable: one that ends as if at the outermost frame claims to be."
    };
    println!("\n{how}");
    for (of, counts) in [("ABI", by_abi), ("topmost frame", by_topmost)] {
        println!("\n| {of} | {} |\n|---|---:|---:|---:|---:|", WORTH.join(" | "));
        for (name, counts) in counts {
            println!("| {name} | {} |", counts.map(grouped).join(" | "));
        }
    }
}

/// The findings that an entry explains.
#[derive(Default)]
struct Explained {
    findings: u64,
    differences: u64,
    cases: BTreeSet<String>,
    vectors: BTreeSet<String>,
    programs: BTreeSet<String>,
    abis: BTreeSet<String>,
}

impl Explained {
    fn add(&mut self, item: &Item) {
        if item.is_vector() {
            self.differences += 1;
            self.vectors.insert(item.place.clone());
            return;
        }
        self.findings += 1;
        self.cases.insert(item.place.clone());
        self.programs.insert(item.keys["program"].clone());
        self.abis.insert(item.keys["abi"].clone());
    }

    fn text(&self) -> String {
        let mut parts = Vec::new();
        if self.findings > 0 {
            let few: Vec<&str> = self.programs.iter().map(String::as_str).take(5).collect();
            let more = if self.programs.len() > few.len() {
                format!(" and {} more", self.programs.len() - few.len())
            } else {
                String::new()
            };
            let abis: Vec<&str> = self.abis.iter().map(String::as_str).collect();
            parts.push(format!(
                "{} findings in {} cases ({}{more}; {})",
                grouped(self.findings),
                self.cases.len(),
                few.join(", "),
                abis.join(", ")
            ));
        }
        if self.differences > 0 {
            let count = self.vectors.len();
            parts.push(format!("{count} {}", if count == 1 { "vector" } else { "vectors" }));
        }
        parts.join(", ")
    }
}

/// Writes a peer's part of the page, and returns the number of unexplained findings.
///
/// # Errors
/// A report can't be read; an entry explains nothing.
fn peer(peer: &Peer, folder: &Path) -> Result<usize, Box<dyn Error>> {
    let report = Report::read(folder, &peer.name)?;
    let with = peer.workaround.as_ref().map(|it| Report::read(folder, &it.name)).transpose()?;
    let first = list(&report.run["cases"]).iter().find(|case| case["unwinder"].is_object());
    let version = first.map_or("", |case| text(&case["unwinder"]["version"]));
    println!("\n## {} {version}\n", peer.name);
    println!("{}\n", wrapped(&peer.about, ""));
    measured(&report);
    reliability(&report.run);
    if let (Some(workaround), Some(with)) = (&peer.workaround, &with) {
        println!("\n{}\n", wrapped(&format!("With `{}`, {}", workaround.command, workaround.about), ""));
        measured(with);
        reliability(&with.run);
    }

    let mut matchers = Vec::new();
    for entry in &peer.findings {
        let of_entry: Result<Vec<Matcher>, _> = entry.matches.iter().map(Pattern::matcher).collect();
        matchers.push(of_entry.map_err(|error| format!("{}, {}: {error}", peer.name, entry.id))?);
    }
    let mut explained: Vec<Explained> = peer.findings.iter().map(|_| Explained::default()).collect();
    let mut unexplained = Vec::new();
    let all: BTreeSet<&Item> =
        report.items.iter().chain(with.iter().flat_map(|report| &report.items)).collect();
    for item in all {
        let goes_away = with.as_ref().is_some_and(|with| {
            let asked = item.is_vector() || with.asked.contains(&item.place);
            asked && report.items.contains(item) && !with.items.contains(item)
        });
        let found = matchers.iter().position(|of_entry| {
            of_entry.iter().any(|matcher| {
                (!matcher.worked_around || goes_away)
                    && matcher
                        .keys
                        .iter()
                        .all(|(key, pattern)| item.keys.get(key).is_some_and(|value| pattern.is_match(value)))
            })
        });
        match found {
            Some(index) => explained[index].add(item),
            None => unexplained.push(item),
        }
    }
    for (entry, explained) in peer.findings.iter().zip(&explained) {
        if explained.findings + explained.differences == 0 {
            return Err(format!("{}, {}: nothing matches", peer.name, entry.id).into());
        }
    }
    for (kind, title) in KINDS {
        let entries = peer.findings.iter().zip(&explained).filter(|(entry, _)| entry.kind == kind);
        let entries: Vec<_> = entries.collect();
        if entries.is_empty() {
            continue;
        }
        println!("\n### {title}\n");
        for (entry, explained) in entries {
            println!("- {}", wrapped(&format!("**{}**: {}", entry.id, entry.what), "  "));
            let mut says = Vec::new();
            says.extend(entry.source.as_ref().map(|source| format!("`{source}`")));
            if !entry.clauses.is_empty() {
                says.push(format!("against {}", entry.clauses.join(", ")));
            }
            says.push(explained.text());
            println!("  {}.", wrapped(&says.join("; "), "  "));
            let (command, arguments) = entry.reproduce.split_once(' ').unwrap_or((&entry.reproduce, ""));
            // The defect with the workaround would hide all others.
            let is_hidden = !entry.matches.iter().any(|pattern| pattern.worked_around);
            let unwinder = match &peer.workaround {
                Some(workaround) if is_hidden => &workaround.command,
                _ => &peer.command,
            };
            println!("  `sframe-testbench {command} --unwinder {} {arguments}`", quoted(unwinder));
        }
    }
    println!("\nUnexplained: {}.", unexplained.len());
    for item in unexplained.iter().take(20) {
        let message = &item.keys["message"];
        let what = item.keys.get("verdict").or(item.keys.get("part")).map_or("", String::as_str);
        println!("- `{what}`, {}: {}", item.place, message.chars().take(300).collect::<String>());
    }
    Ok(unexplained.len())
}

/// One row of the table of profiles: what a reader has answered of the vectors of each.
///
/// # Errors
/// A report can't be read.
fn by_profile(name: &str, command: &str, folder: &Path, profiles: &[&str]) -> Result<String, Box<dyn Error>> {
    let mut row = format!("| {command} |");
    for profile in profiles {
        let path = folder.join(format!("{name}.{profile}.json"));
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        row.push_str(&format!(" {} |", answered(&serde_json::from_slice(&bytes)?)));
    }
    Ok(row)
}

/// How many vectors were answered: rightly of all; in part, wrongly, not at all.
fn answered(report: &Value) -> String {
    let count = |key: &str| report[key].as_u64().unwrap_or(0);
    let skipped = list(&report["skipped"]).len() as u64;
    let wrong = count("vectors").saturating_sub(count("agree") + count("partly") + skipped);
    let (agree, all) = (count("agree"), count("vectors"));
    format!("{agree} of {all}; {}, {wrong}, {skipped}", count("partly"))
}

const HEAD: &str = "\
# Other unwinders under test

Generated by `ci/adapters --results` from the answers of the unwinders, and from `findings.yaml`, where people record
their causes. A finding is one kind of difference between answer and call stack at one PC of one build, or between answer
and vector; it counts for the first cause in that file that matches it. Faults of a build that its spec lists as known
count against nobody.
";

const TABLE: &str = "\
Of the vectors that a reader with the features of a [profile](../../corpus/vectors/profiles.yaml) must answer: how many
are answered rightly; then how many in part (rightly, as far as there are answers), wrongly, and not at all.";

fn quoted(command: &str) -> String {
    if command.contains(' ') { format!("'{command}'") } else { command.to_owned() }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [findings, folder, selection, profiles] = arguments.as_slice() else {
        return Err("results FINDINGS FOLDER SELECTION PROFILES".into());
    };
    let folder = Path::new(folder);
    let peers: Vec<Peer> = serde_yaml::from_str(&std::fs::read_to_string(findings)?)?;
    println!("{HEAD}");
    println!("    sframe-testbench run {selection}\n");
    println!("asks once at each PC that is reached, and at some more stops with new call stacks.");
    let profiles: Vec<&str> = profiles.split_whitespace().collect();
    println!("\n## Vectors by profile\n");
    println!("{}\n", wrapped(TABLE, ""));
    println!("| reader | {} |", profiles.join(" | "));
    println!("|---|{}", "---:|".repeat(profiles.len()));
    for it in &peers {
        let workaround = it.workaround.iter().map(|it| (&it.name, &it.command));
        for (name, command) in [(&it.name, &it.command)].into_iter().chain(workaround) {
            if Report::read(folder, name)?.vectors.is_some() {
                let command = command.rsplit('/').next().unwrap_or(command);
                println!("{}", by_profile(name, command, folder, &profiles)?);
            }
        }
    }
    println!("\n## Walks\n\n{}\n", wrapped(WALKS, ""));
    println!("| reader | {} |\n|---|---:|---:|---:|---:|", WORTH.join(" | "));
    let others = peers.iter().map(|it| (&*it.name, &*it.name));
    for (name, reader) in OWN.into_iter().chain(others) {
        println!("{}", walks(reader, &run_of(folder, name)?));
    }
    let mut unexplained = 0;
    for it in &peers {
        unexplained += peer(it, folder)?;
    }
    println!("\n## Altogether\n");
    println!("{unexplained} findings are unexplained.");
    println!("Time that the bench waited for the unwinders, in seconds, on a machine with other load:");
    let mut times = Vec::new();
    for it in &peers {
        for name in [Some(&it.name), it.workaround.as_ref().map(|it| &it.name)].into_iter().flatten() {
            let report = Report::read(folder, name)?;
            let cases = list(&report.run["cases"]).iter();
            let seconds: f64 = cases.filter_map(|case| case["unwinder"]["seconds"].as_f64()).sum();
            times.push(format!("{name} {seconds:.0}"));
        }
    }
    println!("{}.", times.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"summary": {}, "cases": [{"id": "leaf/x/amd64/O2", "program": "leaf", "abi": "amd64",
        "toolchain": "x", "unwinder": {"version": "1"},
        "findings": [{"verdict": "wrong-ra", "function": "f", "blame": "consumer", "message": "RA is 0x1"}]}]}"#;
    const NO_FINDING: &str = r#"{"summary": {}, "cases": [{"id": "leaf/x/amd64/O2", "program": "leaf", "abi": "amd64",
        "toolchain": "x", "unwinder": {"version": "1"}, "findings": []}]}"#;

    /// A peer with reports of these names, and entries that match so.
    fn unexplained(test: &str, workaround: Option<&str>, matches: &[&str]) -> Result<usize, String> {
        let folder = std::env::temp_dir().join(format!("sframe-results-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        for (name, run) in [("a", Some(RUN)), ("b", workaround)] {
            if let Some(run) = run {
                std::fs::write(folder.join(format!("{name}.run.json")), run).map_err(|it| it.to_string())?;
                std::fs::write(folder.join(format!("{name}.vectors.json")), "")
                    .map_err(|it| it.to_string())?;
            }
        }
        let workaround = workaround.map(|_| "workaround: {name: b, command: a --b, about: so}");
        let entries: String = matches
            .iter()
            .map(|it| format!("- {{id: it, kind: defect, what: it, reproduce: check x, matches: [{it}]}}\n"))
            .collect();
        let yaml =
            format!("name: a\ncommand: a\nabout: a\n{}\nfindings:\n{entries}", workaround.unwrap_or(""));
        let it: Peer = serde_yaml::from_str(&yaml).map_err(|error| error.to_string())?;
        let result = peer(&it, &folder).map_err(|error| error.to_string());
        let _ = std::fs::remove_dir_all(&folder);
        result
    }

    #[test]
    fn what_no_entry_explains_is_counted() {
        assert_eq!(unexplained("explained", None, &["{verdict: wrong-ra, message: 'RA is'}"]), Ok(0));
        let none: &[&str] = &[];
        assert_eq!(unexplained("unexplained", None, none), Ok(1));
    }

    #[test]
    fn an_entry_that_explains_nothing_is_an_error() {
        for pattern in ["{verdict: wrong}", "{abi: s390x}", "{vector: '.*'}", "{message: '^is'}"] {
            let result = unexplained("nothing", None, &["{verdict: wrong-ra}", pattern]);
            assert_eq!(result, Err("a, it: nothing matches".to_owned()), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_with_an_unknown_key_or_of_two_kinds_is_an_error() {
        assert!(unexplained("key", None, &["{verdikt: wrong-ra}"]).is_err());
        assert!(unexplained("kinds", None, &["{verdict: wrong-ra, vector: x}"]).is_err());
    }

    #[test]
    fn only_what_goes_away_with_the_workaround_is_worked_around() {
        assert_eq!(unexplained("gone", Some(NO_FINDING), &["{worked_around: true}"]), Ok(0));
        let stays = unexplained("stays", Some(RUN), &["{worked_around: true}"]);
        assert_eq!(stays, Err("a, it: nothing matches".to_owned()));
    }

    #[test]
    fn vectors_are_counted_by_how_they_are_answered() {
        let report = r#"{"vectors": 9, "agree": 2, "partly": 3, "skipped": [{}]}"#;
        let report = serde_json::from_str(report).expect("a report");
        assert_eq!(answered(&report), "2 of 9; 3, 3, 1");
    }

    #[test]
    fn walks_are_counted_by_abi_and_by_the_topmost_frame() {
        let report = r#"{"summary": {"reliability_by_abi": {
            "amd64": {"body": {"complete": 5, "incomplete": 1, "silent": 0, "wrong": 2},
                      "caller": {"complete": 0, "incomplete": 0, "silent": 4, "wrong": 3}},
            "s390x": {"body": {"complete": 1, "incomplete": 0, "silent": 0, "wrong": 0}},
            "aarch64": {"body": {"complete": 0, "incomplete": 0, "silent": 0, "wrong": 0}}}}}"#;
        let report = serde_json::from_str(report).expect("a report");
        let (by_abi, by_topmost) = worth(&report);
        assert_eq!(by_abi, [("amd64", [5, 1, 4, 5]), ("s390x", [1, 0, 0, 0])].into());
        assert_eq!(by_topmost, [("body", [6, 1, 0, 2]), ("caller", [0, 0, 4, 3])].into());
        assert!(worth(&Value::Null).0.is_empty());
    }

    #[test]
    fn messages_are_the_same_on_any_machine() {
        let message =
            "thread 'main' (42) panicked at /home/x/.cargo/registry/src/index-1/crate-1.0/src/a.rs:1:2";
        assert_eq!(anywhere(message), "thread 'main' panicked at crate-1.0/src/a.rs:1:2");
    }
}
