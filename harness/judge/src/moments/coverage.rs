//! What a moment shows: kinds of rows, marks, ends, depths.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use sframe_engine::{
    Abi, Base, FdeType, Found, FreType, InstructionPointer, LookupAddress, PcType, Recovery, RecoveryRule,
    Section, Version,
};

use super::data::key_name;
use crate::compare::{Truth, WalkEnd};
use crate::target::sections::Sections;

/// A frame that a signal has interrupted: a walk meets it beyond the signal frame.
const SIGNAL_CALLER: &str = "caller of a signal frame";
/// One that was interrupted before its function's first instruction.
const SIGNAL_CALLER_AT_START: &str = "caller of a signal frame, at its function's first byte";
/// What a search meets at its ends.
const FIRST_FUNCTION: &str = "first function of a section";
const LAST_FUNCTION: &str = "last function of a section";
/// The mark of an outermost frame by which a function has no row that a search could find.
const NO_ROWS: &str = "function without rows";

/// Finds out what moments of a program cover.
pub struct Covered<'a> {
    sections: Sections<'a>,
    /// The words of a row, by where it was looked up and how.
    rows: FxHashMap<(LookupAddress, Role), Rc<[String]>>,
}

/// How a frame came to its PC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    Topmost,
    Caller,
    Interrupted,
}

impl<'a> Covered<'a> {
    /// For the sections of a process.
    #[must_use]
    pub fn new(sections: Sections<'a>) -> Self {
        Self { sections, rows: FxHashMap::default() }
    }

