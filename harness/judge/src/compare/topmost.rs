//! What walks are worth, by what the topmost frame was in.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::{InstructionPointer, PcType, RowRules, Section};
use sframe_machine::{CallStack, Moment, PcMap};

use super::{Disagreement, Reliabilities};
use crate::target::{Loaded, Target};
use crate::vocabulary::{Reliability, Topmost};

/// What walks are worth, by what the topmost frame was in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct ByTopmost(pub BTreeMap<Topmost, Reliabilities>);

impl ByTopmost {
    /// Adds those of another run.
    pub fn add(&mut self, other: &Self) {
        self.add_times(other, 1);
    }

    /// Adds those of a sample, each of which stands for a number of walks.
    pub fn add_times(&mut self, other: &Self, times: u64) {
        for (topmost, of) in &other.0 {
            self.0.entry(*topmost).or_default().add_times(of, times);
        }
    }

    /// All of them, wherever they were.
    #[must_use]
    pub fn total(&self) -> Reliabilities {
        self.0.values().fold(Reliabilities::default(), |mut all, of| {
            all.add(of);
            all
        })
    }
}

/// Where a walk began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// The PC of the topmost frame.
    pub(crate) pc: u64,
    /// Whether its function was called by the last instruction of another one.
    pub(crate) is_after_last: bool,
}

impl Start {
    /// The same at any PC.
    pub(crate) const fn anywhere(self) -> Self {
        Self { pc: 0, ..self }
    }

    /// At a PC, however control has come there.
    pub(crate) const fn at(pc: u64) -> Self {
        Self { pc, is_after_last: false }
    }
}

/// Which calls were the last instructions of their functions.
#[derive(Debug, Default)]
pub(crate) struct LastInstructions {
    known: FxHashMap<u64, bool>,
    /// The return address that was asked about last, and the answer.
    last: (u64, bool),
}

impl LastInstructions {
    /// Returns where a walk through a call stack begins.
    #[inline]
    pub(crate) fn start(&mut self, pc: u64, call_stack: &CallStack, target: &Target<'_>) -> Start {
        let call = call_stack.records().last().filter(|call| !call.interrupted);
        Start { pc, is_after_last: call.is_some_and(|call| self.ends_function(call.return_address, target)) }
    }

    /// Whether the call before a return address ends a function, as its symbol says.
    #[inline]
    fn ends_function(&mut self, return_address: u64, target: &Target<'_>) -> bool {
        if self.last.0 != return_address {
            let ends = || {
                let call = Loaded(return_address.wrapping_sub(1));
                let module = target.module_at(call);
                module.is_some_and(|module| module.subject.symbols.is_last_byte(module.linked(call).0))
            };
            self.last = (return_address, *self.known.entry(return_address).or_insert_with(ends));
        }
        self.last.1
    }
}

/// What walks are worth, by the PC of the topmost frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByPc {
    of: PcMap<Reliabilities>,
    /// Those from functions that were called by the last instruction of another one.
    after_last: Reliabilities,
    /// Those that were wrong at a caller's frame.
    callers: Reliabilities,
}

impl ByPc {
    /// Counts walks that have found the same.
    #[inline]
    pub(crate) fn count(
        &mut self,
        start: Start,
        found: &[Disagreement],
        reliability: Reliability,
        times: u64,
    ) {
        let Start { pc, is_after_last } = start;
        match found.first() {
            _ if is_after_last => self.after_last.count(reliability, times),
            Some(first) if first.frame > 0 => self.callers.count(reliability, times),
            _ => self.of.get_or_insert_with(pc, Reliabilities::default).count(reliability, times),
        }
    }

    /// Returns them by what the topmost frame was in.
    pub(crate) fn by_topmost(&self, target: &Target<'_>) -> ByTopmost {
        let mut places = Places { target, bodies: FxHashMap::default() };
        let mut by: BTreeMap<Topmost, Reliabilities> = BTreeMap::new();
        by.insert(Topmost::Caller, self.callers);
        by.insert(Topmost::AfterNoreturnCall, self.after_last);
        for (pc, of) in self.of.iter() {
            by.entry(places.at(pc)).or_default().add(of);
        }
        by.retain(|_, of| *of != Reliabilities::default());
        ByTopmost(by)
    }
}

