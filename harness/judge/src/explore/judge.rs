//! Compares the rows with the caller at every instruction of every path.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::{
    Abi, Caller, DwarfRegister, Fde, Found, Frame, InstructionPointer, PauthMask, Pc, Recovery, RecoveryRule,
    ReturnAddress, Row, Step, StepError,
};
use sframe_inspect::diff::{Gap, GapCode};
use sframe_isa::Operation;
use sframe_machine::PcMap;
use sframe_machine::explore::{
    Assumption, Callee, Class, Departure, Explored, Function, Leaving, Observer, Point, Seed,
};

use super::batches::Batches;
use super::certainty::{Doubt, class, doubts, is_after_uncertain_call, slot_of};
use super::describe::describe;
use super::options::ExploreOptions;
use super::partial::{Candidate, Partial, Removed, Ways};
use super::pc_set::PcSet;
use super::roots::{Root, Roots};
use super::rows::{Reach, RowId};
use crate::compare::{self, Disagreement, Remembered, Truth, Value};
use crate::finding::Finding;
use crate::target::layouts::FrameLayouts;
use crate::target::{Linked, Loaded, Target};
use crate::triage::{Circumstances, Findings, Triage, triage};
use crate::unwind::{Backtrace, End, SframeUnwinder, Viewpoint};
use crate::vocabulary::Verdict;

/// The length of the longest call of an ABI with a return address register, in bytes.
const LONGEST_CALL: u64 = 6;

/// No more assumptions than this are described of a path. With all of them, the findings of a function with many calls
/// would grow with the square of their number.
const MOST_ASSUMPTIONS: usize = 100;

/// What is known of an instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    found: Option<Found>,
    /// Whether an FDE covers it that has no row for it.
    lacks_row: bool,
    /// Whether the row has agreed there.
    agreed: bool,
    /// Whether it is not certain whose code it is.
    is_uncertain: bool,
    /// Whether it has no FDE, although its function has one, and is more than padding.
    is_gap: bool,
    /// Where its function begins, if it is no gap for others, which may have code of their own there.
    is_gap_of: Option<u64>,
}

/// A disagreement at an instruction, as it was seen on the surest path.
struct Seen {
    row: Option<RowId>,
    disagreement: Disagreement,
    triage: Triage,
    doubts: Vec<Doubt>,
    assumptions: Vec<String>,
    number_of_assumptions: usize,
    callees: Vec<(u64, Option<u64>)>,
    calls_others: bool,
    above_caller: u64,
    labels: Vec<u64>,
    seeds: [bool; 2],
    function: u64,
    /// Whether it is not certain that callers enter there.
    from_nowhere: bool,
    hits: u64,
    /// Whether the CFA is wrong by another amount on another path that is as sure.
    varies: bool,
    loads_ra: bool,
    has_fp: bool,
}

pub(super) struct Judge<'j, 'a> {
    target: &'j Target<'a>,
    roots: &'j Roots,
    batches: &'j mut dyn Batches,
    abi: Abi,
    pauth: PauthMask,
    budget: u64,
    /// The functions that are left of the batch, the next one last.
    left: Option<Vec<u64>>,
    seed: Seed,
    root: Root,
    /// Whether the current function has shown anything that another seed should confirm.
    is_disputed: bool,
    layouts: RefCell<FrameLayouts>,
    batch: Batch<'a>,
}

/// What a batch has shown so far.
struct Batch<'a> {
    unwinder: SframeUnwinder<'a>,
    rules: Remembered<'a>,
    backtrace: Backtrace,
    places: PcMap<Place>,
    /// By verdict, instruction, and whether SP is above where the caller has left it.
    seen: BTreeMap<(Verdict, u64, bool), Seen>,
    ways: FxHashMap<u64, Ways>,
    entered_with_frame: FxHashSet<u64>,
    outermost: FxHashSet<RowId>,
    returned_labels: FxHashSet<u64>,
    left_labels: FxHashSet<u64>,
    reach: FxHashMap<u32, Reach>,
    functions: u64,
    instructions: u64,
}

