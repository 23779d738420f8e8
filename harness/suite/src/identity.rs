//! What a finding is known by across runs, rebuilds and commands, and how the findings of two differ.
//!
//! Baselines, `compare`, lists of known findings and fingerprints all compare these: what is more, elsewhere or wrong
//! otherwise is worse everywhere, and what is less is better.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sframe_corpus::spec::CfaError;
use sframe_judge::finding::{Finding, FindingRow, FunctionCode};
use sframe_judge::vocabulary::Verdict;
use sframe_kit::text::{counted, grouped};

/// What a finding is known by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "what a finding is known by, which is an object")]
pub struct Identity {
    /// What is wrong.
    pub verdict: Verdict,
    /// The library; absent for the executable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The function's name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// What tells the function from others of its name, or without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<FunctionCode>,
    /// The row: where it is in the function, and its rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<FindingRow>,
    /// How wrong the CFA is, if that is always the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cfa: Option<CfaError>,
}

impl Identity {
    /// That of a finding.
    #[must_use]
    pub fn of(finding: &Finding) -> Self {
        let Finding { verdict, image, function, code, row, .. } = finding;
        let (image, function, code) = (image.clone(), function.clone(), code.clone());
        Self { verdict: *verdict, image, function, code, row: *row, cfa: CfaError::of(finding) }
    }

    /// Whether both are about one function: of one name, if no other function has it in either file, and else by their
    /// code.
    #[must_use]
    pub fn is_of_function(&self, other: &Self) -> bool {
        let is_named = self.function.is_some();
        self.image == other.image
            && self.function == other.function
            && match (&self.code, &other.code) {
                (Some(own), Some(other)) => {
                    own.digest == other.digest || is_named && own.is_only && other.is_only
                }
                // What has no code is in no function, or in a document that does not tell.
                _ => true,
            }
    }

    /// What it has in common with all that may be the same.
    fn key(&self, likeness: Likeness) -> Key<'_> {
        let row = self.row.as_ref();
        let is_there = likeness != Likeness::OtherFunction;
        Key {
            verdict: self.verdict,
            image: self.image.as_deref(),
            function: self.function.as_deref().filter(|_| is_there),
            start: row.map(|row| row.start).filter(|_| likeness != Likeness::OtherRow),
            rest: matches!(likeness, Likeness::Same | Likeness::OtherFunction).then_some((row, self.cfa)),
        }
    }

    /// The rules of its row, and how wrong its CFA is.
    fn how(&self) -> String {
        let rules = self.row.map(|row| row.rules.to_string());
        let amount = self.cfa.map(|amount| amount.to_string());
        [rules, amount].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Says what is wrong where.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.verdict)?;
        for part in [self.image.as_deref(), self.function.as_deref()].into_iter().flatten() {
            write!(f, " {part}")?;
        }
        if let Some(code) = self.code.as_ref().filter(|code| !code.is_only) {
            write!(f, " [code {}]", code.digest)?;
        }
        self.row.map_or(Ok(()), |row| write!(f, " +{}", row.start))
    }
}

/// Findings by what they are known by, each with the number of places where it is.
pub type Places = BTreeMap<Identity, u64>;

/// How a finding of one run may be that of another, from the closest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    Same,
    OtherRules,
    OtherRow,
    OtherFunction,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'i> {
    verdict: Verdict,
    image: Option<&'i str>,
    function: Option<&'i str>,
    start: Option<sframe_judge::finding::Address>,
    rest: Option<(Option<&'i FindingRow>, Option<CfaError>)>,
}

/// A difference between the findings of two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The finding, in the later run if it is there.
    pub finding: Identity,
    /// What has become of it.
    pub kind: DifferenceKind,
    /// At how many places it was, and is.
    pub places: [u64; 2],
}

/// What has become of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// It was not there.
    New,
    /// It is not there any more.
    Gone,
    /// It is wrong with the rules of another row, or by another amount.
    Otherwise(Identity),
    /// It is elsewhere.
    Moved(Identity),
    /// It is at more places.
    More,
    /// It is at fewer places.
    Fewer,
}

impl Difference {
    /// Whether something got worse by it, and not better.
    #[must_use]
    pub const fn is_worse(&self) -> bool {
        !matches!(self.kind, DifferenceKind::Gone | DifferenceKind::Fewer)
    }
}

