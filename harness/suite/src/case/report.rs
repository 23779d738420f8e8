//! The results of a case.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::Abi;
use sframe_judge::compare::ByTopmost;
use sframe_judge::examine::Deliveries;
use sframe_judge::examine::counts::Counts;
use sframe_judge::examine::coverage::{RowCounts, UnexercisedRow};
use sframe_judge::examine::excluded::Exclusion;
use sframe_judge::examine::listings::Listing;
use sframe_judge::external::UnwinderReport;
use sframe_judge::finding::{Address, Blame, Finding};
use sframe_judge::truth::control_flow::Features;
use sframe_judge::vocabulary::{End, Verdict};

use crate::case::reason::{BrokenReason, SkipReason};

/// The outcome of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Everything is as expected.
    Agree,
    /// All findings are known, or what SFrame can't express, and all known findings were seen.
    Known,
    /// There is an unexplained finding.
    Unexpected,
    /// The bench could not do its work, and says nothing of what is under test.
    Broken,
    /// It was not run; the spec says why.
    Skipped,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 5] = [Self::Agree, Self::Known, Self::Unexpected, Self::Broken, Self::Skipped];

    /// The rank of a result: the higher, the worse.
    #[must_use]
    pub const fn rank(self) -> u8 {
        match self {
            Self::Agree | Self::Known => 0,
            Self::Unexpected => 1,
            Self::Skipped => 2,
            Self::Broken => 3,
        }
    }

    /// As documents have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Known => "known",
            Self::Unexpected => "unexpected",
            Self::Broken => "broken",
            Self::Skipped => "skipped",
        }
    }
}

/// A finding that is no failure: a known one that was seen again, or what the format can't express.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SeenKnown {
    /// Its verdict.
    pub verdict: Verdict,
    /// The function, if the spec names one.
    pub function: Option<String>,
    /// The row, if the spec names one: its start in the function.
    pub row: Option<Address>,
    /// The fault that the entry names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The title of the fault, or the entry's reason, or what the format can't express.
    pub reason: String,
    /// Which component needs the fix.
    pub blame: Blame,
    /// Number of findings that it explains: what is wrong with one row counts once.
    pub findings: u64,
    /// At how many places they are.
    #[serde(default)]
    pub places: u64,
    /// Whether they differ from the entry. A finding of its own says how, and nothing of it is accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// The rules with which they occur, each with the number of places.
    #[serde(default)]
    pub rules: BTreeMap<String, u64>,
    /// The entry's index in the spec. `None` for what needs no entry.
    #[serde(skip)]
    pub(crate) entry: Option<usize>,
    /// The first of them.
    pub finding: Finding,
    /// The others.
    #[serde(skip)]
    pub(crate) others: Vec<Finding>,
}

impl SeenKnown {
    /// All that it explains, as far as that was kept.
    pub(crate) fn explained(&self) -> impl Iterator<Item = &Finding> {
        std::iter::once(&self.finding).chain(&self.others)
    }

    /// Those that are accepted: they are as the entry says, or need none.
    pub(crate) fn accepted(known: &[Self]) -> impl Iterator<Item = &Self> {
        known.iter().filter(|seen| !seen.changed)
    }

    /// The number of findings that are accepted.
    pub(crate) fn count(known: &[Self]) -> u64 {
        Self::accepted(known).map(|seen| seen.findings).sum()
    }

    /// Whether it is nobody's fault: SFrame can't express it.
    pub(crate) fn is_beyond_the_format(&self) -> bool {
        self.blame == Blame::Format
    }

    /// Findings that need no entry to be no failure: the first of them, their number, that of their places, and the rules
    /// that they occur with.
    pub(crate) fn without_entry(
        finding: Finding,
        [findings, places]: [u64; 2],
        rules: BTreeMap<String, u64>,
        reason: String,
    ) -> Self {
        Self {
            verdict: finding.verdict,
            function: finding.function.clone(),
            row: None,
            fault: finding.fault.as_ref().map(|fault| fault.name.clone()),
            reason,
            blame: finding.blame,
            findings,
            places,
            changed: false,
            rules,
            entry: None,
            finding,
            others: Vec::new(),
        }
    }

    /// Why it is known, for people: the title of the fault and its name, or the reason.
    #[must_use]
    pub fn explanation(&self) -> String {
        let why = self.reason.split_whitespace().collect::<Vec<_>>().join(" ");
        match &self.fault {
            Some(name) => format!("{why} (fault {name})"),
            None => why,
        }
    }
}

