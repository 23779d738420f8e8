//! A walk that is kept from one instruction to the next.
//!
//! Between two instructions little changes: the topmost frame, and sometimes its
//! caller. Frames further out are walked again only if something that their steps
//! read has changed: memory that was stored to, or FP.
//!
//! The walk follows the call stack: if a step leads elsewhere, both the comparison
//! and the walk end. Frames further out stay as they were, since the next
//! instruction may have another row. They are steps that the unwinder has made, or
//! would make, from the true state.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rustc_hash::FxHashMap;
use sframe_engine::Mangled;

use crate::compare::{self, Disagreement, Rules, Truth, WalkEnd, Walked};
use crate::truth::stores::words;
use crate::unwind::{DEPTH_LIMIT, End, FpUse, Frame, State, Stepped, Stepper, Unreadable, Viewpoint};

/// The position of a frame, counted from the entry function's, which is 0. Frames
/// that an unwinder invents beyond it have negative positions.
type Position = i64;

/// FP in a frame, or why it is unknown.
type Fp = Result<u64, Unreadable>;

/// A caller's frame, and the step from it.
#[derive(Debug)]
struct CallerFrame {
    /// Its state. FP is what it was when the step was made; its current value is in
    /// [`Walk::fps`].
    state: State,
    cfa: Option<u64>,
    mangled: Option<Mangled>,
    fp_use: FpUse,
    /// The 8-byte words of memory that the step read: their addresses / 8.
    words: Vec<u64>,
}

/// The frames that read a word. Rarely more than one.
#[derive(Debug, Default)]
struct Readers {
    first: Position,
    others: Vec<Position>,
}

impl Readers {
    fn all(&self) -> impl Iterator<Item = Position> {
        [self.first].into_iter().chain(self.others.iter().copied())
    }
}

/// Where the walk ends: at a frame without a caller, or with a frame that is not
/// the call stack's.
type Cut = Result<State, End>;

/// A step with everything there is to know about it.
struct Step {
    state: State,
    stepped: Stepped,
    words: Vec<u64>,
}

/// The FP of a frame that passes it on, and the different FP of its caller.
#[derive(Clone, Copy, Debug)]
struct Turn {
    own: u64,
    callers: u64,
}

/// The walk at the current instruction, and the rest of earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    topmost: Option<Frame>,
    /// The words that the step from it read.
    topmost_words: Vec<u64>,
    /// Where the walk ends, if it ends at the topmost frame.
    topmost_cut: Option<Cut>,
    /// Position of the topmost frame.
    top: Position,
    /// Callers' frames without gaps, outermost first.
    kept: VecDeque<CallerFrame>,
    /// Position of the first of them.
    base: Position,
    /// CallerFrame frames at which the walk stops before the next one.
    cuts: BTreeMap<Position, Cut>,
    /// FP of kept frames. Each entry holds up to the next one, outwards: frames
    /// between them pass it on.
    fps: BTreeMap<Position, Fp>,
    /// CallerFrame frames that do not pass FP on.
    stops_fp: BTreeSet<Position>,
    /// For each word, the kept frames whose steps read it.
    readers: FxHashMap<u64, Readers>,
    /// CallerFrame frames whose steps read something that has changed since.
    stale: BTreeSet<Position>,
    /// Frames that differ from when they were last compared.
    changed: Vec<Position>,
    /// The number of oldest calls that are unchanged since then.
    same_calls: usize,
    /// Frames that are not [`compare::unremarkable`].
    remarkable: BTreeSet<Position>,
    /// Frames that pass FP on although their callers have a different one: by
    /// either value.
    turns: FxHashMap<u64, BTreeSet<Position>>,
    /// These turns, by frame.
    turns_at: FxHashMap<Position, Turn>,
    /// The number of steps of the last walk.
    steps: u64,
    /// The number of steps and of frames looked at, in all walks.
    work: u64,
}

fn position(index: usize) -> Position {
    Position::try_from(index).unwrap_or(Position::MAX)
}

/// Steps like the unwinder, and reports where a step leaves the call stack.
struct Guide<'g, 'v> {
    truth: &'g Truth<'g>,
    top: Position,
    viewpoint: &'g Viewpoint<'v>,
    stepper: &'g mut dyn Stepper,
    steps: u64,
}

