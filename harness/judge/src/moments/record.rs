//! Collects moments while a program is examined.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use sframe_engine::Recovery;
use sframe_protocol::{Address, Hex};

use super::coverage::Covered;
use super::data::{End, Image, Memory, Moment, Program, SectionData};
use crate::calls::Readings;
use crate::compare::{Truth, disagreements};
use crate::examine::Probe;
use crate::target::Target;
use crate::unwind::{Backtrace, SframeUnwinder, Viewpoint};

/// The number of DWARF registers that are asked for.
const REGISTERS: u32 = 96;
/// Deeper call stacks are not kept: their data grows with them.
const MAX_DEPTH: usize = 160;
/// How many words around those that a walk needs are kept as well, on each side.
const AROUND: u64 = 2;
/// The number of bytes of code at the topmost frame and at signal frames.
const CODE: u64 = 16;

/// A moment that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its position among all that were looked at.
    pub position: usize,
    /// What it covers.
    pub covers: Vec<String>,
    /// The number of its frames.
    pub depth: usize,
}

/// Collects candidates, or the data of those that were chosen.
///
/// It looks at moments of one run that have another PC, depth or place of the last signal than those
/// before, in the same order in each run. A candidate is one at which the engine of this
/// project agrees with the call stack, and which covers what none before it does.
pub struct Recorder<'t, 'a> {
    target: &'t Target<'a>,
    engine: SframeUnwinder<'a>,
    covered: Covered<'a>,
    backtrace: Backtrace,
    seen: FxHashSet<(u64, u32, Option<u64>)>,
    known: FxHashMap<String, u32>,
    /// How many candidates show the same.
    copies: u32,
    position: usize,
    /// The positions of those whose data is wanted; without it, candidates are.
    wanted: Option<BTreeSet<usize>>,
    /// The candidates.
    pub candidates: Vec<Candidate>,
    /// The data that was wanted, by position.
    pub moments: BTreeMap<usize, Moment>,
}

impl<'t, 'a> Recorder<'t, 'a> {
    /// Collects up to `copies` candidates for the same, or the data of those in some positions.
    #[must_use]
    pub fn new(target: &'t Target<'a>, copies: u32, wanted: Option<BTreeSet<usize>>) -> Self {
        let bits = target.executable().image.cpu.address_bits;
        Self {
            target,
            engine: SframeUnwinder::new(target.sections.clone(), bits),
            covered: Covered::new(target.sections.clone()),
            backtrace: Backtrace::default(),
            seen: FxHashSet::default(),
            known: FxHashMap::default(),
            copies,
            position: 0,
            wanted,
            candidates: Vec::new(),
            moments: BTreeMap::new(),
        }
    }

    /// The program, without moments.
    #[must_use]
    pub fn program(target: &Target<'_>, name: &str) -> Program {
        let cpu = target.executable().image.cpu;
        let image = |module: &crate::target::Module<'_>| {
            let range = module.image.range();
            Image {
                name: module.name.clone().unwrap_or_else(|| name.to_owned()),
                start: Address(range.start),
                end: Address(range.end),
                bias: Address(module.image.bias),
                sframe: module.section.as_ref().map(|section| SectionData {
                    address: Address(section.address()),
                    bytes: Hex(section.data().to_vec()),
                }),
            }
        };
        Program {
            name: name.to_owned(),
            abi: cpu.abi,
            endian: cpu.abi.byte_order(),
            address_bits: cpu.address_bits,
            images: target.modules.iter().map(image).collect(),
            moments: Vec::new(),
        }
    }

    fn moment(&self, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>, end: End, covers: Vec<String>) -> Moment {
        let registers =
            (0..REGISTERS).filter_map(|number| Some((number, Address(viewpoint.register(number)?))));
        Moment {
            covers,
            registers: registers.collect(),
            memory: self.memory(truth, viewpoint),
            frames: Moment::frames_of(truth),
            end,
            bottom: truth.call_stack.bottom().into(),
        }
    }

    /// The words that the walk has read, and some others.
    fn memory(&self, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>) -> Vec<Memory> {
        let mut words: BTreeSet<u64> = BTreeSet::new();
        let mut add = |from: u64, until: u64| words.extend(from..until);
        for word in self.backtrace.words.iter().flatten() {
            add(word.saturating_sub(AROUND), word.saturating_add(1 + AROUND));
        }
        // A walk that goes on where the engine's ends needs what the rows say there.
        for frame in 0..truth.call_stack.depth() {
            let Ok(Some(found)) = self.target.sections.lookup(truth.address(frame)) else { continue };
            let of = |recovery| match recovery {
                Recovery::Rule(rule) => Some(rule),
                Recovery::Undefined | Recovery::Unchanged => None,
            };
            let rules = [found.row.cfa, of(found.row.ra), of(found.row.fp)];
            for address in rules.iter().flatten().filter_map(|rule| truth.word(frame, rule)) {
                add(address / 8, address.saturating_add(15) / 8);
            }
        }
        add(truth.sp.saturating_sub(truth.red_zone) / 8, truth.sp.saturating_add(CODE) / 8);
        add(truth.pc / 8, truth.pc.saturating_add(CODE + 7) / 8);
        for frame in 1..truth.call_stack.depth() {
            if truth.call_of(frame).is_some_and(|call| call.interrupted) {
                let pc = truth.pc_of(frame);
                add(pc / 8, pc.saturating_add(CODE + 7) / 8);
            }
        }
        let mut pieces: Vec<Memory> = Vec::new();
        for word in words {
            let address = word.wrapping_mul(8);
            let mut bytes = [0; 8];
            if !viewpoint.memory.read(address, &mut bytes) {
                continue;
            }
            match pieces.last_mut() {
                Some(last) if last.address.0.wrapping_add(last.bytes.0.len() as u64) == address => {
                    last.bytes.0.extend(bytes);
                }
                _ => pieces.push(Memory { address: Address(address), bytes: Hex(bytes.to_vec()) }),
            }
        }
        pieces
    }
}

impl Probe for Recorder<'_, '_> {
    fn compared(&mut self, truth: &Truth<'_>, viewpoint: &Viewpoint<'_>, _: &dyn Fn() -> Readings) {
        let depth = truth.call_stack.depth();
        if depth > MAX_DEPTH || !truth.call_stack.is_settled() || truth.call_stack.departed().is_some() {
            return;
        }
        // Beyond a signal frame, the walk goes on wherever the signal came.
        let is_interrupted = |frame: &usize| truth.call_of(*frame).is_some_and(|call| call.interrupted);
        let interrupted = (0..depth).find(is_interrupted).map(|signal| truth.pc_of(signal + 1));
        if !self.seen.insert((truth.pc, depth.ilog2(), interrupted)) {
            return;
        }
        let position = self.position;
        self.position += 1;
        if self.wanted.as_ref().is_some_and(|wanted| !wanted.contains(&position)) {
            return;
        }
        self.backtrace.unwind(&mut self.engine, viewpoint);
        let (walk_end, found) = disagreements(truth, &self.backtrace, &self.target.sections);
        let Some(end) = End::of(walk_end).filter(|_| found.is_empty() && walk_end.has_compared(depth)) else {
            return;
        };
        let covers = self.covered.by(truth, walk_end);
        if self.wanted.is_some() {
            let moment = self.moment(truth, viewpoint, end, covers);
            self.moments.insert(position, moment);
            return;
        }
        let mut is_new = false;
        for it in &covers {
            let count = self.known.entry(it.clone()).or_default();
            is_new |= *count < self.copies;
            *count += 1;
        }
        if is_new {
            self.candidates.push(Candidate { position, covers, depth });
        }
    }
}
