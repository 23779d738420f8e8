//! The documents that other programs read.
//!
//! Keys are only ever added. Addresses are strings; counts are numbers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_corpus::shard::Shard;
use sframe_corpus::spec::{Fault, Faults};
use sframe_engine::Abi;
use sframe_inspect::hazard::Hazard;
use sframe_judge::compare::ByTopmost;
use sframe_judge::examine::counts::Counts;
use sframe_judge::examine::coverage::{ExploredRows, RowCounts, RowUse, UnexercisedRow};
use sframe_judge::examine::excluded::{self, Exclusion, is_too_much};
use sframe_judge::examine::sampling::Sampling;
use sframe_judge::examine::{BrokenRun, Examination, FailedCheck};
use sframe_judge::explore::{Explorer, Progress};
use sframe_judge::external::{UnwinderExamination, UnwinderReport};
use sframe_judge::finding::{self, Finding, Group, groups};
use sframe_judge::target::{Lacks, Module, Origin, Target};
use sframe_judge::truth::control_flow::Features;
use sframe_judge::vocabulary::{Feature, Verdict};
use sframe_kit::percent::Percent;
use sframe_kit::text::{counted, first_of, grouped};
use sframe_machine::End;

use super::diagnostic::quoted;
use super::identity::Asked;
use super::in_baseline::InBaseline;
use super::native::NativeRun;
use super::no_result::NoResult;
use super::{RunIdentity, file_name};
use crate::case::{BrokenReason, CaseReport, NOTHING_COMPARED, Outcome, SeenKnown, SignalCounts};
use crate::provenance::Provenance;

/// The version of the document format.
/// The version of the format of reports. What is `excluded` and `rows_checked` was `set_aside` and `rows_judged` in version 1.
pub const SCHEMA: u32 = 2;

/// `report.json`: the results of a run of specs.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Identifies the run; `None` in reports of older versions, and of
    /// `matrix`.
    #[serde(default)]
    pub run: Option<RunIdentity>,
    /// Where the report comes from; `None` in reports of older versions.
    #[serde(default)]
    pub provenance: Option<Provenance>,
    /// The part of the run covered; `None` for the whole run.
    pub shard: Option<Shard>,
    /// Number of cases of the whole run.
    pub selected: u64,
    /// All cases together. Its fields are keys of reports.
    pub summary: ReportSummary,
    /// Whether the run was stopped before it had run all cases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Each case.
    pub cases: Vec<CaseReport>,
    /// The pages of the faults that known findings come from, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, Fault>,
    /// What the baseline says of it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) baseline: Option<InBaseline>,
}

/// All cases together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ReportSummary {
    /// Number of cases.
    pub cases: u64,
    /// Cases without any finding.
    pub agree: u64,
    /// Cases all of whose findings are known.
    pub known: u64,
    /// Cases with unexplained findings.
    pub unexpected: u64,
    /// Cases in which the bench could not do its work.
    pub broken: u64,
    /// Cases that their spec excludes from running.
    pub skipped: u64,
    /// Unexplained findings of all cases: causes, and not the places where they show.
    #[serde(default)]
    pub findings: u64,
    /// The places where they show; each is one of the `findings` of its case, or of those that it omits.
    #[serde(default)]
    pub finding_places: u64,
    /// Stops reached.
    pub stops: u64,
    /// What comparing amounts to.
    #[serde(flatten)]
    pub counts: Counts,
    /// Comparisons that say nothing; not among the comparisons.
    #[serde(default)]
    pub excluded: u64,
    /// Rows that cover at least one byte, in all builds.
    pub rows_total: u64,
    /// Rows that a topmost frame used, in any case of their build.
    pub rows_exercised: u64,
    /// What exploring says of the other rows.
    #[serde(default)]
    pub rows_explored: ExploredRows,
    /// Rows of builds that no case exercises, by the reasons given in specs.
    pub rows_unreached: BTreeMap<String, u64>,
    /// How control was transferred, by feature and ABI.
    pub control_flow: BTreeMap<Feature, BTreeMap<Abi, FeatureCount>>,
    /// Signals delivered, by ABI and version of the section.
    pub signals: BTreeMap<Abi, BTreeMap<String, SignalCounts>>,
    /// What the walks were worth, by ABI and by what the topmost frame was in.
    #[serde(default)]
    pub reliability_by_abi: BTreeMap<Abi, ByTopmost>,
    /// Number of cases by ABI.
    pub abis: BTreeMap<Abi, u64>,
    /// Number of cases by version of the section.
    pub sframe_versions: BTreeMap<String, u64>,
    /// Number of cases by toolchain.
    pub toolchains: BTreeMap<String, u64>,
}