impl Guide<'_, '_> {
    fn step(&mut self, state: State, topmost: bool, read: Vec<u64>) -> Step {
        self.steps += 1;
        let read = RefCell::new(read);
        let memory = |address: u64| {
            read.borrow_mut().extend(words(address, 8));
            self.viewpoint.memory.read_u64(address)
        };
        let stepped = self.stepper.step(&state, topmost.then_some(self.viewpoint), &memory);
        Step { state, stepped, words: read.into_inner() }
    }

    fn index(&self, at: Position) -> Option<usize> {
        usize::try_from(self.top - at).ok()
    }

    /// Returns the caller that a step has led to, if it is the call stack's; beyond
    /// the entry function, any caller.
    fn caller(&self, at: Position, stepped: &Stepped) -> Result<State, Cut> {
        let caller = stepped.caller.map_err(Err)?;
        let call = self.index(at).and_then(|index| self.truth.call_of(index));
        let is_right = call.is_none_or(|call| {
            stepped.cfa.is_none_or(|cfa| cfa == call.cfa) && caller.pc.get() == call.return_address
        });
        if is_right { Ok(caller) } else { Err(Ok(caller)) }
    }

    /// Returns the true state of a frame; `None` beyond the entry function.
    fn true_state(&self, at: Position) -> Option<State> {
        (at >= 0).then(|| self.index(at).map(|index| self.truth.state(index))).flatten()
    }
}

impl Walk {
    /// Takes note of calls and returns at an instruction at which nothing is walked. `kept` is
    /// the number of oldest calls that have not changed.
    pub(crate) fn keep(&mut self, kept: usize) {
        self.same_calls = self.same_calls.min(kept);
    }

    /// Records a store to memory. Returns whether the steps of kept frames that have not been
    /// left have read there.
    pub(crate) fn stored(&mut self, address: u64, len: u64) -> bool {
        let same = position(self.same_calls);
        let Self { readers, stale, .. } = self;
        let mut is_read = false;
        let mut touch = |readers: &Readers| {
            is_read |= readers.all().any(|reader| reader < same);
            stale.extend(readers.all());
        };
        let words = words(address, len);
        // Choose the shorter loop.
        if words.end() - words.start() < readers.len() as u64 {
            words.filter_map(|word| readers.get(&word)).for_each(touch);
        } else {
            readers.iter().filter(|(word, _)| words.contains(word)).for_each(|(_, readers)| touch(readers));
        }
        is_read
    }

    /// Walks the stack. Returns false if it has no end: then this is not a walk.
    pub(crate) fn update(
        &mut self,
        truth: &Truth<'_>,
        viewpoint: &Viewpoint<'_>,
        stepper: &mut dyn Stepper,
    ) -> bool {
        self.top = position(truth.call_stack.depth() - 1);
        // Whether these lead to the call stack has to be checked again.
        let same = position(self.same_calls.min(truth.call_stack.kept()));
        self.stale.extend((same + 1).max(self.base)..self.inner_end());
        while !self.kept.is_empty() && self.inner_end() > self.top {
            self.drop_innermost();
        }
        let mut guide = Guide { truth, top: self.top, viewpoint, stepper, steps: 0 };
        let done = self.walk(&mut guide);
        let (steps, work) = (guide.steps, self.work + guide.steps);
        if !done || self.count() > DEPTH_LIMIT {
            *self = Self { steps, work, ..Self::default() };
            return false;
        }
        (self.steps, self.work) = (steps, work);
        self.changed.push(self.top);
        true
    }

    /// Whether the last comparison had no frame to report on.
    pub(crate) fn is_unremarkable(&self) -> bool {
        self.remarkable.is_empty()
    }

    /// Returns how many frames the last walk has derived anew.
    pub(crate) const fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the position just inside the innermost kept frame's.
    fn inner_end(&self) -> Position {
        self.base + position(self.kept.len())
    }

    fn kept(&self, at: Position) -> Option<&CallerFrame> {
        self.kept.get(usize::try_from(at - self.base).ok()?)
    }

    fn fp(&self, at: Position) -> Fp {
        self.fps.range(at..).next().map_or(Ok(0), |(_, fp)| *fp)
    }

    fn state(&self, at: Position) -> Option<State> {
        self.kept(at).map(|kept| State { fp: self.fp(at), ..kept.state })
    }