/// Finds what topmost frames are in, wherever walks from them then lead.
#[derive(Debug)]
pub struct Topmosts<'p, 'a> {
    places: Places<'p, 'a>,
    known: FxHashMap<u64, Topmost>,
    last: LastInstructions,
}

impl<'p, 'a> Topmosts<'p, 'a> {
    /// Those of a target.
    #[must_use]
    pub fn new(target: &'p Target<'a>) -> Self {
        let places = Places { target, bodies: FxHashMap::default() };
        Self { places, known: FxHashMap::default(), last: LastInstructions::default() }
    }

    /// Returns what the topmost frame is in. It is never [`Topmost::Caller`].
    #[inline]
    pub fn of(&mut self, moment: &Moment<'_>) -> Topmost {
        let Self { places, known, last } = self;
        if last.start(moment.pc, moment.call_stack, places.target).is_after_last {
            return Topmost::AfterNoreturnCall;
        }
        *known.entry(moment.pc).or_insert_with(|| places.at(moment.pc))
    }
}

/// How the names of retpolines and return thunks begin, as GCC, clang and Linux write them.
const THUNKS: [&str; 4] =
    ["__x86_indirect_", "__x86_return_thunk", "__llvm_retpoline_", "__s390_indirect_jump"];

/// Finds what code is part of.
#[derive(Debug)]
struct Places<'p, 'a> {
    target: &'p Target<'a>,
    /// The rules that cover most of each function, and where they begin, by the section's address and the FDE's position.
    bodies: FxHashMap<(u64, u32), Option<(RowRules, u32)>>,
}

impl Places<'_, '_> {
    fn at(&mut self, pc: u64) -> Topmost {
        let module = self.target.module_at(Loaded(pc));
        if module.is_some_and(|module| module.subject.linker_made(module.linked(Loaded(pc)).0).is_some()) {
            return Topmost::LinkageTable;
        }
        let function = self.target.place(Loaded(pc)).function;
        if function.is_some_and(|name| THUNKS.iter().any(|thunk| name.starts_with(thunk))) {
            return Topmost::Thunk;
        }
        let address = InstructionPointer(pc);
        let (Some(section), Ok(Some(found))) =
            (self.target.sections.at(address), self.target.sections.lookup(address))
        else {
            return Topmost::NoRow;
        };
        if found.fde.signal {
            return Topmost::SignalFrame;
        }
        if found.row.is_outermost() {
            return Topmost::OutermostFrame;
        }
        let body = match self.bodies.entry((section.address(), found.fde.index)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(body(section, &found.fde)),
        };
        match body {
            Some((rules, _)) if found.row.rules() == rules => Topmost::Body,
            Some((_, start)) if found.row.start < start => Topmost::Prologue,
            Some(_) => Topmost::Epilogue,
            None => Topmost::Body,
        }
    }
}

/// Returns the rules that cover most bytes of a function, and where they begin. `None` if its rows are of blocks that
/// repeat, each of which is all that there is of a function.
fn body(section: &Section<'_>, fde: &sframe_engine::Fde) -> Option<(RowRules, u32)> {
    if fde.pc_type != PcType::Inc {
        return None;
    }
    let mut covered: Vec<(RowRules, u32, u32)> = Vec::new();
    for row in section.rows(fde).flatten() {
        let bytes = row.end.min(fde.size).saturating_sub(row.start);
        match covered.iter_mut().find(|(rules, ..)| *rules == row.rules()) {
            Some((.., all)) => *all += bytes,
            None => covered.push((row.rules(), row.start, bytes)),
        }
    }
    // Of equal ones, the first.
    let most = covered.into_iter().rev().max_by_key(|(.., bytes)| *bytes);
    most.map(|(rules, start, _)| (rules, start))
}
