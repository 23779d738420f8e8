//! `report.html`: one self-contained file to read in a browser.
//!
//! It carries two JSON documents, deflated: the data of the overview, and the
//! listings, which are unpacked when the first one is opened. All text of the
//! files under test is in these documents; the page's script turns it into text
//! nodes.

mod explore;
mod files;
mod links;
pub(crate) mod plain;
mod tables;

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use explore::{FunctionView, Proof, html_of_exploration};
use files::html_of_files;
use links::html_of_links;
pub(crate) use links::links_in_html;
use plain::STYLE;
use serde::Serialize;
use sframe_corpus::spec::Fault;
use sframe_engine::Abi;
use sframe_judge::examine::WalkEnds;
use sframe_judge::examine::coverage::Explored;
use sframe_judge::examine::excluded::Exclusion;
use sframe_judge::examine::listings::{Listings, MOST_INSTRUCTIONS};
use sframe_judge::explore::Certainty;
use sframe_judge::finding::{self, Address, Blame, Confidence, Finding, Group, Witness, groups};
use sframe_judge::vocabulary::Verdict;
use sframe_kit::json;

pub use tables::html_of_tables;

use super::format::{Document, Format, Written};
use super::no_result::NoResult;
use super::summary::command_for;
use super::{
    CheckReport, CheckSummary, ExploreSummary, Report, ReportSummary, file_name, fingerprint, omission,
};
use crate::case::{CaseReport, Outcome, SeenKnown};
use crate::meanings::meanings;
use crate::provenance::Provenance;

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");

/// The most rows with findings shown for one case of several. A check has only
/// one case, which may have as many as are shown in full.
const OF_A_CASE: usize = 64;

/// The most rows, over all cases, that are shown with instructions, witnesses
/// and stack, the first of each case before others. `IN_ALL` limits the rows
/// in total.
const IN_FULL: usize = 3000;
const IN_ALL: usize = 30_000;

/// The data of the overview.
#[derive(Serialize)]
struct Index<'r> {
    #[serde(flatten)]
    head: Head<'r>,
    /// All possible outcomes of a case, and verdicts of a finding.
    outcomes: &'static [Outcome],
    verdicts: Vec<Verdict>,
    meanings: Meanings,
    cases: Vec<CaseView<'r>>,
    findings: Vec<FindingView<'r>>,
    /// The pages of the faults that findings come from, by name.
    faults: &'r BTreeMap<String, Fault>,
    /// The lines of the sources of their examples, by fault and file: a text of the page is one line.
    sources: BTreeMap<&'r str, BTreeMap<&'r str, Vec<String>>>,
    /// Of an explored file: the functions with rows that don't agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    functions: Vec<FunctionView<'r>>,
    /// The number of functions that are not listed, in all cases.
    functions_left_out: usize,
    /// The most different instructions that are listed.
    room: usize,
}

/// What the whole report says.
#[derive(Serialize)]
struct Head<'r> {
    summary: Summary<'r>,
    /// What was judged and how it came out, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<String>,
    /// What is worse than in the baseline, by case, which may be there no more.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    worse: BTreeMap<&'r str, &'r [String]>,
    /// What it is called.
    baseline: &'r str,
    worse_words: String,
    /// Where the report comes from.
    provenance: Option<&'r Provenance>,
}

/// What names on the page mean, by name.
#[derive(Serialize)]
struct Meanings {
    outcome: BTreeMap<String, String>,
    verdict: BTreeMap<String, String>,
    blame: BTreeMap<String, String>,
    confidence: BTreeMap<String, String>,
    certainty: BTreeMap<String, String>,
    witness: BTreeMap<String, String>,
    end: BTreeMap<String, String>,
}

