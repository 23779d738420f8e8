//! Compares every instruction's backtrace with the call stack, for one program.

mod breakpoint;
mod broken;
pub mod counts;
pub mod coverage;
mod deliveries;
mod ends;
pub mod excluded;
mod gaps;
pub mod hazards;
pub mod listings;
pub mod observed;
mod own_check;
mod passing;
mod probe;
pub mod progress;
mod results;
pub mod sampling;
mod section_faults;
pub mod stop;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::Abi;
use sframe_inspect::hazard::Hazard;
use sframe_machine::{
    Change, End as RunEnd, Flow, MachineError, Moment, Observer, Options, Outcome, PcMap, Straight, Usage,
};

use crate::calls::{Calls, Judged, Known as KnownCalls, Readings, Scene};
use crate::compare::incremental::Walk;
use crate::compare::steady::{Agreement, Steady};
use crate::compare::{self, ByTopmost, LastInstructions, Remembered, Start, Truth, WalkEnd, Walked};
use crate::examine::counts::Counts;
use crate::examine::coverage::{Coverage, Executed, RowUse};
use crate::examine::deliveries::{Followed, Interruptions};
use crate::examine::excluded::{Collected, Exclusion};
use crate::examine::observed::{Observed, TrueFrame};
use crate::examine::passing::{Known, Passages, Scene as Surroundings};
use crate::examine::progress::{Figures, Progress};
use crate::examine::results::Results;
use crate::examine::sampling::{Sampler, Sampling};
use crate::examine::stop::{Cut, Grace, StopReason, StopRequest};
use crate::finding::Finding;
use crate::target::layouts::FrameLayouts;
use crate::target::{Loaded, Target};
use crate::triage::{Circumstances, has_lost_ra};
use crate::truth::control_flow::Features;
use crate::truth::cross_check::{CrossCheck, TraceConflict, TraceCounts, Traces};
use crate::truth::stores::{LastStores, Pointers, Written};
use crate::unwind::{Backtrace, Unwinder, Viewpoint};
use crate::vocabulary::{End, Feature, Verdict};

pub use breakpoint::{Arrival, Breakpoint};
pub use broken::{BrokenRun, OutputDifference, broken_reason};
pub use deliveries::{BrokenDelivery, Deliveries, DeliveryFault, Signals};
pub use ends::WalkEnds;
pub use own_check::FailedCheck;
pub use probe::Probe;

/// What to examine in a program besides every instruction.
#[derive(Clone, Debug, Default)]
pub struct ExamineOptions {
    /// Places to examine closely.
    pub breakpoints: Vec<Breakpoint>,
    /// Signals to deliver.
    pub signals: Vec<Signals>,
    /// The traces to compare the call stack with.
    pub traces: Traces,
    /// The exit status that runs with signals must end with.
    pub exit_status: u8,
    /// Whether to report hazards of the executed instructions.
    pub hazards: bool,
    /// Whether to record the true frame at each instruction.
    pub observes: bool,
    /// Whether the instructions of rows that did not run are left out of the report: there may be many.
    pub only_counts_rows: bool,
    /// Which instructions are compared in the run without signals.
    pub sampling: Sampling,
    /// Whether backtraces that are not complete are findings, even if they say so.
    pub requires_reliable: bool,
    /// Ends the run if somebody asks for that.
    pub stop: StopRequest,
    /// Where to show how far the run is.
    pub progress: Option<Arc<Progress>>,
    /// A fault in the comparison, to check that it is noticed.
    #[doc(hidden)]
    pub ignores_fp: bool,
    /// The rule of reading calls that is switched off, to check that it is needed: one of [`RULES`](crate::calls::RULES).
    #[doc(hidden)]
    pub without_rule: Option<&'static str>,
}

