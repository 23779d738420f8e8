//! What each name in reports means: verdicts, outcomes, blame, rules and all others.
//!
//! The texts are the documentation of the enumerations that the names are values of, and the catalogues of
//! lint rules. Nothing is written twice.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use sframe_corpus::spec::{Fault, Faults};
use sframe_elf::kernel::FormKind;
use sframe_engine::lint::{RULES, Rule};
use sframe_inspect::diff::{Field, Reason};
use sframe_inspect::hazard::HazardKind;
use sframe_inspect::lint::ELF_RULES;
use sframe_judge::calls::ExclusionReason;
use sframe_judge::examine::WalkEnds;
use sframe_judge::examine::coverage::{Explored, UnexercisedRow};
use sframe_judge::explore::{Certainty, Doubt, Undecided};
use sframe_judge::finding::{Blame, Confidence, Side, Witness};
use sframe_judge::target::Origin;
use sframe_judge::vocabulary::suggest::closest;
use sframe_judge::vocabulary::{End, Feature, Reliability, Topmost, Trace, Verdict};
use sframe_kit::conclusion::Ending;
use sframe_links::{LinkFault, LinkOutcome};
use sframe_search::mutate::Operator;
use sframe_suite::case::Outcome;
use sframe_suite::matrix::{MadeAs, Standing};
use sframe_suite::meanings::meanings;
use sframe_suite::report::{CheckReport, MISSING_FDE, MISSING_FDE_MEANS, NoResult};

/// A name, and what it means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Explanation {
    /// The name, as reports have it.
    pub name: String,
    /// What kind of name it is: `verdict`, `lint rule` and so on.
    pub kind: &'static str,
    /// What it means, in sentences.
    pub meaning: String,
    /// Of lint rules: their severity, the versions of the format that they apply to, and the clause of the
    /// specification that they follow from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleDetails>,
    /// The file of the repository that says more.
    pub see: Cow<'static, str>,
}

/// What a lint rule has beside its meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RuleDetails {
    /// The rule's name in words; the ID is the name of the explanation.
    pub name: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// The versions of the format, such as `1-3`.
    pub versions: String,
    /// The clause of the specification, by number (of version 3) and title.
    pub clause: &'static str,
}

/// All names, by kind in the order in which somebody meets them.
#[must_use]
pub(crate) fn explanations() -> Vec<Explanation> {
    const VERDICTS: &str = "harness/guide/verdicts.md";
    const EXPLORE: &str = "harness/guide/explore.md";
    const REPORTS: &str = "harness/guide/reports.md";
    const CHECK: &str = "harness/guide/check.md";
    const DIFF: &str = "harness/guide/lint-diff.md";
    const MATRIX: &str = "harness/guide/matrix.md";
    let of_files = Explanation {
        name: MISSING_FDE.to_owned(),
        kind: "finding of check and diff about a file",
        meaning: MISSING_FDE_MEANS.to_owned(),
        rule: None,
        see: VERDICTS.into(),
    };
    let mut ends = names::<WalkEnds>("number of walks that end so", VERDICTS);
    ends.retain(|end| end.name.replace('_', "-").parse::<End>().is_err());
    let kinds = [
        names::<Ending>("result of a command", VERDICTS),
        names::<Verdict>("verdict", VERDICTS),
        names::<Blame>("blame", VERDICTS),
        names::<Confidence>("confidence", VERDICTS),
        names::<Witness>("witness", CHECK),
        names::<Side>("side that a witness agrees with", CHECK),
        names::<End>("end of a walk", VERDICTS),
        ends,
        names::<Reliability>("how reliable a walk is", VERDICTS),
        names::<Topmost>("what the topmost frame of a walk was in", VERDICTS),
        names::<HazardKind>("hazard", VERDICTS),
        names::<Outcome>("outcome of a case", VERDICTS),
        names::<NoResult>("why a file has no result", VERDICTS),
        vec![of_files],
        names::<Field>("field that diff compares", DIFF),
        names::<Reason>("why diff expects no FDE", DIFF),
        names::<Origin>("origin of a section", REPORTS),
        names::<Certainty>("certainty of a finding of explore", EXPLORE),
        names::<Doubt>("doubt of explore", EXPLORE),
        names::<Undecided>("reason of explore not to judge a row", EXPLORE),
        names::<Explored>("what exploring says of a row that did not run", REPORTS),
        names::<FormKind>("form of a kernel's code", "harness/guide/kernel.md"),
        names::<Feature>("way to transfer control", "specs/README.md"),
        names::<Trace>("trace that the call stack is compared with", "specs/README.md"),
        names::<LinkFault>("finding of links", "harness/guide/linker.md"),
        names::<LinkOutcome>("outcome of a case of links", "harness/guide/linker.md"),
        names::<Operator>("operator of mutate", ".github/CONTRIBUTING.md"),
        names::<Standing>("result of a case of matrix", MATRIX),
        names::<MadeAs>("result of making a build", MATRIX),
        names::<ExclusionReason>("reason to set a comparison aside", VERDICTS),
        field::<CheckReport>("excluded", "comparisons of check", VERDICTS),
        field::<UnexercisedRow>("explored", "line about a row that did not run", REPORTS),
    ];
    let rules = RULES.iter().chain(ELF_RULES).map(|rule| of_rule(rule));
    kinds.into_iter().flatten().chain(rules).collect()
}

