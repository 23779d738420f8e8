//! What any report says of each case, in the terms in which two reports are compared.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sframe_corpus::shard::Shard;
use sframe_judge::compare::{ByTopmost, Reliabilities};
use sframe_judge::examine::coverage::{ExploredRows, RowCounts};
use sframe_judge::external::UnwinderReport;
use sframe_judge::finding::Finding;
use sframe_judge::target::Origin;
use sframe_judge::vocabulary::Verdict;
use sframe_kit::conclusion::Ending;
use sframe_kit::text::{first_of, grouped};
use sframe_vectors::words::of_json;

use crate::case::{CaseReport, Outcome, SeenKnown};
use crate::identity::{Identity, Places};
use crate::provenance::Provenance;
use crate::report::{NoResult, Report, RunIdentity, SCHEMA, file_name};

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
    /// Not all of its cases were run.
    #[error("the run was interrupted: `--resume` runs its other cases")]
    Interrupted,
    /// Not everything was judged.
    #[error("the command was interrupted before it had judged everything: run it again")]
    Unfinished,
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
            Self::Explore => "rows that were not checked",
        }
    }

    /// Which rows it counts, in words.
    const fn rows(self) -> &'static str {
        match self {
            Self::Run | Self::Check => "rows exercised",
            Self::Explore => "rows checked",
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
    pub(super) shard: Option<Shard>,
    pub(super) kind: ReportKind,
    /// Whether it is about several files, or those of a folder.
    pub(super) is_of_several: bool,
    pub(super) cases: BTreeMap<String, CaseResults>,
    /// Which instructions were compared, if not all; of a run, what was asked of each case.
    pub(super) sampling: Option<Value>,
    /// Where the section of each image is from, by the image's name.
    sections: BTreeMap<Option<String>, Origin>,
}

/// The results of a case: what two runs of it are compared by, and a baseline keeps.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "the results of a case, which are an object")]
pub(in crate::report) struct CaseResults {
    /// The outcome.
    pub(in crate::report) outcome: Outcome,
    /// What that is called, if there is no result, or one that proves nothing, of a file that is not broken.
    #[serde(skip)]
    pub(super) without_result: Option<NoResult>,
    /// Why it is broken or skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::report) reason: Option<String>,
    /// The number of rows that a topmost frame used; of an explored file, rows judged.
    pub(super) rows_exercised: u64,
    /// The others, of those that cover something.
    pub(super) rows_left: u64,
    /// Rows that agree at some of their instructions only, of an explored file.
    #[serde(default, skip_serializing_if = "sframe_kit::json::is_zero")]
    pub(super) rows_partly: u64,
    /// The functions and libraries of which code without an FDE was executed, with the number of different instructions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) uncovered: BTreeMap<String, u64>,
    /// What else was looked at, and what was not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) looked_at: BTreeMap<LookedAt, u64>,
    /// Instructions executed; none of an explored file.
    #[serde(default)]
    pub(super) instructions: u64,
    /// A digest of the code of an explored file.
    #[serde(skip)]
    pub(super) code: Option<String>,
    /// Instructions executed, if no other unwinder is under test, and those at which something was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) executed: Option<[u64; 2]>,
    /// Executed instructions that could have an FDE, and have none.
    #[serde(default, skip_serializing_if = "sframe_kit::json::is_zero")]
    pub(super) without_fde: u64,
    /// Rows that did not run, and are proved to be wrong.
    #[serde(default, skip_serializing_if = "sframe_kit::json::is_zero")]
    pub(super) wrong_unused: u64,
    /// Walks that were complete, and those that were silent or wrong.
    pub(super) walks: [u64; 2],
    /// What the walks were worth, by what the topmost frame was in.
    #[serde(skip)]
    pub(super) reliability: ByTopmost,
    /// What was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) found: Vec<Found>,
    /// Findings that were only counted, by verdict.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) omitted: BTreeMap<Verdict, u64>,
}