/// Everything that was seen: a field for each thing that reports tell.
#[derive(Debug, PartialEq, Eq)]
pub struct Examination {
    /// How the program ended.
    pub end: RunEnd,
    /// Why it was ended early: see [`ExamineOptions::stop`].
    pub stopped: Option<StopReason>,
    /// Why the call stack itself is uncertain: another trace of the calls
    /// contradicts it.
    pub doubt: Option<TraceConflict>,
    /// Of runs on the host's own processor: whether two of them have executed different instructions. Then nothing is
    /// concluded from one for another, and what is to be known before is excluded. `None` in the emulator.
    pub runs_differ: Option<bool>,
    /// What comparing amounts to.
    pub counts: Counts,
    /// Executed instructions that were not looked at: of other programs that the program has executed, and
    /// of copies of it.
    pub unobserved: u64,
    /// What the program wrote to its standard output.
    pub standard_output: Vec<u8>,
    /// The last lines of what it wrote to that and to its standard error.
    pub last_output: Vec<String>,
    /// The last of the program's own checks of its result that failed, in the run without signals.
    pub failed_check: Option<FailedCheck>,
    /// The system calls that it made.
    pub system_calls: Usage,
    /// The instructions of the run without signals that were not looked at one by one: what comparing would show was known
    /// from those before them. They count as compared.
    pub passed: u64,
    /// Comparisons without a disagreement.
    pub agree: u64,
    /// Instructions that are not in the sample: see [`ExamineOptions::sampling`].
    /// With those compared, those with nothing to compare, and those that were not
    /// settled, these are all that were observed.
    pub left_out: u64,
    /// The comparisons that say nothing, in all runs: see [`Exclusion`]. They are not counted as comparisons.
    pub excluded: Vec<Exclusion>,
    /// Where the first walk ended in each way: the address by which the last frame
    /// was looked up.
    pub end_places: BTreeMap<End, u64>,
    /// The deepest call stack.
    pub max_depth: usize,
    /// What the walks were worth, by what the topmost frame was in.
    pub reliability_by_topmost: ByTopmost,
    /// Everything that was wrong, including the runs with signals.
    pub findings: Vec<Finding>,
    /// The number of findings omitted, by verdict.
    pub findings_omitted: BTreeMap<Verdict, u64>,
    /// The number of arrivals at each breakpoint, and what was seen there; `None`
    /// if it was not reached.
    pub arrivals: Vec<(u32, Option<Arrival>)>,
    /// The result of each entry of [`ExamineOptions::signals`].
    pub deliveries: Vec<Deliveries>,
    /// Which rows were exercised, including the runs with signals.
    pub coverage: Coverage,
    /// The kinds of control flow seen, in all runs.
    pub features: Features,
    /// The hazards of executed instructions, if requested.
    pub hazards: Vec<Hazard>,
    /// The executed instructions by address, if [`ExamineOptions::observes`].
    pub observed: Vec<Observed>,
}

/// The last lines of an output, each at most this long.
fn last_lines(output: &[u8]) -> Vec<String> {
    const LINES: usize = 5;
    const CHARACTERS: usize = 200;
    let lines = output.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(LINES);
    let mut lines: Vec<String> =
        lines.map(|line| String::from_utf8_lossy(line).chars().take(CHARACTERS).collect()).collect();
    lines.reverse();
    lines
}

impl Examination {
    /// That of a program that was not run.
    #[must_use]
    pub fn of_no_run() -> Self {
        Self {
            end: RunEnd::Stopped,
            stopped: None,
            doubt: None,
            runs_differ: None,
            counts: Counts::default(),
            unobserved: 0,
            standard_output: Vec::new(),
            last_output: Vec::new(),
            failed_check: None,
            system_calls: Usage::default(),
            passed: 0,
            agree: 0,
            left_out: 0,
            excluded: Vec::new(),
            end_places: BTreeMap::new(),
            max_depth: 0,
            reliability_by_topmost: ByTopmost::default(),
            findings: Vec::new(),
            findings_omitted: BTreeMap::new(),
            arrivals: Vec::new(),
            deliveries: Vec::new(),
            coverage: Coverage::default(),
            features: Features::default(),
            hazards: Vec::new(),
            observed: Vec::new(),
        }
    }

    /// Returns the program's exit status, as a shell reports it: 128 and the signal's number if
    /// it was ended by one. `None` if it has not ended by itself.
    #[must_use]
    pub const fn exit_status(&self) -> Option<u8> {
        match self.end {
            RunEnd::Exit(status) => Some(status),
            RunEnd::Killed(signal) => Some(128 | signal),
            _ => None,
        }
    }
}

/// Runs a program and compares at every instruction. Runs it again for each signal,
/// and compares from the handler's first instruction until it returns.
///
/// If the unwinder offers its steps, unchanged frames are not walked and compared
/// again. The result is the same.
///
/// # Errors
/// The machine can't be set up. If the program breaks later, the result says so.
pub fn examine(
    target: &Target<'_>,
    unwinder: &mut dyn Unwinder,
    look: &ExamineOptions,
    options: &Options,
) -> Result<Examination, MachineError> {
    examine_with(target, unwinder, look, options, None)
}