fn names<T: JsonSchema>(kind: &'static str, see: &'static str) -> Vec<Explanation> {
    let all = meanings::<T>().into_iter();
    all.map(|(name, meaning)| Explanation { name, kind, meaning, rule: None, see: see.into() }).collect()
}

/// A field of a document, by which the text of a report is headed as well.
fn field<T: JsonSchema>(name: &str, kind: &'static str, see: &'static str) -> Vec<Explanation> {
    names::<T>(kind, see).into_iter().filter(|field| field.name == name).collect()
}

fn of_rule(rule: &Rule) -> Explanation {
    Explanation {
        name: rule.id.to_owned(),
        kind: "lint rule",
        meaning: rule.summary.to_owned(),
        rule: Some(RuleDetails {
            name: rule.name,
            severity: rule.severity.name(),
            versions: rule.versions.to_string(),
            clause: rule.clause.title(),
        }),
        see: "specs/lints.md".into(),
    }
}

/// The names of the pages of known bugs.
#[must_use]
pub(crate) fn of_faults(faults: &Faults) -> Vec<Explanation> {
    let of_page = |(name, fault, _): (&str, &Fault, _)| Explanation {
        name: name.to_owned(),
        kind: "known bug",
        meaning: format!(
            "{}. `sframe-testbench faults {name}` shows it, in {}.",
            fault.title, fault.component
        ),
        rule: None,
        see: format!("specs/faults/{name}.yaml").into(),
    };
    faults.iter().map(of_page).collect()
}