impl Meanings {
    fn all() -> Self {
        Self {
            outcome: meanings::<Outcome>(),
            verdict: meanings::<Verdict>(),
            blame: meanings::<Blame>(),
            confidence: meanings::<Confidence>(),
            certainty: meanings::<Certainty>(),
            witness: meanings::<Witness>(),
            end: meanings::<WalkEnds>(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Summary<'r> {
    Run(&'r ReportSummary),
    Check(&'r CheckSummary),
    Explore(&'r ExploreSummary),
}

/// A case as the page needs it. Its fields are what the script reads.
#[derive(Serialize)]
struct CaseView<'r> {
    id: &'r str,
    program: &'r str,
    abi: Abi,
    toolchain: &'r str,
    variant: &'r str,
    version: u8,
    build: &'r str,
    /// The build's name in fingerprints.
    #[serde(skip)]
    known_as: &'r str,
    outcome: Outcome,
    /// Whether it fails as in the baseline.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    as_in_baseline: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'r, str>>,
    instructions: u64,
    comparisons: u64,
    agree: u64,
    frames: u64,
    frames_derived: u64,
    stops: u64,
    /// How its walks ended; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends: Option<WalkEnds>,
    depth: usize,
    signals: u64,
    /// All rows, those exercised, and those exercised as a caller's.
    rows: [u64; 3],
    /// Number of unexplained findings; of an exploration, of those that are proved.
    unexplained: u64,
    /// Number of findings of the report, known or not, whether or not they are on the page.
    count: u64,
    /// The report's note on findings that it omits.
    #[serde(skip_serializing_if = "Option::is_none")]
    omission: Option<String>,
    /// Which FDEs are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_fde: Option<&'r str>,
    /// What its outcome is called, if there is no result, or one that proves nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    without_result: Option<NoResult>,
    /// The report's note that only a sample was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<String>,
    /// Function, start of the row, and why it is not exercised.
    unreached: Vec<(&'r str, Address, &'r str, Option<String>)>,
    /// The number of others, which agree when they are explored.
    #[serde(skip_serializing_if = "sframe_kit::json::is_zero")]
    unreached_agree: u64,
    /// Functions without an FDE, and how many instructions.
    uncovered: Vec<(&'r str, u64)>,
    /// The command that reproduces it.
    command: String,
    /// Where the sections come from, if not all are the files' own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sections: Vec<String>,
    /// Comparisons that say nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    excluded: Vec<String>,
    /// How the program ended, and which system calls it was refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    program_did: Vec<String>,
}

#[derive(Serialize)]
struct FindingView<'r> {
    case: usize,
    /// Stays the same for the same mistake in other runs.
    id: String,
    /// Why it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<&'r str>,
    /// The fault that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<&'r str>,
    /// How many findings it stands for, if not one.
    #[serde(skip_serializing_if = "is_one")]
    stands_for: u64,
    /// Whose word it is what was found, and what was expected.
    sides: [&'static str; 2],
    /// Whether instructions, witnesses and stack are left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    brief: bool,
    /// How sure it is, if the file was explored.
    #[serde(flatten)]
    proof: Option<Proof<'r>>,
    #[serde(flatten)]
    finding: Finding,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_one(number: &u64) -> bool {
    *number == 1
}

/// A row with findings of a case, and what is known about them.
struct FindingEntry<'r> {
    case: usize,
    rank: usize,
    /// How many findings it stands for: of what is known, all that an entry explains.
    findings: u64,
    places: u64,
    hits: u64,
    known: Option<&'r SeenKnown>,
    proof: Option<Proof<'r>>,
    finding: &'r Finding,
}

pub(super) const FORMAT: Format = Format { files: &["report.html"], write };

fn write(document: &Document<'_>) -> Option<Written> {
    let page = match *document {
        Document::Run { report, listings, .. } => html(report, listings),
        Document::Check { report, listings } => html_of_check(report, listings),
        Document::Explore { report } => html_of_exploration(report),
        Document::Files { files } => Ok(html_of_files(files)),
        Document::Links { table } => Ok(html_of_links(table)),
        Document::Samples { report } => Ok(html_of_tables("samples", &report.conclusion(), &report.tables())),
        Document::Matrix { .. } => return None,
    };
    Some(("report.html", page.map_err(Into::into)))
}

/// Renders the page of a run.
///
/// # Errors
/// The data can't be written as JSON.
pub fn html(report: &Report, listings: &Listings) -> Result<String, serde_json::Error> {
    let view = |case| CaseView { as_in_baseline: report.is_as_in_baseline(case), ..CaseView::of(case) };
    let cases = report.cases.iter().map(view).collect();
    let mut shown = Vec::new();
    for (case, report) in report.cases.iter().enumerate() {
        show(&mut shown, case, &report.findings, OF_A_CASE);
        show_known(&mut shown, case, &report.known);
    }
    page(
        Head {
            summary: Summary::Run(&report.summary),
            conclusion: Some(report.conclusion().sentence()),
            worse: report.worse().collect(),
            baseline: report.baseline_name(),
            worse_words: report.worse_words(),
            provenance: report.provenance.as_ref(),
        },
        &report.faults,
        cases,
        shown,
        Vec::new(),
        listings,
    )
}

/// Renders the page of a check.
///
/// # Errors
/// The data can't be written as JSON.
pub fn html_of_check(report: &CheckReport, listings: &Listings) -> Result<String, serde_json::Error> {
    let mut shown = Vec::new();
    show(&mut shown, 0, &report.findings, IN_FULL);
    show_known(&mut shown, 0, &report.known);
    let cases = vec![CaseView::of_check(report)];
    page(
        Head {
            summary: Summary::Check(&report.summary),
            conclusion: Some(report.conclusion().sentence()),
            worse: BTreeMap::new(),
            baseline: "baseline",
            worse_words: String::new(),
            provenance: report.provenance.as_ref(),
        },
        &report.faults,
        cases,
        shown,
        Vec::new(),
        listings,
    )
}

fn show<'r>(shown: &mut Vec<FindingEntry<'r>>, case: usize, findings: &'r [Finding], most: usize) {
    let groups = groups(findings).into_iter().enumerate().take(most);
    shown.extend(groups.map(|(rank, group)| {
        let Group { places, hits, .. } = group;
        FindingEntry { case, rank, findings: 1, places, hits, known: None, proof: None, finding: group.first }
    }));
}

fn show_known<'r>(shown: &mut Vec<FindingEntry<'r>>, case: usize, known: &'r [SeenKnown]) {
    shown.extend(SeenKnown::accepted(known).enumerate().map(|(rank, seen)| {
        let (finding, known) = (&seen.finding, Some(seen));
        let (places, hits) = (seen.places, finding.hits);
        FindingEntry { case, rank, findings: seen.findings, places, hits, known, proof: None, finding }
    }));
}

fn page<'r>(
    head: Head<'r>,
    faults: &'r BTreeMap<String, Fault>,
    cases: Vec<CaseView<'r>>,
    mut shown: Vec<FindingEntry<'r>>,
    functions: Vec<FunctionView<'r>>,
    listings: &Listings,
) -> Result<String, serde_json::Error> {
    // What nobody has explained comes first.
    shown.sort_by_key(|shown| (shown.known.is_some(), shown.finding.fault.is_some(), shown.rank, shown.case));
    shown.truncate(IN_ALL);
    let mut ids = std::collections::HashMap::new();
    let views = shown.iter().enumerate().map(|(index, shown)| {
        let id = fingerprint(cases.get(shown.case).map_or("", |case| case.known_as), shown.finding);
        let seen = ids.entry((shown.case, id.clone())).or_insert(0);
        *seen += 1;
        // Several of a case with one fingerprint are distinguished by their order.
        let id = if *seen == 1 { id } else { format!("{id}-{seen}") };
        let brief = index >= IN_FULL;
        let mut finding = shown.finding.clone();
        (finding.hits, finding.places) = (shown.hits, shown.places);
        if brief {
            (finding.evidence, finding.listing, finding.stack) = (Vec::new(), Vec::new(), None);
        }
        let known = shown.known.map(|seen| seen.reason.as_str());
        finding.fault = None;
        let own = shown.finding.fault.as_ref().map(|fault| fault.name.as_str());
        let fault = shown.known.and_then(|seen| seen.fault.as_deref()).or(own);
        let stands_for = shown.findings;
        FindingView {
            case: shown.case,
            id,
            known,
            fault,
            stands_for,
            sides: sides(&finding),
            brief,
            proof: shown.proof.clone(),
            finding,
        }
    });
    let findings = views.collect();
    let pool = listings.pool();
    let index = Index {
        head,
        faults,
        sources: faults.iter().map(|(name, fault)| (name.as_str(), sources(fault))).collect(),
        outcomes: &Outcome::ALL,
        verdicts: verdicts_of_findings(),
        meanings: Meanings::all(),
        cases,
        findings,
        functions,
        functions_left_out: pool.left_out(),
        room: MOST_INSTRUCTIONS,
    };
    let (index, code) = (packed(&index)?, packed(pool)?);
    let policy = plain::policy_of(SCRIPT);
    // In this order, no text contains a marker that is replaced after it.
    Ok(PAGE
        .replacen("{{policy}}", &policy, 1)
        .replacen("{{style}}", STYLE, 1)
        .replacen("{{script}}", SCRIPT, 1)
        .replacen("{{index}}", &index, 1)
        .replacen("{{code}}", &code, 1))
}

/// Whose word it is what was found, and what was expected: a spec or a list expects what is about no frame.
fn sides(finding: &Finding) -> [&'static str; 2] {
    if finding.pc.is_none() || finding.verdict == Verdict::ChangedFailure {
        ["found", "expected"]
    } else {
        ["unwinder", "call stack"]
    }
}

/// The sources of a fault's example, in lines.
fn sources(fault: &Fault) -> BTreeMap<&str, Vec<String>> {
    let lines = |text: &str| text.lines().map(|line| line.replace('\t', "        ")).collect();
    fault.example.sources.iter().map(|(file, text)| (file.as_str(), lines(text))).collect()
}

/// The verdicts that a finding may have.
pub(super) fn verdicts_of_findings() -> Vec<Verdict> {
    let is_finding = |verdict: &Verdict| !matches!(verdict, Verdict::Agree | Verdict::Broken);
    Verdict::ALL.iter().copied().filter(is_finding).collect()
}

/// Packs a document as JSON, deflated (RFC 1950), in base64.
fn packed(document: &impl Serialize) -> Result<String, serde_json::Error> {
    let json = json::for_page(document)?;
    Ok(STANDARD.encode(miniz_oxide::deflate::compress_to_vec_zlib(json.as_bytes(), 9)))
}

impl<'r> CaseView<'r> {
    fn of(case: &'r CaseReport) -> Self {
        let known = SeenKnown::count(&case.known);
        let reason = |row: &'r sframe_judge::UnexercisedRow| row.reason.as_deref().unwrap_or_default();
        Self {
            id: &case.id,
            program: &case.program,
            abi: case.abi,
            toolchain: &case.toolchain,
            variant: &case.variant,
            version: case.sframe_version,
            build: &case.build,
            known_as: &case.build,
            outcome: case.outcome,
            as_in_baseline: false,
            reason: case.reason.as_deref().map(Cow::Borrowed),
            instructions: case.counts.instructions,
            comparisons: case.counts.comparisons,
            agree: case.agree,
            frames: case.counts.frames,
            frames_derived: case.counts.frames_derived,
            stops: case.stops,
            ends: (case.counts.comparisons > 0).then_some(case.counts.walk_ends),
            depth: case.max_depth,
            signals: case.signals.delivered,
            rows: [case.rows.total, case.rows.exercised, case.rows.exercised_as_caller],
            unexplained: finding::count(&case.findings) + case.findings_omitted.values().sum::<u64>(),
            count: finding::count(&case.findings) + known,
            omission: omission(&case.findings_omitted),
            missing_fde: None,
            without_result: None,
            sample: None,
            unreached: case
                .unreached
                .iter()
                .map(|row| (row.function.as_str(), row.row.start, reason(row), row.explored_text()))
                .collect(),
            unreached_agree: 0,
            uncovered: case.uncovered.iter().map(|(name, count)| (name.as_str(), *count)).collect(),
            excluded: case.excluded.iter().map(Exclusion::line).collect(),
            command: command_for(case),
            sections: Vec::new(),
            program_did: Vec::new(),
        }
    }

    fn of_check(report: &'r CheckReport) -> Self {
        let summary = &report.summary;
        let counts = summary.counts;
        Self {
            reason: report.reason().map(Cow::Owned),
            instructions: counts.instructions,
            comparisons: counts.comparisons,
            agree: summary.agree,
            frames: counts.frames,
            frames_derived: counts.frames_derived,
            ends: (counts.comparisons > 0).then_some(counts.walk_ends),
            depth: summary.max_depth,
            rows: [summary.rows.total, summary.rows.exercised, summary.rows.exercised_as_caller],
            unexplained: summary.verdicts.values().sum(),
            count: finding::count(&report.findings) + SeenKnown::count(&report.known),
            omission: omission(&report.findings_omitted),
            missing_fde: report.missing_line(),
            without_result: report.without_result(),
            sample: report.sample(),
            unreached_agree: summary.rows_explored.agree,
            unreached: report
                .unexercised
                .iter()
                .filter(|row| row.explored != Some(Explored::Agrees))
                .map(|row| (row.function.as_str(), row.row.start, "", row.explored_text()))
                .collect(),
            uncovered: summary.uncovered.iter().map(|(name, count)| (name.as_str(), *count)).collect(),
            excluded: report.excluded.iter().map(Exclusion::line).collect(),
            command: report.command(),
            sections: report.sections(),
            program_did: report.program(),
            ..Self::of_file(&report.file, report.abi, report.sframe_version, report.outcome())
        }
    }

    /// That of a file alone, of which nothing else is known.
    fn of_file(file: &'r str, abi: Abi, version: u8, outcome: Outcome) -> Self {
        Self {
            id: file,
            program: file,
            abi,
            toolchain: "",
            variant: "",
            version,
            build: file,
            known_as: file_name(file),
            outcome,
            as_in_baseline: false,
            reason: None,
            instructions: 0,
            comparisons: 0,
            agree: 0,
            frames: 0,
            frames_derived: 0,
            stops: 0,
            ends: None,
            depth: 0,
            signals: 0,
            rows: [0; 3],
            unexplained: 0,
            count: 0,
            omission: None,
            missing_fde: None,
            without_result: None,
            sample: None,
            unreached: Vec::new(),
            unreached_agree: 0,
            uncovered: Vec::new(),
            excluded: Vec::new(),
            command: String::new(),
            sections: Vec::new(),
            program_did: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(value: impl Serialize) -> String {
        serde_json::to_value(value).expect("JSON").as_str().expect("a name").to_owned()
    }

    #[test]
    fn the_page_has_a_colour_for_each_verdict_and_a_sign_for_each_outcome() {
        let (_, colours) = SCRIPT.split_once("const COLOURS = [").expect("colours");
        let colours = colours.split(']').next().unwrap_or_default().matches('#').count();
        assert!(colours >= verdicts_of_findings().len(), "{colours} colours");
        for outcome in Outcome::ALL.map(name) {
            assert!(STYLE.contains(&format!("--{outcome}:")), "{outcome} has no colour");
            assert!(SCRIPT.contains(&format!(" {outcome}: \"")), "{outcome} has no sign");
        }
    }

    /// The script must not have copies of these lists: they would be forgotten.
    #[test]
    fn the_page_names_no_verdict_by_itself() {
        for verdict in verdicts_of_findings().into_iter().map(name) {
            assert!(!SCRIPT.contains(&format!("\"{verdict}\"")), "{verdict}");
        }
        let index = Index {
            head: Head {
                summary: Summary::Run(&ReportSummary::default()),
                conclusion: None,
                worse: BTreeMap::new(),
                baseline: "baseline",
                worse_words: String::new(),
                provenance: None,
            },
            faults: &BTreeMap::new(),
            sources: BTreeMap::new(),
            outcomes: &Outcome::ALL,
            verdicts: verdicts_of_findings(),
            meanings: Meanings::all(),
            cases: Vec::new(),
            findings: Vec::new(),
            functions: Vec::new(),
            functions_left_out: 0,
            room: 0,
        };
        let index = serde_json::to_value(index).expect("JSON");
        for verdict in ["crashed", "timed-out", "bad-answer", "by-luck", "wrong-cfa"] {
            assert!(index["verdicts"].as_array().is_some_and(|all| all.iter().any(|name| name == verdict)));
        }
    }
}
