//! Numbers as people write them: counts such as `1e9`, sizes such as `1G`, durations such as `2m`.

use std::ops::RangeInclusive;
use std::time::Duration;

use parse_size::Config;
use sframe_judge::external::StopsPerCase;

/// The most of anything that is counted.
const MOST: u64 = 1_000_000_000_000_000_000;

/// From one on.
pub(super) const POSITIVE: RangeInclusive<u64> = 1..=MOST;

/// From zero on.
pub(super) const FROM_ZERO: RangeInclusive<u64> = 0..=MOST;

/// The most seconds that anything may take: a day.
pub(super) const SECONDS: RangeInclusive<u64> = 1..=86_400;

/// Reads a count of something, named in the plural: `1000000`, `1e6` and `1M` are the same.
pub(super) fn count<N: TryFrom<u64>>(
    allowed: RangeInclusive<u64>,
    what: &str,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    let expected =
        format!("a number of {what} from {} to {}", decimal(*allowed.start()), decimal(*allowed.end()));
    move |text| {
        // The library is for sizes, and rounds: there is no half of what is counted.
        let is_half = text.contains('.') && !text.contains(|unit: char| unit.is_ascii_alphabetic());
        let is_number = !text.contains(['b', 'B', 'i']) && !is_half;
        let number = is_number.then(|| Config::new().parse_size(text).ok()).flatten();
        within(number, &allowed, &expected, "1000000, 1e6 or 1M")
    }
}

/// Reads how many stops of a case an unwinder is asked at: a count, or `all`.
pub(super) fn stops(text: &str) -> Result<StopsPerCase, String> {
    let at_most = || count(FROM_ZERO, "stops")(text).map(StopsPerCase::AtMost);
    if text == "all" { Ok(StopsPerCase::All) } else { at_most().map_err(|error| error + ", or `all`") }
}

/// Reads a small number, which has no units.
pub(super) fn small(allowed: RangeInclusive<u8>) -> impl Fn(&str) -> Result<u8, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| allowed.contains(number));
        number.ok_or_else(|| format!("it must be a number from {} to {}", allowed.start(), allowed.end()))
    }
}

/// Reads a seed: any number.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("it must be a number from 0 to {}", u64::MAX))
}

/// Reads a size in bytes: `1G`, `1 GiB` and `1073741824` are the same.
pub(super) fn bytes(allowed: RangeInclusive<u64>) -> impl Fn(&str) -> Result<u64, String> + Clone {
    let expected = format!("a size in bytes from {} to {}", binary(*allowed.start()), binary(*allowed.end()));
    move |text| {
        let number = Config::new().with_binary().parse_size(text).ok();
        within(number, &allowed, &expected, "536870912, 512M or 1G")
    }
}

/// Reads a duration in whole seconds: `120`, `2m` and `2 min` are the same.
pub(super) fn seconds<N: TryFrom<u64>>(
    allowed: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    let expected = format!("a whole number of seconds from {} to {}", allowed.start(), allowed.end());
    move |text| {
        let whole = |duration: &Duration| duration.subsec_nanos() == 0;
        let duration = || humantime::parse_duration(text).ok().filter(whole);
        let number = text.trim().parse().ok().or_else(|| duration().map(|duration| duration.as_secs()));
        within(number, &allowed, &expected, "120, 90s, 2m or 1h")
    }
}

fn within<N: TryFrom<u64>>(
    number: Option<u64>,
    allowed: &RangeInclusive<u64>,
    expected: &str,
    examples: &str,
) -> Result<N, String> {
    let fits = number.filter(|number| allowed.contains(number)).and_then(|number| N::try_from(number).ok());
    fits.ok_or_else(|| format!("it must be {expected}, such as {examples}"))
}

/// A count, as short as it can be read.
fn decimal(number: u64) -> String {
    let zeroes = number.checked_ilog10().unwrap_or(0);
    if zeroes >= 6 && 10_u64.pow(zeroes) == number { format!("1e{zeroes}") } else { number.to_string() }
}

/// A size, with the largest unit of which it is a whole number.
pub(super) fn binary(bytes: u64) -> String {
    let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
    let unit = units.iter().find(|(shift, _)| bytes != 0 && bytes.trailing_zeros() >= *shift);
    unit.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let count = count::<u64>(POSITIVE, "instructions");
        for text in ["1000000", "1e6", "1M", "1m", "1_000_000", "1000k", "1 M"] {
            assert_eq!(count(text), Ok(1_000_000), "{text}");
        }
        assert_eq!(count("1e9"), Ok(1_000_000_000));
        let bytes = bytes(POSITIVE);
        for text in ["1073741824", "1G", "1g", "1 GiB", "1GB", "1024M"] {
            assert_eq!(bytes(text), Ok(1 << 30), "{text}");
        }
        let seconds = seconds::<u64>(SECONDS);
        for text in ["120", "2m", "2min", "2 min", "120s", "120 s", "1m 60s"] {
            assert_eq!(seconds(text), Ok(120), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_told_what_is_allowed() {
        for text in ["", "0", "-1", "1.2.3", "1.5", "many", "5B", "99999999999999999999", "1e99"] {
            let error = count::<u64>(POSITIVE, "instructions")(text).expect_err(text);
            assert_eq!(
                error,
                "it must be a number of instructions from 1 to 1e18, such as 1000000, 1e6 or 1M"
            );
        }
        assert!(
            count::<u32>(1..=1000, "times")("1001").is_err_and(|error| error.contains("from 1 to 1000,"))
        );
        for text in ["", "0", "4", "-1", "x", "256"] {
            assert_eq!(small(1..=3)(text), Err("it must be a number from 1 to 3".to_owned()), "{text}");
        }
        for text in ["", "0", "2", "1T", "G"] {
            assert!(
                bytes(64 << 10..=1 << 30)(text).is_err_and(|error| error.contains(" bytes from 64K to 1G,"))
            );
        }
        for text in ["", "0", "0s", "1.5", "100ms", "2d", "m", "5 parsecs"] {
            assert!(
                seconds::<u64>(SECONDS)(text).is_err_and(|error| error.contains(" seconds from 1 to 86400,")),
                "{text}"
            );
        }
    }
}