/// Returns what a name means, of these and the `others`; several explanations, if it has several meanings. Rules are
/// found by ID and by name. Case, and the kind of separator, do not matter.
///
/// # Errors
/// There is no such name; the message says which was probably meant.
pub(crate) fn explain(name: &str, others: Vec<Explanation>) -> Result<Vec<Explanation>, String> {
    let plain = |name: &str| name.to_lowercase().replace(['_', ' '], "-");
    let all: Vec<Explanation> = explanations().into_iter().chain(others).collect();
    let is_meant = |it: &&Explanation| {
        plain(&it.name) == plain(name) || it.rule.as_ref().is_some_and(|rule| rule.name == plain(name))
    };
    let found: Vec<Explanation> = all.iter().filter(is_meant).cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let known = all
        .iter()
        .flat_map(|it| std::iter::once(it.name.as_str()).chain(it.rule.as_ref().map(|rule| rule.name)));
    let hint = closest(name, known).map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
    Err(format!("nothing is called `{name}`{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// A new value without documentation is noticed here.
    #[test]
    fn every_value_of_each_kind_is_explained() {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for Explanation { name, kind, meaning, see, .. } in explanations() {
            *kinds.entry(kind).or_default() += 1;
            let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&*see);
            assert!(page.is_file(), "{kind} {name}: {see}");
            assert!(meaning.len() > 5 && meaning.ends_with('.'), "{kind} {name}: {meaning}");
        }
        let expected = [
            ("verdict", Verdict::ALL.len()),
            ("blame", Blame::ALL.len()),
            ("how reliable a walk is", Reliability::ALL.len()),
            ("what the topmost frame of a walk was in", Topmost::ALL.len()),
            ("why a file has no result", NoResult::ALL.len()),
            ("end of a walk", End::ALL.len()),
            ("hazard", HazardKind::ALL.len()),
            ("outcome of a case", Outcome::ALL.len()),
            ("doubt of explore", Doubt::ALL.len()),
            ("reason of explore not to judge a row", Undecided::ALL.len()),
            ("way to transfer control", Feature::ALL.len()),
            ("trace that the call stack is compared with", Trace::ALL.len()),
            ("operator of mutate", Operator::ALL.len()),
            ("finding of links", LinkFault::ALL.len()),
            ("outcome of a case of links", LinkOutcome::ALL.len()),
            ("lint rule", RULES.len() + ELF_RULES.len()),
        ];
        for (kind, count) in expected {
            assert_eq!(kinds.get(kind), Some(&count), "{kind}");
        }
        assert_eq!(kinds.len(), 33, "{kinds:?}");
    }

    #[test]
    fn names_are_found_as_people_write_them() {
        let explain = |name: &str| explain(name, Vec::new());
        let kinds =
            |name: &str| explain(name).map(|found| found.iter().map(|it| it.kind).collect::<Vec<_>>());
        assert_eq!(kinds("leaves-with-fp"), Ok(vec!["reason to set a comparison aside"]));
        assert_eq!(kinds("wrong_CFA"), Ok(vec!["verdict"]));
        assert_eq!(kinds("no-fde"), Ok(vec!["verdict", "end of a walk", "field that diff compares"]));
        let of_missing = vec!["finding of check and diff about a file", "finding of links", "lint rule"];
        assert_eq!(kinds("missing-fde"), Ok(of_missing), "whoever prints it");
        for (name, kind) in [
            ("complete", "how reliable a walk is"),
            ("unsettled", "number of walks that end so"),
            ("entry-without-fde", "number of walks that end so"),
            ("prologue", "what the topmost frame of a walk was in"),
            ("plt", "what the topmost frame of a walk was in"),
            ("no-row", "what the topmost frame of a walk was in"),
            ("nothing compared", "why a file has no result"),
            ("excluded", "comparisons of check"),
            ("explored", "line about a row that did not run"),
            ("worse", "result of a case of matrix"),
            ("same", "result of a case of matrix"),
            ("refused", "result of making a build"),
            ("ra-signature", "field that diff compares"),
            ("cfa-register", "why diff expects no FDE"),
            ("eh-frame", "origin of a section"),
            ("static-calls", "form of a kernel's code"),
        ] {
            assert!(kinds(name).is_ok_and(|all| all.contains(&kind)), "{name}: {:?}", kinds(name));
        }
        assert_eq!(kinds("sf402"), Ok(vec!["lint rule"]));
        assert_eq!(explain("abi-mismatch"), explain("SF402"));
        assert_eq!(
            kinds("wrong-cfo"),
            Err("nothing is called `wrong-cfo`; did you mean `wrong-cfa`?".into())
        );
        assert_eq!(kinds("quite something else"), Err("nothing is called `quite something else`".into()));
    }
}
