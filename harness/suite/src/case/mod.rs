//! A case: one spec on one build, and its result.

mod judge;
mod known_findings;
mod reason;
mod report;
mod settle;
pub(crate) mod stand_in;

pub use known_findings::{KnownText, known_findings};
pub use reason::{BrokenReason, NOTHING_COMPARED, NoSuchPlace, NoWorker, SkipReason};
pub use report::{CaseReport, CaseResult, Outcome, SeenKnown, SignalCounts};
pub use settle::{Settled, settle};

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sframe_corpus::corpus::Build;
use sframe_corpus::signs::point_out;
use sframe_corpus::spec::{BuildFacts, Faults, Location, Producer, Spec, Stop, Sweep};
use sframe_corpus::yaml::{self, Source};
use sframe_engine::Section;
use sframe_machine::{Options, System};
use sha2::{Digest as _, Sha256};

use crate::case::judge::{
    judge_coverage, judge_ends, judge_excluded, judge_signals, judge_stop, judge_sweep,
};
use sframe_judge::compare::ByTopmost;
use sframe_judge::examine::counts::Counts;
use sframe_judge::examine::coverage::{Coverage, RowCounts, UnexercisedRow};
use sframe_judge::examine::listings::Listing;
use sframe_judge::examine::{
    Breakpoint, BrokenRun, Examination, ExamineOptions, Probe, Signals, broken_reason, examine_with,
};
use sframe_judge::explore::{Explorer, Progress};
use sframe_judge::external::{External, ExternalError, UnwinderExamination};
use sframe_judge::finding::{Finding, Message};
use sframe_judge::target::files::Files;
use sframe_judge::target::{Linked, Loaded, Target};
use sframe_judge::truth::control_flow::Features;
use sframe_judge::truth::cross_check::Traces;
use sframe_judge::unwind::MakeUnwinder;
use sframe_judge::vocabulary::Verdict;
use sframe_judge::vocabulary::suggest;

/// The unwinder under test.
#[derive(Clone, Copy)]
pub enum UnderTest<'u> {
    /// Written in Rust.
    Rust(&'u MakeUnwinder),
    /// In separate processes, one for each case.
    External(&'u External),
}

/// What is asked of a case besides its spec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Demands {
    /// The code with what was seen there, which only unwinders in Rust provide.
    pub is_listed: bool,
    /// See [`ExamineOptions::requires_reliable`].
    pub requires_reliable: bool,
    /// What its known failures explain is decided when it is known which faults findings come from: see `Case::explain`.
    pub settles_late: bool,
}

/// How much of a case is run, and what is recorded.
#[derive(Default)]
pub struct RunScope<'p> {
    /// Leaves out the signals, and the spec's expectations of them.
    pub without_signals: bool,
    /// Sees the run beside the unwinder.
    pub probe: Option<&'p mut dyn Probe>,
    /// See [`ExamineOptions::ignores_fp`].
    pub ignores_fp: bool,
    /// See [`ExamineOptions::requires_reliable`].
    pub requires_reliable: bool,
    /// See [`Demands::settles_late`].
    pub settles_late: bool,
    /// Receives the code with what was seen there.
    pub listing: Option<&'p mut Option<Listing>>,
}

/// A spec and a build that it applies to.
#[derive(Clone, Copy, Debug)]
pub struct Case<'c> {
    /// The spec.
    pub spec: &'c Spec,
    /// The spec's text, for errors that point into it.
    pub source: &'c Source,
    /// The build.
    pub build: &'c Build,
    /// The producer of the build.
    pub producer: &'c Producer,
}