/// Something that was found in a case. A row may be wrong for a known cause and for another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report) struct Found {
    /// What it is known by.
    pub(super) finding: Identity,
    /// What it comes from.
    pub(super) cause: Cause,
    /// At how many places it is.
    pub(super) places: u64,
}

impl CaseResults {
    /// Those of a case of a run.
    pub(in crate::report) fn of(case: &CaseReport) -> Self {
        Self {
            outcome: case.outcome,
            without_result: None,
            reason: case.reason.clone(),
            rows_exercised: case.rows.exercised,
            rows_left: case.rows.left(),
            rows_partly: 0,
            uncovered: case.uncovered.clone(),
            looked_at: LookedAt::of(
                [case.stops, case.signals.delivered, case.rows.exercised_as_caller, 0, 0],
                case.unwinder.as_ref(),
            ),
            instructions: case.counts.instructions,
            code: None,
            executed: case.unwinder.is_none().then_some([case.counts.instructions, case.counts.comparisons]),
            without_fde: 0,
            wrong_unused: ExploredRows::of(&case.unreached).wrong,
            walks: walks(&case.reliability_by_topmost),
            reliability: case.reliability_by_topmost.clone(),
            found: found(&case.findings, &case.known),
            omitted: case.findings_omitted.clone(),
        }
    }

    /// Those of a file that can't be used.
    fn unusable(why: &str) -> Self {
        Self {
            outcome: Outcome::Broken,
            without_result: None,
            reason: Some(why.to_owned()),
            rows_exercised: 0,
            rows_left: 0,
            rows_partly: 0,
            uncovered: BTreeMap::new(),
            looked_at: BTreeMap::new(),
            instructions: 0,
            code: None,
            executed: None,
            without_fde: 0,
            wrong_unused: 0,
            walks: [0; 2],
            reliability: ByTopmost::default(),
            found: Vec::new(),
            omitted: BTreeMap::new(),
        }
    }

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
        self.without_result.map_or_else(|| self.outcome.name().to_owned(), |why| why.to_string())
    }

    /// The outcome with its reason.
    pub(super) fn says(&self) -> String {
        let outcome = self.outcome_in_words();
        let why = self.reason.as_deref().and_then(|reason| reason.lines().next());
        why.filter(|why| !why.is_empty()).map_or_else(|| outcome.clone(), |why| format!("{outcome}: {why}"))
    }

    /// What nobody has accepted.
    pub(in crate::report) fn open(&self) -> Places {
        self.found_if(|cause| !cause.is_known)
    }

    /// What is known.
    pub(super) fn known(&self) -> Places {
        self.found_if(|cause| cause.is_known)
    }

    fn found_if(&self, is_meant: impl Fn(&Cause) -> bool) -> Places {
        let mut places = Places::new();
        for found in self.found.iter().filter(|found| is_meant(&found.cause)) {
            let sum = places.entry(found.finding.clone()).or_default();
            *sum = sum.saturating_add(found.places);
        }
        places
    }

    /// What was counted in both of two cases that could be judged, apart from findings.
    pub(super) fn measures(before: &Self, after: &Self, kind: ReportKind) -> Vec<Measure> {
        let both = [before, after];
        let is_judged = both.iter().all(|case| case.is_judged());
        // Of another program, other numbers are to be expected.
        let is_same_run = before.instructions == after.instructions
            && before.code == after.code
            && (kind != ReportKind::Explore || before.code.is_some());
        let not_judged = match both.map(|case| case.executed) {
            [Some([were, before]), Some([are, after])] if is_same_run => {
                [were - before.min(were), are - after.min(are)]
            }
            _ => [0; 2],
        };
        let more = |what, counts| Measure { what, counts, is_more_worse: true };
        let fewer = |what, counts| Measure { what, counts, is_more_worse: false };
        let of_judged = [
            more("walks that are silent or wrong", both.map(|case| case.walks[1])),
            more("instructions that could have an FDE, and have none", both.map(|case| case.without_fde)),
            more("instructions that were not checked", not_judged),
            more("rows that did not run, and are wrong", both.map(|case| case.wrong_unused)),
            fewer("complete walks", both.map(|case| if is_same_run { case.walks[0] } else { 0 })),
            more("rows that agree in part only", both.map(|case| case.rows_partly)),
        ];
        // Another program has other rows.
        let are_same_rows = kind == ReportKind::Run || is_same_run;
        let rows = both.map(|case| case.rows_exercised.saturating_add(case.rows_left));
        let of_rows = [
            // Rows that are gone are not left.
            (rows[1] >= rows[0]).then(|| more(kind.rows_left(), both.map(|case| case.rows_left))),
            Some(fewer(kind.rows(), both.map(|case| case.rows_exercised))),
            is_same_run.then(|| fewer("rows", rows)),
        ];
        let of_rows = of_rows.into_iter().flatten().filter(|_| are_same_rows);
        let looked_at: BTreeSet<LookedAt> =
            both.iter().flat_map(|case| case.looked_at.keys().copied()).collect();
        let looked_at = looked_at.into_iter().map(|what| {
            let counts = both.map(|case| case.looked_at.get(&what).copied().unwrap_or(0));
            fewer(what.says(), counts)
        });
        // Another program may have less of something, but not nothing.
        let looked_at = looked_at.filter(|measure| is_same_run || measure.counts.contains(&0));
        let in_both =
            before.uncovered.keys().filter(|name| is_same_run && after.uncovered.contains_key(*name));
        let uncovered = in_both.map(|name| {
            more(
                "instructions executed without an FDE in functions that have some",
                both.map(|case| case.uncovered[name]),
            )
        });
        let all = of_judged.into_iter().chain(of_rows).chain(looked_at).chain(uncovered);
        all.filter(|measure| is_judged && measure.differs()).collect()
    }

    /// The functions and libraries of which code without an FDE was executed, and of none such of another case.
    pub(super) fn uncovered_beside(&self, other: &Self) -> Option<String> {
        const LISTED: usize = 3;
        let is_new = |name: &&String| !other.uncovered.contains_key(*name);
        let new: Vec<&String> = self.uncovered.keys().filter(is_new).collect();
        let is_judged = self.is_judged() && other.is_judged();
        // Without symbols, code is called by its section: then only how much there is can be compared.
        let is_section = |name: &String| name.rsplit('!').next().is_some_and(|name| name.starts_with('.'));
        let is_stripped = [self, other].iter().any(|case| case.uncovered.keys().any(is_section));
        let sum = |case: &Self| case.uncovered.values().sum::<u64>();
        let is_more = !is_stripped || sum(self) > sum(other);
        (is_judged && is_more && !new.is_empty())
            .then(|| format!("executed without an FDE: {}", first_of(&new, LISTED)))
    }
}

