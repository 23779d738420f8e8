//! `explain`: what names in reports mean.

use clap::Args;
use sframe_inspect::command::{Failure, Status, print, print_json};
use sframe_kit::text::{Text, wrapped};

use super::options::pages;
use crate::explain::{Explanation, explain, explanations, of_faults};

#[derive(Args)]
pub(super) struct Explain {
    /// A verdict, blame, end, hazard, outcome, lint rule, known bug or any other name in a report. Without it,
    /// all are listed.
    name: Vec<String>,
    /// Print the explanations as JSON.
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(super) fn execute(&self) -> Result<Status, Failure> {
        let pages = of_faults(&pages(None)?);
        let found: Vec<Explanation> = if self.name.is_empty() {
            explanations().into_iter().chain(pages).collect()
        } else {
            let (mut found, mut errors) = (Vec::new(), Text::default());
            for name in &self.name {
                match explain(name, pages.clone()) {
                    Ok(explained) => found.extend(explained),
                    Err(message) => {
                        let all =
                            if message.ends_with('?') { "" } else { "; `explain` alone lists all names" };
                        errors.line(format_args!("error: {message}{all}"));
                    }
                }
            }
            if !errors.is_empty() {
                return Err(Failure::unusable_text(errors));
            }
            found
        };
        if self.json {
            print_json(&serde_json::json!({ "explanations": found }))?;
        } else if self.name.is_empty() {
            print(&list(&found))?;
        } else {
            print(&in_full(&found))?;
        }
        Ok(Status::AsExpected)
    }
}

/// Each with all that there is.
fn in_full(all: &[Explanation]) -> Text {
    let mut text = Text::default();
    for (index, Explanation { name, kind, meaning, rule, see }) in all.iter().enumerate() {
        if index > 0 {
            text.blank();
        }
        text.line(format!("{name} ({kind})"));
        text.quote("    ", &wrapped(meaning, 92));
        if let Some(rule) = rule {
            text.line(format!("    {}, {} in versions {}", rule.name, rule.severity, rule.versions));
            text.line(format!("    clause: {}", rule.clause));
        }
        text.line(format!("    more: {see}"));
    }
    text
}

/// A line each.
fn list(all: &[Explanation]) -> Text {
    let mut text = Text::default();
    let mut before = "";
    for Explanation { name, kind, meaning, .. } in all {
        if *kind != before {
            if !before.is_empty() {
                text.blank();
            }
            text.line(kind);
            before = kind;
        }
        let first = meaning.split_once(". ").map_or(meaning.as_str(), |(first, _)| first);
        text.line(format!("    {name:<26} {}", first.trim_end_matches('.')));
    }
    text
}
