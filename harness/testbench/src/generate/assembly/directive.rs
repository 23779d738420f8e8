//! The directives of CFI, in the forms that assemblers accept.

use std::collections::BTreeMap;

use sframe_engine::DwarfRegister;

use crate::generate::random::Random;

/// What the CFI of a function says so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) cfa: (DwarfRegister, i64),
    /// Registers that are not where they were at the call.
    pub(super) saved: BTreeMap<u32, Saved>,
    pub(super) is_signed: bool,
    /// The offset of the CFA for the assembler, which does not read what is written byte by byte.
    /// `.cfi_adjust_cfa_offset` and `.cfi_rel_offset` go by it.
    pub(super) told: i64,
    /// Whether instructions may be written byte by byte.
    pub(super) escapes: bool,
}

/// Where the CFI has a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saved {
    /// In the word at an offset from the CFA.
    Word(i64),
    Register(DwarfRegister),
}

/// A directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Its name and form, for coverage: `.cfi_adjust_cfa_offset`, `.cfi_escape DW_CFA_def_cfa_sf`.
    pub form: &'static str,
    /// As an assembler reads it.
    pub text: String,
}

fn plain(form: &'static str, operands: &str) -> Directive {
    Directive { form, text: format!("{form} {operands}").trim_end().to_owned() }
}

/// An instruction of CFI, byte by byte (DWARF 5, 6.4.2).
fn escape(form: &'static str, opcode: u8, operands: &[Vec<u8>]) -> Directive {
    let bytes = std::iter::once(opcode).chain(operands.iter().flatten().copied());
    let bytes: Vec<String> = bytes.map(|byte| format!("{byte:#x}")).collect();
    Directive { form, text: format!(".cfi_escape {}", bytes.join(", ")) }
}