/// What is looked at besides: of each, less is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::report) enum LookedAt {
    /// Stops of the spec that were reached.
    Stops,
    /// Signals that were delivered.
    Signals,
    /// Rows that a caller's frame has used.
    RowsAsCaller,
    /// Stops at which something was compared that an unwinder under test has answered.
    UnwinderStops,
    /// Frames of its that were compared.
    UnwinderFrames,
    /// Those of them whose CFA it gave.
    UnwinderCfas,
    /// Those of them whose FP it gave.
    UnwinderFps,
    /// Frames of which it said whether they were interrupted.
    UnwinderInterruptions,
    /// Return addresses that it called signed.
    UnwinderSignatures,
    /// Rows that agree wherever they are judged, of an explored file.
    RowsThatAgree,
    /// Images in which a segment says where the section is.
    Segments,
}

impl LookedAt {
    fn of(
        [stops, signals, rows_as_caller, rows_that_agree, segments]: [u64; 5],
        unwinder: Option<&UnwinderReport>,
    ) -> BTreeMap<Self, u64> {
        let mut all = vec![
            (Self::Stops, stops),
            (Self::Signals, signals),
            (Self::RowsAsCaller, rows_as_caller),
            (Self::RowsThatAgree, rows_that_agree),
            (Self::Segments, segments),
        ];
        if let Some(report) = unwinder {
            let UnwinderReport { stops, nothing_compared, unread, frames, fp_untold, cfa_untold, .. } =
                report;
            let compared = stops.saturating_sub(*nothing_compared).saturating_sub(*unread);
            all.extend([
                (Self::UnwinderStops, compared),
                (Self::UnwinderFrames, *frames),
                (Self::UnwinderCfas, frames.saturating_sub(*cfa_untold)),
                (Self::UnwinderFps, frames.saturating_sub(*fp_untold)),
                (Self::UnwinderInterruptions, report.interrupted_told),
                (Self::UnwinderSignatures, report.signed_told),
            ]);
        }
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    const fn says(self) -> &'static str {
        match self {
            Self::Stops => "stops of the spec",
            Self::Signals => "signals delivered",
            Self::RowsAsCaller => "rows exercised as a caller's",
            Self::UnwinderStops => "stops at which the unwinder's answer was compared",
            Self::UnwinderFrames => "frames of the unwinder that were compared",
            Self::UnwinderCfas => "frames whose CFA the unwinder gave",
            Self::UnwinderFps => "frames whose FP the unwinder gave",
            Self::UnwinderInterruptions => "frames of which the unwinder said whether they were interrupted",
            Self::UnwinderSignatures => "return addresses that the unwinder called signed",
            Self::RowsThatAgree => "rows that agree",
            Self::Segments => "images whose section a segment names",
        }
    }
}

