//! The comparison for a terminal.

use std::collections::{BTreeMap, BTreeSet};

use sframe_corpus::corpus::Refusal;
use sframe_engine::Abi;
use sframe_inspect::command::Volume;
use sframe_judge::finding::Address;
use sframe_kit::conclusion::{Conclusion, Ending};
use sframe_kit::text::{Text, counted, first_of, grouped};

use super::causes::{PLACES, causes};
use super::compare::{Comparison, Kind, KindDetail, Standing};
use super::report::{Counts, MatrixReport, ToolchainResult};

/// The most ids of a group that are shown.
const IDS: usize = 4;
/// The most reasons of one kind that are shown.
const REASONS: usize = 12;

/// How a toolchain comes to write sections.
const ASKS_FOR_SECTIONS: &str = "does `sframe_flags` of the definition ask for it, or is it dropped later?";

/// A kind of findings in all builds of a program for an ABI.
pub(super) struct Group<'r> {
    pub(super) detail: &'r KindDetail,
    /// The variants, each with its rows.
    pub(super) variants: BTreeMap<&'r str, &'r BTreeSet<Address>>,
    /// The command that reproduces the first of them.
    pub(super) reproduce: Option<&'r str>,
}

/// By spec, ABI and kind.
pub(super) type Groups<'r> = BTreeMap<(&'r str, Abi, &'r Kind), Group<'r>>;

/// Gathers the kinds of findings of some cases.
pub(super) fn groups<'r>(
    cases: impl Iterator<Item = &'r Comparison>,
    of: fn(&'r Comparison) -> &'r [KindDetail],
) -> Groups<'r> {
    let mut groups = Groups::new();
    for case in cases {
        let spec = case.id.split('/').next().unwrap_or_default();
        let variant = case.id.rsplit('/').next().unwrap_or_default();
        for detail in of(case) {
            let group = groups.entry((spec, case.abi, &detail.kind)).or_insert_with(|| Group {
                detail,
                variants: BTreeMap::new(),
                reproduce: case.reproduce.as_deref(),
            });
            group.variants.insert(variant, &detail.rows);
        }
    }
    groups
}

impl Group<'_> {
    /// Lists the variants with their rows: `O2 +0x4 +0x8, O2-pie +0x4`.
    pub(super) fn places(&self) -> String {
        let place = |(variant, rows): (&&str, &&BTreeSet<Address>)| {
            let rows: String = rows.iter().map(|row| format!(" +{row}")).collect();
            format!("{variant}{rows}")
        };
        self.variants.iter().map(place).collect::<Vec<_>>().join(", ")
    }
}