/// How often builds have exercised a control-flow feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct FeatureCount {
    /// Cases in which it was seen.
    pub cases: u64,
    /// How often, in all of them.
    pub events: u64,
}

impl Report {
    /// Makes the document of a run.
    #[must_use]
    pub fn new(cases: Vec<CaseReport>) -> Self {
        let selected = cases.len() as u64;
        Self::of_shard(cases, None, selected)
    }

    /// Makes the document of a part of a run of `selected` cases.
    #[must_use]
    pub fn of_shard(mut cases: Vec<CaseReport>, shard: Option<Shard>, selected: u64) -> Self {
        // In one order, however they were sharded.
        cases.sort_by(|one, other| one.id.cmp(&other.id));
        let mut summary = ReportSummary::default();
        for case in &cases {
            summary.add(case);
        }
        summary.add_rows(&cases);
        Self {
            schema: SCHEMA,
            run: None,
            provenance: None,
            shard,
            selected,
            summary,
            interrupted: false,
            cases,
            faults: BTreeMap::new(),
            baseline: None,
        }
    }

    /// Adds the pages of the faults that known findings come from.
    #[must_use]
    pub fn with_faults(mut self, faults: &Faults) -> Self {
        self.faults = named_by(self.cases.iter().flat_map(|case| &case.known), faults);
        self
    }
}

/// The faults that known findings come from, by name.
pub(super) fn named_by<'k>(
    known: impl Iterator<Item = &'k SeenKnown>,
    faults: &Faults,
) -> BTreeMap<String, Fault> {
    let names: BTreeSet<&str> = known.filter_map(|seen| seen.fault.as_deref()).collect();
    let page = |name: &str| Some((name.to_owned(), faults.get(name)?.clone()));
    names.into_iter().filter_map(page).collect()
}

impl Report {
    /// Adds where it comes from.
    #[must_use]
    pub fn made(self, provenance: Provenance) -> Self {
        Self { provenance: Some(provenance), ..self }
    }

    /// Whether nothing was compared, as where all cases are skipped: then it proves nothing.
    pub(super) const fn has_compared_nothing(&self) -> bool {
        self.summary.counts.comparisons == 0
    }

    /// Adds to each case that did not just agree the command that reproduces it.
    #[must_use]
    pub fn reproduced_by(mut self, command: impl Fn(&CaseReport) -> String) -> Self {
        for case in &mut self.cases {
            if !matches!(case.outcome, Outcome::Agree | Outcome::Skipped) {
                case.reproduce = Some(command(case));
            }
        }
        self
    }

    /// Adds the identity of the run.
    #[must_use]
    pub fn of_run(self, run: RunIdentity) -> Self {
        Self { run: Some(run), ..self }
    }

    /// The ID of each case that occurs twice.
    pub(crate) fn twice(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        self.cases.iter().map(|case| case.id.as_str()).filter(|id| !seen.insert(*id)).collect()
    }
}

impl ReportSummary {
    /// Counts the rows of each build once, however many cases it has.
    fn add_rows(&mut self, cases: &[CaseReport]) {
        let mut builds: BTreeMap<&str, Vec<&CaseReport>> = BTreeMap::new();
        for case in cases.iter().filter(|case| case.rows.total > 0) {
            builds.entry(&case.build).or_default().push(case);
        }
        for cases in builds.values() {
            let Some((first, others)) = cases.split_first() else { continue };
            let place = |row: &UnexercisedRow| (row.image.clone(), row.function.clone(), row.row);
            let others: Vec<BTreeSet<_>> =
                others.iter().map(|case| case.unreached.iter().map(place).collect()).collect();
            let left =
                first.unreached.iter().filter(|row| others.iter().all(|rows| rows.contains(&place(row))));
            self.rows_total += first.rows.total;
            self.rows_exercised += first.rows.total;
            for row in left {
                self.rows_exercised -= 1;
                let reason = match (&row.reason, row.used) {
                    (Some(reason), _) => reason,
                    (None, RowUse::WithoutCaller) => "the function has no caller",
                    (None, _) => "no reason",
                };
                *self.rows_unreached.entry(reason.to_owned()).or_default() += 1;
                self.rows_explored.add(row);
            }
        }
    }

