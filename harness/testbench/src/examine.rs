//! One run of one program: every instruction's backtrace against the call stack.

use rustc_hash::FxHashMap;
use serde::Serialize;
use sframe_machine::{End as RunEnd, Flow, Machine, MachineError, Moment, Observer, Options};

use crate::compare::{self, Truth, WalkEnd, Walked};
use crate::coverage::{Coverage, Executed};
use crate::finding::{Finding, Findings};
use crate::target::Target;
use crate::unwind::{Backtrace, Unwinder, Viewpoint};
use crate::walk::Walk;

/// A place at which a spec wants to look closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// Address, with the load bias.
    pub pc: u64,
    /// Which arrival, from 1.
    pub hit: u32,
}

/// What was seen at a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The names of the call stack's frames, from the topmost one on.
    pub frames: Vec<String>,
    /// How the backtrace ended there.
    pub end: WalkEnd,
}

/// How often walks ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WalkEnds {
    /// At an entry function that is marked as outermost.
    pub outermost: u64,
    /// At an entry function that is not marked.
    pub unmarked: u64,
    /// At the first function of a context that the program has made, which is not marked.
    pub context: u64,
    /// Nowhere: the topmost frame's callers were not known yet, and not compared.
    pub unsettled: u64,
    /// At code without an FDE.
    pub no_fde: u64,
    /// At an interrupted frame whose rules need a register.
    pub in_register: u64,
    /// At a frame that goes on on a stack further down in memory.
    pub no_progress: u64,
    /// At a disagreement.
    pub disagreed: u64,
}

impl WalkEnds {
    /// Adds those of another run.
    pub const fn add(&mut self, other: &Self) {
        self.outermost += other.outermost;
        self.unmarked += other.unmarked;
        self.context += other.context;
        self.unsettled += other.unsettled;
        self.no_fde += other.no_fde;
        self.in_register += other.in_register;
        self.no_progress += other.no_progress;
        self.disagreed += other.disagreed;
    }

    const fn count(&mut self, end: WalkEnd) {
        *match end {
            WalkEnd::Outermost => &mut self.outermost,
            WalkEnd::Unmarked => &mut self.unmarked,
            WalkEnd::Context => &mut self.context,
            WalkEnd::Unsettled => &mut self.unsettled,
            WalkEnd::NoFde { .. } => &mut self.no_fde,
            WalkEnd::InRegister { .. } => &mut self.in_register,
            WalkEnd::NoProgress { .. } => &mut self.no_progress,
            WalkEnd::Disagreed => &mut self.disagreed,
        } += 1;
    }
}

/// All that a run has shown.
#[derive(Debug, PartialEq, Eq)]
pub struct Examination {
    /// How the program ended.
    pub end: RunEnd,
    /// Instructions executed.
    pub instructions: u64,
    /// Instructions at which backtrace and call stack were compared.
    pub comparisons: u64,
    /// Comparisons without a disagreement.
    pub agree: u64,
    /// Frames whose CFA, RA and FP were compared.
    pub frames: u64,
    /// How the walks ended.
    pub walk_ends: WalkEnds,
    /// The deepest call stack.
    pub max_depth: usize,
    /// What was wrong.
    pub findings: Vec<Finding>,
    /// What was seen at each breakpoint; none where it was not reached, with
    /// the number of arrivals.
    pub arrivals: Vec<(u32, Option<Arrival>)>,
    /// Which rows the run has exercised.
    pub coverage: Coverage,
}

/// Runs a program and compares at every instruction.
///
/// Where the unwinder offers its steps, frames that are as they were are not
/// walked and compared again. The result is the same.
///
/// # Errors
/// The machine can't be set up. A program that breaks later is in the result.
pub fn examine(
    target: &Target<'_>,
    unwinder: &mut dyn Unwinder,
    breakpoints: &[Breakpoint],
    options: &Options,
) -> Result<Examination, MachineError> {
    let machine = Machine::new(&target.image, options)?;
    let mut examiner = Examiner::new(target, unwinder, breakpoints);
    let outcome = machine.run(&mut examiner)?;
    Ok(Examination {
        end: outcome.end,
        instructions: outcome.instructions,
        comparisons: examiner.comparisons,
        agree: examiner.comparisons - examiner.walk_ends.disagreed,
        frames: examiner.frames,
        walk_ends: examiner.walk_ends,
        max_depth: examiner.max_depth,
        findings: examiner.findings.into_findings(target),
        arrivals: examiner.arrivals,
        coverage: examiner.executed.coverage(target),
    })
}

