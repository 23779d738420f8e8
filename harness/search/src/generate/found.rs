//! What a search has found, in groups of what seems to be the same, and how it ends.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use sframe_corpus::corpus::{Error, Maker, Toolchain};
use sframe_engine::Abi;
use sframe_inspect::command::{Status, status};

/// What is found in one kind of search.
pub trait Terms {
    /// What was made and judged.
    type Counts: Default + Send;
    /// What is grouped by.
    type Cause: Clone + Ord + Send + Sync;
    /// What is shown of a group.
    type Example: Send + Sync;
    /// Why nothing more can be tried.
    type Error: Send;

    /// How much an example has.
    fn size(example: &Self::Example) -> usize;
}

/// What a group has in common. The order is that of reports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind<C> {
    /// A fault or a crash that has a page, by its name.
    Known(String),
    /// What seems to be one cause that has no page.
    Cause(C),
    /// A program that computes something else at some level, or stops there.
    Differs(u64),
    /// What tools say when they crash.
    Crashed(String),
    /// What tools say of what they refuse: they may not know it.
    Refused(String),
    /// Why something can't be judged.
    Unjudged(String),
    /// How the bench contradicts itself.
    Contradiction(String),
}

/// Cases of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct Group<E> {
    /// In how many functions or sections it is; in how many programs or builds, of what was not made or
    /// judged.
    pub count: u64,
    /// Of sections: in how many of each version and ABI.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub of: BTreeMap<String, u64>,
    /// One of them, if it was looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<E>,
}

impl<E> Default for Group<E> {
    fn default() -> Self {
        Self { count: 0, of: BTreeMap::new(), first: None }
    }
}

impl<E> Group<E> {
    /// Joins two groups. The smaller example is kept.
    pub(super) fn join(&mut self, other: Self, size: fn(&E) -> usize) {
        self.count += other.count;
        for (of, count) in other.of {
            *self.of.entry(of).or_default() += count;
        }
        let size = |first: &Option<E>| first.as_ref().map_or(usize::MAX, size);
        if size(&other.first) < size(&self.first) {
            self.first = other.first;
        }
    }
}

/// What a search has found.
pub struct Found<S: Terms> {
    /// Whether it was interrupted, and programs or sections are missing.
    pub interrupted: bool,
    /// What was made and judged.
    pub counts: S::Counts,
    /// The groups.
    pub groups: BTreeMap<Kind<S::Cause>, Group<S::Example>>,
    /// Why nothing more could be tried.
    pub failed: Option<S::Error>,
}

impl<S: Terms> Default for Found<S> {
    fn default() -> Self {
        Self { interrupted: false, counts: S::Counts::default(), groups: BTreeMap::new(), failed: None }
    }
}

impl<S: Terms> Found<S> {
    /// The causes that have no page.
    pub fn causes(&self) -> impl Iterator<Item = (&S::Cause, &Group<S::Example>)> {
        self.groups.iter().filter_map(|(kind, group)| match kind {
            Kind::Cause(cause) => Some((cause, group)),
            _ => None,
        })
    }

    /// Whether the bench contradicts itself, or could not do its work.
    fn is_broken(&self) -> bool {
        let is_of_bench = |kind: &Kind<S::Cause>| matches!(kind, Kind::Unjudged(_) | Kind::Contradiction(_));
        self.interrupted || self.failed.is_some() || self.groups.keys().any(is_of_bench)
    }

    /// Whether something is wrong that has no page.
    fn is_wrong(&self) -> bool {
        let is_wrong =
            |kind: &Kind<S::Cause>| matches!(kind, Kind::Cause(_) | Kind::Differs(_) | Kind::Crashed(_));
        self.groups.keys().any(is_wrong)
    }
}

/// How a search ends that has made or compared anything, or not, and may have found more than each part of it
/// has.
pub fn end_of<'f, S: Terms + 'f>(
    all: impl IntoIterator<Item = &'f Found<S>>,
    (is_wrong, is_broken): (bool, bool),
    has_compared: bool,
) -> Status {
    let (mut wrong, mut broken) = (is_wrong, is_broken);
    for found in all {
        wrong |= found.is_wrong();
        broken |= found.is_broken();
    }
    status(wrong, broken, has_compared)
}

/// A group with what it is named by.
#[derive(Serialize)]
struct Named<'g, K, E> {
    #[serde(flatten)]
    name: K,
    #[serde(flatten)]
    group: &'g Group<E>,
}

#[derive(Serialize)]
struct Crash {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    crash: bool,
}

#[derive(Serialize)]
struct Differing {
    program: u64,
}