    fn kept_frame(&self, at: Position) -> Option<Frame> {
        let kept = self.kept(at)?;
        Some(self.state(at)?.frame(kept.cfa, kept.mangled))
    }

    /// Returns the innermost kept frame, from a position on, at which the walk ends.
    fn cut_from(&self, at: Position) -> Option<(Position, Cut)> {
        self.cuts.range(..=at).next_back().map(|(at, cut)| (*at, *cut))
    }

    /// Returns false if there is no end.
    fn walk(&mut self, guide: &mut Guide<'_, '_>) -> bool {
        let mut read = std::mem::take(&mut self.topmost_words);
        read.clear();
        let Step { state, stepped, words } = guide.step(State::topmost(guide.viewpoint), true, read);
        self.topmost = Some(state.frame(stepped.cfa, stepped.mangled));
        self.topmost_words = words;
        let mut link = guide.caller(self.top, &stepped);
        self.topmost_cut = link.err();

        // The new callers, innermost first.
        let mut new = Vec::new();
        let mut at = self.top - 1;
        while self.kept.is_empty() || at >= self.inner_end() {
            let state = match link {
                Ok(state) => state,
                // Frames further out must be there when needed.
                Err(_) => match guide.true_state(at) {
                    Some(state) => state,
                    None => break,
                },
            };
            if self.top - at >= position(DEPTH_LIMIT) {
                return false;
            }
            let step = guide.step(state, false, Vec::new());
            link = guide.caller(at, &step.stepped);
            new.push((step, link));
            at -= 1;
        }
        let joined = if self.kept.is_empty() {
            self.base = at + 1;
            None
        } else {
            link.ok()
        };
        for (step, link) in new.into_iter().rev() {
            let is_inside = self.inner_end() > at + 1;
            self.push(step, link.err());
            if is_inside {
                self.join(self.inner_end() - 2);
            }
        }
        match joined {
            Some(state) => self.refresh(at, state, guide),
            None => true,
        }
    }

    /// Handles a walk that has reached a kept frame. From there on, only what has
    /// changed is walked again.
    fn refresh(&mut self, mut at: Position, mut state: State, guide: &mut Guide<'_, '_>) -> bool {
        loop {
            let is_same =
                self.kept(at).is_some_and(|kept| (kept.state.pc, kept.state.sp) == (state.pc, state.sp));
            if is_same {
                self.set_fp(at, state.fp);
                let end = self.cut_from(at).map_or(self.base, |(cut, _)| cut);
                let Some(&stale) = self.stale.range(end..=at).next_back() else { return true };
                let Some(stale_state) = self.state(stale) else { return false };
                (at, state) = (stale, stale_state);
            }
            if self.top - at >= position(DEPTH_LIMIT) {
                return false;
            }
            let step = guide.step(state, false, Vec::new());
            let link = guide.caller(at, &step.stepped);
            self.replace(at, step, link.err());
            match link {
                Ok(caller) => (at, state) = (at - 1, caller),
                Err(_) => return true,
            }
        }
    }

    /// Changes the FP of a kept frame and of the frames that it is passed on to.
    fn set_fp(&mut self, at: Position, fp: Fp) {
        let old = self.fp(at);
        if old == fp {
            self.join(at);
            return;
        }
        self.fps.insert(at, fp);
        let passed_to = self.stops_fp.range(..=at).next_back().copied().unwrap_or(self.base);
        let end = self.cut_from(at).map_or(self.base, |(cut, _)| cut).max(passed_to);
        if self.kept(end).is_some_and(|kept| kept.fp_use == FpUse::Used) {
            self.stale.insert(end);
        }
        self.changed.extend([at, at + 1, end]);
        for value in [old, fp].into_iter().flatten() {
            if let Some(turns) = self.turns.get(&value) {
                self.changed.extend(turns.range(end..=at));
            }
        }
        self.join(at);
    }

    /// Removes an entry that is redundant, because the frame inside passes its FP on.
    fn join(&mut self, at: Position) {
        let passes = self.kept(at + 1).is_some_and(|kept| kept.fp_use == FpUse::Passed);
        if passes && !self.cuts.contains_key(&(at + 1)) {
            self.fps.remove(&at);
        }
    }

    /// Gives a kept frame a separate entry for its FP.
    fn part(&mut self, at: Position) {
        if self.kept(at).is_some() {
            let fp = self.fp(at);
            self.fps.insert(at, fp);
        }
    }