/// Something that is counted, before and after.
pub(super) struct Measure {
    what: &'static str,
    counts: [u64; 2],
    is_more_worse: bool,
}

impl Measure {
    const fn differs(&self) -> bool {
        self.counts[0] != self.counts[1]
    }

    /// Whether it got worse, and not better.
    pub(super) const fn is_worse(&self) -> bool {
        (self.counts[1] > self.counts[0]) == self.is_more_worse
    }

    /// Both numbers, in words.
    pub(super) fn says(&self) -> String {
        let [were, are] = self.counts.map(grouped);
        format!("{}: {are}, not {were}", self.what)
    }
}

/// What a finding comes from, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report) struct Cause {
    /// The name of a fault or the reason of an entry; or else the verdict and the component to blame.
    pub(super) name: String,
    /// Whether somebody has accepted it.
    pub(super) is_known: bool,
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
    /// Of `explore`.
    #[serde(default)]
    code: Option<String>,
    /// Of `check`.
    #[serde(default)]
    asked: Option<Value>,
    summary: OfFileSummary,
    #[serde(default)]
    sampling: Option<Value>,
    findings: Vec<MaybeProved>,
    #[serde(default)]
    findings_omitted: BTreeMap<Verdict, u64>,
    known: Vec<SeenKnown>,
    #[serde(default)]
    unwinder: Option<UnwinderReport>,
    /// Of `check`.
    #[serde(default)]
    images: Vec<SectionOf>,
    /// Of `explore`.
    #[serde(default)]
    section: Option<SectionOf>,
    /// Of `explore`.
    #[serde(default)]
    only_functions: Vec<String>,
}

/// Where the section of an image is from.
#[derive(Deserialize)]
struct SectionOf {
    /// Older reports do not say that.
    #[serde(default)]
    segment: bool,
    name: Option<String>,
    section: Origin,
}

