//! What directives mean, and what assemblers with known mistakes take them to mean.

use std::collections::BTreeMap;
use std::ops::Range;

use sframe_engine::{Abi, Base, DwarfRegister, Recovery, RecoveryRule, Version};

use super::crash::remembers_without_row;
use super::dialect::Gas;
use super::directive::{Cfa, Directive, Operation, SIMPLE};
use super::quirk::Quirk;
use super::refusal::{is_inexpressible, may_be_left_out};
use super::state::{Claim, State};
use super::writer::Program;

/// The register that gas names where it does not know one: `SFRAME_FRE_REG_INVALID`, shifted.
const INVALID: u32 = 536_870_911;

/// `DW_OP_minus`, as a number.
const MINUS: i64 = 0x1c;

/// Where a register's value at the call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Word(i64),
    /// In the word at an offset from what a register holds.
    Indirect(DwarfRegister, i64),
    Register(DwarfRegister),
    Nowhere,
}

/// What is declared at an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rules {
    cfa: Cfa,
    /// The column of the return address.
    column: DwarfRegister,
    /// Registers that do not have the caller's value.
    saved: BTreeMap<u32, Place>,
    is_signed: bool,
    is_signal: bool,
    key_b: bool,
}

/// Follows the directives of a function.
#[derive(Clone, Debug)]
pub struct Model<'m> {
    abi: Abi,
    quirks: &'m [Quirk],
    /// What the CIE gives.
    initial: Rules,
    current: Rules,
    /// At the instruction before.
    before: Rules,
    /// At the function's first instruction.
    first: Option<Rules>,
    /// The number that the assembler adds to.
    told: i64,
    remembered: Vec<Rules>,
    /// The numbers that the assembler had when states were remembered.
    told_then: Vec<i64>,
    /// Whether the CIE declares nothing.
    is_simple: bool,
    /// What gas has in a CIE that it makes for this function.
    cie: Option<BTreeMap<u32, Place>>,
}

impl<'m> Model<'m> {
    /// Begins, for an assembler that makes some mistakes.
    #[must_use]
    pub fn new(abi: Abi, quirks: &'m [Quirk]) -> Self {
        let cfa = Cfa::sum(abi.sp(), -State::at_entry(abi).sp());
        let mut saved = BTreeMap::new();
        if let Some(offset) = abi.fixed_ra_offset() {
            saved.insert(abi.ra_column().0, Place::Word(offset.into()));
        }
        let initial =
            Rules { cfa, column: abi.ra_column(), saved, is_signed: false, is_signal: false, key_b: false };
        Self {
            abi,
            quirks,
            current: initial.clone(),
            before: initial.clone(),
            first: None,
            told: cfa.offset,
            remembered: Vec::new(),
            told_then: Vec::new(),
            is_simple: false,
            cie: None,
            initial,
        }
    }

    /// Reads the directives before an instruction, and returns what holds there.
    pub fn read(&mut self, directives: &[Directive]) -> Claim {
        directives.iter().for_each(|directive| self.directive(directive));
        self.before.clone_from(&self.current);
        self.first.get_or_insert_with(|| self.current.clone());
        self.cie.get_or_insert_with(|| self.current.saved.clone());
        self.claim()
    }

    /// Whether the assembler may leave out a part of a program.
    pub(super) fn may_be_left_out(
        mut self,
        program: &Program,
        part: &Range<usize>,
        version: Version,
    ) -> bool {
        let sites = program.sites[part.clone()].iter();
        let declared: Vec<_> = sites.map(|site| (&site.declared[..], self.read(&site.declared))).collect();
        may_be_left_out(version, program.abi, declared.iter().copied())
            || self.is_left_out(version, &declared)
    }