    fn add(&mut self, case: &CaseReport) {
        self.cases += 1;
        *match case.outcome {
            Outcome::Agree => &mut self.agree,
            Outcome::Known => &mut self.known,
            Outcome::Unexpected => &mut self.unexpected,
            Outcome::Broken => &mut self.broken,
            Outcome::Skipped => &mut self.skipped,
        } += 1;
        self.findings += finding::count(&case.findings);
        self.finding_places += finding::places(&case.findings) + case.findings_omitted.values().sum::<u64>();
        self.stops += case.stops;
        self.counts.add(&case.counts);
        self.excluded += excluded::total(&case.excluded);
        for &feature in Feature::ALL {
            let events = case.control_flow.of(feature);
            if events > 0 {
                let by_abi = self.control_flow.entry(feature).or_default();
                let count = by_abi.entry(case.abi).or_default();
                count.cases += 1;
                count.events += events;
            }
        }
        if case.signals.delivered > 0 {
            let by_version = self.signals.entry(case.abi).or_default();
            by_version.entry(case.sframe_version.to_string()).or_default().add(&case.signals);
        }
        self.reliability_by_abi.entry(case.abi).or_default().add(&case.reliability_by_topmost);
        *self.abis.entry(case.abi).or_default() += 1;
        *self.sframe_versions.entry(case.sframe_version.to_string()).or_default() += 1;
        *self.toolchains.entry(case.toolchain.clone()).or_default() += 1;
    }
}

/// `check --json`: the results of checking one file. Its fields are the keys of the document.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Where the report comes from.
    pub provenance: Option<Provenance>,
    /// The file, as named on the command line.
    pub file: String,
    /// Its libraries, in the order of the scope.
    pub libraries: Vec<String>,
    /// Its ABI.
    pub abi: Abi,
    /// Version of its section, or of the first library's section.
    pub sframe_version: u8,
    /// The executable and its libraries, with the section that each was judged by.
    pub images: Vec<JudgedImage>,
    /// Why the check is broken, if it is.
    pub broken: Option<String>,
    /// Why what was judged is too little to prove anything, if it is. The command then ends with status 3.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub too_little: Vec<String>,
    /// What was demanded and is not so, if anything: then the check fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmet: Option<String>,
    /// Which executed code could have an FDE and has none, in a sentence, if any: see `missing` of the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_fde: Option<String>,
    /// Which instructions ran, and whether something was compared there, by their addresses in the process.
    #[serde(skip)]
    pub ran: BTreeMap<u64, bool>,
    /// Whether that may come of what the program has read and not written.
    #[serde(skip)]
    pub may_come_of_garbage: bool,
    /// Why a first run was broken, if this is a second one, whose stack had zeroes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zeroed_stack: Option<String>,
    /// What executed the program, if it was not the emulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeRun>,
    /// The program's exit status, as a shell reports it: 128 and the signal's number if a signal
    /// ended it. `None` if it has not ended by itself.
    pub exit_status: Option<u8>,
    /// The signal that ended the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed_by: Option<u8>,
    /// What a program of the corpus compared in its own check of its result, if that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_check: Option<FailedCheck>,
    /// The last lines of what it printed, if it did not end with status 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_output: Vec<String>,
    /// How often it made each system call, by name.
    pub system_calls: BTreeMap<String, u64>,
    /// How often each system call was answered with `ENOSYS`, by name: the bench does not have
    /// it, and programs have to cope.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub system_calls_refused: BTreeMap<String, u64>,
    /// Which instructions were to be compared, if not all of them. Then nothing is
    /// proved about the others, and hits of findings are those that were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// What was asked of the program: less that was asked finds less.
    pub asked: Asked,
    /// What an unwinder in a separate process was asked, if it was asked at
    /// some stops only. `comparisons`, `agree`, `frames` and `walk_ends` of the
    /// summary are about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwinder: Option<UnwinderReport>,
    /// The run in numbers.
    pub summary: CheckSummary,
    /// The command that reproduces the findings, with all options of the check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
    /// What is wrong, and not known to be.
    pub findings: Vec<Finding>,
    /// What is known to be wrong.
    pub known: Vec<SeenKnown>,
    /// How many entries of known findings a sample has left out.
    #[serde(skip)]
    pub known_not_looked_at: u64,
    /// The pages of the faults that this comes from, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, Fault>,
    /// How many findings the report omits, by verdict: it describes the first 10,000 of a
    /// program.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub findings_omitted: BTreeMap<Verdict, u64>,
    /// Comparisons that say nothing of a row, by function and reason.
    pub excluded: Vec<Exclusion>,
    /// Rows that the topmost frame has never used.
    pub unexercised: Vec<UnexercisedRow>,
    /// Rows that are right by luck or cause trouble in the field, with the
    /// number of instructions that executed with them. They are not findings.
    pub hazards: Vec<Hazard>,
}

