//! Makes many sections, asks a reader about them, and groups what is found.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rayon::prelude::*;
use sframe_engine::{Abi, Version};
use sframe_judge::examine::stop::StopRequest;
use sframe_judge::external::ExternalError;
use sframe_vectors::SectionPart;

use super::case::{Case, CaseError};
use super::cause::{Cause, Causes, Counts, Example, Found};
use super::difference::{Difference, Differences, Strictness, differences};
use super::feature::{features, open_readings};
use super::plan::SectionPlan;
use super::reader::Reader;
use super::reduce::reduce;
use super::vector::vector_file;

/// Which sections, and what is asked about them.
#[derive(Clone, Debug)]
pub struct CampaignOptions {
    /// The seed.
    pub seed: u64,
    /// The numbers of the sections.
    pub sections: Range<u64>,
    /// Only these versions; all if there is none.
    pub versions: Vec<Version>,
    /// Only these ABIs; all if there is none.
    pub abis: Vec<Abi>,
    /// Whether to ask for what the specification leaves to the reader.
    pub open: bool,
    /// The parts that the reader answers.
    pub parts: Vec<SectionPart>,
    /// What is demanded where a section breaks a rule.
    pub strictness: Strictness,
    /// Ends the search: what was found by then is told.
    pub stop: StopRequest,
}

/// Sections that are asked about before causes are looked for.
const BATCH: u64 = 1000;
/// Causes that are reduced, at most, for a version and an ABI.
const REDUCED: usize = 60;
/// Contradictions that are kept.
const CONTRADICTIONS: usize = 20;

/// Makes the sections and asks a reader about them, of which there are several.
///
/// # Errors
/// A reader can't be started.
pub fn campaign<'r>(
    start: &(dyn Fn() -> Result<Box<dyn Reader + 'r>, ExternalError> + Sync),
    options: &CampaignOptions,
    done: &(dyn Fn(u64) + Sync),
) -> Result<Found, ExternalError> {
    let mut campaign = Campaign { options, found: Found::default(), known: Vec::new() };
    campaign.note_parts();
    let mut reducer = start()?;
    let workers = u64::try_from(rayon::current_num_threads()).unwrap_or(1).max(1);
    let mut restarts = 0;
    let mut next = options.sections.start;
    while next < options.sections.end && campaign.found.gave_up.is_none() {
        if options.stop.reason().is_some() {
            campaign.found.interrupted = true;
            break;
        }
        let end = options.sections.end.min(next.saturating_add(BATCH * workers));
        let share = (end - next).div_ceil(workers).max(1);
        let shares: Vec<Range<u64>> =
            (0..workers).map(|worker| next + worker * share..end.min(next + (worker + 1) * share)).collect();
        let asked: Vec<_> = shares
            .into_par_iter()
            .map(|numbers| {
                let mut reader = start()?;
                let mut outcomes = Vec::new();
                let mut error = None;
                for number in numbers {
                    match outcome(&mut *reader, options, number) {
                        Ok(outcome) => outcomes.extend(outcome),
                        Err(stopped) => {
                            error = Some(stopped);
                            break;
                        }
                    }
                    done(1);
                }
                Ok::<_, ExternalError>((outcomes, reader.restarts(), error))
            })
            .collect::<Result<_, _>>()?;
        for (outcomes, restarted, error) in asked {
            restarts += restarted;
            let added = outcomes.into_iter().try_for_each(|outcome| campaign.add(&mut *reducer, outcome));
            // What was found until then is told. An interrupt may have ended the reader, too.
            if let Some(error) = error.or(added.err()) {
                campaign.found.interrupted = options.stop.reason().is_some();
                campaign.found.gave_up = (!campaign.found.interrupted).then(|| error.to_string());
            }
        }
        next = end;
    }
    campaign.found.restarts = restarts;
    join(&mut campaign.found.causes);
    Ok(campaign.found)
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
    let plan = SectionPlan::random(options.seed, number, options.open);
    let wanted = |version: Version, abi: Abi| {
        (options.versions.is_empty() || options.versions.contains(&version))
            && (options.abis.is_empty() || options.abis.contains(&abi))
    };
    if !wanted(plan.version, plan.abi) {
        return Ok(None);
    }
    let case = match Case::new(plan, "generated/section", options.open) {
        Ok(case) => case,
        Err(CaseError::NotExpressible) => {
            let message = "the plan can't be written".to_owned();
            return Ok(Some(Outcome::Contradiction { number, message }));
        }
        Err(CaseError::Writer(message)) => return Ok(Some(Outcome::Contradiction { number, message })),
    };
    let reply = reader.ask(&case.vector.question())?;
    let differences = differences(&case, &reply, &options.parts, options.strictness);
    Ok(Some(Outcome::Asked { number, plan: Box::new(case.plan), differences }))
}

/// A cause that is known, with the smallest section that has it.
struct Known {
    cause: Cause,
    plan: Option<SectionPlan>,
    /// The versions and ABIs of which it was seen.
    of: BTreeSet<(Version, Abi)>,
}

struct Campaign<'c> {
    options: &'c CampaignOptions,
    found: Found,
    known: Vec<Known>,
}

