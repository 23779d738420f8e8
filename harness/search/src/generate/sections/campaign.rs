//! Makes many sections, asks a reader about them, and groups what is found.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use sframe_engine::{Abi, Version};
use sframe_judge::external::ExternalError;
use sframe_vectors::SectionPart;

use super::cause::{Cause, Causes, Count, Counts, Example, Found};
use super::difference::{Demands, Difference, Differences, ask};
use super::feature::{clauses, features, open_readings, readings};
use super::plan::SectionPlan;
use super::reader::Reader;
use super::reduce::reduce;
use super::vector::vector_file;
use crate::generate::search::{End, Search, Share};

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
/// Contradictions that are kept.
const CONTRADICTIONS: usize = 20;

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
) -> Result<Found, ExternalError> {
    let CampaignOptions { search, demands, .. } = options;
    let mut seen = Seen { demands, reducer: start()?, found: Found::default(), known: Vec::new() };
    seen.note_parts();
    let restarts = AtomicU32::new(0);
    let attempt = |reader: &mut Box<dyn Reader + 'r>, number| {
        let before = reader.restarts();
        let outcome = outcome(&mut **reader, options, number);
        restarts.fetch_add(reader.restarts() - before, Ordering::Relaxed);
        outcome
    };
    let mut add = |outcome: Option<Outcome>| outcome.map_or(Ok(()), |outcome| seen.add(outcome));
    let end = search.run(Share::Equal, start, &attempt, &mut add, done)?;
    let mut found = seen.found;
    match end {
        End::Complete => {}
        End::Interrupted => found.interrupted = true,
        // What was found until then is told.
        End::Failed(why) => found.gave_up = Some(why.to_string()),
    }
    found.restarts = restarts.into_inner();
    join(&mut found.causes);
    Ok(found)
}

/// What came of one section.
enum Outcome {
    Asked { number: u64, plan: Box<SectionPlan>, differences: Differences },
    Contradiction { number: u64, message: String },
}

/// Asks about one section. `None` if it is not wanted.
fn outcome(
    reader: &mut dyn Reader,
    options: &CampaignOptions,
    number: u64,
) -> Result<Option<Outcome>, ExternalError> {
    let CampaignOptions { search, versions, abis, demands } = options;
    let plan = SectionPlan::random(search.seed, number, demands.open);
    let is_wanted = (versions.is_empty() || versions.contains(&plan.version))
        && (abis.is_empty() || abis.contains(&plan.abi));
    if !is_wanted {
        return Ok(None);
    }
    Ok(Some(match ask(reader, plan, demands)? {
        Ok((case, differences)) => Outcome::Asked { number, plan: Box::new(case.plan), differences },
        Err(error) => Outcome::Contradiction { number, message: error.to_string() },
    }))
}

/// A cause that is known, with the smallest section that has it.
struct Known {
    cause: Cause,
    plan: Option<SectionPlan>,
}

/// What was found.
struct Seen<'s, 'r> {
    demands: &'s Demands,
    /// The reader that is asked about smaller sections.
    reducer: Box<dyn Reader + 'r>,
    found: Found,
    /// The causes, in the order in which they were found.
    known: Vec<Known>,
}

impl Seen<'_, '_> {
    fn note_parts(&mut self) {
        let all = [
            (SectionPart::Header, "header"),
            (SectionPart::Fdes, "fdes"),
            (SectionPart::Lookups, "lookups"),
            (SectionPart::Steps, "steps"),
        ];
        let missing = all.iter().filter(|(part, _)| !self.demands.parts.contains(part));
        self.found.parts_not_answered = missing.map(|(_, name)| *name).collect();
    }

    fn add(&mut self, outcome: Outcome) -> Result<(), ExternalError> {
        let (number, plan, differences) = match outcome {
            Outcome::Contradiction { number, message } => {
                self.found.contradicting += 1;
                if self.found.contradictions.len() < CONTRADICTIONS {
                    self.found.contradictions.push((number, message));
                }
                return Ok(());
            }
            Outcome::Asked { number, plan, differences } => (number, plan, differences),
        };
        if let Some(reason) = differences.unsupported {
            *self.found.skipped.entry(reason).or_default() += 1;
            return Ok(());
        }
        self.found.sections += 1;
        self.found.broken += u64::from(plan.is_broken());
        self.found.agree += u64::from(differences.found.is_empty());
        self.found.compared += differences.compared;
        if differences.unnoticed {
            let rule = plan.broken_rules().next().map_or("none", |rule| rule.name);
            *self.found.unnoticed.entry(rule).or_default() += 1;
        }
        for difference in &differences.found {
            self.add_difference(number, &plan, difference)?;
        }
        Ok(())
    }

