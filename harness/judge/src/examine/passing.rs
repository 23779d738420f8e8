//! Instructions at which a comparison ends as the one before them did.
//!
//! Where SP, FP and the registers that a row names stay as they are, and so do the row, the calls and what a walk reads, no
//! comparison can end otherwise: `Steady` would look at the same values again. Which instructions these are is known
//! from the code, except for what they store: as soon as a store goes to something that a comparison depends on, the rest of
//! them are compared as others are. So nothing is left out, and they are counted as compared.

use std::ops::Range;
use std::rc::Rc;

use sframe_isa::{Destination, Flow, Instruction, Operation};
use sframe_machine::{Moment, PcMap, Straight};

use crate::compare::Start;
use crate::compare::steady::{Agreement, Steady};
use crate::examine::counts::Counts;
use crate::examine::coverage::Executed;
use crate::examine::results::Results;
use crate::target::{Loaded, Target};
use crate::truth::cross_check::CrossCheck;
use crate::truth::stores::{LastStores, Pointers, Written};
use crate::unwind::{PlainRow, Saved, Stepper};
use crate::vocabulary::Reliability;

/// At most this many instructions pass at once.
const MOST: usize = 64;

/// What comes after an instruction is looked up when this was asked so often.
const COLD: u32 = 3;

/// What is known of the instructions from one on.
#[derive(Debug, Default)]
struct Ahead {
    /// How often it was asked for, until it is known.
    asked: u32,
    /// Where they are in [`Passages::all`].
    known: Option<usize>,
}

/// Instructions that execute one after the other, with the same row.
#[derive(Debug)]
struct Passage {
    straight: Rc<Straight>,
    row: PlainRow,
    /// Whether a function begins with the first one: it may have been called.
    begins: bool,
    /// Whether each of them leaves alone what the row says, and control may go on elsewhere.
    leads_on: Vec<bool>,
    /// Where it has gone on, with the same row: an address, and what passes from there.
    onward: Vec<(u64, usize)>,
    /// What each of them writes.
    written: Vec<Rc<Written>>,
    /// How often some of them have passed, by what the walks were worth.
    passed: Vec<(Walks, u64)>,
}

/// Walks that are worth the same: from which instructions, and how control had come to the function.
type Walks = (Range<usize>, Start, Reliability);

/// All such instructions.
#[derive(Debug, Default)]
pub(super) struct Passages {
    ahead: PcMap<Ahead>,
    all: Vec<Passage>,
    /// Those that pass now.
    now: Option<Passing>,
}

/// The instructions that pass, and how comparing ends before each of them.
#[derive(Debug)]
struct Passing {
    passage: usize,
    /// The first that passes, and the first that has not begun.
    from: usize,
    next: usize,
    /// Whether nothing has been stored that the comparison depends on.
    is_certain: bool,
    pointers: Pointers,
    agreement: Agreement,
    start: Start,
    /// Whether a frame record is compared at each.
    frame_records: bool,
}

/// What is known of an instruction.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The registers that it writes.
    pub(super) written: Rc<Written>,
    /// Whether it is the first one of a function.
    pub(super) starts_function: bool,
    /// Whether it has breakpoints.
    pub(super) is_watched: bool,
    /// Whether it is the first one of the program's own check.
    pub(super) starts_check: bool,
}

/// What instructions are looked up by.
pub(super) struct Scene<'s, 'a> {
    pub(super) target: &'s Target<'a>,
    pub(super) stepper: &'s mut dyn Stepper,
    pub(super) steady: &'s mut Steady,
    /// The instructions that have executed.
    pub(super) instructions: &'s mut PcMap<Known>,
    pub(super) executed: &'s mut Executed,
}

impl Passages {
    /// No more pass, of those that pass now.
    pub(super) fn end(&mut self) {
        self.now = None;
    }

    /// Notes that something has been stored that comparisons depend on.
    pub(super) fn doubt(&mut self) {
        if let Some(passing) = &mut self.now {
            passing.is_certain = false;
        }
    }

    /// Whether it is still known how comparing ends.
    pub(super) fn are_certain(&self) -> bool {
        self.now.as_ref().is_some_and(|passing| passing.is_certain)
    }

    /// Returns the instructions from one on before which hardly anything had changed, as far as they are like it: comparing
    /// ends at each as it has ended there.
    pub(super) fn begin(
        &mut self,
        moment: &Moment<'_>,
        agreement: Agreement,
        start: Start,
        frame_records: bool,
        scene: Scene<'_, '_>,
    ) -> Option<Rc<Straight>> {
        let passage = self.known(moment).or_else(|| self.look_up(moment, scene))?;
        self.now = Some(Passing {
            passage,
            from: 1,
            next: 1,
            is_certain: true,
            pointers: Pointers::of(moment.sp, moment.fp),
            agreement,
            start,
            frame_records,
        });
        Some(Rc::clone(&self.all[passage].straight))
    }

    /// Finds what is known of the instructions from one on, as long as the code is the same.
    fn known(&mut self, moment: &Moment<'_>) -> Option<usize> {
        let ahead = self.ahead.get(moment.pc)?;
        let is_current = moment.is_current(&self.all[ahead.known?].straight);
        if !is_current {
            *ahead = Ahead::default();
        }
        ahead.known
    }

    /// Finds out what the instructions from one on are, if that was asked for often enough.
    fn look_up(&mut self, moment: &Moment<'_>, scene: Scene<'_, '_>) -> Option<usize> {
        let ahead = self.ahead.get_or_insert_with(moment.pc, Ahead::default);
        ahead.asked = ahead.asked.saturating_add(1);
        if ahead.asked != COLD {
            return None;
        }
        self.all.push(scene.look_ahead(moment)?);
        ahead.known = Some(self.all.len() - 1);
        ahead.known
    }

