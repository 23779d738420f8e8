//! Addresses and rows as they appear in reports.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sframe_engine::Row;

/// An address in a report: a string such as `0x401000`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
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
        let number = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        number
            .map(Self)
            .ok_or_else(|| D::Error::custom(format!("`{text}` is not an address such as 0x401000")))
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingRow {
    /// Start of the row, in bytes from the start of the function.
    pub start: Address,
    /// Its rules as equations.
    pub rules: String,
}

impl FindingRow {
    /// Returns the report form of a row.
    #[must_use]
    pub fn new(row: &Row) -> Self {
        Self { start: Address(row.start.into()), rules: row.to_string() }
    }
}
