//! Generates, makes and judges many programs, and groups what is found.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;
use sframe_engine::Abi;
use sframe_judge::examine::stop::StopRequest;
use sframe_suite::corpus::{Error, Maker, is_crash};
use sframe_suite::spec::Faults;

use super::SOURCE;
use super::crash::Crash;
use super::found::{Cause, Example, Found, Group, cause, declared};
use super::judge::{Fault, Judged, judge};
use super::known::Known;
use super::plan::Plan;
use super::quirk::Quirk;
use super::reduce::{Reduced, Symptom, complaint, is_alone, reduce};
use super::writer::{Program, write};

/// Which programs.
#[derive(Clone, Debug)]
pub struct CampaignOptions {
    /// The seed.
    pub seed: u64,
    /// The numbers of the programs.
    pub programs: Range<u64>,
    /// How many functions each has.
    pub functions: u32,
    /// Whether their CFI is wrong on purpose: see [`Plan::misdeclared`].
    pub misdeclares: bool,
    /// Ends the search: what was found by then is told, and not reduced.
    pub stop: StopRequest,
    /// Whether programs with what is known are reduced, too.
    pub reduces_known: bool,
}

/// Makes and judges the programs of one toolchain and ABI. The mistakes that its assembler is known to make
/// are those of which a page says so.
///
/// # Errors
/// The toolchain does not compile for the ABI, or can't be started.
pub fn campaign(
    maker: &Maker,
    abi: Abi,
    options: &CampaignOptions,
    faults: &Faults,
    done: &(dyn Fn() + Sync),
) -> Result<Found, Error> {
    maker.command(abi, &[])?;
    let known = Known::of(faults, &maker.producer(abi)?);
    let programs: Vec<u64> = options.programs.clone().collect();
    let trials: Vec<Trial> = programs
        .par_iter()
        .filter_map(|number| {
            let is_stopped = || options.stop.reason().is_some();
            if is_stopped() {
                return None;
            }
            let draw = if options.misdeclares { Plan::misdeclared } else { Plan::random };
            let plan = draw(abi, options.seed, *number, options.functions);
            let trial = trial(maker, &known, *number, plan);
            done();
            // An interrupt may have ended its tools, too.
            (!is_stopped()).then_some(trial)
        })
        .collect::<Result<_, Error>>()?;
    let mut found = Found { interrupted: trials.len() < programs.len(), ..Found::default() };
    let mut cases: BTreeMap<Raw, Case> = BTreeMap::new();
    for trial in trials {
        for seen in found.add(&known, &trial) {
            let Seen { raw, functions, count, symptom, first } = seen;
            let case = cases.entry(raw).or_insert_with(|| Case {
                number: trial.number,
                plan: trial.plan.clone(),
                functions: functions.clone(),
                symptom: None,
                first: None,
                count: 0,
            });
            case.count += count;
            if case.symptom.is_none() && symptom.is_some() {
                let plan = trial.plan.clone();
                *case = Case { number: trial.number, plan, functions, symptom, first, count: case.count };
            }
        }
    }
    let reduced: Vec<_> = cases
        .into_par_iter()
        .map(|(raw, case)| {
            let is_wanted = options.stop.reason().is_none()
                && (options.reduces_known || matches!(raw, Raw::Unknown(_) | Raw::Refused(..)));
            let reduced = match &case.symptom {
                Some(symptom) if is_wanted => reduce(maker, &known, &case.plan, &case.functions, symptom)?,
                _ => None,
            };
            // A tool that does not do the same twice leaves the program as it was found.
            let reduced = reduced.or_else(|| case.first.clone());
            Ok((raw, case, reduced))
        })
        .collect::<Result<_, Error>>()?;
    for (raw, case, reduced) in reduced {
        found.add_case(raw, &case, reduced);
    }
    Ok(found)
}

/// A cause as it looks before it is reduced.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Raw {
    Known(Quirk),
    Crash(Crash),
    Unknown(Cause),
    Refused(String, bool),
}

/// Functions of a program with one cause.
struct Seen {
    raw: Raw,
    functions: Vec<u32>,
    /// How many; of a program that is refused, 1.
    count: u64,
    /// By what it is known while the program is reduced, if it shows the cause alone.
    symptom: Option<Symptom>,
    /// The program as it was found.
    first: Option<Reduced>,
}

/// The first program with something, and how many functions have it.
struct Case {
    number: u64,
    plan: Plan,
    functions: Vec<u32>,
    symptom: Option<Symptom>,
    first: Option<Reduced>,
    count: u64,
}

/// One program.
struct Trial {
    number: u64,
    /// What was drawn.
    plan: Plan,
    /// What the assembler has crashed on in a known way: its functions are left out of what follows.
    crashes: Vec<(Crash, String, Vec<u32>)>,
    /// What is left, and what came of it. `None` if nothing is.
    left: Option<(Plan, Program, Outcome)>,
}

enum Outcome {
    Judged(Judged),
    Unjudged(String),
    /// By what is said, and whether they have crashed.
    Refused(String, bool),
}

