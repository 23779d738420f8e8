//! What registers and the frame hold at an instruction, in symbols: the truth of a generated function.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use sframe_elf::cfi::Rules;
use sframe_engine::{Abi, Base, DwarfRegister, Fde, PauthKey, Recovery, RecoveryRule, Row};

/// What a register or a word holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// What a register held when the function was called. The return address is that of the column in
    /// which the CIE has it.
    Initial(DwarfRegister),
    /// The return address, signed.
    Signed,
    /// The CFA plus a number.
    Cfa(i64),
    /// Anything else.
    Other,
}

/// The state before an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    abi: Abi,
    /// Registers that do not hold what they held at the call.
    registers: BTreeMap<u32, Value>,
    /// The words of the frame that are known, by their offset from the CFA.
    words: BTreeMap<i64, Value>,
    /// What the whole function is.
    kind: Kind,
}

/// What holds in all of a function, or in a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// It has no caller, as far as anybody is told.
    pub outermost: bool,
    /// It is called as a handler of a signal returns: what it returns to has not called it.
    pub signal: bool,
    /// It signs return addresses with key B (aarch64).
    pub key_b: bool,
}

impl State {
    /// At a function's first instruction.
    #[must_use]
    pub fn at_entry(abi: Abi) -> Self {
        let mut state =
            Self { abi, registers: BTreeMap::new(), words: BTreeMap::new(), kind: Kind::default() };
        if let Some(offset) = abi.fixed_ra_offset() {
            state.words.insert(offset.into(), Value::Initial(abi.ra_column()));
            // That column is no register.
            state.set(abi.ra_column(), Value::Other);
        }
        state.set(abi.sp(), Value::Cfa(-abi.cfa_offset_at_entry()));
        state
    }

    /// Returns what the function is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Says what the function is.
    pub const fn set_kind(&mut self, kind: Kind) {
        self.kind = kind;
    }

    /// Returns what a register holds.
    #[must_use]
    pub fn register(&self, register: DwarfRegister) -> Value {
        self.registers.get(&register.0).copied().unwrap_or(Value::Initial(register))
    }

    /// Returns what the word at an offset from the CFA holds.
    #[must_use]
    pub fn word(&self, offset: i64) -> Value {
        self.words.get(&offset).copied().unwrap_or(Value::Other)
    }

    /// Returns the word at which a value is, if any, and the highest one if several.
    #[must_use]
    pub fn word_with(&self, value: Value) -> Option<i64> {
        self.words.iter().rev().find(|(_, word)| **word == value).map(|(offset, _)| *offset)
    }

    /// Returns SP, as an offset from the CFA.
    #[must_use]
    pub fn sp(&self) -> i64 {
        match self.register(self.abi.sp()) {
            Value::Cfa(offset) => offset,
            _ => 0,
        }
    }

    /// Changes a register.
    pub fn set(&mut self, register: DwarfRegister, value: Value) {
        if value == Value::Initial(register) {
            self.registers.remove(&register.0);
        } else {
            self.registers.insert(register.0, value);
        }
    }

    /// Changes the word at an offset from the CFA.
    pub fn store(&mut self, offset: i64, value: Value) {
        self.words.insert(offset, value);
    }

    /// Moves SP to an offset from the CFA. What is below it is nobody's any more, except in the red zone
    /// that amd64 has.
    pub fn set_sp(&mut self, offset: i64) {
        self.set(self.abi.sp(), Value::Cfa(offset));
        let red_zone = self.abi.red_zone();
        self.words.retain(|word, _| *word >= offset - red_zone);
    }

    /// A callee may store to everything below SP.
    pub fn call(&mut self) {
        let sp = self.sp();
        self.words.retain(|word, _| *word >= sp);
    }

    fn rule(&self, rule: RecoveryRule, cfa: Option<i64>) -> Value {
        let base = match rule.base {
            Base::Cfa => cfa.map_or(Value::Other, Value::Cfa),
            Base::Sp => self.register(self.abi.sp()),
            Base::Fp => self.register(self.abi.fp()),
            Base::Register(register) => self.register(register),
        };
        match (base, rule.offset, rule.dereference) {
            (Value::Cfa(base), offset, dereference) => {
                let Some(sum) = base.checked_add(offset) else { return Value::Other };
                if dereference { self.word(sum) } else { Value::Cfa(sum) }
            }
            (value, 0, false) => value,
            _ => Value::Other,
        }
    }

    fn recovered(&self, recovery: Recovery, column: DwarfRegister, cfa: Option<i64>) -> Option<Value> {
        match recovery {
            Recovery::Undefined => None,
            Recovery::Unchanged => Some(self.register(column)),
            Recovery::Rule(rule) => Some(self.rule(rule, cfa)),
        }
    }

    /// Returns which of some rules give wrong values.
    #[must_use]
    pub fn judge(&self, claim: &Claim) -> Vec<Wrong> {
        let mut wrong = Vec::new();
        if claim.signal.is_some_and(|signal| signal != self.kind.signal) {
            wrong.push(Wrong::Signal);
        }
        if self.kind.outermost {
            if claim.ra != Some(Recovery::Undefined) {
                wrong.push(Wrong::Ra);
            }
            return wrong;
        }
        let Some(rule) = claim.cfa else { return vec![Wrong::Cfa] };
        if self.rule(rule, None) != Value::Cfa(0) {
            return vec![Wrong::Cfa];
        }
        let column = self.abi.ra_column();
        let ra = claim.ra.and_then(|ra| self.recovered(ra, column, Some(0)));
        let expected = if claim.signed { Value::Signed } else { Value::Initial(column) };
        if ra != Some(expected) {
            wrong.push(Wrong::Ra);
        }
        if claim.signed && claim.key_b.is_some_and(|key_b| key_b != self.kind.key_b) {
            wrong.push(Wrong::Key);
        }
        let fp = claim.fp.and_then(|fp| self.recovered(fp, self.abi.fp(), Some(0)));
        if fp != Some(Value::Initial(self.abi.fp())) {
            wrong.push(Wrong::Fp);
        }
        wrong
    }
}

