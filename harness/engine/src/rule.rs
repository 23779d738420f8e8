//! Recovery rules and rows, as data.

use core::fmt;
use core::str::FromStr;

use crate::abi::DwarfRegister;

/// What a recovery rule adds its offset to (3.1, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// The CFA of the frame.
    Cfa,
    /// The stack pointer of the frame.
    Sp,
    /// The frame pointer of the frame.
    Fp,
    /// Another register, by its DWARF number.
    Register(DwarfRegister),
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cfa => f.write_str("CFA"),
            Self::Sp => f.write_str("SP"),
            Self::Fp => f.write_str("FP"),
            Self::Register(register) => register.fmt(f),
        }
    }
}

/// How to compute one value: `base + offset`, or the value stored at that address (3.1, 3.2).
///
/// Displays as its equation, such as `SP+16` or `*(CFA-8)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecoveryRule {
    /// What the offset is added to.
    pub base: Base,
    /// In bytes. Wider than a data word: s390x scales CFA offsets.
    pub offset: i64,
    /// Whether the value is loaded from the address, or is the address itself.
    pub dereference: bool,
}

impl fmt::Display for RecoveryRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base, offset, dereference } = self;
        match (dereference, *offset) {
            (false, 0) => write!(f, "{base}"),
            (false, offset) => write!(f, "{base}{offset:+}"),
            (true, 0) => write!(f, "*({base})"),
            (true, offset) => write!(f, "*({base}{offset:+})"),
        }
    }
}

/// How to find the caller's value of a register (3.1, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// There is no such value. For RA: this is an outermost frame (2.4.1).
    Undefined,
    /// The register still holds it.
    Unchanged,
    /// A rule gives it.
    Rule(RecoveryRule),
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undefined => f.write_str("undefined"),
            Self::Unchanged => f.write_str("unchanged"),
            Self::Rule(rule) => write!(f, "= {rule}"),
        }
    }
}

/// A frame row entry with the range of PCs that it covers (2.4).
///
/// Displays as its equations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// First covered offset, in bytes from the start of the function (inc),
    /// or of the repeated block (mask).
    pub start: u32,
    /// First offset that is no longer covered: the start of the next row, or
    /// the end of the function or block. Not above `start` in a row that
    /// covers nothing; real sections have such rows.
    pub end: u32,
    /// The CFA. Absent where RA is undefined.
    pub cfa: Option<RecoveryRule>,
    /// The return address.
    pub ra: Recovery,
    /// The caller's frame pointer.
    pub fp: Recovery,
    /// Whether the return address carries an authentication code (AArch64; 2.4.1).
    pub mangled_ra: bool,
}

impl Row {
    /// Whether the row marks an outermost frame: its return address is undefined (2.4.1).
    #[must_use]
    pub const fn is_outermost(&self) -> bool {
        matches!(self.ra, Recovery::Undefined)
    }

    /// What the row says, wherever it is.
    #[must_use]
    pub const fn rules(&self) -> RowRules {
        match self.cfa {
            Some(_) => RowRules { cfa: self.cfa, ra: self.ra, fp: self.fp, mangled_ra: self.mangled_ra },
            None => RowRules::OUTERMOST,
        }
    }

    /// Whether any PC is covered.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.end <= self.start
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rules().fmt(f)
    }
}

/// What a row says: how to find the CFA, the return address and the caller's frame pointer (2.4).
///
/// Displays as equations, such as `CFA = SP+16, RA = *(CFA-8), FP unchanged`, and is read back from
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowRules {
    /// The CFA. Absent where RA is undefined.
    pub cfa: Option<RecoveryRule>,
    /// The return address.
    pub ra: Recovery,
    /// The caller's frame pointer.
    pub fp: Recovery,
    /// Whether the return address carries an authentication code (AArch64; 2.4.1).
    pub mangled_ra: bool,
}

impl RowRules {
    /// Those of an outermost frame, which has nothing else to say.
    pub const OUTERMOST: Self =
        Self { cfa: None, ra: Recovery::Undefined, fp: Recovery::Undefined, mangled_ra: false };
}

