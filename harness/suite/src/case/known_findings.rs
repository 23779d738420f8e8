//! Writes findings as a file of known findings, for a person to complete.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use sframe_corpus::signs::is_of_its_fault;
use sframe_corpus::spec::{CfaError, Known, KnownFinding, OneOrMany, RowOffset};
use sframe_corpus::yaml;
use sframe_engine::{Abi, Base};
use sframe_judge::finding::{Blame, Finding};
use sframe_judge::vocabulary::{QualifiedName, Verdict};
use sframe_kit::text::neutral;

use crate::case::settle::places;

/// The first line of a file.
const HEAD: &str =
    "# Each empty reason is to be written: what is wrong, whose fault it is, and where it is reported.";

/// A file of known findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownText {
    /// Its text.
    pub text: String,
    /// How many entries need a reason, which a person has to write: until then, the file is refused.
    pub without_reason: u64,
}

/// Returns the text of a file of known findings that has all of `findings` except
/// those that can't be known, which are failures of an unwinder's process, and those that are no failures.
/// What comes from a known bug has an entry of its own: it excuses nothing else that is wrong in the same way there.
/// Faults and reasons are those of `known`, where it has the verdict in the function, and nothing is worse than it says;
/// otherwise the fault is the one that the findings of an entry come from.
///
/// # Errors
/// An entry can't be written as YAML; the message says why.
pub fn known_findings(findings: &[Finding], known: &[Known], abi: Abi) -> Result<KnownText, String> {
    let has_libraries = findings.iter().any(|finding| finding.image.is_some());
    // Code without a name comes last: its entries are for any function of the image.
    let mut entries: BTreeMap<Group, ByFault<'_>> = BTreeMap::new();
    let is_failure =
        |finding: &&Finding| finding.verdict.not_knowable().is_none() && finding.blame != Blame::Format;
    for finding in findings.iter().filter(is_failure) {
        let function = function(finding, has_libraries);
        let code = finding.code.as_ref().map(|code| code.digest.clone()).filter(|digest| !digest.is_empty());
        let row = finding.row.map(|row| RowOffset(row.start.0));
        let key = (finding.function.is_none(), function, code, row, finding.verdict, finding.blame);
        let page = finding.fault.as_ref().filter(|_| finding.blame != Blame::Unknown);
        let fault = page.map(|page| &*page.name);
        entries.entry(key).or_default().entry(fault).or_default().push(finding);
    }
    let is_empty = entries.is_empty() && !known.iter().any(|entry| entry.optional);
    let mut text = format!("{HEAD}\nknown:{}\n", if is_empty { " []" } else { "" });
    let mut without_reason = 0;
    let mut used: BTreeSet<*const Known> = BTreeSet::new();
    let entries = entries.into_iter().flat_map(|((_, function, code, row, verdict, blame), by_fault)| {
        let is_one = by_fault.len() == 1;
        let of_fault = by_fault.into_iter();
        of_fault.map(move |(fault, findings)| {
            (function.clone(), code.clone(), row, verdict, blame, fault, is_one, findings)
        })
    });
    for (function, code, row, verdict, blame, fault, is_one, findings) in entries {
        if let Some(first) = findings.first() {
            let _ = writeln!(text, "  # {}", neutral(&first.message.to_string()));
        }
        let is_of_fault = |entry: &Known| {
            let is_it = || findings.iter().all(|finding| is_of_its_fault(entry, finding, abi));
            entry.fault.as_deref() == fault || is_one && is_it()
        };
        let rules = places(findings.iter().copied(), true);
        // Of a fault, the signs of its page say it.
        let cfa = amounts(&findings);
        let is_no_worse = |entry: &Known| {
            entry.fault.is_some() || allows(entry, &rules, cfa.as_ref()) && has_row(entry, row)
        };
        let is_it = |entry: &Known| {
            let is_of = |finding: &&Finding| is_of(entry, finding);
            findings.iter().all(is_of) && is_of_fault(entry) && is_no_worse(entry)
        };
        let why = explained(known, verdict, blame, is_it);
        used.extend(why.map(std::ptr::from_ref));
        // Of a function without an FDE, a page may know more than triage.
        let is_open = findings.iter().all(|finding| finding.is_without_culprit());
        let blame = why.filter(|_| is_open).map_or(blame, |known| known.blame);
        let (fault, reason) = match (why, fault) {
            (Some(known), _) => (known.fault.clone(), known.reason.clone()),
            (None, Some(fault)) => (Some(fault.to_owned()), None),
            (None, None) => {
                without_reason += 1;
                (None, Some(String::new()))
            }
        };
        let entry = KnownFinding {
            verdict,
            function: Some(function),
            code,
            row: row.map(|row| vec![row].into()),
            rows: None,
            cfa: cfa.filter(|_| reason.is_some()),
            rules: vec![rules].into(),
            fault,
            reason,
            blame,
            optional: why.is_some_and(|known| known.optional),
        };
        for line in yaml::to_string(&[entry])?.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    // What this program need not reach is for others.
    for entry in known.iter().filter(|entry| entry.optional && !used.contains(&std::ptr::from_ref(*entry))) {
        let Some(rules) = entry.rules.clone() else { continue };
        let Known { verdict, blame, optional, .. } = *entry;
        let Known { function, code, row, rows, cfa, fault, reason, .. } = entry.clone();
        let kept =
            KnownFinding { verdict, function, code, row, rows, cfa, rules, fault, reason, blame, optional };
        for line in yaml::to_string(&[kept])?.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    Ok(KnownText { text, without_reason })
}

/// What the findings of an entry have in common: whether the function has no name, its name and code, the row, and what is
/// wrong by whose fault.
type Group = (bool, String, Option<String>, Option<RowOffset>, Verdict, Blame);

/// Findings by the known bug that they come from.
type ByFault<'f> = BTreeMap<Option<&'f str>, Vec<&'f Finding>>;

/// Whether an entry has all of this already: what is more, or wrong by another amount, is another mistake, whose reason a
/// person has to write.
fn allows(entry: &Known, rules: &BTreeMap<String, u64>, cfa: Option<&OneOrMany<CfaError>>) -> bool {
    let has_rules = |known: &BTreeMap<String, u64>| {
        rules.iter().all(|(rules, places)| known.get(rules).is_some_and(|known| places <= known))
    };
    let has_amounts = |known: &OneOrMany<CfaError>| {
        cfa.is_some_and(|cfa| cfa.iter().all(|seen| known.iter().any(|known| known.includes(*seen))))
    };
    entry.any_rules
        || entry.rules.iter().flatten().any(has_rules) && entry.cfa.as_ref().is_none_or(has_amounts)
}

/// Whether an entry has a row.
fn has_row(entry: &Known, row: Option<RowOffset>) -> bool {
    let is_in = |known: &OneOrMany<RowOffset>| row.is_some_and(|row| known.iter().any(|known| *known == row));
    [&entry.row, &entry.rows].into_iter().all(|known| known.as_ref().is_none_or(is_in))
}

/// How wrong the CFA is in rows that compute it from SP, if all are such: where they are, that does not depend on what
/// is in registers and memory.
fn amounts(findings: &[&Finding]) -> Option<OneOrMany<CfaError>> {
    let is_of_sp = |finding: &&&Finding| {
        let cfa = finding.row.as_ref().and_then(|row| row.rules.cfa);
        cfa.is_some_and(|rule| rule.base == Base::Sp && !rule.dereference)
    };
    let amounts = findings.iter().map(|finding| CfaError::of(finding).filter(|_| is_of_sp(&finding)));
    let amounts: BTreeSet<CfaError> = amounts.collect::<Option<_>>()?;
    Some(Vec::from_iter(amounts).into())
}

/// The name of a finding's function, or of its image.
fn function(finding: &Finding, has_libraries: bool) -> String {
    let function = finding.function.as_deref().unwrap_or_default();
    match &finding.image {
        Some(image) => format!("{image}!{function}"),
        None if has_libraries || function.is_empty() => format!("!{function}"),
        None => function.to_owned(),
    }
}

/// Whether an entry is about the function of a finding. One that names it without its code means the only one of the name.
fn is_of(entry: &Known, finding: &Finding) -> bool {
    let names_it =
        entry.function.as_ref().is_some_and(|name| !QualifiedName::parse(name).function.is_empty());
    let is_ambiguous = finding.code.as_ref().is_some_and(|code| finding.function.is_none() || !code.is_only);
    entry.is_about(finding) && !(entry.code.is_none() && names_it && is_ambiguous)
}

fn explained(
    known: &[Known],
    verdict: Verdict,
    blame: Blame,
    is_of: impl Fn(&Known) -> bool,
) -> Option<&Known> {
    let is_it = |entry: &&Known| entry.verdict == verdict && is_of(entry);
    let same = known.iter().filter(is_it).find(|entry| entry.blame == blame);
    same.or_else(|| known.iter().find(is_it))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use sframe_corpus::spec::KnownFile;
    use sframe_corpus::yaml::Source;

    /// Names come from the files under test.
    #[test]
    fn any_name_is_read_back_as_it_was() {
        let names = [
            "f",
            "",
            "a: b",
            "- x",
            "'\"",
            "#",
            "x # y",
            "\n  - verdict: agree",
            "\u{85}\u{2028}\t",
            "0x10",
            "null",
            "~",
        ];
        let finding = |name: &str| {
            let message = format!("{name}: CFA is 0x8");
            let finding = Finding::of_spec(Verdict::WrongCfa, String::new(), String::new(), message);
            Finding { function: Some(name.to_owned()), image: Some(format!("{name}.so")), ..finding }
        };
        let findings: Vec<Finding> = names.map(finding).into();
        let KnownText { text, without_reason } = known_findings(&findings, &[], Abi::Amd64).expect("YAML");
        assert_eq!(without_reason, names.len() as u64);
        let text = text.replace("reason: ''", "reason: a reason of some length");
        let file = KnownFile::from_source(Source::new(Path::new("known.yaml"), &text));
        let file = file.unwrap_or_else(|errors| panic!("{text}\n{}", errors[0].render(false)));
        assert_eq!(file.known().len(), names.len());
        for finding in &findings {
            let is_it = |known: &&Known| known.is_in(finding.image.as_deref(), finding.function.as_deref());
            assert_eq!(file.known().iter().filter(is_it).count(), 1, "{finding:?}");
        }
    }

    #[test]
    fn entries_for_any_function_come_last() {
        let finding = |image: Option<&str>, function: Option<&str>| {
            let finding = Finding::of_spec(Verdict::WrongRa, String::new(), String::new(), String::new());
            Finding { image: image.map(str::to_owned), function: function.map(str::to_owned), ..finding }
        };
        let findings = [finding(None, None), finding(None, Some("f")), finding(Some("x.so"), None)];
        let text = known_findings(&findings, &[], Abi::Amd64).expect("YAML").text;
        let functions: Vec<&str> =
            text.lines().filter_map(|line| line.trim().strip_prefix("function: ")).collect();
        assert_eq!(functions, ["'!f'", "'!'", "x.so!"]);
    }
}
