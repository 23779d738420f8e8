//! Helpers for reading values that have a syntax of their own.

use std::fmt;
use std::marker::PhantomData;

use parse_size::Config;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Deserializer, SeqAccess, Unexpected, Visitor};

/// Reads an optional key that must have a value if it is there. Serde takes
/// `key:` with nothing after it as absent, which hides a forgotten value.
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Reads text that is written as such. The YAML library takes a number, or `false`, for its letters.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserializer.deserialize_any(Text)
}

struct Text;

impl Visitor<'_> for Text {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text: put it in quotes")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }
}

/// Reads a list that must be there if its key is. The YAML library takes a key
/// with nothing after it as an empty list, which hides lost entries.
pub(super) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_any(List(PhantomData))
}

struct List<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq))
    }
}

/// Reads a size in bytes: a number, or text such as `64K` and `8 MiB`, as on the command line.
pub(super) fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_any(Size).map(Some)
}

/// What such a size is in an editor.
pub(super) fn schema_of_size(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            { "type": "integer", "minimum": 65_536, "maximum": 1_073_741_824 },
            { "type": "string", "pattern": "^[0-9]+ ?[kKmMgG]([iI]?[bB])?$" },
        ],
    })
}

struct Size;

impl Visitor<'_> for Size {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size in bytes, such as 65536, 64K or 8M")
    }

    fn visit_u64<E: serde::de::Error>(self, size: u64) -> Result<u64, E> {
        Ok(size)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<u64, E> {
        let is_size = text.starts_with(|first: char| first.is_ascii_digit()) && !text.contains('.');
        let size = is_size.then(|| Config::new().with_binary().parse_size(text).ok()).flatten();
        size.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}
