//! Addresses and bytes as the vectors write them.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// A number of 64 bits, written as a string in hexadecimal: `"0x1000"`. Many
/// YAML libraries can't read such numbers without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
            .ok_or_else(|| de::Error::custom(format!("`{text}` is no address; write it as \"0x1000\"")))
    }
}

/// Bytes, written in hexadecimal. White space between them has no meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hex(pub Vec<u8>);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits: Vec<_> = text.chars().filter(|digit| !digit.is_whitespace()).collect();
        let byte = |pair: &[char]| {
            let [high, low] = pair else { return None };
            let number = high.to_digit(16)? << 4 | low.to_digit(16)?;
            u8::try_from(number).ok()
        };
        let bytes = digits.chunks(2).map(byte).collect::<Option<_>>();
        bytes.map(Self).ok_or_else(|| de::Error::custom("bytes are pairs of hexadecimal digits"))
    }
}