/// An image, and the section that it was judged by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JudgedImage {
    /// The library's name; `None` for the executable.
    pub name: Option<String>,
    /// Where the section comes from.
    pub section: Origin,
    /// Whether a segment of the file says where its section is.
    pub segment: bool,
    /// Number of FDEs in the section.
    pub functions: u64,
    /// What a section made from `.eh_frame` lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<Lacks>,
    /// Why no section could be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it has call frame information.
    #[serde(skip)]
    pub has_cfi: bool,
}

impl JudgedImage {
    pub(super) fn of(module: &Module<'_>) -> Self {
        let made = module.made();
        let functions = module.section.as_ref().map_or(0, |section| section.header().num_fdes.into());
        Self {
            name: module.name.clone(),
            section: Origin::of(module),
            segment: module.subject.has_segment(),
            functions,
            lacks: made.and_then(Result::ok).map(|made| made.lacks.clone()),
            reason: made.and_then(Result::err).map(ToString::to_string),
            has_cfi: module.cfi().is_some(),
        }
    }

    /// Returns a description in a line. `executable` is the executable's name.
    pub(super) fn line(&self, executable: &str) -> String {
        /// At most this many reasons are listed.
        const TOLD: usize = 3;
        let name = self.name.as_deref().unwrap_or(executable);
        let mut line = match self.section {
            Origin::Sframe => format!("{name}: .sframe"),
            Origin::EhFrame => format!("{name}: synthesized from .eh_frame"),
            Origin::None => match &self.reason {
                Some(reason) => return format!("{name}: none: {reason}"),
                None => return format!("{name}: none"),
            },
        };
        line += &format!(", {}", counted(self.functions, "function"));
        let Some(Lacks { left_out, reasons, unread, .. }) = &self.lacks else { return line };
        if *left_out > 0 {
            let mut most: Vec<(&String, &u64)> = reasons.iter().collect();
            most.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let told: Vec<String> = most
                .iter()
                .take(TOLD)
                .map(|(reason, count)| format!("{reason}: {}", grouped(**count)))
                .collect();
            let more = if most.len() > TOLD { "; ..." } else { "" };
            line += &format!("; {} left out ({}{more})", grouped(*left_out), told.join("; "));
        }
        if let Some(first) = unread.first() {
            line += &format!("; {first}");
        }
        line
    }
}

/// A check in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckSummary {
    /// What comparing amounts to.
    #[serde(flatten)]
    pub counts: Counts,
    /// Comparisons without a disagreement.
    pub agree: u64,
    /// Comparisons that say nothing: see `excluded`. They are not among the comparisons.
    pub excluded: u64,
    /// Instructions that the sample leaves out.
    pub left_out: u64,
    /// Instructions that were not looked at: of other processes, and of a program that took this one's place
    /// and could not be followed.
    pub unobserved: u64,
    /// The deepest call stack, in frames.
    pub max_depth: usize,
    /// What the walks were worth, by what the topmost frame was in.
    pub reliability_by_topmost: ByTopmost,
    /// How many rows there are, and how many were used.
    #[serde(flatten)]
    pub rows: RowCounts,
    /// What exploring says of the rows that no topmost frame used.
    pub rows_explored: ExploredRows,
    /// Executed instructions whose PC has an FDE.
    pub instructions_covered: u64,
    /// Executed instructions of the stand-in for the dynamic linker, which is not part of the program: they have no FDE.
    #[serde(default)]
    pub stand_in: u64,
    /// Executed instructions without an FDE, by function.
    pub uncovered: BTreeMap<String, u64>,
    /// Those of them that an FDE is missing for: in an image with a section, with call frame information that the
    /// section's version can express.
    #[serde(default)]
    pub missing: BTreeMap<String, u64>,
    /// Those of these functions that lack one although the functions before and after them have one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub missing_alone: BTreeSet<String>,
    /// Those without an FDE that have call frame information: in images without a section, and in others.
    #[serde(default)]
    pub with_cfi: [u64; 2],
    /// Those without an FDE in images with a section, but without call frame information that can be read: nothing says
    /// whether one is missing.
    #[serde(default)]
    pub without_cfi: u64,
    /// How control was transferred.
    pub control_flow: Features,
    /// Number of findings by verdict, without known ones.
    pub verdicts: BTreeMap<String, u64>,
}