/// Examines a run, with a probe that sees each comparison.
pub fn examine_with(
    target: &Target<'_>,
    unwinder: &mut dyn Unwinder,
    look: &ExamineOptions,
    options: &Options,
    probe: Option<&mut dyn Probe>,
) -> Result<Examination, MachineError> {
    let mut examiner = Examiner::new(target, unwinder, look, probe);
    let outcome = examiner.run(options, None)?;
    let seen = &mut examiner.seen;
    seen.features.add(&outcome.control_flow);
    let mut counts = seen.results.counts;
    let reliability_by_topmost = seen.results.reliability.by_topmost(target);
    counts.instructions = outcome.instructions;
    counts.reliability = reliability_by_topmost.total();
    let max_depth = seen.max_depth;
    let arrivals = seen.arrivals.clone();
    // The instructions of the run without signals.
    let executed = if look.hazards { seen.executed.counts() } else { BTreeMap::new() };
    let mut deliveries = Vec::new();
    if examiner.doubt.is_none() && outcome.end == RunEnd::Exit(look.exit_status) {
        for signals in &look.signals {
            deliveries.push(examiner.deliver(signals, options)?);
        }
    }
    let Examiner { seen, doubt, stopped, runs_differ, .. } = examiner;
    let left_out = seen.sampler.as_ref().map_or(0, |sampler| sampler.left_out);
    counts.traces = seen.traces;
    let coverage = seen.executed.coverage(target, !look.only_counts_rows);
    let mut findings = target.section_faults();
    findings.extend(gaps::gaps(target, &seen.executed));
    findings.extend(ends::incomplete(&seen.results.early, target));
    let is_consequence = target.consequences();
    let mut grace = Grace::for_the_report(&look.stop);
    let (found, findings_omitted) = seen.results.findings.described_until(target, || grace.is_over());
    findings.extend(found.into_iter().filter(|finding| !is_consequence(finding)));
    Ok(Examination {
        end: outcome.end,
        stopped: stopped.or_else(|| look.stop.reason().filter(|_| grace.is_over())),
        doubt,
        runs_differ,
        counts,
        unobserved: outcome.unobserved,
        last_output: last_lines(&outcome.output),
        standard_output: outcome.standard_output,
        failed_check: seen.failed_check,
        system_calls: outcome.system_calls,
        passed: outcome.passed,
        agree: counts.comparisons - counts.walk_ends.disagreed,
        left_out,
        excluded: seen.excluded.into_list(target, &seen.executed),
        end_places: seen.end_places,
        max_depth,
        reliability_by_topmost,
        findings,
        findings_omitted,
        arrivals,
        deliveries,
        coverage,
        features: seen.features,
        hazards: hazards::executed(target, &executed, &seen.unknown_fp),
        observed: observed(&seen.executed, &seen.frames_seen, look),
    })
}

fn observed(executed: &Executed, frames: &FxHashMap<u64, TrueFrame>, look: &ExamineOptions) -> Vec<Observed> {
    if !look.observes {
        return Vec::new();
    }
    let observe = |(pc, hits)| Observed { pc, hits, frame: frames.get(&pc).copied() };
    let mut observed: Vec<Observed> = executed.hits().map(observe).collect();
    observed.sort_unstable_by_key(|instruction| instruction.pc);
    observed
}

/// Observes a run. What is borrowed apart at each instruction is a field of its own; what a second run takes back is in
/// [`Seen`].
struct Examiner<'e, 'a, 'p> {
    target: &'e Target<'a>,
    unwinder: &'e mut dyn Unwinder,
    rules: Remembered<'a>,
    look: &'e ExamineOptions,
    backtrace: Backtrace,
    /// The walk, if the unwinder offers its steps.
    walk: Option<Walk>,
    steady: Steady,
    cross_check: CrossCheck,
    stores: LastStores,
    /// The instructions that have executed.
    instructions: PcMap<Known>,
    doubt: Option<TraceConflict>,
    stopped: Option<StopReason>,
    /// Where the run before was ended, which this one judges.
    cut: Option<Cut<'e>>,
    runs_differ: Option<bool>,
    /// The program's own check of its result.
    check: Vec<Loaded>,
    /// Breakpoints by address.
    watched: FxHashMap<u64, Vec<usize>>,
    /// What comparing has shown.
    seen: Seen,
    calls: Calls,
    position: Position,
    /// First instructions of functions.
    functions: FxHashSet<u64>,
    abi: Option<Abi>,
    layouts: RefCell<FrameLayouts>,
    last_instructions: LastInstructions,
    interruptions: Option<Interruptions>,
    /// How the last comparison has ended, if hardly anything had changed.
    unchanged: Option<Agreement>,
    /// Whether instructions pass at all.
    passes: bool,
    /// Blocks whose instructions have to be followed one by one.
    stepped: Arc<BTreeSet<u64>>,
    passages: Passages,
    probe: Option<&'p mut dyn Probe>,
}

/// What comparing has shown so far, in all runs.
#[derive(Clone, Default)]
struct Seen {
    results: Results,
    excluded: Collected,
    executed: Executed,
    sampler: Option<Sampler>,
    traces: TraceCounts,
    failed_check: Option<FailedCheck>,
    arrivals: Vec<(u32, Option<Arrival>)>,
    end_places: BTreeMap<End, u64>,
    max_depth: usize,
    features: Features,
    /// The instructions at whose first execution it was not known where FP's value comes from.
    unknown_fp: FxHashSet<u64>,
    /// The first true frame at each instruction.
    frames_seen: FxHashMap<u64, TrueFrame>,
}

/// Where a run is.
#[derive(Default)]
struct Position {
    /// The thread that executes; 0 before the first one.
    thread: u32,
    depth: usize,
    /// How many of the oldest calls have been counted as compared.
    counted_calls: usize,
    last_pc: u64,
    /// The last [`Progress::INTERVAL`], from 1.
    interval: u64,
    /// Addresses of the executing image.
    image: Range<u64>,
}

