//! Known failures: which findings a list of them explains, and which of them are gone
//! or have changed.

use std::collections::{BTreeMap, BTreeSet};

use sframe_corpus::signs::is_of_its_fault;
use sframe_corpus::spec::{Known, NO_ROW, RowOffset};
use sframe_engine::Abi;
use sframe_judge::finding::{self, Address, Blame, Finding, FindingRow, KnownFault};
use sframe_judge::triage::BEYOND_THE_FORMAT;
use sframe_judge::vocabulary::{QualifiedName, Verdict};

use crate::case::SeenKnown;

/// Findings, compared with a list of known failures.
#[derive(Debug, Default)]
pub struct Settled {
    /// The known failures that were seen, and what the format can't express.
    pub known: Vec<SeenKnown>,
    /// The findings that no entry explains.
    pub unexpected: Vec<Finding>,
    /// Entries that are gone or have changed: the entry's index, and the finding that
    /// says so.
    pub changed: Vec<(usize, Finding)>,
    /// The number of entries that were not seen, and need not be: not all of what they are about was looked at.
    pub not_looked_at: u64,
}

/// Separates known findings from others. A known finding that was not seen again is a
/// finding too if all that the entry is about was looked at: `complete`. With an ABI, an entry that names a fault
/// explains only what comes from this fault, where the signs of its page decide that: see [`is_of_its_fault`].
#[must_use]
pub fn settle<'k>(
    known: impl Iterator<Item = (usize, &'k Known)>,
    findings: Vec<Finding>,
    complete: impl Fn(&Known) -> bool,
    abi: Option<Abi>,
) -> Settled {
    let expected: Vec<Expected<'_>> =
        known.flat_map(|(entry, known)| Expected::all_of(entry, known)).collect();
    let mut seen: Vec<Vec<Finding>> = expected.iter().map(|_| Vec::new()).collect();
    let places_seen: Vec<Place> = findings.iter().map(Place::of).collect();
    let is_list = abi.is_some();
    let mut settled = Settled::default();
    let mut beyond_the_format: BTreeMap<_, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        let explaining = expected.iter().enumerate().filter(|(_, expected)| expected.explains(&finding, abi));
        match explaining.min_by_key(|(_, expected)| expected.distance(&finding)) {
            Some((index, _)) => seen[index].push(finding),
            None if finding.blame == Blame::Format => {
                let function = (finding.verdict, finding.image.clone(), finding.function.clone());
                beyond_the_format.entry(function).or_default().push(finding);
            }
            None => settled.unexpected.push(finding),
        }
    }
    let mut shown: BTreeMap<usize, (&Known, Vec<&Finding>)> = BTreeMap::new();
    for (expected, seen) in expected.iter().zip(&seen).filter(|(_, seen)| !seen.is_empty()) {
        shown.entry(expected.entry).or_insert((expected.known, Vec::new())).1.extend(seen);
    }
    settled.changed.extend(shown.into_iter().filter_map(|(entry, (known, seen))| {
        let rules = || judge_rules(known, &seen, complete(known) && !known.optional, is_list);
        Some((entry, judge_functions(known, &seen).or_else(rules)?))
    }));
    let unexplained: Vec<Place> = settled.unexpected.iter().map(Place::of).collect();
    let mut not_looked_at = BTreeSet::new();
    for (expected, seen) in expected.iter().zip(seen) {
        let (findings, count) = (finding::count(&seen), finding::places(&seen));
        let blamed_on = seen.iter().find(|finding| !finding.may_be_blamed_on(expected.known.blame));
        let blamed_on = blamed_on.map(|finding| {
            let fault = fault_of_all(&seen);
            (expected.entry, Finding { fault, ..expected.blamed_differently(finding) })
        });
        settled.changed.extend(blamed_on);
        let rules = places(&seen, is_list);
        let mut seen = seen.into_iter();
        if let Some(first) = seen.next() {
            settled.known.push(SeenKnown {
                verdict: expected.known.verdict,
                function: expected.known.function.clone(),
                row: expected.row.map(|row| Address(row.0)),
                fault: expected.known.fault.clone(),
                reason: expected.known.why().to_owned(),
                blame: expected.known.blame,
                findings,
                places: count,
                changed: false,
                rules,
                entry: Some(expected.entry),
                finding: first,
                others: seen.collect(),
            });
        } else if !complete(expected.known) && !expected.known.optional {
            not_looked_at.insert(expected.entry);
        } else if !expected.known.optional {
            settled.changed.push((expected.entry, expected.missed(&places_seen, &unexplained)));
        }
    }
    settled.not_looked_at = not_looked_at.len() as u64;
    let changed: BTreeSet<usize> = settled.changed.iter().map(|(entry, _)| *entry).collect();
    for seen in &mut settled.known {
        // What differs from its entry is not accepted.
        seen.changed = seen.entry.is_some_and(|entry| changed.contains(&entry));
    }
    settled.known.extend(beyond_the_format.into_values().filter_map(no_fault));
    settled
}

