//! What is known to be wrong of a linker, by cause.

use glob::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use sframe_engine::Abi;

use super::judge::{LinkFault, LinkFinding};

/// Findings that have one cause.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownLink {
    /// The cases, by patterns of their names.
    #[serde(deserialize_with = "patterns")]
    #[schemars(with = "Vec<String>")]
    pub cases: Vec<Pattern>,
    /// The kinds of findings.
    pub findings: Vec<LinkFault>,
    /// The ABIs; all if left out.
    #[serde(default)]
    pub abis: Vec<Abi>,
    /// The cause, in a sentence.
    pub why: String,
    /// The page of `specs/faults` about it.
    pub fault: Option<String>,
}

fn patterns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Pattern>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| Pattern::new(text).map_err(de::Error::custom)).collect()
}

impl KnownLink {
    /// Whether a finding is of this cause.
    #[must_use]
    pub fn has(&self, case: &str, abi: Abi, finding: &LinkFinding) -> bool {
        self.findings.contains(&finding.kind)
            && (self.abis.is_empty() || self.abis.contains(&abi))
            && self.cases.iter().any(|pattern| pattern.matches(case))
    }
}