struct Examiner<'e, 'a> {
    target: &'e Target<'a>,
    unwinder: &'e mut dyn Unwinder,
    backtrace: Backtrace,
    /// The walk, if the unwinder offers its steps.
    walk: Option<Walk>,
    breakpoints: &'e [Breakpoint],
    /// Breakpoints by address.
    watched: FxHashMap<u64, Vec<usize>>,
    arrivals: Vec<(u32, Option<Arrival>)>,
    comparisons: u64,
    frames: u64,
    walk_ends: WalkEnds,
    max_depth: usize,
    depth: usize,
    findings: Findings,
    executed: Executed,
}

impl<'e, 'a> Examiner<'e, 'a> {
    fn new(target: &'e Target<'a>, unwinder: &'e mut dyn Unwinder, breakpoints: &'e [Breakpoint]) -> Self {
        let mut watched: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (index, breakpoint) in breakpoints.iter().enumerate() {
            watched.entry(breakpoint.pc).or_default().push(index);
        }
        let walk = unwinder.stepper().is_some().then(Walk::default);
        Self {
            target,
            unwinder,
            walk,
            backtrace: Backtrace::default(),
            breakpoints,
            watched,
            arrivals: vec![(0, None); breakpoints.len()],
            comparisons: 0,
            frames: 0,
            walk_ends: WalkEnds::default(),
            max_depth: 0,
            depth: 0,
            findings: Findings::default(),
            executed: Executed::default(),
        }
    }

    /// Compares the stacks before an instruction.
    fn compare(&mut self, moment: &Moment<'_>) -> WalkEnd {
        self.executed.instruction(moment.pc);
        let depth = moment.call_stack.depth();
        if depth > self.depth
            && let Some(call) = moment.call_stack.records().last()
            && !call.interrupted
        {
            self.executed.call(call.return_address);
        }
        self.depth = depth;
        self.max_depth = self.max_depth.max(depth);

        let viewpoint = Viewpoint::new(moment);
        let walk = match (self.unwinder.stepper(), &mut self.walk) {
            (Some(stepper), Some(walk)) => walk.update(depth, &viewpoint, stepper).then_some(walk),
            _ => None,
        };
        let mut disagreed = false;
        let (findings, target) = (&mut self.findings, self.target);
        let truth = Truth::of(moment);
        let report = |found| {
            disagreed = true;
            findings.add(found, target);
        };
        let (end, frames) = match walk {
            Some(walk) => {
                let frames = walk.count();
                (walk.compare(&truth, target, report), frames)
            }
            None => {
                let backtrace = &mut self.backtrace;
                backtrace.frames.clear();
                self.unwinder.unwind(&viewpoint, backtrace);
                (compare::compare(&truth, backtrace, target, report), backtrace.frames.len())
            }
        };
        let end = if disagreed { WalkEnd::Disagreed } else { end };
        self.walk_ends.count(end);
        if end != WalkEnd::Unsettled {
            self.comparisons += 1;
            self.frames += frames.min(depth) as u64;
        }
        end
    }

    fn arrive(&mut self, moment: &Moment<'_>, end: WalkEnd) {
        let Some(watched) = self.watched.get(&moment.pc) else { return };
        for &index in watched {
            let (hits, arrival) = &mut self.arrivals[index];
            *hits = hits.saturating_add(1);
            if *hits == self.breakpoints[index].hit {
                let addresses = Truth::of(moment).addresses();
                let frames = addresses.map(|address| self.target.frame_name(address.get(), true)).collect();
                *arrival = Some(Arrival { frames, end });
            }
        }
    }
}

impl Observer for Examiner<'_, '_> {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        let end = self.compare(moment);
        self.arrive(moment, end);
        Flow::Continue
    }

    fn wants_stores(&self) -> bool {
        self.walk.is_some()
    }

    fn store(&mut self, address: u64, len: u64) {
        if let Some(walk) = &mut self.walk {
            walk.stored(address, len);
        }
    }
}