/// Numbers of signals, each of which was delivered to a copy of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SignalCounts {
    /// The number of signals delivered.
    pub delivered: u64,
    /// Those for which every backtrace was complete.
    pub complete: u64,
    /// Those for which the backtrace at the handler's first instruction was complete.
    #[serde(default)]
    pub complete_at_entry: u64,
    /// Instructions at which backtrace and call stack were compared.
    pub comparisons: u64,
    /// How the incomplete backtraces ended, with the number of signals.
    pub ends: BTreeMap<End, u64>,
}

impl SignalCounts {
    pub(super) fn of(deliveries: &Deliveries) -> Self {
        let Deliveries { delivered, complete, complete_at_entry, comparisons, ends, broken: _ } = deliveries;
        Self {
            delivered: *delivered,
            complete: *complete,
            complete_at_entry: *complete_at_entry,
            comparisons: *comparisons,
            ends: ends.clone(),
        }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.delivered += other.delivered;
        self.complete += other.complete;
        self.complete_at_entry += other.complete_at_entry;
        self.comparisons += other.comparisons;
        for (end, count) in &other.ends {
            *self.ends.entry(*end).or_default() += count;
        }
    }
}

/// The results of a case. Its fields are keys of reports.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct CaseReport {
    /// Spec and build: `<spec>/<toolchain>/<abi>/<variant>`.
    pub id: String,
    /// The program.
    pub program: String,
    /// The ABI.
    pub abi: Abi,
    /// The toolchain.
    pub toolchain: String,
    /// The set of compiler flags.
    pub variant: String,
    /// Version of the section.
    pub sframe_version: u8,
    /// The build's name in the corpus.
    pub build: String,
    /// The outcome.
    pub outcome: Outcome,
    /// Why it is broken or skipped.
    pub reason: Option<String>,
    /// What comparing amounts to.
    #[serde(flatten)]
    pub counts: Counts,
    /// Comparisons without a disagreement.
    pub agree: u64,
    /// Comparisons that say nothing, in all runs. They are not counted as comparisons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<Exclusion>,
    /// Stops of the spec that were reached.
    pub stops: u64,
    /// The deepest call stack, in frames.
    pub max_depth: usize,
    /// What the walks were worth, by what the topmost frame was in.
    #[serde(default)]
    pub reliability_by_topmost: ByTopmost,
    /// Signals delivered, each to a copy of the process.
    pub signals: SignalCounts,
    /// The kinds of control flow seen, in all runs.
    pub control_flow: Features,
    /// How many rows there are, and how many were used.
    #[serde(flatten)]
    pub rows: RowCounts,
    /// The number of different instructions executed without an FDE, by function.
    pub uncovered: BTreeMap<String, u64>,
    /// Rows that no topmost frame used.
    pub unreached: Vec<UnexercisedRow>,
    /// What an unwinder in a separate process was asked, at some stops.
    /// `comparisons`, `agree`, `frames` and `walk_ends` then describe that
    /// unwinder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwinder: Option<UnwinderReport>,
    /// Duration in seconds.
    #[serde(default)]
    pub seconds: f64,
    /// Findings that are not known.
    pub findings: Vec<Finding>,
    /// The number of findings omitted from the report, by verdict: it describes the
    /// first 10,000 of a program.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub findings_omitted: BTreeMap<Verdict, u64>,
    /// Findings that are known.
    pub known: Vec<SeenKnown>,
    /// The command that reproduces it, with all options of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
}

impl CaseReport {
    /// Records that the case is not run.
    pub(super) fn skip(&mut self, reason: &SkipReason<'_>) {
        self.outcome = Outcome::Skipped;
        self.reason = Some(reason.to_string());
    }

    /// The outcome of a case that is not broken.
    pub(crate) fn outcome_of_findings(&self) -> Outcome {
        let is_explained = self.findings.is_empty() && self.findings_omitted.is_empty();
        match (is_explained, self.known.is_empty()) {
            (true, true) => Outcome::Agree,
            (true, false) => Outcome::Known,
            (false, _) => Outcome::Unexpected,
        }
    }

    /// Returns the report, or that of a broken case if there is an error.
    pub(super) fn or_broken(mut self, result: Result<(), BrokenReason>) -> Self {
        if let Err(reason) = result {
            self.outcome = Outcome::Broken;
            self.reason = Some(reason.text());
        }
        self
    }
}

/// The result of a case, as a journal stores it and a worker sends it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CaseResult {
    /// What it has shown.
    pub report: CaseReport,
    /// The code with what was seen there, if that was requested and the case ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listing: Option<Listing>,
}

impl From<CaseReport> for CaseResult {
    fn from(report: CaseReport) -> Self {
        Self { report, listing: None }
    }
}