    /// Adds a frame inside all kept ones.
    fn push(&mut self, step: Step, cut: Option<Cut>) {
        let at = self.inner_end();
        let kept = self.learn(at, step, cut);
        self.kept.push_back(kept);
    }

    /// Replaces a kept frame, or adds one outside all of them.
    fn replace(&mut self, at: Position, step: Step, cut: Option<Cut>) {
        self.part(at - 1);
        self.forget(at);
        let new = self.learn(at, step, cut);
        match usize::try_from(at - self.base).ok().and_then(|index| self.kept.get_mut(index)) {
            Some(kept) => *kept = new,
            None => {
                self.base = at;
                self.kept.push_front(new);
            }
        }
        self.join(at);
    }

    /// Records the step from a frame.
    fn learn(&mut self, at: Position, step: Step, cut: Option<Cut>) -> CallerFrame {
        let Step { state, stepped: Stepped { cfa, mangled, fp_use, .. }, words } = step;
        self.fps.insert(at, state.fp);
        for &word in &words {
            add_reader(&mut self.readers, word, at);
        }
        if let Some(cut) = cut {
            self.cuts.insert(at, cut);
        }
        if fp_use != FpUse::Passed {
            self.stops_fp.insert(at);
        }
        self.changed.extend([at, at + 1]);
        CallerFrame { state, cfa, mangled, fp_use, words }
    }

    /// Forgets the step from a frame.
    fn forget(&mut self, at: Position) {
        let index = usize::try_from(at - self.base).ok();
        let kept = index.and_then(|index| self.kept.get_mut(index));
        for word in kept.map(|kept| std::mem::take(&mut kept.words)).unwrap_or_default() {
            remove_reader(&mut self.readers, word, at);
        }
        self.stale.remove(&at);
        self.cuts.remove(&at);
        self.stops_fp.remove(&at);
        self.forget_turn(at);
    }

    fn drop_innermost(&mut self) {
        let at = self.inner_end() - 1;
        self.part(at - 1);
        self.fps.remove(&at);
        self.forget(at);
        self.kept.pop_back();
    }

    /// Compares the walk with the call stack, as [`compare::compare`] does.
    pub(crate) fn compare(
        &mut self,
        truth: &Truth<'_>,
        rules: &impl Rules,
        report: impl FnMut(Disagreement),
    ) -> WalkEnd {
        self.same_calls = self.same_calls.min(truth.call_stack.kept());
        self.look_again(truth, rules);
        self.same_calls = truth.call_stack.records().len();
        let top = self.top;
        let mut looked_at = 0;
        let indices = self.remarkable.iter().rev().filter_map(|at| usize::try_from(top - at).ok());
        let end = compare::compare_at(indices.inspect(|_| looked_at += 1), truth, self, rules, report);
        self.work += looked_at;
        end
    }

    /// Updates which frames are remarkable, of those for which that may have changed.
    fn look_again(&mut self, truth: &Truth<'_>, rules: &impl Rules) {
        while self.remarkable.last().is_some_and(|last| *last > self.top) {
            self.remarkable.pop_last();
        }
        let mut changed = std::mem::take(&mut self.changed);
        // A frame is judged by its own state, its caller's, and the two calls around it; the
        // entry function is not among them.
        let same = position(self.same_calls);
        for at in changed.iter().copied().chain(same..=self.top) {
            if !(1..=self.top).contains(&at) {
                continue;
            }
            self.work += 1;
            let Ok(index) = usize::try_from(self.top - at) else { continue };
            if compare::unremarkable(index, truth, &Link { walk: self, at }, rules) {
                self.remarkable.remove(&at);
            } else {
                self.remarkable.insert(at);
            }
            self.remember_turn(at, index, truth);
        }
        changed.clear();
        self.changed = changed;
    }

    /// Records a frame that passes FP on and whose caller has a different one.
    fn remember_turn(&mut self, at: Position, index: usize, truth: &Truth<'_>) {
        self.forget_turn(at);
        let passes = self.kept(at).is_some_and(|kept| kept.fp_use == FpUse::Passed);
        let (Ok(own), Some(call)) = (truth.state(index).fp, truth.call_of(index)) else { return };
        if passes && own != call.caller_fp {
            for fp in [own, call.caller_fp] {
                self.turns.entry(fp).or_default().insert(at);
            }
            self.turns_at.insert(at, Turn { own, callers: call.caller_fp });
        }
    }