    /// Whether the assembler leaves out a part by mistake.
    fn is_left_out(&self, version: Version, sites: &[(&[Directive], Claim)]) -> bool {
        let directives = || sites.iter().flat_map(|(declared, _)| declared.iter());
        let remembers_first = || {
            let first = sites.first().map_or(&[][..], |(declared, _)| declared);
            first.iter().any(|directive| directive.operation == Operation::Remember)
        };
        // Its other rules are judged as if it had a caller.
        let is_judged = |claim: &Claim| {
            claim.ra == Some(Recovery::Undefined)
                && is_inexpressible(version, self.abi, &Claim { ra: Some(Recovery::Unchanged), ..*claim })
        };
        self.has(Quirk::GasRemembersBeforeFirstRow) && remembers_first()
            || self.has(Quirk::GasUndefinedWithOtherRules) && sites.iter().any(|(_, claim)| is_judged(claim))
            || self.has(Quirk::LlvmRemembersBeforeFirstRow) && remembers_without_row(self.abi, directives())
            || self.has(Quirk::LlvmReturnColumn)
                && directives().any(|one| matches!(one.operation, Operation::ReturnColumn(_)))
    }

    fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    /// What a directive does: an arm for each, as long as there are directives.
    fn directive(&mut self, directive: &Directive) {
        let is_escape = directive.is_escape();
        let is_ra = |register: DwarfRegister| register == self.abi.ra_column();
        let is_fp = |register: DwarfRegister| register == self.abi.fp();
        if is_escape || directive.operation == Operation::Remember {
            // What follows is in no CIE.
            self.cie.get_or_insert_with(|| self.current.saved.clone());
        }
        match directive.operation {
            Operation::Begin => {
                *self = Self::new(self.abi, self.quirks);
                if directive.form == SIMPLE {
                    self.is_simple = true;
                    self.initial.saved.clear();
                    self.current.saved.clear();
                }
            }
            Operation::DefineCfa(register, offset) => self.set_cfa(register, offset, is_escape),
            Operation::LoadedCfa(register, offset) => {
                self.current.cfa = Cfa { register, offset, is_loaded: true };
            }
            Operation::CfaOffset(offset) => self.set_cfa(self.current.cfa.register, offset, is_escape),
            Operation::AdjustCfaOffset(by) => {
                self.set_cfa(self.current.cfa.register, self.told + by, is_escape);
            }
            Operation::CfaRegister(register) => {
                // Without a row before, there is nothing to take.
                let has_row = self.first.is_some();
                let takes_back = self.has(Quirk::GasRegisterTakesOffsetBack) && !is_escape && has_row;
                let rules = if takes_back { &self.before } else { &self.current };
                self.current.cfa = Cfa::sum(register, rules.cfa.offset);
            }
            Operation::Offset(register, offset) => {
                let is_nowhere = self.current.saved.get(&register.0) == Some(&Place::Nowhere);
                let base = (is_fp(register) && self.has(Quirk::GasFpByExpression))
                    .then(|| two_bytes(directive))
                    .flatten();
                let stays = is_nowhere
                    && Gas::of(self.abi).looks_for_undefined
                    && self.has(Quirk::GasUndefinedNotUndone);
                if let Some(offset) = base {
                    let place = Place::Indirect(DwarfRegister(INVALID), offset);
                    self.current.saved.insert(register.0, place);
                } else if !stays {
                    self.current.saved.insert(register.0, Place::Word(offset));
                }
            }
            Operation::Indirect(register, base, offset) => {
                self.current.saved.insert(register.0, Place::Indirect(base, offset));
            }
            Operation::RelativeOffset(register, from_register) => {
                let offset = if self.has(Quirk::LlvmRelativeOffset) {
                    let before = match self.current.saved.get(&register.0) {
                        Some(Place::Word(offset)) => *offset,
                        _ => 0,
                    };
                    before + from_register
                } else {
                    from_register - self.told
                };
                // An offset of 0 is how none is written.
                if offset == 0 && self.has(Quirk::LlvmRelativeOffset) {
                    self.current.saved.remove(&register.0);
                } else {
                    self.current.saved.insert(register.0, Place::Word(offset));
                }
            }
            Operation::Register(register, other) => {
                let ignored = self.has(Quirk::LlvmIgnoresRegister)
                    || self.has(Quirk::GasIgnoresRegisterOfReturnAddress) && is_ra(register);
                if !ignored {
                    self.current.saved.insert(register.0, Place::Register(other));
                }
            }
            Operation::Restore(register) => {
                let takes_first =
                    self.has(Quirk::GasRestoresFirstRow) || self.has(Quirk::LlvmRestoresFirstRow);
                let takes_cie = self.is_simple && self.has(Quirk::GasFirstDirectivesInCie);
                let first = self.first.as_ref().filter(|_| takes_first).map(|rules| &rules.saved);
                let cie = self.cie.as_ref().filter(|_| takes_cie);
                let saved = first.or(cie).unwrap_or(&self.initial.saved);
                let place = saved.get(&register.0).copied();
                let is_fixed = is_ra(register) && !self.abi.has_link_register();
                if !(is_fixed && self.has(Quirk::GasReturnAddressNotRestored)) {
                    self.set(register, place);
                }
            }
            Operation::SameValue(register) => {
                let ignored = self.has(Quirk::GasIgnoresSameValue) || self.has(Quirk::LlvmIgnoresSameValue);
                if !ignored {
                    self.set(register, None);
                }
            }
            Operation::Undefined(register) => {
                if !self.has(Quirk::GasIgnoresUndefined) && !self.has(Quirk::LlvmIgnoresUndefined) {
                    self.current.saved.insert(register.0, Place::Nowhere);
                }
            }
            Operation::Remember => {
                let remembers_before = self.has(Quirk::GasRemembersRowBefore);
                let rules = if remembers_before { &self.before } else { &self.current };
                let remembered = rules.clone();
                if self.has(Quirk::GasOneRememberedState) {
                    self.remembered.clear();
                }
                self.remembered.push(remembered);
                self.told_then.push(self.told);
            }
            Operation::RestoreState => {
                let keeps = self.has(Quirk::GasOneRememberedState);
                let remembered = if keeps { self.remembered.last().cloned() } else { self.remembered.pop() };
                self.current = remembered.unwrap_or_else(|| self.current.clone());
                let told = self.told_then.pop().filter(|_| !self.has(Quirk::LlvmAdjustsLastOffset));
                self.told = told.unwrap_or(self.told);
            }
            Operation::NegateRaState => self.current.is_signed = !self.current.is_signed,
            Operation::SignalFrame => {
                let unmarked =
                    self.has(Quirk::GasUnmarkedSignalFrame) || self.has(Quirk::LlvmUnmarkedSignalFrame);
                self.current.is_signal = !unmarked;
            }
            Operation::ReturnColumn(column) => self.current.column = column,
            Operation::KeyB => self.current.key_b = true,
            Operation::Nothing => {}
        }
    }

