//! A walk that is kept from one instruction to the next.
//!
//! Between two instructions little changes: the topmost frame, and now and
//! then its caller. What is further out is walked again only where something
//! that its steps read has been stored to.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};

use rustc_hash::FxHashMap;
use sframe_engine::Mangled;

use crate::compare::{self, Disagreement, Rules, Truth, WalkEnd, Walked};
use crate::stores::words;
use crate::unwind::{DEPTH_LIMIT, End, Frame, State, Stepped, Stepper, Viewpoint};

/// A walk that has not met the kept frames where it should leaves them alone,
/// up to so many frames: a wrong row may have led it astray, which the next
/// instruction has behind it.
const DETOUR: usize = 64;

/// The position of a frame, counted from the entry function's, which is 0.
/// Frames that an unwinder invents behind it have negative ones.
type Position = i64;

/// A caller's frame, and the step from it.
#[derive(Debug)]
struct Kept {
    state: State,
    cfa: Option<u64>,
    mangled: Option<Mangled>,
    /// The 8-byte words of memory that the step read: their addresses / 8.
    words: Vec<u64>,
}

/// The frames that read a word. Hardly ever more than one.
#[derive(Debug, Default)]
struct Readers {
    first: Position,
    others: Vec<Position>,
}

/// A walk that leaves the kept frames alone.
#[derive(Debug)]
struct Detour {
    /// The topmost frame's callers, the innermost first.
    frames: Vec<Kept>,
    /// The kept frame that is next, as with a frame left out; or the end.
    next: Result<Position, End>,
}

/// The walk at the current instruction, and what is left of earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    topmost: Option<Frame>,
    /// The words that the step from it read.
    topmost_words: Vec<u64>,
    /// Position of the topmost frame.
    top: Position,
    /// Callers' frames without gaps, the outermost first.
    kept: VecDeque<Kept>,
    /// Position of the first of them.
    base: Position,
    /// Why there is no frame further out than these.
    end: End,
    /// Where the walk has gone instead, if the kept frames are not part of it,
    /// or not in their places.
    detour: Option<Detour>,
    /// Which kept frames' steps read each word.
    readers: FxHashMap<u64, Readers>,
    /// Kept frames whose steps read what has been stored to since.
    stale: BTreeSet<Position>,
    /// Frames that are not as they were when they were last compared.
    changed: Vec<Position>,
    /// So many of the oldest calls are as they were then.
    same_calls: usize,
    /// Frames that are not [`compare::unremarkable`].
    remarkable: BTreeSet<Position>,
}

fn position(index: usize) -> Position {
    Position::try_from(index).unwrap_or(Position::MAX)
}

impl Walk {
    /// Takes note that memory was stored to.
    pub(crate) fn stored(&mut self, address: u64, len: u64) {
        let Self { readers, stale, .. } = self;
        let mut touch = |readers: &Readers| {
            stale.insert(readers.first);
            stale.extend(&readers.others);
        };
        let words = words(address, len);
        // Either way, no longer than need be.
        if words.end() - words.start() < readers.len() as u64 {
            words.filter_map(|word| readers.get(&word)).for_each(touch);
        } else {
            readers.iter().filter(|(word, _)| words.contains(word)).for_each(|(_, readers)| touch(readers));
        }
    }

    /// Walks the stack. False if it has no end: then this is no walk.
    pub(crate) fn update(
        &mut self,
        depth: usize,
        viewpoint: &Viewpoint<'_>,
        stepper: &mut dyn Stepper,
    ) -> bool {
        self.top = position(depth - 1);
        while !self.kept.is_empty() && self.inner_end() > self.top {
            self.drop_innermost();
        }
        self.detour = None;
        let done = self.walk(viewpoint, stepper);
        if !done || self.count() > DEPTH_LIMIT {
            *self = Self::default();
            return false;
        }
        if self.detour.is_none() {
            self.changed.push(self.top);
        }
        true
    }

    /// One position behind the innermost kept frame's.
    fn inner_end(&self) -> Position {
        self.base + position(self.kept.len())
    }

    /// The frame of one of the topmost frame's callers, 0 for the innermost.
    fn caller(&self, caller: usize) -> Option<&Kept> {
        match &self.detour {
            Some(Detour { frames, next }) => match (caller.checked_sub(frames.len()), next) {
                (None, _) => frames.get(caller),
                (Some(further), Ok(at)) => self.kept(at - position(further)),
                (Some(_), Err(_)) => None,
            },
            None => self.kept(self.top - position(caller) - 1),
        }
    }