/// A column of the table: its name, and its number.
type Column = (&'static str, fn(&Counts) -> u64);

/// The columns of the table.
pub(super) const COLUMNS: [Column; 11] = [
    ("built", |counts| counts.built),
    ("same", |counts| counts.same),
    ("better", |counts| counts.better),
    ("worse", |counts| counts.worse),
    ("lost", |counts| counts.lost),
    ("no reference", |counts| counts.no_reference),
    ("broken", |counts| counts.broken),
    ("not run", |counts| counts.skipped),
    ("refused", |counts| counts.refused),
    ("no section", |counts| counts.no_section),
    ("excluded", |counts| counts.excluded),
];

/// Describes the references.
pub(super) fn references(toolchain: &ToolchainResult) -> String {
    if toolchain.references.is_empty() {
        "no reference".to_owned()
    } else {
        format!("compared with {}", toolchain.references.join(", "))
    }
}

/// Describes the versions of the sections.
pub(super) fn versions(toolchain: &ToolchainResult) -> String {
    let versions: BTreeSet<u8> = toolchain.builds.iter().filter_map(|build| build.sframe_version).collect();
    let versions: Vec<String> = versions.iter().map(u8::to_string).collect();
    if versions.is_empty() {
        "no sections".to_owned()
    } else {
        format!("SFrame version {}", versions.join(", "))
    }
}

/// Describes the results of all toolchains: findings first, and how each compares with its reference last. `places` are
/// left out where only what is worse is wanted.
#[must_use]
pub fn summary(report: &MatrixReport, ending: Ending, places: &Text, volume: Volume) -> Text {
    let mut text = Text::default();
    for toolchain in &report.toolchains {
        show(&mut text, toolchain, volume);
    }
    if volume != Volume::Quiet {
        text.append(places);
    }
    if volume != Volume::Quiet || ending != Ending::Pass {
        let mut toolchains: Vec<&ToolchainResult> = report.toolchains.iter().collect();
        // What made the verdict comes first.
        toolchains.sort_by_key(|toolchain| std::cmp::Reverse(toolchain.totals().worse));
        let facts = toolchains.into_iter().flat_map(facts).collect();
        Conclusion { ending, facts }.show(&mut text);
    }
    text
}

/// How the builds of a toolchain compare with those of its references.
fn facts(toolchain: &ToolchainResult) -> impl Iterator<Item = String> {
    let totals = toolchain.totals();
    let counts = COLUMNS.iter().map(|(name, count)| (*name, count(&totals)));
    let counts = counts.filter(|(name, count)| *count > 0 || *name == "worse");
    let counts: Vec<String> = counts.map(|(name, count)| format!("{} {name}", grouped(count))).collect();
    let partly = toolchain.cases.iter().filter(|case| !case.not_checked.is_empty()).count() as u64;
    let partly = (partly > 0)
        .then(|| format!("in {} something was not checked: `--verbose` says what", counted(partly, "case")));
    let all = format!("{}, {}: {}", toolchain.name, references(toolchain), counts.join(", "));
    let versions: BTreeSet<u8> = toolchain.builds.iter().filter_map(|build| build.sframe_version).collect();
    let mixed = (versions.len() > 1).then(|| {
        let versions: Vec<String> = versions.iter().map(u8::to_string).collect();
        format!(
            "sections of versions {}: `sframe_version` in the definition demands one",
            versions.join(" and ")
        )
    });
    std::iter::once(all).chain(mixed).chain(partly).chain(nothing_compared(toolchain))
}

/// Why nothing was compared, if nothing was.
pub(crate) fn nothing_compared(toolchain: &ToolchainResult) -> Option<String> {
    if toolchain.cases.iter().any(|case| case.comparisons > 0) {
        return None;
    }
    let refused = refusals(toolchain);
    let reason = refused.first().map(|(reason, ids, _)| format!("{} refused by {reason}", were(ids.len())));
    let Counts { built, no_section, .. } = toolchain.totals();
    let without_section = match (built, no_section) {
        (0, 0) => Some("without a build, nothing is compared with a reference".to_owned()),
        (0, 1) => Some(format!("the only build has no section: {ASKS_FOR_SECTIONS}")),
        (0, count) => Some(format!("none of {} has a section: {ASKS_FOR_SECTIONS}", counted(count, "build"))),
        _ => None,
    };
    let reasons: Vec<String> = reason.into_iter().chain(without_section).collect();
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
    Some(format!("nothing was compared{why}"))
}

/// Builds as the subject of a sentence.
fn were(count: usize) -> String {
    let was = if count == 1 { "was" } else { "were" };
    format!("{} {was}", counted(count as u64, "build"))
}

fn show(text: &mut Text, toolchain: &ToolchainResult, volume: Volume) {
    let is_full = volume == Volume::Verbose;
    let [places, reasons] = if is_full { [usize::MAX; 2] } else { [PLACES, REASONS] };
    let standing = |standing: Standing| toolchain.cases.iter().filter(move |case| case.standing == standing);
    for cause in causes(toolchain.cases.iter()) {
        let KindDetail { blame, confidence, message, .. } = cause.detail;
        let _ = writeln!(text, "worse       {}", cause.line());
        let _ = writeln!(text, "    {}; likely cause: {blame} (confidence {confidence})", message);
        for line in cause.pages().into_iter().chain(cause.places(places)).chain(cause.consequences()) {
            let _ = writeln!(text, "    {line}");
        }
        if let Some(command) = cause.reproduce {
            let _ = writeln!(text, "    help: {command}");
        }
    }
    if let Some(links) = &toolchain.links {
        text.append(&links.text(volume));
    }
    by_reason(text, "lost", standing(Standing::Lost), reasons);
    if volume == Volume::Quiet {
        return;
    }
    let better = groups(toolchain.cases.iter(), |case| &case.better);
    for ((spec, abi, kind), group) in &better {
        let variants: Vec<&str> = group.variants.keys().copied().collect();
        let _ = writeln!(
            text,
            "better      {spec} ({abi}): without the reference's {kind}: {}",
            variants.join(", ")
        );
    }
    by_reason(text, "broken", standing(Standing::Broken), reasons);
    by_reason(text, "no reference", standing(Standing::NoReference), reasons);
    show_refusals(text, toolchain);
    if !is_full {
        return;
    }
    show_not_judged(text, toolchain);
    let _ = writeln!(text, "{}: {}", toolchain.name, toolchain.summary.trim());
    let _ = writeln!(text, "{}; {}", versions(toolchain), references(toolchain));
    for (abi, tools) in &toolchain.tools {
        let _ = writeln!(text, "    {abi}: {}; {}", tools.compiler, tools.binutils);
    }
    let names: String = COLUMNS.iter().map(|(name, _)| format!("  {name}")).collect();
    let _ = writeln!(text, "{:<12}{names}", "builds");
    let totals = toolchain.totals();
    let all = (toolchain.abis.len() > 1).then_some(("all", &totals));
    for (abi, counts) in toolchain.abis.iter().map(|(abi, counts)| (abi.name(), counts)).chain(all) {
        let number = |(name, count): &Column| format!("  {:>width$}", count(counts), width = name.len());
        let numbers: String = COLUMNS.iter().map(number).collect();
        let _ = writeln!(text, "{abi:<12}{numbers}");
    }
    let _ = writeln!(text, "{}", evidence(toolchain));
}

/// Lists cases by their reasons, at most so many of these.
fn by_reason<'c>(text: &mut Text, what: &str, cases: impl Iterator<Item = &'c Comparison>, reasons: usize) {
    let mut groups: BTreeMap<String, (Vec<&str>, Option<&str>)> = BTreeMap::new();
    for case in cases {
        let group = groups.entry(case.reason.clone().unwrap_or_default()).or_default();
        group.0.push(&case.id);
        group.1 = group.1.or(case.reproduce.as_deref());
    }
    for (index, (reason, (ids, command))) in groups.iter().enumerate() {
        if index == reasons {
            let _ = writeln!(text, "{what:<11} and {} more reasons (--verbose)", groups.len() - reasons);
            break;
        }
        let _ = writeln!(text, "{what:<11} {}: {}", reason, some_of(ids));
        if let Some(command) = command {
            let _ = writeln!(text, "    help: {command}");
        }
    }
}

