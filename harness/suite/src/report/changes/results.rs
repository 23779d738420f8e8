//! What any report says of each case, in the terms in which two reports are compared.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sframe_inspect::text::{first_of, grouped};
use sframe_judge::compare::{ByTopmost, Reliabilities};
use sframe_judge::examine::coverage::ExploredRows;
use sframe_judge::finding::Finding;
use sframe_judge::vocabulary::Verdict;
use sframe_vectors::words::of_json;

use crate::case::{Outcome, SeenKnown};
use crate::provenance::Provenance;
use crate::report::baseline::{key, name};
use crate::report::document::Origin;
use crate::report::{NoResult, Report, RunIdentity, SCHEMA, file_name};
use crate::spec::CfaError;

/// Why a document can't be compared.
#[derive(Debug, thiserror::Error)]
pub enum UnreadReport {
    /// It is no report.
    #[error("this is not a report of `run`, `merge`, `check` or `explore`: {}", of_json(.0))]
    Malformed(#[from] serde_json::Error),
    /// It has neither cases nor a file.
    #[error(
        "this is not a report of `run`, `merge`, `check` or `explore`: it has neither `cases` nor a `file`"
    )]
    Other,
    /// Another version of the bench has written it.
    #[error("the report has format {0}, and this bench reads {SCHEMA}")]
    Schema(u32),
    /// It has a case more than once.
    #[error("the report has the case {0} twice")]
    Twice(String),
}

/// What a report is about, and how that was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportKind {
    /// Cases of the corpus.
    #[default]
    Run,
    /// A program that was run.
    Check,
    /// A file that was explored.
    Explore,
}

impl ReportKind {
    /// Whether it is about one file, and not about cases of the corpus.
    #[must_use]
    pub const fn is_of_a_file(self) -> bool {
        matches!(self, Self::Check | Self::Explore)
    }

    /// Which rows it does not count, in words.
    const fn rows_left(self) -> &'static str {
        match self {
            Self::Run | Self::Check => "rows that were not exercised",
            Self::Explore => "rows that were not judged",
        }
    }

    /// What it is, in words.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::Run => "of cases of the corpus",
            Self::Check => "of a run of a file (`check`)",
            Self::Explore => "of a file that was explored (`explore`)",
        }
    }
}

/// The results of a report.
#[derive(Clone, Debug, Default)]
pub struct Results {
    pub(super) provenance: Option<Provenance>,
    pub(super) run: Option<RunIdentity>,
    pub(super) kind: ReportKind,
    pub(super) cases: BTreeMap<String, CaseResults>,
    /// Which instructions were compared, if not all.
    pub(super) sampling: Option<Value>,
    /// Where the section of each image is from, by the image's name.
    sections: BTreeMap<Option<String>, Origin>,
}

/// The results of a case.
#[derive(Clone, Debug)]
pub(super) struct CaseResults {
    pub(super) outcome: Outcome,
    /// What that is called, if there is no result, or one that proves nothing, of a file that is not broken.
    pub(super) without_result: Option<NoResult>,
    pub(super) reason: Option<String>,
    pub(super) rows_exercised: u64,
    /// The others, of those that cover something.
    rows_left: u64,
    /// Rows that agree at some of their instructions only, of an explored file.
    rows_partly: u64,
    /// The functions and libraries of which code without an FDE was executed.
    uncovered: BTreeSet<String>,
    /// Instructions executed, if no other unwinder is under test, and those at which something was compared.
    pub(super) executed: Option<[u64; 2]>,
    /// Executed instructions that could have an FDE, and have none.
    pub(super) without_fde: u64,
    /// Rows that did not run, and are proved to be wrong.
    pub(super) wrong_unused: u64,
    /// What the walks were worth.
    pub(super) reliability: ByTopmost,
    /// What was found, by verdict, function and row.
    pub(super) found: Found,
    /// The rules that are wrong, known or not, by verdict, function and row.
    pub(super) rules: BTreeMap<String, BTreeSet<String>>,
    /// Findings that were only counted, by verdict.
    pub(super) omitted: BTreeMap<Verdict, u64>,
}

impl CaseResults {
    /// Whether it says anything of what is under test.
    pub(super) const fn is_judged(&self) -> bool {
        !matches!(self.outcome, Outcome::Broken | Outcome::Skipped)
    }