    fn kept(&self, at: Position) -> Option<&Kept> {
        self.kept.get(usize::try_from(at - self.base).ok()?)
    }

    fn walk(&mut self, viewpoint: &Viewpoint<'_>, stepper: &mut dyn Stepper) -> bool {
        let mut step = |state: &State, topmost, read: Vec<u64>| {
            let read = RefCell::new(read);
            let memory = |address: u64| {
                read.borrow_mut().extend(words(address, 8));
                viewpoint.memory.read_u64(address)
            };
            let stepped = stepper.step(state, topmost, &memory);
            (stepped, read.into_inner())
        };
        let state = State::topmost(viewpoint);
        let mut read = std::mem::take(&mut self.topmost_words);
        read.clear();
        let (Stepped { cfa, mangled, caller }, read) = step(&state, Some(viewpoint), read);
        self.topmost = Some(state.frame(cfa, mangled));
        self.topmost_words = read;
        let mut step = |state: &State| step(state, None, Vec::new());

        // From the topmost frame to the first that is as it was.
        let mut new = Vec::new();
        let mut next = caller;
        let mut at = self.top - 1;
        let state = loop {
            let state = match next {
                Ok(state) => state,
                Err(end) => {
                    self.arrive_nowhere(new, end);
                    return true;
                }
            };
            if self.kept(at).is_some_and(|kept| kept.state == state) {
                break state;
            }
            if new.len() <= DETOUR
                && let Some(elsewhere) = self.find(&state)
            {
                self.detour = Some(Detour { frames: new, next: Ok(elsewhere) });
                return true;
            }
            if new.len() >= DEPTH_LIMIT {
                return false;
            }
            let (Stepped { cfa, mangled, caller }, words) = step(&state);
            new.push(Kept { state, cfa, mangled, words });
            next = caller;
            at -= 1;
        };
        self.join(at, new);

        // From there on, only what reads memory that was stored to.
        next = Ok(state);
        loop {
            let state = match next {
                Ok(state) => state,
                Err(end) => {
                    while self.base <= at {
                        self.drop_outermost();
                    }
                    self.end = end;
                    return true;
                }
            };
            let mut stepped_state = state;
            if self.kept(at).is_some_and(|kept| kept.state == state) {
                let Some(&stale) = self.stale.range(..=at).next_back() else { return true };
                let Some(kept) = self.kept(stale) else { return false };
                (at, stepped_state) = (stale, kept.state);
            }
            if self.top - at >= position(DEPTH_LIMIT) {
                return false;
            }
            let (Stepped { cfa, mangled, caller }, words) = step(&stepped_state);
            self.replace(at, Kept { state: stepped_state, cfa, mangled, words });
            next = caller;
            at -= 1;
        }
    }

    /// The place of a kept frame from which the walk would go on as it did.
    fn find(&self, state: &State) -> Option<Position> {
        // Stack pointers rise outwards. Where they do not, it is not found.
        let index = self.kept.partition_point(|kept| kept.state.sp > state.sp);
        let at = self.base + position(index);
        let is_it = self.kept.get(index)?.state == *state && self.stale.range(..=at).next().is_none();
        is_it.then_some(at)
    }

    /// The walk has ended without a frame that was kept.
    fn arrive_nowhere(&mut self, new: Vec<Kept>, end: End) {
        if !self.kept.is_empty() && new.len() <= DETOUR {
            self.detour = Some(Detour { frames: new, next: Err(end) });
            return;
        }
        while !self.kept.is_empty() {
            self.drop_innermost();
        }
        self.base = self.top - position(new.len());
        self.push(new);
        self.end = end;
    }

    /// Puts new frames inside of a kept one.
    fn join(&mut self, at: Position, new: Vec<Kept>) {
        while self.inner_end() > at + 1 {
            self.drop_innermost();
        }
        self.push(new);
    }

    fn push(&mut self, new: Vec<Kept>) {
        for kept in new.into_iter().rev() {
            let at = self.inner_end();
            self.watch(at, &kept.words);
            self.kept.push_back(kept);
        }
    }

