//! Checks the witness against other traces that the program itself leaves of
//! its calls.
//!
//! The call stack judges unwind data, so it must not be taken on trust.
//! Wherever a program leaves another trace of its calls, the two are compared
//! at every instruction. A difference says nothing about the subject: the case
//! is broken.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::{Abi, PauthMask};
use sframe_machine::{Bottom, CallStack, Memory, Moment, Record};

use crate::target::{Loaded, Target};
use crate::truth::stores::LastStores;
use crate::vocabulary::Trace;

/// The traces that a program leaves, as far as its file does not show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// Calls leave their return addresses on the stack: on amd64.
    pub return_addresses: bool,
    /// Every function that calls another one has a frame record.
    pub frame_pointers: bool,
    /// Every function that calls another one has a backchain.
    pub backchain: bool,
    /// The path that the program records is true.
    pub recorded_path: bool,
}

/// What a compiler was told about the frames of all functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FrameFlags {
    /// Nothing is optimised, so that every function has a frame pointer: `-O0`.
    pub unoptimised: bool,
    /// Every frame points to its caller's: `-mbackchain`.
    pub backchain: bool,
}

impl FrameFlags {
    /// Determines what the flags of a compiler say: the last of each kind decides.
    pub fn of<'f>(flags: impl IntoIterator<Item = &'f str>) -> Self {
        let mut told = Self::default();
        for flag in flags {
            match flag {
                "-mbackchain" => told.backchain = true,
                "-mno-backchain" => told.backchain = false,
                _ if flag.starts_with("-O") => told.unoptimised = flag == "-O0",
                _ => {}
            }
        }
        told
    }

    /// Returns what is true of two parts of a program.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            unoptimised: self.unoptimised && other.unoptimised,
            backchain: self.backchain && other.backchain,
        }
    }
}

impl Traces {
    /// Determines the traces that a program of which only the ABI is known leaves.
    #[must_use]
    pub const fn of_abi(abi: Abi) -> Self {
        Self {
            return_addresses: !abi.has_link_register(),
            frame_pointers: false,
            backchain: false,
            recorded_path: true,
        }
    }

    /// Determines the traces that a program leaves, from its ABI, its sources
    /// and what the compiler was told.
    #[must_use]
    pub fn of_build(abi: Abi, sources: &[String], flags: FrameFlags) -> Self {
        let is_c = |source: &String| source.ends_with(".c") || source == "runtime/start.S";
        let all_c = sources.iter().all(is_c);
        Self {
            frame_pointers: all_c && flags.unoptimised && !abi.has_backchain(),
            backchain: all_c && flags.backchain && abi.has_backchain(),
            ..Self::of_abi(abi)
        }
    }

    /// Removes one of them.
    #[must_use]
    pub const fn without(mut self, trace: Trace) -> Self {
        match trace {
            Trace::ReturnAddresses => self.return_addresses = false,
            Trace::FramePointers => self.frame_pointers = false,
            Trace::Backchain => self.backchain = false,
            Trace::RecordedPath => self.recorded_path = false,
        }
        self
    }
}

/// A trace of the calls that contradicts the call stack.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the call stack and the trace `{trace}` disagree at {pc:#x}: {difference}")]
pub struct TraceConflict {
    /// The trace.
    pub trace: Trace,
    /// The instruction before which they were compared; its loaded address.
    pub pc: u64,
    /// How they differ.
    pub difference: TraceDifference,
}

/// A difference between a trace of the calls and the call stack.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceDifference {
    /// A word on the stack is not what the call stack requires.
    #[error("for frame {frame} there should be {expected:#x} at {address:#x}, and there is {}", word(*found))]
    Word {
        /// The frame, counted from the innermost.
        frame: usize,
        /// The word's address.
        address: u64,
        /// The call stack's value.
        expected: u64,
        /// The word there; `None` if nothing is mapped.
        found: Option<u64>,
    },
    /// The program has recorded other functions than those on the call stack.
    #[error("the program has recorded [{}], and on the call stack are [{}]", list(recorded), list(active))]
    Path {
        /// The functions that it has recorded.
        recorded: Vec<u64>,
        /// The functions on the call stack that record themselves.
        active: Vec<u64>,
    },
}

fn word(found: Option<u64>) -> String {
    found.map_or_else(|| "nothing".to_owned(), |found| format!("{found:#x}"))
}

fn list(addresses: &[u64]) -> String {
    addresses.iter().map(|address| format!("{address:#x}")).collect::<Vec<_>>().join(", ")
}

