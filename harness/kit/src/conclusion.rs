//! The last lines that people read: the verdict in a word, what made it so, and then a fact in each line.

use serde::Serialize;

use crate::text::{Text, demangled};

/// How a command ends, as its last lines begin; of several, the worst one counts, which comes last here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Ending {
    /// All is as expected (exit status 0).
    Pass,
    /// Nothing was judged, or too little to prove anything (3).
    Inconclusive,
    /// Something is wrong (1).
    Fail,
    /// It was stopped (4).
    Interrupted,
    /// The bench could not do its work (4).
    Error,
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Interrupted => "INTERRUPTED",
            Self::Error => "ERROR",
        })
    }
}

/// A document, after how the command ends.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Concluded<D> {
    /// How the command ends, as its last lines begin.
    pub verdict: Ending,
    /// What it has found.
    #[serde(flatten)]
    pub document: D,
}

/// The end of what a command prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// How it ends.
    pub ending: Ending,
    /// What made it so, and then what else there is to say.
    pub facts: Vec<String>,
}

impl Conclusion {
    /// A line for each fact.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        self.show(&mut text);
        text
    }

    /// Adds a line for each fact, and more where one would be too wide.
    pub fn show(&self, text: &mut Text) {
        for (index, fact) in self.facts.iter().enumerate() {
            let begin = if index == 0 { format!("{}: ", self.ending) } else { "    ".to_owned() };
            text.wrap(&begin, &demangled(fact), "      ");
        }
    }

    /// All of it in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("{}: {}", self.ending, self.facts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::WIDTH;

    #[test]
    fn no_line_is_wider_than_it_may_be() {
        let facts = vec!["one fact".to_owned(), "words ".repeat(30), "x".repeat(WIDTH)];
        let text = Conclusion { ending: Ending::Fail, facts }.text().to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "FAIL: one fact");
        assert!(lines[1].starts_with("    words") && lines[2].starts_with("      words"), "{text}");
        // What can't be broken is not.
        assert!(lines[..lines.len() - 1].iter().all(|line| line.len() <= WIDTH), "{text}");
        assert_eq!(lines[lines.len() - 1].trim(), "x".repeat(WIDTH));
    }
}
