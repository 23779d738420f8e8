//! The questions of a vector, and what they are about.

use serde::Serialize;

use crate::answer::SectionPart;

/// The subject of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerPart {
    /// Whether the section can be opened.
    Opening,
    /// The header.
    Header,
    /// A function.
    Fdes,
    /// A row of a function.
    Rows,
    /// A look-up.
    Lookups,
    /// A step.
    Steps,
}

impl AnswerPart {
    /// All parts.
    pub const ALL: [Self; 6] =
        [Self::Opening, Self::Header, Self::Fdes, Self::Rows, Self::Lookups, Self::Steps];

    /// Returns the part of the protocol's answer. Every reader opens the section.
    const fn in_protocol(self) -> Option<SectionPart> {
        match self {
            Self::Opening => None,
            Self::Header => Some(SectionPart::Header),
            Self::Fdes | Self::Rows => Some(SectionPart::Fdes),
            Self::Lookups => Some(SectionPart::Lookups),
            Self::Steps => Some(SectionPart::Steps),
        }
    }

    /// Returns its name, for the head of a column.
    #[must_use]
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Header => "header",
            Self::Fdes => "FDEs",
            Self::Rows => "rows",
            Self::Lookups => "look-ups",
            Self::Steps => "steps",
        }
    }

    /// Returns whether a reader with these parts answers this one.
    #[must_use]
    pub fn is_in(self, parts: &[SectionPart]) -> bool {
        self.in_protocol().is_none_or(|part| parts.contains(&part))
    }
}

/// A question of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Query {
    /// Whether the section can be opened.
    Opening,
    /// Its header.
    Header,
    /// A function without its rows.
    Fde(usize),
    /// A row of a function, by both indexes.
    Row(usize, usize),
    /// A look-up.
    Lookup(usize),
    /// A step.
    Step(usize),
}

impl Query {
    /// Returns the part that it belongs to.
    #[must_use]
    pub const fn part(self) -> AnswerPart {
        match self {
            Self::Opening => AnswerPart::Opening,
            Self::Header => AnswerPart::Header,
            Self::Fde(_) => AnswerPart::Fdes,
            Self::Row(..) => AnswerPart::Rows,
            Self::Lookup(_) => AnswerPart::Lookups,
            Self::Step(_) => AnswerPart::Steps,
        }
    }
}