    /// Whether it is broken, and another one only proves too little.
    pub(super) fn is_no_result_beside(&self, other: &Self) -> bool {
        let is_broken = |case: &Self| case.outcome == Outcome::Broken && case.without_result.is_none();
        is_broken(self) && other.outcome == Outcome::Broken && other.without_result.is_some()
    }

    /// The outcome, as reports call it.
    pub(super) fn outcome_in_words(&self) -> String {
        self.without_result.map_or_else(|| name(self.outcome), |why| why.to_string())
    }

    /// The outcome with its reason.
    pub(super) fn says(&self) -> String {
        let outcome = self.outcome_in_words();
        let why = self.reason.as_deref().and_then(|reason| reason.lines().next());
        why.filter(|why| !why.is_empty()).map_or_else(|| outcome.clone(), |why| format!("{outcome}: {why}"))
    }

    /// The number of walks that are silent or wrong.
    const fn unreliable(total: &Reliabilities) -> u64 {
        total.silent + total.wrong
    }

    /// What was counted in both of two cases, apart from findings. What could not be judged counts only rows.
    pub(super) fn measures(before: &Self, after: &Self, kind: ReportKind) -> Vec<Measure> {
        let both = [before, after];
        let is_judged = both.iter().all(|case| case.is_judged());
        // Of another program, other numbers are to be expected.
        let not_judged = match both.map(|case| case.executed) {
            [Some([were, before]), Some([are, after])] if were == are => {
                [were - before.min(were), are - after.min(are)]
            }
            _ => [0; 2],
        };
        let total = both.map(|case| Self::unreliable(&case.reliability.total()));
        let of_judged = [
            ("walks that are silent or wrong", total),
            ("instructions that could have an FDE, and have none", both.map(|case| case.without_fde)),
            ("instructions that were not judged", not_judged),
            ("rows that did not run, and are wrong", both.map(|case| case.wrong_unused)),
        ];
        let of_rows = [
            (kind.rows_left(), both.map(|case| case.rows_left)),
            ("rows that agree in part only", both.map(|case| case.rows_partly)),
        ];
        let all = of_judged.into_iter().filter(|_| is_judged).chain(of_rows);
        all.map(|(what, counts)| Measure { what, counts }).filter(Measure::differs).collect()
    }

    /// The functions and libraries of which code without an FDE was executed, and of none such of another case.
    pub(super) fn uncovered_beside(&self, other: &Self) -> Option<String> {
        const LISTED: usize = 3;
        let new: Vec<&String> = self.uncovered.difference(&other.uncovered).collect();
        let is_judged = self.is_judged() && other.is_judged();
        (is_judged && !new.is_empty()).then(|| format!("executed without an FDE: {}", first_of(&new, LISTED)))
    }
}

/// Something that is counted, before and after: more is worse.
pub(super) struct Measure {
    what: &'static str,
    counts: [u64; 2],
}

impl Measure {
    const fn differs(&self) -> bool {
        self.counts[0] != self.counts[1]
    }

    /// Whether it got worse, and not better.
    pub(super) const fn is_worse(&self) -> bool {
        self.counts[1] > self.counts[0]
    }

    /// Both numbers, in words.
    pub(super) fn says(&self) -> String {
        let [were, are] = self.counts.map(grouped);
        format!("{}: {are}, not {were}", self.what)
    }
}

/// What was found: where, what it comes from, and at how many places. A row may be wrong for a known cause and for
/// another.
pub(super) type Found = BTreeMap<(String, Cause), u64>;

/// What a finding comes from, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cause {
    /// The name of a fault or the reason of an entry; or else the verdict and the component to blame.
    pub(super) name: String,
    pub(super) is_known: bool,
    /// The page of the known fault that it looks like, which nobody has accepted.
    pub(super) looks_like: Option<String>,
}

/// A report of `check` or `explore`, as far as it is compared.
#[derive(Deserialize)]
#[serde(expecting = "a report, which is an object")]
struct OfFile {
    schema: u32,
    #[serde(default)]
    provenance: Option<Provenance>,
    file: String,
    #[serde(default)]
    broken: Option<String>,
    #[serde(default)]
    too_little: Vec<String>,
    #[serde(default)]
    unmet: Option<String>,
    /// Of `explore`.
    #[serde(default)]
    interrupted: bool,
    summary: OfFileSummary,
    #[serde(default)]
    sampling: Option<Value>,
    findings: Vec<MaybeProved>,
    #[serde(default)]
    findings_omitted: BTreeMap<Verdict, u64>,
    known: Vec<SeenKnown>,
    #[serde(default)]
    unwinder: Option<Value>,
    /// Of `check`.
    #[serde(default)]
    images: Vec<SectionOf>,
}

