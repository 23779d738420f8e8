//! The linter's findings as a SARIF log.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::report::{Finding, LintReport};
use sframe_kit::conclusion::Ending;
use sframe_kit::sarif;
use sframe_kit::text::counted;

/// A log of what was found in any number of files.
#[derive(Clone, Debug, Default)]
pub struct Log {
    rules: BTreeMap<&'static str, Value>,
    results: Vec<Value>,
    notifications: Vec<Value>,
    files: usize,
}

impl Log {
    /// Adds the findings in a file.
    pub fn add(&mut self, report: &LintReport) {
        self.files += 1;
        if let Some(why) = &report.coverage_unknown {
            let message = sarif::message(&format!("{}: {why}", report.file));
            self.notifications.push(json!({ "level": "error", "message": message }));
        }
        for known in report.known.iter().filter(|known| known.exceeds.is_none()) {
            let message = sarif::message(&format!("{}: {}", known.rule, counted(known.places, "place")));
            let location =
                json!({ "physicalLocation": { "artifactLocation": sarif::artifact(&report.file) } });
            self.results.push(json!({
                "ruleId": known.rule,
                "level": "note",
                "message": message,
                "locations": [location],
                "suppressions": [{ "kind": "external", "justification": known.reason }],
            }));
        }
        for finding in &report.findings {
            let Finding { rule, name, severity, clause, message, offset, function, .. } = finding;
            self.rules.entry(rule).or_insert_with(|| {
                json!({
                    "id": rule,
                    "name": name,
                    "shortDescription": { "text": name },
                    "help": { "text": format!("{clause} of the specification; specs/lints.md has all rules.") },
                    "defaultConfiguration": { "level": severity },
                })
            });
            let mut location = json!({ "physicalLocation": {
                "artifactLocation": sarif::artifact(&report.file),
                "region": { "startLine": 1 },
                "address": { "fullyQualifiedName": format!(".sframe+{offset:#x}"), "kind": "data" },
            } });
            if let Some(function) = function {
                location["logicalLocations"] =
                    json!([{ "name": function, "fullyQualifiedName": function, "kind": "function" }]);
            }
            self.results.push(json!({
                "ruleId": rule,
                "level": severity,
                "message": sarif::message(message),
                "locations": [location],
                "properties": { "offset": offset, "fde": finding.fde, "row": finding.row, "clause": clause },
            }));
        }
    }

    /// Notes that files are left.
    pub fn interrupt(&mut self) {
        let message = sarif::message("interrupted: some files are left");
        self.notifications.push(json!({ "level": "error", "message": message }));
    }

    /// Whether it is about no file.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// Returns the log of `program`, which ends so.
    #[must_use]
    pub fn document(self, program: &str, ending: Ending) -> Value {
        let rules: Vec<Value> = self.rules.into_values().collect();
        let is_broken = !self.notifications.is_empty();
        let mut log = sarif::document(program, &rules, &self.results, &self.notifications, is_broken);
        log["runs"][0]["properties"] = json!({ "verdict": ending });
        log
    }
}
