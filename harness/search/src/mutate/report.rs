//! The score of the bench.

use std::collections::BTreeMap;

use serde::Serialize;
use sframe_engine::Abi;
use sframe_judge::explore::Doubt;
use sframe_judge::finding::FindingRow;
use sframe_judge::vocabulary::Verdict;

use super::equivalence::Reason;
use super::operator::Operator;
use super::plan::Plan;

/// How a mutant was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Killer {
    /// The section can't be opened, or is not for the file.
    Reader,
    /// A backtrace is not the call stack, or exploring proves that a row is wrong.
    Comparison(Verdict),
    /// The spec requires something else: coverage, ends, stops, signals.
    Spec(Verdict),
    /// The case is broken.
    Broken,
}

impl Killer {
    fn name(self) -> String {
        match self {
            Self::Reader => "the section can't be used".to_owned(),
            Self::Comparison(verdict) => verdict.to_string(),
            Self::Spec(verdict) => format!("{verdict} (spec)"),
            Self::Broken => "broken".to_owned(),
        }
    }
}

/// Numbers of mutants by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// All of them.
    pub mutants: u64,
    /// Those that the bench noticed.
    pub killed: u64,
    /// Those that are equivalent, for a reason that was checked.
    pub equivalent: u64,
    /// Those whose difference no run, or no path, looked up.
    pub not_exercised: u64,
    /// Those that exploring found, but did not prove to be wrong.
    #[serde(skip_serializing_if = "sframe_kit::json::is_zero")]
    pub possible: u64,
    /// Those that went unnoticed.
    pub survived: u64,
}

impl Score {
    fn add(&mut self, other: &Self) {
        self.mutants += other.mutants;
        self.killed += other.killed;
        self.equivalent += other.equivalent;
        self.not_exercised += other.not_exercised;
        self.possible += other.possible;
        self.survived += other.survived;
    }

    /// The percentage that the bench noticed, or proved to be wrong, of the exercised mutants,
    /// without the equivalent ones.
    #[must_use]
    pub fn percent(&self) -> Option<f64> {
        let counted = self.killed + self.possible + self.survived;
        #[expect(clippy::cast_precision_loss, reason = "there are fewer mutants than 2^52")]
        let share = |part: u64, whole: u64| part as f64 * 100.0 / whole as f64;
        (counted > 0).then(|| share(self.killed, counted))
    }
}

/// A mutant that went unnoticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Survivor {
    /// How it was made.
    pub operator: Operator,
    /// The build.
    pub build: String,
    /// The library whose section was changed; `None` for the executable.
    pub image: Option<String>,
    /// The function. `None` for the section's header.
    pub function: Option<String>,
    /// The correct row.
    pub row: Option<FindingRow>,
    /// What was changed.
    pub message: String,
    /// The row's instructions.
    pub disassembly: Vec<String>,
    /// If exploring found it: what keeps that from being a proof.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
}

/// The outcome of all mutants.
#[derive(Clone, Debug, Serialize)]
pub struct MutationReport {
    /// The version of the document format.
    pub schema: u32,
    /// The seed that chose the mutants.
    pub seed: u64,
    /// How many were to be chosen; `None` for all.
    pub sample: Option<usize>,
    /// The totals.
    #[serde(flatten)]
    pub total: Counts,
    /// The share of those killed among killed, possible and survived, in percent.
    pub score: Option<f64>,
    /// By operator.
    pub by_operator: BTreeMap<Operator, Score>,
    /// By ABI.
    pub by_abi: BTreeMap<Abi, Score>,
    /// By version of the section.
    pub by_version: BTreeMap<u8, Score>,
    /// By toolchain.
    pub by_toolchain: BTreeMap<String, Score>,
    /// By program.
    pub by_program: BTreeMap<String, Score>,
    /// How the killed ones were noticed.
    pub killed_by: BTreeMap<String, u64>,
    /// Why the equivalent ones are equivalent.
    pub equivalent_by: BTreeMap<Reason, u64>,
    /// What kept exploring from proving the possible ones. One may have several doubts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub possible_by: BTreeMap<Doubt, u64>,
    /// Those that went unnoticed.
    pub survived: Vec<Survivor>,
    /// Those that exploring found, but did not prove to be wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unproved: Vec<Survivor>,
    /// The builds of which mutants are left, since it was interrupted.
    #[serde(skip_serializing_if = "sframe_kit::json::is_zero")]
    pub left_builds: u64,
}