/// Where the section of an image is from.
#[derive(Deserialize)]
struct SectionOf {
    name: Option<String>,
    section: Origin,
}

#[derive(Deserialize)]
struct OfFileSummary {
    /// Of `explore`: rows judged.
    #[serde(alias = "rows_judged")]
    rows_exercised: u64,
    #[serde(default)]
    rows_total: u64,
    #[serde(default)]
    rows_without_caller: u64,
    /// Of `explore`.
    #[serde(default)]
    rows_partly: u64,
    /// Of `check`.
    #[serde(default)]
    uncovered: BTreeMap<String, u64>,
    /// Of `check`.
    #[serde(default)]
    reliability_by_topmost: ByTopmost,
    /// Of `check`.
    #[serde(default)]
    rows_explored: ExploredRows,
    /// Of `check`.
    #[serde(default)]
    missing: BTreeMap<String, u64>,
    /// Of `check`.
    #[serde(default)]
    instructions: u64,
    /// Of `check`.
    #[serde(default)]
    comparisons: u64,
}

/// A finding; of `explore`, with its certainty.
#[derive(Deserialize)]
struct MaybeProved {
    #[serde(default)]
    certainty: Option<String>,
    #[serde(flatten)]
    finding: Finding,
}

impl Results {
    /// Reads a report.
    ///
    /// # Errors
    /// It is not one of `run`, `merge`, `check` or `explore`, in the format of this version.
    pub fn parse(bytes: &[u8]) -> Result<Self, UnreadReport> {
        let document: Value = serde_json::from_slice(bytes)?;
        match [document.get("cases"), document.get("file")] {
            [Some(_), _] => Self::of_run(placed(document, bytes)?),
            [None, Some(_)] => Self::of_file(&document, placed(document.clone(), bytes)?),
            [None, None] => Err(UnreadReport::Other),
        }
    }

    /// Whether both have compared the same instructions: all, or the same sample of them. Otherwise, what one of
    /// them has not found it may have left out.
    #[must_use]
    pub fn has_same_sample(&self, other: &Self) -> bool {
        self.sampling == other.sampling
    }

    /// Whether both have judged the images that they have in common by sections from the same place.
    #[must_use]
    pub fn has_same_sections(&self, other: &Self) -> bool {
        let is_same = |(image, section): (&Option<String>, &Origin)| {
            other.sections.get(image).is_none_or(|other| {
                // A section that is gone is a result.
                (*other == Origin::EhFrame) == (*section == Origin::EhFrame)
            })
        };
        self.sections.iter().all(is_same)
    }

    /// What it is about.
    #[must_use]
    pub const fn kind(&self) -> ReportKind {
        self.kind
    }

    fn of_run(report: Report) -> Result<Self, UnreadReport> {
        if report.schema != SCHEMA {
            return Err(UnreadReport::Schema(report.schema));
        }
        if let Some(id) = report.twice().first() {
            return Err(UnreadReport::Twice((*id).to_owned()));
        }
        let cases = report.cases.into_iter().map(|case| {
            let results = CaseResults {
                outcome: case.outcome,
                without_result: None,
                reason: case.reason,
                rows_exercised: case.rows.exercised,
                rows_left: case.rows.left(),
                rows_partly: 0,
                uncovered: case.uncovered.into_keys().collect(),
                executed: case
                    .unwinder
                    .is_none()
                    .then_some([case.counts.instructions, case.counts.comparisons]),
                without_fde: 0,
                wrong_unused: ExploredRows::of(&case.unreached).wrong,
                reliability: case.reliability_by_topmost,
                found: found(&case.findings, &case.known),
                rules: rules(&case.findings, &case.known),
                omitted: case.findings_omitted,
            };
            (case.id, results)
        });
        Ok(Self {
            provenance: report.provenance,
            run: report.run,
            kind: ReportKind::Run,
            cases: cases.collect(),
            sampling: None,
            sections: BTreeMap::new(),
        })
    }