impl<'a> Batch<'a> {
    fn new(target: &Target<'a>) -> Self {
        let address_bits = target.executable().image.cpu.address_bits;
        Self {
            unwinder: SframeUnwinder::new(target.sections.clone(), address_bits),
            rules: Remembered::new(target.sections.clone()),
            backtrace: Backtrace::default(),
            places: PcMap::default(),
            seen: BTreeMap::new(),
            ways: FxHashMap::default(),
            entered_with_frame: FxHashSet::default(),
            outermost: FxHashSet::default(),
            returned_labels: FxHashSet::default(),
            left_labels: FxHashSet::default(),
            reach: FxHashMap::default(),
            functions: 0,
            instructions: 0,
        }
    }
}

impl<'j, 'a> Judge<'j, 'a> {
    pub(super) fn new(
        target: &'j Target<'a>,
        roots: &'j Roots,
        options: &ExploreOptions,
        batches: &'j mut dyn Batches,
    ) -> Self {
        let cpu = target.executable().image.cpu;
        Self {
            target,
            roots,
            batches,
            abi: cpu.abi,
            pauth: PauthMask::for_address_bits(cpu.address_bits),
            budget: options.budget,
            left: None,
            seed: Seed::Numbers,
            root: Root { entry: 0, is_certain: false, link: None },
            is_disputed: false,
            layouts: RefCell::default(),
            batch: Batch::new(target),
        }
    }

    /// Returns the next function of the batch, or of the next one.
    fn next_root(&mut self) -> Option<Root> {
        loop {
            if let Some(left) = &mut self.left {
                if let Some(entry) = left.pop() {
                    return Some(self.roots.root(entry));
                }
                let batch = std::mem::replace(&mut self.batch, Batch::new(self.target));
                let partial = self.partial(batch);
                self.batches.explored(partial);
            }
            let mut next = self.batches.next()?;
            next.reverse();
            self.left = Some(next);
        }
    }

    /// Whether the row agrees, and reads nothing below the stack pointer: what comparing says of most
    /// instructions.
    fn agrees(&self, found: &Found, point: &Point<'_>) -> bool {
        let Some(call) = point.moment.call_stack.records().last() else { return false };
        let moment = &point.moment;
        let frame = Frame {
            pc: Pc::Instruction(InstructionPointer(moment.pc)),
            sp: moment.sp,
            fp: moment.fp,
            same_sp: 0,
        };
        let register = |register: DwarfRegister| moment.register(register.0);
        let memory = |address: u64| moment.memory.read_u64(address);
        let step = found.apply(self.abi, &frame, Some(&register), &memory, self.pauth);
        let Ok(Step::Caller(Caller { cfa, ra: Ok(ra), fp: Ok(fp), mangled: None, interrupted, .. })) = step
        else {
            return false;
        };
        (cfa, ra, fp, interrupted) == (call.cfa, call.return_address, call.caller_fp, call.interrupted)
            && below_sp(&found.row, point).is_none()
            && self.is_usable(found, point)
    }

    /// Whether the row can be used for a caller's frame, of which unwinders know only SP and FP, if the
    /// instruction is a call.
    fn is_usable(&self, found: &Found, point: &Point<'_>) -> bool {
        self.unusable(found, point).is_none()
    }

    /// Whether the path has put an address into the return address register that is neither the caller's
    /// nor that of a call.
    fn has_loaded_ra(&self, point: &Point<'_>) -> bool {
        let value = self.abi.ra().and_then(|register| point.moment.register(register.0));
        if value == point.moment.call_stack.records().last().map(|call| call.return_address) {
            return false;
        }
        let is_behind =
            |at: u64| value.is_some_and(|value| (1..=LONGEST_CALL).contains(&value.wrapping_sub(at)));
        let is_its =
            |assumption: &Assumption| matches!(assumption, Assumption::Call { at, .. } if is_behind(*at));
        !point.assumptions.iter().any(is_its)
    }

    /// The FDE at an address, if there is one that can be read.
    fn fde_at(&self, address: u64) -> Option<Fde> {
        self.target.sections.lookup_fde(InstructionPointer(address)).ok().flatten()
    }