    /// Returns the instructions from one on to which those have led that pass, and are counted, if they have the same row.
    pub(super) fn goes_on(&mut self, pc: u64) -> Option<Rc<Straight>> {
        let Passing { passage: before, next, .. } = *self.now.as_ref().filter(|now| now.is_certain)?;
        let Passage { row, leads_on, onward, .. } = &self.all[before];
        if !leads_on[next.checked_sub(1)?] {
            return None;
        }
        let passage = match onward.iter().find(|(to, _)| *to == pc) {
            Some((_, known)) => *known,
            None => {
                let passage = self.ahead.get(pc)?.known?;
                let own = &self.all[passage];
                if own.begins || own.row != *row {
                    return None;
                }
                self.all[before].onward.push((pc, passage));
                passage
            }
        };
        let now = self.now.as_mut()?;
        (now.passage, now.from, now.next) = (passage, 0, 0);
        Some(Rc::clone(&self.all[passage].straight))
    }

    /// Follows the stores of instructions that have begun, the last of which is executing.
    pub(super) fn follow(&mut self, time: u64, pcs: &[u64], stores: &mut LastStores) {
        let Some(passing) = &mut self.now else { return };
        let passed = passing.next..passing.next + pcs.len();
        passing.next = passed.end;
        stores.passed(time, pcs, &self.all[passing.passage].written[passed], passing.pointers);
    }

    /// Counts the instructions that have passed. Returns the last one.
    pub(super) fn count(&mut self, counts: &mut Counts, cross_check: &mut CrossCheck) -> Option<u64> {
        let Passing { passage, from, next, agreement, start, frame_records, .. } = self.now.as_mut()?;
        let (Agreement { end, frames, depth }, passage) = (*agreement, &mut self.all[*passage]);
        let count = next.checked_sub(*from).filter(|count| *count > 0)?;
        let worth = counts.count(end, &[], frames, 1, depth, count as u64)?;
        if *frame_records {
            cross_check.count_frame_records(count);
        }
        let key = (*from..*next, start.anywhere(), worth);
        match passage.passed.iter_mut().find(|(known, _)| *known == key) {
            Some((_, times)) => *times += 1,
            None => passage.passed.push((key, 1)),
        }
        *from = *next;
        Some(passage.straight.pcs()[*next - 1])
    }

    /// Counts all that have passed, for each instruction. What is known of them is forgotten.
    pub(super) fn forget(&mut self, results: &mut Results, executed: &mut Executed) {
        for passage in std::mem::take(self).all {
            for ((passed, start, worth), times) in passage.passed {
                for pc in &passage.straight.pcs()[passed] {
                    results.reliability.count(Start { pc: *pc, ..start }, &[], worth, times);
                    executed.compared(*pc, times);
                }
            }
        }
    }
}

impl Scene<'_, '_> {
    /// Finds the instructions from one on that leave alone what the row says: all have the same one.
    #[cold]
    fn look_ahead(self, moment: &Moment<'_>) -> Option<Passage> {
        let Self { target, stepper, steady, instructions, executed } = self;
        let pc = moment.pc;
        let module = target.module_at(Loaded(pc))?;
        let row = steady.row(pc, stepper)?;
        let mut at = pc;
        let begins = instructions.get(pc)?.starts_function;
        let (mut pcs, mut written, mut leads_on, mut last_keeps) = (Vec::new(), Vec::new(), Vec::new(), true);
        while pcs.len() < MOST {
            let Some(known) = instructions.get(at) else { break };
            let is_plain = !(known.starts_function && at != pc || known.is_watched || known.starts_check);
            let effect = Rc::clone(&known.written);
            // What is seen where something is compared for the first time needs a look.
            if !is_plain || !executed.is_compared(at) || steady.row(at, stepper) != Some(row) {
                break;
            }
            let Some(instruction) = module.instruction(Loaded(at)).filter(executes_once) else { break };
            pcs.push(at);
            written.push(effect);
            at = at.wrapping_add(instruction.len);
            let keeps = keeps(&instruction, &row, moment);
            let (is_next, may_be_next) = match instruction.flow {
                Flow::Next => (true, true),
                Flow::Jump { to: Destination::Address(_), is_conditional } => (false, is_conditional),
                _ => (false, false),
            };
            leads_on.push(keeps && !is_next);
            last_keeps = keeps;
            if !keeps || !may_be_next {
                break;
            }
        }
        let straight = Rc::new(moment.straight(pcs, at, !last_keeps));
        let len = straight.pcs().len();
        if let Some(last) = len.checked_sub(1) {
            // What comes after it is looked at by itself.
            leads_on[last] |= len < written.len() || (len == MOST && last_keeps);
        }
        written.truncate(len);
        let (onward, passed) = (Vec::new(), Vec::new());
        (len > 0).then_some(Passage { straight, row, begins, leads_on, onward, written, passed })
    }
}

/// Whether an instruction is known, and executes once, at once.
fn executes_once(instruction: &Instruction) -> bool {
    !(instruction.is_system_call || instruction.repeats || instruction.operation == Operation::Execute)
}

/// Whether an instruction leaves the registers alone that a row of the topmost frame is about.
fn keeps(instruction: &Instruction, row: &PlainRow, moment: &Moment<'_>) -> bool {
    let in_register = |saved| if let Saved::In(register) = saved { Some(register) } else { None };
    let abi = moment.abi();
    let mut named = [in_register(row.ra), in_register(row.saved_fp), row.ra_register].into_iter().flatten();
    !instruction.defs.contains(abi.sp())
        && !instruction.defs.contains(abi.fp())
        && !named.any(|register| instruction.defs.contains(register))
}
