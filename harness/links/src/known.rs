//! What is known to be wrong of a linker, by cause.

use std::collections::{BTreeMap, BTreeSet};

use glob::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use sframe_engine::Abi;

use crate::judge::{LinkFault, LinkFinding};
use crate::result::{LinkOutcome, LinkResult};

/// Findings that have one cause. Each kind has to be found in each case with each ABI, as far as these are judged; of a
/// pattern of several cases, in one of them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownLink {
    /// The cases, by patterns of their names.
    #[serde(deserialize_with = "patterns")]
    #[schemars(with = "Vec<String>")]
    pub cases: Vec<Pattern>,
    /// The kinds of findings, each with what they name: functions, sections of linker-made code, or what is said of
    /// a crash, a refusal, a header or a section that can't be read, by patterns. Where rows are wrong, a pattern is of the
    /// function, `: ` and what the section says; of the linter, it is of the rule, `: ` and what the linter says. None for a kind that names nothing.
    #[serde(deserialize_with = "named_patterns")]
    #[schemars(with = "BTreeMap<LinkFault, Vec<String>>")]
    pub findings: BTreeMap<LinkFault, Vec<Pattern>>,
    /// The ABIs; all if left out.
    #[serde(default)]
    pub abis: Vec<Abi>,
    /// Whether not every run shows it, as what is read from outside of a section. It has to be found somewhere, and not in
    /// each case.
    #[serde(default)]
    pub sometimes: bool,
    /// The page about it, in `specs/faults` or `corpus/links/faults`.
    pub fault: String,
    /// What is wrong, by that page, and its name.
    #[serde(skip)]
    pub why: String,
}

pub(super) fn patterns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Pattern>, D::Error> {
    of_texts(Vec::<String>::deserialize(deserializer)?)
}

fn named_patterns<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<LinkFault, Vec<Pattern>>, D::Error> {
    let kinds = BTreeMap::<LinkFault, Vec<String>>::deserialize(deserializer)?;
    kinds.into_iter().map(|(kind, texts)| Ok((kind, of_texts(texts)?))).collect()
}

pub(super) fn of_texts<E: de::Error>(texts: Vec<String>) -> Result<Vec<Pattern>, E> {
    texts.iter().map(|text| Pattern::new(text).map_err(E::custom)).collect()
}

impl KnownLink {
    /// Whether a finding is of this cause: all that it names is, or neither names anything.
    #[must_use]
    pub fn has(&self, case: &str, abi: Abi, finding: &LinkFinding) -> bool {
        let Some(patterns) = self.findings.get(&finding.kind) else { return false };
        let names: Vec<String> = finding.names().collect();
        names.is_empty() == patterns.is_empty()
            && names.iter().all(|name| patterns.iter().any(|pattern| pattern.matches(name)))
            && self.has_abi(abi)
            && self.cases.iter().any(|pattern| pattern.matches(case))
    }

    fn has_abi(&self, abi: Abi) -> bool {
        self.abis.is_empty() || self.abis.contains(&abi)
    }

