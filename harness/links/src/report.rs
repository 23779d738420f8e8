//! What a linker, or several, have done with all cases.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::Abi;
use sframe_inspect::command::Volume;
use sframe_kit::conclusion::{Concluded, Conclusion, Ending};
use sframe_kit::text::{Text, counted, grouped};

use crate::judge::{LinkFault, LinkFinding};
use crate::known::KnownLink;
use crate::page::{LinkPage, LinkPages};
use crate::result::{LinkOutcome, LinkResult, Tried};
use crate::tools::Subject;
use crate::unable::Unable;

/// The version of the document format. In version 1, the outcome `unsupported` was `not-judged`.
const SCHEMA: u32 = 2;

/// `links --json`: what one linker, or set of rewriters, has done.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct LinksReport {
    /// Version of this document's format.
    pub schema: u32,
    /// Its name.
    pub linker: String,
    /// What it is.
    pub summary: String,
    /// The first lines of what the tools that ran say of their versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// Each case with each ABI.
    pub results: Vec<LinkResult>,
    /// Cases with kinds of findings and ABIs in its list of what is known that were not found, each with the cause.
    pub stale: Vec<String>,
    /// What is known of the linker that it is compared with, and was judged here and not found, each with the cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub better: Vec<String>,
    /// Why what was judged proves too little, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_little: Option<String>,
    /// How many cases with ABIs are left, since it was interrupted.
    #[serde(default, skip_serializing_if = "sframe_kit::json::is_zero")]
    pub left: u64,
}

impl LinksReport {
    /// Makes the report of a subject. `is_whole` says that all cases were tried, so that what is known has to be found.
    #[must_use]
    pub fn new(subject: &Subject, Tried { results, left }: Tried, is_whole: bool) -> Self {
        let is_whole = is_whole && left == 0;
        let mut stale = KnownLink::unfound(&subject.known, &results, is_whole);
        if is_whole {
            stale.extend(Unable::unfound(&subject.unable, &results));
        }
        let report = Self::of(&subject.name, &subject.summary, results, stale, Vec::new());
        // What a tool is described to be unable to do is no surprise, unless that is all.
        let is_described = subject.is_described && report.has_compared();
        Self { too_little: report.too_little.filter(|_| !is_described), left, ..report }
    }

    /// Makes the report of a linker that is compared with another one, of which something is `known`. What is not found
    /// is better here, and no entry has to go.
    #[must_use]
    pub fn compared(linker: &str, summary: &str, results: Vec<LinkResult>, known: &[KnownLink]) -> Self {
        let better = KnownLink::unfound(known, &results, false);
        Self::of(linker, summary, results, Vec::new(), better)
    }

    fn of(
        linker: &str,
        summary: &str,
        results: Vec<LinkResult>,
        stale: Vec<String>,
        better: Vec<String>,
    ) -> Self {
        let (linker, summary) = (linker.to_owned(), summary.to_owned());
        let too_little = too_little(&results);
        let versions = Vec::new();
        Self { schema: SCHEMA, linker, summary, versions, results, stale, better, too_little, left: 0 }
    }

    fn with(&self, outcome: LinkOutcome) -> impl Iterator<Item = &LinkResult> {
        self.results.iter().filter(move |result| result.outcome == outcome)
    }

    /// Whether anything is wrong that is not known.
    #[must_use]
    pub fn has_wrong(&self) -> bool {
        self.with(LinkOutcome::Wrong).next().is_some()
    }

