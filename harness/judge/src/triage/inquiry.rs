//! A disagreement, and the questions about it.

use std::cell::RefCell;

use sframe_engine::{Abi, Found, LookupAddress, PauthKey, RecoveryRule, StepError, Tracked};

use crate::compare::{Disagreement, Truth, Value};
use crate::finding::{Evidence, Side, Witness};
use crate::target::layouts::FrameLayouts;
use crate::target::sections::Sections;
use crate::target::{Linked, Module, Target};
use crate::unwind::{Bases, End, SframeUnwinder, State, Stepped, Stepper, Viewpoint};
use crate::vocabulary::Verdict;

/// What is known at the moment of a disagreement.
#[derive(Clone, Copy)]
pub(crate) struct Circumstances<'s, 'a> {
    pub(crate) truth: &'s Truth<'s>,
    pub(crate) viewpoint: &'s Viewpoint<'s>,
    pub(crate) target: &'s Target<'a>,
    /// The sections as they are now.
    pub(crate) sections: &'s Sections<'a>,
    /// What is known of the target's functions.
    pub(crate) layouts: &'s RefCell<FrameLayouts>,
    /// Whether calls are what call instructions say. Otherwise one is none, or a jump is one, and what the instructions
    /// of a function do follows from its code alone no more.
    pub(crate) is_as_called: bool,
    /// What has last stored to a word, where the stores of a run are not known: the address of the instruction.
    pub(crate) last_store: Option<&'s dyn Fn(u64) -> Option<u64>>,
}

impl<'s, 'a> Circumstances<'s, 'a> {
    /// Those where calls are what call instructions say.
    pub(crate) const fn new(
        truth: &'s Truth<'s>,
        viewpoint: &'s Viewpoint<'s>,
        target: &'s Target<'a>,
        layouts: &'s RefCell<FrameLayouts>,
    ) -> Self {
        let sections = &target.sections;
        Self { truth, viewpoint, target, sections, layouts, is_as_called: true, last_store: None }
    }

    /// With the sections that the program has registered.
    pub(crate) const fn by(self, sections: &'s Sections<'a>) -> Self {
        Self { sections, ..self }
    }
}

impl Circumstances<'_, '_> {
    /// The address of the instruction that has last stored to a word, if that is certain.
    pub(super) fn last_store(&self, word: u64) -> Option<u64> {
        match self.truth.stores.filter(|stores| stores.last(word).is_some()) {
            Some(stores) => stores.last_certain(word).map(|store| store.pc),
            None => self.last_store?(word),
        }
    }
}

/// The subject of a disagreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DisputedValue {
    Cfa,
    Ra,
    Fp,
    /// Whether, and how, the return address is signed.
    Signature,
    /// Whether the caller was interrupted.
    Signal,
    /// Whether there is a caller.
    Caller,
    /// The places from which values are read.
    Places,
}

impl DisputedValue {
    pub(super) fn of(found: &Disagreement) -> Self {
        match (found.verdict, found.got) {
            (Verdict::WrongRa, Value::Signed(..)) => Self::Signature,
            (Verdict::WrongRa, Value::Interrupted(..)) => Self::Signal,
            (Verdict::WrongRa, _) => Self::Ra,
            (Verdict::WrongFp, _) => Self::Fp,
            (Verdict::WrongCfa | Verdict::BadMemory | Verdict::NoProgress, _) => Self::Cfa,
            (Verdict::ByLuck, _) => Self::Places,
            // There is a caller, and its address is where the rule does not say.
            (_, Value::End(End::Failed(StepError::RaNotSaved))) => Self::Ra,
            (_, Value::End(End::Failed(StepError::UnsafeRegister { tracked, .. }))) => match tracked {
                Tracked::Cfa => Self::Cfa,
                Tracked::Ra => Self::Ra,
                Tracked::Fp => Self::Fp,
            },
            _ => Self::Caller,
        }
    }
}

