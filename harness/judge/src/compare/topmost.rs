//! What walks are worth, by what the topmost frame was in.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::{InstructionPointer, PcType, RowRules, Section};
use sframe_machine::PcMap;

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
        for (topmost, of) in &other.0 {
            self.0.entry(*topmost).or_default().add(of);
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

/// What walks are worth, by the PC of the topmost frame.
#[derive(Debug, Default)]
pub(crate) struct ByPc {
    of: PcMap<Reliabilities>,
    /// Those that were wrong at a caller's frame.
    callers: Reliabilities,
}

impl ByPc {
    /// Counts a walk.
    #[inline]
    pub(crate) fn count(&mut self, pc: u64, found: &[Disagreement], reliability: Reliability) {
        match found.first() {
            Some(first) if first.frame > 0 => self.callers.count(reliability),
            _ => self.of.get_or_insert_with(pc, Reliabilities::default).count(reliability),
        }
    }

    /// Takes back walks with a disagreement.
    pub(crate) fn forget(&mut self, found: &Disagreement, reliability: Reliability, count: u64) {
        let of = match found.frame {
            0 => self.of.get_or_insert_with(found.pc, Reliabilities::default),
            _ => &mut self.callers,
        };
        of.forget(reliability, count);
    }

    /// Adds those of another run.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.callers.add(&other.callers);
        for (pc, of) in other.of.iter() {
            self.of.get_or_insert_with(pc, Reliabilities::default).add(of);
        }
    }

    /// Returns them by what the topmost frame was in.
    pub(crate) fn by_topmost(&self, target: &Target<'_>) -> ByTopmost {
        let mut places = Places { target, bodies: FxHashMap::default() };
        let mut by: BTreeMap<Topmost, Reliabilities> = BTreeMap::new();
        by.insert(Topmost::Caller, self.callers);
        for (pc, of) in self.of.iter() {
            by.entry(places.at(pc)).or_default().add(of);
        }
        by.retain(|_, of| *of != Reliabilities::default());
        ByTopmost(by)
    }
}

/// Finds what code is part of.
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