impl<'e, 'a, 'p> Examiner<'e, 'a, 'p> {
    fn new(
        target: &'e Target<'a>,
        unwinder: &'e mut dyn Unwinder,
        look: &'e ExamineOptions,
        probe: Option<&'p mut dyn Probe>,
    ) -> Self {
        let mut watched: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (index, breakpoint) in look.breakpoints.iter().enumerate() {
            watched.entry(breakpoint.pc).or_default().push(index);
        }
        let seen = Seen {
            sampler: Sampler::new(&look.sampling),
            arrivals: vec![(0, None); look.breakpoints.len()],
            ..Seen::default()
        };
        Self {
            target,
            unwinder,
            rules: Remembered::new(target.sections.clone()),
            look,
            backtrace: Backtrace::default(),
            walk: None,
            steady: Steady::default(),
            cross_check: CrossCheck::new(target, look.traces),
            stores: LastStores::default(),
            instructions: PcMap::default(),
            doubt: None,
            stopped: None,
            cut: None,
            runs_differ: None,
            check: target.addresses_of(own_check::FUNCTION),
            watched,
            seen,
            calls: Calls::new(KnownCalls::default(), false, None),
            position: Position::default(),
            functions: target.functions().map(|start| start.0).collect(),
            abi: target.executable().subject.abi(),
            layouts: RefCell::default(),
            last_instructions: LastInstructions::default(),
            interruptions: None,
            unchanged: None,
            passes: false,
            stepped: Arc::default(),
            passages: Passages::default(),
            probe,
        }
    }

    /// Runs the program, with signals if there are any to deliver, until it is known what its calls were: at once, if
    /// nothing is otherwise than assumed. With a probe, which can't take back what it has seen, nothing is compared before.
    fn run(
        &mut self,
        options: &Options,
        interruptions: Option<Interruptions>,
    ) -> Result<Outcome, MachineError> {
        let seen = self.seen.clone();
        let mut surveys = self.probe.is_some();
        let mut known = KnownCalls::default();
        let mut digest = None;
        loop {
            self.calls = Calls::new(known, surveys, self.look.without_rule);
            self.interruptions.clone_from(&interruptions);
            self.doubt = None;
            let outcome = self.run_once(options)?;
            if let Some(block) = outcome.lost {
                // It was followed too late.
                Arc::make_mut(&mut self.stepped).insert(block);
                known = self.take_calls().known_before();
                self.seen.clone_from(&seen);
                continue;
            }
            if self.compare_runs(&mut digest, &outcome) {
                // It was judged by what is known of another one.
                known = KnownCalls::of_differing_runs();
                self.seen.clone_from(&seen);
                continue;
            }
            let has_surveyed = surveys;
            let again;
            (known, again) = self.take_calls().learn();
            surveys &= again;
            let is_done = !has_surveyed && (!again || self.probe.is_some());
            if is_done || self.cut.is_some() {
                self.seen.traces.add(&self.cross_check.counts());
                return Ok(outcome);
            }
            if self.stopped.is_some() {
                // It has not judged what it has followed, or not by what is known now: there is some time for that.
                self.cut = Some(Cut::of(&self.look.stop, outcome.instructions));
                surveys = false;
            }
            self.seen.clone_from(&seen);
        }
    }

    fn take_calls(&mut self) -> Calls {
        std::mem::replace(&mut self.calls, Calls::new(KnownCalls::default(), false, None))
    }

    /// Compares a run with the one before. Returns whether they are the first that differ.
    fn compare_runs(&mut self, digest: &mut Option<u64>, outcome: &Outcome) -> bool {
        let Some(now) = outcome.digest else { return false };
        // One that was ended early has fewer instructions.
        if outcome.end == RunEnd::Stopped {
            self.runs_differ = self.runs_differ.or(Some(false));
            return false;
        }
        let differs = digest.replace(now).is_some_and(|before| before != now);
        let is_known = self.runs_differ == Some(true);
        self.runs_differ = Some(is_known || differs);
        differs && !is_known
    }

    fn run_once(&mut self, options: &Options) -> Result<Outcome, MachineError> {
        self.begin_comparing();
        self.unwinder.restart();
        self.rules = Remembered::new(self.target.sections.clone());
        self.cross_check = CrossCheck::new(self.target, self.look.traces);
        self.stores = LastStores::default();
        self.position = Position::default();
        self.passages = Passages::default();
        self.passes = self.only_compares();
        let (answers, stepped) = (self.calls.answers(), Arc::clone(&self.stepped));
        let options = Options { answers, stepped, ..options.clone() };
        let target = self.target;
        let outcome = sframe_machine::run(&target.images, &options, self);
        self.forget_passages();
        outcome
    }

    /// Whether anything is compared: not in a run that only follows the calls, nor after what was otherwise than assumed.
    #[inline]
    const fn judges(&self) -> bool {
        !self.calls.only_follows()
    }

    /// Whether comparisons are all that is made at each instruction.
    fn only_compares(&self) -> bool {
        self.probe.is_none()
            && self.seen.sampler.is_none()
            && self.interruptions.is_none()
            && !self.look.requires_reliable
            && !self.look.ignores_fp
            && !self.cross_check.follows_path()
    }

    /// Counts the instructions that have passed.
    #[inline]
    fn count_passed(&mut self) {
        let last = self.passages.count(&mut self.seen.results.counts, &mut self.cross_check);
        self.position.last_pc = last.unwrap_or(self.position.last_pc);
    }

