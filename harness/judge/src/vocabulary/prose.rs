//! Words for people.

use std::fmt;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sentence for people. It can be shown and written, and not be searched: what it means is said by the
/// types beside it, so that other words never change a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Prose(String);

static REWORDED: OnceLock<fn(&str) -> String> = OnceLock::new();

impl Prose {
    /// Changes all sentences that this process makes from now on, to prove that nothing reads them. The first
    /// call counts.
    pub fn reword(words: fn(&str) -> String) {
        // A second call is ignored.
        let _ = REWORDED.set(words);
    }

    /// Words that were made before, such as those of a document.
    pub(crate) const fn verbatim(text: String) -> Self {
        Self(text)
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Prose {
    fn from(text: String) -> Self {
        match REWORDED.get() {
            Some(words) if !text.is_empty() => Self(words(&text)),
            _ => Self(text),
        }
    }
}

impl From<&str> for Prose {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Display for Prose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
