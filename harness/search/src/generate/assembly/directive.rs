//! The directives of CFI, in the forms that assemblers accept.

use std::collections::BTreeMap;

use sframe_engine::{Abi, DwarfRegister};

use super::expression::{self, DATA_ALIGNMENT, escape, sleb, uleb};
use crate::generate::random::Random;

/// What the CFI of a function says so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) cfa: Cfa,
    /// Whether that is an expression, which has neither a register nor a number that could be changed.
    pub(super) is_expression: bool,
    /// Registers that are not where they were at the call.
    pub(super) saved: BTreeMap<u32, Saved>,
    pub(super) is_signed: bool,
    /// The offset of the CFA for the assembler, which does not read what is written byte by byte.
    /// `.cfi_adjust_cfa_offset` and `.cfi_rel_offset` go by it.
    pub(super) told: i64,
    /// Whether instructions may be written byte by byte.
    pub(super) escapes: bool,
    /// The register that is in a word at the call.
    pub(super) in_word: Option<DwarfRegister>,
    /// Whether the CIE declares nothing, not even that.
    pub(super) is_simple: bool,
}

/// What the CFA is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cfa {
    pub(super) register: DwarfRegister,
    /// What is added to the register.
    pub(super) offset: i64,
    /// Whether the CFA is in the word there, and not that address.
    pub(super) is_loaded: bool,
}

impl Cfa {
    /// A register plus a number.
    pub(super) const fn sum(register: DwarfRegister, offset: i64) -> Self {
        Self { register, offset, is_loaded: false }
    }
}

/// Where the CFI has a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saved {
    /// In the word at an offset from the CFA.
    Word(i64),
    Register(DwarfRegister),
}

/// The form in which a function begins whose CIE declares nothing.
pub(super) const SIMPLE: &str = ".cfi_startproc simple";

/// A directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Its name and form, for coverage: `.cfi_adjust_cfa_offset`, `.cfi_escape DW_CFA_def_cfa_sf`.
    pub form: &'static str,
    /// As an assembler reads it.
    pub text: String,
    /// What it means.
    pub operation: Operation,
}

impl Directive {
    /// Whether it is written byte by byte.
    pub(super) fn is_escape(&self) -> bool {
        self.form.starts_with(".cfi_escape")
    }
}

/// What a directive means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The CFI of a function, or of a part of one, begins with the state that the CIE gives.
    Begin,
    /// The CFA is a register plus a number.
    DefineCfa(DwarfRegister, i64),
    /// The CFA is in the word at an offset from what a register holds.
    LoadedCfa(DwarfRegister, i64),
    /// The CFA's register stays, and the number is another.
    CfaOffset(i64),
    /// The CFA's register stays, and something is added to the number.
    AdjustCfaOffset(i64),
    /// The number stays, and the CFA's register is another.
    CfaRegister(DwarfRegister),
    /// A register is in the word at an offset from the CFA.
    Offset(DwarfRegister, i64),
    /// A register is in the word at an offset from the CFA's register.
    RelativeOffset(DwarfRegister, i64),
    /// A register is in the word at an offset from what another one holds.
    Indirect(DwarfRegister, DwarfRegister, i64),
    /// A register is in another one.
    Register(DwarfRegister, DwarfRegister),
    /// A register is where the CIE has it.
    Restore(DwarfRegister),
    /// A register has the caller's value.
    SameValue(DwarfRegister),
    /// A register's value at the call is nowhere.
    Undefined(DwarfRegister),
    /// All that is declared is remembered.
    Remember,
    /// What was remembered last is declared again.
    RestoreState,
    /// The return address is signed from here on, or no longer.
    NegateRaState,
    /// The return address is that of another column, or of the usual one.
    ReturnColumn(DwarfRegister),
    /// It is signed with key B.
    KeyB,
    /// The frame is a signal's.
    SignalFrame,
    /// Nothing that matters for the CFA, the return address and FP.
    Nothing,
}

pub(super) fn plain(form: &'static str, operands: &str, operation: Operation) -> Directive {
    Directive { form, text: format!("{form} {operands}").trim_end().to_owned(), operation }
}

/// How often an instruction is written byte by byte in functions where that may be, in percent. Some
/// assemblers leave a function out of `.sframe` where they can't read it.
const ESCAPES: u64 = 20;

impl Declared {
    /// Whether an instruction is written byte by byte.
    pub(super) fn may_escape(&self, random: &mut Random) -> bool {
        random.percent(ESCAPES) && self.escapes
    }

