//! Signals at chosen places, and the walks from their handlers.
//!
//! Each signal is delivered to a copy of the process, so that none sees another one's
//! effects. The stacks are compared from the handler's first instruction until it
//! returns. If it has returned to the interrupted instruction, with all registers as
//! they were, the copy is given up; otherwise it runs to its end. Finally the program
//! runs once more with all signals that were returned from, and has to end as without.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_machine::{End as RunEnd, Flow, MachineError, Moment, Options, Outcome};

use crate::compare::WalkEnd;
use crate::examine::Examiner;
use crate::target::Loaded;
use crate::truth::stores::LastStores;
use crate::vocabulary::End;

/// Signals to deliver, each to a copy of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signals {
    /// The signal's number.
    pub signal: u8,
    /// The instructions before which it is delivered, with load bias.
    pub ranges: Vec<Range<u64>>,
    /// The number of arrivals at an instruction at which it is delivered, starting
    /// at the first.
    pub hits: u32,
}

/// The results of delivering signals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deliveries {
    /// Number of signals that were delivered.
    pub delivered: u64,
    /// Those for which every backtrace was complete: from the handler through the
    /// interrupted instruction to the outermost frame.
    pub complete: u64,
    /// Those for which the first backtrace was, at the handler's first instruction.
    pub complete_at_entry: u64,
    /// How the other backtraces ended, with the number of signals each.
    pub ends: BTreeMap<End, u64>,
    /// Instructions at which backtrace and call stack were compared.
    pub comparisons: u64,
    /// Why the results are invalid, if they are.
    pub broken: Option<BrokenDelivery>,
}

/// A signal without a valid result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("signal {signal} before {place}, arrival {arrival}: {fault}")]
pub struct BrokenDelivery {
    /// The signal's number.
    pub signal: u8,
    /// The instruction before which it should have been delivered.
    pub place: String,
    /// The number of the arrival there.
    pub arrival: u32,
    /// The fault.
    pub fault: DeliveryFault,
}

/// What is wrong with the delivery of a signal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryFault {
    /// The run ended before it.
    #[error("it was not delivered, {0:?}")]
    NotDelivered(RunEnd),
    /// The run ended in the handler.
    #[error("it was not returned from, {0:?}")]
    NotReturned(RunEnd),
    /// The run ended differently from the run without the signal.
    #[error("the program then ends by {0:?}")]
    End(RunEnd),
    /// The same where all the signals come in one run.
    #[error("if signals come at all earlier places, too, the program ends by {0:?}")]
    Together(RunEnd),
}

/// An arrival at an instruction: its address, and the number of the arrival from 1.
type Place = (u64, u32);

/// What is done with the signals of a run.
#[derive(Clone, Debug)]
enum Plan {
    /// Each is delivered to a copy of the process, at the first arrivals at these addresses.
    Apart(FxHashMap<u64, u32>),
    /// All are delivered to the process.
    Together(FxHashSet<Place>),
}

/// The signals of a run.
#[derive(Clone, Debug)]
pub(super) struct Interruptions {
    signal: u8,
    plan: Plan,
    arrivals: FxHashMap<u64, u32>,
    /// The copy of the process that runs.
    fork: Option<Fork>,
    /// The instruction that has been interrupted, and will be seen again.
    interrupted: Option<u64>,
    /// Signals whose handler has returned to the interrupted instruction.
    returned: FxHashSet<Place>,
    last: Place,
    deliveries: Deliveries,
    fault: Option<(Place, DeliveryFault)>,
}

/// A copy of the process to which a signal is delivered.
#[derive(Clone, Debug)]
struct Fork {
    at: Place,
    sp: u64,
    depth: usize,
    registers: Vec<Option<u64>>,
    /// The stores to memory before.
    stores: LastStores,
    phase: Phase,
    /// How the incomplete backtraces ended.
    ends: BTreeSet<End>,
    disagreed: bool,
    /// Whether the first backtrace was complete.
    at_entry: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The signal has been sent.
    Sent,
    /// The handler is running.
    Handler,
    /// It has returned, or left in another way.
    After,
}

/// What to do at an instruction of a run with signals.
pub(super) enum Followed {
    /// Compare the stacks.
    Compare,
    /// Compare nothing.
    Pass(Flow),
}

/// Registers up to this DWARF number are compared when a handler has returned.
const REGISTERS: u32 = 64;

fn registers(moment: &Moment<'_>) -> Vec<Option<u64>> {
    (0..REGISTERS).map(|register| moment.register(register)).collect()
}

fn is_handling(moment: &Moment<'_>) -> bool {
    moment.call_stack.is_interrupted()
}

impl Interruptions {
    fn new(signal: u8, plan: Plan) -> Self {
        Self {
            signal,
            plan,
            arrivals: FxHashMap::default(),
            fork: None,
            interrupted: None,
            returned: FxHashSet::default(),
            last: (0, 0),
            deliveries: Deliveries::default(),
            fault: None,
        }
    }

    /// Records how a walk from a handler ended.
    pub(super) fn compared(&mut self, end: WalkEnd) {
        if let Some(fork) = &mut self.fork {
            fork.disagreed |= end == WalkEnd::Disagreed;
            fork.at_entry.get_or_insert(end.is_whole());
            if !end.is_whole() {
                fork.ends.extend(end.in_specs());
            }
        }
    }

    /// Counts an arrival at an instruction. Returns it if the signal comes there.
    fn arrive(&mut self, pc: u64) -> Option<Place> {
        let arrival = self.arrivals.entry(pc).or_default();
        *arrival = arrival.saturating_add(1);
        let comes = match &self.plan {
            Plan::Apart(hits) => hits.get(&pc).is_some_and(|hits| *arrival <= *hits),
            Plan::Together(places) => places.contains(&(pc, *arrival)),
        };
        comes.then_some((pc, *arrival))
    }
}