    /// Whether anything is wrong that is not known, or known and not found.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        self.has_wrong() || !self.stale.is_empty()
    }

    /// What is wrong and not known: the case and the ABI, and what is said of it.
    pub fn open(&self) -> impl Iterator<Item = (String, String)> {
        self.with(LinkOutcome::Wrong).map(|result| {
            let says = result.findings.iter().map(|finding| format!("{}: {}", finding.kind, finding.message));
            (format!("{}/{}", result.case, result.abi), says.collect::<Vec<_>>().join("; "))
        })
    }

    /// What no result shows: why it proves too little, and what is known and not found.
    pub fn without_result(&self) -> impl Iterator<Item = String> {
        let stale = self.stale.iter().map(|why| format!("known, and no longer reproduced: {why}"));
        let left = (self.left > 0).then(|| format!("interrupted: {} left", counted(self.left, "case")));
        left.into_iter().chain(self.too_little.iter().cloned()).chain(stale)
    }

    /// Whether the linker supports any case.
    fn has_compared(&self) -> bool {
        self.results.iter().any(|result| result.outcome != LinkOutcome::Unsupported)
    }

    /// Formats the report for people: what is wrong first, and one sentence about all cases last.
    #[must_use]
    pub fn text(&self, volume: Volume) -> Text {
        let mut text = Text::default();
        let mut causes = causes(self.with(LinkOutcome::Wrong));
        // What is wrong in most cases for the same reason comes first.
        if let Some((cause, found)) = causes.remove_entry(&OF_VERSION) {
            write_cause(&cause, &found, volume, &mut text);
            if let Some(version) = found.iter().find_map(|(result, _)| result.output_version) {
                text.line(format!(
                    "    help: it writes sections of version {version}: `--sframe-version {version}` gives it such objects"
                ));
            }
        }
        for (cause, found) in causes {
            write_cause(&cause, &found, volume, &mut text);
        }
        for why in &self.stale {
            text.line(format!("fixed          no longer reproduced, remove it from what is known: {why}"));
        }
        if volume == Volume::Quiet {
            return text;
        }
        for why in &self.better {
            text.line(format!("better         known of the reference's linker, and not so here: {why}"));
        }
        for (why, cases) in self.causes() {
            text.line(format!("known          {}: {why}", counted(cases, "case")));
        }
        if volume == Volume::Verbose {
            let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for result in self.with(LinkOutcome::Unsupported) {
                reasons.entry(result.reason.as_deref().unwrap_or_default()).or_default().insert(&result.case);
            }
            for (reason, cases) in reasons {
                let cases = cases.into_iter().collect::<Vec<_>>().join(", ");
                text.line(format!("unsupported    {cases}: {reason}"));
            }
        }
        self.conclusion().show(&mut text);
        text
    }

    /// The causes of what is known, with the number of cases.
    fn causes(&self) -> Vec<(&str, u64)> {
        let mut causes: Vec<(&str, u64)> = Vec::new();
        for why in self.results.iter().flat_map(|result| &result.known) {
            match causes.iter_mut().find(|(other, _)| other == why) {
                Some((_, count)) => *count += 1,
                None => causes.push((why, 1)),
            }
        }
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        causes
    }

    /// What came out.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let count = |outcome| self.with(outcome).count() as u64;
        let all = counted(self.results.len() as u64, "case");
        let ending = match () {
            () if self.left > 0 => Ending::Interrupted,
            () if self.has_wrong() || !self.stale.is_empty() => Ending::Fail,
            () if self.too_little.is_some() || !self.has_compared() => Ending::Inconclusive,
            () => Ending::Pass,
        };
        let linker = &self.linker;
        if !self.has_compared() {
            let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
            for reason in self.results.iter().filter_map(|result| result.reason.as_deref()) {
                *reasons.entry(reason).or_default() += 1;
            }
            let reason = reasons.into_iter().max_by_key(|(_, count)| *count);
            let none = format!("{linker}: none of {all} could be checked");
            let facts = self
                .left_words()
                .into_iter()
                .chain([none])
                .chain(reason.map(|(reason, _)| format!("reason: {reason}")));
            return Conclusion { ending, facts: facts.chain(self.ran()).collect() };
        }
        let [correct, known, wrong, unsupported] =
            [LinkOutcome::Right, LinkOutcome::Known, LinkOutcome::Wrong, LinkOutcome::Unsupported].map(count);
        let (first, rest) = match wrong {
            0 => (format!("{linker}: {} of {all} correct", grouped(correct)), 0),
            wrong => (format!("{linker}: {} of {all} wrong", grouped(wrong)), correct),
        };
        let others = [
            (rest, "correct"),
            (known, if known == 1 { "known failure" } else { "known failures" }),
            (unsupported, "unsupported, with or without .sframe"),
            (self.stale.len() as u64, "known, and no longer reproduced"),
        ];
        let others = others.into_iter().filter(|(count, _)| *count > 0);
        let others = others.map(|(count, what)| format!("{} {what}", grouped(count)));
        let facts = self
            .left_words()
            .into_iter()
            .chain([first])
            .chain(others)
            .chain(self.too_little.clone())
            .chain(self.ran());
        Conclusion { ending, facts: facts.collect() }
    }

    /// How far it came, if it was interrupted.
    fn left_words(&self) -> Option<String> {
        let (tried, left) = (self.results.len() as u64, self.left);
        (left > 0).then(|| format!("{} of {} were tried", grouped(tried), counted(tried + left, "case")))
    }

    /// The versions of what ran.
    fn ran(&self) -> Option<String> {
        (!self.versions.is_empty()).then(|| format!("ran: {}", self.versions.join("; ")))
    }
}