impl CheckSummary {
    /// Executed instructions that an FDE is missing for.
    pub(super) fn instructions_missing(&self) -> u64 {
        self.missing.values().sum()
    }
}

/// The most names in a list: `--verbose` has all.
const LISTED: usize = 3;

/// What is said first of functions that could have an FDE and have none.
pub const MISSING_FDE: &str = "missing-fde";

/// What it means.
pub const MISSING_FDE_MEANS: &str = "Functions have call frame information that can be expressed, and no FDE. \
    `diff` fails for it; `check` says so, and fails if more was asked for with `--coverage`.";

impl CheckReport {
    /// Describes the section of each image, line by line. Empty if each image has an
    /// `.sframe` section, which needs no words.
    pub(super) fn sections(&self) -> Vec<String> {
        if self.images.iter().all(|image| image.section == Origin::Sframe) {
            return Vec::new();
        }
        self.images.iter().map(|image| image.line(file_name(&self.file))).collect()
    }

    /// The command that repeats the check. If the original command line is not known, options such as where
    /// libraries are found are missing.
    pub(super) fn command(&self) -> String {
        if let Some(command) = &self.reproduce {
            return command.clone();
        }
        let is = |origin| move |image: &JudgedImage| image.section == origin;
        let from = match self.images.iter().any(is(Origin::EhFrame)) {
            false => "",
            true if self.images.iter().any(is(Origin::Sframe)) => " --from either",
            true => " --from eh-frame",
        };
        format!("sframe-testbench check {}{from}", quoted(&self.file))
    }

    /// Makes the document of a check of an unwinder in a separate process.
    #[must_use]
    pub fn of_unwinder(
        file: String,
        target: &Target<'_>,
        shown: UnwinderExamination,
        broken: Option<BrokenRun>,
    ) -> Self {
        let UnwinderExamination { mut examination, report, shared, findings, error } = shown;
        report.count_instead(&mut examination);
        examination.findings = shared.into_iter().chain(findings).collect();
        let broken = broken.map(BrokenReason::from).or_else(|| error.map(BrokenReason::from));
        Self { unwinder: Some(report), ..Self::new(file, target, examination, broken) }
    }

    /// Adds what exploring says of the rows that were not used, and of those with findings.
    pub fn explore(&mut self, explorer: &Explorer, target: &Target<'_>, progress: &Progress) {
        let has_run = !self.ran.is_empty();
        let proved = explorer.judge(target, &mut self.unexercised, &mut self.findings, has_run, progress);
        if !proved.is_empty() {
            self.findings.extend(proved);
            self.summary.verdicts = verdicts(&self.findings, &self.findings_omitted);
        }
        self.summary.rows_explored = ExploredRows::of(&self.unexercised);
    }

    /// The rows that exploring proves to be wrong, and that the run did not use, each in a line.
    pub(super) fn wrong_rows_that_did_not_run(&self) -> impl Iterator<Item = String> {
        let wrong = self.unexercised.iter().filter_map(UnexercisedRow::wrong_line);
        wrong.map(|line| format!("{line} (did not run)"))
    }

    /// Makes findings with one cause one, which counts its places: see [`groups`]. Known findings are settled
    /// before, since their lists count places.
    #[must_use]
    pub fn by_cause(self) -> Self {
        let findings: Vec<Finding> = groups(&self.findings).iter().map(Group::finding).collect();
        let verdicts = verdicts(&findings, &self.findings_omitted);
        Self { findings, summary: CheckSummary { verdicts, ..self.summary }, ..self }
    }

    /// What is to be said of the program's stack, if it is not as usual.
    #[must_use]
    pub(super) fn stack(&self) -> Option<String> {
        let reason = self.zeroed_stack.as_ref()?;
        Some(format!(
            "this run began with zeroes on the stack, as on Linux; with other values there, which show more wrong \
             rows, the program reads some that it has not written: {reason}"
        ))
    }

