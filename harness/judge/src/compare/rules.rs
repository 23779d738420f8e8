//! What the bench looks up itself, whichever unwinder is under test.

use std::cell::RefCell;
use std::ops::Range;

use rustc_hash::FxHashMap;
use sframe_engine::{Abi, Base, DwarfRegister, LookupAddress, Recovery, RecoveryRule, Row};
use sframe_isa::Registers;
use sframe_machine::Change;

use crate::target::sections::Sections;
use crate::unwind::{State, Stepped, Viewpoint};

/// What must be known about the rules that unwinders use. The unwinder itself is
/// not a sufficient source: one that gives up early would look correct.
pub trait Rules {
    /// Returns what the sections say about an address.
    fn at(&self, address: LookupAddress) -> RulesAt;

    /// Returns what the row of a frame says, also where no walk goes on, and the words of memory that it reads, as
    /// addresses / 8. `None` if that is not known.
    fn step(
        &self,
        state: &State,
        is_topmost: bool,
        viewpoint: &Viewpoint<'_>,
    ) -> Option<(Stepped, Vec<u64>)> {
        let _ = (state, is_topmost, viewpoint);
        None
    }
}

/// What the sections say about an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RulesAt {
    /// Whether an FDE covers it, even a malformed one.
    pub has_fde: bool,
    /// First address, and first one past the end, of the function that the FDE is for.
    function: Option<(u64, u64)>,
    /// Whether the FDE is for a signal's frame.
    signal: bool,
    row: Option<RowRules>,
}

/// The rules of a row, and which registers they are based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RowRules {
    rules: (Option<RecoveryRule>, Recovery, Recovery),
    needs_register: bool,
    bases: Registers,
    fp: DwarfRegister,
    is_outermost: bool,
}

impl RulesAt {
    /// Returns what is known where unwind data other than SFrame is used: whether it
    /// has an FDE. It may use any register.
    #[must_use]
    pub const fn of_other_data(has_fde: bool) -> Self {
        Self { has_fde, function: None, signal: false, row: None }
    }

    /// Returns what is known of an FDE without its rows, for tests.
    #[cfg(test)]
    pub(crate) const fn of_function(start: u64, end: u64, signal: bool) -> Self {
        Self { has_fde: true, function: Some((start, end)), signal, row: None }
    }

    /// Returns the addresses of the function there, if an FDE is known to cover it.
    #[must_use]
    pub fn function(&self) -> Option<Range<u64>> {
        self.function.map(|(start, end)| start..end)
    }

    /// Whether an FDE is known to cover the address that is not for a signal's frame, and does
    /// not cover another address.
    #[must_use]
    pub fn are_not_for_signal_frame_at(&self, pc: u64) -> bool {
        !self.signal && self.function().is_some_and(|function| !function.contains(&pc))
    }

    /// Whether the rules need a register other than SP and FP.
    #[must_use]
    pub fn need_register(&self) -> bool {
        self.row.is_some_and(|row| row.needs_register)
    }

    /// Whether they mark an outermost frame.
    #[must_use]
    pub fn mark_outermost(&self) -> bool {
        self.row.is_some_and(|row| row.is_outermost)
    }

    /// Returns the registers, other than SP, that the rules are based on.
    #[must_use]
    pub fn bases(&self) -> Registers {
        self.row.map(|row| row.bases).unwrap_or_default()
    }

    /// Returns FP, if the rules are based on it.
    #[must_use]
    pub fn fp_as_base(&self) -> Option<DwarfRegister> {
        self.row.filter(|row| row.bases.contains(row.fp)).map(|row| row.fp)
    }

    /// Whether FP is unchanged there.
    #[must_use]
    pub fn keep_fp(&self) -> bool {
        self.row.is_some_and(|row| row.rules.2 == Recovery::Unchanged)
    }

    /// Returns the rule for FP, if there is one.
    #[must_use]
    pub fn fp_rule(&self) -> Option<RecoveryRule> {
        self.row.and_then(|row| rule(row.rules.2))
    }

    /// Whether the rules are the same as those elsewhere.
    #[must_use]
    pub fn same_rules(&self, other: &Self) -> bool {
        self.row.map(|row| row.rules) == other.row.map(|row| row.rules)
    }
}

impl RowRules {
    fn of(row: &Row, abi: Abi) -> Self {
        let Row { cfa, ra, fp, .. } = *row;
        let rules = [cfa, rule(ra), rule(fp)].into_iter().flatten();
        // On amd64 RA has no register.
        let ra_in_register = ra == Recovery::Unchanged && abi.ra().is_some();
        let register = |rule: RecoveryRule| match rule.base {
            Base::Fp => Some(abi.fp()),
            Base::Register(register) => Some(register),
            Base::Sp | Base::Cfa => None,
        };
        Self {
            rules: (cfa, ra, fp),
            needs_register: ra_in_register
                || rules.clone().any(|rule| matches!(rule.base, Base::Register(_))),
            bases: rules.filter_map(register).collect(),
            fp: abi.fp(),
            is_outermost: row.is_outermost(),
        }
    }
}

fn rule(recovery: Recovery) -> Option<RecoveryRule> {
    match recovery {
        Recovery::Rule(rule) => Some(rule),
        Recovery::Unchanged | Recovery::Undefined => None,
    }
}

impl Rules for Sections<'_> {
    fn at(&self, address: LookupAddress) -> RulesAt {
        match self.lookup_fde(address) {
            Ok(Some(fde)) => RulesAt {
                has_fde: true,
                function: Some((fde.start, fde.start.saturating_add(fde.size.into()))),
                signal: fde.signal,
                row: self.rules(address).ok().map(|(abi, found)| RowRules::of(&found.row, abi)),
            },
            Ok(None) => RulesAt::default(),
            Err(_) => RulesAt { has_fde: true, ..RulesAt::default() },
        }
    }

    fn step(
        &self,
        state: &State,
        is_topmost: bool,
        viewpoint: &Viewpoint<'_>,
    ) -> Option<(Stepped, Vec<u64>)> {
        let rules = self.rules(state.pc).ok()?;
        Some(Stepped::without_progress(rules, state, is_topmost, viewpoint))
    }
}

/// Rules that are looked up once for each address: a sweep comes to the same ones often.
pub(crate) struct Remembered<'a> {
    sections: Sections<'a>,
    known: RefCell<FxHashMap<LookupAddress, RulesAt>>,
}

impl<'a> Remembered<'a> {
    pub(crate) fn new(sections: Sections<'a>) -> Self {
        Self { sections, known: RefCell::default() }
    }

    /// The sections as they are now.
    pub(crate) const fn sections(&self) -> &Sections<'a> {
        &self.sections
    }

    /// Notes that sections have come or gone. Returns whether look-ups may have changed.
    pub(crate) fn change(&mut self, change: &Change) -> bool {
        let is_changed = self.sections.change(change);
        if is_changed {
            self.known.borrow_mut().clear();
        }
        is_changed
    }
}

impl Rules for Remembered<'_> {
    fn at(&self, address: LookupAddress) -> RulesAt {
        *self.known.borrow_mut().entry(address).or_insert_with(|| Rules::at(&self.sections, address))
    }

    fn step(
        &self,
        state: &State,
        is_topmost: bool,
        viewpoint: &Viewpoint<'_>,
    ) -> Option<(Stepped, Vec<u64>)> {
        self.sections.step(state, is_topmost, viewpoint)
    }
}