/// Describes how much was compared.
pub(super) fn evidence(toolchain: &ToolchainResult) -> String {
    let sum = |of: fn(&Comparison) -> u64| toolchain.cases.iter().map(of).sum::<u64>();
    format!(
        "{}, {} compared; {} of {} exercised, with references {} of {}",
        counted(toolchain.cases.len() as u64, "case"),
        counted(sum(|case| case.comparisons), "instruction"),
        grouped(sum(|case| case.rows_exercised)),
        counted(sum(|case| case.rows_total), "row"),
        grouped(sum(|case| case.reference_rows_exercised)),
        grouped(sum(|case| case.reference_rows_total)),
    )
}

/// Groups refusals with the same reason, by step and the tools' messages.
pub(super) fn refusals(toolchain: &ToolchainResult) -> Vec<(String, Vec<&str>, &Refusal)> {
    let mut groups: BTreeMap<String, (Vec<&str>, &Refusal)> = BTreeMap::new();
    for build in &toolchain.builds {
        if let Some(refusal) = &build.refusal {
            let step = refusal.step.split(' ').next().unwrap_or_default();
            let reason = format!("{step}: {}", reason(refusal));
            groups.entry(reason).or_insert_with(|| (Vec::new(), refusal)).0.push(&build.id);
        }
    }
    let mut groups: Vec<_> =
        groups.into_iter().map(|(reason, (ids, refusal))| (reason, ids, refusal)).collect();
    groups.sort_by_key(|(_, ids, _)| std::cmp::Reverse(ids.len()));
    groups
}