    /// Makes the document of a check. `broken` is why the run is worthless beyond its
    /// findings.
    #[must_use]
    pub fn new(
        file: String,
        target: &Target<'_>,
        examination: Examination,
        broken: Option<BrokenReason>,
    ) -> Self {
        let exit_status = examination.exit_status();
        let coverage = examination.coverage;
        Self {
            schema: SCHEMA,
            provenance: None,
            file,
            libraries: target.modules.iter().filter_map(|module| module.name.clone()).collect(),
            abi: target.executable().image.cpu.abi,
            sframe_version: target.sframe_version(),
            images: target.modules.iter().map(JudgedImage::of).collect(),
            ran: coverage.ran,
            may_come_of_garbage: broken.as_ref().is_some_and(BrokenReason::may_come_of_garbage),
            broken: broken.map(|reason| reason.to_string()),
            too_little: Vec::new(),
            unmet: None,
            missing_fde: None,
            zeroed_stack: None,
            native: examination.runs_differ.map(NativeRun::here),
            exit_status,
            killed_by: match examination.end {
                End::Killed(signal) => Some(signal),
                _ => None,
            },
            failed_check: examination.failed_check,
            last_output: if exit_status == Some(0) { Vec::new() } else { examination.last_output },
            system_calls: examination.system_calls.calls,
            system_calls_refused: examination.system_calls.refused,
            sampling: None,
            asked: Asked::default(),
            unwinder: None,
            summary: CheckSummary {
                counts: examination.counts,
                agree: examination.agree,
                excluded: excluded::total(&examination.excluded),
                left_out: examination.left_out,
                unobserved: examination.unobserved,
                max_depth: examination.max_depth,
                reliability_by_topmost: examination.reliability_by_topmost,
                rows: coverage.rows,
                rows_explored: ExploredRows::default(),
                instructions_covered: coverage.instructions_covered,
                stand_in: coverage.stand_in,
                uncovered: coverage.uncovered,
                missing: coverage.missing,
                missing_alone: coverage.missing_alone,
                with_cfi: coverage.with_cfi,
                without_cfi: coverage.without_cfi,
                control_flow: examination.features,
                verdicts: verdicts(&examination.findings, &examination.findings_omitted),
            },
            reproduce: None,
            findings: examination.findings,
            known: Vec::new(),
            known_not_looked_at: 0,
            faults: BTreeMap::new(),
            findings_omitted: examination.findings_omitted,
            excluded: examination.excluded,
            unexercised: coverage.unexercised,
            hazards: examination.hazards,
        }
    }

    /// Describes how the program ended, and which system calls it was refused, line by line. Empty if it
    /// ended with status 0 and none was refused.
    pub(super) fn program(&self) -> Vec<String> {
        let refused: Vec<String> = self.system_calls_refused.keys().cloned().collect();
        let refused = (!refused.is_empty()).then(|| {
            format!("got ENOSYS for system calls that the bench does not have: {}", refused.join(", "))
        });
        let unobserved = (self.summary.unobserved > 0).then(|| {
            let instructions = counted(self.summary.unobserved, "instruction");
            format!("made other processes, or became another program, which were not checked: {instructions}")
        });
        let printed = self.last_output.iter().map(|line| format!("printed: {line}"));
        [self.ended(), refused, unobserved].into_iter().flatten().chain(printed).collect()
    }

    /// How the program ended, if not with status 0.
    pub(super) fn ended(&self) -> Option<String> {
        match (self.killed_by, self.exit_status) {
            (Some(signal), _) => Some(format!("ended by signal {signal}")),
            (None, Some(status)) if status != 0 => {
                let check = self.failed_check.map_or_else(String::new, |check| format!(": {check}"));
                Some(format!("ended with status {status}{check}"))
            }
            _ => None,
        }
    }

    /// Adds the command that reproduces the findings.
    #[must_use]
    pub fn reproduced_by(self, command: String) -> Self {
        Self { reproduce: Some(command), ..self }
    }

    /// Adds which instructions were to be compared, if that has left any out: otherwise it is no sample.
    #[must_use]
    pub fn sampled(self, sampling: Sampling) -> Self {
        Self { sampling: (self.summary.left_out > 0).then_some(sampling), ..self }
    }

    /// Says that the run was sampled. `None` if it was not.
    pub(super) fn sample(&self) -> Option<String> {
        let sampling = self.sampling.as_ref()?;
        let CheckSummary { counts, left_out, .. } = self.summary;
        Some(format!(
            "a sample was compared: {sampling}; {} of {} {} not in it",
            grouped(left_out),
            counted(counts.instructions, "instruction"),
            if left_out == 1 { "is" } else { "are" }
        ))
    }

    /// Whether so much was excluded that what was compared proves too little.
    #[must_use]
    pub fn excludes_too_much(&self) -> bool {
        is_too_much(&self.excluded, self.summary.counts.comparisons)
    }