impl Examiner<'_, '_, '_> {
    /// Delivers signals.
    pub(super) fn deliver(
        &mut self,
        signals: &Signals,
        options: &Options,
    ) -> Result<Deliveries, MachineError> {
        let before = self.seen.results.counts.comparisons;
        let places = signals.ranges.iter().flat_map(|range| self.seen.executed.within(range));
        let hits = |count| u32::try_from(count).unwrap_or(u32::MAX).min(signals.hits);
        let places = places.map(|(pc, count)| (pc, hits(count))).collect();
        let (apart, outcome) = self.interrupted_run(signals.signal, Plan::Apart(places), options)?;
        self.seen.features.add(&outcome.control_flow);
        let Interruptions { mut deliveries, mut fault, returned, last, .. } = apart;
        if fault.is_none() && self.doubt.is_none() && !returned.is_empty() {
            let (together, outcome) =
                self.interrupted_run(signals.signal, Plan::Together(returned), options)?;
            if outcome.end != RunEnd::Exit(self.look.exit_status) {
                let place = if together.last == (0, 0) { last } else { together.last };
                fault = Some((place, DeliveryFault::Together(outcome.end)));
            }
        }
        deliveries.broken = fault.map(|((pc, arrival), fault)| BrokenDelivery {
            signal: signals.signal,
            place: self.target.place(Loaded(pc)).to_string(),
            arrival,
            fault,
        });
        deliveries.comparisons = self.seen.results.counts.comparisons - before;
        Ok(deliveries)
    }

    fn interrupted_run(
        &mut self,
        signal: u8,
        plan: Plan,
        options: &Options,
    ) -> Result<(Interruptions, Outcome), MachineError> {
        let outcome = self.run(options, Some(Interruptions::new(signal, plan)))?;
        let interruptions = self.interruptions.take().expect("the run has not taken them");
        Ok((interruptions, outcome))
    }

    /// Decides what to do before an instruction of a run with signals.
    pub(super) fn follow_signals(&mut self, moment: &Moment<'_>) -> Followed {
        let Some(interruptions) = &mut self.interruptions else { return Followed::Compare };
        if let Some(fork) = &mut interruptions.fork {
            fork.phase = match fork.phase {
                Phase::Sent if is_handling(moment) => Phase::Handler,
                Phase::Handler if !is_handling(moment) => Phase::After,
                phase => phase,
            };
            let is_resumed = fork.phase == Phase::After
                && (moment.pc, moment.sp) == (fork.at.0, fork.sp)
                && moment.call_stack.depth() == fork.depth
                && registers(moment) == fork.registers;
            return match fork.phase {
                Phase::Handler => Followed::Compare,
                Phase::After if is_resumed => {
                    interruptions.returned.insert(fork.at);
                    self.end_fork(None);
                    Followed::Pass(Flow::Rewind)
                }
                _ => Followed::Pass(Flow::Continue),
            };
        }
        if interruptions.fault.is_some() || self.doubt.is_some() {
            return Followed::Pass(Flow::Stop);
        }
        let together = matches!(interruptions.plan, Plan::Together(_));
        if interruptions.interrupted == Some(moment.pc) && !is_handling(moment) {
            // The instruction that was interrupted.
            interruptions.interrupted = None;
            return Followed::Pass(Flow::Continue);
        }
        if together && is_handling(moment) {
            return Followed::Pass(Flow::Continue);
        }
        let Some(at) = interruptions.arrive(moment.pc) else { return Followed::Pass(Flow::Continue) };
        (interruptions.interrupted, interruptions.last) = (Some(moment.pc), at);
        let signal = interruptions.signal;
        self.stores.interrupted();
        if together {
            return Followed::Pass(Flow::Signal(signal));
        }
        interruptions.fork = Some(Fork {
            at,
            sp: moment.sp,
            depth: moment.call_stack.depth(),
            registers: registers(moment),
            stores: self.stores.clone(),
            phase: Phase::Sent,
            ends: BTreeSet::new(),
            disagreed: false,
            at_entry: None,
        });
        self.calls.fork(moment.event);
        self.begin_comparing();
        Followed::Pass(Flow::Fork(signal))
    }

    /// Goes back to the state before a copy of the process was made. `end` is how the copy has
    /// ended, if it has.
    pub(super) fn end_fork(&mut self, end: Option<&RunEnd>) {
        let Some(interruptions) = &mut self.interruptions else { return };
        let Some(fork) = interruptions.fork.take() else { return };
        let fault = match (fork.phase, end) {
            (_, None) => None,
            (Phase::Sent, Some(end)) => Some(DeliveryFault::NotDelivered(end.clone())),
            (Phase::Handler, Some(end)) => Some(DeliveryFault::NotReturned(end.clone())),
            (Phase::After, Some(end)) if *end == RunEnd::Exit(self.look.exit_status) => None,
            (Phase::After, Some(end)) => Some(DeliveryFault::End(end.clone())),
        };
        self.stores = fork.stores;
        self.calls.rewind();
        if let Some(fault) = fault {
            interruptions.fault = Some((fork.at, fault));
            return;
        }
        let deliveries = &mut interruptions.deliveries;
        deliveries.delivered += 1;
        deliveries.complete += u64::from(fork.ends.is_empty() && !fork.disagreed);
        deliveries.complete_at_entry += u64::from(fork.at_entry == Some(true));
        for end in fork.ends {
            *deliveries.ends.entry(end).or_default() += 1;
        }
    }
}