/// What the format can't express of a function, which needs no entry to be no failure.
fn no_fault(findings: Vec<Finding>) -> Option<SeenKnown> {
    let (rules, counts) = (places(&findings, false), [finding::count(&findings), finding::places(&findings)]);
    let finding = findings.into_iter().next()?;
    Some(SeenKnown::without_entry(finding, counts, rules, BEYOND_THE_FORMAT.to_owned()))
}

/// Where a finding is, and its verdict.
struct Place {
    image: Option<String>,
    function: Option<String>,
    row: Option<u64>,
    verdict: Verdict,
}

impl Place {
    fn of(finding: &Finding) -> Self {
        let Finding { image, function, verdict, row, .. } = finding;
        let row = row.as_ref().map(|row| row.start.0);
        Self { image: image.clone(), function: function.clone(), row, verdict: *verdict }
    }
}

/// Returns the rules with which findings occur, each with the number of places. One of a row may stand for several: all
/// that exploring has found of a cause. Code without a row is one place, however much of it has run; in a list of a file's
/// findings, that without an FDE is as many as there are instructions.
pub(crate) fn places<'f>(
    findings: impl IntoIterator<Item = &'f Finding>,
    is_list: bool,
) -> BTreeMap<String, u64> {
    let mut places: BTreeMap<_, u64> = BTreeMap::new();
    for finding in findings {
        let rules = finding.row.as_ref().map_or_else(|| NO_ROW.to_owned(), |row| row.rules.to_string());
        let place = (rules, finding.image.as_deref(), finding.pc, finding.function.as_deref());
        let count = places.entry(place).or_default();
        let is_counted = finding.row.is_some() || is_list && finding.verdict == Verdict::NoFde;
        let of_row = if is_counted { finding.places } else { 1 };
        *count = of_row.max(*count);
    }
    let mut rules: BTreeMap<String, u64> = BTreeMap::new();
    for ((of, ..), count) in places {
        *rules.entry(of).or_default() += count;
    }
    rules
}

/// Where the rows of findings start; `None` where one has none.
fn starts<'f>(findings: impl Iterator<Item = &'f Finding>) -> Option<BTreeSet<RowOffset>> {
    findings.map(|finding| finding.row.map(|row| RowOffset(row.start.0))).collect()
}

/// The digest of the code of a finding's function.
fn code_of(finding: &Finding) -> Option<&str> {
    finding.code.as_ref().map(|code| code.digest.as_str())
}