#[derive(Deserialize)]
struct OfFileSummary {
    /// Of `explore`: rows judged.
    #[serde(alias = "rows_checked")]
    rows_exercised: u64,
    #[serde(default)]
    rows_total: u64,
    /// Of `explore`.
    #[serde(default)]
    rows_agree: u64,
    #[serde(default)]
    rows_exercised_as_caller: u64,
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
        let is_of_run = document.get("cases").is_some();
        if !is_of_run && document["verdict"] == Ending::Interrupted.to_string() {
            return Err(UnreadReport::Unfinished);
        }
        match ["cases", "file", "files"].map(|key| document.get(key)) {
            [Some(_), ..] => Self::of_run(placed(document, bytes)?),
            [None, Some(_), _] => Self::of_file(&document, placed(document.clone(), bytes)?),
            [None, None, Some(Value::Array(files))] => Self::of_files(files),
            [None, None, _] => Err(UnreadReport::Other),
        }
    }

    /// Those of all files of a folder, each by its name as it was given.
    fn of_files(files: &[Value]) -> Result<Self, UnreadReport> {
        let nothing = Some(json!([Value::Null, Value::Null, []]));
        let mut all =
            Self { kind: ReportKind::Explore, is_of_several: true, sampling: nothing, ..Self::default() };
        for document in files {
            let file = document["file"].as_str().ok_or(UnreadReport::Other)?;
            let case = match document["error"].as_str() {
                Some(error) => CaseResults::unusable(error),
                None => {
                    let one = Self::of_file(document, OfFile::deserialize(document)?)?;
                    (all.sampling, all.provenance) = (one.sampling, all.provenance.or(one.provenance));
                    all.sections
                        .extend(one.sections.into_values().map(|section| (Some(file.to_owned()), section)));
                    let case = one.cases.into_values().next().filter(|_| one.kind == ReportKind::Explore);
                    case.ok_or(UnreadReport::Other)?
                }
            };
            // An archive may have several members of a name.
            let mut name = file.to_owned();
            for number in 2.. {
                if !all.cases.contains_key(&name) {
                    break;
                }
                name = format!("{file} ({number})");
            }
            all.cases.insert(name, case);
        }
        Ok(all)
    }

    /// The cases by the names that files of another report have: of each, that with the longest end in common, from a
    /// whole name on. A folder may be elsewhere, or have another name.
    pub(super) fn named_as(&self, other: &Self) -> BTreeMap<String, CaseResults> {
        let last = |name: &str| file_name(name).to_owned();
        let common = |one: &str, other: &str| {
            one.rsplit('/').zip(other.rsplit('/')).take_while(|(one, other)| one == other).count()
        };
        let mut free: BTreeMap<String, Vec<&String>> = BTreeMap::new();
        for name in other.cases.keys() {
            free.entry(last(name)).or_default().push(name);
        }
        let mut named = BTreeMap::new();
        for (name, case) in &self.cases {
            let candidates = free.get_mut(&last(name));
            let best = candidates.and_then(|candidates| {
                let best = (0..candidates.len()).max_by_key(|index| common(name, candidates[*index]))?;
                Some(candidates.swap_remove(best).clone())
            });
            named.insert(best.unwrap_or_else(|| name.clone()), case.clone());
        }
        named
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
        if report.interrupted {
            return Err(UnreadReport::Interrupted);
        }
        if let Some(id) = report.twice().first() {
            return Err(UnreadReport::Twice((*id).to_owned()));
        }
        let cases = report.cases.iter().map(|case| (case.id.clone(), CaseResults::of(case)));
        Ok(Self {
            provenance: report.provenance,
            sampling: report.run.as_ref().map(|run| json!(run.asked())),
            run: report.run,
            shard: report.shard,
            kind: ReportKind::Run,
            is_of_several: false,
            cases: cases.collect(),
            sections: BTreeMap::new(),
        })
    }

    fn of_file(document: &Value, report: OfFile) -> Result<Self, UnreadReport> {
        let is_explored = document.pointer("/summary/rows_checked").is_some();
        let kind = if is_explored { ReportKind::Explore } else { ReportKind::Check };
        let OfFile {
            schema,
            provenance,
            file,
            broken,
            too_little,
            unmet,
            interrupted,
            code,
            asked,
            summary,
            sampling,
            findings,
            findings_omitted: omitted,
            known,
            unwinder,
            images,
            section,
            only_functions,
        } = report;
        if schema != SCHEMA {
            return Err(UnreadReport::Schema(schema));
        }
        if interrupted {
            return Err(UnreadReport::Unfinished);
        }
        let is_checked_by_engine = !is_explored && unwinder.is_none();
        // What may be wrong is no finding.
        let is_proved = |found: &MaybeProved| found.certainty.as_deref().is_none_or(|sure| sure == "proved");
        let findings: Vec<Finding> =
            findings.into_iter().filter(is_proved).map(|found| found.finding).collect();
        let proves_too_little = !too_little.is_empty() || is_explored && summary.rows_exercised == 0;
        let too_few = (!too_little.is_empty()).then(|| too_little.join("; "));
        // What is wrong is wrong, however little was judged; what proves nothing is no result.
        let is_nothing = is_explored && summary.rows_exercised == 0;
        let too_little = if is_nothing { NoResult::NothingJudged } else { NoResult::TooLittleJudged };
        let (outcome, without_result, reason) = match () {
            () if broken.is_some() => (Outcome::Broken, None, broken),
            () if !findings.is_empty() || !omitted.is_empty() => (Outcome::Unexpected, None, unmet),
            () if unmet.is_some() => (Outcome::Unexpected, Some(NoResult::LessCovered), unmet),
            () if proves_too_little => (Outcome::Broken, Some(too_little), too_few),
            () if !known.is_empty() => (Outcome::Known, None, None),
            () => (Outcome::Agree, None, None),
        };
        let segments = images.iter().chain(&section).filter(|image| image.segment).count();
        let case = CaseResults {
            outcome,
            without_result,
            reason,
            rows_exercised: summary.rows_exercised,
            rows_left: RowCounts {
                exercised: summary.rows_exercised,
                total: summary.rows_total,
                without_caller: summary.rows_without_caller,
                ..RowCounts::default()
            }
            .left(),
            rows_partly: summary.rows_partly,
            uncovered: summary.uncovered,
            looked_at: LookedAt::of(
                [0, 0, summary.rows_exercised_as_caller, summary.rows_agree, segments as u64],
                unwinder.as_ref(),
            ),
            // What exploring executes is the code that it judges.
            instructions: if is_explored { 0 } else { summary.instructions },
            code,
            executed: is_checked_by_engine.then_some([summary.instructions, summary.comparisons]),
            without_fde: summary.missing.values().sum(),
            wrong_unused: summary.rows_explored.wrong,
            walks: walks(&summary.reliability_by_topmost),
            reliability: summary.reliability_by_topmost,
            found: found(&findings, &known),
            omitted,
        };
        let cases = BTreeMap::from([(file_name(&file).to_owned(), case)]);
        let sections = images.into_iter().chain(section).map(|image| (image.name, image.section)).collect();
        let sampling = Some(json!([sampling, asked, only_functions]));
        Ok(Self { provenance, run: None, shard: None, kind, is_of_several: false, cases, sampling, sections })
    }
}

