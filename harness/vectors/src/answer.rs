//! The answers of a reader.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::expect::{Fde, Header, Lookup, Reject};
use crate::step::{Caller, End};

/// The parts of the answer to `section`, other than rejections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SectionPart {
    /// The header.
    Header,
    /// Functions and rows.
    Fdes,
    /// The function and row for a PC.
    Lookups,
    /// Steps from a frame to its caller.
    Steps,
}

/// The answer to [`SectionQuestion`](crate::SectionQuestion): a rejection of the whole section, or the
/// parts that the unwinder has promised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SectionAnswer {
    /// Why it can't be opened. Then there are no other fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reject: Option<Reject>,
    /// Its header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Header>,
    /// Its functions, in the order of the section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fdes: Option<Vec<Fde>>,
    /// The result of each look-up, in the order of the questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookups: Option<Vec<Lookup>>,
    /// The result of each step, in the order of the questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<StepAnswer>>,
    /// What the reader says about its steps, by index.
    #[serde(skip)]
    pub said: BTreeMap<usize, String>,
}

impl SectionAnswer {
    /// Gives look-ups that are answered by rules the positions that another answer has, where its row has these rules.
    #[must_use]
    pub fn located_as(&self, other: &Self) -> Self {
        let mut located = self.clone();
        let rows = other.fdes.as_deref().unwrap_or_default();
        for (own, other) in located.lookups.iter_mut().flatten().zip(other.lookups.iter().flatten()) {
            if other.answer.has_rules_of(&own.answer, rows) {
                own.answer = other.answer.clone();
            }
        }
        located
    }
}

/// The result of a step: a caller, or an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(transform = with_message))]
pub struct StepAnswer {
    /// The caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Caller>,
    /// Why there is no caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// What a reader says about a step belongs to its answer, and is compared with nothing.
#[cfg(feature = "schema")]
fn with_message(schema: &mut schemars::Schema) {
    if let Some(properties) = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut) {
        let description = "What the reader says about it, for findings.";
        let message = serde_json::json!({ "type": ["string", "null"], "description": description });
        properties.insert("message".to_owned(), message);
    }
}
