//! Parts of a run, for several machines at once.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of several parts of a run: `2/3` is the second of three.
///
/// Of three shards, each has every third case: the cases of a program are
/// adjacent and take about as long, so that the shards do too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: NonZeroU32,
    of: NonZeroU32,
}

/// A text that is not a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a shard: write `K/N`, with K from 1 to N")]
pub struct InvalidShard(String);

impl Shard {
    /// Which one, from 1.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.number.get()
    }

    /// How many there are.
    #[must_use]
    pub const fn of(self) -> u32 {
        self.of.get()
    }

    /// Takes the cases of this shard.
    pub fn take<T>(self, all: Vec<T>) -> Vec<T> {
        let (first, step) = (self.number.get() - 1, self.of.get());
        all.into_iter().skip(first as usize).step_by(step as usize).collect()
    }
}

impl FromStr for Shard {
    type Err = InvalidShard;

    fn from_str(text: &str) -> Result<Self, InvalidShard> {
        let parts =
            text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let shard = parts.map(|(number, of)| Self { number, of });
        shard.filter(|shard| shard.number <= shard.of).ok_or_else(|| InvalidShard(text.to_owned()))
    }
}

impl TryFrom<String> for Shard {
    type Error = InvalidShard;

    fn try_from(text: String) -> Result<Self, InvalidShard> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shards_of_a_run_cover_each_case_once() {
        for of in 1..=7 {
            let shards = (1..=of).map(|number| format!("{number}/{of}").parse::<Shard>().expect("a shard"));
            let mut all: Vec<u32> = shards.flat_map(|shard| shard.take((0..100).collect())).collect();
            all.sort_unstable();
            assert_eq!(all, (0..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn text_that_is_not_a_shard_is_refused() {
        for text in ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "1/4294967296", "a/b"] {
            assert_eq!(text.parse::<Shard>(), Err(InvalidShard(text.to_owned())));
        }
    }
}