impl Campaign<'_> {
    fn note_parts(&mut self) {
        let all = [
            (SectionPart::Header, "header"),
            (SectionPart::Fdes, "fdes"),
            (SectionPart::Lookups, "lookups"),
            (SectionPart::Steps, "steps"),
        ];
        let missing = all.iter().filter(|(part, _)| !self.options.parts.contains(part));
        self.found.parts_not_answered = missing.map(|(_, name)| *name).collect();
    }

    fn add(&mut self, reducer: &mut dyn Reader, outcome: Outcome) -> Result<(), ExternalError> {
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
            *self.found.unnoticed.entry(broken_rule(&plan)).or_default() += 1;
        }
        for difference in &differences.found {
            self.add_difference(reducer, number, &plan, difference)?;
        }
        Ok(())
    }

    fn add_difference(
        &mut self,
        reducer: &mut dyn Reader,
        number: u64,
        plan: &SectionPlan,
        difference: &Difference,
    ) -> Result<(), ExternalError> {
        let of = (plan.version, plan.abi);
        let has = features(plan, difference.function, difference.row);
        if let Some(known) = self.known_cause(reducer, of, difference, &has)? {
            let cause = self.known[known].cause.clone();
            self.count(cause, number, of, None);
            return Ok(());
        }
        let alike = |known: &&Known| known.cause.is_of(difference) && known.of.contains(&of);
        let is_reduced = self.known.iter().filter(alike).count() < REDUCED;
        let options = self.options;
        let reduced = match is_reduced {
            true => reduce(reducer, plan, difference, &options.parts, options.strictness, options.open)?,
            false => None,
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
                    readings: super::feature::readings(plan).into_iter().map(str::to_owned).collect(),
                    clauses: super::feature::clauses(plan),
                    vector: None,
                    bytes: 0,
                };
                (has, None, example)
            }
        };
        let Difference { part, field, site, .. } = difference.clone();
        let cause = Cause { part, field, site, features };
        match self.known.iter_mut().find(|known| known.cause == cause) {
            Some(known) => {
                known.of.insert(of);
            }
            None => self.known.push(Known { cause: cause.clone(), plan, of: BTreeSet::from([of]) }),
        }
        self.count(cause, number, of, Some(example));
        Ok(())
    }

    /// Returns the cause that is known and explains a difference: all that its smallest section has is in
    /// this one, too; and if it was seen of another version or ABI only, the same section of this version
    /// and ABI has it.
    fn known_cause(
        &mut self,
        reducer: &mut dyn Reader,
        of: (Version, Abi),
        difference: &Difference,
        has: &BTreeSet<&'static str>,
    ) -> Result<Option<usize>, ExternalError> {
        let explains = |known: &Known| known.cause.is_of(difference) && known.cause.features.is_subset(has);
        let mut possible: Vec<usize> =
            (0..self.known.len()).filter(|index| explains(&self.known[*index])).collect();
        // The one with the most features that this section has.
        possible.sort_by_key(|index| {
            let known = &self.known[*index];
            (!known.of.contains(&of), usize::MAX - known.cause.features.len())
        });
        for index in possible {
            if self.known[index].of.contains(&of) {
                return Ok(Some(index));
            }
            let Some(plan) = self.known[index].plan.as_ref().and_then(|plan| moved(plan, of)) else {
                continue;
            };
            let Ok(case) = Case::new(plan, "generated/moved", self.options.open) else { continue };
            let reply = reducer.ask(&case.vector.question())?;
            let found = differences(&case, &reply, &self.options.parts, self.options.strictness).found;
            if found.iter().any(|found| found.is_like(difference)) {
                self.known[index].of.insert(of);
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn count(&mut self, cause: Cause, number: u64, of: (Version, Abi), example: Option<Example>) {
        let Some((counts, first)) = self.found.causes.get_mut(&cause) else {
            if let Some(example) = example {
                let mut counts = BTreeMap::new();
                counts.insert(of, super::cause::Count { sections: 1, first: number, last: number });
                self.found.causes.insert(cause, (counts, example));
            }
            return;
        };
        let count = counts.entry(of).or_default();
        if count.sections == 0 {
            count.first = number;
        }
        // A section has a cause once, however many of its functions show it.
        if count.sections == 0 || count.last != number {
            count.sections += 1;
        }
        count.last = number;
        // The smallest of all.
        let is_smaller = |example: &Example| {
            example.vector.is_some() && (first.vector.is_none() || example.bytes < first.bytes)
        };
        if let Some(example) = example.filter(is_smaller) {
            *first = example;
        }
    }
}

/// Counts a cause for another one that was found later: one of the same version and ABI that needs less.
fn join(causes: &mut Causes) {
    let mut all: Vec<(Cause, (Counts, Example))> = std::mem::take(causes).into_iter().collect();
    all.sort_by_key(|(cause, _)| cause.features.len());
    for (cause, (counts, example)) in all {
        let explains = |known: &Cause, seen: &Counts| {
            (known.part, known.field, &known.site) == (cause.part, cause.field, &cause.site)
                && known.features.is_subset(&cause.features)
                && counts.keys().any(|of| seen.contains_key(of))
        };
        match causes.iter_mut().find(|(known, (seen, _))| explains(known, seen)) {
            Some((_, (seen, _))) => {
                for (of, count) in counts {
                    let known = seen.entry(of).or_insert(super::cause::Count { sections: 0, ..count });
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
    if version != Version::V3 {
        moved.functions.iter_mut().for_each(|function| function.signal = false);
    } else {
        moved.frame_pointer = false;
    }
    (open_readings(&moved).is_subset(&open_readings(plan))).then_some(moved)
}

/// The rule that a section breaks.
fn broken_rule(plan: &SectionPlan) -> &'static str {
    let of_header = plan.broken.map(super::fault::SectionFault::name);
    let of_fde = plan.functions.iter().find_map(|function| function.broken.map(super::fault::FdeFault::name));
    let rows = plan.functions.iter().flat_map(|function| &function.rows);
    let of_row = rows.filter_map(|row| row.broken).map(super::fault::RowFault::name).next();
    of_header.or(of_fde).or(of_row).unwrap_or("none")
}