/// Says what it is, and what it was. `{:#}` has only what comes after the finding.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { finding, kind, places: [were, are] } = self;
        if !f.alternate() {
            write!(f, "{finding}")?;
        }
        let at = |places: u64| {
            if places > 1 { format!(", at {}", counted(places, "place")) } else { String::new() }
        };
        match kind {
            DifferenceKind::New => f.write_str(&at(*are)),
            DifferenceKind::Gone => write!(f, "{}: gone", at(*were)),
            DifferenceKind::Otherwise(was) => {
                write!(f, ": wrong otherwise: {}, not {}", finding.how(), was.how())
            }
            DifferenceKind::Moved(was) => write!(f, ": was {was}"),
            DifferenceKind::More | DifferenceKind::Fewer => {
                write!(f, ": {}, not {}", counted(*are, "place"), grouped(*were))
            }
        }
    }
}

/// Findings without the names of functions whose code has none in another run: they may have been removed. Those of several
/// functions of one code are one then.
fn named_as(places: &Places, other: &Places) -> Places {
    let of_code = |finding: &Identity| {
        let Identity { verdict, image, code, row, cfa, function: _ } = finding;
        code.as_ref().map(|code| (*verdict, image.clone(), code.digest.clone(), *row, *cfa))
    };
    let (nameless, named): (Vec<_>, Vec<_>) = other.keys().partition(|finding| finding.function.is_none());
    let named: BTreeSet<_> = named.into_iter().filter_map(of_code).collect();
    let mut nameless: BTreeMap<_, &Identity> =
        nameless.into_iter().filter_map(|finding| Some((of_code(finding)?, finding))).collect();
    nameless.retain(|code, _| !named.contains(code));
    let mut result = Places::new();
    for (finding, places) in places {
        let known = of_code(finding).and_then(|code| nameless.get(&code).copied()).unwrap_or(finding);
        let sum = result.entry(known.clone()).or_default();
        *sum = sum.saturating_add(*places);
    }
    result
}

/// How the findings of two runs differ.
#[must_use]
pub fn differences(before: &Places, after: &Places) -> Vec<Difference> {
    let (before, after) = (named_as(before, after), named_as(after, before));
    let mut were: Vec<Option<(&Identity, u64)>> =
        before.iter().map(|(finding, places)| Some((finding, *places))).collect();
    let mut are: Vec<(&Identity, u64)> = after.iter().map(|(finding, places)| (finding, *places)).collect();
    let mut found = Vec::new();
    for likeness in [Likeness::Same, Likeness::OtherRules, Likeness::OtherRow, Likeness::OtherFunction] {
        let mut by_key: BTreeMap<Key<'_>, Vec<usize>> = BTreeMap::new();
        for (index, was) in were.iter().enumerate() {
            if let Some((finding, _)) = was {
                by_key.entry(finding.key(likeness)).or_default().push(index);
            }
        }
        // What has the same code comes before what only has the same name.
        for is_exact in [true, false] {
            are.retain(|(finding, places)| {
                let Some(candidates) = by_key.get_mut(&finding.key(likeness)) else { return true };
                let is_it = |index: &usize| {
                    were[*index].is_some_and(|(was, _)| {
                        let is_same_code = !is_exact || was.code == finding.code;
                        is_same_code && (likeness == Likeness::OtherFunction || was.is_of_function(finding))
                    })
                };
                let Some(position) = candidates.iter().position(is_it) else { return true };
                let index = candidates.swap_remove(position);
                let Some((was, were)) = were[index].take() else { return true };
                let kind = match likeness {
                    Likeness::Same if were == *places => return false,
                    Likeness::Same if were < *places => DifferenceKind::More,
                    Likeness::Same => DifferenceKind::Fewer,
                    Likeness::OtherRules => DifferenceKind::Otherwise(was.clone()),
                    Likeness::OtherRow | Likeness::OtherFunction => DifferenceKind::Moved(was.clone()),
                };
                found.push(Difference { finding: (*finding).clone(), kind, places: [were, *places] });
                false
            });
        }
    }
    let new = are.into_iter().map(|(finding, places)| (finding, DifferenceKind::New, [0, places]));
    let gone =
        were.into_iter().flatten().map(|(finding, places)| (finding, DifferenceKind::Gone, [places, 0]));
    found.extend(new.chain(gone).map(|(finding, kind, places)| Difference {
        finding: finding.clone(),
        kind,
        places,
    }));
    found.sort_by(|one, other| one.finding.cmp(&other.finding));
    found
}

#[cfg(test)]
mod tests {
    use sframe_judge::finding::{Address, Said};