    /// Looks up an instruction's row.
    fn look_up(&self, pc: u64) -> Place {
        let (sections, address) = (&self.target.sections, InstructionPointer(pc));
        let found = sections.lookup(address);
        let is_covered = || matches!(sections.lookup_fde(address), Ok(Some(fde)) if !fde.signal);
        let lacks_row = matches!(found, Ok(None)) && is_covered();
        let is_uncertain = self.roots.is_uncertain(pc);
        let is_padding = || {
            let instruction = self.target.executable().instruction(Loaded(pc));
            instruction.is_none_or(|instruction| instruction.operation == Operation::Nop)
        };
        let gap = self.gap_at(pc).filter(|_| matches!(found, Ok(None)) && !lacks_row && !is_padding());
        let is_gap_of = gap
            .as_ref()
            .filter(|(_, code)| !code.is_entered)
            .map(|(gap, _)| self.target.executable().loaded(Linked(gap.function.start)).0);
        let (found, is_gap) = (found.ok().flatten(), gap.is_some());
        Place { found, lacks_row, agreed: false, is_uncertain, is_gap, is_gap_of }
    }

    /// Returns the gap that an instruction is in, and its code.
    fn gap_at(&self, pc: u64) -> Option<(&Gap, GapCode)> {
        let module = self.target.executable();
        let gap = self.roots.gaps.at(module.linked(Loaded(pc)).0)?;
        Some((gap, module.code_of(gap)?))
    }

    /// Says whose doing a disagreement is.
    fn triage(&self, disagreement: &Disagreement, point: &Point<'_>) -> Triage {
        let (truth, viewpoint) = (Truth::of(&point.moment), Viewpoint::new(&point.moment));
        let last_store = |word| point.last_store(word).map(|store| store.pc);
        let scene = Circumstances {
            last_store: Some(&last_store),
            ..Circumstances::new(&truth, &viewpoint, self.target, &self.layouts)
        };
        let Some((gap, _)) = self.gap_at(point.moment.pc).filter(|_| disagreement.verdict == Verdict::NoFde)
        else {
            return triage(disagreement, &scene, true);
        };
        Triage::of_gap(gap)
    }

    fn unusable(&self, found: &Found, point: &Point<'_>) -> Option<StepError> {
        let return_address = point.return_address?;
        let pc = Pc::Return(ReturnAddress(return_address));
        let frame = Frame { pc, sp: point.moment.sp, fp: point.moment.fp, same_sp: 0 };
        let memory = |address: u64| point.moment.memory.read_u64(address);
        let none: Option<fn(DwarfRegister) -> Option<u64>> = None;
        match found.apply(self.abi, &frame, none.as_ref(), &memory, self.pauth) {
            Err(error @ StepError::UnsafeRegister { .. }) => Some(error),
            _ => None,
        }
    }

    /// Compares as a sweep does.
    fn compare(&mut self, found: Option<&Found>, point: &Point<'_>) -> Vec<Disagreement> {
        let viewpoint = Viewpoint::new(&point.moment);
        let Batch { unwinder, rules, backtrace, .. } = &mut self.batch;
        backtrace.unwind(unwinder, &viewpoint);
        let truth = Truth::of(&point.moment);
        let (_, mut disagreements) = compare::disagreements(&truth, &*backtrace, &*rules);
        // What it has led to may as well be described as a callee, if it is a function.
        let is_function = !disagreements.is_empty() && self.roots.is_behind_trap(point.moment.pc);
        if let Some(return_address) = point.skipped.filter(|_| is_function) {
            let call_stack = &truth.call_stack.entered(point.moment.as_entered(return_address));
            let (_, found) = compare::disagreements(&Truth { call_stack, ..truth }, &*backtrace, &*rules);
            if found.is_empty() {
                return found;
            }
        }
        let Some(found) = found else { return disagreements };
        if disagreements.is_empty()
            && let Some(address) = below_sp(&found.row, point)
        {
            disagreements.push(Disagreement::new(
                &truth,
                0,
                Verdict::ByLuck,
                Value::Saved,
                Value::BelowSp(address),
            ));
        }
        if disagreements.is_empty()
            && let Some(error) = self.unusable(found, point)
        {
            let got = Value::End(End::Failed(error));
            disagreements.push(Disagreement::new(&truth, 0, Verdict::Truncated, Value::Frames(2), got));
        }
        disagreements
    }