/// What a document says. An error has its place, which only the text has.
fn placed<T: DeserializeOwned>(document: Value, bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_value(document).or_else(|_| serde_json::from_slice(bytes))
}

fn found(findings: &[Finding], known: &[SeenKnown]) -> Vec<Found> {
    let unknown = findings.iter().map(|finding| {
        let looks_like = finding.fault.as_ref().map(|fault| format!(", matches known bug {}", fault.name));
        let name =
            format!("{}, {} to blame{}", finding.verdict, finding.blame, looks_like.unwrap_or_default());
        ((Identity::of(finding), Cause { name, is_known: false }), finding.places)
    });
    let known = known.iter().map(|seen| {
        let name = seen.fault.clone().unwrap_or_else(|| seen.reason.clone());
        ((Identity::of(&seen.finding), Cause { name, is_known: true }), seen.places)
    });
    let mut found: BTreeMap<(Identity, Cause), u64> = BTreeMap::new();
    for (cause, places) in known.chain(unknown) {
        let sum = found.entry(cause).or_default();
        *sum = sum.saturating_add(places);
    }
    found.into_iter().map(|((finding, cause), places)| Found { finding, cause, places }).collect()
}

/// How many walks are complete, and how many silent or wrong.
fn walks(reliability: &ByTopmost) -> [u64; 2] {
    let Reliabilities { complete, silent, wrong, .. } = reliability.total();
    [complete, silent.saturating_add(wrong)]
}