    /// Returns directives that declare another CFA, in forms that are chosen.
    pub(super) fn declare_cfa(&mut self, cfa: Cfa, random: &mut Random) -> Vec<Directive> {
        let old = std::mem::replace(&mut self.cfa, cfa);
        if old == cfa {
            return Vec::new();
        }
        let was_expression = std::mem::replace(&mut self.is_expression, cfa.is_loaded);
        let Cfa { register, offset, is_loaded } = cfa;
        if is_loaded {
            return vec![expression::cfa_in_word(register, offset, random)];
        }
        let before = old.offset;
        let escapes = self.may_escape(random) && offset >= 0;
        let number = u64::from(register.0);
        let factored = offset % DATA_ALIGNMENT == 0;
        let knows_before = self.told == before;
        let define = Operation::DefineCfa(register, offset);
        let full = |random: &mut Random| match random.below(if escapes { 4 } else { 1 }) {
            0 => plain(".cfi_def_cfa", &format!("{number}, {offset}"), define),
            1 if factored => {
                let operands = [uleb(number), sleb(offset / DATA_ALIGNMENT)];
                escape(".cfi_escape DW_CFA_def_cfa_sf", 0x12, &operands, define)
            }
            2 => expression::cfa_of_sum(register, offset, random),
            _ => {
                let operands = [uleb(number), uleb(offset.unsigned_abs())];
                escape(".cfi_escape DW_CFA_def_cfa", 0x0c, &operands, define)
            }
        };
        let by = offset - before;
        let adjust = plain(".cfi_adjust_cfa_offset", &by.to_string(), Operation::AdjustCfaOffset(by));
        let set = Operation::CfaOffset(offset);
        let only_offset = |random: &mut Random| match random.below(if escapes { 4 } else { 2 }) {
            1 if knows_before => adjust.clone(),
            0 | 1 => plain(".cfi_def_cfa_offset", &offset.to_string(), set),
            2 if factored => {
                let operands = [sleb(offset / DATA_ALIGNMENT)];
                escape(".cfi_escape DW_CFA_def_cfa_offset_sf", 0x13, &operands, set)
            }
            _ => {
                let operands = [uleb(offset.unsigned_abs())];
                escape(".cfi_escape DW_CFA_def_cfa_offset", 0x0e, &operands, set)
            }
        };
        let other = Operation::CfaRegister(register);
        let only_register = |random: &mut Random| match random.below(if escapes { 2 } else { 1 }) {
            0 => plain(".cfi_def_cfa_register", &number.to_string(), other),
            _ => escape(".cfi_escape DW_CFA_def_cfa_register", 0x0d, &[uleb(number)], other),
        };
        let directives = match (register == old.register, offset == before) {
            _ if was_expression => vec![full(random)],
            (true, false) if random.percent(80) => vec![only_offset(random)],
            (false, true) if random.percent(70) => vec![only_register(random)],
            (false, false) if random.percent(40) => {
                if random.percent(50) {
                    vec![only_register(random), only_offset(random)]
                } else {
                    vec![only_offset(random), only_register(random)]
                }
            }
            _ => vec![full(random)],
        };
        let tells = |directive: &Directive| {
            [".cfi_def_cfa", ".cfi_def_cfa_offset", ".cfi_adjust_cfa_offset"].contains(&directive.form)
        };
        if directives.iter().any(tells) {
            self.told = offset;
        }
        self.is_expression = directives.iter().any(|directive| directive.form.contains("_expression"));
        directives
    }

    /// Returns the directive that declares where a register is.
    pub(super) fn declare_saved(
        &mut self,
        register: DwarfRegister,
        saved: Option<Saved>,
        random: &mut Random,
    ) -> Option<Directive> {
        let before = match saved {
            Some(place) => self.saved.insert(register.0, place),
            None => self.saved.remove(&register.0),
        };
        if before == saved {
            return None;
        }
        Some(self.declare_again(register, saved, random))
    }

    /// Returns a directive that declares where a register is, whatever has been said.
    pub(super) fn declare_again(
        &self,
        register: DwarfRegister,
        saved: Option<Saved>,
        random: &mut Random,
    ) -> Directive {
        let escapes = self.may_escape(random);
        match saved {
            Some(Saved::Register(other)) if escapes && random.percent(40) => {
                expression::in_register(register, other)
            }
            Some(Saved::Register(other)) => in_register(register, other, escapes),
            Some(Saved::Word(offset)) => {
                let knows_cfa = self.told == self.cfa.offset && !self.cfa.is_loaded;
                in_word(register, offset, knows_cfa.then_some(self.told), escapes, random)
            }
            None if self.in_word == Some(register) => back_in_word(register, self.is_simple, random),
            None => back(register, escapes, random),
        }
    }

    /// Returns the directive that says that the return address has been signed, or is no longer.
    pub(super) fn declare_signed(&mut self, is_signed: bool, random: &mut Random) -> Option<Directive> {
        if std::mem::replace(&mut self.is_signed, is_signed) == is_signed {
            return None;
        }
        let negate = Operation::NegateRaState;
        Some(if self.may_escape(random) {
            escape(".cfi_escape DW_CFA_AARCH64_negate_ra_state", 0x2d, &[], negate)
        } else if random.percent(30) {
            plain(".cfi_window_save", "", negate)
        } else {
            plain(".cfi_negate_ra_state", "", negate)
        })
    }
}

