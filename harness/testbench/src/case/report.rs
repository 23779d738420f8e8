//! What a case has shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sframe_engine::Abi;

use crate::case::reason::{BrokenReason, SkipReason};
use crate::examine::coverage::UnexercisedRow;
use crate::examine::listings::Listing;
use crate::examine::{Deliveries, WalkEnds};
use crate::external::UnwinderReport;
use crate::finding::{Address, Blame, Finding};
use crate::spec::{End, Verdict};
use crate::truth::control_flow::Features;
use crate::truth::cross_check::TraceCounts;

/// What a case comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All is as it should be.
    Agree,
    /// All findings are known, and all known findings are there.
    Known,
    /// There is a finding that nobody has explained.
    Unexpected,
    /// The bench could not do its work.
    Broken,
    /// The spec says not to run it, and why.
    Skipped,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Agree, Self::Known, Self::Unexpected, Self::Broken, Self::Skipped];
}

/// A known finding that was seen again.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct SeenKnown {
    /// Its verdict.
    pub verdict: Verdict,
    /// The function, if the spec names one.
    pub function: Option<String>,
    /// The row, if the spec names one: its start in the function.
    pub row: Option<Address>,
    /// The spec's explanation.
    pub reason: String,
    /// Who has to mend it.
    pub blame: Blame,
    /// Number of findings that it explains.
    pub findings: u64,
    /// The rules with which they happen, each with the number of places.
    #[serde(default)]
    pub rules: BTreeMap<String, u64>,
    /// The entry's position in the spec.
    #[serde(skip)]
    pub(crate) entry: usize,
    /// The first of them.
    pub finding: Finding,
}

/// Signals, each of which was delivered in a run of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct SignalCounts {
    /// How many.
    pub delivered: u64,
    /// Those of which every backtrace was whole.
    pub complete: u64,
    /// Instructions at which backtrace and call stack were compared.
    pub comparisons: u64,
    /// How the backtraces ended that were not whole, with the number of signals.
    pub ends: BTreeMap<End, u64>,
}

impl SignalCounts {
    pub(super) fn of(deliveries: &Deliveries) -> Self {
        let Deliveries { delivered, complete, comparisons, ends, broken: _ } = deliveries;
        Self { delivered: *delivered, complete: *complete, comparisons: *comparisons, ends: ends.clone() }
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.delivered += other.delivered;
        self.complete += other.complete;
        self.comparisons += other.comparisons;
        for (end, count) in &other.ends {
            *self.ends.entry(*end).or_default() += count;
        }
    }
}

/// What a case has shown.
#[derive(Clone, Debug, Deserialize, Serialize)]
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
    /// What it comes to.
    pub outcome: Outcome,
    /// Why it is broken or skipped.
    pub reason: Option<String>,
    /// Instructions executed.
    pub instructions: u64,
    /// Instructions at which backtrace and call stack were compared.
    pub comparisons: u64,
    /// Comparisons without a disagreement.
    pub agree: u64,
    /// Instructions of which nothing could be compared; they are not among the
    /// comparisons.
    #[serde(default)]
    pub nothing_compared: u64,
    /// Frames compared, or shown to stand as they were when that was done.
    pub frames: u64,
    /// Those of them that were derived anew.
    #[serde(default)]
    pub frames_derived: u64,
    /// Stops of the spec that were reached.
    pub stops: u64,
    /// The deepest call stack, in frames.
    pub max_depth: usize,
    /// How the walks ended.
    pub walk_ends: WalkEnds,
    /// Signals delivered, each in a run of its own.
    pub signals: SignalCounts,
    /// How control has moved, in all runs.
    pub control_flow: Features,
    /// How often the call stack was compared with which other trace of the calls.
    pub traces: TraceCounts,
    /// Rows that cover at least one byte.
    pub rows_total: u64,
    /// Rows that the topmost frame used.
    pub rows_exercised: u64,
    /// Rows that a caller's frame used.
    pub rows_exercised_as_caller: u64,
    /// How many different instructions executed without an FDE, by function.
    pub uncovered: BTreeMap<String, u64>,
    /// Rows that no topmost frame used.
    pub unreached: Vec<UnexercisedRow>,
    /// Where an unwinder in a process of its own was asked, at some stops: what
    /// it was asked. `comparisons`, `agree`, `frames` and `walk_ends` are its.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwinder: Option<UnwinderReport>,
    /// How long it took, in seconds.
    #[serde(default)]
    pub seconds: f64,
    /// What is wrong and not known.
    pub findings: Vec<Finding>,
    /// How many more there are than the report keeps, by verdict: it describes the first 10,000
    /// of a program.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub findings_omitted: BTreeMap<Verdict, u64>,
    /// What is wrong and known.
    pub known: Vec<SeenKnown>,
}

impl CaseReport {
    /// The case is not run.
    pub(super) fn skip(&mut self, reason: &SkipReason<'_>) {
        self.outcome = Outcome::Skipped;
        self.reason = Some(reason.to_string());
    }

    /// The report, or that of a case which is broken for a reason.
    pub(super) fn or_broken(mut self, result: Result<(), BrokenReason>) -> Self {
        if let Err(reason) = result {
            self.outcome = Outcome::Broken;
            self.reason = Some(reason.text());
        }
        self
    }
}

/// What comes of a case, as a journal keeps it and a worker sends it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CaseResult {
    /// What it has shown.
    pub report: CaseReport,
    /// The code, with what was seen there: if that was wanted, and it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listing: Option<Listing>,
}

impl From<CaseReport> for CaseResult {
    fn from(report: CaseReport) -> Self {
        Self { report, listing: None }
    }
}
