//! Where a program is to be stopped.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use sframe_kit::de::parsed;

/// A place in a program: `symbol`, `symbol+0x1c`, `symbol+28` or `file.c:42`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// So many bytes after a symbol.
    Symbol {
        /// The symbol, as the symbol table has it. `lib.so!symbol` is one of
        /// a library, `!symbol` one of the executable.
        name: String,
        /// Offset from it, in bytes.
        offset: u64,
    },
    /// The first instruction of a source line.
    Line {
        /// The source file: its name, or the end of its path.
        file: String,
        /// The line, counted from 1.
        line: NonZeroU32,
    },
}

/// Text that is no [`Location`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a location: {problem}")]
pub struct InvalidLocation {
    text: String,
    problem: Cow<'static, str>,
}

impl Location {
    /// The start of a function.
    pub fn function(name: &str) -> Self {
        Self::Symbol { name: name.to_owned(), offset: 0 }
    }

    fn parse(text: &str) -> Result<Self, Cow<'static, str>> {
        if text.is_empty() {
            return Err("it is empty; write `symbol`, `symbol+0x1c` or `file.c:42`".into());
        }
        if text.contains(char::is_whitespace) {
            return Err("it contains a blank".into());
        }
        match text.rsplit_once(':') {
            Some((file, line)) => parse_line(file, line),
            None => parse_symbol(text),
        }
    }
}

fn parse_line(file: &str, line: &str) -> Result<Location, Cow<'static, str>> {
    if file.is_empty() {
        return Err("a file name is missing before the `:`".into());
    }
    let line = parse_number(line)
        .and_then(|line| u32::try_from(line).ok())
        .and_then(NonZeroU32::new)
        .ok_or("after the `:` must be a line number, counted from 1")?;
    Ok(Location::Line { file: file.to_owned(), line })
}

fn parse_symbol(text: &str) -> Result<Location, Cow<'static, str>> {
    let (name, offset) = match text.split_once('+') {
        Some((name, offset)) => (
            name,
            parse_offset(offset).ok_or("after the `+` must be an offset in bytes, such as `28` or `0x1c`")?,
        ),
        None => (text, 0),
    };
    let first = name.chars().next().ok_or("a symbol is missing before the `+`")?;
    if first.is_ascii_digit() {
        return Err("addresses differ from build to build; write `symbol+offset`".into());
    }
    let allowed = |c: char| c.is_alphanumeric() || "_.$@".contains(c);
    let (library, symbol) = name.split_once('!').unwrap_or(("", name));
    if symbol.is_empty() {
        return Err("a symbol is missing after the `!`".into());
    }
    if let Some(bad) = library.chars().find(|&c| !allowed(c) && c != '-') {
        return Err(format!("`{bad}` cannot be part of a library's name").into());
    }
    if let Some(bad) = symbol.chars().find(|&c| !allowed(c)) {
        return Err(format!("`{bad}` cannot be part of a symbol").into());
    }
    Ok(Location::Symbol { name: name.to_owned(), offset })
}

/// An offset, decimal or hexadecimal.
pub(super) fn parse_offset(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        // `from_str_radix` would take a sign.
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None => parse_number(text),
    }
}

fn parse_number(text: &str) -> Option<u64> {
    text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl FromStr for Location {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, InvalidLocation> {
        Self::parse(text).map_err(|problem| InvalidLocation { text: text.to_owned(), problem })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symbol { name, offset: 0 } => f.write_str(name),
            Self::Symbol { name, offset } => write!(f, "{name}+{offset:#x}"),
            Self::Line { file, line } => write!(f, "{file}:{line}"),
        }
    }
}

impl Serialize for Location {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Location {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, "a location: `symbol`, `symbol+0x1c` or `file.c:42`")
    }
}

impl JsonSchema for Location {
    fn schema_name() -> Cow<'static, str> {
        "Location".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A place in a program: `symbol`, `symbol+0x1c`, `symbol+28` or \
                            `file.c:42`.",
            "type": "string",
            "pattern": "^([^\\s:+0-9][^\\s:+]*(\\+(0[xX][0-9a-fA-F]+|[0-9]+))?|[^\\s]+:0*[1-9][0-9]*)$",
            "examples": ["leaf", "leaf+0x1c", "recursion.c:42"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &str, offset: u64) -> Location {
        Location::Symbol { name: name.into(), offset }
    }

    fn refused(text: &str) -> String {
        text.parse::<Location>().expect_err("must be refused").to_string()
    }

    #[test]
    fn all_forms_are_understood() {
        assert_eq!("leaf".parse(), Ok(symbol("leaf", 0)));
        assert_eq!("leaf+0x1c".parse(), Ok(symbol("leaf", 28)));
        assert_eq!("leaf+28".parse(), Ok(symbol("leaf", 28)));
        assert_eq!("_ZN3fooEv.isra.0+4".parse(), Ok(symbol("_ZN3fooEv.isra.0", 4)));
        let line = NonZeroU32::new(42).unwrap();
        assert_eq!("a-b.c:42".parse(), Ok(Location::Line { file: "a-b.c".into(), line }));
        assert_eq!("sub/a.c:42".parse(), Ok(Location::Line { file: "sub/a.c".into(), line }));
    }

    #[test]
    fn what_is_printed_can_be_read_again() {
        for text in ["leaf", "leaf+0x1c", "a.c:7", "memcpy@plt", "lib-c.so!leaf@plt+0x4", "!.plt"] {
            assert_eq!(text.parse::<Location>().unwrap().to_string(), text);
        }
        assert_eq!("leaf+28".parse::<Location>().unwrap().to_string(), "leaf+0x1c");
    }

    #[test]
    fn what_is_wrong_is_said_precisely() {
        assert!(refused("").contains("it is empty"));
        assert!(refused("a b").contains("a blank"));
        assert!(refused("a.c:").contains("line number"));
        assert!(refused("a.c:0").contains("counted from 1"));
        assert!(refused("a.c:+1").contains("line number"));
        assert!(refused("a.c:99999999999").contains("line number"));
        assert!(refused(":3").contains("file name is missing"));
        assert!(refused("+3").contains("symbol is missing"));
        assert!(refused("leaf+").contains("offset in bytes"), "{}", refused("leaf+"));
        assert!(refused("leaf+0x").contains("offset in bytes"));
        assert!(refused("leaf+0x+1").contains("offset in bytes"));
        assert!(refused("leaf+0x10000000000000000").contains("offset in bytes"));
        assert!(refused("leaf-4").contains("`-` cannot be part of a symbol"));
        assert!(refused("lib.so!").contains("symbol is missing after"));
        assert!(refused("a!b!c").contains("`!` cannot be part of a symbol"));
        assert!(refused("a/b.so!c").contains("`/` cannot be part of a library's name"));
        assert!(refused("0x401000").contains("addresses differ"));
    }
}