    /// Sets the CFA. Instructions that are written byte by byte do not give the assembler its number.
    fn set_cfa(&mut self, register: DwarfRegister, offset: i64, is_escape: bool) {
        self.current.cfa = Cfa::sum(register, offset);
        if !is_escape {
            self.told = offset;
        }
    }

    fn set(&mut self, register: DwarfRegister, place: Option<Place>) {
        match place {
            Some(place) => self.current.saved.insert(register.0, place),
            None => self.current.saved.remove(&register.0),
        };
    }

    /// A register as the base of a rule.
    fn base(&self, register: DwarfRegister) -> Base {
        // The only base that gas knows is FP, on amd64.
        let is_known = register == self.abi.fp() && Gas::of(self.abi).knows_fp;
        match register {
            _ if self.has(Quirk::GasFpByExpression) && !is_known => Base::Register(DwarfRegister(INVALID)),
            register if register == self.abi.sp() => Base::Sp,
            register if register == self.abi.fp() => Base::Fp,
            register => Base::Register(register),
        }
    }

    fn claim(&self) -> Claim {
        if self.current.is_signal && self.has(Quirk::GasSignalFrameWithoutRows) {
            let ra = Some(Recovery::Undefined);
            return Claim { cfa: None, ra, fp: None, signed: false, key_b: None, signal: None };
        }
        let Cfa { register, offset, is_loaded } = self.current.cfa;
        let base = match register {
            register if register == self.abi.sp() => Base::Sp,
            register if register == self.abi.fp() => Base::Fp,
            _ if self.has(Quirk::GasAnyRegisterIsSp) => Base::Sp,
            register => Base::Register(register),
        };
        let recovery = |register: DwarfRegister| match self.current.saved.get(&register.0) {
            None => Recovery::Unchanged,
            Some(Place::Word(offset)) => {
                Recovery::Rule(RecoveryRule { base: Base::Cfa, offset: *offset, dereference: true })
            }
            Some(Place::Indirect(base, offset)) => {
                Recovery::Rule(RecoveryRule { base: self.base(*base), offset: *offset, dereference: true })
            }
            Some(Place::Register(other)) => {
                let rule = RecoveryRule { base: Base::Register(*other), offset: 0, dereference: false };
                Recovery::Rule(rule)
            }
            Some(Place::Nowhere) => Recovery::Undefined,
        };
        let column = self.current.column;
        let (mut ra, mut fp) = (recovery(column), recovery(self.abi.fp()));
        if ra == Recovery::Unchanged && column != self.abi.ra_column() {
            let rule = RecoveryRule { base: Base::Register(column), offset: 0, dereference: false };
            ra = Recovery::Rule(rule);
        }
        if self.has(Quirk::GasFpSlotAsReturnAddress)
            && ra == Recovery::Unchanged
            && matches!(fp, Recovery::Rule(_))
        {
            (ra, fp) = (fp, Recovery::Unchanged);
        }
        Claim {
            cfa: Some(RecoveryRule { base, offset, dereference: is_loaded }),
            ra: Some(ra),
            fp: Some(fp),
            signed: self.current.is_signed,
            key_b: Some(self.current.key_b),
            signal: Some(self.current.is_signal),
        }
    }
}