    fn record(&mut self, disagreement: Disagreement, found: Option<&Found>, point: &Point<'_>, class: Class) {
        let mut doubts = doubts(&disagreement, found.map(|found| &found.row), point);
        if class & class::STATE == class::AFTER_CALL {
            doubts.push(Doubt::AfterCall);
        }
        if class & class::ELSEWHERE != 0 || self.is_within_another(point) {
            doubts.push(Doubt::ImpossibleJump);
        }
        let caller = point.moment.call_stack.records().last();
        let above_caller = point.above_caller();
        let key = (disagreement.verdict, point.moment.pc, above_caller > 0);
        let number = point.assumptions.len();
        // What is known of where the path begins comes first.
        let from_nowhere = !self.root.is_certain;
        let is_better = |known: &Seen| {
            (from_nowhere, doubts.len(), number)
                < (known.from_nowhere, known.doubts.len(), known.number_of_assumptions)
        };
        // Whether calls within the function return is known at the end.
        let is_certain = doubts.iter().all(|doubt| *doubt == Doubt::InternalCall);
        let is_as_sure = |known: &Seen| known.labels.is_empty() == point.labels.is_empty();
        let is_other = |known: &Seen| {
            doubts.len() == known.doubts.len()
                && from_nowhere == known.from_nowhere
                && known.disagreement.cfa_error() != disagreement.cfa_error()
        };
        let varies = self.batch.seen.get(&key).is_some_and(|known| known.varies || is_other(known));
        if self.batch.seen.get(&key).is_none_or(is_better) {
            let triage = self.triage(&disagreement, point);
            let known = self.batch.seen.get(&key);
            let seeds = known.filter(|known| is_as_sure(known)).map_or([false; 2], |known| known.seeds);
            let hits = known.map_or(0, |known| known.hits);
            let seen = Seen {
                row: found.map(row_of),
                disagreement,
                triage,
                doubts,
                assumptions: self.described(point.assumptions),
                number_of_assumptions: number,
                callees: callees(point.assumptions),
                calls_others: point.assumptions.iter().any(calls_other),
                above_caller,
                labels: point.labels.to_vec(),
                seeds,
                function: self.root.entry,
                from_nowhere,
                hits,
                varies,
                loads_ra: found.is_some_and(|found| found.row.ra == Recovery::Unchanged)
                    && self.has_loaded_ra(point),
                has_fp: caller
                    .is_some_and(|call| point.moment.fp == call.caller_fp || point.has_saved(call.caller_fp)),
            };
            self.batch.seen.insert(key, seen);
        }
        if let Some(seen) = self.batch.seen.get_mut(&key) {
            seen.hits += 1;
            seen.varies = varies;
            seen.seeds[usize::from(self.seed == Seed::Numbers)] |= is_certain && is_as_sure(seen);
        }
    }

    /// Whether the path is in a function that callers enter, and has not begun there: jumped to is a label of it.
    fn is_within_another(&self, point: &Point<'_>) -> bool {
        let start = |pc| self.fde_at(pc).map(|fde| fde.start);
        let (own, here) = (start(point.entry), start(point.moment.pc));
        here.is_some_and(|here| {
            own != Some(here) && self.roots.is_called(here) && !point.trace.contains(&here)
        })
    }

    /// Says what a path assumes: the last of it, if that is much.
    fn described(&self, assumptions: &[Assumption]) -> Vec<String> {
        let left_out = assumptions.len().saturating_sub(MOST_ASSUMPTIONS);
        let earlier = (left_out > 0).then(|| format!("{left_out} more, earlier on the path"));
        let last = assumptions[left_out..].iter().map(|assumption| describe(assumption, self.target));
        earlier.into_iter().chain(last).collect()
    }

