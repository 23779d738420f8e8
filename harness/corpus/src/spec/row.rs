//! Which row of a function is meant.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::location::parse_offset;

/// What stands for the rules where there is no row.
pub const NO_ROW: &str = "no row";

/// A row, by its start: bytes from the beginning of its function. Written
/// `0x1c`, with or without quotes; `28` is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowOffset(pub u64);

/// Text that is no [`RowOffset`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a row; write the offset of its start in the function, such as `0x1c`")]
pub struct InvalidRow(String);

impl FromStr for RowOffset {
    type Err = InvalidRow;

    fn from_str(text: &str) -> Result<Self, InvalidRow> {
        parse_offset(text).map(Self).ok_or_else(|| InvalidRow(text.to_owned()))
    }
}

impl fmt::Display for RowOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl Serialize for RowOffset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RowOffset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrNumber)
    }
}

/// YAML takes `0x1c` without quotes as a number.
struct TextOrNumber;

impl Visitor<'_> for TextOrNumber {
    type Value = RowOffset;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the offset of a row in its function, such as `0x1c`")
    }

    fn visit_u64<E>(self, offset: u64) -> Result<RowOffset, E> {
        Ok(RowOffset(offset))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<RowOffset, E> {
        text.parse().map_err(E::custom)
    }
}

impl JsonSchema for RowOffset {
    fn schema_name() -> Cow<'static, str> {
        "RowOffset".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A row, by its start: bytes from the beginning of its function, \
                            such as `0x1c`.",
            "anyOf": [
                { "type": "string", "pattern": "^(0[xX][0-9a-fA-F]+|[0-9]+)$" },
                { "type": "integer", "minimum": 0 },
            ],
            "examples": ["0x1c"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::from_str;
    use std::path::Path;

    #[test]
    fn quoted_and_unquoted_rows_are_the_same() {
        for text in ["0x1c", "'0x1c'", "28", "\"28\""] {
            assert_eq!(from_str::<RowOffset>(Path::new("r"), text).unwrap(), RowOffset(28));
        }
        assert_eq!(RowOffset(28).to_string(), "0x1c");
    }

    #[test]
    fn text_that_is_not_an_offset_is_refused() {
        for text in ["leaf", "-4", "1.5", "'0x'", "[1]"] {
            let error = from_str::<RowOffset>(Path::new("r"), text).unwrap_err();
            assert!(error.to_string().contains("0x1c"), "{error}");
        }
    }
}