/// How often the call stack was compared with each trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(from = "BTreeMap<Trace, u64>", into = "BTreeMap<Trace, u64>")]
pub struct TraceCounts([u64; Trace::ALL.len()]);

impl From<BTreeMap<Trace, u64>> for TraceCounts {
    fn from(counted: BTreeMap<Trace, u64>) -> Self {
        let mut counts = Self::default();
        for (trace, count) in counted {
            counts.0[trace as usize] = count;
        }
        counts
    }
}

impl From<TraceCounts> for BTreeMap<Trace, u64> {
    fn from(counts: TraceCounts) -> Self {
        let counted = Trace::ALL.iter().map(|trace| (*trace, counts.of(*trace)));
        counted.filter(|(_, count)| *count > 0).collect()
    }
}

impl TraceCounts {
    /// The number of comparisons with a trace.
    #[must_use]
    pub const fn of(&self, trace: Trace) -> u64 {
        self.0[trace as usize]
    }

    /// Adds the comparisons of another run.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    const fn count(&mut self, trace: Trace) {
        self.0[trace as usize] += 1;
    }
}

/// Compares the call stack with the traces.
#[derive(Debug)]
pub(crate) struct CrossCheck {
    traces: Traces,
    pauth: PauthMask,
    path: Option<RecordedPath>,
    /// How many of the oldest records agree with the words on the stack.
    checked: usize,
    /// The words that they were compared with, and the record of each.
    watched: FxHashMap<u64, usize>,
    /// Calls whose callee has popped its return address, and goes on all the same, as `sigsetjmp`
    /// and code that abandons its stack do: when they were made. Their words may be used again.
    popped: FxHashSet<u64>,
    counts: TraceCounts,
}

/// The word at an address is not what the call stack requires.
struct Mismatch {
    trace: Trace,
    record: usize,
    address: u64,
    expected: u64,
    found: Option<u64>,
}

impl CrossCheck {
    pub(crate) fn new(target: &Target<'_>, traces: Traces) -> Self {
        let pointer =
            target.address_of_object("bench_path").filter(|_| traces.recorded_path).map(|pointer| pointer.0);
        Self {
            traces,
            pauth: target.pauth(),
            path: pointer.map(RecordedPath::new),
            checked: 0,
            watched: FxHashMap::default(),
            popped: FxHashSet::default(),
            counts: TraceCounts::default(),
        }
    }

    /// Begins another run.
    pub(crate) fn start(&mut self) {
        self.checked = 0;
        self.watched.clear();
        self.popped.clear();
        if let Some(path) = &mut self.path {
            path.functions.clear();
        }
    }

    /// Another thread goes on, with its own calls.
    pub(crate) const fn go_to_thread(&mut self) {
        self.checked = 0;
    }

    pub(crate) const fn counts(&self) -> TraceCounts {
        self.counts
    }

    /// Takes note of a store: the records that depend on these bytes are compared
    /// again. Returns whether there are any.
    pub(crate) fn wrote(&mut self, address: u64, len: u64) -> bool {
        let last = address.saturating_add(len.saturating_sub(1)) & !7;
        let words = address & !7..=last;
        let Self { watched, checked, .. } = self;
        let mut is_traced = false;
        let mut touch = |record: usize| {
            *checked = (*checked).min(record);
            is_traced = true;
        };
        // Choose the shorter loop: some stores may go anywhere.
        if len / 8 < watched.len() as u64 {
            words.step_by(8).filter_map(|word| watched.get(&word)).for_each(|record| touch(*record));
        } else {
            watched.iter().filter(|(word, _)| words.contains(word)).for_each(|(_, record)| touch(*record));
        }
        is_traced
    }

    /// Whether a path that the program records is compared at each instruction.
    pub(crate) const fn follows_path(&self) -> bool {
        self.path.is_some()
    }

    /// Whether the topmost frame's record is compared at an instruction.
    pub(crate) fn follows_frame_record(&self, moment: &Moment<'_>) -> bool {
        let call = moment.call_stack.records().last();
        self.traces.frame_pointers
            && moment.call_stack.is_settled()
            && call.is_some_and(|top| moment.fp != top.caller_fp && !top.interrupted)
    }

    /// Counts comparisons of a record that is as it was, at some instructions.
    pub(crate) const fn count_frame_records(&mut self, instructions: usize) {
        self.counts.0[Trace::FramePointers as usize] += 2 * instructions as u64;
    }