    fn forget_turn(&mut self, at: Position) {
        let Some(Turn { own, callers }) = self.turns_at.remove(&at) else { return };
        for fp in [own, callers] {
            if let Some(turns) = self.turns.get_mut(&fp) {
                turns.remove(&at);
                if turns.is_empty() {
                    self.turns.remove(&fp);
                }
            }
        }
    }
}

/// A frame and its caller, wherever the walk ends.
struct Link<'w> {
    walk: &'w Walk,
    at: Position,
}

impl Walked for Link<'_> {
    fn count(&self) -> usize {
        self.walk.count()
    }

    fn frame(&self, index: usize) -> Option<Frame> {
        let Self { walk, at } = *self;
        let asked = walk.top - position(index);
        let cut = if at == walk.top { walk.topmost_cut } else { walk.cuts.get(&at).copied() };
        match cut {
            Some(cut) if asked == at - 1 => cut.ok().map(|state| state.frame(None, None)),
            _ if asked == walk.top => walk.topmost,
            _ => walk.kept_frame(asked),
        }
    }

    fn words_read(&self, index: usize) -> &[u64] {
        self.walk.words_read(index)
    }

    fn end(&self) -> End {
        self.walk.end()
    }
}

fn add_reader(readers: &mut FxHashMap<u64, Readers>, word: u64, at: Position) {
    match readers.entry(word) {
        std::collections::hash_map::Entry::Vacant(entry) => {
            entry.insert(Readers { first: at, others: Vec::new() });
        }
        std::collections::hash_map::Entry::Occupied(entry) => {
            let readers = entry.into_mut();
            if readers.first != at && !readers.others.contains(&at) {
                readers.others.push(at);
            }
        }
    }
}

fn remove_reader(readers: &mut FxHashMap<u64, Readers>, word: u64, at: Position) {
    let Some(found) = readers.get_mut(&word) else { return };
    if found.first != at {
        found.others.retain(|other| *other != at);
    } else if let Some(other) = found.others.pop() {
        found.first = other;
    } else {
        readers.remove(&word);
    }
}

impl Walked for Walk {
    fn count(&self) -> usize {
        let count = |at: Position, cut: Cut| {
            let frames = usize::try_from(self.top - at + 1).unwrap_or(0);
            frames + usize::from(cut.is_ok())
        };
        match (self.topmost_cut, self.cut_from(self.top)) {
            (Some(cut), _) => count(self.top, cut),
            (None, Some((at, cut))) => count(at, cut),
            (None, None) => 0,
        }
    }

    fn frame(&self, index: usize) -> Option<Frame> {
        let at = self.top - position(index);
        let (last, cut) = match self.topmost_cut {
            Some(cut) => (self.top, cut),
            None => self.cut_from(self.top)?,
        };
        if at == self.top {
            return self.topmost;
        }
        if at < last {
            return cut.ok().filter(|_| at + 1 == last).map(|state| state.frame(None, None));
        }
        self.kept_frame(at)
    }

    fn words_read(&self, index: usize) -> &[u64] {
        if index == 0 {
            return &self.topmost_words;
        }
        self.kept(self.top - position(index)).map_or(&[], |kept| &kept.words)
    }

    fn end(&self) -> End {
        let cut = self.topmost_cut.or_else(|| self.cut_from(self.top).map(|(_, cut)| cut));
        cut.and_then(Result::err).unwrap_or(End::Unspecified)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::path::Path;

    use sframe_engine::{InstructionPointer, Pc, ReturnAddress};
    use sframe_machine::{Flow, Machine, Moment, Observer, Options};

    use super::*;
    use crate::target::Target;
    use crate::target::sections::Sections;
    use crate::unwind::{Backtrace, SframeUnwinder, Unwinder as _};

    /// Does each walk both ways, and compares each with the call stack.
    struct Both<'a> {
        unwinder: SframeUnwinder<'a>,
        sections: Sections<'a>,
        walk: Walk,
        disagreed: u64,
        frames: usize,
    }

