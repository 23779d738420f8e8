//! Compares every instruction's backtrace with the call stack, for one program.

pub mod counts;
pub mod coverage;
mod deliveries;
mod ends;
mod gaps;
pub mod hazards;
mod held;
mod hypotheses;
pub mod listings;
pub mod observed;
mod own_check;
pub mod progress;
mod results;
pub mod sampling;
mod section_faults;
pub mod set_aside;
pub mod stop;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::{Abi, Base, Found, InstructionPointer, LookupAddress, RowRules};
use sframe_inspect::hazard::Hazard;
use sframe_machine::{
    CallStack, Change, End as RunEnd, Exit, Flow, Machine, MachineError, Moment, Observer, Options, Outcome,
    PcMap, Usage,
};

use crate::compare::incremental::Walk;
use crate::compare::steady::{Agreement, Steady};
use crate::compare::{
    self, ByTopmost, Disagreement, LastInstructions, Remembered, Start, Truth, WalkEnd, Walked,
};
use crate::examine::counts::Counts;
use crate::examine::coverage::{Coverage, Executed};
use crate::examine::deliveries::{Followed, Interruptions};
use crate::examine::held::{Held, Landing, MOST_HELD};
use crate::examine::hypotheses::{Hypotheses, Settled};
use crate::examine::observed::{Observed, TrueFrame};
use crate::examine::progress::{Figures, Progress};
use crate::examine::results::Results;
use crate::examine::sampling::{Sampler, Sampling};
use crate::examine::set_aside::{Collected, Kind, SetAside, SetAsideReason};
use crate::examine::stop::{Grace, StopReason, StopRequest};
use crate::finding::Finding;
use crate::target::layouts::FrameLayouts;
use crate::target::{self, Loaded, Target};
use crate::triage::{Circumstances, triage};
use crate::truth::control_flow::Features;
use crate::truth::cross_check::{CrossCheck, TraceConflict, Traces};
use crate::truth::stores::{LastStores, Pointers, Written};
use crate::unwind::{Backtrace, Unwinder, Viewpoint};
use crate::vocabulary::{End, Feature, Verdict};

pub use deliveries::{BrokenDelivery, Deliveries, DeliveryFault, Signals};
pub use ends::WalkEnds;
pub use hypotheses::{Closed, Readings};
pub use own_check::FailedCheck;

/// A place that a spec wants examined closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// The address, with load bias.
    pub pc: u64,
    /// The number of the arrival, from 1.
    pub hit: u32,
}

/// What was seen at a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The names of the call stack's frames, starting at the topmost.
    pub frames: Vec<String>,
    /// How the backtrace ended there.
    pub end: WalkEnd,
    /// Where it ended: the address by which its last frame was looked up.
    pub ended_at: u64,
}

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
}

