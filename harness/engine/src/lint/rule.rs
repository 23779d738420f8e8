//! Rules.

use core::fmt;

use crate::error::Clause;
use crate::version::Version;

/// The severity of breaking a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A fact that a reader of the report may want to know.
    Note,
    /// The format allows it, but it is unwise, or has a meaning only by luck.
    Warning,
    /// It breaks the format.
    Error,
}

impl Severity {
    /// `error`, `warning` or `note`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The versions that a rule applies to: first to last, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The oldest version.
    pub first: Version,
    /// The newest version.
    pub last: Version,
}

impl Versions {
    /// All versions.
    pub const ALL: Self = Self::since(Version::V1);
    /// Version 1.
    pub const V1: Self = Self { first: Version::V1, last: Version::V1 };
    /// Versions 1 and 2.
    pub const V1_V2: Self = Self { first: Version::V1, last: Version::V2 };
    /// Version 2.
    pub const V2: Self = Self { first: Version::V2, last: Version::V2 };
    /// Version 2 and those after it.
    pub const SINCE_V2: Self = Self::since(Version::V2);
    /// Version 3 and those after it.
    pub const SINCE_V3: Self = Self::since(Version::V3);

    const fn since(first: Version) -> Self {
        Self { first, last: Version::LATEST }
    }

    /// Returns whether a version is one of them.
    #[must_use]
    pub fn contains(self, version: Version) -> bool {
        self.first <= version && version <= self.last
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

/// A rule of the format.
///
/// The ID never changes and is never given to another rule: suppressions and reports of other
/// tools contain it. Its first digit is the structure: 1 the header, 2 the FDEs, 3 the rows, 4
/// the ELF file around the section. The name is for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Such as `SF101`.
    pub id: &'static str,
    /// In kebab case.
    pub name: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The versions it applies to.
    pub versions: Versions,
    /// The clause of the specification.
    pub clause: Clause,
    /// What the rule demands or, for a note, what it points out; one sentence.
    pub summary: &'static str,
    /// The message of a finding; each `{}` stands for a value.
    pub message: &'static str,
}

impl Rule {
    /// Returns the message with its values filled in.
    #[must_use]
    pub const fn sentence<'a>(&self, values: &'a [&'a dyn fmt::Display]) -> Sentence<'a> {
        Sentence { template: self.message, values }
    }
}

/// A message with its values filled in. Displays as the sentence.
#[derive(Clone, Copy)]
pub struct Sentence<'a> {
    template: &'static str,
    values: &'a [&'a dyn fmt::Display],
}

/// Whether what is written is `1`: whether nothing else was, and whether that was.
struct IsOne(bool, bool);

impl fmt::Write for IsOne {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !text.is_empty() {
            *self = Self(self.0 && !self.1 && text == "1", true);
        }
        Ok(())
    }
}

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut values = self.values.iter();
        let mut parts = self.template.split("{}");
        f.write_str(parts.next().unwrap_or_default())?;
        for part in parts {
            let mut is_one = IsOne(true, false);
            match values.next() {
                Some(value) => {
                    value.fmt(f)?;
                    fmt::write(&mut is_one, format_args!("{value}"))?;
                }
                None => f.write_str("?")?,
            }
            // One byte is not "1 bytes".
            match part.strip_prefix(" bytes").filter(|_| is_one.0 && is_one.1) {
                Some(rest) => write!(f, " byte{rest}")?,
                None => f.write_str(part)?,
            }
        }
        Ok(())
    }
}