    impl Observer for Both<'_> {
        fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
            let Self { unwinder, sections, walk, disagreed, frames } = self;
            let (truth, viewpoint) = (Truth::of(moment), Viewpoint::new(moment));
            assert!(walk.update(&truth, &viewpoint, unwinder));
            let mut whole = Backtrace::default();
            unwinder.unwind(&viewpoint, &mut whole);
            let mut found = (Vec::new(), Vec::new());
            let end = walk.compare(&truth, sections, |disagreement| found.0.push(disagreement));
            let other = compare::compare(&truth, &whole, sections, |disagreement| found.1.push(disagreement));
            assert_eq!((&found.0, end), (&found.1, other), "{:#x}", moment.pc);
            let count = walk.count();
            let kept: Vec<_> = (0..count).filter_map(|index| walk.frame(index)).collect();
            let (last, inner) = kept.split_last().expect("a frame");
            assert_eq!(inner, &whole.frames[..count - 1], "{:#x}", moment.pc);
            if end == WalkEnd::Disagreed {
                // The wrong one has not been looked at.
                assert_eq!((last.pc, last.fp), (whole.frames[count - 1].pc, whole.frames[count - 1].fp));
                *disagreed += 1;
            } else {
                assert_eq!((kept.len(), walk.end()), (whole.frames.len(), whole.end), "{:#x}", moment.pc);
            }
            *frames += whole.frames.len();
            // Only kept frames may use memory.
            let words: usize = walk.kept.iter().map(|kept| kept.words.len()).sum();
            let len = walk.kept.len();
            assert!(
                walk.readers.len() <= words && walk.changed.is_empty() && walk.remarkable.len() <= len + 1
            );
            assert!(walk.fps.len() <= len && walk.cuts.len() <= len && walk.stops_fp.len() <= len);
            assert!(walk.turns.len() <= 2 * walk.turns_at.len() && walk.turns_at.len() <= len);
            Flow::Continue
        }

        fn wants_stores(&self) -> bool {
            true
        }

        fn store(&mut self, address: u64, len: u64) {
            self.walk.stored(address, len);
        }
    }

    fn build(id: &str) -> Vec<u8> {
        let builds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/builds");
        std::fs::read(builds.join(id)).expect("a build")
    }

    /// Returns the number of frames, and of walks that disagreed with the call stack.
    fn walk_both_ways(bytes: &[u8]) -> (usize, u64) {
        let target = Target::open(bytes).expect("a target");
        let sections = target.sections.clone();
        let unwinder = SframeUnwinder::new(sections.clone(), target.executable().image.cpu.address_bits);
        let mut both = Both { unwinder, sections, walk: Walk::default(), disagreed: 0, frames: 0 };
        let machine = Machine::with_images(&target.images, &Options::default()).expect("a machine");
        let outcome = machine.run(&mut both).expect("an emulator");
        assert_eq!(outcome.end, sframe_machine::End::Exit(0));
        (both.frames, both.disagreed)
    }

    /// Returns the position of a function's rows in a file.
    fn rows(bytes: &[u8], function: &str) -> Range<usize> {
        let target = Target::open(bytes).expect("a target");
        let start = InstructionPointer::from(target.addresses_of(function)[0]);
        let section = target.sections.at(start).expect("a section");
        let fde = section.lookup_fde(start).expect("a sound section").expect("an FDE");
        let data = target.executable().subject.sframe.expect("a section").data;
        let rows = data.as_ptr() as usize - bytes.as_ptr() as usize + fde.rows_offset;
        let others = section.fdes().flatten().map(|other| other.rows_offset);
        let end = others.filter(|other| *other > fde.rows_offset).min().unwrap_or(data.len());
        rows..rows + end - fde.rows_offset
    }

    #[test]
    fn each_frame_of_a_kept_walk_is_that_of_a_whole_one() {
        for abi in ["amd64", "aarch64", "aarch64_be", "s390x"] {
            for program in ["recursion.O0", "mutual_recursion.O2", "large_frames.O2", "alloca.O2-fp"] {
                let (frames, disagreed) = walk_both_ways(&build(&format!("gnu-2.47/{abi}/{program}")));
                assert!(frames > 10_000 && disagreed == 0, "{frames} frames, {disagreed} wrong walks");
            }
        }
    }

    #[test]
    fn a_kept_walk_goes_wrong_where_a_whole_one_does() {
        let mut disagreed = 0;
        for abi in ["amd64", "aarch64", "s390x"] {
            for (program, functions) in
                [("recursion.O0", ["leaf", "descend"]), ("alloca.O2-fp", ["main", "_start"])]
            {
                let bytes = build(&format!("gnu-2.47/{abi}/{program}"));
                for function in functions {
                    for (index, at) in rows(&bytes, function).enumerate() {
                        let mut bytes = bytes.clone();
                        bytes[at] ^= [1, 8, 0x10, 4][index % 4];
                        if Target::open(&bytes).is_ok() {
                            disagreed += u64::from(walk_both_ways(&bytes).1 > 0);
                        }
                    }
                }
            }
        }
        assert!(disagreed > 20, "{disagreed}");
    }

    /// Only walks.
    struct Walking<'a> {
        unwinder: SframeUnwinder<'a>,
        sections: Sections<'a>,
        walk: Walk,
        disagreed: bool,
        instructions: u64,
        half: u64,
    }

    const BUDGET: u64 = 30_000;

    impl Observer for Walking<'_> {
        fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
            let Self { unwinder, sections, walk, disagreed, .. } = self;
            let truth = Truth::of(moment);
            assert!(walk.update(&truth, &Viewpoint::new(moment), unwinder));
            let _ = walk.compare(&truth, sections, |_| *disagreed = true);
            self.instructions += 1;
            if self.instructions == BUDGET / 2 {
                self.half = walk.work;
            }
            Flow::Continue
        }

        fn wants_stores(&self) -> bool {
            true
        }

        fn store(&mut self, address: u64, len: u64) {
            self.walk.stored(address, len);
        }
    }

    /// Returns the steps and looks for half of a budget, and for all of it, if a
    /// walk goes wrong.
    fn work(bytes: &[u8]) -> Option<(u64, u64)> {
        let target = Target::open(bytes).ok()?;
        let sections = target.sections.clone();
        let unwinder = SframeUnwinder::new(sections.clone(), target.executable().image.cpu.address_bits);
        let walk = Walk::default();
        let mut walking = Walking { unwinder, sections, walk, disagreed: false, instructions: 0, half: 0 };
        let options = Options { budget: BUDGET, ..Options::default() };
        Machine::with_images(&target.images, &options).ok()?.run(&mut walking).ok()?;
        walking.disagreed.then_some((walking.half, walking.walk.work))
    }

    /// Whichever row of a deep recursion is wrong, twice the instructions take
    /// twice the work.
    #[test]
    fn a_wrong_row_under_a_deep_recursion_takes_linear_time() {
        let mut wrong = 0;
        for (id, function) in [
            ("gnu-2.47/amd64/deep_recursion.O0", "descend"),
            ("gnu-2.44/amd64/deep_recursion.O2", "descend"),
            ("gnu-2.44/amd64/deep_recursion.O2", "main"),
            ("gnu-2.47/aarch64/deep_recursion.O0", "descend"),
            ("gnu-2.47/s390x/deep_recursion.O2", "descend"),
        ] {
            let bytes = build(id);
            for (index, at) in rows(&bytes, function).enumerate() {
                let mut bytes = bytes.clone();
                bytes[at] ^= [1, 8, 0x10][index % 3];
                let Some((half, whole)) = work(&bytes) else { continue };
                assert!(whole < half * 5 / 2, "{id}: {function}, byte {at:#x}: {half}, {whole}");
                wrong += 1;
            }
        }
        assert!(wrong > 20, "{wrong}");
    }

    #[test]
    fn a_word_is_watched_for_each_frame_that_reads_it() {
        let state = State { pc: Pc::Return(ReturnAddress(8)), sp: 0, fp: Ok(0), same_sp: 0 };
        let caller = Err(End::Unspecified);
        let stepped = Stepped { cfa: None, mangled: None, caller, fp_use: FpUse::Used };
        let mut walk = Walk::default();
        for _ in 0..3 {
            walk.push(Step { state, stepped, words: vec![100, 101] }, Some(caller));
        }
        walk.forget(0);
        walk.stored(807, 1);
        assert_eq!(walk.stale, BTreeSet::from([1, 2]));
        walk.drop_innermost();
        assert_eq!(walk.stale, BTreeSet::from([1]));
        walk.drop_innermost();
        walk.stored(0, u64::MAX);
        assert!(walk.readers.is_empty() && walk.stale.is_empty());
    }
}