    /// Returns what a batch has shown.
    fn partial(&self, batch: Batch<'a>) -> Partial {
        let mut agree = FxHashSet::default();
        let mut agreed = Vec::new();
        for (pc, place) in batch.places.iter().filter(|(_, place)| place.agreed) {
            agreed.push(pc);
            agree.extend(place.found.as_ref().map(row_of));
        }
        let candidates = batch.seen.into_iter().filter_map(|((_, pc, _), seen)| {
            let denies_caller = seen.disagreement.got == Value::End(End::Outermost);
            let finding = self.finding(seen.disagreement, seen.triage, seen.hits)?;
            let finding = Finding { varies: seen.varies, ..finding };
            let Seen { row, doubts, assumptions, callees, seeds, function, .. } = seen;
            let Seen { calls_others, above_caller, labels, loads_ra, has_fp, from_nowhere, .. } = seen;
            Some(Candidate {
                pc,
                row,
                finding,
                doubts,
                assumptions,
                callees,
                calls_others,
                above_caller,
                labels,
                denies_caller,
                loads_ra,
                has_fp,
                seeds,
                function,
                from_nowhere,
            })
        });
        Partial {
            functions: batch.functions,
            instructions: batch.instructions,
            agree: agree.into_iter().collect(),
            agreed: PcSet::new(agreed),
            candidates: candidates.collect(),
            ways: batch.ways.into_iter().collect(),
            entered_with_frame: batch.entered_with_frame.into_iter().collect(),
            outermost: batch.outermost.into_iter().collect(),
            returned_labels: batch.returned_labels.into_iter().collect(),
            left_labels: batch.left_labels.into_iter().collect(),
            reach: batch.reach.into_iter().collect(),
        }
    }

    fn finding(&self, disagreement: Disagreement, triage: Triage, hits: u64) -> Option<Finding> {
        let mut findings = Findings::default();
        findings.add_triaged(disagreement, self.target, |_| triage);
        let finding = findings.into_findings(self.target).pop()?;
        Some(Finding { hits, ..finding })
    }
}

/// The row that was found. Without rows, a function is judged as with the one that says the same (2.3.3.2).
fn row_of(found: &Found) -> RowId {
    (found.fde.index, found.row_index.unwrap_or_default())
}

/// Returns the functions that a path has called, without those whose addresses it has computed, and what each is known
/// to remove from the stack.
fn callees(assumptions: &[Assumption]) -> Vec<(u64, Option<u64>)> {
    let called = assumptions.iter().filter_map(|assumption| match assumption {
        Assumption::Call { callee: Callee::Function(entry), removes, .. } => Some((*entry, *removes)),
        _ => None,
    });
    let mut called: Vec<_> = called.collect();
    called.sort_unstable();
    called.dedup();
    called
}

/// Whether an assumption is about a function whose address was computed, or is in memory.
fn calls_other(assumption: &Assumption) -> bool {
    matches!(assumption, Assumption::Call { callee: Callee::Slot(_) | Callee::Unknown, .. })
}

/// Returns the address of a word that a row recovers RA or FP from, if it lies where a signal's
/// handler may store.
fn below_sp(row: &Row, point: &Point<'_>) -> Option<u64> {
    let protected = point.moment.sp.wrapping_sub(point.moment.red_zone());
    let cfa = point.moment.call_stack.records().last()?.cfa;
    [row.ra, row.fp].into_iter().find_map(|recovery| match recovery {
        Recovery::Rule(rule @ RecoveryRule { dereference: true, .. }) => {
            let address = slot_of(rule, point, cfa)?;
            (address < protected && cfa.wrapping_sub(address) < 1 << 24).then_some(address)
        }
        _ => None,
    })
}

impl Observer for Judge<'_, '_> {
    fn next(&mut self) -> Option<Function> {
        // Another seed confirms what the first one has shown, or gets further.
        if self.seed == Seed::Pointers && self.is_disputed {
            self.seed = Seed::Numbers;
        } else {
            self.root = self.next_root()?;
            self.batch.functions += 1;
            self.seed = Seed::Pointers;
        }
        self.is_disputed = false;
        let Root { entry, link, .. } = self.root;
        let module = self.target.executable();
        let is_entry_point = module.subject.is_entry_point(module.linked(Loaded(entry)).0);
        // Whether the mark is right, only running shows.
        let is_signal = self.fde_at(entry).is_some_and(|fde| fde.signal);
        Some(Function { entry, link, is_entry_point, is_signal, seed: self.seed, budget: self.budget })
    }