/// Makes and judges a program; without the functions that the assembler is known to crash on, if it does.
fn trial(maker: &Maker, known: &Known, number: u64, plan: Plan) -> Result<Trial, Error> {
    let mut trial = Trial { number, plan: plan.clone(), crashes: Vec::new(), left: None };
    let mut left = plan;
    while !left.functions.is_empty() {
        let program = write(&left);
        let outcome = match maker.make(left.abi, &[(SOURCE.to_owned(), program.source.clone())], &[]) {
            Ok(made) => judge(&program, &made.bytes).map_or_else(Outcome::Unjudged, Outcome::Judged),
            Err(Error::Compiler { stderr, .. }) => {
                let said = complaint(&stderr);
                if let Some((crash, functions)) = known.crash(&said, &program) {
                    left.functions.retain(|function| !functions.contains(&function.number));
                    trial.crashes.push((crash, said, functions));
                    continue;
                }
                Outcome::Refused(said, is_crash(&stderr))
            }
            Err(error) => return Err(error),
        };
        trial.left = Some((left, program, outcome));
        break;
    }
    Ok(trial)
}

impl Found {
    /// Adds a program. What is wrong with it is returned.
    fn add(&mut self, known: &Known, trial: &Trial) -> Vec<Seen> {
        let mut all: Vec<Seen> = Vec::new();
        for (crash, said, functions) in &trial.crashes {
            let symptom = Some(Symptom::Refused(said.clone()));
            all.push(Seen {
                raw: Raw::Crash(*crash),
                functions: functions.clone(),
                count: functions.len() as u64,
                symptom,
                first: None,
            });
        }
        let Some((plan, program, outcome)) = &trial.left else { return all };
        let as_found = |fault: Option<&Fault>| Reduced {
            program: program.clone(),
            plan: plan.clone(),
            fault: fault.cloned(),
            tries: 0,
        };
        let judged = match outcome {
            Outcome::Judged(judged) => judged,
            Outcome::Unjudged(message) => {
                self.contradictions.push((trial.number, message.clone()));
                return all;
            }
            Outcome::Refused(said, crash) => {
                all.push(Seen {
                    raw: Raw::Refused(said.clone(), *crash),
                    functions: plan.functions.iter().map(|function| function.number).collect(),
                    count: 1,
                    symptom: Some(Symptom::Refused(said.clone())),
                    first: Some(as_found(None)),
                });
                return all;
            }
        };
        self.programs += 1;
        self.functions += plan.functions.len() as u64;
        self.left_out += judged.left_out.len() as u64;
        self.noticed += judged.noticed.len() as u64;
        self.compared += judged.compared;
        for (form, count) in &program.forms {
            *self.forms.entry(form).or_default() += u64::from(*count);
        }
        let contradictions = judged.contradictions.iter().map(|message| (trial.number, message.clone()));
        self.contradictions.extend(contradictions);
        let mut seen = Vec::new();
        for fault in &judged.faults {
            let Some(site) = program.sites.get(fault.site) else { continue };
            // What follows from an earlier instruction of the function has no cause of its own.
            if seen.contains(&(fault.source, fault.function)) {
                continue;
            }
            seen.push((fault.source, fault.function));
            let functions = vec![fault.function];
            match known.explain(program, judged, fault) {
                Some(quirks) => {
                    let is_alone = quirks.len() == 1;
                    all.extend(quirks.into_iter().map(|quirk| Seen {
                        raw: Raw::Known(quirk),
                        functions: functions.clone(),
                        count: 1,
                        symptom: is_alone.then_some(Symptom::Explained(fault.source, quirk)),
                        first: None,
                    }));
                }
                None => {
                    let (source, wrong, is_alone) = (fault.source, fault.wrong, is_alone(judged, fault));
                    all.push(Seen {
                        raw: Raw::Unknown(cause(fault, &site.declared)),
                        functions,
                        count: 1,
                        symptom: Some(Symptom::Unexplained { source, wrong, is_alone }),
                        first: Some(as_found(Some(fault))),
                    });
                }
            }
        }
        all
    }

    /// Adds what is left of the first program of a case.
    fn add_case(&mut self, raw: Raw, case: &Case, reduced: Option<Reduced>) {
        let refused = match &raw {
            Raw::Refused(said, _) => Some(said.clone()),
            Raw::Crash(_) => case.symptom.as_ref().and_then(Symptom::refused),
            Raw::Known(_) | Raw::Unknown(_) => None,
        };
        let left = reduced.as_ref().and_then(|Reduced { program, fault, .. }| {
            let fault = fault.as_ref()?;
            Some(cause(fault, &declared(program, fault)))
        });
        let example = reduced.map(|reduced| {
            let Reduced { program, fault, .. } = &reduced;
            let site = fault.as_ref().and_then(|fault| program.sites.get(fault.site));
            let function = site.or_else(|| program.sites.first()).map_or(0, |site| site.function);
            Example {
                program: case.number,
                function,
                code: site.map_or_else(String::new, |site| site.code.clone()),
                says: fault.as_ref().map_or_else(String::new, |fault| fault.says.clone()),
                truth: site.map_or_else(String::new, |site| site.state.to_string()),
                source: program.source.clone(),
                instructions: program.sites.len(),
                elsewhere: BTreeMap::new(),
                refused,
                reduced,
            }
        });
        let crash = matches!(raw, Raw::Crash(_) | Raw::Refused(_, true));
        let group = Group { count: case.count, crash, first: example };
        let known = match raw {
            Raw::Known(quirk) => self.known.entry(quirk.page()).or_insert_with(Group::none),
            Raw::Crash(crash) => self.known.entry(crash.page()).or_insert_with(Group::none),
            Raw::Refused(said, _) => self.refused.entry(said).or_insert_with(Group::none),
            Raw::Unknown(cause) => self.causes.entry(left.unwrap_or(cause)).or_insert_with(Group::none),
        };
        known.join(group);
    }
}