/// Everything that was seen.
#[derive(Debug, PartialEq, Eq)]
pub struct Examination {
    /// How the program ended.
    pub end: RunEnd,
    /// Why it was ended early: see [`ExamineOptions::stop`].
    pub stopped: Option<StopReason>,
    /// Why the call stack itself is uncertain: another trace of the calls
    /// contradicts it.
    pub doubt: Option<TraceConflict>,
    /// What comparing amounts to.
    pub counts: Counts,
    /// Executed instructions that were not looked at: of other programs that the program has executed, and
    /// of copies of it.
    pub unobserved: u64,
    /// What the program wrote to its standard output.
    pub standard_output: Vec<u8>,
    /// The last of the program's own checks of its result that failed, in the run without signals.
    pub failed_check: Option<FailedCheck>,
    /// The system calls that it made.
    pub system_calls: Usage,
    /// Comparisons without a disagreement.
    pub agree: u64,
    /// Instructions that are not in the sample: see [`ExamineOptions::sampling`].
    /// With those compared, those with nothing to compare, and those that were not
    /// settled, these are all that were observed.
    pub left_out: u64,
    /// The comparisons that say nothing, in all runs: see [`SetAside`]. They are not counted as comparisons.
    pub set_aside: Vec<SetAside>,
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

impl Examination {
    /// That of a program that was not run.
    #[must_use]
    pub fn of_no_run() -> Self {
        Self {
            end: RunEnd::Stopped,
            stopped: None,
            doubt: None,
            counts: Counts::default(),
            unobserved: 0,
            standard_output: Vec::new(),
            failed_check: None,
            system_calls: Usage::default(),
            agree: 0,
            left_out: 0,
            set_aside: Vec::new(),
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

/// Observes a program while it is examined: mainly the moments at which backtrace and call stack
/// are compared and the call stack is settled.
pub trait Probe {
    /// Called before each run of the program.
    fn start(&mut self) {}

    /// Called before each instruction of the run without signals, whether or not it is compared; after that, if it is.
    fn executes(&mut self, moment: &Moment<'_>, readings: Readings<'_>) {
        let _ = (moment, readings);
    }

    /// Called when it is known which of the [`Readings`] were wrong: what the last question that was open has turned out to
    /// be, and then, if there is more, the one before.
    fn settled(&mut self, closed: Closed) {
        let _ = closed;
    }

    /// Called before the comparison at a moment that a spec names.
    fn breakpoint(&mut self) {}

    /// Called after the comparison.
    fn compared(&mut self, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>);

    /// Called when what there is to unwind by has changed, by the system call at a moment that has been compared.
    fn changed(&mut self, moment: &Moment<'_>, change: &Change) {
        let _ = (moment, change);
    }

    /// Called when frames have been left, at the first instruction after that.
    fn left(&mut self, moment: &Moment<'_>) {
        let _ = moment;
    }

    /// Called for each store: see [`Observer::store`].
    fn stored(&mut self, address: u64, len: u64) {
        let _ = (address, len);
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
    examiner.features.add(&outcome.control_flow);
    examiner.abandon();
    examiner.results.set_aside();
    let mut counts = examiner.results.counts;
    let reliability_by_topmost = examiner.results.reliability.by_topmost(target);
    counts.instructions = outcome.instructions;
    counts.reliability = reliability_by_topmost.total();
    let max_depth = examiner.max_depth;
    let arrivals = examiner.arrivals.clone();
    // The instructions of the run without signals.
    let executed = if look.hazards { examiner.executed.counts() } else { BTreeMap::new() };
    let mut deliveries = Vec::new();
    if examiner.doubt.is_none() && outcome.end == RunEnd::Exit(look.exit_status) {
        for signals in &look.signals {
            deliveries.push(examiner.deliver(signals, options)?);
        }
    }
    let left_out = examiner.sampler.as_ref().map_or(0, |sampler| sampler.left_out);
    let mut set_aside = std::mem::take(&mut examiner.set_aside);
    for (found, as_caller, count) in examiner.results.findings.borne_out() {
        let reason = match found.verdict {
            Verdict::WrongFp => SetAsideReason::LeavesWithFp,
            _ => SetAsideReason::LeavesElsewhere,
        };
        let kind = Kind { reason, as_caller };
        set_aside.add(found.pc, kind, count);
    }
    counts.traces = examiner.cross_check.counts();
    let coverage = examiner.executed.coverage(target, |pc| set_aside.at(pc));
    let mut findings = target.section_faults();
    findings.extend(gaps::gaps(target, &examiner.executed));
    findings.extend(ends::incomplete(&examiner.results.early, target));
    let is_consequence = target.consequences();
    let mut grace = Grace::of(&look.stop);
    let (found, findings_omitted) = examiner.results.findings.described_until(target, || grace.is_over());
    findings.extend(found.into_iter().filter(|finding| !is_consequence(finding)));
    Ok(Examination {
        end: outcome.end,
        stopped: examiner.stopped.or_else(|| look.stop.reason().filter(|_| grace.is_over())),
        doubt: examiner.doubt,
        counts,
        unobserved: outcome.unobserved,
        standard_output: outcome.standard_output,
        failed_check: examiner.failed_check,
        system_calls: outcome.system_calls,
        agree: counts.comparisons - counts.walk_ends.disagreed,
        left_out,
        set_aside: set_aside.into_list(target, &examiner.executed),
        end_places: examiner.end_places,
        max_depth,
        reliability_by_topmost,
        findings,
        findings_omitted,
        arrivals,
        deliveries,
        coverage,
        features: examiner.features,
        hazards: hazards::executed(target, &executed, &examiner.unknown_fp),
        observed: observed(&examiner.executed, &examiner.frames_seen, look),
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

struct Examiner<'e, 'a, 'p> {
    target: &'e Target<'a>,
    unwinder: &'e mut dyn Unwinder,
    rules: Remembered<'a>,
    look: &'e ExamineOptions,
    backtrace: Backtrace,
    /// The walk, if the unwinder offers its steps.
    walk: Option<Walk>,
    steady: Steady,
    sampler: Option<Sampler>,
    cross_check: CrossCheck,
    stores: LastStores,
    /// The instructions that have executed.
    instructions: PcMap<Known>,
    doubt: Option<TraceConflict>,
    stopped: Option<StopReason>,
    /// The program's own check of its result.
    check: Vec<Loaded>,
    failed_check: Option<FailedCheck>,
    /// Breakpoints by address.
    watched: FxHashMap<u64, Vec<usize>>,
    arrivals: Vec<(u32, Option<Arrival>)>,
    results: Results,
    end_places: BTreeMap<End, u64>,
    max_depth: usize,
    depth: usize,
    /// The thread that executes; 0 before the first one.
    thread: u32,
    /// How many of the oldest calls have been counted as compared.
    counted_calls: usize,
    last_pc: u64,
    /// The instruction that executed last.
    previous_pc: u64,
    /// Addresses of the executing image.
    image: Range<u64>,
    /// First instructions of functions.
    functions: FxHashSet<u64>,
    abi: Option<Abi>,
    features: Features,
    /// Comparisons whose meaning depends on where control lands.
    held: Vec<Held>,
    set_aside: Collected,
    /// Calls that may be none, and jumps that may be calls.
    hypotheses: Hypotheses,
    layouts: RefCell<FrameLayouts>,
    last_instructions: LastInstructions,
    executed: Executed,
    /// The instructions at whose first execution it was not known where FP's value comes from.
    unknown_fp: FxHashSet<u64>,
    /// The first true frame at each instruction.
    frames_seen: FxHashMap<u64, TrueFrame>,
    interruptions: Option<Interruptions>,
    probe: Option<&'p mut dyn Probe>,
}

/// What is known of an instruction.
#[derive(Clone, Debug)]
struct Known {
    /// The registers that it writes.
    written: Rc<Written>,
    /// Whether it is the first one of a function.
    starts_function: bool,
    /// Whether it has breakpoints.
    is_watched: bool,
    /// Whether it is the first one of the program's own check.
    starts_check: bool,
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
        Self {
            target,
            unwinder,
            rules: Remembered::new(target.sections.clone()),
            look,
            walk: None,
            steady: Steady::default(),
            sampler: Sampler::new(&look.sampling),
            cross_check: CrossCheck::new(target, look.traces),
            stores: LastStores::default(),
            instructions: PcMap::default(),
            abi: target.executable().subject.abi(),
            doubt: None,
            stopped: None,
            backtrace: Backtrace::default(),
            check: target.addresses_of(own_check::FUNCTION),
            failed_check: None,
            watched,
            arrivals: vec![(0, None); look.breakpoints.len()],
            results: Results::default(),
            end_places: BTreeMap::new(),
            max_depth: 0,
            depth: 0,
            thread: 0,
            counted_calls: 0,
            last_pc: 0,
            previous_pc: 0,
            image: 0..0,
            functions: target.functions().map(|start| start.0).collect(),
            features: Features::default(),
            held: Vec::new(),
            set_aside: Collected::default(),
            hypotheses: Hypotheses::default(),
            layouts: RefCell::default(),
            last_instructions: LastInstructions::default(),
            executed: Executed::default(),
            unknown_fp: FxHashSet::default(),
            frames_seen: FxHashMap::default(),
            interruptions: None,
            probe,
        }
    }

    /// Runs the program once, with signals if there are any to deliver.
    fn run(
        &mut self,
        options: &Options,
        interruptions: Option<Interruptions>,
    ) -> Result<Outcome, MachineError> {
        self.begin_comparing();
        self.unwinder.restart();
        self.rules = Remembered::new(self.target.sections.clone());
        self.results.findings.start(0);
        self.stores = LastStores::default();
        self.interruptions = interruptions;
        Machine::with_images(&self.target.images, options)?.run(self)
    }

    /// Forgets all earlier comparisons: the probe as well.
    fn begin_comparing(&mut self) {
        self.forget_comparisons();
        if let Some(probe) = &mut self.probe {
            probe.start();
        }
    }

    /// Forgets all earlier comparisons.
    fn forget_comparisons(&mut self) {
        self.walk = self.unwinder.stepper().is_some().then(Walk::default);
        self.steady.start();
        self.cross_check.start();
        self.abandon();
        (self.depth, self.counted_calls) = (0, 0);
    }

    /// Follows how control moves, whether or not the stacks are compared.
    fn follow(&mut self, moment: &Moment<'_>, starts_function: bool) {
        let depth = moment.call_stack.depth();
        if depth == self.depth && starts_function && self.is_tail_call(moment) {
            self.features.count(Feature::TailCalls);
        }
        if !self.image.contains(&moment.pc)
            && let Some(module) = self.target.module_at(Loaded(moment.pc))
        {
            if !self.image.is_empty() {
                self.features.count(Feature::ImageCrossings);
            }
            self.image = module.image.range();
        }
        self.depth = depth;
        self.previous_pc = std::mem::replace(&mut self.last_pc, moment.pc);
        self.max_depth = self.max_depth.max(depth);

        let kept = moment.call_stack.kept();
        self.counted_calls = self.counted_calls.min(kept);
        self.steady.keep(kept);
        if let Some(walk) = &mut self.walk {
            walk.keep(kept);
        }
    }

    /// Compares the stacks before an instruction.
    fn compare(&mut self, moment: &Moment<'_>) -> WalkEnd {
        if !moment.call_stack.is_settled() {
            return self.compare_before_landing(moment);
        }
        let calls = moment.call_stack.records();
        if calls.len() > self.counted_calls {
            self.hypotheses.called(moment, self.target);
            for call in calls[self.counted_calls..].iter().filter(|call| !call.interrupted) {
                self.executed.call(call.return_address);
            }
            self.counted_calls = calls.len();
        }
        // At its first instruction, a function is not one that has made a call before.
        if let Some(Exit::Landing { or: Some(frame), .. }) = moment.call_stack.exit()
            && !self.is_entry(moment.pc)
        {
            self.hypotheses.landed(moment, frame);
        }
        // What is reached with a return address in a register of its own choice, and begins there, is a callee.
        if moment.call_stack.linked().is_some_and(|next| next != moment.pc)
            && self.functions.contains(&moment.pc)
        {
            self.hypotheses.linked(moment);
        }
        if self.hypotheses.are_open(moment.thread) {
            return self.compare_hypotheses(moment);
        }
        match self.compare_unchanged(moment) {
            Some(end) => end,
            None => self.compare_all(moment),
        }
    }

    /// Shows the probe what has turned out to be a call, or none.
    fn pass_on_closed(&mut self) {
        let closed = self.hypotheses.take_closed();
        if self.interruptions.is_none()
            && let Some(probe) = &mut self.probe
        {
            closed.into_iter().for_each(|closed| probe.settled(closed));
        }
    }

    /// Shows the probe what is about to execute.
    #[inline]
    fn pass_on(&mut self, moment: &Moment<'_>) {
        if self.interruptions.is_none()
            && let Some(probe) = &mut self.probe
        {
            probe.executes(moment, self.hypotheses.readings(moment.thread));
        }
    }

    /// Counts a comparison that ends as the last one did, since hardly anything has changed: see [`Steady`]. Returns
    /// how it ends.
    #[inline]
    fn compare_unchanged(&mut self, moment: &Moment<'_>) -> Option<WalkEnd> {
        if self.look.ignores_fp {
            return None;
        }
        let stepper = self.unwinder.stepper()?;
        let (Agreement { end, frames, depth }, derived) =
            self.steady.unchanged(moment, &self.stores, stepper)?;
        let start = self.last_instructions.start(moment.pc, moment.call_stack, self.target);
        self.results.count(start, (end, &[]), (frames, derived as u64), depth);
        if self.look.requires_reliable {
            self.results.note_early(end, &Truth::of(moment));
        }
        if let Some(probe) = &mut self.probe {
            let truth = Truth { stores: Some(&self.stores), ..Truth::of(moment) };
            probe.compared(&truth, &Viewpoint::new(moment));
        }
        Some(end)
    }

    /// Compares the stacks from end to end, or as far as they may have changed.
    #[inline(never)]
    fn compare_all(&mut self, moment: &Moment<'_>) -> WalkEnd {
        let depth = moment.call_stack.depth();
        let calls = moment.call_stack.records().len();
        let viewpoint = Viewpoint::new(moment);
        let truth =
            Truth { stores: Some(&self.stores), ignores_fp: self.look.ignores_fp, ..Truth::of(moment) };
        let walk = match (self.unwinder.stepper(), &mut self.walk) {
            (Some(stepper), Some(walk)) => walk.update(&truth, &viewpoint, stepper).then_some(walk),
            _ => None,
        };
        let mut found = Vec::new();
        let mut is_plain = false;
        let (mut end, mut frames, derived) = match walk {
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
        // Frames that SP is past, and control has not left, count as well. What is of neither is wrong for them.
        let has_values_of_neither = found.iter().any(|found| found.verdict != Verdict::ByLuck);
        let departed = moment.call_stack.departed().filter(|_| has_values_of_neither);
        // A frame that was none is not left either.
        let is_left = |departed: &CallStack| {
            let left = departed.records().get(calls..).unwrap_or_default();
            left.is_empty() || !left.iter().all(|call| self.hypotheses.is_refuted(call))
        };
        let departed = departed.filter(|departed| is_left(departed));
        let truth = departed.map_or(truth, |call_stack| Truth { call_stack, ..truth });
        if departed.is_some() {
            self.backtrace.unwind(self.unwinder, &viewpoint);
            (end, found) = compare::disagreements(&truth, &self.backtrace, &self.rules);
            frames = self.backtrace.frames.len();
            if found.is_empty() && end.has_compared(truth.call_stack.depth()) {
                end = WalkEnd::Departing;
            }
        }
        // A handler may have changed where what it has interrupted will continue.
        let rewritten = if found.is_empty() { None } else { moment.rewritten() };
        let truth = Truth { call_stack: rewritten.as_ref().unwrap_or(truth.call_stack), ..truth };
        if rewritten.is_some() {
            self.backtrace.unwind(self.unwinder, &viewpoint);
            (end, found) = compare::disagreements(&truth, &self.backtrace, &self.rules);
            frames = self.backtrace.frames.len();
        }
        // What a call has led to that skips a speculation trap may as well be described as a callee, if it is a function.
        if let Some(return_address) = moment.call_stack.skipped()
            && !found.is_empty()
            && self.functions.contains(&moment.pc)
        {
            let call_stack = &moment.call_stack.entered(moment.as_entered(return_address));
            self.backtrace.unwind(self.unwinder, &viewpoint);
            let called = compare::disagreements(&Truth { call_stack, ..truth }, &self.backtrace, &self.rules);
            if called.1.is_empty() {
                frames = self.backtrace.frames.len();
                (end, found) = called;
            }
        }
        // What has been jumped to may have been called.
        if found.first().is_some_and(|first| first.frame == 0) {
            let has_jumped = self.has_jumped(moment);
            if has_jumped {
                self.backtrace.unwind(self.unwinder, &viewpoint);
            }
            let backtrace = has_jumped.then_some(&self.backtrace);
            if self.hypotheses.reached(moment, backtrace, &self.stores, self.target) {
                return self.compare_hypotheses(moment);
            }
        }
        let disagreed = found.last().map(|last| last.frame);
        let scene =
            Circumstances::new(&truth, &viewpoint, self.target, &self.layouts).by(self.rules.sections());
        for disagreement in &found {
            self.results.findings.add(*disagreement, &scene);
        }
        let frames = compare::frames_compared(end, disagreed, frames.min(depth));
        let end_of_walk = end;
        let end = if disagreed.is_some() { WalkEnd::Disagreed } else { end };
        let agrees = is_plain && disagreed.is_none() && end.has_compared(depth);
        self.steady.compared(agrees.then_some(Agreement { end, frames, depth }));
        let start = self.last_instructions.start(moment.pc, truth.call_stack, self.target);
        self.results.count(start, (end_of_walk, &found), (frames, derived), depth);
        if self.look.requires_reliable && found.is_empty() {
            self.results.note_early(end, &truth);
        }
        if !end.is_usual()
            && let Some(kind) = end.in_specs()
        {
            let place = || truth.address(end.frame().unwrap_or(depth - 1)).get();
            self.end_places.entry(kind).or_insert_with(place);
        }
        if let Some(probe) = &mut self.probe {
            probe.compared(&truth, &viewpoint);
        }
        end
    }

    /// Compares the stacks before an instruction at which SP has left the frames of the callers for where control has
    /// not landed yet.
    fn compare_before_landing(&mut self, moment: &Moment<'_>) -> WalkEnd {
        self.steady.compared(None);
        let Some(call_stack) = moment.call_stack.departed() else { return WalkEnd::Unsettled };
        let viewpoint = Viewpoint::new(moment);
        self.backtrace.unwind(self.unwinder, &viewpoint);
        // What was saved is below SP by now.
        let truth = Truth { ignores_fp: self.look.ignores_fp, call_stack, ..Truth::of(moment) };
        let (end, found) = compare::disagreements(&truth, &self.backtrace, &self.rules);
        let depth = call_stack.depth();
        if found.is_empty() && !end.has_compared(depth) {
            self.results.count(Start::at(moment.pc), (end, &[]), (0, 0), depth);
            if self.look.requires_reliable {
                self.results.note_early(end, &truth);
            }
            return end;
        }
        if found.is_empty() {
            return self.count_departing(moment.pc);
        }
        if self.held.len() == MOST_HELD {
            self.set_aside(moment.pc, SetAsideReason::NoLanding);
            return WalkEnd::Unsettled;
        }
        let scene =
            Circumstances::new(&truth, &viewpoint, self.target, &self.layouts).by(self.rules.sections());
        let mut held = Held::new(moment, &truth, self.backtrace.clone());
        let judged = found.into_iter().map(|found| (found, triage(&found, &scene, true)));
        held.found.extend(judged);
        self.held.push(held);
        WalkEnd::Unsettled
    }

    /// Counts a comparison that agrees with one of the call stacks before and after control lands.
    fn count_departing(&mut self, pc: u64) -> WalkEnd {
        self.results.count(Start::at(pc), (WalkEnd::Departing, &[]), (1, 1), 1);
        WalkEnd::Departing
    }

    /// Whether control has come by a jump, or by what loads the PC, from elsewhere.
    fn has_jumped(&self, moment: &Moment<'_>) -> bool {
        let from = Loaded(self.previous_pc);
        let previous = self.target.module_at(from).and_then(|module| module.instruction(from));
        moment.call().is_none()
            && moment.call_stack.exit() != Some(Exit::Return)
            && previous.is_none_or(|previous| from.0.wrapping_add(previous.len) != moment.pc)
    }

    /// Compares the stacks both ways where a call may be none, or a jump may be one.
    #[cold]
    fn compare_hypotheses(&mut self, moment: &Moment<'_>) -> WalkEnd {
        self.steady.compared(None);
        let viewpoint = Viewpoint::new(moment);
        self.backtrace.unwind(self.unwinder, &viewpoint);
        let call_stacks = self.hypotheses.call_stacks(moment.call_stack);
        let truth = |call_stack| Truth {
            stores: Some(&self.stores),
            ignores_fp: self.look.ignores_fp,
            call_stack,
            ..Truth::of(moment)
        };
        let (pushed, requires_reliable) = (moment.abi().pushed_by_calls(), self.look.requires_reliable);
        let compared: Vec<_> = call_stacks
            .iter()
            .map(|call_stack| {
                let (end, mut found) =
                    compare::disagreements(&truth(call_stack), &self.backtrace, &self.rules);
                // It is nobody's fault, and the walk goes wrong there nevertheless.
                let is_of_jump = |found: &mut Disagreement| {
                    self.hypotheses.is_of_jump(found, call_stack, pushed)
                        && self.is_row_of_jump(found.address)
                };
                let of_jump: Vec<Disagreement> = found.extract_if(.., is_of_jump).collect();
                let end =
                    if found.is_empty() && end == WalkEnd::Disagreed { WalkEnd::Departing } else { end };
                (if found.is_empty() { end } else { WalkEnd::Disagreed }, found, of_jump)
            })
            .collect();
        let is_right: Vec<bool> = compared.iter().map(|(_, found, _)| found.is_empty()).collect();
        // What has been jumped to may have been called, once more.
        let is_explained = is_right.contains(&true);
        let jumped = (!is_explained && self.has_jumped(moment)).then_some(&self.backtrace);
        if !is_explained && self.hypotheses.reached(moment, jumped, &self.stores, self.target) {
            return self.compare_hypotheses(moment);
        }
        let frames = self.backtrace.frames.len();
        let (target, layouts, sections) = (self.target, &self.layouts, self.rules.sections());
        self.hypotheses.record(moment.pc, &is_right, |index, results| {
            let Some(index) = index else { return results.counts.walk_ends.count(WalkEnd::Unsettled, 0) };
            let (end, found, of_jump) = &compared[index];
            let truth = truth(&call_stacks[index]);
            let is_as_called = index == 0;
            let scene = Circumstances::new(&truth, &viewpoint, target, layouts).by(sections);
            let scene = Circumstances { is_as_called, ..scene };
            let of_jump_too = if requires_reliable { &of_jump[..] } else { &[] };
            found.iter().chain(of_jump_too).for_each(|found| results.findings.add(*found, &scene));
            let depth = call_stacks[index].depth();
            let frames = (frames.min(depth), frames as u64);
            results.count_but(Start::at(moment.pc), (*end, found), frames, depth, of_jump);
            if requires_reliable && found.is_empty() {
                results.note_early(*end, &truth);
            }
        });
        // What is right only for the opposite of what the call stack says is not settled yet.
        match is_right.iter().position(|is_right| *is_right) {
            Some(0) => compared[0].0,
            Some(_) => WalkEnd::Unsettled,
            None => WalkEnd::Disagreed,
        }
    }

    /// Whether what is looked up is a jump, and the CFA is computed from SP there.
    fn is_row_of_jump(&self, address: LookupAddress) -> bool {
        let is_by_sp = |rules: RowRules| rules.cfa.is_some_and(|cfa| cfa.base == Base::Sp);
        let row = self.rules.sections().lookup(address).ok().flatten();
        let Some(module) =
            self.target.module_at(address).filter(|_| row.is_some_and(|it| is_by_sp(it.row.rules())))
        else {
            return false;
        };
        let (code, next) = (module.code_around(address), address.get().wrapping_add(1));
        let last = code.before(next).and_then(|start| Some((start, code.at(start)?)));
        last.is_some_and(|(start, jump)| start.wrapping_add(jump.len) == next && !jump.falls_through())
    }

    fn set_aside(&mut self, pc: u64, reason: SetAsideReason) {
        self.results.counts.walk_ends.count(WalkEnd::Unsettled, 0);
        let kind = Kind { reason, as_caller: false };
        self.set_aside.add(pc, kind, 1);
    }

    /// Judges what was held until control has landed.
    #[cold]
    fn judge_held(&mut self, moment: &Moment<'_>) {
        let (landed, waiting) =
            std::mem::take(&mut self.held).into_iter().partition(|held: &Held| held.has_landed(moment));
        self.held = waiting;
        let landing = Landing::at(moment);
        for held in landed {
            if held.is_interrupted(moment) {
                self.set_aside(held.pc, SetAsideReason::NoLanding);
                continue;
            }
            let leaves = !held.returns_at(&landing);
            if leaves && held.agrees(&landing, &self.rules) {
                self.executed.compared(held.pc);
                self.count_departing(held.pc);
                continue;
            }
            if let Some(reason) = held.why_set_aside(&landing).filter(|_| leaves) {
                self.set_aside(held.pc, reason);
                continue;
            }
            self.executed.compared(held.pc);
            let found: Vec<Disagreement> = held.found.iter().map(|(found, _)| *found).collect();
            self.results.count(Start::at(held.pc), (WalkEnd::Disagreed, &found), (0, 0), usize::MAX);
            for (found, triage) in held.found {
                self.results.findings.add_triaged(found, self.target, |_| triage);
            }
        }
    }

    /// Adds what has come of hypotheses. What is not known to be right or wrong is set aside.
    fn add_settled(&mut self, settled: Settled) {
        let Settled { results, pending, is_open, mut unknown } = settled;
        self.results.merge(results, self.target);
        if is_open {
            unknown.extend(pending);
        } else {
            pending.into_iter().for_each(|pc| self.executed.compared(pc));
        }
        for pc in unknown {
            self.set_aside.add(pc, Kind { reason: SetAsideReason::NoLanding, as_caller: false }, 1);
        }
    }

    /// Gives up what is not settled: the run has ended, or goes on elsewhere.
    fn abandon(&mut self) {
        if let Some(settled) = self.hypotheses.abandon(self.target) {
            self.pass_on_closed();
            self.add_settled(settled);
        }
        for held in std::mem::take(&mut self.held) {
            self.set_aside(held.pc, SetAsideReason::NoLanding);
        }
    }

    /// Notes that another thread goes on, whose frames are different ones.
    fn go_to_thread(&mut self, thread: u32, time: u64) {
        if self.thread != 0 {
            self.stores.go_to_thread(thread, time);
            self.steady.start();
            self.cross_check.go_to_thread();
            (self.depth, self.counted_calls) = (0, 0);
            if let Some(walk) = &mut self.walk {
                walk.keep(0);
            }
        }
        self.thread = thread;
    }

    fn observe(&mut self, moment: &Moment<'_>) {
        let pauth = self.target.pauth();
        let truth = Truth { stores: Some(&self.stores), ..Truth::of(moment) };
        let frame = TrueFrame::of(&truth, &Viewpoint::new(moment), self.abi, pauth);
        self.frames_seen.insert(moment.pc, frame);
    }

    /// Takes note of an instruction where FP is right, and it is not known whether that is because it was saved.
    fn look_at_fp(&mut self, moment: &Moment<'_>) {
        let truth = Truth { stores: Some(&self.stores), ..Truth::of(moment) };
        if moment.call_stack.is_settled() && compare::is_fp_unknown(&truth, moment.memory, &self.rules) {
            self.unknown_fp.insert(moment.pc);
        }
    }

    /// Whether a function begins at an address with the frame of one that has been called, or without a row.
    fn is_entry(&self, pc: u64) -> bool {
        let found = self.target.sections.lookup(InstructionPointer(pc)).ok().flatten();
        let is_of_entry = |found: Found| self.abi.is_none_or(|abi| target::is_entry(&found.row, abi));
        self.functions.contains(&pc) && found.is_none_or(is_of_entry)
    }

    /// Whether a function has been entered by a jump from another one.
    fn is_tail_call(&self, moment: &Moment<'_>) -> bool {
        let stands = moment.call_stack.kept() == moment.call_stack.records().len();
        let (from, to) = (self.target.place(Loaded(self.last_pc)), self.target.place(Loaded(moment.pc)));
        let is_stub = |name: &str| name.ends_with("plt") || name.starts_with('[');
        stands && from.function.is_some_and(|name| !is_stub(name)) && from.function != to.function
    }

    /// Whether this arrival at a PC is to be examined closely.
    fn is_breakpoint(&self, pc: u64) -> bool {
        self.watched.get(&pc).is_some_and(|watched| {
            watched
                .iter()
                .any(|&index| self.arrivals[index].0.checked_add(1) == Some(self.look.breakpoints[index].hit))
        })
    }

    fn arrive(&mut self, moment: &Moment<'_>, end: WalkEnd) {
        let Some(watched) = self.watched.get(&moment.pc) else { return };
        for &index in watched {
            let (hits, arrival) = &mut self.arrivals[index];
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
        if known.starts_check && self.interruptions.is_none() {
            self.failed_check = FailedCheck::at(moment).or(self.failed_check);
        }
        if moment.thread != self.thread {
            self.go_to_thread(moment.thread, moment.time);
        }
        if !self.held.is_empty() {
            self.judge_held(moment);
        }
        if self.hypotheses.are_open(moment.thread) {
            let settled = self.hypotheses.settle(moment, self.target);
            self.pass_on_closed();
            settled.into_iter().for_each(|settled| self.add_settled(settled));
        }
        if moment.call_stack.exit() == Some(Exit::Return) {
            self.hypotheses.returned(moment);
        }
        let pointers = Pointers::at(moment, &known.written);
        self.stores.instruction(moment.time, moment.pc, known.written, pointers);
        self.stores.follow(moment.call_stack, moment.pc, moment.fp);
        self.results.findings.follow(moment, self.abi);
        if let (Some(_), Some(probe)) = (moment.call_stack.exit(), &mut self.probe) {
            probe.left(moment);
        }
        if self.interruptions.is_some() {
            match self.follow_signals(moment) {
                Followed::Compare => {}
                Followed::Pass(flow) => return flow,
            }
        }
        if let Err(doubt) = self.cross_check.instruction(moment, &self.stores, self.target) {
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
        self.follow(moment, known.starts_function);
        if self.interruptions.is_none()
            && let Some(sampler) = &mut self.sampler
            && !sampler.takes(moment)
        {
            self.executed.instruction(moment.pc, false);
            self.pass_on(moment);
            return Flow::Continue;
        }
        let end = self.compare(moment);
        self.pass_on(moment);
        match &mut self.interruptions {
            None => {
                let is_settled = end != WalkEnd::Unsettled;
                let is_first = self.executed.instruction(moment.pc, is_settled);
                if is_first && self.look.observes {
                    self.observe(moment);
                }
                if is_first && self.look.hazards {
                    self.look_at_fp(moment);
                }
                if known.is_watched {
                    self.arrive(moment, end);
                }
                if let Some(sampler) = self.sampler.as_mut().filter(|_| is_settled) {
                    sampler.compared(moment);
                }
            }
            Some(interruptions) => {
                self.executed.compared(moment.pc);
                interruptions.compared(end);
            }
        }
        Flow::Continue
    }
}

impl Examiner<'_, '_, '_> {
    /// Shows how far the run is. Returns whether somebody asks for its end.
    #[cold]
    fn asked(&mut self, moment: &Moment<'_>) -> bool {
        if let Some(progress) = &self.look.progress {
            let (findings, depth) = (self.results.findings.count(), moment.call_stack.depth() as u64);
            progress.set(Figures { instructions: moment.time, findings, depth });
        }
        self.stopped = self.look.stop.reason();
        self.stopped.is_some()
    }
}

impl Observer for Examiner<'_, '_, '_> {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        let flow = self.see(moment);
        let is_asked = moment.time.is_multiple_of(Progress::INTERVAL) && self.asked(moment);
        if is_asked && flow == Flow::Continue { Flow::Stop } else { flow }
    }

    fn changed(&mut self, moment: &Moment<'_>, change: &Change) {
        if let Some(probe) = &mut self.probe {
            probe.changed(moment, change);
        }
        self.unwinder.changed(change);
        let has_changed = self.rules.change(change);
        if matches!(change, Change::Executed(_)) {
            // Nothing of the program before is on the stack, or in memory.
            self.forget_comparisons();
            self.results.findings.start(0);
            self.stores = LastStores::default();
        } else if has_changed {
            self.steady.start();
            self.walk = self.unwinder.stepper().is_some().then(Walk::default);
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

    fn store(&mut self, address: u64, len: u64) {
        self.cross_check.wrote(address, len);
        self.stores.stored(address, len);
        if let Some(walk) = &mut self.walk {
            let is_read = walk.stored(address, len);
            self.steady.stored(address, len, is_read);
        }
        if let Some(probe) = &mut self.probe {
            probe.stored(address, len);
        }
    }
}