/// A witness's values for a frame. `None` for those that it does not give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Values {
    pub(super) cfa: Option<u64>,
    /// The inner `None`: there is no caller.
    pub(super) ra: Option<Option<u64>>,
    pub(super) fp: Option<u64>,
    /// The key, if the return address is signed.
    pub(super) signature: Option<Option<char>>,
    pub(super) signal: Option<bool>,
}

impl Values {
    /// Whether two witnesses agree about a subject. `None` if one is silent.
    pub(super) fn agree(&self, other: &Self, subject: DisputedValue) -> Option<bool> {
        match subject {
            DisputedValue::Cfa => Some(self.cfa? == other.cfa?),
            DisputedValue::Ra => Some(self.ra? == other.ra?),
            // Who finds another caller is not right that there is this one.
            DisputedValue::Caller => match (self.ra?, other.ra?) {
                (Some(ra), Some(others)) => {
                    Some(ra == others && self.cfa.zip(other.cfa).is_none_or(|(cfa, others)| cfa == others))
                }
                (ra, others) => Some(ra.is_some() == others.is_some()),
            },
            DisputedValue::Fp => Some(self.fp? == other.fp?),
            DisputedValue::Signature => Some(self.signature? == other.signature?),
            DisputedValue::Signal => Some(self.signal? == other.signal?),
            DisputedValue::Places => None,
        }
    }

    pub(super) fn side(&self, truth: &Self, section: &Self, subject: DisputedValue) -> Option<Side> {
        match (self.agree(truth, subject), self.agree(section, subject)) {
            (Some(true), _) => Some(Side::CallStack),
            (_, Some(true)) => Some(Side::Section),
            (Some(false), _) => Some(Side::Neither),
            (None, _) => None,
        }
    }
}

pub(super) struct Inquiry<'i, 'a> {
    pub(super) found: &'i Disagreement,
    pub(super) scene: &'i Circumstances<'i, 'a>,
    pub(super) subject: DisputedValue,
    pub(super) module: Option<&'i Module<'a>>,
    pub(super) abi: Option<Abi>,
    /// The FDE and row of the frame.
    pub(super) row: Option<Found>,
    pub(super) state: State,
    pub(super) truth: Values,
    pub(super) section: Values,
    /// Whether the row has the same rules for the subject as CFI. If not, it is
    /// not a copy, and an error in CFI does not excuse the row.
    pub(super) copies_cfi: bool,
    /// Whether what the instructions show depends on callees that are not known, or on calls that are taken for none:
    /// they are assumed to leave SP as it was.
    pub(super) assumes_calls: bool,
    pub(super) evidence: Vec<Evidence>,
}

impl<'i, 'a> Inquiry<'i, 'a> {
    pub(super) fn new(found: &'i Disagreement, scene: &'i Circumstances<'i, 'a>) -> Self {
        let module = scene.target.module_at(found.address);
        let mut inquiry = Self {
            found,
            scene,
            subject: DisputedValue::of(found),
            module,
            abi: module.and_then(|module| module.subject.abi()),
            row: scene.sections.lookup(found.address).ok().flatten(),
            state: scene.truth.state(found.frame),
            truth: Values::default(),
            section: Values::default(),
            copies_cfi: false,
            assumes_calls: false,
            evidence: Vec::new(),
        };
        inquiry.truth = inquiry.true_values();
        inquiry.section = inquiry.read_section();
        inquiry
    }

    pub(super) fn address(&self) -> LookupAddress {
        self.found.address
    }

    /// The address in the file.
    pub(super) fn linked_address(&self) -> Linked {
        self.scene.target.linked(self.address())
    }

    pub(super) fn word(&self, address: u64) -> Option<u64> {
        self.scene.viewpoint.memory.read_u64(address)
    }

    pub(super) fn true_values(&self) -> Values {
        let Some(call) = self.scene.truth.call_of(self.found.frame) else {
            return Values { ra: Some(None), ..Values::default() };
        };
        let signature = match self.found.expected {
            Value::Signed(_, key) => Some(key.map(letter)),
            _ => None,
        };
        Values {
            cfa: Some(call.cfa),
            ra: Some(Some(call.return_address)),
            fp: Some(call.caller_fp),
            signature,
            signal: Some(call.interrupted),
        }
    }