/// Why what was judged proves too little: nothing, or less than half of the cases. Who fails with and without `.sframe`
/// may fail for any reason.
fn too_little(results: &[LinkResult]) -> Option<String> {
    let judged = results.iter().filter(|result| result.outcome != LinkOutcome::Unsupported).count();
    match judged {
        0 => Some("nothing was checked".to_owned()),
        judged if judged < results.len() - judged => {
            Some(format!("too little was checked: {judged} of {}", counted(results.len() as u64, "case")))
        }
        _ => None,
    }
}

/// A finding, and the result that has it.
type Found<'r> = (&'r LinkResult, &'r LinkFinding);

/// A kind of finding, a case, and the rule of the linter.
type Cause<'r> = (LinkFault, &'r str, &'r str);

/// The version of the section is the linker's, and not that of the objects, whatever the case.
const OF_VERSION: Cause<'static> = (LinkFault::WrongHeader, "", "");

/// Whether a finding is that the linker writes a version of its own.
fn is_of_version(result: &LinkResult, finding: &LinkFinding) -> bool {
    let own = result.output_version.filter(|own| *own != result.sframe_version);
    finding.kind == LinkFault::WrongHeader
        && own.is_some_and(|own| finding.message.starts_with(&format!("the version is {own},")))
}

/// Findings of no known cause: by kind, by the linter's rule, and by case unless the whole section is lost, or has the
/// linker's version. Those of several ABIs are one.
fn causes<'r>(results: impl Iterator<Item = &'r LinkResult>) -> BTreeMap<Cause<'r>, Vec<Found<'r>>> {
    let mut causes: BTreeMap<Cause<'_>, Vec<Found<'_>>> = BTreeMap::new();
    for result in results {
        for finding in result.findings.iter().filter(|finding| finding.known.is_none()) {
            let is_of_all = finding.kind.is_total() || is_of_version(result, finding);
            let case = if is_of_all { "" } else { &*result.case };
            let rule = finding.rule.as_deref().unwrap_or_default();
            causes.entry((finding.kind, case, rule)).or_default().push((result, finding));
        }
    }
    causes
}

/// A cause in a line, and the commands that show it.
fn write_cause((kind, ..): &Cause<'_>, found: &[Found<'_>], volume: Volume, text: &mut Text) {
    let Some((result, finding)) = found.first() else { return };
    let cases: BTreeSet<&str> = found.iter().map(|(result, _)| result.case.as_str()).collect();
    let more = match cases.len() {
        1 => String::new(),
        more => format!(" and {}", counted(more as u64 - 1, "more case")),
    };
    let abis = abis(found.iter().map(|(result, _)| result.abi));
    let others = found.iter().skip(1).filter(|(other, _)| std::ptr::eq(*other, *result)).count();
    let others = match others {
        0 => String::new(),
        others => format!("; {others} more there (--json)"),
    };
    text.line(format!("{kind:<14} {}{more} ({abis}): {}{others}", result.case, finding.message));
    for command in &result.commands {
        text.line(format!("    {command}"));
    }
    if volume == Volume::Verbose {
        text.line(format!("    objects: {}", result.objects.join(" ")));
        for line in result.said.lines() {
            text.line(format!("    | {line}"));
        }
        if cases.len() > 1 {
            text.line(format!("    cases: {}", cases.into_iter().collect::<Vec<_>>().join(", ")));
        }
    }
}

fn abis(abis: impl Iterator<Item = Abi>) -> String {
    let all: BTreeSet<Abi> = abis.collect();
    all.into_iter().map(|abi| abi.name()).collect::<Vec<_>>().join(", ")
}

/// `links.md`: cases by linkers.
#[derive(Clone, Debug, Default)]
pub struct LinksTable {
    /// The reports, in the order of columns.
    pub reports: Vec<LinksReport>,
    /// What each case is about, by name.
    pub cases: BTreeMap<String, String>,
    /// The pages of faults.
    pub pages: LinkPages,
}