    use super::*;

    fn finding(function: &str, digest: &str, is_only: bool, row: u64, cfa_off: u64) -> Identity {
        let rules = "CFA = SP+8, RA = *(CFA-8), FP unchanged".parse().expect("rules");
        let said = |address: u64| Said::Address(Address(address));
        Identity::of(&Finding {
            function: (!function.is_empty()).then(|| function.to_owned()),
            code: Some(FunctionCode { digest: digest.to_owned(), is_only }),
            row: Some(FindingRow { start: Address(row), rules }),
            ..Finding::of_spec(Verdict::WrongCfa, said(0x1000), said(0x1000 - cfa_off), String::new())
        })
    }

    /// What differs, and whether that is worse.
    fn between<const B: usize, const A: usize>(
        before: [(Identity, u64); B],
        after: [(Identity, u64); A],
    ) -> Vec<(String, bool)> {
        let found = differences(&before.into(), &after.into());
        found.iter().map(|difference| (difference.to_string(), difference.is_worse())).collect()
    }

    #[test]
    fn what_is_more_or_elsewhere_or_wrong_otherwise_is_worse() {
        let known = (finding("f", "a", true, 4, 8), 2);
        let worse = |now: (Identity, u64), says: &str| {
            assert_eq!(between([known.clone()], [now]), [(says.to_owned(), true)]);
        };
        worse((known.0.clone(), 3), "wrong-cfa f +0x4: 3 places, not 2");
        worse((finding("f", "a", true, 6, 8), 2), "wrong-cfa f +0x6: was wrong-cfa f +0x4");
        worse((finding("g", "b", true, 4, 8), 2), "wrong-cfa g +0x4: was wrong-cfa f +0x4");
        let rules = "CFA = SP+8, RA = *(CFA-8), FP unchanged";
        let otherwise =
            format!("wrong-cfa f +0x4: wrong otherwise: {rules}, 16 too low, not {rules}, 8 too low");
        worse((finding("f", "a", true, 4, 16), 2), &otherwise);
        assert_eq!(between([], [known.clone()]), [("wrong-cfa f +0x4, at 2 places".to_owned(), true)]);
    }

    #[test]
    fn what_is_less_is_better() {
        let known = (finding("f", "a", true, 4, 8), 2);
        let fewer = (known.0.clone(), 1);
        assert_eq!(
            between([known.clone()], [fewer]),
            [("wrong-cfa f +0x4: 1 place, not 2".to_owned(), false)]
        );
        assert_eq!(between([known.clone()], []), [("wrong-cfa f +0x4, at 2 places: gone".to_owned(), false)]);
        assert_eq!(between([known.clone()], [known]), []);
    }

    /// A function whose code has changed is known by its name, if nothing else has it.
    #[test]
    fn functions_of_one_name_are_told_apart_by_their_code() {
        let only = (finding("f", "a", true, 4, 8), 1);
        assert_eq!(
            between([only.clone()], [(finding("f", "b", true, 4, 8), 1)]),
            [],
            "it was compiled again"
        );
        let first = (finding("f", "a", false, 4, 8), 1);
        assert_eq!(between([only.clone()], [first.clone()]), [], "another one has its name now");
        let second = (finding("f", "b", false, 4, 8), 1);
        assert_eq!(
            between([only], [first.clone(), second.clone()]),
            [("wrong-cfa f [code b] +0x4".to_owned(), true)]
        );
        assert_eq!(
            between([first], [second]),
            [("wrong-cfa f [code b] +0x4: was wrong-cfa f [code a] +0x4".to_owned(), true)]
        );
        let called = |function: &str| (finding(function, "a", true, 4, 8), 1);
        assert_eq!(between([called("f")], [called("")]), [], "its name was removed");
        assert_eq!(between([called("")], [called("f")]), [], "it has one now");
        assert_eq!(between([called("f")], [called("g")]).len(), 1, "another has its code");
        let both = [called("f"), called("g")];
        assert_eq!(between(both.clone(), [(called("").0, 2)]), [], "both have lost their names");
        assert_eq!(between([(called("").0, 2)], both), [], "both have names now");
        assert_eq!(between([called("f")], [(called("").0, 2)]).len(), 1, "one more is wrong");
        let nameless = |code: &str| (finding("", code, false, 4, 8), 1);
        assert_eq!(between([nameless("a")], [nameless("a")]), []);
        assert!(between([nameless("a")], [nameless("b")])[0].1);
    }
}