    /// Whether at least a share of the executed code that could have an FDE has one.
    #[must_use]
    pub fn reaches(&self, floor: Percent) -> bool {
        let (covered, missing) = (self.summary.instructions_covered, self.summary.instructions_missing());
        missing == 0 || floor.is_reached_by(covered, covered.saturating_add(missing))
    }

    /// Whether at least a share of all executed code that call frame information describes has an FDE, also in files without a
    /// section: what was demanded of the whole program.
    #[must_use]
    pub fn reaches_everywhere(&self, share: Percent) -> bool {
        let covered = self.summary.instructions_covered;
        let missing = self.summary.instructions_missing().saturating_add(self.summary.with_cfi[0]);
        missing == 0 || share.is_reached_by(covered, covered.saturating_add(missing))
    }

    /// Why less is covered than was demanded of the whole program.
    #[must_use]
    pub fn why_share_is_not_reached(&self) -> String {
        let is_missing = self.summary.instructions_missing() > 0;
        let in_others = self.summary.with_cfi[0];
        let without = self.images.iter().filter(|image| image.section == Origin::None);
        let without: Vec<&str> =
            without.map(|image| image.name.as_deref().unwrap_or_else(|| file_name(&self.file))).collect();
        let others = (in_others > 0).then(|| {
            let says =
                "of those that call frame information describes were executed in files without .sframe";
            format!("{} {says} ({})", counted(in_others, "instruction"), first_of(&without, LISTED))
        });
        let parts: Vec<String> = is_missing.then(|| self.missing()).into_iter().chain(others).collect();
        format!("{MISSING_FDE}: {}", parts.join("; "))
    }

    /// Why a section made of call frame information says too little, if some of that could not be read, and more than 1 % of
    /// what ran has no FDE, or more than may.
    #[must_use]
    pub fn why_cfi_is_unread(&self, share: Option<Percent>) -> Option<String> {
        let covered = self.summary.instructions_covered;
        let without = self.summary.uncovered.values().fold(0, |all: u64, count| all.saturating_add(*count));
        let all = covered.saturating_add(without);
        let is_enough = match share {
            Some(share) => share.is_reached_by(covered, all),
            None => without.saturating_mul(100) <= all,
        };
        let first = self.images.iter().find_map(|image| image.lacks.as_ref()?.what_is_unread())?;
        (!is_enough).then(|| {
            format!(
                "{} of {} executed have no FDE, and {first}",
                grouped(without),
                counted(all, "instruction")
            )
        })
    }

    /// Why it is not known whether that share of the executed code has an FDE, if it has not even if none is missing where
    /// nothing says so.
    #[must_use]
    pub fn why_coverage_is_unknown(&self, share: Percent) -> Option<String> {
        let unknown = self.summary.without_cfi;
        let known = self.summary.instructions_covered.saturating_add(self.summary.instructions_missing());
        let all = known.saturating_add(unknown);
        let is_known = unknown == 0 || share.is_reached_by(self.summary.instructions_covered, all);
        (!is_known).then(|| {
            format!(
                "{} of {} executed in files with a section have no FDE, and no call frame information that can be read \
                 says whether they could have one (--coverage)",
                grouped(unknown),
                counted(all, "instruction"),
            )
        })
    }

    /// Says which FDEs are missing, in a sentence.
    fn missing(&self) -> String {
        let missing = self.summary.instructions_missing();
        let mut functions: Vec<(&String, &u64)> = self.summary.missing.iter().collect();
        functions.sort_by_key(|(_, count)| Reverse(**count));
        let names: Vec<&String> = functions.into_iter().map(|(name, _)| name).collect();
        let (have, their) = if names.len() == 1 { ("has", "its") } else { ("have", "their") };
        format!(
            "{} {have} no FDE, although {their} CFI can be expressed in SFrame: {} of {} executed instructions in files \
             with a section ({})",
            counted(names.len() as u64, "function"),
            grouped(missing),
            grouped(self.summary.instructions_covered.saturating_add(missing)),
            first_of(&names, LISTED)
        )
    }

    /// Whether all sections were made from call frame information.
    pub(super) fn is_made(&self) -> bool {
        self.has_section_of(Origin::EhFrame) && !self.has_section_of(Origin::Sframe)
    }

    /// Whether the section of an image comes from there.
    pub(super) fn has_section_of(&self, origin: Origin) -> bool {
        self.images.iter().any(|image| image.section == origin)
    }

    /// Adds why what was judged is too little, if it is, or less than was demanded, and which FDEs are missing.
    #[must_use]
    pub fn limited(self, too_little: Vec<String>, unmet: Option<String>) -> Self {
        let is_missing = self.summary.instructions_missing() > 0;
        let missing_fde = is_missing.then(|| self.why_fdes_are_too_few());
        Self { too_little, unmet, missing_fde, ..self }
    }