impl Case<'_> {
    /// Returns what selectors match against.
    #[must_use]
    pub fn facts(&self) -> BuildFacts<'_> {
        BuildFacts {
            producer: self.producer,
            abi: self.build.abi,
            variant: &self.build.variant,
            sframe_version: self.build.sframe_version,
        }
    }

    /// `<spec>/<toolchain>/<abi>/<variant>`.
    #[must_use]
    pub fn id(&self) -> String {
        let Build { toolchain, abi, variant, .. } = self.build;
        format!("{}/{toolchain}/{abi}/{variant}", spec_name(self.source))
    }

    /// Returns the SHA-256, in hexadecimal, of everything that decides the result,
    /// except for the bench and its options: the spec's text, the build with its
    /// files, and its producer.
    #[must_use]
    pub fn inputs(&self) -> String {
        // Both are plain text and numbers, so serialization can't fail.
        let build = serde_json::to_string(self.build).unwrap_or_default();
        let producer = serde_json::to_string(self.producer).unwrap_or_default();
        format!("{:x}", Sha256::digest([self.source.text(), &build, &producer].join("\0")))
    }

    /// Runs the case. All errors are in the report.
    #[must_use]
    pub fn run(
        &self,
        corpus: &Path,
        options: &Options,
        unwinder: UnderTest<'_>,
        demands: Demands,
    ) -> CaseResult {
        let Demands { is_listed, requires_reliable, settles_late } = demands;
        let mut listing = None;
        let report = match unwinder {
            UnderTest::Rust(make_unwinder) => self.on_its_files(corpus, |target, report| {
                let listing = is_listed.then_some(&mut listing);
                let extent = RunScope { listing, requires_reliable, settles_late, ..RunScope::default() };
                self.examine(target, options, make_unwinder, extent, report)
            }),
            UnderTest::External(external) => self.run_external(corpus, options, external, requires_reliable),
        };
        CaseResult { report, listing }
    }

    /// Says in a report of the case what exploring says of the rows that were not used, and of those with findings,
    /// and which page describes the cause of each finding; each if somebody wants to know.
    pub(crate) fn explain(
        &self,
        corpus: &Path,
        explorer: Option<&Explorer>,
        faults: Option<&Faults>,
        settles_late: bool,
        report: &mut CaseReport,
    ) {
        let has_findings = !report.findings.is_empty();
        let explorer =
            explorer.filter(|_| has_findings || !report.unreached.is_empty() || !report.excluded.is_empty());
        if explorer.is_none() && !has_findings {
            return;
        }
        // If its files can't be opened, the case is broken, and has nothing to explain.
        let Ok(files) = self.build.files(corpus) else { return };
        let Ok(target) = self.open(&files) else { return };
        if let Some(explorer) = explorer {
            self.explore(&target, explorer, report);
        }
        let (none, proofs) = (Faults::default(), report.unreached.iter_mut().flat_map(|row| &mut row.proof));
        let findings = report.findings.iter_mut().chain(proofs);
        point_out(findings, &target, faults.unwrap_or(&none), Some(self.producer), None);
        if settles_late {
            let findings = std::mem::take(&mut report.findings);
            let facts = self.facts();
            let Settled { known, unexpected, .. } =
                settle(self.spec.known_for(&facts), findings, |_| false, Some(self.build.abi));
            report.findings = unexpected;
            report.known.extend(known);
            if report.outcome == Outcome::Unexpected {
                report.outcome = report.outcome_of_findings();
            }
        }
    }

    fn explore(&self, target: &Target<'_>, explorer: &Explorer, report: &mut CaseReport) {
        let CaseReport { unreached, findings, rows, .. } = report;
        let proved = explorer.judge(target, unreached, findings, rows.total > 0, &Progress::default());
        // Known failures have been counted already.
        let facts = self.facts();
        let Settled { unexpected, .. } = settle(self.spec.known_for(&facts), proved, |_| false, None);
        let is_proved = !unexpected.is_empty();
        report.findings.extend(unexpected);
        if is_proved && report.outcome != Outcome::Broken {
            report.outcome = Outcome::Unexpected;
        }
    }

    /// Runs the case with an unwinder in a separate process.
    ///
    /// The spec's expectations of the section and of the run do not concern it. Its
    /// findings are those that this project's engine does not have at the same
    /// stop, and, of those that both have, the ones that are not known.
    fn run_external(
        &self,
        corpus: &Path,
        options: &Options,
        external: &External,
        requires_reliable: bool,
    ) -> CaseReport {
        let extent = RunScope { requires_reliable, ..RunScope::default() };
        self.on_its_files(corpus, |target, report| {
            let (_, look, options) = self.prepare(target, options, &extent)?;
            match external.examine(target, &self.id(), &look, &options) {
                Ok(shown) => self.judge_external(target, shown, report),
                Err(ExternalError::Unsupported(reason)) => {
                    report.skip(&SkipReason::Unsupported(reason));
                    Ok(())
                }
                Err(error) => Err(error.into()),
            }
        })
    }

    /// Opens the build's files and has the report filled, unless the spec says not
    /// to run it.
    fn on_its_files(
        &self,
        corpus: &Path,
        fill: impl FnOnce(&Target<'_>, &mut CaseReport) -> Result<(), BrokenReason>,
    ) -> CaseReport {
        let mut report = self.empty_report();
        if let Some(skip) = self.spec.skip_for(&self.facts()) {
            report.skip(&SkipReason::Spec(&skip.reason));
            return report;
        }
        let result = self.build.files(corpus).map_err(BrokenReason::from).and_then(|files| {
            let target = self.open(&files)?;
            fill(&target, &mut report)
        });
        report.or_broken(result)
    }

    fn judge_external(
        &self,
        target: &Target<'_>,
        shown: UnwinderExamination,
        report: &mut CaseReport,
    ) -> Result<(), BrokenReason> {
        let UnwinderExamination { mut examination, report: unwinder, shared, findings, error } = shown;
        unwinder.count_instead(&mut examination);
        record(&examination, report);
        // Stops in handlers are counted among the others.
        report.signals = SignalCounts::default();
        report.uncovered.clone_from(&examination.coverage.uncovered_places);
        report.unreached = self.unreached(&examination.coverage);
        report.unwinder = Some(unwinder);
        self.settle(shared, false, false, report);
        if !findings.is_empty() {
            report.outcome = Outcome::Unexpected;
        }
        report.findings.extend(findings);
        let broken = broken_reason(&examination, target, self.spec.exit_status);
        let nothing = || (examination.counts.comparisons == 0).then_some(BrokenReason::NothingCompared);
        let broken = broken.map(BrokenReason::from).or_else(|| error.map(BrokenReason::from));
        broken.or_else(nothing).map_or(Ok(()), Err)
    }

    /// Runs the case on a target that represents the build's files.
    pub fn run_on(
        &self,
        target: &Target<'_>,
        options: &Options,
        make_unwinder: &MakeUnwinder,
        extent: RunScope<'_>,
    ) -> CaseReport {
        let mut report = self.empty_report();
        if self.spec.skip_for(&self.facts()).is_some() {
            report.outcome = Outcome::Skipped;
            return report;
        }
        let result = self.examine(target, options, make_unwinder, extent, &mut report);
        report.or_broken(result)
    }

    /// Returns the report of a case that could not be completed.
    pub(crate) fn broken(&self, reason: BrokenReason) -> CaseReport {
        self.empty_report().or_broken(Err(reason))
    }

    /// Returns the report of a case that has no build, and why.
    pub(crate) fn without_build(&self, reason: &str) -> CaseReport {
        CaseReport { outcome: Outcome::Broken, reason: Some(reason.to_owned()), ..self.empty_report() }
    }

    fn empty_report(&self) -> CaseReport {
        CaseReport {
            id: self.id(),
            program: self.build.program.clone(),
            abi: self.build.abi,
            toolchain: self.build.toolchain.clone(),
            variant: self.build.variant.clone(),
            sframe_version: self.build.sframe_version,
            build: self.build.id.clone(),
            outcome: Outcome::Agree,
            reason: None,
            counts: Counts::default(),
            agree: 0,
            excluded: Vec::new(),
            stops: 0,
            max_depth: 0,
            reliability_by_topmost: ByTopmost::default(),
            signals: SignalCounts::default(),
            control_flow: Features::default(),
            rows: RowCounts::default(),
            uncovered: BTreeMap::new(),
            unreached: Vec::new(),
            unwinder: None,
            seconds: 0.0,
            findings: Vec::new(),
            findings_omitted: BTreeMap::new(),
            known: Vec::new(),
            reproduce: None,
        }
    }

    /// Returns the call stack at each stop that was reached, by the stop's index in
    /// the spec.
    ///
    /// # Errors
    /// Why the case is broken; an unreached stop is one of the reasons.
    pub fn arrivals(
        &self,
        corpus: &Path,
        options: &Options,
        make_unwinder: &MakeUnwinder,
    ) -> Result<Vec<(usize, Vec<String>)>, BrokenReason> {
        let files = self.build.files(corpus)?;
        let target = self.open(&files)?;
        let (stops, examination) = self.execute(&target, options, make_unwinder, &mut RunScope::default())?;
        if let Some(reason) = broken_reason(&examination, &target, self.spec.exit_status) {
            return Err(reason.into());
        }
        stops
            .iter()
            .zip(examination.arrivals)
            .map(|((index, stop, _), (hits, arrival))| match arrival {
                Some(arrival) => Ok((*index, arrival.frames)),
                None => {
                    let at = stop.at.clone();
                    Err(BrokenReason::NotReached { at, hits, wanted: stop.hit.get() })
                }
            })
            .collect()
    }

    /// Returns the rules and places of each known failure that the build shows, by
    /// the entry's index in the spec.
    ///
    /// # Errors
    /// Why the case is broken.
    pub fn known_rules(
        &self,
        corpus: &Path,
        options: &Options,
        make_unwinder: &MakeUnwinder,
    ) -> Result<BTreeMap<usize, BTreeMap<String, u64>>, BrokenReason> {
        let mut entries: BTreeMap<usize, BTreeMap<String, u64>> = BTreeMap::new();
        if self.spec.skip_for(&self.facts()).is_some() {
            return Ok(entries);
        }
        let files = self.build.files(corpus)?;
        let target = self.open(&files)?;
        let mut report = self.empty_report();
        self.examine(&target, options, make_unwinder, RunScope::default(), &mut report)?;
        for known in report.known {
            let Some(entry) = known.entry else { continue };
            let rules = entries.entry(entry).or_default();
            for (row, count) in known.rules {
                *rules.entry(row).or_default() += count;
            }
        }
        Ok(entries)
    }

    fn open<'a>(&self, files: &'a Files) -> Result<Target<'a>, BrokenReason> {
        let target = Target::open_files(files)?;
        let said = self.build.sframe_version;
        let version_of = |section: &Section<'_>| section.header().version.number();
        let other = target.sections.iter().map(version_of).find(|version| *version != said);
        let Some(section) = other else { return Ok(target) };
        Err(BrokenReason::OtherVersion { section, said })
    }

    /// Runs the program with the spec's stops.
    fn execute(
        &self,
        target: &Target<'_>,
        options: &Options,
        make_unwinder: &MakeUnwinder,
        extent: &mut RunScope<'_>,
    ) -> Result<Run<'_>, BrokenReason> {
        let (stops, look, options) = self.prepare(target, options, extent)?;
        let mut unwinder = make_unwinder(target);
        let examination = examine_with(target, &mut *unwinder, &look, &options, extent.probe.take())?;
        Ok((stops, examination))
    }

    /// Returns the spec's stops, what to look at, and how to start the program.
    fn prepare(
        &self,
        target: &Target<'_>,
        options: &Options,
        extent: &RunScope<'_>,
    ) -> Result<(Stops<'_>, ExamineOptions, Options), BrokenReason> {
        let stops: Vec<(usize, &Stop)> = self.spec.stops_for(&self.facts()).collect();
        let breakpoints: Vec<Breakpoint> = stops
            .iter()
            .map(|(_, stop)| {
                let pc =
                    resolve(&stop.at, target).map_err(|error| self.misplaced(&stop.path_of("at"), &error))?;
                Ok(Breakpoint { pc: pc.0, hit: stop.hit.get() })
            })
            .collect::<Result<Vec<_>, BrokenReason>>()?;
        let options = Options {
            system: System::with_arguments(&self.spec.args),
            stack_size: self.spec.stack_size.unwrap_or(options.stack_size),
            ..options.clone()
        };
        let build = self.build;
        let traces = Traces::of_build(build.abi, &build.sources, build.frames);
        let distrusted = self.spec.distrust.iter().map(|distrust| distrust.trace);
        let places = breakpoints.iter().map(|breakpoint| breakpoint.pc);
        let stops = stops.into_iter().zip(places).map(|((index, stop), pc)| (index, stop, pc)).collect();
        let look = ExamineOptions {
            breakpoints,
            signals: if extent.without_signals { Vec::new() } else { self.signals(target)? },
            traces: distrusted.fold(traces, Traces::without),
            exit_status: self.spec.exit_status,
            observes: extent.listing.is_some(),
            ignores_fp: extent.ignores_fp,
            requires_reliable: extent.requires_reliable,
            ..ExamineOptions::default()
        };
        Ok((stops, look, options))
    }

    /// Returns what the spec says about places that the build does not have. Nothing, if its files can't be read.
    #[must_use]
    pub fn misplaced_places(&self, corpus: &Path) -> Vec<yaml::Error> {
        let files = self.build.files(corpus).ok().filter(|_| self.spec.skip_for(&self.facts()).is_none());
        let Some(target) = files.as_ref().and_then(|files| self.open(files).ok()) else { return Vec::new() };
        let of_stop = |(_, stop): (usize, &Stop)| {
            let error = resolve(&stop.at, &target).err()?;
            Some(self.error_of_place(&stop.path_of("at"), &error))
        };
        let mut errors: Vec<yaml::Error> = self.spec.stops_for(&self.facts()).filter_map(of_stop).collect();
        if let Err(BrokenReason::Place(error)) = self.signals(&target) {
            errors.push(error);
        }
        errors
    }

    /// Returns the error if the spec names a place that the build does not have.
    fn misplaced<S: AsRef<str>>(&self, key: &[S], error: &NoSuchPlace) -> BrokenReason {
        self.error_of_place(key, error).into()
    }

    fn error_of_place<S: AsRef<str>>(&self, key: &[S], error: &NoSuchPlace) -> yaml::Error {
        let message = format!("{error} in {}", self.build.id);
        self.source.error_at(self.source.span(key), message, error.help())
    }

    /// Returns where to deliver signals.
    fn signals(&self, target: &Target<'_>) -> Result<Vec<Signals>, BrokenReason> {
        let facts = self.facts();
        let wrong = |index: usize, key: &str, error: &NoSuchPlace| {
            self.misplaced(&["signals", &index.to_string(), key], error)
        };
        self.spec
            .signals_for(&facts)
            .map(|(index, signal)| {
                let mut ranges = Vec::new();
                if let Some(location) = &signal.at {
                    let Loaded(pc) = resolve(location, target).map_err(|error| wrong(index, "at", &error))?;
                    ranges.push(pc..pc + 1);
                }
                for function in signal.during.iter().flatten() {
                    let start = resolve(&Location::function(function), target)
                        .map_err(|error| wrong(index, "during", &error))?;
                    let extent = target.extent(start);
                    ranges.push(
                        extent
                            .ok_or_else(|| wrong(index, "during", &NoSuchPlace::NoSize(function.clone())))?,
                    );
                }
                Ok(Signals { signal: signal.signal, ranges, hits: signal.hits.get() })
            })
            .collect()
    }

    /// Fills the report. An error says why the case is broken.
    fn examine(
        &self,
        target: &Target<'_>,
        options: &Options,
        make_unwinder: &MakeUnwinder,
        mut extent: RunScope<'_>,
        report: &mut CaseReport,
    ) -> Result<(), BrokenReason> {
        let with_signals = !extent.without_signals || self.spec.signals.is_empty();
        let (stops, examination) = self.execute(target, options, make_unwinder, &mut extent)?;
        if let Some(listing) = extent.listing {
            *listing = Some(Listing::of(target, &examination)?);
        }
        let broken = broken_reason(&examination, target, self.spec.exit_status)
            .map(|run| self.located(run))
            .or_else(|| (examination.counts.comparisons == 0).then_some(BrokenReason::NothingCompared));
        record(&examination, report);
        report.uncovered.clone_from(&examination.coverage.uncovered_places);
        report.unreached = self.unreached(&examination.coverage);
        let mut findings = examination.findings;
        if broken.is_none() {
            let mut of_stops = Vec::new();
            for ((_, stop, pc), arrival) in stops.iter().zip(&examination.arrivals) {
                let ended_at = arrival.1.as_ref().map_or(*pc, |arrival| arrival.ended_at);
                of_stops.extend(judge_stop(stop, arrival).into_iter().map(|finding| {
                    let key = match finding.verdict {
                        Verdict::UnexpectedFrames => "frames",
                        Verdict::NotReached => "hit",
                        _ => "end",
                    };
                    let is_end = matches!(finding.verdict, Verdict::NoFde | Verdict::WrongEnd);
                    let asked_at = self.source.place(&stop.path_of(key));
                    (finding.at(Loaded(if is_end { ended_at } else { *pc }), target), asked_at)
                }));
            }
            findings.extend(in_one_message(of_stops));
            for ((_, signal), deliveries) in self.spec.signals_for(&self.facts()).zip(&examination.deliveries)
            {
                findings.extend(judge_signals(signal, deliveries));
            }
            let coverage = judge_coverage(self.spec, &self.facts(), &examination.coverage);
            findings.extend(coverage.into_iter().map(|finding| finding.located(target)));
            for (end, finding) in judge_ends(self.spec.ends_for(&self.facts()), &examination.counts.walk_ends)
            {
                let place = examination.end_places.get(&end);
                findings.push(match place {
                    Some(address) => finding.at(Loaded(*address), target),
                    None => finding,
                });
            }
            let sweep = self.spec.sweep_for(&self.facts());
            if let Some(sweep) = sweep {
                let covered = examination.coverage.instructions_covered;
                findings.extend(judge_sweep(sweep, report, covered).into_iter().map(|(keys, finding)| {
                    let path: Vec<String> = self.path_of(sweep).into_iter().chain(keys).collect();
                    Finding { message: self.asked_at(finding.message.clone(), &path), ..finding }
                }));
            }
            findings.extend(judge_excluded(sweep.and_then(|sweep| sweep.excluded), report));
        }
        self.settle(findings, broken.is_none() && with_signals, extent.settles_late, report);
        broken.map_or(Ok(()), Err)
    }

    /// The keys of one of the spec's sweeps.
    fn path_of(&self, sweep: &Sweep) -> Vec<String> {
        let index = self.spec.sweep.iter().flatten().position(|it| std::ptr::eq(it, sweep));
        let index = index.unwrap_or_default().to_string();
        let is_list = self.source.has(&["sweep", &*index]);
        std::iter::once("sweep".to_owned()).chain(is_list.then_some(index)).collect()
    }

    /// Adds to a message where the spec says what it is about.
    fn asked_at<S: AsRef<str>>(&self, message: Message, key: &[S]) -> Message {
        message.and(format_args!(" ({})", self.source.place(key)))
    }

    /// The reason of an invalid run, with the place of the exit status that the spec wants, if that is it.
    fn located(&self, run: BrokenRun) -> BrokenReason {
        if run.is_other_status() && self.source.has(&["exit_status"]) {
            BrokenReason::OtherThanAsked { run, place: self.source.place(&["exit_status"]) }
        } else {
            run.into()
        }
    }

    /// Returns the rows that were not exercised, with the spec's reasons.
    fn unreached(&self, coverage: &Coverage) -> Vec<UnexercisedRow> {
        let facts = self.facts();
        let reason = |function: &str| {
            let mut exceptions = Spec::exceptions_for(&self.spec.unreached, &facts);
            exceptions.find(|entry| entry.names(function)).map(|entry| entry.reason.clone())
        };
        let rows = coverage.unexercised.iter();
        rows.map(|row| UnexercisedRow { reason: reason(&row.function), ..row.clone() }).collect()
    }

    /// Separates known findings from others. A known finding that was not seen
    /// again is a finding too, unless the run broke before its end.
    fn settle(&self, findings: Vec<Finding>, complete: bool, late: bool, report: &mut CaseReport) {
        let facts = self.facts();
        let known = self.spec.known_for(&facts).filter(|_| !late);
        let Settled { known, unexpected, changed, .. } = settle(known, findings, |_| complete, None);
        report.known.extend(known);
        report.findings.extend(unexpected);
        report.findings.extend(changed.into_iter().map(|(entry, finding)| {
            let message = self.asked_at(finding.message.clone(), &["known", &entry.to_string()]);
            Finding { message, ..finding }
        }));
        report.outcome = report.outcome_of_findings();
    }
}

