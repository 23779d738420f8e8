//! Findings of `lint` and `diff` that are known: they need no run, and have no verdict.

use glob::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_engine::RowRules;
use sframe_engine::lint::RULES;
use sframe_inspect::diff::{Field, MISSING_FDE};
use sframe_inspect::known::{Place, Why};
use sframe_inspect::lint::ELF_RULES;
use sframe_judge::vocabulary::suggest::unknown;

use super::de::present;
use super::{NamePattern, RowOffset};

/// A finding of `lint` or `diff` that is known.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("oneOf" = [{ "required": ["fault"] }, { "required": ["reason"] }]))]
#[serde(deny_unknown_fields, expecting = "a known finding, which is a mapping")]
pub struct KnownPlace {
    /// A rule of `lint`, by ID or name; or of `diff` the field that differs, or `missing-fde`.
    pub rule: String,
    /// The file that has it: a pattern, which may be only the end of a path. Without this key: any.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1))]
    pub file: Option<String>,
    /// The function in which it is. Without this key: any.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1))]
    pub function: Option<NamePattern>,
    /// The digest of the function's code, as findings have it. Without this key, `function` means the only one of its name.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 16, max = 16))]
    pub code: Option<String>,
    /// The row, of `diff`: the offset of its start from the beginning of the function. Without this key: any.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RowOffset")]
    pub row: Option<RowOffset>,
    /// The rules of the row of `.sframe`, of `diff`, as it prints them. Without this key: any.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1))]
    pub rules: Option<String>,
    /// At how many places of a file it is at most: findings of `lint`, instructions of `diff`, functions without an FDE.
    /// If there are more, none of them is known.
    #[schemars(range(min = 1))]
    pub places: u64,
    /// The fault of a component that it comes from: the name of a file of `specs/faults`. A difference has to match it. This or
    /// `reason`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1))]
    pub fault: Option<String>,
    /// What is wrong, whose fault it is, and where it is reported. This or `fault`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 20))]
    pub reason: Option<String>,
}

/// A key with a mistake, what is wrong with it, and what helps.
pub(super) type Mistake = (&'static str, String, &'static str);

impl KnownPlace {
    /// What the types can't express, apart from the fault and the reason.
    pub(super) fn mistake(&self, of_lint: bool) -> Option<Mistake> {
        let rules = RULES.iter().chain(ELF_RULES.iter());
        let (kind, names): (_, Vec<&str>) = match of_lint {
            true => ("rule", rules.flat_map(|rule| [rule.id, rule.name]).collect()),
            false => ("field", Field::ALL.map(Field::name).into_iter().chain([MISSING_FDE]).collect()),
        };
        let is_pattern = |file: &String| !file.is_empty() && Pattern::new(file).is_ok();
        if !names.contains(&&*self.rule) {
            Some(("rule", unknown(kind, &self.rule, names), "`lint` and `diff` print it first"))
        } else if self.places == 0 {
            Some(("places", "nothing is at no place".to_owned(), "remove the entry"))
        } else if self.file.as_ref().is_some_and(|file| !is_pattern(file)) {
            Some((
                "file",
                "this is no pattern of a path".to_owned(),
                "give the end of the path, such as `libx.so`",
            ))
        } else if self.rules.as_ref().is_some_and(|rules| of_lint || rules.parse::<RowRules>().is_err()) {
            let help = "of `diff`, as it prints them: `CFA = SP+16, RA = *(CFA-8), FP unchanged`";
            Some(("rules", "these are no rules of a row".to_owned(), help))
        } else if of_lint && self.row.is_some() {
            Some(("row", "findings of `lint` are about no place of code".to_owned(), "remove the key"))
        } else {
            None
        }
    }

    /// Whether a finding in a file is of this kind.
    pub(super) fn is(&self, of_lint: bool, file: &str, finding: &Place<'_>) -> bool {
        let is_file = |pattern: &String| {
            Pattern::new(pattern).is_ok_and(|own| own.matches(file))
                || Pattern::new(&format!("*/{pattern}")).is_ok_and(|own| own.matches(file))
        };
        let is_function = |own: &NamePattern| finding.function.is_some_and(|name| own.matches(name));
        let name = |own: &NamePattern| finding.function.map(|name| own.matches(name));
        let is_its_function = match (finding.code, &self.function) {
            (None, function) => self.code.is_none() && function.as_ref().is_none_or(is_function),
            (Some(code), Some(own)) => code.is_meant(self.code.as_deref(), name(own)),
            (Some(code), None) => self.code.as_deref().is_none_or(|own| own == code.digest),
        };
        let is_row = |own: &RowOffset| finding.row.is_some_and(|row| row.start.0 == own.0);
        // No page says how a finding of `lint` looks.
        let is_fault = |own: &String| {
            of_lint || finding.fault.is_some_and(|fault| fault.split([':', ' ', ',']).next() == Some(own))
        };
        let are_rules = |own: &String| finding.row.is_some_and(|row| own.parse() == Ok(row.rules));
        finding.rule.contains(&&*self.rule)
            && self.file.as_ref().is_none_or(is_file)
            && is_its_function
            && self.row.as_ref().is_none_or(is_row)
            && self.rules.as_ref().is_none_or(are_rules)
            && self.fault.as_ref().is_none_or(is_fault)
    }

    /// Why it is known, as an entry of a list says it. `title` is that of the fault.
    pub(super) fn why(&self, title: Option<&str>, entry: String) -> Why {
        let name = self.fault.as_ref().zip(title).map(|(fault, title)| format!("{fault}: {title}"));
        let reason = name.or_else(|| self.reason.clone()).unwrap_or_default();
        Why { reason, entry: Some((entry, self.places)) }
    }
}