#[derive(Serialize)]
struct Contradicting<'g> {
    kind: &'g str,
}

/// The report.
#[derive(Serialize)]
struct Report<'f, T, C, E> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    #[serde(flatten)]
    counts: &'f T,
    known: BTreeMap<&'f str, &'f Group<E>>,
    causes: Vec<Named<'f, &'f C, E>>,
    differ: Vec<Named<'f, Differing, E>>,
    refused: BTreeMap<&'f str, Named<'f, Crash, E>>,
    unjudged: BTreeMap<&'f str, &'f Group<E>>,
    contradictions: Vec<Named<'f, Contradicting<'f>, E>>,
}

impl<S: Terms> Serialize for Found<S>
where
    S::Counts: Serialize,
    S::Cause: Serialize,
    S::Example: Serialize,
{
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let mut report = Report {
            interrupted: self.interrupted,
            counts: &self.counts,
            known: BTreeMap::new(),
            causes: Vec::new(),
            differ: Vec::new(),
            refused: BTreeMap::new(),
            unjudged: BTreeMap::new(),
            contradictions: Vec::new(),
        };
        for (kind, group) in &self.groups {
            match kind {
                Kind::Known(page) => _ = report.known.insert(page, group),
                Kind::Cause(name) => report.causes.push(Named { name, group }),
                Kind::Differs(program) => {
                    report.differ.push(Named { name: Differing { program: *program }, group });
                }
                Kind::Crashed(said) => {
                    report.refused.insert(said, Named { name: Crash { crash: true }, group });
                }
                Kind::Refused(said) => {
                    report.refused.insert(said, Named { name: Crash { crash: false }, group });
                }
                Kind::Unjudged(why) => _ = report.unjudged.insert(why, group),
                Kind::Contradiction(kind) => {
                    report.contradictions.push(Named { name: Contradicting { kind }, group });
                }
            }
        }
        report.serialize(serializer)
    }
}

/// What another toolchain makes of an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// What it makes of it.
    #[serde(flatten)]
    pub result: Elsewhere,
    /// The flags that it does not know, and was not given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

impl std::fmt::Display for Tried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.result.fmt(f)?;
        if self.without.is_empty() { Ok(()) } else { write!(f, " (without {})", self.without.join(" ")) }
    }
}

/// What a toolchain makes of an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum Elsewhere {
    /// The same: the section says the same of the same instruction, or the tools the same of the program.
    Same,
    /// The section is wrong, and says something else.
    Other {
        /// What it says.
        says: String,
    },
    /// The section is right; or the program is made, which the other toolchain does not make.
    Right,
    /// `.sframe` leaves the function out.
    LeftOut,
    /// The tools do not make the program.
    Refused {
        /// What they say.
        says: String,
    },
    /// The bench can't judge the program.
    Unjudged {
        /// Why.
        why: String,
    },
}

impl std::fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Same => f.write_str("the same"),
            Self::Other { says } => write!(f, "also wrong: {says}"),
            Self::Right => f.write_str("right"),
            Self::LeftOut => f.write_str("left out of .sframe"),
            Self::Refused { says } => write!(f, "not made: {says}"),
            Self::Unjudged { why } => write!(f, "not judged: {why}"),
        }
    }
}

/// What is found in programs.
pub trait Programs: Terms<Error = Error> {
    /// Makes an example with another toolchain, if it was reduced.
    ///
    /// # Errors
    /// The toolchain can't be started.
    fn try_with(maker: &Maker, abi: Abi, example: &Self::Example) -> Result<Option<Tried>, Error>;

    /// What other toolchains make of an example, by name.
    fn elsewhere(example: &mut Self::Example) -> &mut BTreeMap<String, Tried>;
}

impl<S: Programs> Found<S> {
    /// Asks all toolchains that compile for an ABI, but the one that was searched, about the smallest
    /// programs; about those with what is known, too, if that is wanted.
    ///
    /// # Errors
    /// A toolchain can't be started.
    pub fn ask_others(
        &mut self,
        (own, abi): (&str, Abi),
        makers: &[Maker],
        with_known: bool,
    ) -> Result<(), Error> {
        for (kind, group) in &mut self.groups {
            let Some(example) =
                group.first.as_mut().filter(|_| with_known || !matches!(kind, Kind::Known(_)))
            else {
                continue;
            };
            for maker in makers {
                let Toolchain { name, abis, .. } = maker.toolchain();
                if name != own
                    && abis.contains_key(&abi)
                    && let Some(tried) = S::try_with(maker, abi, example)?
                {
                    S::elsewhere(example).insert(name.clone(), tried);
                }
            }
        }
        Ok(())
    }
}
