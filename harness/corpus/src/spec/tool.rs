//! Compilers, assemblers, linkers and libraries with their versions: `gcc 14.2` is one,
//! `gcc >= 14` is what a selector asks for.

use std::borrow::Cow;
use std::fmt;
use std::hash::Hash;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sframe_judge::vocabulary::UnknownName;
use sframe_judge::vocabulary::named;

use sframe_kit::de::parsed;

named! {
    /// A compiler, by what generates its code.
    pub enum Compiler, "compiler" {
        /// GCC.
        Gcc = "gcc",
        /// Clang.
        Clang = "clang",
    }
}

named! {
    /// What turns call frame information into SFrame.
    pub enum Assembler, "assembler" {
        /// GNU as.
        Gas = "gas",
        /// LLVM's, which Clang has built in.
        Llvm = "llvm",
    }
}

named! {
    /// A linker.
    pub enum Linker, "linker" {
        /// GNU ld.
        Ld = "ld",
        /// GNU gold.
        Gold = "gold",
        /// LLD.
        Lld = "lld",
        /// mold.
        Mold = "mold",
    }
}

named! {
    /// A library that has assembly with call frame information of its own.
    pub enum Library, "library" {
        /// The GNU C library.
        Glibc = "glibc",
        /// GnuPG's cryptographic library.
        Libgcrypt = "libgcrypt",
        /// GCC's transactional memory library.
        Libitm = "libitm",
        /// LuaJIT.
        LuaJit = "luajit",
        /// OCaml: its runtime, and the code that its compiler writes.
        Ocaml = "ocaml",
        /// OpenSSL.
        OpenSsl = "openssl",
    }
}

/// Names of one kind of tools.
pub trait ToolName:
    Copy + Ord + Hash + fmt::Debug + fmt::Display + FromStr<Err = UnknownName> + 'static
{
    /// What kind, as a type's name.
    const KIND: &'static str;
    /// Every name.
    const NAMES: &'static [Self];
}

impl ToolName for Compiler {
    const KIND: &'static str = "Compiler";
    const NAMES: &'static [Self] = Self::ALL;
}

impl ToolName for Assembler {
    const KIND: &'static str = "Assembler";
    const NAMES: &'static [Self] = Self::ALL;
}

impl ToolName for Linker {
    const KIND: &'static str = "Linker";
    const NAMES: &'static [Self] = Self::ALL;
}

impl ToolName for Library {
    const KIND: &'static str = "Library";
    const NAMES: &'static [Self] = Self::ALL;
}

/// The version of a tool: numbers with dots between them. What is not written
/// is 0, so that 14 and 14.0 are the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolVersion(Vec<u32>);

impl ToolVersion {
    /// Whether another version is this one, as far as this one is written: 2.47 includes 2.47.50.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        let other = other.0.iter().chain(std::iter::repeat(&0));
        self.0.iter().zip(other).all(|(own, other)| own == other)
    }
}

/// A tool and its version: `gas 2.47.50`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tool<N> {
    /// Its name.
    pub name: N,
    /// Its version.
    pub version: ToolVersion,
}

/// A tool in some of its versions: `gcc`, `gcc >= 14`, `gcc < 16` or
/// `gcc >= 14 < 16`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolRange<N> {
    /// The tool's name.
    pub name: N,
    /// The first version that is meant; without it, the first that there is.
    pub since: Option<ToolVersion>,
    /// The first version that is not meant any more; without it, none.
    pub before: Option<ToolVersion>,
}

/// Text that is neither a [`Tool`] nor a [`ToolRange`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTool {
    /// No such tool.
    #[error(transparent)]
    Name(#[from] UnknownName),
    /// A tool without its version.
    #[error("`{0}` has no version; write `{0} 14.2`")]
    NoVersion(String),
    /// Not numbers with dots.
    #[error("`{0}` is not a version; write numbers with dots between them, such as `2.47`")]
    Version(String),
    /// What comes after the name of a range.
    #[error("`{0}` is not a range of versions; write `{1}`, `{1} >= 14`, `{1} < 16` or `{1} >= 14 < 16`")]
    Range(String, String),
    /// No version is in the range.
    #[error("`{0}` has no version: the first number must be below the second")]
    Empty(String),
}

impl<N: ToolName> ToolRange<N> {
    /// Whether a tool is one of these.
    pub fn contains(&self, tool: &Tool<N>) -> bool {
        self.name == tool.name
            && self.since.as_ref().is_none_or(|since| *since <= tool.version)
            && self.before.as_ref().is_none_or(|before| tool.version < *before)
    }
}

impl FromStr for ToolVersion {
    type Err = InvalidTool;

    fn from_str(text: &str) -> Result<Self, InvalidTool> {
        let number = |part: &str| {
            // `parse` would take a sign.
            let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| part.parse().ok()).flatten()
        };
        let numbers: Option<Vec<u32>> = text.split('.').map(number).collect();
        let mut numbers = numbers.ok_or_else(|| InvalidTool::Version(text.to_owned()))?;
        while numbers.len() > 1 && numbers.last() == Some(&0) {
            numbers.pop();
        }
        Ok(Self(numbers))
    }
}

impl<N: ToolName> FromStr for Tool<N> {
    type Err = InvalidTool;