    fn of_file(document: &Value, report: OfFile) -> Result<Self, UnreadReport> {
        let is_explored = document.pointer("/summary/rows_judged").is_some();
        let kind = if is_explored { ReportKind::Explore } else { ReportKind::Check };
        let OfFile {
            schema,
            provenance,
            file,
            broken,
            too_little,
            unmet,
            interrupted,
            summary,
            sampling,
            findings,
            findings_omitted: omitted,
            known,
            unwinder,
            images,
        } = report;
        if schema != SCHEMA {
            return Err(UnreadReport::Schema(schema));
        }
        let is_checked_by_engine = !is_explored && unwinder.is_none();
        // What may be wrong is no finding.
        let is_proved = |found: &MaybeProved| found.certainty.as_deref().is_none_or(|sure| sure == "proved");
        let findings: Vec<Finding> =
            findings.into_iter().filter(is_proved).map(|found| found.finding).collect();
        let proves_too_little = !too_little.is_empty() || is_explored && summary.rows_exercised == 0;
        let too_few = (!too_little.is_empty()).then(|| too_little.join("; "));
        // What is wrong is wrong, however little was judged; what proves nothing is no result.
        let too_little = if is_explored { NoResult::NothingJudged } else { NoResult::TooLittleJudged };
        let (outcome, without_result, reason) = match () {
            () if broken.is_some() => (Outcome::Broken, None, broken),
            () if interrupted => (Outcome::Broken, Some(NoResult::Interrupted), None),
            () if !findings.is_empty() || !omitted.is_empty() => (Outcome::Unexpected, None, unmet),
            () if unmet.is_some() => (Outcome::Unexpected, Some(NoResult::LessCovered), unmet),
            () if proves_too_little => (Outcome::Broken, Some(too_little), too_few),
            () if !known.is_empty() => (Outcome::Known, None, None),
            () => (Outcome::Agree, None, None),
        };
        let case = CaseResults {
            outcome,
            without_result,
            reason,
            rows_exercised: summary.rows_exercised,
            rows_left: summary
                .rows_total
                .saturating_sub(summary.rows_exercised)
                .saturating_sub(summary.rows_without_caller),
            rows_partly: summary.rows_partly,
            uncovered: summary.uncovered.into_keys().collect(),
            executed: is_checked_by_engine.then_some([summary.instructions, summary.comparisons]),
            without_fde: summary.missing.values().sum(),
            wrong_unused: summary.rows_explored.wrong,
            reliability: summary.reliability_by_topmost,
            found: found(&findings, &known),
            rules: rules(&findings, &known),
            omitted,
        };
        let cases = BTreeMap::from([(file_name(&file).to_owned(), case)]);
        let sections = images.into_iter().map(|image| (image.name, image.section)).collect();
        Ok(Self { provenance, run: None, kind, cases, sampling, sections })
    }
}

/// What a document says. An error has its place, which only the text has.
fn placed<T: DeserializeOwned>(document: Value, bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_value(document).or_else(|_| serde_json::from_slice(bytes))
}

fn found(findings: &[Finding], known: &[SeenKnown]) -> Found {
    let unknown = findings.iter().map(|finding| {
        let looks_like = finding.fault.as_ref().map(|fault| fault.name.clone());
        let fault = looks_like.as_ref().map(|name| format!(", looks like {name}")).unwrap_or_default();
        let name = format!("{}, {} to blame{fault}", finding.verdict, finding.blame);
        ((key(finding), Cause { name, is_known: false, looks_like }), finding.places)
    });
    let known = known.iter().map(|seen| {
        let name = seen.fault.clone().unwrap_or_else(|| seen.reason.clone());
        ((key(&seen.finding), Cause { name, is_known: true, looks_like: None }), seen.places)
    });
    let mut found = Found::new();
    for (cause, places) in known.chain(unknown) {
        *found.entry(cause).or_default() += places;
    }
    found
}

/// The rules of the rows that are wrong, each with how wrong the CFA is, if it is, and always as much.
fn rules(findings: &[Finding], known: &[SeenKnown]) -> BTreeMap<String, BTreeSet<String>> {
    let mut rules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for finding in findings.iter().chain(known.iter().map(|seen| &seen.finding)) {
        if let Some(row) = &finding.row {
            let amount = CfaError::of(finding).map(|amount| format!(", {amount}")).unwrap_or_default();
            rules.entry(key(finding)).or_default().insert(format!("{}{amount}", row.rules));
        }
    }
    rules
}
