//! Addresses and bytes as the vectors write them.

use std::fmt;

use crate::schema::text_schema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A 64-bit number, written as a hexadecimal string: `"0x1000"`. Many YAML libraries can't read
/// such numbers without quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.strip_prefix("0x")
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .map(Self)
            .ok_or_else(|| de::Error::custom(format!("`{text}` is not an address; write it as \"0x1000\"")))
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

text_schema!(Address, "A 64-bit number, in hexadecimal digits.", "^0x[0-9a-fA-F]{1,16}$");

/// What is said of text that is no bytes.
pub(crate) const NO_PAIRS: &str = "bytes are pairs of hexadecimal digits";

/// Bytes, written in hexadecimal. White space between them has no meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hex(pub Vec<u8>);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut digits = text.chars().filter(|digit| !digit.is_whitespace()).map(|digit| digit.to_digit(16));
        let mut bytes = Vec::with_capacity(text.len() / 2);
        while let Some(high) = digits.next() {
            let pair = high.zip(digits.next().flatten());
            let byte = pair.and_then(|(high, low)| u8::try_from(high << 4 | low).ok());
            let wrong = || format!("`{}`: {NO_PAIRS}", not_pairs(&text));
            bytes.push(byte.ok_or_else(|| de::Error::custom(wrong()))?);
        }
        Ok(Self(bytes))
    }
}

/// The most characters of what is no hexadecimal number that are repeated.
const LONGEST: usize = 60;

/// The start of the piece of a text that is probably no hexadecimal number: one with something else than digits, or with
/// half of a pair.
fn not_pairs(text: &str) -> String {
    let mut pieces = text.split_whitespace();
    let has_others = |piece: &&str| piece.chars().any(|digit| !digit.is_ascii_hexdigit());
    let halves = || text.split_whitespace().find(|piece| piece.len() % 2 == 1);
    let piece = pieces.find(has_others).or_else(halves).unwrap_or_default();
    piece.chars().take(LONGEST).collect()
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
        let text: String = self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect();
        serializer.serialize_str(&text)
    }
}

text_schema!(Hex, "Bytes: pairs of hexadecimal digits.", r"^\s*([0-9a-fA-F]\s*[0-9a-fA-F]\s*)*$");