    /// Counts all that have passed, and forgets what is known of them.
    fn forget_passages(&mut self) {
        self.count_passed();
        self.passages.forget(&mut self.seen.results, &mut self.seen.executed);
    }

    /// Forgets all earlier comparisons: the probe as well.
    fn begin_comparing(&mut self) {
        self.forget_comparisons();
        if let Some(probe) = self.probe.as_mut().filter(|_| !self.calls.only_follows()) {
            probe.start();
        }
    }

    /// Forgets all earlier comparisons.
    fn forget_comparisons(&mut self) {
        self.walk = self.unwinder.stepper().is_some().then(Walk::default);
        self.steady.start();
        self.cross_check.start();
        (self.position.depth, self.position.counted_calls) = (0, 0);
    }

    /// Follows how control moves, whether or not the stacks are compared.
    fn follow(&mut self, moment: &Moment<'_>, starts_function: bool) {
        let depth = moment.call_stack.depth();
        if depth == self.position.depth && starts_function && self.is_tail_call(moment) {
            self.seen.features.count(Feature::TailCalls);
        }
        if !self.position.image.contains(&moment.pc)
            && let Some(module) = self.target.module_at(Loaded(moment.pc))
        {
            if !self.position.image.is_empty() {
                self.seen.features.count(Feature::ImageCrossings);
            }
            self.position.image = module.image.range();
        }
        (self.position.depth, self.position.last_pc) = (depth, moment.pc);
        self.seen.max_depth = self.seen.max_depth.max(depth);

        let kept = moment.call_stack.kept();
        self.position.counted_calls = self.position.counted_calls.min(kept);
        self.steady.keep(kept);
        if let Some(walk) = &mut self.walk {
            walk.keep(kept);
        }
    }

    /// Compares the stacks before an instruction. Returns how the walk ended, and whether the topmost frame was compared.
    fn compare(&mut self, moment: &Moment<'_>, begins: bool) -> (WalkEnd, bool) {
        if moment.call_stack.is_settled() {
            let calls = moment.call_stack.records();
            if calls.len() > self.position.counted_calls {
                for call in calls[self.position.counted_calls..].iter().filter(|call| !call.interrupted) {
                    self.seen.executed.call(call.return_address);
                }
                self.position.counted_calls = calls.len();
            }
            if let Some(end) = self.compare_unchanged(moment, begins) {
                return (end, true);
            }
        }
        self.compare_all(moment, begins)
    }

    /// Shows the probe what is about to execute.
    #[inline]
    fn pass_on(&mut self, moment: &Moment<'_>, begins: bool) {
        if self.interruptions.is_none()
            && let Some(probe) = &mut self.probe
        {
            let about = (&self.stores, &self.rules, &self.layouts);
            let readings = || readings(&self.calls, moment, begins, about, self.target);
            probe.executes(moment, &readings);
        }
    }

    /// Counts a comparison that ends as the last one did, since hardly anything has changed: see [`Steady`]. Returns
    /// how it ends.
    #[inline]
    fn compare_unchanged(&mut self, moment: &Moment<'_>, begins: bool) -> Option<WalkEnd> {
        if self.look.ignores_fp {
            return None;
        }
        let stepper = self.unwinder.stepper()?;
        let (Agreement { end, frames, depth }, derived) =
            self.steady.unchanged(moment, &self.stores, stepper)?;
        let start = self.last_instructions.start(moment.pc, moment.call_stack, self.target);
        self.seen.results.count(start, (end, &[]), (frames, derived as u64), depth);
        if self.look.requires_reliable {
            self.seen.results.note_early(end, &Truth::of(moment));
        }
        self.show_comparison(moment, begins);
        self.unchanged = Some(Agreement { end, frames, depth });
        Some(end)
    }

    /// Shows the probe what has been compared.
    #[inline]
    fn show_comparison(&mut self, moment: &Moment<'_>, begins: bool) {
        if let Some(probe) = &mut self.probe {
            let viewpoint = Viewpoint::new(moment);
            let truth =
                Truth { stores: Some(&self.stores), ignores_fp: self.look.ignores_fp, ..Truth::of(moment) };
            let truth = truth.seen_from(&viewpoint);
            let about = (&self.stores, &self.rules, &self.layouts);
            let readings = || readings(&self.calls, moment, begins, about, self.target);
            probe.compared(&truth, &viewpoint, &readings);
        }
    }