    /// What moments of any program with such sections should cover, whether its runs show it or not.
    pub fn wanted(&self) -> impl Iterator<Item = String> + '_ {
        let always = [FIRST_FUNCTION, LAST_FUNCTION].iter();
        let marks = [SIGNAL_CALLER, SIGNAL_CALLER_AT_START, NO_ROWS].iter();
        self.sections.iter().flat_map(move |section| {
            let has_marks = section.header().version.marks_signal_frames();
            let words = always.clone().chain(marks.clone().filter(|_| has_marks));
            words.map(|word| format!("{} {word}", of(section))).collect::<Vec<_>>()
        })
    }

    /// What a moment covers, given how a walk ends.
    pub fn by(&mut self, truth: &Truth<'_>, end: WalkEnd) -> Vec<String> {
        let mut covered = Vec::new();
        let depth = truth.call_stack.depth();
        let last = end.frame().unwrap_or(depth - 1);
        for index in 0..=last {
            let role = match (index, truth.state(index).pc) {
                (0, _) => Role::Topmost,
                (_, sframe_engine::Pc::Return(_)) => Role::Caller,
                (_, sframe_engine::Pc::Instruction(_)) => Role::Interrupted,
            };
            let address = truth.address(index);
            let words = match self.rows.get(&(address, role)) {
                Some(words) => Rc::clone(words),
                None => {
                    let words: Rc<[String]> = self.row(address, role).into();
                    self.rows.insert((address, role), Rc::clone(&words));
                    words
                }
            };
            covered.extend(words.iter().cloned());
        }
        if let Some(section) = self.sections.at(truth.address(0)) {
            let of = of(section);
            covered.push(format!("{of} depth {}", 1_usize << depth.ilog2()));
            if let Some(end) = super::data::End::of(end) {
                covered.push(format!("{of} end {}", end.name()));
            }
            let is_same = |index| self.sections.at(truth.address(index)).map(Section::address);
            if (0..=last).any(|index| is_same(index) != Some(section.address())) {
                covered.push(format!("{of} several images"));
            }
        }
        covered.sort_unstable();
        covered.dedup();
        covered
    }

    fn row(&self, address: LookupAddress, role: Role) -> Vec<String> {
        let (Some(section), Ok(Some(found))) = (self.sections.at(address), self.sections.lookup(address))
        else {
            return Vec::new();
        };
        let of = of(section);
        let fde = &found.fde;
        // A look-up a byte too late or too early must not find the same by luck.
        let (other, place) = match role {
            Role::Caller => (address.get().wrapping_add(1), "last"),
            Role::Topmost | Role::Interrupted => (address.get().wrapping_sub(1), "first"),
        };
        let other = self.sections.lookup(InstructionPointer(other)).ok().flatten();
        let differs = other.as_ref().is_none_or(|other| other.row.rules() != found.row.rules());
        // One that finds the right function may still look for the row elsewhere.
        let within = differs && other.is_some_and(|other| other.fde.index == fde.index);
        let is_interrupted = role == Role::Interrupted;
        let role = match role {
            Role::Topmost => "topmost",
            Role::Caller => "caller",
            Role::Interrupted => "interrupted",
        };
        let kind = match fde.fde_type {
            FdeType::Default => "default",
            FdeType::Flex => "flex",
        };
        let pcs = match fde.pc_type {
            PcType::Inc => "inc",
            PcType::Mask => "mask",
        };
        let starts = match fde.fre_type {
            FreType::Addr1 => 1,
            FreType::Addr2 => 2,
            FreType::Addr4 => 4,
        };
        let from = if section.header().flags.func_start_pcrel() { "field" } else { "section" };
        let mut words = vec![
            format!("{of} {role} {kind} {pcs}{} {}", if fde.signal { " signal" } else { "" }, rules(&found)),
            format!("{of} {starts}-byte starts"),
            format!("{of} functions from the {from}"),
        ];
        if differs {
            let beside = if within { "another row of its function" } else { "what is not of its function" };
            words.push(format!("{of} {role} at the {place} byte of its row, beside {beside}"));
        }
        if fde.index == 0 {
            words.push(format!("{of} {FIRST_FUNCTION}"));
        }
        if fde.index + 1 == section.header().num_fdes {
            words.push(format!("{of} {LAST_FUNCTION}"));
        }
        if found.row_index.is_none() {
            words.push(format!("{of} {NO_ROWS}"));
        }
        if is_interrupted {
            words.push(format!("{of} {SIGNAL_CALLER}"));
            // A look-up of the byte before finds another function, or none.
            if address.get() == fde.start {
                words.push(format!("{of} {SIGNAL_CALLER_AT_START}"));
            }
        }
        if found.row.mangled_ra {
            words.push(format!("{of} {role} mangled {}", key_name(fde.pauth_key)));
        }
        words
    }

    /// The row that a frame is looked up in: its section's address, function and position.
    #[must_use]
    pub fn place(&self, address: LookupAddress) -> Option<(u64, u32, Option<u32>)> {
        let section = self.sections.at(address)?;
        let found = self.sections.lookup(address).ok()??;
        Some((section.address(), found.fde.index, found.row_index))
    }
}

fn of(section: &Section<'_>) -> String {
    let header = section.header();
    let version: Version = header.version;
    let abi: Abi = header.abi;
    format!("{abi} v{}", version.number())
}

/// The kinds of a row's rules, without their numbers.
fn rules(found: &Found) -> String {
    let row = &found.row;
    let base = |base: Base| match base {
        Base::Cfa => "CFA",
        Base::Sp => "SP",
        Base::Fp => "FP",
        Base::Register(_) => "register",
    };
    let rule = |rule: RecoveryRule| {
        let base = base(rule.base);
        if rule.dereference { format!("*({base})") } else { base.to_owned() }
    };
    let recovery = |recovery: Recovery| match recovery {
        Recovery::Undefined => "undefined".to_owned(),
        Recovery::Unchanged => "unchanged".to_owned(),
        Recovery::Rule(it) => rule(it),
    };
    match row.cfa {
        None if found.row_index.is_none() => "no rows".to_owned(),
        None => "RA=undefined".to_owned(),
        Some(cfa) => format!("CFA={} RA={} FP={}", rule(cfa), recovery(row.ra), recovery(row.fp)),
    }
}
