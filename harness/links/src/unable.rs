//! What a tool can't do, whatever objects have in `.sframe`.

use glob::Pattern;
use schemars::JsonSchema;
use serde::Deserialize;
use sframe_engine::Abi;

use crate::known::{of_texts, patterns};
use crate::result::{LinkOutcome, LinkResult};

/// Cases that a tool can't do, with or without `.sframe`. A described tool that refuses another one does not do what it is
/// described to do.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unable {
    /// The cases, by patterns of their names; all if left out.
    #[serde(default, deserialize_with = "patterns")]
    #[schemars(with = "Vec<String>")]
    pub cases: Vec<Pattern>,
    /// The ABIs; all if left out.
    #[serde(default)]
    pub abis: Vec<Abi>,
    /// What it says, by a pattern.
    #[serde(deserialize_with = "pattern")]
    #[schemars(with = "String")]
    pub says: Pattern,
}

fn pattern<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Pattern, D::Error> {
    of_texts(vec![String::deserialize(deserializer)?]).map(|mut patterns| patterns.remove(0))
}

impl Unable {
    /// Whether it says so of a case.
    #[must_use]
    pub fn has(&self, case: &str, abi: Abi, says: &str) -> bool {
        (self.cases.is_empty() || self.cases.iter().any(|pattern| pattern.matches(case)))
            && (self.abis.is_empty() || self.abis.contains(&abi))
            && self.says.matches(says)
    }

    /// What is listed and was not found, in words, where all cases were tried.
    pub(super) fn unfound(all: &[Self], results: &[LinkResult]) -> Vec<String> {
        let of = |result: &LinkResult, entry: &Self| {
            let says = result.reason.as_deref().filter(|_| result.outcome == LinkOutcome::Unsupported);
            says.is_some_and(|says| entry.has(&result.case, result.abi, says))
        };
        let unfound = all.iter().filter(|entry| !results.iter().any(|result| of(result, entry)));
        unfound.map(|entry| format!("unable, and says `{}`", entry.says)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_case_abi_or_message_is_not_listed() {
        let texts = |texts: &[&str]| {
            of_texts::<serde::de::value::Error>(texts.iter().map(|it| (*it).to_owned()).collect())
        };
        let entry = Unable {
            cases: texts(&["icf_*"]).expect("patterns"),
            abis: vec![Abi::Amd64],
            says: Pattern::new("*unrecognized option*").expect("a pattern"),
        };
        let says = "ld: unrecognized option '--icf=all'";
        assert!(entry.has("icf_all", Abi::Amd64, says));
        assert!(!entry.has("lto", Abi::Amd64, says) && !entry.has("icf_all", Abi::S390x, says));
        assert!(!entry.has("icf_all", Abi::Amd64, "ld: no memory"));
    }
}
