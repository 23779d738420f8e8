//! The linter's findings as a SARIF log.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::report::{Finding, LintReport};
use crate::sarif;

/// Returns the findings of `program`.
#[must_use]
pub fn sarif(report: &LintReport, program: &str) -> Value {
    let mut rules = BTreeMap::new();
    let mut results = Vec::new();
    for finding in &report.findings {
        let Finding { rule, name, severity, clause, message, offset, function, .. } = finding;
        rules.entry(rule).or_insert_with(|| {
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
        results.push(json!({
            "ruleId": rule,
            "level": severity,
            "message": sarif::message(message),
            "locations": [location],
            "properties": { "offset": offset, "fde": finding.fde, "row": finding.row, "clause": clause },
        }));
    }
    let rules: Vec<Value> = rules.into_values().collect();
    sarif::document(program, &rules, &results, &[], false)
}