    fn from_str(text: &str) -> Result<Self, InvalidTool> {
        let (name, version) = text.split_once(' ').unwrap_or((text, ""));
        let name = name.parse::<N>()?;
        match version.trim() {
            "" => Err(InvalidTool::NoVersion(name.to_string())),
            version => Ok(Self { name, version: version.parse()? }),
        }
    }
}

impl<N: ToolName> FromStr for ToolRange<N> {
    type Err = InvalidTool;

    fn from_str(text: &str) -> Result<Self, InvalidTool> {
        let mut words = text.split_ascii_whitespace();
        let name = words.next().unwrap_or_default().parse::<N>()?;
        let words: Vec<&str> = words.collect();
        let (since, before) = match *words {
            [] => (None, None),
            [">=", since] => (Some(since.parse()?), None),
            ["<", before] => (None, Some(before.parse()?)),
            [">=", since, "<", before] => (Some(since.parse()?), Some(before.parse()?)),
            _ => return Err(InvalidTool::Range(text.to_owned(), name.to_string())),
        };
        let range = Self { name, since, before };
        match (&range.since, &range.before) {
            (Some(since), Some(before)) if since >= before => Err(InvalidTool::Empty(text.to_owned())),
            _ => Ok(range),
        }
    }
}

impl fmt::Display for ToolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

impl<N: ToolName> fmt::Display for Tool<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

impl<N: ToolName> fmt::Display for ToolRange<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Some(since) = &self.since {
            write!(f, " >= {since}")?;
        }
        if let Some(before) = &self.before {
            write!(f, " < {before}")?;
        }
        Ok(())
    }
}

impl<N: ToolName> Serialize for Tool<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<N: ToolName> Serialize for ToolRange<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, N: ToolName> Deserialize<'de> for Tool<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, "a tool and its version, such as `gcc 14.2`")
    }
}

impl<'de, N: ToolName> Deserialize<'de> for ToolRange<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, "a tool, alone or in some of its versions, such as `gcc >= 14`")
    }
}

impl<N: ToolName> JsonSchema for ToolRange<N> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Range", N::KIND).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<String> = N::NAMES.iter().map(ToString::to_string).collect();
        let names = names.join("|");
        let version = "[0-9]+(\\.[0-9]+)*";
        json_schema!({
            "description": format!("{} with or without a range of versions: `NAME`, `NAME >= 14`, \
                                    `NAME < 16` or `NAME >= 14 < 16`.", N::KIND),
            "type": "string",
            "pattern": format!("^ *({names})( +>= +{version})?( +< +{version})? *$"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> ToolRange<Compiler> {
        text.parse().expect("a range")
    }

    fn tool(text: &str) -> Tool<Compiler> {
        text.parse().expect("a tool")
    }

    #[test]
    fn a_range_begins_with_its_first_version_and_ends_before_its_last() {
        let both = range("gcc >= 12 < 14.2");
        for (version, is_in) in [
            ("11.9", false),
            ("12", true),
            ("12.0.0", true),
            ("14.1.99", true),
            ("14.2", false),
            ("16", false),
        ] {
            assert_eq!(both.contains(&tool(&format!("gcc {version}"))), is_in, "{version}");
        }
        assert!(range("gcc").contains(&tool("gcc 4.8")));
        assert!(range("gcc >= 14").contains(&tool("gcc 14.0.1")));
        assert!(!range("gcc < 14").contains(&tool("gcc 14")));
        assert!(!range("clang").contains(&tool("gcc 14")));
    }

    #[test]
    fn versions_are_compared_by_number_and_not_by_digit() {
        let version = |text: &str| text.parse::<ToolVersion>().expect("a version");
        assert!(version("2.9") < version("2.40"));
        assert!(version("2.47") < version("2.47.50"));
        assert_eq!(version("2.47"), version("2.47.0"));
        assert_eq!(version("0").to_string(), "0");
    }

    #[test]
    fn what_is_read_is_printed() {
        for text in ["gcc", "gcc >= 14", "clang < 22.1", "gcc >= 12 < 14.2"] {
            assert_eq!(range(text).to_string(), text);
        }
        assert_eq!(range("gcc  >=  14.0").to_string(), "gcc >= 14");
        assert_eq!(tool("gcc 12.2").to_string(), "gcc 12.2");
    }

    #[test]
    fn text_that_is_not_a_range_is_refused_with_an_example() {
        for (text, message) in [
            ("gc", "unknown compiler `gc`; did you mean `gcc`?"),
            ("", "unknown compiler ``"),
            ("gcc 14", "`gcc 14` is not a range of versions; write `gcc`, `gcc >= 14`"),
            ("gcc > 14", "is not a range of versions"),
            ("gcc < 16 >= 14", "is not a range of versions"),
            ("gcc >= 14, < 16", "`14,` is not a version"),
            ("gcc >= 14.x", "`14.x` is not a version"),
            ("gcc >= +14", "`+14` is not a version"),
            ("gcc >= .", "`.` is not a version"),
            ("gcc >= 99999999999", "`99999999999` is not a version"),
            ("gcc >= 14 < 14.0", "the first number must be below the second"),
        ] {
            let error = text.parse::<ToolRange<Compiler>>().expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_tool_has_one_version() {
        for (text, message) in [
            ("gas", "`gas` has no version"),
            ("gas ", "`gas` has no version"),
            ("gas >= 2.40", "`>= 2.40` is not a version"),
            ("as 2.40", "unknown assembler `as`"),
        ] {
            let error = text.parse::<Tool<Assembler>>().expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