/// Declares that a register is in another one.
fn in_register(register: DwarfRegister, other: DwarfRegister, escapes: bool) -> Directive {
    let moved = Operation::Register(register, other);
    if escapes {
        let operands = [uleb(register.0.into()), uleb(other.0.into())];
        escape(".cfi_escape DW_CFA_register", 0x09, &operands, moved)
    } else {
        plain(".cfi_register", &format!("{}, {}", register.0, other.0), moved)
    }
}

/// Declares that a register is in a word. `cfa` is the offset of the CFA, if the assembler knows it.
fn in_word(
    register: DwarfRegister,
    offset: i64,
    cfa: Option<i64>,
    escapes: bool,
    random: &mut Random,
) -> Directive {
    let number = register.0;
    let factored = offset / DATA_ALIGNMENT;
    let saved = Operation::Offset(register, offset);
    match (random.below(if escapes { 7 } else { 2 }), cfa) {
        (1, Some(cfa)) => {
            let from_register = offset + cfa;
            let operation = Operation::RelativeOffset(register, from_register);
            plain(".cfi_rel_offset", &format!("{number}, {from_register}"), operation)
        }
        (0 | 1, _) => plain(".cfi_offset", &format!("{number}, {offset}"), saved),
        (2, _) if number < 64 && factored >= 0 => escape(
            ".cfi_escape DW_CFA_offset",
            0x80 | u8::try_from(number).unwrap_or_default(),
            &[uleb(factored.unsigned_abs())],
            saved,
        ),
        (3, _) => {
            let operands = [uleb(number.into()), sleb(factored)];
            escape(".cfi_escape DW_CFA_offset_extended_sf", 0x11, &operands, saved)
        }
        (4 | 5, _) => expression::in_word(register, offset, random),
        _ => {
            let operands = [uleb(number.into()), uleb(factored.unsigned_abs())];
            escape(".cfi_escape DW_CFA_offset_extended", 0x05, &operands, saved)
        }
    }
}

/// Declares that a register is in the word again where amd64 has the return address at the call.
fn back_in_word(register: DwarfRegister, is_simple: bool, random: &mut Random) -> Directive {
    let number = register.0;
    if is_simple || random.percent(30) {
        plain(".cfi_offset", &format!("{number}, -8"), Operation::Offset(register, -8))
    } else {
        plain(".cfi_restore", &number.to_string(), Operation::Restore(register))
    }
}

/// Declares that a register has the caller's value.
fn back(register: DwarfRegister, escapes: bool, random: &mut Random) -> Directive {
    let number = register.0;
    let (restore, same) = (Operation::Restore(register), Operation::SameValue(register));
    match random.below(if escapes { 5 } else { 2 }) {
        0 => plain(".cfi_restore", &number.to_string(), restore),
        1 => plain(".cfi_same_value", &number.to_string(), same),
        2 if number < 64 => {
            let opcode = 0xc0 | u8::try_from(number).unwrap_or_default();
            escape(".cfi_escape DW_CFA_restore", opcode, &[], restore)
        }
        3 => escape(".cfi_escape DW_CFA_same_value", 0x08, &[uleb(number.into())], same),
        _ => escape(".cfi_escape DW_CFA_restore_extended", 0x06, &[uleb(number.into())], restore),
    }
}

/// Remembers what is declared.
pub(super) fn remember(is_escaped: bool) -> Directive {
    if is_escaped {
        escape(".cfi_escape DW_CFA_remember_state", 0x0a, &[], Operation::Remember)
    } else {
        plain(".cfi_remember_state", "", Operation::Remember)
    }
}

/// Declares again what was remembered.
pub(super) fn restore(is_escaped: bool) -> Directive {
    if is_escaped {
        escape(".cfi_escape DW_CFA_restore_state", 0x0b, &[], Operation::RestoreState)
    } else {
        plain(".cfi_restore_state", "", Operation::RestoreState)
    }
}

/// Says something that does not change where anything is.
pub(super) fn noise(abi: Abi, volatile: DwarfRegister, escapes: bool, random: &mut Random) -> Directive {
    let number = volatile.0;
    // SP is the CFA, or below it by what s390x has there.
    let sp = abi.sp_offset_from_cfa();
    match random.below(if escapes { 6 } else { 3 }) {
        0 => plain(".cfi_undefined", &number.to_string(), Operation::Nothing),
        1 => plain(".cfi_same_value", &number.to_string(), Operation::Nothing),
        2 => plain(".cfi_val_offset", &format!("{}, {sp}", abi.sp().0), Operation::Nothing),
        _ => expression::noise(abi, volatile, random),
    }
}