    /// Compares the stacks from end to end, or as far as they may have changed.
    #[inline(never)]
    fn compare_all(&mut self, moment: &Moment<'_>, begins: bool) -> (WalkEnd, bool) {
        let (depth, is_settled) = (moment.call_stack.depth(), moment.call_stack.is_settled());
        let viewpoint = Viewpoint::new(moment);
        let truth =
            Truth { stores: Some(&self.stores), ignores_fp: self.look.ignores_fp, ..Truth::of(moment) };
        let truth = truth.seen_from(&viewpoint);
        let walk = match (self.unwinder.stepper(), &mut self.walk) {
            (Some(stepper), Some(walk)) if is_settled => {
                walk.update(&truth, &viewpoint, stepper).then_some(walk)
            }
            _ => None,
        };
        let mut found = Vec::new();
        let mut is_plain = false;
        let (end, mut frames, derived) = match walk {
            Some(walk) => {
                let (frames, derived) = (walk.count(), walk.steps());
                let end = walk.compare(&truth, &self.rules, |disagreement| found.push(disagreement));
                is_plain = walk.is_unremarkable();
                (end, frames, derived)
            }
            None => {
                self.backtrace.unwind(self.unwinder, &viewpoint);
                let frames = self.backtrace.frames.len();
                let end = compare::compare(&truth, &self.backtrace, &self.rules, |disagreement| {
                    found.push(disagreement);
                });
                (end, frames, frames as u64)
            }
        };
        let agrees = is_plain && found.is_empty() && end.has_compared(depth);
        self.steady.compared(agrees.then(|| Agreement { end, frames: frames.min(depth), depth }));
        let judged = if is_settled && found.is_empty() {
            Judged::by_call_stack(end, found)
        } else {
            let about = (&self.stores, &self.rules, &self.layouts);
            let readings = readings(&self.calls, moment, begins, about, self.target);
            if is_settled && readings.are_several() {
                self.backtrace.unwind(self.unwinder, &viewpoint);
                frames = self.backtrace.frames.len();
            }
            let code = Some((self.target, self.rules.sections()));
            readings.judge(&truth, &self.backtrace, &self.rules, (end, found), code)
        };
        let truth = Truth { call_stack: judged.call_stack.as_ref().unwrap_or(truth.call_stack), ..truth };
        let scene =
            Circumstances::new(&truth, &viewpoint, self.target, &self.layouts).by(self.rules.sections());
        let excused = if self.look.requires_reliable { &judged.excused[..] } else { &[] };
        for disagreement in judged.found.iter().chain(excused) {
            let is_as_called = self.calls.are_as_called(disagreement.address, self.rules.sections());
            self.seen.results.findings.add(*disagreement, &Circumstances { is_as_called, ..scene });
        }
        let end = self.seen.count(&judged, (frames, derived), &truth, is_settled, || {
            self.last_instructions.start(moment.pc, truth.call_stack, self.target)
        });
        if self.look.requires_reliable && judged.found.is_empty() {
            self.seen.results.note_early(end, &truth);
        }
        let is_compared = end.has_compared(truth.call_stack.depth()) || judged.says_something_of_topmost();
        // Excluded, it is reported as that.
        let end = if judged.excluded.is_empty() { end } else { WalkEnd::Disagreed };
        self.show_comparison(moment, begins);
        (end, is_compared)
    }

    /// Notes that another thread goes on, whose frames are different ones.
    fn go_to_thread(&mut self, thread: u32, time: u64) {
        if self.position.thread != 0 {
            self.stores.go_to_thread(thread, time);
            self.steady.start();
            self.cross_check.go_to_thread();
            (self.position.depth, self.position.counted_calls) = (0, 0);
            if let Some(walk) = &mut self.walk {
                walk.keep(0);
            }
        }
        self.position.thread = thread;
    }

    fn observe(&mut self, moment: &Moment<'_>) {
        if self.seen.frames_seen.contains_key(&moment.pc) {
            return;
        }
        let pauth = self.target.pauth();
        let truth = Truth { stores: Some(&self.stores), ..Truth::of(moment) };
        let frame = TrueFrame::of(&truth, &Viewpoint::new(moment), self.abi, pauth);
        self.seen.frames_seen.insert(moment.pc, frame);
    }

    /// Takes note of an instruction where FP is right, and it is not known whether that is because it was saved.
    fn look_at_fp(&mut self, moment: &Moment<'_>) {
        let truth = Truth { stores: Some(&self.stores), ..Truth::of(moment) };
        if moment.call_stack.is_settled() && compare::is_fp_unknown(&truth, moment.memory, &self.rules) {
            self.seen.unknown_fp.insert(moment.pc);
        }
    }

    /// Whether a function has been entered by a jump from another one.
    fn is_tail_call(&self, moment: &Moment<'_>) -> bool {
        let stands = moment.call_stack.kept() == moment.call_stack.records().len();
        let (from, to) =
            (self.target.place(Loaded(self.position.last_pc)), self.target.place(Loaded(moment.pc)));
        let is_stub = |name: &str| name.ends_with("plt") || name.starts_with('[');
        stands && from.function.is_some_and(|name| !is_stub(name)) && from.function != to.function
    }

    /// Whether this arrival at a PC is to be examined closely.
    fn is_breakpoint(&self, pc: u64) -> bool {
        self.watched.get(&pc).is_some_and(|watched| {
            watched.iter().any(|&index| {
                self.seen.arrivals[index].0.checked_add(1) == Some(self.look.breakpoints[index].hit)
            })
        })
    }

    fn arrive(&mut self, moment: &Moment<'_>, end: WalkEnd) {
        let Some(watched) = self.watched.get(&moment.pc) else { return };
        for &index in watched {
            let (hits, arrival) = &mut self.seen.arrivals[index];
            *hits = hits.saturating_add(1);
            if *hits == self.look.breakpoints[index].hit {
                let truth = Truth::of(moment);
                let names = truth.addresses().map(|address| self.target.frame_name(address));
                let last = end.frame().unwrap_or(moment.call_stack.depth() - 1);
                let ended_at = truth.address(last).get();
                *arrival = Some(Arrival { frames: names.collect(), end, ended_at });
            }
        }
    }
}