    /// The first entry that a finding is of.
    pub(super) fn of<'k>(known: &'k [Self], result: &LinkResult, finding: &LinkFinding) -> Option<&'k Self> {
        known.iter().find(|known| known.has(&result.case, result.abi, finding))
    }

    /// What is known and was not found, in words. `is_whole` says that all cases were tried.
    pub(super) fn unfound(known: &[Self], results: &[LinkResult], is_whole: bool) -> Vec<String> {
        let unfound = known.iter().filter_map(|entry| {
            let is_its = |result: &&LinkResult| {
                entry.has_abi(result.abi) && result.outcome != LinkOutcome::Unsupported
            };
            let judged: Vec<&LinkResult> = results.iter().filter(is_its).collect();
            let is_found = |result: &LinkResult, kind: LinkFault| {
                let of_kind = result.findings.iter().filter(|finding| finding.kind == kind);
                of_kind
                    .filter_map(|finding| Self::of(known, result, finding))
                    .any(|of| std::ptr::eq(of, entry))
            };
            if entry.sometimes {
                let mut kinds = entry.findings.keys();
                let is_found = kinds.any(|kind| judged.iter().any(|result| is_found(result, *kind)));
                return (is_whole && !is_found).then(|| entry.why.clone());
            }
            let mut missing: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
            for pattern in &entry.cases {
                let of_pattern: Vec<_> =
                    judged.iter().filter(|result| pattern.matches(&result.case)).collect();
                let missing = missing.entry(pattern.as_str()).or_default();
                if of_pattern.is_empty() && is_whole {
                    missing.insert("not checked".to_owned());
                }
                let is_one_case = Pattern::escape(pattern.as_str()) == pattern.as_str();
                for kind in entry.findings.keys() {
                    if is_one_case {
                        let without = of_pattern.iter().filter(|result| !is_found(result, *kind));
                        missing.extend(without.map(|result| format!("{kind} on {}", result.abi)));
                    } else if is_whole && !of_pattern.iter().any(|result| is_found(result, *kind)) {
                        missing.insert(kind.to_string());
                    }
                }
            }
            missing.retain(|_, missing| !missing.is_empty());
            let of_names =
                entry.findings.iter().flat_map(|(kind, names)| names.iter().map(move |name| (kind, name)));
            let unfound = of_names.filter(|(kind, name)| {
                let findings = judged.iter().flat_map(|result| {
                    result.findings.iter().filter(|finding| entry.has(&result.case, result.abi, finding))
                });
                let names = findings.filter(|finding| finding.kind == **kind).flat_map(LinkFinding::names);
                is_whole && names.into_iter().all(|own| !name.matches(&own))
            });
            let unfound: Vec<String> = unfound.map(|(kind, name)| format!("{kind} of {name}")).collect();
            let list = |(case, missing): (&str, BTreeSet<String>)| {
                format!("{case} ({})", missing.into_iter().collect::<Vec<_>>().join(", "))
            };
            let list: Vec<String> = missing.into_iter().map(list).chain(unfound).collect();
            (!list.is_empty()).then(|| format!("{}: {}", list.join(", "), entry.why))
        });
        unfound.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(case: &str, findings: &[LinkFault]) -> KnownLink {
        KnownLink {
            cases: vec![Pattern::new(case).expect("a pattern")],
            findings: findings.iter().map(|kind| (*kind, Vec::new())).collect(),
            abis: Vec::new(),
            sometimes: false,
            why: "why".to_owned(),
            fault: "fault".to_owned(),
        }
    }

    fn result(case: &str, abi: Abi, kinds: &[LinkFault]) -> LinkResult {
        let finding = |kind: &LinkFault| LinkFinding::new(*kind, Vec::new(), "wrong");
        LinkResult {
            case: case.to_owned(),
            abi,
            sframe_version: 3,
            output_version: None,
            outcome: LinkOutcome::Known,
            findings: kinds.iter().map(finding).collect(),
            known: Vec::new(),
            reason: None,
            commands: Vec::new(),
            objects: Vec::new(),
            said: String::new(),
        }
    }

    /// Nothing but what it names is excused: another function, another rule of the linter, and another word of it are of no
    /// known cause.
    #[test]
    fn what_is_known_excuses_what_it_names() {
        let pattern = |text| Pattern::new(text).expect("a pattern");
        let entry = KnownLink {
            findings: [
                (LinkFault::MissingFde, vec![pattern("two"), pattern("many_*")]),
                (LinkFault::Lint, vec![pattern("segment-longer: 6? bytes")]),
            ]
            .into(),
            ..known("comdat", &[])
        };
        let missing = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            LinkFinding::new(LinkFault::MissingFde, names, "missing")
        };
        let lint = |rule, says: &str| LinkFinding::of_rule(rule, says.to_owned(), "wrong");
        let is_known = |finding| entry.has("comdat", Abi::Amd64, &finding);
        assert!(is_known(missing(&["two", "many_1"])) && is_known(lint("segment-longer", "62 bytes")));
        assert!(!is_known(missing(&["two", "main"])) && !is_known(lint("magic", "62 bytes")));
        assert!(!is_known(lint("segment-longer", "4096 bytes")));
        // What names nothing is nothing of what an entry names, as a program that can't be run at all.
        assert!(!is_known(missing(&[])));
        // Where rows are wrong, so is another wrong row.
        let entry_of = |text| KnownLink {
            findings: [(LinkFault::WrongRows, vec![pattern(text)])].into(),
            ..known("comdat", &[])
        };
        let says = |says: &str| {
            let (says, message) = (says.to_owned(), "wrong".to_owned());
            LinkFinding::of_rows(LinkFault::WrongRows, "two".to_owned(), says, message)
        };
        let has = |text, said| entry_of(text).has("comdat", Abi::Amd64, &says(said));
        assert!(has("two: CFA = SP+8*", "CFA = SP+8, RA = *(CFA-8)") && has("two: *", "no row"));
        assert!(!has("two: CFA = SP+8*", "CFA = SP+16, RA = *(CFA-8)") && !has("two", "no row"));
        // Nor does one crash, refusal or header excuse another.
        let crash = |says: &str| {
            let (says, message) = (says.to_owned(), "crashed".to_owned());
            LinkFinding::of_file(LinkFault::Crashed, says, message)
        };
        let of_crash = KnownLink {
            findings: [(LinkFault::Crashed, vec![pattern("*assertion fail *elf-sframe.c:*")])].into(),
            ..known("comdat", &[])
        };
        let excused = |said| of_crash.has("comdat", Abi::Amd64, &crash(said));
        assert!(excused("ld: BFD 2.40 assertion fail ../../bfd/elf-sframe.c:134"));
        assert!(
            !excused("ld: BFD 2.40 assertion fail ../../bfd/elflink.c:9") && !excused("signal: 11 (SIGSEGV)")
        );
        // What it names has to be found, too.
        let mut found = result("comdat", Abi::Amd64, &[]);
        found.findings = vec![missing(&["two"]), lint("segment-longer", "62 bytes")];
        let entry = std::slice::from_ref(&entry);
        assert_eq!(KnownLink::unfound(entry, &[found.clone()], true), ["missing-fde of many_*: why"]);
        found.findings = vec![missing(&["two", "many_2"]), lint("segment-longer", "62 bytes")];
        assert_eq!(KnownLink::unfound(entry, &[found], true), Vec::<String>::new());
    }

    #[test]
    fn what_is_known_is_found_in_each_case_with_each_abi_by_each_kind() {
        let entry = [known("comdat", &[LinkFault::MissingFde, LinkFault::Lint])];
        let both = [LinkFault::MissingFde, LinkFault::Lint];
        let results =
            [result("comdat", Abi::Amd64, &both), result("comdat", Abi::S390x, &[LinkFault::MissingFde])];
        assert_eq!(KnownLink::unfound(&entry, &results[..1], false), Vec::<String>::new());
        assert_eq!(KnownLink::unfound(&entry, &results, false), ["comdat (lint on s390x): why"]);
        assert_eq!(KnownLink::unfound(&entry, &[], true), ["comdat (not checked): why"]);
        assert_eq!(KnownLink::unfound(&entry, &[], false), Vec::<String>::new());
    }

    #[test]
    fn what_is_known_of_several_cases_is_found_in_one_of_them() {
        let entry = [known("gc_*", &[LinkFault::NoSection])];
        let results = [
            result("gc_sections", Abi::Amd64, &[LinkFault::NoSection]),
            result("gc_comdat", Abi::Amd64, &[]),
        ];
        assert_eq!(KnownLink::unfound(&entry, &results, true), Vec::<String>::new());
        assert_eq!(KnownLink::unfound(&entry, &results[1..], true), ["gc_* (no-section): why"]);
        // Not all cases were tried.
        assert_eq!(KnownLink::unfound(&entry, &results[1..], false), Vec::<String>::new());
    }

    #[test]
    fn an_entry_behind_one_that_has_all_its_findings_is_not_found() {
        let entries = [known("*", &[LinkFault::NoSection]), known("gc_sections", &[LinkFault::NoSection])];
        let results = [result("gc_sections", Abi::Amd64, &[LinkFault::NoSection])];
        assert_eq!(KnownLink::unfound(&entries, &results, true), ["gc_sections (no-section on amd64): why"]);
    }

    #[test]
    fn what_is_shown_sometimes_is_found_somewhere() {
        let entry = [KnownLink { sometimes: true, ..known("garbage_*", &[LinkFault::Crashed]) }];
        let crashed = result("garbage_count", Abi::Amd64, &[LinkFault::Crashed]);
        let right = result("garbage_version", Abi::Amd64, &[]);
        assert_eq!(KnownLink::unfound(&entry, &[crashed, right.clone()], true), Vec::<String>::new());
        assert_eq!(KnownLink::unfound(&entry, &[right], true), ["why"]);
    }
}