    /// The values that this project's engine derives from the section, starting
    /// from the true state of the frame.
    pub(super) fn read_section(&mut self) -> Values {
        let target = self.scene.target;
        let bits = target.executable().image.cpu.address_bits;
        let mut reader = SframeUnwinder::new(self.scene.sections.clone(), bits);
        let topmost = (self.found.frame == 0).then_some(self.scene.viewpoint);
        let stepped = reader.step(&self.state, topmost, &|address| self.word(address));
        let values = self.of_step(&stepped);
        let says = match (&self.row, &stepped.caller) {
            (_, Err(End::Failed(StepError::NoFde))) if self.module.is_some_and(Module::is_made) => {
                "synthesized from .eh_frame, it has no FDE here".to_owned()
            }
            (_, Err(End::Failed(StepError::NoFde))) => "it has no FDE here".to_owned(),
            (_, Err(End::Failed(error @ StepError::Malformed(_)))) => format!("it can't be decoded: {error}"),
            (Some(found), _) => format!("row +{:#x}: {}", found.row.start, found.row),
            (None, Err(end)) => format!("{end:?}"),
            (None, Ok(_)) => "it has a row".to_owned(),
        };
        let agrees_with = match self.subject {
            DisputedValue::Places => Some(Side::Section),
            subject => Some(match values.agree(&self.truth, subject) {
                Some(true) => Side::CallStack,
                _ => Side::Section,
            }),
        };
        self.evidence.push(Evidence::new(Witness::Reader, says, agrees_with));
        values
    }

    pub(super) fn of_step(&self, stepped: &Stepped) -> Values {
        let ra = match &stepped.caller {
            Ok(caller) => Some(Some(caller.pc.get())),
            Err(End::Outermost) => Some(None),
            Err(_) => None,
        };
        let is_mangled = self.row.as_ref().is_some_and(|found| found.row.mangled_ra);
        let key = self.row.as_ref().map(|found| letter(found.fde.pauth_key));
        Values {
            cfa: stepped.cfa,
            ra,
            fp: stepped.caller.as_ref().ok().and_then(|caller| caller.fp.ok()),
            signature: self.row.is_some().then_some(key.filter(|_| is_mangled)),
            signal: self.row.as_ref().map(|found| found.fde.signal),
        }
    }
}

pub(super) const fn letter(key: PauthKey) -> char {
    match key {
        PauthKey::A => 'A',
        PauthKey::B => 'B',
    }
}

/// The address that a row's rule computes or loads from, starting from the true
/// state of the frame.
pub(super) fn place_of(rule: &RecoveryRule, cfa: Option<u64>, state: &State) -> Option<u64> {
    let bases = Bases { cfa, sp: Some(state.sp), fp: state.fp.ok() };
    bases.address(rule, |_| None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_another_caller_does_not_agree_that_there_is_one() {
        let caller = |cfa, ra| Values { cfa, ra: Some(ra), ..Values::default() };
        let agree = |one: Values, other: &Values| one.agree(other, DisputedValue::Caller);
        let truth = caller(Some(0x1000), Some(0x40_1000));
        assert_eq!(agree(truth, &truth), Some(true));
        assert_eq!(agree(caller(None, Some(0x40_1000)), &truth), Some(true));
        assert_eq!(agree(caller(Some(0x1000), Some(0x40_1004)), &truth), Some(false));
        assert_eq!(agree(caller(Some(0x1008), Some(0x40_1000)), &truth), Some(false));
        assert_eq!(agree(caller(None, None), &truth), Some(false));
        assert_eq!(agree(caller(None, None), &caller(Some(0x1000), None)), Some(true));
        assert_eq!(agree(Values::default(), &truth), None);
    }
}