    /// Puts a frame in the place of a kept one, or outside of all of them.
    fn replace(&mut self, at: Position, new: Kept) {
        let index = usize::try_from(at - self.base).ok();
        let old = index.and_then(|index| self.kept.get_mut(index)).map(|old| std::mem::take(&mut old.words));
        self.unwatch(at, old.as_deref().unwrap_or_default());
        self.watch(at, &new.words);
        match index.and_then(|index| self.kept.get_mut(index)) {
            Some(kept) => *kept = new,
            None => {
                self.base = at;
                self.kept.push_front(new);
            }
        }
    }

    fn drop_innermost(&mut self) {
        if let Some(kept) = self.kept.pop_back() {
            self.unwatch(self.inner_end(), &kept.words);
        }
    }

    fn drop_outermost(&mut self) {
        if let Some(kept) = self.kept.pop_front() {
            self.unwatch(self.base, &kept.words);
            self.base += 1;
        }
    }

    fn watch(&mut self, at: Position, words: &[u64]) {
        for &word in words {
            add_reader(&mut self.readers, word, at);
        }
        self.changed.push(at);
    }

    fn unwatch(&mut self, at: Position, words: &[u64]) {
        self.stale.remove(&at);
        for &word in words {
            remove_reader(&mut self.readers, word, at);
        }
    }

    /// Compares the walk with the call stack, as [`compare::compare`] does.
    pub(crate) fn compare(
        &mut self,
        truth: &Truth<'_>,
        rules: &impl Rules,
        report: impl FnMut(Disagreement),
    ) -> WalkEnd {
        self.same_calls = self.same_calls.min(truth.call_stack.kept());
        if let Some(Detour { next, .. }) = &self.detour {
            let is_joined = next.is_ok();
            let end = compare::compare(truth, self, rules, report);
            if is_joined && end != WalkEnd::Disagreed {
                // It was the kept frames that were not in their places.
                *self = Self::default();
            }
            return end;
        }
        self.look_again(truth, rules);
        self.same_calls = truth.call_stack.records().len();
        let top = self.top;
        let indices = self.remarkable.iter().rev().filter_map(|at| usize::try_from(top - at).ok());
        compare::compare_at(indices, truth, self, rules, report)
    }

    /// Finds out which of the frames are remarkable that may have come to be,
    /// or may no longer be.
    fn look_again(&mut self, truth: &Truth<'_>, rules: &impl Rules) {
        while self.remarkable.last().is_some_and(|last| *last > self.top) {
            self.remarkable.pop_last();
        }
        let mut changed = std::mem::take(&mut self.changed);
        // A frame is judged by its own state, its caller's, and the two calls
        // that it lies between; the entry function is not among them.
        let same = position(self.same_calls);
        let judged = changed.iter().flat_map(|at| [*at, *at + 1]).chain(same..=self.top);
        for at in judged.filter(|at| (1..=self.top).contains(at)) {
            let is_remarkable = usize::try_from(self.top - at)
                .is_ok_and(|index| !compare::unremarkable(index, truth, self, rules));
            if is_remarkable {
                self.remarkable.insert(at);
            } else {
                self.remarkable.remove(&at);
            }
        }
        changed.clear();
        self.changed = changed;
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
        let kept = |at: Position| usize::try_from(at - self.base + 1).unwrap_or(0);
        1 + match &self.detour {
            Some(Detour { frames, next }) => frames.len() + next.map_or(0, kept),
            None => self.kept.len(),
        }
    }

    fn frame(&self, index: usize) -> Option<Frame> {
        match index.checked_sub(1) {
            None => self.topmost,
            Some(caller) => self.caller(caller).map(|kept| kept.state.frame(kept.cfa, kept.mangled)),
        }
    }

    fn words_read(&self, index: usize) -> &[u64] {
        match index.checked_sub(1) {
            None => &self.topmost_words,
            Some(caller) => self.caller(caller).map_or(&[], |kept| &kept.words),
        }
    }