impl Examiner<'_, '_, '_> {
    /// Follows, and compares, before an instruction.
    #[inline(always)]
    fn see(&mut self, moment: &Moment<'_>) -> Flow {
        let (target, functions, watched, check) = (self.target, &self.functions, &self.watched, &self.check);
        let look = || Known {
            written: Rc::new(Written::at(target.module_at(Loaded(moment.pc)), moment.pc)),
            starts_function: functions.contains(&moment.pc),
            is_watched: watched.contains_key(&moment.pc),
            starts_check: check.contains(&Loaded(moment.pc)),
        };
        let known = self.instructions.get_or_insert_with(moment.pc, look).clone();
        self.count_passed();
        self.passages.end();
        self.unchanged = None;
        if known.starts_check && self.interruptions.is_none() {
            self.seen.failed_check = FailedCheck::at(moment).or(self.seen.failed_check);
        }
        if moment.thread != self.position.thread {
            self.go_to_thread(moment.thread, moment.time);
        }
        let pointers = Pointers::at(moment, &known.written);
        self.stores.instruction(moment.time, moment.pc, known.written, pointers);
        self.stores.follow(moment.call_stack, moment.pc, moment.fp);
        let begins = known.starts_function;
        self.calls.follow(moment, begins, &self.stores, self.target);
        if self.interruptions.is_some() {
            match self.follow_signals(moment) {
                Followed::Compare => {}
                Followed::Pass(flow) => return flow,
            }
        }
        if !self.judges() {
            return Flow::Continue;
        }
        if let Err(doubt) = self.cross_check.instruction(moment, &self.stores, self.target) {
            // The call stack may be otherwise than assumed.
            if self.calls.doubt() {
                return Flow::Continue;
            }
            self.doubt = Some(doubt);
            return Flow::Stop;
        }
        if known.is_watched
            && self.interruptions.is_none()
            && self.is_breakpoint(moment.pc)
            && let Some(probe) = &mut self.probe
        {
            probe.breakpoint();
        }
        self.follow(moment, begins);
        if self.interruptions.is_none()
            && let Some(sampler) = &mut self.seen.sampler
            && !sampler.takes(moment)
        {
            self.seen.executed.instruction(moment.pc, RowUse::Never);
            self.pass_on(moment, begins);
            return Flow::Continue;
        }
        let (end, is_compared) = self.compare(moment, begins);
        let used = match is_compared {
            true => RowUse::Compared,
            false if end.is_whole() => RowUse::WithoutCaller,
            false => RowUse::NotCompared,
        };
        self.pass_on(moment, begins);
        match &mut self.interruptions {
            None => {
                let is_first = self.seen.executed.instruction(moment.pc, used);
                if self.look.observes && (is_compared || end.is_whole() || end.frame().is_some()) {
                    self.observe(moment);
                }
                if is_first && self.look.hazards {
                    self.look_at_fp(moment);
                }
                if known.is_watched {
                    self.arrive(moment, end);
                }
                if let Some(sampler) = self.seen.sampler.as_mut().filter(|_| is_compared) {
                    sampler.compared(moment);
                }
            }
            Some(interruptions) => {
                self.seen.executed.used(moment.pc, used);
                interruptions.compared(end);
            }
        }
        Flow::Continue
    }
}

impl Seen {
    /// Counts what has come of a comparison. `derived` is how many frames the walk has, and how many of them were derived
    /// anew. Returns how the walk ended.
    fn count(
        &mut self,
        judged: &Judged,
        (frames, derived): (usize, u64),
        truth: &Truth<'_>,
        is_settled: bool,
        start: impl FnOnce() -> Start,
    ) -> WalkEnd {
        let Judged { end, found, excused, excluded, .. } = judged;
        let end = *end;
        for (pc, kind) in excluded {
            self.excluded.add(*pc, *kind, 1);
        }
        if end == WalkEnd::Unsettled {
            self.results.counts.walk_ends.count(end, 0, 1);
            return end;
        }
        let depth = truth.call_stack.depth();
        if !is_settled {
            let (count, depth) = match (found.is_empty(), end) {
                (true, WalkEnd::Departing) => ((1, 1), 1),
                (true, _) => ((0, 0), depth),
                (false, _) => ((0, 0), usize::MAX),
            };
            self.results.count(Start::at(truth.pc), (end, found), count, depth);
        } else {
            let disagreed = found.last().map(|last| last.frame);
            let frames = compare::frames_compared(end, disagreed, frames.min(depth));
            self.results.count_but(start(), (end, found), (frames, derived), depth, excused);
        }
        let end = if found.is_empty() { end } else { WalkEnd::Disagreed };
        if !end.is_usual()
            && is_settled
            && let Some(kind) = end.in_specs()
        {
            let place = || truth.address(end.frame().unwrap_or(depth - 1)).get();
            self.end_places.entry(kind).or_insert_with(place);
        }
        end
    }
}

