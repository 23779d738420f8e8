//! The catalogue as a readable page, `specs/lints.md`.

use std::fmt::Write as _;

use super::all_rules;

const HEAD: &str = "\
# Rules of the linter

Written by the linter itself; rewrite it with `UPDATE_LINTS=1 cargo test -p sframe-inspect lints_page`.

`sframe-testbench lint FILE` reports findings of these rules. An **error** breaks the format (exit status 1), a
**warning** is legal, but unwise or read differently by different tools, a **note** is a fact worth knowing.

IDs are stable: one never changes and is never given to another rule, so suppressions and reports can rely on it. Its
first digit stands for the structure; the name is for people. Clauses are numbered as in the specification of version 3.
";

const PARTS: [(&str, &str); 4] = [
    ("SF1", "Preamble and header"),
    ("SF2", "Function descriptor entries"),
    ("SF3", "Frame row entries"),
    ("SF4", "The ELF file around the section"),
];

/// Returns the page: every rule with its severity, versions, clause and summary.
#[must_use]
pub fn page() -> String {
    let mut text = HEAD.to_owned();
    for (prefix, title) in PARTS {
        text += &format!(
            "\n## {title}\n\n| ID | Name | Severity | Versions | Clause | Rule |\n|---|---|---|---|---|---|\n"
        );
        for rule in all_rules().filter(|rule| rule.id.starts_with(prefix)) {
            let clause = rule.clause.title();
            // Writing to a string can't fail.
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {clause} | {} |",
                rule.id, rule.name, rule.severity, rule.versions, rule.summary
            );
        }
    }
    text
}
