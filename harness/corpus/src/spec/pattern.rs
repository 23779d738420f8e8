//! Functions by their names, or by part of them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use glob::Pattern;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use sframe_kit::de::parsed;

/// The name of a function, in which `*` stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    /// As it was given.
    text: String,
    pattern: Pattern,
}

/// Text that is no [`NamePattern`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a function")]
pub struct InvalidPattern(String);

impl NamePattern {
    /// Whether a function has such a name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.pattern.matches(name)
    }
}

impl FromStr for NamePattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        let invalid = || InvalidPattern(text.to_owned());
        if text.trim().is_empty() {
            return Err(invalid());
        }
        // Brackets and question marks stand for themselves.
        let parts: Vec<String> = text.split('*').map(Pattern::escape).collect();
        let pattern = Pattern::new(&parts.join("*")).map_err(|_| invalid())?;
        Ok(Self { text: text.to_owned(), pattern })
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl<'de> Deserialize<'de> for NamePattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, "the name of a function, such as `leaf` or `*@plt`")
    }
}

impl Serialize for NamePattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for NamePattern {
    fn schema_name() -> Cow<'static, str> {
        "NamePattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The name of a function, in which `*` stands for any characters.",
            "type": "string",
            "minLength": 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_letters_and_are_shown_as_they_were_given() {
        for text in ["[", "f[0]", "operator?", "*@plt", "a*[b]"] {
            let pattern: NamePattern = text.parse().expect(text);
            assert_eq!(pattern.to_string(), text);
            assert!(pattern.matches(text));
        }
        let pattern: NamePattern = "f[0]*".parse().expect("a pattern");
        assert!(pattern.matches("f[0].cold") && !pattern.matches("f0"));
    }
}
