//! One run of one program: every instruction's backtrace against the call stack.

use rustc_hash::FxHashMap;
use serde::Serialize;
use sframe_engine::{InstructionPointer, ReturnAddress};
use sframe_machine::{End as RunEnd, Flow, Machine, MachineError, Moment, Observer, Options};

use crate::compare::{self, WalkEnd};
use crate::coverage::{Coverage, Executed};
use crate::finding::{Finding, Findings};
use crate::target::Target;
use crate::unwind::{Backtrace, Unwinder, Viewpoint};

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
    /// At code without an FDE.
    pub no_fde: u64,
    /// At a disagreement.
    pub disagreed: u64,
}

impl WalkEnds {
    /// Adds those of another run.
    pub const fn add(&mut self, other: &Self) {
        self.outermost += other.outermost;
        self.unmarked += other.unmarked;
        self.no_fde += other.no_fde;
        self.disagreed += other.disagreed;
    }
}

/// All that a run has shown.
#[derive(Debug)]
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
        Self {
            target,
            unwinder,
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

    fn arrive(&mut self, moment: &Moment<'_>, end: WalkEnd) {
        let Some(watched) = self.watched.get(&moment.pc) else { return };
        for &index in watched {
            let (hits, arrival) = &mut self.arrivals[index];
            *hits = hits.saturating_add(1);
            if *hits == self.breakpoints[index].hit {
                let frames = compare::true_pcs(moment.pc, moment.call_stack)
                    .enumerate()
                    .map(|(index, pc)| self.target.frame_name(pc, index == 0))
                    .collect();
                *arrival = Some(Arrival { frames, end });
            }
        }
    }
}

impl Observer for Examiner<'_, '_> {
    fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
        self.executed.instruction(moment.pc);
        let depth = moment.call_stack.depth();
        if depth > self.depth
            && let Some(call) = moment.call_stack.records().last()
        {
            self.executed.call(call.return_address);
        }
        self.depth = depth;
        self.max_depth = self.max_depth.max(depth);

        self.backtrace.frames.clear();
        self.unwinder.unwind(&Viewpoint::new(moment), &mut self.backtrace);
        let mut disagreed = false;
        let (findings, target) = (&mut self.findings, self.target);
        let has_fde = |pc: u64, frame: usize| {
            let fde = if frame == 0 {
                target.section.lookup_fde(InstructionPointer(pc))
            } else {
                target.section.lookup_fde(ReturnAddress(pc))
            };
            !matches!(fde, Ok(None))
        };
        let call_stack = moment.call_stack;
        let end = compare::compare(moment.pc, moment.fp, call_stack, &self.backtrace, has_fde, |found| {
            disagreed = true;
            findings.add(found, target);
        });
        self.comparisons += 1;
        self.frames += self.backtrace.frames.len().min(depth) as u64;
        match end {
            _ if disagreed => self.walk_ends.disagreed += 1,
            WalkEnd::Outermost => self.walk_ends.outermost += 1,
            WalkEnd::Unmarked => self.walk_ends.unmarked += 1,
            WalkEnd::NoFde { .. } => self.walk_ends.no_fde += 1,
            WalkEnd::Disagreed => self.walk_ends.disagreed += 1,
        }
        self.arrive(moment, if disagreed { WalkEnd::Disagreed } else { end });
        Flow::Continue
    }
}