/// The totals, without the survivors, which are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All mutants.
    pub mutants: u64,
    /// Those that the bench noticed.
    pub killed: u64,
    /// Those that are equivalent, for a reason that was checked.
    pub equivalent: u64,
    /// Those whose difference no run, or no path, looked up.
    pub not_exercised: u64,
    /// Those that exploring found, but did not prove to be wrong.
    #[serde(skip_serializing_if = "sframe_kit::json::is_zero")]
    pub possible: u64,
}

/// The outcome of a mutant.
#[derive(Clone, Debug)]
pub(super) enum Fate {
    Killed(Killer),
    Equivalent(Reason),
    NotExercised,
    /// Found, with doubts, by exploring.
    Possible(Box<Survivor>),
    Survived(Box<Survivor>),
}

/// Where a mutant comes from.
pub(super) struct Origin<'o> {
    pub(super) operator: Operator,
    pub(super) abi: Abi,
    pub(super) version: u8,
    pub(super) toolchain: &'o str,
    pub(super) program: &'o str,
}

impl MutationReport {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            schema: 1,
            seed: plan.seed,
            sample: plan.sample,
            total: Counts::default(),
            score: None,
            by_operator: BTreeMap::new(),
            by_abi: BTreeMap::new(),
            by_version: BTreeMap::new(),
            by_toolchain: BTreeMap::new(),
            by_program: BTreeMap::new(),
            killed_by: BTreeMap::new(),
            equivalent_by: BTreeMap::new(),
            possible_by: BTreeMap::new(),
            survived: Vec::new(),
            unproved: Vec::new(),
            left_builds: 0,
        }
    }

    pub(super) fn count(&mut self, origin: &Origin<'_>, fate: Fate) {
        let mut score = Score { mutants: 1, ..Score::default() };
        match fate {
            Fate::Killed(killer) => {
                score.killed = 1;
                *self.killed_by.entry(killer.name()).or_default() += 1;
            }
            Fate::Equivalent(reason) => {
                score.equivalent = 1;
                *self.equivalent_by.entry(reason).or_default() += 1;
            }
            Fate::NotExercised => score.not_exercised = 1,
            Fate::Possible(unproved) => {
                score.possible = 1;
                for doubt in &unproved.doubts {
                    *self.possible_by.entry(*doubt).or_default() += 1;
                }
                self.unproved.push(*unproved);
            }
            Fate::Survived(survivor) => {
                score.survived = 1;
                self.survived.push(*survivor);
            }
        }
        let Origin { operator, abi, version, toolchain, program } = *origin;
        self.by_operator.entry(operator).or_default().add(&score);
        self.by_abi.entry(abi).or_default().add(&score);
        self.by_version.entry(version).or_default().add(&score);
        self.by_toolchain.entry(toolchain.to_owned()).or_default().add(&score);
        self.by_program.entry(program.to_owned()).or_default().add(&score);
        self.settle();
    }

    /// Adds the mutants of other builds.
    pub(super) fn add(&mut self, other: Self) {
        fn add<K: Ord>(to: &mut BTreeMap<K, Score>, from: BTreeMap<K, Score>) {
            for (key, score) in from {
                to.entry(key).or_default().add(&score);
            }
        }
        add(&mut self.by_operator, other.by_operator);
        add(&mut self.by_abi, other.by_abi);
        add(&mut self.by_version, other.by_version);
        add(&mut self.by_toolchain, other.by_toolchain);
        add(&mut self.by_program, other.by_program);
        for (killer, count) in other.killed_by {
            *self.killed_by.entry(killer).or_default() += count;
        }
        for (reason, count) in other.equivalent_by {
            *self.equivalent_by.entry(reason).or_default() += count;
        }
        for (doubt, count) in other.possible_by {
            *self.possible_by.entry(doubt).or_default() += count;
        }
        self.survived.extend(other.survived);
        self.unproved.extend(other.unproved);
        self.left_builds += other.left_builds;
        self.settle();
    }

    fn settle(&mut self) {
        let mut sum = Score::default();
        for score in self.by_operator.values() {
            sum.add(score);
        }
        let Score { mutants, killed, equivalent, not_exercised, possible, .. } = sum;
        self.total = Counts { mutants, killed, equivalent, not_exercised, possible };
        self.score = sum.percent();
    }
}