    fn add_difference(
        &mut self,
        number: u64,
        plan: &SectionPlan,
        difference: &Difference,
    ) -> Result<(), ExternalError> {
        let of = (plan.version, plan.abi);
        let has = features(plan, difference.function, difference.row);
        if let Some(cause) = self.known_cause(of, difference, &has)? {
            self.count(cause, number, of, None);
            return Ok(());
        }
        let alike = |known: &&Known| known.cause.is_of(difference) && self.is_seen(&known.cause, of);
        let reduced = if self.known.iter().filter(alike).count() < REDUCED {
            reduce(&mut *self.reducer, plan, difference, self.demands)?
        } else {
            None
        };
        let (features, plan, example) = match reduced {
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
                (features, Some(case.plan), example)
            }
            None => {
                let example = Example {
                    section: number,
                    message: difference.message.clone(),
                    readings: readings(plan).into_iter().map(str::to_owned).collect(),
                    clauses: clauses(plan),
                    vector: None,
                    bytes: 0,
                };
                (has, None, example)
            }
        };
        let Difference { part, field, site, .. } = difference.clone();
        let cause = Cause { part, field, site, features };
        if !self.known.iter().any(|known| known.cause == cause) {
            self.known.push(Known { cause: cause.clone(), plan });
        }
        self.count(cause, number, of, Some(example));
        Ok(())
    }

    /// Whether a cause was seen of a version and an ABI.
    fn is_seen(&self, cause: &Cause, of: (Version, Abi)) -> bool {
        self.found.causes.get(cause).is_some_and(|(counts, _)| counts.contains_key(&of))
    }

    /// Returns the cause that is known and explains a difference: all that its smallest section has is also in
    /// this one; and if it was seen of another version or ABI only, the same section of this version
    /// and ABI has it.
    fn known_cause(
        &mut self,
        of: (Version, Abi),
        difference: &Difference,
        has: &BTreeSet<&'static str>,
    ) -> Result<Option<Cause>, ExternalError> {
        let explains = |known: &&Known| known.cause.is_of(difference) && known.cause.features.is_subset(has);
        let mut possible: Vec<&Known> = self.known.iter().filter(explains).collect();
        // The one with the most features that this section has.
        possible
            .sort_by_key(|known| (!self.is_seen(&known.cause, of), usize::MAX - known.cause.features.len()));
        for known in possible {
            if self.is_seen(&known.cause, of) {
                return Ok(Some(known.cause.clone()));
            }
            let Some(plan) = known.plan.as_ref().and_then(|plan| moved(plan, of)) else { continue };
            let Ok((_, differences)) = ask(&mut *self.reducer, plan, self.demands)? else { continue };
            if differences.found.iter().any(|found| found.is_like(difference)) {
                return Ok(Some(known.cause.clone()));
            }
        }
        Ok(None)
    }

    /// Counts a section with a cause. Of one that is new, the example is given.
    fn count(&mut self, cause: Cause, number: u64, of: (Version, Abi), example: Option<Example>) {
        let causes = &mut self.found.causes;
        if let Some(example) = example {
            let (_, first) = causes.entry(cause.clone()).or_insert_with(|| (Counts::new(), example.clone()));
            // The smallest of all.
            if example.vector.is_some() && (first.vector.is_none() || example.bytes < first.bytes) {
                *first = example;
            }
        }
        let Some((counts, _)) = causes.get_mut(&cause) else { return };
        let count = counts.entry(of).or_insert(Count { sections: 0, first: number, last: number });
        // A section has a cause once, however many of its functions show it.
        if count.sections == 0 || count.last != number {
            count.sections += 1;
        }
        count.last = number;
    }
}

/// Counts a cause for another one that was found later: one of the same version and ABI that needs less.
fn join(causes: &mut Causes) {
    let mut all: Vec<(Cause, (Counts, Example))> = std::mem::take(causes).into_iter().collect();
    all.sort_by_key(|(cause, _)| cause.features.len());
    for (cause, (counts, example)) in all {
        let explains = |known: &Cause, seen: &Counts| {
            (known.part, &known.field, &known.site) == (cause.part, &cause.field, &cause.site)
                && known.features.is_subset(&cause.features)
                && counts.keys().any(|of| seen.contains_key(of))
        };
        match causes.iter_mut().find(|(known, (seen, _))| explains(known, seen)) {
            Some((_, (seen, _))) => {
                for (of, count) in counts {
                    let known = seen.entry(of).or_insert(Count { sections: 0, ..count });
                    known.sections += count.sections;
                    known.first = known.first.min(count.first);
                    known.last = known.last.max(count.last);
                }
            }
            None => {
                causes.insert(cause, (counts, example));
            }
        }
    }
}

/// A section of another version and ABI, as far as those have what is in it.
fn moved(plan: &SectionPlan, (version, abi): (Version, Abi)) -> Option<SectionPlan> {
    let has_usual_ra = plan.fixed_ra == plan.abi.fixed_ra_offset();
    let mut moved = SectionPlan { version, abi, ..plan.clone() };
    if has_usual_ra {
        moved.fixed_ra = abi.fixed_ra_offset();
    }
    let (from, to) = (plan.usual_ra(), moved.usual_ra());
    for row in moved.functions.iter_mut().flat_map(|function| &mut function.rows) {
        if let Some(rules) = &mut row.rules {
            if rules.ra == from {
                rules.ra = to;
            }
            let is_scaled = |abi: Abi| abi.cfa_offset_scaling().is_some();
            if is_scaled(abi) != is_scaled(plan.abi) {
                let to_scaled =
                    if is_scaled(abi) { rules.cfa.offset.checked_mul(8)?.checked_add(160) } else { None };
                rules.cfa.offset = to_scaled.unwrap_or(rules.cfa.offset / 8);
            }
        }
    }
    if !abi.signs_return_addresses() {
        for function in &mut moved.functions {
            function.key_b = false;
            function.rows.iter_mut().for_each(|row| row.mangled = false);
        }
    }
    moved.pcrel &= version.has_pcrel_starts();
    moved.frame_pointer &= version.has_frame_pointer_flag();
    if !version.marks_signal_frames() {
        moved.functions.iter_mut().for_each(|function| function.signal = false);
    }
    (open_readings(&moved).is_subset(&open_readings(plan))).then_some(moved)
}