/// An entry that names a function means one, and not all that have its name.
fn judge_functions(known: &Known, seen: &[&Finding]) -> Option<Finding> {
    let name = known.function.as_deref().filter(|_| known.code.is_none())?;
    let named = seen.iter().filter(|finding| finding.function.is_some());
    // Those of specs, whose builds do not change, are told apart by their names alone.
    let functions: BTreeSet<_> =
        named.filter_map(|finding| Some((finding.image.as_deref(), code_of(finding)?))).collect();
    let is_named = !QualifiedName::parse(name).function.is_empty();
    let shares_name = |finding: &&&Finding| finding.code.as_ref().is_some_and(|code| !code.is_only);
    let is_one = functions.len() <= 1 && !seen.iter().any(|finding| shares_name(&finding));
    let first = seen.first().filter(|_| is_named && !is_one)?;
    let verdict = known.verdict;
    let codes: Vec<&str> = functions.into_iter().map(|(_, code)| code).collect();
    let count = codes.len();
    let message = format!(
        "the known {verdict} in {name} happens in {count} of several functions of this name, and the entry does not say by `code` \
         which it means: {}",
        codes.join(", ")
    );
    let (expected, got) = ("one function".into(), format!("{count} functions").into());
    Some(Finding {
        verdict: Verdict::ChangedFailure,
        expected,
        got,
        message: message.into(),
        ..(*first).clone()
    })
}

/// The known bug that all findings come from. What is said of all of them at once comes from no other.
fn fault_of_all<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Option<KnownFault> {
    let mut faults = findings.into_iter().map(|finding| finding.fault.as_ref());
    let first = faults.next()??;
    faults.all(|fault| fault == Some(first)).then(|| first.clone())
}

/// A known failure includes its rules and places: with any others it has changed. A
/// run that is not `complete` may show fewer places.
fn judge_rules(known: &Known, seen: &[&Finding], complete: bool, is_list: bool) -> Option<Finding> {
    if known.any_rules {
        return None;
    }
    let shown = places(seen.iter().copied(), is_list);
    let rows = starts(seen.iter().copied());
    let is_in_rows = known.rows.as_ref().is_none_or(|known| {
        let known: BTreeSet<RowOffset> = known.iter().copied().collect();
        rows.as_ref().is_some_and(|rows| if complete { *rows == known } else { rows.is_subset(&known) })
    });
    let is_it = |known: &BTreeMap<String, u64>| {
        let is_part = || shown.iter().all(|(rules, count)| known.get(rules).is_some_and(|all| count <= all));
        *known == shown || (!complete && is_part())
    };
    let has_rules = known.rules.iter().flatten().any(is_it);
    if has_rules && is_in_rows {
        return None;
    }
    let text = |rules: &BTreeMap<String, u64>| {
        let text = |(rules, count): (&String, &u64)| {
            format!("{rules} at {count} {}", if *count == 1 { "place" } else { "places" })
        };
        rules.iter().map(text).collect::<Vec<_>>().join("; ")
    };
    let expected = match &known.rules {
        Some(rules) => rules.iter().map(text).collect::<Vec<_>>().join(", or "),
        None => "nothing: `bless --known` writes its `rules`".to_owned(),
    };
    let verdict = known.verdict;
    let place = known.function.as_ref().map(|function| format!(" in {function}")).unwrap_or_default();
    let list = |rows: &mut dyn Iterator<Item = &RowOffset>| {
        format!("rows {}", rows.map(|row| format!("+{row}")).collect::<Vec<_>>().join(", "))
    };
    let (expected, got) = match (&known.rows, &rows) {
        (Some(known), Some(rows)) if has_rules => (list(&mut known.iter()), list(&mut rows.iter())),
        _ => (expected, text(&shown)),
    };
    let message = format!("the known {verdict}{place} happens with {got}; the entry has {expected}");
    let first = (*seen.first()?).clone();
    let (expected, got, message) = (expected.into(), got.into(), message.into());
    let fault = fault_of_all(seen.iter().copied());
    Some(Finding { verdict: Verdict::ChangedFailure, expected, got, message, fault, ..first })
}

/// A finding that a `known` entry predicts. Each of the entry's rows has to be seen.
struct Expected<'k> {
    /// The entry's index in the spec.
    entry: usize,
    known: &'k Known,
    row: Option<RowOffset>,
}

