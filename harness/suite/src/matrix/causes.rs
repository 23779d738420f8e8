//! What seems to be one cause, of all that is worse than with the reference.

use std::collections::{BTreeMap, BTreeSet};

use sframe_corpus::spec::Blame;
use sframe_engine::Abi;
use sframe_judge::finding::Finding;
use sframe_judge::vocabulary::Verdict;
use sframe_kit::text::counted;

use super::compare::{Comparison, Kind, KindDetail, Standing, kind_of};
use super::text::{Group, groups};

/// The most places of a cause that are listed.
pub(super) const PLACES: usize = 6;

/// Kinds of findings that seem to have one cause.
pub(super) struct Cause<'r> {
    /// The first of them.
    pub(super) detail: &'r KindDetail,
    /// The command that reproduces it.
    pub(super) reproduce: Option<&'r str>,
    /// Where it is: spec, ABI and kind, and the variants with their rows.
    pub(super) places: Vec<(&'r str, Abi, &'r Kind, String)>,
    /// The verdicts of kinds that follow from it, and how many there are.
    pub(super) follows: BTreeMap<&'r str, u64>,
    /// What the pages say that describe it.
    pages: BTreeSet<&'r str>,
}

/// The causes of what is worse, without broken cases. In a build of which a whole section can't be decoded,
/// code without an FDE and other ends of backtraces are not counted by themselves.
pub(super) fn causes<'r>(cases: impl Iterator<Item = &'r Comparison> + Clone) -> Vec<Cause<'r>> {
    let judged = cases.filter(|case| case.standing != Standing::Broken);
    let undecoded: BTreeSet<(&str, Abi)> = judged
        .clone()
        .filter(|case| case.worse.iter().any(is_of_section))
        .map(|case| (spec_of(case), case.abi))
        .collect();
    let mut causes: BTreeMap<(Blame, &str, String), Cause<'r>> = BTreeMap::new();
    let mut following: Vec<(&str, Abi, &Kind)> = Vec::new();
    for ((spec, abi, kind), group) in groups(judged, |case| &case.worse) {
        if undecoded.contains(&(spec, abi)) && follows(kind, &group) {
            following.push((spec, abi, kind));
            continue;
        }
        let detail = group.detail;
        let key = (detail.blame, kind.verdict.as_str(), shape(kind, &detail.message));
        let cause = causes.entry(key).or_insert_with(|| Cause {
            detail,
            reproduce: group.reproduce,
            places: Vec::new(),
            follows: BTreeMap::new(),
            pages: BTreeSet::new(),
        });
        cause.pages.extend(detail.page.as_deref());
        cause.places.push((spec, abi, kind, group.places()));
    }
    let mut causes: Vec<Cause<'r>> = causes.into_values().collect();
    for (spec, abi, kind) in following {
        let of_section = |cause: &&mut Cause<'r>| {
            is_of_section(cause.detail) && cause.places.iter().any(|place| (place.0, place.1) == (spec, abi))
        };
        if let Some(cause) = causes.iter_mut().find(of_section) {
            *cause.follows.entry(&kind.verdict).or_default() += 1;
        }
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.places.len()));
    causes
}

fn spec_of(case: &Comparison) -> &str {
    case.id.split('/').next().unwrap_or_default()
}

/// Whether a whole section can't be decoded.
fn is_of_section(detail: &KindDetail) -> bool {
    detail.kind.verdict == Verdict::DecodeError.as_str() && detail.kind.function.is_none()
}

/// Whether findings follow from a section that can't be decoded, if there is one.
fn follows(kind: &Kind, group: &Group<'_>) -> bool {
    let verdicts = [Verdict::NoFde.as_str(), Verdict::WrongEnd.as_str()];
    verdicts.contains(&kind.verdict.as_str())
        && matches!(group.detail.blame, Blame::ProducerLinker | Blame::Unknown)
}

