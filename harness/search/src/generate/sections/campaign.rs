//! Searches with generated sections: asks a reader about them, and groups what is found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};

use sframe_corpus::signs::without_numbers;
use sframe_engine::{Abi, Version};
use sframe_judge::external::ExternalError;
use sframe_vectors::SectionPart;

use super::cause::{Cause, Counts, Example, Sections};
use super::difference::{Demands, Difference, Differences, ask};
use super::feature::{clauses, features, readings};
use super::plan::SectionPlan;
use super::reader::Reader;
use super::reduce::reduce;
use super::vector::vector_file;
use crate::generate::campaign::{Finding, Search, Shown, Subject};
use crate::generate::{Found, Group, Kind, Terms};

/// Which sections, and what is asked about them.
#[derive(Clone, Debug)]
pub struct CampaignOptions {
    /// Which of a seed.
    pub search: Search,
    /// Only these versions; all if there is none.
    pub versions: Vec<Version>,
    /// Only these ABIs; all if there is none.
    pub abis: Vec<Abi>,
    /// What is asked about them.
    pub demands: Demands,
}

/// Causes that are reduced, at most, for a version and an ABI.
const REDUCED: usize = 60;

/// Starts a reader.
type Start<'s, 'r> = &'s (dyn Fn() -> Result<Box<dyn Reader + 'r>, ExternalError> + Sync + 's);

/// Makes the sections and asks a reader about them, of which there are several.
///
/// # Errors
/// A reader can't be started.
pub fn campaign<'r>(
    start: Start<'_, 'r>,
    options: &CampaignOptions,
    done: &(dyn Fn() + Sync),
) -> Result<Found<Sections>, ExternalError> {
    let readers = Readers { start, options, restarts: AtomicU32::new(0) };
    let mut found = options.search.run(&readers, done)?;
    let all = [
        (SectionPart::Header, "header"),
        (SectionPart::Fdes, "fdes"),
        (SectionPart::Lookups, "lookups"),
        (SectionPart::Steps, "steps"),
    ];
    let missing = all.iter().filter(|(part, _)| !options.demands.parts.contains(part));
    found.counts.parts_not_answered = missing.map(|(_, name)| *name).collect();
    found.counts.restarts = readers.restarts.into_inner();
    // What was found until then is told.
    found.counts.gave_up = found.failed.as_ref().map(ToString::to_string);
    join(&mut found);
    Ok(found)
}

struct Readers<'s, 'r> {
    start: Start<'s, 'r>,
    options: &'s CampaignOptions,
    restarts: AtomicU32,
}

/// A reader, and the causes that are known of it, by version and ABI.
struct Asked<'r> {
    reader: Box<dyn Reader + 'r>,
    known: Vec<(Cause, (Version, Abi))>,
}

/// What came of one section.
enum Outcome {
    /// It is of another version or ABI than those that are asked about.
    Unwanted,
    Asked(Box<SectionPlan>, Differences),
    Contradiction(String),
}

impl<'r> Subject for Readers<'_, 'r> {
    type Terms = Sections;
    type Judge = Asked<'r>;
    type Trial = (u64, Outcome);
    type Case = ();

    const KEEPS_JUDGES: bool = true;

    fn start(&self) -> Result<Asked<'r>, ExternalError> {
        Ok(Asked { reader: (self.start)()?, known: Vec::new() })
    }

    fn attempt(&self, asked: &mut Asked<'r>, number: u64) -> Result<(u64, Outcome), ExternalError> {
        let CampaignOptions { search, versions, abis, demands } = self.options;
        let plan = SectionPlan::random(search.seed, number, demands.open);
        let is_wanted = (versions.is_empty() || versions.contains(&plan.version))
            && (abis.is_empty() || abis.contains(&plan.abi));
        if !is_wanted {
            return Ok((number, Outcome::Unwanted));
        }
        let before = asked.reader.restarts();
        let answered = ask(&mut *asked.reader, plan, demands);
        self.restarts.fetch_add(asked.reader.restarts() - before, Ordering::Relaxed);
        let outcome = match answered? {
            Ok((case, differences)) => Outcome::Asked(Box::new(case.plan), differences),
            Err(error) => Outcome::Contradiction(error.to_string()),
        };
        Ok((number, outcome))
    }

    fn add(
        &self,
        asked: &mut Asked<'r>,
        (number, outcome): (u64, Outcome),
        counts: &mut Counts,
    ) -> Result<Vec<Finding<Self>>, ExternalError> {
        let (plan, differences) = match outcome {
            Outcome::Unwanted => return Ok(Vec::new()),
            Outcome::Asked(plan, differences) => (plan, differences),
            Outcome::Contradiction(message) => {
                let kind = Kind::Contradiction(without_numbers(&message));
                let example = Some(Example { section: number, message, ..Example::default() });
                return Ok(vec![Finding { example, ..Finding::of(kind, 1) }]);
            }
        };
        if let Some(reason) = differences.unsupported {
            *counts.skipped.entry(reason).or_default() += 1;
            return Ok(Vec::new());
        }
        counts.sections += 1;
        counts.broken += u64::from(plan.is_broken());
        counts.agree += u64::from(differences.found.is_empty());
        counts.compared += differences.compared;
        if differences.unnoticed {
            let rule = plan.broken_rules().next().map_or("none", |rule| rule.name);
            *counts.unnoticed.entry(rule).or_default() += 1;
        }
        // A section has a cause once, however many of its functions show it.
        let (mut all, mut causes): (Vec<Finding<Self>>, _) = (Vec::new(), BTreeSet::new());
        for difference in &differences.found {
            let (cause, example) = asked.cause(number, &plan, difference, &self.options.demands)?;
            if causes.insert(cause.clone()) {
                let of = Some(format!("v{} {}", plan.version, plan.abi));
                all.push(Finding { of, example, ..Finding::of(Kind::Cause(cause), 1) });
            }
        }
        Ok(all)
    }

    /// They are reduced when they are found: that is how it is known which cause they have.
    fn reduce(&self, _: &Kind<Cause>, (): &()) -> Result<Option<Shown<Self>>, ExternalError> {
        Ok(None)
    }
}