fn uleb(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

fn sleb(mut value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == -i64::from(byte >> 6 & 1) {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// The data alignment factor of the CIEs of all four ABIs.
const DATA_ALIGNMENT: i64 = -8;
/// How often an instruction is written byte by byte in functions where that may be, in percent. Some
/// assemblers leave a function out of `.sframe` where they can't read it.
const ESCAPES: u64 = 20;

impl Declared {
    /// Whether an instruction is written byte by byte.
    pub(super) fn may_escape(&self, random: &mut Random) -> bool {
        random.percent(ESCAPES) && self.escapes
    }

    /// Returns directives that declare another CFA, in forms that are chosen.
    pub(super) fn declare_cfa(
        &mut self,
        (register, offset): (DwarfRegister, i64),
        random: &mut Random,
    ) -> Vec<Directive> {
        let (before_register, before) = std::mem::replace(&mut self.cfa, (register, offset));
        let escapes = self.may_escape(random) && offset >= 0;
        let number = u64::from(register.0);
        let factored = offset % DATA_ALIGNMENT == 0;
        let knows_before = self.told == before;
        let full = |random: &mut Random| match random.below(if escapes { 3 } else { 1 }) {
            0 => plain(".cfi_def_cfa", &format!("{number}, {offset}")),
            1 if factored => {
                escape(".cfi_escape DW_CFA_def_cfa_sf", 0x12, &[uleb(number), sleb(offset / DATA_ALIGNMENT)])
            }
            _ => escape(".cfi_escape DW_CFA_def_cfa", 0x0c, &[uleb(number), uleb(offset.unsigned_abs())]),
        };
        let adjust = plain(".cfi_adjust_cfa_offset", &(offset - before).to_string());
        let only_offset = |random: &mut Random| match random.below(if escapes { 4 } else { 2 }) {
            1 if knows_before => adjust.clone(),
            0 | 1 => plain(".cfi_def_cfa_offset", &offset.to_string()),
            2 if factored => {
                escape(".cfi_escape DW_CFA_def_cfa_offset_sf", 0x13, &[sleb(offset / DATA_ALIGNMENT)])
            }
            _ => escape(".cfi_escape DW_CFA_def_cfa_offset", 0x0e, &[uleb(offset.unsigned_abs())]),
        };
        let only_register = |random: &mut Random| match random.below(if escapes { 2 } else { 1 }) {
            0 => plain(".cfi_def_cfa_register", &number.to_string()),
            _ => escape(".cfi_escape DW_CFA_def_cfa_register", 0x0d, &[uleb(number)]),
        };
        let directives = match (register == before_register, offset == before) {
            (true, true) => Vec::new(),
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
        let number = register.0;
        let escapes = self.may_escape(random);
        Some(match saved {
            Some(Saved::Register(other)) if escapes => {
                escape(".cfi_escape DW_CFA_register", 0x09, &[uleb(number.into()), uleb(other.0.into())])
            }
            Some(Saved::Register(other)) => plain(".cfi_register", &format!("{number}, {}", other.0)),
            Some(Saved::Word(offset)) => {
                let factored = offset / DATA_ALIGNMENT;
                match random.below(if escapes { 5 } else { 2 }) {
                    1 if self.told == self.cfa.1 => {
                        plain(".cfi_rel_offset", &format!("{number}, {}", offset + self.told))
                    }
                    0 | 1 => plain(".cfi_offset", &format!("{number}, {offset}")),
                    2 if number < 64 && factored >= 0 => escape(
                        ".cfi_escape DW_CFA_offset",
                        0x80 | u8::try_from(number).unwrap_or_default(),
                        &[uleb(factored.unsigned_abs())],
                    ),
                    3 => escape(
                        ".cfi_escape DW_CFA_offset_extended_sf",
                        0x11,
                        &[uleb(number.into()), sleb(factored)],
                    ),
                    _ => escape(
                        ".cfi_escape DW_CFA_offset_extended",
                        0x05,
                        &[uleb(number.into()), uleb(factored.unsigned_abs())],
                    ),
                }
            }
            None => match random.below(if escapes { 5 } else { 2 }) {
                0 => plain(".cfi_restore", &number.to_string()),
                1 => plain(".cfi_same_value", &number.to_string()),
                2 if number < 64 => {
                    escape(".cfi_escape DW_CFA_restore", 0xc0 | u8::try_from(number).unwrap_or_default(), &[])
                }
                3 => escape(".cfi_escape DW_CFA_same_value", 0x08, &[uleb(number.into())]),
                _ => escape(".cfi_escape DW_CFA_restore_extended", 0x06, &[uleb(number.into())]),
            },
        })
    }

    /// Returns the directive that says that the return address has been signed, or is no longer.
    pub(super) fn declare_signed(&mut self, is_signed: bool, random: &mut Random) -> Option<Directive> {
        if std::mem::replace(&mut self.is_signed, is_signed) == is_signed {
            return None;
        }
        Some(if self.may_escape(random) {
            escape(".cfi_escape DW_CFA_AARCH64_negate_ra_state", 0x2d, &[])
        } else if random.percent(30) {
            plain(".cfi_window_save", "")
        } else {
            plain(".cfi_negate_ra_state", "")
        })
    }
}

/// Remembers what is declared.
pub(super) fn remember(is_escaped: bool) -> Directive {
    if is_escaped {
        escape(".cfi_escape DW_CFA_remember_state", 0x0a, &[])
    } else {
        plain(".cfi_remember_state", "")
    }
}

/// Declares again what was remembered.
pub(super) fn restore(is_escaped: bool) -> Directive {
    if is_escaped {
        escape(".cfi_escape DW_CFA_restore_state", 0x0b, &[])
    } else {
        plain(".cfi_restore_state", "")
    }
}

/// Says something that does not change where anything is.
pub(super) fn noise(volatile: DwarfRegister, escapes: bool, random: &mut Random) -> Directive {
    match random.below(if escapes { 4 } else { 2 }) {
        0 => plain(".cfi_undefined", &volatile.0.to_string()),
        1 => plain(".cfi_same_value", &volatile.0.to_string()),
        2 => escape(".cfi_escape DW_CFA_nop", 0, &[]),
        _ => escape(".cfi_escape DW_CFA_GNU_args_size", 0x2e, &[uleb(random.below(300))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_encoded_as_in_dwarf() {
        assert_eq!(uleb(2), [2]);
        assert_eq!(uleb(128), [0x80, 1]);
        assert_eq!(sleb(-2), [0x7e]);
        assert_eq!(sleb(127), [0xff, 0]);
        assert_eq!(sleb(-129), [0xff, 0x7e]);
        let escaped = escape("x", 0x12, &[uleb(7), sleb(-2)]);
        assert_eq!(escaped.text, ".cfi_escape 0x12, 0x7, 0x7e");
    }
}