/// What gas takes for the offset in an expression of FP that has two bytes: the second one.
fn two_bytes(directive: &Directive) -> Option<i64> {
    (directive.form == ".cfi_escape DW_CFA_expression DW_OP_lit DW_OP_minus").then_some(MINUS)
}

#[cfg(test)]
mod tests {
    use super::super::plan::Plan;
    use super::super::writer::{parts, write};
    use super::*;

    /// The directives mean what is true, in every program.
    #[test]
    fn without_mistakes_all_declarations_are_true() {
        for abi in [Abi::Amd64, Abi::Aarch64, Abi::Aarch64Be, Abi::S390x] {
            for number in 0..300 {
                let program = write(&Plan::random(abi, 3, number, 5));
                let mut model = Model::new(abi, &[]);
                for site in &program.sites {
                    let claim = model.read(&site.declared);
                    let wrong = site.state.judge(&claim);
                    assert_eq!(wrong, [], "{abi}, program {number}, f{}, {}", site.function, site.code);
                }
            }
        }
    }

    /// Each mistake shows in some program: what is said is wrong, or a function is left out that need not be.
    #[test]
    fn every_mistake_changes_some_program() {
        let says_wrong = |program: &Program, quirks: &[Quirk]| {
            let mut model = Model::new(program.abi, quirks);
            program.sites.iter().any(|site| {
                let claim = model.read(&site.declared);
                !site.state.judge(&claim).is_empty()
            })
        };
        let leaves_out = |program: &Program, quirks: &[Quirk]| {
            let may_be = |quirks, part: &Range<usize>| {
                Model::new(program.abi, quirks).may_be_left_out(program, part, Version::V3)
            };
            parts(program).iter().any(|part| may_be(quirks, part) && !may_be(&[], part))
        };
        for quirk in Quirk::ALL {
            let shows = [Abi::Amd64, Abi::Aarch64, Abi::S390x].into_iter().any(|abi| {
                (0..300).any(|number| {
                    let program = write(&Plan::random(abi, 3, number, 5));
                    says_wrong(&program, &[*quirk]) || leaves_out(&program, &[*quirk])
                })
            });
            assert!(shows, "{quirk:?}");
        }
    }
}