impl Asked<'_> {
    /// The cause of a difference, and what is shown of it if it is new.
    fn cause(
        &mut self,
        number: u64,
        plan: &SectionPlan,
        difference: &Difference,
        demands: &Demands,
    ) -> Result<(Cause, Option<Example>), ExternalError> {
        let of = (plan.version, plan.abi);
        let has = features(plan, difference.function, difference.row);
        let alike = |known: &&(Cause, _)| known.0.is_of(difference) && known.1 == of;
        // All that its smallest section has is also in this one; the one with the most of that.
        let explains = |known: &&(Cause, _)| alike(known) && known.0.features.is_subset(&has);
        let explaining = self.known.iter().filter(explains).map(|(cause, _)| cause);
        if let Some(cause) = explaining.max_by_key(|cause| cause.features.len()) {
            return Ok((cause.clone(), None));
        }
        let is_rare = self.known.iter().filter(alike).count() < REDUCED;
        let reduced = if is_rare { reduce(&mut *self.reader, plan, difference, demands)? } else { None };
        let (features, example) = match reduced {
            Some((case, difference)) => {
                let features = features(&case.plan, difference.function, difference.row);
                let name = format!("generated-{number}");
                let example = Example {
                    section: number,
                    message: difference.message,
                    readings: case.vector.readings.clone(),
                    clauses: case.vector.clauses.clone(),
                    vector: Some(vector_file(&case.vector, &name, "What is generated and reduced.")),
                    bytes: case.vector.bytes.len(),
                };
                (features, example)
            }
            None => {
                let example = Example {
                    section: number,
                    message: difference.message.clone(),
                    readings: readings(plan).into_iter().map(str::to_owned).collect(),
                    clauses: clauses(plan),
                    ..Example::default()
                };
                (has, example)
            }
        };
        let Difference { part, field, site, .. } = difference.clone();
        let cause = Cause { part, field, site, features };
        self.known.push((cause.clone(), of));
        Ok((cause, Some(example)))
    }
}

/// Counts a cause for another one that needs less: of any version and ABI if that needs something special,
/// and of the same ones if plain sections have it.
fn join(found: &mut Found<Sections>) {
    let needs = |kind: &Kind<Cause>| match kind {
        Kind::Cause(cause) => cause.features.len(),
        _ => 0,
    };
    let mut all: Vec<_> = std::mem::take(&mut found.groups).into_iter().collect();
    all.sort_by_key(|(kind, _)| needs(kind));
    let mut groups: BTreeMap<Kind<Cause>, Group<Example>> = BTreeMap::new();
    for (kind, group) in all {
        let explains = |known: &Kind<Cause>, seen: &BTreeMap<String, u64>| match (known, &kind) {
            (Kind::Cause(known), Kind::Cause(cause)) => {
                (known.part, &known.field, &known.site) == (cause.part, &cause.field, &cause.site)
                    && known.features.is_subset(&cause.features)
                    && (!known.features.is_empty() || group.of.keys().any(|of| seen.contains_key(of)))
            }
            _ => false,
        };
        let known = groups.iter().find(|(known, other)| explains(known, &other.of));
        let known = known.map_or_else(|| kind.clone(), |(known, _)| known.clone());
        groups.entry(known).or_default().join(group, Sections::size);
    }
    found.groups = groups;
}
