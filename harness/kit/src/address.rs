//! Addresses and rows as they appear in reports.

use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sframe_engine::{Row, RowRules};

/// An address in a report: a string such as `0x401000`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address such as 0x401000")]
pub struct ParseAddressError(String);

impl FromStr for Address {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix("0x")
            // `from_str_radix` would take a sign.
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .map(Self)
            .ok_or_else(|| ParseAddressError(text.to_owned()))
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Address {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "An address, or a distance in bytes, in hexadecimal digits.",
            "type": "string",
            "pattern": "^0x[0-9a-f]{1,16}$",
        })
    }
}

/// The row that a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingRow {
    /// Start of the row, in bytes from the start of the function.
    pub start: Address,
    /// Its rules as equations.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub rules: RowRules,
}

impl FindingRow {
    /// Returns the report form of a row.
    #[must_use]
    pub fn new(row: &Row) -> Self {
        Self { start: Address(row.start.into()), rules: row.rules() }
    }
}

/// By start, and then as documents have their rules.
impl Ord for FindingRow {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_rules = || self.rules.to_string().cmp(&other.rules.to_string());
        self.start.cmp(&other.start).then_with(by_rules)
    }
}

impl PartialOrd for FindingRow {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Rules in a document: as text.
mod as_text {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use sframe_engine::RowRules;

    pub(super) fn serialize<S: Serializer>(rules: &RowRules, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(rules)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RowRules, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(|error| D::Error::custom(format!("`{text}`: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn an_address_is_0x_and_hexadecimal_digits() {
        for (text, number) in [("0x0", 0), ("0x0401000", 0x40_1000), ("0xFfffffffffffffff", u64::MAX)] {
            assert_eq!(text.parse(), Ok(Address(number)));
        }
        for text in ["", "0x", "401000", "0X1", "0x+1", "0x-1", "0x1g", " 0x1", "0x10000000000000000"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
