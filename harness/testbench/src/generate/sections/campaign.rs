//! Makes many sections, asks a reader about them, and groups what is found.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rayon::prelude::*;
use sframe_engine::{Abi, Version};
use sframe_vectors::SectionPart;

use super::case::{Case, CaseError};
use super::cause::{Cause, Example, Found};
use super::difference::{Difference, Differences, Part, Strictness, differences};
use super::feature::features;
use super::plan::SectionPlan;
use super::reader::Reader;
use super::reduce::reduce;
use super::vector::vector_file;
use crate::external::ExternalError;

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
/// A reader can't be started, or can't be asked any more before it has been asked about anything.
pub fn campaign<'r>(
    start: &(dyn Fn() -> Result<Box<dyn Reader + 'r>, ExternalError> + Sync),
    options: &CampaignOptions,
    done: &(dyn Fn(u64) + Sync),
) -> Result<Found, ExternalError> {
    let mut campaign = Campaign { options, found: Found::default(), known: BTreeMap::new() };
    campaign.note_parts();
    let mut reducer = start()?;
    let workers = u64::try_from(rayon::current_num_threads()).unwrap_or(1).max(1);
    let mut restarts = 0;
    let mut next = options.sections.start;
    while next < options.sections.end && campaign.found.gave_up.is_none() {
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
            for outcome in outcomes {
                campaign.add(&mut *reducer, outcome)?;
            }
            if let Some(error) = error {
                campaign.found.gave_up = Some(error.to_string());
            }
        }
        next = end;
    }
    campaign.found.restarts = restarts;
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

/// A field of answers about sections of a version and an ABI.
type Symptom = (Version, Abi, Part, &'static str);

struct Campaign<'c> {
    options: &'c CampaignOptions,
    found: Found,
    /// The features of the causes that are known of a symptom.
    known: BTreeMap<Symptom, Vec<BTreeSet<&'static str>>>,
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
        let symptom = (plan.version, plan.abi, difference.part, difference.field);
        let has = features(plan, difference.function, difference.row);
        let known = self.known.entry(symptom).or_default();
        // The cause with the most features that this section has.
        let same = known.iter().filter(|cause| cause.is_subset(&has)).max_by_key(|cause| cause.len());
        if let Some(same) = same {
            let cause = Cause { part: symptom.2, field: symptom.3, features: same.clone() };
            self.count(cause, number, plan, None);
            return Ok(());
        }
        let is_reduced = known.len() < REDUCED;
        let options = self.options;
        let reduced = match is_reduced {
            true => reduce(reducer, plan, difference, &options.parts, options.strictness, options.open)?,
            false => None,
        };
        let (features, example) = match reduced {
            Some((case, difference)) => {
                let features = features(&case.plan, difference.function, difference.row);
                let name = format!("generated-{number}");
                let example = Example {
                    section: number,
                    message: difference.message.clone(),
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
                    readings: super::feature::readings(plan).into_iter().map(str::to_owned).collect(),
                    clauses: super::feature::clauses(plan),
                    vector: None,
                    bytes: 0,
                };
                (has, example)
            }
        };
        let known = self.known.entry(symptom).or_default();
        if !known.contains(&features) {
            known.push(features.clone());
        }
        let cause = Cause { part: symptom.2, field: symptom.3, features };
        self.count(cause, number, plan, Some(example));
        Ok(())
    }

    fn count(&mut self, cause: Cause, number: u64, plan: &SectionPlan, example: Option<Example>) {
        let Some((counts, first)) = self.found.causes.get_mut(&cause) else {
            if let Some(example) = example {
                let mut counts = BTreeMap::new();
                counts.insert((plan.version, plan.abi), super::cause::Count { sections: 1, first: number });
                self.found.causes.insert(cause, (counts, example));
            }
            return;
        };
        let count = counts.entry((plan.version, plan.abi)).or_default();
        if count.sections == 0 {
            count.first = number;
        }
        count.sections += 1;
        // The smallest of all.
        if let Some(example) = example.filter(|example| example.vector.is_some()) {
            if first.vector.is_none() || example.bytes < first.bytes {
                *first = example;
            }
        }
    }
}

/// The rule that a section breaks.
fn broken_rule(plan: &SectionPlan) -> &'static str {
    let of_header = plan.broken.map(super::fault::SectionFault::name);
    let of_fde = plan.functions.iter().find_map(|function| function.broken.map(super::fault::FdeFault::name));
    let rows = plan.functions.iter().flat_map(|function| &function.rows);
    let of_row = rows.filter_map(|row| row.broken).map(super::fault::RowFault::name).next();
    of_header.or(of_fde).or(of_row).unwrap_or("none")
}