impl fmt::Display for RowRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(cfa) = self.cfa else {
            return f.write_str("RA undefined");
        };
        write!(f, "CFA = {cfa}, RA {}", self.ra)?;
        if self.mangled_ra {
            f.write_str(" (mangled)")?;
        }
        write!(f, ", FP {}", self.fp)
    }
}

/// A text is no equation, or not the equations of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseRuleError;

impl fmt::Display for ParseRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not rules such as `CFA = SP+16, RA = *(CFA-8), FP unchanged`")
    }
}

impl core::error::Error for ParseRuleError {}

impl FromStr for RecoveryRule {
    type Err = ParseRuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let inner = text.strip_prefix("*(").map(|rest| rest.strip_suffix(')').ok_or(ParseRuleError));
        let sum = inner.transpose()?;
        let (dereference, sum) = (sum.is_some(), sum.unwrap_or(text));
        let (base, offset) = sum.split_at(sum.find(['+', '-']).unwrap_or(sum.len()));
        let base = match base {
            "CFA" => Base::Cfa,
            "SP" => Base::Sp,
            "FP" => Base::Fp,
            _ => Base::Register(DwarfRegister(number(base.strip_prefix('r').ok_or(ParseRuleError)?)?)),
        };
        let offset = match offset {
            "" => 0,
            _ => number(offset)
                .and_then(|offset| if offset == 0 { Err(ParseRuleError) } else { Ok(offset) })?,
        };
        Ok(Self { base, offset, dereference })
    }
}

fn number<N: FromStr>(text: &str) -> Result<N, ParseRuleError> {
    text.parse().map_err(|_| ParseRuleError)
}

impl FromStr for Recovery {
    type Err = ParseRuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "undefined" => Ok(Self::Undefined),
            "unchanged" => Ok(Self::Unchanged),
            _ => text.strip_prefix("= ").ok_or(ParseRuleError)?.parse().map(Self::Rule),
        }
    }
}

impl FromStr for RowRules {
    type Err = ParseRuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "RA undefined" {
            return Ok(Self::OUTERMOST);
        }
        let mut parts = text.split(", ");
        let mut part = |name| parts.next().and_then(|part| part.strip_prefix(name)).ok_or(ParseRuleError);
        let (cfa, ra, fp) = (part("CFA = ")?, part("RA ")?, part("FP ")?);
        let plain = ra.strip_suffix(" (mangled)");
        let rules = Self {
            cfa: Some(cfa.parse()?),
            ra: plain.unwrap_or(ra).parse()?,
            fp: fp.parse()?,
            mangled_ra: plain.is_some(),
        };
        parts.next().is_none().then_some(rules).ok_or(ParseRuleError)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString as _;

    use super::*;

    #[test]
    fn rules_are_read_as_they_are_shown() {
        for text in [
            "RA undefined",
            "CFA = SP+16, RA = *(CFA-8), FP unchanged",
            "CFA = *(FP-24), RA = *(CFA-8), FP = *(FP)",
            "CFA = r10, RA unchanged (mangled), FP = r14",
            "CFA = SP-8, RA undefined, FP unchanged",
        ] {
            let rules: RowRules = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(rules.to_string() == text, "{text}: {rules}");
        }
    }

    #[test]
    fn text_that_is_not_a_rule_is_refused() {
        for text in [
            "",
            "no row",
            "CFA is SP+16, RA = *(CFA-8), FP unchanged",
            "CFA = SP+16, RA = *(CFA-8)",
            "CFA = SP+16, RA = *(CFA-8), FP same",
            "CFA = SP+16, FP unchanged, RA = *(CFA-8)",
            "CFA = unchanged, RA = *(CFA-8), FP unchanged",
            "CFA=SP+16, RA=*(CFA-8), FP unchanged",
            "CFA = SP+N, RA = *(CFA-8), FP unchanged",
            "CFA = SP+0, RA = *(CFA-8), FP unchanged",
            "CFA = *(SP, RA = *(CFA-8), FP unchanged",
            "CFA = SP+16, RA = *(CFA-8), FP unchanged, CFA = SP",
        ] {
            assert!(text.parse::<RowRules>().is_err(), "{text}");
        }
    }
}