/// What findings of one cause have in common, in whatever build of a program.
pub(crate) fn shape_of(finding: &Finding) -> String {
    let kind = kind_of(finding);
    format!("{kind}, {}: {}", finding.blame, shape(&kind, &finding.message.to_string()))
}

/// A message without what differs between places with one cause: names and numbers, except those of
/// registers.
fn shape(kind: &Kind, message: &str) -> String {
    let mut text = message.to_owned();
    for name in [&kind.image, &kind.function].into_iter().flatten() {
        text = text.replace(&format!("{name}: "), "").replace(name.as_str(), "");
    }
    // A row's rules are what matters, and not what they gave.
    let text = text.split_once("; row ").map_or(&*text, |(_, rules)| rules);
    let mut shape = String::new();
    for word in text.split_inclusive([' ', ',', '+', '-', '(', ')', '/']) {
        let is_number = word.starts_with(|letter: char| letter.is_ascii_digit());
        shape.push_str(if is_number { "N" } else { word });
    }
    // A plural is no difference.
    shape.replace("sections", "section").replace("FDEs", "FDE")
}

impl Cause<'_> {
    /// What it is, and where, in a line.
    pub(super) fn line(&self) -> String {
        if let [(spec, abi, kind, places)] = &self.places[..] {
            return format!("{spec} ({abi}): {kind}: {places}");
        }
        let programs: BTreeSet<&str> = self.places.iter().map(|place| place.0).collect();
        let places = counted(self.places.len() as u64, "place");
        let programs = counted(programs.len() as u64, "program");
        format!("{} at {places} of {programs}", self.detail.kind.verdict)
    }

    /// The places, in a line each, up to a number; none if the first line has the only one.
    pub(super) fn places(&self, most: usize) -> Vec<String> {
        if self.places.len() < 2 {
            return Vec::new();
        }
        let line = |(spec, abi, kind, places): &(&str, Abi, &Kind, String)| {
            let of =
                [&kind.image, &kind.function].into_iter().flatten().cloned().collect::<Vec<_>>().join(": ");
            let space = if of.is_empty() { "" } else { " " };
            format!("{spec} ({abi}){space}{of}: {places}")
        };
        let mut lines: Vec<String> = self.places.iter().take(most).map(line).collect();
        if let Some(more) = self.places.len().checked_sub(most).filter(|more| *more > 0) {
            lines.push(format!("... ({more} more: --verbose lists them all)"));
        }
        lines
    }

    /// Which pages describe it, in a line each.
    pub(super) fn pages(&self) -> Vec<String> {
        self.pages.iter().map(|page| format!("matches known bug {page}")).collect()
    }

    /// What follows from it.
    pub(super) fn consequences(&self) -> Option<String> {
        if self.follows.is_empty() {
            return None;
        }
        let counts: Vec<String> =
            self.follows.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        Some(format!("not listed, because it follows from that: {}", counts.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_one_cause_have_one_shape() {
        let kind = |image: Option<&str>, function: Option<&str>| Kind {
            verdict: "wrong-cfa".to_owned(),
            image: image.map(str::to_owned),
            function: function.map(str::to_owned),
            by_signs: None,
        };
        let row = |rules: &str| {
            format!("CFA is 0x3f8, the call stack has 0x3f0; row +0x5: CFA = {rules} (3 times)")
        };
        let of = |rules: &str| shape(&kind(None, Some("f")), &row(rules));
        assert_eq!(of("SP+16, RA = *(CFA-8)"), of("SP+8, RA = *(CFA-16)"));
        assert_ne!(of("SP+16, RA = *(CFA-8)"), of("FP+16, RA = *(CFA-8)"));
        let one = shape(
            &kind(Some("a.so"), None),
            "a.so: 1 section from offset 0x58 on, whose 6 FDEs no reader finds",
        );
        let other = shape(&kind(None, None), "3 sections from offset 0x52 on, whose 1 FDE no reader finds");
        assert_eq!(one, other);
    }
}