    fn end(&self) -> End {
        match &self.detour {
            Some(Detour { next: Err(end), .. }) => *end,
            _ => self.end,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sframe_machine::{Flow, Machine, Moment, Observer, Options};

    use sframe_engine::LookupAddress;

    use super::*;
    use crate::target::Target;
    use crate::unwind::{Backtrace, SframeUnwinder, Unwinder as _};

    /// Everything has an FDE.
    struct Covered;

    impl Rules for Covered {
        fn has_fde(&self, _: LookupAddress) -> bool {
            true
        }

        fn need_register(&self, _: LookupAddress) -> bool {
            false
        }

        fn bases(&self, _: LookupAddress) -> u64 {
            0
        }

        fn keep_fp(&self, _: LookupAddress) -> Option<std::ops::Range<u64>> {
            None
        }

        fn fp_rule(&self, _: LookupAddress) -> Option<sframe_engine::RecoveryRule> {
            None
        }
    }

    /// Does each walk both ways, and looks at every frame.
    struct Both<'a> {
        unwinder: SframeUnwinder<'a>,
        walk: Walk,
        detours: u64,
        frames: usize,
    }

    impl Observer for Both<'_> {
        fn instruction(&mut self, moment: &Moment<'_>) -> Flow {
            let Self { unwinder, walk, detours, frames } = self;
            let viewpoint = Viewpoint::new(moment);
            assert!(walk.update(moment.call_stack.depth(), &viewpoint, unwinder));
            let mut whole = Backtrace::default();
            unwinder.unwind(&viewpoint, &mut whole);
            let kept: Vec<_> = (0..walk.count()).filter_map(|index| walk.frame(index)).collect();
            assert_eq!((kept, walk.end()), (whole.frames.clone(), whole.end), "{:#x}", moment.pc);
            *detours += u64::from(walk.detour.is_some());
            *frames += whole.frames.len();
            // Only what is kept may take memory.
            let words: usize = walk.kept.iter().map(|kept| kept.words.len()).sum();
            assert!(walk.readers.len() <= words && walk.changed.len() <= 2 * walk.kept.len() + 2);
            let _ = walk.compare(&Truth::of(moment), &Covered, |_| ());
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

    fn walk_both_ways(bytes: &[u8]) -> u64 {
        let target = Target::open(bytes).expect("a target");
        let unwinder =
            SframeUnwinder::new(target.sections.clone(), target.executable().image.cpu.address_bits);
        let mut both = Both { unwinder, walk: Walk::default(), detours: 0, frames: 0 };
        let machine = Machine::with_images(&target.images, &Options::default()).expect("a machine");
        let outcome = machine.run(&mut both).expect("an emulator");
        assert_eq!(outcome.end, sframe_machine::End::Exit(0));
        assert!(both.frames > 10_000, "{} frames", both.frames);
        both.detours
    }

    #[test]
    fn each_frame_of_a_kept_walk_is_that_of_a_whole_one() {
        for abi in ["amd64", "aarch64", "aarch64_be", "s390x"] {
            for program in ["recursion.O0", "mutual_recursion.O2", "large_frames.O2", "alloca.O2-fp"] {
                walk_both_ways(&build(&format!("gnu-2.47/{abi}/{program}")));
            }
        }
    }

    /// In the first instruction of `descend`, its caller is left out.
    #[test]
    fn a_walk_that_leaves_a_frame_out_is_a_detour() {
        let mut bytes = build("gnu-2.47/amd64/recursion.O0");
        let row = {
            let target = Target::open(&bytes).expect("a target");
            let section = &target.sections;
            let start = target.addresses_of("descend")[0];
            let fde = section.lookup_fde(sframe_engine::InstructionPointer(start));
            let fde = fde.expect("a sound section").expect("an FDE");
            let data = target.executable().subject.sframe.expect("a section").data;
            data.as_ptr() as usize - bytes.as_ptr() as usize + fde.rows_offset + fde.fre_type.width()
        };
        // The base register of the CFA: FP and not SP.
        bytes[row] ^= 1;
        bytes[row + 1] += 8;
        assert!(walk_both_ways(&bytes) > 100);
    }

    #[test]
    fn a_word_is_watched_for_each_frame_that_reads_it() {
        let mut walk = Walk::default();
        for at in [1, 5, 9] {
            walk.watch(at, &[100, 101]);
        }
        walk.unwatch(1, &[100, 101]);
        walk.stored(807, 1);
        assert_eq!(walk.stale, BTreeSet::from([5, 9]));
        walk.unwatch(9, &[100, 101]);
        assert_eq!(walk.stale, BTreeSet::from([5]));
        walk.unwatch(5, &[100, 101]);
        walk.stored(0, u64::MAX);
        assert!(walk.readers.is_empty() && walk.stale.is_empty());
    }
}