/// A tool's message in one line: its first error without the file's name.
fn reason(refusal: &Refusal) -> String {
    let lines = || refusal.said.lines().map(str::trim).filter(|line| !line.is_empty());
    // Skip lines that only locate an error, or say that another program has failed.
    let telling = || lines().filter(|line| !line.ends_with(':') && !line.starts_with("collect2:"));
    let is_error = |line: &&str| {
        let line = line.to_lowercase();
        ["error", "undefined", "fatal", "truncated"].iter().any(|mark| line.contains(mark))
    };
    let line = telling().find(is_error).or_else(|| telling().next()).or_else(|| lines().next());
    let line = line.unwrap_or_default();
    let places = [": Error: ", ": error: ", ": fatal error: ", " error: ", "): "];
    let line = places.iter().find_map(|place| Some(line.split_once(place)?.1)).unwrap_or(line);
    let line: String = line.chars().take(200).collect();
    if line.is_empty() { refusal.ended.clone() } else { format!("{line} ({})", refusal.ended) }
}

fn show_refusals(text: &mut Text, toolchain: &ToolchainResult) {
    for (reason, ids, refusal) in refusals(toolchain) {
        let _ = writeln!(text, "refused     {}: {}", reason, some_of(&ids));
        if let Some(command) = &refusal.command {
            let command: String = command.chars().take(600).collect();
            let _ = writeln!(text, "    {}", command);
        }
    }
    let none: Vec<&str> = toolchain
        .builds
        .iter()
        .filter(|build| build.result == super::MadeAs::NoSection)
        .map(|build| build.id.as_str())
        .collect();
    if !none.is_empty() {
        let _ = writeln!(text, "no section  {}", some_of(&none));
    }
}

/// What can't be judged, grouped by subject.
pub(super) fn not_judged(toolchain: &ToolchainResult) -> BTreeMap<&str, Vec<&str>> {
    let mut notes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in &toolchain.cases {
        for note in &case.not_checked {
            notes.entry(note).or_default().push(&case.id);
        }
    }
    notes
}

fn show_not_judged(text: &mut Text, toolchain: &ToolchainResult) {
    let notes = not_judged(toolchain);
    for (note, ids) in notes {
        let _ = writeln!(text, "not checked {}: {}", note, some_of(&ids));
    }
}

/// The first of some ids, and the number of all.
pub(super) fn some_of(ids: &[&str]) -> String {
    first_of(ids, IDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_the_first_error_that_the_tool_printed() {
        let reason = |said: &str| {
            let (step, ended) = ("link".to_owned(), "exit status: 1".to_owned());
            reason(&Refusal { step, ended, command: None, said: said.to_owned() })
        };
        for (said, expected) in [
            ("x.c: In function 'f':\nx.c:1:2: error: no\n  1 | int", "no (exit status: 1)"),
            (
                "/usr/bin/ld: /tmp/x.o: in function `f':\n/tmp/x.o:(.sframe+0x1c): relocation truncated to fit\n\
                 collect2: error: ld returned 1 exit status",
                "relocation truncated to fit (exit status: 1)",
            ),
            ("collect2: error: ld returned 1", "ld returned 1 (exit status: 1)"),
            ("no", "no (exit status: 1)"),
            ("", "exit status: 1"),
        ] {
            assert_eq!(reason(said), expected);
        }
    }
}