/// Adds to findings where the spec says what they are about. Of those that are shown as one, each says where all do.
fn in_one_message(findings: Vec<(Finding, String)>) -> Vec<Finding> {
    let asked_at: Vec<String> = findings
        .iter()
        .map(|(finding, own)| {
            let is_shown_with_it =
                |other: &Finding| finding.cause().is_some() && other.cause() == finding.cause();
            let others = findings.iter().filter(|(other, at)| at != own && is_shown_with_it(other));
            let mut places: Vec<&str> = others.map(|(_, at)| at.as_str()).collect();
            places.insert(0, own);
            places.join(", ")
        })
        .collect();
    let all = findings.into_iter().zip(asked_at);
    all.map(|((finding, _), at)| Finding {
        message: finding.message.clone().and(format_args!(" ({at})")),
        ..finding
    })
    .collect()
}

/// A spec's stops for a build, with their indices in the spec and their loaded
/// addresses.
type Stops<'s> = Vec<(usize, &'s Stop, u64)>;

/// The stops, and what the run has shown.
type Run<'s> = (Stops<'s>, Examination);

/// Returns the name of a spec: its file name without the extension.
#[must_use]
pub fn spec_name(source: &Source) -> &str {
    source.path().file_stem().and_then(|stem| stem.to_str()).unwrap_or("spec")
}

