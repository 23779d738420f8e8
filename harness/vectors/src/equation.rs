//! Recovery rules as equations: `SP+16`, `*(CFA-8)`, `unchanged`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sframe_engine::DwarfRegister;

use crate::schema::text_schema;

/// What an offset is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// `CFA`.
    Cfa,
    /// `SP`.
    Sp,
    /// `FP`.
    Fp,
    /// `r` and a DWARF register number. Never that of SP or FP.
    Register(u32),
}

/// The right-hand side of a rule: `base`, `base+offset`, or one of these in `*( )` if the value
/// is loaded from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Equation {
    /// What the offset is added to.
    pub base: Base,
    /// In bytes.
    pub offset: i64,
    /// Whether the value is loaded from the address.
    pub dereference: bool,
}

impl Equation {
    /// What a register holds that is neither SP nor FP.
    #[must_use]
    pub const fn of_register(number: u32) -> Self {
        Self { base: Base::Register(number), offset: 0, dereference: false }
    }
}

/// How RA or FP is recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// `undefined`: there is no caller.
    Undefined,
    /// `unchanged`: it is still in its register.
    Unchanged,
    /// An equation.
    Rule(Equation),
}

/// The text is not an equation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an equation such as SP+16, *(CFA-8), r10 or unchanged")]
pub struct EquationError(String);

impl FromStr for Equation {
    type Err = EquationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| EquationError(text.into()))
    }
}

fn parse(text: &str) -> Option<Equation> {
    let sframe_engine::RecoveryRule { base, offset, dereference } = text.parse().ok()?;
    let base = match base {
        sframe_engine::Base::Cfa => Base::Cfa,
        sframe_engine::Base::Sp => Base::Sp,
        sframe_engine::Base::Fp => Base::Fp,
        sframe_engine::Base::Register(DwarfRegister(number)) => Base::Register(number),
    };
    Some(Equation { base, offset, dereference })
}

impl FromStr for Recovery {
    type Err = EquationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "undefined" => Ok(Self::Undefined),
            "unchanged" => Ok(Self::Unchanged),
            _ => text.parse().map(Self::Rule),
        }
    }
}

impl fmt::Display for Equation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = match self.base {
            Base::Cfa => "CFA".into(),
            Base::Sp => "SP".into(),
            Base::Fp => "FP".into(),
            Base::Register(number) => format!("r{number}"),
        };
        let offset = if self.offset == 0 { String::new() } else { format!("{:+}", self.offset) };
        if self.dereference { write!(f, "*({base}{offset})") } else { write!(f, "{base}{offset}") }
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undefined => f.write_str("undefined"),
            Self::Unchanged => f.write_str("unchanged"),
            Self::Rule(equation) => equation.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for Equation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Recovery {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Equation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Recovery {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

text_schema!(
    Equation,
    "A rule: `SP+16`, or `*(CFA-8)` if the value is loaded.",
    r"^(\*\((CFA|SP|FP|r[0-9]+)([+-][0-9]+)?\)|(CFA|SP|FP|r[0-9]+)([+-][0-9]+)?)$"
);
text_schema!(
    Recovery,
    "How a value is recovered: `unchanged`, `undefined` or a rule such as `*(CFA-8)`.",
    r"^(undefined|unchanged|\*\((CFA|SP|FP|r[0-9]+)([+-][0-9]+)?\)|(CFA|SP|FP|r[0-9]+)([+-][0-9]+)?)$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_print_as_they_are_written() {
        for text in ["SP", "SP+16", "FP-8", "r10", "r16+4", "*(CFA-8)", "*(CFA)", "*(r12+8)", "CFA-24"] {
            assert_eq!(text.parse::<Equation>().map(|equation| equation.to_string()), Ok(text.into()));
        }
        for text in ["unchanged", "undefined", "*(CFA-16)"] {
            assert_eq!(text.parse::<Recovery>().map(|recovery| recovery.to_string()), Ok(text.into()));
        }
    }

    #[test]
    fn text_that_is_not_an_equation_is_refused() {
        for text in ["", "SP+", "SP+0", "SP 16", "sp+16", "*(CFA-8", "*CFA", "r", "rbp+8", "SP+16+8", "x29"] {
            assert!(text.parse::<Equation>().is_err(), "{text}");
        }
    }
}