/// What walks from a moment are held against besides the call stack.
fn readings<'a>(
    calls: &Calls,
    moment: &Moment<'_>,
    begins: bool,
    (stores, rules, layouts): (&LastStores, &Remembered<'a>, &RefCell<FrameLayouts>),
    target: &Target<'a>,
) -> Readings {
    let truth = Truth { stores: Some(stores), ..Truth::of(moment) };
    let sections = rules.sections();
    let viewpoint = Viewpoint::new(moment);
    let has_lost_ra = || has_lost_ra(&Circumstances::new(&truth, &viewpoint, target, layouts).by(sections));
    let scene = Scene { target, sections, begins, has_lost_ra: &has_lost_ra };
    Readings::of(calls, moment, &truth, scene)
}

impl Examiner<'_, '_, '_> {
    /// Whether somebody asks for the run's end at this time.
    fn is_over(&mut self, time: u64) -> bool {
        self.stopped = self.look.stop.reason();
        self.stopped.is_some() && !self.cut.as_mut().is_some_and(|cut| cut.has_more(time))
    }

    /// Shows how far the run is. Returns whether somebody asks for its end.
    #[cold]
    fn asked(&mut self, moment: &Moment<'_>) -> bool {
        if let Some(progress) = &self.look.progress {
            let (findings, depth) = (self.seen.results.findings.count(), moment.call_stack.depth() as u64);
            progress.set(Figures { instructions: moment.time, findings, depth });
        }
        self.is_over(moment.time)
    }
}

impl Observer for Examiner<'_, '_, '_> {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        let flow = self.see(moment);
        let interval = moment.time / Progress::INTERVAL + 1;
        let is_asked =
            std::mem::replace(&mut self.position.interval, interval) != interval && self.asked(moment);
        if is_asked && flow == Flow::Continue { Flow::Stop } else { flow }
    }

    fn is_stopped(&mut self) -> bool {
        self.is_over(0)
    }

    fn changed(&mut self, moment: &Moment<'_>, change: &Change) {
        if let Some(probe) = self.probe.as_mut().filter(|_| !self.calls.only_follows()) {
            let about = (&self.stores, &self.rules, &self.layouts);
            let readings = || readings(&self.calls, moment, false, about, self.target);
            probe.changed(moment, change, &readings);
        }
        self.unwinder.changed(change);
        let has_changed = self.rules.change(change);
        if matches!(change, Change::Executed(_)) {
            // Nothing of the program before is on the stack, or in memory.
            self.forget_comparisons();
            self.calls.give_up();
            self.stores = LastStores::default();
        } else if has_changed {
            self.walk = self.unwinder.stepper().is_some().then(Walk::default);
        }
        if has_changed || matches!(change, Change::Executed(_)) {
            self.forget_passages();
            // Neither the rows nor the code at an address are what they were.
            self.steady = Steady::default();
            self.instructions = PcMap::default();
            self.last_instructions = LastInstructions::default();
        }
    }

    fn interrupted(&mut self) {
        self.stores.interrupted();
    }

    fn fork_ended(&mut self, end: &RunEnd) {
        self.end_fork(Some(end));
    }

    fn wants_stores(&self) -> bool {
        true
    }

    fn goes_by_block(&self) -> bool {
        /// Each block that can't be followed after it has executed takes another run. Then none is tried any more.
        const MOST_STEPPED: usize = 3;
        let is_own = self.walk.is_some();
        is_own && self.passes && self.stepped.len() < MOST_STEPPED
    }

    #[inline]
    fn lets_pass(&mut self, moment: &Moment<'_>) -> Option<Rc<Straight>> {
        let agreement = self.unchanged.take().filter(|_| self.passes)?;
        let start = self.last_instructions.start(moment.pc, moment.call_stack, self.target);
        let frame_records = self.cross_check.follows_frame_record(moment);
        let scene = Surroundings {
            target: self.target,
            stepper: self.unwinder.stepper()?,
            steady: &mut self.steady,
            instructions: &mut self.instructions,
            executed: &mut self.seen.executed,
        };
        self.passages.begin(moment, agreement, start, frame_records, scene)
    }

    fn goes_on(&mut self, pc: u64) -> Option<Rc<Straight>> {
        self.count_passed();
        self.passages.goes_on(pc)
    }

    fn passed(&mut self, time: u64, pcs: &[u64]) {
        self.passages.follow(time, pcs, &mut self.stores);
    }

    fn still_lets_pass(&self) -> bool {
        self.passages.are_certain()
    }

    fn store(&mut self, address: u64, len: u64) {
        let is_traced = self.cross_check.wrote(address, len);
        self.stores.stored(address, len);
        if let Some(walk) = &mut self.walk {
            let is_read = walk.stored(address, len);
            let is_kept = self.steady.stored(address, len, is_read);
            if is_traced || !is_kept {
                self.passages.doubt();
            }
        }
        if let Some(probe) = self.probe.as_mut().filter(|_| !self.calls.only_follows()) {
            probe.stored(address, len);
        }
    }
}
