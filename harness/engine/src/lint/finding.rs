//! Findings: reports of broken rules.

use core::fmt;

use crate::lint::rule::Rule;

/// A value in a finding's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// No value.
    None,
    /// A number, shown in decimal.
    Number(i64),
    /// A number with its sign, to be read after a base such as SP.
    Signed(i64),
    /// An address, an offset or bits, shown in hexadecimal.
    Hex(u64),
    /// A word.
    Text(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Number(number) => number.fmt(f),
            Self::Signed(number) => write!(f, "{number:+}"),
            Self::Hex(number) => write!(f, "{number:#x}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<u8> for Value {
    fn from(number: u8) -> Self {
        Self::Number(number.into())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(text)
    }
}

/// A place in a section where a rule is broken, or that a note points out.
///
/// Displays as one sentence, without the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Where, in bytes from the start of the section.
    pub offset: usize,
    /// The FDE, by its position in the FDE sub-section from 0.
    pub fde: Option<u32>,
    /// The row, by its position among the rows of its function from 0.
    pub row: Option<u32>,
    /// The values of the rule's message, in its order.
    pub values: [Value; 3],
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second, third] = &self.values;
        self.rule.sentence(&[first, second, third]).fmt(f)
    }
}