    /// Compares before an instruction executes.
    ///
    /// # Errors
    /// A trace contradicts the call stack.
    pub(crate) fn instruction(
        &mut self,
        moment: &Moment<'_>,
        stores: &LastStores,
        target: &Target<'_>,
    ) -> Result<(), TraceConflict> {
        let records = moment.call_stack.records();
        if self.traces.return_addresses
            && let Some(top) = records.last()
            && moment.sp == top.caller_sp
            && !top.interrupted
        {
            self.note_popped(top.since, records);
        }
        // The innermost record's callee is still setting up its frame.
        let inner = records.len().saturating_sub(1);
        self.checked = self.checked.min(moment.call_stack.kept()).min(inner);
        while self.checked < inner {
            let (record, next) = (&records[self.checked], &records[self.checked + 1]);
            if let Err(mismatch) = self.compare(record, next, self.checked, moment.memory)
                && !mismatch.is_replaced(record, stores, target)
            {
                return Err(mismatch.at(moment));
            }
            self.checked += 1;
        }
        if self.traces.frame_pointers
            && moment.call_stack.is_settled()
            && let Some(top) = records.last()
            && moment.fp != top.caller_fp
        {
            self.frame_record(top, moment.fp, inner, moment.memory)
                .map_err(|mismatch| mismatch.at(moment))?;
        }
        match &mut self.path {
            Some(path) => path.compare(moment, &mut self.counts),
            None => Ok(()),
        }
    }

    #[cold]
    fn note_popped(&mut self, since: u64, records: &[Record]) {
        const MANY: usize = 1 << 12;
        if self.popped.len() >= MANY {
            self.popped.retain(|since| records.iter().any(|call| call.since == *since));
        }
        self.popped.insert(since);
    }

    /// Compares a record with what its callee, having made the next call, has
    /// left on the stack.
    fn compare(
        &mut self,
        record: &Record,
        next: &Record,
        index: usize,
        memory: &dyn Memory,
    ) -> Result<(), Mismatch> {
        if self.traces.return_addresses && !record.interrupted {
            let slot = record.cfa.wrapping_sub(8);
            if !self.popped.contains(&record.since) {
                self.word(Trace::ReturnAddresses, index, slot, record.return_address, memory)?;
            }
        }
        // A signal in between may have come before the frame was made.
        if self.traces.backchain && !next.interrupted {
            self.word(Trace::Backchain, index, next.caller_sp, record.caller_sp, memory)?;
        }
        if self.traces.frame_pointers && !record.interrupted && !next.interrupted {
            self.frame_record(record, next.caller_fp, index, memory)?;
        }
        Ok(())
    }

    fn frame_record(
        &mut self,
        record: &Record,
        fp: u64,
        index: usize,
        memory: &dyn Memory,
    ) -> Result<(), Mismatch> {
        if record.interrupted {
            return Ok(());
        }
        self.word(Trace::FramePointers, index, fp, record.caller_fp, memory)?;
        self.word(Trace::FramePointers, index, fp.wrapping_add(8), record.return_address, memory)
    }

    fn word(
        &mut self,
        trace: Trace,
        record: usize,
        address: u64,
        expected: u64,
        memory: &dyn Memory,
    ) -> Result<(), Mismatch> {
        self.counts.count(trace);
        for word in [address & !7, address.wrapping_add(7) & !7] {
            self.watched.insert(word, record);
        }
        let found = memory.read_u64(address);
        if found.is_some_and(|found| found == expected || self.pauth.strip(found) == expected) {
            Ok(())
        } else {
            Err(Mismatch { trace, record, address, expected, found })
        }
    }
}

impl Mismatch {
    /// Whether the program itself has overwritten the return address of the call.
    /// Code that makes exceptions land elsewhere does so.
    fn is_replaced(&self, call: &Record, stores: &LastStores, target: &Target<'_>) -> bool {
        let at = |address| target.module_at(Loaded(address))?.instruction(Loaded(address));
        let stored = stores.last(self.address).filter(|store| store.time > call.since);
        self.trace == Trace::ReturnAddresses
            && self.found.is_some_and(|found| at(found).is_some())
            && stored.and_then(|store| at(store.pc)).is_some_and(|instruction| !instruction.is_call())
    }

    fn at(&self, moment: &Moment<'_>) -> TraceConflict {
        let Self { trace, record, address, expected, found } = *self;
        let frame = moment.call_stack.records().len() - record;
        let difference = TraceDifference::Word { frame, address, expected, found };
        TraceConflict { trace, pc: moment.pc, difference }
    }
}

