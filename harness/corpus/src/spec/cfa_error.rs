//! How wrong a CFA is.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sframe_judge::finding::Finding;
use sframe_judge::vocabulary::Verdict;

/// How wrong the CFA of a row is: on which side of the right one it is, and how far from it if that is always the same.
/// Written `too high`, or `8 too low`, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct CfaError {
    side: Side,
    bytes: Option<NonZeroU64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Side {
    Low,
    High,
}

/// Text that is no [`CfaError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not how wrong a CFA is; write `too high` or `too low`, or `8 too low` if it is always 8 bytes"
)]
pub struct InvalidCfaError(String);

impl CfaError {
    /// That of a row which gives one CFA where another is right; `None` if they are the same.
    #[must_use]
    pub fn between(got: u64, right: u64) -> Option<Self> {
        // Addresses wrap around.
        let off = got.wrapping_sub(right).cast_signed();
        let side = if off < 0 { Side::Low } else { Side::High };
        Some(Self { side, bytes: Some(NonZeroU64::new(off.unsigned_abs())?) })
    }

    /// That of a finding, if its CFA is wrong, and known, and always by as much.
    #[must_use]
    pub fn of(finding: &Finding) -> Option<Self> {
        let is_one = finding.verdict == Verdict::WrongCfa && !finding.varies;
        let (got, right) = finding.got.address().zip(finding.expected.address()).filter(|_| is_one)?;
        Self::between(got, right)
    }

    /// Whether what is seen is such an error.
    #[must_use]
    pub fn includes(self, seen: Self) -> bool {
        self.side == seen.side && (self.bytes.is_none() || self.bytes == seen.bytes)
    }
}

impl FromStr for CfaError {
    type Err = InvalidCfaError;

    fn from_str(text: &str) -> Result<Self, InvalidCfaError> {
        let invalid = || InvalidCfaError(text.to_owned());
        let (bytes, side) = match text.split_once(' ').ok_or_else(invalid)? {
            ("too", _) => (None, text),
            (bytes, side) => (Some(bytes.parse().map_err(|_| invalid())?), side),
        };
        let side = match side {
            "too low" => Side::Low,
            "too high" => Side::High,
            _ => return Err(invalid()),
        };
        Ok(Self { side, bytes })
    }
}

impl fmt::Display for CfaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(bytes) = self.bytes {
            write!(f, "{bytes} ")?;
        }
        f.write_str(match self.side {
            Side::Low => "too low",
            Side::High => "too high",
        })
    }
}

impl TryFrom<String> for CfaError {
    type Error = InvalidCfaError;

    fn try_from(text: String) -> Result<Self, InvalidCfaError> {
        text.parse()
    }
}

impl From<CfaError> for String {
    fn from(error: CfaError) -> Self {
        error.to_string()
    }
}

impl JsonSchema for CfaError {
    fn schema_name() -> Cow<'static, str> {
        "CfaError".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How wrong the CFA is, `too high` or `too low`; with the number of bytes if it is \
                            always the same.",
            "type": "string",
            "pattern": "^([1-9][0-9]* )?too (low|high)$",
            "examples": ["8 too low", "too high"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> CfaError {
        text.parse().expect("a distance")
    }

    #[test]
    fn errors_are_read_as_they_are_written() {
        for text in ["8 too low", "176 too high", "too low", "too high"] {
            assert_eq!(error(text).to_string(), text);
        }
        for text in
            ["", "8", "8 low", "too", "too wide", "8 bytes too low", "0 too low", "-8 too low", "too low 8"]
        {
            let refused = text.parse::<CfaError>().expect_err(text);
            assert!(refused.to_string().contains("`8 too low`"), "{refused}");
        }
    }

    /// Neither another amount nor the other side is the same error, and a CFA that is right is none.
    #[test]
    fn an_error_has_a_side_and_may_have_an_amount() {
        let low = CfaError::between(0x1000, 0x1008).expect("an error");
        assert_eq!(low, error("8 too low"));
        assert!(error("8 too low").includes(low) && error("too low").includes(low));
        for other in ["8 too high", "16 too low", "too high"] {
            assert!(!error(other).includes(low), "{other}");
        }
        assert_eq!(CfaError::between(0x1020, 0x1000), Some(error("32 too high")));
        assert_eq!(CfaError::between(4, u64::MAX - 3), Some(error("8 too high")));
        assert_eq!(CfaError::between(0x1000, 0x1000), None);
    }
}