impl LinksTable {
    /// How the worst of them has ended.
    #[must_use]
    pub fn ending(&self) -> Ending {
        let endings = self.reports.iter().map(|report| report.conclusion().ending);
        endings.max().unwrap_or(Ending::Inconclusive)
    }

    /// The reports, each after its verdict.
    #[must_use]
    pub fn concluded(&self) -> Vec<Concluded<&LinksReport>> {
        let concluded = |document: &'_ LinksReport| document.conclusion().ending;
        self.reports.iter().map(|document| Concluded { verdict: concluded(document), document }).collect()
    }

    /// Writes the page: a table of cases by linkers, and the cause of each failure.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = String::from(
            "# What linkers make of .sframe\n\nWritten by `links`. Each case of corpus/links is tried with each linker, and \
             with what rewrites files, on all ABIs that it has. A cell is empty where the tool has nothing to do with the case, \
             `-` where it can't do what the case needs, with or without .sframe; a number stands for a cause, which is listed \
             below.\n\n",
        );
        let head = self.reports.iter().map(|report| report.linker.as_str()).collect::<Vec<_>>().join(" | ");
        let _ = writeln!(text, "| case | {head} |\n|---|{}", "---|".repeat(self.reports.len()));
        let (rows, causes) = self.rows();
        for (case, cells) in rows {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace("wrong", "**wrong**")).collect();
            let _ = writeln!(text, "| {case} | {} |", cells.join(" | "));
        }
        text.push_str("\n## Linkers\n\n");
        for report in &self.reports {
            let ran = report.ran().map_or_else(String::new, |ran| format!(" ({ran})"));
            let _ = writeln!(text, "- {}: {}{ran}", report.linker, report.summary);
        }
        text.push_str("\n## Causes\n\n");
        for (number, (linker, why)) in causes.iter().enumerate() {
            let _ = writeln!(text, "{}. {linker}: {why}", number + 1);
        }
        text.push_str(
            "\n## Faults\n\nThose with a program that shows them have a page in `specs/faults`.\n\n",
        );
        for page in self.pages.values() {
            let LinkPage { name, component, upstream, summary, .. } = page;
            let _ = writeln!(text, "- **{name}** ({component}; {}): {}", upstream.state, summary.trim());
        }
        text.push_str("\n## Cases\n\n");
        for (case, summary) in &self.cases {
            let _ = writeln!(text, "- **{case}**: {}", summary.trim());
        }
        text
    }

    /// The rows of the table, each a case with a cell for each report; and what the numbers in cells stand for: linkers
    /// and causes.
    #[must_use]
    pub fn rows(&self) -> (Vec<Row<'_>>, Vec<(&str, &str)>) {
        let mut causes: Vec<(&str, &str)> = Vec::new();
        let results = self.reports.iter().flat_map(|report| &report.results);
        let cases: BTreeSet<&str> = results.map(|result| result.case.as_str()).collect();
        let row = |case| (case, self.reports.iter().map(|report| cell(report, case, &mut causes)).collect());
        let rows = cases.into_iter().map(row).collect();
        (rows, causes)
    }
}

/// A case, and what became of it with each linker.
pub type Row<'t> = (&'t str, Vec<String>);

/// A cell of the table: what became of a case with each ABI, said once if it is the same.
fn cell<'r>(report: &'r LinksReport, case: &str, causes: &mut Vec<(&'r str, &'r str)>) -> String {
    let mut words: BTreeMap<String, BTreeSet<Abi>> = BTreeMap::new();
    for result in report.results.iter().filter(|result| result.case == case) {
        let word = match result.outcome {
            LinkOutcome::Right => "right".to_owned(),
            LinkOutcome::Unsupported => "-".to_owned(),
            LinkOutcome::Wrong => "wrong".to_owned(),
            LinkOutcome::Known => {
                let numbers = result.known.iter().map(|why| {
                    let cause = (report.linker.as_str(), why.as_str());
                    let at = causes.iter().position(|other| *other == cause).unwrap_or_else(|| {
                        causes.push(cause);
                        causes.len() - 1
                    });
                    (at + 1).to_string()
                });
                numbers.collect::<Vec<_>>().join(", ")
            }
        };
        words.entry(word).or_default().insert(result.abi);
    }
    if let [(word, _)] = &words.iter().collect::<Vec<_>>()[..] {
        return (*word).clone();
    }
    let parts = words.into_iter().map(|(word, of)| format!("{word} ({})", abis(of.into_iter())));
    parts.collect::<Vec<_>>().join("; ")
}