/// Returns the loaded address of a location.
///
/// # Errors
/// The program has no such place, or several.
pub fn resolve(at: &Location, target: &Target<'_>) -> Result<Loaded, NoSuchPlace> {
    match at {
        Location::Symbol { name, offset } => {
            let addresses = target.addresses_of(name);
            let [address] = addresses[..] else {
                if !addresses.is_empty() {
                    return Err(NoSuchPlace::Ambiguous { name: name.clone(), count: addresses.len() });
                }
                let names = target.modules.iter().flat_map(|module| module.subject.symbols.names());
                let close = suggest::closest(name, names).map(str::to_owned);
                return Err(NoSuchPlace::NoSymbol { name: name.clone(), close });
            };
            Ok(Loaded(address.0.wrapping_add(*offset)))
        }
        Location::Line { file, line } => {
            let mut without_table = None;
            for module in &target.modules {
                match module.subject.lines() {
                    Ok(lines) => {
                        if let Some(address) = lines.address_of(file, line.get()) {
                            return Ok(module.loaded(Linked(address)));
                        }
                    }
                    Err(error) => without_table = Some(error),
                }
            }
            Err(match without_table {
                Some(error) => error.into(),
                None => NoSuchPlace::NoCode { file: file.clone(), line: line.get() },
            })
        }
    }
}