    /// Which FDEs are missing, unless that is why what was judged is too little.
    pub(super) fn missing_line(&self) -> Option<&str> {
        let missing = self.missing_fde.as_deref()?;
        let is_said = self.unmet.iter().chain(&self.too_little).any(|said| said.starts_with(missing));
        (!is_said).then_some(missing)
    }

    /// The result in a few words, if there is no result, or one that proves nothing.
    pub(super) fn without_result(&self) -> Option<NoResult> {
        match (&self.broken, self.summary.verdicts.is_empty()) {
            (Some(_), _) => Some(NoResult::Broken),
            (None, false) => None,
            (None, true) if self.unmet.is_some() => Some(NoResult::LessCovered),
            (None, true) if self.summary.counts.comparisons == 0 => Some(NoResult::NothingCompared),
            (None, true) => (!self.too_little.is_empty()).then_some(NoResult::TooLittleJudged),
        }
    }

    /// Why less is covered than was demanded: which FDEs are missing.
    #[must_use]
    fn why_fdes_are_too_few(&self) -> String {
        format!("{MISSING_FDE}: {}", self.missing())
    }

    /// Why what was judged is too little, and what accepts it.
    #[must_use]
    pub fn why_fdes_are_too_few_to_judge(&self) -> String {
        let (covered, missing) = (self.summary.instructions_covered, self.summary.instructions_missing());
        let share = covered.saturating_mul(100).checked_div(covered.saturating_add(missing)).unwrap_or(0);
        format!("{}; `--coverage {share}%` accepts that", self.why_fdes_are_too_few())
    }

    /// Which functions lack an FDE that those around them have, and what accepts it; `None` if there is none.
    #[must_use]
    pub fn why_fde_is_missing(&self) -> Option<String> {
        let alone: Vec<&String> = self.summary.missing_alone.iter().collect();
        let (own, are) = if alone.len() == 1 { ("its", "it") } else { ("their", "them") };
        (!alone.is_empty()).then(|| {
            format!(
                "{MISSING_FDE}: {} ran without an FDE; {own} call frame information can be expressed, and the functions \
                 around {are} have one (`--coverage {FLOOR}` accepts that)",
                first_of(&alone, LISTED),
                FLOOR = Percent::NINE_TENTHS,
            )
        })
    }

    /// Why there is no result, or one that proves nothing.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        self.broken.clone().or_else(|| self.unmet.clone()).or_else(|| self.no_result())
    }

    /// Why there is no result, or too little of one.
    pub(super) fn no_result(&self) -> Option<String> {
        let too_little = || (!self.too_little.is_empty()).then(|| self.too_little.join("; "));
        self.broken.clone().or_else(too_little)
    }

    /// Whether anything was compared, by rows of a section.
    #[must_use]
    pub fn has_used_rows(&self) -> bool {
        let rows = &self.summary.rows;
        self.summary.counts.comparisons > 0 && rows.exercised + rows.exercised_as_caller > 0
    }

    /// Says why there are no comparisons.
    #[must_use]
    pub fn why_nothing_compared(&self) -> String {
        if self.summary.counts.comparisons > 0 {
            return "no row of a section was used: nothing is known of any".to_owned();
        }
        let Some(sampling) = self.sampling.as_ref().filter(|_| self.summary.left_out > 0) else {
            return NOTHING_COMPARED.to_owned();
        };
        let instructions = grouped(self.summary.counts.instructions);
        match &sampling.from {
            Some(start)
                if sampling.every.is_none() && self.summary.left_out == self.summary.counts.instructions =>
            {
                format!(
                    "nothing was compared: `{}` is not among the {instructions} instructions executed",
                    start.function
                )
            }
            _ => format!(
                "nothing was compared of the {instructions} instructions executed, with the sample {sampling}"
            ),
        }
    }
}

/// Counts findings, including those that are omitted, by verdict.
pub(super) fn verdicts(findings: &[Finding], omitted: &BTreeMap<Verdict, u64>) -> BTreeMap<String, u64> {
    let named = |(verdict, count): (&Verdict, &u64)| (verdict.to_string(), *count);
    let mut verdicts: BTreeMap<String, u64> = omitted.iter().map(named).collect();
    for group in groups(findings) {
        *verdicts.entry(group.first.verdict.to_string()).or_default() += 1;
    }
    verdicts
}