    fn instruction(&mut self, point: &Point<'_>) -> Class {
        let pc = point.moment.pc;
        if let Some(Assumption::JumpWithFrame { to }) = point.assumptions.last() {
            self.batch.entered_with_frame.insert(*to);
        }
        let place = match self.batch.places.get(pc) {
            Some(place) => *place,
            None => {
                let place = self.look_up(pc);
                *self.batch.places.get_or_insert_with(pc, || place)
            }
        };
        let is_after_call = is_after_uncertain_call(point);
        let is_elsewhere = place.is_uncertain && !self.roots.is_uncertain(point.entry);
        let kept = if is_elsewhere { point.class | class::ELSEWHERE } else { point.class };
        let (before, kept) = (kept & class::STATE, kept & !class::STATE);
        let suspected = |class: Class| match before {
            class::AFTER_CALL | class::NO_CALLER => before | kept,
            _ => class | kept,
        };
        let found = place.found.as_ref();
        if place.is_gap && place.is_gap_of.is_none_or(|function| function == point.entry) {
            self.is_disputed = true;
            let class = suspected(if is_after_call { class::AFTER_CALL } else { class::AGREES });
            let got = Value::End(End::Failed(StepError::NoFde));
            let truth = Truth::of(&point.moment);
            self.record(
                Disagreement::new(&truth, 0, Verdict::NoFde, Value::Frames(2), got),
                None,
                point,
                class,
            );
            return class;
        }
        if found.is_none() && !place.lacks_row {
            return suspected(if is_after_call { class::AFTER_CALL } else { class::AGREES });
        }
        let agrees = found.is_some_and(|found| self.agrees(found, point));
        let disagreements = if agrees { Vec::new() } else { self.compare(found, point) };
        if disagreements.is_empty() {
            if let Some(place) = self.batch.places.get(pc) {
                place.agreed = true;
            }
            return suspected(class::AGREES);
        }
        let mut class = if let Some(found) = found.filter(|found| found.row.is_outermost()) {
            // Unless the function returns, only running shows that there is no caller.
            self.batch.outermost.insert(row_of(found));
            suspected(class::NO_CALLER)
        } else if before == class::NO_CALLER {
            return before | kept;
        } else if before == class::AGREES && is_after_call {
            suspected(class::AFTER_CALL)
        } else {
            suspected(class::DISAGREES)
        };
        if disagreements.iter().any(|disagreement| disagreement.verdict == Verdict::WrongFp) {
            class |= class::WRONG_FP;
        }
        self.is_disputed = true;
        for disagreement in disagreements {
            self.record(disagreement, found, point, class);
        }
        class
    }

    fn leaves(&mut self, point: &Point<'_>, leaving: Leaving) {
        let Leaving { departure, is_regular, removed } = leaving;
        let call = point.moment.call_stack.records().last();
        let with_fp = call.is_some_and(|call| call.caller_fp == point.moment.fp);
        let restores_fp = with_fp && point.class & class::WRONG_FP != 0;
        let is_return = departure == Departure::Return;
        let has_called_unknown = || point.assumptions.iter().any(Assumption::is_unknown_to_sp);
        let ways = Ways {
            returns: true,
            restores_fp,
            regularly: is_regular,
            to_caller: is_regular && is_return,
            by_jump: is_regular && departure == Departure::DirectJump,
            removed: removed.filter(|_| is_regular).map_or(Removed::Unseen, Removed::Bytes),
            is_unbalanced: is_return && removed.is_none() && has_called_unknown(),
        };
        if ways.to_caller || ways.by_jump {
            self.batch.left_labels.extend(point.labels);
        }
        self.batch.ways.entry(point.entry).or_default().add(ways);
    }

    fn returns_from_label(&mut self, label: u64) {
        self.batch.returned_labels.insert(label);
    }

    fn explored(&mut self, function: &Function, result: &Explored) {
        self.batch.instructions += result.instructions;
        if let Some(fde) = self.fde_at(function.entry) {
            let reach = self.batch.reach.entry(fde.index).or_default();
            reach.is_explored = true;
            reach.is_given_up |= result.is_cut;
            reach.has_unresolved_jump |= result.unresolved_jumps > 0;
            reach.unknown = reach.unknown.or(result.unknown);
            reach.returns_from_exception |= result.returns_from_exception;
            reach.is_entry_code |= result.returns_from_exception || self.roots.is_kernel && result.lost_stack;
        }
        self.is_disputed |= result.lost_stack;
    }
}