fn record(examination: &Examination, report: &mut CaseReport) {
    report.counts = examination.counts;
    report.agree = examination.agree;
    report.excluded.clone_from(&examination.excluded);
    report.stops = examination.arrivals.iter().filter(|(_, arrival)| arrival.is_some()).count() as u64;
    report.max_depth = examination.max_depth;
    report.reliability_by_topmost.clone_from(&examination.reliability_by_topmost);
    for deliveries in &examination.deliveries {
        report.signals.add(&SignalCounts::of(deliveries));
    }
    report.findings_omitted.clone_from(&examination.findings_omitted);
    report.control_flow = examination.features.clone();
    report.rows = examination.coverage.rows;
}

#[cfg(test)]
mod tests {
    use sframe_judge::finding::{Address, FindingRow};

    use super::*;

    /// What is shown once names each place of the spec that it is about.
    #[test]
    fn findings_that_are_shown_as_one_name_all_their_places() {
        let finding = |row: u64, verdict| Finding {
            row: Some(FindingRow {
                start: Address(row),
                rules: "CFA = SP+8, RA = *(CFA-8), FP unchanged".parse().expect("rules"),
            }),
            ..Finding::of_spec(verdict, "", "", "at f".to_owned())
        };
        let frames = Verdict::UnexpectedFrames;
        let of = [
            (finding(0, frames), "s.yaml:3:5"),
            (finding(0, frames), "s.yaml:7:5"),
            (finding(8, frames), "s.yaml:9:5"),
            (finding(0, Verdict::WrongEnd), "s.yaml:11:5"),
            (finding(0, frames), "s.yaml:13:5"),
        ];
        let findings = in_one_message(of.map(|(finding, at)| (finding, at.to_owned())).into());
        let says: Vec<String> = findings.iter().map(|finding| finding.message.to_string()).collect();
        let expected = [
            "at f (s.yaml:3:5, s.yaml:7:5, s.yaml:13:5)",
            "at f (s.yaml:7:5, s.yaml:3:5, s.yaml:13:5)",
            "at f (s.yaml:9:5)",
            "at f (s.yaml:11:5)",
            "at f (s.yaml:13:5, s.yaml:3:5, s.yaml:7:5)",
        ];
        assert_eq!(says, expected);
    }
}