/// The path that a program records itself.
///
/// `bench_path` points to a number of functions, followed by the functions, all
/// of 64 bits; it is null while the path is unknown to the program.
#[derive(Debug)]
struct RecordedPath {
    pointer: u64,
    /// The functions known so far to record themselves.
    functions: FxHashSet<u64>,
    /// The functions on the call stack, the oldest first, and whether each may
    /// not have recorded itself yet.
    active: Vec<(u64, bool)>,
    recorded: Vec<u64>,
}

impl RecordedPath {
    /// Longer paths, and deeper call stacks, are not compared.
    const LIMIT: usize = 256;

    fn new(pointer: u64) -> Self {
        Self { pointer, functions: FxHashSet::default(), active: Vec::new(), recorded: Vec::new() }
    }

    fn compare(&mut self, moment: &Moment<'_>, counts: &mut TraceCounts) -> Result<(), TraceConflict> {
        let Some(path) = moment.memory.read_u64(self.pointer).filter(|path| *path != 0) else {
            return Ok(());
        };
        let depth = moment.memory.read_u64(path).and_then(|depth| usize::try_from(depth).ok());
        let depth = depth.filter(|depth| *depth <= Self::LIMIT);
        let Some(depth) = depth.filter(|_| moment.call_stack.depth() <= Self::LIMIT) else {
            return Ok(());
        };
        self.recorded.clear();
        let words = (1..=depth as u64).map_while(|index| moment.memory.read_u64(path + index * 8));
        self.recorded.extend(words);
        self.functions.extend(&self.recorded);
        self.list_active(moment.call_stack);
        counts.count(Trace::RecordedPath);
        if self.agrees(moment.call_stack.bottom()) {
            return Ok(());
        }
        let difference = TraceDifference::Path {
            recorded: self.recorded.clone(),
            active: self.active.iter().map(|(function, _)| *function).collect(),
        };
        Err(TraceConflict { trace: Trace::RecordedPath, pc: moment.pc, difference })
    }

    fn list_active(&mut self, call_stack: &CallStack) {
        self.active.clear();
        // The innermost of them, and the innermost when a signal came, may be on their way into the
        // list or out of it.
        let innermost = |active: &mut Vec<(u64, bool)>| {
            if let Some((_, on_the_way)) = active.last_mut() {
                *on_the_way = true;
            }
        };
        for record in call_stack.records() {
            if record.interrupted {
                innermost(&mut self.active);
            }
            if self.functions.contains(&record.callee) {
                self.active.push((record.callee, false));
            }
        }
        innermost(&mut self.active);
    }

    /// Whether the recorded path is the active one, except for functions that may not
    /// be recorded.
    fn agrees(&self, bottom: Bottom) -> bool {
        // Nobody has called the first function of a context.
        let recorded = match (bottom, self.recorded.split_first()) {
            (Bottom::Context, Some((first, rest)))
                if self.active.first().is_none_or(|(function, _)| function != first) =>
            {
                rest
            }
            _ => &self.recorded,
        };
        let mut recorded = recorded.iter().peekable();
        for (function, on_the_way) in &self.active {
            if recorded.next_if_eq(&function).is_none() && !on_the_way {
                return false;
            }
        }
        recorded.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_flag_of_a_kind_counts() {
        let of = |abi, flags: &[&str]| {
            let traces = Traces::of_build(abi, &["a.c".to_owned()], FrameFlags::of(flags.iter().copied()));
            (traces.frame_pointers, traces.backchain)
        };
        assert_eq!(of(Abi::Amd64, &["-O0", "-mbackchain"]), (true, false));
        assert_eq!(of(Abi::S390x, &["-O0", "-mbackchain"]), (false, true));
        assert_eq!(of(Abi::Amd64, &["-O0", "-O2"]), (false, false));
        assert_eq!(of(Abi::Amd64, &["-Os", "-O0"]), (true, false));
        assert_eq!(of(Abi::S390x, &["-mbackchain", "-mno-backchain"]), (false, false));
        assert_eq!(Traces::of_build(Abi::Amd64, &[], FrameFlags::default()), Traces::of_abi(Abi::Amd64));
        let one = FrameFlags { unoptimised: true, backchain: true };
        assert_eq!(one.and(FrameFlags { backchain: false, ..one }), FrameFlags { backchain: false, ..one });
    }
}
