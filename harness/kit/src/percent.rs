//! Shares, exact to a hundredth of a percent.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::de::parsed;

/// A share of something: `100%`, `99.5%`, `0%`.
///
/// Held as a whole number of hundredths, so that a share is reached or not
/// reached, without rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percent(u16);

/// Text that is no [`Percent`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPercent {
    /// The sign is missing.
    #[error("`{0}` has no percent sign; write `{0}%`")]
    NoSign(String),
    /// Not a number with up to two decimals.
    #[error("`{0}` is not a percentage; write `100%` or `99.5%`")]
    NoNumber(String),
    /// More than the whole, or less than nothing.
    #[error("`{0}` is no share; write `0%` to `100%`")]
    TooMuch(String),
}

impl Percent {
    /// Nothing of it.
    pub const NONE: Self = Self(0);
    /// All of it.
    pub const ALL: Self = Self(10_000);
    /// Nine tenths of it.
    pub const NINE_TENTHS: Self = Self(9_000);

    /// Reads `all`, or a percentage: a share that something is to reach.
    ///
    /// # Errors
    /// It is neither.
    pub fn to_reach(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::ALL),
            text => text.parse().map_err(|error| format!("{error}, or `all`")),
        }
    }

    /// Whether `part` of `whole` is at most this share.
    #[must_use]
    pub fn bounds(self, part: u64, whole: u64) -> bool {
        u128::from(part) * u128::from(Self::ALL.0) <= u128::from(whole) * u128::from(self.0)
    }

    /// Whether `part` of `whole` is at least this share. Of nothing there is no
    /// share: then only 0% is reached.
    #[must_use]
    pub fn is_reached_by(self, part: u64, whole: u64) -> bool {
        if whole == 0 {
            return self.0 == 0;
        }
        u128::from(part) * u128::from(Self::ALL.0) >= u128::from(whole) * u128::from(self.0)
    }
}

impl FromStr for Percent {
    type Err = InvalidPercent;

    fn from_str(text: &str) -> Result<Self, InvalidPercent> {
        let no_number = || InvalidPercent::NoNumber(text.to_owned());
        let Some(number) = text.strip_suffix('%') else {
            let is_number = text.parse::<f64>().is_ok();
            return Err(match format!("{text}%").parse::<Self>() {
                Ok(_) => InvalidPercent::NoSign(text.to_owned()),
                Err(_) if is_number => InvalidPercent::TooMuch(text.to_owned()),
                Err(_) => no_number(),
            });
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(decimals) || decimals.len() > 2 {
            return Err(no_number());
        }
        let too_much = || InvalidPercent::TooMuch(text.to_owned());
        // Digits only, so what does not fit is too much.
        let hundredths: u16 = format!("{whole}{decimals:0<2}").parse().map_err(|_| too_much())?;
        if hundredths > Self::ALL.0 {
            return Err(too_much());
        }
        Ok(Self(hundredths))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, hundredths) = (self.0 / 100, self.0 % 100);
        match hundredths {
            0 => write!(f, "{whole}%"),
            _ if hundredths % 10 == 0 => write!(f, "{whole}.{}%", hundredths / 10),
            _ => write!(f, "{whole}.{hundredths:02}%"),
        }
    }
}

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, "a percentage with its sign, such as `100%`")
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Percent {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Percent".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A share: `100%`, `99.5%`.",
            "type": "string",
            "pattern": "^0*(100(\\.0{1,2})?|[0-9]{1,2}(\\.[0-9]{1,2})?)%$",
            "examples": ["100%", "99.5%"],
        })
    }
}

/// A part of a whole in per cent. 100 % is all of it, and 0 % is nothing: what is nearly so is not
/// rounded to it.
#[must_use]
pub fn share(part: u64, all: u64) -> String {
    if all == 0 {
        return "-".to_owned();
    }
    // In hundredths of a per cent.
    let exact = u128::from(part) * 10_000;
    let rounded = (exact + u128::from(all) / 2) / u128::from(all);
    match (part, rounded) {
        (0, _) => "0 %".to_owned(),
        _ if part == all => "100 %".to_owned(),
        (_, 0) => "< 0.01 %".to_owned(),
        (_, 10_000) if part < all => "> 99.99 %".to_owned(),
        (_, rounded) => format!("{}.{:02} %", rounded / 100, rounded % 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(text: &str) -> Percent {
        text.parse().expect("a percentage")
    }

    #[test]
    fn what_is_read_is_printed() {
        for text in ["100%", "99.5%", "0%", "33.33%", "7.05%"] {
            assert_eq!(percent(text).to_string(), text);
        }
        assert_eq!(percent("99.50%"), percent("99.5%"));
    }

    #[test]
    fn more_than_everything_is_refused() {
        for text in ["101%", "100.01%", "99999999999999999999%"] {
            let error = text.parse::<Percent>().unwrap_err();
            assert_eq!(error, InvalidPercent::TooMuch(text.into()));
        }
    }

    #[test]
    fn text_that_is_not_a_percentage_is_refused() {
        for text in ["%", "-1%", "1.%", ".5%", "1.234%", "x%", "", "1e1%", "all", "+1%"] {
            let error = text.parse::<Percent>().unwrap_err();
            assert_eq!(error, InvalidPercent::NoNumber(text.into()), "{text}");
        }
        let error = "90".parse::<Percent>().unwrap_err();
        assert_eq!(error.to_string(), "`90` has no percent sign; write `90%`");
    }

    #[test]
    fn shares_are_compared_without_rounding() {
        assert!(percent("100%").is_reached_by(7, 7));
        assert!(!percent("100%").is_reached_by(u64::MAX - 1, u64::MAX));
        assert!(percent("33.33%").is_reached_by(1, 3));
        assert!(!percent("33.34%").is_reached_by(1, 3));
    }

    #[test]
    fn nothing_of_nothing_does_not_pass() {
        assert!(!percent("0.01%").is_reached_by(0, 0));
        assert!(percent("0%").is_reached_by(0, 0));
    }

    #[test]
    fn shares_are_rounded_but_never_to_all_or_nothing() {
        let cases = [
            (0, 0, "-"),
            (0, 5, "0 %"),
            (5, 5, "100 %"),
            (1, 3, "33.33 %"),
            (2, 3, "66.67 %"),
            (1, 1_000_000, "< 0.01 %"),
            (999_999, 1_000_000, "> 99.99 %"),
            (u64::MAX - 1, u64::MAX, "> 99.99 %"),
        ];
        for (part, all, expected) in cases {
            assert_eq!(share(part, all), expected, "{part} of {all}");
        }
    }
}