/// Who says something of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// `.sframe`.
    Sframe,
    /// `.eh_frame`.
    Cfi,
    /// `.debug_frame`.
    DebugFrame,
}

/// What is wrong with some rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wrong {
    /// The CFA, or it is not given. Nothing else is judged then.
    Cfa,
    /// The return address.
    Ra,
    /// The caller's frame pointer.
    Fp,
    /// The key that the return address is signed with.
    Key,
    /// Whether the caller was interrupted, and did not call.
    Signal,
    /// There is no row for an instruction of a function that the section has.
    Row,
    /// The section leaves out what it can express.
    LeftOut,
    /// There is no section, or none that can be used.
    Section,
}

impl Wrong {
    /// Whether rules give another value than the right one.
    pub(super) const fn is_of_value(self) -> bool {
        matches!(self, Self::Cfa | Self::Ra | Self::Fp)
    }

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cfa => "wrong CFA",
            Self::Ra => "wrong RA",
            Self::Fp => "wrong FP",
            Self::Key => "wrong key",
            Self::Signal => "wrong kind of frame",
            Self::Row => "no row",
            Self::LeftOut => "left out",
            Self::Section => "no section",
        }
    }
}

/// What a section says of an instruction. What it can't say is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub(super) cfa: Option<RecoveryRule>,
    pub(super) ra: Option<Recovery>,
    pub(super) fp: Option<Recovery>,
    pub(super) signed: bool,
    /// Whether with key B, if that is said.
    pub(super) key_b: Option<bool>,
    /// Whether the frame is a signal's, if that is said.
    pub(super) signal: Option<bool>,
}

impl Claim {
    /// What a row of a function of `.sframe` says.
    #[must_use]
    pub fn of(row: &Row, fde: &Fde) -> Self {
        Self {
            cfa: row.cfa,
            ra: Some(row.ra),
            fp: Some(row.fp),
            signed: row.mangled_ra,
            key_b: Some(fde.pauth_key == PauthKey::B),
            signal: Some(fde.signal),
        }
    }

    /// Whether another claim says the same.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        let known = |one: Option<bool>, other: Option<bool>| one.is_none() || other.is_none() || one == other;
        // Where there is no caller, nothing else is said; and keys are those of signatures.
        let nowhere = |claim: &Self| claim.ra == Some(Recovery::Undefined);
        (nowhere(self) && nowhere(other)
            || (self.cfa, self.ra, self.fp, self.signed) == (other.cfa, other.ra, other.fp, other.signed)
                && (!self.signed || known(self.key_b, other.key_b)))
            && known(self.signal, other.signal)
    }
}

impl From<&Rules> for Claim {
    fn from(rules: &Rules) -> Self {
        Self {
            cfa: rules.cfa.ok(),
            ra: rules.ra.ok(),
            fp: rules.fp.ok(),
            signed: rules.signed,
            key_b: None,
            signal: None,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CFA = SP{:+}", -self.sp())?;
        for (name, column) in [("RA", self.abi.ra_column()), ("FP", self.abi.fp())] {
            let value = Value::Initial(column);
            let (kept, word) = (self.register(column) == value, self.word_with(value));
            match word {
                _ if kept && (name != "RA" || self.abi.has_link_register()) => {
                    write!(f, ", {name} unchanged")?
                }
                Some(offset) => write!(f, ", {name} = *(CFA{offset:+})")?,
                None => write!(f, ", {name} elsewhere")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(base: Base, offset: i64, dereference: bool) -> RecoveryRule {
        RecoveryRule { base, offset, dereference }
    }

    #[test]
    fn rules_are_judged_by_what_they_give() {
        let abi = Abi::Amd64;
        let mut state = State::at_entry(abi);
        let entry = Claim {
            cfa: Some(rule(Base::Sp, 8, false)),
            ra: Some(Recovery::Rule(rule(Base::Cfa, -8, true))),
            fp: Some(Recovery::Unchanged),
            signed: false,
            key_b: None,
            signal: None,
        };
        assert_eq!(state.judge(&entry), []);
        assert_eq!(state.to_string(), "CFA = SP+8, RA = *(CFA-8), FP unchanged");
        // push %rbp; mov %rsp,%rbp.
        state.set_sp(-16);
        state.store(-16, Value::Initial(abi.fp()));
        assert_eq!(state.judge(&entry), [Wrong::Cfa]);
        state.set(abi.fp(), Value::Cfa(-16));
        let claim = Claim { cfa: Some(rule(Base::Fp, 16, false)), ..entry };
        assert_eq!(state.judge(&claim), [Wrong::Fp]);
        let saved = Recovery::Rule(rule(Base::Cfa, -16, true));
        assert_eq!(state.judge(&Claim { fp: Some(saved), ..claim }), []);
        let below = Recovery::Rule(rule(Base::Cfa, -16, true));
        assert_eq!(state.judge(&Claim { fp: Some(saved), ra: Some(below), ..claim }), [Wrong::Ra]);
        assert_eq!(state.judge(&Claim { cfa: None, ..claim }), [Wrong::Cfa]);
    }
}