impl<'k> Expected<'k> {
    /// Returns one for each row of an entry, or one for the whole entry.
    fn all_of(entry: usize, known: &'k Known) -> Vec<Self> {
        match &known.row {
            None => vec![Self { entry, known, row: None }],
            Some(rows) => rows.iter().map(|row| Self { entry, known, row: Some(*row) }).collect(),
        }
    }

    /// Whether a finding is the known one.
    fn explains(&self, finding: &Finding, abi: Option<Abi>) -> bool {
        let row_start = |row: &FindingRow| row.start.0;
        self.known.verdict == finding.verdict
            && self.known.is_about(finding)
            && self.known.is_as_wrong(finding)
            && abi.is_none_or(|abi| is_of_its_fault(self.known, finding, abi))
            && self.row.is_none_or(|row| finding.row.as_ref().map(row_start) == Some(row.0))
    }

    /// How far it is from a finding that it explains, as far as others explain it better: one of its very code, one that
    /// blames the same component, and then one that names the fault that it comes from, or names none.
    fn distance(&self, finding: &Finding) -> (bool, bool, u8) {
        let of_fault = finding.fault.as_ref().map(|fault| &fault.name);
        let of_fault = match &self.known.fault {
            fault if fault.as_ref() == of_fault => 0,
            None => 1,
            Some(_) => 2,
        };
        let is_its_code = self.known.code.is_some() && self.known.code.as_deref() == code_of(finding);
        (!is_its_code, !finding.may_be_blamed_on(self.known.blame), of_fault)
    }

    /// Returns the finding for a known failure whose blame differs from the spec's.
    fn blamed_differently(&self, finding: &Finding) -> Finding {
        let expected = format!("blame on {}", self.known.blame);
        let got = format!("{} ({} confidence)", finding.blame, finding.confidence);
        let more = format_args!(": the entry blames {}, and triage {got}", self.known.blame);
        let message = finding.message.clone().and(more);
        let (expected, got) = (expected.into(), got.into());
        Finding { verdict: Verdict::ChangedFailure, expected, got, message, ..finding.clone() }
    }

    /// Returns the finding for a known failure that was not seen: it is gone, or
    /// has changed into something else.
    fn missed(&self, seen: &[Place], unexplained: &[Place]) -> Finding {
        let function = self.known.function.as_deref();
        let mut expected = self.known.verdict.to_string();
        if let Some(function) = function {
            expected += &format!(" in {function}");
        }
        if let Some(row) = self.row {
            expected += &format!(", row +{row}");
        }
        // What it would explain, another entry explains better.
        let is_explained = |place: &Place| self.row.is_none() && place.verdict == self.known.verdict;
        let is_there = |place: &&Place| {
            function.is_some()
                && self.known.is_in(place.image.as_deref(), place.function.as_deref())
                && !is_explained(place)
        };
        let is_at_row = |place: &Place| self.row.is_none_or(|row| place.row == Some(row.0));
        let is_of_another = |place: &&Place| {
            place.verdict == self.known.verdict
                && is_at_row(place)
                && self.known.is_in(place.image.as_deref(), place.function.as_deref())
        };
        let changed = |verdict: Verdict, how: String| {
            let message = format!("the known {expected} {how}");
            Finding::of_spec(Verdict::ChangedFailure, expected.clone(), verdict.to_string(), message)
        };
        // Only the signs of a fault keep what is at its place from being it.
        if let Some(fault) = &self.known.fault
            && unexplained.iter().any(|place| is_of_another(&place))
        {
            let how = format!("is there, but not as the page of {fault} says: it has another cause");
            return changed(self.known.verdict, how);
        }
        match seen.iter().find(is_there) {
            Some(Place { verdict, .. }) => {
                changed(*verdict, format!("was not seen, but there is {verdict}: it has changed"))
            }
            None => Finding::of_spec(
                Verdict::UnexpectedPass,
                expected.clone(),
                "no such finding".to_owned(),
                format!("the known {expected} was not seen; if it has been fixed, remove the entry"),
            ),
        }
    }
}
